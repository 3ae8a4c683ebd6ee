package offline

import (
	"fmt"
	"slices"
	"strings"
)

// parser turns the words of one question into a plan. Every word is used by
// exactly one rule, or is small enough to mean nothing, or is left over; and what
// is left over is never passed in silence.
type parser struct {
	p     *profile
	ws    []word
	used  []bool
	items []item
	prev  *plan // of the question before, for follow-ups

	agg        string // what the words ask for
	howMany    int    // where "how many" stands, or -1
	list       bool
	which      bool
	share      bool
	never      bool
	compare    bool
	order      int
	orderAt    int // where the ranking word stands
	limit      int
	rankCols   []string
	bucket     string
	chart      string
	duration   bool
	each       bool
	tenure     bool
	conflict   bool            // two ends are asked for
	named      map[*table]bool // tables that nouns of the question name
	ratio      bool            // the average of a number of rows
	second     string          // a second aggregate, for which there is no place
	best       bool            // ranked by “best”, which needs a figure
	negAt      []int
	excludeNil bool
}

// declined is why a question is not answered.
type declined struct {
	reason string
	words  []string // the words that were not understood
	offer  string   // what could be said in their place
}

func newParser(p *profile, text string) *parser {
	ws, _ := tokenize(text)
	ws = p.compounds(ws)
	ps := &parser{p: p, ws: ws, used: make([]bool, len(ws)), howMany: -1, orderAt: -1}
	ps.correct()
	return ps
}

func (ps *parser) at(i int) string {
	if i < 0 || i >= len(ps.ws) {
		return ""
	}
	return ps.ws[i].low
}

// phrase reports whether words stand at i, not yet used.
func (ps *parser) phrase(i int, text string) int {
	n := 0
	for w := range strings.FieldsSeq(text) {
		if i+n >= len(ps.ws) || ps.used[i+n] || ps.ws[i+n].low != w {
			return 0
		}
		n++
	}
	return n
}

// compoundNouns are pairs that mean no more than their second word.
var compoundNouns = map[string]string{
	"support ticket": "ticket", "sale order": "order", "purchase order": "order", "customer order": "order", "product item": "product",
	"hotel booking": "booking", "room booking": "booking", "help desk": "ticket", "client account": "account", "customer account": "account",
}

// compounds splits and joins words the way the schema writes them: "signed up" is
// signup, "unpaid" is not paid.
func (p *profile) compounds(ws []word) []word {
	var out []word
	for i := 0; i < len(ws); i++ {
		w := ws[i]
		if i+1 < len(ws) && !ws[i+1].stop {
			n := ws[i+1]
			if joined := newWord(w.stem + n.low); (p.words[joined.low] || p.words[joined.sing]) && !p.words[w.sing] && len(joined.low) > 4 {
				joined.stop = w.stop
				out = append(out, joined)
				i++
				continue
			}
			if _, ok := compoundNouns[w.sing+" "+n.sing]; ok && p.words[n.sing] && !p.words[w.sing] && len(p.values[w.stem]) == 0 {
				n.stop = w.stop
				out = append(out, n)
				i++
				continue
			}
		}
		if w.low == "open" && p.closes() {
			out = append(out, newWord("not"), newWord("closed"))
			continue
		}
		if rest, ok := p.negative(w); ok {
			not := newWord("not")
			not.stop = w.stop
			out = append(out, not, rest)
			continue
		}
		out = append(out, w)
	}
	return out
}

// closes reports whether "open" can only mean what is not closed yet.
func (p *profile) closes() bool {
	one := func(v *value) bool { return len(v.words) == 1 }
	if p.words["open"] || slices.ContainsFunc(p.values["open"], one) || !p.words["closed"] {
		return false
	}
	for _, t := range p.tables {
		for _, c := range t.cols {
			if c.role == roleDate && c.nullable && slices.Contains(c.words, "closed") {
				return true
			}
		}
	}
	return false
}

