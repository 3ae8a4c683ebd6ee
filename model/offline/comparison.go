package offline

import (
	"slices"
	"strings"
)

// This file reads comparisons with numbers, and finds the columns that they apply to.

// comparisons are phrases that compare, with their signs.
var comparisons = slices.Concat(
	signed(">", "more than, greater than, higher than, larger than, bigger than, longer than, older than, aged over, "+
		"aged above, over, above, exceeding, exceeds, exceed, more expensive than, >"),
	signed("<", "less than, fewer than, lower than, smaller than, shorter than, cheaper than, younger than, "+
		"aged under, aged below, below, under, <"),
	signed(">=", "at least, aged at least, no less than, minimum of, >="),
	signed("<=", "at most, up to, no more than, maximum of, <="),
	signed("=", "exactly, equal to, equals, ="),
)

type comparison struct{ text, sign string }

func signed(sign, phrases string) []comparison {
	var out []comparison
	for text := range strings.SplitSeq(phrases, ", ") {
		out = append(out, comparison{text, sign})
	}
	return out
}

// conditions finds comparisons with numbers; linkConditions finds the columns that they apply to.
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
		unit := ""
		if hi < len(ps.ws) && !ps.ws[hi].stop && !ps.namesColumn(hi) {
			if unit = unitNames[ps.at(hi)]; unit != "" {
				hi++
			}
		}
		if ps.negated(i) {
			sign = opposite[sign]
		}
		ps.markUsed(i, hi)
		ps.items = append(ps.items, &item{
			kind: itNumber, lo: i, hi: hi, cond: filter{op: opCompare, sign: sign, num: v, unit: unit},
		})
		i = hi - 1
	}
}

// namesColumn reports whether the word at i is the whole name of a column.
func (ps *parser) namesColumn(i int) bool {
	return slices.ContainsFunc(ps.linkColumns(i), func(it item) bool { return !it.partial })
}

// opposite maps each sign to its negation.
var opposite = map[string]string{">": "<=", "<": ">=", ">=": "<", "<=": ">", "=": "<>", "<>": "="}

// negated reports whether "not" is right before i.
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
	ps.markUsed(i, i+4)
	ps.items = append(ps.items, &item{
		kind: itNumber, lo: i, hi: i + 4,
		cond: filter{op: opCompare, sign: "between", num: ps.ws[i+1].num, num2: ps.ws[i+3].num},
	})
}

// linkConditions finds the column of each comparison: the one before it in the phrase, or the one right after it. A
// comparison with counted rows becomes a HAVING clause.
func (ps *parser) linkConditions() {
	ps.equalities()
	for k, it := range ps.items {
		if it.kind != itNumber || len(it.cols) > 0 {
			continue
		}
		if k+1 < len(ps.items) {
			next := ps.items[k+1]
			if next.lo == it.hi && !next.done &&
				(next.kind == itColumn && next.col().role == roleMeasure || next.kind == itTable) {
				it.cols, it.tables, next.done = next.cols, next.tables, true
				if next.kind == itTable {
					it.cols = nil
				}
				continue
			}
		}
		if k > 0 {
			prev := ps.items[k-1]
			if prev.kind == itColumn && !prev.done && !ps.isGroupWord(prev.lo-1) &&
				slices.ContainsFunc(prev.cols, func(c *column) bool { return c.role == roleMeasure }) {
				it.cols, prev.done = measuresOf(prev.cols), true
			}
		}
	}
}

// equalities finds conditions that a column equals a number: "a rating of 5", "with 2 bedrooms".
func (ps *parser) equalities() {
	var found []*item
	for k, w := range ps.ws {
		if ps.used[k] || !w.isNum {
			continue
		}
		var of *item
		for _, it := range ps.items {
			if it.kind != itColumn || it.done || it.dim || ps.isGroupWord(it.lo-1) || len(measuresOf(it.cols)) == 0 {
				continue
			}
			before := it.hi <= k && !ps.hasBreak(it.hi, k)
			for at := it.hi; before && at < k; at++ {
				before = copulas[ps.at(at)]
			}
			after := it.lo == k+1 && !ps.ws[it.lo].stop && set("with have has having had exactly")[ps.at(k-1)]
			if before || after {
				of = it
			}
		}
		if of != nil {
			of.done, ps.used[k] = true, true
			found = append(found, &item{
				kind: itNumber, lo: k, hi: k + 1, cols: measuresOf(of.cols),
				cond: filter{op: opCompare, sign: "=", num: w.num},
			})
		}
	}
	if len(found) > 0 {
		ps.items = append(ps.items, found...)
		slices.SortStableFunc(ps.items, func(a, b *item) int { return a.lo - b.lo })
	}
}

func measuresOf(cols []*column) []*column {
	return filtered(cols, func(c *column) bool { return c.role == roleMeasure })
}
