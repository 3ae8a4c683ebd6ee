package main

import (
	"bytes"
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"maps"
	"os"
	"strings"

	"github.com/footnotehq/footnote/config"
	"github.com/footnotehq/footnote/demo"
	"github.com/footnotehq/footnote/internal/app"
	"github.com/footnotehq/footnote/internal/doctor"
	"github.com/footnotehq/footnote/knowledge"
	"github.com/footnotehq/footnote/knowledge/suite"
)

type testCmd struct {
	Suite      string `arg:"" optional:"" help:"File of the tests or folder of them (default: tests.yaml, the context's tests or the demo's)."`
	Planner    bool   `xor:"who" help:"Let the offline planner answer, even if there are recordings."`
	Live       bool   `xor:"who" help:"Ask the configured model."`
	Record     bool   `xor:"who" help:"Ask the configured model, and record its answers."`
	Attempts   int    `short:"n" default:"1" help:"How often each question is asked."`
	Recordings string `help:"File of the recordings (default: the suite's, ending in .recordings)." placeholder:"FILE"`
	JUnit      string `name:"junit" help:"Also write a report in JUnit's format." placeholder:"FILE"`
	JSON       bool   `name:"json" help:"Print one JSON object instead."`
	History    string `help:"File of earlier runs (default: tests.jsonl in the data folder)." placeholder:"FILE"`
	Against    string `help:"Run again with another setting, such as context=other or model=m." placeholder:"NAME=VALUE"`
}

const (
	defaultSuite = "tests.yaml"
	maxAttempts  = 20
)

// Run executes the command.
func (cmd *testCmd) Run(ctx context.Context, s *settings, load func() (config.Config, error), std streams) error {
	c, err := load()
	if err != nil {
		return err
	}
	if cmd.Attempts < 1 || cmd.Attempts > maxAttempts {
		return &exit{exitUsage, fmt.Errorf("-n is %d; it must be from 1 to %d", cmd.Attempts, maxAttempts)}
	}
	name, tests, err := cmd.read(c)
	if err != nil {
		return &exit{exitUsage, err}
	}
	t := &testRun{testCmd: cmd, suite: tests, name: name, std: std}
	if cmd.Against != "" && t.mode() == app.ByRecordings {
		return &exit{exitUsage, errors.New("recordings fit only the settings that they were made with, so --against " +
			"needs --live or --planner")}
	}
	first, err := t.run(ctx, c)
	if err != nil {
		return err
	}
	var second *suite.Report
	if cmd.Against != "" {
		if second, err = t.against(ctx, s, load); err != nil {
			return err
		}
	}
	if err := t.report(c, first, second); err != nil {
		return err
	}
	if !first.OK() {
		return &exit{exitFailed, nil}
	}
	return nil
}

// read returns the suite and its name.
func (cmd *testCmd) read(c config.Config) (string, *suite.Suite, error) {
	if _, err := os.Stat(defaultSuite); cmd.Suite == "" && errors.Is(err, fs.ErrNotExist) {
		if cmd.Suite = app.ContextTests(c); cmd.Suite == "" && len(c.Sources) == 0 {
			words, err := knowledge.Read(demo.Context())
			if err != nil {
				return "", nil, err
			}
			return "demo", words.Tests(), nil
		}
	}
	return app.ReadSuite(cmp.Or(cmd.Suite, defaultSuite))
}

// testRun runs a suite.
type testRun struct {
	*testCmd
	suite *suite.Suite
	name  string
	std   streams
}

// tapePath returns the file of the recordings.
func (t *testRun) tapePath() string {
	return cmp.Or(t.Recordings, app.RecordingsOf(cmp.Or(t.Suite, defaultSuite)))
}

// mode returns who answers: the recordings, if there are any and nothing else was asked for.
func (t *testRun) mode() string {
	switch {
	case t.Live || t.Record:
		return app.ByModel
	case t.Planner:
		return app.ByPlanner
	case t.Recordings != "":
		return app.ByRecordings
	}
	return app.CheapestMode(t.tapePath())
}

