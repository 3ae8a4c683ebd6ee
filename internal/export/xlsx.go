package export

import (
	"fmt"
	"io"
	"strconv"
	"strings"
	"time"

	"github.com/xuri/excelize/v2"

	"github.com/footnotehq/footnote"
)

// Limits of a sheet.
const (
	sheetRows    = 1_048_576 - 1 // without the header
	sheetColumns = 16_384
	sheetDigits  = 15 // precision of a spreadsheet's numbers
)

// XLSX writes a workbook. Rows beyond the limit of a sheet continue on the next one. Dates become spreadsheet dates;
// numbers with more digits than a spreadsheet keeps become text.
func XLSX(w io.Writer, t Table) (err error) {
	if len(t.Columns) > sheetColumns {
		return footnote.Invalidf("A sheet has at most %d columns.", sheetColumns)
	}
	file := excelize.NewFile()
	defer func() {
		if cerr := file.Close(); err == nil {
			err = cerr
		}
	}()
	sheets := 1
	sheet, err := newSheet(file, sheets, t)
	if err != nil {
		return err
	}
	for rows, err := range t.Rows {
		if err != nil {
			return err
		}
		for _, row := range rows {
			if sheet.rows == sheetRows {
				if err := sheet.end(); err != nil {
					return err
				}
				sheets++
				if sheet, err = newSheet(file, sheets, t); err != nil {
					return err
				}
			}
			if err := sheet.add(row); err != nil {
				return err
			}
		}
	}
	if err := sheet.end(); err != nil {
		return err
	}
	if note := t.note(); note != "" {
		if _, err := file.NewSheet("Note"); err != nil {
			return fmt.Errorf("add the note: %w", err)
		}
		if err := file.SetCellStr("Note", "A1", note); err != nil {
			return fmt.Errorf("add the note: %w", err)
		}
	}
	return file.Write(w)
}

type sheet struct {
	out        *excelize.StreamWriter
	table      Table
	date, time int // styles
	rows       int
	cells      []any
	numbers    []int // styles of the columns, or 0
}

func newSheet(file *excelize.File, number int, t Table) (*sheet, error) {
	name := "Sheet" + strconv.Itoa(number)
	if _, err := file.NewSheet(name); err != nil { // does nothing if there is one
		return nil, fmt.Errorf("begin the sheet: %w", err)
	}
	out, err := file.NewStreamWriter(name)
	if err != nil {
		return nil, fmt.Errorf("begin the sheet: %w", err)
	}
	s := &sheet{out: out, table: t, cells: make([]any, len(t.Columns))}
	if s.date, err = file.NewStyle(&excelize.Style{CustomNumFmt: new("yyyy-mm-dd")}); err != nil {
		return nil, err
	}
	if s.time, err = file.NewStyle(&excelize.Style{CustomNumFmt: new("yyyy-mm-dd hh:mm:ss")}); err != nil {
		return nil, err
	}
	bold, err := file.NewStyle(&excelize.Style{Font: &excelize.Font{Bold: true}})
	if err != nil {
		return nil, err
	}
	for i, c := range t.Columns {
		s.cells[i] = excelize.Cell{StyleID: bold, Value: t.inert(c.Name)}
	}
	if s.numbers, err = numberStyles(file, t.Columns); err != nil {
		return nil, err
	}
	if err := out.SetPanes(&excelize.Panes{
		Freeze: true, YSplit: 1, TopLeftCell: "A2", ActivePane: "bottomLeft",
	}); err != nil {
		return nil, err
	}
	return s, out.SetRow("A1", s.cells)
}

// numberStyles returns the styles of the columns with a unit or a format, and 0 for the others.
func numberStyles(file *excelize.File, columns []footnote.Column) ([]int, error) {
	styles := make([]int, len(columns))
	for i, c := range columns {
		pattern := c.Format
		if c.Unit == "" && pattern == "" {
			continue
		}
		if pattern == "" {
			pattern = "General"
		}
		if c.Unit != "" && !strings.HasSuffix(pattern, "%") {
			pattern += ` "` + strings.ReplaceAll(c.Unit, `"`, "") + `"`
		}
		style, err := file.NewStyle(&excelize.Style{CustomNumFmt: &pattern})
		if err != nil {
			return nil, fmt.Errorf("format the column %s: %w", c.Name, err)
		}
		styles[i] = style
	}
	return styles, nil
}

func (s *sheet) end() error {
	if err := s.out.Flush(); err != nil {
		return fmt.Errorf("write the sheet: %w", err)
	}
	return nil
}

func (s *sheet) add(row []any) error {
	s.rows++
	for i, c := range s.table.Columns {
		s.cells[i] = s.cell(at(row, i), c.Kind)
		if style := s.numbers[i]; style != 0 {
			switch v := s.cells[i].(type) {
			case int64, float64:
				s.cells[i] = excelize.Cell{StyleID: style, Value: v}
			}
		}
	}
	return s.out.SetRow("A"+strconv.Itoa(s.rows+1), s.cells)
}

// cell returns a value in the form a sheet stores.
func (s *sheet) cell(cell any, kind string) any {
	switch v := cell.(type) {
	case int64:
		if v >= 1e15 || v <= -1e15 {
			return strconv.FormatInt(v, 10)
		}
		return v
	case string:
		switch kind {
		case footnote.KindDecimal, footnote.KindInteger, footnote.KindNumber:
			if f, err := strconv.ParseFloat(v, 64); err == nil && digits(v) <= sheetDigits {
				return f
			}
		case footnote.KindDate:
			if d, err := time.Parse(time.DateOnly, v); err == nil && d.Year() >= 1900 {
				return excelize.Cell{StyleID: s.date, Value: d}
			}
		case footnote.KindTimestamp:
			if d, ok := moment(v); ok && d.Year() >= 1900 {
				return excelize.Cell{StyleID: s.time, Value: d}
			}
		}
		return s.table.inert(v)
	default:
		return v
	}
}

func digits(s string) int {
	n := 0
	for _, r := range strings.TrimLeft(s, "-+0.") {
		if r >= '0' && r <= '9' {
			n++
		}
	}
	return n
}

// moment parses a timestamp cell. It converts one with an offset to UTC.
func moment(s string) (time.Time, bool) {
	for _, layout := range []string{"2006-01-02T15:04:05.999999999Z07:00", "2006-01-02T15:04:05.999999999"} {
		if t, err := time.Parse(layout, s); err == nil {
			return t.UTC(), true
		}
	}
	return time.Time{}, false
}
