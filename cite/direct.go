package cite

import (
	"fmt"
	"slices"
	"strconv"
	"strings"
	"unicode"
)

// direct resolves numerals that repeat a cell, a count, a rank, or the question. derived tries the others.
func (r *resolver) direct() {
	for k := range r.numerals {
		n := &r.numerals[k]
		switch {
		case n.huge:
			r.reasons[k] = "the number is too long to check"
		case r.resolveLabel(k):
		case n.kind == calendar || n.year && !n.currency:
			r.resolveDate(k)
		case n.kind == ordinal || n.hash && n.sig <= 2:
			r.resolveRank(k)
		case n.prefix != "": // a name like COVID-19
			n.quiet = true
		default:
			r.resolveNumber(k)
		}
	}
}

// resolveLabel resolves a numeral that is part of a label, like the 22 in "Midnight 22". It reports whether it did.
func (r *resolver) resolveLabel(k int) bool {
	n := &r.numerals[k]
	for _, m := range r.labelsNear(n) {
		if !m.overlaps(n) || m.date {
			continue
		}
		h := m.hits[len(m.hits)-1]
		col := &r.tables[h.table].cols[h.col]
		if col.role == roleNumber && (n.year || !col.key && !col.unique) {
			return false
		}
		r.found[k] = r.cell(h.table, int(h.rows[0]), h.col, 1)
		return true
	}
	return false
}

// resolveDate resolves dates, times and years.
func (r *resolver) resolveDate(k int) {
	n := &r.numerals[k]
	cb := r.columnsOf[k]
	var far *candidate
	for _, h := range r.dateHits(n) {
		b := r.bindingOf(k, h.table)
		if b == nil || b.strength == carried {
			if far == nil || b == nil && far.conf < 0.9 {
				far = r.cell(h.table, int(h.rows[0]), h.col, 0.9)
			}
			continue
		}
		rows := intersect(b.rows, h.rows)
		bound := boundColumns(cb, h.table)
		if len(rows) > 0 && (!cb.strong || bound[h.col]) {
			c := r.cell(h.table, int(rows[0]), h.col, 1)
			r.offer(k, c)
		}
	}
	if r.found[k] != nil {
		return
	}
	if r.inTable(n) && r.conflict[k] == nil && far != nil {
		r.offer(k, far)
		return
	}
	if c := r.echoDate(n); c != nil {
		r.offer(k, c)
		return
	}
	if r.conflict[k] == nil && far != nil {
		r.offer(k, far)
		return
	}
	if r.resolveColumnName(k) || r.conflict[k] != nil {
		return
	}
}

// bindingOf returns the binding of numeral k to a row of table t, or nil.
func (r *resolver) bindingOf(k, t int) *binding {
	i := slices.IndexFunc(r.bindings[k], func(b binding) bool { return b.table == t })
	if i < 0 {
		return nil
	}
	return &r.bindings[k][i]
}

// dateHits returns the cells that a date names. For a time of day without a date, it searches all date columns.
func (r *resolver) dateHits(n *numeral) []hit {
	var out []hit
	for _, m := range r.labelsNear(n) {
		if m.overlaps(n) {
			out = append(out, m.hits...)
		}
	}
	if n.kind != calendar || n.date.month > 0 || n.date.year > 0 {
		return out
	}
	for t := range r.tables {
		for ci, c := range r.tables[t].cols {
			if c.role != roleDate {
				continue
			}
			h := hit{table: t, col: ci}
			for ri, row := range r.tables[t].rows {
				if !r.spend(1) {
					return out
				}
				if d, ok := cellDate(row[ci]); ok && n.date.covers(d) && len(h.rows) < maxRowsPerHit {
					h.rows = append(h.rows, int32(ri))
				}
			}
			if len(h.rows) > 0 {
				out = append(out, h)
			}
		}
	}
	return out
}

// offer makes c the footnote of numeral k if it has more confidence than the current one.
func (r *resolver) offer(k int, c *candidate) {
	if c != nil && (r.found[k] == nil || c.conf > r.found[k].conf) {
		r.found[k] = c
	}
}

// resolveColumnName handles a number from a column name, like the 2023 in revenue_2023. It reports whether there is
// such a column.
func (r *resolver) resolveColumnName(k int) bool {
	n := &r.numerals[k]
	s := r.prose.text[n.start:n.end]
	for t := len(r.tables) - 1; t >= 0; t-- {
		for _, c := range r.tables[t].cols {
			for _, w := range c.words {
				if w == s {
					r.offer(k, &candidate{table: t, formula: "column " + r.ref(t, -1, c.name), value: s, conf: 0.7})
					return true
				}
			}
		}
	}
	return false
}

// resolveNumber resolves a plain number directly: as a cell of a bound row, a count, a "top 3", or a repetition of the
// question.
func (r *resolver) resolveNumber(k int) {
	n := &r.numerals[k]
	if c := r.topN(n); c != nil {
		r.offer(k, c)
		return
	}
	if n.times {
		return
	}
	if !n.percent && !n.points {
		r.offer(k, r.rowCount(k))
	}
	c := r.cellInBoundRows(k)
	r.offer(k, c)
	if r.found[k] == nil || r.found[k].conf < 0.8 {
		r.offer(k, r.echoNumber(n))
	}
}

