package mcp_test

import (
	"context"
	"encoding/json"
	"io"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"testing"
	"time"

	sdk "github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/footnotehq/footnote"
	"github.com/footnotehq/footnote/agent"
	"github.com/footnotehq/footnote/agent/agenttest"
	"github.com/footnotehq/footnote/cite"
	"github.com/footnotehq/footnote/httpapi"
	"github.com/footnotehq/footnote/model"
	"github.com/footnotehq/footnote/protocol"
	"github.com/footnotehq/footnote/protocol/mcp"
	"github.com/footnotehq/footnote/protocol/protocoltest"
	"github.com/footnotehq/footnote/tool"
)

// The revisions that clients speak: the newest with sessions, and the newest without.
const (
	legacy    = "2025-11-25"
	stateless = "2026-07-28"
)

// shop is the data of the tests: one source whose every statement returns one row.
type shop struct{ httpapi.Data }

func (shop) Changed(footnote.Principal, string) time.Time { return time.Time{} }

func (shop) List(context.Context, footnote.Principal) ([]httpapi.SourceInfo, error) {
	return []httpapi.SourceInfo{{Name: "shop", Engine: "test", Tables: 1, OK: true}}, nil
}

func (shop) Schema(_ context.Context, _ footnote.Principal, name string) (httpapi.SourceSchema, error) {
	if name != "shop" {
		return httpapi.SourceSchema{}, footnote.Errorf(footnote.NotFound, "There is no such source.")
	}
	return httpapi.SourceSchema{Name: "shop", Engine: "test", Tables: []httpapi.SourceTable{
		{Name: "orders", Columns: []httpapi.SourceColumn{{Name: "id", Type: "INTEGER"}, {Name: "total", Type: "REAL"}}},
		{Name: "customers", Comment: "people who buy", Columns: []httpapi.SourceColumn{{Name: "id", Type: "INTEGER"}}},
	}}, nil
}

func (shop) Query(_ context.Context, _ footnote.Principal, name, sql string, _ *protocol.Checked) (footnote.Result,
	time.Duration, error) {
	switch {
	case name != "shop":
		return footnote.Result{}, 0, footnote.Errorf(footnote.NotFound, "There is no such source.")
	case !strings.HasPrefix(sql, "SELECT"):
		return footnote.Result{}, 0, footnote.Invalidf("The statement was refused: DROP is not allowed.")
	}
	return counted, time.Millisecond, nil
}

var counted = footnote.Result{Columns: []footnote.Column{{Name: "n", Kind: "integer"}}, Rows: [][]any{{int64(42)}}}

const counts = "SELECT count(*) AS n FROM orders"

// counting is a tool that stores a result.
func counting() tool.Tool {
	return agenttest.NewTool(tool.Spec{Name: "count", Label: "Counting", Side: tool.Server, ReadOnly: true},
		func(context.Context, tool.Call) (tool.Output, error) {
			return tool.Output{Content: "42", Rows: &counted, Source: "shop", SQL: counts}, nil
		})
}

// server is a running server of the protocol.
type server struct {
	url  string
	api  *httpapi.Server
	mcp  *mcp.Protocol
	asks []httpapi.OwnQuery
}

func serve(t *testing.T, m model.Model, tools ...tool.Tool) *server {
	t.Helper()
	return serveWith(t, nil, m, tools)
}

// serveKeys starts a server with two users.
func serveKeys(t *testing.T, m model.Model, tools ...tool.Tool) *server {
	t.Helper()
	return serveWith(t, map[string]footnote.Principal{
		"key-of-ada": {Org: "acme", User: "ada"}, "key-of-bob": {Org: "acme", User: "bob"},
	}, m, tools)
}

func serveWith(t *testing.T, keys map[string]footnote.Principal, m model.Model, tools []tool.Tool) *server {
	t.Helper()
	s := &server{mcp: mcp.New(mcp.Settings{})}
	s.api = protocoltest.New(t, protocoltest.Options{
		Protocols: []protocol.Protocol{s.mcp}, Model: m, Tools: tools,
		Resolve: func(d agent.Draft) (r agent.Resolved) {
			r.Cites, r.Unresolved = cite.Resolve(d.Text, d.Tables, d.Question)
			return r
		},
		Change: func(o *httpapi.Options) {
			o.Data, o.Keys = shop{}, keys
			o.Queried = func(_ context.Context, q httpapi.OwnQuery) { s.asks = append(s.asks, q) }
		},
	})
	s.url = protocoltest.Serve(t, s.api).URL + mcp.Address
	return s
}

