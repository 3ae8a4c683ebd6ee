package offline

import (
	"fmt"
	"slices"
	"strings"
)

// parser turns the words of one question into a plan. Every word is used by exactly one rule, is too small to mean
// anything, or is left over. A left-over word is never ignored.
type parser struct {
	p     *profile
	ws    []word
	used  []bool
	items []item
	prev  *plan // of the previous question, for follow-ups

	agg        string // what the words ask for
	howMany    int    // position of "how many", or -1
	list       bool
	which      bool
	share      bool
	never      bool
	compare    bool
	order      int
	orderAt    int // position of the ranking word
	limit      int
	rankCols   []string
	bucket     string
	weekdays   []int // only these, Monday being 1
	chart      string
	duration   bool
	durationIn string // the unit it is asked in
	counts     *item  // the table whose rows rank another's
	each       bool
	tenure     bool
	who        bool            // people are asked for
	aged       bool            // ranked by age: oldest, youngest
	busy       bool            // ranked by how much happened: busiest
	conflict   bool            // both ends are asked for
	named      map[*table]bool // tables that nouns of the question name
	ratio      bool            // the average of a number of rows
	second     string          // a second aggregate, which has no place in the plan
	aggs       []aggAt         // all aggregates, where they stand
	extremes   bool            // highest and lowest are figures and do not rank
	roleNotes  []string        // which of several references is meant
	often      bool            // how many times something was done
	growth     bool            // the change from period to period, in percent
	running    bool            // the sum of all periods so far
	sold       bool            // ranked by the pieces sold
	best       bool            // ranked by “best”, which needs a figure
	negAt      []int
	moved      bool // asks for the change from one period to another
	moveAt     int  // position of the word for it, or -1
	moveDir    int  // -1 fell, 1 rose
	excludeNil bool
}

// declined says why a question is not answered.
type declined struct {
	reason string
	words  []string // the words that were not understood
	offer  string   // what the user could say instead
}

func newParser(p *profile, text string) *parser {
	ws, _ := tokenize(text)
	ws = p.compounds(ws)
	ps := &parser{p: p, ws: ws, used: make([]bool, len(ws)), howMany: -1, orderAt: -1, moveAt: -1}
	ps.correct()
	return ps
}

func (ps *parser) at(i int) string {
	if i < 0 || i >= len(ps.ws) {
		return ""
	}
	return ps.ws[i].low
}

// phrase reports whether these words are at i and not yet used.
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

// compoundNouns are pairs of words that mean only the second.
var compoundNouns = map[string]string{
	"support ticket": "ticket", "sale order": "order", "purchase order": "order", "customer order": "order",
	"product item":  "product",
	"hotel booking": "booking", "room booking": "booking", "help desk": "ticket", "client account": "account",
	"customer account": "account",
}

