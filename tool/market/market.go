// Package market has the tools that look at a market: candles, the price, the calendar
// and what prices did after its releases, headlines, positions of large traders, and
// the trades of the person who asks. They only read: what they are made of has no
// method that writes.
//
// A part that is away is said to be: the model gets a failed result that names it, and
// the run goes on. It never gets an empty list for it.
package market

import (
	"context"
	"encoding/json"
	"fmt"
	"math"
	"strings"
	"time"

	"github.com/footnotehq/footnote"
	"github.com/footnotehq/footnote/agent"
	"github.com/footnotehq/footnote/internal/reply"
	"github.com/footnotehq/footnote/market"
)

// Options configure the tools.
type Options struct {
	Market market.Market // required
	// Deadline is how long a part may take to answer; default 5 s.
	Deadline time.Duration
}

// Source is the name under which results of these tools are stored.
const Source = "market"

// New returns the nine tools.
func New(o Options) []agent.Tool {
	if o.Deadline <= 0 {
		o.Deadline = 5 * time.Second
	}
	return []agent.Tool{
		of(o, candlesSpec, candles), of(o, priceSpec, price),
		of(o, eventsSpec, events), of(o, statisticsSpec, statistics),
		of(o, headlinesSpec, headlines),
		of(o, positioningSpec, positioning), of(o, historySpec, history),
		of(o, tradesSpec, trades), of(o, statsSpec, stats),
	}
}

// input is what a tool is asked: a pointer to In.
type input[In any] interface {
	*In
	// common are the fields that all tools have: why the model asks, and of which symbol.
	common() (thought, symbol *string)
}

// tool is one of them: its answer is computed by a function of what is asked, which fills in
// what was left out of it.
type tool[In any, P input[In]] struct {
	Options
	spec   agent.Spec
	answer func(context.Context, question, P) (answer, error)
}

func of[In any, P input[In]](o Options, spec agent.Spec, f func(context.Context, question, P) (answer, error)) agent.Tool {
	return tool[In, P]{o, spec, f}
}

// journal is a question about trades: people trade symbols that have no candles here, too.
type journal interface{ journal() }

// question is what every tool needs to know.
type question struct {
	market market.Market
	who    footnote.Principal
	now    time.Time
	symbol market.Symbol // that is asked for; none where any is meant
}

// answer is a table, and what is to be known of it.
type answer struct {
	asked     any // the input with all that was left out of it
	now       time.Time
	symbol    market.Symbol
	result    footnote.Result
	synthetic bool
	facts     map[string]any // beside the table
	notes     []string
}

func (a *answer) note(format string, args ...any) {
	a.notes = append(a.notes, fmt.Sprintf(format, args...))
}

// Spec implements agent.Tool.
func (t tool[In, P]) Spec() agent.Spec { return t.spec }

// Call implements agent.Tool.
func (t tool[In, P]) Call(ctx context.Context, call agent.Call) (agent.Output, error) {
	var in In
	if err := json.Unmarshal(call.Input, &in); err != nil {
		return agent.Fail("The input does not fit " + call.Name + ": " + err.Error()), nil
	}
	limited, cancel := context.WithTimeout(ctx, t.Deadline)
	defer cancel()
	a, err := t.ask(limited, call.Principal, &in)
	switch code := footnote.CodeOf(err); {
	case ctx.Err() != nil:
		return agent.Output{}, context.Cause(ctx)
	case code == footnote.MarketUnavailable || err != nil && limited.Err() != nil:
		return down(err), nil
	case code == footnote.InvalidRequest || code == footnote.NotFound:
		return agent.Fail(footnote.MessageOf(err)), nil
	case err != nil:
		return agent.Output{}, err
	}
	return t.output(call, a), nil
}

