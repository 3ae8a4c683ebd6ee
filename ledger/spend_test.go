package ledger_test

import (
	"context"
	"encoding/json"
	"errors"
	"os"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/footnotehq/footnote"
	"github.com/footnotehq/footnote/agent"
	"github.com/footnotehq/footnote/agent/agenttest"
	"github.com/footnotehq/footnote/hub"
	"github.com/footnotehq/footnote/internal/pgtest"
	"github.com/footnotehq/footnote/ledger"
	"github.com/footnotehq/footnote/model"
	"github.com/footnotehq/footnote/store"
	"github.com/footnotehq/footnote/store/postgres"
	"github.com/footnotehq/footnote/store/sqlite/sqlitetest"
	"github.com/footnotehq/footnote/tool"
)

func TestMain(m *testing.M) { os.Exit(pgtest.Run(m)) }

// expensiveModel is a model whose calls cost as much as they may, up to maxCost.
type expensiveModel struct {
	maxCost int64
	hang    chan struct{} // a call waits for it; nil: none does
}

func (m *expensiveModel) MaxUse(model.Request) (int64, footnote.Cost) {
	return 1_000, footnote.Cost{MicroUSD: m.maxCost}
}

func (m *expensiveModel) MinUse(model.Request, int) (int64, footnote.Cost) {
	return 500, footnote.Cost{MicroUSD: m.maxCost / 3}
}

func (m *expensiveModel) Step(ctx context.Context, req model.Request, live model.Live) (model.Reply, error) {
	if m.hang != nil {
		live.Start(0, model.TextBlock, "", "")
		select {
		case <-m.hang:
		case <-ctx.Done():
			return model.Reply{}, context.Cause(ctx)
		}
	}
	return model.Reply{Message: footnote.AssistantMessage{
		Model: "dear", Blocks: []json.RawMessage{json.RawMessage(`{"type":"text","text":"Yes."}`)},
		StopReason: model.EndTurn,
		Usage:      footnote.Usage{Input: 900, Output: 100}, Cost: footnote.Cost{MicroUSD: min(m.maxCost, req.MaxCost)},
	}}, nil
}

// engine is one over a log, with limits.
func engine(t *testing.T, log store.Store, model model.Model, a ledger.Allowance,
	more ...func(*agent.Assistant, *agent.Options, *ledger.Options)) *agent.Engine {
	t.Helper()
	as := &agent.Assistant{
		Name: "analyst", Model: model, ModelName: "dear",
		Opening: func(context.Context, footnote.Principal, []string) (agent.Opening, error) {
			return agent.Opening{System: json.RawMessage(`[]`)}, nil
		},
	}
	o := agent.Options{Log: log, Hub: hub.New()}
	if s, ok := log.(agent.Shared); ok {
		o.Shared = s
	}
	lo := ledger.Options{Store: log, Allow: allow(a), Wait: 20 * time.Second}
	for _, f := range more {
		f(as, &o, &lo)
	}
	o.Budget, o.Assistants = ledger.New(lo), []*agent.Assistant{as}
	e, err := agent.New(o)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		ctx, cancel := context.WithCancel(context.Background())
		cancel()
		e.Drain(ctx)
	})
	return e
}

// ask asks a question and gives the conversation and the terminal event.
func ask(ctx context.Context, e *agent.Engine,
	p footnote.Principal) (conversation string, end footnote.Body, err error) {
	ticket, err := e.Submit(ctx, agent.Turn{Text: "Is it?", Principal: p, OnDisconnect: agent.Continue})
	if err != nil {
		return "", nil, err
	}
	rd := e.Subscribe(ticket)
	defer rd.Close()
	for {
		batch, err := rd.Next(ctx)
		if err != nil {
			return "", nil, err
		}
		for _, entry := range batch {
			if entry.Event != nil && footnote.Terminal(entry.Event.Body) {
				return ticket.Conversation, entry.Event.Body, nil
			}
		}
	}
}

// audit compares what the log says was spent with the balances of ada's org.
func audit(t *testing.T, log store.Store) (spent int64) {
	t.Helper()
	events, err := log.Tail(t.Context(), 0, 10_000)
	if err != nil {
		t.Fatal(err)
	}
	var tokens int64
	for _, ev := range events {
		u, c := footnote.UsedBy(ev.Body)
		spent, tokens = spent+c.MicroUSD, tokens+u.Prompt()+u.Output
	}
	b, _, err := log.Balances(t.Context(), "acme", "ada", "")
	if err != nil {
		t.Fatal(err)
	}
	want := footnote.Balance{Spent: footnote.Amount{MicroUSD: spent, Tokens: tokens}}
	for _, scope := range []footnote.Scope{footnote.PerOrgDay, footnote.PerOrg, footnote.PerDay} {
		if b[scope] != want {
			t.Errorf("%s: %+v; the log says %+v", scope, b[scope], want)
		}
	}
	return spent
}

