//go:build cgo && !noduckdb

package duckdb

import (
	"cmp"
	"context"
	"database/sql"
	"database/sql/driver"
	"errors"
	"fmt"
	"io"
	"net/url"
	"os"
	"path/filepath"
	"runtime"
	"strconv"
	"strings"

	"github.com/duckdb/duckdb-go/v2"
	"github.com/footnotehq/footnote"
	"github.com/footnotehq/footnote/source"
	"github.com/footnotehq/footnote/source/child"
	"github.com/footnotehq/footnote/source/duckdb/tidy"
)

// loadVersion is part of the name of a loaded file. It must change whenever loading would produce a different
// result.
const loadVersion = "1"

// loadPlan is the task of a loading child.
type loadPlan struct {
	Output string      `json:"output"` // the database to write
	Files  []File      `json:"files"`
	Limits tidy.Limits `json:"limits"`
}

// loader is the engine of a loading child. Its statement "load" returns rows of a table's name, the number of rows
// loaded so far, and whether the table is complete. Its statement "footers" returns Chunks.
type loader struct {
	child.NoDatabase
	plan   loadPlan
	memory int64

	db    *sql.DB
	each  func(row []any) error
	names map[string]bool
}

var loadColumns = []footnote.Column{
	{Name: "table", Kind: footnote.KindText}, {Name: "rows", Kind: footnote.KindInteger},
	{Name: "done", Kind: footnote.KindBoolean},
}

// Query implements child.Engine.
func (l *loader) Query(ctx context.Context, q source.Query, each func(row []any) error) (source.Summary, error) {
	load, columns := l.loadAll, loadColumns
	if q.SQL == "footers" {
		load, columns = l.footers, footerColumns
	} else if q.SQL != "load" {
		return source.Summary{}, source.Refusef("This child only loads.")
	}
	l.each = each
	l.names = make(map[string]bool)
	params := url.Values{
		"autoinstall_known_extensions": {"false"}, "autoload_known_extensions": {"false"},
		"allow_community_extensions": {"false"},
		"memory_limit":               {strconv.FormatInt(l.share()>>20, 10) + "MiB"},
		"threads":                    {strconv.Itoa(l.threads())},
		"preserve_insertion_order":   {"true"},
	}
	connector, err := duckdb.NewConnector(l.plan.Output+"?"+params.Encode(), nil)
	if err != nil {
		return source.Summary{}, fmt.Errorf("make the database: %w", err)
	}
	l.db = sql.OpenDB(connector)
	return source.Summary{Columns: columns}, errors.Join(load(ctx), l.db.Close())
}

func (l *loader) loadAll(ctx context.Context) error {
	for _, f := range l.plan.Files {
		if err := l.load(ctx, f); err != nil {
			return loadError(f, err)
		}
	}
	if err := l.exec(ctx, "CHECKPOINT"); err != nil {
		return fmt.Errorf("write the database: %w", err)
	}
	return nil
}

// loadError prefixes an error with the name of the file.
func loadError(f File, err error) error {
	base := cmp.Or(f.Shown, filepath.Base(f.Path))
	if e, ok := errors.AsType[*tidy.Error](err); ok {
		return footnote.Errorf(footnote.DatabaseUnavailable, "%s: %s", base, e.Reason)
	}
	if d, ok := errors.AsType[*duckdb.Error](err); ok {
		if d.Type == duckdb.ErrorTypeOutOfMemory || strings.Contains(d.Msg, "Out of Memory") {
			return footnote.Wrapf(footnote.DatabaseUnavailable, err,
				"%s needs too much memory to be read. Split it, or save it as CSV or Parquet.", base)
		}
		var hide []string
		for _, path := range f.paths() {
			hide = append(hide, path, base, filepath.Dir(path), "…")
		}
		hide = append(hide, os.TempDir(), "…")
		text := strings.NewReplacer(hide...).Replace(d.Msg)
		text, _, _ = strings.Cut(text, "\n")
		return footnote.Wrapf(footnote.DatabaseUnavailable, err, "%s cannot be read as %s: %s", base,
			strings.ToUpper(f.Format), text)
	}
	if errors.Is(err, os.ErrPermission) || errors.Is(err, os.ErrNotExist) {
		return footnote.Wrapf(footnote.DatabaseUnavailable, err, "%s cannot be read.", base)
	}
	return fmt.Errorf("load %s: %w", base, err)
}

func (l *loader) load(ctx context.Context, f File) error {
	switch f.Format {
	case "json":
		return l.loadJSON(ctx, f)
	case "parquet":
		return l.loadParquet(ctx, f)
	case "xlsx":
		return l.loadWorkbook(ctx, f)
	default:
		t, err := tidy.Plan(ctx, f.Path, l.plan.Limits)
		if err != nil {
			return err
		}
		return l.store(ctx, l.unique(f.Table), t, t.Comment())
	}
}

