package planner

import (
	"cmp"
	"fmt"
	"math"
	"slices"
	"strings"

	"github.com/footnotehq/footnote"
	"github.com/footnotehq/footnote/market/drawing"
	"github.com/footnotehq/footnote/market/swing"
	"github.com/footnotehq/footnote/model/offline"
)

// stroke is a drawing to make, or one whose place is marked already.
type stroke struct {
	tool       string
	input      map[string]any
	existing   string // id of the drawing that marks the place already, if any
	visibility string // why that drawing is not visible on this chart; empty if it is
	name       string // such as "Support"
	describe   func(w *writer)
}

// readCandles returns the call that reads the candles of the chart.
func (t *turn) readCandles() *toolCall {
	return &toolCall{
		"get_candles", map[string]any{"symbol": t.at.symbol, "timeframe": t.at.timeframe, "limit": candlesRead},
	}
}

// draw answers a request for drawings. It reads the candles, makes the drawings one after the other and describes them.
func (r *request) draw(t *turn, w *writer) *toolCall {
	c := t.h.Result("get_candles")
	if c == nil {
		return t.readCandles()
	}
	b := w.readBars(c)
	if b == nil {
		return nil
	}
	strokes, missing := r.strokes(t, b)
	done := t.answered("draw_")
	next := 0
	outcome := make([]*offline.Call, len(strokes))
	for i, s := range strokes {
		strokes[i].visibility = t.visibilityNote(s.existing)
		if s.existing != "" || r.describeOnly {
			continue
		}
		if next == len(done) {
			return &toolCall{s.tool, s.input}
		}
		outcome[i] = done[next]
		next++
	}
	w.strokes(strokes, outcome, r.describeOnly)
	for i, m := range missing {
		if i > 0 || len(strokes) > 0 {
			w.Text("\n\n")
		}
		w.Text(m)
	}
	w.reading(b, t.at.timeframe)
	return nil
}

// strokes writes the outcome of each stroke.
func (w *writer) strokes(strokes []stroke, outcome []*offline.Call, describeOnly bool) {
	for i, s := range strokes {
		if i > 0 {
			w.Text("\n\n")
		}
		switch c := outcome[i]; {
		case describeOnly:
			w.Text(s.name + ": ")
		case s.existing != "":
			w.Text(s.name + " is marked already, by `" + s.existing + "`" + s.visibility +
				", so I drew no second one: ")
		case c.Failed:
			w.Text(s.name + " could not be drawn (`" + offline.Clip(c.Content) + "`): ")
		default:
			w.Text("I drew " + lowerFirst(s.name) + ": ")
		}
		s.describe(w)
	}
}

func lowerFirst(s string) string { return strings.ToLower(s[:1]) + s[1:] }

// strokes returns the drawings for a request, and a description of each that cannot be drawn.
func (r *request) strokes(t *turn, b *bars) (list []stroke, missing []string) {
	switch r.kind {
	case "trendline":
		return r.trendline(t, b)
	case "fib":
		return r.fib(t, b)
	}
	levels := swing.Levels(b.swings, b.tolerance)
	for _, side := range []struct {
		wanted, above bool
		what, color   string
	}{{r.support, false, "Support", "#26a69a"}, {r.resist, true, "Resistance", "#ef5350"}} {
		if !side.wanted {
			continue
		}
		if l, ok := mostTouched(swing.Beyond(levels, b.close, b.tolerance, side.above)); ok {
			list = append(list, t.level(b, l, side.what, side.color))
			continue
		}
		where := map[bool]string{true: "above", false: "below"}[side.above]
		missing = append(missing, "There is no "+lowerFirst(side.what)+
			" to draw: no swing of these candles is clearly "+where+" the price.")
	}
	return list, missing
}

// consideredLevels is the number of nearest levels from which mostTouched chooses.
const consideredLevels = 3

// mostTouched returns the level with the most touches among the nearest ones.
func mostTouched(near []swing.Level) (l swing.Level, ok bool) {
	for i, n := range near[:min(len(near), consideredLevels)] {
		if i == 0 || len(n.Touches) > len(l.Touches) {
			l = n
		}
	}
	return l, len(near) > 0
}

// maxTouches limits the touches in an answer. The newest ones are named.
const maxTouches = 4

