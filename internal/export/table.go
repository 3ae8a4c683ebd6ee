// Package export writes data of the log to files for other programs: the rows of a result as CSV, XLSX, JSON,
// Arrow or Parquet, and a conversation as one HTML page.
//
// A spreadsheet executes any cell that looks like a formula, even one from an untrusted source. Such cells get a
// leading apostrophe (see Inert).
package export

import (
	"bufio"
	"encoding/csv"
	"fmt"
	"io"
	"iter"
	"math"
	"strconv"
	"strings"

	"github.com/footnotehq/footnote"
)

// Table holds the rows of a result. They arrive in chunks, so that a large result is never in memory as a whole; Rows
// may be called more than once.
type Table struct {
	Columns []footnote.Column
	Rows    iter.Seq2[[][]any, error]
	// Sample, when set, are the rows from which the types of columns are taken, because Rows can be read only once.
	Sample iter.Seq2[[][]any, error]
	// Note, when set, is called after the last row. Its text is added to the file: as a last line of CSV and of lines
	// of JSON, as a sheet of a workbook, and as metadata of Parquet. An Arrow stream and a JSON array have no place
	// for it.
	Note func() string
	// Formulas leaves texts in CSV and XLSX as they are, even if a spreadsheet would execute them.
	Formulas bool
}

// Formulas counts the cells and names of columns that CSV and XLSX would escape (see Inert).
func Formulas(t Table) (n int, _ error) {
	count := func(cell any) {
		if s, ok := cell.(string); ok && Inert(s) != s {
			n++
		}
	}
	for _, c := range t.Columns {
		count(c.Name)
	}
	for rows, err := range t.Rows {
		if err != nil {
			return 0, err
		}
		for _, row := range rows {
			for _, cell := range row {
				count(cell)
			}
		}
	}
	return n, nil
}

// note returns the text of Note.
func (t Table) note() string {
	if t.Note == nil {
		return ""
	}
	return t.Note()
}

// inert escapes a text unless the table keeps formulas.
func (t Table) inert(s string) string {
	if t.Formulas {
		return s
	}
	return Inert(s)
}

// Format is a file format.
type Format struct {
	ContentType, Extension string
	Write                  func(w io.Writer, t Table) error
}

// Formats returns the file formats by the names that clients use.
func Formats() map[string]Format {
	return map[string]Format{
		"csv":     {"text/csv; charset=utf-8", "csv", CSV},
		"xlsx":    {"application/vnd.openxmlformats-officedocument.spreadsheetml.sheet", "xlsx", XLSX},
		"json":    {"application/json", "json", JSON},
		"jsonl":   {"application/x-ndjson", "jsonl", JSONLines},
		"arrow":   {"application/vnd.apache.arrow.stream", "arrows", Arrow},
		"parquet": {"application/vnd.apache.parquet", "parquet", Parquet},
	}
}

// plainNumber reports whether a text is a decimal number with digits around its point, if it has one.
func plainNumber(s string) bool {
	if s != "" && (s[0] == '-' || s[0] == '+') {
		s = s[1:]
	}
	whole, fraction, point := strings.Cut(s, ".")
	return onlyDigits(whole) && (!point || onlyDigits(fraction))
}

func onlyDigits(s string) bool {
	for i := range len(s) {
		if s[i] < '0' || s[i] > '9' {
			return false
		}
	}
	return s != ""
}

// Inert escapes a text that a spreadsheet would execute as a formula. A signed number stays unchanged.
func Inert(s string) string {
	first := strings.TrimLeft(s, " \ufeff") // a spreadsheet drops a byte order mark at the start of a file
	if first == "" || plainNumber(s) {
		return s
	}
	switch r := []rune(first[:min(4, len(first))])[0]; r {
	case '=', '+', '-', '@', '\t', '\r', '\n', '＝', '＋', '－', '＠':
		return "'" + s
	}
	return s
}

// text formats a cell for people; a missing value is empty.
func text(cell any) string {
	switch v := cell.(type) {
	case nil:
		return ""
	case bool:
		return strconv.FormatBool(v)
	case int64:
		return strconv.FormatInt(v, 10)
	case float64:
		if size := math.Abs(v); size >= 1e-6 && size < 1e15 {
			return strconv.FormatFloat(v, 'f', -1, 64) // 1234567.5, not 1.2345675e+06
		}
		return strconv.FormatFloat(v, 'g', -1, 64)
	case string:
		return v
	default:
		return fmt.Sprint(v)
	}
}

// CSV writes rows in the format of RFC 4180, in UTF-8.
func CSV(w io.Writer, t Table) error {
	out := csv.NewWriter(w)
	out.UseCRLF = true
	record := make([]string, len(t.Columns))
	for i, c := range t.Columns {
		record[i] = t.inert(c.Name)
	}
	if err := out.Write(record); err != nil {
		return err
	}
	for rows, err := range t.Rows {
		if err != nil {
			return err
		}
		for _, row := range rows {
			for i := range record {
				record[i] = text(at(row, i))
				if _, ok := at(row, i).(string); ok {
					record[i] = t.inert(record[i])
				}
			}
			if err := out.Write(record); err != nil {
				return err
			}
		}
	}
	if note := t.note(); note != "" {
		if err := out.Write([]string{note}); err != nil {
			return err
		}
	}
	out.Flush()
	return out.Error()
}

// JSON writes rows as an array of objects, one per line. It numbers repeated column names.
func JSON(w io.Writer, t Table) error {
	out := bufio.NewWriter(w)
	_, _ = out.WriteString("[") // out keeps the error until Flush
	if err := objects(out, t, "\n", ",\n", ""); err != nil {
		return err
	}
	_, _ = out.WriteString("\n]\n")
	return out.Flush()
}

// JSONLines writes each row as an object on a line of its own. A note is an object with the key _note.
func JSONLines(w io.Writer, t Table) error {
	out := bufio.NewWriter(w)
	if err := objects(out, t, "", "", "\n"); err != nil {
		return err
	}
	if note := t.note(); note != "" {
		_, _ = fmt.Fprintf(out, "{\"_note\":%s}\n", footnote.AppendCell(nil, note))
	}
	return out.Flush()
}

// objects writes rows as objects, with first before the first one, then before each other one, and last after each.
func objects(out *bufio.Writer, t Table, first, then, last string) error {
	keys := make([][]byte, len(t.Columns))
	for i, c := range footnote.DistinctColumns(t.Columns) {
		keys[i] = append(footnote.AppendCell(nil, c.Name), ':')
	}
	var line []byte
	before := first
	for rows, err := range t.Rows {
		if err != nil {
			return err
		}
		for _, row := range rows {
			line = append(append(line[:0], before...), '{')
			for i, key := range keys {
				if i > 0 {
					line = append(line, ',')
				}
				line = append(line, key...)
				line = footnote.AppendCell(line, at(row, i))
			}
			if _, err := out.Write(append(append(line, '}'), last...)); err != nil {
				return err
			}
			before = then
		}
	}
	return nil
}

// at returns a cell of a row, or nil if the row is too short.
func at(row []any, i int) any {
	if i < len(row) {
		return row[i]
	}
	return nil
}
