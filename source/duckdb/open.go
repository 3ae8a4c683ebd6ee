//go:build cgo && !noduckdb

package duckdb

import (
	"bytes"
	"cmp"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"time"
	"unicode"

	"github.com/footnotehq/footnote"
	"github.com/footnotehq/footnote/internal/plainfile"
	"github.com/footnotehq/footnote/internal/rowfilter"
	"github.com/footnotehq/footnote/internal/wordlist"
	"github.com/footnotehq/footnote/source"
	"github.com/footnotehq/footnote/source/child"
	"github.com/footnotehq/footnote/source/duckdb/dialect"
	"github.com/footnotehq/footnote/source/duckdb/tidy"
	"github.com/footnotehq/footnote/source/engines"
)

// Available reports whether this program was built with DuckDB.
const Available = true

// system lists files that DuckDB reads to learn how much memory there is. It crashes if they exist and cannot be
// read.
var system = []string{"/proc/self/cgroup", "/sys/fs/cgroup"}

const (
	maxFiles   = 500 // per folder
	loadMemory = 1 << 30
)

// Source is an open set of files or an open database. It implements source.Source.
type Source struct {
	*child.Client
	name   string
	path   string // absolute
	opts   Options
	rules  *rowfilter.Rules // nil: everybody sees every row
	files  bool             // files to load, rather than a database that is served in place
	list   ListFunc         // the files to load
	copies bool             // list may fetch them first

	mu     sync.Mutex // held while loading; guards below
	loaded string     // the database that the files were loaded into, named after their stamp

	replaced atomic.Int64 // number of children replaced because of the memory they held
}

// Open opens data files by path or URL (duckdb:///absolute, duckdb:relative, file:…): one file (see formats), a folder
// of them, or a DuckDB database (.duckdb, .db), which is served
// in place. Files are loaded before Open returns, unless an earlier load is still current.
//
// The error is a *footnote.Error: DatabaseUnavailable when the files cannot be read, with a message that says why,
// or InvalidRequest for an invalid address. Messages refer to the source by name.
func Open(ctx context.Context, name, address string, o Options) (source.Source, error) {
	path, err := parseAddress(address)
	if err != nil {
		return nil, footnote.Invalidf("source %s: %v", name, err)
	}
	if path, err = filepath.Abs(path); err != nil {
		return nil, fmt.Errorf("source %s: %w", name, err)
	}
	o = withDefaults(o)
	rules, err := rowfilter.Parse(o.Filters)
	if err != nil {
		return nil, footnote.Invalidf("filters.%s: %v", name, err)
	}
	s := &Source{name: name, path: path, opts: o, rules: rules}
	s.list = func(context.Context) ([]File, error) { return inputFiles(path) }
	return s.opened(ctx)
}

func withDefaults(o Options) Options {
	o.LoadTime = cmp.Or(max(o.LoadTime, 0), 30*time.Minute)
	o.Pool = cmp.Or(o.Pool, child.NewPool(0))
	o.LoadPool = cmp.Or(o.LoadPool, o.Pool)
	o.LoadMemory = cmp.Or(max(o.LoadMemory, 0), loadMemory)
	return o
}

func (s *Source) opened(ctx context.Context) (source.Source, error) {
	if err := s.open(ctx); err != nil {
		if s.Client != nil {
			s.Client.Close()
		}
		return nil, source.Named(s.name, err)
	}
	return s, nil
}

func (s *Source) open(ctx context.Context) error {
	database := false
	if !s.copies {
		var err error
		if database, err = isDatabase(s.path); err != nil {
			return err
		}
	}
	o := s.opts
	opts := child.Options{
		Dialect: dialect.DuckDB, Limits: o.Limits, Pool: o.Pool, Logger: o.Logger, MaxFile: maxSpill, Read: system,
		Stamp: s.generation, Version: s.version, Filters: s.rules, Hiding: o.Hiding,
	}
	served := s.current
	if database {
		real, err := filepath.EvalSymlinks(s.path)
		if err != nil {
			return footnote.Wrapf(footnote.DatabaseUnavailable, err, "The database file is not there.")
		}
		if err := checkPath(real); err != nil {
			return err
		}
		served = func() string { return real }
	} else {
		s.files = true
		if err := s.cacheDir(); err != nil {
			return err
		}
		if err := s.refresh(ctx); err != nil {
			return err
		}
	}
	opts.Grant = func() []string { return []string{served(), served() + ".wal"} }
	opts.Config = func() (any, error) {
		return config{
			Path: served(), Memory: s.Limits().Memory, Filters: s.rules.Opened(), Blank: s.rules.Blank(),
			Hides: o.Hiding != nil && o.Hiding.Any(),
		}, nil
	}
	s.Client = child.New(Kind, nil, opts)
	_, err := s.Status(ctx)
	return err
}

