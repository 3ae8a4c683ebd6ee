package footnote

import (
	"context"
	"strings"
)

// Origin is on whose behalf something is done, for those who look at it from outside:
// in the log of a database, or at the model's server. Its ids are not secret and give
// nobody any right.
type Origin struct {
	Run     string // empty where a person acts without one
	Request string // as the client and the log know it
	Trace   string // a traceparent (W3C Trace Context), where somebody follows what is done
}

type originKey struct{}

// WithOrigin returns a context in which what is sent to others names its origin.
func WithOrigin(ctx context.Context, o Origin) context.Context {
	return context.WithValue(ctx, originKey{}, o)
}

// OriginOf is the origin of what is done in a context, as far as it is known. Its ids
// are of letters, digits and -_. only: they can stand in a header or a comment.
func OriginOf(ctx context.Context) Origin {
	o, _ := ctx.Value(originKey{}).(Origin)
	return Origin{Run: plainID(o.Run), Request: plainID(o.Request), Trace: plainID(o.Trace)}
}

// Comment is what a statement begins with, so that its database knows where it comes
// from; empty when that is not known.
func (o Origin) Comment() string {
	if o.Run == "" && o.Request == "" {
		return ""
	}
	var b strings.Builder
	b.WriteString("/* footnote")
	if o.Run != "" {
		b.WriteString(" run=" + o.Run)
	}
	if o.Request != "" {
		b.WriteString(" request=" + o.Request)
	}
	return b.String() + " */ "
}

// plainID is id, or empty when it could end a comment or a header: clients choose the
// ids of their requests.
func plainID(id string) string {
	if len(id) > 128 || strings.ContainsFunc(id, func(r rune) bool {
		return !(r >= 'a' && r <= 'z' || r >= 'A' && r <= 'Z' || r >= '0' && r <= '9' || r == '-' || r == '_' || r == '.')
	}) {
		return ""
	}
	return id
}
