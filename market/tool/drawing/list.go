package drawing

import (
	"context"
	"encoding/json"
	"math"
	"slices"
	"strings"
	"time"

	"github.com/footnotehq/footnote"
	"github.com/footnotehq/footnote/internal/reply"
	"github.com/footnotehq/footnote/market"
	"github.com/footnotehq/footnote/market/board"
	core "github.com/footnotehq/footnote/market/drawing"
	"github.com/footnotehq/footnote/market/internal/cell"
	"github.com/footnotehq/footnote/tool"
)

// Limits of one answer.
const (
	pageSize  = 50
	maxTrail  = 10  // changes per drawing
	maxNotes  = 200 // characters of notes in a list
	maxDiffed = 300 // bytes of a field's old and new value
)

// source is the source name under which its tables are stored.
const source = "drawings"

// list is the tool get_drawings. It runs on the server and only reads.
type list struct {
	spec   tool.Spec
	boards *board.Boards
	// candles is nil without a market.
	candles func(ctx context.Context, symbol, timeframe string, from int64) ([]market.Candle, error)
}

func (l *list) Spec() tool.Spec { return l.spec }

// listInput is the tool's input.
type listInput struct {
	Type      string `json:"type,omitempty"`
	Page      int    `json:"page,omitempty"`
	DrawingID string `json:"drawingId,omitempty"`
}

// Call implements tool.Tool.
func (l *list) Call(ctx context.Context, call tool.Call) (tool.Output, error) {
	out, err := l.read(ctx, call)
	if err != nil {
		if content, ok := modelText(err); ok {
			return tool.Fail(content), nil
		}
	}
	return out, err
}

func (l *list) read(ctx context.Context, call tool.Call) (tool.Output, error) {
	var in listInput
	if err := json.Unmarshal(call.Input, &in); err != nil {
		return tool.Output{}, footnote.Invalidf("The input does not fit the tool.")
	}
	at, err := ChartOf(call.Where)
	if err != nil {
		return tool.Output{}, err
	}
	v, err := l.boards.View(ctx, call.Principal, at.Symbol)
	if err != nil {
		return tool.Output{}, err
	}
	facts := map[string]any{"symbol": v.Symbol, "version": v.Version}
	var shown []core.Drawing
	if in.DrawingID != "" {
		shown, err = l.oneDrawing(ctx, call.Principal, v, in.DrawingID, facts)
	} else {
		shown, err = in.page(v, facts)
	}
	if err != nil {
		return tool.Output{}, err
	}
	crossings, err := l.crossings(ctx, at, shown)
	if err != nil {
		facts["crossed"] = "not known: " + footnote.MessageOf(err)
	}
	res := table(shown, crossings)
	facts["table"] = json.RawMessage(reply.Table{ID: call.ResultID, Result: res, Rows: pageSize}.JSON())
	return tool.Output{
		Content: string(reply.JSON(facts)), Rows: &res, Source: source,
		SQL: "-- " + getDrawings + " " + string(reply.JSON(in)),
	}, nil
}

// page returns the drawings on a page.
func (in *listInput) page(v board.View, facts map[string]any) ([]core.Drawing, error) {
	all := core.Ordered(v.Drawings)
	if in.Type != "" {
		all = slices.DeleteFunc(all, func(d core.Drawing) bool { return d.Type != in.Type })
	}
	in.Page = max(in.Page, 1)
	pages := max(1, (len(all)+pageSize-1)/pageSize)
	if in.Page > pages {
		return nil, footnote.Invalidf("There is no page %d; the last one is %d.", in.Page, pages)
	}
	facts["total"], facts["page"], facts["pages"] = len(all), in.Page, pages
	from := (in.Page - 1) * pageSize
	return all[from:min(from+pageSize, len(all))], nil
}

// change is an entry of a drawing's history in the form that the model reads.
type change struct {
	Version int64                `json:"version"`
	At      time.Time            `json:"at"`
	By      string               `json:"by"`
	Action  string               `json:"action"`
	Reason  string               `json:"reason,omitempty"`
	Changes map[string]core.Diff `json:"changes,omitempty"` // null for both: too long to show
}

