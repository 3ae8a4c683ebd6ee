package app

import (
	"context"
	"encoding/json"
	"errors"
	"io"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/footnotehq/footnote/config"
	"github.com/footnotehq/footnote/internal/doctor"
	"github.com/footnotehq/footnote/internal/pgtest"
	"github.com/footnotehq/footnote/knowledge/suite"
)

// scheduledTests is a tester whose runs are scripted, in a bubble with a clock of its own.
type scheduledTests struct {
	*tester
	begun []time.Duration
	told  []notice
	start time.Time
	fails time.Duration // after the start, the test a fails from then on
	takes time.Duration // a run
	other bool          // another server leads
	err   error         // of a run
}

func newScheduledTests(t *testing.T, history string) *scheduledTests {
	s := &scheduledTests{start: time.Now(), fails: 1000 * time.Hour}
	s.tester = &tester{
		schedule: time.Hour, history: history, suite: "tests", log: slog.New(slog.NewTextHandler(t.Output(), nil)),
		run: func(ctx context.Context) (*suite.Report, error) {
			s.begun = append(s.begun, time.Since(s.start))
			status := suite.Passed
			if time.Since(s.start) >= s.fails {
				status = suite.Failed
			}
			r := &suite.Report{Suite: "tests", Time: time.Now(), Mode: ByPlanner, Outcomes: []suite.Outcome{
				{Name: "a", Status: status}, {Name: "b", Status: suite.Passed},
			}}
			select {
			case <-time.After(s.takes):
			case <-ctx.Done():
			}
			return r, s.err
		},
		tell: func(_ context.Context, n notice) error { s.told = append(s.told, n); return nil },
		lead: func(context.Context) (func(), bool, error) { return func() {}, !s.other, nil },
	}
	return s
}

// during lets the tester run for a time.
func (s *scheduledTests) during(t *testing.T, d time.Duration) {
	t.Helper()
	ctx, stop := context.WithTimeout(t.Context(), d)
	defer stop()
	s.Run(ctx)
}

func TestScheduledTests(t *testing.T) {
	history := filepath.Join(t.TempDir(), "tests.jsonl")
	synctest.Test(t, func(t *testing.T) {
		s := newScheduledTests(t, history)
		s.fails = 2 * time.Hour
		s.during(t, 3*time.Hour+30*time.Minute)
		if !slices.Equal(s.begun, []time.Duration{
			time.Minute, 61 * time.Minute, 121 * time.Minute, 181 * time.Minute,
		}) {
			t.Errorf("runs began after %v", s.begun)
		}
		if len(s.told) != 1 || !slices.Equal(s.told[0].NewFailures, []string{"a"}) || s.told[0].Tests != 2 ||
			!strings.Contains(s.told[0].Text, "1 test of tests passed before and failed now: a") {
			t.Errorf("told %+v", s.told)
		}
		if s.failed.Load() != 1 || s.last.Load() == 0 {
			t.Errorf("metrics: %d, %d", s.failed.Load(), s.last.Load())
		}

		// A restart does not run what is not due, and remembers the outcomes. A run by hand counts for neither.
		byHand := suite.Past{Time: time.Now(), Suite: "tests", Tests: map[string]string{"a": suite.Passed}}
		err := suite.Append(history, byHand)
		if err != nil {
			t.Fatal(err)
		}
		s = newScheduledTests(t, history)
		s.fails = 0
		s.during(t, 20*time.Minute)
		if len(s.begun) != 0 || s.failed.Load() != 1 {
			t.Errorf("after a restart, runs began after %v; %d failed", s.begun, s.failed.Load())
		}
		s.during(t, 20*time.Minute)
		if len(s.begun) != 1 || len(s.told) != 0 {
			t.Errorf("later, runs began after %v; told %+v", s.begun, s.told)
		}
	})
}

// TestScheduledTestsThatDoNotCount checks that a server that does not lead runs nothing, and that runs that break off
// are repeated and not kept.
func TestScheduledTestsThatDoNotCount(t *testing.T) {
	for name, c := range map[string]struct {
		set  func(s *scheduledTests)
		runs int
	}{
		"another server leads": {func(s *scheduledTests) { s.other = true }, 0},
		"an error":             {func(s *scheduledTests) { s.err = errors.New("the source is away") }, 6},
		"too slow":             {func(s *scheduledTests) { s.takes = 2 * time.Hour }, 1},
	} {
		t.Run(name, func(t *testing.T) {
			history := filepath.Join(t.TempDir(), "tests.jsonl")
			synctest.Test(t, func(t *testing.T) {
				s := newScheduledTests(t, history)
				c.set(s)
				s.during(t, time.Hour)
				if len(s.begun) != c.runs || s.last.Load() != 0 {
					t.Errorf("runs began after %v, the last at %d", s.begun, s.last.Load())
				}
				if _, err := os.Stat(history); !os.IsNotExist(err) {
					t.Errorf("there is a history: %v", err)
				}
			})
		})
	}
}

