package e2e

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/footnotehq/footnote/internal/pgtest"
	"github.com/footnotehq/footnote/internal/redistest"
	"github.com/footnotehq/footnote/model/modeltest"
)

// The answer of the outage tests is outageText, repeated once per delta. It takes five seconds, so that the store fails
// while the model is still writing.
const (
	outageText   = "Word. "
	outageDeltas = 100
	outageGap    = 50 * time.Millisecond // between two deltas
)

// slowModel is a model that calls a query and then takes some seconds to write its answer.
type slowModel struct{ requests atomic.Int64 }

func (s *slowModel) rule(r modeltest.Request) modeltest.Reply {
	if !r.HasTool("run_query") {
		return modeltest.Say("A title")
	}
	s.requests.Add(1)
	if len(r.Results()) == 0 {
		return modeltest.Blocks(modeltest.TextBlock("Let me see."), modeltest.CallBlock("run_query", callAll))
	}
	return modeltest.Blocks(modeltest.Block{
		Type: "text", Text: outageText, Repeat: true, Deltas: outageDeltas, Gap: outageGap,
	})
}

// inFlight holds the questions that are being answered when the fault happens.
type inFlight struct {
	t       *testing.T
	model   *slowModel
	fake    *modeltest.Server
	servers []*process
	ids     []string
	readers []<-chan followed
}

// startRuns asks FOOTNOTE_OUTAGE_RUNS questions and waits until the model is writing the answers to all of them.
func startRuns(t *testing.T, model *slowModel, fake *modeltest.Server, servers ...*process) *inFlight {
	t.Helper()
	ids := make([]string, number(t, "FOOTNOTE_OUTAGE_RUNS", 6))
	f := &inFlight{t: t, model: model, fake: fake, servers: servers, ids: ids}
	var asked sync.WaitGroup
	for i := range f.ids {
		asked.Go(func() { f.ids[i] = servers[i%len(servers)].opened(t, "How many orders are there?") })
	}
	asked.Wait()
	for i, id := range f.ids {
		f.readers = append(f.readers, servers[i%len(servers)].follow(t.Context(), t, id))
	}
	eventually(t, "the model is answering every question", func() bool {
		return model.requests.Load() >= int64(2*len(f.ids)) && fake.Metrics().Deltas > int64(10*len(f.ids))
	})
	return f
}

// check waits until all runs have ended. Each run must be complete, each reader must have received every event once,
// and the model must have been called exactly as often as without the outage.
func (f *inFlight) check() {
	f.t.Helper()
	complete, unbroken := 0, 0
	p := f.servers[len(f.servers)-1]
	for i, id := range f.ids {
		events := p.ended(f.t, id)
		answer := strings.Repeat(outageText, outageDeltas)
		answered := has(events, "run_finished", "") && has(events, "answered", strings.TrimSpace(answer))
		if answered && !has(events, "run_stopped", "") {
			complete++
		} else {
			f.t.Errorf("a run ended with %.300s", events[len(events)-1].line)
		}
		got := <-f.readers[i]
		for n, seq := range got.seqs {
			if seq != int64(n+1) {
				f.t.Errorf("a reader received the events %v", got.seqs)
				break
			}
		}
		if len(got.seqs) > slices.IndexFunc(events, terminal) {
			unbroken++
		}
	}
	requests, steps := f.model.requests.Load(), int64(2*len(f.ids))
	f.t.Logf("%d of %d runs complete; %d readers saw the whole run over one stream; %d model calls for %d steps",
		complete, len(f.ids), unbroken, requests, steps)
	if requests != steps {
		f.t.Errorf("%d model calls for %d steps", requests, steps)
	}
}