func (t *turn) level(b *bars, l swing.Level, what, color string) stroke {
	var times []string
	for _, s := range l.Touches {
		times = append(times, b.when(s))
	}
	beyond, margin := breach{above: what == "Resistance", by: b.tolerance}, " by more than that"
	notes := fmt.Sprintf("The price of %s turned within %s of it at %s.", t.at.timeframe, b.price(b.tolerance),
		joinWords(last(times, 12)))
	if len(times) == 1 {
		beyond.by, margin = 0, ""
		notes = fmt.Sprintf("The price of %s turned here once, at %s.", t.at.timeframe, times[0])
	}
	beyond.find(b, l.Touches[0].Bar, func(int) float64 { return l.Price })
	notes += cmp.Or(beyond.note(b, margin), fmt.Sprintf(" A close %s it%s would make it wrong.", beyond.side(), margin))
	importance := map[bool]string{true: "high", false: "medium"}[len(l.Touches) > 2]
	return stroke{
		tool: "draw_horizontal_line", existing: t.levelAt(l.Price, b.tolerance, ""), name: what,
		input: map[string]any{
			"price": l.Price, "label": what, "color": color, "notes": notes,
			"tags": []string{strings.ToLower(what), "swing"}, "importance": importance,
		},
		describe: func(w *writer) {
			w.row(b.marketTable, l.At.Bar,
				fmt.Sprintf("**{%s %d}**; the price turned there or close by at ", columnOf(l.At), b.Digits))
			shown := last(l.Touches, maxTouches)
			for i, s := range shown {
				switch {
				case i > 0 && i == len(shown)-1:
					w.Text(" and ")
				case i > 0:
					w.Text(", ")
				}
				w.cell(b.marketTable, s.Bar, "time", "time")
			}
			if len(shown) < len(l.Touches) {
				w.Text(", and before")
			}
			w.Text(".")
			if margin != "" {
				margin = " by more than `" + b.price(b.tolerance) + "`"
			}
			w.breach(b, beyond, margin)
		},
	}
}

// last returns the last n entries of a list.
func last[T any](list []T, n int) []T { return list[max(0, len(list)-n):] }

// levelAt returns the id of a level drawn within a distance of a price, or an empty string. It ignores the drawing
// except.
func (t *turn) levelAt(price, tolerance float64, except string) string {
	for _, d := range t.at.drawings {
		if p, ok := levelOf(d); ok && d.ID != except && math.Abs(p-price) <= tolerance {
			return d.ID
		}
	}
	id, _ := drawing.Duplicate(t.at.drawings, drawing.Drawing{ID: except, Type: drawing.HorizontalLine, Price: &price})
	return id
}

// visibilityNote returns why a drawing is not visible on this chart, or an empty string.
func (t *turn) visibilityNote(id string) string {
	for _, d := range t.at.drawings {
		switch {
		case d.ID != id:
		case d.Hidden:
			return ", which is hidden (the list of drawings can show it)"
		case len(d.Visibility) > 0 && !slices.Contains(d.Visibility, t.at.timeframe):
			return ", which is shown on `" + strings.Join(d.Visibility, "`, `") + "` only"
		}
	}
	return ""
}

// drawingBetween returns the id of a drawing of the given type between two swings.
func (t *turn) drawingBetween(kind string, b *bars, from, to swing.Swing) string {
	at := func(s swing.Swing) drawing.Anchor {
		return drawing.Anchor{Time: b.list[s.Bar].Time.Unix(), Price: s.Price}
	}
	id, _ := drawing.Duplicate(t.at.drawings, drawing.Drawing{Type: kind, Anchors: []drawing.Anchor{at(from), at(to)}})
	return id
}

