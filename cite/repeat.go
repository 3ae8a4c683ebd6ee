package cite

import (
	"math/big"
	"slices"
	"strings"
)

// Formulas that need no word beside the numeral, because the answer or the result
// has the pattern already: the ratio it gave for another row, the totals it just
// said, two columns of one name.

// again tries the ratio of columns that the answer has used for another row:
// after "630 of 840 finished (75 %)", "Ethics is at 90 %".
func (r *resolver) again(k int) *candidate {
	n := &r.numerals[k]
	if !n.percent || r.says(n, diffCues) {
		return nil
	}
	tried := map[[3]int]bool{}
	for j := range r.found {
		c := r.found[j]
		if j == k || c == nil || c.over == nil || !r.numerals[j].percent {
			continue
		}
		for _, b := range r.bindings[k] {
			key := [3]int{c.table, c.over[0], c.over[1]}
			if b.table != c.table || len(b.rows) != 1 || tried[key] {
				continue
			}
			tried[key] = true
			row := int(b.rows[0])
			if out := r.try(k, ratioOp, cellRef{c.table, row, c.over[0]}, cellRef{c.table, row, c.over[1]}, 0.85); out != nil && r.found[j].table == out.table {
				return out
			}
		}
	}
	return nil
}

// totalsRatio: "revenue came to 18.58 M and net income to 4.83 M, a margin of 26 %".
func (r *resolver) totalsRatio(k int) *candidate {
	n := &r.numerals[k]
	if !n.percent || r.strictly(k) {
		return nil
	}
	s := r.prose.tokens[n.from].sentence
	var sums []*candidate
	for j := k - 1; j >= 0 && j >= k-6 && r.prose.tokens[r.numerals[j].from].sentence == s; j-- {
		if c := r.found[j]; c != nil && strings.HasPrefix(c.formula, "sum(") && strings.HasSuffix(c.formula, ")") && !strings.Contains(c.formula, " ") {
			sums = append(sums, c)
		}
	}
	for i, x := range sums {
		for _, y := range sums[i+1:] {
			if c := r.ratioOfSums(n, x, y); c != nil {
				return c
			}
		}
	}
	return nil
}

func (r *resolver) ratioOfSums(n *numeral, x, y *candidate) *candidate {
	a, ok1 := parseRat(x.value)
	b, ok2 := parseRat(y.value)
	if !ok1 || !ok2 || a.Sign() <= 0 || b.Sign() <= 0 {
		return nil
	}
	if a.Cmp(b) > 0 {
		x, y, a, b = y, x, b, a
	}
	v := new(big.Rat).Quo(a, b)
	q, ok := n.fitsValue(v)
	if !ok {
		return nil
	}
	return &candidate{table: x.table, formula: x.formula + " / " + y.formula, value: ratText(v), conf: 0.8 * q}
}

// siblings pairs columns that differ only in when or which end: headcount_2023
// and headcount_2024, min_salary and max_salary.
func (r *resolver) siblings(k int) *candidate {
	ops := r.operations(k)
	for _, row := range r.boundRows(k) {
		tab := &r.tables[row.table]
		for x := range tab.cols[:min(len(tab.cols), maxColumns)] {
			for y := range tab.cols[:min(len(tab.cols), maxColumns)] {
				if !r.paired2(tab, x, y) {
					continue
				}
				for _, op := range ops {
					if op.name == "ratio" {
						continue
					}
					if c := r.try(k, op, cellRef{row.table, row.col, y}, cellRef{row.table, row.col, x}, 0.8); c != nil {
						return c
					}
				}
			}
		}
	}
	return nil
}

// paired2: x is the earlier or smaller of two columns of one name.
func (r *resolver) paired2(tab *table, x, y int) bool {
	if x == y || tab.cols[x].role != roleNumber || tab.cols[y].role != roleNumber {
		return false
	}
	xa, xb := columnAge(tab.cols[x].words)
	ya, yb := columnAge(tab.cols[y].words)
	if xa != 0 && ya != 0 && xa < ya && xb == yb {
		return true
	}
	xa, xb = columnEnd(tab.cols[x].words)
	ya, yb = columnEnd(tab.cols[y].words)
	return xa == 1 && ya == 2 && xb == yb
}