// parseAddress parses the forms of address that Open accepts.
func parseAddress(address string) (string, error) {
	path, parameters, err := engines.FilePath(address, "duckdb", "file")
	if err == nil && parameters != nil && strings.ContainsAny(address, "?#") {
		return "", fmt.Errorf("the address %q has parameters; none are allowed", address)
	}
	return path, err
}

// checkPath refuses paths that DuckDB's driver would misread: it parses them as URLs and would drop everything
// after a # or ?, including settings.
func checkPath(path string) error {
	if i := strings.IndexAny(path, "?#%"); i >= 0 || strings.Contains(filepath.Base(path), ":") {
		return footnote.Errorf(footnote.DatabaseUnavailable,
			"The path of a database must not hold any of the characters ? # %% and :. Rename the file or its folder.")
	}
	return nil
}

func unavailable(format string, args ...any) error {
	return footnote.Errorf(footnote.DatabaseUnavailable, format, args...)
}

// isDatabase reports whether a path is a DuckDB database, by the file's contents rather than its name.
func isDatabase(path string) (bool, error) {
	info, err := child.Stat(path)
	if err != nil {
		return false, err
	}
	if info.IsDir() {
		return false, nil
	}
	base := filepath.Base(path)
	switch {
	case !info.Mode().IsRegular():
		return false, unavailable("%s is not a regular file.", base)
	case info.Size() == 0:
		return false, unavailable("%s is empty (0 bytes).", base)
	}
	head, err := plainfile.Head(path, 16)
	if err != nil {
		return false, unavailable("%s cannot be read.", base)
	}
	ext := strings.ToLower(filepath.Ext(path))
	switch {
	case isDuckDB(head):
		return true, nil
	case strings.HasPrefix(string(head), "SQLite format 3"):
		return false, unavailable("%s is an SQLite database: open it with sqlite:.", base)
	case ext == ".duckdb" || ext == ".db" || ext == ".ddb":
		return false, unavailable("%s is not a DuckDB database, or is damaged.", base)
	}
	return false, nil
}

// formats maps file name extensions to formats.
var formats = wordlist.Map(`
	.csv .tsv .tab .txt .psv: text
	.json .ndjson .jsonl: json
	.parquet .pq: parquet
	.xlsx .xlsm: xlsx`)

// inputFiles lists the files at a path, in the order in which they are loaded.
func inputFiles(path string) ([]File, error) {
	info, err := child.Stat(path)
	if err != nil {
		return nil, err
	}
	if info.IsDir() {
		return inputFolder(path)
	}
	if !info.Mode().IsRegular() { // opening a pipe would block until it has a writer
		return nil, unavailable("%s is not a regular file.", filepath.Base(path))
	}
	f, ok, err := recogniseFile(path)
	if err != nil {
		return nil, err
	}
	if !ok {
		return nil, unavailable(
			"%s is not a kind of file that can be loaded: %s and DuckDB databases are.", filepath.Base(path),
			strings.Join(slices.Sorted(maps.Keys(formats)), ", "))
	}
	return []File{f}, nil
}

