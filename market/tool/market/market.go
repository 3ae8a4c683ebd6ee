// Package market provides the tools that examine a market: candles, the price, the calendar and how prices reacted
// to its releases, headlines, positions of large traders, and the user's own trades. They only read: the interface
// they use has no method that writes.
//
// When a part of the data is unavailable, the model gets a failed result that names it, never an empty list, and
// the run continues.
package market

import (
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"maps"
	"math"
	"strings"
	"time"

	"github.com/footnotehq/footnote"
	"github.com/footnotehq/footnote/internal/reply"
	"github.com/footnotehq/footnote/market"
	"github.com/footnotehq/footnote/market/internal/cell"
	"github.com/footnotehq/footnote/tool"
	"github.com/footnotehq/footnote/tool/schema"
)

// Options configure the tools.
type Options struct {
	Market market.Market // required
	// Deadline limits how long a part may take to answer; default 5 s.
	Deadline time.Duration
}

// Source is the source name under which results of these tools are stored.
const Source = "market"

// New returns the nine tools.
func New(o Options) []tool.Tool {
	o.Deadline = cmp.Or(max(o.Deadline, 0), 5*time.Second)
	return []tool.Tool{
		newTool(o, candlesSpec, candles), newTool(o, priceSpec, price), newTool(o, eventsSpec, events),
		newTool(o, statisticsSpec, statistics), newTool(o, headlinesSpec, headlines),
		newTool(o, positioningSpec, positioning), newTool(o, historySpec, history), newTool(o, tradesSpec, trades),
		newTool(o, statsSpec, stats),
	}
}

// input is the input of a tool: a pointer to In.
type input[In any] interface {
	*In
	// common returns the fields that all tools have: the reason for the call, and the symbol.
	common() (thought, symbol *string)
}

// tool is one of the tools. A function computes its answer from the input, in which it fills in the defaults.
type reader[In any, P input[In]] struct {
	Options
	spec   tool.Spec
	answer func(context.Context, question, P) (answer, error)
}

func newTool[In any, P input[In]](o Options, spec tool.Spec,
	f func(context.Context, question, P) (answer, error)) tool.Tool {
	spec.Family, spec.Side, spec.ReadOnly = tool.Market, tool.Server, true
	return reader[In, P]{o, spec, f}
}

// inputSchema returns the schema of an input.
func inputSchema[In any](options ...schema.Option) json.RawMessage {
	return schema.For[In](append(options, schema.Length("thought", 0, 500))...)
}

// journal is a question about trades: people also trade symbols without candles here.
type journal interface{ journal() }

// question holds what every tool needs to know.
type question struct {
	market market.Market
	caller footnote.Principal
	now    time.Time
	symbol market.Symbol // the requested one; zero if the tool allows any
}

// answer is a table and facts about it.
type answer struct {
	asked     any // the input with its defaults filled in
	now       time.Time
	symbol    market.Symbol
	result    footnote.Result
	synthetic bool
	facts     map[string]any // in addition to the table
	notes     []string
}

func (a *answer) note(format string, args ...any) {
	a.notes = append(a.notes, fmt.Sprintf(format, args...))
}

// Spec implements tool.Tool.
func (t reader[In, P]) Spec() tool.Spec { return t.spec }

// Call implements tool.Tool.
func (t reader[In, P]) Call(ctx context.Context, call tool.Call) (tool.Output, error) {
	var in In
	if err := json.Unmarshal(call.Input, &in); err != nil {
		return tool.Fail("The input does not fit " + call.Name + ": " + err.Error()), nil
	}
	limited, cancel := context.WithTimeout(ctx, t.Deadline)
	defer cancel()
	a, err := t.ask(limited, call.Principal, &in)
	switch code := footnote.CodeOf(err); {
	case ctx.Err() != nil:
		return tool.Output{}, context.Cause(ctx)
	case code == footnote.MarketUnavailable || err != nil && limited.Err() != nil:
		return unavailable(err), nil
	case code == footnote.InvalidRequest || code == footnote.NotFound:
		return tool.Fail(footnote.MessageOf(err)), nil
	case err != nil:
		return tool.Output{}, err
	}
	return t.output(call, a), nil
}