// negative takes "unpaid" apart where the data knows "paid" only.
func (p *profile) negative(w word) (word, bool) {
	for _, prefix := range []string{"un", "non", "in"} {
		rest, ok := strings.CutPrefix(w.low, prefix)
		if !ok || len(rest) < 4 || p.words[w.low] || p.words[w.sing] || len(p.values[w.stem]) > 0 || filler[w.low] || grammar[w.low] || keywords[w.low] {
			continue
		}
		n := newWord(rest)
		if len(p.values[n.stem]) > 0 && len(p.values[n.stem][0].words) == 1 {
			return n, true
		}
		for name := range p.words {
			if m := matchWord(n, name); m > 1 && prefix != "in" {
				return n, true
			}
		}
	}
	return word{}, false
}

// correct replaces words that nothing knows by the one known word they are a
// typo of, where there is exactly one.
func (ps *parser) correct() {
	for i, w := range ps.ws {
		if w.low == "hwo" || w.low == "hw" || w.low == "ohw" {
			n := newWord("how")
			n.was, n.stop = w.raw, w.stop
			ps.ws[i] = n
		}
		if w.isNum || w.quoted || len(w.low) < 4 || startsDigit(w.low) || ps.known(w) {
			continue
		}
		if fix := ps.nearest(w); fix != "" {
			n := newWord(fix)
			n.raw, n.was, n.stop = fix, w.raw, w.stop
			ps.ws[i] = n
		}
	}
}

func (ps *parser) known(w word) bool {
	if filler[w.low] || grammar[w.low] || keywords[w.low] || noTypo[w.low] || noTypo[w.sing] || months[w.low] > 0 || seasons[w.low] > 0 || bucketWords[w.sing] != "" || revenueWords[w.sing] ||
		ps.p.words[w.low] || ps.p.words[w.sing] || ps.p.said[w.low] || ps.p.said[w.sing] || len(synonym[w.low]) > 0 || len(synonym[w.sing]) > 0 || len(ps.p.values[w.stem]) > 0 {
		return true
	}
	for name := range ps.p.words {
		if matchWord(w, name) > 0 {
			return true
		}
	}
	return false
}

// nearest is the only known word within reach of a typo.
func (ps *parser) nearest(w word) string {
	limit := 1
	if len(w.low) >= 8 {
		limit = 2
	}
	best, bestD, many, weak := "", limit+1, false, false
	try := func(name string) {
		if len(name) < 4 || name[0] != w.low[0] {
			return
		}
		d := distance(w.low, name, limit)
		switch {
		case d < bestD:
			best, bestD, many = name, d, false
		case d == bestD && d <= limit && stem(name) != stem(best):
			many = true
		case d == bestD && d <= limit && name < best:
			best = name
		}
	}
	for name := range ps.p.words {
		try(name)
		if s := stem(name); s != name {
			try(s + "ed")
		}
		try(name + "s")
	}
	for name := range keywords {
		try(name)
	}
	for name := range revenueWords {
		try(name)
	}
	for name := range months {
		try(name)
	}
	for name := range bucketWords {
		try(name)
	}
	if bestD <= limit && !many {
		return best // words of values only where nothing else is as near
	}
	if many {
		return ""
	}
	weak = true
	for name := range ps.p.said {
		try(name)
	}
	if many && weak {
		return ""
	}
	return best
}

var keywords = set(`average median total count number many much list show which share percent percentage proportion compare versus highest
	lowest largest smallest biggest most least fewest least maximum minimum distinct different without never between before after since
	group breakdown split only exclude excluding median mean canceled cancelled top bottom each every month quarter year how what
	value values cheapest expensive longest oldest newest earliest latest first last`)

// noTypo are words of business that must never be taken for a typo of a column.
var noTypo = set(`profit margin stock salary budget manager driver supplier vendor login visit visitor click campaign complaint refund
	tax age owner store user member employee student teacher room guest price cost sale order item brand color colour size weight height
	stack state stage page rank rang place plan plane plant part party port post sent send sell cell call mail male made date data
	rate race rice route root good goods best better worst worse nice great green well also then them they other another more some same
	staff start stat team term test text time title town trade trip type unit value view week work year zone`)

// parse reads a whole question.
func (ps *parser) parse() (*plan, *declined) {
	ps.dates()
	ps.keywords()
	ps.conditions()
	ps.link()
	ps.conditions2()
	pl, d := ps.interpret()
	if d != nil && d.reason != "" {
		d.words = ps.unknown()
	}
	return pl, d
}

