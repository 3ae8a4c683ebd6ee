//go:build unix

package child

import (
	"fmt"
	"io"
	"os"
	"syscall"

	"golang.org/x/sys/unix"
)

// FileID identifies a file independently of its path.
func FileID(info os.FileInfo) string {
	if st, ok := info.Sys().(*syscall.Stat_t); ok {
		return fmt.Sprintf("%d:%d", st.Dev, st.Ino)
	}
	return ""
}

// takePipes moves the protocol's pipes away from the standard descriptors, so that an engine that prints (DuckDB
// does when it profiles) cannot write into the protocol.
func takePipes() (in io.Reader, out io.Writer, err error) {
	var fds [2]int
	for i := range fds {
		if fds[i], err = unix.FcntlInt(uintptr(i), unix.F_DUPFD_CLOEXEC, 10); err != nil {
			return nil, nil, fmt.Errorf("take over descriptor %d: %w", i, err)
		}
		if err := unix.SetNonblock(fds[i], true); err != nil {
			return nil, nil, err
		}
	}
	null, err := os.OpenFile(os.DevNull, os.O_RDWR, 0)
	if err != nil {
		return nil, nil, err
	}
	defer null.Close()
	for i := range fds {
		if err := dup2(int(null.Fd()), i); err != nil {
			return nil, nil, err
		}
	}
	return os.NewFile(uintptr(fds[0]), "in"), os.NewFile(uintptr(fds[1]), "out"), nil
}
