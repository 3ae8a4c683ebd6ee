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
	"github.com/footnotehq/footnote/ledger"
	"github.com/footnotehq/footnote/store"
)

// steps is a model whose runs call a tool some times before they answer.
type steps struct {
	most, least int64
	tools       int
	took        time.Duration
}

func (m *steps) Most(agent.Request) (int64, footnote.Cost) {
	return 1_000, footnote.Cost{MicroUSD: m.most}
}

func (m *steps) Least(agent.Request, int) (int64, footnote.Cost) {
	return 100, footnote.Cost{MicroUSD: m.least}
}

func (m *steps) Step(ctx context.Context, req agent.Request, _ agent.Live) (agent.Reply, error) {
	select {
	case <-time.After(m.took):
	case <-ctx.Done():
		return agent.Reply{}, context.Cause(ctx)
	}
	if req.MaxCost < m.least {
		return agent.Reply{}, &agent.StepError{Code: footnote.BudgetExceeded, Message: "It does not fit."}
	}
	block, stop := `{"type":"text","text":"Yes."}`, agent.EndTurn
	if n := len(req.Messages) / 2; n < m.tools && !req.NoTools {
		block, stop = fmt.Sprintf(`{"type":"tool_use","id":"t%d","name":"lookup","input":{}}`, n), agent.ToolUse
	}
	return agent.Reply{Message: footnote.AssistantMessage{
		Model: "dear", Blocks: []json.RawMessage{json.RawMessage(block)}, StopReason: stop,
		Usage: footnote.Usage{Input: 50, Output: 50}, Cost: footnote.Cost{MicroUSD: min(req.MaxCost, m.least)},
	}}, nil
}

// withLookup gives the assistant a tool.
func withLookup(a *agent.Assistant, _ *agent.Options, _ *ledger.Options) {
	a.Tools = []agent.Tool{agenttest.NewTool(agent.Spec{Name: "lookup", ReadOnly: true}, func(context.Context, agent.Call) (agent.Output, error) {
		return agent.Output{Content: "42"}, nil
	})}
}

// TestPaidRunsAnswer has a hundred questions of several steps share a little money. Those
// that have paid for a step have an answer, the others were refused before, and nothing
// stays reserved.
func TestPaidRunsAnswer(t *testing.T) {
	for name, a := range map[string]ledger.Allowance{
		"a user's day": {PerUserDay: 50_000}, "an organisation's day": {PerOrgDay: 50_000}, "tokens": {TokensPerDay: 5_000},
		"two limits": {PerUserDay: 50_000, OrgTokensPerDay: 4_000}, "a question": {PerRun: 2_500},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				log := store.NewMem()
				e := engine(t, log, &steps{most: 10_000, least: 1_000, tools: 3, took: time.Second}, a, withLookup)
				var wg sync.WaitGroup
				var mu sync.Mutex // guards answers
				answers := 0
				for range 100 {
					wg.Go(func() {
						_, end, err := ask(t.Context(), e, ada)
						mu.Lock()
						defer mu.Unlock()
						switch end := end.(type) {
						case footnote.RunFinished:
							answers++
						case footnote.RunFailed:
							if end.Cost.MicroUSD > 0 || end.Code != footnote.BudgetExceeded || end.Message == "" {
								t.Errorf("%+v", end)
							}
						default:
							if footnote.CodeOf(err) != footnote.BudgetExceeded {
								t.Errorf("%v, %v", end, err)
							}
						}
					})
				}
				wg.Wait()
				synctest.Wait()
				spent := audit(t, log)
				t.Logf("%d answers for %d", answers, spent)
				if answers < 8 || a.PerRun == 0 && a.TokensPerDay == 0 && a.OrgTokensPerDay == 0 && spent > 50_000 {
					t.Errorf("%d answers for %d", answers, spent)
				}
				if left, err := log.Overdue(t.Context(), 10); err != nil || len(left) > 0 {
					t.Errorf("%v stay reserved, %v", left, err)
				}
			})
		})
	}
}

// TestQueue: who waits is served in order, when something is given back, and refused with
// words about what is reserved when it takes too long.
func TestQueue(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		log := store.NewMem()
		l := ledger.New(ledger.Options{Store: log, Wait: 20 * time.Second, Allow: allow(ledger.Allowance{PerUserDay: 15_000})})
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
			e.Message != "The limit of 0.01 USD a day for you is reserved for questions under way: 0.0100 USD of it, and the 0.0050 USD left does not pay for another answer. Try again in a moment." {
			t.Errorf("after %v: %v", time.Since(begun), err)
		}
		begun = time.Now()
		_, err = l.Reserve(t.Context(), ada, agent.Spending{ID: "big", Run: "big", Wait: true, TTL: time.Hour,
			Most: footnote.Amount{MicroUSD: 20_000}, Enough: footnote.Amount{MicroUSD: 16_000}})
		e, ok = errors.AsType[*footnote.Error](err)
		if !ok || time.Since(begun) != 0 || e.RetryAfter < time.Second || !strings.Contains(e.Message, "(0.0150 USD) does not pay for another answer. It begins anew at") {
			t.Errorf("after %v: %v", time.Since(begun), err)
		}
	})
}
