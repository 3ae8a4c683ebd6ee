package planner

import (
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
	tool   string
	input  map[string]any
	there  string // the id of a drawing that marks it
	unseen string // why that one is not to be seen; empty: it is
	what   string // "Support"
	tell   func(w *writer)
}

// candles is the call that reads the candles of the chart.
func (t *chartTurn) candles() *chartCall {
	return &chartCall{
		"get_candles", map[string]any{"symbol": t.at.symbol, "timeframe": t.at.timeframe, "limit": candlesRead},
	}
}

// draw reads candles, draws what was asked for, one after the other, and says what it
// has drawn.
func (o *chartOrder) draw(t *chartTurn, w *writer) *chartCall {
	c := t.h.Result("get_candles")
	if c == nil {
		return t.candles()
	}
	b := w.readBars(c)
	if b == nil {
		return nil
	}
	strokes, missing := o.strokes(t, b)
	done := t.strokes()
	next := 0
	outcome := make([]*offline.Call, len(strokes))
	for i, s := range strokes {
		strokes[i].unseen = t.unseen(s.there)
		if s.there != "" || o.tell {
			continue
		}
		if next == len(done) {
			return &chartCall{s.tool, s.input}
		}
		outcome[i] = done[next]
		next++
	}
	w.drawn(strokes, outcome, o.tell)
	for i, m := range missing {
		if i > 0 || len(strokes) > 0 {
			w.Text("\n\n")
		}
		w.Text(m)
	}
	w.read(b, t.at.timeframe)
	return nil
}

// drawn says what became of each stroke.
func (w *writer) drawn(strokes []stroke, outcome []*offline.Call, tell bool) {
	for i, s := range strokes {
		if i > 0 {
			w.Text("\n\n")
		}
		switch c := outcome[i]; {
		case tell:
			w.Text(s.what + ": ")
		case s.there != "":
			w.Text(s.what + " is marked already, by `" + s.there + "`" + s.unseen + ", so I drew no second one: ")
		case c.Failed:
			w.Text(s.what + " could not be drawn (`" + offline.Clip(c.Content) + "`): ")
		default:
			w.Text("I drew " + lowerFirst(s.what) + ": ")
		}
		s.tell(w)
	}
}

func lowerFirst(s string) string { return strings.ToLower(s[:1]) + s[1:] }

// strokes are the drawings of an order, and what of it cannot be drawn, in words.
func (o *chartOrder) strokes(t *chartTurn, b *bars) (list []stroke, missing []string) {
	var err string
	switch o.kind {
	case "trendline":
		list, err = o.trendline(t, b)
	case "fib":
		list, err = o.fib(t, b)
	default:
		levels := swing.Levels(b.swings, b.apart)
		for _, side := range []struct {
			wanted, above bool
			what, color   string
		}{{o.support, false, "Support", "#26a69a"}, {o.resist, true, "Resistance", "#ef5350"}} {
			if !side.wanted {
				continue
			}
			l, ok := choose(swing.Beyond(levels, b.close, b.apart, side.above))
			if !ok {
				where := map[bool]string{true: "above", false: "below"}[side.above]
				missing = append(missing,
					"There is no "+lowerFirst(side.what)+" to draw: no swing of these candles is clearly "+where+
						" the price.")
				continue
			}
			list = append(list, t.level(b, l, side.what, side.color))
		}
		return list, missing
	}
	if err != "" {
		missing = append(missing, err)
	}
	return list, missing
}

// nearestLevels is among how many of the nearest levels the one is chosen that was touched
// most.
const nearestLevels = 3

func choose(near []swing.Level) (l swing.Level, ok bool) {
	for i, n := range near[:min(len(near), nearestLevels)] {
		if i == 0 || len(n.Touches) > len(l.Touches) {
			l = n
		}
	}
	return l, len(near) > 0
}

// mostTouches is how many touches an answer names, the newest.
const mostTouches = 4

func (t *chartTurn) level(b *bars, l swing.Level, what, color string) stroke {
	var times []string
	for _, s := range l.Touches {
		times = append(times, b.when(s))
	}
	beyond := map[string]string{"Support": "below", "Resistance": "above"}[what]
	notes := fmt.Sprintf(
		"The price of %s turned within %s of it at %s. A close %s it by more than that would make it wrong.",
		t.at.timeframe, b.price(b.apart), listWords(last(times, 12)), beyond)
	if len(times) == 1 {
		notes = fmt.Sprintf("The price of %s turned here once, at %s. A close %s it would make it wrong.",
			t.at.timeframe, times[0], beyond)
	}
	importance := map[bool]string{true: "high", false: "medium"}[len(l.Touches) > 2]
	return stroke{
		tool: "draw_horizontal_line", there: t.marks(l.Price, b.apart, ""), what: what,
		input: map[string]any{
			"price": l.Price, "label": what, "color": color, "notes": notes,
			"tags": []string{strings.ToLower(what), "swing"}, "importance": importance,
		},
		tell: func(w *writer) {
			w.Text("**")
			w.num(b.toldTable, l.At.Bar, columnOf(l.At), b.Digits)
			w.Text("**; the price turned there or close by at ")
			shown := last(l.Touches, mostTouches)
			for i, s := range shown {
				switch {
				case i > 0 && i == len(shown)-1:
					w.Text(" and ")
				case i > 0:
					w.Text(", ")
				}
				w.when(b.toldTable, s.Bar, "time")
			}
			if len(shown) < len(l.Touches) {
				w.Text(", and before")
			}
			w.Text(".")
		},
	}
}

