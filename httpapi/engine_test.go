package httpapi_test

import (
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/footnotehq/footnote/agent/agenttest"
	"github.com/footnotehq/footnote/httpapi"
	"github.com/footnotehq/footnote/protocol/protocoltest"
	"github.com/footnotehq/footnote/store"
	"github.com/footnotehq/footnote/tool"
)

// newReal returns a server over the real engine, with a scripted model.
func newReal(t *testing.T, model *agenttest.Model, tools ...tool.Tool) *httpapi.Server {
	t.Helper()
	return newNamed(t, "scripted", model, tools...)
}

func newNamed(t *testing.T, name string, model *agenttest.Model, tools ...tool.Tool) *httpapi.Server {
	t.Helper()
	return newOn(t, nil, name, model, nil, tools...)
}

// newOn is newNamed over the given log, with other options.
func newOn(t *testing.T, log store.Store, name string, model *agenttest.Model, change func(*httpapi.Options),
	tools ...tool.Tool) *httpapi.Server {
	t.Helper()
	return protocoltest.New(t, protocoltest.Options{
		Protocols: allProtocols(), Model: model, ModelName: name, Tools: tools, Log: log, Change: change,
	})
}

var counting = protocoltest.Counting("query")

// TestRealEngine checks that a conversation through this protocol uses the real loop and log: tools, history by
// id, imported history.
func TestRealEngine(t *testing.T) {
	model := agenttest.Script(
		agenttest.Call("t1", "query", `{"sql":"SELECT 42"}`), agenttest.Say("There are 42."),
		agenttest.Say("And 43 in June."), agenttest.Say("Hello again."),
	)
	api := newReal(t, model, counting)
	ask := func(id, body string) *httptest.ResponseRecorder {
		r := request("POST", "/v1/chat/completions", `{"model":"claude-da/analyst",`+body+`}`)
		if id != "" {
			r.Header.Set("X-Conversation-Id", id)
		}
		w := do(api, r)
		if w.Code != 200 {
			t.Fatal(w.Code, w.Body)
		}
		return w
	}
	first := ask("", `"stream":true,"messages":[{"role":"user","content":"How many?"}]`)
	if got := first.Body.String(); !strings.Contains(got, `"content":"There are 42."`) ||
		!strings.HasSuffix(got, "data: [DONE]\n\n") || strings.Contains(got, "tool_calls") {
		t.Errorf("streamed: %s", got)
	}
	id := first.Header().Get("X-Conversation-Id")
	second := ask(id, `"messages":[{"role":"user","content":"How many?"},{"role":"assistant","content":"A `+
		`lie."},{"role":"user","content":"And in June?"}]`)
	if got := second.Body.String(); second.Header().Get("X-Conversation-Id") != id ||
		!strings.Contains(got, `"content":"And 43 in June."`) {
		t.Errorf("continued: %s", got)
	}
	sent := history(model, 2)
	if strings.Contains(sent, "A lie.") || !strings.Contains(sent, "tool_result") {
		t.Errorf("the server has its own record, and sent %s", sent)
	}
	ask("", `"messages":[{"role":"system","content":"Be `+
		`kind."},{"role":"user","content":"Hi"},{"role":"assistant","content":"Hello."},{"role":"user","content":"Me `+
		`again"}]`)
	if sent := history(model, 3); !strings.Contains(sent, "Hello.") || !strings.Contains(sent, "Be kind.") {
		t.Errorf("without a record, the client's history counts; sent was %s", sent)
	}
}

// TestRealEngineNeverParks checks that a run that would need the client's answer continues without it: the
// clients of this protocol know neither our tools nor approvals.
func TestRealEngineNeverParks(t *testing.T) {
	browser := agenttest.NewTool(tool.Spec{Name: "draw", Side: tool.Client, ReadOnly: true}, nil)
	write := agenttest.NewTool(tool.Spec{Name: "write"}, nil)
	model := agenttest.Script(agenttest.Calls(agenttest.CallBlock("t1", "draw", `{}`),
		agenttest.CallBlock("t2", "write", `{}`)), agenttest.Say("Without a drawing, then."))
	api := newReal(t, model, browser, write)
	w := do(api, request("POST", "/v1/chat/completions",
		`{"model":"analyst","stream":true,"messages":[{"role":"user","content":"Draw."}]}`))
	if w.Code != 200 || !strings.Contains(w.Body.String(), "Without a drawing") {
		t.Errorf("answer without the client: %d %s", w.Code, w.Body)
	}
	if last := ended(t, api, w); !strings.Contains(last, `"kind":"run_finished"`) {
		t.Errorf("last = %s", last)
	}
	if sent := history(model, 1); !strings.Contains(sent, "no page is open here") ||
		!strings.Contains(sent, "no one can do so here") {
		t.Errorf("the model was told %s", sent)
	}
}

// TestJobsWithoutAModel checks that the offline planner, which only understands questions about data, is not
// asked for titles.
func TestJobsWithoutAModel(t *testing.T) {
	job := request("POST", "/v1/chat/completions",
		`{"model":"analyst","messages":[{"role":"user","content":"### Task: Generate a concise title as { \"title\": `+
			`\"x\" } <chat_history>\nUSER: how many orders\n</chat_history>"}]}`)
	model := agenttest.Script()
	w := do(newNamed(t, "offline", model), job)
	if w.Code != 200 || !strings.Contains(w.Body.String(), `"content":"{\"title\":\"how many orders\"}"`) ||
		len(model.Requests()) != 0 {
		t.Errorf("%d %s, %d model calls", w.Code, w.Body, len(model.Requests()))
	}
}
