package app

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"maps"
	"net/url"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"sync"

	"golang.org/x/sync/errgroup"

	"github.com/footnotehq/footnote"
	"github.com/footnotehq/footnote/config"
	"github.com/footnotehq/footnote/demo"
	"github.com/footnotehq/footnote/source"
	"github.com/footnotehq/footnote/source/bigquery"
	"github.com/footnotehq/footnote/source/clickhouse"
	"github.com/footnotehq/footnote/source/databricks"
	"github.com/footnotehq/footnote/source/duckdb"
	"github.com/footnotehq/footnote/source/engines"
	"github.com/footnotehq/footnote/source/mysql"
	"github.com/footnotehq/footnote/source/postgres"
	"github.com/footnotehq/footnote/source/postgres/relatives"
	"github.com/footnotehq/footnote/source/s3"
	"github.com/footnotehq/footnote/source/snowflake"
	"github.com/footnotehq/footnote/source/sqlite"
	"github.com/footnotehq/footnote/source/sqlserver"
	"github.com/footnotehq/footnote/source/trino"
	"github.com/footnotehq/footnote/tool/workspace"
)

// Databases lists the engines that sources can have.
func Databases() engines.List {
	return engines.List{
		sqlite.Engine(), duckdb.Engine(), postgres.Engine(relatives.Open), mysql.Engine(), s3.Engine(),
		clickhouse.Engine(), bigquery.Engine(), snowflake.Engine(), databricks.Engine(), trino.Engine(),
		sqlserver.Engine(),
	}
}

// CheckSources rejects sources that no engine opens, and settings that their engines do not have. The settings
// functions and cache.versions are for the configured addresses: a source that was given another address on the
// command line need not support them. It opens nothing.
func CheckSources(c config.Config, configured map[string]string) error {
	all := Databases()
	for _, name := range slices.Sorted(maps.Keys(c.Sources)) {
		o := engines.Options{Filters: c.Filters[name]}
		if c.Sources[name] == configured[name] {
			o.Functions, o.VersionSQL = c.FunctionsOf(name), c.Cache.Version(name)
		}
		if err := all.Check(name, c.Sources[name], o); err != nil {
			return err
		}
	}
	return nil
}

// SameSource reports whether two file addresses refer to the same file.
func SameSource(a, b string) bool {
	if a == b {
		return true
	}
	all := Databases()
	one, err1 := os.Stat(all.Path(a))
	other, err2 := os.Stat(all.Path(b))
	return err1 == nil && err2 == nil && os.SameFile(one, other)
}

// notName matches the characters that a source name must not contain.
var notName = regexp.MustCompile(`[^a-zA-Z0-9_-]+`)

// IsSourceName reports whether a name has only characters that source names may have.
func IsSourceName(name string) bool { return name != "" && !notName.MatchString(name) }

