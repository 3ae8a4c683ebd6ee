package e2e

import (
	"bufio"
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/footnotehq/footnote/internal/redistest"
	"github.com/footnotehq/footnote/model/modeltest"
)

// received holds the events and deltas that a reader has received so far.
type received struct {
	deltas atomic.Int64
	end    chan []string // all frames in order, with the deltas of a block joined; sent when the stream ends
}

// watchAll reads the events and deltas of a conversation until the stream ends.
func (p *process) watchAll(ctx context.Context, t *testing.T, id string) *received {
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
	s := &received{end: make(chan []string, 1)}
	go func() { // ends with the connection
		defer res.Body.Close()
		var all []string
		defer func() { s.end <- all }()
		grows := ""
		for lines := bufio.NewScanner(res.Body); lines.Scan(); {
			data, ok := strings.CutPrefix(lines.Text(), "data: ")
			if !ok {
				continue
			}
			var d struct {
				Run, Op, Kind, Text  string
				Seq                  int64
				Step, Attempt, Index int
			}
			if err := json.Unmarshal([]byte(data), &d); err != nil || d.Seq > 0 {
				all, grows = append(all, data), ""
				continue
			}
			s.deltas.Add(1)
			here := fmt.Sprintf("%s %d.%d.%d %s", d.Run, d.Step, d.Attempt, d.Index, d.Op)
			if d.Op == "grow" && grows == here {
				all[len(all)-1] += d.Text
				continue
			}
			if grows = ""; d.Op == "grow" {
				grows = here
			}
			all = append(all, here+" "+d.Kind+" "+d.Text)
		}
	}()
	return s
}

// TestReplicaStreamsDeltas checks that a reader on another server receives the same deltas as a reader on the server
// that drives the run. The first step is not compared: it may have ended before the other server learns of the run.
func TestReplicaStreamsDeltas(t *testing.T) {
	t.Parallel()
	_, settings := imitate(t, func(r modeltest.Request) modeltest.Reply {
		if len(r.Results()) == 0 {
			return modeltest.Blocks(modeltest.CallBlock("run_query", callAll))
		}
		return modeltest.Blocks(modeltest.ThinkBlock("Well."),
			modeltest.Block{
				Type: "text", Text: "Wörter \"in\" <b>Stücken</b>. ", Repeat: true, Deltas: 30_000,
				Gap: 2 * time.Millisecond,
			})
	})
	s := replicas(t, append(settings, "FOOTNOTE_REDIS="+redistest.New(t).URL())...)
	id := s[0].opened(t, "Go slowly.")
	near, far := s[0].watchAll(t.Context(), t, id), s[1].watchAll(t.Context(), t, id)
	eventually(t, "the other server shows deltas", func() bool { return far.deltas.Load() > 20 })
	if status, body := s[2].sendJSON(t, "/api/conversations/"+id+"/stop",
		map[string]any{}); status != http.StatusNoContent {
		t.Fatalf("stop: %d %s", status, body)
	}
	later := func(all []string) []string {
		return slices.DeleteFunc(all, func(line string) bool {
			return strings.Contains(line, " 1.1.") && !strings.HasPrefix(line, "{")
		})
	}
	a, b := later(<-near.end), later(<-far.end)
	for i := range min(len(a), len(b)) {
		if a[i] != b[i] {
			t.Fatalf("frame %d: the owner ends …%s\nthe other server …%s", i,
				a[i][max(0, len(a[i])-200):], b[i][max(0, len(b[i])-200):])
		}
	}
	if len(a) != len(b) {
		t.Errorf("%d frames from the owner and %d from the other server", len(a), len(b))
	}
}

// TestReplicaWithoutRedis checks that when Redis is killed in the middle of a message, readers at other
// servers still get the events, and the failure is logged.
func TestReplicaWithoutRedis(t *testing.T) {
	t.Parallel()
	fake, settings := imitate(t, trickle())
	redis := redistest.New(t)
	s := replicas(t, append(settings, "FOOTNOTE_REDIS="+redis.URL())...)
	id := s[0].speaking(t, fake)
	far := s[1].watchAll(t.Context(), t, id)
	eventually(t, "the other server shows deltas", func() bool { return far.deltas.Load() > 10 })
	redis.Kill(t)
	eventually(t, "the failure is logged", func() bool {
		return strings.Contains(s[0].stderr.String(), "cannot send live text to other servers") &&
			strings.Contains(s[1].stderr.String(), "cannot send live text to other servers")
	})
	if status, body := s[2].sendJSON(t, "/api/conversations/"+id+"/stop",
		map[string]any{}); status != http.StatusNoContent {
		t.Fatalf("stop: %d %s", status, body)
	}
	events := s[1].ended(t, id)
	got := <-far.end
	n := 0
	for _, line := range got {
		if n < len(events) && line == events[n].line {
			n++
		}
	}
	if n != len(events) {
		t.Errorf("the other server sent %d events of %d", n, len(events))
	}
	if broke := strings.Join(got, "\n"); !strings.Contains(broke, " broke ") {
		t.Errorf("the other server did not report that the message broke off")
	}
	for _, p := range s {
		if strings.Contains(p.stderr.String(), "pool.go") {
			t.Errorf("the Redis client writes to the log")
		}
	}
	if r := s[2].ask(t, question{text: "Hello?", conversation: id}); r.status != http.StatusOK {
		t.Errorf("without Redis a question gets %d %s", r.status, r.code)
	}
}
