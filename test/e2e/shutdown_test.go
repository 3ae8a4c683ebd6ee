package e2e

import (
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/footnotehq/footnote/model/modeltest"
)

// holding is a model that holds the answers to questions that contain "hold" until release is called.
type holding struct {
	asked    chan struct{} // one for each question that is held
	released chan struct{} // closed on release
	once     sync.Once
}

func newHolding(t *testing.T) *holding {
	h := &holding{asked: make(chan struct{}, 100), released: make(chan struct{})}
	t.Cleanup(h.release)
	return h
}

// wait waits until a question is held.
func (h *holding) wait(t *testing.T) {
	t.Helper()
	select {
	case <-h.asked:
	case <-time.After(time.Minute):
		t.Fatal("the model was not called")
	}
}

func (h *holding) release() { h.once.Do(func() { close(h.released) }) }

func (h *holding) rule(r modeltest.Request) modeltest.Reply {
	if !strings.Contains(r.LastUserText(), "hold") {
		return modeltest.Say("At once.")
	}
	if len(r.Results()) == 0 {
		return modeltest.Blocks(modeltest.TextBlock("Let me see."), modeltest.CallBlock("run_query", callAll))
	}
	h.asked <- struct{}{}
	<-h.released
	return modeltest.Say("There are 846 orders, and all of this was said after the signal.")
}

// TestShutdownWaitsForAnswers holds answers past SIGTERM, four in each round: they complete, while new work is
// rejected. FOOTNOTE_DRAIN_ROUNDS is the number of rounds.
func TestShutdownWaitsForAnswers(t *testing.T) {
	t.Parallel()
	for round := range number(t, "FOOTNOTE_DRAIN_ROUNDS", 5) {
		t.Run(fmt.Sprint(round), func(t *testing.T) {
			t.Parallel()
			h := newHolding(t)
			_, settings := imitate(t, h.rule)
			data := t.TempDir()
			p := serve(t, append(settings, "FOOTNOTE_DATA="+data)...)
			known := p.answered(t, question{text: "Hello?"}).conversation
			const askers = 4
			replies := make([]reply, askers)
			var asked sync.WaitGroup
			for i := range replies {
				asked.Go(func() { replies[i] = p.try(t.Context(), question{text: "Please hold.", stream: i%2 == 0}) })
			}
			for range askers {
				h.wait(t)
			}
			p.signal(t, syscall.SIGTERM)
			eventually(t, "readyz says 503", func() bool {
				status, _ := p.get(t, "/readyz", "")
				return status == http.StatusServiceUnavailable
			})
			if status, _ := p.get(t, "/healthz", ""); status != http.StatusOK {
				t.Errorf("healthz says %d while answers are held", status)
			}
			refused := p.ask(t, question{text: "Hello?", conversation: known})
			if refused.status != http.StatusServiceUnavailable || refused.header.Get("Retry-After") == "" {
				t.Errorf("a new question got %d, Retry-After %q; want 503", refused.status,
					refused.header.Get("Retry-After"))
			}
			h.release()
			asked.Wait()
			for i, r := range replies {
				if r.err != nil || r.status != http.StatusOK || r.code != "" || r.finish != "stop" ||
					!strings.HasSuffix(r.text, "after the signal.") {
					t.Errorf("answer %d: %+v", i, r)
				}
			}
			if code := p.wait(t, 10*time.Second); code != 0 {
				t.Errorf("exit code %d, want 0", code)
			}
			used, err := os.ReadFile(filepath.Join(data, "usage.json"))
			if n := strings.Count(string(used), `"outcome":"finished"`); err != nil || n != askers+1 {
				t.Errorf("the usage has %d of %d answers: %v", n, askers+1, err)
			}
		})
	}
}

