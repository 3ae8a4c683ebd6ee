package ledger_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/footnotehq/footnote"
	"github.com/footnotehq/footnote/agent"
	"github.com/footnotehq/footnote/agent/agenttest"
	"github.com/footnotehq/footnote/hub"
	"github.com/footnotehq/footnote/ledger"
	"github.com/footnotehq/footnote/model"
	"github.com/footnotehq/footnote/store"
	"github.com/footnotehq/footnote/store/sqlite/sqlitetest"
	"github.com/footnotehq/footnote/tool"
)

// steps is a model whose runs call a tool some times before they answer.
type steps struct {
	most, least int64
	tools       int
	took        time.Duration
}

func (m *steps) MaxUse(model.Request) (int64, footnote.Cost) {
	return 1_000, footnote.Cost{MicroUSD: m.most}
}

func (m *steps) MinUse(model.Request, int) (int64, footnote.Cost) {
	return 100, footnote.Cost{MicroUSD: m.least}
}

func (m *steps) Step(ctx context.Context, req model.Request, _ model.Live) (model.Reply, error) {
	select {
	case <-time.After(m.took):
	case <-ctx.Done():
		return model.Reply{}, context.Cause(ctx)
	}
	if req.MaxCost < m.least {
		return model.Reply{}, &model.StepError{Code: footnote.BudgetExceeded, Message: "It does not fit."}
	}
	block, stop := `{"type":"text","text":"Yes."}`, model.EndTurn
	if n := len(req.Messages) / 2; n < m.tools && !req.NoTools {
		block, stop = fmt.Sprintf(`{"type":"tool_use","id":"t%d","name":"lookup","input":{}}`, n), model.ToolUse
	}
	return model.Reply{Message: footnote.AssistantMessage{
		Model: "dear", Blocks: []json.RawMessage{json.RawMessage(block)}, StopReason: stop,
		Usage: footnote.Usage{Input: 50, Output: 50}, Cost: footnote.Cost{MicroUSD: min(req.MaxCost, m.least)},
	}}, nil
}

// withLookup gives the assistant a tool.
func withLookup(a *agent.Assistant, _ *agent.Options, _ *ledger.Options) {
	a.Tools = []tool.Tool{agenttest.NewTool(tool.Spec{
		Name:     "lookup",
		ReadOnly: true,
	}, func(context.Context, tool.Call) (tool.Output, error) {
		return tool.Output{Content: "42"}, nil
	})}
}

// TestPaidRunsAnswer lets a hundred questions of several steps compete for little money. It checks that each question
// that paid for a step is answered, that the others were refused before they paid, and that nothing stays reserved.
func TestPaidRunsAnswer(t *testing.T) {
	for name, a := range map[string]ledger.Allowance{
		"a user's day": {PerUserDay: 50_000}, "an organisation's day": {PerOrgDay: 50_000},
		"tokens":     {TokensPerDay: 5_000},
		"two limits": {PerUserDay: 50_000, OrgTokensPerDay: 4_000}, "a question": {PerRun: 2_500},
	} {
		for _, side := range []string{tool.Server, tool.Client} {
			t.Run(name+", tools of the "+side, func(t *testing.T) {
				synctest.Test(t, func(t *testing.T) { shareLittle(t, a, side) })
			})
		}
	}
}

// withPage gives the assistant a tool that a page answers, or a person.
func withPage(family string) func(*agent.Assistant, *agent.Options, *ledger.Options) {
	return func(a *agent.Assistant, _ *agent.Options, _ *ledger.Options) {
		spec := tool.Spec{Name: "lookup", ReadOnly: true, Side: tool.Client, Family: family}
		a.Tools = []tool.Tool{agenttest.NewTool(spec, nil)}
	}
}

