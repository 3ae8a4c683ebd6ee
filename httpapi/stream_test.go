package httpapi_test

import (
	"context"
	"errors"
	"iter"
	"net/http"
	"net/http/httptest"
	"os"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/footnotehq/footnote"
	"github.com/footnotehq/footnote/agent"
	"github.com/footnotehq/footnote/httpapi"
	"github.com/footnotehq/footnote/internal/clienttest"
	"github.com/footnotehq/footnote/protocol/chatv2"
	"github.com/footnotehq/footnote/protocol/openai"
)

// inBubble runs f with a server whose clock is fake. The engine is closed before the bubble ends.
func inBubble(t *testing.T, change func(*httpapi.Options),
	f func(t *testing.T, api *httpapi.Server, engine *clienttest.Engine)) {
	t.Helper()
	synctest.Test(t, func(t *testing.T) {
		engine := clienttest.New()
		defer engine.Close()
		o := httpapi.Options{Engine: engine, Log: engine, Hub: engine.Hub, Protocols: allProtocols()}
		if change != nil {
			change(&o)
		}
		api, err := httpapi.New(o)
		if err != nil {
			t.Fatal(err)
		}
		f(t, api, engine)
	})
}

func chat(scenario string, stream bool) *http.Request {
	s := "false"
	if stream {
		s = "true"
	}
	return request("POST", "/v1/chat/completions",
		`{"model":"analyst","stream":`+s+`,"messages":[{"role":"user","content":"scenario: `+scenario+`"}]}`)
}

// tape is a recorder that can be read while it records.
type tape struct {
	mu sync.Mutex // guards below
	*httptest.ResponseRecorder
}

func newTape() *tape { return &tape{ResponseRecorder: httptest.NewRecorder()} }

func (p *tape) Write(b []byte) (int, error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.ResponseRecorder.Write(b)
}

func (p *tape) WriteHeader(status int) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.ResponseRecorder.WriteHeader(status)
}

func (p *tape) Flush() {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.ResponseRecorder.Flush()
}

// text returns what was written so far.
func (p *tape) text() string {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.Body.String()
}

// start serves a request in the background and closes done at the end.
func start(ctx context.Context, h http.Handler, w http.ResponseWriter, r *http.Request) (done chan struct{}) {
	done = make(chan struct{})
	go func() {
		defer close(done)
		defer func() { _ = recover() }() // an aborted response panics
		h.ServeHTTP(w, r.WithContext(ctx))
	}()
	return done
}

// ended returns the last line in the log of the only conversation.
func ended(t *testing.T, api http.Handler, w http.ResponseWriter) string {
	t.Helper()
	id := w.Header().Get("X-Conversation-Id")
	lines := strings.Split(strings.TrimSpace(do(api,
		request("GET", "/api/conversations/"+id+"/events", "")).Body.String()), "\n")
	return lines[len(lines)-1]
}

func TestHeartbeat(t *testing.T) {
	inBubble(t, nil, func(t *testing.T, api *httpapi.Server, _ *clienttest.Engine) {
		ctx, leave := context.WithCancel(t.Context())
		w := newTape()
		done := start(ctx, api, w, chat("silent", true))
		time.Sleep(5*time.Second - time.Millisecond)
		synctest.Wait()
		if got := w.text(); got != "" {
			t.Fatalf("before 5 s: %q", got)
		}
		time.Sleep(time.Millisecond)
		synctest.Wait()
		if got := w.text(); !strings.Contains(got, `"role":"assistant"`) {
			t.Fatalf("after 5 s: %q", got)
		}
		time.Sleep(46 * time.Second)
		synctest.Wait()
		if n := strings.Count(w.text(), ": ping\n\n"); n != 3 {
			t.Errorf("%d heartbeats in 46 s of silence, want 3", n)
		}
		leave()
		<-done
		synctest.Wait()
		if last := ended(t, api, w); !strings.Contains(last, `"by":"disconnect"`) {
			t.Errorf("the client left, and the log ends with %s", last)
		}
	})
}

