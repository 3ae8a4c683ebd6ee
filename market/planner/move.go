package planner

import (
	"fmt"
	"math"

	"github.com/footnotehq/footnote/market/drawing"
	"github.com/footnotehq/footnote/market/swing"
	"github.com/footnotehq/footnote/model/offline"
)

// move reads candles, moves a level to a swing, and says so with the reason that the
// trail keeps.
func (o *chartOrder) move(t *chartTurn, w *writer) *chartCall {
	if t.at.away {
		w.Text("The drawings cannot be read now, so I moved nothing. Please ask again.")
		return nil
	}
	c := t.h.Result("get_candles")
	if c == nil {
		if len(o.movable(t, math.NaN())) == 0 {
			w.Text(o.nothing(t))
			return nil
		}
		return t.candles()
	}
	b := w.readBars(c)
	if b == nil {
		return nil
	}
	m, why := o.plan(t, b)
	if m == nil {
		w.Text(why)
		w.read(b, t.at.timeframe)
		return nil
	}
	u := t.h.Result("update_drawing")
	if u == nil {
		return &chartCall{"update_drawing", m.input}
	}
	if u.Failed {
		w.Text("I moved nothing: `" + offline.Clip(u.Content) + "`")
	} else {
		w.Text("I moved " + m.name + " from `" + b.price(m.from) + "` " + m.direction + " to ")
		w.swing(b, m.to)
		w.Text(", " + m.which + ".")
	}
	if m.chosen != "" {
		w.Text(" " + m.chosen)
	}
	w.read(b, t.at.timeframe)
	return nil
}

func (o *chartOrder) what() string {
	if o.support {
		return "support"
	}
	return "resistance"
}

// nothing says that there is nothing to move, as far as is known.
func (o *chartOrder) nothing(t *chartTurn) string {
	if t.at.more {
		return "Among the drawings of this chart that I am told of there is no " + o.what() +
			" to move; there are too many to tell me all. Move it by hand, or remove what is not needed any more."
	}
	return "There is no " + o.what() + " on this chart to move. Ask me to draw it first: `Draw support and resistance`."
}

// movement is a level that goes to a swing.
type movement struct {
	from      float64
	to        swing.Swing
	name      string // of the drawing
	direction string
	which     string // swing it is
	chosen    string // how the drawing was, where there were several
	input     map[string]any
}

// movable are the levels that an order may mean: those that are called so, or else those
// without a name on its side of the price. A price of NaN has both sides.
func (o *chartOrder) movable(t *chartTurn, price float64) []drawing.Drawing {
	var named, plain []drawing.Drawing
	for _, d := range t.at.drawings {
		p, ok := levelOf(d)
		switch {
		case !ok || d.Hidden:
		case called(d, o.what()):
			named = append(named, d)
		case d.Label == "" && len(d.Tags) == 0 && !(o.support && p > price) && !(o.resist && p < price):
			plain = append(plain, d)
		}
	}
	if len(named) > 0 {
		return named
	}
	return plain
}

// plan is what to move where; nil with the reason when nothing is to be moved.
func (o *chartOrder) plan(t *chartTurn, b *bars) (*movement, string) {
	list := o.movable(t, b.close)
	if len(list) == 0 {
		return nil, o.nothing(t)
	}
	d, from := nearest(list, b.close)
	m := &movement{from: from, name: "the " + o.what() + " (`" + d.ID + "`)"}
	switch {
	case len(list) > 1:
		m.chosen = "There are several; I took the one nearest to the price."
	case !called(d, o.what()):
		m.chosen = "No drawing is called " + o.what() + "; I took the level nearest to the price."
	}
	if d.Locked {
		return nil, "The " + o.what() + " (`" + d.ID + "`) is locked, so I left it where it is."
	}
	to, newest, ok := o.target(b, from)
	if !ok {
		return nil, fmt.Sprintf("No swing %s of these candles is %s the %s at `%s`, so I left it where it is.",
			o.side(), o.beyond(), o.what(), b.price(from))
	}
	m.to, m.which, m.direction = to, "the last swing "+o.side(), "up"
	if to.Price < from {
		m.direction = "down"
	}
	if !newest {
		m.which = "the last swing " + o.side() + " " + o.beyond() + " it; a newer one is not " + o.beyond() + " it"
	}
	if id := t.marks(to.Price, 0, d.ID); id != "" {
		return nil, "Another level (`" + id + "`) marks that swing " + o.side() + " already, so I moved nothing."
	}
	if b.price(to.Price) == b.price(from) {
		return nil, "The " + o.what() + " (`" + d.ID + "`) is at the last swing " + o.side() +
			" already, so I moved nothing."
	}
	m.input = o.update(t, b, d, m)
	return m, ""
}

func (o *chartOrder) side() string {
	if o.highs {
		return "high"
	}
	return "low"
}

func (o *chartOrder) beyond() string { return map[bool]string{true: "below", false: "above"}[o.down] }

// nearest is the level nearest to a price.
func nearest(list []drawing.Drawing, price float64) (d drawing.Drawing, at float64) {
	for i, l := range list {
		if p, _ := levelOf(l); i == 0 || math.Abs(p-price) < math.Abs(at-price) {
			d, at = l, p
		}
	}
	return d, at
}

// target is the last swing of the order's side; where it says down or up, the last one
// that is below or above a price. Newest says that there is no newer one of its side.
func (o *chartOrder) target(b *bars, from float64) (s swing.Swing, newest, ok bool) {
	newest = true
	for i := len(b.swings) - 1; i >= 0; i-- {
		if s = b.swings[i]; s.High != o.highs {
			continue
		}
		if o.down && s.Price >= from || o.up && s.Price <= from {
			newest = false
			continue
		}
		return s, newest, true
	}
	return s, false, false
}

// update is the change as the tool takes it, with the reason that the trail keeps.
func (o *chartOrder) update(t *chartTurn, b *bars, d drawing.Drawing, m *movement) map[string]any {
	reason := fmt.Sprintf("You asked to move it to the last swing %s: %s of %s is %s.", o.side(), m.which,
		t.at.timeframe, b.say(m.to))
	beyond := map[bool]string{true: "below", false: "above"}[o.support]
	in := map[string]any{
		"drawingId": d.ID, "reason": offline.UpperFirst(reason),
		"notes": fmt.Sprintf("A swing %s of %s is here: %s. A close %s it would make it wrong.", o.side(),
			t.at.timeframe, b.say(m.to), beyond),
	}
	if d.Version > 0 {
		in["version"] = d.Version
	}
	if d.Type == drawing.HorizontalRay {
		in["anchor"] = b.anchor(m.to)
	} else {
		in["price"] = m.to.Price
	}
	return in
}
