package offline

import (
	"slices"

	"github.com/footnotehq/footnote"
)

// This file computes revenue if no column has that name.

// moneyMeasure returns revenue, if no column has that name.
func (ps *parser) moneyMeasure(pl *plan, it *item) *declined {
	it.done = true
	if c := ps.p.balance(); c != nil {
		return ps.flow(pl, c, moneyOut[ps.at(it.lo)])
	}
	m, ok := ps.p.revenue()
	if !ok {
		said := ps.textOf(it)
		return &declined{
			reason: "There is nothing in the data that I can read as “" + said + "”.",
			words:  []string{said},
		}
	}
	m.agg = ps.aggOr(m.agg)
	pl.measures, pl.base = []measure{m}, m.col.t
	return nil
}

// moneyIn and moneyOut are words for money that comes in and goes out, in a table with both.
var (
	moneyIn  = set("income earn earned earns earning earnings revenue takings received")
	moneyOut = set("expense expenses expenditure expenditures pay pays spend spends spent spending outgoing outgoings")
)

// balance returns the money of the only table if it has amounts below and above 0, as an account does.
func (p *profile) balance() *column {
	if len(p.tables) != 1 {
		return nil
	}
	if c := p.tables[0].money(); c != nil && c.signed {
		return c
	}
	return nil
}

// flow computes with the amounts below or above 0 only. The biggest expense is the lowest amount.
func (ps *parser) flow(pl *plan, c *column, out bool) *declined {
	if ps.agg == aggAvg && ps.bucket != "" {
		return decline("Ask for the total by %s: an average over single amounts would not be what you mean.", ps.bucket)
	}
	f := filter{op: opCompare, col: c, sign: ">"}
	if out {
		f.sign = "<"
		ps.order, pl.order = -ps.order, -pl.order
	}
	pl.filters = append(pl.filters, f)
	if ps.order != 0 && !ps.hasGroups() && len(ps.nouns(itColumn)) == 0 {
		return pl.rankRows(c.t, c)
	}
	pl.measures, pl.base = []measure{{agg: ps.aggOr(aggSum), col: c}}, c.t
	return nil
}

// revenue returns the measure for revenue: quantity times price, or the total of an order.
func (p *profile) revenue() (measure, bool) {
	var found []measure
	for _, t := range p.tables {
		if m, ok := t.product(); ok {
			found = append(found, m)
		}
	}
	for _, t := range p.tables {
		sells := anyOf(t.words, sellingWords)
		for _, name := range []string{"total", "amount", "price", "fare", "preis"} {
			for _, c := range t.cols {
				if sells && c.role == roleMeasure && slices.Contains(c.words, name) && !isMeanOnly(c) {
					found = append(found, measure{agg: aggSum, col: c})
				}
			}
		}
	}
	if len(found) == 0 && len(p.tables) == 1 {
		if c := p.tables[0].money(); c != nil && !isMeanOnly(c) && !p.tables[0].isSpending(c) {
			found = append(found, measure{agg: aggSum, col: c, guessed: true})
		}
	}
	if len(found) > 0 {
		found[0].name = "revenue"
		return found[0], true
	}
	return measure{}, false
}

// isSpending reports whether a money column is money spent, by its name or the name of its table. An expense report has
// no revenue.
func (t *table) isSpending(c *column) bool {
	return slices.ContainsFunc(slices.Concat(t.words, c.words, c.optional), func(name string) bool {
		return expenseWords[name] || anyOf(english(name), expenseWords)
	})
}

var expenseWords = set(
	"expense cost spending expenditure salary wage payroll fine penalty refund tax budget claim loan debt donation")

// product returns quantity times unit price, in one table.
func (t *table) product() (measure, bool) {
	var qty, price *column
	for _, c := range t.cols {
		if c.role != roleMeasure {
			continue
		}
		switch {
		case len(c.words) == 1 && (c.words[0] == "quantity" || c.words[0] == "units"),
			len(c.words) == 1 && c.words[0] == "unit":
			qty = c
		case slices.Contains(c.words, "price"):
			price = c
		}
	}
	if counts := t.find(func(c *column) bool {
		return c.role == roleMeasure && c.kind == footnote.KindInteger
	}); qty == nil && price != nil && slices.Contains(splitName(price.name), "unit") {
		qty = onlyOne(counts) // seats and unit_price
	}
	if qty == nil || price == nil {
		return measure{}, false
	}
	return measure{agg: aggSum, times: qty, col: price, name: "revenue"}, true
}

// sellingWords are names of tables whose rows are sales.
var sellingWords = set(
	"order sale invoice purchase transaction booking rental contract ticket job reservation subscription bill " +
		"checkout trip ride")
