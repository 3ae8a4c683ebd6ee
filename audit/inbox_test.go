package audit_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/footnotehq/footnote"
	"github.com/footnotehq/footnote/audit"
	"github.com/footnotehq/footnote/store/sqlite/sqlitetest"
)

// TestEachSinkGetsInboxOnce checks that every sink gets each entry of the inbox once, without secrets, also one that
// could not write for a while.
func TestEachSinkGetsInboxOnce(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		good, full, inbox := &sink{}, &sink{}, &audit.Inbox{}
		full.fail(errors.New("the disk is full"))
		a := follow(t, audit.Options{
			Log: sqlitetest.New(t), Inbox: inbox, Secrets: []string{"s3cret"},
			Sinks: map[string]audit.Sink{"good": good, "full": full},
		})
		ctx, cancel := context.WithCancel(t.Context())
		ended := make(chan struct{})
		go func() { a.Run(ctx, time.Second); close(ended) }()
		inbox.Add(refusal("one"))
		time.Sleep(2500 * time.Millisecond)
		inbox.Add(refusal("two s3cret"))
		time.Sleep(2500 * time.Millisecond)
		if questions(t, good) != "one, two ***" || questions(t, full) != "" {
			t.Errorf("%q and %q", questions(t, good), questions(t, full))
		}
		full.fail(nil)
		inbox.Add(refusal("three"))
		cancel()
		<-ended
		for name, s := range map[string]*sink{"good": good, "full": full} {
			if got := questions(t, s); got != "one, two ***, three" {
				t.Errorf("%s has %s", name, got)
			}
		}
	})
}

// TestInboxIsBounded checks that the newest entries are dropped when too many wait, or too large ones.
func TestInboxIsBounded(t *testing.T) {
	for name, c := range map[string]struct {
		added, kept int
		size        int // of each question
	}{
		"many": {1002, 1000, 1}, "large": {40, 15, 1 << 20},
	} {
		out, inbox := &sink{}, &audit.Inbox{}
		for n := range c.added {
			inbox.Add(refusal(fmt.Sprint(n, strings.Repeat("x", c.size))))
		}
		once(t, audit.Options{Log: sqlitetest.New(t), Inbox: inbox, Sinks: map[string]audit.Sink{"x": out}})
		kept := entries(t, out.text())
		last := fmt.Sprint(c.kept-1, "x")
		if len(kept) != c.kept || !strings.HasPrefix(kept[c.kept-1].Question, last) {
			t.Errorf("%s: %d are kept, to %.10s", name, len(kept), kept[len(kept)-1].Question)
		}
	}
}

// TestStatementLineCannotBeRemoved checks that requests that run nothing on the server remove neither the same person's
// line of a statement that ran nor other people's refused questions.
func TestStatementLineCannotBeRemoved(t *testing.T) {
	inBrowser := statement("SELECT 1", footnote.StatementExecuted)
	inBrowser.Results[0].InBrowser = true
	for name, test := range map[string]struct {
		junk audit.Entry
		n    int
	}{
		"many":        {statement("DROP", footnote.StatementRefused), 1100},
		"large":       {statement(strings.Repeat("<", 1<<20), footnote.StatementRefused), 10},
		"not run":     {statement("", footnote.StatementNotRun), 1100},
		"the browser": {inBrowser, 1100},
	} {
		t.Run(name, func(t *testing.T) {
			out, inbox := &sink{}, &audit.Inbox{}
			flood := func() {
				for range test.n {
					inbox.Add(test.junk)
				}
			}
			inbox.Add(statement("first", footnote.StatementExecuted))
			flood()
			inbox.Add(statement("second", footnote.StatementTimedOut))
			question := refusal("May I?")
			question.User = "bob"
			inbox.Add(question)
			flood()
			once(t, audit.Options{Log: sqlitetest.New(t), Inbox: inbox, Sinks: map[string]audit.Sink{"x": out}})
			got := out.text()
			for _, want := range []string{`["first"]`, `["second"]`, "May I?"} {
				if !strings.Contains(got, want) {
					t.Errorf("%s was dropped", want)
				}
			}
		})
	}
}

// TestStatementsWaitForRoom checks that the line of a statement that ran waits when there is no room, and is dropped
// only after a while.
func TestStatementsWaitForRoom(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		out, inbox := &sink{}, &audit.Inbox{}
		out.fail(errors.New("the disk is full"))
		a := follow(t, audit.Options{Log: sqlitetest.New(t), Inbox: inbox, Sinks: map[string]audit.Sink{"x": out}})
		ctx, cancel := context.WithCancel(t.Context())
		ended := make(chan struct{})
		go func() { a.Run(ctx, time.Second); close(ended) }()
		for range 1000 {
			inbox.Add(statement("before", footnote.StatementExecuted))
		}
		begun := time.Now()
		inbox.Add(statement("dropped", footnote.StatementExecuted))
		if time.Since(begun) < time.Second {
			t.Error("the line did not wait")
		}
		time.AfterFunc(time.Second, func() { out.fail(nil) })
		inbox.Add(statement("kept", footnote.StatementExecuted))
		cancel()
		<-ended
		got := entries(t, out.text())
		if last := got[len(got)-1].Queries[0]; len(got) != 1001 || last != "kept" {
			t.Errorf("%d lines, the last is %s", len(got), last)
		}
	})
}

