package cite

import (
	"fmt"
	"strconv"
	"strings"
	"unicode"
)

// direct resolves the numerals that repeat a cell, a count, a rank, or the question. derived handles the rest.
func (r *resolver) direct() {
	for k := range r.numerals {
		n := &r.numerals[k]
		switch {
		case n.huge:
			r.reasons[k] = "the number is too long to check"
		case r.labelled(k):
		case n.kind == calendar || n.year && !n.currency || n.kind == ordinal && r.isDay(n):
			r.dated(k)
		case n.kind == ordinal || n.hash && n.sig <= 2:
			r.ranked(k)
		case n.prefix != "":
			r.identifier(k)
		default:
			r.numbered(k)
		}
	}
}

// isDay reports whether the numeral names a day of the results, like "the 7th".
func (r *resolver) isDay(n *numeral) bool {
	for _, m := range r.near(n) {
		if m.overlaps(n) && m.date {
			return true
		}
	}
	return false
}

// labelled resolves numerals that are part of a name, like the 22 of "Midnight 22".
func (r *resolver) labelled(k int) bool {
	n := &r.numerals[k]
	for _, m := range r.near(n) {
		if !m.overlaps(n) || m.date {
			continue
		}
		h := m.hits[len(m.hits)-1]
		col := &r.tables[h.table].cols[h.col]
		if col.role == roleNumber && (n.year || !col.key && !col.unique) {
			return false
		}
		if col.role == roleNumber && r.namesOther(k, h) {
			return true
		}
		r.found[k] = r.cell(h.table, int(h.rows[0]), h.col, 1)
		return true
	}
	return false
}

// namesOther recognises an order number next to the name of another order's customer.
func (r *resolver) namesOther(k int, h hit) bool {
	n := &r.numerals[k]
	for _, b := range r.bindings[k] {
		if b.table != h.table || b.strength != said || len(b.rows) != 1 || len(b.by) == 0 {
			continue
		}
		m := b.by[0]
		if !r.unique(m, b.table) {
			continue
		}
		near := m.from >= n.to && r.tied(n, m) ||
			m.to <= n.from && r.prose.tokens[m.from].clause == r.prose.tokens[n.from].clause &&
				!r.numeralBetween(m.to, n.from)
		if near && len(intersect(b.rows, h.rows)) == 0 {
			r.conflict[k] = r.cell(h.table, int(h.rows[0]), h.col, 0)
			return true
		}
	}
	return false
}

// unique reports whether a mention names rows by a column in which no two are alike.
func (r *resolver) unique(m *mention, t int) bool {
	for _, h := range m.hits {
		if c := r.tables[h.table].cols[h.col]; h.table == t && (c.unique || c.role == roleNumber) {
			return true
		}
	}
	return false
}

// identifier handles SKU-1043 if no cell has it. It is a claim about data if other cells begin with SKU, and otherwise
// a name like COVID-19.
func (r *resolver) identifier(k int) {
	n := &r.numerals[k]
	for ti := range r.tables {
		for ci, c := range r.tables[ti].cols {
			if c.role != roleText {
				continue
			}
			for _, row := range r.tables[ti].rows {
				if !r.spend(1) {
					return
				}
				if s, ok := row[ci].(string); ok && len(s) > len(n.prefix) &&
					strings.EqualFold(s[:len(n.prefix)], n.prefix) && strings.ContainsAny(s, "0123456789") {
					r.reasons[k] = fmt.Sprintf("no row is called %s-%s", strings.ToUpper(n.prefix),
						r.prose.text[n.start:n.end])
					return
				}
			}
		}
	}
	n.quiet = true
}

