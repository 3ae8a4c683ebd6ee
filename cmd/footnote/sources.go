package main

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"maps"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"

	"golang.org/x/sync/errgroup"

	"github.com/footnotehq/footnote"
	"github.com/footnotehq/footnote/config"
	"github.com/footnotehq/footnote/internal/plainfile"
	"github.com/footnotehq/footnote/source"
	"github.com/footnotehq/footnote/source/child"
	"github.com/footnotehq/footnote/source/duckdb"
	"github.com/footnotehq/footnote/source/postgres"
	"github.com/footnotehq/footnote/source/sqlite"
)

// engines are what runs in child processes: databases, and the parser of one that is
// elsewhere.
func engines() map[string]child.OpenFunc {
	return map[string]child.OpenFunc{sqlite.Kind: sqlite.OpenEngine, duckdb.Kind: duckdb.OpenEngine, postgres.Kind: postgres.OpenEngine}
}

// notName matches what the name of a source must not hold.
var notName = regexp.MustCompile(`[^a-zA-Z0-9_-]+`)

// namedSources reads the --source flags: the name of a configured source,
// name=url-or-path, or an address alone, which gets its file's name.
func namedSources(flags []string, configured map[string]string) (map[string]string, error) {
	named := map[string]string{}
	for _, f := range flags {
		name, where, ok := strings.Cut(f, "=")
		switch known, isName := configured[f]; {
		case isName:
			name, where = f, known
		case !ok || name == "" || notName.MatchString(name):
			name, where = nameOf(f), f
		}
		if where == "" || len(name) > 64 {
			return nil, fmt.Errorf("--source %q is neither a configured source's name nor name=url-or-path nor a path", f)
		}
		if err := config.CheckSource(name, where); err != nil {
			return nil, err
		}
		if _, twice := named[name]; twice {
			return nil, fmt.Errorf("two sources are named %s; give one another name with --source name=path", name)
		}
		named[name] = where
	}
	return named, nil
}

// sameFiltered refuses a configured source with filters under a name that has none.
func sameFiltered(named map[string]string, c config.Config) error {
	for name, where := range named {
		for configured, address := range c.Sources {
			if len(c.Filters[configured]) > 0 && len(c.Filters[name]) == 0 && sameAddress(address, where) {
				return fmt.Errorf("--source %s: the configuration has filters for this address, under the name %s. Use --source %s", where, configured, configured)
			}
		}
	}
	return nil
}

// sameAddress reports whether two addresses of files lead to one file.
func sameAddress(a, b string) bool {
	if a == b {
		return true
	}
	path := func(address string) string {
		if scheme, rest, ok := strings.Cut(address, ":"); ok && (scheme == "sqlite" || scheme == "duckdb" || scheme == "file") {
			address, _, _ = strings.Cut(strings.TrimPrefix(rest, "//"), "?")
		}
		return address
	}
	one, err1 := os.Stat(path(a))
	other, err2 := os.Stat(path(b))
	return err1 == nil && err2 == nil && os.SameFile(one, other)
}

// nameOf is a name for the source at an address: what its file is called.
func nameOf(where string) string {
	if isPostgres(where) {
		where, _, _ = strings.Cut(where, "?")
		_, where, _ = strings.Cut(where, "://")
		if _, base, ok := strings.Cut(where, "/"); ok && base != "" {
			where = base
		} else {
			where = "postgres"
		}
	} else if scheme, rest, ok := strings.Cut(where, ":"); ok && (scheme == "sqlite" || scheme == "duckdb" || scheme == "file") {
		where, _, _ = strings.Cut(rest, "?")
	}
	if abs, err := filepath.Abs(where); err == nil {
		where = abs // "." has a name, too
	}
	base := filepath.Base(where)
	name := notName.ReplaceAllString(strings.TrimSuffix(base, filepath.Ext(base)), "_")
	if name = name[:min(len(name), 64)]; strings.Trim(name, "_") == "" {
		return "data"
	}
	return name
}

// sources are the opened databases by name.
type sources map[string]source.Source

// Source returns one of them.
func (s sources) Source(name string) (source.Source, error) {
	if src, ok := s[name]; ok {
		return src, nil
	}
	return nil, footnote.Errorf(footnote.NotFound, "There is no source named %.80q.", name)
}

