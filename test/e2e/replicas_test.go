package e2e

import (
	"bufio"
	"context"
	"encoding/json"
	"net/http"
	"slices"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"github.com/footnotehq/footnote/internal/pgtest"
	"github.com/footnotehq/footnote/model/modeltest"
)

// replicas starts three servers on one database, each with its own data folder.
func replicas(t *testing.T, settings ...string) (all [3]*process) {
	t.Helper()
	settings = append(settings, "FOOTNOTE_STORE="+pgtest.Database(t))
	for i := range all {
		all[i] = serve(t, settings...)
	}
	return all
}

// trickle answers its first question slowly, and all others at once.
func trickle() modeltest.Rule {
	var asked atomic.Bool
	return func(r modeltest.Request) modeltest.Reply {
		if !strings.Contains(r.LastUserText(), "slowly") || asked.Swap(true) {
			return modeltest.Say("There you are.")
		}
		return modeltest.Blocks(modeltest.Block{
			Type: "text", Text: "Word. ", Repeat: true, Deltas: 30_000, Gap: 2 * time.Millisecond,
		})
	}
}

// endless answers every question slowly.
func endless(modeltest.Request) modeltest.Reply {
	return modeltest.Blocks(modeltest.Block{
		Type: "text", Text: "Word. ", Repeat: true, Deltas: 30_000, Gap: 2 * time.Millisecond,
	})
}

// speaking creates a conversation whose model is answering.
func (p *process) speaking(t *testing.T, fake *modeltest.Server) (id string) {
	t.Helper()
	id = p.opened(t, "Go slowly.")
	eventually(t, "the model is answering", func() bool { return fake.Metrics().Deltas > 50 })
	return id
}

// follow reads the events of a conversation until its stream ends, and then sends their numbers and the final
// text.
func (p *process) follow(ctx context.Context, t *testing.T, id string) <-chan followed {
	t.Helper()
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, p.url+"/api/conversations/"+id+"/events", nil)
	if err != nil {
		t.Fatal(err)
	}
	req.Header.Set("Accept", "text/event-stream")
	res, err := http.DefaultClient.Do(req)
	if err != nil {
		t.Fatal(err)
	}
	end := make(chan followed, 1)
	go func() { // ends with the connection
		defer res.Body.Close()
		var f followed
		defer func() { end <- f }()
		for lines := bufio.NewScanner(res.Body); lines.Scan(); {
			switch field, value, _ := strings.Cut(lines.Text(), ": "); field {
			case "id":
				f.seqs = append(f.seqs, sequence(value))
			case "event":
				f.last = value
			}
		}
	}()
	return end
}

// sequence returns the number of an event from its id, such as conv_ABC.12, or 0.
func sequence(id string) int64 {
	n, _ := strconv.ParseInt(id[strings.LastIndexByte(id, '.')+1:], 10, 64)
	return n
}

type followed struct {
	seqs []int64
	last string // name of the last frame
}

// checkWhole checks that a reader received each event of a run exactly once, up to its end.
func (f followed) checkWhole(t *testing.T, events []event) {
	t.Helper()
	end := int64(slices.IndexFunc(events, terminal)) + 1
	for i, seq := range f.seqs {
		if seq != int64(i+1) {
			t.Fatalf("a reader got the events %v", f.seqs)
		}
	}
	if int64(len(f.seqs)) < end {
		t.Errorf("a reader got the events up to %d of %d", len(f.seqs), end)
	}
}

// ended waits until the conversation's run is over, and returns its log.
func (p *process) ended(t *testing.T, id string) []event {
	t.Helper()
	eventually(t, "the run ends", func() bool { return !running(p.log(t, id, "")) })
	events := p.log(t, id, "")
	checkLog(t, events)
	return events
}

func has(events []event, kind, words string) bool {
	return slices.ContainsFunc(events, func(e event) bool { return e.Kind == kind && strings.Contains(e.line, words) })
}

// TestReplicaTakesOver checks that another server continues the run of a server that was killed while the
// model spoke, and that readers follow it there without gaps or repeats.
func TestReplicaTakesOver(t *testing.T) {
	t.Parallel()
	fake, settings := imitate(t, trickle())
	s := replicas(t, settings...)
	id := s[0].speaking(t, fake)
	readers := []<-chan followed{s[1].follow(t.Context(), t, id), s[2].follow(t.Context(), t, id)}
	s[0].kill()
	begun := time.Now()
	eventually(t, "another server takes over", func() bool {
		return has(s[1].log(t, id, ""), "run_resumed", `"recovered"`)
	})
	t.Logf("taken over after %v", time.Since(begun))
	events := s[2].ended(t, id)
	if last := events[slices.IndexFunc(events, terminal)]; last.Kind != "run_finished" {
		t.Errorf("the run ended with %s", last.line)
	}
	for _, r := range readers {
		(<-r).checkWhole(t, events)
	}
	s[1].answered(t, question{text: "Hello again?", conversation: id})
}