// TestParallelRuns runs 200 questions in parallel that share one dollar, in every store, and in Postgres on two
// engines. They spend no more than that, and no run that has spent money fails.
func TestParallelRuns(t *testing.T) {
	const runs, dollar, maxCost = 200, 1_000_000, 30_000
	pg := func(t *testing.T, url string) store.Store {
		s, err := postgres.Open(t.Context(), url, postgres.Options{})
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { _ = s.Close() })
		return s
	}
	for name, open := range map[string]func(t *testing.T) []store.Store{
		"sqlite": func(t *testing.T) []store.Store { return []store.Store{sqlitetest.New(t)} },
		"postgres, two engines": func(t *testing.T) []store.Store {
			url := pgtest.Database(t)
			return []store.Store{pg(t, url), pg(t, url)}
		},
	} {
		t.Run(name, func(t *testing.T) {
			ctx, cancel := context.WithTimeout(t.Context(), 2*time.Minute)
			defer cancel()
			stores := open(t)
			var engines []*agent.Engine
			for _, s := range stores {
				engines = append(engines, engine(t, s, &expensiveModel{maxCost: maxCost},
					ledger.Allowance{PerOrgDay: dollar}))
			}
			var wg sync.WaitGroup
			for i := range runs {
				wg.Go(func() {
					_, end, err := ask(ctx, engines[i%len(engines)], ada)
					if err != nil && footnote.CodeOf(err) != footnote.BudgetExceeded {
						t.Error(err)
					}
					if f, ok := end.(footnote.RunFailed); ok &&
						(f.Code != footnote.BudgetExceeded || f.Cost.MicroUSD > 0) {
						t.Errorf("failed run: %+v", f)
					}
				})
			}
			wg.Wait()
			for _, e := range engines {
				e.Drain(ctx)
			}
			// What is left does not pay for a step and for a closing call.
			if spent := audit(t, stores[0]); spent > dollar || spent <= dollar-2*maxCost/3 {
				t.Errorf("%d of a dollar were spent", spent)
			}
		})
	}
}

// crash is a log that fails every write once die was called.
type crash struct {
	store.Store
	mu   sync.Mutex // guards dead
	dead bool
}

var errDead = errors.New("dead")

func (c *crash) die() {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.dead = true
}

func (c *crash) gone() error {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.dead {
		return errDead
	}
	return nil
}

func (c *crash) Append(ctx context.Context, a footnote.Append) ([]footnote.Event, error) {
	if err := c.gone(); err != nil {
		return nil, err
	}
	return c.Store.Append(ctx, a)
}

func (c *crash) CreateAppend(ctx context.Context, s footnote.Stream, a footnote.Append) ([]footnote.Event, error) {
	if err := c.gone(); err != nil {
		return nil, err
	}
	return c.Store.CreateAppend(ctx, s, a)
}

func (c *crash) Renew(ctx context.Context, stream string, token int64, ttl time.Duration) error {
	if err := c.gone(); err != nil {
		return err
	}
	return c.Store.Renew(ctx, stream, token, ttl)
}

func (c *crash) Unreserve(ctx context.Context, id string) error {
	if err := c.gone(); err != nil {
		return err
	}
	return c.Store.Unreserve(ctx, id)
}

func (c *crash) Unfinished(ctx context.Context, now time.Time, limit int) ([]footnote.Stream, error) {
	if err := c.gone(); err != nil {
		return nil, err
	}
	return c.Store.Unfinished(ctx, now, limit)
}

func (c *crash) Overdue(ctx context.Context, limit int) ([]footnote.Reservation, error) {
	if err := c.gone(); err != nil {
		return nil, err
	}
	return c.Store.Overdue(ctx, limit)
}

