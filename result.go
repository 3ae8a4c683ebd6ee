package footnote

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"strconv"
	"strings"
	"time"
)

// The kinds a column can have. They define how to read its cells, not what the database calls the type.
const (
	KindInteger   = "integer"
	KindNumber    = "number"  // binary floating point
	KindDecimal   = "decimal" // exact; cells are strings
	KindText      = "text"
	KindBoolean   = "boolean"
	KindDate      = "date"      // cells are 2006-01-02
	KindTimestamp = "timestamp" // cells are 2006-01-02T15:04:05[.999999][Z|±hh:mm]
	KindTime      = "time"
	KindJSON      = "json" // cells are JSON text
	KindBlob      = "blob" // cells are a short description, never the bytes
	KindUnknown   = ""
)

// Column describes one column of a result.
type Column struct {
	Name string `json:"name"`
	Kind string `json:"kind,omitempty"`
	// Unit and Format are what the company's context says about the column's numbers: EUR, kg or %, and a pattern such
	// as 0.00 or 0%. They are empty where it says nothing.
	Unit   string `json:"unit,omitempty"`
	Format string `json:"format,omitempty"`
}

// DistinctColumns returns columns with a number at the second and further uses of a name: n, n_2.
func DistinctColumns(columns []Column) []Column {
	out := make([]Column, len(columns))
	seen := map[string]bool{}
	for i, c := range columns {
		name := c.Name
		for n := 2; seen[name]; n++ {
			name = c.Name + "_" + strconv.Itoa(n)
		}
		seen[name] = true
		out[i], out[i].Name = c, name
	}
	return out
}

// Result is the result of a query. A cell is nil, bool, int64, float64 (always finite) or
// string. Decimals and integers beyond int64 are strings; NaN and infinity become nil.
type Result struct {
	Columns   []Column
	Rows      [][]any
	Truncated bool // the query had more rows than were read
}

// AppendCell appends the JSON form of a cell. It writes integers beyond 2^53 as strings, because most JSON readers
// would round them.
func AppendCell(dst []byte, cell any) []byte {
	switch v := cell.(type) {
	case nil:
		return append(dst, "null"...)
	case bool:
		return strconv.AppendBool(dst, v)
	case int64:
		if v > 1<<53 || v < -(1<<53) {
			return fmt.Appendf(dst, `"%d"`, v)
		}
		return strconv.AppendInt(dst, v, 10)
	case float64:
		if math.IsNaN(v) || math.IsInf(v, 0) {
			return append(dst, "null"...)
		}
		b, _ := json.Marshal(v) // a finite float always encodes
		return append(dst, b...)
	case string:
		b, _ := json.Marshal(v) // a string always encodes
		return append(dst, b...)
	default:
		return append(dst, "null"...)
	}
}

// AppendRow appends the JSON array of a row.
func AppendRow(dst []byte, row []any) []byte {
	dst = append(dst, '[')
	for i, cell := range row {
		if i > 0 {
			dst = append(dst, ',')
		}
		dst = AppendCell(dst, cell)
	}
	return append(dst, ']')
}

// StoredResult is the log's reference to the rows of a query. The rows themselves are blobs, in chunks, so that any
// replica can page through them.
type StoredResult struct {
	ID        string   `json:"id"` // r1, r2, … unique in its conversation
	Source    string   `json:"source,omitempty"`
	SQL       string   `json:"sql,omitempty"`
	Parents   []string `json:"parents,omitempty"` // ids of the results that SQL reads, instead of a source
	Columns   []Column `json:"columns"`
	RowCount  int      `json:"row_count"` // rows of the query; the chunks of a client's result may hold fewer
	Truncated bool     `json:"truncated,omitempty"`
	Chunks    []Chunk  `json:"chunks,omitempty"`
	// Verified is set if the rows come from the very text of a verified query, run for a question that it answers.
	Verified *Verified `json:"verified,omitempty"`
}

// Verified says which verified query returned a result: a statement that a person has checked as the answer to a
// question.
type Verified struct {
	Query    string `json:"query"`    // its name
	Question string `json:"question"` // the question that it answers, with its values
	By       string `json:"by"`       // the person who verified it
	On       string `json:"on"`       // the day, 2006-01-02
	Digest   Digest `json:"digest"`   // of the statement as it was verified
}

// String returns the badge: verified by Ann on 2 November 2026.
func (v Verified) String() string {
	day := v.On
	if t, err := time.Parse(time.DateOnly, v.On); err == nil {
		day = t.Format("2 January 2006")
	}
	return "verified by " + v.By + " on " + day
}

// VerifiedResult is a result behind an answer that a verified query returned.
type VerifiedResult struct {
	Result string `json:"result"` // such as r1
	Verified
}

// ExpiredResults names the cursor before which results may have lost their rows, because they have expired.
const ExpiredResults = "results/expired"

// ResultOf returns the result that an event stores, or nil.
func ResultOf(b Body) *StoredResult {
	switch b := b.(type) {
	case ToolResult:
		return b.Result
	case QueryRun:
		return &b.Result
	default:
		return nil
	}
}

// ReadError returns the error of reading the rows. Rows that are no longer there have expired.
func (s StoredResult) ReadError(err error) error {
	if CodeOf(err) == NotFound {
		return Wrapf(NotFound, err, "The rows of %s have expired. Run its query again to get new ones.", s.ID)
	}
	return fmt.Errorf("read rows of %s: %w", s.ID, err)
}

