package main

import (
	"os"
	"strings"
	"testing"

	"github.com/footnotehq/footnote/model/offline/eval/measure"
	"github.com/footnotehq/footnote/source/child"
	"github.com/footnotehq/footnote/source/duckdb"
	"github.com/footnotehq/footnote/source/sqlite"
)

func TestMain(m *testing.M) {
	child.Main(map[string]child.OpenFunc{sqlite.Kind: sqlite.OpenEngine, duckdb.Kind: duckdb.OpenEngine})
	os.Exit(m.Run())
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
