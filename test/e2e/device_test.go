package e2e

import (
	"context"
	"encoding/json"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/footnotehq/footnote/model/modeltest"
)

// opened creates a conversation through the app's own API.
func (p *process) opened(t *testing.T, text string) (id string) {
	t.Helper()
	return p.openedWith(t, map[string]any{"text": text})
}

// openedWith creates a conversation with the given body.
func (p *process) openedWith(t *testing.T, with map[string]any) (id string) {
	t.Helper()
	status, body := p.sendJSON(t, "/api/conversations", with)
	if status != http.StatusAccepted {
		t.Fatalf("opening a conversation: %d %s", status, body)
	}
	return conversationOf(body)
}

// conversationOf returns the id of the new conversation in a response.
func conversationOf(body string) string {
	var got struct{ Conversation string }
	_ = json.Unmarshal([]byte(body), &got) // on failure the id is empty, which is not found later
	return got.Conversation
}

// TestStopFromAnotherDevice checks that stopping a run from another device ends all its work: the model call,
// the query and its process, the pending approval.
func TestStopFromAnotherDevice(t *testing.T) {
	t.Parallel()
	const endless = `{"sql":"WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i+1 FROM n WHERE i < 4000000000) ` +
		`SELECT count(*) AS n FROM n"}`
	for name, c := range map[string]struct {
		reply    modeltest.Reply
		settings []string
		busy     string // last event before the stop
	}{
		"the model is answering": {
			reply: modeltest.Blocks(modeltest.Block{
				Type: "text", Text: "Word. ", Repeat: true, Deltas: 20_000, Gap: 2 * time.Millisecond,
			}),
			busy: "run_started",
		},
		"SQL runs": {reply: modeltest.Use("run_query", endless), busy: "assistant_message"},
		"it waits": {
			reply:    modeltest.Use("run_query", endless),
			settings: []string{"FOOTNOTE_TOOLS_APPROVE=list_tables"},
			busy:     "run_parked",
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			fake, settings := imitate(t, func(r modeltest.Request) modeltest.Reply {
				if strings.Contains(r.LastUserText(), "again") {
					return modeltest.Say("Hello.")
				}
				return c.reply
			})
			p := serve(t, append(settings, c.settings...)...)
			id := p.opened(t, "Go on for ever.")
			eventually(t, "it is busy", func() bool {
				events := p.log(t, id, "")
				return events[len(events)-1].Kind == c.busy && (c.busy != "run_started" || fake.Metrics().Deltas > 50)
			})
			time.Sleep(50 * time.Millisecond) // until the query has begun
			begun := time.Now()
			if status, body := p.sendJSON(t, "/api/conversations/"+id+"/stop",
				map[string]any{}); status != http.StatusNoContent {
				t.Fatalf("stop: %d %s", status, body)
			}
			eventually(t, "the run and its model call have ended", func() bool {
				return !running(p.log(t, id, "")) && fake.Metrics().Open == 0
			})
			t.Logf("stopped after %v", time.Since(begun))
			events := p.log(t, id, "")
			checkLog(t, events)
			if last := events[len(events)-1]; last.Kind != "run_stopped" ||
				!strings.Contains(last.line, `"by":"user"`) {
				t.Errorf("the run ended with %s", last.line)
			}
			p.answered(t, question{text: "Hello again?", conversation: id})
		})
	}
}

// TestAppRunContinuesAfterDisconnect checks that an app's run continues without a reader, unless the server is
// configured otherwise.
func TestAppRunContinuesAfterDisconnect(t *testing.T) {
	t.Parallel()
	_, settings := imitate(t, func(r modeltest.Request) modeltest.Reply {
		return modeltest.Blocks(modeltest.Block{
			Type: "text",
			Text: "One word after the other, for a while.",
			Gap:  20 * time.Millisecond,
		})
	})
	p := serve(t, settings...)
	id := p.opened(t, "Hello?")
	ctx, cancel := context.WithCancel(t.Context())
	shown := watch(ctx, t, p, id)
	cancel()
	<-shown
	eventually(t, "the run ends", func() bool { return !running(p.log(t, id, "")) })
	events := p.log(t, id, "")
	checkLog(t, events)
	for _, e := range events {
		if terminal(e) && e.Kind != "run_finished" {
			t.Errorf("the run ended with %s", e.line)
		}
		if e.Kind == "run_started" && !strings.Contains(e.line, `"on_disconnect":"continue"`) {
			t.Errorf("the run began with %s", e.line)
		}
	}
}
