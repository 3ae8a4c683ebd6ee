package usage

import (
	"context"
	"slices"
	"strings"
	"time"

	"github.com/footnotehq/footnote"
)

// Counts are how often something happened.
type Counts struct {
	Questions int64 `json:"questions,omitempty"` // that a person asked
	Runs      int64 `json:"runs,omitempty"`      // that were begun to answer them
	Failed    int64 `json:"failed,omitempty"`    // runs that an error ended
	Calls     int64 `json:"calls,omitempty"`     // of our tools
	Hits      int64 `json:"hits,omitempty"`      // of these, answered from the cache
	// Unreadable events of the log may have cost something that is not counted.
	Unreadable int64 `json:"unreadable,omitempty"`
}

// Add is the sum.
func (c Counts) Add(o Counts) Counts {
	return Counts{c.Questions + o.Questions, c.Runs + o.Runs, c.Failed + o.Failed, c.Calls + o.Calls, c.Hits + o.Hits, c.Unreadable + o.Unreadable}
}

// CountsOf is what an event counts as.
func CountsOf(b footnote.Body) Counts {
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

// Run is one question of somebody and what it took. Its words are not kept: they are
// in the log, as long as the conversation is.
type Run struct {
	Run          string         `json:"run"`
	Conversation string         `json:"conversation"`
	User         string         `json:"user"`
	Question     int64          `json:"question,omitempty"` // the event that asked; 0: not known
	Began        time.Time      `json:"began"`
	Outcome      string         `json:"outcome,omitempty"` // finished, failed or stopped; empty: it has not ended
	Code         footnote.Code  `json:"code,omitempty"`    // of one that failed
	Usage        footnote.Usage `json:"usage"`
	Cost         footnote.Cost  `json:"cost"`
	Millis       int64          `json:"millis,omitempty"`
}

// runsKept is how many runs of an organisation are told one by one; a few more are
// kept, so that not each new one moves all others.
const (
	runsKept  = 2_000
	runsSpare = 500
	runsMost  = 100_000 // of all organisations: the file is read whole at each start
	askedMost = 10_000
)

// thin forgets the oldest runs of the organisations that have most, when there are too
// many of all. t.mu must be held.
func (t *Totals) thin() {
	total := 0
	for _, runs := range t.kept.Runs {
		total += len(runs)
	}
	if total > runsMost {
		for keep := runsKept / 2; total > runsMost/2 && keep > 0; keep /= 2 {
			total = 0
			for org, runs := range t.kept.Runs {
				if len(runs) > keep {
					t.kept.Runs[org] = slices.Clone(runs[len(runs)-keep:])
				}
				total += len(t.kept.Runs[org])
			}
		}
	}
	t.room = max(runsMost-total, 1_000)
}

// follow takes what an event says of a run. t.mu must be held.
func (t *Totals) follow(ev footnote.Positioned) {
	switch b := ev.Body.(type) {
	case footnote.UserMessage:
		if len(t.asked) >= askedMost {
			clear(t.asked)
		}
		if b.Text != "" {
			t.asked[ev.Stream] = ev.Seq
		}
	case footnote.RunStarted:
		runs := append(t.kept.Runs[ev.Org], Run{Run: ev.Run, Conversation: ev.Stream, User: ev.User, Question: t.asked[ev.Stream], Began: ev.Time.UTC()})
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

// end adds to a run how it ended.
func (t *Totals) end(ev footnote.Positioned, how Run) {
	runs := t.kept.Runs[ev.Org]
	for i := len(runs) - 1; i >= 0; i-- {
		if r := &runs[i]; r.Run == ev.Run {
			r.Outcome, r.Code, r.Usage, r.Cost, r.Millis = how.Outcome, how.Code, how.Usage, how.Cost, how.Millis
			return
		}
	}
}

// Org returns what each user of an organisation has used, by user: days, oldest first.
// Whole is as in User.
func (t *Totals) Org(ctx context.Context, org string) (users map[string][]Day, whole bool, err error) {
	if whole, err = t.catchUp(ctx, time.Now().Add(patience)); err != nil {
		return nil, false, err
	}
	t.mu.Lock()
	defer t.mu.Unlock()
	users = map[string][]Day{}
	for k, days := range t.kept.Users {
		if user, ok := strings.CutPrefix(k, key(org, "")); ok {
			users[user] = slices.Clone(days)
		}
	}
	return users, whole, nil
}

// Runs returns the newest runs of an organisation, newest first. Whole is as in User.
func (t *Totals) Runs(ctx context.Context, org string) (runs []Run, whole bool, err error) {
	if whole, err = t.catchUp(ctx, time.Now().Add(patience)); err != nil {
		return nil, false, err
	}
	t.mu.Lock()
	defer t.mu.Unlock()
	runs = slices.Clone(t.kept.Runs[org])
	slices.Reverse(runs)
	return runs[:min(len(runs), runsKept)], whole, nil
}
