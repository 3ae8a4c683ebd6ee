package usage

import (
	"context"
	"slices"
	"strings"
	"time"

	"github.com/footnotehq/footnote"
)

// Counts counts questions, runs and calls.
type Counts struct {
	Questions int64 `json:"questions,omitempty"` // asked by a person
	Runs      int64 `json:"runs,omitempty"`      // started to answer them
	Failed    int64 `json:"failed,omitempty"`    // runs that ended with an error
	Calls     int64 `json:"calls,omitempty"`     // calls of server-side tools
	Hits      int64 `json:"hits,omitempty"`      // calls answered from the cache
	// Unreadable counts unreadable events, whose cost may be missing from the sums.
	Unreadable int64 `json:"unreadable,omitempty"`
}

// Add returns the sum of two counts.
func (c Counts) Add(o Counts) Counts {
	return Counts{
		c.Questions + o.Questions, c.Runs + o.Runs, c.Failed + o.Failed, c.Calls + o.Calls, c.Hits + o.Hits,
		c.Unreadable + o.Unreadable,
	}
}

// countsOf returns the counts of one event.
func countsOf(b footnote.Body) Counts {
	switch b := b.(type) {
	case footnote.UserMessage:
		if b.Text != "" {
			return Counts{Questions: 1}
		}
	case footnote.RunStarted:
		return Counts{Runs: 1}
	case footnote.RunFailed:
		return Counts{Failed: 1}
	case footnote.Unreadable:
		return Counts{Unreadable: 1}
	case footnote.ToolResult:
		switch {
		case b.By != "server":
		case b.CacheHit:
			return Counts{Calls: 1, Hits: 1}
		default:
			return Counts{Calls: 1}
		}
	}
	return Counts{}
}

// Run describes a run and its usage. The text of the question is only in the log, as long as the conversation exists.
type Run struct {
	Run          string         `json:"run"`
	Conversation string         `json:"conversation"`
	User         string         `json:"user"`
	Question     int64          `json:"question,omitempty"` // sequence of the question; 0: unknown
	Began        time.Time      `json:"began"`
	Outcome      string         `json:"outcome,omitempty"` // finished, failed or stopped; empty: still active
	Code         footnote.Code  `json:"code,omitempty"`    // of a failed run
	Usage        footnote.Usage `json:"usage"`
	Weight       int64          `json:"weight,omitempty"` // of each token; 0: once
	Cost         footnote.Cost  `json:"cost"`
	Millis       int64          `json:"millis,omitempty"`
}

// runsKept is the number of listed runs per organisation. runsSpare more are kept, so that not every new run moves
// all others.
const (
	runsKept  = 2_000
	runsSpare = 500
	maxRuns   = 100_000 // of all organisations: each start reads the whole file
	maxAsked  = 10_000
)

// thin drops the oldest runs of the organisations with the most runs, if the total is too large. t.mu must be held.
func (t *Totals) thin() {
	total := 0
	for _, runs := range t.kept.Runs {
		total += len(runs)
	}
	if total > maxRuns {
		for keep := runsKept / 2; total > maxRuns/2 && keep > 0; keep /= 2 {
			total = 0
			for org, runs := range t.kept.Runs {
				if len(runs) > keep {
					t.kept.Runs[org] = slices.Clone(runs[len(runs)-keep:])
				}
				total += len(t.kept.Runs[org])
			}
		}
	}
	t.room = max(maxRuns-total, 1_000)
}

// follow updates the runs with an event. t.mu must be held.
func (t *Totals) follow(ev footnote.Positioned) {
	switch b := ev.Body.(type) {
	case footnote.UserMessage:
		if len(t.asked) >= maxAsked {
			clear(t.asked)
		}
		if b.Text != "" {
			t.asked[ev.Stream] = ev.Seq
		}
	case footnote.RunStarted:
		runs := append(t.kept.Runs[ev.Org], Run{
			Run: ev.Run, Conversation: ev.Stream, User: ev.User, Question: t.asked[ev.Stream], Began: ev.Time.UTC(),
			Weight: b.Weight,
		})
		if len(runs) > runsKept+runsSpare {
			runs = slices.Clone(runs[len(runs)-runsKept:])
		}
		t.kept.Runs[ev.Org] = runs
		delete(t.asked, ev.Stream)
		if t.room--; t.room < 0 {
			t.thin()
		}
	case footnote.RunFinished:
		t.end(ev, Run{Outcome: "finished", Usage: b.Usage, Cost: b.Cost, Millis: b.Millis})
	case footnote.RunFailed:
		t.end(ev, Run{Outcome: "failed", Code: b.Code, Usage: b.Usage, Cost: b.Cost, Millis: b.Millis})
	case footnote.RunStopped:
		t.end(ev, Run{Outcome: "stopped", Usage: b.Usage, Cost: b.Cost, Millis: b.Millis})
	case footnote.Unreadable:
		if footnote.Terminal(b) {
			t.end(ev, Run{Outcome: strings.TrimPrefix(b.Kind, "run_")})
		}
	}
}

// end records the end of a run.
func (t *Totals) end(ev footnote.Positioned, how Run) {
	runs := t.kept.Runs[ev.Org]
	for i := range slices.Backward(runs) {
		if r := &runs[i]; r.Run == ev.Run {
			r.Outcome, r.Code, r.Usage, r.Cost, r.Millis = how.Outcome, how.Code, how.Usage, how.Cost, how.Millis
			return
		}
	}
}

// Org returns the usage of each user of an organisation, by user, as days with the oldest first. whole is as in User.
func (t *Totals) Org(ctx context.Context, org string) (users map[string][]Day, whole bool, err error) {
	users = map[string][]Day{}
	whole, err = t.query(ctx, func() {
		for k, days := range t.kept.Users {
			if user, ok := strings.CutPrefix(k, key(org, "")); ok {
				users[user] = slices.Clone(days)
			}
		}
	})
	return users, whole, err
}

// Runs returns the newest runs of an organisation, newest first. whole is as in User.
func (t *Totals) Runs(ctx context.Context, org string) (runs []Run, whole bool, err error) {
	whole, err = t.query(ctx, func() { runs = slices.Clone(t.kept.Runs[org]) })
	slices.Reverse(runs)
	return runs[:min(len(runs), runsKept)], whole, err
}
