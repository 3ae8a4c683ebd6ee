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
	"path/filepath"
	"strings"
	"time"

	"github.com/footnotehq/footnote"
	"github.com/footnotehq/footnote/config"
	"github.com/footnotehq/footnote/demo"
	"github.com/footnotehq/footnote/internal/app"
	"github.com/footnotehq/footnote/internal/doctor"
	"github.com/footnotehq/footnote/internal/plainfile"
	"github.com/footnotehq/footnote/knowledge/suite"
	"github.com/footnotehq/footnote/model"
	"github.com/footnotehq/footnote/model/recorded"
)

type testCmd struct {
	Suite      string `arg:"" optional:"" help:"File of the tests (default: tests.yaml, or the demo's)."`
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

// Who answers the questions of a suite.
const (
	byPlanner    = "planner"
	byRecordings = "recordings"
	byModel      = "live"
)

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
	if cmd.Against != "" && t.mode() == byRecordings {
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
	path := cmp.Or(cmd.Suite, defaultSuite)
	if _, err := os.Stat(path); cmd.Suite == "" && errors.Is(err, fs.ErrNotExist) && len(c.Sources) == 0 {
		tests, err := suite.Parse(demo.Tests())
		return "demo", tests, err
	}
	data, err := plainfile.Read(path, suite.MaxBytes)
	if err != nil {
		return "", nil, fmt.Errorf("read the suite: %w", err)
	}
	tests, err := suite.Parse(data)
	if err != nil {
		return "", nil, fmt.Errorf("%s: %w", path, err)
	}
	return strings.TrimSuffix(filepath.Base(path), filepath.Ext(path)), tests, nil
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
	path := cmp.Or(t.Suite, defaultSuite)
	return cmp.Or(t.Recordings, strings.TrimSuffix(path, filepath.Ext(path))+".recordings")
}

// mode returns who answers: the recordings, if there are any and nothing else was asked for.
func (t *testRun) mode() string {
	switch _, err := os.Stat(t.tapePath()); {
	case t.Live || t.Record:
		return byModel
	case t.Planner || err != nil && t.Recordings == "":
		return byPlanner
	}
	return byRecordings
}

// run runs the suite once, in a data folder of its own, which is deleted afterwards.
func (t *testRun) run(ctx context.Context, c config.Config) (_ *suite.Report, err error) {
	folder, err := os.MkdirTemp("", "footnote-test-")
	if err != nil {
		return nil, fmt.Errorf("create a folder for the test's data: %w", err)
	}
	defer func() { err = errors.Join(err, os.RemoveAll(folder)) }()
	c, err = isolated(ctx, c, folder)
	if err != nil {
		return nil, err
	}
	mode, begun := t.mode(), time.Now()
	o := options(c, t.std, "error")
	o.Modules = nil
	var recorder *recorded.Recorder
	var player *recorded.Player
	var parts map[string]footnote.Digest
	switch mode {
	case byPlanner:
		c = asking(c, config.Offline, config.Offline)
	case byModel:
		if c.Upstream == config.Offline {
			return nil, &exit{exitUsage, errors.New("no model is configured, so --live and --record cannot ask one; " +
				"set model_key or base_url, or leave the flag out")}
		}
		c = asking(c, c.Upstream, c.Tiers.HighModel) // that of the default tier
		o.Wrap = func(m model.Model) model.Model { recorder = recorded.NewRecorder(m); return recorder }
	case byRecordings:
		tape, err := recorded.Read(t.tapePath())
		if err != nil {
			return nil, err
		}
		player = recorded.NewPlayer(tape, func() map[string]footnote.Digest { return parts })
		o.Wrap = func(model.Model) model.Model { return player }
		o.Now = func() time.Time { return tape.Head.Time.Add(time.Since(begun)) }
		c = asking(c, tape.Head.Upstream, tape.Head.Model)
		c.BaseURL, c.APIKey = "http://127.0.0.1:1", "recordings" // neither is used
	}
	a, err := app.New(ctx, c, o)
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, a.Close(ctx)) }()
	if parts, err = a.Parts(ctx, self()); err != nil {
		return nil, err
	}
	if mode == byModel {
		if err := t.announce(ctx, a, c); err != nil {
			return nil, err
		}
	}
	report := t.ask(ctx, a, mode, player)
	report.Model = c.Model
	if mode == byPlanner {
		report.Model = "offline-planner"
	}
	if t.Record {
		if err := complete(ctx, report); err != nil {
			return nil, err
		}
		head := recorded.Head{
			Format: recorded.Format, Time: begun.UTC(), Upstream: c.Upstream, Model: c.Model, Parts: parts,
		}
		if err := (&recorded.Tape{Head: head, Entries: recorder.Entries()}).Write(t.tapePath()); err != nil {
			return nil, err
		}
	}
	return report, nil
}

