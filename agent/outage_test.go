package agent_test

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/footnotehq/footnote"
	"github.com/footnotehq/footnote/agent"
	"github.com/footnotehq/footnote/agent/agenttest"
	"github.com/footnotehq/footnote/hub"
	"github.com/footnotehq/footnote/model"
	"github.com/footnotehq/footnote/store"
	"github.com/footnotehq/footnote/store/sqlite/sqlitetest"
	"github.com/footnotehq/footnote/tool"
)

// errUnavailable is the error of a store that is temporarily unavailable.
var errUnavailable = &footnote.Error{Code: footnote.StorageUnavailable, Message: "The store is unavailable.",
	RetryAfter: time.Second}

// failingLog is a log with one outage, which begins at a given append. That append may be stored although its response
// is lost.
type failingLog struct {
	store.Store
	at     int64 // the number of the append at which the outage begins, from 1
	done   bool  // that append is stored
	lasts  time.Duration
	n      atomic.Int64
	back   atomic.Pointer[time.Time] // end of the outage
	lostID int64
	lost   []footnote.Event
}

func (l *failingLog) unreachable() error {
	if back := l.back.Load(); back != nil && time.Now().Before(*back) {
		return errUnavailable
	}
	return nil
}

// startOutage makes the log unavailable for l.lasts.
func (l *failingLog) startOutage() { l.back.Store(new(time.Now().Add(l.lasts))) }

func (l *failingLog) Append(ctx context.Context, a footnote.Append) (events []footnote.Event, err error) {
	if err := l.unreachable(); err != nil {
		return nil, err
	}
	if l.lostID != 0 && a.ID == l.lostID {
		return l.lost, nil
	}
	if l.n.Add(1) == l.at {
		l.startOutage()
		if l.done {
			l.lostID = a.ID
			if l.lost, err = l.Store.Append(ctx, a); err != nil {
				return nil, err
			}
		}
		return nil, errUnavailable
	}
	return l.Store.Append(ctx, a)
}

func (l *failingLog) Renew(ctx context.Context, stream string, token int64, ttl time.Duration) error {
	if err := l.unreachable(); err != nil {
		return err
	}
	return l.Store.Renew(ctx, stream, token, ttl)
}

func (l *failingLog) Unfinished(ctx context.Context, now time.Time, limit int) ([]footnote.Stream, error) {
	if err := l.unreachable(); err != nil {
		return nil, err
	}
	return l.Store.Unfinished(ctx, now, limit)
}

// TestOutage starts an outage at each write of a run, which may be stored or not. The run must complete after the
// outage, each event must be shown once, and no call of the model or a tool may be repeated.
func TestOutage(t *testing.T) {
	for _, policy := range []string{agent.Continue, agent.Cancel} {
		for at := range int64(5) {
			for _, done := range []bool{false, true} {
				for _, lasts := range []time.Duration{time.Second, 45 * time.Second} {
					t.Run(fmt.Sprintf("%s/append %d, done %t, %s", policy, at+1, done, lasts), func(t *testing.T) {
						synctest.Test(t, func(t *testing.T) {
							log := &failingLog{Store: sqlitetest.New(t), at: at + 1, done: done, lasts: lasts}
							outage(t, log, policy)
						})
					})
				}
			}
		}
	}
}

// newCountingRig returns a rig whose model makes two steps and calls a tool that changes something. It counts the calls
// of both.
func newCountingRig(t *testing.T, log store.Store) (r *rig, asked, called *int) {
	asked, called = new(int), new(int)
	model := modelFunc(func(_ context.Context, req model.Request, _ model.Live) (model.Reply, error) {
		*asked++
		time.Sleep(time.Second) // so that each step has appends of its own
		if len(req.Messages) > 1 {
			return say("It is done."), nil
		}
		return model.Reply{Message: footnote.AssistantMessage{
			Blocks: agenttest.Call("a", "change", `{}`).Blocks, StopReason: model.ToolUse,
		}}, nil
	})
	change := agenttest.NewTool(tool.Spec{Name: "change"}, func(context.Context, tool.Call) (tool.Output, error) {
		*called++
		time.Sleep(time.Second)
		return tool.Output{Content: "changed"}, nil
	})
	r = newRig(t, nil, []tool.Tool{change}, use(model), func(a *agent.Assistant, o *agent.Options) {
		a.Policy.Approve = []string{"*"}
		o.Log = log
	})
	return r, asked, called
}

