package app

import (
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/footnotehq/footnote/config"
	"github.com/footnotehq/footnote/httpapi"
	"github.com/footnotehq/footnote/knowledge"
	"github.com/footnotehq/footnote/knowledge/suite"
)

// TestTestRuns checks that administrators see the suites and start runs, that a change shows in the next run with its
// reason, and that nobody else does.
func TestTestRuns(t *testing.T) {
	dir := verifiedFolder(t, volume)
	const tests = `tests:
  - {name: booked, question: Booked volume in March 2026, expect: {verified: volume, badge: true}}
  - {name: orders, question: "How many orders are there?", expect: {sql: "SELECT count(*) FROM orders"}}
`
	if err := knowledge.AddFiles(dir, map[string][]byte{"tests/all.yaml": []byte(tests)}); err != nil {
		t.Fatal(err)
	}
	g := newRig(t, t.TempDir(), admins(dir))
	var got struct {
		Suites []httpapi.SuiteInfo
		Run    suite.Past
	}
	g.call("GET", "/api/tests", nil, 200, &got)
	if len(got.Suites) != 1 || got.Suites[0].Name != "tests" ||
		!slices.Equal(got.Suites[0].Modes, []string{ByPlanner}) ||
		!slices.Equal(got.Suites[0].Tests, []string{"booked", "orders"}) || len(got.Suites[0].Runs) != 0 {
		t.Fatalf("suites %+v", got)
	}
	start := in("suite", "tests", "mode", "planner")
	g.call("POST", "/api/tests/runs", start, 200, &got)
	if len(got.Run.Unpassed()) != 0 || got.Run.By != "ada" || len(got.Run.Tests) != 2 {
		t.Errorf("first run %+v", got.Run)
	}
	if err := os.Remove(filepath.Join(dir, "verified", "volume.sql")); err != nil {
		t.Fatal(err)
	}
	g.call("POST", "/api/tests/runs", start, 200, &got)
	if !slices.Equal(got.Run.Unpassed(), []string{"booked"}) || len(got.Run.Reasons["booked"]) == 0 {
		t.Errorf("second run %+v", got.Run)
	}
	g.call("GET", "/api/tests", nil, 200, &got)
	if runs := got.Suites[0].Runs; len(runs) != 2 || len(runs[0].Unpassed()) != 1 || len(runs[1].Unpassed()) != 0 {
		t.Errorf("runs %+v", runs)
	}
	for want, body := range map[string]map[string]any{
		"mode must be":  in("suite", "tests", "mode", "live"),
		"no recordings": in("suite", "tests", "mode", "recordings"),
		"no such suite": in("suite", "../x", "mode", "planner"),
	} {
		w := g.do(g.request("POST", "/api/tests/runs", body))
		if w.Code < 400 || !strings.Contains(w.Body.String(), want) {
			t.Errorf("%v: %d %s", body, w.Code, w.Body)
		}
	}
	g.as(bobsKey, "GET", "/api/tests", nil, http.StatusForbidden)
	g.as(bobsKey, "POST", "/api/tests/runs", start, http.StatusForbidden)

	shared := newRig(t, t.TempDir(), admins(dir), func(c *config.Config) {
		c.APIKeys = append(c.APIKeys, config.Key{Key: cemsKey, Org: "other", User: "cem"})
	})
	if text := shared.as(adasKey, "GET", "/api/tests", nil, http.StatusForbidden); !strings.Contains(text, "operator") {
		t.Error(text)
	}
}