// SourceName returns a name for the source at an address, based on its file name. It never has a part of a password.
func SourceName(where string) string {
	path := Databases().Path(where)
	if path == "" {
		path = serverName(where)
	}
	where = path
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

// serverName returns the name of the database at an address on a server, or else of its engine, or "data".
func serverName(address string) string {
	engine, err := Databases().Find(address)
	if err != nil || engine.Hosts == nil { // an unknown scheme, or no path
		return "data"
	}
	u, err := url.Parse(address)
	// A password with a slash or a question mark in it ends the host early.
	early := err == nil && u.User == nil && strings.Contains(address, "@")
	if err != nil || early || strings.Trim(u.Path, "/") == "" {
		return engine.Dialect.Name
	}
	return u.Path
}

// sources holds the open databases by name.
type sources map[string]source.Source

// Source returns the source with the given name.
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
// load; progress may be nil. rowsPerUser reports whether an engine among them has RowsPerUser.
func openSources(ctx context.Context, c config.Config, p processes, log *slog.Logger,
	progress func(source, table string, rows int64)) (_ sources, rowsPerUser bool, err error) {
	all := sources{}
	var mu sync.Mutex // guards all and rowsPerUser
	group, ctx := errgroup.WithContext(ctx)
	group.SetLimit(4)
	for name, address := range c.Sources {
		group.Go(func() error {
			src, engine, err := openSource(ctx, c, name, address, c.Filters[name], filepath.Join(c.Data, "loaded"), p,
				log, progress)
			if err != nil {
				return err // the error names the source
			}
			mu.Lock()
			all[name], rowsPerUser = src, rowsPerUser || engine.RowsPerUser()
			mu.Unlock()
			if err := probeReadOnly(ctx, name, src); err != nil {
				return err
			}
			return cmp.Or(checkProof(c, name, p.databases.Proof(src)), checkTables(ctx, name, src, c.Tables[name]))
		})
	}
	if err := group.Wait(); err != nil {
		return nil, false, errors.Join(err, all.close())
	}
	return all, rowsPerUser, nil
}

// beginSources starts to open the configured sources. They are there once wait has returned nil. Close closes them, or
// the catalog once there is one. store is the file of the conversations, which cannot be a source.
func (a *App) beginSources(ctx context.Context, store string,
	progress func(source, table string, rows int64)) (wait func() error, err error) {
	for name, address := range a.cfg.Sources {
		if err := checkNotStore(name, address, store); err != nil {
			return nil, err
		}
	}
	ctx, cancel := context.WithCancel(ctx)
	c, done := a.cfg, make(chan error, 1)
	running := a.children.configured()
	running.hiding = a.hiding(c)
	go func() {
		var err error
		a.sources, a.rowsPerUser, err = openSources(ctx, c, running, a.log, progress)
		done <- err
	}()
	wait = sync.OnceValue(func() error { return <-done })
	a.onClose(func() error {
		cancel()
		if wait() != nil || a.catalog != nil {
			return nil
		}
		return a.sources.close()
	})
	return wait, nil
}

// checkNotStore rejects a source that is the file of the conversations. A process that opens this file a second time
// and closes it loses the locks that SQLite holds on it.
func checkNotStore(name, address, file string) error {
	if !SameSource(address, file) {
		return nil
	}
	return fmt.Errorf("source %s: %s holds the conversations of Footnote and cannot be a source; use a copy of it",
		name, file)
}

// probeReadOnly checks that a source rejects every write.
func probeReadOnly(ctx context.Context, name string, src source.Source) error {
	if err := src.Probe(ctx); err != nil {
		return fmt.Errorf("source %s: %w", name, err)
	}
	return nil
}

// checkProof refuses a source whose proof is too weak, unless the operator accepts it.
func checkProof(c config.Config, name string, p source.Proof) error {
	if p.Strength != source.Unproven || slices.Contains(c.AcceptUnproven, name) {
		return nil
	}
	return footnote.Errorf(footnote.InvalidRequest, "database %s: it does not tell what its user may do beyond "+
		"reading, so it is not known to be read-only. Check the user's rights yourself, and then add the source to "+
		"accept_unproven.", name)
}

// openSource opens one database with the engine that fits its address, and returns both. It stores data loaded from
// files in the folder loaded.
func openSource(ctx context.Context, c config.Config, name, where string, filters map[string]string, loaded string,
	p processes, log *slog.Logger, progress func(source, table string, rows int64)) (source.Source, engines.Engine,
	error) {
	engine, err := p.databases.Find(where)
	if err != nil {
		return nil, engine, fmt.Errorf("source %s: %w", name, err)
	}
	if err := engine.CheckFilters(filters); err != nil {
		return nil, engine, fmt.Errorf("filters.%s: %w", name, err)
	}
	o := engines.Options{
		Limits: queryLimits(c), Filters: filters, Functions: c.FunctionsOf(name), VersionSQL: c.Cache.Version(name),
		Dir:  loaded,
		Pool: p.serve, LoadPool: p.loads, LoadMemory: c.Limits.LoadMemory, LoadWait: p.loadWait, Budget: p.budget,
		Logger: log,
	}
	if p.hiding != nil {
		o.Hiding = p.hiding(name)
	}
	o.Hiding = limitTables(c.Tables[name], o.Hiding)
	if progress != nil {
		o.Progress = func(table string, rows int64) { progress(name, table, rows) }
	}
	src, err := engine.Open(ctx, name, where, o)
	if err != nil {
		return nil, engine, err
	}
	return source.Estimated(src, allowedEstimate(c)), engine, nil
}

// allowedEstimate returns what a statement may read by its estimate.
func allowedEstimate(c config.Config) source.Allowed {
	e := c.Limits.Estimate
	return source.Allowed{
		Rows: e.Rows, Bytes: e.Bytes, MicroUSD: int64(e.USD * 1e6), Ask: e.Then == "approve",
	}
}

func queryLimits(c config.Config) source.Limits {
	return source.Limits{
		Time: c.Limits.QueryTime, Rows: c.Limits.QueryRows, Bytes: c.Limits.QueryBytes, Memory: c.Limits.QueryMemory,
	}
}

// OpenSource opens the only configured source, for a command that needs nothing else, and proves it read-only. close
// closes it and ends the processes that it uses.
func OpenSource(ctx context.Context, c config.Config, o Options) (_ source.Source, close func() error, err error) {
	children := newChildren(c)
	p := children.configured()
	words, err := contextOf(c)
	if err != nil {
		return nil, nil, errors.Join(err, children.close())
	}
	p.hiding = hidingOf(c, words)
	all, _, err := openSources(ctx, c, p, o.Logger, o.Progress)
	if err != nil {
		return nil, nil, errors.Join(err, children.close())
	}
	if _, err := fits(ctx, words, namesOf(c), all); err != nil {
		return nil, nil, errors.Join(contextError(c.Context, err), all.close(), children.close())
	}
	return all[all.names()[0]], func() error { return errors.Join(all.close(), children.close()) }, nil
}

// DemoShop returns the demo database in a data folder, and writes it if it is missing.
func DemoShop(ctx context.Context, data string) (map[string]string, error) {
	path := filepath.Join(data, "shop.db")
	if _, err := os.Stat(path); errors.Is(err, os.ErrNotExist) {
		if err := os.MkdirAll(data, 0o700); err != nil {
			return nil, folderError(data, err)
		}
		if err := demo.Write(ctx, path); err != nil {
			return nil, err
		}
	}
	return map[string]string{"shop": path}, nil
}

// DemoContext returns the folder with what the demo shop says about its data, and writes it if it is missing.
func DemoContext(data string) (string, error) {
	folder := filepath.Join(data, "context")
	return folder, demo.WriteContext(folder)
}

// DemoWorkspaces creates the demo's folder for workspaces in a data folder, and the files that new workspaces start
// with.
func DemoWorkspaces(data string) (string, error) {
	folder := filepath.Join(data, "workspaces")
	return folder, demo.WriteWorkspace(filepath.Join(folder, workspace.Template))
}
