// Command bench measures Footnote against a bare reverse proxy in front of the
// same imitated Messages API, in one run, and prints one table of ratios.
//
//	go run ./bench          everything, a few minutes
//	go run ./bench -quick   the same in under two minutes
//
// Every part is a process of its own: the imitated API, the proxy, a floor (the
// least program that parses the upstream and writes another stream), the server.
// The imitated API writes each piece of text with its number and the time at which
// it was written, so the load client knows how late each arrives, and sees each
// one that is lost, doubled or out of order. CPU and memory are read from /proc.
// Rounds alternate between the systems; figures are medians over rounds.
package main

import (
	"context"
	"flag"
	"fmt"
	"os"
	"os/signal"
	"time"
)

// plan is how much is measured.
type plan struct {
	rounds   int
	window   time.Duration // of one load
	idle     int           // idle streams for the memory figure
	flood    int           // deltas of one stream when saturated
	tools    int           // tool steps
	starts   int           // process starts
	appends  int           // events appended
	footnote string        // path of the binary
}

func main() {
	role := flag.String("role", "", "run as one part: fake, proxy, floor (used by the program itself)")
	upstream := flag.String("upstream", "", "address of the imitated API, for a role")
	quick := flag.Bool("quick", false, "fewer rounds, shorter loads")
	binary := flag.String("footnote", "bin/footnote", "the server to measure")
	only := flag.String("only", "", "measure one group only: stream, saturated, memory, tools, append, start, query")
	flag.Parse()
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
	defer stop()
	if *role != "" {
		exitOn(serveRole(*role, *upstream))
		return
	}
	p := plan{rounds: 3, window: 8 * time.Second, idle: 1000, flood: 20_000, tools: 300, starts: 15, appends: 20_000, footnote: *binary}
	if *quick {
		p = plan{rounds: 1, window: 4 * time.Second, idle: 500, flood: 20_000, tools: 100, starts: 7, appends: 6_000, footnote: *binary}
	}
	exitOn(measure(ctx, p, *only))
}

func exitOn(err error) {
	if err != nil {
		fmt.Fprintln(os.Stderr, "bench:", err)
		os.Exit(1)
	}
}

// group is a set of rows that are measured together.
type group struct {
	name string
	run  func(ctx context.Context, r *rig) error
}

func measure(ctx context.Context, p plan, only string) error {
	r, err := newRig(ctx, p)
	if err != nil {
		return err
	}
	defer r.close()
	for _, g := range []group{
		{"stream", streams}, {"saturated", saturated}, {"memory", memory}, {"tools", toolSteps},
		{"append", appends}, {"start", starts}, {"query", queries},
	} {
		if only != "" && g.name != only {
			continue
		}
		fmt.Fprintf(os.Stderr, "measuring %s …\n", g.name)
		if err := g.run(ctx, r); err != nil {
			return fmt.Errorf("%s: %w", g.name, err)
		}
	}
	r.table.print(os.Stdout)
	return nil
}