// unknown are the words that mean nothing here.
func (ps *parser) unknown() []string {
	var out []string
	for k, w := range ps.ws {
		if !ps.used[k] && !filler[w.low] && !grammar[w.low] && !keywords[w.low] && !w.isNum && wordRune([]rune(w.low + " ")[0]) {
			out = append(out, w.raw)
		}
	}
	return out
}

// dates finds the periods.
func (ps *parser) dates() {
	for i := 0; i < len(ps.ws); {
		if ps.used[i] {
			i++
			continue
		}
		p, n := datePhrase(ps.ws[i:])
		if n > 0 && (ps.monthlyColumn(i, n) || ps.p.hasColumn(ps.at(i+n-1))) {
			n = 0
		}
		if n == 0 {
			i++
			continue
		}
		ps.take(i, i+n)
		ps.items = append(ps.items, item{kind: itPeriod, lo: i, hi: i + n, period: p})
		i += n
		// "in 2023 and 2024", "2023 vs 2024"
		if k := i; k+1 < len(ps.ws) && (ps.at(k) == "and" || ps.at(k) == "vs" || ps.at(k) == "versus" || ps.at(k) == "with" || ps.at(k) == "to" || ps.at(k) == "or") {
			if q, m := datePhrase(ps.ws[k+1:]); m > 0 && q.size == p.size && p.size != "" {
				if ps.at(k) != "and" && ps.at(k) != "or" {
					ps.compare = true
				}
				ps.used[k] = true
			}
		}
	}
	// "March and April 2024": a month takes the year that follows.
	for k := len(ps.items) - 2; k >= 0; k-- {
		if y, ok := ps.items[k+1].period.year(); ok && ps.items[k].period.yearless {
			ps.items[k].period = ps.items[k].period.inYear(y)
		}
	}
}

// hasColumn reports whether a column is called by a year, such as 2023.
func (p *profile) hasColumn(year string) bool {
	if !startsDigit(year) {
		return false
	}
	for _, t := range p.tables {
		for _, c := range t.cols {
			if c.name == year {
				return true
			}
		}
	}
	return false
}

// monthlyColumn keeps numbers that are compared with from being read as years.
func (ps *parser) monthlyColumn(i, n int) bool {
	if n != 1 {
		return false
	}
	if _, ok := asYear(ps.ws[i]); !ok {
		return false
	}
	switch ps.at(i - 1) {
	case "than", "over", "above", "below", "under", "least", "exceeding", "top", "<", ">", "=", ">=", "<=":
		return true
	}
	return false
}

// rule is a phrase and what it says.
type rule struct {
	text string
	do   func(ps *parser, i int)
}

func setAgg(a string) func(*parser, int) {
	return func(ps *parser, i int) {
		if means[a] && means[ps.agg] && a != ps.agg {
			ps.second = a
		}
		if ps.agg == "" || ps.agg == aggSum || ps.agg == aggCount && a != aggSum {
			ps.agg = a
		}
	}
}

// means are the aggregates of which a question has one.
var means = map[string]bool{aggAvg: true, aggMedian: true, aggMin: true, aggMax: true}

func count(ps *parser, i int) {
	if ps.howMany < 0 {
		ps.howMany = i
	}
	if ps.agg == "" || ps.agg == aggSum {
		ps.agg = aggCount
	}
}

func rank(dir int) func(*parser, int) {
	return func(ps *parser, i int) {
		if ps.orderAt < 0 {
			ps.order, ps.orderAt = dir, i
		} else if ps.order != dir {
			ps.conflict = true
		}
	}
}

