package offline

import (
	"slices"
	"strings"
)

// This file reads keywords, which say what to do, and the numbers that belong to them.

// keywords finds the words that say what to do, and the sizes of periods.
func (ps *parser) keywords() {
	for i := 0; i < len(ps.ws); i++ {
		if ps.used[i] {
			continue
		}
		if v := ps.linkValues(i); len(v) > 0 && v[0].hi > i+1 && v[0].score == 54 {
			i = v[0].hi - 1 // "no show" is neither a negation nor a request to show something
			continue
		}
		best, n := rule{}, 0
		for _, r := range rules {
			if m := ps.phrase(i, r.text); m > n {
				best, n = r, m
			}
		}
		if n > 0 && best.do != nil && !ps.columnHere(i, n) && !ps.isComparative(i) && !ps.totalColumn(i, n) {
			best.do(ps, i)
			ps.markUsed(i, i+n)
			ps.limitNear(i, n)
			i += n - 1
			continue
		}
		ps.singleKeyword(i)
	}
	if ps.limit == 0 && ps.order != 0 {
		ps.limitBefore()
	}
	ps.readMoreOf()
	for k := 1; k < len(ps.ws) && ps.list && ps.limit == 0 && ps.order == 0; k++ {
		w, before := ps.ws[k], ps.at(k-1)
		if w.isNum && !ps.used[k] && w.num >= 1 && w.num <= 1000 && w.num == float64(int(w.num)) &&
			(before == "show" || before == "list" || before == "display" || before == "me" || before == "any") {
			ps.limit, ps.used[k] = int(w.num), true // "show 5 visits"
		}
	}
}

// readMoreOf reads "which city has more shops, Graz or Linz" and "did 2023 have more orders than 2024" as comparisons.
// "More than" a number is a condition instead.
func (ps *parser) readMoreOf() {
	for i, w := range ps.ws {
		if ps.used[i] || w.low != "more" && w.low != "fewer" && w.low != "less" && w.low != "higher" &&
			w.low != "lower" && w.low != "bigger" || ps.at(i+1) == "than" {
			continue
		}
		for k := i + 1; k < len(ps.ws); k++ {
			than := ps.at(k) == "than" && k+1 < len(ps.ws) && !ps.ws[k+1].isNum || ps.at(k) == "than" && ps.used[k+1]
			if (than || ps.at(k) == "or") && ps.comparable(k, ps.at(k) == "than") {
				ps.compare, ps.who = true, false // "who" means one of the named values
				ps.used[i], ps.used[k] = true, true
				return
			}
		}
	}
}

// comparable reports whether there is a value or a period on both sides of k, or two after it.
func (ps *parser) comparable(k int, after bool) bool {
	value := func(lo, hi int) bool {
		for i := max(lo, 0); i < min(hi, len(ps.ws)); i++ {
			if it := ps.itemAt(i); it != nil && it.kind == itPeriod || !ps.used[i] && len(ps.linkValues(i)) > 0 {
				return true
			}
		}
		return false
	}
	return value(k+1, k+4) && (after && value(0, k) || value(k-3, k))
}

// totalColumn reports whether "total" is the name of a column, because nothing after it could be added up.
func (ps *parser) totalColumn(i, n int) bool {
	if n != 1 || ps.at(i) != "total" ||
		!slices.ContainsFunc(ps.p.tables, func(t *table) bool {
			c := t.col("total")
			return c != nil && c.role == roleMeasure
		}) {
		return false
	}
	switch ps.at(i + 1) {
	case "", "by", "per", "and", "for", "in", "over", "above", "below", "each", "across", "during", "from", "since",
		"between":
		return true
	}
	return i+1 < len(ps.ws) && ps.ws[i+1].stop
}

// isComparative reports whether "most" or "least" belongs to a comparison.
func (ps *parser) isComparative(i int) bool { return ps.at(i-1) == "at" }

// columnHere reports whether a keyword is part of a column's name. "Total amount" is a sum, but "share price" and "Mean
// Score" are columns.
func (ps *parser) columnHere(i, n int) bool {
	if n != 1 && ps.at(i) != "count" {
		return false
	}
	for m := 2; m <= 3 && i+m <= len(ps.ws); m++ {
		for _, lo := range []int{i, i - m + 1} {
			if lo < 0 || lo+m > len(ps.ws) {
				continue
			}
			for _, c := range ps.p.columns() {
				if slices.Contains(c.names(), ps.ws[i].sing) {
					if s, partial := ps.matchColumn(c, lo, m); s >= 58 && !partial {
						return true
					}
				}
			}
		}
	}
	return false
}

// limitNear reads the number in "top 5" and "which 3 … lowest".
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

// limitBefore reads the number in "5 customers with the lowest", "the 3 largest", "which three".
func (ps *parser) limitBefore() {
	for k := 0; k < ps.orderAt; k++ {
		w := ps.ws[k]
		if ps.used[k] || !w.isNum || w.num < 1 || w.num > 1000 || w.num != float64(int(w.num)) ||
			ps.at(k-1) == "than" || ps.at(k-1) == "over" {
			continue
		}
		ps.limit = int(w.num)
		ps.used[k] = true
		return
	}
}

