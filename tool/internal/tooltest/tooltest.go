// Package tooltest provides a source for testing tools: a database over database/sql with no gate, no child process
// and only row limits.
package tooltest

import (
	"context"
	"database/sql"
	"encoding/json"
	"fmt"
	"math"
	"math/big"
	"path/filepath"
	"strings"
	"testing"
	"time"
	"unicode/utf8"

	"github.com/footnotehq/footnote"
	"github.com/footnotehq/footnote/demo"
	"github.com/footnotehq/footnote/source"
	lite "github.com/footnotehq/footnote/source/sqlite"
	"github.com/footnotehq/footnote/tool"
	"github.com/footnotehq/footnote/tool/schema"
)

// Source is a database under test. Set its fields before use.
type Source struct {
	DB      *sql.DB
	SQL     *source.Dialect
	Broken  error // returned by Query, if set
	Tables  []source.Table
	Queries []string // the statements that were run
}

// Sources maps names to sources.
type Sources map[string]source.Source

// Source returns a source, or an error with code DatabaseUnavailable.
func (s Sources) Source(name string) (source.Source, error) {
	if src, ok := s[name]; ok {
		return src, nil
	}
	return nil, footnote.Errorf(footnote.DatabaseUnavailable, "The database is unavailable.")
}

// Shop returns the demo shop in SQLite.
func Shop(t testing.TB) *Source {
	t.Helper()
	path := filepath.Join(t.TempDir(), "shop.db")
	if err := demo.Write(t.Context(), path); err != nil {
		t.Fatal(err)
	}
	return open(t, "file:"+path+"?mode=ro")
}

// SQLite returns an in-memory database created by statements.
func SQLite(t testing.TB, statements ...string) *Source {
	t.Helper()
	s := open(t, ":memory:")
	for _, q := range statements {
		if _, err := s.DB.Exec(q); err != nil {
			t.Fatalf("%s: %v", q, err)
		}
	}
	s.Tables = s.sqliteTables(t)
	return s
}

func open(t testing.TB, dsn string) *Source {
	t.Helper()
	db, err := sql.Open("sqlite", dsn)
	if err != nil {
		t.Fatal(err)
	}
	db.SetMaxOpenConns(1)
	t.Cleanup(func() { db.Close() })
	s := &Source{DB: db, SQL: lite.Dialect}
	s.Tables = s.sqliteTables(t)
	return s
}

func (s *Source) sqliteTables(t testing.TB) []source.Table {
	t.Helper()
	var tables []source.Table
	for _, row := range s.all(t, `SELECT name, type FROM sqlite_schema WHERE type IN ('table', 'view') ORDER BY name`) {
		table := source.Table{Name: row[0].(string), View: row[1] == "view", Rows: -1}
		for _, c := range s.all(t, `SELECT name, type, "notnull", pk FROM pragma_table_info(?)`, table.Name) {
			col := source.Column{
				Name: c[0].(string), Type: c[1].(string), Nullable: c[2] == int64(0) && c[3] == int64(0),
			}
			col.Kind = Kind(col.Type)
			table.Columns = append(table.Columns, col)
			if c[3] != int64(0) {
				table.PrimaryKey = append(table.PrimaryKey, col.Name)
			}
		}
		for _, k := range s.all(t, `SELECT "from", "table", "to" FROM pragma_foreign_key_list(?)`, table.Name) {
			table.ForeignKeys = append(table.ForeignKeys, source.ForeignKey{
				Columns: []string{k[0].(string)}, RefTable: k[1].(string), RefColumns: []string{k[2].(string)}})
		}
		tables = append(tables, table)
	}
	return tables
}

func (s *Source) all(t testing.TB, query string, args ...any) [][]any {
	t.Helper()
	r, _, err := source.Collect(t.Context(), s, source.Query{SQL: query, Args: args})
	if err != nil {
		t.Fatal(err)
	}
	return r.Rows
}

