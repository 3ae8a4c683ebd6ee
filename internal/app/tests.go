package app

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"time"

	"github.com/footnotehq/footnote"
	"github.com/footnotehq/footnote/config"
	"github.com/footnotehq/footnote/internal/plainfile"
	"github.com/footnotehq/footnote/knowledge/suite"
	"github.com/footnotehq/footnote/model"
	"github.com/footnotehq/footnote/model/recorded"
)

// Who answers the questions of a suite.
const (
	ByPlanner    = "planner"
	ByRecordings = "recordings"
	ByModel      = "live"
)

// ErrNoModel is returned by RunTests when it should ask a model and none is configured.
var ErrNoModel = errors.New("no model is configured; set model_key or base_url")

// TestOptions configure RunTests.
type TestOptions struct {
	App        Options // of the app that answers; without modules
	Name       string  // of the suite
	Suite      *suite.Suite
	Mode       string // ByPlanner, ByRecordings or ByModel
	Recordings string // file that is replayed or, with Record, written
	Record     bool
	// Announce is called before a model is asked; an error ends the run. It may be nil.
	Announce func(ctx context.Context, a *App, c config.Config) error
	SuiteOptions
}

// ReadSuite reads a suite, or the suites of a folder as one, and returns its name and content.
func ReadSuite(path string) (string, *suite.Suite, error) {
	if info, err := os.Stat(path); err == nil && info.IsDir() {
		return readSuites(path)
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

// readSuites reads the suites of a folder.
func readSuites(folder string) (string, *suite.Suite, error) {
	paths, err := filepath.Glob(filepath.Join(folder, "*.yaml"))
	if err == nil && len(paths) == 0 {
		err = fmt.Errorf("read the suite: the folder %s has no files *.yaml", folder)
	}
	if err != nil {
		return "", nil, err
	}
	files := map[string][]byte{}
	for _, path := range paths {
		if files[path], err = plainfile.Read(path, suite.MaxBytes); err != nil {
			return "", nil, fmt.Errorf("read the suite: %w", err)
		}
	}
	tests, err := suite.Join(files)
	return filepath.Base(folder), tests, err
}

// ContextTests returns the folder of the tests in the context folder, or "" if it has none.
func ContextTests(c config.Config) string {
	if c.Context == "" {
		return ""
	}
	folder := filepath.Join(c.Context, suite.Folder)
	if _, err := os.Stat(folder); err != nil {
		return ""
	}
	return folder
}

// RecordingsOf returns the file of a suite's recordings.
func RecordingsOf(path string) string {
	return strings.TrimSuffix(path, filepath.Ext(path)) + ".recordings"
}

// CheapestMode returns who answers without cost: the recordings if the file exists, otherwise the planner.
func CheapestMode(recordings string) string {
	if _, err := os.Stat(recordings); err != nil {
		return ByPlanner
	}
	return ByRecordings
}

// HistoryFile returns the file with the runs of a data folder.
func HistoryFile(c config.Config) string { return filepath.Join(c.Data, "tests.jsonl") }

// testRun is one run of a suite by an app of its own.
type testRun struct {
	TestOptions
	recorder *recorded.Recorder
	player   *recorded.Player
	parts    map[string]footnote.Digest
}

// RunTests runs a suite once, in a data folder of its own, which is deleted afterwards.
func RunTests(ctx context.Context, c config.Config, o TestOptions) (_ *suite.Report, err error) {
	folder, err := os.MkdirTemp("", "footnote-test-")
	if err != nil {
		return nil, fmt.Errorf("create a folder for the test's data: %w", err)
	}
	defer func() { err = errors.Join(err, os.RemoveAll(folder)) }()
	c, err = isolated(ctx, c, folder)
	if err != nil {
		return nil, err
	}
	t := &testRun{TestOptions: o}
	t.App.Modules = nil
	begun := time.Now()
	if c, err = t.choose(c, begun); err != nil {
		return nil, err
	}
	a, err := New(ctx, c, t.App)
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, a.Close(ctx)) }()
	if t.parts, err = a.Parts(ctx, o.Principal); err != nil {
		return nil, err
	}
	if o.Mode == ByModel && o.Announce != nil {
		if err := o.Announce(ctx, a, c); err != nil {
			return nil, err
		}
	}
	report := t.ask(ctx, a)
	report.Model = c.Model
	if o.Mode == ByPlanner {
		report.Model = "offline-planner"
	}
	if o.Record {
		err = t.record(ctx, report, recorded.Head{
			Format: recorded.Format, Time: begun.UTC(), Upstream: c.Upstream, Model: c.Model, Parts: t.parts,
		})
	}
	return report, err
}

