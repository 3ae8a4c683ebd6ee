package main

import (
	"context"
	"database/sql"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"time"

	_ "modernc.org/sqlite" // the bare driver that queries and appends are compared with

	"github.com/footnotehq/footnote"
	"github.com/footnotehq/footnote/store"
	"github.com/footnotehq/footnote/store/sqlite"
)

// paced is an ordinary answer: 3 s of text, a piece every 20 ms.
var paced = order{Kind: "text", Deltas: 150, GapMS: 20}

// streams measures time to the first piece, lateness and CPU, by concurrency.
func streams(ctx context.Context, r *rig) error {
	broken := int64(0)
	var why string
	run := func(t target, n, history int) (*sample, float64) {
		before := cpu(t.pid)
		s := load(ctx, t, n, r.window, paced, history)
		broken += s.broken.Load()
		if p := s.reason.Load(); p != nil && why == "" {
			why = t.name + ": " + *p
		}
		return s, (cpu(t.pid) - before) * 1000 / float64(max(1, s.deltas.Load()))
	}
	for _, n := range []int{1, 50, 200, 500} {
		var first, late50, late99, cost [2][]float64
		for range r.rounds {
			for i, t := range []target{r.proxy, r.footnote} {
				s, perDelta := run(t, n, 0)
				first[i] = append(first[i], median(s.first))
				late50[i], late99[i] = append(late50[i], median(s.late)), append(late99[i], quantile(s.late, 0.99))
				cost[i] = append(cost[i], perDelta)
			}
		}
		r.table.compare(fmt.Sprintf("time to first delta, p50, %d streams", n), "ms", first[0], first[1], 1.3, 1.0)
		if n == 500 {
			r.table.compare("lateness of a delta, 500 streams, p50", "ms", late50[0], late50[1], 1.15, 1.0)
			r.table.compare("lateness of a delta, 500 streams, p99", "ms", late99[0], late99[1], 1.5, 1.1)
			r.table.compare("CPU per delta, 500 streams", "µs", cost[0], cost[1], 1.25, 0.95)
		}
	}
	direct := target{"direct", r.fake.url, "/v1/messages", messagesBody, r.fake.cmd.Process.Pid}
	var first [2][]float64
	for range r.rounds {
		for i, t := range []target{direct, r.footnote} {
			s, _ := run(t, 10, 200<<10)
			first[i] = append(first[i], median(s.first))
		}
	}
	r.table.compare("time to first delta, 200 KB of history, over no proxy", "ms", first[0], first[1], 2.0, 1.4)
	r.table.absolute("streams with a lost, doubled or reordered delta", "", float64(broken), 0, 0)
	if why != "" {
		fmt.Println("first broken stream:", why)
	}
	return ctx.Err()
}

// saturated measures deltas for each second of CPU when nothing waits.
func saturated(ctx context.Context, r *rig) error {
	flood := order{Kind: "text", Deltas: r.flood}
	var rate [2][]float64
	for range r.rounds {
		for i, t := range []target{r.proxy, r.footnote} {
			before := cpu(t.pid)
			s := &sample{}
			var wg sync.WaitGroup
			for range 20 {
				wg.Go(func() { s.stream(ctx, t, flood, 0) })
			}
			wg.Wait()
			if n := s.broken.Load(); n > 0 {
				return fmt.Errorf("%s: %d broken streams: %s", t.name, n, *s.reason.Load())
			}
			rate[i] = append(rate[i], float64(s.deltas.Load())/max(0.001, (cpu(t.pid)-before)/1000))
		}
	}
	r.table.atLeast("deltas for each second of CPU, saturated", "1/s", rate[0], rate[1], 0.6, 1.0)
	return nil
}

