// Package plainfile reads regular files, and nothing that would keep a reader
// waiting: opening a named pipe lasts until somebody writes to it. Small files it
// writes in full or not at all.
package plainfile

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"syscall"
)

// Open opens a regular file for reading. The error of anything else is an
// fs.PathError that says so.
func Open(path string) (*os.File, error) {
	info, err := os.Stat(path)
	if err != nil {
		return nil, err
	}
	if err := regular(path, info); err != nil {
		return nil, err
	}
	// What stands there may be another thing by now; this does not wait for it.
	f, err := os.OpenFile(path, os.O_RDONLY|syscall.O_NONBLOCK, 0)
	if err != nil {
		return nil, err
	}
	if info, err = f.Stat(); err == nil {
		err = regular(path, info)
	}
	if err != nil {
		f.Close()
		return nil, err
	}
	return f, nil
}

func regular(path string, info fs.FileInfo) error {
	if info.Mode().IsRegular() {
		return nil
	}
	kind := "not a regular file"
	switch {
	case info.IsDir():
		kind = "a folder, not a file"
	case info.Mode()&fs.ModeNamedPipe != 0:
		kind = "a named pipe, not a regular file"
	}
	return &fs.PathError{Op: "open", Path: path, Err: fmt.Errorf("it is %s: %w", kind, fs.ErrInvalid)}
}

// Read reads a regular file of at most so many bytes. The error of a longer one
// says how much is read.
func Read(path string, most int64) ([]byte, error) {
	f, err := Open(path)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	tooLarge := fmt.Errorf("%s is larger than %d bytes", path, most)
	if info, err := f.Stat(); err == nil && info.Size() > most {
		return nil, tooLarge
	}
	data, err := io.ReadAll(io.LimitReader(f, most+1)) // it may grow meanwhile
	if err == nil && int64(len(data)) > most {
		return nil, tooLarge
	}
	return data, err
}

// Replace writes a file that its owner alone can read. After a crash it has the old
// content or the new.
func Replace(path string, data []byte) error {
	temp, err := os.CreateTemp(filepath.Dir(path), filepath.Base(path)+".*") // with mode 0600
	if err != nil {
		return err
	}
	_, err = temp.Write(data)
	if err = errors.Join(err, temp.Sync(), temp.Close()); err == nil {
		err = os.Rename(temp.Name(), path)
	}
	if err != nil {
		return errors.Join(err, os.Remove(temp.Name()))
	}
	return nil
}
