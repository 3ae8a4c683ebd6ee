// Package sqlite is a source over a SQLite database file. The engine runs in a
// child process (package child) that may read the file and nothing else; there it
// is opened read-only, a gate lets one statement through, and an authorizer that
// SQLite asks about everything it compiles allows reading and a list of functions.
//
// A program that opens one must call
//
//	child.Main(map[string]child.OpenFunc{sqlite.Kind: sqlite.OpenEngine})
//
// first thing in main.
package sqlite

import (
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"log/slog"
	"net/url"
	"os"
	"path/filepath"
	"strings"
	"time"

	"github.com/footnotehq/footnote"
	"github.com/footnotehq/footnote/source"
	"github.com/footnotehq/footnote/source/child"
)

// Options of a source; the zero value is good.
type Options struct {
	Limits      source.Limits // zero fields take source.DefaultLimits
	Concurrency int           // queries at once; default 4
	Idle        time.Duration // how long a child stays unused; default 5 minutes
	Pool        *child.Pool   // shared by the sources of a process
	TempDir     string        // default os.TempDir()
	Logger      *slog.Logger  // default: discards
}

// Source is an open database: a source.Source.
type Source struct {
	*child.Client
	name string
	file file
}

const maxTemp = 1 << 30 // bytes of one temporary file, and of a copied database

// Open opens the database at a path or URL: sqlite:///absolute, sqlite:relative,
// file:… or a plain path. It starts the engine once, so that a file that cannot
// be read says so now: the error is a *footnote.Error with code
// DatabaseUnavailable, or InvalidRequest for an address that makes no sense. Name
// is how messages call the database.
func Open(ctx context.Context, name, address string, o Options) (*Source, error) {
	path, immutable, err := parseAddress(address)
	if err != nil {
		return nil, footnote.Errorf(footnote.InvalidRequest, "database %s: %v", name, err)
	}
	if path, err = filepath.Abs(path); err != nil {
		return nil, fmt.Errorf("database %s: %w", name, err)
	}
	f := file{path: path, immutable: immutable}
	if _, err := f.look(); err != nil {
		return nil, named(name, err)
	}
	if o.Concurrency <= 0 {
		o.Concurrency = 4
	}
	s := &Source{name: name, file: f}
	s.Client = child.New(Kind, nil, child.Options{
		Dialect: "sqlite", Limits: o.Limits, Concurrency: o.Concurrency, Idle: o.Idle,
		Pool: o.Pool, TempDir: o.TempDir, Logger: o.Logger, MaxFile: maxTemp,
		Stamp:   f.stamp,
		Version: func(context.Context) (string, error) { return f.version() },
		Grant:   f.readable,
		Prepare: func(ctx context.Context, temp string) (any, error) {
			uri, err := f.uri(ctx, temp)
			return config{URI: uri, Conns: o.Concurrency}, err
		},
	})
	if _, err := s.Status(ctx); err != nil {
		s.Close()
		return nil, named(name, err)
	}
	return s, nil
}

// named puts the name of the database before the message of an error.
func named(name string, err error) error {
	if e, ok := errors.AsType[*footnote.Error](err); ok {
		return &footnote.Error{Code: e.Code, Message: "database " + name + ": " + e.Message, RetryAfter: e.RetryAfter, Err: e.Err}
	}
	return fmt.Errorf("database %s: %w", name, err)
}

// parseAddress reads the forms of an address that Open takes.
func parseAddress(address string) (path string, immutable bool, err error) {
	scheme, rest, ok := strings.Cut(address, ":")
	if !ok || (scheme != "sqlite" && scheme != "file") {
		path = address // a plain path is taken as it is, also with % or ? in it
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
				return "", false, fmt.Errorf("the parameter %s=%s is not allowed; mode=ro and immutable=1 are", key, strings.Join(v, ","))
			}
		}
	}
	if path == "" || path == ":memory:" || strings.IndexByte(path, 0) >= 0 {
		return "", false, fmt.Errorf("%q does not name a database file", address)
	}
	return path, immutable, nil
}

// file is a database file and how it must be opened.
type file struct {
	path      string // absolute
	immutable bool   // the operator says that nobody writes
}

// state is what a look at a file tells.
type state struct {
	real   string // path without symbolic links
	info   fs.FileInfo
	wal    fs.FileInfo // nil when there is none
	shm    fs.FileInfo
	walled bool // the database is in WAL mode
	change uint32
}

