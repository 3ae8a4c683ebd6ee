package cite

import (
	"math/big"
	"slices"
	"strings"
)

// This file resolves numerals that only repeat the question or a literal of the SQL.

// echo is a number or date in the question or in a literal of the SQL.
type echo struct {
	formula string
	table   int
	val     *big.Rat
	date    date
	percent bool
}

// collectEchoes collects the numerals of the question and of the SQL of all results.
func (r *resolver) collectEchoes(question string) {
	r.collectEchoesFrom("question", -1, question)
	for t := len(r.tables) - 1; t >= 0 && len(r.echoes) < 500; t-- {
		r.collectEchoesFrom("sql filter", t, strings.NewReplacer("`", " ", "'", " ").Replace(r.tables[t].sql))
	}
}

func (r *resolver) collectEchoesFrom(formula string, t int, s string) {
	p := parse(clip(strings.NewReplacer("\n", " ").Replace(s)))
	found, _ := scanNumerals(p)
	for i := range found {
		if i == 200 {
			return
		}
		n := &found[i]
		e := echo{formula: formula, table: t, percent: n.percent, date: n.date}
		if n.kind != calendar && len(n.readings) > 0 {
			e.val = n.readings[0].val
		}
		r.echoes = append(r.echoes, e)
	}
}

// echoDate handles a date that repeats one of the question or the SQL.
func (r *resolver) echoDate(n *numeral) *candidate {
	for _, e := range r.echoes {
		if !e.date.isZero() && !n.date.isZero() && n.date.covers(e.date) {
			return r.echoCandidate(e, 0.85, n.date.String())
		}
	}
	return nil
}

// echoNumber handles a number that repeats one of the question or the SQL. It requires a cue ("top", "at least",
// "last") before the number, or the same noun after it.
func (r *resolver) echoNumber(n *numeral) *candidate {
	if len(n.readings) == 0 {
		return nil
	}
	cued := r.hasCueBefore(n, rangeCues, 4)
	for _, e := range r.echoes {
		if e.val == nil || e.percent != n.percent && (e.table < 0 || !cued) || !n.fitsExactly(e.val) {
			continue
		}
		switch {
		case cued:
			return r.echoCandidate(e, 0.8, ratText(e.val))
		}
	}
	return nil
}

// fitsExactly reports whether the number equals v, or the percentage for v, without rounding.
func (n *numeral) fitsExactly(v *big.Rat) bool {
	return slices.ContainsFunc(n.readings, func(rd reading) bool {
		return rd.val.Cmp(v) == 0 || n.percent && rd.val.Cmp(new(big.Rat).Mul(v, ratHundred)) == 0
	})
}

func (r *resolver) echoCandidate(e echo, conf float64, value string) *candidate {
	return &candidate{table: e.table, formula: e.formula, value: value, conf: conf}
}