// singleKeyword reads keywords of one word whose meaning depends on their position.
func (ps *parser) singleKeyword(i int) {
	w := ps.ws[i]
	switch {
	case partWords[w.low] != "" && !ps.p.words[w.sing] && !ps.isDurationUnit(i) && !ps.isUnitOfNumber(i):
		ps.bucket, ps.used[i] = partWords[w.low], true
	case bucketWords[w.sing] != "" && w.low != w.sing && ps.at(i-1) == "the" &&
		(ps.at(i-2) == "over" || ps.at(i-2) == "across") && !ps.p.words[w.sing]:
		ps.bucket = bucketWords[w.sing] // "over the quarters"
		ps.markUsed(i-2, i+1)
	case bucketWords[w.low] != "" && ps.isCompoundPart(i):
		ps.used[i] = true // "annual fee" for Jahresbeitrag
	case bucketWords[w.low] != "" && ps.qualifiesRows(i):
		// "day tickets" are a kind of ticket, not groups by day
	case bucketWords[w.low] != "" && !ps.columnHere(i, 1) && !ps.isDurationUnit(i):
		ps.bucket, ps.used[i] = bucketWords[w.low], true
	case rankAdjectives[w.low].columns != "" && (w.low != "recent"):
		a := rankAdjectives[w.low]
		ps.rankCols = strings.Fields(a.columns)
		switch a.columns {
		case "@birth":
			ps.aged, ps.rankCols = true, []string{"@date"}
		case "@count":
			ps.busy, ps.rankCols = true, nil
		}
		dir := 1
		if a.desc {
			dir = -1
		}
		setRank(dir, nil)(ps, i)
		ps.used[i] = true
		ps.limitNear(i, 1)
	case w.low == "first" || w.low == "last":
		if ps.at(i+1) != "name" && !ps.columnHere(i, 1) {
			ps.rankCols = []string{"@date"}
			dir := 1
			if w.low == "last" {
				dir = -1
			}
			setRank(dir, nil)(ps, i)
			ps.used[i] = true
			ps.limitNear(i, 1)
		}
	case negationWords[w.low] && w.low != "than" && w.low != "from" && w.low != "out":
		if w.low == "no" && slices.ContainsFunc(append(ps.linkValues(i), ps.linkColumns(i)...), func(it item) bool {
			return it.hi > i+1 && !it.partial
		}) {
			return
		}
		ps.negAt = append(ps.negAt, i)
		ps.used[i] = true
	case w.low == "long" && ps.at(i-1) == "how":
		ps.duration, ps.used[i] = true, true
		ps.used[i-1] = true
	case unitRatio(unitNames[w.low], "s") > 0 && ps.at(i-1) == "many" && ps.howMany == i-2:
		if unitNames[w.low] == "d" || anySaid(ps.ws, set("take takes took last lasts lasted")) {
			ps.duration, ps.durationIn, ps.used[i] = true, w.sing, true
		}
	}
}

// isCompoundPart reports whether "annual" at i is part of a German compound that names a column.
func (ps *parser) isCompoundPart(i int) bool {
	begin := map[string]string{"year": "jahr", "month": "monat", "day": "tag", "week": "woche"}[bucketWords[ps.at(i)]]
	if begin == "" || i+1 >= len(ps.ws) {
		return false
	}
	return slices.ContainsFunc(ps.linkColumns(i+1), func(it item) bool {
		return slices.ContainsFunc(it.cols, func(c *column) bool {
			return len(c.words) == 1 && strings.HasPrefix(c.words[0], begin)
		})
	})
}

// qualifiesRows reports whether "day" at i is a value that qualifies the word after it: "day tickets", "annual plan".
func (ps *parser) qualifiesRows(i int) bool {
	if ps.isGroupWord(i-1) || i+1 >= len(ps.ws) || ps.ws[i+1].stop {
		return false
	}
	return slices.ContainsFunc(ps.p.values[ps.ws[i].stem], func(v *value) bool {
		return len(v.words) == 1 && v.words[0].low == ps.ws[i].low &&
			(matchWord(ps.ws[i+1], v.col.t.words[len(v.col.t.words)-1]) > 1 ||
				slices.ContainsFunc(v.col.words, func(name string) bool { return matchWord(ps.ws[i+1], name) > 1 }))
	})
}

// isUnitOfNumber reports whether the word at i is the unit of a number: "over 3 hours".
func (ps *parser) isUnitOfNumber(i int) bool { return i > 0 && ps.ws[i-1].isNum }

// isDurationUnit reports whether the days at i are counted rather than used as groups.
func (ps *parser) isDurationUnit(i int) bool {
	prev := ps.at(i - 1)
	return prev == "many" || prev == "in" && strings.HasSuffix(ps.ws[i].low, "s") || i > 0 && ps.ws[i-1].isNum
}