// outage runs a question during an outage.
func outage(t *testing.T, log *failingLog, policy string) {
	r, asked, called := newCountingRig(t, log)
	ticket := r.submit(agent.Turn{Text: "go", OnDisconnect: policy})
	kinds, _ := r.read(ticket)
	const want = "[opened titled user_message run_started assistant_message tool_result assistant_message " +
		"answered run_finished]"
	if fmt.Sprint(kinds) != want {
		t.Errorf("shown were %v", kinds)
	}
	synctest.Wait()
	var stored []string
	for ev := range log.Store.Events(t.Context(), ticket.Conversation, 0) {
		stored = append(stored, footnote.KindOf(ev.Body))
	}
	if fmt.Sprint(stored) != want {
		t.Errorf("stored are %v", stored)
	}
	if *asked != 2 || *called != 1 {
		t.Errorf("the model was called %d times, the tool called %d times", *asked, *called)
	}
}

// TestLongOutage checks an outage that is longer than a run waits. It ends the streams of the readers. Afterwards the
// run continues from the log, and does not repeat calls that may have changed something.
func TestLongOutage(t *testing.T) {
	for at, calls := range map[int64]int{1: 0, 2: 1, 3: 1} {
		t.Run(fmt.Sprint("append ", at), func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				log := &failingLog{Store: sqlitetest.New(t), at: at, lasts: 10 * time.Minute}
				r, _, called := newCountingRig(t, log)
				ticket := r.submit(agent.Turn{Text: "go", OnDisconnect: agent.Continue})
				reader := r.engine.Subscribe(ticket)
				var err error
				begun := time.Now()
				for err == nil {
					_, err = reader.Next(t.Context())
				}
				reader.Close()
				took := time.Since(begun)
				if footnote.CodeOf(err) != footnote.StorageUnavailable || took < time.Minute || took > 3*time.Minute {
					t.Errorf("the reader got %v after %v", err, took)
				}
				time.Sleep(15 * time.Minute)
				ended, results := 0, 0
				for ev := range log.Store.Events(t.Context(), ticket.Conversation, 0) {
					switch b := ev.Body.(type) {
					case footnote.RunFinished:
						ended++
					case footnote.ToolResult:
						results++
					case footnote.RunStopped, footnote.RunFailed:
						t.Errorf("the run ended with %+v", b)
					}
				}
				if ended != 1 || results != 1 || *called > max(1, calls) {
					t.Errorf("%d ends, %d results, the tool called %d times", ended, results, *called)
				}
			})
		})
	}
}

// rejectingLog is a log that permanently rejects the model's messages, and rejects every append for some time after
// one.
type rejectingLog struct {
	store.Store
	err  error
	all  time.Duration
	back time.Time
}

func (l *rejectingLog) Append(ctx context.Context, a footnote.Append) ([]footnote.Event, error) {
	said := slices.ContainsFunc(a.Bodies, func(b footnote.Body) bool {
		_, ok := b.(footnote.AssistantMessage)
		return ok
	})
	if said {
		l.back = time.Now().Add(l.all)
	}
	if said || time.Now().Before(l.back) {
		return nil, l.err
	}
	return l.Store.Append(ctx, a)
}

