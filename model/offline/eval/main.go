// Command eval measures the offline planner on the frozen evaluation set: it asks
// every question through the real run loop, over the real sources, and compares
// the answers with the set's own SQL. It exits with 1 when a goal is missed and
// with 2 when it could not measure.
//
//	go run ./model/offline/eval [-set heldout|blind|fresh|sources] [-source name] [-id id] [-v] [-json]
package main

import (
	"context"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"os/signal"

	"github.com/footnotehq/footnote/model"
	"github.com/footnotehq/footnote/model/offline"
	"github.com/footnotehq/footnote/model/offline/eval/measure"
	"github.com/footnotehq/footnote/model/offline/evalset"
	"github.com/footnotehq/footnote/source/child"
	"github.com/footnotehq/footnote/source/duckdb"
	"github.com/footnotehq/footnote/source/sqlite"
)

var errMissed = errors.New("a goal is missed")

func main() {
	child.Main(map[string]child.OpenFunc{sqlite.Kind: sqlite.OpenEngine, duckdb.Kind: duckdb.OpenEngine})
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
	defer stop()
	err := run(ctx, os.Args[1:], os.Stdout, os.Stderr)
	switch {
	case errors.Is(err, flag.ErrHelp):
	case errors.Is(err, errMissed):
		os.Exit(1)
	case err != nil:
		fmt.Fprintln(os.Stderr, err)
		os.Exit(2)
	}
}

// planner makes the model that is measured.
func planner(sources measure.Sources) model.Model {
	return offline.New(offline.Options{Catalog: sources})
}

func run(ctx context.Context, args []string, stdout, stderr io.Writer) error {
	flags := flag.NewFlagSet("eval", flag.ContinueOnError)
	flags.SetOutput(stderr)
	setName := flags.String("set", "frozen", "measure this set: frozen, heldout, blind, fresh, or sources")
	source := flags.String("source", "", "measure the questions about this source only")
	id := flags.String("id", "", "measure the question or pair with this id only")
	details := flags.Bool("v", false, "show every answer that is not as it should be")
	asJSON := flags.Bool("json", false, "print the whole report as JSON")
	if err := flags.Parse(args); err != nil {
		return err
	}
	if flags.NArg() > 0 {
		return fmt.Errorf("eval takes no arguments, and got %q", flags.Args())
	}
	if *setName == string(evalset.Several) {
		return runChoices(ctx, measure.Options{Model: planner, Source: *source, ID: *id}, stdout, *details, *asJSON)
	}
	set, err := evalset.ParseSet(*setName)
	if err != nil {
		return err
	}
	report, err := measure.Run(ctx, measure.Options{Model: planner, Set: set, Source: *source, ID: *id})
	if err != nil {
		return err
	}
	if *asJSON {
		out := json.NewEncoder(stdout)
		out.SetIndent("", "  ")
		err = out.Encode(struct {
			measure.Report
			Goals []measure.Goal `json:"goals"`
		}{report, report.Goals()})
	} else {
		err = report.Write(stdout, *details)
	}
	if err != nil {
		return fmt.Errorf("print the report: %w", err)
	}
	if !report.Met() {
		return errMissed
	}
	return nil
}

// runChoices measures the choice among several sources.
func runChoices(ctx context.Context, o measure.Options, stdout io.Writer, details, asJSON bool) error {
	report, err := measure.RunChoices(ctx, o)
	if err != nil {
		return err
	}
	if asJSON {
		out := json.NewEncoder(stdout)
		out.SetIndent("", "  ")
		err = out.Encode(report)
	} else {
		err = report.Write(stdout, details)
	}
	if err != nil {
		return fmt.Errorf("print the report: %w", err)
	}
	return nil
}
