// Package export writes what is in the log as files that other programs open: the
// rows of a result as CSV, XLSX, JSON or an Arrow stream, and a conversation as one
// page of HTML.
//
// A spreadsheet runs a cell that begins like a formula, whoever wrote it; such cells
// get an apostrophe in front (see Inert).
package export

import (
	"bufio"
	"encoding/csv"
	"fmt"
	"io"
	"iter"
	"math"
	"regexp"
	"strconv"
	"strings"

	"github.com/footnotehq/footnote"
)

// Table is the rows of a result. They come in chunks, so that a large result is
// never in memory as a whole; Rows may be asked for more than once.
type Table struct {
	Columns []footnote.Column
	Rows    iter.Seq2[[][]any, error]
}

// Format is a kind of file.
type Format struct {
	ContentType string
	Extension   string
	Write       func(w io.Writer, t Table) error
}

// Formats are the kinds of files by the names that clients ask for.
func Formats() map[string]Format {
	return map[string]Format{
		"csv":   {"text/csv; charset=utf-8", "csv", CSV},
		"xlsx":  {"application/vnd.openxmlformats-officedocument.spreadsheetml.sheet", "xlsx", XLSX},
		"json":  {"application/json", "json", JSON},
		"arrow": {"application/vnd.apache.arrow.stream", "arrows", Arrow},
	}
}

var plainNumber = regexp.MustCompile(`^[-+]?[0-9]+(\.[0-9]+)?$`)

// Inert makes a text one that no spreadsheet takes for a formula. A number with a
// sign stays what it is.
func Inert(s string) string {
	first := strings.TrimLeft(s, " \ufeff") // a spreadsheet drops the mark at a file's beginning
	if first == "" || plainNumber.MatchString(s) {
		return s
	}
	switch r := []rune(first[:min(4, len(first))])[0]; r {
	case '=', '+', '-', '@', '\t', '\r', '\n', '＝', '＋', '－', '＠':
		return "'" + s
	}
	return s
}

// text is a cell as a person reads it; a missing value is empty.
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

// CSV writes rows as RFC 4180 says, in UTF-8.
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
				record[i] = ""
				if i < len(row) {
					record[i] = Inert(text(row[i]))
				}
			}
			if err := out.Write(record); err != nil {
				return err
			}
		}
	}
	out.Flush()
	return out.Error()
}

// JSON writes rows as an array of objects, one on each line. Of columns with the
// same name the later ones get a number.
func JSON(w io.Writer, t Table) error {
	out := bufio.NewWriter(w)
	keys := make([][]byte, len(t.Columns))
	for i, name := range names(t.Columns) {
		keys[i] = append(footnote.AppendCell(nil, name), ':')
	}
	var line []byte
	n := 0
	_ = out.WriteByte('[') // the error stays with out until Flush
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

func at(row []any, i int) any {
	if i < len(row) {
		return row[i]
	}
	return nil
}

// names are the columns' names, each once.
func names(columns []footnote.Column) []string {
	out := make([]string, len(columns))
	seen := map[string]bool{}
	for i, c := range columns {
		name := c.Name
		for n := 2; seen[name]; n++ {
			name = c.Name + "_" + strconv.Itoa(n)
		}
		seen[name] = true
		out[i] = name
	}
	return out
}
