package app

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"net/http"
	"net/url"
	"strings"
	"sync/atomic"
	"time"

	"github.com/footnotehq/footnote"
	"github.com/footnotehq/footnote/config"
	"github.com/footnotehq/footnote/internal/doctor"
	"github.com/footnotehq/footnote/internal/pause"
	"github.com/footnotehq/footnote/knowledge/suite"
	"github.com/footnotehq/footnote/store/postgres"
)

// tester runs the configured suite at the configured times. Of several servers that share a store, one does: the one
// that leads, until it ends or loses its connection to the store. Only one goroutine may use it, except for the
// numbers.
type tester struct {
	schedule time.Duration
	history  string // file
	suite    string // name
	run      func(ctx context.Context) (*suite.Report, error)
	tell     func(ctx context.Context, n notice) error // nil: nobody
	lead     func(ctx context.Context) (release func(), ok bool, err error)
	log      *slog.Logger

	next    time.Time // of the next run, as far as this server knows
	release func()    // gives up the lead; nil: this server does not lead

	failed atomic.Int64 // tests of the last run that did not pass
	last   atomic.Int64 // when it began, in seconds of Unix time; 0: never
}

// testsUser asks the questions of scheduled tests that name nobody else.
const testsUser = "tests"

// newTester returns the tester, or nil if no tests are scheduled. The suite must be readable.
func (a *App) newTester() (*tester, error) {
	c := a.cfg.Tests
	if c.Schedule == 0 {
		return nil, nil
	}
	name, _, err := ReadSuite(c.Suite)
	if err != nil {
		return nil, &config.Invalid{Err: fmt.Errorf("tests.suite: %w", err)}
	}
	t := &tester{schedule: c.Schedule, history: HistoryFile(a.cfg), suite: name, run: a.scheduled, log: a.log}
	if c.Webhook != "" {
		t.tell = webhook(string(c.Webhook), webhookPause)
	}
	t.lead = func(context.Context) (func(), bool, error) { return func() {}, true, nil }
	if p, ok := a.store.(*postgres.Store); ok {
		t.lead = func(ctx context.Context) (func(), bool, error) { return p.Lead(ctx, "tests") }
	}
	a.metrics.Gauge("footnote_tests_failed", "Tests of the last scheduled run that did not pass.", t.failed.Load)
	a.metrics.Gauge("footnote_tests_last_run_seconds",
		"When the last scheduled run of the tests began, in seconds since 1970; 0: never.", t.last.Load)
	return t, nil
}

// scheduled runs the configured suite as footnote test does, with an app of its own.
func (a *App) scheduled(ctx context.Context) (*suite.Report, error) {
	mode := ByModel
	if !a.cfg.Tests.Live {
		mode = CheapestMode(RecordingsOf(a.cfg.Tests.Suite))
	}
	return a.runSuiteAt(ctx, a.cfg.Tests.Suite, mode)
}

// runSuiteAt runs the suite at a path with an app of its own.
func (a *App) runSuiteAt(ctx context.Context, path, mode string) (*suite.Report, error) {
	name, tests, err := ReadSuite(path)
	if err != nil {
		return nil, err
	}
	return RunTests(ctx, a.cfg, TestOptions{
		App:  Options{Version: a.version, Logger: slog.New(onlyErrors{a.log.With("part", "tests").Handler()})},
		Name: name, Suite: tests, Mode: mode, Recordings: RecordingsOf(path),
		SuiteOptions: SuiteOptions{Principal: footnote.Principal{Org: "local", User: testsUser}},
	})
}

// onlyErrors is a log handler that drops everything below the level of errors.
type onlyErrors struct{ slog.Handler }

// Enabled implements slog.Handler.
func (h onlyErrors) Enabled(ctx context.Context, level slog.Level) bool {
	return level >= slog.LevelError && h.Handler.Enabled(ctx, level)
}

