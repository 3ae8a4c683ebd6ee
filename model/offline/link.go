package offline

import (
	"slices"
	"strings"
)

// The kinds of items that words can mean.
const (
	itTable = iota + 1
	itColumn
	itValue
	itPeriod
	itNumber // a comparison with a number
	itRevenue
)

// item is a run of words [lo, hi) and its meaning.
type item struct {
	kind    int
	lo, hi  int
	score   int
	tables  []*table
	cols    []*column // candidates, best matches only
	vals    []*value
	partial bool // the words are a part of the column's name
	verb    bool // a table named by a verb: invoiced, shipped
	period  period
	cond    filter // of itNumber
	done    bool   // already used by the interpretation
	dim     bool
	exact   bool // a column named exactly
	qual    bool // only names the table to which another word belongs
	neg     bool
	negUsed bool // the negation is part of a filter
	pred    bool // follows "was" or "are": describes the subject
}

func (it *item) table() *table {
	if len(it.tables) == 0 {
		return nil
	}
	return it.tables[0]
}

func (it *item) col() *column {
	if len(it.cols) == 0 {
		return nil
	}
	return it.cols[0]
}

// matchWord scores how well a word of a question fits a word of a name: 3 the same, 2 inflected or abbreviated, 1 a
// synonym, 0 not at all.
func matchWord(w word, name string) int {
	switch {
	case w.low == name || w.sing == name || w.low == name+"s" || abbreviation[w.low] == name:
		return 3
	case len(name) > 2 && (w.stem == stem(name)) || name == quantityUnits[w.sing]:
		return 2
	case synonymous(w.sing, name) || synonymous(w.low, name) || len(w.stem) > 3 && synonymous(w.stem, name) ||
		isTranslation(w, name):
		return 1
	}
	return 0
}

// quantityUnits maps quantities to units at the end of names, so that "voltage" finds battery_v.
var quantityUnits = map[string]string{
	"voltage": "v", "wattage": "w", "temperature": "c", "concentration": "ppm", "percentage": "pct",
}

// linkTables proposes the tables that words at i name.
func (ps *parser) linkTables(i int) []item {
	var out []item
	for _, t := range ps.p.tables {
		it := ps.matchTable(t, i)
		if it.score == 0 {
			continue
		}
		if k := slices.IndexFunc(out, func(o item) bool { return o.hi == it.hi && o.score == it.score }); k >= 0 {
			out[k].tables = append(out[k].tables, t)
			continue
		}
		out = append(out, it)
	}
	return out
}

func (ps *parser) matchTable(t *table, i int) item {
	n := len(t.words)
	it := item{kind: itTable, lo: i, tables: []*table{t}}
	for _, name := range t.also {
		if ps.sayAny([][]string{name}, i, len(name)) {
			it.hi, it.score = i+len(name), 60
			return it
		}
	}
	if n > 0 && i+n <= len(ps.ws) {
		best := 3
		for k, name := range t.words {
			best = min(best, matchWord(ps.ws[i+k], name))
		}
		if best > 0 {
			it.hi = i + n
			it.score = []int{0, 40, 52, 60}[best]
			return it
		}
	}
	if slices.Contains(t.nouns, ps.ws[i].sing) {
		it.hi, it.score = i+1, 59 // more than the column from which the noun comes
		return it
	}
	if slices.ContainsFunc(t.nouns, func(noun string) bool {
		return personTables[noun] && matchWord(ps.ws[i], noun) > 0 ||
			len(ps.p.tables) == 1 && isTranslation(ps.ws[i], noun)
	}) {
		it.hi, it.score = i+1, 41
		return it
	}
	if n > 0 && isVerbFor(ps.ws[i], t.words[n-1]) {
		it.hi, it.score, it.verb = i+1, 35, true
		return it
	}
	if n := ps.rowNoun(i); n > 0 && len(ps.p.tables) == 1 {
		it.hi, it.score = i+n, 36
		return it
	}
	// A part of the name: its last word; in a source of one table, any word.
	for k, name := range t.words {
		last := k == n-1
		if n < 2 || !last && len(ps.p.tables) > 1 || optionalWords[name] {
			continue
		}
		if m := matchWord(ps.ws[i], name); m > 1 || m == 1 && last {
			it.hi, it.partial = i+1, true
			it.score = []int{0, 33, 37, 45}[m]
			return it
		}
	}
	return item{}
}

