// Package drawing provides the tools with which an assistant draws on the user's chart. The user's page runs them.
// The server checks each call before the page sees it, and stores what the page has drawn in the document of
// drawings. One more tool reads that document.
package drawing

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"slices"
	"strings"
	"time"

	"github.com/footnotehq/footnote"
	"github.com/footnotehq/footnote/internal/reply"
	"github.com/footnotehq/footnote/market"
	"github.com/footnotehq/footnote/market/board"
	core "github.com/footnotehq/footnote/market/drawing"
	"github.com/footnotehq/footnote/tool"
)

// Options configure the tools. Boards is required.
type Options struct {
	Boards *board.Boards
	// Bar returns the start, in unix seconds, of the newest bar that begins at or before a time. If Bar is nil,
	// anchors stay where they are.
	Bar func(ctx context.Context, symbol, timeframe string, at int64) (int64, error)
	// Candles returns the candles that begin some days before a time or later. If Candles is nil, it is not known which
	// lines closes have crossed.
	Candles func(ctx context.Context, symbol, timeframe string, from int64) ([]market.Candle, error)
}

// New returns the fourteen tools that the page runs and the one that reads the drawings.
func New(o Options) []tool.Tool {
	var tools []tool.Tool
	for _, s := range specs() {
		if s.Name == getDrawings {
			tools = append(tools, &list{s, o.Boards, o.Candles})
		} else {
			tools = append(tools, &draw{tool.OnPage(s), o})
		}
	}
	return tools
}

type draw struct {
	tool.Tool
	o Options
}

var _ tool.Checked = (*draw)(nil)

// modelText returns the text of an error that the model can correct.
func modelText(err error) (string, bool) {
	switch footnote.CodeOf(err) {
	case footnote.InvalidRequest, footnote.NotFound, footnote.TooLarge, footnote.Conflict, footnote.DatabaseUnavailable,
		footnote.MarketUnavailable:
	default:
		return "", false
	}
	message := footnote.MessageOf(err)
	if old, ok := errors.AsType[*core.Stale](err); ok && old.Present != nil {
		message += " It is now: " + string(oneLine(reply.JSON(old.Present))) + " Look at it, and decide again."
	}
	return message, true
}

// Check implements tool.Checked. It applies the change to a scratch document, after those of the earlier calls.
func (t *draw) Check(ctx context.Context, call tool.Call, before []tool.Call) (string, error) {
	err := t.try(ctx, call, before)
	if err == nil {
		return "", nil
	}
	if message, ok := modelText(err); ok {
		return message, nil
	}
	return "", err
}

func (t *draw) try(ctx context.Context, call tool.Call, before []tool.Call) error {
	at, err := ChartOf(call.Where)
	if err != nil {
		return err
	}
	data, err := t.o.Boards.Data(ctx, at.Symbol)
	if err != nil {
		return err
	}
	if call.Name == scrollChart {
		return t.scroll(call, at, data)
	}
	var plans []*plan
	for _, c := range append(before[:len(before):len(before)], call) {
		if c.Name == scrollChart {
			continue
		}
		p, err := t.plan(ctx, c, at, data)
		if err != nil {
			if c.ID == call.ID {
				return err
			}
			continue
		}
		plans = append(plans, p)
	}
	return t.o.Boards.Try(ctx, call.Principal, at.Symbol, func(doc *core.Document) error {
		doc.Prices = data
		for _, p := range plans {
			if _, made := doc.StepOf(p.cause); made {
				continue // another client was faster, or the server that accepted it is gone
			}
			b, err := p.event(doc)
			if err == nil {
				err = doc.Apply(footnote.Event{Seq: doc.Version + 1, Time: time.Now(), Body: b})
			}
			if err != nil && p.call.ID == call.ID {
				return err
			}
		}
		return nil
	})
}

// scroll checks that there is something to see.
func (t *draw) scroll(call tool.Call, at Chart, data core.Data) error {
	in, err := read(call.Input)
	if err != nil {
		return err
	}
	d := core.Drawing{
		Type: core.VerticalLine, Symbol: at.Symbol, Timeframe: at.Timeframe,
		Anchors: []core.Anchor{{Time: int64(in.Timestamp)}},
	}
	if in.Timestamp <= 0 {
		return footnote.Invalidf("The timestamp is not a time.")
	}
	return d.Within(data)
}

// plan is the change that a call makes to the document.
type plan struct {
	call  tool.Call
	in    input
	draw  core.Drawing // set if the call draws
	snap  func(timeframe string, unix int64) (int64, error)
	cause core.Cause
}