// columnEnd tells min_salary from max_salary; base is what is left of the name.
func columnEnd(name []string) (end int, base string) {
	for _, w := range name {
		switch {
		case minCues[w]:
			end = 1
		case maxCues[w]:
			end = 2
		default:
			base += w + " "
		}
	}
	return end, base
}

// alike: a percentage is of two counts or of two measures, not of days by pieces.
func (r *resolver) alike(x, y cellRef) bool {
	a, b := &r.tables[x.table].cols[x.col], &r.tables[y.table].cols[y.col]
	return a.integer == b.integer || moneyColumn(a) && moneyColumn(b) || r.namedTogether(x, y)
}

func moneyColumn(c *column) bool {
	for _, w := range c.words {
		if moneyWords[w] {
			return true
		}
	}
	return false
}

// namedTogether: cells that the text itself gives side by side.
func (r *resolver) namedTogether(x, y cellRef) bool {
	var gx, gy bool
	for _, c := range r.found {
		if c != nil && c.formula == "" {
			gx = gx || c.table == x.table && c.row == x.row && c.col == x.col
			gy = gy || c.table == y.table && c.row == y.row && c.col == y.col
		}
	}
	return gx && gy
}

var (
	averagedVerbs = set("averaged averages averaging")
	wholeWords    = set("the all our these those")
	byVerbs       = set("shrank shrunk grew grown fell fallen rose risen dropped declined decreased increased slipped climbed jumped")
	changeNames   = set("change diff difference delta growth variance increase decrease gap")
)

func first(a, _ string) string { return a }

// perPeriod: "averaged 240 a month".
func (r *resolver) perPeriod(n *numeral) bool {
	p := r.prose
	w := p.low(n.to)
	return (w == "a" || w == "per" || w == "each") && periodNames[p.low(n.to+1)]
}

// ofAll: "most of the 162 employees".
func (r *resolver) ofAll(n *numeral) bool {
	p := r.prose
	return wholeWords[p.low(n.from-1)] && p.low(n.from-2) == "of" && r.measured(n)
}

// unboundUnit: "we had 43 incidents" names a column and no row.
func (r *resolver) unboundUnit(k int) bool {
	return len(r.bindings[k]) == 0 && r.measured(&r.numerals[k])
}

// changedBy: "shrank by 7".
func (r *resolver) changedBy(n *numeral) bool {
	w, before := r.wordBefore(n)
	return w == "by" && byVerbs[before]
}

func (r *resolver) changeColumn(t, ci int) bool {
	return hasAny(r.tables[t].cols[ci].words, changeNames) || r.signed(t, ci)
}

// numeralBefore is the numeral that ends one word before, or -1.
func (r *resolver) numeralBefore(n *numeral) int {
	if i := n.from - 2; i >= 0 {
		return r.numeralAt[i]
	}
	return -1
}

// isComparand: the 806 of "959 vs. 806", the 61.20 of "59.85 instead of 61.20".
func (r *resolver) isComparand(n *numeral) bool {
	p := r.prose
	i := n.from - 1
	for i >= 0 && !p.tokens[i].word {
		i--
	}
	w, before := p.low(i), p.low(i-1)
	return w == "vs" || w == "versus" || w == "of" && before == "instead" || w == "than" && before == "rather"
}

