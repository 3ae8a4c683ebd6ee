package ledger

import (
	"context"
	"errors"
	"slices"
	"time"

	"github.com/footnotehq/footnote"
)

// Money that others have only reserved may be free in a moment. Who wants it waits in a
// line: one for each account whose ceiling has refused somebody. The first of a line tries
// again when this process gives something back, and now and then, because other servers
// do so, too. Who comes later and counts in an account that has a line joins it, so that
// nobody is overtaken; only a run that has paid for something goes first.

const (
	mostWaiting = 1_000
	lookAgain   = 250 * time.Millisecond
)

// waiter is somebody in a line.
type waiter struct {
	line string
	wake chan struct{} // has room for one
}

// queue reserves, and waits in line while what is wanted is only reserved by others.
func (l *Ledger) queue(ctx context.Context, wish *footnote.Reserve, first bool, try func() (footnote.Reservation, error)) (footnote.Reservation, error) {
	line := ""
	if !first {
		line = l.busy(*wish)
	}
	var refused error
	if line == "" {
		r, err := try()
		if line = blocked(*wish, err); line == "" {
			return r, err
		}
		refused = err
	}
	w := l.join(line, first)
	if w == nil {
		return footnote.Reservation{}, l.full(refused)
	}
	defer l.leave(w)
	wish.Most = modest(*wish)
	over := time.NewTimer(l.opts.Wait)
	defer over.Stop()
	look := time.NewTicker(lookAgain)
	defer look.Stop()
	for {
		select {
		case <-ctx.Done():
			return footnote.Reservation{}, context.Cause(ctx)
		case <-over.C:
			return try() // it says what is left
		case <-w.wake:
		case <-look.C:
		}
		for l.isFirst(w) {
			r, err := try()
			line := blocked(*wish, err)
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

// modest is how much of what is scarce somebody takes who has waited for it: several times
// what is enough, but not all that the longest answer could use. So the line moves on.
func modest(wish footnote.Reserve) footnote.Amount {
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

// blocked is the line to wait in after an error; empty: waiting does not help.
func blocked(wish footnote.Reserve, err error) string {
	e, ok := errors.AsType[*footnote.Error](err)
	if !ok || e.Code != footnote.BudgetExceeded || e.Limit == nil || !e.Limit.Passing {
		return ""
	}
	return lineOf(wish, footnote.Scope(e.Limit.Name))
}

// lineOf names the line of an account that somebody counts in.
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

// busy is the line to join before anything is tried, because others wait already.
func (l *Ledger) busy(wish footnote.Reserve) string {
	l.mu.Lock()
	defer l.mu.Unlock()
	for _, c := range wish.Ceilings {
		if line := lineOf(wish, c.Scope); len(l.lines[line]) > 0 {
			return line
		}
	}
	return ""
}

// join puts somebody into a line; nil: too many wait.
func (l *Ledger) join(line string, first bool) *waiter {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.waiting >= mostWaiting && !first {
		return nil
	}
	l.waiting++
	w := &waiter{wake: make(chan struct{}, 1)}
	l.place(w, line, first)
	return w
}

// place puts a waiter into a line. l.mu must be held.
func (l *Ledger) place(w *waiter, line string, first bool) {
	w.line = line
	if first {
		l.lines[line] = slices.Insert(l.lines[line], 0, w)
	} else {
		l.lines[line] = append(l.lines[line], w)
	}
	w.rouse() // the state may have changed since it was refused
}

// leave takes somebody out of a line, and lets the next one try.
func (l *Ledger) leave(w *waiter) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.waiting--
	l.out(w)
}

// out is leave for who stays in some line. l.mu must be held.
func (l *Ledger) out(w *waiter) {
	rest := slices.DeleteFunc(l.lines[w.line], func(other *waiter) bool { return other == w })
	if len(rest) == 0 {
		delete(l.lines, w.line)
		return
	}
	l.lines[w.line] = rest
	rest[0].rouse()
}

// move puts somebody into another line.
func (l *Ledger) move(w *waiter, line string, first bool) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.out(w)
	l.place(w, line, first)
}

func (l *Ledger) isFirst(w *waiter) bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.lines[w.line][0] == w
}

// wake lets the first of each line try: something was given back.
func (l *Ledger) wake() {
	l.mu.Lock()
	defer l.mu.Unlock()
	for _, line := range l.lines {
		line[0].rouse()
	}
}

func (w *waiter) rouse() {
	select {
	case w.wake <- struct{}{}:
	default:
	}
}

// full refuses somebody because too many wait already.
func (l *Ledger) full(refused error) error {
	if refused != nil {
		return refused
	}
	return &footnote.Error{Code: footnote.BudgetExceeded, Message: "Too many questions wait for the money that others have reserved. Try again in a moment.", RetryAfter: reservedRetry}
}
