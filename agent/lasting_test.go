package agent_test

import (
	"context"
	"iter"
	"sync/atomic"
	"testing"
	"testing/synctest"

	"github.com/footnotehq/footnote"
	"github.com/footnotehq/footnote/agent"
	"github.com/footnotehq/footnote/agent/agenttest"
	"github.com/footnotehq/footnote/store"
	"github.com/footnotehq/footnote/store/sqlite/sqlitetest"
)

// tailless is a store that has lost an event, and yields a placeholder or nothing in its place.
type tailless struct {
	store.Store
	lost   atomic.Int64
	silent bool
}

func (l *tailless) Events(ctx context.Context, id string, after int64) iter.Seq2[footnote.Event, error] {
	return func(yield func(footnote.Event, error) bool) {
		for ev, err := range l.Store.Events(ctx, id, after) {
			if err == nil && ev.Seq == l.lost.Load() {
				if l.silent {
					continue
				}
				ev = footnote.Event{Stream: id, Seq: ev.Seq, Body: footnote.Unreadable{Reason: store.MissingEvent}}
			}
			if !yield(ev, err) {
				return
			}
		}
	}
}

// TestLastEventMissing loses the end of a run. The next question must begin another run: two runs with one id would
// share their reservation.
func TestLastEventMissing(t *testing.T) {
	for _, silent := range []bool{false, true} {
		synctest.Test(t, func(t *testing.T) {
			log := &tailless{Store: sqlitetest.New(t), silent: silent}
			r := newRig(t, agenttest.Script(agenttest.Say("one"), agenttest.Say("two")), nil,
				func(_ *agent.Assistant, o *agent.Options) { o.Log = log })
			first := r.submit(agent.Turn{Text: "q", OnDisconnect: agent.Continue})
			r.read(first)
			synctest.Wait()
			head, err := log.Get(t.Context(), first.Conversation)
			if err != nil {
				t.Fatal(err)
			}
			log.lost.Store(head.Last)
			r.restart(nil, func(_ *agent.Assistant, o *agent.Options) { o.Log = log }) // nothing is cached
			second, err := r.engine.Submit(t.Context(), agent.Turn{
				Text: "again", Conversation: first.Conversation, Principal: alice, OnDisconnect: agent.Continue,
			})
			if err != nil {
				t.Fatal(err)
			}
			r.read(second)
			synctest.Wait()
			if second.Run == first.Run {
				t.Errorf("both runs are %s", first.Run)
			}
			ended := map[string]int{}
			for ev := range log.Store.Events(t.Context(), first.Conversation, 0) {
				if footnote.Terminal(ev.Body) {
					ended[ev.Run]++
				}
			}
			if len(ended) != 2 || ended[first.Run] != 1 {
				t.Errorf("the runs ended %v", ended)
			}
		})
	}
}

// restricted is an Access that does not allow every source.
type restricted struct{ without }

func (restricted) EverySource(footnote.Principal) bool { return false }

// TestFirstEventMissing loses the event that names the sources of a conversation. Only principals who may use every
// source can continue it.
func TestFirstEventMissing(t *testing.T) {
	for name, c := range map[string]struct {
		access agent.Access
		want   footnote.Code
	}{"every source": {without(""), ""}, "some sources": {restricted{}, footnote.NotFound}} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				log := &tailless{Store: sqlitetest.New(t)}
				set := func(_ *agent.Assistant, o *agent.Options) { o.Log, o.Access = log, c.access }
				r := newRig(t, agenttest.Script(agenttest.Say("one"), agenttest.Say("two")), nil, set)
				first := r.submit(agent.Turn{Text: "q", OnDisconnect: agent.Continue})
				r.read(first)
				synctest.Wait()
				log.lost.Store(1)
				r.restart(nil, set) // nothing is cached
				second, err := r.engine.Submit(t.Context(), agent.Turn{
					Text: "again", Conversation: first.Conversation, Principal: alice, OnDisconnect: agent.Continue,
				})
				if footnote.CodeOf(err) != c.want {
					t.Fatalf("going on: %v", err)
				}
				if err == nil {
					r.read(second)
					synctest.Wait()
				}
			})
		})
	}
}
