// Package doctor holds what footnote doctor finds: checks, each one line of its table. The parts of the program that
// are checked make them.
package doctor

import (
	"fmt"
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

// OK returns the check of something that is as it should be.
func OK(what, detail string) Check { return Check{what, ok, detail} }

// Warn returns the check of something that works, but that the operator should know of.
func Warn(what, detail string) Check { return Check{what, warn, detail} }

// Fail returns the check of something that does not work.
func Fail(what, detail string) Check { return Check{what, fail, detail} }

// Skip returns the check of something that was not checked, because it needs --online.
func Skip(what, detail string) Check { return Check{what, skip, detail} }

// Failed reports whether something does not work.
func (c Check) Failed() bool { return c.State == fail }

// Counted returns a number of things in words: "1 row", "2 rows".
func Counted(n int, what string) string {
	if n == 1 {
		return "1 " + what
	}
	return fmt.Sprintf("%d %ss", n, what)
}
