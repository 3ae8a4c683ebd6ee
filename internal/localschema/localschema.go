// Package localschema describes the schema of files that stay in a user's browser: names and types of
// columns, never values. It is JSON in the API, and CREATE TABLE statements in the text that a model reads.
package localschema

import (
	"cmp"
	"regexp"
	"strconv"
	"strings"
	"unicode"

	"github.com/footnotehq/footnote"
	"github.com/footnotehq/footnote/internal/wordlist"
)

// Limits of a schema.
const (
	maxTables    = 100
	maxColumns   = 2_000 // in all tables
	maxNameBytes = 200   // bytes of a name or a type
)

// Schema is a browser's description of its files.
type Schema struct {
	Tables []Table `json:"tables"`
}

// Table is one file as a table.
type Table struct {
	Name    string   `json:"name"`
	Rows    *int64   `json:"rows,omitempty"` // nil: unknown
	Columns []Column `json:"columns"`
}

// Column is a column with its type, as DuckDB writes it.
type Column struct {
	Name string `json:"name"`
	Type string `json:"type"`
}

// Check validates a schema. It returns InvalidRequest or TooLarge.
func (s Schema) Check() error {
	if len(s.Tables) == 0 {
		return footnote.Invalidf(
			"The schema has no tables: {\"tables\":[{\"name\",\"columns\":[{\"name\",\"type\"}]}]}.")
	}
	columns := 0
	for _, t := range s.Tables {
		columns += len(t.Columns)
		if err := t.check(); err != nil {
			return err
		}
	}
	if len(s.Tables) > maxTables || columns > maxColumns {
		return footnote.Errorf(footnote.TooLarge, "A schema has at most %d tables and %d columns.", maxTables,
			maxColumns)
	}
	return nil
}

func (t Table) check() error {
	if !plain(t.Name) || len(t.Columns) == 0 {
		return footnote.Invalidf(
			"A table of the schema needs a name of at most %d bytes on one line, and columns.", maxNameBytes)
	}
	if t.Rows != nil && *t.Rows < 0 {
		return footnote.Invalidf("The table %q cannot have that many rows.", t.Name)
	}
	for _, c := range t.Columns {
		if !plain(c.Name) || !plain(c.Type) {
			return footnote.Invalidf(
				"A column of the table %q needs a name and a type, each at most %d bytes on one line.", t.Name,
				maxNameBytes)
		}
	}
	return nil
}

// plain reports whether a name is not empty, short, and on one line.
func plain(s string) bool {
	return strings.TrimSpace(s) != "" && len(s) <= maxNameBytes &&
		!strings.ContainsFunc(s, func(r rune) bool { return unicode.IsControl(r) || r == '\u2028' || r == '\u2029' })
}

// Dialect is the SQL of the engine in the browser.
const Dialect = "duckdb"

// intro is the first line of a schema's text.
const intro = "The user's files are these DuckDB tables (names and types; the rows stay in the browser):"

// Text returns the schema as a model reads it.
func (s Schema) Text() string { return intro + s.statements() }

// Statements returns the tables as CREATE TABLE statements.
func (s Schema) Statements() string { return strings.TrimPrefix(s.statements(), "\n") }

func (s Schema) statements() string {
	var b strings.Builder
	for _, t := range s.Tables {
		b.WriteString("\nCREATE TABLE " + quote(t.Name) + " (")
		if t.Rows != nil {
			b.WriteString(" -- " + strconv.FormatInt(*t.Rows, 10) + " rows")
		}
		for i, c := range t.Columns {
			if i > 0 {
				b.WriteByte(',')
			}
			b.WriteString("\n  " + quote(c.Name) + " " + c.Type)
		}
		b.WriteString("\n);")
	}
	return b.String()
}

func quote(name string) string { return `"` + strings.ReplaceAll(name, `"`, `""`) + `"` }

var (
	tableLine  = regexp.MustCompile(`^CREATE TABLE "((?:[^"]|"")+)" \((?: -- (\d+) rows)?$`)
	columnLine = regexp.MustCompile(`^  "((?:[^"]|"")+)" (.+?),?$`)
)

// Parse finds the last schema that Text wrote in a text, possibly among other lines.
func Parse(text string) (Schema, bool) {
	at := strings.LastIndex(text, intro)
	if at < 0 {
		return Schema{}, false
	}
	var s Schema
	for line := range strings.SplitSeq(text[at+len(intro):], "\n") {
		if m := tableLine.FindStringSubmatch(line); m != nil && len(s.Tables) < maxTables {
			t := Table{Name: unquote(m[1])}
			if n, err := strconv.ParseInt(m[2], 10, 64); err == nil {
				t.Rows = &n
			}
			s.Tables = append(s.Tables, t)
			continue
		}
		if m := columnLine.FindStringSubmatch(line); m != nil && len(s.Tables) > 0 {
			t := &s.Tables[len(s.Tables)-1]
			t.Columns = append(t.Columns, Column{Name: unquote(m[1]), Type: m[2]})
			continue
		}
		if line != "" && line != ");" {
			break // the rest is not part of the schema
		}
	}
	return s, len(s.Tables) > 0
}

func unquote(name string) string { return strings.ReplaceAll(name, `""`, `"`) }

// kinds maps the names of DuckDB's types, without what follows in parentheses, to kinds.
var kinds = wordlist.Map(`
	TINYINT SMALLINT INTEGER INT BIGINT HUGEINT UTINYINT USMALLINT UINTEGER UBIGINT UHUGEINT BIGNUM: integer
	FLOAT REAL DOUBLE: number
	DECIMAL NUMERIC: decimal
	BOOLEAN BOOL: boolean
	DATE: date
	DATETIME: timestamp
	TIME TIMETZ TIME_NS: time
	VARCHAR TEXT STRING CHAR UUID ENUM BIT INTERVAL: text
	BLOB BYTEA GEOMETRY: blob
	JSON STRUCT MAP UNION LIST ARRAY VARIANT: json`)

// Kind maps a DuckDB type to one of footnote's column kinds.
func Kind(duck string) string {
	duck = strings.ToUpper(strings.TrimSpace(duck))
	if strings.HasSuffix(duck, "]") {
		return footnote.KindJSON
	}
	base, _, _ := strings.Cut(duck, "(")
	base, _, _ = strings.Cut(strings.TrimSpace(base), " ") // TIME WITH TIME ZONE
	if strings.HasPrefix(base, "TIMESTAMP") {
		return footnote.KindTimestamp
	}
	return cmp.Or(kinds[base], footnote.KindUnknown)
}
