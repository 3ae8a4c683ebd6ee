package bench_test

import (
	"bytes"
	"context"
	"database/sql"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"time"
)

// paced is a typical answer: 3 s of text, one piece every 20 ms.
var paced = order{Kind: "text", Deltas: 150, GapMS: 20}

// streams measures time to the first piece, lateness and CPU by concurrency.
func streams(ctx context.Context, r *rig) error {
	for _, n := range r.plan.streams {
		var first, late50, late99, cost figures
		for range r.rounds {
			for i, t := range r.systems() {
				if i == floor && n < r.floorFrom {
					continue
				}
				s, perDelta := r.load(ctx, t, n, 0)
				first.add(i, median(s.first))
				late50.add(i, median(s.late))
				late99.add(i, quantile(s.late, 0.99))
				cost.add(i, perDelta)
			}
		}
		r.table.compare(fmt.Sprintf("time to first delta, p50, %d streams, over a durable proxy", n), "ms",
			first.overDurable(), 1.5, 1.0)
		if n == 500 {
			r.table.compare("lateness of a delta, 500 streams, p50", "ms", late50, 1.15, 1.0)
			r.table.compare("lateness of a delta, 500 streams, p99", "ms", late99, 1.5, 1.1)
			r.table.compare("CPU per delta, 500 streams", "µs", cost, 1.25, 0.95)
		}
	}
	return ctx.Err()
}

// longHistory measures the time to the first piece with a history of 200 KB.
func longHistory(ctx context.Context, r *rig) error {
	direct := target{"direct", r.fake.url, "/v1/messages", messagesBody, r.fake.cmd.Process.Pid}
	first, err := r.inTurns([]target{direct, r.footnote, r.floor}, func(t target) (float64, error) {
		s, _ := r.load(ctx, t, 10, 200<<10)
		return median(s.first), ctx.Err()
	})
	r.table.compare("time to first delta, 200 KB of history, over no proxy", "ms", first, 1.5, 1.2)
	return err
}

// load runs one load of typical answers, and returns the CPU time per piece in µs.
func (r *rig) load(ctx context.Context, t target, n, history int) (s *sample, perDelta float64) {
	before := cpu(t.pid)
	s = load(ctx, t, n, r.window, paced, history)
	r.loads++
	r.broken += s.broken.Load()
	if p := s.reason.Load(); p != nil {
		fmt.Fprintf(os.Stderr, "%s: broken stream: %s\n", t.name, *p)
	}
	return s, (cpu(t.pid) - before) * 1000 / float64(max(1, s.deltas.Load()))
}

// short is an answer dominated by its start and end.
var short = order{Kind: "text", Deltas: 10}

// runs measures the cost of an answer besides its pieces, with many at once.
func runs(ctx context.Context, r *rig) error {
	each, err := r.inTurns(r.systems(), func(t target) (float64, error) {
		before := cpu(t.pid)
		s := load(ctx, t, 16, r.window/2, short, 0)
		return (cpu(t.pid) - before) / float64(max(1, s.streams.Load())), s.err(t)
	})
	titled := each.overDurable()
	plain := titled
	plain[ai], titled[ours] = nil, nil // only the AI SDK's conversations get a title, by a second model call
	r.table.compare("CPU for a short answer, over a durable proxy", "ms", plain, 2, 1.5)
	r.table.compare("the same, with its title", "ms", titled, 4, 3)
	return err
}

// saturating is the number of streams without delays that keep both processors busy.
const saturating = 8

// saturated measures deltas per second of CPU without any delays.
func saturated(ctx context.Context, r *rig) error {
	flood := order{Kind: "text", Deltas: r.flood}
	rate, err := r.inTurns(r.systems()[:safe], func(t target) (float64, error) {
		before := cpu(t.pid)
		s := &sample{}
		_ = parallel(saturating, func(int) error { s.stream(ctx, t, flood, 0); return nil })
		return float64(s.deltas.Load()) / max(0.001, (cpu(t.pid)-before)/1000), s.err(t)
	})
	r.table.atLeast("deltas for each second of CPU, saturated", "1/s", rate, 0.6, 1.0)
	return err
}

// memory measures the cost of an open, silent stream.
func memory(ctx context.Context, r *rig) error {
	// New processes: the heap of earlier loads would hide the cost.
	var kb figures
	for i, t := range r.systems()[:safe] {
		var p *process
		var err error
		switch t.path {
		case r.proxy.path:
			p, err = r.role(ctx, t.name, filepath.Join(r.dir, fmt.Sprintf("idle%d.db", i)))
		default:
			p, err = r.serve(ctx, filepath.Join(r.dir, "idle"+strconv.Itoa(i)))
		}
		if err != nil {
			return err
		}
		t.url, t.pid = p.url, p.cmd.Process.Pid
		cost, err := idleStreams(ctx, t, r.idle)
		if err != nil {
			return err
		}
		kb.add(i, cost)
		p.stop()
	}
	r.table.compare(fmt.Sprintf("memory for each open stream, %d streams", r.idle), "KB", kb, 1.5, 1.0)
	return nil
}

func idleStreams(ctx context.Context, t target, n int) (float64, error) {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	before := resident(t.pid)
	streams := make([]*http.Response, n)
	open := func(i int) (err error) {
		if streams[i], err = post(ctx, t, t.body(order{Kind: "hold"}, 0)); err == nil {
			_, err = streams[i].Body.Read(make([]byte, 4096))
		}
		return err
	}
	for at := 0; at < n; at += 50 {
		if err := parallel(min(50, n-at), func(i int) error { return open(at + i) }); err != nil {
			return 0, err
		}
	}
	pause(ctx, 2*time.Second)
	cost := (resident(t.pid) - before) / float64(n)
	for _, s := range streams {
		s.Body.Close()
	}
	return cost, nil
}