func (s sources) names() []string { return slices.Sorted(maps.Keys(s)) }

func (s sources) close() error {
	var errs []error
	for _, src := range s {
		errs = append(errs, src.Close())
	}
	return errors.Join(errs...)
}

// openSources opens the configured sources, side by side, and proves each of them
// read-only. Progress tells how the loading of files goes; it may be nil.
func openSources(ctx context.Context, c config.Config, p processes, log *slog.Logger, progress func(source, table string, rows int64)) (sources, error) {
	opened := make([]source.Source, len(c.Sources))
	names := slices.Sorted(maps.Keys(c.Sources))
	group, ctx := errgroup.WithContext(ctx)
	group.SetLimit(4)
	for i, name := range names {
		group.Go(func() error {
			src, err := openSource(ctx, c, name, c.Sources[name], c.Filters[name], filepath.Join(c.Data, "loaded"), p, log, progress)
			if err != nil {
				return err // it names the source
			}
			opened[i] = src
			return prove(ctx, name, src)
		})
	}
	err := group.Wait()
	all := sources{}
	for i, name := range names {
		if opened[i] != nil {
			all[name] = opened[i]
		}
	}
	if err != nil {
		return nil, errors.Join(err, all.close())
	}
	return all, nil
}

// prove makes sure that a source refuses every write.
func prove(ctx context.Context, name string, src source.Source) error {
	if err := src.Probe(ctx); err != nil {
		return fmt.Errorf("source %s: %w", name, err)
	}
	return nil
}

// openSource opens one database by its URL, or by what its path looks like. What is
// loaded of files goes into the folder loaded. An engine that cannot hold the filters
// does not open.
func openSource(ctx context.Context, c config.Config, name, where string, filters map[string]string, loaded string, p processes, log *slog.Logger, progress func(source, table string, rows int64)) (source.Source, error) {
	limits := source.Limits{Time: c.Limits.QueryTime, Rows: c.Limits.QueryRows, Bytes: c.Limits.QueryBytes, Memory: c.Limits.QueryMemory}
	if isPostgres(where) {
		if len(filters) > 0 {
			return nil, fmt.Errorf("source %s: filters are not for Postgres, which has policies of its own", name)
		}
		return postgres.Open(ctx, name, where, postgres.Options{
			Limits: limits, Functions: c.FunctionsOf(name), VersionSQL: c.Cache.Version(name), Grammar: p.grammar, Logger: log,
		})
	}
	if isSQLite(where) {
		return sqlite.Open(ctx, name, where, sqlite.Options{Limits: limits, Filters: filters, Pool: p.serve, Logger: log})
	}
	o := duckdb.Options{
		Dir: loaded, Limits: limits, Filters: filters, Pool: p.serve, Logger: log,
		LoadPool: p.load, LoadMemory: c.Limits.LoadMemory, LoadWait: p.loadWait,
	}
	if progress != nil {
		o.Progress = func(table string, rows int64) { progress(name, table, rows) }
	}
	return duckdb.Open(ctx, name, where, o)
}

func isPostgres(where string) bool {
	return strings.HasPrefix(where, "postgres://") || strings.HasPrefix(where, "postgresql://")
}

// isSQLite decides which engine opens an address: by its scheme, by what the file
// begins with, or by how it is called.
func isSQLite(where string) bool {
	scheme, _, ok := strings.Cut(where, ":")
	if ok && (scheme == "sqlite" || scheme == "file") {
		return true
	}
	if ok && scheme == "duckdb" {
		return false
	}
	file, err := plainfile.Open(where)
	if err == nil {
		defer file.Close()
		head := make([]byte, 16)
		if n, _ := file.Read(head); n == len(head) && string(head) == "SQLite format 3\x00" {
			return true
		}
	}
	switch strings.ToLower(filepath.Ext(where)) {
	case ".db", ".sqlite", ".sqlite3", ".db3":
		return !beginsLikeDuckDB(where)
	}
	return false
}

// beginsLikeDuckDB reports whether a file is a DuckDB database, which has its mark
// after eight bytes of checksum.
func beginsLikeDuckDB(path string) bool {
	file, err := plainfile.Open(path)
	if err != nil {
		return false
	}
	defer file.Close()
	head := make([]byte, 12)
	n, _ := file.Read(head)
	return n == len(head) && string(head[8:]) == "DUCK"
}
