package httpapi_test

import (
	"encoding/json"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"github.com/footnotehq/footnote/agent/agenttest"
	"github.com/footnotehq/footnote/httpapi"
)

// opened starts a conversation whose run continues until it is stopped.
func opened(t *testing.T, api *httpapi.Server) string {
	t.Helper()
	w := do(api, request("POST", "/api/conversations", `{"text":"scenario: silent","assistant":"analyst"}`))
	var accepted struct{ Conversation, Run string }
	if err := json.Unmarshal(w.Body.Bytes(), &accepted); err != nil || w.Code != 202 || accepted.Run == "" {
		t.Fatalf("opening a conversation: %d %s", w.Code, w.Body)
	}
	return accepted.Conversation
}

// TestDeleteStopsFirst checks that deleting a conversation that is still answering first ends its run, and
// leaves nothing behind.
func TestDeleteStopsFirst(t *testing.T) {
	api, _ := newAPI(t, nil)
	id := opened(t, api)
	if w := do(api, request("DELETE", "/api/conversations/"+id, "")); w.Code != 204 {
		t.Fatalf("DELETE: %d %s", w.Code, w.Body)
	}
	if w := do(api, request("GET", "/api/conversations/"+id, "")); w.Code != 404 {
		t.Errorf("it is still there: %d %s", w.Code, w.Body)
	}
}

func TestStopIsSeenByReaders(t *testing.T) {
	api, _ := newAPI(t, nil)
	id := opened(t, api)
	stream := func(query string) *httptest.ResponseRecorder {
		r := request("GET", "/api/conversations/"+id+"/events"+query, "")
		r.Header.Set("Accept", "text/event-stream")
		return do(api, r)
	}
	// With follow=false the reader gets what is stored and does not wait for the run.
	if w := stream("?follow=false"); w.Code != 200 || !strings.Contains(w.Body.String(), "event: run_started") ||
		strings.Contains(w.Body.String(), "event: run_stopped") {
		t.Errorf("stored events: %d %s", w.Code, w.Body)
	}
	if w := stream("?follow=false&after=2"); w.Code != http.StatusNoContent {
		t.Errorf("nothing new: %d %s", w.Code, w.Body)
	}
	if w := do(api, request("POST", "/api/conversations/"+id+"/stop", `{}`)); w.Code != 204 {
		t.Fatalf("stop: %d %s", w.Code, w.Body)
	}
	begun := time.Now()
	if w := stream(""); !strings.Contains(w.Body.String(), `"by":"user"`) || time.Since(begun) > 5*time.Second {
		t.Errorf("after %v: %s", time.Since(begun), w.Body)
	}
	for _, bad := range []string{"?follow=maybe", "?format=xml", "?after=-1"} {
		if w := stream(bad); w.Code != 400 {
			t.Errorf("%s: %d", bad, w.Code)
		}
	}
	w := do(api, request("GET", "/api/conversations/"+id+"/events?format=jsonl", ""))
	if !strings.Contains(w.Header().Get("Content-Disposition"), id+".jsonl") ||
		w.Header().Get("Content-Type") != "application/jsonl" {
		t.Errorf("headers of the export: %v", w.Header())
	}
}

// TestMessagesAreCounted checks what a list shows of each conversation.
func TestMessagesAreCounted(t *testing.T) {
	api := newReal(t, agenttest.Script(agenttest.Say("Four."), agenttest.Say("Five.")))
	w := do(api, request("POST", "/v1/chat/completions",
		`{"model":"claude-da/analyst","messages":[{"role":"user","content":"2+2?"}]}`))
	if w.Code != 200 {
		t.Fatalf("first message: %d %s", w.Code, w.Body)
	}
	var list struct{ Conversations []struct{ ID string } }
	w = do(api, request("GET", "/api/conversations", ""))
	if err := json.Unmarshal(w.Body.Bytes(), &list); err != nil || len(list.Conversations) != 1 {
		t.Fatalf("list of conversations: %v %s", err, w.Body)
	}
	var d struct{ Messages int }
	w = do(api, request("GET", "/api/conversations/"+list.Conversations[0].ID, ""))
	if err := json.Unmarshal(w.Body.Bytes(), &d); err != nil || d.Messages != 2 {
		t.Errorf("%v: %d messages in %s", err, d.Messages, w.Body)
	}
}
