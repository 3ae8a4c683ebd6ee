package httpapi_test

import (
	"encoding/json"
	"maps"
	"net/http/httptest"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/footnotehq/footnote"
	"github.com/footnotehq/footnote/agent/agenttest"
	"github.com/footnotehq/footnote/httpapi"
	"github.com/footnotehq/footnote/store/sqlite/sqlitetest"
	"github.com/footnotehq/footnote/tool"
)

// TestForeignIDsLookUnknown checks every route that takes the id of a conversation or of a part of
// one: for another user's id the response has the same status, headers and body as for an id that does not
// exist.
func TestForeignIDsLookUnknown(t *testing.T) {
	log := sqlitetest.New(t)
	browser := agenttest.NewTool(tool.Spec{Name: "draw", Side: tool.Client, ReadOnly: true}, nil)
	model := agenttest.Script(agenttest.Say("Hello."), agenttest.Call("call_1", "draw", `{}`))
	api := newOn(t, log, "scripted", model, func(o *httpapi.Options) {
		o.Keys = map[string]footnote.Principal{adasKey: {Org: "acme", User: "ada"}, bobsKey: {Org: "acme", User: "bob"}}
		o.Workspaces = oneFile{}
	}, browser)
	ask := func(question string) string {
		w := do(api, request("POST", "/api/conversations", `{"text":"`+question+`"}`))
		var accepted struct{ Conversation string }
		if err := json.Unmarshal(w.Body.Bytes(), &accepted); err != nil || w.Code != 202 {
			t.Fatal(w.Code, w.Body)
		}
		return accepted.Conversation
	}
	idle := ask("hello")
	if w := do(api, request("GET", "/api/conversations/"+idle, "")); w.Code != 200 {
		t.Fatal(w.Code, w.Body)
	}
	// cases maps routes to a path or body, in which ID stands for the conversation's id.
	cases := map[string]string{
		"GET /api/conversations/{id}":           "/api/conversations/ID",
		"PATCH /api/conversations/{id}":         `/api/conversations/ID {"title":"x"}`,
		"DELETE /api/conversations/{id}":        "/api/conversations/ID",
		"GET /api/conversations/{id}/events":    "/api/conversations/ID/events",
		"GET /api/conversations/{id}/messages":  "/api/conversations/ID/messages",
		"HEAD /api/conversations/{id}/messages": "/api/conversations/ID/messages",
		"GET /api/conversations/{id}/export":    "/api/conversations/ID/export?format=html",
		"HEAD /api/conversations/{id}/export":   "/api/conversations/ID/export",
		"POST /api/conversations/{id}/turns":    `/api/conversations/ID/turns {"text":"x"}`,
		"POST /api/conversations/{id}/queries": `/api/conversations/ID/queries {"sql":"SELECT ` +
			`1","replaces":"r1","columns":[{"name":"a"}],"row_count":1}`,
		"POST /api/conversations/{id}/calculations":   `/api/conversations/ID/calculations {"sql":"SELECT 1 FROM r1"}`,
		"POST /api/conversations/{id}/stop":           "/api/conversations/ID/stop",
		"POST /api/conversations/{id}/sources":        `/api/conversations/ID/sources {"source":"x"}`,
		"GET /api/conversations/{id}/workspace":       "/api/conversations/ID/workspace",
		"HEAD /api/conversations/{id}/workspace":      "/api/conversations/ID/workspace",
		"GET /api/conversations/{id}/workspace/file":  "/api/conversations/ID/workspace/file?path=a",
		"HEAD /api/conversations/{id}/workspace/file": "/api/conversations/ID/workspace/file?path=a",
		"POST /api/conversations/{id}/workspace/revert": `/api/conversations/ID/workspace/revert ` +
			`{"path":"a","digest":"x"}`,
		"GET /api/results/{id}":          "/api/results/ID.r1",
		"HEAD /api/results/{id}":         "/api/results/ID.r1",
		"GET /api/results/{id}/export":   "/api/results/ID.r1/export",
		"HEAD /api/results/{id}/export":  "/api/results/ID.r1/export",
		"GET /api/results/{id}/origins":  "/api/results/ID.r1/origins",
		"HEAD /api/results/{id}/origins": "/api/results/ID.r1/origins",
		"GET /api/chat/{id}":             "/api/chat/ID",
		"HEAD /api/chat/{id}":            "/api/chat/ID",
		"POST /api/chat/tool-result": `/api/chat/tool-result ` +
			`{"conversationId":"ID","toolCallId":"call_1","result":{"success":true}}`,
		"GET /api/ai/{id}":        "/api/ai/ID",
		"HEAD /api/ai/{id}":       "/api/ai/ID",
		"GET /api/ai/{id}/stream": "/api/ai/ID/stream",
		"POST /api/ai/{id}/stop":  "/api/ai/ID/stop",
		"POST /api/analyze":       `/api/analyze {"question":"x","sessionId":"ID"}`,
		"GET /api/analyze":        "/api/analyze?question=x&sessionId=ID",
		"POST /api/analyze/tool-result": `/api/analyze/tool-result ` +
			`{"sessionId":"ID","toolCallId":"call_1","result":"x"}`,
		"POST /api/feedback": `/api/feedback {"conversation":"ID","seq":1,"good":true}`,
		"POST /api/chat":     `/api/chat {"message":"x","symbol":"EURUSD","timeframe":"1h","conversationId":"ID"}`,
	}
	for pattern, methods := range api.Routes() {
		for _, method := range methods {
			if _, ok := cases[method+" "+pattern]; strings.Contains(pattern, "{id}") && !ok {
				t.Errorf("%s %s is not tried", method, pattern)
			}
		}
	}
	stamp := regexp.MustCompile(`req_[A-Z0-9]+`)
	answer := func(method, what, id string) string {
		target, body, _ := strings.Cut(strings.ReplaceAll(what, "ID", id), " ")
		r := request(method, target, body)
		r.Header.Set("Authorization", "Bearer "+bobsKey)
		w := httptest.NewRecorder()
		api.ServeHTTP(w, r)
		var b strings.Builder
		for _, name := range slices.Sorted(maps.Keys(w.Header())) {
			b.WriteString(name + ": " + strings.Join(w.Header()[name], ", ") + "\n")
		}
		return stamp.ReplaceAllString(strings.ReplaceAll(w.Result().Status+"\n"+b.String()+"\n"+w.Body.String(), id,
			"ID"), "req")
	}
	parked := ask("draw")
	for route, what := range cases {
		method, _, _ := strings.Cut(route, " ")
		none := answer(method, what, "conv_aaaaaaaaaaaaaaaaaaaaaaaaaa")
		for state, id := range map[string]string{"idle": idle, "parked": parked} {
			if theirs := answer(method, what, id); theirs != none {
				t.Errorf("%s: another user's conversation (%s):\n%s\nan unknown one:\n%s", route, state, theirs, none)
			}
		}
		if !strings.HasPrefix(none, "404") && route != "GET /api/ai/{id}" && route != "HEAD /api/ai/{id}" &&
			route != "GET /api/ai/{id}/stream" {
			t.Errorf("%s: %s", route, none)
		}
	}
}
