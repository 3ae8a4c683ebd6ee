// Command eval measures the offline planner with the frozen evaluation set: it asks every question through the real run
// loop, over the real sources, and compares the answers with the results of the set's own SQL. It exits with status 1
// if a goal is missed, and with status 2 if it cannot measure.
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

// planner creates the model to measure.
func planner(sources measure.Sources) model.Model {
	return offline.New(offline.Options{Catalog: sources})
}

func run(ctx context.Context, args []string, stdout, stderr io.Writer) error {
	flags := flag.NewFlagSet("eval", flag.ContinueOnError)
	flags.SetOutput(stderr)
	setName := flags.String("set", "frozen", "measure this set: frozen, heldout, blind, fresh, or sources")
	source := flags.String("source", "", "measure the questions about this source only")
	id := flags.String("id", "", "measure the question or pair with this id only")
	details := flags.Bool("v", false, "show every answer that is not as expected")
	asJSON := flags.Bool("json", false, "print the whole report as JSON")
	if err := flags.Parse(args); err != nil {
		return err
	}
	if flags.NArg() > 0 {
		return fmt.Errorf("eval takes no arguments, but got %q", flags.Args())
	}
	options := measure.Options{Model: planner, Source: *source, ID: *id}
	if *setName == string(evalset.Several) {
		report, err := measure.RunChoices(ctx, options)
		if err != nil {
			return err
		}
		return printReport(stdout, *asJSON, report, func() error { return report.Write(stdout, *details) })
	}
	set, err := evalset.ParseSet(*setName)
	if err != nil {
		return err
	}
	options.Set = set
	report, err := measure.Run(ctx, options)
	if err != nil {
		return err
	}
	whole := struct {
		measure.Report
		Goals []measure.Goal `json:"goals"`
	}{report, report.Goals()}
	err = printReport(stdout, *asJSON, whole, func() error { return report.Write(stdout, *details) })
	if err == nil && !report.Met() {
		return errMissed
	}
	return err
}

// printReport prints a report as JSON, or as write does.
func printReport(stdout io.Writer, asJSON bool, report any, write func() error) error {
	if asJSON {
		out := json.NewEncoder(stdout)
		out.SetIndent("", "  ")
		write = func() error { return out.Encode(report) }
	}
	if err := write(); err != nil {
		return fmt.Errorf("print the report: %w", err)
	}
	return nil
}
