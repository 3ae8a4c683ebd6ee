package cite

import (
	"math/big"
	"strings"
)

// This file reads fractions and multiples in words: "a quarter of", "two thirds", "one in five", "half the", "twice",
// "doubled".

var fractionNames = map[string]int64{"half": 2, "halves": 2, "third": 3, "thirds": 3, "quarter": 4, "quarters": 4,
	"fifth": 5, "fifths": 5,
	"sixth": 6, "sixths": 6, "eighth": 8, "eighths": 8, "tenth": 10, "tenths": 10}

// multiples are words for ratios. Verbs stand alone; the others must precede what is multiplied ("double the figure
// of").
var multiples = map[string]int64{"twice": 2, "thrice": 3, "doubled": 2, "doubles": 2, "doubling": 2, "tripled": 3,
	"triples": 3, "trebled": 3,
	"quadrupled": 4, "twofold": 2, "threefold": 3, "fourfold": 4, "fivefold": 5, "tenfold": 10, "double": 2,
	"triple": 3, "treble": 3, "quadruple": 4}

var (
	multiplied  = set("the that of what as its their those from last this our")
	wholeStarts = set("of the its their our all that this these those more less fewer as higher lower")
	partHedges  = set("about around roughly nearly almost over under exactly approximately some just than only")
)

// fraction reads a fraction at token i as a percentage, with a tolerance, because such words are imprecise.
func (p *prose) fraction(n *numeral, i int) bool {
	low := p.low(i)
	if v, ok := cardinals[low]; ok && v > 0 {
		return p.countedParts(n, v, i) || p.oneIn(n, v, i)
	}
	below, ok := fractionNames[low]
	if !ok || strings.HasSuffix(low, "s") {
		return false
	}
	switch next := p.low(i + 1); { // require the whole after it, or a change before it
	case wholeStarts[next]:
	case p.low(i-1) == "a" && (p.low(i-2) == "by" || partHedges[p.low(i-2)]):
	default:
		return false
	}
	article := p.low(i-1) == "a" || p.low(i-1) == "by"
	by := p.low(i-2) == "by" || partHedges[p.low(i-2)] && p.low(i-3) == "by"
	if low == "quarter" && (p.low(i-1) == "by" || p.low(i+1) != "of" && !by) {
		return false // a quarter of a year
	}
	if low == "half" {
		article = article || !rangeCues[p.low(i-1)] || partHedges[p.low(i-1)]
	}
	if !article {
		return false
	}
	n.setFraction(1, below)
	return true
}

// countedParts reads fractions with a numerator: "two thirds", "three-quarters", "one third".
func (p *prose) countedParts(n *numeral, v int64, i int) bool {
	j := i + 1
	if p.adjacent(j, "-") {
		j++
	}
	below, ok := fractionNames[p.low(j)]
	if !ok || v >= below || v > 1 != strings.HasSuffix(p.low(j), "s") ||
		v > 1 && below == 4 && p.low(j+1) != "of" && !p.adjacent(j-1, "-") {
		return false // "three quarters" are often parts of a year
	}
	n.end = p.tokens[j].end
	n.setFraction(v, below)
	return true
}

// oneIn reads "one in five" and "two in three".
func (p *prose) oneIn(n *numeral, v int64, i int) bool {
	below := cardinals[p.low(i+2)]
	if p.low(i+1) != "in" && p.low(i+1) != "every" || below <= v || below > 100 {
		return false
	}
	n.end = p.tokens[i+2].end
	n.setFraction(v, below)
	return true
}

// setFraction makes the numeral the percentage for v/below.
func (n *numeral) setFraction(v, below int64) {
	room := max(100/(below*below), 3)
	n.readings = []reading{{big.NewRat(100*v, below), big.NewRat(min(room, 5), 1)}}
	n.percent, n.word, n.sig = true, true, 2
	n.quiet = v == 1
}

// multiple reads "twice" and "doubled".
func (p *prose) multiple(n *numeral, i int) bool {
	low := p.low(i)
	v, ok := multiples[low]
	if !ok {
		return false
	}
	verb := strings.HasSuffix(low, "d") || strings.HasSuffix(low, "s") || strings.HasSuffix(low, "ing")
	exact := low == "twice" || low == "thrice"
	if !verb && !exact && !multiplied[p.low(i+1)] {
		return false
	}
	n.readings = []reading{{big.NewRat(v, 1), big.NewRat(1, 5)}}
	n.times, n.quiet = true, !exact
	return true
}
