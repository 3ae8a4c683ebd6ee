package bench_test

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"text/tabwriter"
	"time"

	"github.com/footnotehq/footnote/demo"
	"github.com/footnotehq/footnote/internal/pgtest"
)

// rig holds the processes of a measurement.
type rig struct {
	plan
	dir      string
	self     string
	fake     *process
	proxy    target
	durable  target // the proxy that also stores a row
	floor    target
	footnote target // through the OpenAI endpoint
	ai       target // the same server through the AI SDK endpoint
	procs    []*process
	table    table
	loads    int   // loads of typical answers
	broken   int64 // broken streams in them
	pg       *pgtest.Server
	noPG     bool // Postgres is not available
}

// process is one part of the measurement.
type process struct {
	cmd   *exec.Cmd
	url   string
	stdin io.Closer
}

func newRig(ctx context.Context, p plan) (*rig, error) {
	self, err := os.Executable()
	if err != nil {
		return nil, err
	}
	dir, err := os.MkdirTemp("", "footnote-bench-")
	if err != nil {
		return nil, err
	}
	r := &rig{plan: p, dir: dir, self: self}
	if err := demo.Write(ctx, filepath.Join(dir, "shop.db")); err != nil {
		return nil, errors.Join(err, os.RemoveAll(dir))
	}
	if err := r.start(ctx); err != nil {
		r.close()
		return nil, err
	}
	return r, nil
}

func (r *rig) start(ctx context.Context) error {
	if err := r.startParts(ctx); err != nil {
		return err
	}
	server, err := r.serve(ctx, filepath.Join(r.dir, "data"))
	if err != nil {
		return err
	}
	r.footnote = target{"footnote", server.url, "/v1/chat/completions", chatBody, server.cmd.Process.Pid}
	r.ai = target{"footnote, AI SDK", server.url, "/api/ai", aiBody, server.cmd.Process.Pid}
	return nil
}

// startParts starts everything but the server.
func (r *rig) startParts(ctx context.Context) (err error) {
	if r.fake, err = r.role(ctx, "fake", ""); err != nil {
		return err
	}
	for _, part := range []struct {
		at         *target
		name, file string
	}{
		{&r.proxy, "proxy", ""}, {&r.durable, "durable", "durable.db"}, {&r.floor, "floor", "shop.db"},
	} {
		p, err := r.role(ctx, part.name, filepath.Join(r.dir, part.file))
		if err != nil {
			return err
		}
		*part.at = target{part.name, p.url, "/v1/messages", messagesBody, p.cmd.Process.Pid}
	}
	return nil
}

// role starts a part of this program.
func (r *rig) role(ctx context.Context, name, file string) (*process, error) {
	upstream := ""
	if r.fake != nil {
		upstream = r.fake.url
	}
	cmd := exec.CommandContext(ctx, r.self, "-role", name, "-upstream", upstream, "-file", file)
	return r.launch(cmd, func(line string) string { return line })
}

// serve starts the server with everything on: events, audit, metrics, budget.
func (r *rig) serve(ctx context.Context, data string, settings ...string) (*process, error) {
	cmd := exec.CommandContext(ctx, r.plan.footnote, "serve")
	cmd.Env = append(cleanEnv(),
		"FOOTNOTE_LISTEN=127.0.0.1:0", "FOOTNOTE_DATA="+data, "FOOTNOTE_SOURCES=shop="+filepath.Join(r.dir, "shop.db"),
		"FOOTNOTE_UPSTREAM=anthropic", "FOOTNOTE_API_KEYS=bench-key=bench/bench", "FOOTNOTE_LOG_OUTPUT=file",
		"FOOTNOTE_LOG_LEVEL=warn",
		"FOOTNOTE_CACHE_TTL=0s", // a tool step must run its query
		"FOOTNOTE_MAX_BUDGET_USD=1000", "FOOTNOTE_INPUT_MAX_CHARS=1000000", "FOOTNOTE_BODY_LIMIT=8000000",
		"FOOTNOTE_BASE_URL="+r.fake.url, "FOOTNOTE_MODEL_KEY=bench")
	cmd.Env = append(cmd.Env, settings...)
	return r.launch(cmd, func(line string) string {
		_, rest, _ := strings.Cut(line, `"listen":"`)
		address, _, _ := strings.Cut(rest, `"`)
		return "http://" + address
	})
}