// TestLostCall kills a process between reserve and settle, and checks that the server that resumes the run charges an
// estimate, releases the rest and answers.
func TestLostCall(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		log := sqlitetest.New(t)
		dying := &crash{Store: log}
		first := engine(t, dying, &expensiveModel{maxCost: 300_000, hang: make(chan struct{})}, ledger.Allowance{
			PerUserDay: 1_000_000,
		})
		ticket, err := first.Submit(t.Context(), agent.Turn{
			Text:         "Is it?",
			Principal:    ada,
			OnDisconnect: agent.Continue,
		})
		if err != nil {
			t.Fatal(err)
		}
		first.Subscribe(ticket).Close()
		synctest.Wait()
		b, _, err := log.Balances(t.Context(), "acme", "ada", ticket.Conversation)
		if err != nil || b[footnote.PerUserDay] !=
			(footnote.Balance{Reserved: footnote.Amount{MicroUSD: 500_000, Tokens: 2_500}}) {
			t.Fatalf("while it runs: %+v, %v", b, err)
		}
		dying.die()
		second := engine(t, log, &expensiveModel{maxCost: 300_000}, ledger.Allowance{PerUserDay: 1_000_000})
		time.Sleep(2 * time.Minute) // leases expire, and the second engine looks
		if err := second.Recover(t.Context()); err != nil {
			t.Fatal(err)
		}
		synctest.Wait()
		var lost int
		var end footnote.Body
		for ev, err := range log.Events(t.Context(), ticket.Conversation, 0) {
			if err != nil {
				t.Fatal(err)
			}
			if f, ok := ev.Body.(footnote.StepFailed); ok && f.Lost && f.Cost.MicroUSD == 100_000 {
				lost++
				if f.Usage != (footnote.Usage{Input: 200, Output: 300, Estimated: true}) {
					t.Errorf("usage of the lost call: %+v", f.Usage)
				}
			}
			end = ev.Body
		}
		if f, ok := end.(footnote.RunFinished); !ok || f.Cost.MicroUSD != 400_000 || lost != 1 {
			t.Errorf("it ended with %+v, %d calls were lost", end, lost)
		}
		if spent := audit(t, log); spent != 400_000 {
			t.Errorf("%d were spent", spent)
		}
	})
}

// TestLostSideJob checks that the reservation of a side job whose process died is charged once it has expired, because
// no server resumes the job.
func TestLostSideJob(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		log := sqlitetest.New(t)
		dying := &crash{Store: log}
		first := engine(t, dying, &expensiveModel{maxCost: 300_000, hang: make(chan struct{})}, ledger.Allowance{
			PerUserDay: 1_000_000,
		})
		go func() { _, _, _ = first.Complete(t.Context(), ada, "Write a statement.") }()
		synctest.Wait()
		dying.die()
		engine(t, log, &expensiveModel{}, ledger.Allowance{PerUserDay: 1_000_000})
		time.Sleep(2 * time.Minute)
		synctest.Wait()
		if spent := audit(t, log); spent != 100_000 {
			t.Errorf("%d were spent", spent)
		}
	})
}

// TestSideCallsCount checks that the model calls for titles and statements are charged like those for answers.
func TestSideCallsCount(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		log := sqlitetest.New(t)
		e := engine(t, log, &expensiveModel{maxCost: 10_000}, ledger.Allowance{
			PerUserDay:   1_000_000,
			TokensPerDay: 10_000,
		}, func(a *agent.Assistant, _ *agent.Options, _ *ledger.Options) {
			a.Titles = true
		})
		if _, end, err := ask(t.Context(), e, ada); err != nil {
			t.Fatalf("ask: %v, %v", end, err)
		}
		if _, _, err := e.Complete(t.Context(), ada, "Write a statement."); err != nil {
			t.Fatal(err)
		}
		synctest.Wait()
		b, _, err := log.Balances(t.Context(), "acme", "ada", "")
		if err != nil || b[footnote.PerUserDay].Spent.Tokens != 3_000 {
			t.Errorf("an answer, its title and a statement: %+v, %v", b[footnote.PerUserDay], err)
		}
		audit(t, log)
	})
}