// rowNouns mean the rows of the only table, whatever it contains.
var rowNouns = set("row record entry line reading measurement observation sample transaction item datapoint")

// rowNoun returns how many words at i mean the rows of the only table. They do not if something else in the schema has
// that name.
func (ps *parser) rowNoun(i int) int {
	w := ps.ws[i]
	switch {
	case ps.p.words[w.sing] || ps.p.words[w.low] || len(ps.p.values[w.stem]) > 0 ||
		ps.at(i) == "line" && (ps.at(i+1) == "chart" || ps.at(i+1) == "graph" || ps.at(i-1) == "a"):
		return 0
	case w.low == "data" && i+1 < len(ps.ws) && ps.ws[i+1].sing == "point":
		return 2
	case rowNouns[w.sing]:
		return 1
	}
	return 0
}

// linkColumns proposes the columns that the words at i name. Candidates with the same span and score become one item.
func (ps *parser) linkColumns(i int) []item {
	var out []item
	for n := min(4, len(ps.ws)-i); n >= 1; n-- {
		best := item{}
		for _, c := range ps.p.columns() {
			score, partial := ps.matchColumn(c, i, n)
			switch {
			case score == 0 || score < best.score:
			case score > best.score:
				best = item{
					kind: itColumn, lo: i, hi: i + n, score: score, cols: []*column{c}, partial: partial,
					exact: score == 58 || score == 36 || score == 33,
				}
			default:
				best.cols = append(best.cols, c)
			}
		}
		if best.score == 0 && n == 1 {
			best = ps.matchLeading(i)
		}
		if best.score > 0 {
			out = append(out, best)
		}
	}
	return out
}

// matchLeading matches a word that begins the name of only one column: "umsatz" for Umsatz netto. If several begin with
// it, the question must say which.
func (ps *parser) matchLeading(i int) item {
	w := ps.ws[i]
	it := item{kind: itColumn, lo: i, hi: i + 1, score: 22, partial: true}
	denied := i > 0 && negationWords[ps.at(i-1)] && strings.HasSuffix(w.low, "ed")
	if filler[w.low] && !denied || grammar[w.low] || keywords[w.low] || len(w.low) < 3 || lightVerbs[w.low] {
		return item{}
	}
	for _, c := range ps.p.columns() {
		if (c.role == roleMeasure || c.role == roleDimension) && len(c.words) > 1 &&
			!slices.Contains(c.t.words, c.words[0]) &&
			(w.low == c.words[0] || w.sing == c.words[0] && c.role == roleMeasure) {
			it.cols = append(it.cols, c)
		}
	}
	if len(it.cols) == 0 {
		return item{}
	}
	return it
}

// sayAny reports whether the words [i, i+n) are one of some names.
func (ps *parser) sayAny(names [][]string, i, n int) bool {
	return slices.ContainsFunc(names, func(name []string) bool {
		if len(name) != n || i+n > len(ps.ws) {
			return false
		}
		for k, word := range name {
			if matchWord(ps.ws[i+k], word) < 2 {
				return false
			}
		}
		return true
	})
}

