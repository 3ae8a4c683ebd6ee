package mcp_test

import (
	"context"
	"encoding/json"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	sdk "github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/footnotehq/footnote/agent/agenttest"
	"github.com/footnotehq/footnote/protocol/mcp"
)

// TestResults checks that stored results can be read as rows and as resources, and only by their owner.
func TestResults(t *testing.T) {
	s := serve(t, agenttest.Script(agenttest.Call("t1", "count", `{}`), agenttest.Say("42.")), counting())
	session := s.connect(t, stateless, nil)
	var a mcp.Answer
	call(t, session, "ask", args{"question": "How many?"}, &a)
	id := a.Results[0].ID
	var page mcp.Table
	call(t, session, "result", args{"id": id}, &page)
	if page.ID != id || len(page.Rows) != 1 || string(page.Rows[0]) != "[42]" || page.Export == "" ||
		page.SQL != counts {
		t.Errorf("the page is %+v", page)
	}
	page = mcp.Table{}
	if call(t, session, "result", args{"id": id, "offset": 1}, &page); len(page.Rows) != 0 || page.RowCount != 1 {
		t.Errorf("beyond the end: %+v", page)
	}
	for _, wrong := range []args{{"id": "conv_x.r1"}, {"id": ""}, {"id": id, "offset": -1}, {"id": id, "limit": -1}} {
		if res := call(t, session, "result", wrong, nil); !res.IsError {
			t.Errorf("%v was accepted", wrong)
		}
	}
	read, err := session.ReadResource(t.Context(), &sdk.ReadResourceParams{URI: "footnote://results/" + id})
	if err != nil || !strings.Contains(read.Contents[0].Text, `"rows":[[42]]`) || read.CacheScope != "private" {
		t.Errorf("as a resource: %+v %v", read, err)
	}
	other := &sdk.ReadResourceParams{URI: "footnote://results/conv_x.r1"}
	if _, err := session.ReadResource(t.Context(), other); err == nil {
		t.Error("an unknown result can be read")
	}
}

func TestResources(t *testing.T) {
	s := serve(t, agenttest.Script())
	session := s.connect(t, legacy, nil)
	list, err := session.ListResources(t.Context(), nil)
	if err != nil {
		t.Fatal(err)
	}
	found := map[string]string{}
	for _, r := range list.Resources {
		found[r.URI] = r.MIMEType
	}
	if found["footnote://sources/shop"] == "" || found["ui://footnote/answer"] != "text/html;profile=mcp-app" {
		t.Fatalf("the resources are %v", found)
	}
	read, err := session.ReadResource(t.Context(), &sdk.ReadResourceParams{URI: "footnote://sources/shop"})
	if err != nil || !strings.Contains(read.Contents[0].Text, `"name":"orders"`) {
		t.Errorf("the schema: %+v %v", read, err)
	}
	other := &sdk.ReadResourceParams{URI: "footnote://sources/other"}
	if _, err := session.ReadResource(t.Context(), other); err == nil {
		t.Error("an unknown source has a schema")
	}
	read, err = session.ReadResource(t.Context(), &sdk.ReadResourceParams{URI: "ui://footnote/answer"})
	if err != nil {
		t.Fatal(err)
	}
	loading := []string{"src=", "href=", "import ", "fetch(", "url(", "http:", "https:", "innerHTML"}
	for _, loads := range loading {
		if strings.Contains(read.Contents[0].Text, loads) {
			t.Errorf("the page contains %s, so it may load something", loads)
		}
	}
	tools, err := session.ListTools(t.Context(), nil)
	if err != nil {
		t.Fatal(err)
	}
	meta, _ := json.Marshal(tools.Tools[0].Meta)
	if tools.Tools[0].Name != "ask" || string(meta) != `{"ui":{"resourceUri":"ui://footnote/answer"}}` {
		t.Errorf("%s has the meta data %s", tools.Tools[0].Name, meta)
	}
}