// rules, longest first where one begins another.
var rules = []rule{
	{"how many", count}, {"number of", count}, {"count of", count}, {"no of", count}, {"total number of", count}, {"count", count}, {"nr of", count},
	{"how much", setAgg(aggSum)}, {"total", setAgg(aggSum)}, {"sum of", setAgg(aggSum)}, {"sum", setAgg(aggSum)}, {"sum up", setAgg(aggSum)},
	{"on average", setAgg(aggAvg)}, {"average", setAgg(aggAvg)}, {"avg", setAgg(aggAvg)}, {"mean", setAgg(aggAvg)}, {"averages", setAgg(aggAvg)},
	{"median", setAgg(aggMedian)},
	{"different", setAgg(aggDistinct)}, {"distinct", setAgg(aggDistinct)}, {"unique", setAgg(aggDistinct)},
	{"maximum", setAgg(aggMax)}, {"max", setAgg(aggMax)}, {"minimum", setAgg(aggMin)}, {"min", setAgg(aggMin)},
	{"percentage", func(ps *parser, _ int) { ps.share = true }}, {"percent", func(ps *parser, _ int) { ps.share = true }},
	{"percentages", func(ps *parser, _ int) { ps.share = true }}, {"%", func(ps *parser, _ int) { ps.share = true }},
	{"share", func(ps *parser, _ int) { ps.share = true }}, {"shares", func(ps *parser, _ int) { ps.share = true }},
	{"proportion", func(ps *parser, _ int) { ps.share = true }}, {"fraction", func(ps *parser, _ int) { ps.share = true }},
	{"compare", func(ps *parser, _ int) { ps.compare = true }}, {"compared", func(ps *parser, _ int) { ps.compare = true }},
	{"versus", func(ps *parser, _ int) { ps.compare = true }}, {"vs", func(ps *parser, _ int) { ps.compare = true }}, {"comparison", func(ps *parser, _ int) { ps.compare = true }},
	{"from lowest to highest", func(ps *parser, i int) { ps.order = 1 }}, {"from highest to lowest", func(ps *parser, i int) { ps.order = -1 }},
	{"from smallest to largest", func(ps *parser, i int) { ps.order = 1 }}, {"from largest to smallest", func(ps *parser, i int) { ps.order = -1 }},
	{"lowest first", func(ps *parser, i int) { ps.order = 1 }}, {"highest first", func(ps *parser, i int) { ps.order = -1 }},
	{"smallest first", func(ps *parser, i int) { ps.order = 1 }}, {"largest first", func(ps *parser, i int) { ps.order = -1 }},
	{"ascending", func(ps *parser, i int) { ps.order = 1 }}, {"descending", func(ps *parser, i int) { ps.order = -1 }},
	{"with us the longest", func(ps *parser, i int) { ps.tenure = true; rank(1)(ps, i) }},
	{"with us longest", func(ps *parser, i int) { ps.tenure = true; rank(1)(ps, i) }},
	{"most recent", func(ps *parser, i int) { ps.rankCols = []string{"@date"}; rank(-1)(ps, i) }},
	{"most expensive", func(ps *parser, i int) { ps.rankCols = []string{"price", "cost", "rate", "amount"}; rank(-1)(ps, i) }},
	{"least expensive", func(ps *parser, i int) { ps.rankCols = []string{"price", "cost", "rate", "amount"}; rank(1)(ps, i) }},
	{"most", rank(-1)}, {"highest", rank(-1)}, {"largest", rank(-1)}, {"biggest", rank(-1)}, {"greatest", rank(-1)}, {"top", rank(-1)}, {"best", best(-1)}, {"worst", best(1)},
	{"least", rank(1)}, {"lowest", rank(1)}, {"smallest", rank(1)}, {"fewest", rank(1)}, {"bottom", rank(1)}, {"tiniest", rank(1)},
	{"never", func(ps *parser, _ int) { ps.never = true }},
	{"as a line chart", chart("line")}, {"as a line", chart("line")}, {"as line chart", chart("line")}, {"line chart", chart("line")}, {"line graph", chart("line")},
	{"as a bar chart", chart("bar")}, {"as bars", chart("bar")}, {"as a bar", chart("bar")}, {"bar chart", chart("bar")}, {"as bar chart", chart("bar")}, {"bar graph", chart("bar")},
	{"as a pie chart", chart("pie")}, {"as a pie", chart("pie")}, {"pie chart", chart("pie")}, {"as a table", chart("none")},
	{"as a chart", chart("auto")}, {"chart", chart("auto")}, {"plot", chart("auto")}, {"graph", chart("auto")}, {"draw", chart("auto")},
	{"which", func(ps *parser, _ int) { ps.which = true }}, {"what are the", list}, {"who", func(ps *parser, _ int) { ps.which = true }},
	{"list", list}, {"show", list}, {"display", list}, {"give me", list},
}

