package agent_test

import (
	"context"
	"fmt"
	"strings"
	"sync"
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

// hesitant is a log whose writes take a second each. The first writes after refuses is set fail.
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

// deaf is a model that answers after five seconds, even if its context has ended.
func deaf(context.Context, model.Request, model.Live) (model.Reply, error) {
	time.Sleep(5 * time.Second)
	return say("Done."), nil
}

// TestUnstoredMessageCanBeSentAgain sends a message again that could not be stored, just before and just after its run
// has noticed the failure. The message must not count as a duplicate.
func TestUnstoredMessageCanBeSentAgain(t *testing.T) {
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
						t.Fatalf("an unstored message is a duplicate: %+v", second)
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

// patient is a model that answers after five seconds, unless its context ends.
func patient(ctx context.Context, _ model.Request, _ model.Live) (model.Reply, error) {
	select {
	case <-time.After(5 * time.Second):
		return say("Done."), nil
	case <-ctx.Done():
		return model.Reply{}, context.Cause(ctx)
	}
}

// searched is a hesitant log that counts calls of Find.
type searched struct {
	*hesitant
	finds atomic.Int32
}

func (c *searched) Find(ctx context.Context, org, user, kind, clientID string) (footnote.Stream, error) {
	c.finds.Add(1)
	return c.hesitant.Find(ctx, org, user, kind, clientID)
}

// transcript returns the messages and the ends of runs in alice's conversation with the ClientID "chat".
func (c *searched) transcript(t *testing.T) string {
	t.Helper()
	var said []string
	head, err := c.Store.Find(t.Context(), alice.Org, alice.User, "conversation", "chat")
	if err != nil {
		return string(footnote.CodeOf(err))
	}
	for ev, err := range c.Events(t.Context(), head.ID, 0) {
		if err != nil {
			t.Fatal(err)
		}
		if m, ok := ev.Body.(footnote.UserMessage); ok {
			said = append(said, m.Text)
		} else if footnote.Terminal(ev.Body) {
			said = append(said, footnote.KindOf(ev.Body))
		}
	}
	return strings.Join(said, " ")
}

// TestMessageDuringOpening sends a message to a conversation whose first message is still being stored. As in any busy
// conversation, it is refused or waits. If the first message cannot be stored, the waiting one opens the conversation.
func TestMessageDuringOpening(t *testing.T) {
	for policy, want := range map[string][]string{
		agent.Reject:    {"How many? run_finished", "not_found"},
		agent.Enqueue:   {"How many? run_finished And now? run_finished", "And now? run_finished"},
		agent.Interrupt: {"How many? run_stopped And now? run_finished", "And now? run_finished"},
	} {
		for refused, want := range want {
			t.Run(fmt.Sprint(policy, ", refused: ", refused), func(t *testing.T) {
				synctest.Test(t, func(t *testing.T) { busyOpening(t, policy, int32(refused), want) })
			})
		}
	}
}

func busyOpening(t *testing.T, policy string, refused int32, want string) {
	log := &searched{hesitant: &hesitant{Store: sqlitetest.New(t)}}
	log.refuses.Store(refused)
	r := newRig(t, nil, nil, use(modelFunc(patient)), func(_ *agent.Assistant, o *agent.Options) { o.Log = log })
	turn := agent.Turn{Principal: alice, ClientID: "chat", Text: "How many?", MessageID: "m"}
	first := r.submit(turn)
	defer r.engine.Subscribe(first).Close()
	time.Sleep(500 * time.Millisecond)
	turn.Text, turn.MessageID, turn.OnBusy = "And now?", "n", policy
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	if other := turn; refused == 0 {
		other.MessageID = "m"
		if _, err := r.engine.Submit(ctx, other); err == nil || !strings.Contains(err.Error(), "has this id") {
			t.Errorf("another message with the id of the first: %v", err)
		}
	}
	second, err := r.engine.Submit(ctx, turn)
	switch {
	case policy == agent.Reject:
		if footnote.CodeOf(err) != footnote.Conflict || strings.Contains(err.Error(), first.Conversation) {
			t.Errorf("CodeOf(%v), want conflict", err)
		}
	case err != nil:
		t.Fatal(err)
	default:
		r.read(second)
	}
	time.Sleep(time.Minute)
	if n := log.finds.Load(); n > 50 {
		t.Errorf("Find was called %d times", n)
	}
	if got := log.transcript(t); got != want {
		t.Errorf("the log has %q, want %q", got, want)
	}
}

// TestDuplicateEdits sends an edited message several times at once, and again when it is answered.
func TestDuplicateEdits(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := newRig(t, nil, nil, use(modelFunc(patient)))
		first := r.submit(agent.Turn{Text: "How many?", MessageID: "m"})
		r.read(first)
		synctest.Wait()
		edit := agent.Turn{
			Conversation: first.Conversation, Edit: r.messages(first.Conversation)[0],
			Text: "How much?", MessageID: "m",
		}
		var wg sync.WaitGroup
		tickets := make(chan agent.Ticket, 8)
		for range cap(tickets) {
			wg.Go(func() { tickets <- r.submit(edit) })
		}
		wg.Wait()
		synctest.Wait()
		other := edit
		other.Text = "How long?"
		r.refused("another edit while it is answered", first.Conversation, footnote.Conflict, other)
		time.Sleep(time.Minute)
		all := []agent.Ticket{r.submit(edit)}
		close(tickets)
		for ticket := range tickets {
			all = append(all, ticket)
		}
		runs, begun := map[string]int{}, 0
		for _, ticket := range all {
			runs[ticket.Run]++
			if !ticket.Duplicate {
				begun++
				r.engine.Subscribe(ticket).Close()
			}
		}
		if len(runs) != 1 || begun != 1 {
			t.Errorf("%d tickets began the runs %v", begun, runs)
		}
		r.refused("another edit of what was taken back", first.Conversation, footnote.InvalidRequest, other)
	})
}

// TestDuplicateRegenerations asks for another answer several times at once, by the number of the message or without it,
// and again while it is made and when it is there.
func TestDuplicateRegenerations(t *testing.T) {
	for name, named := range map[string]bool{"named": true, "newest": false} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				r := newRig(t, nil, nil, use(modelFunc(patient)))
				first := r.submit(agent.Turn{Text: "How many?"})
				r.read(first)
				synctest.Wait()
				again := agent.Turn{Conversation: first.Conversation, Regenerate: true}
				if named {
					again.Edit = r.messages(first.Conversation)[0]
				}
				var wg sync.WaitGroup
				tickets := make(chan agent.Ticket, 9)
				for range 8 {
					wg.Go(func() { tickets <- r.submit(again) })
				}
				wg.Wait()
				synctest.Wait()
				tickets <- r.submit(again)
				close(tickets)
				r.readOne(tickets)
				synctest.Wait()
				later := r.submit(again)
				if later.Duplicate != named {
					t.Errorf("asked again after the answer: duplicate %v", later.Duplicate)
				}
				r.engine.Subscribe(later).Close()
			})
		})
	}
}
