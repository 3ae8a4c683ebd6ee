package main

import (
	"os"
	"strings"
	"testing"

	"github.com/footnotehq/footnote/model/offline/eval/measure"
	"github.com/footnotehq/footnote/model/offline/evalset"
	"github.com/footnotehq/footnote/source/child"
	"github.com/footnotehq/footnote/source/duckdb"
	"github.com/footnotehq/footnote/source/sqlite"
)

func TestMain(m *testing.M) {
	child.Main(map[string]child.OpenFunc{sqlite.Kind: sqlite.OpenEngine, duckdb.Kind: duckdb.OpenEngine})
	os.Exit(m.Run())
}

// TestHeldoutResults checks that the planner answers the formerly held-out questions at least as well as when they were
// last worked on. The README of the set has the figures.
func TestHeldoutResults(t *testing.T) {
	report, err := measure.Run(t.Context(), measure.Options{Model: planner, Set: evalset.Heldout, Dir: t.TempDir()})
	if err != nil {
		t.Fatal(err)
	}
	if len(report.Left) > 0 {
		t.Logf("%v are skipped without DuckDB", report.Left)
	}
	for _, g := range report.Goals() {
		switch {
		case g.Name == "right" && len(report.Left) == 0 && g.Got < 93,
			g.Name == "wrong" && len(report.Left) == 0 && g.Got > 1.2, g.Name == "declined" && g.Got < 95:
			t.Errorf("worse than before: %s", g.Text)
		}
	}
}

// TestBlindResults checks that the planner answers the blind questions about as well as in the first run. Nobody works
// on their failures, so that they show the rate to expect for other data.
func TestBlindResults(t *testing.T) {
	report, err := measure.Run(t.Context(), measure.Options{Model: planner, Set: evalset.Blind, Dir: t.TempDir()})
	if err != nil {
		t.Fatal(err)
	}
	if len(report.Left) > 0 {
		t.Logf("%v are skipped without DuckDB", report.Left)
	}
	for _, g := range report.Goals() {
		switch {
		case g.Name == "right" && len(report.Left) == 0 && g.Got < 61,
			g.Name == "wrong" && len(report.Left) == 0 && g.Got > 7, g.Name == "declined" && g.Got < 95:
			t.Errorf("worse than on the first run: %s", g.Text)
		}
	}
}

// TestGoals checks that the planner meets its goals for the frozen set.
func TestGoals(t *testing.T) {
	report, err := measure.Run(t.Context(), measure.Options{Model: planner, Dir: t.TempDir()})
	if err != nil {
		t.Fatal(err)
	}
	for _, g := range report.Goals() {
		if !g.Met {
			t.Errorf("goal %s is missed: %s", g.Name, g.Text)
		}
	}
	if t.Failed() {
		var b strings.Builder
		if err := report.Write(&b, false); err != nil {
			t.Fatal(err)
		}
		t.Logf("go run ./model/offline/eval -v shows the answers\n%s", &b)
	}
}

// TestChoiceResults checks that the planner chooses among several sources at least as well as when these questions were
// last worked on.
func TestChoiceResults(t *testing.T) {
	report, err := measure.RunChoices(t.Context(), measure.Options{Model: planner, Dir: t.TempDir()})
	if err != nil {
		t.Fatal(err)
	}
	if len(report.Left) > 0 {
		t.Skipf("%v are skipped without DuckDB", report.Left)
	}
	if report.Right() < 106 || report.Silent() > 3 {
		t.Errorf("%d of %d are right and %d from a wrong source, want at least 106 and at most 3",
			report.Right(), len(report.Answers), report.Silent())
	}
	for _, a := range report.Answers {
		if a.Unnamed {
			t.Errorf("%s: the answer does not name its source: %s", a.ID, a.Text)
		}
	}
}
