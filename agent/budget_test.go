package agent_test

import (
	"context"
	"encoding/json"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/footnotehq/footnote"
	"github.com/footnotehq/footnote/agent"
	"github.com/footnotehq/footnote/agent/agenttest"
	"github.com/footnotehq/footnote/hub"
	"github.com/footnotehq/footnote/ledger/usage"
	"github.com/footnotehq/footnote/model"
	"github.com/footnotehq/footnote/store/sqlite/sqlitetest"
	"github.com/footnotehq/footnote/tool"
)

// budget lets a few model calls through.
type budget struct {
	left    int
	settled int
	over    int // runs
}

var errEmpty = footnote.Errorf(footnote.BudgetExceeded, "Nothing is left for today.")

func (p *budget) Admit(context.Context, footnote.Principal, string) (func(), error) {
	if p.left == 0 {
		return nil, errEmpty
	}
	return func() { p.over++ }, nil
}

func (p *budget) Reserve(_ context.Context, _ footnote.Principal, c agent.Spending) (agent.Reservation, error) {
	if p.left == 0 {
		return nil, errEmpty
	}
	p.left--
	return held{p, c.Max}, nil
}

func (p *budget) PerRun(footnote.Principal) int64 { return 0 }
func (p *budget) ToolPrice(string) int64          { return 0 }
func (p *budget) Weight(string) int64             { return 1 }

type held struct {
	p    *budget
	most footnote.Amount
}

func (h held) Amount() footnote.Amount { return h.most }
func (h held) Reserved() bool          { return true }
func (h held) Freed()                  {}
func (h held) Drop()                   {}
func (h held) Settle(_ footnote.Usage, _ footnote.Cost, keep bool) []footnote.Settle {
	if keep {
		h.p.settled++
	}
	return nil
}

func TestBudget(t *testing.T) {
	for _, c := range []struct {
		name        string
		left, calls int
		refused     bool // before anything is stored
		code        footnote.Code
	}{
		{"nothing left", 0, 0, true, footnote.BudgetExceeded},
		{"enough for the first step", 1, 1, false, footnote.BudgetExceeded},
		{"enough", 2, 2, false, ""},
	} {
		t.Run(c.name, func(t *testing.T) {
			money := &budget{left: c.left}
			tl := agenttest.NewTool(tool.Spec{
				Name:     "query",
				ReadOnly: true,
			}, func(context.Context, tool.Call) (tool.Output, error) {
				return tool.Output{Content: "42"}, nil
			})
			model := agenttest.Script(agenttest.Call("t1", "query", `{}`), agenttest.Say("42."))
			log := sqlitetest.New(t)
			var told []string
			note := func(t agent.Turn, err error) { told = append(told, t.Principal.User+": "+t.Text+" "+err.Error()) }
			e, err := agent.New(agent.Options{Log: log, Hub: hub.New(), Budget: money, Refused: note,
				Assistants: []*agent.Assistant{{
					Name: "analyst", Model: model, ModelName: "scripted", Tools: []tool.Tool{tl},
					Opening: func(context.Context, footnote.Principal, []string) (agent.Opening, error) {
						return agent.Opening{System: json.RawMessage(`[]`)}, nil
					},
				}}})
			if err != nil {
				t.Fatal(err)
			}
			defer e.Drain(context.Background())
			ctx, cancel := context.WithTimeout(t.Context(), 10*time.Second)
			defer cancel()
			ticket, err := e.Submit(ctx, agent.Turn{
				Text:      "How many?",
				Principal: footnote.Principal{Org: "o", User: "u"},
			})
			if c.refused {
				if footnote.CodeOf(err) != c.code || len(model.Requests()) != 0 {
					t.Errorf("%v after %d calls", err, len(model.Requests()))
				}
				if len(told) != 1 || told[0] != "u: How many? "+err.Error() {
					t.Errorf("told %q", told)
				}
				return
			}
			if len(told) != 0 {
				t.Errorf("Refused was called for a question that began: %q", told)
			}
			if err != nil {
				t.Fatal(err)
			}
			rd := e.Subscribe(ticket)
			defer rd.Close()
			var code footnote.Code
			for over := false; !over; {
				batch, err := rd.Next(ctx)
				if err != nil {
					t.Fatal(err)
				}
				for _, entry := range batch {
					if entry.Event == nil {
						continue
					}
					if f, ok := entry.Event.Body.(footnote.RunFailed); ok {
						code = f.Code
						if f.Message != "Nothing is left for today." {
							t.Errorf("it says %q", f.Message)
						}
					}
					over = over || footnote.Terminal(entry.Event.Body)
				}
			}
			e.Drain(ctx)
			if code != c.code || len(model.Requests()) != c.calls || money.settled != c.calls || money.over != 1 {
				t.Errorf("ended with %q after %d calls, %d settled, %d runs over", code, len(model.Requests()),
					money.settled, money.over)
			}
		})
	}
}

