package offline

import (
	"math"
	"slices"

	"github.com/footnotehq/footnote"
	"github.com/footnotehq/footnote/internal/currency"
)

// This file finds the currency of amounts: the one in the column's name or comment, or the one in a column of
// currencies beside it.

// codes returns the table's column of currencies, or nil.
func (t *table) codes() *column {
	return onlyOne(t.find(func(c *column) bool {
		return c.kind == footnote.KindText && currencyColumns[fold(c.name)]
	}))
}

var currencyColumns = set("currency currency_code ccy")

// inOne returns the currency of all amounts of a column that a plan reads. It is "" if none or several are possible.
func (pl *plan) inOne(c *column) string {
	codes, several := pl.codesOf(c)
	if codes == nil || codes.nullable || len(several) != 1 {
		return c.currency
	}
	return known(several[0])
}

// codesOf returns the column with the currencies of an amount, and those that the plan's rows can have. The column is
// nil if the amount has none.
func (pl *plan) codesOf(c *column) (codes *column, values []string) {
	if codes = c.t.codes(); codes == nil || c.currency != "" || !c.means(moneyWords) {
		return nil, nil
	}
	values = codes.values
	for _, f := range pl.filters {
		if f.op == opIn && f.col == codes && !f.not {
			values = f.values
		}
	}
	return codes, values
}

// mixesCurrencies reports whether the groups of a plan have amounts in several currencies, which cannot be compared.
func (pl *plan) mixesCurrencies() bool {
	return slices.ContainsFunc(pl.measures, func(m measure) bool {
		if !m.isAmount() || pl.share {
			return false
		}
		codes, several := pl.codesOf(m.col)
		return len(several) > 1 && slices.ContainsFunc(pl.dims, func(d dim) bool { return d.col == codes })
	})
}

// keepCurrenciesApart groups amounts in several currencies by currency. Where the question wants few groups or one
// figure of each, it notes that the currencies are not told apart.
func (pl *plan) keepCurrenciesApart() {
	for _, m := range pl.measures {
		if !m.isAmount() {
			continue
		}
		codes, several := pl.codesOf(m.col)
		if len(several) < 2 || pl.mixesCurrencies() {
			continue
		}
		if pl.share || pl.having != nil || pl.limit > 0 || m.per != nil || pl.compare || pl.base != codes.t {
			pl.notes = append(pl.notes, "amounts in several currencies, taken as one")
			return
		}
		pl.dims = append(pl.dims, dim{col: codes})
		return
	}
}

// known returns a currency code, or "" if there is no such currency.
func known(code string) string {
	if _, ok := currency.Of(code); !ok {
		return ""
	}
	return code
}

// currency returns the currency of a measure's figures, or "".
func (m measure) currency(pl *plan) string {
	if !m.isAmount() {
		return ""
	}
	return pl.inOne(m.col)
}

// isAmount reports whether the figures of a measure are in the unit of its column.
func (m measure) isAmount() bool {
	return m.col != nil && m.col.role == roleMeasure && m.since == nil &&
		!slices.Contains([]string{aggCount, aggDistinct}, m.agg)
}

// currencies returns a function that returns the currency of a cell of the plan's result.
func (pl *plan) currencies(res Result) func(row, col int) string {
	ofRow := -1 // the column with the currency of its row
	of := make([]*column, len(res.Columns))
	codes := make([]string, len(res.Columns))
	for i, name := range res.Columns {
		k := i - len(pl.dims)
		switch {
		case pl.kind == kindList:
			if j := slices.IndexFunc(pl.show, func(c *column) bool { return c.name == name }); j >= 0 {
				of[i] = pl.show[j]
				codes[i] = pl.inOne(of[i])
			}
		case k < 0:
			of[i] = pl.dims[i].col
		case !pl.share && k < len(pl.measures) && pl.measures[k].isAmount():
			of[i], codes[i] = pl.measures[k].col, pl.measures[k].currency(pl)
		}
		if of[i] != nil && of[i] == of[i].t.codes() {
			ofRow = i
		}
	}
	return func(row, col int) string {
		c := of[col]
		if codes[col] != "" || ofRow < 0 || c == nil || c.t.codes() != of[ofRow] || !c.means(moneyWords) {
			return codes[col]
		}
		code, _ := res.Rows[row][ofRow].(string)
		return known(code)
	}
}

// amount formats an amount of money: with all digits of the currency if an amount in its column has any.
func amount(res Result, f float64, col int, code string) string {
	c, _ := currency.Of(code)
	text := Figure(f)
	fractional := slices.ContainsFunc(res.Rows, func(row []any) bool {
		v, ok := Number(row[col])
		return ok && v != math.Trunc(v)
	})
	if smallest := math.Pow10(-c.Digits); fractional && (f == 0 || math.Abs(f) >= smallest) {
		text = grouped(f, c.Digits)
	}
	return currency.Sign(text, code)
}
