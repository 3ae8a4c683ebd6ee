// Package aside lets goroutines that wait for long keep small stacks. A stack that
// has grown stays large for as long as its goroutine waits, and thousands of streams
// wait; what goes deep before they do is done aside.
package aside

import (
	"fmt"
	"runtime/debug"
)

// Do calls f on a stack of its own, and returns when f has. A panic of f goes on in
// the caller, with the place where it began when it was not an error to be compared.
func Do(f func()) {
	done := make(chan any, 1)
	go func() {
		var panicked any = "the goroutine was ended"
		defer func() {
			if p := recover(); p != nil {
				panicked = p
				if _, ok := p.(error); !ok {
					panicked = fmt.Sprintf("%v\n%s", p, debug.Stack())
				}
			}
			done <- panicked
		}()
		f()
		panicked = nil
	}()
	if p := <-done; p != nil {
		panic(p)
	}
}
