// Package sqlite implements a source over a SQLite database file. The engine runs in a child process (package
// child) that may read the file and nothing else. The child opens it read-only, a gate lets a single statement
// through, and an authorizer, which SQLite calls for everything it compiles, allows only reading and a list of
// functions.
//
// A program that opens one must call
//
//	child.Main(map[string]child.OpenFunc{sqlite.Kind: sqlite.OpenEngine})
//
// first thing in main.
package sqlite

import (
	"context"
	"encoding/json"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"

	"github.com/footnotehq/footnote"
	"github.com/footnotehq/footnote/internal/rowfilter"
	"github.com/footnotehq/footnote/source"
	"github.com/footnotehq/footnote/source/child"
	"github.com/footnotehq/footnote/source/engines"
)

// Options configure a source; the zero value is ready to use.
type Options = engines.Options

// Source is an open database: a source.Source.
type Source = child.Client

const maxTemp = 1 << 30 // bytes of one temporary file, and of a copied database

// Open opens the database at a path or URL: sqlite:///absolute, sqlite:relative, file:… or a plain path. It starts
// the engine once, so that an unreadable file fails now: the error is a *footnote.Error with code
// DatabaseUnavailable, or InvalidRequest for an invalid address. Messages refer to the database by name.
func Open(ctx context.Context, name, address string, o Options) (*Source, error) {
	path, immutable, err := parseAddress(address)
	if err != nil {
		return nil, footnote.Invalidf("source %s: %v", name, err)
	}
	if path, err = filepath.Abs(path); err != nil {
		return nil, fmt.Errorf("source %s: %w", name, err)
	}
	f := file{path: path, immutable: immutable}
	if _, err := f.stat(); err != nil {
		return nil, source.Named(name, err)
	}
	rules, err := rowfilter.Parse(o.Filters)
	if err != nil {
		return nil, footnote.Invalidf("filters.%s: %v", name, err)
	}
	s := child.New(Kind, nil, child.Options{
		Dialect: Dialect, Limits: o.Limits, Pool: o.Pool, Logger: o.Logger, MaxFile: maxTemp,
		Stamp:   f.stamp,
		Same:    f.same,
		Version: f.version,
		Grant:   f.readable,
		Filters: rules,
		Hiding:  o.Hiding,
		Config: func() (any, error) {
			real, err := filepath.EvalSymlinks(f.path)
			return config{
				Path: real, Immutable: f.immutable, Filters: rules.Opened(), Blank: rules.Blank(),
				Hides: o.Hiding != nil && o.Hiding.Any(),
			}, err
		},
	})
	if _, err := s.Status(ctx); err != nil {
		s.Close()
		return nil, source.Named(name, err)
	}
	return s, nil
}

// parseAddress parses the forms of address that Open accepts.
func parseAddress(address string) (path string, immutable bool, err error) {
	path, parameters, err := engines.FilePath(address, schemes...)
	for key, v := range parameters {
		switch {
		case key == "mode" && len(v) == 1 && v[0] == "ro":
		case key == "immutable" && len(v) == 1 && (v[0] == "0" || v[0] == "1"):
			immutable = v[0] == "1"
		default:
			return "", false, fmt.Errorf("the parameter %s=%s is not allowed; mode=ro and immutable=1 are", key,
				strings.Join(v, ","))
		}
	}
	return path, immutable, err
}

// file is a database file as the server sees it. The server only stats it: if it opened and closed the file, it
// would drop the locks that another part of the process may hold (POSIX locks belong to the process).
type file struct {
	path      string // absolute
	immutable bool   // the operator says that nobody writes to it
}

// state describes a file and the files beside it at one moment.
type state struct {
	info, wal, shm fs.FileInfo // wal and shm are nil when they do not exist
}

// stat returns the state of the file, which must exist, and of the files beside it.
func (f file) stat() (state, error) {
	var s state
	info, err := child.Stat(f.path)
	if err != nil {
		return s, err
	}
	bad := func(format string, args ...any) (state, error) {
		return s, footnote.Errorf(footnote.DatabaseUnavailable, format, args...)
	}
	switch {
	case info.IsDir():
		return bad("%s is a directory, not a database file.", filepath.Base(f.path))
	case !info.Mode().IsRegular():
		return bad("%s is not a regular file.", filepath.Base(f.path))
	case info.Size() == 0:
		return bad("The database file is empty (0 bytes): it has no tables.")
	}
	real, err := f.real()
	if err != nil {
		return s, footnote.Wrapf(footnote.DatabaseUnavailable, err, "The database file is not there.")
	}
	return state{info: info, wal: beside(real + "-wal"), shm: beside(real + "-shm")}, nil
}

// real returns the path that the log is next to. If the last element of f.path is not a symbolic link, that is
// f.path itself, whatever the parent directories are.
func (f file) real() (string, error) {
	if info, err := os.Lstat(f.path); err == nil && info.Mode()&fs.ModeSymlink == 0 {
		return f.path, nil
	}
	return filepath.EvalSymlinks(f.path)
}

func beside(path string) fs.FileInfo {
	info, err := os.Stat(path)
	if err != nil {
		return nil
	}
	return info
}

// stamp identifies the files and, after a "|", their contents.
func (f file) stamp() (string, error) {
	s, err := f.stat()
	if err != nil {
		return "", err
	}
	return child.FileID(s.info) + " " + id(s.wal) + " " + id(s.shm) + "|" + s.version(), nil
}

// same reports whether a child that opened the file in a certain way is still good. With SQLite's own locks and
// log, it sees changes by itself and needs replacing only when the files are other ones.
func (f file) same(info json.RawMessage, then, now string) bool {
	var w openMode
	if err := json.Unmarshal(info, &w); err != nil {
		return false
	}
	if w == plain || w == shared {
		then, _, _ = strings.Cut(then, "|")
		now, _, _ = strings.Cut(now, "|")
	}
	return then == now
}

// version returns a string that changes with the data.
func (f file) version() (string, error) {
	s, err := f.stat()
	if err != nil {
		return "", err
	}
	return s.version(), nil
}

func (s state) version() string {
	v := fmt.Sprintf("%s-%d-%d", child.FileID(s.info), s.info.Size(), s.info.ModTime().UnixNano())
	if s.wal != nil {
		v += fmt.Sprintf("-%d-%d", s.wal.Size(), s.wal.ModTime().UnixNano())
	}
	return v
}

func id(info fs.FileInfo) string {
	if info == nil {
		return "-"
	}
	return child.FileID(info)
}

// readable lists the files the child may read.
func (f file) readable() []string {
	real, err := filepath.EvalSymlinks(f.path)
	if err != nil {
		return nil
	}
	return []string{real, real + "-wal", real + "-shm", real + "-journal"}
}
