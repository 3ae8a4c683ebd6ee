package httpapi_test

import (
	"context"
	"iter"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"

	"github.com/footnotehq/footnote"
	"github.com/footnotehq/footnote/agent"
	"github.com/footnotehq/footnote/agent/agenttest"
	"github.com/footnotehq/footnote/httpapi"
	"github.com/footnotehq/footnote/store"
	"github.com/footnotehq/footnote/store/sqlite/sqlitetest"
)

// lossy is a store that has lost one event.
type lossy struct {
	store.Store
	lost atomic.Int64
}

func (l *lossy) Events(ctx context.Context, id string, after int64) iter.Seq2[footnote.Event, error] {
	return func(yield func(footnote.Event, error) bool) {
		for ev, err := range l.Store.Events(ctx, id, after) {
			if err == nil && ev.Seq == l.lost.Load() {
				ev = footnote.Event{Stream: id, Seq: ev.Seq, Body: footnote.Unreadable{Reason: store.MissingEvent}}
			}
			if !yield(ev, err) {
				return
			}
		}
	}
}

// TestMissingEnd loses the end of a run, as the last event and in the middle of the log. A client that asks
// for its answer again gets an error at once.
func TestMissingEnd(t *testing.T) {
	for name, more := range map[string]bool{"last": false, "middle": true} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				log := &lossy{Store: sqlitetest.New(t)}
				model := agenttest.Script(agenttest.Say("Fine."), agenttest.Say("More."))
				api := newOn(t, log, "scripted", model, func(*httpapi.Options) {})
				do(api, request("POST", "/api/analyze", `{"question":"How many?","request_id":"q"}`))
				synctest.Wait()
				heads, _, err := log.List(t.Context(), store.Page{Org: "local", User: "local", Limit: 10})
				if err != nil || len(heads) != 1 {
					t.Fatal(heads, err)
				}
				head := heads[0]
				if more {
					do(api, request("POST", "/api/analyze",
						`{"question":"And?","request_id":"q2","sessionId":"`+head.ID+`"}`))
					synctest.Wait()
				}
				log.lost.Store(head.Last)
				again := `{"question":"How many?","request_id":"q","sessionId":"` + head.ID + `"}`
				w := do(api, request("POST", "/api/analyze", again)) // synctest would report a reader that waits
				if body := w.Body.String(); !strings.Contains(body, "The end of this answer is unknown") {
					t.Errorf("answer without its end: %d %s", w.Code, body)
				}
			})
		})
	}
}

// sources is access to everything, but perhaps not to all sources.
type sources struct {
	agent.Access
	every bool
}

func (sources) Assistant(footnote.Principal, string) bool { return true }
func (sources) Source(footnote.Principal, string) bool    { return true }
func (s sources) EverySource(footnote.Principal) bool     { return s.every }

// TestMissingOpening loses the event that names the sources of a conversation: who may not use every source may not see
// what came from one of them.
func TestMissingOpening(t *testing.T) {
	for every, want := range map[bool]int{true: 200, false: 404} {
		log := &lossy{Store: sqlitetest.New(t)}
		model := agenttest.Script(agenttest.Say("Fine."))
		api := newOn(t, log, "scripted", model, func(o *httpapi.Options) { o.Access = sources{every: every} })
		do(api, request("POST", "/api/analyze", `{"question":"How many?","request_id":"q"}`))
		heads, _, err := log.List(t.Context(), store.Page{Org: "local", User: "local", Limit: 10})
		if err != nil || len(heads) != 1 {
			t.Fatal(heads, err)
		}
		log.lost.Store(1)
		if w := do(api, request("GET", "/api/conversations/"+heads[0].ID, "")); w.Code != want {
			t.Errorf("every source %v: %d %s", every, w.Code, w.Body)
		}
		if w := do(api, request("DELETE", "/api/conversations/"+heads[0].ID, "")); w.Code != 204 {
			t.Errorf("every source %v: deleted with %d %s", every, w.Code, w.Body)
		}
	}
}
