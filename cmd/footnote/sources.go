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

// engines returns what can run in child processes: the embedded databases, and the parser for Postgres.
func engines() map[string]child.OpenFunc {
	return map[string]child.OpenFunc{
		sqlite.Kind:   sqlite.OpenEngine,
		duckdb.Kind:   duckdb.OpenEngine,
		postgres.Kind: postgres.OpenEngine,
	}
}

// notName matches the characters that a source name must not contain.
var notName = regexp.MustCompile(`[^a-zA-Z0-9_-]+`)

// namedSources parses the --source flags: the name of a configured source, name=url-or-path, or an address alone,
// which is named after its file.
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
			return nil, fmt.Errorf("--source %q is neither a configured source's name nor name=url-or-path nor a path",
				f)
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

// sameFiltered rejects a source that is configured with filters but given under a name without them.
func sameFiltered(named map[string]string, c config.Config) error {
	for name, where := range named {
		for configured, address := range c.Sources {
			if len(c.Filters[configured]) > 0 && len(c.Filters[name]) == 0 && sameAddress(address, where) {
				return fmt.Errorf("--source %s: the configuration has filters for this address, under the name %s. "+
					"Use --source %s", where, configured, configured)
			}
		}
	}
	return nil
}

// sameAddress reports whether two file addresses refer to the same file.
func sameAddress(a, b string) bool {
	if a == b {
		return true
	}
	path := func(address string) string {
		if scheme, rest, ok := strings.Cut(address, ":"); ok &&
			(scheme == "sqlite" || scheme == "duckdb" || scheme == "file") {
			address, _, _ = strings.Cut(strings.TrimPrefix(rest, "//"), "?")
		}
		return address
	}
	one, err1 := os.Stat(path(a))
	other, err2 := os.Stat(path(b))
	return err1 == nil && err2 == nil && os.SameFile(one, other)
}

// nameOf returns a name for the source at an address, based on its file name.
func nameOf(where string) string {
	if isPostgres(where) {
		where, _, _ = strings.Cut(where, "?")
		_, where, _ = strings.Cut(where, "://")
		if _, base, ok := strings.Cut(where, "/"); ok && base != "" {
			where = base
		} else {
			where = "postgres"
		}
	} else if scheme, rest, ok := strings.Cut(where, ":"); ok &&
		(scheme == "sqlite" || scheme == "duckdb" || scheme == "file") {
		where, _, _ = strings.Cut(rest, "?")
	}
	if abs, err := filepath.Abs(where); err == nil {
		where = abs // "." has a base name, too
	}
	base := filepath.Base(where)
	name := notName.ReplaceAllString(strings.TrimSuffix(base, filepath.Ext(base)), "_")
	if name = name[:min(len(name), 64)]; strings.Trim(name, "_") == "" {
		return "data"
	}
	return name
}

// sources holds the open databases by name.
type sources map[string]source.Source

// Source returns the source with a name.
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

// openSources opens the configured sources concurrently and proves each one read-only. It calls progress while files
// load; progress may be nil.
func openSources(ctx context.Context, c config.Config, p processes, log *slog.Logger,
	progress func(source, table string, rows int64)) (sources, error) {
	opened := make([]source.Source, len(c.Sources))
	names := slices.Sorted(maps.Keys(c.Sources))
	group, ctx := errgroup.WithContext(ctx)
	group.SetLimit(4)
	for i, name := range names {
		group.Go(func() error {
			src, err := openSource(ctx, c, name, c.Sources[name], c.Filters[name], filepath.Join(c.Data, "loaded"), p,
				log, progress)
			if err != nil {
				return err // the error names the source
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

// prove checks that a source rejects every write.
func prove(ctx context.Context, name string, src source.Source) error {
	if err := src.Probe(ctx); err != nil {
		return fmt.Errorf("source %s: %w", name, err)
	}
	return nil
}

// openSource opens one database by its URL scheme, or by the type of the file at its path. It stores data loaded
// from files in the folder loaded. It returns an error if the engine cannot enforce the filters.
func openSource(ctx context.Context, c config.Config, name, where string, filters map[string]string, loaded string,
	p processes, log *slog.Logger, progress func(source, table string, rows int64)) (source.Source, error) {
	limits := source.Limits{
		Time: c.Limits.QueryTime, Rows: c.Limits.QueryRows, Bytes: c.Limits.QueryBytes, Memory: c.Limits.QueryMemory,
	}
	if isPostgres(where) {
		if len(filters) > 0 {
			return nil, fmt.Errorf("source %s: filters are not for Postgres, which has policies of its own", name)
		}
		return postgres.Open(ctx, name, where, postgres.Options{
			Limits: limits, Functions: c.FunctionsOf(name), VersionSQL: c.Cache.Version(name), Grammar: p.grammar,
			Logger: log,
		})
	}
	if isSQLite(where) {
		return sqlite.Open(ctx, name, where, sqlite.Options{
			Limits: limits, Filters: filters, Pool: p.serve, Logger: log,
		})
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

// isSQLite reports whether SQLite opens an address: by its scheme, by the first bytes of the file, or by its name.
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

// beginsLikeDuckDB reports whether a file is a DuckDB database. Its magic bytes follow eight bytes of checksum.
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
