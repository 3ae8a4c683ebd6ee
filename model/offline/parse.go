package offline

import (
	"fmt"
	"iter"
	"maps"
	"slices"
	"strings"

	"github.com/footnotehq/footnote/internal/spelling"
)

// parser turns the words of one question into a plan. Every word is used by exactly one rule, is too small to mean
// anything, or is left over. A left-over word is never ignored.
type parser struct {
	p     *profile
	ws    []word
	used  []bool
	items []*item
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
	second     string          // a second aggregate, which the plan cannot contain
	aggs       []aggregateAt   // all aggregates, with their positions
	extremes   bool            // highest and lowest are figures, not rankings
	often      bool            // the question asks how often something was done
	best       bool            // ranked by “best”, which needs a figure
	negAt      []int
}

// declined says why a question is not answered.
type declined struct {
	reason string
	words  []string // the words that were not understood
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

// compounds splits words as the schema writes them: "unpaid" is not paid.
func (p *profile) compounds(ws []word) []word {
	var out []word
	for i := 0; i < len(ws); i++ {
		w := ws[i]
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
			out = append(out, newWord("not"), rest)
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
	for _, c := range p.columns() {
		for _, w := range c.words {
			if doneWords[w] && (c.role == roleDate && c.nullable || c.role == roleBool) {
				if found != "" {
					return ""
				}
				found = w
			}
		}
	}
	return found
}

// doneWords are words in date columns that mean something ended.
var doneWords = set("closed resolved solved completed finished settled")

// splitNegation splits "unpaid" if the schema knows only "paid".
func (p *profile) splitNegation(w word) (word, bool) {
	rest, ok := strings.CutPrefix(w.low, "un")
	if !ok || len(rest) < 4 || p.words[w.low] || p.words[w.sing] || len(p.values[w.stem]) > 0 {
		return word{}, false
	}
	n := newWord(rest)
	for name := range p.words {
		if matchWord(n, name) > 1 {
			return n, true
		}
	}
	return word{}, false
}

// correct replaces unknown words by the known word of which they are probably a typo, if there is exactly one.
func (ps *parser) correct() {
	for i, w := range ps.ws {
		if w.isNum || len(w.low) < 4 || startsDigit(w.low) || ps.known(w) {
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
		noTypo[w.sing] || months[w.low] > 0 || bucketWords[w.sing] != "" || knownWords(w) ||
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
		rankAdjectives[w.low].columns != "" || partWords[w.low] != ""
}

// nearest returns the only known word that a typo can mean, or "".
func (ps *parser) nearest(w word) string {
	limit := 1
	if len(w.low) >= 8 {
		limit = 2
	}
	best, bestD, many := "", limit+1, false
	try := func(name string) {
		if len(name) < 4 || name[0] != w.low[0] {
			return
		}
		d := spelling.Distance(w.low, name, limit)
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
	for _, names := range []iter.Seq[string]{
		maps.Keys(keywords), maps.Keys(revenueWords), maps.Keys(months), maps.Keys(bucketWords)} {
		for name := range names {
			try(name)
		}
	}
	if bestD <= limit && !many {
		return best // words of values are tried only if nothing else is as near
	}
	if many {
		return ""
	}
	for name := range ps.p.valueWords {
		try(name)
	}
	if many {
		return ""
	}
	return best
}

var keywords = set(
	`average median total count number many much list show which share percent percentage proportion compare versus
	highest lowest largest smallest biggest most least fewest least maximum minimum distinct different without never
	between before after since group breakdown split only exclude excluding median mean canceled cancelled top
	bottom each every month quarter year how what value values cheapest expensive longest oldest newest earliest
	latest first last`)

// operations are words for computations. A typo of another word is never read as one of them.
var operations = set(
	`difference different differ differs minus plus ratio gap delta range spread variance deviation correlation
	increase decrease change growth reduction gain loss product quotient multiply divide subtract rank ranking rate
	mode maximum minimum percentile quartile estimate trend`)

// noTypo are business words that must never be read as a typo of a column.
var noTypo = set(
	`profit margin stock salary budget manager driver supplier vendor login visit visitor click campaign complaint
	refund tax age owner store user member employee student teacher room guest price cost sale order item brand
	color colour size weight height stack state stage page rank rang place plan plane plant part party port post
	sent send sell cell call mail male made date data rate race rice route root good goods best better worst worse
	nice great green well also then them they other another more some same staff start stat team term test text time
	title town trade trip type unit value view week work year zone grow grew grown rise rose risen fall fell fallen
	drop dropped decline declined running cumulative
	monday tuesday wednesday thursday friday saturday sunday`)

// parse reads a whole question.
func (ps *parser) parse() (*plan, *declined) {
	ps.find()
	pl, d := ps.interpret()
	if d != nil && d.reason != "" {
		d.words = ps.unknown()
	}
	return pl, d
}

// find gives each word its meaning.
func (ps *parser) find() {
	ps.dates()
	ps.keywords()
	ps.conditions()
	ps.link()
	ps.linkConditions()
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
		p, n := readDatePhrase(ps.ws[i:])
		if n > 0 && (ps.comparedNumber(i, n)) {
			n = 0
		}
		if n == 0 {
			i++
			continue
		}
		ps.markUsed(i, i+n)
		ps.items = append(ps.items, &item{kind: itPeriod, lo: i, hi: i + n, period: p})
		i += n
	}
	// "March and April 2024": a month takes the year that follows.
	for k := len(ps.items) - 2; k >= 0; k-- {
		if y, ok := ps.items[k+1].period.year(); ok && ps.items[k].period.yearless {
			ps.items[k].period = ps.items[k].period.inYear(y).withBound(ps.items[k].period.bound)
		}
	}
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

// setRank ranks in a direction; by, if any, records by what.
func setRank(dir int, by func(ps *parser)) func(*parser, int) {
	return func(ps *parser, i int) {
		if by != nil {
			by(ps)
		}
		ps.aggs = append(ps.aggs, aggregateAt{agg: map[int]string{-1: aggMax, 1: aggMin}[dir], at: i, rank: true})
		if ps.orderAt < 0 {
			ps.order, ps.orderAt = dir, i
		} else if ps.order != dir {
			ps.conflict = true
		}
	}
}

// byColumns ranks by the first of these columns that a table has.
func byColumns(names string) func(*parser) {
	return func(ps *parser) { ps.rankCols = strings.Fields(names) }
}

func byUse(ps *parser)    { ps.busy = true }
func byBest(ps *parser)   { ps.best = true }
func byTenure(ps *parser) { ps.tenure = true }

// setPercent asks for shares, unless the percent sign is the unit of a number in a comparison: "a refund over 3%".
func setPercent(ps *parser, i int) {
	compared := i > 1 && ps.ws[i-1].isNum && !ps.used[i-1] && (i+1 == len(ps.ws) || ps.at(i+1) != "of") &&
		set("of over above under below than least most to exactly exceeding exceeds exceed equals and > < >= " +
			"<= =")[ps.at(i-2)]
	ps.share = ps.share || !compared
}

func setShare(ps *parser, _ int)   { ps.share = true }
func setCompare(ps *parser, _ int) { ps.compare = true }
func setList(ps *parser, _ int)    { ps.list = true }

func setOrder(dir int) func(*parser, int)      { return func(ps *parser, _ int) { ps.order = dir } }
func setBucket(part string) func(*parser, int) { return func(ps *parser, _ int) { ps.bucket = part } }
func setChart(kind string) func(*parser, int)  { return func(ps *parser, _ int) { ps.chart = kind } }

// rules are the phrases that say what to do. Of several at the same place, the longest counts.
var rules = slices.Concat(
	phrases(setCount, "how many, number of, count of, no of, total number of, count, nr of"),
	phrases(setOften, "how often, how many times, number of times"),
	phrases(setAgg(aggSum), "how much, total, sum of, sum, sum up"),
	phrases(setAgg(aggAvg), "on average, average, avg, mean, averages"),
	phrases(setAgg(aggMedian), "median"),
	phrases(setAgg(aggDistinct), "different, distinct, unique"),
	phrases(setAgg(aggMax), "maximum, max"),
	phrases(setAgg(aggMin), "minimum, min"),
	phrases(setShare, "percentage, percent, percentages, share, shares, proportion, fraction"),
	phrases(setPercent, "%"),
	phrases(setCompare, "compare, compared, versus, vs, comparison"),
	phrases(setOrder(1), "from lowest to highest, from smallest to largest, lowest first, smallest first, ascending"),
	phrases(setOrder(-1), "from highest to lowest, from largest to smallest, highest first, largest first, descending"),
	phrases(setRank(1, byTenure), "with us the longest, with us longest"),
	phrases(setRank(-1, byColumns("@date")), "most recently, most recent"),
	phrases(setRank(-1, byColumns(priceNames)), "most expensive, most costly"),
	phrases(setRank(1, byColumns(priceNames)), "least expensive"),
	phrases(setRank(-1, byColumns(valueNames)), "most valuable"),
	phrases(setRank(1, byColumns(valueNames)), "least valuable"),
	phrases(setRank(-1, byColumns("population")), "most populous"),
	phrases(setRank(1, byColumns("population")), "least populous"),
	phrases(setRank(-1, byUse), "most popular, most common, most frequent, most often, most frequently, most active"),
	phrases(setRank(1, byUse), "least popular, least common, least frequent, least often, least active"),
	phrases(setRank(-1, byBest), "best, best selling, top selling, best sellers, best seller, bestsellers, "+
		"bestselling, most sold"),
	phrases(setRank(1, byBest), "worst, worst selling, least sold"),
	phrases(setRank(-1, nil), "most, highest, largest, biggest, greatest, top"),
	phrases(setRank(1, nil), "least, lowest, smallest, fewest, bottom, tiniest"),
	phrases(func(ps *parser, _ int) { ps.never = true }, "never"),
	phrases(setChart("line"), "as a line chart, as a line, as line chart, line chart, line graph"),
	phrases(setChart("bar"), "as a bar chart, as bars, as a bar, bar chart, as bar chart, bar graph"),
	phrases(setChart("pie"), "as a pie chart, as a pie, pie chart"),
	phrases(setChart("none"), "as a table"),
	phrases(setChart("auto"), "as a chart, chart, plot, graph, draw"),
	phrases(setBucket("weekday"), "day of the week, day of week, days of the week, week day, weekday name"),
	phrases(setBucket("hour"), "hour of the day, hour of day, time of day, time of the day"),
	phrases(setBucket("month of the year"), "month of the year, calendar month, time of year"),
	phrases(func(ps *parser, _ int) { ps.which = true }, "which"),
	phrases(func(ps *parser, _ int) { ps.which, ps.who = true, true }, "who"),
	phrases(setList, "what are the, list, show, display, give me"),
)

func phrases(do func(*parser, int), list string) []rule {
	var out []rule
	for text := range strings.SplitSeq(list, ", ") {
		out = append(out, rule{text, do})
	}
	return out
}

// negationWords negate the words after them.
var negationWords = set(
	"not excluding exclude excludes except without no ignoring non than from out missing lacking lack lacks")

func decline(format string, args ...any) *declined {
	return &declined{reason: fmt.Sprintf(format, args...)}
}