// connect returns a session of the unmodified client.
func (s *server) connect(t *testing.T, revision string, o *sdk.ClientOptions) *sdk.ClientSession {
	t.Helper()
	return s.dial(t, revision, o, http.DefaultClient)
}

// connectAs returns a session of a user with a key.
func (s *server) connectAs(t *testing.T, key string) *sdk.ClientSession {
	t.Helper()
	return s.dial(t, legacy, nil, &http.Client{Transport: bearer(key)})
}

// bearer sends a key with each request.
type bearer string

func (b bearer) RoundTrip(r *http.Request) (*http.Response, error) {
	r = r.Clone(r.Context())
	r.Header.Set("Authorization", "Bearer "+string(b))
	return http.DefaultTransport.RoundTrip(r)
}

func (s *server) dial(t *testing.T, revision string, o *sdk.ClientOptions, by *http.Client) *sdk.ClientSession {
	t.Helper()
	c := sdk.NewClient(&sdk.Implementation{Name: "test", Version: "1"}, o)
	session, err := c.Connect(t.Context(), &sdk.StreamableClientTransport{
		Endpoint: s.url, HTTPClient: by, DisableStandaloneSSE: true, MaxRetries: -1,
	}, &sdk.ClientSessionOptions{ProtocolVersion: revision})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = session.Close() }) // the test has ended; the server may have, too
	return session
}

// call calls a tool and decodes its structured content.
func call(t *testing.T, session *sdk.ClientSession, name string, args any, into any) *sdk.CallToolResult {
	t.Helper()
	res, err := session.CallTool(t.Context(), &sdk.CallToolParams{Name: name, Arguments: args})
	if err != nil {
		t.Fatal(err)
	}
	decode(t, res, into)
	return res
}

func decode(t *testing.T, res *sdk.CallToolResult, into any) {
	t.Helper()
	raw, err := json.Marshal(res.StructuredContent)
	if err == nil && into != nil {
		err = json.Unmarshal(raw, into)
	}
	if err != nil {
		t.Fatalf("%s: %v", raw, err)
	}
}

// text returns the text of a result.
func text(t *testing.T, res *sdk.CallToolResult) string {
	t.Helper()
	if len(res.Content) != 1 {
		t.Fatalf("the result has %d contents", len(res.Content))
	}
	c, ok := res.Content[0].(*sdk.TextContent)
	if !ok {
		t.Fatalf("the result has a %T", res.Content[0])
	}
	return c.Text
}

type args = map[string]any

func TestTools(t *testing.T) {
	s := serve(t, agenttest.Script())
	for _, revision := range []string{legacy, stateless} {
		session := s.connect(t, revision, nil)
		list, err := session.ListTools(t.Context(), nil)
		if err != nil {
			t.Fatal(err)
		}
		names := []string{}
		for _, tool := range list.Tools {
			names = append(names, tool.Name)
			if !tool.Annotations.ReadOnlyHint {
				t.Errorf("%s is not marked read-only", tool.Name)
			}
		}
		slices.Sort(names)
		raw, err := json.Marshal(list)
		if err != nil || len(raw) > 8<<10 || len(names) > 6 {
			t.Errorf("%s: %d tools in %d bytes, %v", revision, len(names), len(raw), err)
		}
		if revision == stateless && list.CacheScope != "private" {
			t.Errorf("the list of a user may be cached by others: %q", list.CacheScope)
		}
		for _, name := range []string{"ask", "query", "schema"} {
			if !slices.Contains(names, name) {
				t.Errorf("%s: there is no tool %s in %v", revision, name, names)
			}
		}
	}
}

