package ledger

import (
	"context"
	"errors"
	"slices"
	"time"

	"github.com/footnotehq/footnote"
)

// Money that others have only reserved may be free in a moment, so a question waits for it in
// a line. Each account whose ceiling has refused a reservation has one. The first in a line
// retries when this process frees a reservation, and at short intervals, because other servers
// free theirs, too. A later question that counts in the same account joins the line, so nobody
// is overtaken; only a run that has already paid for a step goes to the front.

const (
	maxWaiting    = 1_000
	retryInterval = 250 * time.Millisecond
)

// waiter is a reservation that waits in a line.
type waiter struct {
	line string
	wake chan struct{} // has room for one
}

// reserveInLine calls try, and retries in a line while the money is only reserved by others.
// With first, it goes to the front of that line.
func (l *Ledger) reserveInLine(
	ctx context.Context, wish *footnote.Reserve, first bool, try func() (footnote.Reservation, error),
) (footnote.Reservation, error) {
	line := ""
	if !first {
		line = l.occupiedLine(*wish)
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
	wish.Most = afterWaiting(*wish)
	timeout := time.NewTimer(l.opts.Wait)
	defer timeout.Stop()
	tick := time.NewTicker(retryInterval)
	defer tick.Stop()
	for {
		select {
		case <-ctx.Done():
			return footnote.Reservation{}, context.Cause(ctx)
		case <-timeout.C:
			return try() // its error tells what is left
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

// afterWaiting is the most that a reservation may take after it has waited: several times what
// is enough, but not all that the longest answer could use, so that the line moves on.
func afterWaiting(wish footnote.Reserve) footnote.Amount {
	const times = 4
	most := wish.Most
	if wish.Enough.MicroUSD > 0 {
		most.MicroUSD = min(most.MicroUSD, times*wish.Enough.MicroUSD)
	}
	if wish.Enough.Tokens > 0 {
		most.Tokens = min(most.Tokens, times*wish.Enough.Tokens)
	}
	return most
}

// lineAfter is the line to wait in after an error, or empty when waiting does not help.
func lineAfter(wish footnote.Reserve, err error) string {
	e, ok := errors.AsType[*footnote.Error](err)
	if !ok || e.Code != footnote.BudgetExceeded || e.Limit == nil || !e.Limit.Passing {
		return ""
	}
	return lineOf(wish, footnote.Scope(e.Limit.Name))
}

// lineOf names the line of the account in which a reservation counts.
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

// occupiedLine is a line of the reservation's accounts in which others wait, or empty.
func (l *Ledger) occupiedLine(wish footnote.Reserve) string {
	l.mu.Lock()
	defer l.mu.Unlock()
	for _, c := range wish.Ceilings {
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
	w.signal() // money may have become free since it was refused
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

// tooManyWait is the error when the lines are full.
func tooManyWait(refusal error) error {
	if refusal != nil {
		return refusal
	}
	return &footnote.Error{
		Code:       footnote.BudgetExceeded,
		Message:    "Too many questions wait for money that others have reserved. Try again in a moment.",
		RetryAfter: reservedRetry,
	}
}