// dated resolves dates, times and years.
func (r *resolver) dated(k int) {
	n := &r.numerals[k]
	if n.year && r.yearIsCount(k) {
		r.numbered(k)
		return
	}
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
		bound := boundIn(cb, h.table)
		if len(rows) > 0 && (!cb.strong || bound[h.col] || !r.hasDate(h.table, bound)) {
			c := r.cell(h.table, int(rows[0]), h.col, 1)
			if !bound[h.col] {
				c.conf = 0.97
			}
			r.better(k, c)
		} else if r.conflict[k] == nil {
			r.conflict[k] = r.cell(h.table, int(h.rows[0]), h.col, 0)
		}
	}
	if r.found[k] != nil {
		return
	}
	if r.inTable(n) && r.conflict[k] == nil && far != nil {
		r.better(k, far)
		return
	}
	if c := r.echoDate(n); c != nil {
		r.better(k, c)
		return
	}
	if r.conflict[k] == nil && far != nil {
		r.better(k, far)
		return
	}
	if r.columnNamed(k) || r.conflict[k] != nil {
		return
	}
	if n.year {
		r.numbered(k)
	}
}

// yearIsCount reports whether a possible year is a count: "2,021" is never a year, and "2021 units" counts units.
func (r *resolver) yearIsCount(k int) bool {
	n := &r.numerals[k]
	for _, m := range r.nearColumns(n) {
		if m.from >= n.to {
			return m.from == n.to && r.anchored(k) != nil
		}
	}
	return false
}

func (r *resolver) hasDate(t int, bound map[int]bool) bool {
	for ci := range bound {
		if r.tables[t].cols[ci].role == roleDate {
			return true
		}
	}
	return false
}

func (r *resolver) bindingOf(k, t int) *binding {
	for i := range r.bindings[k] {
		if r.bindings[k][i].table == t {
			return &r.bindings[k][i]
		}
	}
	return nil
}