// TestPermanentWriteError checks that a run whose events can never be written fails with the reason, at once or as soon
// as its end can be written. The model is not called again, or once more if the store may have been repaired.
func TestPermanentWriteError(t *testing.T) {
	for code, err := range map[footnote.Code]error{
		footnote.TooLarge:           footnote.Errorf(footnote.TooLarge, "This is too large."),
		footnote.StorageUnavailable: footnote.Errorf(footnote.StorageUnavailable, "The store is damaged."),
		footnote.Internal:           errors.New("a bug"),
	} {
		most := 1
		if code == footnote.StorageUnavailable {
			most = 2 // the store may have been repaired
		}
		for _, all := range []time.Duration{0, time.Minute} {
			t.Run(fmt.Sprint(code, ", rejects all for ", all), func(t *testing.T) {
				synctest.Test(t, func(t *testing.T) {
					log := &rejectingLog{Store: sqlitetest.New(t), err: err, all: all}
					asked := 0
					model := modelFunc(func(context.Context, model.Request, model.Live) (model.Reply, error) {
						asked++
						time.Sleep(time.Second) // so that its message is appended separately
						return say("42"), nil
					})
					r := newRig(t, nil, nil, use(model), func(_ *agent.Assistant, o *agent.Options) { o.Log = log })
					ticket := r.submit(agent.Turn{Text: "go", OnDisconnect: agent.Continue})
					reader := r.engine.Subscribe(ticket)
					defer reader.Close()
					var told error
					for told == nil {
						_, told = reader.Next(t.Context())
					}
					synctest.Wait()
					if all > 0 || most > 1 {
						time.Sleep(3 * time.Minute)
					}
					var last footnote.Body
					for ev := range log.Events(t.Context(), ticket.Conversation, 0) {
						last = ev.Body
					}
					failed, ok := last.(footnote.RunFailed)
					if !ok || failed.Code != code || failed.Message != footnote.MessageOf(err) ||
						footnote.CodeOf(told) != code {
						t.Errorf("the reader got %v, and the run ended with %+v", told, last)
					}
					time.Sleep(5 * time.Minute)
					if asked > most {
						t.Errorf("the model was called %d times, want at most %d", asked, most)
					}
				})
			})
		}
	}
}

// TestAppendDuringOutageFailsFast checks that an addition to a run that waits for the store fails quickly, and succeeds
// when it is sent again after the outage.
func TestAppendDuringOutageFailsFast(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		log := &failingLog{Store: sqlitetest.New(t)}
		gate := make(chan struct{})
		model := agenttest.Script(agenttest.Call("a", "run_query", `{}`),
			agenttest.Reply{Wait: gate, Blocks: agenttest.Say("42").Blocks, Stop: model.EndTurn})
		r := newRig(t, model, []tool.Tool{
			rows("run_query"),
		}, func(_ *agent.Assistant, o *agent.Options) { o.Log = log })
		ticket := r.submit(agent.Turn{Text: "go", OnDisconnect: agent.Continue})
		time.Sleep(5 * time.Second)
		log.back.Store(new(time.Now().Add(30 * time.Second)))
		title := func() error {
			begun := time.Now()
			_, _, err := r.engine.Append(t.Context(), alice, ticket.Conversation, footnote.Titled{Title: "Mine"}, nil)
			if took := time.Since(begun); took > 10*time.Second {
				t.Errorf("a title takes %v", took)
			}
			return err
		}
		if err := title(); footnote.CodeOf(err) != footnote.StorageUnavailable {
			t.Errorf("CodeOf(%v), want storage_unavailable", err)
		}
		time.Sleep(35 * time.Second)
		if err := title(); err != nil {
			t.Error(err)
		}
		close(gate)
		if _, last := r.read(ticket); footnote.KindOf(last) != "run_finished" {
			t.Errorf("last = %+v", last)
		}
	})
}

// cut is a common log as one server sees it. unreachable, shared by several servers, cuts all of them off from the log.
type cut struct {
	*mortal
	unreachable *atomic.Bool
	readable    bool // reads work, although writes fail
	frozen      bool // while it is unavailable it does not answer at all
}

func (c *cut) gone(ctx context.Context) error {
	for c.frozen && c.unreachable.Load() {
		select {
		case <-time.After(10 * time.Millisecond):
		case <-ctx.Done():
			return context.Cause(ctx)
		}
	}
	if c.unreachable.Load() {
		return errUnavailable
	}
	return nil
}

func (c *cut) Append(ctx context.Context, a footnote.Append) ([]footnote.Event, error) {
	if err := c.gone(ctx); err != nil {
		return nil, err
	}
	return c.mortal.Append(ctx, a)
}

func (c *cut) Renew(ctx context.Context, stream string, token int64, ttl time.Duration) error {
	if err := c.gone(ctx); err != nil {
		return err
	}
	return c.mortal.Renew(ctx, stream, token, ttl)
}