// Kind returns the kind of a declared type.
func Kind(declared string) string {
	d := strings.ToUpper(declared)
	for _, k := range []struct{ part, kind string }{
		{"BOOL", footnote.KindBoolean}, {"TIMESTAMP", footnote.KindTimestamp}, {"DATETIME", footnote.KindTimestamp},
		{"DATE", footnote.KindDate}, {"DECIMAL", footnote.KindDecimal}, {"INT", footnote.KindInteger},
		{"REAL", footnote.KindNumber}, {"DOUBLE", footnote.KindNumber}, {"FLOAT", footnote.KindNumber},
		{"CHAR", footnote.KindText},
		{"TEXT", footnote.KindText}, {"BLOB", footnote.KindBlob}, {"JSON", footnote.KindJSON},
	} {
		if strings.Contains(d, k.part) {
			return k.kind
		}
	}
	return footnote.KindUnknown
}

func (s *Source) Dialect() *source.Dialect { return s.SQL }

func (s *Source) Schema(context.Context) (source.Schema, error) {
	return source.Schema{Tables: s.Tables}, nil
}

func (s *Source) Version(context.Context) (string, error) { return "1", nil }
func (s *Source) Probe(context.Context) error             { return nil }
func (s *Source) Close() error                            { return s.DB.Close() }

// Query runs a statement. A driver's error becomes an Error of kind Failed.
func (s *Source) Query(ctx context.Context, q source.Query, each func([]any) error) (source.Summary, error) {
	s.Queries = append(s.Queries, q.SQL)
	if s.Broken != nil {
		return source.Summary{}, s.Broken
	}
	limits := q.Limits.Within(source.DefaultLimits())
	rows, err := s.DB.QueryContext(ctx, q.SQL, q.Args...)
	if err != nil {
		return source.Summary{}, failed(ctx, err)
	}
	defer rows.Close()
	types, err := rows.ColumnTypes()
	if err != nil {
		return source.Summary{}, err
	}
	sum := source.Summary{}
	for _, t := range types {
		sum.Columns = append(sum.Columns, footnote.Column{Name: t.Name(), Kind: Kind(t.DatabaseTypeName())})
	}
	for rows.Next() {
		if sum.Rows == limits.Rows {
			sum.Truncated, sum.Limit = true, "rows"
			break
		}
		row, into := make([]any, len(types)), make([]any, len(types))
		for i := range row {
			into[i] = &row[i]
		}
		if err := rows.Scan(into...); err != nil {
			return sum, failed(ctx, err)
		}
		for i := range row {
			row[i] = cell(row[i], sum.Columns[i].Kind)
		}
		sum.Rows++
		if err := each(row); err != nil {
			return sum, err
		}
	}
	return sum, failed(ctx, rows.Err())
}

func failed(ctx context.Context, err error) error {
	if err == nil || ctx.Err() != nil {
		return err
	}
	return &source.Error{Kind: source.Failed, Reason: err.Error()}
}

func cell(v any, kind string) any {
	switch v := v.(type) {
	case nil, bool, int64, string:
		return v
	case float64:
		if math.IsNaN(v) || math.IsInf(v, 0) {
			return nil
		}
		return v
	case int32:
		return int64(v)
	case []byte:
		if utf8.Valid(v) && kind != footnote.KindBlob {
			return string(v)
		}
		return fmt.Sprintf("blob of %d bytes", len(v))
	case time.Time:
		if kind == footnote.KindDate {
			return v.Format(time.DateOnly)
		}
		return v.Format("2006-01-02T15:04:05")
	case *big.Int:
		if v.IsInt64() {
			return v.Int64()
		}
		return v.String()
	default:
		return fmt.Sprint(v)
	}
}

// Call returns a call of a tool with the named sources.
func Call(t testing.TB, tl tool.Tool, input any, sources ...string) tool.Call {
	t.Helper()
	data, ok := input.(string)
	if !ok {
		b, err := json.Marshal(input)
		if err != nil {
			t.Fatal(err)
		}
		data = string(b)
	}
	return tool.Call{ID: "call_1", Name: tl.Spec().Name, Input: json.RawMessage(data), Sources: sources, ResultID: "r1"}
}

// CheckInput returns an error if the tool's schema does not accept the input.
func CheckInput(tl tool.Tool, input json.RawMessage) error {
	s, err := schema.Compile(tl.Spec().InputSchema)
	if err != nil {
		return err
	}
	return s.Validate(input)
}

// Named returns the tool with the given name.
func Named(t testing.TB, tools []tool.Tool, name string) tool.Tool {
	t.Helper()
	for _, tool := range tools {
		if tool.Spec().Name == name {
			return tool
		}
	}
	t.Fatalf("no tool %s", name)
	return nil
}