// inputFolder lists the files of a folder that can be loaded.
func inputFolder(folder string) ([]File, error) {
	entries, err := os.ReadDir(folder)
	if err != nil {
		return nil, unavailable("The folder cannot be read.")
	}
	var list []File
	outside := 0
	for _, e := range entries {
		path := filepath.Join(folder, e.Name())
		info, err := os.Stat(path)
		if err != nil || !info.Mode().IsRegular() || info.Size() == 0 || strings.HasPrefix(e.Name(), ".") ||
			strings.HasPrefix(e.Name(), "~$") || formats[strings.ToLower(filepath.Ext(path))] == "" {
			continue
		}
		if e.Type()&fs.ModeSymlink != 0 && !isInside(folder, path) {
			outside++
			continue
		}
		f, ok, err := recogniseFile(path)
		if err != nil {
			return nil, err
		}
		if ok {
			list = append(list, f)
		}
	}
	switch {
	case len(list) == 0 && outside > 0:
		return nil, unavailable(
			"The folder holds only links to files outside it, which are not followed. Copy the files, or open the " +
				"folder they are in.")
	case len(list) == 0:
		return nil, unavailable(
			"The folder holds no files that can be loaded, with the names %s.",
			strings.Join(slices.Sorted(maps.Keys(formats)), ", "))
	case len(list) > maxFiles:
		return nil, unavailable("The folder holds %d files; at most %d can be loaded.", len(list), maxFiles)
	}
	return list, nil
}

// isInside reports whether a link in a folder leads to something inside that folder. Someone who can put files into a
// folder must not be able to choose which other files of the machine are read.
func isInside(folder, path string) bool {
	root, err1 := filepath.EvalSymlinks(folder)
	real, err2 := filepath.EvalSymlinks(path)
	if err1 != nil || err2 != nil {
		return false
	}
	rel, err := filepath.Rel(root, real)
	return err == nil && filepath.IsLocal(rel)
}

// recogniseFile determines how to load a file: by its first bytes, then by its name.
func recogniseFile(path string) (File, bool, error) {
	f := File{Path: path, Table: tableName(strings.TrimSuffix(filepath.Base(path), filepath.Ext(path)))}
	f.Format = formats[strings.ToLower(filepath.Ext(path))]
	head, err := plainfile.Head(path, 16)
	if err != nil {
		return f, false, footnote.Wrapf(footnote.DatabaseUnavailable, err, "%s cannot be read.", filepath.Base(path))
	}
	switch {
	case bytes.HasPrefix(head, []byte("PAR1")):
		f.Format = "parquet"
	case bytes.HasPrefix(head, []byte("PK\x03\x04")):
		f.Format = "xlsx"
	}
	return f, f.Format != "", nil
}

// tableName derives a table's name from a file's: lower case, with every character other than letters and digits
// replaced by _, and never in need of quotes.
func tableName(s string) string {
	var b strings.Builder
	for _, r := range strings.ToLower(s) {
		if unicode.IsLetter(r) || unicode.IsDigit(r) {
			b.WriteRune(r)
		} else if b.Len() > 0 && !strings.HasSuffix(b.String(), "_") {
			b.WriteByte('_')
		}
	}
	name := strings.Trim(b.String(), "_")
	if r := []rune(name); len(r) > 60 {
		name = string(r[:60])
	}
	switch {
	case name == "":
		return "t"
	case unicode.IsDigit([]rune(name)[0]) || reserved[name]:
		return "t_" + name
	}
	return name
}

// reserved lists DuckDB's words that cannot name a table without quotes.
var reserved = wordlist.Set(`all analyse analyze and any array as asc asymmetric both case cast check collate column
	constraint create default deferrable desc describe distinct do else end except false fetch for foreign from
	group having in initially intersect into lambda lateral leading limit not null offset on only or order pivot
	pivot_longer pivot_wider placing primary qualify references returning select show some summarize symmetric table
	then to trailing true union unique unpivot using variadic when where window with`)

// version identifies the current contents of the files.
func (s *Source) version() (string, error) {
	if s.files {
		// Right after a refresh, which comes before each query, nothing is fetched.
		ctx, stop := context.WithTimeout(context.Background(), s.opts.LoadTime)
		defer stop()
		files, err := s.list(ctx)
		if err != nil {
			return "", err
		}
		stamp, err := stampOf(files)
		return digest(stamp), err
	}
	stamp, err := child.FileStamp(s.path)
	if err != nil {
		return "", err
	}
	if info, err := os.Stat(s.path); err != nil || !info.Mode().IsRegular() {
		return "", unavailable("%s is not a regular file any more.", filepath.Base(s.path))
	}
	if wal, err := os.Stat(s.path + ".wal"); err == nil {
		stamp += fmt.Sprintf("%d %d", wal.Size(), wal.ModTime().UnixNano())
	}
	return digest(stamp), nil
}