// memory measures what an open, silent stream costs.
func memory(ctx context.Context, r *rig) error {
	// New processes: what a heap keeps from earlier loads would hide the cost.
	proxy, err := r.role(ctx, "proxy", r.fake.url)
	if err != nil {
		return err
	}
	server, err := r.serve(ctx, filepath.Join(r.dir, "idle"))
	if err != nil {
		return err
	}
	fresh := [2]target{r.proxy, r.footnote}
	fresh[0].url, fresh[0].pid = proxy.url, proxy.cmd.Process.Pid
	fresh[1].url, fresh[1].pid = server.url, server.cmd.Process.Pid
	var kb [2][]float64
	for i, t := range fresh {
		cost, err := idleStreams(ctx, t, r.idle)
		if err != nil {
			return err
		}
		kb[i] = append(kb[i], cost)
	}
	r.table.compare(fmt.Sprintf("memory for each open stream, %d streams", r.idle), "KB", kb[0], kb[1], 1.25, 0.5)
	return nil
}

func idleStreams(ctx context.Context, t target, n int) (float64, error) {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	before := resident(t.pid)
	var wg sync.WaitGroup
	failed := make(chan error, n)
	slots := make(chan struct{}, 50)
	for range n {
		slots <- struct{}{}
		opened := make(chan struct{})
		wg.Go(func() {
			res, err := post(ctx, t, t.body(order{Kind: "hold"}, 0))
			if err != nil {
				failed <- err
				close(opened)
				return
			}
			defer res.Body.Close()
			buf := make([]byte, 4096)
			_, err = res.Body.Read(buf)
			close(opened)
			if err == nil {
				<-ctx.Done()
			}
		})
		go func() { <-opened; <-slots }()
	}
	for range cap(slots) {
		slots <- struct{}{}
	}
	pause(ctx, 2*time.Second)
	cost := (resident(t.pid) - before) / float64(n)
	cancel()
	wg.Wait()
	select {
	case err := <-failed:
		return 0, err
	default:
		return cost, nil
	}
}

// toolSteps measures from the end of a model's tool call to the next request.
func toolSteps(ctx context.Context, r *rig) error {
	var steps [2][]float64
	for i, t := range []target{r.floor, r.footnote} {
		for n := range r.tools {
			o := order{Kind: "tool", ID: fmt.Sprintf("%s-%d", t.name, n)}
			res, err := post(ctx, t, t.body(o, 0))
			if err != nil {
				return err
			}
			drain(res)
		}
		res, err := http.Get(r.fake.url + "/steps")
		if err != nil {
			return err
		}
		err = json.NewDecoder(res.Body).Decode(&steps[i])
		res.Body.Close()
		if err != nil {
			return err
		}
		if len(steps[i]) < r.tools {
			return fmt.Errorf("%s made %d of %d tool steps", t.name, len(steps[i]), r.tools)
		}
	}
	r.table.compare("tool loop turnaround, a real query, all events stored", "ms", steps[0], steps[1], 1.5, 1.1)
	return nil
}

func drain(res *http.Response) {
	buf := make([]byte, 4096)
	for {
		if _, err := res.Body.Read(buf); err != nil {
			res.Body.Close()
			return
		}
	}
}

// appends compares group-committed appends with raw inserts of the same
// durability on the same disk: one row and one fsync at a time.
func appends(ctx context.Context, r *rig) error {
	raw, err := rawInserts(ctx, filepath.Join(r.dir, "raw.db"), max(200, r.plan.appends/20))
	if err != nil {
		return err
	}
	log, err := sqlite.Open(ctx, filepath.Join(r.dir, "append", "footnote.db"), sqlite.Options{})
	if err != nil {
		return err
	}
	defer log.Close()
	const conversations = 64
	begun := time.Now()
	var wg sync.WaitGroup
	failed := make(chan error, conversations)
	each := r.plan.appends / conversations
	for c := range conversations {
		wg.Go(func() { failed <- appendMany(ctx, log, "conv_"+strconv.Itoa(c), each) })
	}
	wg.Wait()
	for range conversations {
		if err := <-failed; err != nil {
			return err
		}
	}
	ours := float64(each*conversations) / time.Since(begun).Seconds()
	r.table.atLeast("events appended, fsync first, 64 conversations", "1/s", []float64{raw}, []float64{ours}, 0.5, 0.8)
	return nil
}