func (t *draw) plan(ctx context.Context, call tool.Call, at Chart, data core.Data) (*plan, error) {
	in, err := read(call.Input)
	if err != nil {
		return nil, err
	}
	p := &plan{call: call, in: in, cause: causeOf(call, in.Reason)}
	type moment struct {
		timeframe string
		unix      int64
	}
	bars := map[moment]int64{}
	p.snap = func(timeframe string, unix int64) (bar int64, err error) {
		if t.o.Bar == nil || unix < data.First || unix > data.Last {
			return unix, nil
		}
		if bar, known := bars[moment{timeframe, unix}]; known {
			return bar, nil
		}
		if bar, err = t.o.Bar(ctx, at.Symbol, timeframe, unix); err == nil {
			bars[moment{timeframe, unix}] = bar
		}
		return bar, err
	}
	kind, draws := drawn[call.Name]
	if !draws {
		return p, t.findBars(ctx, p, at)
	}
	d := core.Drawing{Type: kind, Symbol: at.Symbol, Timeframe: at.Timeframe, Anchors: []core.Anchor{}}
	if d.IsPosition() {
		d.Anchors = span(in, at.Timeframe, data.Last)
	}
	err = in.applyTo(&d, p.snap)
	reason := []rune(d.Notes)
	p.draw, p.cause.Reason = d, string(reason[:min(len(reason), core.MaxReason)])
	return p, err
}

// findBars looks up the bars that an update needs before the document is locked, so that a slow market does not block
// anybody who draws.
func (t *draw) findBars(ctx context.Context, p *plan, at Chart) error {
	if p.call.Name != updateDrawing || !p.in.placed() {
		return nil
	}
	old, err := t.current(ctx, p, at)
	if err != nil {
		return nil //nolint:nilerr // the change reports it
	}
	old.Anchors = slices.Clone(old.Anchors)
	return p.in.anchors(&old, p.snap)
}

// current returns the drawing that a call is about.
func (t *draw) current(ctx context.Context, p *plan, at Chart) (now core.Drawing, err error) {
	err = t.o.Boards.Try(ctx, p.call.Principal, at.Symbol, func(doc *core.Document) (err error) {
		now, err = p.currentDrawing(doc)
		return err
	})
	return now, err
}

// shownBars is the default number of bars over which a position is shown.
const shownBars = 20

// span returns the start and end of a shown position.
func span(in input, timeframe string, last int64) []core.Anchor {
	bar := int64(core.Bar(timeframe) / time.Second)
	from := cmp.Or(int64(in.Timestamp), last, time.Now().Unix())
	return []core.Anchor{{Time: from}, {Time: cmp.Or(int64(in.EndTimestamp), from+shownBars*bar)}}
}

// event returns the event of a plan applied to a document.
func (p *plan) event(doc *core.Document) (b footnote.DrawingChanged, err error) {
	var old core.Drawing
	if p.call.Name == updateDrawing || p.call.Name == removeDrawing {
		if old, err = p.currentDrawing(doc); err != nil {
			return b, err
		}
	}
	switch p.call.Name {
	case updateDrawing:
		now, err := p.changed(old)
		if err != nil {
			return b, err
		}
		b, differs, err := doc.Replace(now, p.in.Version, p.cause)
		if err == nil && !differs {
			err = footnote.Invalidf("The drawing %s already has these values.", now.ID)
		}
		return b, err
	case removeDrawing:
		return doc.Remove(old.ID, p.in.Version, p.cause)
	default:
		d := p.draw
		d.ID = board.IDOf(p.call.Conversation, p.call.ID)
		return doc.Add(d, p.cause)
	}
}

// currentDrawing returns the drawing that a call is about. A call without a version is based on what the model was last
// told about the drawing, and must not undo what a person has done to it since.
func (p *plan) currentDrawing(doc *core.Document) (core.Drawing, error) {
	old, there := doc.Drawing(p.in.DrawingID)
	switch {
	case !there:
		return old, footnote.Errorf(footnote.NotFound, "There is no drawing %.70q.", p.in.DrawingID)
	case p.in.Version == 0:
		return old, doc.Overruled(old.ID, p.call.LastMentioned(old.ID))
	}
	return old, nil
}

// changed returns a drawing with the fields of an update applied.
func (p *plan) changed(old core.Drawing) (core.Drawing, error) {
	var now core.Drawing // shares nothing with the old one
	if err := decode(reply.JSON(old), &now); err != nil {
		return now, err
	}
	return now, p.in.applyTo(&now, p.snap)
}