// TestShutdownStopsSlowRuns checks that after drain_timeout the runs are stopped, and recorded as
// stopped.
func TestShutdownStopsSlowRuns(t *testing.T) {
	t.Parallel()
	h := newHolding(t)
	_, settings := imitate(t, h.rule)
	settings = append(settings, "FOOTNOTE_DATA="+t.TempDir(), "FOOTNOTE_DRAIN_TIMEOUT=200ms")
	p := serve(t, settings...)
	id := p.answered(t, question{text: "Hello?", conversation: "long"}).conversation
	got := make(chan reply, 1)
	go func() { got <- p.try(t.Context(), question{text: "Please hold.", conversation: "long"}) }()
	h.wait(t)
	p.signal(t, syscall.SIGTERM)
	if code := p.wait(t, 10*time.Second); code != 0 {
		t.Errorf("exit code %d, want 0", code)
	}
	if r := <-got; r.err != nil || r.status != http.StatusServiceUnavailable {
		t.Errorf("the held question got %d %v; want 503", r.status, r.err)
	}
	h.release()
	p = serve(t, settings...)
	events := p.log(t, id, "")
	checkLog(t, events)
	if last := events[len(events)-1]; last.Kind != "run_stopped" || !strings.Contains(last.line, "shutdown") {
		t.Errorf("the log ends with %s", last.line)
	}
	p.answered(t, question{text: "Hello?", conversation: "long"})
}

func TestSecondSignalExitsAtOnce(t *testing.T) {
	t.Parallel()
	h := newHolding(t)
	_, settings := imitate(t, h.rule)
	p := serve(t, settings...)
	go p.try(t.Context(), question{text: "Please hold."})
	h.wait(t)
	p.signal(t, syscall.SIGTERM)
	eventually(t, "readyz says 503", func() bool {
		status, _ := p.get(t, "/readyz", "")
		return status == http.StatusServiceUnavailable
	})
	p.signal(t, syscall.SIGTERM)
	p.wait(t, 5*time.Second) // it would drain for a minute
}

// TestShutdownWithConnections checks that a server shuts down cleanly, whatever clients do with their connections. It
// waits only for a request that is still arriving, and in the end disconnects its client.
func TestShutdownWithConnections(t *testing.T) {
	t.Parallel()
	const upload = "POST /v1/chat/completions HTTP/1.1\r\nHost: localhost\r\n" +
		"Content-Type: application/json\r\nContent-Length: 1000\r\nExpect: 100-continue\r\n\r\n{"
	const follow = "GET /api/conversations/CONVERSATION/events?follow=true HTTP/1.1\r\nHost: localhost\r\n" +
		"Accept: text/event-stream\r\n\r\n"
	for name, c := range map[string]struct {
		sends  string
		reads  bool // the client waits for a response before the signal
		signal syscall.Signal
		waits  bool // the server waits for the client until it cuts it off
	}{
		"nothing sent":             {"", false, syscall.SIGTERM, false},
		"nothing sent, interrupt":  {"", false, syscall.SIGINT, false},
		"in the middle of headers": {"GET /healthz HTTP/1.1\r\nHost: local", false, syscall.SIGTERM, false},
		"idle": {
			"GET /healthz HTTP/1.1\r\nHost: localhost\r\n\r\n", true, syscall.SIGTERM, false,
		},
		"idle, then half of a header": {
			"GET /healthz HTTP/1.1\r\nHost: localhost\r\n\r\nGET /he", true, syscall.SIGTERM, false,
		},
		"follows": {follow, true, syscall.SIGTERM, false},
		// The response to read is "100 Continue", with which the server says that it waits for the body.
		"uploads slowly": {upload, true, syscall.SIGTERM, true},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			_, settings := imitate(t, auto(t))
			p := serve(t, settings...)
			sends := strings.ReplaceAll(c.sends, "CONVERSATION",
				p.answered(t, question{text: "fake: say Hello."}).conversation)
			for range 5 {
				conn, err := net.Dial("tcp", strings.TrimPrefix(p.url, "http://"))
				if err != nil {
					t.Fatal(err)
				}
				defer conn.Close()
				if _, err := io.WriteString(conn, sends); err != nil {
					t.Fatal(err)
				}
				if c.reads {
					if _, err := conn.Read(make([]byte, 1)); err != nil {
						t.Fatal(err)
					}
				}
			}
			p.get(t, "/healthz", "") // whatever was sent before has arrived
			p.signal(t, c.signal)
			if code := p.wait(t, patience); code != 0 {
				t.Errorf("exit code %d\n%s", code, p.stderr)
			}
			const cut = "disconnected clients that took too long"
			if waited := strings.Contains(p.stderr.String(), cut); waited != c.waits {
				t.Errorf("the server waited until it cut clients off: %t, want %t\n%s", waited, c.waits, p.stderr)
			}
		})
	}
}