// run runs the suite once.
func (t *testRun) run(ctx context.Context, c config.Config) (*suite.Report, error) {
	o := app.TestOptions{
		App: options(c, t.std, "error"), Name: t.name, Suite: t.suite, Mode: t.mode(), Recordings: t.tapePath(),
		Record: t.Record, Announce: t.announce,
		SuiteOptions: app.SuiteOptions{Principal: self(), Attempts: t.Attempts},
	}
	if _, seen := terminal(t.std.err); seen {
		o.Each = func(out suite.Outcome) { fmt.Fprintf(t.std.err, "%s: %s\n", out.Status, out.Name) }
	}
	report, err := app.RunTests(ctx, c, o)
	if errors.Is(err, app.ErrNoModel) {
		return nil, &exit{exitUsage, errors.New("no model is configured, so --live and --record cannot ask one; set " +
			"model_key or base_url, or leave the flag out")}
	}
	return report, err
}

// announce prints what asking a model will cost.
func (t *testRun) announce(ctx context.Context, a *app.App, c config.Config) error {
	questions := len(t.suite.Tests) * t.Attempts
	micro, err := a.Estimate(ctx, self())
	if err != nil {
		return err
	}
	about := "an unknown price"
	if micro > 0 {
		about = fmt.Sprintf("about %.2f USD", float64(micro)/1e6*float64(questions))
	}
	_, err = fmt.Fprintf(t.std.err, "asking %s %s, for %s and at most %.2f USD\n", c.Model,
		doctor.Counted(questions, "question"), about, c.MaxBudgetUSD*float64(questions))
	return err
}

// against runs the suite with another setting.
func (t *testRun) against(ctx context.Context, s *settings, load func() (config.Config, error)) (*suite.Report, error) {
	name, value, ok := strings.Cut(t.Against, "=")
	if !ok || name == "" {
		return nil, &exit{exitUsage, fmt.Errorf("--against is %q; write NAME=VALUE, such as context=other", t.Against)}
	}
	changed := map[string]string{}
	maps.Copy(changed, s.Setting)
	changed[name] = value
	s.Setting = changed
	if name == "model" {
		s.Model = value // the flag wins over the setting
	}
	c, err := load()
	if err != nil {
		return nil, err
	}
	return t.run(ctx, c)
}

// report prints and keeps the results.
func (t *testRun) report(c config.Config, first, second *suite.Report) error {
	trend, err := t.keep(c, first)
	if err != nil {
		return err
	}
	if t.JUnit != "" {
		if err := writeFile(t.JUnit, first.WriteJUnit); err != nil {
			return err
		}
	}
	switch {
	case t.JSON && second != nil:
		return printJSON(t.std.out, map[string]*suite.Report{"first": first, "second": second})
	case t.JSON:
		return first.WriteJSON(t.std.out)
	}
	return t.print(first, second, trend)
}

// print shows the results. The cells in them must not control the terminal.
func (t *testRun) print(first, second *suite.Report, trend string) error {
	var b bytes.Buffer
	if err := first.WriteText(&b); err != nil {
		return err
	}
	if trend != "" {
		fmt.Fprintln(&b, trend)
	}
	if second != nil {
		fmt.Fprintf(&b, "\nagainst %s:\n", t.Against)
		if err := suite.WriteComparison(&b, first, second); err != nil {
			return err
		}
	}
	_, err := io.WriteString(t.std.out, safeText(b.String()))
	return err
}

// keep adds the run to the history, and returns how it compares with earlier ones.
func (t *testRun) keep(c config.Config, r *suite.Report) (string, error) {
	path := t.History
	if path == "" {
		if err := os.MkdirAll(c.Data, 0o700); err != nil {
			return "", fmt.Errorf("create the data folder for the history: %w", err)
		}
		path = app.HistoryFile(c)
	}
	past, err := suite.History(path, r.Suite)
	if err != nil {
		return "", err
	}
	return suite.Trend(past, r.Past()), suite.Append(path, r.Past())
}

// writeFile creates a file and writes to it.
func writeFile(path string, write func(io.Writer) error) error {
	f, err := os.Create(path)
	if err != nil {
		return fmt.Errorf("write the report: %w", err)
	}
	return errors.Join(write(f), f.Close())
}