// look reads the head of the file, and finds the files beside it.
func (f file) look() (state, error) {
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
	if s.real, err = filepath.EvalSymlinks(f.path); err != nil {
		return s, &footnote.Error{Code: footnote.DatabaseUnavailable, Message: "The database file is not there.", Err: err}
	}
	head, err := readHead(s.real)
	switch {
	case errors.Is(err, fs.ErrPermission):
		return s, &footnote.Error{Code: footnote.DatabaseUnavailable, Message: "The database file cannot be read: permission denied.", Err: err}
	case err != nil && !errors.Is(err, io.ErrUnexpectedEOF):
		return s, &footnote.Error{Code: footnote.DatabaseUnavailable, Message: "The database file cannot be read.", Err: err}
	case err != nil || string(head[:16]) != "SQLite format 3\x00":
		return bad("The file is not a SQLite database, or is encrypted.")
	}
	s.info = info
	s.walled = head[18] == 2 || head[19] == 2
	s.change = binary.BigEndian.Uint32(head[24:])
	s.wal, s.shm = beside(s.real+"-wal"), beside(s.real+"-shm")
	return s, nil
}

func readHead(path string) (head [100]byte, err error) {
	f, err := os.Open(path)
	if err != nil {
		return head, err
	}
	defer f.Close()
	_, err = io.ReadFull(f, head[:])
	return head, err
}

func beside(path string) fs.FileInfo {
	info, err := os.Stat(path)
	if err != nil {
		return nil
	}
	return info
}

// The ways to open a file, by what is beside it.
const (
	plain  = "plain"  // as it is, with SQLite's locks
	shared = "shared" // WAL with its index, which a writer keeps; we only read it
	still  = "still"  // nobody writes: no locks, no WAL
	copied = "copied" // WAL without its index, which we may not make beside the file
)

func (f file) way(s state) string {
	switch {
	case f.immutable:
		return still
	case !s.walled:
		return plain
	case s.shm != nil:
		return shared
	case s.wal == nil || s.wal.Size() == 0:
		return still
	default:
		return copied
	}
}

// stamp changes when a new child must open the file: when it was replaced, and,
// where the way it was opened does not see changes, when it changed.
func (f file) stamp() (string, error) {
	s, err := f.look()
	if err != nil {
		return "", err
	}
	way := f.way(s)
	stamp := way + " " + child.FileID(s.info) + " " + id(s.wal) + " " + id(s.shm)
	if way == still || way == copied {
		stamp += " " + s.version()
	}
	return stamp, nil
}

// version changes with the data.
func (f file) version() (string, error) {
	s, err := f.look()
	if err != nil {
		return "", err
	}
	return s.version(), nil
}

func (s state) version() string {
	v := fmt.Sprintf("%s-%d-%d-%d", child.FileID(s.info), s.info.Size(), s.info.ModTime().UnixNano(), s.change)
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

// uri is the one place where the name that SQLite opens is built: always a file:
// URI, escaped, read-only.
func (f file) uri(ctx context.Context, temp string) (string, error) {
	s, err := f.look()
	if err != nil {
		return "", err
	}
	path, params := s.real, "mode=ro"
	switch f.way(s) {
	case shared:
		params += "&readonly_shm=1"
	case still:
		params += "&immutable=1"
	case copied:
		if path, err = f.copy(ctx, s, temp); err != nil {
			return "", err
		}
	}
	return (&url.URL{Scheme: "file", Path: filepath.ToSlash(path), RawQuery: params}).String(), nil
}

// copy takes a database whose WAL cannot be read in place into the child's
// directory, where the index may be made.
func (f file) copy(ctx context.Context, s state, temp string) (string, error) {
	if s.info.Size()+s.wal.Size() > maxTemp {
		return "", footnote.Errorf(footnote.DatabaseUnavailable,
			"The database has a write-ahead log that was not merged and is too large to be copied. Open it once with a program that may write, to merge the log.")
	}
	path := filepath.Join(temp, "copy.db")
	for from, to := range map[string]string{s.real: path, s.real + "-wal": path + "-wal"} {
		if err := copyFile(ctx, from, to); err != nil {
			return "", fmt.Errorf("copy the database: %w", err)
		}
	}
	return path, nil
}

func copyFile(ctx context.Context, from, to string) error {
	in, err := os.Open(from)
	if err != nil {
		return err
	}
	defer in.Close()
	out, err := os.OpenFile(to, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o600)
	if err != nil {
		return err
	}
	for err == nil && ctx.Err() == nil {
		_, err = io.CopyN(out, in, 4<<20)
	}
	if err == nil {
		err = context.Cause(ctx)
	} else if errors.Is(err, io.EOF) {
		err = nil
	}
	return errors.Join(err, out.Close())
}