func rawInserts(ctx context.Context, path string, n int) (float64, error) {
	db, err := sql.Open("sqlite", "file:"+path+"?_pragma=journal_mode(wal)&_pragma=synchronous(full)&_txlock=immediate")
	if err != nil {
		return 0, err
	}
	defer db.Close()
	db.SetMaxOpenConns(1)
	if _, err := db.ExecContext(ctx, "CREATE TABLE events (stream TEXT, seq INTEGER, body BLOB, PRIMARY KEY (stream, seq))"); err != nil {
		return 0, err
	}
	body := []byte(strings.Repeat("x", 330))
	begun := time.Now()
	for i := range n {
		if _, err := db.ExecContext(ctx, "INSERT INTO events VALUES (?, ?, ?)", "s", i, body); err != nil {
			return 0, err
		}
	}
	return float64(n) / time.Since(begun).Seconds(), nil
}

func appendMany(ctx context.Context, log store.Store, id string, n int) error {
	if err := log.Create(ctx, store.Stream{ID: id, Kind: "conversation", Org: "bench", User: "bench"}); err != nil {
		return err
	}
	body := footnote.UserMessage{Text: strings.Repeat("x", 300)}
	for i := range n {
		if _, err := log.Append(ctx, store.Append{Stream: id, After: int64(i), Bodies: []footnote.Body{body}}); err != nil {
			return err
		}
	}
	return nil
}

// starts measures from executing the server to its first answer.
func starts(ctx context.Context, r *rig) error {
	var ms []float64
	for n := range r.plan.starts {
		begun := time.Now()
		p, err := r.serve(ctx, filepath.Join(r.dir, "start", strconv.Itoa(n)))
		if err != nil {
			return err
		}
		ms = append(ms, float64(time.Since(begun).Microseconds())/1000)
		p.stop()
	}
	r.table.absolute("start of footnote serve to ready, new data folder", "ms", median(ms), 200, 50)
	return nil
}

// queries compares a query of one row with the bare driver.
func queries(ctx context.Context, r *rig) error {
	path := filepath.Join(r.dir, "shop.db")
	db, err := sql.Open("sqlite", "file:"+path+"?mode=ro")
	if err != nil {
		return err
	}
	defer db.Close()
	const statement = "SELECT count(*) AS n FROM orders"
	const n = 300
	var bare []float64
	for range n {
		begun := time.Now()
		var count int
		if err := db.QueryRowContext(ctx, statement).Scan(&count); err != nil {
			return err
		}
		bare = append(bare, float64(time.Since(begun).Microseconds())/1000)
	}
	cmd := exec.CommandContext(ctx, r.plan.footnote, "query", "--batch", "--source", path, "--data", filepath.Join(r.dir, "query"))
	cmd.Env = cleanEnv()
	stdin, err := cmd.StdinPipe()
	if err != nil {
		return err
	}
	stdout, err := cmd.StdoutPipe()
	if err != nil {
		return err
	}
	if err := cmd.Start(); err != nil {
		return err
	}
	answers := json.NewDecoder(stdout)
	var ours []float64
	for i := range n {
		begun := time.Now()
		fmt.Fprintf(stdin, "{\"id\":%d,\"sql\":%q}\n", i, statement)
		var out struct{ Outcome, Reason string }
		if err := answers.Decode(&out); err != nil || out.Outcome != "executed" {
			return errors.Join(fmt.Errorf("query: %s %s", out.Outcome, out.Reason), err)
		}
		ours = append(ours, float64(time.Since(begun).Microseconds())/1000)
	}
	stdin.Close()
	if err := cmd.Wait(); err != nil {
		return err
	}
	r.table.absolute("a query of one row, over the bare driver", "ms", median(ours)-median(bare), 1, 0.2)
	return nil
}
