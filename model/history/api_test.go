package history_test

import (
	"bytes"
	"encoding/json"
	"net/http"
	"net/http/httptest"
	"slices"
	"testing"

	"pgregory.net/rapid"

	"github.com/footnotehq/footnote"
	"github.com/footnotehq/footnote/model/history"
	"github.com/footnotehq/footnote/model/modeltest"
)

// withoutSigned returns a log without signed thinking, because only the real server could make valid signatures.
func withoutSigned(events []footnote.Event) []footnote.Event {
	kept := slices.Clone(events)
	for i, ev := range kept {
		m, ok := ev.Body.(footnote.AssistantMessage)
		if !ok {
			continue
		}
		m.Blocks = slices.DeleteFunc(slices.Clone(m.Blocks), func(raw json.RawMessage) bool {
			var b block
			return json.Unmarshal(raw, &b) == nil &&
				(b.Type == "redacted_thinking" || b.Type == "thinking" && b.Signature != "")
		})
		kept[i].Body = m
	}
	return kept
}

// post sends a history to a server like a client of the Messages API.
func post(server http.Handler, messages []history.Message) *httptest.ResponseRecorder {
	type message struct {
		Role    string          `json:"role"`
		Content json.RawMessage `json:"content"`
	}
	request := map[string]any{"model": "claude-sonnet-5-5", "max_tokens": 1000, "tools": []any{
		map[string]any{
			"name":         "run_query",
			"description":  "Runs a query.",
			"input_schema": map[string]any{"type": "object"},
		},
	}}
	sent := make([]message, len(messages))
	for i, m := range messages {
		sent[i] = message(m)
	}
	request["messages"] = sent
	var body bytes.Buffer
	enc := json.NewEncoder(&body)
	enc.SetEscapeHTML(false)
	if err := enc.Encode(request); err != nil {
		panic(err) // histories are valid JSON
	}
	r := httptest.NewRequest(http.MethodPost, "/v1/messages", &body)
	r.Header.Set("Content-Type", "application/json")
	r.Header.Set("Anthropic-Version", "2023-06-01")
	r.Header.Set("X-Api-Key", "k")
	w := httptest.NewRecorder()
	server.ServeHTTP(w, r)
	return w
}

// TestStrictServerAcceptsHistoryOfAnyLog checks that a strict server, which shares no code with this package,
// accepts every history.
func TestStrictServerAcceptsHistoryOfAnyLog(t *testing.T) {
	server := modeltest.New(modeltest.Options{
		Rule: func(modeltest.Request) modeltest.Reply { return modeltest.Say("ok") },
	})
	defer server.Close() //nolint:errcheck // nothing is open
	if w := post(server, []history.Message{
		{Role: "assistant", Content: json.RawMessage(`[{"type":"text","text":""}]`)},
	}); w.Code != http.StatusBadRequest {
		t.Fatalf("the server is not strict: %d %s", w.Code, w.Body)
	}
	rapid.Check(t, func(t *rapid.T) {
		events := withoutSigned(anyLog(t))
		for n := range len(events) + 1 { // including logs cut short at any point
			if n != len(events) && n%5 != 0 {
				continue
			}
			messages := history.Messages(events[:n])
			if w := post(server, messages); w.Code != http.StatusOK {
				t.Fatalf("refused: %d %s\n%s", w.Code, w.Body, messages)
			}
		}
	})
}