// TestUsageOfSideCallsIsLogged checks that the usage of side calls is in the log, also of concurrent and of failed
// ones.
func TestUsageOfSideCallsIsLogged(t *testing.T) {
	log := sqlitetest.New(t)
	model := modelFunc(func(_ context.Context, req model.Request, _ model.Live) (model.Reply, error) {
		if strings.Contains(string(req.Messages[0].Content), "break") {
			return model.Reply{},
				&model.StepError{Code: footnote.ModelUnavailable, Message: "Gone.", Usage: footnote.Usage{Input: 5}}
		}
		r := say("Yes.")
		r.Message.Usage = footnote.Usage{Input: 100, Output: 10}
		return r, nil
	})
	e, err := agent.New(agent.Options{Log: log, Hub: hub.New(), Assistants: []*agent.Assistant{{
		Name: "analyst", Model: model, ModelName: "scripted",
		Opening: func(context.Context, footnote.Principal, []string) (agent.Opening, error) {
			return agent.Opening{System: json.RawMessage(`[]`)}, nil
		},
	}}})
	if err != nil {
		t.Fatal(err)
	}
	defer e.Drain(context.Background())
	var wg sync.WaitGroup
	for n := range 10 {
		wg.Go(func() {
			prompt := "hello"
			if n == 9 {
				prompt = "break"
			}
			if _, _, err := e.Complete(t.Context(), alice, prompt); (err != nil) != (n == 9) {
				t.Errorf("%d: %v", n, err)
			}
		})
	}
	wg.Wait()
	totals, err := usage.Open(log, "")
	if err != nil {
		t.Fatal(err)
	}
	days, _, err := totals.User(t.Context(), alice)
	if err != nil || len(days) != 1 || days[0].Usage != (footnote.Usage{Input: 905, Output: 90}) {
		t.Errorf("daily usage: %+v, %v", days, err)
	}
}

// lending is a budget that lets one user wait for money, and counts dropped reservations.
type lending struct {
	*budget
	dropped atomic.Int64
}

func (l *lending) Reserve(ctx context.Context, p footnote.Principal, c agent.Spending) (agent.Reservation, error) {
	if p.User == "poor" && c.Wait {
		select {
		case <-time.After(20 * time.Second):
			return nil, errEmpty
		case <-ctx.Done():
			return nil, context.Cause(ctx)
		}
	}
	return loan{held{l.budget, c.Max}, l}, nil
}

type loan struct {
	held
	l *lending
}

func (l loan) Drop() { l.l.dropped.Add(1) }

// TestSideCallsWaitingForMoneyBlockNoOthers checks that side calls that wait for money do not delay those of other
// users.
func TestSideCallsWaitingForMoneyBlockNoOthers(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		quick := func(context.Context, model.Request, model.Live) (model.Reply, error) { return say("x"), nil }
		r := newRig(t, nil, nil, use(modelFunc(quick)), func(_ *agent.Assistant, o *agent.Options) {
			o.Budget = &lending{budget: &budget{}}
		})
		for range 12 {
			go func() {
				poor := footnote.Principal{Org: "other", User: "poor"}
				if _, _, err := r.engine.Complete(t.Context(), poor,
					"p"); footnote.CodeOf(err) != footnote.BudgetExceeded {
					t.Errorf("CodeOf(%v), want budget_exceeded", err)
				}
			}()
		}
		synctest.Wait()
		begun := time.Now()
		if _, _, err := r.engine.Complete(t.Context(), alice, "p"); err != nil || time.Since(begun) > 0 {
			t.Errorf("another user's side call took %v, %v", time.Since(begun), err)
		}
		time.Sleep(time.Minute)
	})
}

// TestSideCallThatTimesOutDropsReservation checks that a side call that has reserved money and then finds no free place
// drops its reservation.
func TestSideCallThatTimesOutDropsReservation(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		slow := func(context.Context, model.Request, model.Live) (model.Reply, error) {
			time.Sleep(5 * time.Minute)
			return say("x"), nil
		}
		money := &lending{budget: &budget{}}
		r := newRig(t, nil, nil, use(modelFunc(slow)), func(_ *agent.Assistant, o *agent.Options) { o.Budget = money })
		for range 4 {
			go func() { _, _, _ = r.engine.Complete(t.Context(), alice, "p") }()
		}
		synctest.Wait()
		_, _, err := r.engine.Complete(t.Context(), alice, "p")
		if footnote.CodeOf(err) != footnote.AgentTimeout || money.dropped.Load() != 1 {
			t.Errorf("CodeOf(%v), want agent_timeout; %d dropped, want 1", err, money.dropped.Load())
		}
		time.Sleep(5 * time.Minute)
	})
}