// compounds splits and joins words as the schema writes them: "signed up" is signup, "unpaid" is not paid.
func (p *profile) compounds(ws []word) []word {
	var out []word
	for i := 0; i < len(ws); i++ {
		w := ws[i]
		if i+1 < len(ws) && !ws[i+1].stop {
			n := ws[i+1]
			if joined := newWord(w.stem + n.low); (p.words[joined.low] || p.words[joined.sing]) && !p.words[w.sing] &&
				len(joined.low) > 4 {
				joined.stop = w.stop
				out = append(out, joined)
				i++
				continue
			}
			if _, ok := compoundNouns[w.sing+" "+n.sing]; ok && p.words[n.sing] && !p.words[w.sing] &&
				len(p.values[w.stem]) == 0 {
				n.stop = w.stop
				out = append(out, n)
				i++
				continue
			}
		}
		if (w.low == "je" || w.low == "pro") && i > 0 && i+1 < len(ws) && !p.words[w.low] &&
			len(p.values[w.stem]) == 0 && (p.words[ws[i+1].low] || p.words[ws[i+1].sing]) {
			w = newWord("per") // German, before a name that the data has
		}
		if done := ""; w.low == "open" {
			if done = p.closing(); done != "" {
				out = append(out, newWord("not"), newWord(done))
				continue
			}
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

// closing returns the word for what ends the state "open", if "open" can only mean that: closed, resolved.
func (p *profile) closing() string {
	one := func(v *value) bool { return len(v.words) == 1 }
	if p.words["open"] || slices.ContainsFunc(p.values["open"], one) {
		return ""
	}
	var found string
	for _, t := range p.tables {
		for _, c := range t.cols {
			for _, w := range c.words {
				if doneWords[w] && (c.role == roleDate && c.nullable || c.role == roleBool) {
					if found != "" {
						return ""
					}
					found = w
				}
			}
		}
	}
	return found
}

// doneWords are words in date columns that mean something ended.
var doneWords = set("closed resolved solved completed finished settled")

// negative splits "unpaid" if the data only knows "paid".
func (p *profile) negative(w word) (word, bool) {
	for _, prefix := range []string{"un", "non", "in"} {
		rest, ok := strings.CutPrefix(w.low, prefix)
		if !ok || len(rest) < 4 || p.words[w.low] || p.words[w.sing] || len(p.values[w.stem]) > 0 || filler[w.low] ||
			grammar[w.low] || keywords[w.low] {
			continue
		}
		n := newWord(rest)
		if len(p.values[n.stem]) > 0 && len(p.values[n.stem][0].words) == 1 {
			return n, true
		}
		if p.hasFlag(n) {
			return n, true
		}
		if prefix == "in" {
			continue
		}
		for name := range p.words {
			if m := matchWord(n, name); m > 1 {
				return n, true
			}
		}
	}
	return word{}, false
}

// hasFlag reports whether a word names a yes/no column.
func (p *profile) hasFlag(w word) bool {
	for _, t := range p.tables {
		for _, c := range t.cols {
			if c.role == roleBool &&
				slices.ContainsFunc(c.words, func(name string) bool { return matchWord(w, name) > 0 }) {
				return true
			}
		}
	}
	return false
}

// correct replaces unknown words by the known word they are a typo of, if there is exactly one.
func (ps *parser) correct() {
	for i, w := range ps.ws {
		if w.low == "hwo" || w.low == "hw" || w.low == "ohw" {
			n := newWord("how")
			n.was, n.stop = w.raw, w.stop
			ps.ws[i] = n
		}
		if w.isNum || w.quoted || len(w.low) < 4 || i > 0 && ps.source(i) || startsDigit(w.low) || ps.known(w) {
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
	if filler[w.low] || grammar[w.low] || keywords[w.low] || operations[w.low] || operations[w.sing] || noTypo[w.low] ||
		noTypo[w.sing] || months[w.low] > 0 || seasons[w.low] > 0 || bucketWords[w.sing] != "" || knownWords(w) ||
		revenueWords[w.sing] ||
		ps.p.words[w.low] || ps.p.words[w.sing] || ps.p.said[w.low] || ps.p.said[w.sing] || len(synonym[w.low]) > 0 ||
		len(synonym[w.sing]) > 0 || len(ps.p.values[w.stem]) > 0 {
		return true
	}
	for name := range ps.p.words {
		if matchWord(w, name) > 0 {
			return true
		}
	}
	return false
}

// knownWords are words of the lexicon that are never typos.
func knownWords(w word) bool {
	return lightVerbs[w.low] || verbNouns[w.low] != nil || peopleWords[w.low] || peopleWords[w.sing] ||
		demonyms[w.low] != "" || demonyms[w.sing] != "" ||
		rankAdjectives[w.low].columns != "" || weekdays[w.low] > 0 || weekdays[w.sing] > 0 || partWords[w.low] != "" ||
		moveWord(w)
}

// source reports whether the word at i is only the name of the source, as in "the members of the library".
func (ps *parser) source(i int) bool {
	w := ps.ws[i]
	if !slices.Contains(splitName(ps.p.source), w.sing) || ps.p.words[w.sing] || ps.p.words[w.low] {
		return false
	}
	before := ps.at(i - 1)
	return before == "the" || before == "our" || before == "this" || before == "in" || before == "of" || before == "my"
}

// nearest returns the only known word within reach of a typo.
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

var keywords = set(`average median total count number many much list show which share percent percentage proportion
	compare versus highest
	lowest largest smallest biggest most least fewest least maximum minimum distinct different without never between
	before after since
	group breakdown split only exclude excluding median mean canceled cancelled top bottom each every month quarter
	year how what
	value values cheapest expensive longest oldest newest earliest latest first last`)

// operations are words for what can be done with figures. A typo of another word is never read as one of them.
var operations = set(
	`difference different differ differs minus plus ratio gap delta range spread variance deviation correlation
	increase decrease change
	growth reduction gain loss product quotient multiply divide subtract rank ranking rate mode maximum minimum
	percentile quartile estimate trend`)

// noTypo are business words that must never be read as a typo of a column.
var noTypo = set(`profit margin stock salary budget manager driver supplier vendor login visit visitor click campaign
	complaint refund
	tax age owner store user member employee student teacher room guest price cost sale order item brand color colour
	size weight height
	stack state stage page rank rang place plan plane plant part party port post sent send sell cell call mail male
	made date data
	rate race rice route root good goods best better worst worse nice great green well also then them they other
	another more some same
	staff start stat team term test text time title town trade trip type unit value view week work year zone`)

// parse reads a whole question.
func (ps *parser) parse() (*plan, *declined) {
	ps.days()
	ps.movement()
	ps.dates()
	ps.settleMovement()
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

// unknown returns the words that mean nothing to the planner.
func (ps *parser) unknown() []string {
	var out []string
	for k, w := range ps.ws {
		if !ps.used[k] && !filler[w.low] && !grammar[w.low] && !keywords[w.low] && !w.isNum &&
			wordRune([]rune(w.low + " ")[0]) {
			out = append(out, w.raw)
		}
	}
	return out
}

// dates finds the periods in the question.
func (ps *parser) dates() {
	for i := 0; i < len(ps.ws); {
		if ps.used[i] {
			i++
			continue
		}
		if n := ps.comparedPeriods(i); n > 0 {
			i += n
			continue
		}
		p, n := datePhrase(ps.ws[i:])
		if n > 0 && (ps.comparedNumber(i, n) || ps.p.hasColumn(ps.at(i+n-1))) {
			n = 0
		}
		if n == 0 {
			i++
			continue
		}
		ps.take(i, i+n)
		ps.items = append(ps.items, item{kind: itPeriod, lo: i, hi: i + n, period: p})
		i += n
		i += ps.lastOne(p, i)
		// "in 2023 and 2024", "2023 vs 2024"
		if k := i; k+1 < len(ps.ws) &&
			(ps.at(k) == "and" || ps.at(k) == "vs" || ps.at(k) == "versus" || ps.at(k) == "with" || ps.at(k) == "to" ||
				ps.at(k) == "or") {
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
			ps.items[k].period = ps.items[k].period.inYear(y).bounded(ps.items[k].period.bound)
		}
	}
}

// lastOne reads the second half of "this month with last" at i, and returns its number of words.
func (ps *parser) lastOne(this period, i int) int {
	if this.relative != "this" || !set("with to and against vs versus than")[ps.at(i)] {
		return 0
	}
	k := i + 1
	if ps.at(k) == "the" {
		k++
	}
	if ps.at(k) != "last" && ps.at(k) != "previous" || bucketWords[ps.at(k+1)] != "" ||
		k+1 < len(ps.ws) && ps.ws[k+1].isNum {
		return 0
	}
	if ps.at(k+1) == "one" {
		k++
	}
	ps.take(i, k+1)
	ps.compare = true
	ps.items = append(ps.items, item{
		kind: itPeriod, lo: i + 1, hi: k + 1, period: period{relative: "last", unit: this.unit, size: this.size},
	})
	return k + 1 - i
}

// hasColumn reports whether a column is named like a year, such as 2023.
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

// comparedNumber reports whether the number at i is compared with something, so that it is not read as a year.
func (ps *parser) comparedNumber(i, n int) bool {
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

// rule is a phrase and its meaning.
type rule struct {
	text string
	do   func(ps *parser, i int)
}

func setAgg(a string) func(*parser, int) {
	return func(ps *parser, i int) {
		ps.aggs = append(ps.aggs, aggAt{agg: a, at: i})
		if means[a] && means[ps.agg] && a != ps.agg {
			ps.second = a
		}
		if ps.agg == "" || ps.agg == aggSum || ps.agg == aggCount && a != aggSum {
			ps.agg = a
		}
	}
}

// means are the aggregates of which a question can have only one.
var means = map[string]bool{aggAvg: true, aggMedian: true, aggMin: true, aggMax: true}

func often(ps *parser, i int) {
	ps.often = true
	count(ps, i)
}

func count(ps *parser, i int) {
	ps.aggs = append(ps.aggs, aggAt{agg: aggCount, at: i})
	if ps.howMany < 0 {
		ps.howMany = i
	}
	if ps.agg == "" || ps.agg == aggSum {
		ps.agg = aggCount
	}
}

func rank(dir int) func(*parser, int) {
	return func(ps *parser, i int) {
		ps.aggs = append(ps.aggs, aggAt{agg: map[int]string{-1: aggMax, 1: aggMin}[dir], at: i, rank: true})
		if ps.orderAt < 0 {
			ps.order, ps.orderAt = dir, i
		} else if ps.order != dir {
			ps.conflict = true
		}
	}
}

// percentSign asks for shares, unless it is the unit of a number in a comparison: "a refund over 3%".
func percentSign(ps *parser, i int) {
	compared := i > 1 && ps.ws[i-1].isNum && !ps.used[i-1] && (i+1 == len(ps.ws) || ps.at(i+1) != "of") &&
		set("of over above under below than least most to exactly exceeding exceeds exceed equals and > < >= " +
			"<= =")[ps.at(i-2)]
	ps.share = ps.share || !compared
}

// rules, with longer ones before their prefixes.
var rules = []rule{
	{
		"how many", count,
	}, {
		"how often", often,
	}, {
		"how many times", often,
	}, {
		"number of times", often,
	}, {
		"number of", count,
	}, {"count of", count}, {"no of", count}, {"total number of", count}, {"count", count}, {"nr of", count},
	{
		"how much", setAgg(aggSum),
	}, {"total", setAgg(aggSum)}, {"sum of", setAgg(aggSum)}, {"sum", setAgg(aggSum)}, {"sum up", setAgg(aggSum)},
	{
		"on average", setAgg(aggAvg),
	}, {"average", setAgg(aggAvg)}, {"avg", setAgg(aggAvg)}, {"mean", setAgg(aggAvg)}, {"averages", setAgg(aggAvg)},
	{"median", setAgg(aggMedian)},
	{"different", setAgg(aggDistinct)}, {"distinct", setAgg(aggDistinct)}, {"unique", setAgg(aggDistinct)},
	{"maximum", setAgg(aggMax)}, {"max", setAgg(aggMax)}, {"minimum", setAgg(aggMin)}, {"min", setAgg(aggMin)},
	{
		"percentage", func(ps *parser, _ int) { ps.share = true },
	}, {"percent", func(ps *parser, _ int) { ps.share = true }},
	{"percentages", func(ps *parser, _ int) { ps.share = true }}, {"%", percentSign},
	{"share", func(ps *parser, _ int) { ps.share = true }}, {"shares", func(ps *parser, _ int) { ps.share = true }},
	{
		"proportion", func(ps *parser, _ int) { ps.share = true },
	}, {"fraction", func(ps *parser, _ int) { ps.share = true }},
	{
		"compare", func(ps *parser, _ int) { ps.compare = true },
	}, {"compared", func(ps *parser, _ int) { ps.compare = true }},
	{
		"versus", func(ps *parser, _ int) { ps.compare = true },
	}, {
		"vs", func(ps *parser, _ int) { ps.compare = true },
	}, {"comparison", func(ps *parser, _ int) { ps.compare = true }},
	{
		"from lowest to highest", func(ps *parser, i int) { ps.order = 1 },
	}, {"from highest to lowest", func(ps *parser, i int) { ps.order = -1 }},
	{
		"from smallest to largest", func(ps *parser, i int) { ps.order = 1 },
	}, {"from largest to smallest", func(ps *parser, i int) { ps.order = -1 }},
	{
		"lowest first", func(ps *parser, i int) { ps.order = 1 },
	}, {"highest first", func(ps *parser, i int) { ps.order = -1 }},
	{
		"smallest first", func(ps *parser, i int) { ps.order = 1 },
	}, {"largest first", func(ps *parser, i int) { ps.order = -1 }},
	{"ascending", func(ps *parser, i int) { ps.order = 1 }}, {"descending", func(ps *parser, i int) { ps.order = -1 }},
	{"with us the longest", func(ps *parser, i int) { ps.tenure = true; rank(1)(ps, i) }},
	{"with us longest", func(ps *parser, i int) { ps.tenure = true; rank(1)(ps, i) }},
	{"most recently", func(ps *parser, i int) { ps.rankCols = []string{"@date"}; rank(-1)(ps, i) }},
	{"most recent", func(ps *parser, i int) { ps.rankCols = []string{"@date"}; rank(-1)(ps, i) }},
	{
		"most expensive", rankBy(priceNames, -1),
	}, {"least expensive", rankBy(priceNames, 1)}, {"most costly", rankBy(priceNames, -1)},
	{"most valuable", rankBy(valueNames, -1)}, {"least valuable", rankBy(valueNames, 1)},
	{"most populous", rankBy("population", -1)}, {"least populous", rankBy("population", 1)},
	{
		"most popular", busy(-1),
	}, {"least popular", busy(1)}, {"most common", busy(-1)}, {"least common", busy(1)}, {"most frequent", busy(-1)},
	{
		"least frequent", busy(1),
	}, {
		"most often", busy(-1),
	}, {"most frequently", busy(-1)}, {"least often", busy(1)}, {"most active", busy(-1)}, {"least active", busy(1)},
	{
		"best selling", selling(-1),
	}, {
		"top selling", selling(-1),
	}, {
		"best sellers", selling(-1),
	}, {
		"best seller", selling(-1),
	}, {
		"bestsellers", selling(-1),
	}, {
		"bestselling", selling(-1),
	}, {"most sold", selling(-1)}, {"worst selling", selling(1)}, {"least sold", selling(1)},
	{
		"most", rank(-1),
	}, {
		"highest", rank(-1),
	}, {
		"largest", rank(-1),
	}, {"biggest", rank(-1)}, {"greatest", rank(-1)}, {"top", rank(-1)}, {"best", best(-1)}, {"worst", best(1)},
	{
		"least", rank(1),
	}, {"lowest", rank(1)}, {"smallest", rank(1)}, {"fewest", rank(1)}, {"bottom", rank(1)}, {"tiniest", rank(1)},
	{"never", func(ps *parser, _ int) { ps.never = true }},
	{
		"as a line chart", chart("line"),
	}, {
		"as a line", chart("line"),
	}, {"as line chart", chart("line")}, {"line chart", chart("line")}, {"line graph", chart("line")},
	{
		"as a bar chart", chart("bar"),
	}, {
		"as bars", chart("bar"),
	}, {
		"as a bar", chart("bar"),
	}, {"bar chart", chart("bar")}, {"as bar chart", chart("bar")}, {"bar graph", chart("bar")},
	{
		"as a pie chart", chart("pie"),
	}, {"as a pie", chart("pie")}, {"pie chart", chart("pie")}, {"as a table", chart("none")},
	{
		"as a chart", chart("auto"),
	}, {"chart", chart("auto")}, {"plot", chart("auto")}, {"graph", chart("auto")}, {"draw", chart("auto")},
	{
		"day of the week", by("weekday"),
	}, {
		"day of week", by("weekday"),
	}, {"days of the week", by("weekday")}, {"week day", by("weekday")}, {"weekday name", by("weekday")},
	{
		"hour of the day", by("hour"),
	}, {"hour of day", by("hour")}, {"time of day", by("hour")}, {"time of the day", by("hour")},
	{
		"month of the year", by("month of the year"),
	}, {"calendar month", by("month of the year")}, {"time of year", by("month of the year")},
	{
		"month over month", growth("month"),
	}, {
		"month on month", growth("month"),
	}, {"from month to month", growth("month")}, {"month to month", growth("month")}, {"mom", growth("month")},
	{
		"year over year", growth("year"),
	}, {
		"year on year", growth("year"),
	}, {"from year to year", growth("year")}, {"yoy", growth("year")}, {"quarter over quarter", growth("quarter")},
	{
		"quarter on quarter", growth("quarter"),
	}, {
		"from quarter to quarter", growth("quarter"),
	}, {"qoq", growth("quarter")}, {"week over week", growth("week")}, {"from week to week", growth("week")},
	{
		"monthly growth", growth("month"),
	}, {
		"yearly growth", growth("year"),
	}, {"annual growth", growth("year")}, {"quarterly growth", growth("quarter")}, {"weekly growth", growth("week")},
	{
		"growth rate", growth(""),
	}, {
		"growth", growth(""),
	}, {"percentage change", growth("")}, {"percent change", growth("")}, {"change in percent", growth("")},
	{
		"running total", running,
	}, {
		"running sum", running,
	}, {
		"running count", running,
	}, {"cumulative", running}, {"cumulated", running}, {"cumulatively", running}, {"accumulated", running},
	{
		"which", func(ps *parser, _ int) { ps.which = true },
	}, {"what are the", list}, {"who", func(ps *parser, _ int) { ps.which, ps.who = true, true }},
	{"list", list}, {"show", list}, {"display", list}, {"give me", list},
}

func rankBy(columns string, dir int) func(*parser, int) {
	return func(ps *parser, i int) {
		ps.rankCols = strings.Fields(columns)
		rank(dir)(ps, i)
	}
}

func busy(dir int) func(*parser, int) {
	return func(ps *parser, i int) {
		ps.busy = true
		rank(dir)(ps, i)
	}
}

func by(part string) func(*parser, int) { return func(ps *parser, _ int) { ps.bucket = part } }

// growth asks for the change from each period to the next.
func growth(size string) func(*parser, int) {
	return func(ps *parser, _ int) {
		ps.growth = true
		if size != "" {
			ps.bucket = size
		}
	}
}

func running(ps *parser, _ int) { ps.running = true }

func best(dir int) func(*parser, int) {
	return func(ps *parser, i int) {
		ps.best = true
		rank(dir)(ps, i)
	}
}

// selling ranks by the number of pieces sold.
func selling(dir int) func(*parser, int) {
	return func(ps *parser, i int) {
		ps.sold = true
		rank(dir)(ps, i)
	}
}

func list(ps *parser, _ int) { ps.list = true }

func chart(kind string) func(*parser, int) { return func(ps *parser, _ int) { ps.chart = kind } }

// negationWords negate what follows them.
var negationWords = set(
	"not excluding exclude excludes except without no ignoring non than from out missing lacking lack lacks")

func decline(format string, args ...any) *declined {
	return &declined{reason: fmt.Sprintf(format, args...)}
}