// TestReplicaStops stops a run at a server that does not drive it.
func TestReplicaStops(t *testing.T) {
	t.Parallel()
	fake, settings := imitate(t, trickle())
	s := replicas(t, settings...)
	id := s[0].speaking(t, fake)
	reader := s[2].follow(t.Context(), t, id)
	begun := time.Now()
	if status, body := s[1].sendJSON(t, "/api/conversations/"+id+"/stop",
		map[string]any{}); status != http.StatusNoContent {
		t.Fatalf("stop: %d %s", status, body)
	}
	events := s[1].ended(t, id)
	t.Logf("stopped after %v", time.Since(begun))
	if !has(events, "run_stopped", `"by":"user"`) || !has(events, "step_failed", "Word.") {
		t.Errorf("the run was not stopped by its user with the text so far: %s", events[len(events)-1].line)
	}
	(<-reader).checkWhole(t, events)
	eventually(t, "the model call has ended", func() bool { return fake.Metrics().Open == 0 })
}

// TestReplicaAnswers posts the result of a call to two servers at once, neither of which drove the run. The
// server that did is dead, or shows how the run continues.
func TestReplicaAnswers(t *testing.T) {
	t.Parallel()
	for name, killed := range map[string]bool{"killed": true, "alive": false} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			_, settings := imitate(t, func(r modeltest.Request) modeltest.Reply {
				if len(r.Results()) > 0 || !r.HasTool("transform_data") {
					return modeltest.Say("The browser said so.")
				}
				return modeltest.Blocks(modeltest.CallBlock("run_query", `{"thought":"I need it.","sql":"SELECT 42"}`))
			})
			s := replicas(t, settings...)
			status, body := s[0].sendJSON(t, "/api/conversations", map[string]any{
				"text":      "How many?",
				"assistant": "explore",
			})
			var got struct{ Conversation string }
			if err := json.Unmarshal([]byte(body), &got); err != nil || status != http.StatusAccepted {
				t.Fatalf("opening a conversation: %d %s: %v", status, body, err)
			}
			id := got.Conversation
			eventually(t, "the call waits", func() bool { return len(waiting(t, s[1].log(t, id, ""))) == 1 })
			reader := s[0].follow(t.Context(), t, id)
			if killed {
				s[0].kill()
				reader = s[1].follow(t.Context(), t, id)
			}
			call := waiting(t, s[1].log(t, id, ""))[0]
			answer := map[string]any{"answers": []any{map[string]any{"call_id": call, "content": "forty-two"}}}
			var posts sync.WaitGroup
			var fresh atomic.Int64
			for _, p := range s[1:] {
				posts.Go(func() {
					status, body, err := p.exchange(t.Context(), "/api/conversations/"+id+"/turns", answer)
					if err != nil || status != http.StatusAccepted {
						t.Errorf("answer to the call: %d %s: %v", status, body, err)
					}
					if !strings.Contains(body, `"duplicate":true`) {
						fresh.Add(1)
					}
				})
			}
			posts.Wait()
			if n := fresh.Load(); n != 1 {
				t.Errorf("%d servers accepted the result as new", n)
			}
			events := s[2].ended(t, id)
			if !has(events, "run_finished", "") {
				t.Errorf("the run ended with %s", events[len(events)-1].line)
			}
			(<-reader).checkWhole(t, events)
		})
	}
}

// TestReplicaPaused checks that a server that was paused while another one took over its run writes nothing
// more to it, and tells its readers.
func TestReplicaPaused(t *testing.T) {
	t.Parallel()
	fake, settings := imitate(t, trickle())
	s := replicas(t, settings...)
	id := s[0].speaking(t, fake)
	reader := s[0].follow(t.Context(), t, id)
	s[0].signal(t, syscall.SIGSTOP)
	events := s[1].ended(t, id)
	if !has(events, "run_resumed", `"recovered"`) || !has(events, "run_finished", "") {
		t.Errorf("the run was not taken over: %s", events[len(events)-1].line)
	}
	s[0].signal(t, syscall.SIGCONT)
	if f := <-reader; f.last != "error" {
		t.Errorf("the reader of the paused server ends with %+v", f)
	}
	eventually(t, "the model call has ended", func() bool { return fake.Metrics().Open == 0 })
	s[0].answered(t, question{text: "Hello again?", conversation: id}) // it keeps serving
	after := s[1].ended(t, id)
	for i, e := range events {
		if after[i].line != e.line {
			t.Errorf("event %d was %s and is %s", i+1, e.line, after[i].line)
		}
	}
	if next := after[len(events)]; next.Run == events[len(events)-1].Run {
		t.Errorf("after its end the run has %s", next.line)
	}
}

