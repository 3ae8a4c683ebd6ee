package modeltest

import "golang.org/x/sys/unix"

// Monotonic is the machine's monotonic clock in nanoseconds. It is the same clock
// in every process of the machine, which the one in package time is not.
func Monotonic() int64 {
	var ts unix.Timespec
	if err := unix.ClockGettime(unix.CLOCK_MONOTONIC, &ts); err != nil {
		return 0 // the kernel has had this clock since before Go
	}
	return ts.Nano()
}
