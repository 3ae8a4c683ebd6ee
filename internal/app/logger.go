package app

import (
	"context"
	"io"
	"log/slog"

	"github.com/footnotehq/footnote"
	"github.com/footnotehq/footnote/config"
)

// NewLogger creates a log that contains no secrets of the configuration. The level must be valid. A line about a run
// has the ids of the run, of its conversation and of the request that started it.
func NewLogger(w io.Writer, c config.Config, level string) *slog.Logger {
	var l slog.Level
	_ = l.UnmarshalText([]byte(level))
	json := slog.NewJSONHandler(w, &slog.HandlerOptions{Level: l, ReplaceAttr: redacting(c)})
	return slog.New(withOrigin{Handler: json})
}

// withOrigin adds the ids in the context of a line to the line, unless the line has them already.
type withOrigin struct {
	slog.Handler
	given map[string]bool // the attributes that all lines of this handler have
}

// Handle implements slog.Handler.
func (h withOrigin) Handle(ctx context.Context, line slog.Record) error {
	ids := footnote.OriginOf(ctx).LogAttrs()
	if len(ids) == 0 {
		return h.Handler.Handle(ctx, line)
	}
	own := map[string]bool{}
	line.Attrs(func(at slog.Attr) bool { own[at.Key] = true; return true })
	line = line.Clone()
	for _, id := range ids {
		if !own[id.Key] && !h.given[id.Key] {
			line.AddAttrs(id)
		}
	}
	return h.Handler.Handle(ctx, line)
}

// WithAttrs implements slog.Handler.
func (h withOrigin) WithAttrs(attrs []slog.Attr) slog.Handler {
	given := map[string]bool{}
	for key := range h.given {
		given[key] = true
	}
	for _, at := range attrs {
		given[at.Key] = true
	}
	return withOrigin{h.Handler.WithAttrs(attrs), given}
}

// WithGroup implements slog.Handler.
func (h withOrigin) WithGroup(name string) slog.Handler {
	return withOrigin{h.Handler.WithGroup(name), h.given}
}
