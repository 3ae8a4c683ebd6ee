package main

import (
	"fmt"
	"io"
	"os"
	"strconv"
	"strings"
	"unicode"

	"golang.org/x/term"
	"golang.org/x/text/width"

	"github.com/footnotehq/footnote"
)

// shownRows is the maximum number of table rows that the terminal shows.
const shownRows = 20

// terminal reports whether a stream is a terminal.
func terminal(w any) (fd int, ok bool) {
	f, isFile := w.(*os.File)
	if !isFile {
		return 0, false
	}
	return int(f.Fd()), term.IsTerminal(int(f.Fd()))
}

// terminalWidth returns the number of columns to fill: the terminal's width, or 100.
func terminalWidth(w io.Writer) int {
	fd, ok := terminal(w)
	if !ok {
		return 100
	}
	columns, _, err := term.GetSize(fd)
	if err != nil || columns < 20 {
		return 100
	}
	return columns
}

// loading returns a function that shows the progress of loading files on a terminal.
func loading(w io.Writer) func(source, table string, rows int64) {
	if _, ok := terminal(w); !ok {
		return nil
	}
	return func(source, table string, rows int64) {
		fmt.Fprintf(w, "\r\x1b[Kloading %s: %s, %d rows", source, table, rows)
	}
}

// printTable prints rows as a table for people: numbers right-aligned, long cells truncated, at most shownRows rows.
func printTable(w io.Writer, res footnote.Result, maxWidth int) {
	if len(res.Columns) == 0 {
		return
	}
	rows := res.Rows[:min(len(res.Rows), shownRows)]
	cells := make([][]string, 0, len(rows)+1)
	head := make([]string, len(res.Columns))
	for i, c := range res.Columns {
		head[i] = visible(c.Name)
	}
	cells = append(cells, head)
	for _, row := range rows {
		line := make([]string, len(res.Columns))
		for i := range line {
			if i < len(row) {
				line[i] = visible(cellText(row[i]))
			}
		}
		cells = append(cells, line)
	}
	widths := columnWidths(cells, maxWidth)
	for n, line := range cells {
		var b strings.Builder
		for i, cell := range line {
			b.WriteString(pad(cell, widths[i], n > 0 && numeric(res, i)))
			b.WriteString("  ")
		}
		fmt.Fprintln(w, strings.TrimRight(b.String(), " "))
		if n == 0 {
			fmt.Fprintln(w, rule(widths))
		}
	}
	if more := len(res.Rows) - len(rows); more > 0 {
		fmt.Fprintf(w, "… %d more rows\n", more)
	}
}

func cellText(cell any) string {
	switch v := cell.(type) {
	case nil:
		return "·"
	case float64:
		return floatText(v)
	case int64:
		return strconv.FormatInt(v, 10)
	case bool:
		return strconv.FormatBool(v)
	case string:
		return v
	default:
		return fmt.Sprint(v)
	}
}

// floatText formats a number with the 15 digits that a sum of decimals keeps, without the rounding noise after them.
func floatText(v float64) string {
	rounded, err := strconv.ParseFloat(strconv.FormatFloat(v, 'g', 15, 64), 64)
	if err != nil {
		rounded = v
	}
	return strconv.FormatFloat(rounded, 'f', -1, 64)
}

// shortNumber applies floatText to a number in text form; it returns other text unchanged.
func shortNumber(s string) string {
	if len(s) < 17 {
		return s
	}
	v, err := strconv.ParseFloat(s, 64)
	if err != nil || !strings.Contains(s, ".") {
		return s
	}
	return floatText(v)
}

// visible turns a cell into one line of printable text: rows come from outside, and a terminal executes the control
// sequences it receives.
func visible(s string) string {
	return strings.Map(func(r rune) rune {
		switch {
		case r == '\n' || r == '\t' || r == '\r':
			return ' '
		case !unicode.IsPrint(r):
			return '\uFFFD'
		}
		return r
	}, s)
}

// safeText does the same for prose, but keeps line breaks and tabs.
func safeText(s string) string {
	return strings.Map(func(r rune) rune {
		if r != '\n' && r != '\t' && !unicode.IsPrint(r) {
			return -1
		}
		return r
	}, s)
}

func columnWidths(cells [][]string, maxWidth int) []int {
	widths := make([]int, len(cells[0]))
	for _, line := range cells {
		for i, c := range line {
			widths[i] = max(widths[i], cellWidth(c))
		}
	}
	limit := max(12, maxWidth/max(1, len(widths))*2)
	for i := range widths {
		widths[i] = min(widths[i], limit)
	}
	return widths
}

func cellWidth(s string) int {
	n := 0
	for _, r := range s {
		switch width.LookupRune(r).Kind() {
		case width.EastAsianWide, width.EastAsianFullwidth:
			n += 2
		default:
			if !unicode.Is(unicode.Mn, r) {
				n++
			}
		}
	}
	return n
}

func pad(s string, n int, right bool) string {
	if cellWidth(s) > n {
		runes := []rune(s)
		for cellWidth(string(runes)) > n-1 && len(runes) > 0 {
			runes = runes[:len(runes)-1]
		}
		s = string(runes) + "…"
	}
	fill := strings.Repeat(" ", max(0, n-cellWidth(s)))
	if right {
		return fill + s
	}
	return s + fill
}

func rule(widths []int) string {
	parts := make([]string, len(widths))
	for i, n := range widths {
		parts[i] = strings.Repeat("─", n)
	}
	return strings.Join(parts, "  ")
}

func numeric(res footnote.Result, i int) bool {
	switch res.Columns[i].Kind {
	case footnote.KindInteger, footnote.KindNumber, footnote.KindDecimal:
		return true
	}
	return false
}
