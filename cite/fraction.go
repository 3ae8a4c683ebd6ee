package cite

import (
	"math/big"
	"strings"
)

// Numbers that are words of their own kind: "a quarter of", "two thirds", "one in five", "half the", "twice",
// "doubled".

var fractionNames = map[string]int64{"half": 2, "halves": 2, "third": 3, "thirds": 3, "quarter": 4, "quarters": 4,
	"fifth": 5, "fifths": 5,
	"sixth": 6, "sixths": 6, "eighth": 8, "eighths": 8, "tenth": 10, "tenths": 10}

// multiples are words that are ratios by themselves; the verbs are so alone, the others before what is multiplied
// ("double the figure of").
var multiples = map[string]int64{"twice": 2, "thrice": 3, "doubled": 2, "doubles": 2, "doubling": 2, "tripled": 3,
	"triples": 3, "trebled": 3,
	"quadrupled": 4, "twofold": 2, "threefold": 3, "fourfold": 4, "fivefold": 5, "tenfold": 10, "double": 2,
	"triple": 3, "treble": 3, "quadruple": 4}

var (
	multiplied = set("the that of what as its their those from last this our")
	ofWhole    = set("of the its their our all that this these those more less fewer as higher lower")
	partHedges = set("about around roughly nearly almost over under exactly approximately some just than only")
)

// fraction reads a part of a whole at token i as a percentage, with room for the coarseness of the words.
func (p *prose) fraction(n *numeral, i int) bool {
	low := p.low(i)
	if v, ok := cardinals[low]; ok && v > 0 {
		return p.countedParts(n, v, i) || p.oneIn(n, v, i)
	}
	below, ok := fractionNames[low]
	if !ok || strings.HasSuffix(low, "s") {
		return false
	}
	switch next := p.low(i + 1); { // of what, or how much by
	case ofWhole[next]:
	case p.low(i-1) == "a" && (p.low(i-2) == "by" || partHedges[p.low(i-2)]):
	default:
		return false
	}
	article := p.low(i-1) == "a" || p.low(i-1) == "by"
	by := p.low(i-2) == "by" || partHedges[p.low(i-2)] && p.low(i-3) == "by"
	if low == "quarter" && (p.low(i-1) == "by" || p.low(i+1) != "of" && !by) {
		return false // of a year
	}
	if low == "half" {
		article = article || !rangeCues[p.low(i-1)] && !ordinalWord(p.low(i-1)) || partHedges[p.low(i-1)]
	}
	if !article {
		return false
	}
	n.part(1, below)
	return true
}

func ordinalWord(w string) bool {
	_, ok := ordinals[w]
	return ok || w == "other" || w == "2nd" || w == "1st"
}

// countedParts: "two thirds", "three-quarters", "one third".
func (p *prose) countedParts(n *numeral, v int64, i int) bool {
	j := i + 1
	if p.adjacent(j, "-") {
		j++
	}
	below, ok := fractionNames[p.low(j)]
	if !ok || v >= below || v > 1 != strings.HasSuffix(p.low(j), "s") ||
		v > 1 && below == 4 && p.low(j+1) != "of" && !p.adjacent(j-1, "-") {
		return false // "three quarters" are often of a year
	}
	n.end = p.tokens[j].end
	n.part(v, below)
	return true
}

// oneIn: "one in five", "two in three".
func (p *prose) oneIn(n *numeral, v int64, i int) bool {
	if p.low(i+1) == "in" && p.low(i+2) == "every" {
		i++
	}
	below := cardinals[p.low(i+2)]
	if p.low(i+1) != "in" && p.low(i+1) != "every" || below <= v || below > 100 {
		return false
	}
	n.end = p.tokens[i+2].end
	n.part(v, below)
	return true
}

func (n *numeral) part(v, below int64) {
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
