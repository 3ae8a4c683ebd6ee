package e2e

import (
	"testing"

	"golang.org/x/sys/unix"
)

// limitFiles bounds the size of the files that a process writes from now on.
func limitFiles(t *testing.T, p *process, size uint64) {
	t.Helper()
	limit := unix.Rlimit{Cur: size, Max: unix.RLIM_INFINITY}
	if err := unix.Prlimit(p.cmd.Process.Pid, unix.RLIMIT_FSIZE, &limit, nil); err != nil {
		t.Fatal(err)
	}
}
