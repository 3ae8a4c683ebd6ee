// Package doctor holds what footnote doctor finds: checks, each one line of its table. The parts of the program that
// are checked make them.
package doctor

import (
	"context"
	"fmt"
	"slices"
	"strings"
)

// Check is one line of the table.
type Check struct {
	What, State, Detail string
}

// The states of a check.
const (
	ok   = "ok"
	warn = "warn"
	fail = "FAIL"
	skip = "skip" // it needs --online
)

// NotAsked is the note for a server that was not contacted.
const NotAsked = ": not asked; doctor --online asks"

// Report collects checks and limits which servers they may contact.
type Report struct {
	Online bool // servers on other machines, too
	// Hosts returns the hosts that opening the database at an address may contact, as its driver reads them from the
	// address and the environment.
	Hosts  func(address string) []string
	Checks []Check
}

// OK adds the check of something that is as it should be.
func (r *Report) OK(what, detail string) { r.add(what, ok, detail) }

// Warn adds the check of something that works, but that the operator should know of.
func (r *Report) Warn(what, detail string) { r.add(what, warn, detail) }

// Fail adds the check of something that does not work.
func (r *Report) Fail(what, detail string) { r.add(what, fail, detail) }

// Skip adds the check of something that was not checked, because it needs --online.
func (r *Report) Skip(what, detail string) { r.add(what, skip, detail) }

func (r *Report) add(what, state, detail string) {
	r.Checks = append(r.Checks, Check{what, state, detail})
}

// Skips reports whether a database is not on this machine and may not be contacted. It then adds the check that says
// so, after a note.
func (r *Report) Skips(ctx context.Context, what, address, note string) bool {
	if r.Online {
		return false
	}
	hosts := remote(ctx, r.Hosts(address))
	if len(hosts) == 0 {
		return false
	}
	r.Skip(what, note+"at "+strings.Join(hosts, ", ")+": not checked; doctor --online checks it")
	return true
}

// Failed reports whether something does not work.
func (r *Report) Failed() bool {
	return slices.ContainsFunc(r.Checks, func(c Check) bool { return c.State == fail })
}

// Counted returns a number of things in words: "1 row", "2 rows".
func Counted(n int, what string) string {
	if n == 1 {
		return "1 " + what
	}
	return fmt.Sprintf("%d %ss", n, what)
}
