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

// TestHeldout holds the planner to what it had reached when the held-out questions had
// been worked on, which the set's README has; they are no longer held out.
func TestHeldout(t *testing.T) {
	report, err := measure.Run(t.Context(), measure.Options{Model: planner, Set: evalset.Heldout, Dir: t.TempDir()})
	if err != nil {
		t.Fatal(err)
	}
	if len(report.Left) > 0 {
		t.Logf("without DuckDB, %v are left out", report.Left)
	}
	for _, g := range report.Goals() {
		switch {
		case g.Name == "right" && len(report.Left) == 0 && g.Got < 93,
			g.Name == "wrong" && len(report.Left) == 0 && g.Got > 1.2, g.Name == "declined" && g.Got < 95:
			t.Errorf("worse than it was: %s", g.Text)
		}
	}
}

// TestBlind holds the planner to the first run over the blind questions, less what
// rounding costs. Nobody works on their failures, so this is the rate to expect.
func TestBlind(t *testing.T) {
	report, err := measure.Run(t.Context(), measure.Options{Model: planner, Set: evalset.Blind, Dir: t.TempDir()})
	if err != nil {
		t.Fatal(err)
	}
	if len(report.Left) > 0 {
		t.Logf("without DuckDB, %v are left out", report.Left)
	}
	for _, g := range report.Goals() {
		switch {
		case g.Name == "right" && len(report.Left) == 0 && g.Got < 61,
			g.Name == "wrong" && len(report.Left) == 0 && g.Got > 7, g.Name == "declined" && g.Got < 95:
			t.Errorf("worse than on the first run: %s", g.Text)
		}
	}
}

// TestGoals holds the planner to its goals on the frozen set.
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

// TestChoices holds the planner to what it had reached when the questions to several sources had been worked on.
func TestChoices(t *testing.T) {
	report, err := measure.RunChoices(t.Context(), measure.Options{Model: planner, Dir: t.TempDir()})
	if err != nil {
		t.Fatal(err)
	}
	if len(report.Left) > 0 {
		t.Skipf("without DuckDB, %v are left out", report.Left)
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
