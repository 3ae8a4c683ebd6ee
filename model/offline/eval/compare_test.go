package eval_test

import (
	"fmt"
	"math"
	"regexp"
	"slices"
	"strconv"
	"strings"
)

// The rules that decide whether the table of an answer is equivalent to that of a right answer are in the README of the
// evaluation set, in the section "Comparing an answer with gold"; numbers in comments refer to them.

// rules configure the comparison of one answer.
type rules struct {
	ordered bool // the order of the rows is part of the answer
	extra   bool // further columns of the same rows are allowed (5)
	// labelAlone says that gold's last column, the measure, may be absent (7).
	labelAlone bool
	// share says that gold's last column is a share from 0 to 100. The answer may have it from 0 to 1 (8), and also
	// the absolute value and the total (5).
	share bool
	// inOrder says that the columns must be in gold's order (9, the wide form).
	inOrder bool
	// keys are the keys of the source's entities. The answer may have a key in addition to its label (5).
	keys entityKeys
}

// difference returns why the answer differs from gold, or "" if it is right.
func difference(gold, answer table, r rules) string {
	why := ""
	for i, g := range variants(gold, r) {
		w := variantDifference(g, answer, r)
		if w == "" {
			return ""
		}
		if i == 0 {
			why = w
		}
	}
	return why
}

// variant is gold in one of its allowed shapes; share is the index of the column with the share, or -1.
type variant struct {
	table
	share int
}

// variants returns the allowed shapes of gold: as it is, without its measure (7), and with first and last names in one
// column (6).
func variants(gold table, r rules) []variant {
	last := len(gold.columns) - 1
	base := variant{gold, -1}
	if r.share {
		base.share = last
	}
	list := []variant{base}
	if r.labelAlone && last > 0 {
		list = append(list, variant{withoutColumn(gold, last), -1})
	}
	if joined, ok := joinNames(gold); ok {
		list = append(list, variant{joined, -1})
	}
	return list
}

func withoutColumn(t table, j int) table {
	out := table{columns: slices.Delete(slices.Clone(t.columns), j, j+1)}
	for _, row := range t.rows {
		out.rows = append(out.rows, slices.Delete(slices.Clone(row), j, j+1))
	}
	return out
}

// joinNames merges a column of first names and one of last names.
func joinNames(t table) (table, bool) {
	first, last := -1, -1
	for j, name := range t.columns {
		switch strings.ReplaceAll(strings.ToLower(name), "_", "") {
		case "firstname":
			first = j
		case "lastname":
			last = j
		}
	}
	if first < 0 || last < 0 {
		return table{}, false
	}
	out := withoutColumn(t, last)
	at := first
	if last < first {
		at--
	}
	for i, row := range t.rows {
		out.rows[i][at] = cell{kind: text, text: row[first].text + " " + row[last].text}
	}
	return out, true
}

// assignment assigns columns of the answer to those of gold.
type assignment struct {
	gold    variant
	answer  table
	rules   rules
	periods []period // of gold's columns
	columns []int    // answer's column for each of gold's
	factor  float64  // by which gold's share is multiplied
	reason  string   // why the assignment that matched most columns failed
	rank    int
}

func variantDifference(gold variant, answer table, r rules) string {
	switch {
	case len(answer.rows) != len(gold.rows):
		return fmt.Sprintf("the answer has %d rows, not %d", len(answer.rows), len(gold.rows))
	case len(answer.columns) < len(gold.columns):
		return fmt.Sprintf("the answer has %d columns, not %d", len(answer.columns), len(gold.columns))
	}
	s := &assignment{gold: gold, answer: answer, rules: r, factor: 1}
	for j := range gold.columns {
		s.periods = append(s.periods, periodsOf(gold.column(j)))
	}
	if s.assign(0) {
		return ""
	}
	if gold.share >= 0 {
		s.factor = 0.01
		if s.columns = nil; s.assign(0) {
			return ""
		}
	}
	return s.reason
}

