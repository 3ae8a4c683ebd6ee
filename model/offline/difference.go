package offline

import (
	"slices"
	"strings"
)

// This file handles questions about how much a figure changed between two periods: "how much did revenue grow from
// September to October", "the difference in fees between 2023 and 2024". The answer has both figures and the
// difference, for each group if the question names one.

// moveVerbs are verbs of change and moveNouns are nouns of change, each with its direction.
var (
	moveVerbs = map[string]int{
		"grow": 1, "grew": 1, "grown": 1, "rise": 1, "rose": 1, "risen": 1, "increase": 1, "increased": 1, "improve": 1,
		"improved": 1,
		"fall":     -1, "fell": -1, "fallen": -1, "drop": -1, "dropped": -1, "decline": -1, "declined": -1,
		"decrease":  -1,
		"decreased": -1, "shrink": -1, "shrank": -1, "shrunk": -1,
		"change": 0, "changed": 0, "differ": 0,
	}
	moveNouns = map[string]int{
		"growth": 1, "increase": 1, "rise": 1, "decrease": -1, "drop": -1, "decline": -1, "change": 0, "difference": 0,
	}
)

// moveWord reports whether a word says that a figure changed.
func moveWord(w word) bool {
	_, verb := moveVerbs[w.low]
	_, noun := moveNouns[w.low]
	return verb || noun
}

// movement finds the word that asks how much a figure changed. Over a series of periods, such as months, it asks for a
// development instead.
func (ps *parser) movement() {
	seen := map[string]bool{}
	for i, w := range ps.ws {
		size := bucketWords[w.sing]
		if set("last this previous current")[ps.at(i-1)] {
			continue
		}
		if size != "" && (i > 0 && ps.isGroupWord(i-1) || w.low != size ||
			seen[size]) { // by month, monthly, month to month
			return
		}
		seen[size] = true
	}
	for i, w := range ps.ws {
		if ps.p.words[w.low] || ps.p.words[w.sing] || len(ps.p.values[w.stem]) > 0 {
			continue
		}
		dir, verb := moveVerbs[w.low]
		if way, up := map[string]int{"up": 1, "down": -1}[ps.at(i+1)]; up &&
			(w.low == "go" || w.low == "went" || w.low == "gone") {
			dir, verb = way, true
		}
		if verb && ps.isMovement(i) {
			ps.moved, ps.moveAt, ps.moveDir = true, i, dir
			return
		}
		if dir, noun := moveNouns[w.low]; noun {
			ps.moveAt, ps.moveDir = i, dir // moved, where two periods follow
		}
	}
}

// isMovement reports whether the verb at i says how a figure changed: "how much did revenue grow", but not "how much
// wheat did we grow".
func (ps *parser) isMovement(i int) bool {
	if set("we they i you he she it")[ps.at(i-1)] {
		return false
	}
	for k := range i {
		if set("did has have")[ps.at(k)] {
			return k == 0 || ps.at(k-1) == "much" || ps.at(k-1) == "how"
		}
	}
	return (ps.which || ps.at(0) == "which") && ps.at(i+1) == "most"
}

// readFromTo reads two periods to compare: "from September to October".
func readFromTo(ws []word) (a, b period, n int) {
	if len(ws) < 4 || ws[0].low != "between" && ws[0].low != "from" {
		return a, b, 0
	}
	a, n = readCalendarOrRelative(ws[1:])
	if n == 0 || 1+n >= len(ws) || !set("and to until till through")[ws[1+n].low] {
		return a, b, 0
	}
	b, m := readCalendarOrRelative(ws[2+n:])
	if m == 0 || a.size == "" || a.size != b.size {
		return a, b, 0
	}
	if y, ok := b.year(); ok {
		a = a.inYear(y)
	}
	return a, b, 2 + n + m
}

func readCalendarOrRelative(ws []word) (period, int) {
	if p, n := readRelative(ws); n > 0 {
		return p, n
	}
	return readCalendar(ws)
}

// comparedPeriods reads "from A to B" at i as two periods if the question asks for a change.
func (ps *parser) comparedPeriods(i int) int {
	if ps.moveAt < 0 {
		return 0
	}
	a, b, n := readFromTo(ps.ws[i:])
	if n == 0 {
		return 0
	}
	ps.markUsed(i, i+n)
	ps.items = append(ps.items, item{
		kind: itPeriod, lo: i, hi: i + 1, period: a,
	}, item{kind: itPeriod, lo: i + 1, hi: i + n, period: b})
	return n
}