func TestNoHeartbeatBetweenWords(t *testing.T) {
	inBubble(t, nil, func(t *testing.T, api *httpapi.Server, _ *clienttest.Engine) {
		ctx, leave := context.WithCancel(t.Context())
		w := newTape()
		done := start(ctx, api, w, chat("slow", true))
		time.Sleep(20 * time.Second)
		leave()
		<-done
		if strings.Contains(w.text(), ": ping") {
			t.Error("a stream that speaks all the time has heartbeats")
		}
	})
}

func TestRunContinuesWithoutItsClient(t *testing.T) {
	policy := func(o *httpapi.Options) {
		o.Protocols = protocols(openai.Settings{OnDisconnect: agent.Continue}, chatv2.Settings{})
	}
	inBubble(t, policy, func(t *testing.T, api *httpapi.Server, engine *clienttest.Engine) {
		ctx, leave := context.WithCancel(t.Context())
		w := newTape()
		done := start(ctx, api, w, chat("slow", true))
		time.Sleep(time.Second)
		leave()
		<-done
		synctest.Wait()
		if last := ended(t, api, w); !strings.Contains(last, `"run_started"`) {
			t.Errorf("the run was ended: %s", last)
		}
		if n := engine.Hub.Readers(); n != 0 {
			t.Errorf("%d readers are still open", n)
		}
	})
}

// stalled is a connection whose client has stopped reading.
type stalled struct {
	*httptest.ResponseRecorder
	after int
}

func (s *stalled) Write(b []byte) (int, error) {
	if s.after--; s.after < 0 {
		return 0, os.ErrDeadlineExceeded
	}
	return s.ResponseRecorder.Write(b)
}

func TestSlowReaderIsDropped(t *testing.T) {
	inBubble(t, nil, func(t *testing.T, api *httpapi.Server, engine *clienttest.Engine) {
		w := &stalled{httptest.NewRecorder(), 3}
		<-start(t.Context(), api, w, chat("slow", true))
		synctest.Wait()
		if last := ended(t, api, w); !strings.Contains(last, `"by":"disconnect"`) {
			t.Errorf("the log ends with %s", last)
		}
		if n := engine.Hub.Readers(); n != 0 {
			t.Errorf("%d readers are still open", n)
		}
	})
}

func TestAnswerTimeout(t *testing.T) {
	inBubble(t, nil, func(t *testing.T, api *httpapi.Server, _ *clienttest.Engine) {
		begun := time.Now()
		w := do(api, chat("silent", false))
		if took := time.Since(begun); took != 300*time.Second || w.Code != 504 ||
			!strings.Contains(w.Body.String(), "agent_timeout") {
			t.Errorf("after %v: %d %s", took, w.Code, w.Body)
		}
		if w.Header().Get("X-Should-Retry") != "false" {
			t.Error("the client will ask again, and pay again")
		}
		synctest.Wait()
		if last := ended(t, api, w); !strings.Contains(last, `"by":"disconnect"`) {
			t.Errorf("the log ends with %s", last)
		}
	})
}

func TestStreamTimeout(t *testing.T) {
	inBubble(t, nil, func(t *testing.T, api *httpapi.Server, _ *clienttest.Engine) {
		begun := time.Now()
		w := do(api, chat("silent", true))
		if took := time.Since(begun); took != 10*time.Minute ||
			!strings.HasSuffix(w.Body.String(), `"code":"agent_timeout"}}`+"\n\ndata: [DONE]\n\n") {
			t.Errorf("after %v: %s", took, w.Body)
		}
	})
}

func TestShutdown(t *testing.T) {
	for name, stream := range map[string]bool{"streamed": true, "in one piece": false} {
		t.Run(name, func(t *testing.T) {
			inBubble(t, nil, func(t *testing.T, api *httpapi.Server, engine *clienttest.Engine) {
				w := newTape()
				done := start(t.Context(), api, w, chat("silent", stream))
				time.Sleep(10 * time.Second)
				synctest.Wait()
				engine.Hub.Close()
				<-done
				if !strings.Contains(w.text(), `"code":"model_unavailable"`) ||
					!stream && w.Header().Get("Retry-After") != "5" {
					t.Errorf("request during shutdown: %d %v %s", w.Code, w.Header(), w.Body)
				}
			})
		})
	}
}

