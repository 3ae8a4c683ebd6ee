//go:build cgo && !noduckdb

package duckdb

import (
	"context"
	"database/sql"
	"database/sql/driver"
	"encoding/json"
	"errors"
	"fmt"
	"net/url"
	"os"
	"path/filepath"
	"runtime"
	"strconv"
	"strings"

	"github.com/duckdb/duckdb-go/v2"
	"github.com/footnotehq/footnote"
	"github.com/footnotehq/footnote/internal/rowfilter"
	"github.com/footnotehq/footnote/source"
	"github.com/footnotehq/footnote/source/child"
)

// config is the configuration a child receives: to serve a database or tables, or to load files.
type config struct {
	Path   string             `json:"path,omitempty"` // the database to serve
	Memory int64              `json:"memory"`
	Load   *loadPlan          `json:"load,omitempty"`
	Tables []source.TableFile `json:"tables,omitempty"` // to read into memory and serve

	// Filters, when set, lists the readable tables and whether each is readable without a condition. Every query
	// brings its own conditions; Blank holds sample conditions to check.
	Filters map[string]bool      `json:"filters,omitempty"`
	Blank   rowfilter.Conditions `json:"blank,omitempty"`
	// Hides means that queries bring columns that they must not see.
	Hides bool `json:"hides,omitempty"`
}

// OpenEngine opens the engine inside a child. It is a child.OpenFunc.
func OpenEngine(ctx context.Context, raw json.RawMessage) (child.Engine, error) {
	var cfg config
	if err := json.Unmarshal(raw, &cfg); err != nil {
		return nil, fmt.Errorf("read the configuration: %w", err)
	}
	if cfg.Load != nil {
		return &loader{plan: *cfg.Load, memory: cfg.Memory}, nil
	}
	return openEngine(ctx, cfg)
}

// engine serves one database file, read-only.
type engine struct {
	path    string
	data    *sql.DB // the database
	grammar *sql.DB // parses for the gate and holds no data
	gate    *gate
	guard   *guard // nil: everybody sees every row
}

const maxSpill = 1 << 30 // bytes of temporary files

func openEngine(ctx context.Context, cfg config) (*engine, error) {
	e := &engine{path: cfg.Path}
	var err error
	if e.grammar, err = open(ctx, "", 128<<20); err != nil {
		return nil, err
	}
	if cfg.Filters != nil || cfg.Hides {
		if err := e.openGuarded(ctx, cfg); err != nil {
			e.Close()
			return nil, err
		}
		return e, nil
	}
	if e.data, err = open(ctx, cfg.Path, cfg.Memory, readTables(cfg.Tables)...); err != nil {
		e.Close()
		return nil, openError(err)
	}
	c, err := e.catalog(ctx)
	if err != nil {
		e.Close()
		return nil, openError(err)
	}
	e.gate = &gate{catalog: c, parse: e.parse}
	e.gate.judgeOwn(ctx, e.ownDefinitions(ctx))
	return e, nil
}

// open opens a database file read-only, or an empty database in memory, and drops every right it does not need. The
// driver does not escape path, so checkPath must have accepted it.
func open(ctx context.Context, path string, memory int64, first ...string) (*sql.DB, error) {
	params := url.Values{
		"autoinstall_known_extensions": {"false"}, "autoload_known_extensions": {"false"},
		"allow_community_extensions": {"false"},
		"allow_persistent_secrets":   {"false"}, "allow_unsigned_extensions": {"false"},
		"memory_limit": {strconv.FormatInt(max(memory*7/10, 64<<20)>>20, 10) + "MiB"},
		"threads":      {strconv.Itoa(min(runtime.NumCPU(), 4))},
	}
	if path != "" {
		params.Set("access_mode", "READ_ONLY")
	}
	connector, err := duckdb.NewConnector(path+"?"+params.Encode(), nil)
	if err != nil {
		return nil, err
	}
	db := sql.OpenDB(connector)
	db.SetMaxOpenConns(child.Concurrency)
	db.SetMaxIdleConns(child.Concurrency)
	for _, set := range append(first,
		"SET GLOBAL TimeZone = 'UTC'",
		// The path is relative to the working directory: a generated column of the database may read settings, so
		// none of them may contain a path of this machine.
		"SET GLOBAL temp_directory = 'spill'",
		fmt.Sprintf("SET GLOBAL max_temp_directory_size = '%dMiB'", maxSpill>>20),
		// Memory freed by a stopped query must not count against the next one.
		"SET GLOBAL allocator_flush_threshold = '32MiB'",
		"SET GLOBAL allocator_bulk_deallocation_flush_threshold = '64MiB'",
		"SET GLOBAL enable_external_access = false",
		"SET GLOBAL lock_configuration = true",
	) {
		if _, err := db.ExecContext(ctx, set); err != nil {
			db.Close()
			return nil, fmt.Errorf("%s: %w", set, err)
		}
	}
	return db, nil
}

// Close implements child.Engine.
func (e *engine) Close() error {
	var errs []error
	for _, db := range []*sql.DB{e.data, e.grammar} {
		if db != nil {
			errs = append(errs, db.Close())
		}
	}
	return errors.Join(errs...)
}

// Version implements child.Engine. The server does not call it; see Open.
func (e *engine) Version(context.Context) (string, error) { return "", nil }

// parse serialises the statements of a text. It uses the engine that holds no data.
func (e *engine) parse(ctx context.Context, text string) ([]byte, error) {
	var tree string
	err := e.grammar.QueryRowContext(ctx, "SELECT CAST(json_serialize_sql(CAST(? AS VARCHAR)) AS VARCHAR)",
		text).Scan(&tree)
	if err != nil {
		return nil, e.explain(err)
	}
	return []byte(tree), nil
}

