package cite

// This file handles periods that are named relative to others: "the previous quarter's 225,000", "1,204 a month
// earlier".

var (
	beforeWords = set("previous prior preceding")
	priorWords  = set("earlier before previously ago")
)

// moveToPreviousPeriod moves a binding from the row of one period to that of the period before, if the words beside the
// numeral say so.
func (r *resolver) moveToPreviousPeriod(n *numeral, b *binding) {
	if len(b.rows) != 1 || !r.mentionsPreviousPeriod(n) {
		return
	}
	if row := r.periodBefore(b.table, int(b.rows[0])); row >= 0 {
		b.rows = []int32{int32(row)}
	}
}

// mentionsPreviousPeriod reports whether words such as "the previous quarter's" are right before the numeral.
func (r *resolver) mentionsPreviousPeriod(n *numeral) bool {
	p := r.prose
	for i := n.from - 1; i >= max(1, n.from-5) && r.numeralAt[i] < 0; i-- {
		if periodNames[p.low(i)] && beforeWords[p.low(i-1)] {
			return true
		}
	}
	return false
}

// periodBefore returns the row of the latest period before that of a row. It returns -1 if the result has no order by
// period, or several rows per period.
func (r *resolver) periodBefore(t, row int) int {
	tab := &r.tables[t]
	if len(tab.rows) > maxNumbered {
		return -1
	}
	for ci, c := range tab.cols {
		if c.role != roleDate && c.role != roleText {
			continue
		}
		at, ok := periodKey(tab.rows[row][ci])
		if !ok {
			continue
		}
		best, key := -1, 0
		for i := range tab.rows {
			if k, ok := periodKey(tab.rows[i][ci]); ok && k < at && c.unique &&
				(best < 0 || k > key) {
				best, key = i, k
			}
		}
		return best
	}
	return -1
}

// periodKey returns a number that orders dates, months and quarters.
func periodKey(cell any) (int, bool) {
	if s, text := cell.(string); text && len(s) == 2 && (s[0] == 'Q' || s[0] == 'q') && s[1] >= '1' && s[1] <= '4' {
		return int(s[1] - '0'), true
	}
	d, ok := cellDate(cell)
	return d.year*10000 + max(d.month, 3*d.quarter)*100 + d.day, ok
}
