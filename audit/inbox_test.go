package audit_test

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/footnotehq/footnote"
	"github.com/footnotehq/footnote/audit"
	"github.com/footnotehq/footnote/store"
)

// TestEachSinkHasTheInboxOnce checks that every sink gets each entry of the inbox once, without secrets, also one that
// could not write for a while.
func TestEachSinkHasTheInboxOnce(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		good, full, inbox := &sink{}, &sink{}, &audit.Inbox{}
		full.fail(errors.New("the disk is full"))
		a := follow(t, audit.Options{
			Log: store.NewMem(), Inbox: inbox, Secrets: []string{"s3cret"},
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

// TestTheInboxIsBounded checks that the oldest entries are dropped when too many wait, or too large ones.
func TestTheInboxIsBounded(t *testing.T) {
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
		once(t, audit.Options{Log: store.NewMem(), Inbox: inbox, Sinks: map[string]audit.Sink{"x": out}})
		kept := entries(t, out.text())
		first := fmt.Sprint(c.added-c.kept, "x")
		if len(kept) != c.kept || !strings.HasPrefix(kept[0].Question, first) {
			t.Errorf("%s: %d are kept, from %.10s", name, len(kept), kept[0].Question)
		}
	}
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
			t.Errorf("%+v", e)
		}
		list = append(list, e.Question)
	}
	return strings.Join(list, ", ")
}

// TestCallsBesideRunsHaveALine checks that a title which the model gave has a line, and a title or summary that failed,
// too. A title without a model call has none, and neither has a call whose caller tells the audit.
func TestCallsBesideRunsHaveALine(t *testing.T) {
	log, out := store.NewMem(), &sink{}
	usage, cost := footnote.Usage{Input: 10, Output: 2}, footnote.Cost{MicroUSD: 30}
	put(t, log, "", footnote.Titled{Title: "How many", Auto: true},
		footnote.Titled{Title: "Orders", Auto: true, Usage: usage, Cost: cost, Model: "claude", Millis: 500},
		footnote.Titled{Title: "Mine"},
		footnote.Spent{Model: "claude", Usage: usage, Cost: cost, Conversation: "conv_1", For: footnote.ForSummary},
		footnote.Spent{Model: "claude", Usage: usage, Cost: cost})
	once(t, audit.Options{Log: log, Sinks: map[string]audit.Sink{"x": out}})
	var got []string
	for _, e := range entries(t, out.text()) {
		if e.Metadata.Model != "claude" || *e.Metadata.PromptTokens != 10 || *e.Metadata.CostUSD != 0.00003 || e.User != "alice" {
			t.Errorf("%+v", e)
		}
		got = append(got, fmt.Sprint(e.Type, " ", e.SessionID, " ", e.Outcome, " ", e.Response, " ", e.Metadata.DurationSeconds))
	}
	if got := strings.Join(got, "; "); got != "title conv_ finished Orders 0.5; summary conv_1 failed  0" {
		t.Error(got)
	}
}