// shareLittle has a hundred questions share an allowance, with tools of a side.
func shareLittle(t *testing.T, a ledger.Allowance, side string) {
	log, tools := sqlitetest.New(t), withLookup
	if side == tool.Client {
		tools = withPage("")
	}
	e := engine(t, log, &steps{most: 10_000, least: 1_000, tools: 3, took: time.Second}, a, tools)
	var wg sync.WaitGroup
	var mu sync.Mutex // guards answers
	answers := 0
	for range 100 {
		wg.Go(func() {
			end, err := askWithPage(t.Context(), e, ada)
			mu.Lock()
			defer mu.Unlock()
			switch end := end.(type) {
			case footnote.RunFinished:
				answers++
			case footnote.RunFailed:
				if end.Steps > 0 || end.Cost.MicroUSD > 0 || end.Code != footnote.BudgetExceeded || end.Message == "" {
					t.Errorf("end of the refused run: %+v", end)
				}
			default:
				if footnote.CodeOf(err) != footnote.BudgetExceeded {
					t.Errorf("want budget_exceeded: %v, %v", end, err)
				}
			}
		})
	}
	wg.Wait()
	synctest.Wait()
	spent := audit(t, log)
	t.Logf("%d answers for %d", answers, spent)
	if answers < 8 {
		t.Errorf("%d answers", answers)
	}
	withinLimits(t, log, a)
}

// withinLimits holds that no more is spent today than is allowed, and that nothing stays reserved.
func withinLimits(t *testing.T, log store.Store, a ledger.Allowance) {
	t.Helper()
	b, _, err := log.Balances(t.Context(), ada.Org, ada.User, "")
	if err != nil {
		t.Fatal(err)
	}
	for scope, most := range map[footnote.Scope]footnote.Amount{
		footnote.PerUserDay: {MicroUSD: a.PerUserDay, Tokens: a.TokensPerDay},
		footnote.PerOrgDay:  {MicroUSD: a.PerOrgDay, Tokens: a.OrgTokensPerDay},
	} {
		used := b[scope].Spent
		if most.MicroUSD > 0 && used.MicroUSD > most.MicroUSD || most.Tokens > 0 && used.Tokens > most.Tokens {
			t.Errorf("%s: %+v are spent, the limit is %+v", scope, used, most)
		}
		if b[scope].Reserved != (footnote.Amount{}) {
			t.Errorf("%s: %+v stay reserved", scope, b[scope].Reserved)
		}
	}
}

// TestReservationWhilePageIsGone checks that the reservation of a run that waits for a page is released after two
// minutes without being charged, and that of a run that waits for a person at once.
func TestReservationWhilePageIsGone(t *testing.T) {
	for family, wait := range map[string]time.Duration{"": 2 * time.Minute, tool.Question: 0} {
		synctest.Test(t, func(t *testing.T) {
			log, a := sqlitetest.New(t), ledger.Allowance{PerUserDay: 50_000}
			e := engine(t, log, &steps{most: 10_000, least: 1_000, tools: 1, took: time.Second}, a, withPage(family))
			ticket, err := e.Submit(t.Context(), agent.Turn{
				Text:         "Is it?",
				Principal:    ada,
				OnDisconnect: agent.Continue,
			})
			if err != nil {
				t.Fatal(err)
			}
			e.Subscribe(ticket).Close()
			time.Sleep(10 * time.Second)
			b, _, err := log.Balances(t.Context(), ada.Org, ada.User, "")
			if got := b[footnote.PerUserDay].Reserved.MicroUSD; err != nil || (got > 0) != (wait > 0) {
				t.Errorf("%q: %d reserved while it is asked, %v", family, got, err)
			}
			time.Sleep(wait)
			withinLimits(t, log, a)
			if spent := audit(t, log); spent != 1_000 {
				t.Errorf("%q: %d are spent, want one step", family, spent)
			}
		})
	}
}

// askWithPage asks a question, answers its calls at once, as a page does, and gives the terminal event.
func askWithPage(ctx context.Context, e *agent.Engine, p footnote.Principal) (footnote.Body, error) {
	turn := agent.Turn{Text: "Is it?", Principal: p, OnDisconnect: agent.Continue}
	for {
		ticket, err := e.Submit(ctx, turn)
		if err != nil {
			return nil, err
		}
		end, err := follow(ctx, e.Subscribe(ticket))
		parked, ok := end.(footnote.RunParked)
		if err != nil || !ok {
			return end, err
		}
		turn = agent.Turn{Conversation: ticket.Conversation, Principal: p, OnDisconnect: agent.Continue}
		for _, c := range parked.Calls {
			turn.Answers = append(turn.Answers, tool.Answer{CallID: c, Content: "42"})
		}
	}
}

