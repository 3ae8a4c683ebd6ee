//go:build unix

package child

import (
	"fmt"
	"os"
	"syscall"
)

// FileID identifies a file independently of its path.
func FileID(info os.FileInfo) string {
	if st, ok := info.Sys().(*syscall.Stat_t); ok {
		return fmt.Sprintf("%d:%d", st.Dev, st.Ino)
	}
	return ""
}
