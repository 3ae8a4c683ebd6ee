package market

import (
	"cmp"
	"context"
	"time"

	"github.com/footnotehq/footnote/market"
	"github.com/footnotehq/footnote/market/internal/cell"
	"github.com/footnotehq/footnote/tool"
	"github.com/footnotehq/footnote/tool/schema"
)

type positioningInput struct {
	Thought string `json:"thought,omitempty" jsonschema:"Why the positions are needed, in one short sentence. The user sees it."`
	Symbol  string `json:"symbol" jsonschema:"The symbol, such as EURUSD."`
}

func (in *positioningInput) common() (thought, symbol *string) { return &in.Thought, &in.Symbol }

var positioningSpec = tool.Spec{
	Name: "get_cot_positioning", Label: "Looking at positioning",
	Description: "Get the newest Commitments of Traders report of a symbol: what speculators (non-commercial) and " +
		"hedgers (commercial) are long and short in contracts, the net of the speculators and how it changed in a " +
		"week, and the open interest. The positions are those of a Tuesday and are published on the Friday after, so " +
		"they are days old: say of which day.",
	InputSchema: inputSchema[positioningInput](schema.Length("symbol", 1, 32)),
}

func positioning(ctx context.Context, q question, _ *positioningInput) (answer, error) {
	return reports(ctx, q, 1)
}

type historyInput struct {
	Thought string  `json:"thought,omitempty" jsonschema:"Why the history is needed, in one short sentence. The user sees it."`
	Symbol  string  `json:"symbol" jsonschema:"The symbol, such as EURUSD."`
	Weeks   float64 `json:"weeks,omitempty" jsonschema:"How many reports, the newest; default 26."`
}

func (in *historyInput) common() (thought, symbol *string) { return &in.Thought, &in.Symbol }

var historySpec = tool.Spec{
	Name: "get_cot_history", Label: "Looking at positioning",
	Description: "Get the weekly Commitments of Traders reports of a symbol, 26 weeks by default, in the order of " +
		"time: long, short and net positions of speculators (non-commercial) and hedgers (commercial), the change of " +
		"the speculators' net from week to week, and the open interest. Use it to see a trend or an extreme of the " +
		"positions.",
	InputSchema: inputSchema[historyInput](schema.Length("symbol", 1, 32), schema.Integer("weeks", 1, 156)),
}

func history(ctx context.Context, q question, in *historyInput) (answer, error) {
	in.Weeks = cmp.Or(in.Weeks, 26)
	return reports(ctx, q, int(in.Weeks))
}

// reports returns the newest n reports as a table.
func reports(ctx context.Context, q question, n int) (a answer, err error) {
	// +1: for the first change
	list, err := q.market.COT(ctx, market.COTQuery{Symbol: q.symbol.Symbol, To: q.now, Limit: n + 1})
	if err != nil {
		return a, err
	}
	a.result.Columns = cell.Columns("date date, published timestamp, noncommercial_long integer, " +
		"noncommercial_short integer, noncommercial_net integer, net_change integer, commercial_long integer, " +
		"commercial_short integer, open_interest integer")
	for i, r := range list {
		a.synthetic = a.synthetic || r.Synthetic
		var change any
		if i > 0 {
			if c, ok := r.Change(list[i-1]); ok {
				change = c
			} else {
				a.note("The report of the week before %s is missing, so the weekly change is not known.",
					r.Date.Format(time.DateOnly))
			}
		}
		a.result.Rows = append(a.result.Rows, []any{
			r.Date.Format(time.DateOnly), cell.Time(r.Published), r.NonCommercialLong, r.NonCommercialShort, r.Net(),
			change, r.CommercialLong, r.CommercialShort, r.OpenInterest,
		})
	}
	a.result.Rows = a.result.Rows[max(0, len(list)-n):]
	if len(list) == 0 {
		a.note("The reports were read and have none of %s.", q.symbol.Symbol)
	}
	return a, nil
}