// TestInboxWakesSinks checks that an entry does not wait for the next look at the log.
func TestInboxWakesSinks(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		out, inbox := &sink{}, &audit.Inbox{}
		a := follow(t, audit.Options{
			Log: sqlitetest.New(t), Inbox: inbox, Sinks: map[string]audit.Sink{"x": out}, Poll: time.Hour,
		})
		ctx, cancel := context.WithCancel(t.Context())
		ended := make(chan struct{})
		go func() { a.Run(ctx, time.Second); close(ended) }()
		synctest.Wait()
		inbox.Add(refusal("one"))
		time.Sleep(time.Second)
		if got := questions(t, out); got != "one" {
			t.Errorf("questions in the sink: %q", got)
		}
		cancel()
		<-ended
	})
}

// TestDroppedEntriesAreLoggedTwice checks that a sink which fails for long does not fill the log: it has one line when
// the first entry is dropped, and one with their number when the sink takes entries again.
func TestDroppedEntriesAreLoggedTwice(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		out, inbox, logged := &sink{}, &audit.Inbox{}, &bytes.Buffer{}
		out.fail(errors.New("the disk is full"))
		a := follow(t, audit.Options{
			Log: sqlitetest.New(t), Inbox: inbox, Sinks: map[string]audit.Sink{"x": out},
			Logger: slog.New(slog.NewTextHandler(logged, nil)),
		})
		ctx, cancel := context.WithCancel(t.Context())
		ended := make(chan struct{})
		go func() { a.Run(ctx, time.Second); close(ended) }()
		for range 5 {
			for n := range 300 {
				inbox.Add(refusal(fmt.Sprint(n)))
			}
			time.Sleep(10 * time.Second)
		}
		out.fail(nil)
		time.Sleep(10 * time.Second)
		cancel()
		<-ended
		if n := strings.Count(logged.String(), "dropp"); n != 2 || !strings.Contains(logged.String(), "lines=500") {
			t.Errorf("%d lines:\n%s", n, logged)
		}
		if kept := len(entries(t, out.text())); kept != 1000 {
			t.Errorf("%d entries are kept", kept)
		}
	})
}

// statement returns the entry of a person's statement.
func statement(sql, outcome string) audit.Entry {
	e := audit.NewEntry("query", time.Now())
	e.User = "ada"
	e.Statement(footnote.Statement{SQL: sql, Outcome: outcome})
	return e
}

// refusal returns the entry of a question that was refused.
func refusal(question string) audit.Entry {
	e := audit.NewEntry("audit", time.Now())
	e.Question = question
	e.Failed(footnote.Errorf(footnote.BudgetExceeded, "Nothing is left."))
	return e
}

// questions lists the refused questions that a sink has.
func questions(t *testing.T, s *sink) string {
	t.Helper()
	var list []string
	for _, e := range entries(t, s.text()) {
		if e.Outcome != "refused" || e.Error != string(footnote.BudgetExceeded) {
			t.Errorf("want a refused question: %+v", e)
		}
		list = append(list, e.Question)
	}
	return strings.Join(list, ", ")
}

// TestSideCallsHaveLines checks that a title which the model gave has a line, and a title or summary that failed,
// too. A title without a model call has none, and neither has a call whose caller tells the audit.
func TestSideCallsHaveLines(t *testing.T) {
	log, out := sqlitetest.New(t), &sink{}
	usage, cost := footnote.Usage{Input: 10, Output: 2}, footnote.Cost{MicroUSD: 30}
	put(t, log, "", footnote.Titled{Title: "How many", Auto: true},
		footnote.Titled{Title: "Orders", Auto: true, Usage: usage, Cost: cost, Model: "claude", Millis: 500},
		footnote.Titled{Title: "Mine"},
		footnote.Spent{Model: "claude", Usage: usage, Cost: cost, Conversation: "conv_1", For: footnote.ForSummary},
		footnote.Spent{Model: "claude", Usage: usage, Cost: cost})
	once(t, audit.Options{Log: log, Sinks: map[string]audit.Sink{"x": out}})
	var got []string
	for _, e := range entries(t, out.text()) {
		if e.Metadata.Model != "claude" || *e.Metadata.PromptTokens != 10 || *e.Metadata.CostUSD != 0.00003 ||
			e.User != "alice" {
			t.Errorf("line of a side call: %+v", e)
		}
		got = append(got, fmt.Sprint(e.Type, " ", e.SessionID, " ", e.Outcome, " ", e.Response, " ",
			e.Metadata.DurationSeconds))
	}
	if got := strings.Join(got, "; "); got != "title conv_ finished Orders 0.5; summary conv_1 failed  0" {
		t.Error(got)
	}
}