// unique makes a table's name unique.
func (l *loader) unique(name string) string {
	free := name
	for n := 2; l.names[free]; n++ {
		free = fmt.Sprintf("%s_%d", name, n)
	}
	l.names[free] = true
	return free
}

// loadWorkbook loads each sheet. A single sheet gets the name of the file.
func (l *loader) loadWorkbook(ctx context.Context, f File) error {
	dir, err := os.MkdirTemp("", "sheets-")
	if err != nil {
		return err
	}
	defer os.RemoveAll(dir)
	sheets, err := tidy.Sheets(ctx, f.Path, dir, l.plan.Limits)
	if err != nil {
		return err
	}
	for _, s := range sheets {
		limits := l.plan.Limits
		limits.Bytes = 1 << 40 // the size of the workbook has already been checked
		t, err := tidy.Plan(ctx, s.Path, limits)
		if err != nil {
			return err
		}
		name := f.Table
		if len(sheets) > 1 {
			name = tableName(s.Name)
		}
		t.Notes[0] = fmt.Sprintf("read from sheet %q", s.Name)
		if err := l.store(ctx, l.unique(name), t, t.Comment()); err != nil {
			return err
		}
	}
	return nil
}

// sqlTypes lists the DuckDB types of columns; the digits after the point of a DECIMAL come on top.
var sqlTypes = map[tidy.Type]string{
	tidy.Text: "VARCHAR", tidy.Integer: "BIGINT", tidy.Huge: "HUGEINT", tidy.Decimal: "DECIMAL(18,%d)",
	tidy.Double: "DOUBLE", tidy.Boolean: "BOOLEAN", tidy.Date: "DATE", tidy.Timestamp: "TIMESTAMP",
	tidy.Zoned: "TIMESTAMPTZ", tidy.Clock: "TIME",
}

// store creates a table and fills it.
func (l *loader) store(ctx context.Context, name string, t *tidy.Table, comment string) error {
	var columns, comments []string
	for _, c := range t.Columns {
		columns = append(columns, quote(c.Name)+" "+strings.Replace(sqlTypes[c.Type], "%d", strconv.Itoa(c.Scale), 1))
		if c.Comment != "" {
			comments = append(comments, "COMMENT ON COLUMN "+quote(name)+"."+quote(c.Name)+" IS "+literal(c.Comment))
		}
	}
	if err := l.exec(ctx, "CREATE TABLE "+quote(name)+" ("+strings.Join(columns, ", ")+")"); err != nil {
		return err
	}
	conn, err := l.db.Conn(ctx)
	if err != nil {
		return err
	}
	defer conn.Close()
	err = conn.Raw(func(c any) error {
		a, err := duckdb.NewAppenderFromConn(c.(driver.Conn), "", name)
		if err != nil {
			return err
		}
		return errors.Join(l.fill(ctx, name, t, a), a.Close())
	})
	if err == nil {
		err = l.exec(ctx, comments...)
	}
	if err != nil {
		return err
	}
	return l.comment(ctx, name, comment, t.Counts.Loaded)
}

// exec runs statements until one fails.
func (l *loader) exec(ctx context.Context, statements ...string) error {
	for _, sql := range statements {
		if _, err := l.db.ExecContext(ctx, sql); err != nil {
			return err
		}
	}
	return nil
}

func (l *loader) fill(ctx context.Context, name string, t *tidy.Table, a *duckdb.Appender) error {
	values := make([]driver.Value, len(t.Columns))
	rows := int64(0)
	return t.Each(ctx, func(row []any) error {
		for i, v := range row {
			values[i] = v
			if u, ok := v.(tidy.Unscaled); ok {
				values[i] = int64(u) // a DECIMAL(18, s) is stored as its unscaled digits
			}
		}
		if rows++; rows&1023 == 0 {
			if err := l.each([]any{name, rows, false}); err != nil {
				return err
			}
		}
		return a.AppendRow(values...)
	})
}

// comment stores the notes on a table and reports the table as complete.
func (l *loader) comment(ctx context.Context, name, text string, rows int64) error {
	if err := l.exec(ctx, "COMMENT ON TABLE "+quote(name)+" IS "+literal(text)); err != nil {
		return err
	}
	return l.each([]any{name, rows, true})
}

func (l *loader) loadParquet(ctx context.Context, f File) error {
	if len(f.Parts) > 0 {
		return l.loadParts(ctx, f)
	}
	path, remove, err := literalPath(f.Path)
	if err != nil {
		return err
	}
	defer remove()
	name := l.unique(f.Table)
	if err := l.exec(ctx, "CREATE TABLE "+quote(name)+" AS SELECT * FROM read_parquet("+literal(path)+")"); err != nil {
		return err
	}
	return l.finish(ctx, name, "read from Parquet")
}

