package compare

import (
	"fmt"
	"math"
	"regexp"
	"slices"
	"strconv"
	"strings"
)

// Rules are how one answer is compared.
type Rules struct {
	Ordered bool // the order of the rows is part of the answer
	Extra   bool // further columns of the same rows are allowed (5)
	// LabelAlone says that gold's last column, the measure, may be absent (7).
	LabelAlone bool
	// Share says that gold's last column is a share from 0 to 100. It may come
	// from 0 to 1 (8), with the absolute value and the total beside it (5).
	Share bool
	// InOrder says that the columns stand in gold's order (9, the wide form).
	InOrder bool
	// Keys are those of the source's entities; a key may stand beside its label
	// (5).
	Keys Keys
}

// Difference says why the answer is not gold; it is empty when the answer is
// right.
func Difference(gold, answer Table, r Rules) string {
	why := ""
	for i, g := range variants(gold, r) {
		w := difference(g, answer, r)
		if w == "" {
			return ""
		}
		if i == 0 {
			why = w
		}
	}
	return why
}

// variant is gold in one of its allowed shapes; share is the column of the share,
// or -1.
type variant struct {
	Table
	share int
}

// variants are the shapes of gold that are right: as it is, without its measure
// (7), and with a first and a last name in one column (6).
func variants(gold Table, r Rules) []variant {
	last := len(gold.Columns) - 1
	base := variant{gold, -1}
	if r.Share {
		base.share = last
	}
	list := []variant{base}
	if r.LabelAlone && last > 0 {
		list = append(list, variant{without(gold, last), -1})
	}
	if joined, ok := joinNames(gold); ok {
		list = append(list, variant{joined, -1})
	}
	return list
}

func without(t Table, j int) Table {
	out := Table{Columns: slices.Delete(slices.Clone(t.Columns), j, j+1)}
	for _, row := range t.Rows {
		out.Rows = append(out.Rows, slices.Delete(slices.Clone(row), j, j+1))
	}
	return out
}

// joinNames puts a column of first names and one of last names together.
func joinNames(t Table) (Table, bool) {
	first, last := -1, -1
	for j, name := range t.Columns {
		switch strings.ReplaceAll(strings.ToLower(name), "_", "") {
		case "firstname":
			first = j
		case "lastname":
			last = j
		}
	}
	if first < 0 || last < 0 {
		return Table{}, false
	}
	out := without(t, last)
	at := first
	if last < first {
		at--
	}
	for i, row := range t.Rows {
		out.Rows[i][at] = Cell{kind: text, text: row[first].text + " " + row[last].text}
	}
	return out, true
}

// search looks for an assignment of the answer's columns to gold's.
type search struct {
	gold   variant
	answer Table
	rules  Rules
	form   []period // of gold's columns
	to     []int    // answer's column for each of gold's
	factor float64  // what gold's share is multiplied with
	why    string   // of the assignment that came furthest
	rank   int
}

func difference(gold variant, answer Table, r Rules) string {
	switch {
	case len(answer.Rows) != len(gold.Rows):
		return fmt.Sprintf("the answer has %d rows, not %d", len(answer.Rows), len(gold.Rows))
	case len(answer.Columns) < len(gold.Columns):
		return fmt.Sprintf("the answer has %d columns, not %d", len(answer.Columns), len(gold.Columns))
	}
	s := &search{gold: gold, answer: answer, rules: r, factor: 1}
	for j := range gold.Columns {
		s.form = append(s.form, periodsOf(gold.column(j)))
	}
	if s.assign(0) {
		return ""
	}
	if gold.share >= 0 {
		s.factor = 0.01
		if s.to = nil; s.assign(0) {
			return ""
		}
	}
	return s.why
}

// failed keeps the reason of the attempt that got furthest.
func (s *search) failed(rank int, format string, args ...any) bool {
	if rank >= s.rank {
		s.rank, s.why = rank, fmt.Sprintf(format, args...)
	}
	return false
}

// assign finds columns for gold's columns from g on.
func (s *search) assign(g int) bool {
	if g == len(s.gold.Columns) {
		return s.rows() && s.extras()
	}
	from := 0
	if s.rules.InOrder && g > 0 {
		from = s.to[g-1] + 1
	}
	found := false
	for a := from; a < len(s.answer.Columns); a++ {
		if slices.Contains(s.to[:g], a) || !s.matches([]int{g}, []int{a}) {
			continue
		}
		found = true
		s.to = append(s.to[:g], a)
		if s.assign(g + 1) {
			return true
		}
	}
	if !found {
		return s.failed(g, "no column of the answer has the values of %q", s.gold.Columns[g])
	}
	return false
}

