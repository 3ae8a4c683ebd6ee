package audit

import (
	"errors"
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
func (f File) Write(lines []byte) error {
	if err := f.append(lines); err != nil {
		return fmt.Errorf("audit file: %w", err)
	}
	return nil
}

func (f File) append(lines []byte) (err error) {
	if err := os.MkdirAll(filepath.Dir(f.Path), 0o700); err != nil {
		return err
	}
	file, err := os.OpenFile(f.Path, os.O_RDWR|os.O_CREATE|os.O_APPEND, 0o600)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, file.Close()) }()
	size, err := file.Seek(0, io.SeekEnd)
	if err != nil {
		return err
	}
	last := []byte{'\n'}
	if size > 0 {
		if _, err := file.ReadAt(last, size-1); err != nil {
			return err
		}
	}
	if last[0] != '\n' {
		lines = append([]byte{'\n'}, lines...)
	}
	if _, err := file.Write(lines); err != nil {
		return err
	}
	return file.Sync()
}