// decideMovement decides, once the periods are known, whether the question asks for a change.
func (ps *parser) decideMovement() {
	if ps.moveAt < 0 {
		return
	}
	its := ps.nouns(itPeriod)
	if !ps.moved {
		ps.moved = len(its) == 2 && its[0].period.size != "" && its[0].period.size == its[1].period.size
	}
	if !ps.moved {
		return
	}
	ps.compare, ps.used[ps.moveAt] = false, true
	if k := ps.moveAt + 1; ps.at(k) == "up" || ps.at(k) == "down" || ps.at(k) == "rate" {
		ps.used[k] = true
	}
	for k := range ps.ws {
		if set("percent percentage % how much")[ps.at(k)] && !ps.used[k] {
			ps.used[k] = true // the answer has both, the difference and how much it is in percent
		}
	}
}

// movedPeriods chooses the two periods of a change: those that are stated, or the stated one and the one before it.
func (ps *parser) movedPeriods(pl *plan) *declined {
	its := ps.nouns(itPeriod)
	date := ps.dateFor(pl)
	switch {
	case date == nil || date.max == "" || !pl.base.reaches(date.t):
		return decline("I found no date to compare periods by.")
	case len(its) == 0 || len(its) > 2:
		return decline("Say between which two periods, such as from 2023 to 2024.")
	case pl.kind != kindAggregate || len(pl.measures) != 1 || !pl.measures[0].comparable():
		return decline("I can compare one total, count or average between two periods.")
	}
	var found []period
	for _, it := range its {
		p, ok := it.period.resolve(date)
		if !ok || p.from == "" || p.to == "" || p.size == "" {
			return decline("I can compare two months, quarters or years, and “%s” is none.", ps.textOf(it))
		}
		it.done = true
		found = append(found, p)
	}
	ch := &change{date: date, dir: ps.moveDir, to: found[len(found)-1]}
	if ch.from = ch.to.before(); len(found) == 2 {
		ch.from = found[0]
	}
	if ch.from.from > ch.to.from && its[0].period.yearless {
		if y, ok := ch.from.year(); ok {
			ch.from = its[0].period.inYear(y - 1)
		}
	}
	switch {
	case ch.from.size != ch.to.size || ch.from.from == ch.to.from:
		return decline("I cannot compare those periods.")
	case date.min != "" && min(ch.from.to, ch.to.to) <= date.min:
		return decline("The data begins on %s, so there is nothing before to compare with.", date.min)
	case max(ch.from.from, ch.to.from) > date.max:
		return decline("The data ends on %s, so there is nothing after to compare with.", date.max)
	}
	if last := max(ch.from.to, ch.to.to); dayAfter(date.max) < last {
		pl.notes = append(pl.notes, "the data ends on "+date.max)
	}
	pl.change = ch
	return nil
}

// comparable reports whether a measure can be computed for each of two periods.
func (m measure) comparable() bool {
	return m.per == nil && m.agg != aggMedian && m.agg != aggMargin &&
		(m.col == nil || m.col.role != roleDate || m.since != nil || m.agg == aggDistinct)
}

// within returns a measure over the rows for which a condition holds.
func (w *sqlWriter) within(m measure, cond string) string {
	only := func(value string) string { return "CASE WHEN " + cond + " THEN " + value }
	switch {
	case m.agg == aggCount && m.entity != nil && w.pl.base.refTo(m.entity) != nil:
		return "COUNT(DISTINCT " + only(w.col(w.pl.base.refTo(m.entity))) + " END)"
	case m.agg == aggCount:
		return "SUM(" + only("1") + " ELSE 0 END)"
	case m.agg == aggDistinct:
		return "COUNT(DISTINCT " + only(w.value(m)) + " END)"
	case m.agg == aggSum:
		return "SUM(" + only(w.value(m)) + " ELSE 0 END)"
	}
	return strings.ToUpper(m.agg) + "(" + only(w.value(m)) + " END)"
}

// writeDifference writes how one figure changed.
func (w *Writer) writeDifference(pl *plan, res Result) {
	delta, ok := Number(res.Rows[0][2])
	if !ok {
		w.Text("There are no figures in ")
		w.echo(pl.change.from.words + " and " + pl.change.to.words)
		w.Text(" to compare.")
		return
	}
	w.writeMovement(pl, res, 0, delta)
	if delta != 0 {
		w.Text(" The difference is **")
		w.Cell(res, 0, 2, true, false)
		w.Text("**")
		if res.Rows[0][3] != nil {
			w.Text(", ")
			w.Cell(res, 0, 3, true, true)
		}
		w.Text(".")
	}
	if slices.Contains(pl.notes, "the data ends on "+pl.change.date.max) {
		w.Text(" The data ends before ")
		w.echo(pl.change.to.words)
		w.Text(" does.")
	}
}