// stampOf identifies files by path, size and modification time.
func stampOf(files []File) (string, error) {
	var b strings.Builder
	fmt.Fprintf(&b, "%s;", loadVersion)
	for _, f := range files {
		for _, path := range f.paths() {
			info, err := child.Stat(path)
			if err != nil {
				return "", err
			}
			fmt.Fprintf(&b, "%s %d %d;", path, info.Size(), info.ModTime().UnixNano())
		}
		if f.Hive || len(f.Columns) > 0 {
			fmt.Fprintf(&b, "%s %q %t;", f.Table, f.Columns, f.Hive)
		}
	}
	return b.String(), nil
}

func digest(s string) string {
	sum := sha256.Sum256([]byte(s))
	return hex.EncodeToString(sum[:10])
}

// cacheDir creates the directory for this source's loaded files.
func (s *Source) cacheDir() error {
	if s.opts.Dir == "" {
		base, err := os.UserCacheDir()
		if err != nil {
			return fmt.Errorf("find a directory for loaded files: %w", err)
		}
		s.opts.Dir = filepath.Join(base, "footnote", "files")
	}
	dir, err := filepath.Abs(s.opts.Dir)
	if err != nil {
		return fmt.Errorf("find the directory for loaded files: %w", err)
	}
	s.opts.Dir = filepath.Join(dir, digest(s.path+"{0 0 0}")) // the suffix is part of the names of existing directories
	if err := os.MkdirAll(s.opts.Dir, 0o700); err != nil {
		return footnote.Wrapf(footnote.StorageUnavailable, err, "The directory for loaded files cannot be created.")
	}
	return checkPath(s.opts.Dir)
}

// current returns the database that queries read.
func (s *Source) current() string {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.loaded
}

