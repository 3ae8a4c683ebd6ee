package child

import (
	"errors"
	"fmt"
	"io/fs"
	"os"

	"github.com/footnotehq/footnote"
)

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

// FileStamp identifies the current contents of a file by its identity, size and modification time. A missing file is a
// DatabaseUnavailable error.
func FileStamp(path string) (string, error) {
	info, err := Stat(path)
	if err != nil {
		return "", err
	}
	return fmt.Sprintf("%s %d %d;", FileID(info), info.Size(), info.ModTime().UnixNano()), nil
}

// Stat is os.Stat, except that a missing file is the error that a source returns for it.
func Stat(path string) (os.FileInfo, error) {
	info, err := os.Stat(path)
	if err != nil {
		return nil, Unreadable(err)
	}
	return info, nil
}

// Unreadable turns the system's error for a database file into the one that a source returns.
func Unreadable(err error) error {
	text := "The database file cannot be read."
	if errors.Is(err, fs.ErrNotExist) {
		text = "The database file is not there."
	} else if errors.Is(err, fs.ErrPermission) {
		text = "The database file cannot be read: permission denied."
	}
	return footnote.Wrapf(footnote.DatabaseUnavailable, err, "%s", text)
}