// ask answers a call. It looks up the symbol first.
func (t reader[In, P]) ask(ctx context.Context, caller footnote.Principal, in P) (a answer, err error) {
	q := question{market: t.Market, caller: caller}
	if q.now, err = t.Market.Now(ctx); err != nil {
		return a, err
	}
	q.now = q.now.UTC()
	thought, name := in.common()
	*thought = "" // it is for the user and not part of the query
	if *name != "" {
		wanted := strings.ToUpper(strings.NewReplacer("/", "", " ", "").Replace(*name))
		q.symbol, err = market.Find(ctx, t.Market, wanted)
		if _, own := any(in).(journal); own && footnote.CodeOf(err) == footnote.NotFound {
			q.symbol, err = market.Symbol{Symbol: wanted}, nil
		}
		if err != nil {
			return a, err
		}
		*name = q.symbol.Symbol
	}
	a, err = t.answer(ctx, q, in)
	a.asked, a.now, a.symbol = in, q.now, q.symbol
	return a, err
}

// unavailable returns the output for an unavailable part.
func unavailable(err error) tool.Output {
	reason := "The market data did not answer in time."
	if footnote.CodeOf(err) == footnote.MarketUnavailable {
		reason = footnote.MessageOf(err)
	}
	return tool.Output{IsError: true, Content: string(reply.JSON(map[string]any{
		"down": true, "reason": reason,
		"note": "This is not an empty answer: the data is unavailable now. Say so, continue without it, and do " +
			"not guess.",
	}))}
}

// Limits on what the model reads of a table.
const (
	maxRows  = 500
	maxBytes = 60_000
)

// syntheticNote is the note on synthetic data.
const syntheticNote = "This data is synthetic: it was invented for a demo and says nothing about a real market. Tell " +
	"the user so."

func (t reader[In, P]) output(call tool.Call, a answer) tool.Output {
	facts := map[string]any{"now": cell.Time(a.now), "synthetic": a.synthetic}
	maps.Copy(facts, a.facts)
	if a.symbol.Symbol != "" {
		facts["symbol"] = a.symbol.Symbol
	}
	if a.synthetic {
		a.notes = append(a.notes, syntheticNote)
	}
	if len(a.notes) > 0 {
		facts["note"] = strings.Join(a.notes, " ")
	}
	facts["table"] = json.RawMessage(reply.Table{
		ID: call.ResultID, Result: a.result, Rows: maxRows, Bytes: maxBytes,
	}.JSON())
	// The call takes the place of the SQL statement behind the numbers.
	sql := "-- " + t.spec.Name + " " + string(reply.JSON(a.asked))
	return tool.Output{Content: string(reply.JSON(facts)), Rows: &a.result, Source: Source, SQL: sql}
}

// at parses a date or a time.
func at(name, text string) (time.Time, error) {
	if text == "" {
		return time.Time{}, nil
	}
	t, err := cell.ParseTime(text)
	if err != nil {
		return t, footnote.Invalidf("%s is not a time. Write 2026-11-19 or 2026-11-19T15:00:00Z, in UTC.", name)
	}
	return t, market.CheckTime(t)
}

func span(fromText, toText string) (from, to time.Time, err error) {
	if from, err = at("from", fromText); err == nil {
		to, err = at("to", toText)
	}
	return from, to, err
}

// round rounds to a number of digits after the point.
func round(v float64, digits int) float64 {
	scale := math.Pow10(digits)
	return math.Round(v*scale) / scale
}

// pip returns the unit for price moves: ten points, or one point for prices with four digits (two for yen). It is
// never more than 1.
func pip(s market.Symbol) float64 {
	digits := max(0, s.Digits-1)
	if s.Digits == 4 || s.Digits == 2 && s.Quote == "JPY" {
		digits = s.Digits
	}
	return round(math.Pow10(-digits), 10)
}
