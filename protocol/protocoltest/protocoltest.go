// Package protocoltest provides what tests of a protocol need: a server over the real engine and a real log, with a
// model that follows a script (agent/agenttest). Encoders are better tested by transcripts.
package protocoltest

import (
	"bufio"
	"cmp"
	"context"
	"encoding/json"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"github.com/footnotehq/footnote"
	"github.com/footnotehq/footnote/agent"
	"github.com/footnotehq/footnote/agent/agenttest"
	"github.com/footnotehq/footnote/httpapi"
	"github.com/footnotehq/footnote/hub"
	"github.com/footnotehq/footnote/hub/relay"
	"github.com/footnotehq/footnote/model"
	"github.com/footnotehq/footnote/protocol"
	"github.com/footnotehq/footnote/store"
	"github.com/footnotehq/footnote/store/sqlite/sqlitetest"
	"github.com/footnotehq/footnote/tool"
)

// Options configure a server. Protocols and Model are required; other zero fields take the defaults.
type Options struct {
	Protocols []protocol.Protocol
	Model     model.Model // usually agenttest.Script(…)
	ModelName string      // default "scripted"
	Tools     []tool.Tool
	Log       store.Store // default: a new one
	// Resolve finds the footnotes of answers; nil: they have none.
	Resolve agent.Resolver
	Change  func(*httpapi.Options) // changes further options of the server; may be nil
}

// New returns a server with one assistant, analyst. It has no keys, so every request from this machine is of the same
// user. Runs stop when the test ends.
func New(t *testing.T, o Options) *httpapi.Server {
	t.Helper()
	o.ModelName = cmp.Or(o.ModelName, "scripted")
	if o.Log == nil {
		o.Log = sqlitetest.New(t)
	}
	live := hub.New()
	engine, err := agent.New(agent.Options{Log: o.Log, Hub: live, Resolve: o.Resolve, Assistants: []*agent.Assistant{{
		Name: "analyst", Aliases: []string{"claude-da/analyst"}, Model: o.Model, ModelName: o.ModelName, Tools: o.Tools,
		Opening: func(context.Context, footnote.Principal, []string) (agent.Opening, error) {
			system := json.RawMessage(`[{"type":"text","text":"You are a test."}]`)
			return agent.Opening{System: system, Sources: []string{"shop"}}, nil
		},
	}}})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		ctx, cancel := context.WithCancel(context.Background())
		cancel()
		engine.Drain(ctx)
	})
	options := httpapi.Options{Engine: engine, Log: o.Log, Hub: live, Protocols: o.Protocols}
	if o.Change != nil {
		o.Change(&options)
	}
	api, err := httpapi.New(options)
	if err != nil {
		t.Fatal(err)
	}
	return api
}

// Replicas returns two servers over one log, each with an engine and a hub of its own, like two processes.
func Replicas(t *testing.T, o Options) (first, second *httpapi.Server) {
	t.Helper()
	if o.Log == nil {
		o.Log = sqlitetest.New(t)
	}
	change := o.Change
	o.Change = func(options *httpapi.Options) {
		others := relay.New(relay.Options{
			Log: o.Log, Hub: options.Hub, Drives: options.Engine.(*agent.Engine).Drives, Poll: 10 * time.Millisecond,
		})
		t.Cleanup(others.Close)
		if options.Watch = others.Watch; change != nil {
			change(options)
		}
	}
	return New(t, o), New(t, o)
}

// Request returns a request of a caller on this machine. The body of a POST is JSON; set Content-Type for another one.
func Request(method, target, body string) *http.Request {
	r := httptest.NewRequest(method, target, strings.NewReader(body))
	r.Host, r.RemoteAddr = "localhost:8080", "127.0.0.1:50000"
	if method == http.MethodPost {
		r.Header.Set("Content-Type", "application/json")
	}
	return r
}

// Do serves a request and returns the complete response.
func Do(h http.Handler, r *http.Request) *httptest.ResponseRecorder {
	w := httptest.NewRecorder()
	h.ServeHTTP(w, r)
	return w
}

// Serve starts a server on a port, for clients that read a stream while it grows or leave before its end.
func Serve(t *testing.T, h http.Handler) *httptest.Server {
	t.Helper()
	srv := httptest.NewServer(h)
	t.Cleanup(func() {
		srv.CloseClientConnections() // a client that hangs must not hang the test
		srv.Close()
	})
	return srv
}

// Until reads lines of a stream until one contains words, and returns everything read.
func Until(t *testing.T, stream *bufio.Reader, words string) (read string) {
	t.Helper()
	for !strings.Contains(read, words) {
		line, err := stream.ReadString('\n')
		if read += line; err != nil {
			t.Fatalf("%v after %s", err, read)
		}
	}
	return read
}

// Sent returns the messages that a model received in its n-th call, counting from 0, as JSON.
func Sent(m *agenttest.Model, n int) string {
	b, _ := json.Marshal(m.Requests()[n].Messages)
	return string(b)
}

// Counting returns a tool with that name, which always returns 42.
func Counting(name string) tool.Tool {
	return agenttest.NewTool(tool.Spec{Name: name, Side: tool.Server, ReadOnly: true},
		func(context.Context, tool.Call) (tool.Output, error) { return tool.Output{Content: "42"}, nil })
}