// keepReason records the reason why an assignment failed if no other one got further. It returns false.
func (s *assignment) keepReason(rank int, format string, args ...any) bool {
	if rank >= s.rank {
		s.rank, s.reason = rank, fmt.Sprintf(format, args...)
	}
	return false
}

// assign assigns columns to those of gold from index g on, and reports whether it could.
func (s *assignment) assign(g int) bool {
	if g == len(s.gold.columns) {
		return s.rowsMatch() && s.extrasAllowed()
	}
	from := 0
	if s.rules.inOrder && g > 0 {
		from = s.columns[g-1] + 1
	}
	found := false
	for a := from; a < len(s.answer.columns); a++ {
		if slices.Contains(s.columns[:g], a) || !s.matches([]int{g}, []int{a}) {
			continue
		}
		found = true
		s.columns = append(s.columns[:g], a)
		if s.assign(g + 1) {
			return true
		}
	}
	if !found {
		return s.keepReason(g, "no column of the answer has the values of %q", s.gold.columns[g])
	}
	return false
}

// rowsMatch compares whole rows under a complete assignment.
func (s *assignment) rowsMatch() bool {
	all := make([]int, len(s.columns))
	for g := range all {
		all[g] = g
	}
	if !s.matches(all, s.columns) {
		return s.keepReason(len(s.columns)+1, "the columns have the right values, but in other rows")
	}
	return true
}

// matches compares some columns of gold with as many columns of the answer, as a sequence or as a multiset of rows.
func (s *assignment) matches(golds, answers []int) bool {
	used := make([]bool, len(s.answer.rows))
	for i, row := range s.gold.rows {
		if s.rules.ordered {
			if !s.sameCells(row, s.answer.rows[i], golds, answers) {
				return false
			}
			continue
		}
		at := -1
		for k, other := range s.answer.rows {
			if !used[k] && s.sameCells(row, other, golds, answers) {
				at = k
				break
			}
		}
		if at < 0 {
			return false
		}
		used[at] = true
	}
	return true
}

func (s *assignment) sameCells(gold, answer []cell, golds, answers []int) bool {
	for i, g := range golds {
		want, got := gold[g], answer[answers[i]]
		if g == s.gold.share {
			want.num *= s.factor
		}
		if f := s.periods[g]; f != noPeriod && want.kind == text {
			if periodOf(got, f) != want.text {
				return false
			}
		} else if !equal(want, got) {
			return false
		}
	}
	return true
}

// extrasAllowed reports whether the columns that gold does not have are allowed (5).
func (s *assignment) extrasAllowed() bool {
	if s.rules.extra {
		return true
	}
	var rest []int
	for a := range s.answer.columns {
		if !slices.Contains(s.columns, a) && !s.isKey(a) {
			rest = append(rest, a)
		}
	}
	if len(rest) == 0 || (s.gold.share >= 0 && s.besideShare(rest)) {
		return true
	}
	return s.keepReason(len(s.columns)+2, "the answer has the additional column %q", s.answer.columns[rest[0]])
}

// isKey reports whether a column contains the keys of the entities that the rows name.
func (s *assignment) isKey(a int) bool {
	return slices.ContainsFunc(s.rules.keys, func(keys map[cell][]string) bool {
		some := false
		for _, row := range s.answer.rows {
			labelled := slices.ContainsFunc(s.columns, func(j int) bool {
				return (row[j].kind == text && slices.Contains(keys[row[a]], row[j].text)) ||
					(row[j].kind == null && row[a].kind == null)
			})
			if !labelled {
				return false
			}
			some = some || row[a].kind != null
		}
		return some
	})
}

