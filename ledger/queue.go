package ledger

import (
	"context"
	"errors"
	"slices"
	"time"

	"github.com/footnotehq/footnote"
)

// Reserved money may be freed soon, so a question waits for it in a line. There is one line for each account whose
// limit has refused a reservation. The first waiter retries when this process frees a reservation, and at short
// intervals, because other servers also free reservations. Later questions of the same account join the end of the
// line. Only a run that has already paid for a step goes to the front.

const (
	maxWaiting    = 1_000
	retryInterval = 250 * time.Millisecond
)

// waiter is a reservation in a line.
type waiter struct {
	line string
	wake chan struct{} // has room for one
}

// reserveInLine calls try, and retries in a line while others have reserved the money. With first, it goes to the front
// of that line.
func (l *Ledger) reserveInLine(
	ctx context.Context, wish *footnote.Reserve, first bool, try func() (footnote.Reservation, error),
) (footnote.Reservation, error) {
	line := ""
	if !first {
		line = l.busyLine(*wish)
	}
	var refusal error
	if line == "" {
		r, err := try()
		if line = lineAfter(*wish, err); line == "" {
			return r, err
		}
		refusal = err
	}
	w := l.join(line, first)
	if w == nil {
		return footnote.Reservation{}, tooManyWait(refusal)
	}
	defer l.leave(w)
	wish.Max = afterWaiting(*wish)
	timeout := time.NewTimer(l.opts.Wait)
	defer timeout.Stop()
	tick := time.NewTicker(retryInterval)
	defer tick.Stop()
	for {
		select {
		case <-ctx.Done():
			return footnote.Reservation{}, context.Cause(ctx)
		case <-timeout.C:
			return try() // its error reports the remaining amount
		case <-w.wake:
		case <-tick.C:
		}
		for l.isFirst(w) {
			r, err := try()
			line := lineAfter(*wish, err)
			if line == "" {
				return r, err
			}
			if line == w.line {
				break
			}
			l.move(w, line, first)
		}
	}
}

// afterWaiting returns the largest amount that a reservation may take after it has waited: several times Enough, but
// less than the longest answer could use, so that the line moves on.
func afterWaiting(wish footnote.Reserve) footnote.Amount {
	const times = 4
	limit := wish.Max
	if wish.Enough.MicroUSD > 0 {
		limit.MicroUSD = min(limit.MicroUSD, times*wish.Enough.MicroUSD)
	}
	if wish.Enough.Tokens > 0 {
		limit.Tokens = min(limit.Tokens, times*wish.Enough.Tokens)
	}
	return limit
}

// lineAfter returns the line to wait in after an error, or "" if waiting does not help.
func lineAfter(wish footnote.Reserve, err error) string {
	e, ok := errors.AsType[*footnote.Error](err)
	if !ok || e.Code != footnote.BudgetExceeded || e.Limit == nil || !e.Limit.Passing {
		return ""
	}
	return lineOf(wish, footnote.Scope(e.Limit.Name))
}

// lineOf returns the name of the line of an account.
func lineOf(wish footnote.Reserve, scope footnote.Scope) string {
	name := string(scope)
	switch scope {
	case footnote.PerConversation:
		name += "\x00" + wish.Stream
	case footnote.PerUser, footnote.PerUserDay:
		name += "\x00" + wish.Org + "\x00" + wish.User
	case footnote.PerOrg, footnote.PerOrgDay:
		name += "\x00" + wish.Org
	}
	return name
}

// busyLine returns a line of the reservation's accounts in which others wait, or "".
func (l *Ledger) busyLine(wish footnote.Reserve) string {
	l.mu.Lock()
	defer l.mu.Unlock()
	for _, c := range wish.Limits {
		if line := lineOf(wish, c.Scope); len(l.lines[line]) > 0 {
			return line
		}
	}
	return ""
}

// join adds a waiter to a line. It returns nil when too many wait.
func (l *Ledger) join(line string, first bool) *waiter {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.waiting >= maxWaiting && !first {
		return nil
	}
	l.waiting++
	w := &waiter{wake: make(chan struct{}, 1)}
	l.add(w, line, first)
	return w
}

// add puts a waiter into a line. l.mu must be held.
func (l *Ledger) add(w *waiter, line string, first bool) {
	w.line = line
	if first {
		l.lines[line] = slices.Insert(l.lines[line], 0, w)
	} else {
		l.lines[line] = append(l.lines[line], w)
	}
	w.signal() // money may have been freed since the refusal
}

// leave takes a waiter out of its line, and lets the next one try.
func (l *Ledger) leave(w *waiter) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.waiting--
	l.remove(w)
}

// remove takes a waiter out of its line. l.mu must be held.
func (l *Ledger) remove(w *waiter) {
	rest := slices.DeleteFunc(l.lines[w.line], func(other *waiter) bool { return other == w })
	if len(rest) == 0 {
		delete(l.lines, w.line)
		return
	}
	l.lines[w.line] = rest
	rest[0].signal()
}

// move puts a waiter into another line.
func (l *Ledger) move(w *waiter, line string, first bool) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.remove(w)
	l.add(w, line, first)
}

func (l *Ledger) isFirst(w *waiter) bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.lines[w.line][0] == w
}

// wakeFirst lets the first in each line try, because a reservation was freed.
func (l *Ledger) wakeFirst() {
	l.mu.Lock()
	defer l.mu.Unlock()
	for _, line := range l.lines {
		line[0].signal()
	}
}

func (w *waiter) signal() {
	select {
	case w.wake <- struct{}{}:
	default:
	}
}

// tooManyWait returns the error for full lines.
func tooManyWait(refusal error) error {
	if refusal != nil {
		return refusal
	}
	return &footnote.Error{
		Code:       footnote.BudgetExceeded,
		Message:    "Too many questions are waiting for reserved money. Try again in a moment.",
		RetryAfter: reservedRetry,
	}
}