// querier is a database, or one connection to it.
type querier interface {
	QueryContext(ctx context.Context, query string, args ...any) (*sql.Rows, error)
}

// Query implements child.Engine.
func (e *engine) Query(ctx context.Context, q source.Query, each func(row []any) error) (source.Summary, error) {
	if e.guard != nil {
		return e.guarded(ctx, q, each)
	}
	return e.admitAndRun(ctx, e.data, *e.gate, q, each)
}

// admitAndRun runs a statement that passes a gate.
func (e *engine) admitAndRun(ctx context.Context, on querier, g gate, q source.Query,
	each func(row []any) error) (source.Summary, error) {
	g.distinct = func(ctx context.Context, sql string) (values []string, err error) {
		err = eachRow(ctx, on, sql, func(row []string) error { values = append(values, row[0]); return nil })
		return values, e.explain(err)
	}
	admitted, err := g.admit(ctx, q.SQL, q.Limits.Rows+1)
	if err != nil {
		return source.Summary{}, err
	}
	if len(q.Args) != admitted.params {
		return source.Summary{},
			source.Failf("The statement takes %d arguments; %d were given.", admitted.params, len(q.Args))
	}
	run := e.run
	if q.Export {
		run = e.export
	}
	sum, err := run(ctx, on, admitted.text, q.Args, each)
	sum.Tables = admitted.tables
	return sum, err
}

// run runs an admitted text.
func (e *engine) run(ctx context.Context, on querier, text string, args []any,
	each func(row []any) error) (source.Summary, error) {
	rows, err := on.QueryContext(ctx, text, args...)
	if err != nil {
		return source.Summary{}, e.explain(err)
	}
	defer rows.Close()
	r, err := newReader(rows)
	if err != nil {
		return source.Summary{}, e.explain(err)
	}
	for rows.Next() {
		row, err := r.row(rows)
		if err != nil {
			return source.Summary{Columns: r.columns}, e.explain(err)
		}
		if err := each(row); err != nil {
			return source.Summary{Columns: r.columns}, err
		}
	}
	return source.Summary{Columns: r.columns}, e.explain(rows.Err())
}

// explain turns a DuckDB error into one that the model should read.
func (e *engine) explain(err error) error {
	if err == nil {
		return nil
	}
	if _, ok := errors.AsType[*source.Error](err); ok {
		return err
	}
	d, ok := errors.AsType[*duckdb.Error](err)
	if !ok {
		if errors.Is(err, context.Canceled) || errors.Is(err, context.DeadlineExceeded) ||
			errors.Is(err, driver.ErrBadConn) {
			return err
		}
		if strings.Contains(err.Error(), "empty name") {
			return source.Failf(
				"A row value without field names, as (1, 2), cannot be returned. Name its fields: {'a': 1, 'b': 2}.")
		}
		return source.Failf("%s", e.redactMessage(err.Error()))
	}
	text := e.redactMessage(d.Msg)
	switch {
	case d.Type == duckdb.ErrorTypeFatal || strings.Contains(d.Msg, "database has been invalidated"):
		panic("the engine is broken: " + text) // ends the child, so that the next query gets a new one
	case d.Type == duckdb.ErrorTypeInterrupt:
		return source.Limitf("The query was stopped.")
	case d.Type == duckdb.ErrorTypeOutOfMemory || strings.Contains(d.Msg, "max_temp_directory_size") ||
		strings.Contains(d.Msg, "Out of Memory"):
		return source.Limitf(
			"The query ran out of memory. Aggregate or filter before sorting and joining, and select fewer columns.")
	case d.Type == duckdb.ErrorTypePermission:
		return source.Refusef("%s", text)
	}
	return source.Failf("%s", text)
}

// redactMessage removes from a message paths and advice about settings that nobody can change.
func (e *engine) redactMessage(text string) string {
	if e.path != "" {
		text = strings.ReplaceAll(text, e.path, "the database")
		text = strings.ReplaceAll(text, filepath.Dir(e.path), "…")
	}
	if e.guard != nil {
		text = e.guard.redactMessage(text)
	}
	if dir, err := os.Getwd(); err == nil {
		text = strings.ReplaceAll(text, dir, "…")
	}
	return cleanText(text)
}

// openFaults lists what DuckDB says about databases that it cannot open, and messages for the operator.
var openFaults = [][2]string{
	{"lock on file", "The database is locked: another program has it open for writing. Close it there, or open a " +
		"copy."},
	{"not a valid DuckDB database file", "The file is not a DuckDB database, or is damaged."},
	{"encrypt", "The database is encrypted; encrypted databases cannot be opened."},
	{"version number", wrongVersion}, {"storage version", wrongVersion},
	{"does not exist", "The database file is not there."}, {"No such file", "The database file is not there."},
	{"Permission denied", "The database file cannot be read: permission denied."},
	{"Corrupt", damaged}, {"Could not read enough bytes", damaged}, {"checksum", damaged}, {"Serialization", damaged},
}

const (
	wrongVersion = "The database was written by another version of DuckDB, which this one cannot read."
	damaged      = "The database file is damaged."
)

// openError turns an error of opening a database into a message for the operator.
func openError(err error) error {
	message := "The database cannot be opened."
	for _, fault := range openFaults {
		if strings.Contains(err.Error(), fault[0]) {
			message = fault[1]
			break
		}
	}
	return footnote.Wrapf(footnote.DatabaseUnavailable, err, "%s", message)
}