// TestReplicaHandsOver checks that a server that is shutting down hands over a run that does not end in time.
// Its reader is told, and continues at another server where it was.
func TestReplicaHandsOver(t *testing.T) {
	t.Parallel()
	fake, settings := imitate(t, trickle())
	s := replicas(t, append(settings, "FOOTNOTE_DRAIN_TIMEOUT=500ms")...)
	id := s[0].speaking(t, fake)
	reader := s[0].follow(t.Context(), t, id)
	s[0].signal(t, syscall.SIGTERM)
	first := <-reader
	if code := s[0].wait(t, patience); code != 0 {
		t.Errorf("exit code %d, want 0", code)
	}
	events := s[1].ended(t, id)
	if !has(events, "run_resumed", `"recovered"`) || !has(events, "run_finished", "") ||
		has(events, "run_stopped", "") {
		t.Errorf("the run was not handed over: %s", events[len(events)-1].line)
	}
	again := <-s[2].follow(t.Context(), t, id)
	again.checkWhole(t, events)
	for i, seq := range first.seqs {
		if seq != int64(i+1) {
			t.Errorf("the reader of the server that stopped got the events %v", first.seqs)
		}
	}
}

// TestReplicasAcceptOneTurn checks that of concurrent questions at all servers, one at a time is accepted; the
// others are rejected, and nothing of them is stored.
func TestReplicasAcceptOneTurn(t *testing.T) {
	t.Parallel()
	_, settings := imitate(t, auto(t))
	store := "FOOTNOTE_STORE=" + pgtest.Database(t)
	var s [2]*process
	for i := range s {
		s[i] = serve(t, append(settings, store)...)
	}
	id := s[0].opened(t, "Hello?")
	s[1].ended(t, id)
	const posts = 40
	var taken atomic.Int64
	var asked sync.WaitGroup
	for n := range posts {
		asked.Go(func() {
			status, body, err := s[n%2].exchange(t.Context(), "/api/conversations/"+id+"/turns", map[string]any{
				"text": "And now?",
			})
			switch {
			case err == nil && status == http.StatusAccepted:
				taken.Add(1)
			case err != nil || status != http.StatusConflict:
				t.Errorf("want a conflict: %d %s: %v", status, body, err)
			}
		})
	}
	asked.Wait()
	events := s[0].ended(t, id)
	questions := int64(0)
	for _, e := range events {
		if e.Kind == "user_message" {
			questions++
		}
	}
	if n := taken.Load(); n < 1 || questions != n+1 {
		t.Errorf("%d of %d questions were accepted, and %d are stored besides the first", n, posts, questions-1)
	}
	if o := command(t, []string{store, "FOOTNOTE_DATA=" + t.TempDir()}, "", "doctor", "--log"); o.code != 0 {
		t.Errorf("the log is not sound:\n%s", o.stdout)
	}
}

// TestReplicaBusy checks that a message to a conversation that another server is answering waits for the
// answer, or ends it, as configured.
func TestReplicaBusy(t *testing.T) {
	t.Parallel()
	for policy, end := range map[string]string{
		"enqueue":   "run_finished",
		"interrupt": "run_stopped",
		"reject":    "run_finished",
	} {
		t.Run(policy, func(t *testing.T) {
			t.Parallel()
			h := newHolding(t)
			_, settings := imitate(t, h.rule)
			settings = append(settings, "FOOTNOTE_STORE="+pgtest.Database(t), "FOOTNOTE_ON_BUSY="+policy)
			s := [2]*process{serve(t, settings...), serve(t, settings...)}
			id := s[0].opened(t, "Please hold.")
			h.wait(t)
			if policy == "enqueue" {
				time.AfterFunc(time.Second, h.release) // usually the second one is waiting by then, but it need not be
			}
			status, body := s[1].sendJSON(t, "/api/chat-v2", map[string]any{
				"message":        "And now?",
				"conversationId": id,
			})
			if policy == "reject" {
				if status != http.StatusConflict {
					t.Errorf("%d %s; want 409", status, body)
				}
			} else if status != http.StatusOK || !strings.Contains(body, "At once.") {
				t.Errorf("answer: %d %s", status, body)
			}
			h.release()
			events := s[0].ended(t, id)
			if first := events[slices.IndexFunc(events, terminal)]; first.Kind != end {
				t.Errorf("the first run ended with %s; want %s", first.line, end)
			}
		})
	}
}