// dateHits returns the cells that a date names. It searches for a time of day without a date only in the rows to which
// it is bound.
func (r *resolver) dateHits(n *numeral) []hit {
	var out []hit
	for _, m := range r.near(n) {
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

func (r *resolver) better(k int, c *candidate) {
	if c != nil && (r.found[k] == nil || c.conf > r.found[k].conf) {
		r.found[k] = c
	}
}

// columnNamed recognises a number in a column name, like the 2023 of revenue_2023.
func (r *resolver) columnNamed(k int) bool {
	n := &r.numerals[k]
	s := r.prose.text[n.start:n.end]
	for t := len(r.tables) - 1; t >= 0; t-- {
		for _, c := range r.tables[t].cols {
			for _, w := range c.words {
				if w == s {
					r.better(k, &candidate{table: t, formula: "column " + r.ref(t, -1, c.name), value: s, conf: 0.7})
					return true
				}
			}
		}
	}
	return false
}

// numbered resolves a plain number directly: an anchored cell, a count, "top 3", a repetition of the question.
func (r *resolver) numbered(k int) {
	n := &r.numerals[k]
	if c := r.topN(n); c != nil {
		r.better(k, c)
		return
	}
	if n.times {
		return
	}
	if !n.percent && !n.points {
		r.better(k, r.counted(k))
		if r.found[k] != nil && r.found[k].conf >= 0.9 {
			return
		}
	}
	if !r.speaksOfGroup(k) {
		c := r.anchored(k)
		if c != nil && r.comparedWith(n) {
			c.conf *= 0.55 // "five more than": a difference, if there is one
		}
		if c != nil && c.formula == "" && n.hedge != exactly && len(r.denominators(n)) > 0 {
			c.conf *= 0.55 // "about 60 per ticket": a ratio, if there is one
		}
		if c != nil && r.changedBy(n) && c.formula == "" && !r.changeColumn(c.table, c.col) {
			c.conf *= 0.3 // "shrank by 7": never what there is
			r.conflict[k] = c
		}
		r.better(k, c)
	}
	if r.found[k] == nil || r.found[k].conf < 0.8 {
		r.better(k, r.echoNumber(n))
	}
}

var comparativeWords = set(
	"more fewer less higher lower ahead behind longer shorter above below older younger faster slower quicker " +
		"cheaper mehr weniger")

// comparedWith recognises "five more than" and "308 units behind".
func (r *resolver) comparedWith(n *numeral) bool {
	p := r.prose
	if w := p.low(n.from - 1); (w == "more" || w == "less" || w == "fewer") &&
		(p.low(n.to) == "than" || p.low(n.to+1) == "than") {
		return true // "mais 7,9% do que"
	}
	return comparativeWords[p.low(n.to)] ||
		!r.labelAt(n.to+1) && n.to+1 < len(p.tokens) && p.tokens[n.to].word && !linkWords[p.low(n.to)] &&
			comparativeWords[p.low(n.to+1)]
}

// labelAt reports whether a label begins at token i.
func (r *resolver) labelAt(i int) bool {
	if i >= len(r.prose.tokens) {
		return false
	}
	for _, m := range r.bySentence[r.prose.tokens[i].sentence] {
		if m.from == i {
			return true
		}
	}
	return false
}

// speaksOfGroup recognises "A, B and C together have 785", which is about none of them alone.
func (r *resolver) speaksOfGroup(k int) bool {
	n := &r.numerals[k]
	if r.paired[n.from] != nil {
		return false
	}
	for _, b := range r.bindings[k] {
		if len(b.group) > 1 && b.strength == said {
			return r.saysSentence(n, groupCues) && b.by[0].to <= n.from
		}
	}
	return false
}

// topN recognises "top 3", "the top two" and "first five".
func (r *resolver) topN(n *numeral) *candidate {
	p := r.prose
	w := p.low(n.from - 1)
	if w == "full" || w == "the" {
		w = p.low(n.from - 2)
	}
	if w != "top" && w != "bottom" && w != "latest" && w != "first" && w != "last" || n.percent || n.scaled ||
		len(n.readings) == 0 {
		return nil
	}
	if c := r.echoNumber(n); c != nil {
		c.conf = max(c.conf, 0.9)
		return c
	}
	v := n.readings[0].val
	if !v.IsInt() || !v.Num().IsInt64() {
		return nil
	}
	for t := len(r.tables) - 1; t >= 0; t-- {
		if (w == "first" || w == "last") && !(periodNames[stem(p.low(n.to))] && r.series(t)) {
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

// counted recognises "5 regions" of a result with five rows, and "the three customers".
func (r *resolver) counted(k int) *candidate {
	n := &r.numerals[k]
	p := r.prose
	v := n.readings[0].val
	if !v.IsInt() || !v.Num().IsInt64() || n.currency || n.scaled || n.sign != 0 ||
		n.hedge != exactly && !(r.prose.low(n.from-1) == "over" && periodNames[stem(r.prose.low(n.to))]) ||
		r.comparedWith(n) {
		return nil
	}
	count := int(v.Num().Int64())
	if p.low(n.to) == "of" && partPronouns[p.low(n.to+1)] {
		if w := p.low(n.from - 1); w != "the" && w != "all" {
			return nil
		}
		for t := len(r.tables) - 1; t >= 0; t-- {
			if r.tables[t].rowCount == count && !r.truncated(t) && count > 1 {
				return r.countOf(t, 0.95)
			}
		}
		return nil
	}
	noun := r.nounAfter(n)
	if noun < 0 || copulas[p.low(n.to)] {
		return r.allOfThem(n, count)
	}
	w := stem(p.low(noun))
	plural := strings.HasSuffix(p.low(noun), "s") || strings.HasSuffix(p.low(noun), "en") || count <= 1
	measured := r.measured(n)
	for t := len(r.tables) - 1; t >= 0 && t >= len(r.tables)-2; t-- {
		tab := &r.tables[t]
		for ci, c := range tab.cols {
			if c.role != roleText && c.role != roleDate && !(c.key && c.unique && !c.integerID()) {
				continue
			}
			if !mentions(c.words, w) &&
				!(c.role == roleDate && c.unique && periodNames[w] && tab.rowCount == count && r.countsAll(n)) {
				continue
			}
			if c.role == roleDate && measured {
				continue // "four gifts" beside a column last_gift
			}
			if c.unique && tab.rowCount == count && !r.truncated(t) {
				return r.countOf(t, 0.95)
			}
			if c.role == roleText && c.distinct == count && tab.whole {
				return &candidate{
					table: t, formula: fmt.Sprintf("count(distinct %s)", r.ref(t, -1, tab.cols[ci].name)),
					value: strconv.Itoa(count), conf: 0.9,
				}
			}
		}
		if tab.rowCount != count || r.truncated(t) || len(tab.rows) < 2 && count != 1 || measured {
			continue
		}
		switch {
		case nouns[p.low(noun)] || hasWord(tab.sql, p.low(noun)):
			return r.countOf(t, 0.9)
		case plural && !r.unitWord(p.low(noun)):
			return r.countOf(t, 0.65)
		}
	}
	return nil
}

// countsAll recognises "the four days" and "across all six weeks".
func (r *resolver) countsAll(n *numeral) bool {
	w := r.prose.low(n.from - 1)
	return w == "the" || w == "all" || w == "these" || w == "those"
}

var partPronouns = set("them these those which whom it its")

// allOfThem recognises "the cheapest of the four" and "all three".
func (r *resolver) allOfThem(n *numeral, count int) *candidate {
	w, of := r.prose.low(n.from-1), r.prose.low(n.from-2)
	if k := r.numeralBefore(n); k >= 0 && w == "of" && r.numerals[k].kind == ordinal {
		w = "all" // "5th of five"
	}
	if w != "all" && (of != "of" || w != "the" && w != "these" && w != "those") {
		return nil
	}
	for t := len(r.tables) - 1; t >= 0; t-- {
		if r.tables[t].rowCount == count && !r.truncated(t) && count > 1 {
			return r.countOf(t, 0.65)
		}
	}
	return nil
}

var measures = set("minutes minute hours hour days day seconds km mb gb ms mwh kwh euros euro dollars eur usd " +
	"degrees percent points times weeks years units tickets")

func (r *resolver) unitWord(w string) bool { return measures[w] }

// measured reports whether the noun names a numeric column, so that the number is one of its cells.
func (r *resolver) measured(n *numeral) bool {
	for _, m := range r.nearColumns(n) {
		if m.from >= n.to && r.unitOf(n, m) {
			for _, c := range m.cols {
				if r.tables[c.table].cols[c.col].role == roleNumber {
					return true
				}
			}
		}
	}
	return false
}

func mentions(name []string, w string) bool {
	for _, x := range name {
		if x == w {
			return true
		}
	}
	return false
}

func (r *resolver) truncated(t int) bool {
	return !r.tables[t].whole
}

func (r *resolver) countOf(t int, conf float64) *candidate {
	return &candidate{
		table: t, formula: fmt.Sprintf("count(%s)", r.tables[t].id), value: strconv.Itoa(r.tables[t].rowCount),
		conf: conf,
	}
}

// nounAfter returns the token of the noun that a number counts: "the 3 (best) customers", "three of the five shops".
func (r *resolver) nounAfter(n *numeral) int {
	p := r.prose
	last := -1
	for i := n.to; i < len(p.tokens) && i < n.to+4; i++ {
		t := p.tokens[i]
		if !t.word || t.sentence != p.tokens[n.from].sentence || r.numeralAt[i] >= 0 {
			break
		}
		if articles[t.low] || linkWords[t.low] {
			if i == n.to && t.low == "of" {
				continue
			}
			break
		}
		if strings.HasSuffix(t.low, "s") || r.columnWords[stem(t.low)] || last < 0 {
			last = i
		}
	}
	return last
}

// ref returns a column, or a cell if row ≥ 0, in the notation of formulas.
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

// rowName returns the name of a row in a reason: its first text or date cell.
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