// matchColumn scores the words [i, i+n) as a column's name.
func (ps *parser) matchColumn(c *column, i, n int) (score int, partial bool) {
	if ps.sayAny(c.also, i, n) {
		return 61, false // the company says so, which is more than a table of that name
	}
	if c.role == roleKey && !(n > 1 && ps.ws[i+n-1].sing == "id") {
		return 0, false
	}
	core := c.words
	if len(core) == 0 {
		core = c.optional
	}
	names := append(slices.Clone(core), c.optional...)
	if c.role == roleDate && n > 1 {
		names = append(names, "date", "time")
	}
	taken := make([]bool, len(names))
	strength := 3
	for k := range n {
		w := ps.ws[i+k]
		if k > 0 && w.stop {
			return 0, false
		}
		at, m := -1, 0
		for x, name := range names {
			if s := matchWord(w, name); !taken[x] && s > m {
				at, m = x, s
			}
		}
		if at < 0 || m == 1 && at >= len(core) {
			return 0, false
		}
		taken[at] = true
		strength = min(strength, m)
	}
	have := 0
	for x := range core {
		if taken[x] {
			have++
		}
	}
	if have == len(core) {
		return ps.fullScore(c, core, n, strength), false
	}
	if have == 0 || strength == 1 && n == 1 && len(core) > 2 {
		return 0, false
	}
	head := core[len(core)-1]
	switch {
	case taken[len(core)-1]:
		return []int{0, 26, 32, 36}[strength], true
	case headWords[head] && taken[0]:
		return []int{0, 24, 30, 33}[strength], true
	}
	return 0, false
}

func (ps *parser) fullScore(c *column, core []string, n, strength int) int {
	// "doctor" means the table doctors rather than its column doctor_name. The column part in parts_used is an ordinary
	// column, because its name is not the last word of the table's.
	own := len(ps.p.tables) > 1 && len(c.t.words) > 0 && slices.Contains(core, c.t.words[len(c.t.words)-1])
	for _, w := range core {
		own = own && slices.Contains(c.t.words, w)
	}
	if own && n <= len(core) {
		return 0
	}
	return []int{0, 38, 42, 58}[strength]
}

// linkValues proposes the values in the data that the words at i name.
func (ps *parser) linkValues(i int) []item {
	best := item{kind: itValue, lo: i}
	consider := func(v *value, n, score int) {
		switch {
		case i+n < best.hi || i+n == best.hi && score < best.score:
			return
		case i+n > best.hi || score > best.score:
			best.hi, best.score, best.vals = i+n, score, nil
		}
		best.vals = append(best.vals, v)
	}
	for _, v := range ps.p.values[ps.ws[i].stem] {
		n := len(v.words)
		if i+n > len(ps.ws) {
			continue
		}
		score := 54
		for k, vw := range v.words {
			w := ps.ws[i+k]
			if w.low != vw.low {
				score = 50
			}
			if w.stem != vw.stem && w.low != vw.low+"s" || k > 0 && w.stop {
				score = 0
				break
			}
		}
		if score > 0 {
			consider(v, n, score)
		}
	}
	ps.codedValues(i, consider)
	if len(best.vals) == 0 {
		return nil
	}
	best.cols = nil
	for _, v := range best.vals {
		if !slices.Contains(best.cols, v.col) {
			best.cols = append(best.cols, v.col)
		}
	}
	return []item{best}
}

// codedValues proposes the codes that the word at i stands for: f for women.
func (ps *parser) codedValues(i int, consider func(v *value, n, score int)) {
	w := ps.ws[i]
	for name, words := range valueSynonyms {
		if code, ok := words[w.sing]; ok {
			for _, v := range ps.p.values[code] {
				if slices.Contains(v.col.words, name) && len(v.words) == 1 {
					consider(v, 1, 50)
				}
			}
		}
	}
}

