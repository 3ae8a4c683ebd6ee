package e2e

import (
	"encoding/json"
	"net/http"
	"strings"
	"testing"
)

// event is one line of a conversation's log, as the server returns it.
type event struct {
	Seq  int64
	Kind string
	Run  string
	Body json.RawMessage
	line string // the raw line
}

// log reads the log of a conversation.
func (p *process) log(t *testing.T, conversation, key string) []event {
	t.Helper()
	status, body := p.get(t, "/api/conversations/"+conversation+"/events", key)
	if status != http.StatusOK {
		t.Fatalf("log of %s: status %d: %s", conversation, status, body)
	}
	var events []event
	for line := range strings.Lines(body) {
		e := event{line: strings.TrimSuffix(line, "\n")}
		if err := json.Unmarshal([]byte(line), &e); err != nil {
			t.Fatalf("line %q: %v", line, err)
		}
		events = append(events, e)
	}
	return events
}

func terminal(e event) bool {
	return e.Kind == "run_finished" || e.Kind == "run_failed" || e.Kind == "run_stopped"
}

// running reports whether the newest run has not ended.
func running(events []event) bool {
	open := false
	for _, e := range events {
		switch {
		case e.Kind == "run_started":
			open = true
		case terminal(e):
			open = false
		}
	}
	return open
}

// checkLog checks what must hold for every log when nothing is running: no gaps, one end for each run, one
// result for each call, after the call.
func checkLog(t *testing.T, events []event) {
	t.Helper()
	ends, calls, results := map[string]int{}, map[string]bool{}, map[string]int{}
	for i, e := range events {
		if e.Seq != int64(i+1) {
			t.Errorf("event %d has the number %d", i+1, e.Seq)
		}
		switch {
		case terminal(e):
			ends[e.Run]++
		case e.Kind == "run_started":
			if _, twice := ends[e.Run]; twice {
				t.Errorf("the run %s began twice", e.Run)
			}
			ends[e.Run] = 0
		case e.Kind == "assistant_message":
			for _, id := range callsOf(t, e) {
				if calls[id] {
					t.Errorf("the call %s was made twice", id)
				}
				calls[id] = true
			}
		case e.Kind == "tool_result":
			id := resultOf(t, e)
			if results[id]++; !calls[id] {
				t.Errorf("the result of %s comes before its call", id)
			}
		}
	}
	for run, n := range ends {
		if n != 1 {
			t.Errorf("the run %s has %d ends", run, n)
		}
	}
	for id := range calls {
		if results[id] != 1 {
			t.Errorf("the call %s has %d results", id, results[id])
		}
	}
	if t.Failed() {
		for _, e := range events {
			t.Logf("%.300s", e.line)
		}
	}
}

func callsOf(t *testing.T, e event) (ids []string) {
	t.Helper()
	var m struct{ Blocks []struct{ Type, ID string } }
	if err := json.Unmarshal(e.Body, &m); err != nil {
		t.Fatal(err)
	}
	for _, b := range m.Blocks {
		if b.Type == "tool_use" {
			ids = append(ids, b.ID)
		}
	}
	return ids
}

func resultOf(t *testing.T, e event) string {
	t.Helper()
	var r struct {
		CallID string `json:"call_id"`
	}
	if err := json.Unmarshal(e.Body, &r); err != nil {
		t.Fatal(err)
	}
	return r.CallID
}