// TestStandardStreams checks that a client on a pair of streams gets what one on HTTP gets, and can cancel.
func TestStandardStreams(t *testing.T) {
	held := agenttest.Say("Never.")
	held.Wait = make(chan struct{})
	m := agenttest.Script(agenttest.Call("t1", "count", `{}`), agenttest.Say("There are 42."), held)
	s := serve(t, m, counting())
	session := s.pipe(t, s.api)
	var a mcp.Answer
	call(t, session, "ask", args{"question": "How many?"}, &a)
	if a.Answer != "There are 42." || len(a.Footnotes) != 1 {
		t.Errorf("the answer is %+v", a)
	}
	if res := call(t, session, "query", args{"sql": "DROP TABLE orders"}, nil); !res.IsError {
		t.Error("a hostile statement was run")
	}
	if _, err := session.ListResources(t.Context(), nil); err != nil {
		t.Errorf("list the resources: %v", err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	ended := make(chan error, 1)
	go func() {
		_, err := session.CallTool(ctx, &sdk.CallToolParams{
			Name: "ask", Arguments: args{"question": "Go on?", "conversation": a.Conversation},
		})
		ended <- err
	}()
	for len(m.Requests()) < 3 {
		select {
		case err := <-ended:
			t.Fatalf("the call ended early: %v", err)
		default:
		}
	}
	cancel()
	<-ended
	s.untilIdle(t)
}

// TestRefusedOnStandardStreams checks that what the server says about a refused request reaches the client.
func TestRefusedOnStandardStreams(t *testing.T) {
	s := serve(t, agenttest.Script())
	session := s.pipe(t, http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		w.WriteHeader(http.StatusTooManyRequests)
		_, _ = io.WriteString(w, `{"error":{"code":"rate_limited","message":"Slow down."}}`) // it goes to memory
	}))
	_, err := session.CallTool(t.Context(), &sdk.CallToolParams{Name: "schema"})
	if err == nil || !strings.Contains(err.Error(), "Slow down.") {
		t.Errorf("the error is %v", err)
	}
}

// pipe connects a client by a pair of streams.
func (s *server) pipe(t *testing.T, api http.Handler) *sdk.ClientSession {
	t.Helper()
	inRead, inWrite := io.Pipe()
	outRead, outWrite := io.Pipe()
	served := make(chan error, 1)
	go func() { served <- s.mcp.Serve(t.Context(), api, inRead, outWrite) }()
	c := sdk.NewClient(&sdk.Implementation{Name: "test", Version: "1"}, nil)
	session, err := c.Connect(t.Context(), &sdk.IOTransport{Reader: outRead, Writer: inWrite}, nil)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		_ = session.Close() // closes the streams, which ends the server
		if err := <-served; err != nil {
			t.Errorf("serve: %v", err)
		}
	})
	return session
}

// TestOthersSeeNothing checks that the conversation of one user does not exist for another.
func TestOthersSeeNothing(t *testing.T) {
	s := serveKeys(t, agenttest.Script(agenttest.Call("t1", "count", `{}`), agenttest.Say("42.")), counting())
	ada, bob := s.connectAs(t, "key-of-ada"), s.connectAs(t, "key-of-bob")
	var a mcp.Answer
	call(t, ada, "ask", args{"question": "How many?"}, &a)
	for name, arguments := range map[string]args{
		"result": {"id": a.Results[0].ID},
		"query":  {"sql": "SELECT 1", "conversation": a.Conversation},
		"ask":    {"continue": a.Conversation + "." + a.Run},
	} {
		if res := call(t, bob, name, arguments, nil); !res.IsError {
			t.Errorf("%s shows the conversation of another user: %s", name, text(t, res))
		}
	}
	if res := call(t, bob, "ask", args{"question": "And?", "conversation": a.Conversation}, nil); !res.IsError {
		t.Error("the conversation of another user was continued")
	}
	w := httptest.NewRecorder()
	r := httptest.NewRequest(http.MethodPost, mcp.Address, strings.NewReader(`{"jsonrpc":"2.0","id":1,"method":"ping"}`))
	if s.api.ServeHTTP(w, r); w.Code != http.StatusUnauthorized {
		t.Errorf("without a key: %d", w.Code)
	}
}