// link chooses a meaning for every word that is not yet used: the longest run of words first, then the best score.
func (ps *parser) link() {
	ps.named = map[*table]bool{}
	for i := range ps.ws {
		for _, it := range ps.linkTables(i) {
			if it.score >= 45 && len(it.tables) == 1 && !ps.used[i] {
				ps.named[it.tables[0]] = true
			}
		}
	}
	for i := 0; i < len(ps.ws); {
		if ps.used[i] {
			i++
			continue
		}
		best := item{}
		cands := append(append(ps.linkTables(i), ps.linkColumns(i)...), ps.linkValues(i)...)
		for _, it := range slices.Concat(cands, ps.linkMoney(i), ps.linkPeople(i), ps.linkNames(i)) {
			free := true
			for k := it.lo; k < it.hi; k++ {
				free = free && !ps.used[k]
			}
			if !free {
				continue
			}
			it.score += ps.context(it)
			if it.hi-it.lo > best.hi-best.lo || it.hi-it.lo == best.hi-best.lo && it.score > best.score {
				best = it
			}
		}
		if best.hi == 0 || best.hi-best.lo == 1 && ps.isGrammar(best) {
			i++
			continue
		}
		ps.markUsed(best.lo, best.hi)
		ps.items = append(ps.items, &best)
		i = best.hi
	}
	slices.SortStableFunc(ps.items, func(a, b *item) int { return a.lo - b.lo })
}

// isGrammar reports whether a single short word is more likely grammar than the name of something.
func (ps *parser) isGrammar(it item) bool {
	w := ps.ws[it.lo]
	return grammar[w.low] && !(it.kind == itColumn && it.score >= 58 && !strongGrammar[w.low])
}

var grammar = set(
	`a an the of to for from in on at with into is are was were be by per each every no not and or all any as do does
	did has have had how much many what which who when where why most least more less top bottom than per i we us it
	its only out one so up down go can will may total average count number list show will`)
var strongGrammar = set(
	`a an the of to for from in on at with is are was were be by per each every no not and or all how what which who ` +
		`when where`)

// linkMoney proposes revenue if no column has that name.
func (ps *parser) linkMoney(i int) []item {
	w := ps.ws[i]
	if revenueWords[w.sing] || (moneyIn[w.low] || moneyOut[w.low]) && ps.p.balance() != nil {
		return []item{{kind: itRevenue, lo: i, hi: i + 1, score: 44}}
	}
	return nil
}

// context returns how much adjacent words add to the score of a run of words.
func (ps *parser) context(it item) int {
	near := func(k int, names []string) bool {
		if k < 0 || k >= len(ps.ws) {
			return false
		}
		return slices.ContainsFunc(names, func(n string) bool { return matchWord(ps.ws[k], n) > 1 })
	}
	switch it.kind {
	case itValue:
		for _, c := range it.cols {
			names := append(append(slices.Clone(c.words), c.t.words...), c.optional...)
			if near(it.hi, names) || near(it.lo-1, names) && !ps.isGroupWord(it.lo-1) {
				return 12
			}
		}
	case itColumn, itTable:
		if it.kind == itColumn && it.score < 58 && it.hi-it.lo == 1 &&
			slices.ContainsFunc(it.cols, func(c *column) bool {
				return ps.named[c.t] && (c.role == roleDimension || c.role == roleMeasure) && it.exact
			}) && slices.ContainsFunc(ps.linkValues(it.lo), func(v item) bool {
			return v.hi == it.hi && !slices.ContainsFunc(v.cols, func(c *column) bool { return ps.named[c.t] })
		}) {
			return 30 // a column of the table in question, before a value of another one
		}
		k := it.lo - 1
		for k >= 0 && (ps.ws[k].low == "the" || ps.ws[k].low == "our") {
			k--
		}
		if k >= 0 && ps.isGroupWord(k) {
			return 12
		}
	}
	return 0
}

// isGroupWord reports whether the word at i introduces groups.
func (ps *parser) isGroupWord(i int) bool {
	switch ps.at(i) {
	case "by", "per", "each", "every", "across":
		return true
	}
	return false
}

// markUsed marks the words [lo, hi) as used.
func (ps *parser) markUsed(lo, hi int) {
	for k := lo; k < hi; k++ {
		ps.used[k] = true
	}
}