// choose returns the configuration for who answers, and sets the options that go with it.
func (t *testRun) choose(c config.Config, begun time.Time) (config.Config, error) {
	switch t.Mode {
	case ByModel:
		if c.Upstream == config.Offline {
			return c, ErrNoModel
		}
		t.App.Wrap = func(m model.Model) model.Model { t.recorder = recorded.NewRecorder(m); return t.recorder }
		return asking(c, c.Upstream, c.Tiers.HighModel), nil // the model of the default tier
	case ByRecordings:
		tape, err := recorded.Read(t.Recordings)
		if err != nil {
			return c, err
		}
		t.player = recorded.NewPlayer(tape, func() map[string]footnote.Digest { return t.parts })
		t.Missed = t.player.Missed
		t.App.Wrap = func(model.Model) model.Model { return t.player }
		t.App.Now = func() time.Time { return tape.Head.Time.Add(time.Since(begun)) }
		c = asking(c, tape.Head.Upstream, tape.Head.Model)
		c.BaseURL, c.APIKey = "http://127.0.0.1:1", "recordings" // neither is used
		return c, nil
	}
	return asking(c, config.Offline, config.Offline), nil
}

// isolated returns a configuration that keeps everything in a folder and sends nothing elsewhere. Without sources, it
// has those of the demo.
func isolated(ctx context.Context, c config.Config, folder string) (config.Config, error) {
	c.Data, c.Store, c.Redis, c.Workspace, c.Market.Store = folder, "", "", "", ""
	c.Traces.Endpoint, c.LogOutput, c.LogFile = "", "stdout", "audit.jsonl"
	c.Tests = config.Tests{}
	if c.Marks == "auto" {
		c.Marks = "on" // what a model reads must not depend on the tests before
	}
	if len(c.Sources) > 0 {
		return c, nil
	}
	var err error
	if c.Sources, err = DemoShop(ctx, folder); err == nil && c.Context == "" {
		c.Context, err = DemoContext(c.Data)
	}
	return c, err
}

// asking returns a configuration in which a model answers alone.
func asking(c config.Config, upstream, name string) config.Config {
	c.Upstream, c.Model, c.Fallbacks = upstream, name, nil
	c.Tiers.ProModel, c.Tiers.HighModel, c.Tiers.LowModel = name, name, name
	return c
}

// ask runs the tests.
func (t *testRun) ask(ctx context.Context, a *App) *suite.Report {
	begun := time.Now()
	r := &suite.Report{
		Suite: t.Name, Time: begun, Mode: t.Mode, Context: a.ContextDigest(), Notes: testNotes(t.Mode),
	}
	r.Outcomes = a.RunSuite(ctx, t.Suite, t.SuiteOptions)
	if t.player != nil {
		if changed := t.player.Changed(); len(changed) > 0 {
			r.Notes = append(r.Notes, "Changed since the recording: "+strings.Join(changed, ", ")+".")
		}
	}
	r.Millis = time.Since(begun).Milliseconds()
	for _, out := range r.Outcomes {
		r.CostUSD += out.CostUSD
	}
	return r
}

// testNotes says what a run cannot find.
func testNotes(mode string) []string {
	switch mode {
	case ByRecordings:
		return []string{"Recordings show that prompts and results are as before. What a changed glossary does to " +
			"answers, only --live or new recordings (--record) show."}
	case ByPlanner:
		return []string{"The offline planner does not read the glossary. What it does to answers, only --live or " +
			"recordings (--record) show."}
	}
	return nil
}

// record writes the recordings of a complete run. Those of a run in which questions have no answer must not replace
// earlier ones.
func (t *testRun) record(ctx context.Context, r *suite.Report, head recorded.Head) error {
	if ctx.Err() != nil {
		return context.Cause(ctx)
	}
	for _, o := range r.Outcomes {
		if o.Steps == 0 {
			return fmt.Errorf("the recordings were not written, because %q could not be asked: %s", o.Name,
				strings.Join(o.Reasons, "; "))
		}
	}
	return (&recorded.Tape{Head: head, Entries: t.recorder.Entries()}).Write(t.Recordings)
}
