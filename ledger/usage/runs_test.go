package usage

import (
	"fmt"
	"testing"

	"github.com/footnotehq/footnote"
)

// TestRunsOfManyOrganisations checks that the stored runs do not grow with the number of organisations, and that each
// organisation keeps its newest.
func TestRunsOfManyOrganisations(t *testing.T) {
	totals, err := Open(nil, "")
	if err != nil {
		t.Fatal(err)
	}
	const orgs, each = 300, 500
	for i := range each {
		for j := range orgs {
			ev := footnote.Positioned{Org: fmt.Sprint("org", j)}
			ev.Run, ev.Body = fmt.Sprint("run_", i), footnote.RunStarted{}
			totals.follow(ev)
		}
	}
	kept := 0
	for org, runs := range totals.kept.Runs {
		if kept += len(runs); runs[len(runs)-1].Run != fmt.Sprint("run_", each-1) {
			t.Fatalf("the newest of %s is %s", org, runs[len(runs)-1].Run)
		}
	}
	if len(totals.kept.Runs) != orgs || kept > maxRuns+1_000 || kept < maxRuns/4 {
		t.Errorf("%d runs of %d organisations are kept", kept, len(totals.kept.Runs))
	}
}
