package main

import (
	"context"
	"errors"
	"io"

	"github.com/footnotehq/footnote/config"
	"github.com/footnotehq/footnote/internal/app"
	"github.com/footnotehq/footnote/store/sqlite"
)

type mcpCmd struct{}

// Run executes the command.
func (mcpCmd) Run(ctx context.Context, c config.Config, std streams) (err error) {
	if len(c.Sources) == 0 {
		if c.Sources, err = app.DemoShop(ctx, c.Data); err != nil {
			return err
		}
	}
	o := options(c, std, "warn") // standard output belongs to the protocol
	o.Folder, o.File, o.Progress = app.StdioFolder, sqlite.Options{Wait: askWait}, loading(std.err)
	a, err := app.New(ctx, c, o)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, a.Close(ctx)) }()
	return a.ServeMCP(ctx, self(), closable(std.in), noClose{std.out})
}

// closable returns a reader that can be closed, so that waiting for input ends with the command.
func closable(r io.Reader) io.ReadCloser {
	if c, ok := r.(io.ReadCloser); ok {
		return c
	}
	return io.NopCloser(r)
}

// noClose keeps standard output open for what follows.
type noClose struct{ io.Writer }

func (noClose) Close() error { return nil }