func (c *cut) Ping(ctx context.Context) error {
	if err := c.gone(ctx); err != nil {
		return err
	}
	return c.mortal.Ping(ctx)
}

func (c *cut) Unfinished(ctx context.Context, now time.Time, limit int) ([]footnote.Stream, error) {
	if err := c.gone(ctx); err != nil && !c.readable {
		return nil, err
	}
	return c.mortal.Unfinished(ctx, now, limit)
}

// TestOutageCausesNoTakeover makes the log unavailable, read-only or frozen for longer than a lease. No other engine
// may take over a run whose engine is alive. If the engine died meanwhile, another one must take the run over.
func TestOutageCausesNoTakeover(t *testing.T) {
	for name, c := range map[string]struct{ died, readable, frozen bool }{
		"alive": {}, "alive, read-only": {readable: true}, "alive, frozen": {frozen: true},
		"died": {died: true}, "died, read-only": {died: true, readable: true},
		"died, frozen": {died: true, frozen: true},
	} {
		died, readable, frozen := c.died, c.readable, c.frozen
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				var unreachable atomic.Bool
				var asked atomic.Int64
				c := &common{Store: sqlitetest.New(t)}
				model := modelFunc(func(ctx context.Context, _ model.Request, _ model.Live) (model.Reply, error) {
					asked.Add(1)
					select {
					case <-time.After(30 * time.Second):
						return say("Done."), nil
					case <-ctx.Done():
						return model.Reply{}, context.Cause(ctx)
					}
				})
				owner := &mortal{common: c}
				id := begun(t, engineOver(t, &cut{owner, &unreachable, readable, frozen}, nil, model), agent.Continue)
				other, said := errorLogger()
				engineOver(t, &cut{&mortal{common: c}, &unreachable, readable, frozen}, other, model)
				time.Sleep(10 * time.Second)
				unreachable.Store(true)
				time.Sleep(15 * time.Second)
				owner.dead.Store(died)
				unreachable.Store(false)
				c.until(t, id, "run_finished")
				_, kinds := c.bodies(t, id)
				taken := strings.Contains(kinds, "run_resumed")
				if taken != died || asked.Load() > map[bool]int64{false: 1, true: 2}[died] {
					t.Errorf("taken over: %t; the model was asked %d times: %s", taken, asked.Load(), kinds)
				}
				if said.Len() > 0 {
					t.Error(said)
				}
			})
		})
	}
}

// sluggish is a common log with slow calls.
type sluggish struct {
	*mortal
	takes time.Duration
}

func (l *sluggish) Renew(ctx context.Context, stream string, token int64, ttl time.Duration) error {
	time.Sleep(l.takes)
	return l.mortal.Renew(ctx, stream, token, ttl)
}

func (l *sluggish) Ping(ctx context.Context) error {
	time.Sleep(l.takes)
	return l.mortal.Ping(ctx)
}

func (l *sluggish) Unfinished(ctx context.Context, now time.Time, limit int) ([]footnote.Stream, error) {
	time.Sleep(l.takes)
	return l.mortal.Unfinished(ctx, now, limit)
}

// TestSlowStoreIsNotAnOutage checks that with a slow store, the runs of a dead engine are taken over, and those of a
// live engine are not.
func TestSlowStoreIsNotAnOutage(t *testing.T) {
	for _, takes := range []time.Duration{time.Second, 2500 * time.Millisecond, 4 * time.Second} {
		for _, died := range []bool{false, true} {
			t.Run(fmt.Sprintf("%s, died: %t", takes, died), func(t *testing.T) {
				synctest.Test(t, func(t *testing.T) {
					c := &common{Store: sqlitetest.New(t)}
					var asked atomic.Int64
					model := modelFunc(func(ctx context.Context, _ model.Request, _ model.Live) (model.Reply, error) {
						asked.Add(1)
						select {
						case <-time.After(2 * time.Minute):
							return say("Done."), nil
						case <-ctx.Done():
							return model.Reply{}, context.Cause(ctx)
						}
					})
					owner := &mortal{common: c}
					first := engineOver(t, &sluggish{owner, takes}, nil, model)
					var ids []string
					for range 3 {
						ids = append(ids, begun(t, first, agent.Continue))
					}
					engineOver(t, &sluggish{&mortal{common: c}, takes}, nil, model)
					time.Sleep(10 * time.Second)
					owner.dead.Store(died)
					time.Sleep(4 * time.Minute)
					for _, id := range ids {
						_, kinds := c.bodies(t, id)
						if !strings.Contains(kinds, "run_finished") || strings.Contains(kinds, "run_resumed") != died {
							t.Errorf("the events are %s", kinds)
						}
					}
					if want := map[bool]int64{false: 3, true: 6}[died]; asked.Load() != want {
						t.Errorf("the model was called %d times, want %d", asked.Load(), want)
					}
				})
			})
		}
	}
}

