package offline

import (
	"slices"
	"strings"
)

// This file computes revenue and profit if no column has that name.

// moneyMeasure returns revenue or profit, if no column has that name.
func (ps *parser) moneyMeasure(pl *plan, it *item) *declined {
	it.done = true
	for k := range ps.items {
		if x := &ps.items[k]; x.kind == it.kind {
			x.done = true
		}
	}
	said := ps.textOf(it)
	needs := ps.neededTables()
	m, ok := ps.p.revenue(needs)
	if it.kind == itProfit {
		m, ok = ps.p.profit(strings.Contains(fold(said), "margin"))
		if !ok {
			return decline("There are no costs of what is sold in the data, so I cannot give “%s”.", said)
		}
	} else if ok && ps.agg != "" && ps.agg != aggCount {
		m.agg = ps.agg
	}
	if !ok {
		return &declined{
			reason: "There is nothing in the data that I can read as “" + said + "”.",
			words:  []string{said},
		}
	}
	pl.measures, pl.base = []measure{m}, m.col.t
	return nil
}

// neededTables returns the tables that groups and filters must reach.
func (ps *parser) neededTables() []*table {
	var out []*table
	for _, it := range ps.items {
		if it.done || it.neg {
			continue
		}
		switch {
		case it.kind == itTable && !it.verb && len(it.tables) == 1:
			out = append(out, it.tables[0])
		case it.kind == itColumn && len(it.cols) == 1:
			out = append(out, it.cols[0].t)
		case it.kind == itValue && len(it.vals) == 1:
			out = append(out, it.vals[0].col.t)
		}
	}
	if ps.prev != nil {
		for _, c := range ps.prev.columns() {
			out = append(out, c.t)
		}
	}
	return out
}

// revenue returns the measure for revenue: a column named revenue, quantity times price, or the total of an order.
// Among several, it takes the first from which all needed tables can be reached.
func (p *profile) revenue(needs []*table) (measure, bool) {
	var found []measure
	for _, t := range p.tables {
		for _, c := range t.cols {
			if c.role == roleMeasure &&
				slices.ContainsFunc(c.words, func(w string) bool {
					return w == "revenue" || w == "sale" || w == "turnover"
				}) && !isMeanOnly(c) {
				found = append(found, measure{agg: aggSum, col: c})
			}
		}
	}
	for _, t := range p.tables {
		if m, ok := t.product(); ok {
			found = append(found, m)
		}
	}
	for _, t := range p.tables {
		sells := slices.ContainsFunc(t.words, func(w string) bool {
			return sellingWords[w]
		})
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
	for _, m := range found {
		m.name = "revenue"
		if !slices.ContainsFunc(needs, func(t *table) bool { return !m.col.t.reaches(t) }) {
			return m, true
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
		return expenseWords[name] || slices.ContainsFunc(english(name), func(w string) bool { return expenseWords[w] })
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
	if qty == nil || price == nil {
		return measure{}, false
	}
	return measure{agg: aggSum, times: qty, col: price, name: "revenue"}, true
}

// profit returns the measure for profit, or for the margin. It needs the unit cost, on the line or in a table that the
// line refers to.
func (p *profile) profit(margin bool) (measure, bool) {
	for _, t := range p.tables {
		m, ok := t.product()
		if !ok {
			continue
		}
		for _, o := range p.tables {
			for _, c := range o.cols {
				name := strings.Join(c.words, " ")
				if c.role == roleMeasure && (name == "cost" || name == "unit cost") && t.reaches(o) {
					m.less = c
					m.name = "gross profit"
					if margin {
						m.agg, m.name = aggMargin, "gross margin in percent"
					}
					return m, true
				}
			}
		}
	}
	return measure{}, false
}

// sellingWords are names of tables whose rows are sales.
var sellingWords = set(
	"order sale invoice purchase transaction booking rental contract ticket job reservation subscription bill checkout")