// cleanEnv returns the environment without the settings of any model.
func cleanEnv() []string {
	var out []string
	for _, kv := range os.Environ() {
		if !strings.HasPrefix(kv, "ANTHROPIC_") && !strings.HasPrefix(kv, "FOOTNOTE_") {
			out = append(out, kv)
		}
	}
	return out
}

// launch starts a process and reads its address from its first line.
func (r *rig) launch(cmd *exec.Cmd, address func(string) string) (*process, error) {
	stdin, err := cmd.StdinPipe()
	if err != nil {
		return nil, err
	}
	out, err := cmd.StdoutPipe()
	if err != nil {
		return nil, err
	}
	log, err := os.Create(filepath.Join(r.dir, fmt.Sprintf("%d.log", len(r.procs))))
	if err != nil {
		return nil, err
	}
	defer log.Close()
	cmd.Stderr = log
	if err := cmd.Start(); err != nil {
		return nil, err
	}
	p := &process{cmd: cmd, stdin: stdin}
	r.procs = append(r.procs, p)
	lines := bufio.NewReader(out)
	line, err := lines.ReadString('\n')
	if err != nil {
		words, _ := os.ReadFile(log.Name())
		return nil, fmt.Errorf("%s did not start: %w\n%s", cmd.Path, err, words)
	}
	go func() { _, _ = io.Copy(io.Discard, lines) }() // returns when the process ends
	p.url = address(strings.TrimSpace(line))
	return p, nil
}

func (p *process) stop() {
	p.stdin.Close()
	_ = p.cmd.Process.Signal(os.Interrupt)
	done := make(chan struct{})
	go func() { _ = p.cmd.Wait(); close(done) }()
	select {
	case <-done:
	case <-time.After(10 * time.Second):
		_ = p.cmd.Process.Kill()
		<-done
	}
}

func (r *rig) close() {
	for i := len(r.procs) - 1; i >= 0; i-- {
		r.procs[i].stop()
	}
	if r.pg != nil {
		r.pg.Remove()
	}
	_ = os.RemoveAll(r.dir) // if this fails, the files remain in the temporary folder
}

// tree returns a process and all its descendants.
func tree(pid int) []int {
	pids := []int{pid}
	files, _ := filepath.Glob(fmt.Sprintf("/proc/%d/task/*/children", pid))
	for _, f := range files {
		data, _ := os.ReadFile(f)
		for _, child := range strings.Fields(string(data)) {
			if n, err := strconv.Atoi(child); err == nil {
				pids = append(pids, tree(n)...)
			}
		}
	}
	return pids
}

// cpu returns the processor time of a process tree, in milliseconds. It reads the scheduler's count for each thread,
// which has a finer resolution than the ticks in /proc/PID/stat.
func cpu(pid int) float64 {
	total := 0.0
	for _, p := range tree(pid) {
		threads, _ := filepath.Glob(fmt.Sprintf("/proc/%d/task/*/schedstat", p))
		for _, t := range threads {
			data, _ := os.ReadFile(t) // the thread may have ended
			if f := strings.Fields(string(data)); len(f) > 0 {
				ns, _ := strconv.ParseFloat(f[0], 64)
				total += ns / 1e6
			}
		}
	}
	return total
}

// resident returns the memory of one process in KB, without its children: there is one child per database, not per
// stream.
func resident(pid int) float64 {
	data, _ := os.ReadFile(fmt.Sprintf("/proc/%d/status", pid))
	for line := range strings.Lines(string(data)) {
		if rest, ok := strings.CutPrefix(line, "VmRSS:"); ok {
			n, _ := strconv.ParseFloat(strings.Fields(rest)[0], 64)
			return n
		}
	}
	return 0
}