// forgetful is a common log that renews leases without waiting for its disk, like that of
// Postgres: a crash undoes the newest renewals.
type forgetful struct {
	*mortal
	renewed atomic.Int64 // the token of the newest renewal
}

func (f *forgetful) Renew(ctx context.Context, stream string, token int64, ttl time.Duration) error {
	f.renewed.Store(token)
	return f.mortal.Renew(ctx, stream, token, ttl)
}

// crash ends the lease of a stream, like a missed renewal.
func (f *forgetful) crash(t *testing.T, stream string) {
	t.Helper()
	if err := f.mortal.Renew(t.Context(), stream, f.renewed.Load(), time.Microsecond); err != nil {
		t.Fatal(err)
	}
}

// TestUndoneRenewal undoes the renewal of a lease, as a crash of the store can. The run must continue, unless another
// engine has taken it over.
func TestUndoneRenewal(t *testing.T) {
	for _, taken := range []bool{false, true} {
		synctest.Test(t, func(t *testing.T) {
			log := &forgetful{mortal: &mortal{common: &common{Store: sqlitetest.New(t)}}}
			gate := make(chan struct{})
			model := agenttest.Script(agenttest.Reply{
				Wait:   gate,
				Blocks: agenttest.Say("42").Blocks,
				Stop:   model.EndTurn,
			})
			id := begun(t, engineOver(t, log, nil, model), agent.Continue)
			time.Sleep(10 * time.Second)
			for log.renewed.Store(0); log.renewed.Load() == 0; {
				time.Sleep(time.Millisecond)
			}
			log.crash(t, id)
			time.Sleep(time.Millisecond)
			if taken {
				head, err := log.Get(t.Context(), id)
				if err == nil {
					_, err = log.common.Append(t.Context(), footnote.Append{Stream: id, After: head.Last, Run: head.Run,
						Take:   &footnote.Take{Owner: "other", TTL: time.Hour},
						Bodies: []footnote.Body{footnote.RunResumed{Attempt: 1, Reason: "recovered"}}})
				}
				if err != nil {
					t.Fatal(err)
				}
			}
			close(gate)
			synctest.Wait()
			_, kinds := log.bodies(t, id)
			if finished := strings.Contains(kinds, "run_finished"); finished == taken || len(model.Requests()) != 1 {
				t.Errorf("taken over: %t; the model was asked %d times: %s", taken, len(model.Requests()), kinds)
			}
		})
	}
}

// interposed is a log that calls a function of the test during reads.
type interposed struct {
	*mortal
	get, find func()
}

func (i *interposed) Get(ctx context.Context, id string) (footnote.Stream, error) {
	head, err := i.mortal.Get(ctx, id)
	if i.get != nil && err == nil && head.RunState == "running" {
		i.get()
	}
	return head, err
}

func (i *interposed) Find(ctx context.Context, org, user, kind, clientID string) (footnote.Stream, error) {
	head, err := i.mortal.Find(ctx, org, user, kind, clientID)
	if i.find != nil && kind == "conversation" {
		i.find()
	}
	return head, err
}

// errorLogger returns a logger and the errors that it has logged.
func errorLogger() (*slog.Logger, *strings.Builder) {
	var said strings.Builder
	return slog.New(slog.NewTextHandler(&said, &slog.HandlerOptions{Level: slog.LevelError})), &said
}

