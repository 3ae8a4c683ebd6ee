package agent_test

import (
	"context"
	"fmt"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/footnotehq/footnote"
	"github.com/footnotehq/footnote/agent"
	"github.com/footnotehq/footnote/model"
	"github.com/footnotehq/footnote/store"
	"github.com/footnotehq/footnote/store/sqlite/sqlitetest"
)

// hesitant is a log that takes a second for each write, and refuses as many as it is told to.
type hesitant struct {
	store.Store
	refuses atomic.Int32
}

func (h *hesitant) hesitate() error {
	time.Sleep(time.Second)
	if h.refuses.Add(-1) >= 0 {
		return footnote.Errorf(footnote.StorageUnavailable, "the disk is full")
	}
	return nil
}

func (h *hesitant) Append(ctx context.Context, a footnote.Append) ([]footnote.Event, error) {
	if err := h.hesitate(); err != nil {
		return nil, err
	}
	return h.Store.Append(ctx, a)
}

func (h *hesitant) CreateAppend(ctx context.Context, s footnote.Stream, a footnote.Append) ([]footnote.Event, error) {
	if err := h.hesitate(); err != nil {
		return nil, err
	}
	return h.Store.CreateAppend(ctx, s, a)
}

// deaf is a model that answers after five seconds, also when nobody wants to know any more.
func deaf(context.Context, model.Request, model.Live) (model.Reply, error) {
	time.Sleep(5 * time.Second)
	return say("Done."), nil
}

// TestAMessageThatWasNotStoredIsAskedAgain: a message that is sent again while its run ends, because the message
// could not be stored, is no repetition. It is sent just before its run has noticed, and just after.
func TestAMessageThatWasNotStoredIsAskedAgain(t *testing.T) {
	for name, opens := range map[string]bool{"first message": true, "second message": false} {
		for _, after := range []time.Duration{500 * time.Millisecond, 2 * time.Second} {
			t.Run(fmt.Sprint(name, ", again after ", after), func(t *testing.T) {
				synctest.Test(t, func(t *testing.T) {
					log := &hesitant{Store: sqlitetest.New(t)}
					r := newRig(t, nil, nil, use(modelFunc(deaf)),
						func(_ *agent.Assistant, o *agent.Options) { o.Log = log })
					turn := agent.Turn{ClientID: "chat", Text: "How many?", MessageID: "m"}
					if !opens {
						r.read(r.submit(agent.Turn{ClientID: "chat", Text: "Hello.", MessageID: "l"}))
						time.Sleep(time.Minute)
					}
					log.refuses.Store(1)
					first := r.submit(turn)
					defer r.engine.Subscribe(first).Close()
					time.Sleep(after)
					second := r.submit(turn)
					if second.Duplicate || second.Run == first.Run {
						t.Fatalf("the message was not stored, and is said to be: %+v", second)
					}
					if _, last := r.read(second); footnote.KindOf(last) != "run_finished" {
						t.Errorf("last = %+v", last)
					}
					asked := 0
					for ev := range log.Events(t.Context(), second.Conversation, 0) {
						if m, ok := ev.Body.(footnote.UserMessage); ok && m.ID == "m" {
							asked++
						}
					}
					if asked != 1 {
						t.Errorf("the log has the message %d times", asked)
					}
				})
			})
		}
	}
}