// WithAttrs implements slog.Handler.
func (h onlyErrors) WithAttrs(attrs []slog.Attr) slog.Handler {
	return onlyErrors{h.Handler.WithAttrs(attrs)}
}

// WithGroup implements slog.Handler.
func (h onlyErrors) WithGroup(name string) slog.Handler { return onlyErrors{h.Handler.WithGroup(name)} }

// How often a server looks whether a run is due, and how long it waits after a run that failed as a whole.
const (
	testsLook  = time.Minute
	testsAgain = 10 * time.Minute
)

// Run runs the tests until ctx ends.
func (t *tester) Run(ctx context.Context) {
	defer t.leave()
	for pause.For(ctx, testsLook) == nil {
		if err := t.look(ctx); err != nil && ctx.Err() == nil {
			t.log.Error("the scheduled tests could not run", "suite", t.suite, "err", err)
		}
	}
}

// look runs the tests if that is due and if this server leads.
func (t *tester) look(ctx context.Context) error {
	if time.Now().Before(t.next) {
		return nil
	}
	before, err := t.before()
	if err != nil {
		t.next = time.Now().Add(testsAgain)
		return err
	}
	if before.Time.After(time.Now()) {
		before.Time = time.Now() // the clock has been set back
	}
	if t.next = before.Time.Add(t.schedule); time.Now().Before(t.next) {
		return nil
	}
	// The lead may have been lost unnoticed, so it is taken anew for each run.
	t.leave()
	release, ok, err := t.lead(ctx)
	if err != nil || !ok {
		return err
	}
	t.release = release
	return t.pass(ctx, before)
}

// leave gives up the lead.
func (t *tester) leave() {
	if t.release != nil {
		t.release()
		t.release = nil
	}
}

// before returns the last scheduled run in the history, and shows it in the metrics. It is zero without one.
func (t *tester) before() (last suite.Past, err error) {
	past, err := suite.History(t.history, t.suite)
	for _, p := range past {
		if p.Scheduled {
			last = p
		}
	}
	if !last.Time.IsZero() {
		t.show(last)
	}
	return last, err
}

func (t *tester) show(p suite.Past) {
	t.failed.Store(int64(len(p.Unpassed())))
	t.last.Store(p.Time.Unix())
}

var errTestsSlow = errors.New("the tests took longer than tests.schedule")

// pass runs the tests once, keeps the outcomes, and tells what passed before and fails now.
func (t *tester) pass(ctx context.Context, before suite.Past) error {
	t.next = time.Now().Add(testsAgain)
	limited, cancel := context.WithTimeoutCause(ctx, t.schedule, errTestsSlow)
	defer cancel()
	report, err := t.run(limited)
	if err != nil {
		return err
	}
	if limited.Err() != nil {
		return context.Cause(limited) // the outcomes would say that the rest is broken
	}
	now := report.Past()
	now.Scheduled = true
	t.next = now.Time.Add(t.schedule)
	t.show(now)
	worse, _ := suite.Changes(before, now)
	level, failing := slog.LevelInfo, now.Unpassed()
	if len(failing) > 0 {
		level = slog.LevelWarn
	}
	t.log.Log(ctx, level, "tests ran", "suite", t.suite, "by", now.Mode, "tests", len(now.Tests), "failing",
		len(failing), "new_failures", worse, "cost_usd", now.CostUSD, "ms", now.Millis)
	err = suite.Append(t.history, now)
	if len(worse) > 0 && t.tell != nil {
		err = errors.Join(err, t.tell(ctx, noticeOf(now, worse)))
	}
	return err
}

// notice is the body of a call of the webhook. It has no answers or rows, which may be confidential. A test without a
// name is called by its question.
type notice struct {
	Text        string    `json:"text"` // for chat programs, which show it
	Event       string    `json:"event"`
	Suite       string    `json:"suite"`
	Time        time.Time `json:"time"`
	Mode        string    `json:"mode"`
	Model       string    `json:"model"`
	Context     string    `json:"context,omitempty"`
	Tests       int       `json:"tests"`
	Failing     []string  `json:"failing"`
	NewFailures []string  `json:"new_failures"`
}

