package tidy

import (
	"context"
	"encoding/csv"
	"errors"
	"fmt"
	"math"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/xuri/excelize/v2"
)

// Sheet is a worksheet that has been written as a text file for Plan.
type Sheet struct {
	Name string
	Path string // a CSV file
}

// Sheets writes every non-empty worksheet of an Excel workbook to dir as a CSV file. Dates become ISO dates,
// whatever their format. Numbers keep the 15 digits that Excel shows at most, with their format's currency or
// percent sign.
func Sheets(ctx context.Context, path, dir string, limits Limits) ([]Sheet, error) {
	limits = limits.WithDefaults()
	size, err := sizeOf(path, limits)
	if err != nil {
		return nil, err
	}
	if err := inspect(ctx, path, size, limits); err != nil {
		return nil, err
	}
	maxBytes := unpacked(size, limits)
	f, err := excelize.OpenFile(path, excelize.Options{
		UnzipSizeLimit:    maxBytes,
		UnzipXMLSizeLimit: min(maxInMemory, maxBytes),
	})
	if err != nil {
		return nil, workbookError(err)
	}
	defer f.Close()
	date1904 := false
	if props, err := f.GetWorkbookProps(); err == nil && props.Date1904 != nil {
		date1904 = *props.Date1904
	}
	var sheets []Sheet
	out := &bounded{left: maxBytes} // for all sheets together, because one long text may be in every cell
	for i, name := range f.GetSheetList() {
		file := filepath.Join(dir, fmt.Sprintf("sheet-%d.csv", i+1))
		s := sheetWriter{file: f, name: name, date1904: date1904, limits: limits, out: out}
		n, err := s.write(ctx, file)
		if err != nil {
			return nil, err
		}
		if n > 0 {
			sheets = append(sheets, Sheet{Name: name, Path: file})
		}
	}
	if len(sheets) == 0 {
		return nil, errorf("The workbook has no cells.")
	}
	return sheets, nil
}

func workbookError(err error) error {
	switch {
	case errors.Is(err, excelize.ErrWorkbookPassword), strings.Contains(err.Error(), "encrypt"),
		strings.Contains(err.Error(), "password"):
		return errorf("The workbook is protected with a password. Save it without one.")
	case strings.Contains(err.Error(), "unzip size"):
		return errorf("The workbook is too large when unpacked.")
	}
	return errorf("The file is not a readable Excel workbook (.xlsx): %v.", err)
}

type sheetWriter struct {
	file     *excelize.File
	name     string
	date1904 bool
	limits   Limits
	out      *bounded
}

// maxInMemory limits the size of a sheet, and of the texts of all cells, that is read in memory; larger ones are
// read from a temporary file.
const maxInMemory = 8 << 20

// write copies the rows. It reads them twice in parallel, as shown and as stored, because only both together
// distinguish a date from a number.
func (s sheetWriter) write(ctx context.Context, path string) (rows int64, err error) {
	shown, err := s.file.Rows(s.name)
	if err != nil {
		return 0, nil // a chart sheet
	}
	defer shown.Close()
	stored, err := s.file.Rows(s.name)
	if err != nil {
		return 0, workbookError(err)
	}
	defer stored.Close()
	out, err := os.Create(path)
	if err != nil {
		return 0, err
	}
	s.out.w = out
	w := csv.NewWriter(s.out)
	defer func() {
		w.Flush()
		if errors.Is(err, errUnpacks) || errors.Is(w.Error(), errUnpacks) {
			err = errors.Join(errUnpacks, out.Close())
			return
		}
		err = errors.Join(err, w.Error(), out.Close())
	}()
	for n := int64(0); shown.Next() && stored.Next(); n++ {
		if n&1023 == 0 && ctx.Err() != nil {
			return rows, context.Cause(ctx)
		}
		a, err1 := shown.Columns()
		b, err2 := stored.Columns(excelize.Options{RawCellValue: true})
		if err := errors.Join(err1, err2); err != nil {
			return rows, workbookError(err)
		}
		filled, err := s.row(a, b)
		if err != nil {
			return rows, err
		}
		if filled {
			rows++
		}
		if rows > s.limits.Rows {
			return rows, errorf("The sheet %q has more than %d rows.", s.name, s.limits.Rows)
		}
		if len(a) == 0 {
			a = []string{""} // a blank line
		}
		if err := w.Write(a); err != nil {
			return rows, err
		}
	}
	return rows, errors.Join(shown.Error(), stored.Error())
}

// row replaces each value in shown with the text to write.
func (s sheetWriter) row(shown, stored []string) (filled bool, err error) {
	if len(shown) > s.limits.Columns {
		return false, errorf("The sheet %q has more than %d columns.", s.name, s.limits.Columns)
	}
	for i := range shown {
		if i < len(stored) {
			shown[i] = s.cell(shown[i], stored[i])
		}
		filled = filled || strings.TrimSpace(shown[i]) != ""
	}
	return filled, nil
}

// cell chooses between the shown and the stored form of a cell.
func (s sheetWriter) cell(shown, stored string) string {
	v, err := strconv.ParseFloat(stored, 64)
	if err != nil || math.IsNaN(v) || math.IsInf(v, 0) {
		return shown
	}
	text := trim([]byte(shown))
	if len(text) == 0 {
		return stored
	}
	if _, _, ok := parseBool(text); ok {
		return shown
	}
	number := strconv.FormatFloat(v, 'g', 15, 64)
	if rounded, err := strconv.ParseFloat(number, 64); err == nil {
		number = strconv.FormatFloat(rounded, 'f', -1, 64)
	}
	n, ok := parseNumber(text)
	switch {
	case shown == stored && allDigits(stored):
		return stored // with all its digits, even beyond 15
	case !ok && s.isDate(text, v):
		return s.date(v)
	case !ok && len(text) > 1 && text[0] == '0' && allDigits(string(text)):
		return string(text) // 00501
	case ok && n.percent:
		return strconv.FormatFloat(math.Round(v*1e14)/1e12, 'f', -1, 64) + "%"
	case ok && n.currency != "":
		return n.currency + number
	}
	return number
}

func allDigits(s string) bool {
	return !slices.ContainsFunc([]byte(s), func(c byte) bool { return !plain(c) })
}

// isDate reports whether a cell that stores a number shows a date or time.
func (s sheetWriter) isDate(text []byte, v float64) bool {
	if v < 0 || v > 2958466 { // the year 9999
		return false
	}
	if isTime(text) {
		return true
	}
	for _, word := range strings.FieldsFunc(strings.ToLower(string(text)), func(r rune) bool {
		return strings.ContainsRune(" .,-/:0123456789", r)
	}) {
		if months[word] != 0 || weekday([]byte(word)) {
			return true
		}
	}
	return strings.Count(string(text), "/") == 2 || strings.Count(string(text), ":") >= 1
}

func (s sheetWriter) date(v float64) string {
	t, err := excelize.ExcelDateToTime(v, s.date1904)
	if err != nil {
		return strconv.FormatFloat(v, 'f', -1, 64)
	}
	t = t.Round(time.Millisecond)
	switch {
	case v < 1:
		return t.Format("15:04:05.999")
	case v == math.Trunc(v):
		return t.Format("2006-01-02")
	default:
		return t.Format("2006-01-02 15:04:05.999")
	}
}