func best(dir int) func(*parser, int) {
	return func(ps *parser, i int) {
		ps.best = true
		rank(dir)(ps, i)
	}
}

func list(ps *parser, _ int) { ps.list = true }

func chart(kind string) func(*parser, int) { return func(ps *parser, _ int) { ps.chart = kind } }

// keywords finds the words that say what to do, and the sizes of periods.
func (ps *parser) keywords() {
	for i := 0; i < len(ps.ws); i++ {
		if ps.used[i] {
			continue
		}
		best, n := rule{}, 0
		for _, r := range rules {
			if m := ps.phrase(i, r.text); m > n {
				best, n = r, m
			}
		}
		if n > 0 && best.do != nil && !ps.columnHere(i, n) && !ps.comparative(i) && !ps.compared(i, n) {
			best.do(ps, i)
			ps.take(i, i+n)
			ps.limitNear(i, n)
			i += n - 1
			continue
		}
		ps.single(i)
	}
	if ps.limit == 0 && ps.order != 0 {
		ps.limitBefore()
	}
	for k := 1; k < len(ps.ws) && ps.list && ps.limit == 0 && ps.order == 0; k++ {
		w, before := ps.ws[k], ps.at(k-1)
		if w.isNum && !ps.used[k] && w.num >= 1 && w.num <= 1000 && w.num == float64(int(w.num)) && (before == "show" || before == "list" || before == "display" || before == "me" || before == "any") {
			ps.limit, ps.used[k] = int(w.num), true // "show 5 visits"
		}
	}
}

// compared reports whether the word at i is a column's name with a comparison after
// it: "orders with total over 100".
func (ps *parser) compared(i, n int) bool {
	if n != 1 || !ps.p.words[ps.ws[i].low] {
		return false
	}
	for _, w := range []string{ps.at(i - 1), ps.at(i - 2)} {
		if set("highest largest biggest lowest smallest greatest")[w] {
			return true
		}
	}
	k := i + 1
	if ps.at(k) == "is" || ps.at(k) == "was" || ps.at(k) == "of" {
		k++
	}
	if ps.at(k) == "between" {
		return true
	}
	for _, c := range comparisons {
		if m := ps.phrase(k, c.text); m > 0 && k+m < len(ps.ws) && ps.ws[k+m].isNum {
			return true
		}
	}
	return false
}

// comparative reports whether "most" and "least" belong to a comparison.
func (ps *parser) comparative(i int) bool { return ps.at(i-1) == "at" }

// columnHere reports whether a keyword is part of a column's name: "total amount"
// is a sum, but "share price" and "Mean Score" are columns.
func (ps *parser) columnHere(i, n int) bool {
	if n != 1 && ps.at(i) != "count" {
		return false
	}
	for m := 2; m <= 3 && i+m <= len(ps.ws); m++ {
		for _, lo := range []int{i, i - m + 1} {
			if lo < 0 || lo+m > len(ps.ws) {
				continue
			}
			for _, t := range ps.p.tables {
				for _, c := range t.cols {
					if slices.Contains(append(slices.Clone(c.words), c.optional...), ps.ws[i].sing) {
						if s, partial := ps.matchColumn(c, lo, m); s >= 58 && !partial {
							return true
						}
					}
				}
			}
		}
	}
	return false
}

// limitNear reads the number of "top 5" and "which 3 … lowest".
func (ps *parser) limitNear(i, n int) {
	k := i + n
	if ps.order == 0 || ps.orderAt != i || k >= len(ps.ws) || ps.used[k] || !ps.ws[k].isNum {
		return
	}
	if v := ps.ws[k].num; v >= 1 && v <= 1000 && v == float64(int(v)) {
		ps.limit = int(v)
		ps.used[k] = true
	}
}

