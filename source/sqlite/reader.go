package sqlite

import (
	"fmt"
	"math"
	"regexp"
	"slices"
	"strings"

	"github.com/footnotehq/footnote"
	"github.com/footnotehq/footnote/internal/wordlist"
	"github.com/footnotehq/footnote/source"
	sqlite3 "modernc.org/sqlite/lib"
)

// A SQLite value has its own type, whatever type its column declares. The kind of a result column is therefore
// derived from the values read: integers, numbers, text that always looks like a date… The declared type decides
// when there were no values, and where values alone are ambiguous (booleans, JSON).

// reader reads the rows of a statement.
type reader struct {
	st   *stmt
	cell int // limit of one cell, in bytes
	cols []column
}

type column struct {
	name     string
	declared string // kind of the declared type; "" without one
	seen     string // kind of the values so far; "" before the first
	mixed    bool   // the values have incompatible kinds
}

func newReader(st *stmt, cell int) *reader {
	r := &reader{st: st, cell: cell, cols: make([]column, st.columns())}
	for i := range r.cols {
		r.cols[i] = column{name: strings.ToValidUTF8(st.name(i), "\uFFFD"), declared: kindOf(st.declared(i))}
	}
	return r
}

func (r *reader) summary() source.Summary {
	cols := make([]footnote.Column, len(r.cols))
	for i, c := range r.cols {
		cols[i] = footnote.Column{Name: c.name, Kind: c.kind()}
	}
	return source.Summary{Columns: cols}
}

func (c *column) kind() string {
	switch {
	case c.mixed:
		return footnote.KindUnknown
	case c.seen == "":
		return c.declared
	case c.seen == footnote.KindInteger && c.declared == footnote.KindNumber:
		return footnote.KindNumber
	default:
		return c.seen
	}
}

// note records the kind of one more value.
func (c *column) note(kind string) {
	switch {
	case c.seen == "" || c.seen == kind:
		c.seen = kind
	case isNumeric(c.seen) && isNumeric(kind):
		c.seen = footnote.KindNumber
	case isText(c.seen) && isText(kind):
		c.seen = footnote.KindText
	default:
		c.mixed = true
	}
}

func isNumeric(kind string) bool {
	return kind == footnote.KindInteger || kind == footnote.KindNumber
}

func isText(kind string) bool {
	return slices.Contains([]string{
		footnote.KindText, footnote.KindDate, footnote.KindTimestamp, footnote.KindTime, footnote.KindJSON,
	}, kind)
}

func (r *reader) row() ([]any, error) {
	row := make([]any, len(r.cols))
	for i := range row {
		c := &r.cols[i]
		switch r.st.kind(i) {
		case sqlite3.SQLITE_NULL:
		case sqlite3.SQLITE_INTEGER:
			v := r.st.integer(i)
			if c.declared == footnote.KindBoolean && (v == 0 || v == 1) {
				row[i] = v == 1
				c.note(footnote.KindBoolean)
				continue
			}
			row[i] = v
			c.note(footnote.KindInteger)
		case sqlite3.SQLITE_FLOAT:
			c.note(footnote.KindNumber)
			if v := r.st.float(i); !math.IsNaN(v) && !math.IsInf(v, 0) {
				row[i] = v
			}
		case sqlite3.SQLITE_BLOB:
			row[i] = fmt.Sprintf("blob, %d bytes", r.st.size(i))
			c.note(footnote.KindBlob)
		default:
			v, err := r.text(i)
			if err != nil {
				return nil, err
			}
			row[i] = c.noteText(v)
		}
	}
	return row, nil
}

// text reads a text cell. It checks the cell's size before it copies the text.
func (r *reader) text(i int) (string, error) {
	if n := r.st.size(i); n > r.cell {
		return "", source.Limitf(
			"A value of the column %s has %d bytes; the limit for a cell is %d. Leave the column out, or select a "+
				"part of it with substr.", r.cols[i].name, n, r.cell)
	}
	return cleanText(r.st.text(i)), nil
}

// cleanText replaces what stores and displays cannot handle. Postgres, where results may be stored, rejects NUL.
func cleanText(s string) string {
	return strings.ReplaceAll(strings.ToValidUTF8(s, "\uFFFD"), "\x00", "\uFFFD")
}

// noteText records a text value and returns it as its column shows it: with a T between date and time, as long as
// all texts of the column look like timestamps.
func (c *column) noteText(v string) string {
	kind := footnote.KindText
	if c.seen == "" || c.seen != footnote.KindText {
		kind = timeKind(v)
	}
	if kind == footnote.KindText && c.declared == footnote.KindJSON {
		kind = footnote.KindJSON
	}
	c.note(kind)
	if kind == footnote.KindTimestamp && c.seen == kind && v[10] == ' ' {
		return v[:10] + "T" + v[11:]
	}
	return v
}

// timeForm matches a date, a time of day, or both with an optional fraction and zone, as SQLite's own functions write
// them.
var timeForm = regexp.MustCompile(`^(\d{4}-(?:0[1-9]|1[0-2])-(?:0[1-9]|[12]\d|3[01]))?([ T])?` +
	`((?:[01]\d|2[0-3]):[0-5]\d:[0-5]\d)?(\.\d{1,9})?(Z|[+-]\d\d:\d\d)?$`)

// timeKind distinguishes dates, timestamps and times of day from other text.
func timeKind(s string) string {
	m := timeForm.FindStringSubmatch(s)
	switch {
	case m == nil || s == "":
		return footnote.KindText
	case s == m[1]:
		return footnote.KindDate
	case s == m[3]:
		return footnote.KindTime
	case m[1] != "" && m[2] != "" && m[3] != "":
		return footnote.KindTimestamp
	}
	return footnote.KindText
}

// kinds maps parts of declared types to kinds. The first part that a type contains counts: SQLite's affinity rules, and
// common names beyond them.
var kinds = wordlist.Lines(`
	BOOL: boolean
	DATETIME TIMESTAMP: timestamp
	DATE: date
	INT: integer
	JSON: json
	CHAR CLOB TEXT STRING UUID ENUM: text
	BLOB BINARY: blob
	TIME: time
	REAL FLOA DOUB NUM DEC MONEY: number`)

// kindOf returns the kind of a declared type.
func kindOf(declared string) string {
	declared = strings.ToUpper(declared)
	if strings.Contains(declared, "POINT") { // which contains INT
		return footnote.KindUnknown
	}
	for _, line := range kinds {
		parts, kind, _ := strings.Cut(line, ": ")
		for part := range strings.FieldsSeq(parts) {
			if strings.Contains(declared, part) {
				return kind
			}
		}
	}
	return footnote.KindUnknown
}
