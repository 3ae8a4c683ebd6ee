package install

import (
	"context"
	_ "embed"
	"net/http"

	"github.com/footnotehq/footnote"
	"github.com/footnotehq/footnote/agent"
	"github.com/footnotehq/footnote/config"
	"github.com/footnotehq/footnote/httpapi"
	"github.com/footnotehq/footnote/internal/module"
	"github.com/footnotehq/footnote/market"
	"github.com/footnotehq/footnote/market/board"
	"github.com/footnotehq/footnote/market/chart"
	"github.com/footnotehq/footnote/market/endpoint"
	"github.com/footnotehq/footnote/market/planner"
	"github.com/footnotehq/footnote/market/tool/drawing"
	tools "github.com/footnotehq/footnote/market/tool/market"
)

// Module returns the module of charts and markets.
func Module() module.Module { return module.Module{Open: openModule, Check: check} }

func openModule(_ context.Context, e module.Env) (*module.Opened, error) {
	m, close, err := openMarket(e.Config, e.Logger)
	if err != nil {
		return nil, err
	}
	o := board.Options{Log: e.Log, Hub: e.Hub}
	var prices *drawing.Prices // without a market, symbols are unknown and anchors are not checked
	if m != nil {
		prices = drawing.NewPrices(m)
		o.Data = prices.Data
	}
	boards := board.New(o)
	return &module.Opened{
		Assistants: []*agent.Assistant{chartAnalyst(e, m, boards, prices)},
		Serve: func(o *httpapi.Options) {
			o.Protocols = append(o.Protocols, chart.New(), endpoint.New(boards, m))
			if m != nil {
				o.Charts = newCandleCheck(m).any
				noChart := func(r *http.Request) bool {
					return endpoint.NoChart(r.Context(), m, r.PathValue("symbol"), r.PathValue("timeframe"))
				}
				o.NoPage = map[string]func(*http.Request) bool{
					"/chart/{symbol}": noChart, "/chart/{symbol}/{timeframe}": noChart,
				}
			}
		},
		Document: board.IsBoard,
		Forget: func(ctx context.Context, p footnote.Principal) ([]module.Deleted, error) {
			return forget(ctx, boards, string(e.Config.Market.Store), p)
		},
		Close: close,
	}, nil
}

// systemPrompt is the system prompt of the chart analyst. It does not change between messages.
//
//go:embed prompt.txt
var systemPrompt string

// chartAnalyst returns the assistant that reads a market and draws on the user's chart.
func chartAnalyst(e module.Env, m market.Market, boards *board.Boards, prices *drawing.Prices) *agent.Assistant {
	as := &agent.Assistant{
		Name: chart.Assistant, Title: "Chart analyst",
		Description: "Reads a market, and draws on your chart with reasons.",
		Opening:     e.Opening(systemPrompt, "The assistant chart reads a market and has no sources."),
	}
	if m == nil {
		as.Unavailable = "The chart analyst needs market data: set FOOTNOTE_MARKET_STORE."
		return as
	}
	if e.Config.Upstream == config.Offline {
		as.Model = planner.Chart{}
	}
	as.Tools = append(tools.New(tools.Options{Market: m}),
		drawing.New(drawing.Options{Boards: boards, Bar: prices.Bar, Candles: prices.Candles})...)
	as.Tiers = e.Tiers
	as.Setting = &drawing.Surroundings{
		Symbol: boards.Symbol,
		Parts:  append(prices.Market(), drawing.Drawings(boards)...),
	}
	as.Policy = agent.Policy{Deny: e.Config.Tools.Deny}
	for _, t := range as.Tools {
		as.Policy.Approve = append(as.Policy.Approve, t.Spec().Name) // visible, and undone with a key
	}
	return as
}