func TestAsk(t *testing.T) {
	for _, revision := range []string{legacy, stateless} {
		t.Run(revision, func(t *testing.T) {
			s := serve(t, agenttest.Script(
				agenttest.Call("t1", "count", `{}`), agenttest.Say("There are 42 orders, not 77."), agenttest.Say("Yes."),
			), counting())
			steps := make(chan struct{}, 100)
			session := s.connect(t, revision, &sdk.ClientOptions{
				ProgressNotificationHandler: func(context.Context, *sdk.ProgressNotificationClientRequest) {
					steps <- struct{}{}
				},
			})
			params := &sdk.CallToolParams{Name: "ask", Arguments: args{"question": "How many orders?"}}
			params.SetProgressToken("p1")
			res, err := session.CallTool(t.Context(), params)
			if err != nil {
				t.Fatal(err)
			}
			var a mcp.Answer
			decode(t, res, &a)
			if a.Status != "complete" || a.Answer != "There are 42 orders, not 77." || len(a.Footnotes) != 1 {
				t.Fatalf("the answer is %+v", a)
			}
			f := a.Footnotes[0]
			if f.Text != "42" || f.Result != "r1" || f.Column != "n" || f.Source != "shop" ||
				f.SQL != counts {
				t.Errorf("the footnote is %+v", f)
			}
			if len(a.Unsourced) != 1 || a.Unsourced[0].Text != "77" {
				t.Errorf("numbers without a footnote: %+v", a.Unsourced)
			}
			if len(a.Results) != 1 || a.Results[0].ID != a.Conversation+".r1" || a.Cost.Tokens == 0 {
				t.Errorf("results and cost: %+v %+v", a.Results, a.Cost)
			}
			if got := text(t, res); !strings.Contains(got, "There are 42") || !strings.Contains(got, "count(*)") {
				t.Errorf("the text is %s", got)
			}
			for n := range 2 { // the client handles notifications beside the answer
				select {
				case <-steps:
				case <-time.After(time.Minute):
					t.Fatalf("%d signs of progress", n)
				}
			}
			var next mcp.Answer
			call(t, session, "ask", args{"question": "Sure?", "conversation": a.Conversation}, &next)
			if next.Conversation != a.Conversation || next.Answer != "Yes." {
				t.Errorf("the follow-up: %+v", next)
			}
		})
	}
}

// TestLongAnswer checks that a question that takes longer than its client waits returns an id, and that the answer
// comes with it.
func TestLongAnswer(t *testing.T) {
	release := make(chan struct{})
	slow := agenttest.Say("At last.")
	slow.Wait = release
	s := serve(t, agenttest.Script(slow))
	session := s.connect(t, legacy, nil)
	var first, second, third mcp.Answer
	res := call(t, session, "ask", args{"question": "How many?", "wait_seconds": 1}, &first)
	if first.Status != "running" || first.Continue == "" || !strings.Contains(text(t, res), first.Continue) {
		t.Fatalf("after a second: %+v", first)
	}
	close(release)
	call(t, session, "ask", args{"continue": first.Continue}, &second)
	call(t, session, "ask", args{"continue": first.Continue}, &third)
	for _, a := range []mcp.Answer{second, third} {
		if a.Status != "complete" || a.Answer != "At last." || a.Run != first.Run {
			t.Errorf("later: %+v", a)
		}
	}
	if res := call(t, session, "ask", args{"continue": first.Conversation + ".run_other"}, nil); !res.IsError {
		t.Error("an unknown run has an answer")
	}
}

// TestQuestionToThePerson checks that a run that asks the person something waits, and continues with the answer.
func TestQuestionToThePerson(t *testing.T) {
	ask := tool.OnPage(tool.Spec{
		Name: "wonder", Family: tool.Question, ReadOnly: true, InputSchema: json.RawMessage(`{"type":"object"}`),
	})
	s := serve(t, agenttest.Script(
		agenttest.Call("t1", "wonder", `{"question":"Which year?","options":["2025","2026"]}`),
		agenttest.Say("In 2026: many."),
	), ask, counting())
	session := s.connect(t, stateless, nil)
	var first, again, second mcp.Answer
	res := call(t, session, "ask", args{"question": "How many?"}, &first)
	if first.Status != "waiting" || first.Question == nil || first.Question.Text != "Which year?" ||
		len(first.Question.Options) != 2 || !strings.Contains(text(t, res), "Which year?") {
		t.Fatalf("the question is %+v", first)
	}
	if call(t, session, "ask", args{"continue": first.Continue}, &again); again.Status != "waiting" {
		t.Errorf("without an answer: %+v", again)
	}
	call(t, session, "ask", args{"continue": first.Continue, "answer": "2026"}, &second)
	if second.Status != "complete" || second.Answer != "In 2026: many." || second.Run != first.Run {
		t.Errorf("with the answer: %+v", second)
	}
	if res := call(t, session, "ask", args{"continue": first.Continue, "answer": "2025"}, nil); !res.IsError {
		t.Error("a second answer was accepted")
	}
}

