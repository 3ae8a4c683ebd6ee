// Package aside keeps the stacks of waiting goroutines small. A stack that has grown stays large while its
// goroutine waits, and thousands of streams wait; deep calls before the wait are made on another goroutine.
package aside

import (
	"fmt"
	"runtime/debug"
)

// Do calls f on a new goroutine and returns what f returns. If f panics, Do panics, too: with the same value if it is
// an error, so that callers can compare it, and otherwise with f's stack trace added.
func Do[T any](f func() (T, error)) (result T, err error) {
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
		result, err = f()
		panicked = nil
	}()
	if p := <-done; p != nil {
		panic(p)
	}
	return result, err
}