// Kept returns the number of rows in the chunks.
func (s StoredResult) Kept() int {
	n := 0
	for _, c := range s.Chunks {
		n += c.Rows
	}
	return n
}

// RanVerified reports whether SQL is the text that Verified names, except for comments at its end that list the values
// of parameters.
func (s StoredResult) RanVerified() bool {
	sql := s.SQL
	for s.Verified != nil {
		if DigestOf([]byte(sql)) == s.Verified.Digest {
			return true
		}
		end := strings.LastIndex(sql, "\n-- $")
		if end < 0 || strings.Contains(sql[end+1:], "\n") {
			return false
		}
		sql = sql[:end]
	}
	return false
}

// Chunk is a range of rows of a stored result: a blob that holds a JSON array of row arrays.
type Chunk struct {
	Digest string `json:"digest"`
	Rows   int    `json:"rows"`
}

// DecodeRows decodes the JSON array of row arrays that AppendRow writes. Clients may send other rows: a missing one, or
// cells that are arrays or objects.
func DecodeRows(data []byte, columns []Column) (rows [][]any, _ error) {
	rows = [][]any{} // no rows are not missing rows
	if EachRow(data, columns, func(cells []any, _ []byte) { rows = append(rows, cells) }) == nil {
		return rows, nil
	}
	dec := json.NewDecoder(bytes.NewReader(data))
	dec.UseNumber()
	rows = nil
	if err := dec.Decode(&rows); err != nil {
		return nil, fmt.Errorf("decode rows: %w", err)
	}
	for _, row := range rows {
		for i, cell := range row {
			switch v := cell.(type) {
			case json.Number:
				d := rowDecoder{text: v.String()}
				row[i] = d.cell(kindOf(columns, i))
			case string:
				row[i] = textCell(v, kindOf(columns, i))
			}
		}
	}
	return rows, nil
}

func kindOf(columns []Column, i int) string {
	if i < len(columns) {
		return columns[i].Kind
	}
	return ""
}

// textCell returns a text as a cell. Integers beyond 2^53 are written as text.
func textCell(s, kind string) any {
	if kind == KindInteger {
		if n, err := strconv.ParseInt(s, 10, 64); err == nil {
			return n
		}
	}
	return s
}

// EachRow calls row with the cells of each row in the JSON array of row arrays that AppendRow writes, and with the
// row's JSON. It has a decoder of its own, because results of a million rows are read this way and encoding/json takes
// several times as long.
func EachRow(data []byte, columns []Column, row func(cells []any, raw []byte)) error {
	d := rowDecoder{text: string(data)}
	var cells []any // for several rows, so that not every row is an allocation
	d.list(func() {
		if cap(cells)-len(cells) < len(columns) {
			cells = make([]any, 0, 256*max(1, len(columns)))
		}
		first, from := len(cells), d.at
		d.list(func() {
			cells = append(cells, d.cell(kindOf(columns, len(cells)-first)))
		})
		row(cells[first:len(cells):len(cells)], data[from:d.at])
	})
	if d.next(); d.bad || d.at != len(d.text) {
		return fmt.Errorf("decode rows: byte %d of %d is not expected", d.at, len(d.text))
	}
	return nil
}

type rowDecoder struct {
	text string
	at   int
	bad  bool // text[at] is not what was expected
}

// next skips space and returns the next byte, or 0 at the end.
func (d *rowDecoder) next() byte {
	for ; d.at < len(d.text); d.at++ {
		if c := d.text[d.at]; c > ' ' {
			return c
		}
	}
	return 0
}

// list reads an array. It calls element at the start of each element.
func (d *rowDecoder) list(element func()) {
	if d.next() != '[' {
		d.bad = true
		return
	}
	d.at++
	if d.next() == ']' {
		d.at++
		return
	}
	for !d.bad {
		element()
		if d.bad {
			return
		}
		switch d.next() {
		case ',':
			d.at++
		case ']':
			d.at++
			return
		default:
			d.bad = true
		}
	}
}

// cell reads null, a boolean, a number or a string.
func (d *rowDecoder) cell(kind string) any {
	if d.next() == '"' {
		return textCell(d.quoted(), kind)
	}
	from := d.at
	for d.at < len(d.text) && d.text[d.at] > ' ' && d.text[d.at] != ',' && d.text[d.at] != ']' {
		d.at++
	}
	word := d.text[from:d.at]
	switch word {
	case "null":
		return nil
	case "true", "false":
		return word == "true"
	}
	if strings.Trim(word, "+-.0123456789eE") != "" {
		d.at, d.bad = from, true
		return nil
	}
	if kind != KindNumber {
		if n, err := strconv.ParseInt(word, 10, 64); err == nil {
			return n
		}
	}
	switch f, err := strconv.ParseFloat(word, 64); {
	case err == nil:
		return f
	case errors.Is(err, strconv.ErrRange):
		return word
	}
	d.at, d.bad = from, true
	return nil
}

// quoted reads a string.
func (d *rowDecoder) quoted() string {
	from, escaped := d.at, false
	for d.at++; d.at < len(d.text); d.at++ {
		switch d.text[d.at] {
		case '\\':
			d.at++
			escaped = true
		case '"':
			d.at++
			if !escaped {
				return d.text[from+1 : d.at-1]
			}
			var s string
			d.bad = json.Unmarshal([]byte(d.text[from:d.at]), &s) != nil
			return s
		}
	}
	d.at, d.bad = from, true
	return ""
}