// TestClientToolsDoNotHang checks that a run ends if it waits for a tool that clients of this protocol do not have.
func TestClientToolsDoNotHang(t *testing.T) {
	s := serve(t, agenttest.Script(agenttest.Call("t1", "look", `{}`)), counting(),
		tool.OnPage(tool.Spec{Name: "look", ReadOnly: true, InputSchema: json.RawMessage(`{"type":"object"}`)}))
	res := call(t, s.connect(t, legacy, nil), "ask", args{"question": "Look."}, nil)
	if !res.IsError || !strings.Contains(text(t, res), "browser") {
		t.Errorf("the result is %+v", res)
	}
}

func TestQuery(t *testing.T) {
	s := serve(t, agenttest.Script(agenttest.Say("Hello.")))
	session := s.connect(t, stateless, nil)
	var got mcp.Table
	call(t, session, "query", args{"sql": "SELECT 42"}, &got)
	if got.Source != "shop" || got.RowCount != 1 || string(got.Rows[0]) != "[42]" ||
		got.ID != got.Conversation+".r1" {
		t.Errorf("the rows are %+v", got)
	}
	old := s.connect(t, legacy, nil)
	var first, second mcp.Table
	call(t, old, "query", args{"sql": "SELECT 42"}, &first)
	call(t, old, "query", args{"sql": "SELECT 43"}, &second)
	if first.Conversation == got.Conversation || second.ID != first.Conversation+".r2" {
		t.Errorf("the statements of a session are stored as %s and %s", first.ID, second.ID)
	}
	res := call(t, session, "query", args{"sql": "DROP TABLE orders"}, nil)
	if !res.IsError || !strings.Contains(text(t, res), "refused") {
		t.Errorf("a hostile statement: %s", text(t, res))
	}
	if len(s.asks) != 1 || s.asks[0].Protocol != "mcp" || s.asks[0].Err == nil {
		t.Errorf("the audit was told %+v", s.asks)
	}
	var a mcp.Answer
	call(t, session, "ask", args{"question": "Hello?"}, &a)
	call(t, session, "query", args{"sql": "SELECT 42", "conversation": a.Conversation}, &got)
	if got.ID != a.Conversation+".r1" || len(s.asks) != 1 {
		t.Errorf("in a conversation: %+v; the audit was told %+v", got, s.asks)
	}
	for _, wrong := range []args{
		{"sql": "SELECT 1", "source": "other"}, {"sql": ""}, {"sql": "SELECT 1", "conversation": "conv_x"},
		{"sql": "SELECT 1", "limit": 1_000_000},
	} {
		if res := call(t, session, "query", wrong, nil); !res.IsError {
			t.Errorf("%v was accepted", wrong)
		}
	}
}

// TestReadOnly checks that only tools that run no statements are marked as read-only for a person with an unproven
// source.
func TestReadOnly(t *testing.T) {
	for _, proven := range []bool{true, false} {
		p := mcp.New(mcp.Settings{ReadOnly: func(footnote.Principal) bool { return proven }})
		s := &server{mcp: p, api: protocoltest.New(t, protocoltest.Options{
			Protocols: []protocol.Protocol{p}, Model: agenttest.Script(),
			Change: func(o *httpapi.Options) { o.Data = shop{} },
		})}
		s.url = protocoltest.Serve(t, s.api).URL + mcp.Address
		list, err := s.connect(t, legacy, nil).ListTools(t.Context(), nil)
		if err != nil {
			t.Fatal(err)
		}
		for _, tool := range list.Tools {
			reads := tool.Name == "schema" || tool.Name == "result"
			if got := tool.Annotations.ReadOnlyHint; got != (proven || reads) {
				t.Errorf("with proven sources %v, %s is read-only: %v", proven, tool.Name, got)
			}
		}
	}
}