// TestOutageOfPostgres checks that every answer is completed, and no model call repeated, if the database fails for
// some seconds while the answers are being written. FOOTNOTE_OUTAGE is the length of the outage in seconds;
// with it, each fault also meets a single server.
func TestOutageOfPostgres(t *testing.T) {
	t.Parallel()
	length := time.Duration(number(t, "FOOTNOTE_OUTAGE", 2)) * time.Second
	outage := func(end func(testing.TB)) func(*testing.T, *pgtest.Server) {
		return func(t *testing.T, pg *pgtest.Server) {
			end(t)
			pause(t.Context(), length)
			pg.Start(t)
		}
	}
	for name, fault := range map[string]func(*testing.T, *pgtest.Server){
		"restart fast":      func(t *testing.T, pg *pgtest.Server) { pg.Stop(t); pg.Start(t) },
		"restart immediate": func(t *testing.T, pg *pgtest.Server) { pg.Crash(t); pg.Start(t) },
		"killed":            func(t *testing.T, pg *pgtest.Server) { outage(pg.Kill)(t, pg) },
		"twice": func(t *testing.T, pg *pgtest.Server) {
			outage(pg.Kill)(t, pg)
			pause(t.Context(), time.Second)
			outage(pg.Crash)(t, pg)
		},
		"read-only": func(t *testing.T, pg *pgtest.Server) {
			pg.ReadOnly(t, true)
			pause(t.Context(), max(length, 8*time.Second)) // longer than a lease
			pg.ReadOnly(t, false)
		},
		"frozen": func(t *testing.T, pg *pgtest.Server) {
			pg.Freeze(t)
			defer pg.Thaw(t)
			pause(t.Context(), max(length, 12*time.Second))
		},
	} {
		least := 2
		if os.Getenv("FOOTNOTE_OUTAGE") != "" || name == "killed" || name == "read-only" {
			least = 1
		}
		for servers := least; servers <= 2; servers++ {
			t.Run(fmt.Sprintf("%s, servers %d", name, servers), func(t *testing.T) {
				pg := pgtest.New(t)
				var model slowModel
				fake, settings := imitate(t, model.rule)
				settings = append(settings, "FOOTNOTE_STORE="+pg.Database(t))
				all := make([]*process, servers)
				for i := range all {
					all[i] = serve(t, settings...)
				}
				f := startRuns(t, &model, fake, all...)
				fault(t, pg)
				f.check()
				checkSound(t, append(settings, "FOOTNOTE_DATA="+t.TempDir())...)
			})
		}
	}
}

// TestReadOnlyPostgres checks that while the database is read-only, running servers, a server that starts then, and the
// commands that only read can still read conversations. A write is refused with a clear message. Writes work again,
// without a restart, once the database is writable.
func TestReadOnlyPostgres(t *testing.T) {
	t.Parallel()
	const words = "The store is read-only"
	pg := pgtest.New(t)
	_, settings := imitate(t, auto(t))
	settings = append(settings, "FOOTNOTE_STORE="+pg.Database(t), "FOOTNOTE_SOURCES=shop="+shopDB)
	p := serve(t, settings...)
	first := p.answered(t, question{text: "How many orders are there?", conversation: "kept"}).conversation
	got, ended := p.lines(t.Context(), t, first)
	pg.ReadOnly(t, true)
	servers := []*process{p, serve(t, append(settings, "FOOTNOTE_DATA="+t.TempDir())...)}
	for _, p := range servers {
		for _, path := range []string{
			"conversations", "conversations/" + first, "conversations/" + first + "/events",
			"results/" + first + ".r1", "results/" + first + ".r1?format=csv", "usage",
		} {
			if status, body := p.get(t, "/api/"+path, ""); status != 200 {
				t.Errorf("%s: %d %s", path, status, body)
			}
		}
		r := p.ask(t, question{text: "How many?"})
		if r.status != 503 || r.code != "storage_unavailable" || r.header.Get("Retry-After") == "" {
			t.Errorf("a question gets %d %q, Retry-After %q", r.status, r.code, r.header.Get("Retry-After"))
		}
		eventually(t, "readyz reports it", func() bool {
			status, body := p.get(t, "/readyz", "")
			return status == 503 && strings.Contains(body, words)
		})
		if status, body := p.sendJSON(t, "/api/conversations", map[string]any{"text": "How many?"}); status != 503 ||
			!strings.Contains(body, words) {
			t.Errorf("a question gets %d %s", status, body)
		}
	}
	outside := append(settings, "FOOTNOTE_DATA="+t.TempDir())
	if o := command(t, outside, "", "export", "all.jsonl"); o.code != 0 {
		t.Errorf("export: %d %s", o.code, o.stderr)
	}
	if o := command(t, outside, "", "migrate"); o.code != 0 {
		t.Errorf("migrate: %d %s", o.code, o.stderr)
	}
	checkSound(t, outside...)
	select {
	case <-ended:
		t.Errorf("the stream has ended: %s", got())
	default:
	}
	pg.ReadOnly(t, false)
	for i, p := range servers {
		text := fmt.Sprint("fake: say Welcome back ", i, ".")
		eventually(t, "a question is answered", func() bool {
			return p.ask(t, question{text: text, conversation: "kept"}).status == 200
		})
		eventually(t, "readyz says 200", func() bool { status, _ := p.get(t, "/readyz", ""); return status == 200 })
		eventually(t, "the stream shows it", func() bool {
			return strings.Contains(got(), fmt.Sprint("Welcome back ", i))
		})
	}
	checkSound(t, outside...)
}