// maxNamed limits how many tests the text of a notice names.
const maxNamed = 10

func noticeOf(p suite.Past, worse []string) notice {
	named := strings.Join(worse[:min(len(worse), maxNamed)], ", ")
	if more := len(worse) - maxNamed; more > 0 {
		named += fmt.Sprintf(" and %d more", more)
	}
	return notice{
		Text: fmt.Sprintf("Footnote: %s of %s passed before and failed now: %s",
			doctor.Counted(len(worse), "test"), p.Suite, named),
		Event: "tests_failed", Suite: p.Suite, Time: p.Time, Mode: p.Mode, Model: p.Model, Context: p.Context,
		Tests: len(p.Tests), Failing: p.Unpassed(), NewFailures: worse,
	}
}

// Limits of a call of the webhook.
const (
	webhookTime  = 10 * time.Second
	webhookTries = 3
	webhookPause = 5 * time.Second
)

// webhook returns a function that posts a notice to an address. It tries again if the server cannot be reached, is
// busy or fails. Errors do not have the address, which may be a secret.
func webhook(address string, wait time.Duration) func(ctx context.Context, n notice) error {
	client := &http.Client{
		Timeout: webhookTime,
		// The operator chose the address; do not follow redirects elsewhere.
		CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse },
	}
	return func(ctx context.Context, n notice) error {
		body, err := json.Marshal(n)
		if err != nil {
			return err
		}
		for try := 1; ; try++ {
			again, err := post(ctx, client, address, body)
			if err == nil {
				return nil
			}
			if err = fmt.Errorf("tell tests.webhook of new failures: %w", err); !again || try == webhookTries {
				return err
			}
			if pause.For(ctx, time.Duration(try)*wait) != nil {
				return err
			}
		}
	}
}

// post sends a body, and reports whether it may work when it is sent again.
func post(ctx context.Context, client *http.Client, address string, body []byte) (again bool, err error) {
	r, err := http.NewRequestWithContext(ctx, http.MethodPost, address, bytes.NewReader(body))
	if err != nil {
		return false, errors.New("the address is not valid")
	}
	r.Header.Set("Content-Type", "application/json")
	r.Header.Set("User-Agent", "footnote")
	resp, err := client.Do(r)
	if err != nil {
		if e, ok := errors.AsType[*url.Error](err); ok {
			err = e.Err // without the address
		}
		return true, err
	}
	resp.Body.Close()
	if resp.StatusCode >= 200 && resp.StatusCode < 300 {
		return false, nil
	}
	return resp.StatusCode == http.StatusTooManyRequests || resp.StatusCode >= 500,
		fmt.Errorf("it answered with the status %d", resp.StatusCode)
}

// webhookHost returns the scheme and host of an address whose path may be a secret.
func webhookHost(address string) string {
	u, err := url.Parse(address)
	if err != nil || address == "" {
		return ""
	}
	return u.Scheme + "://" + u.Host
}

// checkTests reads the suite that the server runs.
func checkTests(_ context.Context, c config.Config, r *doctor.Report) {
	const what = "tests"
	if c.Tests.Suite == "" {
		return
	}
	name, tests, err := ReadSuite(c.Tests.Suite)
	if err != nil {
		r.Fail(what, err.Error())
		return
	}
	words := fmt.Sprintf("%s in %s", doctor.Counted(len(tests.Tests), "test"), name)
	if c.Tests.Schedule > 0 {
		words += ", run every " + c.Tests.Schedule.String()
	}
	if c.Tests.Webhook != "" {
		words += ", new failures are sent to " + webhookHost(string(c.Tests.Webhook))
	}
	r.OK(what, words)
}
