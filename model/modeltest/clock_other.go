//go:build !linux

package modeltest

import "time"

// Monotonic returns a clock in nanoseconds that all processes of the machine share. Here it is the wall
// clock.
func Monotonic() int64 { return time.Now().UnixNano() }