func TestWebhook(t *testing.T) {
	var answers []int
	var bodies []string
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		body, _ := io.ReadAll(r.Body)
		bodies = append(bodies, r.Method+" "+r.Header.Get("Content-Type")+" "+string(body))
		w.Header().Set("Location", "/elsewhere")
		w.WriteHeader(answers[0])
		answers = answers[1:]
	}))
	defer server.Close()
	n := notice{Text: "one", Event: "tests_failed", NewFailures: []string{"a"}}
	for name, c := range map[string]struct {
		answers []int
		calls   int
		fails   string
	}{
		"at once":            {[]int{204}, 1, ""},
		"the second time":    {[]int{500, 200}, 2, ""},
		"busy":               {[]int{429, 503, 200}, 3, ""},
		"never":              {[]int{500, 500, 500}, 3, "500"},
		"refused":            {[]int{404}, 1, "404"},
		"sends it elsewhere": {[]int{307}, 1, "307"},
	} {
		answers, bodies = c.answers, nil
		err := webhook(server.URL+"/hush", time.Millisecond)(t.Context(), n)
		if len(bodies) != c.calls || (err == nil) != (c.fails == "") ||
			err != nil && (!strings.Contains(err.Error(), c.fails) || strings.Contains(err.Error(), "hush")) {
			t.Errorf("%s: %d calls, %v", name, len(bodies), err)
		}
		var got notice
		if err := json.Unmarshal([]byte(strings.TrimPrefix(bodies[0], "POST application/json ")), &got); err != nil ||
			got.Text != "one" || got.NewFailures[0] != "a" {
			t.Errorf("%s: the body is %s", name, bodies[0])
		}
	}
	server.Close()
	err := webhook(server.URL+"/hush", time.Millisecond)(t.Context(), n)
	if err == nil || strings.Contains(err.Error(), "hush") {
		t.Errorf("without a server: %v", err)
	}
}

const scheduledSuite = `
tests:
  - {name: customers, question: "How many customers are there?", expect: {rows: [[140]]}}
`

// TestScheduledRun runs a suite twice over a real source. Between the runs, the expected figure changes.
func TestScheduledRun(t *testing.T) {
	path := filepath.Join(t.TempDir(), "tests.yaml")
	write := func(text string) {
		t.Helper()
		if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	write(scheduledSuite)
	var told notice
	hook := httptest.NewServer(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
		if err := json.NewDecoder(r.Body).Decode(&told); err != nil {
			t.Error(err)
		}
	}))
	defer hook.Close()
	g := newRig(t, t.TempDir(), func(c *config.Config) {
		c.Tests = config.Tests{Suite: path, Schedule: time.Hour, Webhook: config.Secret(hook.URL + "/hush")}
	})
	tests, err := g.app.newTester()
	if err != nil {
		t.Fatal(err)
	}
	if err := tests.look(t.Context()); err != nil {
		t.Fatal(err)
	}
	write(strings.Replace(scheduledSuite, "140", "141", 1))
	if err := tests.look(t.Context()); err != nil || told.Suite != "" {
		t.Fatalf("a run that is not due: %v, %+v", err, told)
	}
	before, err := tests.before()
	if err != nil || before.Mode != ByPlanner || before.Model != "offline-planner" ||
		before.Tests["customers"] != suite.Passed {
		t.Fatalf("the first run: %+v, %v", before, err)
	}
	if err := tests.pass(t.Context(), before); err != nil {
		t.Fatal(err)
	}
	if !slices.Equal(told.NewFailures, []string{"customers"}) || told.Mode != ByPlanner || told.Tests != 1 {
		t.Errorf("told %+v", told)
	}
	scrape := g.do(g.request("GET", "/metrics", nil)).Body.String()
	if !strings.Contains(scrape, "\nfootnote_tests_failed 1\n") ||
		!strings.Contains(scrape, "\nfootnote_tests_last_run_seconds ") {
		t.Errorf("metrics: %s", scrape)
	}
	if services := g.app.externalServices(); !slices.Contains(services, any(hook.URL)) {
		t.Errorf("external services: %v", services)
	}
	if list, err := g.app.store.Tail(t.Context(), 0, 10); err != nil || len(list) != 0 {
		t.Errorf("the server's own log has %d events, %v", len(list), err)
	}
}

// TestOneServerRunsTheTests checks that of two servers with one store only the one that leads runs the tests, and that
// the other one takes over.
func TestOneServerRunsTheTests(t *testing.T) {
	path, url := filepath.Join(t.TempDir(), "tests.yaml"), pgtest.Database(t)
	if err := os.WriteFile(path, []byte(scheduledSuite), 0o600); err != nil {
		t.Fatal(err)
	}
	servers := make([]*tester, 2)
	for i := range servers {
		g := newRig(t, t.TempDir(), func(c *config.Config) {
			c.Store, c.Tests = config.Secret(url), config.Tests{Suite: path, Schedule: time.Hour}
		})
		var err error
		if servers[i], err = g.app.newTester(); err != nil {
			t.Fatal(err)
		}
	}
	looks := func(want ...bool) {
		t.Helper()
		for i, s := range servers {
			if err := s.look(t.Context()); err != nil || (s.last.Load() != 0) != want[i] {
				t.Errorf("server %d ran at %d, %v", i, s.last.Load(), err)
			}
		}
	}
	looks(true, false)
	looks(true, false)
	servers[0].leave()
	looks(true, true)
	servers[1].leave()
}

// TestFaultySuiteStopsTheStart checks that the error names the setting and the fault, as does footnote doctor.
func TestFaultySuiteStopsTheStart(t *testing.T) {
	path := filepath.Join(t.TempDir(), "tests.yaml")
	if err := os.WriteFile(path, []byte("tests: [{question: a}]"), 0o600); err != nil {
		t.Fatal(err)
	}
	g := newRig(t, t.TempDir(), func(c *config.Config) {
		c.Tests = config.Tests{Suite: path, Schedule: time.Hour}
	})
	_, err := g.app.newTester()
	if err == nil || !strings.Contains(err.Error(), "tests.suite: "+path+": test 1: expect needs") {
		t.Errorf("error is %v", err)
	}
	r := &doctor.Report{}
	checkTests(t.Context(), g.app.cfg, r)
	if !r.Failed() {
		t.Errorf("doctor: %+v", r.Checks)
	}
}