// figures holds the results of the rounds for one metric, by system. Values that were not measured are empty.
type figures [5][]float64

// The systems, in the order of measurement within a round. Without a proxy, the base is another way to do the same.
const (
	base  = iota
	ours  // the server through the OpenAI endpoint
	floor // the smallest program
	ai    // the server through the AI SDK endpoint
	safe  // the durable proxy
)

func (f *figures) add(system int, v float64) { f[system] = append(f[system], v) }

// systems returns the streaming systems in their order. Work that a server still does after one load must not count in
// its next.
func (r *rig) systems() []target { return []target{r.proxy, r.footnote, r.floor, r.ai, r.durable} }

// overDurable returns figures whose base is the durable proxy.
func (f figures) overDurable() figures {
	f[base], f[safe] = f[safe], nil
	return f
}

// inTurns measures the systems once in each round.
func (r *rig) inTurns(systems []target, measure func(t target) (float64, error)) (f figures, err error) {
	for range r.rounds {
		for i, t := range systems {
			v, err := measure(t)
			if err != nil {
				return f, err
			}
			f.add(i, v)
		}
	}
	return f, nil
}

// alternate measures two ways to do the same in turns.
func alternate(rounds int, plain, footnote func(round int) (float64, error)) (f figures, err error) {
	for n := range rounds {
		bare, err1 := plain(n)
		full, err2 := footnote(n)
		if err := errors.Join(err1, err2); err != nil {
			return f, err
		}
		f.add(base, bare)
		f.add(ours, full)
	}
	return f, nil
}

// table collects rows.
type table struct{ rows [][]string }

// compare adds a row whose target is a maximum ratio to the base.
func (t *table) compare(metric, unit string, f figures, most, stretch float64) {
	t.ratios(metric, unit, f, "≤", most, stretch, func(ratio float64) bool { return ratio <= most })
}

// atLeast adds a row whose target is a minimum ratio to the base.
func (t *table) atLeast(metric, unit string, f figures, least, stretch float64) {
	t.ratios(metric, unit, f, "≥", least, stretch, func(ratio float64) bool { return ratio >= least })
}

// ratios adds a row that passes if every measured endpoint does.
func (t *table) ratios(metric, unit string, f figures, sign string, target, stretch float64,
	good func(ratio float64) bool) {
	met := true
	ratio := func(values []float64) string {
		if len(values) == 0 {
			return none
		}
		r := median(values) / median(f[base])
		met = met && good(r)
		return fmt.Sprintf("%.2f", r)
	}
	t.add(met, metric, unit, figure(f[base]), figure(f[floor]), figure(f[ours]), ratio(f[ours]), figure(f[ai]),
		ratio(f[ai]), fmt.Sprintf("%s %.2f ×", sign, target), fmt.Sprintf("%s %.2f ×", sign, stretch))
}

// absolute adds a row whose target is an absolute figure.
func (t *table) absolute(metric, unit string, v, most, stretch float64) {
	t.add(v <= most, metric, unit, none, none, number(v), none, none, none, "≤ "+number(most), "≤ "+number(stretch))
}

func (t *table) add(met bool, cells ...string) {
	words := "yes"
	if !met {
		words = "NO"
	}
	t.rows = append(t.rows, append(cells, words))
}

// none stands for a figure that was not measured.
const none = "–"

func figure(values []float64) string {
	if len(values) == 0 {
		return none
	}
	return number(median(values))
}

func number(f float64) string { return strconv.FormatFloat(f, 'g', 3, 64) }

func (t *table) print(w io.Writer) {
	tw := tabwriter.NewWriter(w, 0, 4, 2, ' ', 0)
	fmt.Fprintln(tw, "METRIC\tUNIT\tBASE\tFLOOR\tOPENAI\tRATIO\tAI SDK\tRATIO\tTARGET\tSTRETCH\tMET")
	for _, cells := range t.rows {
		fmt.Fprintln(tw, strings.Join(cells, "\t"))
	}
	_ = tw.Flush() // standard output is broken, so the error has nowhere to go
}