// follow reads until a run ends or parks.
func follow(ctx context.Context, rd *hub.Reader) (footnote.Body, error) {
	defer rd.Close()
	for {
		batch, err := rd.Next(ctx)
		if err != nil {
			return nil, err
		}
		for _, entry := range batch {
			if entry.Event == nil {
				continue
			}
			if _, parked := entry.Event.Body.(footnote.RunParked); parked || footnote.Terminal(entry.Event.Body) {
				return entry.Event.Body, nil
			}
		}
	}
}

// TestQueue checks that waiting requests are served in order as reservations are released, and that a request that has
// waited too long is refused with an error that names what is reserved.
func TestQueue(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		log := sqlitetest.New(t)
		l := ledger.New(ledger.Options{
			Store: log,
			Wait:  20 * time.Second,
			Allow: allow(ledger.Allowance{PerUserDay: 15_000}),
		})
		want := func(id string, enough int64) agent.Spending {
			c := call(id, "")
			c.Run, c.Wait, c.Enough.MicroUSD = id, true, enough
			return c
		}
		first, err := l.Reserve(t.Context(), ada, want("first", 10_000))
		if err != nil {
			t.Fatal(err)
		}
		var mu sync.Mutex // guards got
		var got []string
		note := func(s string) {
			mu.Lock()
			defer mu.Unlock()
			got = append(got, s)
		}
		reserve := func(ctx context.Context, c agent.Spending) {
			h, err := l.Reserve(ctx, ada, c)
			if err != nil {
				note(c.ID + " " + string(footnote.CodeOf(err)))
				return
			}
			note(c.ID)
			h.Drop()
		}
		go reserve(t.Context(), want("second", 10_000))
		synctest.Wait()
		go reserve(t.Context(), want("third", 1)) // it would fit, but does not overtake
		synctest.Wait()
		paid := want("paid", 10_000)
		paid.Paid = true
		go reserve(t.Context(), paid)
		synctest.Wait()
		ctx, cancel := context.WithCancel(t.Context())
		go reserve(ctx, want("gone", 10_000))
		synctest.Wait()
		cancel()
		synctest.Wait()
		if s := strings.Join(got, ", "); s != "gone internal_error" {
			t.Errorf("served while another's turn had not come: %s", s)
		}
		first.Drop()
		synctest.Wait()
		slices.Sort(got[min(len(got), 2):]) // the last two fit side by side
		if s := strings.Join(got, ", "); s != "gone internal_error, paid, second, third" {
			t.Errorf("served: %s", s)
		}

		if _, err := l.Reserve(t.Context(), ada, want("long", 10_000)); err != nil {
			t.Fatal(err)
		}
		begun := time.Now()
		_, err = l.Reserve(t.Context(), ada, want("late", 10_000))
		e, ok := errors.AsType[*footnote.Error](err)
		if !ok || time.Since(begun) != 20*time.Second || e.RetryAfter <= 0 || e.RetryAfter > time.Minute ||
			e.Message != "The limit of 0.015 USD a day for you is reserved for questions under way: 0.0100 USD of "+
				"it, and the 0.0050 USD left does not pay for another answer. Try again in a moment." {
			t.Errorf("after %v: %v", time.Since(begun), err)
		}
		begun = time.Now()
		_, err = l.Reserve(t.Context(), ada, agent.Spending{ID: "big", Run: "big", Wait: true, TTL: time.Hour,
			Max: footnote.Amount{MicroUSD: 20_000}, Enough: footnote.Amount{MicroUSD: 16_000}})
		e, ok = errors.AsType[*footnote.Error](err)
		if !ok || time.Since(begun) != 0 || e.RetryAfter != 0 ||
			e.Message != "The limit of 0.015 USD a day for you is too small for this answer, even unused. "+
				"The operator of this server can raise it: usd_per_user_day, under limits in the configuration." {
			t.Errorf("after %v: %v", time.Since(begun), err)
		}
		spend(t, log, footnote.Amount{MicroUSD: 10_000})
		_, err = l.Reserve(t.Context(), ada, want("dear", 8_000))
		e, ok = errors.AsType[*footnote.Error](err)
		if !ok || e.RetryAfter < time.Second ||
			!strings.Contains(e.Message, "(0.0050 USD) does not pay for another answer. It resets at") {
			t.Errorf("when a part is spent: %v", err)
		}
	})
}