var comparativeWords = set(
	"more fewer less higher lower ahead behind longer shorter above below older younger faster slower quicker " +
		"cheaper mehr weniger")

// isComparison reports whether the number is a difference, as in "five more than".
func (r *resolver) isComparison(n *numeral) bool { return comparativeWords[r.prose.low(n.to)] }

// topN handles "top 3", "the top two" and "first five".
func (r *resolver) topN(n *numeral) *candidate {
	p := r.prose
	w := p.low(n.from - 1)
	if w != "top" && w != "bottom" && w != "latest" && w != "first" && w != "last" || n.percent || n.scaled ||
		len(n.readings) == 0 {
		return nil
	}
	v := n.readings[0].val
	for t := len(r.tables) - 1; t >= 0; t-- {
		if w == "first" || w == "last" {
			continue
		}
		if c := v.Num().Int64(); c >= 1 && c <= int64(len(r.tables[t].rows)) {
			return &candidate{
				table: t, formula: fmt.Sprintf("top(%s, %d)", r.tables[t].id, c), value: v.Num().String(), conf: 0.7,
			}
		}
	}
	return nil
}

// rowCount handles numbers of rows: "5 regions" of a result with five rows, "the three customers".
func (r *resolver) rowCount(k int) *candidate {
	n := &r.numerals[k]
	p := r.prose
	v := n.readings[0].val
	if !v.IsInt() || !v.Num().IsInt64() || n.currency || n.scaled || n.sign != 0 || r.isComparison(n) {
		return nil
	}
	count := int(v.Num().Int64())
	noun := r.nounAfter(n)
	if noun < 0 || copulas[p.low(n.to)] {
		return nil
	}
	w := stem(p.low(noun))
	plural := strings.HasSuffix(p.low(noun), "s") || strings.HasSuffix(p.low(noun), "en") || count <= 1
	for t := len(r.tables) - 1; t >= 0 && t >= len(r.tables)-2; t-- {
		tab := &r.tables[t]
		for _, c := range tab.cols {
			if c.role != roleText && c.role != roleDate && !(c.key && c.unique && !c.integerID()) {
				continue
			}
			if !slices.Contains(c.words, w) {
				continue
			}
			if c.unique && tab.rowCount == count && r.tables[t].whole {
				return r.countOf(t, 0.95)
			}
		}
		if tab.rowCount != count || !r.tables[t].whole || len(tab.rows) < 2 && count != 1 {
			continue
		}
		switch {
		case nouns[p.low(noun)] || hasWord(tab.sql, p.low(noun)):
			return r.countOf(t, 0.9)
		case plural && !measures[p.low(noun)]:
			return r.countOf(t, 0.65)
		}
	}
	return nil
}

// measures are units of measure, not things that rows stand for.
var measures = set("minutes minute hours hour days day seconds km mb gb ms mwh kwh euros euro dollars eur usd " +
	"degrees percent points times weeks years units tickets")

func (r *resolver) countOf(t int, conf float64) *candidate {
	return &candidate{
		table: t, formula: fmt.Sprintf("count(%s)", r.tables[t].id), value: strconv.Itoa(r.tables[t].rowCount),
		conf: conf,
	}
}

// nounAfter returns the token of the noun that a number counts ("the 3 (best) customers", "three of the five shops"),
// or -1.
func (r *resolver) nounAfter(n *numeral) int {
	p := r.prose
	last := -1
	for i := n.to; i < len(p.tokens) && i < n.to+4; i++ {
		t := p.tokens[i]
		if !t.word || t.sentence != p.tokens[n.from].sentence || r.numeralAt[i] >= 0 {
			break
		}
		if strings.HasSuffix(t.low, "s") || r.columnWords[stem(t.low)] || last < 0 {
			last = i
		}
	}
	return last
}

// ref returns the reference to a column, or to a cell if row ≥ 0, as formulas write it.
func (r *resolver) ref(t, row int, col string) string {
	id := r.tables[t].id
	if row >= 0 {
		id = fmt.Sprintf("%s[%d]", id, row)
	}
	return id + "." + quoteName(col)
}

// quoteName quotes a column's name unless it is a plain word.
func quoteName(s string) string {
	for i, c := range s {
		if c != '_' && !unicode.IsLetter(c) && (i == 0 || !unicode.IsDigit(c)) {
			return strconv.Quote(s)
		}
	}
	if s == "" {
		return `""`
	}
	return s
}

// rowName returns the text that names a row in a reason: its first text or date cell, or else its key or number.
func (r *resolver) rowName(t, row int) string {
	tab := &r.tables[t]
	for _, want := range []role{roleText, roleDate} {
		for ci, c := range tab.cols {
			if s, ok := tab.rows[row][ci].(string); ok && c.role == want && s != "" {
				return s
			}
		}
	}
	for ci, c := range tab.cols {
		if v, ok := tab.rows[row][ci].(int64); ok && c.key {
			return strconv.FormatInt(v, 10)
		}
	}
	return fmt.Sprintf("row %d", row+1)
}