// toolSteps measures the time from the end of a model's tool call to the next request.
func toolSteps(ctx context.Context, r *rig) error {
	var f figures
	for i, t := range []target{r.floor, r.footnote, r.ai} {
		system := [...]int{base, ours, ai}[i]
		for n := range r.tools {
			o := order{Kind: "tool", ID: fmt.Sprintf("%s-%d", t.name, n)}
			res, err := post(ctx, t, t.body(o, 0))
			if err != nil {
				return err
			}
			_, _ = io.Copy(io.Discard, res.Body)
			res.Body.Close()
		}
		res, err := http.Get(r.fake.url + "/steps")
		if err != nil {
			return err
		}
		err = json.NewDecoder(res.Body).Decode(&f[system])
		res.Body.Close()
		if err == nil && len(f[system]) < r.tools {
			err = fmt.Errorf("%s made %d of %d tool steps", t.name, len(f[system]), r.tools)
		}
		if err != nil {
			return err
		}
	}
	r.table.compare("tool loop turnaround, a real query, all events stored", "ms", f, 1.5, 1.1)
	return nil
}

// starts measures the time from executing the server to its first answer.
func starts(ctx context.Context, r *rig) error {
	var fresh, again []float64
	for n := range r.plan.starts {
		for _, ms := range []*[]float64{&fresh, &again} {
			begun := time.Now()
			p, err := r.serve(ctx, filepath.Join(r.dir, "start", strconv.Itoa(n)))
			if err != nil {
				return err
			}
			*ms = append(*ms, since(begun))
			p.stop()
		}
	}
	r.table.absolute("start of footnote serve to ready, new data folder", "ms", median(fresh), 200, 50)
	r.table.absolute("start of footnote serve to ready, existing data folder", "ms", median(again), 60, 50)
	return nil
}

// firstAnswers measures the time from executing footnote ask on a CSV file that it has not seen to its end, with the
// offline planner.
func firstAnswers(ctx context.Context, r *rig) error {
	path := filepath.Join(r.dir, "visits.csv")
	if err := os.WriteFile(path, visits(50_000), 0o600); err != nil {
		return err
	}
	var ms []float64
	for n := range max(3, r.plan.starts/3) {
		cmd := exec.CommandContext(ctx, r.plan.footnote, "ask", "--model", "offline", "--source", path, "--data",
			filepath.Join(r.dir, "csv", strconv.Itoa(n)), "How many visits per city?")
		cmd.Env = cleanEnv()
		begun := time.Now()
		out, err := cmd.Output()
		if err != nil || !bytes.Contains(out, []byte("Basel")) {
			return fmt.Errorf("footnote ask: %w\n%s", err, out)
		}
		ms = append(ms, since(begun))
	}
	r.table.absolute("first answer from a new CSV file of 50000 rows", "ms", median(ms), 600, 300)
	return nil
}

// visits returns a CSV file with n rows.
func visits(n int) []byte {
	out := []byte("id,city,visited_on,minutes,amount\n")
	cities := []string{"Basel", "Bern", "Chur", "Geneva", "Zug"}
	for i := range n {
		out = fmt.Appendf(out, "%d,%s,2026-%02d-%02d,%d,%d.%02d\n", i, cities[i*7%5], i%12+1, i%28+1, i%90, i%400, i%100)
	}
	return out
}

// atRest measures the memory of a server that nobody uses, with its children: all that a source needed when the server
// started have ended by then.
func atRest(ctx context.Context, r *rig) error {
	p, err := r.serve(ctx, filepath.Join(r.dir, "rest"))
	if err != nil {
		return err
	}
	defer p.stop()
	pause(ctx, 70*time.Second)
	kb := 0.0
	for _, pid := range tree(p.cmd.Process.Pid) {
		kb += resident(pid)
	}
	r.table.absolute("memory of a server at rest", "MB", kb/1024, 80, 60)
	return ctx.Err()
}

// queries compares a single-row query with the bare driver.
func queries(ctx context.Context, r *rig) error {
	path := filepath.Join(r.dir, "shop.db")
	db, err := sql.Open("sqlite", "file:"+path+"?mode=ro")
	if err != nil {
		return err
	}
	defer db.Close()
	const statement = "SELECT count(*) AS n FROM orders"
	cmd := exec.CommandContext(ctx, r.plan.footnote, "query", "--batch", "--source", path, "--data",
		filepath.Join(r.dir, "query"))
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
	f, err := alternate(300, func(int) (float64, error) {
		begun := time.Now()
		var count int
		err := db.QueryRowContext(ctx, statement).Scan(&count)
		return since(begun), err
	}, func(n int) (float64, error) {
		begun := time.Now()
		fmt.Fprintf(stdin, "{\"id\":%d,\"sql\":%q}\n", n, statement)
		var out struct{ Outcome, Reason string }
		if err := answers.Decode(&out); err != nil || out.Outcome != "executed" {
			return 0, errors.Join(fmt.Errorf("query: %s %s", out.Outcome, out.Reason), err)
		}
		return since(begun), nil
	})
	stdin.Close()
	if err := errors.Join(err, cmd.Wait()); err != nil {
		return err
	}
	r.table.absolute("a query of one row, over the bare driver", "ms", median(f[ours])-median(f[base]), 1, 0.2)
	return nil
}
