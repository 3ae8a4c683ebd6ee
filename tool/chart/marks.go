package chart

import (
	"cmp"
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/footnotehq/footnote"
)

// mark is one thing to draw.
type mark struct {
	x      any      // the cell
	scale  *float64 // x as a number, unless the column is text
	label  string   // x as text
	at     *int64   // x in milliseconds since 1970 UTC, if the column holds dates
	y      float64
	ok     bool // whether y is a number
	series string
}

// marks converts rows to marks in the order of Sort. A table has none.
func (s Spec) marks(columns []footnote.Column, rows [][]any) ([]mark, error) {
	if err := s.check(columns, len(rows)); err != nil || s.Type == Table {
		return nil, err
	}
	x, series := index(columns, s.X), -1
	if s.Series != "" {
		series = index(columns, s.Series)
	}
	var out []mark
	for _, row := range rows {
		if len(row) != len(columns) {
			return nil, fmt.Errorf("a row of %s has %d cells instead of %d", s.Result, len(row), len(columns))
		}
		m := mark{x: row[x], label: text(row[x])}
		if f, ok := number(row[x]); ok && columns[x].Kind != footnote.KindText {
			m.scale = &f
		}
		if ms, ok := millis(columns[x].Kind, m.label); ok {
			m.at = &ms
		}
		if s.Type == Histogram {
			m.y, m.ok = number(row[x])
			out = append(out, m)
			continue
		}
		for _, name := range s.Y {
			m.y, m.ok = number(row[index(columns, name)])
			switch {
			case series >= 0:
				m.series = text(row[series])
			case len(s.Y) > 1:
				m.series = name
			}
			out = append(out, m)
		}
	}
	s.sort(out)
	return out, nil
}

func (s Spec) sort(marks []mark) {
	sign := 1
	if strings.HasPrefix(s.Sort, "-") {
		sign = -1
	}
	switch s.Sort {
	case ByX, ByXDesc:
		slices.SortStableFunc(marks, func(a, b mark) int { return sign * compare(a, b) })
	case ByY, ByYDesc:
		slices.SortStableFunc(marks, func(a, b mark) int {
			if a.ok != b.ok { // marks without a value come last
				return map[bool]int{true: -1, false: 1}[a.ok]
			}
			return sign * cmp.Compare(a.y, b.y)
		})
	}
}

func compare(a, b mark) int {
	f, ok1 := number(a.x)
	if g, ok2 := number(b.x); ok1 && ok2 {
		return cmp.Compare(f, g)
	}
	return strings.Compare(a.label, b.label)
}

// number parses a cell: decimals and large integers are strings.
func number(cell any) (float64, bool) {
	switch v := cell.(type) {
	case int64:
		return float64(v), true
	case float64:
		return v, !math.IsNaN(v) && !math.IsInf(v, 0)
	case string:
		f, err := strconv.ParseFloat(v, 64)
		return f, err == nil && !math.IsNaN(f) && !math.IsInf(f, 0)
	default:
		return 0, false
	}
}

// maxLabel limits the length of a mark's label.
const maxLabel = 100

func text(cell any) string {
	switch v := cell.(type) {
	case nil:
		return "(none)"
	case string:
		v = strings.ToValidUTF8(v, "�")
		if runes := []rune(v); len(runes) > maxLabel {
			return string(runes[:maxLabel-1]) + "…"
		}
		return v
	default:
		return string(footnote.AppendCell(nil, cell))
	}
}

// millis parses a date or timestamp. One without a zone counts as UTC. As charts are drawn in UTC, readers
// everywhere see it as it is written.
func millis(kind, s string) (int64, bool) {
	if kind != footnote.KindDate && kind != footnote.KindTimestamp {
		return 0, false
	}
	for _, layout := range []string{time.DateOnly, "2006-01-02T15:04:05", time.RFC3339, time.DateTime} {
		if t, err := time.Parse(layout, s); err == nil {
			return t.UnixMilli(), true
		}
	}
	return 0, false
}

// measure returns the name of the y axis.
func (s Spec) measure() string {
	if len(s.Y) == 1 {
		return s.Y[0]
	}
	return "Value"
}
