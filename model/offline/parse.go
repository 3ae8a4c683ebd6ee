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

	agg        string // aggregate that the words ask for
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
	weekdays   []int // only these days; 1 is Monday
	chart      string
	duration   bool
	durationIn string // requested unit of the duration
	counts     *item  // table whose rows are counted to rank another table
	each       bool
	tenure     bool
	who        bool            // the question asks for people
	aged       bool            // ranked by age: oldest, youngest
	busy       bool            // ranked by how much happened: busiest
	conflict   bool            // the question asks for both the highest and the lowest
	named      map[*table]bool // tables that nouns of the question name
	ratio      bool            // the question asks for the average number of rows
	second     string          // a second aggregate, which the plan cannot contain
	aggs       []aggregateAt   // all aggregates, with their positions
	extremes   bool            // highest and lowest are figures, not rankings
	roleNotes  []string        // notes about the chosen one of several references
	often      bool            // the question asks how often something was done
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
			if done = p.closingWord(); done != "" {
				out = append(out, newWord("not"), newWord(done))
				continue
			}
		}
		if rest, ok := p.splitNegation(w); ok {
			not := newWord("not")
			not.stop = w.stop
			out = append(out, not, rest)
			continue
		}
		out = append(out, w)
	}
	return out
}

// closingWord returns the word for the end of the state "open", such as closed or resolved, if "open" can mean nothing
// else. Otherwise it returns "".
func (p *profile) closingWord() string {
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

// splitNegation splits "unpaid" if the data knows only "paid".
func (p *profile) splitNegation(w word) (word, bool) {
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

// correct replaces unknown words by the known word of which they are probably a typo, if there is exactly one.
func (ps *parser) correct() {
	for i, w := range ps.ws {
		if w.low == "hwo" || w.low == "hw" || w.low == "ohw" {
			n := newWord("how")
			n.was, n.stop = w.raw, w.stop
			ps.ws[i] = n
		}
		if w.isNum || w.quoted || len(w.low) < 4 || i > 0 && ps.isSourceName(i) || startsDigit(w.low) || ps.known(w) {
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
		ps.p.words[w.low] || ps.p.words[w.sing] || ps.p.valueWords[w.low] || ps.p.valueWords[w.sing] ||
		len(synonym[w.low]) > 0 ||
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

// knownWords reports whether a word is in the lexicon, so that it is never a typo.
func knownWords(w word) bool {
	return lightVerbs[w.low] || verbNouns[w.low] != nil || peopleWords[w.low] || peopleWords[w.sing] ||
		demonyms[w.low] != "" || demonyms[w.sing] != "" ||
		rankAdjectives[w.low].columns != "" || weekdays[w.low] > 0 || weekdays[w.sing] > 0 || partWords[w.low] != "" ||
		moveWord(w)
}

// isSourceName reports whether the word at i is only the name of the source, as in "the members of the library".
func (ps *parser) isSourceName(i int) bool {
	w := ps.ws[i]
	if !slices.Contains(splitName(ps.p.source), w.sing) || ps.p.words[w.sing] || ps.p.words[w.low] {
		return false
	}
	before := ps.at(i - 1)
	return before == "the" || before == "our" || before == "this" || before == "in" || before == "of" || before == "my"
}

// nearest returns the only known word that a typo can mean, or "".
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
		return best // words of values are tried only if nothing else is as near
	}
	if many {
		return ""
	}
	weak = true
	for name := range ps.p.valueWords {
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

// operations are words for computations. A typo of another word is never read as one of them.
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
	ps.decideMovement()
	ps.keywords()
	ps.conditions()
	ps.link()
	ps.linkConditions()
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
		p, n := readDatePhrase(ps.ws[i:])
		if n > 0 && (ps.comparedNumber(i, n) || ps.p.hasColumn(ps.at(i+n-1))) {
			n = 0
		}
		if n == 0 {
			i++
			continue
		}
		ps.markUsed(i, i+n)
		ps.items = append(ps.items, item{kind: itPeriod, lo: i, hi: i + n, period: p})
		i += n
		// "in 2023 and 2024", "2023 vs 2024"
		if k := i; k+1 < len(ps.ws) &&
			(ps.at(k) == "and" || ps.at(k) == "vs" || ps.at(k) == "versus" || ps.at(k) == "with" || ps.at(k) == "to" ||
				ps.at(k) == "or") {
			if q, m := readDatePhrase(ps.ws[k+1:]); m > 0 && q.size == p.size && p.size != "" {
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
			ps.items[k].period = ps.items[k].period.inYear(y).withBound(ps.items[k].period.bound)
		}
	}
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
		ps.aggs = append(ps.aggs, aggregateAt{agg: a, at: i})
		if singleAggs[a] && singleAggs[ps.agg] && a != ps.agg {
			ps.second = a
		}
		if ps.agg == "" || ps.agg == aggSum || ps.agg == aggCount && a != aggSum {
			ps.agg = a
		}
	}
}

// singleAggs are the aggregates of which a question can have only one.
var singleAggs = map[string]bool{aggAvg: true, aggMedian: true, aggMin: true, aggMax: true}

func setOften(ps *parser, i int) {
	ps.often = true
	setCount(ps, i)
}

func setCount(ps *parser, i int) {
	ps.aggs = append(ps.aggs, aggregateAt{agg: aggCount, at: i})
	if ps.howMany < 0 {
		ps.howMany = i
	}
	if ps.agg == "" || ps.agg == aggSum {
		ps.agg = aggCount
	}
}

func setRank(dir int) func(*parser, int) {
	return func(ps *parser, i int) {
		ps.aggs = append(ps.aggs, aggregateAt{agg: map[int]string{-1: aggMax, 1: aggMin}[dir], at: i, rank: true})
		if ps.orderAt < 0 {
			ps.order, ps.orderAt = dir, i
		} else if ps.order != dir {
			ps.conflict = true
		}
	}
}

// setPercent asks for shares, unless the percent sign is the unit of a number in a comparison: "a refund over 3%".
func setPercent(ps *parser, i int) {
	compared := i > 1 && ps.ws[i-1].isNum && !ps.used[i-1] && (i+1 == len(ps.ws) || ps.at(i+1) != "of") &&
		set("of over above under below than least most to exactly exceeding exceeds exceed equals and > < >= " +
			"<= =")[ps.at(i-2)]
	ps.share = ps.share || !compared
}

// rules, with longer ones before their prefixes.
var rules = []rule{
	{
		"how many", setCount,
	}, {
		"how often", setOften,
	}, {
		"how many times", setOften,
	}, {
		"number of times", setOften,
	}, {
		"number of", setCount,
	}, {"count of", setCount}, {"no of", setCount}, {"total number of", setCount}, {"count", setCount},
	{"nr of", setCount},
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
	{"percentages", func(ps *parser, _ int) { ps.share = true }}, {"%", setPercent},
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
	{"with us the longest", func(ps *parser, i int) { ps.tenure = true; setRank(1)(ps, i) }},
	{"with us longest", func(ps *parser, i int) { ps.tenure = true; setRank(1)(ps, i) }},
	{"most recently", func(ps *parser, i int) { ps.rankCols = []string{"@date"}; setRank(-1)(ps, i) }},
	{"most recent", func(ps *parser, i int) { ps.rankCols = []string{"@date"}; setRank(-1)(ps, i) }},
	{
		"most expensive", setRankBy(priceNames, -1),
	}, {"least expensive", setRankBy(priceNames, 1)}, {"most costly", setRankBy(priceNames, -1)},
	{"most valuable", setRankBy(valueNames, -1)}, {"least valuable", setRankBy(valueNames, 1)},
	{"most populous", setRankBy("population", -1)}, {"least populous", setRankBy("population", 1)},
	{
		"most popular", setBusy(-1),
	}, {"least popular", setBusy(1)}, {"most common", setBusy(-1)}, {"least common", setBusy(1)},
	{"most frequent", setBusy(-1)},
	{
		"least frequent", setBusy(1),
	}, {
		"most often", setBusy(-1),
	}, {"most frequently", setBusy(-1)}, {"least often", setBusy(1)}, {"most active", setBusy(-1)},
	{"least active", setBusy(1)},
	{
		"best selling", setSelling(-1),
	}, {
		"top selling", setSelling(-1),
	}, {
		"best sellers", setSelling(-1),
	}, {
		"best seller", setSelling(-1),
	}, {
		"bestsellers", setSelling(-1),
	}, {
		"bestselling", setSelling(-1),
	}, {"most sold", setSelling(-1)}, {"worst selling", setSelling(1)}, {"least sold", setSelling(1)},
	{
		"most", setRank(-1),
	}, {
		"highest", setRank(-1),
	}, {
		"largest", setRank(-1),
	}, {"biggest", setRank(-1)}, {"greatest", setRank(-1)}, {"top", setRank(-1)}, {"best", setBest(-1)},
	{"worst", setBest(1)},
	{
		"least", setRank(1),
	}, {"lowest", setRank(1)}, {"smallest", setRank(1)}, {"fewest", setRank(1)}, {"bottom", setRank(1)},
	{"tiniest", setRank(1)},
	{"never", func(ps *parser, _ int) { ps.never = true }},
	{
		"as a line chart", setChart("line"),
	}, {
		"as a line", setChart("line"),
	}, {"as line chart", setChart("line")}, {"line chart", setChart("line")}, {"line graph", setChart("line")},
	{
		"as a bar chart", setChart("bar"),
	}, {
		"as bars", setChart("bar"),
	}, {
		"as a bar", setChart("bar"),
	}, {"bar chart", setChart("bar")}, {"as bar chart", setChart("bar")}, {"bar graph", setChart("bar")},
	{
		"as a pie chart", setChart("pie"),
	}, {"as a pie", setChart("pie")}, {"pie chart", setChart("pie")}, {"as a table", setChart("none")},
	{
		"as a chart", setChart("auto"),
	}, {"chart", setChart("auto")}, {"plot", setChart("auto")}, {"graph", setChart("auto")}, {"draw", setChart("auto")},
	{
		"day of the week", setBucket("weekday"),
	}, {
		"day of week", setBucket("weekday"),
	}, {"days of the week", setBucket("weekday")}, {"week day", setBucket("weekday")},
	{"weekday name", setBucket("weekday")},
	{
		"hour of the day", setBucket("hour"),
	}, {"hour of day", setBucket("hour")}, {"time of day", setBucket("hour")}, {"time of the day", setBucket("hour")},
	{
		"month of the year", setBucket("month of the year"),
	}, {"calendar month", setBucket("month of the year")}, {"time of year", setBucket("month of the year")},
	{
		"month over month", setGrowth("month"),
	}, {
		"month on month", setGrowth("month"),
	}, {"from month to month", setGrowth("month")}, {"month to month", setGrowth("month")}, {"mom", setGrowth("month")},
	{
		"year over year", setGrowth("year"),
	}, {
		"year on year", setGrowth("year"),
	}, {"from year to year", setGrowth("year")}, {"yoy", setGrowth("year")},
	{"quarter over quarter", setGrowth("quarter")},
	{
		"quarter on quarter", setGrowth("quarter"),
	}, {
		"from quarter to quarter", setGrowth("quarter"),
	}, {"qoq", setGrowth("quarter")}, {"week over week", setGrowth("week")}, {"from week to week", setGrowth("week")},
	{
		"monthly growth", setGrowth("month"),
	}, {
		"yearly growth", setGrowth("year"),
	}, {"annual growth", setGrowth("year")}, {"quarterly growth", setGrowth("quarter")},
	{"weekly growth", setGrowth("week")},
	{
		"growth rate", setGrowth(""),
	}, {
		"growth", setGrowth(""),
	}, {"percentage change", setGrowth("")}, {"percent change", setGrowth("")}, {"change in percent", setGrowth("")},
	{
		"running total", setRunning,
	}, {
		"running sum", setRunning,
	}, {
		"running count", setRunning,
	}, {"cumulative", setRunning}, {"cumulated", setRunning}, {"cumulatively", setRunning}, {"accumulated", setRunning},
	{
		"which", func(ps *parser, _ int) { ps.which = true },
	}, {"what are the", setList}, {"who", func(ps *parser, _ int) { ps.which, ps.who = true, true }},
	{"list", setList}, {"show", setList}, {"display", setList}, {"give me", setList},
}

func setRankBy(columns string, dir int) func(*parser, int) {
	return func(ps *parser, i int) {
		ps.rankCols = strings.Fields(columns)
		setRank(dir)(ps, i)
	}
}

func setBusy(dir int) func(*parser, int) {
	return func(ps *parser, i int) {
		ps.busy = true
		setRank(dir)(ps, i)
	}
}

func setBucket(part string) func(*parser, int) { return func(ps *parser, _ int) { ps.bucket = part } }

// setGrowth asks for the change from each period to the next.
func setGrowth(size string) func(*parser, int) {
	return func(ps *parser, _ int) {
		ps.growth = true
		if size != "" {
			ps.bucket = size
		}
	}
}

func setRunning(ps *parser, _ int) { ps.running = true }

func setBest(dir int) func(*parser, int) {
	return func(ps *parser, i int) {
		ps.best = true
		setRank(dir)(ps, i)
	}
}

// setSelling ranks by the number of pieces sold.
func setSelling(dir int) func(*parser, int) {
	return func(ps *parser, i int) {
		ps.sold = true
		setRank(dir)(ps, i)
	}
}

func setList(ps *parser, _ int) { ps.list = true }

func setChart(kind string) func(*parser, int) { return func(ps *parser, _ int) { ps.chart = kind } }

// negationWords negate the words after them.
var negationWords = set(
	"not excluding exclude excludes except without no ignoring non than from out missing lacking lack lacks")

func decline(format string, args ...any) *declined {
	return &declined{reason: fmt.Sprintf(format, args...)}
}