// TestRunEndsDuringRecovery ends a run in one engine while another is about to close it. The run must have one end, and
// no error may be logged.
func TestRunEndsDuringRecovery(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := &common{Store: sqlitetest.New(t)}
		owner, m := replica(t, c, agenttest.Script(agenttest.Reply{Hang: true}))
		id := begun(t, owner, agent.Cancel)
		synctest.Wait()
		m.dead.Store(true)
		ended := false
		logger, said := errorLogger()
		engineOver(t, &interposed{mortal: &mortal{common: c}, get: func() {
			if ended {
				return
			}
			ended = true
			head, err := c.Get(t.Context(), id)
			if err != nil {
				t.Fatal(err)
			}
			if _, err = c.Append(t.Context(),
				footnote.Append{Stream: id, After: head.Last, Run: head.Run, Release: true,
					Take:   &footnote.Take{Owner: "quicker", TTL: time.Minute},
					Bodies: []footnote.Body{footnote.RunStopped{By: "user"}}}); err != nil {
				t.Fatal(err)
			}
		}}, logger, agenttest.Script())
		time.Sleep(30 * time.Second)
		if _, kinds := c.bodies(t, id); !ended || strings.Count(kinds, "run_stopped") != 1 || said.Len() > 0 {
			t.Errorf("ended %t, %s\n%s", ended, kinds, said)
		}
	})
}

// TestTwoEnginesOpenSameClientID opens a conversation with the same ClientID on two engines at once. Only one may open
// it; the other must return Conflict without calling its model or logging an error.
func TestTwoEnginesOpenSameClientID(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := &common{Store: sqlitetest.New(t)}
		question := agent.Turn{Text: "go", Principal: alice, ClientID: "chat", OnDisconnect: agent.Continue}
		quicker, _ := replica(t, c, agenttest.Script(agenttest.Reply{Hang: true}))
		looks := 0
		logger, said := errorLogger()
		model := agenttest.Script()
		slower := engineOver(t, &interposed{mortal: &mortal{common: c}, find: func() {
			if looks++; looks != 2 { // the last look before it opens one of its own
				return
			}
			ticket, err := quicker.Submit(t.Context(), question)
			if err != nil {
				t.Error(err)
				return
			}
			quicker.Subscribe(ticket).Close()
			synctest.Wait()
		}}, logger, model)
		if _, err := slower.Submit(t.Context(), question); footnote.CodeOf(err) != footnote.Conflict {
			t.Errorf("CodeOf(%v), want conflict", err)
		}
		synctest.Wait()
		if len(model.Requests()) != 0 || said.Len() > 0 || looks < 2 {
			t.Errorf("the model of the slower engine was called %d times\n%s", len(model.Requests()), said)
		}
	})
}

// outageAt is a budget and a tool. An outage begins at the nth use of one of them.
type outageAt struct {
	log   *failingLog
	where string // "reserve" or "tool"
	n, at int
	price int64
	waits time.Duration // delay of that use before the outage
}

func (h *outageAt) use(where string) error {
	if err := h.log.unreachable(); err != nil {
		return err
	}
	if where == h.where {
		if h.n++; h.n == h.at {
			time.Sleep(h.waits)
			h.log.startOutage()
			return errUnavailable
		}
	}
	return nil
}

func (*outageAt) Admit(context.Context, footnote.Principal, string) (func(), error) {
	return func() {}, nil
}
func (*outageAt) PerRun(footnote.Principal) int64 { return 0 }
func (h *outageAt) ToolPrice(string) int64        { return h.price }
func (*outageAt) Weight(string) int64             { return 1 }

func (h *outageAt) Reserve(_ context.Context, _ footnote.Principal, c agent.Spending) (agent.Reservation, error) {
	return held{&budget{}, c.Max}, h.use("reserve")
}