// ask answers what is asked of a symbol that there is.
func (t tool[In, P]) ask(ctx context.Context, who footnote.Principal, in P) (a answer, err error) {
	q := question{market: t.Market, who: who}
	if q.now, err = t.Market.Now(ctx); err != nil {
		return a, err
	}
	q.now = q.now.UTC()
	thought, name := in.common()
	*thought = "" // it is the user's, and no part of what was asked
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

// down is what the model reads when a part is away.
func down(err error) agent.Output {
	reason := "The market data did not answer in time."
	if footnote.CodeOf(err) == footnote.MarketUnavailable {
		reason = footnote.MessageOf(err)
	}
	return agent.Output{IsError: true, Content: string(reply.JSON(map[string]any{
		"down": true, "reason": reason,
		"note": "This is not an empty answer: what was asked for is not known now. Say so, go on without it, and do not guess.",
	}))}
}

// The most that the model reads of a table.
const (
	mostRows  = 500
	mostBytes = 60_000
)

// invented is said of data that is.
const invented = "This data is synthetic: it was invented for a demo and says nothing about a real market. Tell the user so."

func (t tool[In, P]) output(call agent.Call, a answer) agent.Output {
	facts := map[string]any{"now": moment(a.now), "synthetic": a.synthetic}
	for k, v := range a.facts {
		facts[k] = v
	}
	if a.symbol.Symbol != "" {
		facts["symbol"] = a.symbol.Symbol
	}
	if a.synthetic {
		a.notes = append(a.notes, invented)
	}
	if len(a.notes) > 0 {
		facts["note"] = strings.Join(a.notes, " ")
	}
	facts["table"] = json.RawMessage(reply.Table{ID: call.ResultID, Result: a.result, Rows: mostRows, Bytes: mostBytes}.JSON())
	// Which call gave the numbers stands where a statement would.
	sql := "-- " + t.spec.Name + " " + string(reply.JSON(a.asked))
	return agent.Output{Content: string(reply.JSON(facts)), Rows: &a.result, Source: Source, SQL: sql}
}

// at reads a time: a date, or a moment.
func at(name, text string) (time.Time, error) {
	if text == "" {
		return time.Time{}, nil
	}
	for _, layout := range []string{time.RFC3339, "2006-01-02T15:04:05", "2006-01-02T15:04", "2006-01-02 15:04", time.DateOnly} {
		if t, err := time.Parse(layout, text); err == nil {
			return t.UTC(), market.CheckTime(t)
		}
	}
	return time.Time{}, footnote.Errorf(footnote.InvalidRequest, "%s is no time. Write 2026-11-19 or 2026-11-19T15:00:00Z, in UTC.", name)
}

func span(fromText, toText string) (from, to time.Time, err error) {
	if from, err = at("from", fromText); err == nil {
		to, err = at("to", toText)
	}
	return from, to, err
}

// moment is a cell.
func moment(t time.Time) any {
	if t.IsZero() {
		return nil
	}
	return t.UTC().Format(time.RFC3339)
}

// optional is the cell of a number that may not be known.
func optional(v *float64) any {
	if v == nil {
		return nil
	}
	return *v
}

// level is the cell of a price that may not be set.
func level(v float64) any {
	if v == 0 {
		return nil
	}
	return v
}

// round keeps some digits after the point.
func round(v float64, digits int) float64 {
	scale := math.Pow10(digits)
	return math.Round(v*scale) / scale
}

// pip is the unit in which moves of a price are told: ten points, and of prices of four
// digits, or two in yen, one point; it is never more than 1.
func pip(s market.Symbol) float64 {
	digits := max(0, s.Digits-1)
	if s.Digits == 4 || s.Digits == 2 && s.Quote == "JPY" {
		digits = s.Digits
	}
	return round(math.Pow10(-digits), 10)
}

func columns(pairs ...string) []footnote.Column {
	list := make([]footnote.Column, 0, len(pairs)/2)
	for i := 0; i < len(pairs); i += 2 {
		list = append(list, footnote.Column{Name: pairs[i], Kind: pairs[i+1]})
	}
	return list
}