// bare is a response that cannot be flushed.
type bare struct{ http.ResponseWriter }

func TestStreamingImpossible(t *testing.T) {
	inBubble(t, nil, func(t *testing.T, api *httpapi.Server, _ *clienttest.Engine) {
		w := httptest.NewRecorder()
		api.ServeHTTP(bare{w}, chat("two", true))
		if w.Code != 500 || strings.Contains(w.Body.String(), "Unwrap") {
			t.Errorf("streaming without a flusher: %d %s", w.Code, w.Body)
		}
	})
}

func TestEventStreamFollowsARun(t *testing.T) {
	inBubble(t, nil, func(t *testing.T, api *httpapi.Server, engine *clienttest.Engine) {
		w := newTape()
		asked := start(t.Context(), api, w, chat("slow", true))
		time.Sleep(100 * time.Millisecond)
		synctest.Wait()
		id := w.Header().Get("X-Conversation-Id")
		view := newTape()
		r := request("GET", "/api/conversations/"+id+"/events", "")
		r.Header.Set("Accept", "text/event-stream")
		viewed := start(t.Context(), api, view, r)
		time.Sleep(100 * time.Millisecond)
		synctest.Wait()
		if got := view.text(); !strings.Contains(got, `"op":"start","index":0,"kind":"text"}`) ||
			!strings.Contains(got, `"op":"grow","index":0,"kind":"text","text":"0 1 2 `) {
			t.Errorf("the deltas so far and from now on should be there:\n%s", got)
		}
		if err := engine.Stop(t.Context(), id, "user"); err != nil {
			t.Fatal(err)
		}
		<-viewed
		<-asked
		if got := view.text(); !strings.Contains(got, "event: run_stopped\n") {
			t.Errorf("the stream ends before the run does:\n%s", got)
		}
		if got := w.text(); !strings.HasSuffix(got, `"finish_reason":"stop"}]}`+"\n\ndata: [DONE]\n\n") {
			t.Errorf("a person stopped the run, and the answer ends with %q", got[max(0, len(got)-200):])
		}
	})
}

func TestEventStreamWaitsForLaterRuns(t *testing.T) {
	inBubble(t, nil, func(t *testing.T, api *httpapi.Server, _ *clienttest.Engine) {
		id := do(api, chat("two", false)).Header().Get("X-Conversation-Id")
		ctx, leave := context.WithCancel(t.Context())
		view := newTape()
		r := request("GET", "/api/conversations/"+id+"/events?after=7&follow=true", "")
		r.Header.Set("Accept", "text/event-stream")
		viewed := start(ctx, api, view, r)
		time.Sleep(31 * time.Second)
		synctest.Wait()
		if n := strings.Count(view.text(), ": ping\n\n"); n != 3 {
			t.Errorf("%d heartbeats in 31 s, want one at once and two later", n)
		}
		again := chat("two", false)
		again.Header.Set("X-Conversation-Id", id)
		do(api, again)
		synctest.Wait()
		got := view.text()
		if !strings.Contains(got, "id: "+id+".8\nevent: user_message\n") || !strings.Contains(got, "event: delta\n") ||
			!strings.Contains(got, "id: "+id+".14\nevent: run_finished\n") {
			t.Errorf("the later run is not there:\n%s", got)
		}
		leave()
		<-viewed
		if strings.Contains(view.text(), "event: error") {
			t.Errorf("leaving was reported as an error:\n%s", view.text())
		}
	})
}

