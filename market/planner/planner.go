// Package planner answers questions at a chart without a model. It extends the offline planner with requests about a
// market and drawings.
package planner

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"strings"

	"github.com/footnotehq/footnote/model"
	"github.com/footnotehq/footnote/model/offline"
)

// Chart is the planner of the chart assistant. It turns a few plain requests into calls of the tools that read the
// market and draw, and puts their results into words. It draws swings, and levels at swings, computed from candles that
// it has read. The zero value is ready to use, also by several runs at once. Chart implements model.Model.
type Chart struct{}

var _ model.Model = Chart{}

// Step answers the last request of the history: with the next tool call, or with text if no call is left to make.
func (Chart) Step(ctx context.Context, req model.Request, live model.Live) (model.Reply, error) {
	if ctx.Err() != nil {
		return model.Reply{}, context.Cause(ctx)
	}
	return offline.Emit(step(req), live), nil
}

func step(req model.Request) offline.Answer {
	h := offline.ReadHistory(req.Messages)
	if !offline.HasTools(req.Tools) {
		return offline.Answer{Text: offline.ShortTitle(h.Last())} // a side job, such as a title
	}
	w := &writer{}
	at, found := parseChart(h.Context)
	order, unknown := understand(h.Last(), at)
	switch {
	case !found:
		w.Text("I don't know which chart you are looking at, so I did nothing. Open one and ask again.")
	case order == nil:
		w.decline(req, unknown)
	default:
		next := order.next(&turn{h: h, at: at}, w)
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
		w.Text("\n\n" + offlineBadge)
	}
	return w.Answer()
}

// writer collects an answer's text and the footnotes of its numbers.
type writer struct{ offline.Writer }

const offlineBadge = "_Offline planner: no AI model is connected, so a few plain requests are carried out by fixed " +
	"rules. To connect one: `export ANTHROPIC_API_KEY=…`_"

// suggestions are requests that the planner understands, each with the main tool that it needs.
var suggestions = []struct{ said, tool string }{
	{"Draw support and resistance", "draw_horizontal_line"},
	{"Draw a fib from the last high to the last low", "draw_fibonacci"},
	{"What's coming up today?", "get_news_events"},
	{"How did I do last month?", "get_trade_stats"},
	{"What is the price?", "get_current_price"},
	{"Headlines", "get_headlines"},
}

func (w *writer) decline(req model.Request, unknown string) {
	w.Text("I am the offline planner and know only a few requests; I did not understand this one, so I did nothing.")
	if unknown != "" {
		w.Text(" " + unknown)
	}
	w.Text("\n\nYou could ask:\n")
	n := 0
	for _, s := range suggestions {
		if n < 3 && offline.Offered(req.Tools, s.tool) {
			w.Text("- " + s.said + "\n")
			n++
		}
	}
}

// turn holds the history and the chart that a request is about.
type turn struct {
	h  offline.History
	at chartContext
}

// toolCall is the next call of a tool.
type toolCall struct {
	tool  string
	input map[string]any
}

// next returns the next call, or nil if the answer is complete.
func (r *request) next(t *turn, w *writer) *toolCall {
	switch r.kind {
	case "levels", "trendline", "fib":
		return r.draw(t, w)
	case "move":
		return r.move(t, w)
	case "drawings":
		return t.list(w)
	case "stats":
		return r.stats(t, w)
	case "events":
		return r.events(t, w)
	}
	symbol := cmp.Or(r.symbol, t.at.symbol)
	tool := map[string]string{
		"price":     "get_current_price",
		"cot":       "get_cot_positioning",
		"headlines": "get_headlines",
	}[r.kind]
	c := t.h.Result(tool)
	if c == nil {
		return &toolCall{tool, map[string]any{"symbol": symbol}}
	}
	table, ok := w.marketResult(c)
	if !ok {
		return nil
	}
	switch r.kind {
	case "price":
		w.marketPrice(table)
	case "cot":
		w.positions(symbol, table)
	case "headlines":
		w.headlines(symbol, table)
	}
	w.synthetic(table)
	return nil
}

// answered returns the answered calls of the last request to tools whose names begin with a prefix, in order.
func (t *turn) answered(prefix string) []*offline.Call {
	return slices.DeleteFunc(slices.Clone(t.h.Calls), func(c *offline.Call) bool {
		return !c.Answered || !strings.HasPrefix(c.Name, prefix)
	})
}
