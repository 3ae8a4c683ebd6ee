package footnote

import (
	"context"
	"strings"
)

// Origin identifies the run and request behind an action to outside systems, such as a
// database's log or the model's server. Its ids are not secret and grant no access.
type Origin struct {
	Run     string // empty for a person's action outside a run
	Request string // the request id that the client and the log use
	Trace   string // a traceparent (W3C Trace Context), if the action is traced
}

type originKey struct{}

// WithOrigin returns a context whose outgoing requests and statements carry the origin.
func WithOrigin(ctx context.Context, o Origin) context.Context {
	return context.WithValue(ctx, originKey{}, o)
}

// OriginOf returns the origin of a context, as far as it is known. Its ids contain only letters, digits and -_. so
// that they are safe in a header or a comment.
func OriginOf(ctx context.Context) Origin {
	o, _ := ctx.Value(originKey{}).(Origin)
	return Origin{Run: plainID(o.Run), Request: plainID(o.Request), Trace: plainID(o.Trace)}
}

// Comment returns the SQL comment to put before a statement, so that the database log shows its origin. It returns ""
// if the origin is unknown.
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

// plainID returns id, or "" if it could end a comment or a header: clients choose the ids of their requests.
func plainID(id string) string {
	if len(id) > 128 || strings.ContainsFunc(id, func(r rune) bool {
		return !(r >= 'a' && r <= 'z' || r >= 'A' && r <= 'Z' || r >= '0' && r <= '9' || r == '-' || r == '_' ||
			r == '.')
	}) {
		return ""
	}
	return id
}
