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
	"errors"
	"fmt"
	"io/fs"
	"log/slog"
	"net/url"
	"os"
	"path/filepath"
	"strings"
	"time"

	"github.com/footnotehq/footnote"
	"github.com/footnotehq/footnote/internal/rowfilter"
	"github.com/footnotehq/footnote/source"
	"github.com/footnotehq/footnote/source/child"
)

// Options configure a source; the zero value is ready to use.
type Options struct {
	Limits source.Limits // zero fields take source.DefaultLimits
	// Filters maps names of tables and views to conditions, in the syntax of internal/rowfilter. When there are
	// any, a query sees those rows of a table for which its condition holds for the principal, and nothing of other
	// tables.
	Filters     map[string]string
	Concurrency int           // queries at once; default 4
	Idle        time.Duration // how long an unused child lives; default 5 minutes
	Pool        *child.Pool   // shared by the sources of the process
	TempDir     string        // default os.TempDir()
	Logger      *slog.Logger  // default: discards
}

// Source is an open database: a source.Source.
type Source struct {
	*child.Client
	name  string
	file  file
	rules *rowfilter.Rules // nil: everybody sees every row
}

const maxTemp = 1 << 30 // bytes of one temporary file, and of a copied database

// Open opens the database at a path or URL: sqlite:///absolute, sqlite:relative, file:… or a plain path. It starts
// the engine once, so that an unreadable file fails now: the error is a *footnote.Error with code
// DatabaseUnavailable, or InvalidRequest for an invalid address. Messages refer to the database by name.
func Open(ctx context.Context, name, address string, o Options) (*Source, error) {
	path, immutable, err := parseAddress(address)
	if err != nil {
		return nil, footnote.Errorf(footnote.InvalidRequest, "database %s: %v", name, err)
	}
	if path, err = filepath.Abs(path); err != nil {
		return nil, fmt.Errorf("database %s: %w", name, err)
	}
	f := file{path: path, immutable: immutable}
	if _, err := f.stat(); err != nil {
		return nil, named(name, err)
	}
	if o.Concurrency <= 0 {
		o.Concurrency = 4
	}
	rules, err := rowfilter.Parse(o.Filters)
	if err != nil {
		return nil, footnote.Errorf(footnote.InvalidRequest, "filters.%s: %v", name, err)
	}
	s := &Source{name: name, file: f, rules: rules}
	s.Client = child.New(Kind, nil, child.Options{
		Dialect: Dialect, Limits: o.Limits, Concurrency: o.Concurrency, Idle: o.Idle,
		Pool: o.Pool, TempDir: o.TempDir, Logger: o.Logger, MaxFile: maxTemp,
		Stamp:   f.stamp,
		Same:    f.same,
		Version: func(context.Context) (string, error) { return f.version() },
		Grant:   f.readable,
		Attach:  s.conditions,
		Prepare: func(context.Context, string) (any, error) {
			real, err := filepath.EvalSymlinks(f.path)
			cfg := config{Path: real, Immutable: f.immutable, Conns: o.Concurrency}
			if rules != nil {
				cfg.Filters, cfg.Blank = rules.Opened(), rules.Blank()
			}
			return cfg, err
		},
	})
	if _, err := s.Status(ctx); err != nil {
		s.Close()
		return nil, named(name, err)
	}
	return s, nil
}

// conditions returns the data sent along with each query: the filters for the principal in ctx.
func (s *Source) conditions(ctx context.Context) ([]byte, error) {
	if s.rules == nil {
		return nil, nil
	}
	return json.Marshal(s.rules.For(ctx))
}

// Version implements source.Source. With filters, it includes the principal whose rows are visible.
func (s *Source) Version(ctx context.Context) (string, error) {
	v, err := s.Client.Version(ctx)
	if err == nil && s.rules != nil {
		v += " " + s.rules.For(ctx).Digest()
	}
	return v, err
}

// Schema implements source.Source.
func (s *Source) Schema(ctx context.Context) (source.Schema, error) {
	schema, err := s.Client.Schema(ctx)
	if err == nil && s.rules != nil {
		schema.Version += " " + s.rules.For(ctx).Digest()
	}
	return schema, err
}

// named prefixes an error's message with the name of the database.
func named(name string, err error) error {
	if e, ok := errors.AsType[*footnote.Error](err); ok {
		return &footnote.Error{
			Code: e.Code, Message: "database " + name + ": " + e.Message, RetryAfter: e.RetryAfter, Err: e.Err,
		}
	}
	return fmt.Errorf("database %s: %w", name, err)
}

// parseAddress parses the forms of address that Open accepts.
func parseAddress(address string) (path string, immutable bool, err error) {
	scheme, rest, ok := strings.Cut(address, ":")
	if !ok || (scheme != "sqlite" && scheme != "file") {
		path = address // a plain path is taken literally, even with % or ? in it
	} else {
		rest, query, _ := strings.Cut(rest, "?")
		if path, err = url.PathUnescape(strings.TrimPrefix(rest, "//")); err != nil {
			return "", false, fmt.Errorf("the address cannot be read: %w", err)
		}
		values, err := url.ParseQuery(query)
		if err != nil {
			return "", false, fmt.Errorf("the address cannot be read: %w", err)
		}
		for key, v := range values {
			switch {
			case key == "mode" && len(v) == 1 && v[0] == "ro":
			case key == "immutable" && len(v) == 1 && (v[0] == "0" || v[0] == "1"):
				immutable = v[0] == "1"
			default:
				return "", false, fmt.Errorf("the parameter %s=%s is not allowed; mode=ro and immutable=1 are", key,
					strings.Join(v, ","))
			}
		}
	}
	if path == "" || path == ":memory:" || strings.IndexByte(path, 0) >= 0 {
		return "", false, fmt.Errorf("%q does not name a database file", address)
	}
	return path, immutable, nil
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
		return s, &footnote.Error{
			Code:    footnote.DatabaseUnavailable,
			Message: "The database file is not there.",
			Err:     err,
		}
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