// TestToolPrice checks that a tool with a price is charged like a model call, and that it is not called when the budget
// does not cover its price.
func TestToolPrice(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		log := sqlitetest.New(t)
		called := 0
		tl := agenttest.NewTool(tool.Spec{
			Name:     "lookup",
			ReadOnly: true,
		}, func(context.Context, tool.Call) (tool.Output, error) {
			called++
			return tool.Output{Content: "42"}, nil
		})
		model := agenttest.Script(agenttest.Call("a", "lookup", `{}`), agenttest.Call("b", "lookup", `{}`),
			agenttest.Say("42."))
		e := engine(t, log, model, ledger.Allowance{
			PerUserDay: 80_000,
		}, func(a *agent.Assistant, _ *agent.Options, l *ledger.Options) {
			a.Tools = []tool.Tool{tl}
			l.ToolPrices = map[string]int64{"lookup": 50_000}
		})
		conversation, end, err := ask(t.Context(), e, ada)
		if f, ok := end.(footnote.RunFinished); err != nil || !ok || f.Cost.MicroUSD != 50_000 || called != 1 {
			t.Fatalf("%+v after %d calls, %v", end, called, err)
		}
		var results []footnote.ToolResult
		for ev, err := range log.Events(t.Context(), conversation, 0) {
			if err != nil {
				t.Fatal(err)
			}
			if r, ok := ev.Body.(footnote.ToolResult); ok {
				results = append(results, r)
			}
		}
		if len(results) != 2 || results[0].Cost.MicroUSD != 50_000 || !results[1].IsError ||
			results[1].Cost.MicroUSD != 0 {
			t.Errorf("results: %+v", results)
		}
		audit(t, log)
	})
}

// TestStatementPrice checks that what a database bills for a statement counts into the budgets, and that a statement
// that the budget does not cover is not run.
func TestStatementPrice(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		log := sqlitetest.New(t)
		ran := 0
		tl := agenttest.NewTool(tool.Spec{Name: "run_query", ReadOnly: true},
			func(ctx context.Context, _ tool.Call) (tool.Output, error) {
				if err := footnote.ClearanceOf(ctx).Pay(ctx, 50_000); err != nil {
					return tool.Fail(footnote.MessageOf(err)), nil
				}
				ran++
				return tool.Output{Content: "42"}, nil
			})
		model := agenttest.Script(agenttest.Call("a", "run_query", `{}`), agenttest.Call("b", "run_query", `{}`),
			agenttest.Say("42."))
		e := engine(t, log, model, ledger.Allowance{PerConversation: 80_000},
			func(a *agent.Assistant, _ *agent.Options, _ *ledger.Options) { a.Tools = []tool.Tool{tl} })
		conversation, end, err := ask(t.Context(), e, ada)
		if f, ok := end.(footnote.RunFinished); err != nil || !ok || f.Cost.MicroUSD != 50_000 || ran != 1 {
			t.Fatalf("%+v after %d statements, %v", end, ran, err)
		}
		b, _, err := log.Balances(t.Context(), "acme", "ada", conversation)
		if err != nil || b[footnote.PerConversation].Spent.MicroUSD != 50_000 {
			t.Errorf("%+v, %v", b[footnote.PerConversation], err)
		}
		audit(t, log)
	})
}

// TestConcurrentToolPrices checks that if the process dies after one of two calls with a price has ended, the price of
// the other is still charged, and the one that ended is not charged again.
func TestConcurrentToolPrices(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		const price = 50_000
		log := sqlitetest.New(t)
		gate := make(chan struct{})
		newTool := func(name string, ends bool) tool.Tool {
			spec := tool.Spec{Name: name, ReadOnly: true}
			return agenttest.NewTool(spec, func(ctx context.Context, _ tool.Call) (tool.Output, error) {
				if !ends {
					<-gate
				}
				return tool.Output{Content: "42", CacheHit: name == "cached"}, nil
			})
		}
		for _, ends := range []string{"quick", "cached"} {
			calls := agenttest.Calls(agenttest.CallBlock("a", ends, `{}`), agenttest.CallBlock("b", "slow", `{}`))
			e := engine(t, log, agenttest.Script(calls, agenttest.Say("42.")), ledger.Allowance{PerUserDay: 1_000_000},
				func(a *agent.Assistant, _ *agent.Options, l *ledger.Options) {
					a.Tools = []tool.Tool{newTool(ends, true), newTool("slow", false)}
					l.ToolPrices = map[string]int64{ends: price, "slow": price}
				})
			ticket, err := e.Submit(t.Context(), agent.Turn{
				Text:         "Is it?",
				Principal:    ada,
				OnDisconnect: agent.Continue,
			})
			if err != nil {
				t.Fatal(err)
			}
			e.Subscribe(ticket).Close()
			synctest.Wait()
			open, err := log.Reserved(t.Context(), ticket.Conversation)
			if err != nil || len(open) != 1 || open[0].Lost.MicroUSD != price {
				t.Errorf("%s: %+v, %v, want %d to be lost", ends, open, err, price)
			}
			gate <- struct{}{}
			synctest.Wait()
			if open, err = log.Reserved(t.Context(), ticket.Conversation); err != nil || len(open) != 0 {
				t.Errorf("%s: reserved at the end: %+v, %v", ends, open, err)
			}
		}
		audit(t, log)
	})
}