// TestOutageDuringReservation starts an outage while a run reserves money or a tool reads. The run must wait as it does
// for a write: readers get an error after two minutes, and the run ends with its answer once the store is back.
func TestOutageDuringReservation(t *testing.T) {
	for _, lasts := range []time.Duration{time.Minute, 3 * time.Minute, 10 * time.Minute} {
		for name, h := range map[string]outageAt{
			"the first step": {where: "reserve", at: 1}, "the second step": {where: "reserve", at: 2},
			"a tool's price": {where: "reserve", at: 2, price: 5}, "a tool that reads": {where: "tool", at: 1},
			"a wait for money": {where: "reserve", at: 1, waits: 2 * time.Minute},
		} {
			t.Run(fmt.Sprintf("%s, %s", name, lasts), func(t *testing.T) {
				synctest.Test(t, func(t *testing.T) {
					h.log = &failingLog{Store: sqlitetest.New(t), lasts: lasts}
					told := readDuringOutage(t, &h)
					if most := min(lasts, 2*time.Minute); told < h.waits+time.Minute || told > h.waits+most {
						t.Errorf("the reader got an error or the end after %v", told)
					}
				})
			})
		}
	}
}

// answerless is a budget that makes some reservations whose responses are lost in an outage.
type answerless struct {
	outageAt
	asked []string // the ids of all attempts
}

func (b *answerless) Reserve(_ context.Context, _ footnote.Principal, c agent.Spending) (agent.Reservation, error) {
	b.asked = append(b.asked, c.ID)
	if n := len(b.asked); n > 1 && n < 5 {
		return nil, errUnavailable
	}
	return held{&budget{}, c.Max}, nil
}

// TestOutageDuringSummaryReservation checks that all attempts to reserve for one summary use the same reservation id.
// Otherwise a lost attempt would leave a reservation that is charged when it expires.
func TestOutageDuringSummaryReservation(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		log, budget := sqlitetest.New(t), &answerless{}
		longHistory(t, log, false)
		r := &rig{t: t, hub: hub.New()}
		r.start([]tool.Tool{rows("run_query")}, func(a *agent.Assistant, o *agent.Options) {
			a.Model, a.Summaries, a.Limits.MicroUSD, a.Limits.History = &perMessage{}, true, 300_000, 4
			o.Log, o.Budget = log, budget
		})
		defer r.engine.Drain(context.Background())
		if err := r.engine.Recover(t.Context()); err != nil {
			t.Fatal(err)
		}
		time.Sleep(time.Minute)
		synctest.Wait()
		attempts := map[string]int{}
		for _, id := range budget.asked {
			attempts[id]++
		}
		run := attempts["res_run_x"]
		if len(budget.asked) < 5 || run == 0 || len(attempts) != 2 {
			t.Errorf("attempts by reservation: %v, want those of the run and of one summary", attempts)
		}
	})
}

// callsOnce is a model that calls a tool and then answers.
func callsOnce(tool string) model.Model {
	return modelFunc(func(_ context.Context, req model.Request, _ model.Live) (model.Reply, error) {
		if len(req.Messages) > 1 {
			return say("It is 42."), nil
		}
		return model.Reply{Message: footnote.AssistantMessage{
			Blocks: agenttest.Call("a", tool, `{}`).Blocks, StopReason: model.ToolUse,
		}}, nil
	})
}

// readDuringOutage runs a question to its answer. It returns after how many full minutes its reader got an error or the
// end of the run.
func readDuringOutage(t *testing.T, h *outageAt) (after time.Duration) {
	read := func(context.Context, tool.Call) (tool.Output, error) {
		return tool.Output{Content: "42"}, h.use("tool")
	}
	look := agenttest.NewTool(tool.Spec{Name: "look", ReadOnly: true}, read)
	r := newRig(t, nil, []tool.Tool{look}, use(callsOnce("look")), func(_ *agent.Assistant, o *agent.Options) {
		o.Log, o.Budget = h.log, h
	})
	ticket := r.submit(agent.Turn{Text: "go", OnDisconnect: agent.Continue})
	begun := time.Now()
	reader := r.engine.Subscribe(ticket)
	defer reader.Close()
	for over := false; !over; {
		batch, err := reader.Next(t.Context())
		if over = err != nil; over && footnote.CodeOf(err) != footnote.StorageUnavailable {
			t.Errorf("CodeOf(%v), want storage_unavailable", err)
		}
		for _, entry := range batch {
			over = over || entry.Event != nil && footnote.Terminal(entry.Event.Body)
		}
	}
	after = time.Since(begun).Truncate(time.Minute)
	time.Sleep(15 * time.Minute)
	var last footnote.Body
	for ev := range h.log.Store.Events(t.Context(), ticket.Conversation, 0) {
		if last != nil && footnote.Terminal(last) {
			t.Errorf("an event follows the end %T %+v", last, last)
		}
		last = ev.Body
	}
	if end, ok := last.(footnote.RunFinished); !ok || end.Reason != model.EndTurn {
		t.Errorf("the run ends with %T %+v", last, last)
	}
	return after
}