// besideShare reports whether columns contain the absolute value of the share, the total, or both.
func (s *assignment) besideShare(columns []int) bool {
	var share []float64
	for _, row := range s.answer.rows {
		share = append(share, row[s.columns[s.gold.share]].num/s.factor/100)
	}
	var values [][]float64
	for _, a := range columns {
		var v []float64
		for _, c := range s.answer.column(a) {
			if c.kind != number {
				return false
			}
			v = append(v, c.num)
		}
		values = append(values, v)
	}
	switch len(values) {
	case 1:
		return isTotal(values[0]) || isPart(values[0], share)
	case 2:
		return isPartOf(values[0], values[1], share) || isPartOf(values[1], values[0], share)
	}
	return false
}

func isTotal(v []float64) bool {
	return !slices.ContainsFunc(v, func(f float64) bool { return !nearlyEqual(f, v[0]) })
}

// isPart reports whether the values have the same proportions as the shares.
func isPart(v, share []float64) bool {
	largest := 0
	for i := range share {
		if math.Abs(share[i]) > math.Abs(share[largest]) {
			largest = i
		}
	}
	for i := range v {
		if !nearlyEqual(v[i]*share[largest], share[i]*v[largest]) {
			return false
		}
	}
	return true
}

func isPartOf(part, total, share []float64) bool {
	for i := range part {
		if !nearlyEqual(part[i], total[i]*share[i]) {
			return false
		}
	}
	return true
}

// nearlyEqual reports equality within a relative tolerance of 1e-6, or 1e-9 near zero (3).
func nearlyEqual(a, b float64) bool {
	return math.Abs(a-b) <= max(1e-6*max(math.Abs(a), math.Abs(b)), 1e-9)
}

// equal compares two cells (3, 4).
func equal(a, b cell) bool {
	if a.kind > b.kind {
		a, b = b, a
	}
	switch {
	case a.kind == number && b.kind == number:
		return nearlyEqual(a.num, b.num)
	case a.kind == boolean && b.kind == number:
		return a.num == b.num
	case a.kind == boolean && b.kind == text:
		return b.text == strconv.FormatBool(a.num == 1)
	default:
		return a == b
	}
}

// period is the size of the periods in a column.
type period uint8

const (
	noPeriod period = iota
	year
	quarter
	month
)

var (
	goldForms = map[period]*regexp.Regexp{
		year: regexp.MustCompile(`^(?:19|20)\d\d$`), quarter: regexp.MustCompile(`^\d{4}-Q[1-4]$`),
		month: regexp.MustCompile(`^\d{4}-(?:0[1-9]|1[0-2])$`),
	}
	quarterForm = regexp.MustCompile(`^(?:(\d{4})[- ]Q([1-4])|Q([1-4]) (\d{4}))$`)
	firstDay    = regexp.MustCompile(`^(\d{4})-(\d\d)-01$`)
)

// periodsOf returns the size of the periods in a column of gold, which writes them as 2024, 2024-Q1 and 2024-01.
func periodsOf(cells []cell) period {
	for p, form := range goldForms {
		some := false
		other := slices.ContainsFunc(cells, func(c cell) bool {
			some = some || c.kind == text
			return c.kind != null && (c.kind != text || !form.MatchString(c.text))
		})
		if some && !other {
			return p
		}
	}
	return noPeriod
}

// periodOf returns a period of the given size as gold writes it, from any of the allowed forms (10), or "".
func periodOf(c cell, p period) string {
	if c.kind == number && p == year && c.num == math.Trunc(c.num) {
		return strconv.FormatFloat(c.num, 'f', 0, 64)
	}
	if c.kind != text {
		return ""
	}
	if m := quarterForm.FindStringSubmatch(c.text); m != nil && p == quarter {
		return m[1] + m[4] + "-Q" + m[2] + m[3]
	}
	m := firstDay.FindStringSubmatch(c.text)
	switch {
	case m == nil:
		return c.text // gold's own form, or something else
	case p == month:
		return m[1] + "-" + m[2]
	case p == quarter && slices.Contains([]string{"01", "04", "07", "10"}, m[2]):
		n, _ := strconv.Atoi(m[2])
		return fmt.Sprintf("%s-Q%d", m[1], (n+2)/3)
	case p == year && m[2] == "01":
		return m[1]
	}
	return ""
}