// complete returns an error if questions have no answer: their recordings must not replace earlier ones.
func complete(ctx context.Context, r *suite.Report) error {
	if ctx.Err() != nil {
		return context.Cause(ctx)
	}
	for _, o := range r.Outcomes {
		if o.Steps == 0 {
			return fmt.Errorf("the recordings were not written, because %q could not be asked: %s", o.Name,
				strings.Join(o.Reasons, "; "))
		}
	}
	return nil
}

// isolated returns a configuration that keeps everything in a folder and sends nothing elsewhere. Without sources, it
// has those of the demo.
func isolated(ctx context.Context, c config.Config, folder string) (config.Config, error) {
	c.Data, c.Store, c.Redis, c.Workspace, c.Market.Store = folder, "", "", "", ""
	c.Traces.Endpoint, c.LogOutput, c.LogFile = "", "stdout", "audit.jsonl"
	if c.Marks == "auto" {
		c.Marks = "on" // what a model reads must not depend on the tests before
	}
	if len(c.Sources) > 0 {
		return c, nil
	}
	var err error
	if c.Sources, err = app.DemoShop(ctx, folder); err == nil {
		c.Context, err = demoContext(c)
	}
	return c, err
}

// asking returns a configuration in which a model answers alone.
func asking(c config.Config, upstream, name string) config.Config {
	c.Upstream, c.Model, c.Fallbacks = upstream, name, nil
	c.Tiers.ProModel, c.Tiers.HighModel, c.Tiers.LowModel = name, name, name
	return c
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

// ask runs the tests.
func (t *testRun) ask(ctx context.Context, a *app.App, mode string, player *recorded.Player) *suite.Report {
	begun := time.Now()
	o := app.SuiteOptions{Principal: self(), Attempts: t.Attempts}
	if player != nil {
		o.Missed = player.Missed
	}
	if _, seen := terminal(t.std.err); seen {
		o.Each = func(out suite.Outcome) { fmt.Fprintf(t.std.err, "%s: %s\n", out.Status, out.Name) }
	}
	r := &suite.Report{Suite: t.name, Time: begun, Mode: mode, Context: a.ContextDigest(), Notes: notes(mode)}
	r.Outcomes = a.RunSuite(ctx, t.suite, o)
	if player != nil {
		if changed := player.Changed(); len(changed) > 0 {
			r.Notes = append(r.Notes, "Changed since the recording: "+strings.Join(changed, ", ")+".")
		}
	}
	r.Millis = time.Since(begun).Milliseconds()
	for _, out := range r.Outcomes {
		r.CostUSD += out.CostUSD
	}
	return r
}

// notes says what a run cannot find.
func notes(mode string) []string {
	switch mode {
	case byRecordings:
		return []string{"Recordings show that prompts and results are as before. What a changed glossary does to " +
			"answers, only --live or new recordings (--record) show."}
	case byPlanner:
		return []string{"The offline planner does not read the glossary. What it does to answers, only --live or " +
			"recordings (--record) show."}
	}
	return nil
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
		path = filepath.Join(c.Data, "tests.jsonl")
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
