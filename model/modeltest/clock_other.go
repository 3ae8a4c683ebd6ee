//go:build !linux

package modeltest

import "time"

// Monotonic is a clock in nanoseconds that every process of the machine shares.
// Here it is the wall clock.
func Monotonic() int64 { return time.Now().UnixNano() }