// last are the last n of a list.
func last[T any](list []T, n int) []T { return list[max(0, len(list)-n):] }

// marks is the id of a level that is drawn within a distance of a price; empty: none.
func (t *chartTurn) marks(price, apart float64, but string) string {
	for _, d := range t.at.drawings {
		if p, ok := levelOf(d); ok && d.ID != but && math.Abs(p-price) <= apart {
			return d.ID
		}
	}
	id, _ := drawing.Duplicate(t.at.drawings, drawing.Drawing{ID: but, Type: drawing.HorizontalLine, Price: &price})
	return id
}

// unseen says why a drawing is not to be seen on this chart.
func (t *chartTurn) unseen(id string) string {
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

// between is the id of a drawing of a type between two swings.
func (t *chartTurn) between(kind string, b *bars, from, to swing.Swing) string {
	at := func(s swing.Swing) drawing.Anchor {
		return drawing.Anchor{Time: b.list[s.Bar].Time.Unix(), Price: s.Price}
	}
	id, _ := drawing.Duplicate(t.at.drawings, drawing.Drawing{Type: kind, Anchors: []drawing.Anchor{at(from), at(to)}})
	return id
}

// trendline goes through the last two lows when the last swing went up, and through the
// last two highs when it went down, unless the order says which.
func (o *chartOrder) trendline(t *chartTurn, b *bars) (list []stroke, missing string) {
	n := len(b.turns)
	highs := o.highs || n > 0 && !o.lows && !b.turns[n-1].High
	var ends []swing.Swing
	for _, s := range b.turns {
		if s.High == highs {
			ends = append(ends, s)
		}
	}
	if ends = last(ends, 2); len(ends) < 2 {
		return nil, "There are not two such swings in these candles, so there is no trendline to draw."
	}
	side, tag, color := "lows", "support", "#26a69a"
	if highs {
		side, tag, color = "highs", "resistance", "#ef5350"
	}
	why := "the last swing went up, so the line goes under it"
	switch {
	case o.highs || o.lows:
		why = "through the " + side + " was asked for"
	case highs:
		why = "the last swing went down, so the line goes over it"
	}
	notes := fmt.Sprintf(
		"The last two swing %s of %s are %s and %s (%s). Two points make any line: a third touch would make it worth "+
			"more, and a close beyond it wrong.",
		side, t.at.timeframe, b.say(ends[0]), b.say(ends[1]), why)
	return []stroke{{
		tool: "draw_trendline", there: t.between(drawing.Trendline, b, ends[0], ends[1]),
		what: "The trendline of the last swing " + side,
		input: map[string]any{"anchor1": b.anchor(ends[0]), "anchor2": b.anchor(ends[1]), "type": "ray",
			"label": "Trendline", "color": color,
			"notes": notes, "tags": []string{"trendline", tag, "swing"}, "importance": "medium"},
		tell: func(w *writer) {
			w.Text("from ")
			w.swing(b, ends[0])
			w.Text(" through ")
			w.swing(b, ends[1])
			w.Text("; " + why + ".")
		},
	}}, ""
}

// fib goes over the last swing in the direction of the order.
func (o *chartOrder) fib(t *chartTurn, b *bars) (list []stroke, missing string) {
	from, to := -1, -1
	for i := len(b.turns) - 1; i > 0 && from < 0; i-- {
		if down := b.turns[i-1].High; o.down == o.up || down == o.down {
			from, to = i-1, i
		}
	}
	if from < 0 {
		return nil, "There is no such swing in these candles, so there is no retracement to draw."
	}
	begin, end := b.turns[from], b.turns[to]
	notes := fmt.Sprintf("The last swing of %s from a %s to a %s went from %s to %s. Beyond %s it would be wrong.",
		t.at.timeframe, columnOf(begin), columnOf(end), b.say(begin), b.say(end), b.price(begin.Price))
	return []stroke{{
		tool: "draw_fibonacci", there: t.between(drawing.Fibonacci, b, begin, end),
		what: fmt.Sprintf("The retracement of the last swing from %s to %s", columnOf(begin), columnOf(end)),
		input: map[string]any{
			"anchor1": b.anchor(begin), "anchor2": b.anchor(end), "label": "Fib", "color": "#2962ff", "notes": notes,
			"tags": []string{"fib", "swing"}, "importance": "medium",
		},
		tell: func(w *writer) {
			w.Text("from ")
			w.swing(b, begin)
			w.Text(" to ")
			w.swing(b, end)
			for i, share := range []string{"0.382", "0.5", "0.618"} {
				w.Text([]string{". `", ", `", " and `"}[i] + share + "` is at ")
				w.retraced(b, begin, end, share)
			}
			w.Text(".")
		},
	}}, ""
}

// retraced writes the price at a share of a retracement.
func (w *writer) retraced(b *bars, begin, end swing.Swing, share string) {
	cell := func(s swing.Swing) string { return fmt.Sprintf("%s[%d].%s", b.ID, s.Bar, columnOf(s)) }
	var part float64
	_, _ = fmt.Sscan(share, &part) // it is one of the numbers above
	scale := math.Pow10(b.Digits)
	// A half is rounded up, also where a float is a little less than it.
	price := b.price(math.Floor((end.Price+(begin.Price-end.Price)*part)*scale+0.5+1e-6) / scale)
	w.Cite(price, footnote.Cite{
		Result:  b.ID,
		Formula: fmt.Sprintf("%s + (%s - %s) * %s", cell(end), cell(begin), cell(end), share),
		Value:   price,
	})
}
