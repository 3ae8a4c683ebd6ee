// Package eval_test measures the offline planner with the evaluation sets: it asks every question through the real run
// loop, over the real sources, and compares the answers with the results of the set's own SQL. The tests check that no
// set gets worse; with -report, they print what they measured and judge it by the goals instead:
//
//	go test ./model/offline/eval -count=1 -v -run TestGoals -args -report
//
// make eval-offline does this, and likewise eval-heldout, eval-blind, eval-fresh, eval-unseen and eval-sources. They
// pass on more flags: make eval-offline ARGS='-details -id clinic-001'.
package eval_test

import (
	"flag"
	"fmt"
	"os"
	"testing"

	"github.com/footnotehq/footnote/model"
	"github.com/footnotehq/footnote/model/offline"
	"github.com/footnotehq/footnote/model/offline/evalset"
	"github.com/footnotehq/footnote/source/child"
	"github.com/footnotehq/footnote/source/duckdb"
	"github.com/footnotehq/footnote/source/sqlite"
)

var (
	printReport = flag.Bool("report", false, "print the report of each set, and judge it by the goals")
	details     = flag.Bool("details", false, "with -report: show every answer that is not as expected")
	onlySource  = flag.String("source", "", "with -report: measure the questions about this source only")
	onlyID      = flag.String("id", "", "with -report: measure the question or pair with this id only")
)

func TestMain(m *testing.M) {
	child.Main(map[string]child.OpenFunc{sqlite.Kind: sqlite.OpenEngine, duckdb.Kind: duckdb.OpenEngine})
	os.Exit(m.Run())
}

// selected returns the options that measure the planner with a set, or with the part of it that the flags select.
func selected(set evalset.Set) options {
	return options{
		model: func(sources openSources) model.Model { return offline.New(offline.Options{Catalog: sources}) },
		set:   set, source: *onlySource, id: *onlyID,
	}
}

// measurePlanner measures the planner with a set, and prints the report if asked.
func measurePlanner(t *testing.T, set evalset.Set) report {
	t.Helper()
	r := measureSet(t, selected(set))
	if *printReport {
		fmt.Print(r.text(*details))
	} else if len(r.left) > 0 {
		t.Logf("%v are skipped without DuckDB", r.left)
	}
	return r
}

// checkGoals checks that a report meets the goals.
func checkGoals(t *testing.T, r report) {
	t.Helper()
	for _, g := range r.goals() {
		if !g.met {
			t.Errorf("goal %s is missed: %s", g.name, g.text)
		}
	}
}

// floor is the worst result that is accepted for a set, in percent.
type floor struct{ right, wrong, declined float64 }

// check checks a set's result. A report is judged by the goals instead, because it may be about a part of the set.
func (f floor) check(t *testing.T, set evalset.Set) {
	t.Helper()
	r := measurePlanner(t, set)
	if *printReport {
		checkGoals(t, r)
		return
	}
	whole := len(r.left) == 0
	for _, g := range r.goals() {
		switch {
		case g.name == "right" && whole && g.got < f.right, g.name == "wrong" && whole && g.got > f.wrong,
			g.name == "declined" && g.got < f.declined:
			t.Errorf("worse than before: %s", g.text)
		}
	}
}

// TestHeldoutResults checks that the planner answers the formerly held-out questions at least as well as when they were
// last worked on. The README of the set has the figures.
func TestHeldoutResults(t *testing.T) {
	floor{right: 92, wrong: 1.2, declined: 95}.check(t, evalset.Heldout)
}

// TestBlindResults checks that the planner answers the blind questions about as well as in the first run. Nobody works
// on their failures, so that they show the rate to expect for other data.
func TestBlindResults(t *testing.T) {
	floor{right: 61, wrong: 7, declined: 95}.check(t, evalset.Blind)
}

// TestGoals checks that the planner meets its goals for the frozen set.
func TestGoals(t *testing.T) {
	r := measurePlanner(t, evalset.Frozen)
	checkGoals(t, r)
	if t.Failed() && !*printReport {
		t.Logf("make eval-offline ARGS=-details shows the answers\n%s", r.text(false))
	}
}

// TestFreshResults checks that the planner answers the fresh questions at least as well as when they were last asked.
func TestFreshResults(t *testing.T) {
	floor{right: 92, wrong: 0, declined: 95}.check(t, evalset.Fresh)
}

// TestUnseenResults checks that the planner answers the unseen questions at least as well as when they were last asked.
func TestUnseenResults(t *testing.T) {
	floor{right: 92, wrong: 2, declined: 92}.check(t, evalset.Unseen)
}

// TestChoiceResults checks that the planner chooses among several sources at least as well as when these questions were
// last worked on.
func TestChoiceResults(t *testing.T) {
	r := measureChoices(t, selected(evalset.Several))
	if *printReport {
		fmt.Print(r.text(*details))
		return
	}
	if len(r.left) > 0 {
		t.Skipf("%v are skipped without DuckDB", r.left)
	}
	if all := r.total(); all.right < 106 || all.wrongSource > 3 {
		t.Errorf("%d of %d are right and %d from a wrong source, want at least 106 and at most 3",
			all.right, all.all, all.wrongSource)
	}
	for _, a := range r.answers {
		if a.unnamed {
			t.Errorf("%s: the answer does not name its source: %s", a.ID, a.text)
		}
	}
}
