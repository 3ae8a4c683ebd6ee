// Package plainfile reads regular files only, because other kinds could block the reader: opening a named
// pipe waits for a writer. It writes small files atomically.
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

// Open opens a regular file for reading. For anything else it returns an fs.PathError that says so.
func Open(path string) (*os.File, error) {
	info, err := os.Stat(path)
	if err != nil {
		return nil, err
	}
	if err := regular(path, info); err != nil {
		return nil, err
	}
	// The path may name something else by now; this open does not block on it.
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

// Read reads a regular file of at most limit bytes. The error for a longer file states the limit.
func Read(path string, limit int64) ([]byte, error) {
	f, err := Open(path)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	tooLarge := fmt.Errorf("%s is larger than %d bytes", path, limit)
	if info, err := f.Stat(); err == nil && info.Size() > limit {
		return nil, tooLarge
	}
	data, err := io.ReadAll(io.LimitReader(f, limit+1)) // the file may have grown
	if err == nil && int64(len(data)) > limit {
		return nil, tooLarge
	}
	return data, err
}

// Head returns the first n bytes of a regular file, or all if it has fewer.
func Head(path string, n int64) ([]byte, error) {
	f, err := Open(path)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	return io.ReadAll(io.LimitReader(f, n))
}

// Replace writes a file that only its owner can read. After a crash the file has either the old or the new
// content.
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