// oneDrawing returns a drawing with everything known about it.
func (l *list) oneDrawing(ctx context.Context, p footnote.Principal, v board.View, id string,
	facts map[string]any) ([]core.Drawing, error) {
	i := slices.IndexFunc(v.Drawings, func(d core.Drawing) bool { return d.ID == id })
	if i < 0 {
		return nil, footnote.Errorf(footnote.NotFound, "There is no drawing %.70q.", id)
	}
	changes, more, err := l.boards.History(ctx, p, v.Symbol, board.HistoryQuery{Drawing: id, Limit: maxTrail})
	if err != nil {
		return nil, err
	}
	trail := make([]change, 0, len(changes))
	for _, c := range changes {
		entry := change{Version: c.Version, At: c.At, By: c.By, Action: c.Action, Reason: core.Line(c.Reason)}
		if c.Before != nil && c.After != nil {
			entry.Changes = c.Changes
		}
		for name, d := range entry.Changes {
			if len(d.From)+len(d.To) > maxDiffed {
				d.From, d.To = json.RawMessage("null"), json.RawMessage("null")
			}
			entry.Changes[name] = core.Diff{From: oneLine(d.From), To: oneLine(d.To)}
		}
		trail = append(trail, entry)
	}
	facts["drawing"], facts["changes"], facts["more_changes"] = oneLine(reply.JSON(v.Drawings[i])), trail, more
	return v.Drawings[i : i+1], nil
}

// oneLine returns JSON on one line, without invisible characters in its texts.
func oneLine(data json.RawMessage) json.RawMessage { return json.RawMessage(core.Line(string(data))) }

// table returns drawings as rows of a result, so that footnotes can cite their numbers.
func table(drawings []core.Drawing, crossings map[string]core.Crossing) (res footnote.Result) {
	res.Columns = cell.Columns("id text, type text, label text, text text, time timestamp, price number, " +
		"time_2 timestamp, price_2 number, entry number, take_profit number, stop_loss number, reward_risk number, " +
		"status text, crossed_closes integer, crossed_side text, crossed_since timestamp, " +
		"timeframe text, shown_on text, importance text, tags text, hidden boolean, locked boolean, " +
		"version integer, drawn_by text, changed_by text, changed_at timestamp, notes text")
	for i := range drawings {
		d := &drawings[i]
		row := []any{d.ID, d.Type, cell.Set(core.Line(d.Label)), cell.Set(core.Line(d.Text))}
		row = append(row, places(d)...)
		var reward any
		if d.IsPosition() {
			reward = d.RiskReward
		}
		row = append(row, cell.Known(d.Entry), cell.Known(d.TakeProfit), cell.Known(d.StopLoss), reward,
			cell.Set(d.Status))
		row = append(row, crossed(crossings, d.ID)...)
		row = append(row, d.Timeframe, cell.Set(strings.Join(d.Visibility, ", ")), cell.Set(d.Importance),
			cell.Set(core.Line(strings.Join(d.Tags, ", "))), d.Hidden, d.Locked, d.Version, cell.Set(d.Created.By),
			cell.Set(d.Changed.By), cell.Time(d.Changed.At), cell.Set(core.Clip(core.Line(d.Notes), maxNotes)))
		res.Rows = append(res.Rows, row)
	}
	return res
}

// crossings returns the crossings of lines, by id, on the timeframe of the chart.
func (l *list) crossings(ctx context.Context, at Chart, drawings []core.Drawing) (map[string]core.Crossing, error) {
	from := int64(math.MaxInt64)
	for i := range drawings {
		if d := &drawings[i]; d.IsLine() {
			from = min(from, d.Placed.Unix())
			for _, a := range d.Anchors {
				from = min(from, a.Time)
			}
		}
	}
	if l.candles == nil || from == math.MaxInt64 {
		return nil, nil
	}
	candles, err := l.candles(ctx, at.Symbol, at.Timeframe, from)
	if err != nil {
		return nil, err
	}
	found := map[string]core.Crossing{}
	for i := range drawings {
		if c, ok := core.Crossed(&drawings[i], market.Timeframe(at.Timeframe), candles, time.Now()); ok {
			found[drawings[i].ID] = c
		}
	}
	return found, nil
}

// crossed returns the cells of a crossing. They are empty if it is not known.
func crossed(all map[string]core.Crossing, id string) []any {
	c, known := all[id]
	switch {
	case !known:
		return []any{nil, nil, nil}
	case c.Closes == 0:
		return []any{int64(0), nil, nil}
	}
	return []any{int64(c.Closes), map[bool]string{true: "above", false: "below"}[c.Above], cell.Time(c.First)}
}

// places returns the times and prices of both anchors, or the price of a level.
func places(d *core.Drawing) []any {
	cells := make([]any, 4)
	for i, a := range d.Anchors {
		cells[2*i] = cell.Time(time.Unix(a.Time, 0))
		if d.Type != core.VerticalLine && !d.IsPosition() { // anchors of a position have only a time
			cells[2*i+1] = a.Price
		}
	}
	if d.Price != nil {
		cells[1] = *d.Price
	}
	return cells
}
