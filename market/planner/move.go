package planner

import (
	"cmp"
	"fmt"
	"math"

	"github.com/footnotehq/footnote/market/drawing"
	"github.com/footnotehq/footnote/market/swing"
	"github.com/footnotehq/footnote/model/offline"
)

// move answers a request to move a level to a swing. The history of the drawing keeps the reason.
func (r *request) move(t *turn, w *writer) *toolCall {
	if t.at.unavailable {
		w.Text("The drawings cannot be read now, so I moved nothing. Please ask again.")
		return nil
	}
	c := t.h.Result("get_candles")
	if c == nil {
		if len(r.candidates(t, math.NaN())) == 0 {
			w.Text(r.noLevelText(t))
			return nil
		}
		return t.readCandles()
	}
	b := w.readBars(c)
	if b == nil {
		return nil
	}
	m, why := r.plan(t, b)
	if m == nil {
		w.Text(why)
		w.reading(b, t.at.timeframe)
		return nil
	}
	u := t.h.Result("update_drawing")
	if u == nil {
		return &toolCall{"update_drawing", m.input}
	}
	if u.Failed {
		w.Text("I moved nothing: `" + offline.Clip(u.Content) + "`")
	} else {
		w.Text("I moved " + m.name + " from `" + b.price(m.from) + "` " + m.direction + " to ")
		w.swing(b, m.to)
		w.Text(", " + m.which + ".")
		w.breach(b, m.beyond, "")
	}
	if m.chosen != "" {
		w.Text(" " + m.chosen)
	}
	w.reading(b, t.at.timeframe)
	return nil
}

func (r *request) levelName() string {
	if r.support {
		return "support"
	}
	return "resistance"
}

// noLevelText returns the answer if there is no level to move. The message may not list all drawings.
func (r *request) noLevelText(t *turn) string {
	if t.at.truncated {
		return "I see only some of the drawings on this chart, and there is no " + r.levelName() +
			" among them. Move it by hand, or remove drawings that you no longer need."
	}
	return "There is no " + r.levelName() +
		" on this chart to move. Ask me to draw it first: `Draw support and resistance`."
}

// movement is the move of a level to a swing.
type movement struct {
	from      float64
	to        swing.Swing
	name      string // of the drawing
	direction string
	which     string // description of the swing
	chosen    string // how the drawing was chosen, if there were several
	beyond    breach // of the swing's price
	input     map[string]any
}

// candidates returns the levels that a request may refer to: those with the requested name, or else those without a
// name on the requested side of the price. If the price is NaN, both sides count.
func (r *request) candidates(t *turn, price float64) []drawing.Drawing {
	var named, plain []drawing.Drawing
	for _, d := range t.at.drawings {
		p, ok := levelOf(d)
		switch {
		case !ok || d.Hidden:
		case hasName(d, r.levelName()):
			named = append(named, d)
		case d.Label == "" && len(d.Tags) == 0 && !(r.support && p > price) && !(r.resist && p < price):
			plain = append(plain, d)
		}
	}
	if len(named) > 0 {
		return named
	}
	return plain
}

// plan decides what to move where. It returns nil and the reason if nothing is to be moved.
func (r *request) plan(t *turn, b *bars) (*movement, string) {
	list := r.candidates(t, b.close)
	if len(list) == 0 {
		return nil, r.noLevelText(t)
	}
	d, from := nearest(list, b.close)
	m := &movement{from: from, name: "the " + r.levelName() + " (`" + d.ID + "`)"}
	switch {
	case len(list) > 1:
		m.chosen = "There are several; I took the one nearest to the price."
	case !hasName(d, r.levelName()):
		m.chosen = "No drawing is called " + r.levelName() + "; I took the level nearest to the price."
	}
	if d.Locked {
		return nil, "The " + r.levelName() + " (`" + d.ID + "`) is locked, so I left it where it is."
	}
	to, newest, ok := r.target(b, from)
	if !ok {
		return nil, fmt.Sprintf("No swing %s of these candles is %s the %s at `%s`, so I left it where it is.",
			r.swingKind(), r.beyond(), r.levelName(), b.price(from))
	}
	m.to, m.which, m.direction = to, "the last swing "+r.swingKind(), "up"
	if to.Price < from {
		m.direction = "down"
	}
	if !newest {
		m.which = "the last swing " + r.swingKind() + " " + r.beyond() + " it; a newer one is not " + r.beyond() + " it"
	}
	if id := t.levelAt(to.Price, 0, d.ID); id != "" {
		return nil, "Another level (`" + id + "`) marks that swing " + r.swingKind() + " already, so I moved nothing."
	}
	if b.price(to.Price) == b.price(from) {
		return nil, "The " + r.levelName() + " (`" + d.ID + "`) is at the last swing " + r.swingKind() +
			" already, so I moved nothing."
	}
	m.input = r.update(t, b, d, m)
	return m, ""
}

func (r *request) swingKind() string {
	if r.highs {
		return "high"
	}
	return "low"
}

func (r *request) beyond() string { return map[bool]string{true: "below", false: "above"}[r.down] }

// nearest returns the level nearest to a price.
func nearest(list []drawing.Drawing, price float64) (d drawing.Drawing, at float64) {
	for i, l := range list {
		if p, _ := levelOf(l); i == 0 || math.Abs(p-price) < math.Abs(at-price) {
			d, at = l, p
		}
	}
	return d, at
}

// target returns the last swing of the requested kind. If the request says down or up, it is the last one below or
// above the price from. newest reports whether no swing of that kind is newer.
func (r *request) target(b *bars, from float64) (s swing.Swing, newest, ok bool) {
	newest = true
	for i := len(b.swings) - 1; i >= 0; i-- {
		if s = b.swings[i]; s.High != r.highs {
			continue
		}
		if r.down && s.Price >= from || r.up && s.Price <= from {
			newest = false
			continue
		}
		return s, newest, true
	}
	return s, false, false
}

// update returns the input of the tool that changes a drawing, with the reason that the history keeps.
func (r *request) update(t *turn, b *bars, d drawing.Drawing, m *movement) map[string]any {
	reason := fmt.Sprintf("You asked to move it to the last swing %s: %s of %s is %s.", r.swingKind(), m.which,
		t.at.timeframe, b.describe(m.to))
	m.beyond = breach{above: !r.support}
	m.beyond.find(b, m.to.Bar, func(int) float64 { return m.to.Price })
	notes := fmt.Sprintf("A swing %s of %s is here: %s.", r.swingKind(), t.at.timeframe, b.describe(m.to)) +
		cmp.Or(m.beyond.note(b, ""), fmt.Sprintf(" A close %s it would make it wrong.", m.beyond.side()))
	in := map[string]any{"drawingId": d.ID, "reason": offline.UpperFirst(reason), "notes": notes}
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