// TestReaderAheadOfTheLog checks that a reader that has seen more than the log contains, because the log was
// restored from a backup, gets a reset and continues from the end of the log.
func TestReaderAheadOfTheLog(t *testing.T) {
	inBubble(t, nil, func(t *testing.T, api *httpapi.Server, _ *clienttest.Engine) {
		id := do(api, chat("two", false)).Header().Get("X-Conversation-Id")
		told := "id: " + id + ".7\nevent: reset\ndata: {\"last\":7,\"asked\":99}\n\n"
		ask := func(query, header string) *http.Request {
			r := request("GET", "/api/conversations/"+id+"/events?"+query, "")
			r.Header.Set("Accept", "text/event-stream")
			if header != "" {
				r.Header.Set("Last-Event-ID", header)
			}
			return r
		}
		for name, r := range map[string]*http.Request{
			"address":           ask("after=99", ""),
			"header":            ask("", "99"),
			"an id":             ask("", id+".99"),
			"an id as address":  ask("after="+id+".99", ""),
			"without following": ask("follow=false", "99"),
		} {
			if w := do(api, r); w.Code != 200 || w.Body.String() != told {
				t.Errorf("%s: %d %q", name, w.Code, w.Body)
			}
		}
		for _, last := range []string{"7", id + ".7"} {
			if w := do(api, ask("", last)); w.Code != 204 {
				t.Errorf("a reader that has all, up to %s, gets %d", last, w.Code)
			}
		}
		if w := do(api, ask("after=7", "conv_OTHER.3")); w.Code != 204 {
			t.Errorf("the id of an event of another conversation: %d", w.Code)
		}
		if w := do(api, ask("after=conv_OTHER.3", "")); w.Code != 400 {
			t.Errorf("an address with the id of an event of another conversation: %d", w.Code)
		}
		if w := do(api, request("GET", "/api/conversations/"+id+"/events?after=99", "")); w.Code != 200 ||
			w.Header().Get("X-Log-Reset") != "7" {
			t.Errorf("lines: %d, X-Log-Reset %q", w.Code, w.Header().Get("X-Log-Reset"))
		}
		ctx, leave := context.WithCancel(t.Context())
		view := newTape()
		viewed := start(ctx, api, view, ask("follow=true", "99"))
		synctest.Wait()
		again := chat("two", false)
		again.Header.Set("X-Conversation-Id", id)
		do(api, again)
		synctest.Wait()
		if got := view.text(); !strings.HasPrefix(got, told) ||
			!strings.Contains(got, "id: "+id+".8\nevent: user_message\n") ||
			!strings.Contains(got, "id: "+id+".14\nevent: run_finished\n") {
			t.Errorf("the reader heard\n%s", got)
		}
		leave()
		<-viewed
	})
}

// failing is a log that fails in the middle.
type failing struct{ *clienttest.Engine }

func (f failing) Events(ctx context.Context, id string, after int64) iter.Seq2[footnote.Event, error] {
	return func(yield func(footnote.Event, error) bool) {
		for ev, err := range f.Engine.Events(ctx, id, after) {
			if !yield(ev, err) || ev.Seq == 2 {
				break
			}
		}
		yield(footnote.Event{}, errors.New("disk: secret"))
	}
}

func TestEventLogBreaks(t *testing.T) {
	inBubble(t, func(o *httpapi.Options) {
		o.Log = failing{o.Engine.(*clienttest.Engine)}
	}, func(t *testing.T, api *httpapi.Server, _ *clienttest.Engine) {
		id := do(api, chat("two", false)).Header().Get("X-Conversation-Id")
		target := "/api/conversations/" + id + "/events"
		if w := do(api, request("GET", target+"?after=99", "")); w.Code != 500 ||
			strings.Contains(w.Body.String(), "secret") {
			t.Errorf("before the first line: %d %s", w.Code, w.Body)
		}
		w := httptest.NewRecorder()
		aborted := false
		func() {
			defer func() { aborted = recover() == http.ErrAbortHandler }()
			api.ServeHTTP(w, request("GET", target, ""))
		}()
		if !aborted {
			t.Error("half a log looks like a whole one")
		}
	})
}
