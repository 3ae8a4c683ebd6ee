package app

import (
	"context"
	"encoding/json"

	"github.com/footnotehq/footnote"
	"github.com/footnotehq/footnote/agent"
	"github.com/footnotehq/footnote/agent/prompt"
	"github.com/footnotehq/footnote/config"
	"github.com/footnotehq/footnote/market/board"
	"github.com/footnotehq/footnote/market/chart"
	"github.com/footnotehq/footnote/market/planner"
	"github.com/footnotehq/footnote/market/tool/drawing"
	"github.com/footnotehq/footnote/market/tool/market"
)

// openBoards opens the documents of drawings. Without a market, symbols are unknown and anchors are not checked.
func (a *App) openBoards() {
	o := board.Options{Log: a.store, Hub: a.hub}
	if a.market != nil {
		a.prices = drawing.NewPrices(a.market)
		o.Data = a.prices.Data
	}
	a.boards = board.New(o)
}

// chartAnalyst returns the assistant that reads a market and draws on the user's chart.
func (a *App) chartAnalyst() *agent.Assistant {
	as := &agent.Assistant{
		Name: chart.Assistant, Title: "Chart analyst",
		Description: "Reads a market, and draws on your chart with reasons.",
		Opening: func(context.Context, footnote.Principal, []string) (json.RawMessage, []string, error) {
			return nil, nil, nil
		},
	}
	if a.market == nil {
		as.Unavailable = "The chart analyst needs market data: set FOOTNOTE_MARKET_STORE."
		return as
	}
	if a.cfg.Upstream == config.Offline {
		as.Model = planner.Chart{}
	}
	as.Tools = append(market.New(market.Options{Market: a.market}),
		drawing.New(drawing.Options{Boards: a.boards, Bar: a.prices.Bar})...)
	as.Tiers = a.tiers()
	as.Setting = &drawing.Surroundings{
		Symbol: a.boards.Symbol,
		Parts:  append(a.prices.Market(), drawing.Drawings(a.boards)...),
	}
	as.Policy = agent.Policy{Deny: a.cfg.Tools.Deny}
	for _, t := range as.Tools {
		as.Policy.Approve = append(as.Policy.Approve, t.Spec().Name) // visible, and undone with a key
	}
	system := prompt.Blocks(prompt.Chart(prompt.ChartOptions{Data: true}))
	as.Opening = func(_ context.Context, _ footnote.Principal, asked []string) (json.RawMessage, []string, error) {
		if len(asked) > 0 {
			return nil, nil, footnote.Errorf(footnote.InvalidRequest,
				"The assistant chart reads a market and has no sources.")
		}
		return system, nil, nil
	}
	return as
}
