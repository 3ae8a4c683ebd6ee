// Package bench_test measures Footnote against a bare reverse proxy in front of the same fake Messages API, in one run,
// and prints one table of ratios. It measures only when asked; bin/footnote must have been built:
//
//	go test ./test/bench -run '^$' -bench . -benchtime 1x -timeout 0 -args -quick
//
// This is make bench-quick; make bench measures longer. Both pass on more flags: make bench ARGS='-only stream
// -streams 500 -rounds 5' measures one load, more often.
//
// Every part is a separate process: the fake API, the proxy, a floor (the smallest program that parses the
// upstream and writes another stream), and the server, which is measured through its OpenAI endpoint and its AI
// SDK endpoint. The fake API writes each piece of text with its number and the time of writing. The load client
// thus knows how late each piece arrives, and detects lost, repeated and reordered pieces. CPU and memory come
// from /proc. Rounds alternate between the systems; figures are medians over rounds.
package bench_test

import (
	"context"
	"flag"
	"fmt"
	"os"
	"os/signal"
	"path/filepath"
	"slices"
	"testing"
	"time"

	"github.com/footnotehq/footnote/internal/pgtest"
	"github.com/footnotehq/footnote/source/child"
	"github.com/footnotehq/footnote/source/duckdb"
	"github.com/footnotehq/footnote/source/mysql/mariatest"
	"github.com/footnotehq/footnote/source/postgres"
	"github.com/footnotehq/footnote/source/sqlite"
)

// plan is the extent of the measurements.
type plan struct {
	rounds    int
	streams   []int         // concurrent streams of each load
	window    time.Duration // duration of one load
	floorFrom int           // the floor is measured from this many streams on
	idle      int           // idle streams for the memory figure
	flood     int           // deltas of one stream when saturated
	tools     int           // tool steps
	starts    int           // process starts
	appends   int           // events appended
	grown     []int         // store sizes, in events, at which costs are measured
	candles   int           // minutes to build bars from
	documents int           // documents to search
	exported  int           // rows to export
	tables    []int         // tables to discover
	footnote  string        // path of the binary
	tb        testing.TB    // for servers that end with the benchmark
}

var (
	role = flag.String("role", "", "run as one part: fake, proxy, durable, floor or query (used by the measurement "+
		"itself)")
	upstream = flag.String("upstream", "", "address of the imitated API, for a role")
	file     = flag.String("file", "", "file of a database, for a role")
	quick    = flag.Bool("quick", false, "fewer rounds, shorter loads")
	binary   = flag.String("footnote", "bin/footnote", "the server to measure, from the folder of the repository")
	only     = flag.String("only", "",
		"measure one group only: stream, history, runs, saturated, memory, tools, append, start, csv, rest, query, cache, far, "+
			"growth, market, search, figures, export, sources, discovery")
	texts = flag.String("texts", "ten",
		"what answers are made of: words, ten numbers (ten), or a number in every delta (every)")
	oneLoad = flag.Int("streams", 0, "measure the group stream with so many only")
	repeats = flag.Int("rounds", 0, "how often each load is measured, when it is to differ from the plan")
)

func TestMain(m *testing.M) {
	// children never return
	child.Main(map[string]child.OpenFunc{
		sqlite.Kind: sqlite.OpenEngine, postgres.Kind: postgres.OpenEngine, duckdb.Kind: duckdb.OpenEngine,
	})
	flag.Parse()
	if *role != "" {
		if err := serveRole(*role, *upstream, *file); err != nil {
			fmt.Fprintln(os.Stderr, err)
			os.Exit(1)
		}
		os.Exit(0)
	}
	code := pgtest.Run(m)
	mariatest.Close()
	os.Exit(code)
}

// newPlan returns the plan that the flags ask for.
func newPlan() plan {
	p := plan{
		rounds: 3, streams: []int{1, 50, 200, 500}, window: 8 * time.Second, idle: 1000, flood: 20_000, tools: 300,
		starts: 15, appends: 20_000, candles: 10_000_000, documents: 100_000, exported: 10_000_000,
		grown: []int{1_000, 100_000, 1_000_000}, tables: []int{10, 500, 5_000},
		footnote: *binary,
	}
	if !filepath.IsAbs(p.footnote) {
		p.footnote = filepath.Join("..", "..", p.footnote)
	}
	if *quick {
		p.rounds, p.window, p.idle, p.tools, p.starts, p.appends = 1, 4*time.Second, 500, 100, 7, 6_000
		p.floorFrom, p.grown, p.candles, p.documents = 500, []int{1_000, 20_000}, 1_000_000, 10_000
		p.exported, p.tables = 1_000_000, []int{10, 500}
	}
	if *oneLoad > 0 {
		p.streams = []int{*oneLoad}
	}
	if *repeats > 0 {
		p.rounds = *repeats
	}
	return p
}

// group is a set of rows measured together.
type group struct {
	name string
	run  func(ctx context.Context, r *rig) error
}

// groups are measured in this order.
var groups = []group{
	{"stream", streams}, {"history", longHistory}, {"runs", runs}, {"saturated", saturated}, {"memory", memory},
	{"tools", toolSteps}, {"append", appends}, {"start", starts}, {"csv", firstAnswers}, {"rest", atRest},
	{"query", queries}, {"cache", hits},
	{"far", remoteReaders}, {"growth", growth}, {"market", candles}, {"search", searches}, {"figures", figuresOf},
	{"export", exports}, {"sources", overheads}, {"discovery", discoveries},
}

// BenchmarkTable measures all groups, or the one of -only, and prints the table.
func BenchmarkTable(b *testing.B) {
	// Without this, an interrupt would leave the processes and their files behind.
	ctx, stop := signal.NotifyContext(b.Context(), os.Interrupt)
	defer stop()
	for b.Loop() {
		p := newPlan()
		p.tb = b
		if err := measure(ctx, p); err != nil {
			b.Fatal(err)
		}
	}
}

func measure(ctx context.Context, p plan) error {
	if !slices.Contains([]string{"words", "ten", "every"}, *texts) {
		return fmt.Errorf("-texts must be words, ten or every, not %q", *texts)
	}
	r, err := newRig(ctx, p)
	if err != nil {
		return err
	}
	defer r.close()
	for _, g := range groups {
		if *only != "" && g.name != *only {
			continue
		}
		fmt.Fprintf(os.Stderr, "measuring %s …\n", g.name)
		if err := g.run(ctx, r); err != nil {
			return fmt.Errorf("%s: %w", g.name, err)
		}
	}
	if r.loads > 0 {
		r.table.absolute("streams with a lost, doubled or reordered delta", "", float64(r.broken), 0, 0)
	}
	r.table.print(os.Stdout)
	return nil
}

// TestParts checks that this program starts as each of its parts, and that they pass on a whole answer.
func TestParts(t *testing.T) {
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	r := &rig{dir: t.TempDir(), self: self}
	defer r.close()
	if err := r.startParts(t.Context()); err != nil {
		t.Fatal(err)
	}
	for _, part := range []target{r.proxy, r.floor} {
		s := &sample{}
		s.stream(t.Context(), part, short, 0)
		if err := s.err(part); err != nil || s.deltas.Load() != int64(short.Deltas) {
			t.Errorf("%s: %d of %d pieces: %v", part.name, s.deltas.Load(), short.Deltas, err)
		}
	}
}