// finish checks a table that DuckDB loaded itself against the limits.
func (l *loader) finish(ctx context.Context, name, comment string) error {
	var rows, columns int64
	if err := l.db.QueryRowContext(ctx, "SELECT count(*) FROM "+quote(name)).Scan(&rows); err != nil {
		return err
	}
	if err := l.db.QueryRowContext(ctx, "SELECT count(*) FROM duckdb_columns() WHERE table_name = ?",
		name).Scan(&columns); err != nil {
		return err
	}
	limits := l.plan.Limits
	switch {
	case limits.Rows > 0 && rows > limits.Rows:
		return &tidy.Error{Reason: fmt.Sprintf("The file has more than %d rows.", limits.Rows)}
	case limits.Columns > 0 && columns > int64(limits.Columns):
		return &tidy.Error{Reason: fmt.Sprintf("The file has more than %d columns.", limits.Columns)}
	}
	return l.comment(ctx, name, comment, rows)
}

// literalPath returns a path for functions that take patterns. DuckDB cannot escape * or [, so a file with one in
// its path is copied. The caller must call remove.
func literalPath(path string) (plain string, remove func(), err error) {
	if !strings.ContainsAny(path, "*?[\\") {
		return path, func() {}, nil
	}
	in, err := os.Open(path)
	if err != nil {
		return "", nil, err
	}
	defer in.Close()
	out, err := os.CreateTemp("", "input-")
	if err != nil {
		return "", nil, err
	}
	remove = func() { os.Remove(out.Name()) }
	if _, err := io.Copy(out, in); err != nil {
		remove()
		return "", nil, errors.Join(err, out.Close())
	}
	return out.Name(), remove, out.Close()
}

// share returns the part of the loader's memory that DuckDB may use.
func (l *loader) share() int64 { return l.memory * 6 / 10 }

func (l *loader) threads() int { return min(runtime.NumCPU(), 4) }

// jsonBuffers returns the largest JSON object that is read from a file of size bytes, and the number of threads
// that read it. DuckDB gives each thread a buffer of twice the largest object, however small the file is; all of
// them together take at most half of memory. An object can be as large as its file, up to 256 MB.
func jsonBuffers(size, memory int64, threads int) (object int64, n int) {
	object = min(max(size, 1<<20), memory/4, 256<<20)
	return object, int(min(max(memory/2/(2*object), 1), int64(threads)))
}

// loadJSON loads an array of objects, one object per line, or an object that contains an array of objects.
func (l *loader) loadJSON(ctx context.Context, f File) error {
	path, remove, err := literalPath(f.Path)
	if err != nil {
		return err
	}
	defer remove()
	name := l.unique(f.Table)
	info, err := os.Stat(path)
	if err != nil {
		return err
	}
	object, threads := jsonBuffers(info.Size(), l.share(), l.threads())
	err = l.exec(ctx, fmt.Sprintf("SET threads = %d", threads),
		fmt.Sprintf("CREATE TABLE %s AS SELECT * FROM read_json(%s, sample_size = -1, maximum_object_size = %d, "+
			"map_inference_threshold = -1)", quote(name), literal(path), object),
		fmt.Sprintf("SET threads = %d", l.threads()))
	if err != nil {
		return err
	}
	comment, err := l.unwrap(ctx, name)
	if err != nil {
		return err
	}
	return l.finish(ctx, name, comment)
}

// unwrap replaces a table whose single row holds one list of structs with the table in that list, as for
// {"data": [{…}, …], "count": 2}.
func (l *loader) unwrap(ctx context.Context, name string) (comment string, err error) {
	comment = "read from JSON"
	var rows int64
	if err := l.db.QueryRowContext(ctx, "SELECT count(*) FROM "+quote(name)).Scan(&rows); err != nil || rows != 1 {
		return comment, err
	}
	var lists, others []string
	err = eachRow(ctx, l.db, "SELECT column_name, data_type FROM duckdb_columns() WHERE table_name = "+literal(name)+
		" ORDER BY column_index", func(s []string) error {
		if typ := s[1]; strings.HasPrefix(typ, "STRUCT(") && strings.HasSuffix(typ, "[]") &&
			!strings.HasSuffix(typ, "[][]") {
			lists = append(lists, s[0])
		} else {
			others = append(others, s[0])
		}
		return nil
	})
	if err != nil || len(lists) != 1 {
		return comment, err
	}
	if err := l.exec(ctx,
		"CREATE TABLE footnote_unwrapped AS SELECT unnest(r, max_depth := 1) FROM (SELECT unnest("+quote(lists[0])+
			") AS r FROM "+quote(name)+")",
		"DROP TABLE "+quote(name),
		"ALTER TABLE footnote_unwrapped RENAME TO "+quote(name)); err != nil {
		return "", err
	}
	comment += fmt.Sprintf("; the rows are those of %q", lists[0])
	if len(others) > 0 {
		comment += "; left out: " + strings.Join(others, ", ")
	}
	return comment, nil
}