func TestSchema(t *testing.T) {
	s := serve(t, agenttest.Script())
	session := s.connect(t, legacy, nil)
	for _, c := range []struct {
		args args
		want string
	}{
		{args{}, `"columns":["id","total"]`},
		{args{"search": "PEOPLE buy"}, `{"left_out":0,"tables":[{"source":"shop","name":"customers"`},
		{args{"table": "ORDERS"}, `"type":"REAL"`},
		{args{"table": "nothing"}, "There is no table"},
		{args{"source": "other"}, "There is no such source."},
	} {
		if got := text(t, call(t, session, "schema", c.args, nil)); !strings.Contains(got, c.want) {
			t.Errorf("%v: %s", c.args, got)
		}
	}
}

// TestCancel checks that a client that cancels a question ends its run, in both revisions.
func TestCancel(t *testing.T) {
	for _, revision := range []string{legacy, stateless} {
		t.Run(revision, func(t *testing.T) {
			held := agenttest.Say("Never.")
			held.Wait = make(chan struct{})
			m := agenttest.Script(held)
			s := serve(t, m)
			session := s.connect(t, revision, nil)
			ctx, cancel := context.WithCancel(t.Context())
			ended := make(chan error, 1)
			go func() {
				_, err := session.CallTool(ctx, &sdk.CallToolParams{Name: "ask", Arguments: args{"question": "How?"}})
				ended <- err
			}()
			for len(m.Requests()) == 0 {
				time.Sleep(time.Millisecond)
			}
			cancel()
			if err := <-ended; err == nil {
				t.Error("the call was not cancelled")
			}
			s.untilIdle(t)
		})
	}
}

// untilIdle waits until no run of the only conversation is active, and checks that the last one was stopped.
func (s *server) untilIdle(t *testing.T) {
	t.Helper()
	for range 1000 {
		list := protocoltest.Do(s.api, protocoltest.Request("GET", "/api/conversations", "")).Body.String()
		if strings.Contains(list, `"state":"idle"`) || strings.Contains(list, `"state":"stopped"`) {
			return
		}
		time.Sleep(5 * time.Millisecond)
	}
	t.Error("the run was not stopped")
}

// TestRefusals checks requests that are not of the protocol.
func TestRefusals(t *testing.T) {
	s := serve(t, agenttest.Script())
	for _, c := range []struct {
		method, origin, body string
		want                 int
	}{
		{"GET", "", "", http.StatusMethodNotAllowed},
		{"POST", "", "{", http.StatusBadRequest},
		{"POST", "", `[{"jsonrpc":"2.0","id":1,"method":"ping"}]`, http.StatusBadRequest},
		{"POST", "", `{"jsonrpc":"2.0","id":1,"id":2,"method":"ping"}`, http.StatusBadRequest},
		{"POST", "", `{"jsonrpc":"2.0","id":1,"method":"ping"} {}`, http.StatusBadRequest},
		{"POST", "", `{"jsonrpc":"2.0","id":"` + strings.Repeat("1", 300) + `","method":"ping"}`, http.StatusBadRequest},
		{"POST", "", strings.Repeat(" ", 2<<20), http.StatusRequestEntityTooLarge},
		{"POST", "https://evil.example", `{"jsonrpc":"2.0","id":1,"method":"tools/list"}`, http.StatusForbidden},
		{"POST", "", `{"jsonrpc":"2.0","id":1,"method":"tools/list"}`, http.StatusOK},
	} {
		r, err := http.NewRequestWithContext(t.Context(), c.method, s.url, strings.NewReader(c.body))
		if err != nil {
			t.Fatal(err)
		}
		r.Header.Set("Content-Type", "application/json")
		r.Header.Set("Accept", "application/json, text/event-stream")
		if c.origin != "" {
			r.Header.Set("Origin", c.origin)
		}
		res, err := http.DefaultClient.Do(r)
		if err != nil {
			t.Fatal(err)
		}
		body, _ := io.ReadAll(res.Body) // the status matters
		res.Body.Close()
		if res.StatusCode != c.want {
			t.Errorf("%s %.50s from %q: %d %s, want %d", c.method, c.body, c.origin, res.StatusCode, body, c.want)
		}
		if res.StatusCode == http.StatusOK && res.Header.Get("X-Accel-Buffering") != "no" {
			t.Error("proxies may buffer the stream")
		}
	}
	w := httptest.NewRecorder()
	s.api.ServeHTTP(w, protocoltest.Request("POST", mcp.Address, `{"jsonrpc":"2.0","id":1,"method":"ping"}`))
	if w.Code != http.StatusBadRequest {
		t.Errorf("a client that takes no stream: %d %s", w.Code, w.Body)
	}
}
