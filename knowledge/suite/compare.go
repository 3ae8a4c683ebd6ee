package suite

import (
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/footnotehq/footnote"
)

// maxColumns limits the columns that are compared.
const maxColumns = 50

// rounding is the share by which numbers may always differ, because sums of floating-point numbers depend on the order.
const rounding = 1e-9

// Compare reports why rows differ from the expected ones, or "" if they agree. Each expected column must have its
// counterpart: the column of its name or, if that differs, another one with its values. Further columns are ignored.
func Compare(want, got footnote.Result, order bool, t Tolerance) string {
	if len(want.Rows) != len(got.Rows) {
		return fmt.Sprintf("it has %d rows instead of %d", len(got.Rows), len(want.Rows))
	}
	if len(want.Rows) > maxRows || len(want.Columns) > maxColumns || len(got.Columns) > maxColumns {
		return fmt.Sprintf("more than %d rows or %d columns cannot be compared", maxRows, maxColumns)
	}
	if len(want.Rows) == 0 {
		return ""
	}
	c := comparison{want: want, got: got, order: order, tolerance: t, tries: maxTries}
	fitting := make([][]int, len(want.Columns))
	for i, column := range want.Columns {
		if fitting[i] = c.counterparts(i); len(fitting[i]) == 0 {
			return fmt.Sprintf("no column has the values of %s: %s", column.Name, c.difference(i))
		}
	}
	if !c.assign(fitting, nil) {
		return "each expected column has its values, but no set of columns has the expected rows"
	}
	return ""
}

// maxTries limits how many assignments of columns are tried.
const maxTries = 1000

type comparison struct {
	want, got footnote.Result
	order     bool
	tolerance Tolerance
	tries     int
}

// counterparts returns the columns that may stand for an expected one, the one of its name first.
func (c *comparison) counterparts(i int) (all []int) {
	for j := range c.got.Columns {
		if c.agree([]int{i}, []int{j}) {
			all = append(all, j)
		}
	}
	slices.SortStableFunc(all, func(a, b int) int { return c.unlike(i, a) - c.unlike(i, b) })
	return all
}

// unlike returns 0 for a column of the expected name, and 1 for others.
func (c *comparison) unlike(i, j int) int {
	if strings.EqualFold(c.want.Columns[i].Name, c.got.Columns[j].Name) {
		return 0
	}
	return 1
}

// assign chooses a different counterpart for each expected column, so that whole rows agree.
func (c *comparison) assign(fitting [][]int, chosen []int) bool {
	if len(chosen) == len(fitting) {
		c.tries--
		columns := make([]int, len(chosen))
		for i := range columns {
			columns[i] = i
		}
		return c.agree(columns, chosen)
	}
	for _, j := range fitting[len(chosen)] {
		if c.tries > 0 && !slices.Contains(chosen, j) && c.assign(fitting, append(chosen, j)) {
			return true
		}
	}
	return false
}

// agree reports whether some expected columns agree with the same number of others, row by row or in any order.
func (c *comparison) agree(columns, others []int) bool {
	if c.order {
		for r := range c.want.Rows {
			if !c.rowsAgree(r, r, columns, others) {
				return false
			}
		}
		return true
	}
	used := make([]bool, len(c.got.Rows))
	for r := range c.want.Rows {
		found := false
		for s := range c.got.Rows {
			if !used[s] && c.rowsAgree(r, s, columns, others) {
				used[s], found = true, true
				break
			}
		}
		if !found {
			return false
		}
	}
	return true
}

func (c *comparison) rowsAgree(r, s int, columns, others []int) bool {
	for k, i := range columns {
		if !equal(at(c.want.Rows[r], i), at(c.got.Rows[s], others[k]), c.tolerance) {
			return false
		}
	}
	return true
}

func at(row []any, i int) any {
	if i < len(row) {
		return row[i]
	}
	return nil
}

// difference describes how the column of the same name differs or, without one, that at the same place.
func (c *comparison) difference(i int) string {
	const shown = 3
	var words []string
	named := slices.IndexFunc(c.got.Columns, func(o footnote.Column) bool {
		return strings.EqualFold(o.Name, c.want.Columns[i].Name)
	})
	for j := range c.got.Columns {
		if j != named && (named >= 0 || j != i) {
			continue
		}
		for r := range c.want.Rows {
			if w, g := at(c.want.Rows[r], i), at(c.got.Rows[r], j); !equal(w, g, c.tolerance) && len(words) < shown {
				words = append(words, fmt.Sprintf("row %d has %v instead of %v", r+1, cell(g), cell(w)))
			}
		}
	}
	if len(words) == 0 {
		return fmt.Sprintf("the first should be %v", at(c.want.Rows[0], i))
	}
	return strings.Join(words, ", ")
}

// equal reports whether two cells agree.
func equal(want, got any, t Tolerance) bool {
	if want == nil || got == nil {
		return want == nil && got == nil
	}
	a, isNumber := number(want)
	b, alsoNumber := number(got)
	if isNumber && alsoNumber {
		return math.Abs(a-b) <= max(t.Amount, math.Abs(a)*max(t.Share, rounding))
	}
	return text(want) == text(got)
}

// number returns a cell as a number. Exact decimals are texts.
func number(cell any) (float64, bool) {
	switch v := cell.(type) {
	case int:
		return float64(v), true
	case int64:
		return float64(v), true
	case float64:
		return v, true
	case bool:
		if v {
			return 1, true // engines without booleans have 1 and 0
		}
		return 0, true
	case string:
		f, err := strconv.ParseFloat(v, 64)
		padded := len(v) > 1 && v[0] == '0' && v[1] != '.' // such as the postcode 01067
		return f, err == nil && !math.IsInf(f, 0) && !padded && strings.Trim(v, "0123456789.-+eE") == ""
	}
	return 0, false
}

// text returns a cell as text. A day is written alike whether or not the engine adds midnight.
func text(cell any) string {
	if t, ok := cell.(time.Time); ok { // a date in YAML
		cell = t.UTC().Format("2006-01-02T15:04:05")
	}
	s := fmt.Sprint(cell)
	for _, midnight := range []string{"T00:00:00Z", "T00:00:00", " 00:00:00"} {
		if day, ok := strings.CutSuffix(s, midnight); ok {
			return day
		}
	}
	return s
}

// cell returns a cell as a report shows it.
func cell(v any) any {
	if v == nil {
		return "NULL"
	}
	return v
}
