package modeltest

import "golang.org/x/sys/unix"

// Monotonic returns the machine's monotonic clock in nanoseconds. All processes of the machine share this
// clock, unlike the one in package time.
func Monotonic() int64 {
	var ts unix.Timespec
	if err := unix.ClockGettime(unix.CLOCK_MONOTONIC, &ts); err != nil {
		return 0 // cannot fail: the kernel has had this clock since before Go
	}
	return ts.Nano()
}