// limitBefore reads "5 customers with the lowest", "the 3 largest", "which three".
func (ps *parser) limitBefore() {
	for k := 0; k < ps.orderAt; k++ {
		w := ps.ws[k]
		if ps.used[k] || !w.isNum || w.num < 1 || w.num > 1000 || w.num != float64(int(w.num)) || ps.at(k-1) == "than" || ps.at(k-1) == "over" {
			continue
		}
		ps.limit = int(w.num)
		ps.used[k] = true
		return
	}
}

// single reads keywords of one word that depend on their place.
func (ps *parser) single(i int) {
	w := ps.ws[i]
	switch {
	case bucketWords[w.low] != "" && !ps.columnHere(i, 1) && !ps.durationUnit(i):
		ps.bucket, ps.used[i] = bucketWords[w.low], true
	case rankAdjectives[w.low].columns != "" && (w.low != "recent"):
		a := rankAdjectives[w.low]
		ps.rankCols = strings.Fields(a.columns)
		dir := 1
		if a.desc {
			dir = -1
		}
		rank(dir)(ps, i)
		ps.used[i] = true
		ps.limitNear(i, 1)
	case w.low == "first" || w.low == "last":
		if ps.at(i+1) != "name" {
			ps.rankCols = []string{"@date"}
			dir := 1
			if w.low == "last" {
				dir = -1
			}
			rank(dir)(ps, i)
			ps.used[i] = true
			ps.limitNear(i, 1)
		}
	case negationWords[w.low] && w.low != "than" && w.low != "from" && w.low != "out":
		if w.low == "no" && i+1 < len(ps.ws) && len(ps.linkValues(i)) > 0 && ps.linkValues(i)[0].hi > i+1 {
			return
		}
		ps.negAt = append(ps.negAt, i)
		ps.used[i] = true
		if w.low == "except" && ps.at(i+1) == "for" {
			ps.used[i+1] = true
		}
	case w.low == "leaving" && ps.at(i+1) == "out", (w.low == "other" || w.low == "rather") && ps.at(i+1) == "than", (w.low == "apart" || w.low == "aside") && ps.at(i+1) == "from":
		ps.negAt = append(ps.negAt, i+1)
		ps.take(i, i+2)
		if (ps.at(i+2) == "those" || ps.at(i+2) == "ones") && ps.at(i+3) == "without" && (ps.at(i+4) == "one" || ps.at(i+4) == "any") {
			ps.negAt = ps.negAt[:len(ps.negAt)-1]
			ps.excludeNil = true
			ps.take(i+2, i+5)
		}
	case w.low == "long" && ps.at(i-1) == "how":
		ps.duration, ps.used[i] = true, true
		ps.used[i-1] = true
	case w.low == "day" || w.low == "days":
		if ps.at(i-1) == "many" && ps.howMany == i-2 {
			ps.duration, ps.used[i] = true, true
		}
	}
}

// negationWords take away what follows them.
var negationWords = set("not excluding exclude excludes except without no ignoring non than from out")

// durationUnit reports whether days are counted rather than grouped by.
func (ps *parser) durationUnit(i int) bool {
	prev := ps.at(i - 1)
	return prev == "many" || prev == "in" && strings.HasSuffix(ps.ws[i].low, "s") || i > 0 && ps.ws[i-1].isNum
}

// comparison words and their signs.
var comparisons = []struct{ text, sign string }{
	{"more than", ">"}, {"greater than", ">"}, {"higher than", ">"}, {"larger than", ">"}, {"bigger than", ">"}, {"longer than", ">"}, {"older than", ">"},
	{"over", ">"}, {"above", ">"}, {"exceeding", ">"}, {"exceeds", ">"}, {"exceed", ">"}, {">", ">"},
	{"less than", "<"}, {"fewer than", "<"}, {"lower than", "<"}, {"smaller than", "<"}, {"shorter than", "<"}, {"cheaper than", "<"}, {"more expensive than", ">"}, {"below", "<"}, {"under", "<"}, {"<", "<"},
	{"at least", ">="}, {"no less than", ">="}, {"minimum of", ">="}, {">=", ">="},
	{"at most", "<="}, {"up to", "<="}, {"no more than", "<="}, {"maximum of", "<="}, {"<=", "<="},
	{"exactly", "="}, {"equal to", "="}, {"equals", "="}, {"=", "="},
}