// Accept implements tool.Checked. It stores what the page has drawn in the document.
func (t *draw) Accept(ctx context.Context, call tool.Call, a tool.Answer) (tool.Output, error) {
	if refused(a.Content) {
		return tool.Fail(cut(a.Content)), nil
	}
	if call.Name == scrollChart {
		return tool.Output{Content: `{"ok":true}`}, nil
	}
	res, err := t.change(ctx, call)
	if err != nil {
		if message, ok := modelText(err); ok {
			return tool.Fail(message), nil
		}
		return tool.Output{}, err
	}
	return output(res), nil
}

// Withdraw implements tool.Checked.
func (t *draw) Withdraw(ctx context.Context, call tool.Call) error {
	at, err := ChartOf(call.Where)
	if err != nil || call.Name == scrollChart {
		return nil //nolint:nilerr // without a chart, nothing was drawn
	}
	return t.o.Boards.Withdraw(ctx, call.Principal, at.Symbol, causeOf(call,
		"Taken back: the call that made it was not answered in time, or the answer that counts is an error."))
}

func causeOf(call tool.Call, reason string) core.Cause {
	return core.Cause{
		By: core.Agent, User: call.Principal.User, Conversation: call.Conversation, Run: call.Run, Call: call.ID,
		Reason: reason,
	}
}

// refused reports whether the client's text says that it did not draw.
func refused(content string) bool {
	var reply struct {
		OK      *bool `json:"ok"`
		Success *bool `json:"success"`
	}
	if json.Unmarshal([]byte(content), &reply) != nil {
		return false
	}
	return reply.OK != nil && !*reply.OK || reply.Success != nil && !*reply.Success
}

// maxReason limits the bytes of a client's text that the model reads.
const maxReason = 2_000

func cut(s string) string {
	if len(s) <= maxReason {
		return s
	}
	return strings.ToValidUTF8(s[:maxReason], "") + "…"
}

// changeTries limits how often an update without a version is retried after its drawing has changed in between.
const changeTries = 5

// change applies the change of a call to the document.
func (t *draw) change(ctx context.Context, call tool.Call) (board.Changed, error) {
	at, err := ChartOf(call.Where)
	if err != nil {
		return board.Changed{}, err
	}
	// A call takes effect once, even if the chart has changed.
	res, made, err := t.o.Boards.ChangeOf(ctx, call.Principal, at.Symbol, causeOf(call, ""))
	if made || err != nil {
		return res, err
	}
	data, err := t.o.Boards.Data(ctx, at.Symbol)
	if err != nil {
		return board.Changed{}, err
	}
	p, err := t.plan(ctx, call, at, data)
	if err != nil {
		return board.Changed{}, err
	}
	if call.Name != updateDrawing && call.Name != removeDrawing {
		return t.o.Boards.Put(ctx, call.Principal, p.draw, 0, p.cause)
	}
	for range changeTries {
		res, err = t.alter(ctx, p, at)
		if _, raced := errors.AsType[*core.Stale](err); !raced || p.in.Version != 0 {
			break
		}
	}
	return res, err
}

// alter changes or removes the current version of a drawing.
func (t *draw) alter(ctx context.Context, p *plan, at Chart) (board.Changed, error) {
	old, err := t.current(ctx, p, at)
	if err != nil {
		return board.Changed{}, err
	}
	base := cmp.Or(p.in.Version, old.Version)
	if p.call.Name == removeDrawing {
		return t.o.Boards.Remove(ctx, p.call.Principal, at.Symbol, old.ID, base, p.cause)
	}
	now, err := p.changed(old)
	if err != nil {
		return board.Changed{}, err
	}
	return t.o.Boards.Put(ctx, p.call.Principal, now, base, p.cause)
}

// output returns the result of a call that changed the document.
func output(res board.Changed) tool.Output {
	if len(res.Changes) == 0 {
		return tool.Output{Content: `{"ok":true}`} // applied earlier, and its result is no longer remembered
	}
	c := res.Changes[0]
	result := struct {
		OK         bool                 `json:"ok"`
		ID         string               `json:"drawing_id"`
		Version    int64                `json:"version"`
		RiskReward float64              `json:"risk_reward,omitempty"`
		Changes    map[string]core.Diff `json:"changes,omitempty"`
	}{OK: true, ID: c.Drawing, Version: c.Version}
	if c.After != nil {
		result.RiskReward = c.After.RiskReward
	}
	if c.Action == core.Update {
		result.Changes = c.Changes
	}
	return tool.Output{Content: string(reply.JSON(result)), Detail: reply.JSON(struct {
		Kind   string      `json:"kind"`
		Change core.Change `json:"change"`
	}{"drawing", c})}
}
