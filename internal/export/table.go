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
		record[i] = Inert(c.Name)
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
				record[i] = Inert(text(at(row, i)))
			}
			if err := out.Write(record); err != nil {
				return err
			}
		}
	}
	out.Flush()
	return out.Error()
}

// JSON writes rows as an array of objects, one per line. It numbers repeated column names.
func JSON(w io.Writer, t Table) error {
	out := bufio.NewWriter(w)
	keys := make([][]byte, len(t.Columns))
	for i, c := range footnote.DistinctColumns(t.Columns) {
		keys[i] = append(footnote.AppendCell(nil, c.Name), ':')
	}
	var line []byte
	n := 0
	_ = out.WriteByte('[') // out keeps the error until Flush
	for rows, err := range t.Rows {
		if err != nil {
			return err
		}
		for _, row := range rows {
			line = line[:0]
			if n++; n > 1 {
				line = append(line, ',')
			}
			line = append(line, "\n{"...)
			for i, key := range keys {
				if i > 0 {
					line = append(line, ',')
				}
				line = append(line, key...)
				line = footnote.AppendCell(line, at(row, i))
			}
			if _, err := out.Write(append(line, '}')); err != nil {
				return err
			}
		}
	}
	_, _ = out.WriteString("\n]\n")
	return out.Flush()
}

// at returns a cell of a row, or nil if the row is too short.
func at(row []any, i int) any {
	if i < len(row) {
		return row[i]
	}
	return nil
}