// conditions finds comparisons with numbers; conditions2 finds what is compared.
func (ps *parser) conditions() {
	for i := 0; i < len(ps.ws); i++ {
		if ps.at(i) == "between" && !ps.used[i] {
			ps.between(i)
			continue
		}
		sign, n := "", 0
		for _, c := range comparisons {
			if m := ps.phrase(i, c.text); m > n {
				sign, n = c.sign, m
			}
		}
		k := i + n
		for k < len(ps.ws) && strings.ContainsAny(ps.at(k), "€$£") {
			k++
		}
		if n == 0 || k >= len(ps.ws) || ps.used[k] || !ps.ws[k].isNum {
			continue
		}
		hi := k + 1
		v := ps.ws[k].num
		if hi < len(ps.ws) && (ps.at(hi) == "thousand" || ps.at(hi) == "million") {
			v *= map[string]float64{"thousand": 1e3, "million": 1e6}[ps.at(hi)]
			hi++
		}
		if ps.negated(i) {
			sign = opposite[sign]
		}
		ps.take(i, hi)
		ps.items = append(ps.items, item{kind: itNumber, lo: i, hi: hi, cond: filter{op: opCompare, sign: sign, num: v}})
		i = hi - 1
	}
}

// opposite are the signs of what is not so.
var opposite = map[string]string{">": "<=", "<": ">=", ">=": "<", "<=": ">", "=": "<>", "<>": "="}

// negated reports whether "not" stands directly before i.
func (ps *parser) negated(i int) bool {
	k := slices.Index(ps.negAt, i-1)
	if k < 0 {
		return false
	}
	ps.negAt = slices.Delete(ps.negAt, k, k+1)
	return true
}

func (ps *parser) between(i int) {
	if i+3 >= len(ps.ws) || !ps.ws[i+1].isNum || ps.at(i+2) != "and" || !ps.ws[i+3].isNum {
		return
	}
	ps.take(i, i+4)
	ps.items = append(ps.items, item{kind: itNumber, lo: i, hi: i + 4, cond: filter{op: opCompare, sign: "between", num: ps.ws[i+1].num, num2: ps.ws[i+3].num}})
}

// conditions2 says of each comparison which column it is about: the one before it
// in the phrase, else the one right after it. Counted rows become a HAVING.
func (ps *parser) conditions2() {
	for k := range ps.items {
		it := &ps.items[k]
		if it.kind != itNumber {
			continue
		}
		if k+1 < len(ps.items) {
			next := &ps.items[k+1]
			if next.lo == it.hi && !next.done && (next.kind == itColumn && next.col().role == roleMeasure || next.kind == itTable) {
				it.cols, it.tables, next.done = next.cols, next.tables, true
				if next.kind == itTable {
					it.cols = nil
				}
				continue
			}
		}
		if c := ps.unitColumn(it.hi); c != nil {
			it.cols = []*column{c}
		}
		if k > 0 {
			prev := &ps.items[k-1]
			if prev.kind == itColumn && !prev.done && !ps.marker(prev.lo-1) && slices.ContainsFunc(prev.cols, func(c *column) bool { return c.role == roleMeasure }) {
				it.cols, prev.done = measuresOf(prev.cols), true
			}
		}
	}
}

func measuresOf(cols []*column) []*column {
	var out []*column
	for _, c := range cols {
		if c.role == roleMeasure {
			out = append(out, c)
		}
	}
	return out
}

// unitColumn is the only column kept in the unit at i: kg, minutes.
func (ps *parser) unitColumn(i int) *column {
	if i >= len(ps.ws) || ps.used[i] || !optionalWords[ps.ws[i].sing] {
		return nil
	}
	var found *column
	for _, t := range ps.p.tables {
		for _, c := range t.cols {
			if c.role == roleMeasure && slices.Contains(c.optional, ps.ws[i].sing) {
				if found != nil {
					return nil
				}
				found = c
			}
		}
	}
	return found
}

func decline(format string, args ...any) *declined {
	return &declined{reason: fmt.Sprintf(format, args...)}
}