// rows compares whole rows under a complete assignment.
func (s *search) rows() bool {
	all := make([]int, len(s.to))
	for g := range all {
		all[g] = g
	}
	if !s.matches(all, s.to) {
		return s.failed(len(s.to)+1, "the columns have the right values, in other rows")
	}
	return true
}

// matches compares some columns of gold with as many of the answer's: as a
// sequence, or as a multiset.
func (s *search) matches(golds, answers []int) bool {
	used := make([]bool, len(s.answer.Rows))
	for i, row := range s.gold.Rows {
		if s.rules.Ordered {
			if !s.same(row, s.answer.Rows[i], golds, answers) {
				return false
			}
			continue
		}
		at := -1
		for k, other := range s.answer.Rows {
			if !used[k] && s.same(row, other, golds, answers) {
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

func (s *search) same(gold, answer []Cell, golds, answers []int) bool {
	for i, g := range golds {
		want, got := gold[g], answer[answers[i]]
		if g == s.gold.share {
			want.num *= s.factor
		}
		if f := s.form[g]; f != noPeriod && want.kind == text {
			if periodOf(got, f) != want.text {
				return false
			}
		} else if !equal(want, got) {
			return false
		}
	}
	return true
}

// extras judges the columns that gold does not have (5).
func (s *search) extras() bool {
	if s.rules.Extra {
		return true
	}
	var rest []int
	for a := range s.answer.Columns {
		if !slices.Contains(s.to, a) && !s.isKey(a) {
			rest = append(rest, a)
		}
	}
	if len(rest) == 0 || (s.gold.share >= 0 && s.besideShare(rest)) {
		return true
	}
	return s.failed(len(s.to)+2, "the answer has the further column %q", s.answer.Columns[rest[0]])
}

// isKey reports whether a column has the key of the entity that each row names.
func (s *search) isKey(a int) bool {
	return slices.ContainsFunc(s.rules.Keys, func(keys map[Cell][]string) bool {
		some := false
		for _, row := range s.answer.Rows {
			labelled := slices.ContainsFunc(s.to, func(j int) bool {
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

// besideShare reports whether columns are the absolute value or the total or both
// of the share.
func (s *search) besideShare(columns []int) bool {
	var share []float64
	for _, row := range s.answer.Rows {
		share = append(share, row[s.to[s.gold.share]].num/s.factor/100)
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
	return !slices.ContainsFunc(v, func(f float64) bool { return !near(f, v[0]) })
}

// isPart reports whether the values are to each other as the shares are.
func isPart(v, share []float64) bool {
	largest := 0
	for i := range share {
		if math.Abs(share[i]) > math.Abs(share[largest]) {
			largest = i
		}
	}
	for i := range v {
		if !near(v[i]*share[largest], share[i]*v[largest]) {
			return false
		}
	}
	return true
}

func isPartOf(part, total, share []float64) bool {
	for i := range part {
		if !near(part[i], total[i]*share[i]) {
			return false
		}
	}
	return true
}

// near is equality within 1e-6, relative, and 1e-9 around zero (3).
func near(a, b float64) bool {
	return math.Abs(a-b) <= max(1e-6*max(math.Abs(a), math.Abs(b)), 1e-9)
}

// equal compares two cells (3, 4).
func equal(a, b Cell) bool {
	if a.kind > b.kind {
		a, b = b, a
	}
	switch {
	case a.kind == number && b.kind == number:
		return near(a.num, b.num)
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

// periodsOf says of what size the periods in a column of gold are. Gold writes
// them as 2024, 2024-Q1 and 2024-01.
func periodsOf(cells []Cell) period {
	for p, form := range goldForms {
		some := false
		other := slices.ContainsFunc(cells, func(c Cell) bool {
			some = some || c.kind == text
			return c.kind != null && (c.kind != text || !form.MatchString(c.text))
		})
		if some && !other {
			return p
		}
	}
	return noPeriod
}

// periodOf writes a period of the given size as gold does, whichever of the
// allowed forms it has (10); otherwise it returns "".
func periodOf(c Cell, p period) string {
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