// failsOnce is a Checked tool whose first check starts an outage.
type failsOnce struct {
	*pen
	log  *failingLog
	left bool
}

func (f *failsOnce) Check(ctx context.Context, c tool.Call, before []tool.Call) (string, error) {
	if !f.left {
		f.left = true
		f.log.startOutage()
	}
	if err := f.log.unreachable(); err != nil {
		return "", err
	}
	return f.pen.Check(ctx, c, before)
}

// TestOutageDuringCheck checks that the check of a call waits for the store, even longer than the time limit of tools.
func TestOutageDuringCheck(t *testing.T) {
	for _, lasts := range []time.Duration{time.Minute, 3 * time.Minute} {
		synctest.Test(t, func(t *testing.T) {
			log := &failingLog{Store: sqlitetest.New(t), lasts: lasts}
			r := newRig(t, nil, []tool.Tool{&failsOnce{pen: &pen{}, log: log}}, use(callsOnce("draw")),
				func(_ *agent.Assistant, o *agent.Options) { o.Log = log })
			ticket := r.submit(agent.Turn{Text: "go", OnDisconnect: agent.Continue})
			time.Sleep(lasts + 30*time.Second)
			r.submit(agent.Turn{
				Conversation: ticket.Conversation,
				Answers:      []tool.Answer{{CallID: "a", Content: "ok"}},
			})
			synctest.Wait()
			var last footnote.Body
			for ev := range log.Store.Events(t.Context(), ticket.Conversation, 0) {
				last = ev.Body
			}
			if _, ok := last.(footnote.RunFinished); !ok {
				t.Errorf("unavailable for %v: the run ends with %T %+v", lasts, last, last)
			}
		})
	}
}

// TestOutageDuringPromptRead checks that a run that cannot read its frozen prompt waits for the store and then
// continues.
func TestOutageDuringPromptRead(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		log := &blind{failingLog: &failingLog{Store: sqlitetest.New(t), lasts: 3 * time.Minute}}
		model := agenttest.Script(agenttest.Say("one"), agenttest.Say("two"))
		r := newRig(t, model, nil,
			func(_ *agent.Assistant, o *agent.Options) { o.Log = log })
		first := r.submit(agent.Turn{Text: "go", OnDisconnect: agent.Continue})
		r.read(first)
		synctest.Wait()
		log.armed = true
		ticket := r.submit(agent.Turn{Text: "again", Conversation: first.Conversation, OnDisconnect: agent.Continue})
		reader := r.engine.Subscribe(ticket)
		ctx, cancel := context.WithTimeout(t.Context(), 5*time.Minute)
		defer cancel()
		var err error
		for err == nil {
			_, err = reader.Next(ctx)
		}
		reader.Close()
		time.Sleep(5 * time.Minute)
		var last footnote.Body
		for ev := range log.Store.Events(t.Context(), ticket.Conversation, 0) {
			last = ev.Body
		}
		if _, ok := last.(footnote.RunFinished); !ok || len(model.Requests()) != 2 ||
			footnote.CodeOf(err) != footnote.StorageUnavailable {
			t.Errorf("the reader got %v, and the run ends with %T %+v", err, last, last)
		}
	})
}

// blind is a log whose outage begins when a blob is read.
type blind struct {
	*failingLog
	armed bool
}

func (b *blind) Blob(ctx context.Context, stream string, d footnote.Digest) ([]byte, error) {
	if b.armed {
		b.armed = false
		time.Sleep(time.Second) // the question is stored meanwhile
		b.startOutage()
	}
	if err := b.unreachable(); err != nil {
		return nil, err
	}
	return b.failingLog.Blob(ctx, stream, d)
}
