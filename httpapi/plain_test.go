package httpapi_test

import (
	"encoding/json"
	"net/http"
	"strings"
	"testing"

	"github.com/footnotehq/footnote"
	"github.com/footnotehq/footnote/agent"
	"github.com/footnotehq/footnote/agent/agenttest"
	"github.com/footnotehq/footnote/httpapi"
	"github.com/footnotehq/footnote/internal/strictjson"
	"github.com/footnotehq/footnote/model"
	"github.com/footnotehq/footnote/protocol"
	"github.com/footnotehq/footnote/store/sqlite/sqlitetest"
)

// plain is a protocol that takes a message as text or as a JSON string, and streams the words of the answer as text.
type plain struct{ server protocol.Server }

func (p plain) Routes(s protocol.Server) protocol.Routes {
	p.server = s
	return protocol.Routes{
		List:   []protocol.Route{{Method: http.MethodPost, Pattern: "/api/plain", Handler: p.post, Held: true}},
		Errors: protocol.Plain,
	}
}

func (p plain) post(w http.ResponseWriter, r *http.Request) error {
	body, err := p.server.Body(w, r, 1, "text/plain", "application/json")
	if err != nil {
		return err
	}
	turn := agent.Turn{Protocol: "plain", Unattended: true}
	if r.Header.Get("Content-Type") != "application/json" {
		turn.Text = string(body)
	} else if err := json.Unmarshal(body, &turn.Text); err != nil {
		return footnote.Invalidf("This is not a string.")
	}
	ticket, err := p.server.Submit(w, r, turn)
	if err != nil {
		return err
	}
	return p.server.Show(w, r, protocol.Stream{
		Name: "plain", Ticket: ticket, Encoder: &words{run: ticket.Run}, ContentType: "text/plain; charset=utf-8",
	})
}

// words is an encoder that leaves only the words of an answer.
type words struct {
	run  string
	done bool
	err  error
}

func (e *words) Open(dst []byte) []byte { return dst }

func (e *words) Event(dst []byte, ev footnote.Event) []byte {
	if ev.Run != e.run {
		return dst
	}
	e.done = e.done || footnote.Terminal(ev.Body)
	if failed, ok := ev.Body.(footnote.RunFailed); ok {
		e.err = footnote.Errorf(failed.Code, "%s", failed.Message)
	}
	return dst
}

func (e *words) Delta(dst []byte, d footnote.Delta) []byte {
	if d.Op == footnote.BlockGrew && d.Kind == model.TextBlock {
		dst = strictjson.AppendUnescaped(dst, d.Escaped)
	}
	return dst
}

func (e *words) Fail(dst []byte, err error) []byte {
	e.done = true
	return append(dst, footnote.MessageOf(err)...)
}

func (e *words) Done() bool { return e.done }

func (e *words) Err() error { return e.err }

// TestPlainText checks that a protocol can take and stream something other than JSON and server-sent events, and has
// its own errors.
func TestPlainText(t *testing.T) {
	model := agenttest.Script(agenttest.Say("There are \"42\".\n"), agenttest.Say("As said."), agenttest.Say("Yes."))
	api := newOn(t, sqlitetest.New(t), "scripted", model,
		func(o *httpapi.Options) { o.Protocols, o.BodyLimit = []protocol.Protocol{plain{}}, 100 })
	for _, c := range []struct{ contentType, body, want string }{
		{"application/json", `"How many?"`, "There are \"42\".\n"},
		{"application/json", `42`, "This is not a string."},
		{"text/plain", "And \"now\"?", "As said."},
		{"Text/Plain; charset=UTF-8", "Grün?", "Yes."},
		{"text/plain", "gr\xfcn", "The body is not UTF-8."},
		{"text/plain", strings.Repeat("x", 101), "The body may have at most 100 bytes."},
		{"text/plain; charset=latin1", "a", "The charset of the body must be UTF-8."},
		{"text/html", "a", "The Content-Type must be text/plain or application/json."},
		{"", "a", "The Content-Type must be text/plain or application/json."},
	} {
		r := request("POST", "/api/plain", c.body)
		r.Header.Set("Content-Type", c.contentType)
		w := do(api, r)
		if kind := w.Header().Get("Content-Type"); kind != "text/plain; charset=utf-8" || w.Body.String() != c.want {
			t.Errorf("%s %q: %d %s %q, want %q", c.contentType, c.body, w.Code, kind, w.Body, c.want)
		}
	}
}
