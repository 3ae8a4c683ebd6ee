package cite

import (
	"math/big"
	"strings"
	"unicode/utf8"
)

// Units of measure: those a column's name ends in, and those that stand behind a number. "6.2 seconds" is the 6210 of
// p95_ms and cannot be the 6.2 of score.

// unit is a measure of some dimension; factor is what one of it is worth in the dimension's base. The zero unit is
// none. The thousands of teur are the column's scale.
type unit struct {
	dimension string
	factor    *big.Rat
}

var units = readUnits(map[string]string{
	"time": "ms 1/1000 millisecond 1/1000 msec 1/1000 s 1 sec 1 second 1 min 60 minute 60 h 3600 hr 3600 hour 3600 " +
		"day 86400 week 604800",
	"energy": "wh 1 kwh 1000 mwh 1000000 gwh 1000000000",
	"power":  "kw 1000 mw 1000000 gw 1000000000",
	"mass":   "mg 1/1000 g 1 gram 1 kg 1000 kilogram 1000 kilo 1000 t 1000000 tonne 1000000 ton 1000000",
	"length": "mm 1/1000 cm 1/100 meter 1 metre 1 km 1000 kilometer 1000 kilometre 1000",
	"data":   "byte 1 kb 1000 mb 1000000 gb 1000000000 tb 1000000000000",
	"volume": "ml 1/1000 l 1 liter 1 litre 1 hl 100 m3 1000 cbm 1000",
	"area":   "sqm 1 m2 1 ha 10000 hectare 10000 km2 1000000",
	"money": "cent 1/100 pence 1/100 eur 1 euro 1 usd 1 dollar 1 gbp 1 pound 1 chf 1 keur 1 teur 1 meur 1 kusd 1 " +
		"musd 1",
})

func readUnits(lists map[string]string) map[string]unit {
	units := map[string]unit{}
	for dimension, list := range lists {
		f := strings.Fields(list)
		for i := 0; i+1 < len(f); i += 2 {
			factor, _ := new(big.Rat).SetString(f[i+1]) // the list is ours
			units[f[i]] = unit{dimension, factor}
		}
	}
	return units
}

// unitNamed looks a word up, in the plural too.
func unitNamed(w string) unit {
	w = strings.ToLower(w)
	if u, ok := units[w]; ok {
		return u
	}
	if s, ok := strings.CutSuffix(w, "s"); ok && len(s) > 2 {
		return units[s]
	}
	return unit{}
}

// columnUnit is the unit a column's name says; the letters of short ones must be at its end, a year or the like apart.
// A rate ("price_per_kwh") has none.
func columnUnit(name string) unit {
	words := splitName(name)
	out := unit{}
	for i, w := range words {
		if perCues[w] {
			return unit{}
		}
		if u := unitNamed(w); u.factor != nil && (len(w) > 1 && w != "min" || lastTelling(words[i+1:])) {
			out = u
		}
	}
	return out
}

// lastTelling: only words of time follow.
func lastTelling(rest []string) bool {
	_, base := columnAge(rest)
	return base == ""
}

// unitBehind reads the unit behind a number. A rate ("7.5 t/ha") has none.
func (p *prose) unitBehind(n *numeral) {
	if n.kind != number || n.percent || n.points || n.times || n.end > len(p.text) {
		return
	}
	rest := p.text[n.end:]
	if len(rest) > 40 {
		rest = clipRunes(rest, 40)
	}
	if n.currency || strings.HasPrefix(strings.TrimLeft(rest, " \u00a0\u202f"), "€") {
		n.unit = unit{"money", ratOne}
		return
	}
	word, at := rest[:letters(rest)], 0
	if word == "" {
		word, at = nextWord(rest)
	}
	n.unit = unitNamed(word)
	if c, _ := utf8.DecodeRuneInString(rest[at+len(word):]); c == '/' || c == '³' || c == '²' {
		n.unit = unit{}
	}
	if next, _ := nextWord(rest[at+len(word):]); perCues[strings.ToLower(next)] {
		n.unit, n.per = unit{}, n.unit
	}
}

// conversion is what a value of unit u is multiplied by to be said in the unit of the numeral; nil when they are of one
// size, or of different kinds.
func (n *numeral) conversion(u unit) *big.Rat { return convert(u, n.unit) }

func convert(u, to unit) *big.Rat {
	if to.factor == nil || u.dimension != to.dimension || u.factor.Cmp(to.factor) == 0 {
		return nil
	}
	return new(big.Rat).Quo(u.factor, to.factor)
}

// rateConversion is conversion for the upper part of a rate.
func (n *numeral) rateConversion(u unit) *big.Rat {
	if f := n.conversion(u); f != nil {
		return f
	}
	return convert(u, n.per)
}

// rateDimension is what a rate is of: time for "2 hours each".
func (n *numeral) rateDimension() string {
	if n.per.dimension != "" {
		return n.per.dimension
	}
	return n.unit.dimension
}

func measuredIn(c *candidate, dimension string) bool {
	return c.measure != nil && c.measure.unit.dimension == dimension
}

// inItsUnit writes the conversion of a rate into its formula, so that what comes out is what the text says: minutes by
// pieces over 60 are hours each.
func (n *numeral) inItsUnit(c *candidate, v *big.Rat, x, y *column) {
	f := n.rateConversion(x.unit)
	switch {
	case n.percent || n.points || n.times || x.unit.dimension == y.unit.dimension && x.unit.factor != nil:
		return
	case f == nil && n.subunit() && x.unit.factor == nil:
		f = ratHundred
	case f == nil:
		return
	}
	switch inverse := new(big.Rat).Inv(f); {
	case f.IsInt():
		c.formula += " * " + ratText(f)
	case inverse.IsInt():
		c.formula += " / " + ratText(inverse)
	default:
		return
	}
	c.value = ratText(new(big.Rat).Mul(v, f))
}

// subunit: cents, pence.
func (n *numeral) subunit() bool {
	return n.unit.dimension == "money" && n.unit.factor.Cmp(ratOne) < 0 ||
		n.per.dimension == "money" && n.per.factor.Cmp(ratOne) < 0
}

// conversions are those that the columns of the results ask for.
func (r *resolver) conversions(n *numeral) []float64 {
	var out []float64
	if n.unit.factor == nil {
		return nil
	}
	for t := range r.tables {
		for ci := range r.tables[t].cols {
			if f := n.conversion(r.tables[t].cols[ci].unit); f != nil {
				x, _ := f.Float64()
				out = append(out, x)
			}
		}
	}
	return out
}

// unitColumns are the numeric columns that are measured as the numeral is.
func (r *resolver) unitColumns(n *numeral) []colRef {
	if n.unit.factor == nil || n.unit.dimension == "money" {
		return nil // any column may be of money
	}
	var out []colRef
	for t := range r.tables {
		for ci, c := range r.tables[t].cols {
			if c.role == roleNumber && c.unit.dimension == n.unit.dimension {
				out = append(out, colRef{t, ci})
			}
		}
	}
	return out
}