// TestOutageOfRedis checks that runs complete if Redis is killed and restarted meanwhile.
func TestOutageOfRedis(t *testing.T) {
	t.Parallel()
	redis := redistest.New(t)
	var model slowModel
	fake, settings := imitate(t, model.rule)
	settings = append(settings, "FOOTNOTE_STORE="+pgtest.Database(t), "FOOTNOTE_REDIS="+redis.URL())
	f := startRuns(t, &model, fake, serve(t, settings...), serve(t, settings...))
	redis.Kill(t)
	pause(t.Context(), time.Second)
	redis.Start(t)
	f.check()
}

// TestOutageWhileParked checks that a parked run survives an outage of the database. An answer to its call is refused
// during the outage, and accepted when it is sent again afterwards.
func TestOutageWhileParked(t *testing.T) {
	t.Parallel()
	pg := pgtest.New(t)
	_, settings := imitate(t, func(r modeltest.Request) modeltest.Reply {
		if len(r.Results()) > 0 || !r.HasTool("transform_data") {
			return modeltest.Say("The browser said so.")
		}
		return modeltest.Blocks(modeltest.CallBlock("run_query", `{"thought":"I need it.","sql":"SELECT 42"}`))
	})
	p := serve(t, append(settings, "FOOTNOTE_STORE="+pg.Database(t))...)
	id := p.openedWith(t, map[string]any{"text": "How many?", "assistant": "explore"})
	eventually(t, "the call waits", func() bool { return len(waiting(t, p.log(t, id, ""))) == 1 })
	call := waiting(t, p.log(t, id, ""))[0]
	answer := map[string]any{"answers": []any{map[string]any{"call_id": call, "content": "forty-two"}}}
	pg.Kill(t)
	status, body := p.sendJSON(t, "/api/conversations/"+id+"/turns", answer)
	if status != 503 || !strings.Contains(body, "storage_unavailable") {
		t.Errorf("answer during the outage: %d %s", status, body)
	}
	pg.Start(t)
	eventually(t, "the answer is accepted", func() bool {
		status, _ := p.sendJSON(t, "/api/conversations/"+id+"/turns", answer)
		return status == 202
	})
	if events := p.ended(t, id); !has(events, "run_finished", "") {
		t.Errorf("the run ended with %s", events[len(events)-1].line)
	}
}

// TestOutageOfDisk checks that every answer is completed if the disk is full for some seconds.
func TestOutageOfDisk(t *testing.T) {
	t.Parallel()
	length := time.Duration(number(t, "FOOTNOTE_OUTAGE", 2)) * time.Second
	disk := newSmallDisk(t)
	var model slowModel
	fake, settings := imitate(t, model.rule)
	settings = append(settings, "FOOTNOTE_DATA="+filepath.Join(disk.dir, "data"))
	p := serve(t, settings...)
	f := startRuns(t, &model, fake, p)
	for range 2 {
		disk.fill(t, p)
		pause(t.Context(), length)
		disk.free(t, p)
		pause(t.Context(), time.Second)
	}
	f.check()
}

// TestOutageAtAnyMoment restarts the database at random moments of many short runs. Every accepted question must be
// answered, and every other one refused with status 503.
func TestOutageAtAnyMoment(t *testing.T) {
	t.Parallel()
	pg := pgtest.New(t)
	_, settings := imitate(t, func(modeltest.Request) modeltest.Reply { return modeltest.Say("At once.") })
	p := serve(t, append(settings, "FOOTNOTE_STORE="+pg.Database(t))...)
	var accepted []string
	var mu sync.Mutex // guards accepted
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	var asking sync.WaitGroup
	for range 4 {
		asking.Go(func() {
			for ctx.Err() == nil {
				status, body, err := p.exchange(ctx, "/api/conversations", map[string]any{"text": "How many?"})
				switch {
				case err != nil: // the end of the test
				case status == 202:
					mu.Lock()
					accepted = append(accepted, conversationOf(body))
					mu.Unlock()
				case status != 503:
					t.Errorf("request during the outage: %d %s", status, body)
				}
			}
		})
	}
	for range number(t, "FOOTNOTE_OUTAGE_RESTARTS", 3) {
		pause(ctx, 300*time.Millisecond)
		pg.Crash(t)
		pg.Start(t)
	}
	pause(ctx, 300*time.Millisecond)
	cancel()
	asking.Wait()
	complete := 0
	for _, id := range accepted {
		if events := p.ended(t, id); has(events, "run_finished", "") {
			complete++
		} else {
			t.Errorf("a run ended with %.300s", events[len(events)-1].line)
		}
	}
	t.Logf("%d of %d accepted questions are complete", complete, len(accepted))
}