// refresh loads the files if they have changed since they were last loaded.
func (s *Source) refresh(ctx context.Context) error {
	if !s.files {
		return nil
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	files, err := s.list(ctx)
	if err != nil {
		return err
	}
	stamp, err := stampOf(files)
	if err != nil {
		return err
	}
	path := filepath.Join(s.opts.Dir, digest(stamp)+".duckdb")
	if _, err := os.Stat(path); err != nil {
		if err := s.load(ctx, files, path, stamp); err != nil {
			return err
		}
	} else if path == s.loaded {
		return nil
	}
	s.loaded = path
	s.sweep(path)
	return nil
}

// load runs a loading child and moves its result into place.
func (s *Source) load(ctx context.Context, files []File, path, stamp string) error {
	ctx, stop := context.WithTimeoutCause(ctx, s.opts.LoadTime,
		unavailable("Loading the files took longer than %s.", s.opts.LoadTime))
	defer stop()
	temp, err := os.MkdirTemp(s.opts.Dir, "load-")
	if err != nil {
		return footnote.Wrapf(footnote.StorageUnavailable, err, "The directory for loaded files cannot be written.")
	}
	defer os.RemoveAll(temp)
	output := filepath.Join(temp, "new.duckdb")
	read := slices.Clone(system)
	for _, f := range files {
		read = append(read, f.paths()...)
	}
	plan := loadPlan{Output: output, Files: files, Limits: tidy.Limits{}.WithDefaults()}
	if err := checkSizes(files, plan.Limits.Bytes); err != nil && !s.copies {
		return err
	}
	if err := runLoader(ctx, "load", plan, read, []string{temp}, s.opts, s.progress()); err != nil {
		return err
	}
	if again, err := stampOf(files); err != nil || again != stamp {
		return unavailable("The files changed while they were being loaded. Try again.")
	}
	if err := os.Rename(output, path); err != nil {
		return footnote.Wrapf(footnote.StorageUnavailable, err, "The loaded file cannot be put into place.")
	}
	return nil
}

// runLoader runs a statement of a loading child.
func runLoader(ctx context.Context, sql string, plan loadPlan, read, write []string, o Options,
	each func(row []any) error) error {
	c := child.New(Kind, config{Load: &plan, Memory: o.LoadMemory}, child.Options{
		Dialect: dialect.DuckDB, Profile: child.Load, Read: read, Write: write,
		Pool: o.LoadPool, Wait: o.LoadWait, Logger: o.Logger,
		Limits: source.Limits{Time: o.LoadTime, Rows: 1 << 40, Bytes: 1 << 50, Memory: o.LoadMemory},
	})
	_, err := c.Query(ctx, source.Query{SQL: sql}, each)
	if err = errors.Join(err, c.Close()); err != nil {
		return loadFailure(err)
	}
	return nil
}

// progress returns a function that forwards a loading child's reports, at most ten times a second.
func (s *Source) progress() func(row []any) error {
	var last time.Time
	return func(row []any) error {
		if s.opts.Progress == nil || len(row) != 3 || (row[2] == false && time.Since(last) < 100*time.Millisecond) {
			return nil
		}
		last = time.Now()
		table, _ := row[0].(string)
		rows, _ := row[1].(int64)
		s.opts.Progress(table, rows)
		return nil
	}
}

func checkSizes(files []File, maxBytes int64) error {
	for _, f := range files {
		if info, err := os.Stat(f.Path); err == nil && info.Size() > maxBytes {
			return unavailable("%s has %d MB; the limit is %d MB.", filepath.Base(f.Path), info.Size()>>20,
				maxBytes>>20)
		}
	}
	return nil
}

// loadFailure turns a loading child's error into one of opening the source.
func loadFailure(err error) error {
	if e, ok := errors.AsType[*source.Error](err); ok {
		return footnote.Wrapf(footnote.DatabaseUnavailable, err, "The files could not be loaded: %s", e.Reason)
	}
	return err
}

// sweep removes the databases of other versions of the files and the remains of killed loads. A child that still
// reads one keeps it open.
func (s *Source) sweep(keep string) {
	entries, err := os.ReadDir(s.opts.Dir)
	if err != nil {
		return
	}
	for _, e := range entries {
		path := filepath.Join(s.opts.Dir, e.Name())
		info, err := e.Info()
		if err != nil || path == keep {
			continue
		}
		if !e.IsDir() || time.Since(info.ModTime()) > s.opts.LoadTime {
			os.RemoveAll(path)
		}
	}
}

// generation returns the version of the files plus a number that changes when the next query must get a new child.
func (s *Source) generation() (string, error) {
	v, err := s.version()
	return fmt.Sprintf("%s %d", v, s.replaced.Load()), err
}

// Query implements source.Source. It first reloads files that have changed.
func (s *Source) Query(ctx context.Context, q source.Query, each func(row []any) error) (source.Summary, error) {
	if err := s.refresh(ctx); err != nil {
		return source.Summary{}, err
	}
	sum, err := s.Client.Query(ctx, q, each)
	s.replaceBloatedChild(ctx, err)
	return sum, err
}

// replaceBloatedChild replaces a child that keeps much memory after a query. Otherwise, the next query could be stopped
// for memory that it did not use.
func (s *Source) replaceBloatedChild(ctx context.Context, err error) {
	e, stopped := errors.AsType[*source.Error](err)
	stopped = stopped && e.Kind == source.Limited
	if !stopped && s.PID() != 0 && ctx.Err() == nil {
		const unused = 96 << 20 // the memory of an idle child
		status, err := s.Status(ctx)
		stopped = err == nil && status.Resident > unused+s.Limits().Memory/2
	}
	if stopped {
		s.replaced.Add(1)
	}
}

// Schema implements source.Source.
func (s *Source) Schema(ctx context.Context) (source.Schema, error) {
	if err := s.refresh(ctx); err != nil {
		return source.Schema{}, err
	}
	return s.Client.Schema(ctx)
}

// Probe implements source.Source.
func (s *Source) Probe(ctx context.Context) error {
	if err := s.refresh(ctx); err != nil {
		return err
	}
	return s.Client.Probe(ctx)
}

var _ source.Source = (*Source)(nil)
