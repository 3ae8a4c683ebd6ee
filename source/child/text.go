package child

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"strings"
	"time"

	"github.com/footnotehq/footnote"
)

func duration(ns int64) time.Duration { return time.Duration(ns) }

// bytesText formats a number of bytes for people.
func bytesText(n int64) string {
	switch {
	case n >= 1<<20 && n%(1<<20) == 0 || n >= 10<<20:
		return fmt.Sprintf("%d MB", n>>20)
	case n >= 1<<20:
		return fmt.Sprintf("%.1f MB", float64(n)/(1<<20))
	case n >= 1<<10:
		return fmt.Sprintf("%d KB", n>>10)
	default:
		return fmt.Sprintf("%d bytes", n)
	}
}

// FileStamp identifies the current contents of files by their identity, size and modification time. A missing file
// is a DatabaseUnavailable error.
func FileStamp(paths ...string) (string, error) {
	var b strings.Builder
	for _, path := range paths {
		info, err := Stat(path)
		if err != nil {
			return "", err
		}
		fmt.Fprintf(&b, "%s %d %d;", FileID(info), info.Size(), info.ModTime().UnixNano())
	}
	return b.String(), nil
}

// Stat is os.Stat, except that a missing file is the error that a source returns for it.
func Stat(path string) (os.FileInfo, error) {
	info, err := os.Stat(path)
	switch {
	case err == nil:
		return info, nil
	case errors.Is(err, fs.ErrNotExist):
		return nil, footnote.Wrapf(footnote.DatabaseUnavailable, err, "The database file is not there.")
	case errors.Is(err, fs.ErrPermission):
		return nil, footnote.Wrapf(footnote.DatabaseUnavailable, err,
			"The database file cannot be read: permission denied.")
	default:
		return nil, footnote.Wrapf(footnote.DatabaseUnavailable, err, "The database file cannot be read.")
	}
}