// otherOf binds to the second of the two rows that the sentences before are about.
func (r *resolver) otherOf(from, s int, picks map[dim]*mention) bool {
	rows := map[dim][]*mention{}
	for q := from; q >= 0 && q > s-4; q-- {
		for _, m := range r.bySentence[q] {
			for _, h := range m.hits {
				d := dim{h.table, h.col}
				if len(h.rows) != 1 || slices.ContainsFunc(rows[d], func(o *mention) bool { return slices.Equal(o.hit(d).rows, h.rows) }) {
					continue
				}
				rows[d] = append(rows[d], m)
			}
		}
	}
	for d, ms := range rows {
		if len(ms) != 2 {
			continue
		}
		for _, m := range ms {
			if r.comparand(m) || m == ms[1] && !r.comparand(ms[0]) {
				picks[d] = m
				break
			}
		}
	}
	return len(picks) > 0
}

// headerWords are the columns whose names have every word of a header cell, as
// "Max" has of max_salary.
func (r *resolver) headerWords(from, to int) []colRef {
	var words []string
	for i := from; i < to; i++ {
		if t := r.prose.tokens[i]; t.word && !stop[t.low] {
			words = append(words, stem(t.low))
		}
	}
	if len(words) == 0 {
		return nil
	}
	var out []colRef
	for t := range r.tables {
		var cols []colRef
		for ci, c := range r.tables[t].cols {
			name := c.words
			if c.role == roleNumber && !slices.ContainsFunc(words, func(w string) bool { return !slices.Contains(name, w) }) {
				cols = append(cols, colRef{t, ci})
			}
		}
		if len(cols) == 1 {
			out = append(out, cols...)
		}
	}
	return out
}

// acronymAt reads "monthly active users" as the column mau.
func (r *resolver) acronymAt(i int, byWord map[string][]colRef) *columnMention {
	p := r.prose
	var letters [5]byte
	n := 0
	for j := i; j < len(p.tokens) && n < len(letters); j++ {
		t := p.tokens[j]
		if !t.word || t.low == "" || t.low[0] < 'a' || t.low[0] > 'z' || t.clause != p.tokens[i].clause {
			return nil
		}
		letters[n] = t.low[0]
		if n++; n < 3 {
			continue
		}
		for _, c := range byWord[string(letters[:n])] {
			if strings.EqualFold(r.tables[c.table].cols[c.col].name, string(letters[:n])) {
				return &columnMention{from: i, to: j + 1, cols: []colRef{c}, full: true}
			}
		}
	}
	return nil
}

var fractionNames = map[string]int64{"third": 3, "thirds": 3, "fifth": 5, "fifths": 5, "tenth": 10, "tenths": 10}

// fraction reads "two thirds" as about 67 %.
func (p *prose) fraction(n *numeral, v int64, i int) bool {
	j := i + 1
	if p.adjacent(j, "-") {
		j++
	}
	below, ok := fractionNames[p.low(j)]
	if !ok || v < 1 || v >= below || v > 1 != strings.HasSuffix(p.low(j), "s") {
		return false
	}
	n.readings = []reading{{big.NewRat(100*v, below), big.NewRat(5, 1)}}
	n.percent, n.word, n.sig = true, true, 2
	n.end = p.tokens[j].end
	n.quiet = v == 1
	return true
}

var lackVerbs = set("failed missed lacked unpaid unsold empty vacant unused dropped incomplete missing outstanding open left remaining unresolved rejected unfilled absent fehlen fehlten")

// complement: "5 of its 25 failed" when the row counts those who passed.
func (r *resolver) complement(k int) *candidate {
	n := &r.numerals[k]
	if n.percent || n.points || n.times || k+1 >= len(r.numerals) || !r.partOf(&r.numerals[k+1]) || !r.says(&r.numerals[k+1], lackVerbs) {
		return nil
	}
	whole := r.found[k+1]
	if whole == nil || whole.formula != "" || !r.tables[whole.table].cols[whole.col].integer {
		return nil
	}
	cols := r.numbersOf(whole.table)
	for _, ci := range cols {
		if ci == whole.col || !r.tables[whole.table].cols[ci].integer {
			continue
		}
		if c := r.try(k, diffOp, cellRef{whole.table, whole.row, whole.col}, cellRef{whole.table, whole.row, ci}, 0.75); c != nil {
			return c
		}
	}
	return nil
}