// trendline draws a line through the last two lows if the last swing went up, and through the last two highs if it went
// down. A request may name lows or highs instead.
func (r *request) trendline(t *turn, b *bars) (list []stroke, missing []string) {
	n := len(b.turns)
	highs := r.highs || n > 0 && !r.lows && !b.turns[n-1].High
	var ends []swing.Swing
	for _, s := range b.turns {
		if s.High == highs {
			ends = append(ends, s)
		}
	}
	if ends = last(ends, 2); len(ends) < 2 {
		return nil, []string{"There are not two such swings in these candles, so there is no trendline to draw."}
	}
	side, tag, color := "lows", "support", "#26a69a"
	if highs {
		side, tag, color = "highs", "resistance", "#ef5350"
	}
	why := "the last swing went up, so the line goes under it"
	switch {
	case r.highs || r.lows:
		why = "through the " + side + " was asked for"
	case highs:
		why = "the last swing went down, so the line goes over it"
	}
	beyond := breach{above: highs}
	beyond.find(b, ends[0].Bar, func(bar int) float64 {
		slope := (ends[1].Price - ends[0].Price) / float64(ends[1].Bar-ends[0].Bar)
		return ends[0].Price + slope*float64(bar-ends[0].Bar)
	})
	notes := fmt.Sprintf(
		"The last two swing %s of %s are %s and %s (%s). Two points make any line: a third touch would make it worth "+
			"more",
		side, t.at.timeframe, b.describe(ends[0]), b.describe(ends[1]), why)
	if beyond.count > 0 {
		notes += "." + beyond.note(b, "")
	} else {
		notes += ", and a close beyond it wrong."
	}
	return []stroke{{
		tool: "draw_trendline", existing: t.drawingBetween(drawing.Trendline, b, ends[0], ends[1]),
		name: "The trendline of the last swing " + side,
		input: map[string]any{"anchor1": b.anchor(ends[0]), "anchor2": b.anchor(ends[1]), "type": "ray",
			"label": "Trendline", "color": color,
			"notes": notes, "tags": []string{"trendline", tag, "swing"}, "importance": "medium"},
		describe: func(w *writer) {
			w.Text("from ")
			w.swing(b, ends[0])
			w.Text(" through ")
			w.swing(b, ends[1])
			w.Text("; " + why + ".")
			w.breach(b, beyond, "")
		},
	}}, nil
}

// fib draws a retracement of the last swing in the requested direction.
func (r *request) fib(t *turn, b *bars) (list []stroke, missing []string) {
	from, to := -1, -1
	for i := len(b.turns) - 1; i > 0 && from < 0; i-- {
		if down := b.turns[i-1].High; r.down == r.up || down == r.down {
			from, to = i-1, i
		}
	}
	if from < 0 {
		return nil, []string{"There is no such swing in these candles, so there is no retracement to draw."}
	}
	begin, end := b.turns[from], b.turns[to]
	beyond := breach{above: begin.High}
	beyond.find(b, end.Bar, func(int) float64 { return begin.Price })
	notes := fmt.Sprintf("The last swing of %s from a %s to a %s went from %s to %s.", t.at.timeframe, columnOf(begin),
		columnOf(end), b.describe(begin), b.describe(end))
	notes += cmp.Or(beyond.note(b, ""), fmt.Sprintf(" Beyond %s it would be wrong.", b.price(begin.Price)))
	return []stroke{{
		tool: "draw_fibonacci", existing: t.drawingBetween(drawing.Fibonacci, b, begin, end),
		name: fmt.Sprintf("The retracement of the last swing from %s to %s", columnOf(begin), columnOf(end)),
		input: map[string]any{
			"anchor1": b.anchor(begin), "anchor2": b.anchor(end), "label": "Fib", "color": "#2962ff", "notes": notes,
			"tags": []string{"fib", "swing"}, "importance": "medium",
		},
		describe: func(w *writer) {
			w.Text("from ")
			w.swing(b, begin)
			w.Text(" to ")
			w.swing(b, end)
			for i, share := range []string{"0.382", "0.5", "0.618"} {
				w.Text([]string{". `", ", `", " and `"}[i] + share + "` is at ")
				w.retracement(b, begin, end, share)
			}
			w.Text(".")
			w.breach(b, beyond, "")
		},
	}}, nil
}

// retracement writes the price at a share of a retracement.
func (w *writer) retracement(b *bars, begin, end swing.Swing, share string) {
	cell := func(s swing.Swing) string { return fmt.Sprintf("%s[%d].%s", b.ID, s.Bar, columnOf(s)) }
	var part float64
	_, _ = fmt.Sscan(share, &part) // it is one of the numbers above
	scale := math.Pow10(b.Digits)
	// Round halves up, also if the float is slightly below the half.
	price := b.price(math.Floor((end.Price+(begin.Price-end.Price)*part)*scale+0.5+1e-6) / scale)
	w.Cite(price, footnote.Cite{
		Result:  b.ID,
		Formula: fmt.Sprintf("%s + (%s - %s) * %s", cell(end), cell(begin), cell(end), share),
		Value:   price,
	})
}
