package audit

import (
	"fmt"
	"io"
	"os"
	"path/filepath"
)

// File is a sink that appends lines to a file and syncs them. It opens the file for each write, so that the file can be
// moved away at any time, and so that a write succeeds again when a full disk has space.
type File struct{ Path string }

// Write implements Sink. If an earlier failure cut a line, Write ends that line first, so that the new lines stay
// intact.
func (f File) Write(lines []byte) (err error) {
	if err := os.MkdirAll(filepath.Dir(f.Path), 0o700); err != nil {
		return fmt.Errorf("audit file: %w", err)
	}
	file, err := os.OpenFile(f.Path, os.O_RDWR|os.O_CREATE|os.O_APPEND, 0o600)
	if err != nil {
		return fmt.Errorf("audit file: %w", err)
	}
	defer func() {
		if cerr := file.Close(); err == nil && cerr != nil {
			err = fmt.Errorf("audit file: %w", cerr)
		}
	}()
	size, err := file.Seek(0, io.SeekEnd)
	if err != nil {
		return fmt.Errorf("audit file: %w", err)
	}
	if cut, err := endsCut(file, size); err != nil {
		return fmt.Errorf("audit file: %w", err)
	} else if cut {
		lines = append([]byte{'\n'}, lines...)
	}
	if _, err := file.Write(lines); err != nil {
		return fmt.Errorf("audit file: %w", err)
	}
	if err := file.Sync(); err != nil {
		return fmt.Errorf("audit file: %w", err)
	}
	return nil
}

// endsCut reports whether the last line of a file lacks its line break.
func endsCut(file *os.File, size int64) (bool, error) {
	if size == 0 {
		return false, nil
	}
	var last [1]byte
	_, err := file.ReadAt(last[:], size-1)
	return last[0] != '\n', err
}
