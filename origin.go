package footnote

import (
	"context"
	"log/slog"
	"regexp"
)

// Origin identifies the run and request behind an action to outside systems, such as a
// database's log or the model's server. Its ids are not secret and grant no access.
type Origin struct {
	Conversation string // empty outside a conversation

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
	return Origin{
		Conversation: plainID(o.Conversation), Run: plainID(o.Run),
		Request: plainID(o.Request), Trace: plainID(o.Trace),
	}
}

// LogAttrs returns the known ids as attributes of a log line.
func (o Origin) LogAttrs() (attrs []slog.Attr) {
	for _, id := range []struct{ key, value string }{
		{"conversation", o.Conversation}, {"run", o.Run}, {"request", o.Request},
	} {
		if id.value != "" {
			attrs = append(attrs, slog.String(id.key, id.value))
		}
	}
	return attrs
}

// Comment returns the SQL comment to put before a statement, so that the database log shows its origin. It returns ""
// if the origin is unknown.
func (o Origin) Comment() string {
	if o.Run == "" && o.Request == "" {
		return ""
	}
	comment := "/* footnote"
	if o.Run != "" {
		comment += " run=" + o.Run
	}
	if o.Request != "" {
		comment += " request=" + o.Request
	}
	return comment + " */ "
}

// plainID returns id, or "" if it could end a comment or a header: clients choose the ids of their requests.
func plainID(id string) string {
	if !harmless.MatchString(id) {
		return ""
	}
	return id
}

var harmless = regexp.MustCompile(`^[a-zA-Z0-9._-]{0,128}$`)
