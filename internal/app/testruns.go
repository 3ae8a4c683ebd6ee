package app

import (
	"context"
	"fmt"
	"os"
	"slices"
	"sync"

	"github.com/footnotehq/footnote"
	"github.com/footnotehq/footnote/httpapi"
	"github.com/footnotehq/footnote/knowledge/suite"
)

// testRuns implements httpapi.Tests.
type testRuns struct {
	*App
	running sync.Mutex // held during a run, which opens the sources once more
}

// shownRuns is how many runs of a suite the page shows.
const shownRuns = 50

// paths returns where the suites of the server are: the configured one, and that of the context.
func (t *testRuns) paths() (paths []string) {
	for _, path := range []string{t.cfg.Tests.Suite, ContextTests(t.cfg)} {
		if path != "" {
			paths = append(paths, path)
		}
	}
	return paths
}

// allow refuses callers on a server for several organisations: tests read the data of all, and their reasons quote it.
func (t *testRuns) allow(ctx context.Context, p footnote.Principal) error {
	if shared, err := t.sharesContext(ctx, p.Org); err != nil {
		return err
	} else if shared {
		return footnote.Errorf(footnote.Forbidden, "Several organisations use this server, so only its operator sees "+
			"its tests: with footnote test.")
	}
	return nil
}

// Suites implements httpapi.Tests.
func (t *testRuns) Suites(ctx context.Context, p footnote.Principal) ([]httpapi.SuiteInfo, error) {
	if err := t.allow(ctx, p); err != nil {
		return nil, err
	}
	list := []httpapi.SuiteInfo{}
	for _, path := range t.paths() {
		name, tests, err := ReadSuite(path)
		info := httpapi.SuiteInfo{Name: name, Tests: []string{}, Modes: []string{ByPlanner}, Runs: []suite.Past{}}
		if err != nil {
			t.log.WarnContext(ctx, "cannot read a suite of tests", "suite", path, "err", err)
			info.Name, info.Fault = "tests", "The suite cannot be read; footnote doctor and the server's log say why."
			list = append(list, info)
			continue
		}
		for _, one := range tests.Tests {
			info.Tests = append(info.Tests, one.Name)
		}
		if _, err := os.Stat(RecordingsOf(path)); err == nil {
			info.Modes = append(info.Modes, ByRecordings)
		}
		past, err := suite.History(HistoryFile(t.cfg), name)
		if err != nil {
			return nil, err
		}
		slices.Reverse(past)
		info.Runs = append(info.Runs, past[:min(len(past), shownRuns)]...)
		list = append(list, info)
	}
	return list, nil
}

// Run implements httpapi.Tests.
func (t *testRuns) Run(ctx context.Context, p footnote.Principal, name, mode string) (suite.Past, error) {
	if err := t.allow(ctx, p); err != nil {
		return suite.Past{}, err
	}
	if mode != ByPlanner && mode != ByRecordings {
		return suite.Past{}, footnote.Invalidf("mode must be %s or %s.", ByPlanner, ByRecordings)
	}
	path := ""
	for _, candidate := range t.paths() {
		if its, _, err := ReadSuite(candidate); err == nil && its == name {
			path = candidate
			break
		}
	}
	if path == "" {
		return suite.Past{}, footnote.Errorf(footnote.NotFound, "There is no such suite.")
	}
	if mode == ByRecordings && CheapestMode(RecordingsOf(path)) != ByRecordings {
		return suite.Past{}, footnote.Invalidf("The suite has no recordings. Make them with footnote test --record.")
	}
	if !t.running.TryLock() {
		return suite.Past{}, footnote.Errorf(footnote.Conflict, "Tests are running already. Wait for their end.")
	}
	defer t.running.Unlock()
	report, err := t.runSuiteAt(ctx, path, mode)
	if err != nil {
		return suite.Past{}, fmt.Errorf("run the tests: %w", err)
	}
	if ctx.Err() != nil {
		return suite.Past{}, footnote.Wrapf(footnote.AgentTimeout, context.Cause(ctx), "The tests took too long.")
	}
	past := report.Past()
	past.By = p.User
	return past, suite.Append(HistoryFile(t.cfg), past)
}
