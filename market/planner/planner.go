// Package planner answers at a chart without a model: it extends the offline planner by requests about a market and
// drawings.
package planner

import (
	"context"
	"fmt"
	"strings"

	"github.com/footnotehq/footnote/model"
	"github.com/footnotehq/footnote/model/offline"
)

// Chart is the planner of an assistant at a chart: a few plain requests become calls of the tools that read the market
// and draw, and their results words. What it draws is computed from candles that it has read: swings, and the levels
// they make. The zero value is ready, and may be used by many runs at once. It implements model.Model.
type Chart struct{}

var _ model.Model = Chart{}

// Step answers the last request of the history: with the next call of a tool, or, when there is none left to make, in
// words.
func (Chart) Step(ctx context.Context, req model.Request, live model.Live) (model.Reply, error) {
	if ctx.Err() != nil {
		return model.Reply{}, context.Cause(ctx)
	}
	return offline.Emit(chartStep(req), live), nil
}

func chartStep(req model.Request) offline.Answer {
	h := offline.ReadHistory(req.Messages)
	if !offline.HasTools(req.Tools) {
		return offline.Answer{Text: offline.ShortTitle(h.Last())} // a side job, such as a title
	}
	w := &writer{}
	at, found := readChart(h.Context)
	order, unknown := understandChart(h.Last(), at)
	switch {
	case !found:
		w.Text("I do not know which chart you are looking at, so I did nothing. Open one, and ask again.")
	case order == nil:
		w.declineChart(req, unknown)
	default:
		next := order.next(&chartTurn{h: h, at: at}, w)
		if next == nil {
			break
		}
		if !offline.Offered(req.Tools, next.tool) {
			w.Text(fmt.Sprintf("I would need the tool %s for that, which is not available here.", next.tool))
			break
		}
		if !req.NoTools {
			return offline.ToolCall(h, next.tool, next.input)
		}
		w.Text("No tool can be used at this point. Please ask again.")
	}
	if len(h.Questions) <= 1 {
		w.Text("\n\n" + chartBadge)
	}
	return w.Answer()
}

// writer collects an answer's text and the footnotes of its numbers.
type writer struct{ offline.Writer }

const chartBadge = "_Offline planner: no AI model is connected, so a few plain requests are carried out by fixed " +
	"rules. " +
	"To connect one: `export ANTHROPIC_API_KEY=…`_"

// chartSuggestions are requests that can be carried out, with the tool that each needs
// most.
var chartSuggestions = []struct{ said, tool string }{
	{"Draw support and resistance", "draw_horizontal_line"},
	{"Draw a fib from the last high to the last low", "draw_fibonacci"},
	{"What's coming up today?", "get_news_events"},
	{"How did I do last month?", "get_trade_stats"},
	{"What is the price?", "get_current_price"},
	{"Headlines", "get_headlines"},
}

func (w *writer) declineChart(req model.Request, unknown string) {
	w.Text("I am the offline planner and know only a few requests; I did not understand this one, so I did nothing.")
	if unknown != "" {
		w.Text(" " + unknown)
	}
	w.Text(" I can do, for example:\n")
	n := 0
	for _, s := range chartSuggestions {
		if n < 3 && offline.Offered(req.Tools, s.tool) {
			w.Text("\n- `" + s.said + "`")
			n++
		}
	}
}

// chartTurn is what an order is carried out with.
type chartTurn struct {
	h  offline.History
	at chartAt
}

// chartCall is a call to make.
type chartCall struct {
	tool  string
	input map[string]any
}

// next is the call to make now; nil when all that is left is what was written.
func (o *chartOrder) next(t *chartTurn, w *writer) *chartCall {
	switch o.kind {
	case "levels", "trendline", "fib":
		return o.draw(t, w)
	case "move":
		return o.move(t, w)
	case "drawings":
		return t.list(w)
	case "stats":
		return o.stats(t, w)
	case "events":
		return o.events(t, w)
	}
	symbol := o.symbol
	if symbol == "" {
		symbol = t.at.symbol
	}
	tool := map[string]string{
		"price":     "get_current_price",
		"cot":       "get_cot_positioning",
		"headlines": "get_headlines",
	}[o.kind]
	c := t.h.Result(tool)
	if c == nil {
		return &chartCall{tool, map[string]any{"symbol": symbol}}
	}
	told, ok := w.marketResult(c)
	if !ok {
		return nil
	}
	switch o.kind {
	case "price":
		w.marketPrice(told)
	case "cot":
		w.positions(symbol, told)
	case "headlines":
		w.headlines(symbol, told)
	}
	w.synthetic(told)
	return nil
}

// strokes are the calls that have drawn for the last request, in their order.
func (t *chartTurn) strokes() []*offline.Call {
	var list []*offline.Call
	for _, c := range t.h.Calls {
		if strings.HasPrefix(c.Name, "draw_") && c.Answered {
			list = append(list, c)
		}
	}
	return list
}
