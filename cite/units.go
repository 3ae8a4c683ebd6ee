package cite

import (
	"math/big"
	"strings"
	"unicode/utf8"
)

// This file reads units of measure in column names and after numbers. For example, "6.2 seconds" means the cell 6210 of
// p95_ms and not the cell 6.2 of score.

// unit is a unit of measure; factor is its size in the base unit of the dimension. The zero value means no unit. Money
// in thousands has factor 1, because the column's scale says the thousands.
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
			factor, _ := new(big.Rat).SetString(f[i+1]) // the list above is valid
			units[f[i]] = unit{dimension, factor}
		}
	}
	return units
}

// unitNamed returns the unit that a word names, in the singular or plural, or the zero unit.
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

// columnUnit returns the unit in a column's name. A short unit must be at the end of the name, not counting a year or
// the like. A rate ("price_per_kwh") has none.
func columnUnit(name string) unit {
	words := splitName(name)
	out := unit{}
	for i, w := range words {
		if perCues[w] {
			return unit{}
		}
		if u := unitNamed(w); u.factor != nil && (len(w) > 1 && w != "min" || onlyTimeWords(words[i+1:])) {
			out = u
		}
	}
	return out
}

// onlyTimeWords reports whether all words of the rest of a name are words for a time.
func onlyTimeWords(rest []string) bool {
	_, base := columnAge(rest)
	return base == ""
}

// readUnit sets the unit after a number. The number of a rate ("7.5 t/ha") gets none.
func (p *prose) readUnit(n *numeral) {
	if n.kind != number || n.percent || n.points || n.times || n.end > len(p.text) {
		return
	}
	rest := clipRunes(p.text[n.end:], 40)
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

// conversion returns the factor that converts a value of unit u into the unit of the numeral, or nil if both have the
// same size or measure different things.
func (n *numeral) conversion(u unit) *big.Rat { return convert(u, n.unit) }

// convert returns the factor that converts a value in unit u into unit to, or nil if there is nothing to convert.
func convert(u, to unit) *big.Rat {
	if to.factor == nil || u.dimension != to.dimension || u.factor.Cmp(to.factor) == 0 {
		return nil
	}
	return new(big.Rat).Quo(u.factor, to.factor)
}

// rateConversion does the same as conversion, also for the numerator of a rate.
func (n *numeral) rateConversion(u unit) *big.Rat {
	if f := n.conversion(u); f != nil {
		return f
	}
	return convert(u, n.per)
}

// convertFormula appends the conversion of a rate to its formula, so that the value is in the unit of the text: minutes
// divided by pieces, divided by 60, are hours each.
func (n *numeral) convertFormula(c *candidate, v *big.Rat, x, y *column) {
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

// subunit reports whether the numeral is in hundredths of a currency, such as cents or pence.
func (n *numeral) subunit() bool {
	return n.unit.dimension == "money" && n.unit.factor.Cmp(ratOne) < 0 ||
		n.per.dimension == "money" && n.per.factor.Cmp(ratOne) < 0
}

// conversions returns the factors that convert the units of the columns to that of the numeral.
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
