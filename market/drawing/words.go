package drawing

import (
	"cmp"
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"
	"time"
	"unicode"
)

// Number formats a price for people.
func Number(v float64) string { return strconv.FormatFloat(math.Round(v*1e10)/1e10, 'f', -1, 64) }

// Line returns a text on one line, without invisible characters or changes of direction. Text by a person can
// then neither imitate our own lines to the model, nor tell the model anything a reader cannot see.
func Line(s string) string {
	seen := strings.Map(func(r rune) rune {
		if hidden(r) {
			return -1
		}
		return r
	}, s)
	return strings.Join(strings.FieldsFunc(seen, func(r rune) bool {
		return unicode.IsSpace(r) || unicode.IsControl(r) || unicode.Is(unicode.Bidi_Control, r)
	}), " ")
}

// hidden reports whether a character is invisible: a format character, except for those that writing needs, a tag, or
// a rare variation selector.
func hidden(r rune) bool {
	const nonJoiner, joiner = '\u200c', '\u200d'
	switch {
	case r == nonJoiner, r == joiner, unicode.In(r, unicode.Bidi_Control, unicode.Prepended_Concatenation_Mark):
		return false
	}
	return unicode.Is(unicode.Cf, r) || r >= 0xe0000 && r < 0xe1000
}

// clock formats a time for the model.
func clock(unix int64) string { return time.Unix(unix, 0).UTC().Format("2006-01-02 15:04") }

// Sentence returns a one-sentence description of a drawing, with its id.
func (d *Drawing) Sentence() string {
	var b strings.Builder
	fmt.Fprintf(&b, "[%s] %s", d.ID, strings.ReplaceAll(d.Type, "_", " "))
	if d.Label != "" {
		fmt.Fprintf(&b, " %q", d.Label)
	}
	b.WriteString(d.place())
	var more []string
	add := func(known bool, text string) {
		if known {
			more = append(more, text)
		}
	}
	by := map[string]string{Agent: "you", Human: "the user"}
	add(d.Version > 0, fmt.Sprintf("version %d", d.Version))
	add(true, "drawn on "+d.Timeframe)
	add(d.Importance != "", d.Importance+" importance")
	add(len(d.Tags) > 0, "tags "+Line(strings.Join(d.Tags, ", ")))
	add(len(d.Visibility) > 0, "shown on "+strings.Join(d.Visibility, ", "))
	add(d.Hidden, "hidden")
	add(d.Locked, "locked")
	add(d.Created.By != "", "by "+by[d.Created.By])
	add(d.Changed.By != "" && d.Created.By != "" && d.Changed.By != d.Created.By, "last changed by "+by[d.Changed.By])
	fmt.Fprintf(&b, " (%s)", strings.Join(more, "; "))
	if d.Notes != "" {
		fmt.Fprintf(&b, ": %s", Clip(Line(d.Notes), 200))
	}
	return b.String()
}

// place describes the position of a drawing.
func (d *Drawing) place() string {
	at := func(i int) string {
		if i >= len(d.Anchors) {
			return "?"
		}
		return Number(d.Anchors[i].Price) + " at " + clock(d.Anchors[i].Time)
	}
	switch d.Type {
	case HorizontalLine:
		return " at " + Number(d.Level())
	case VerticalLine:
		return " at " + clock(d.Anchors[0].Time)
	case HorizontalRay, Marker:
		return " from " + at(0)
	case Text:
		return fmt.Sprintf(" %q at %s", Clip(d.Text, 80), at(0))
	case LongPosition, ShortPosition:
		return fmt.Sprintf(" %s: entry %s, target %s, stop %s, reward/risk %s, from %s to %s", d.Status,
			Number(*d.Entry), Number(*d.TakeProfit), Number(*d.StopLoss), Number(d.RiskReward),
			clock(d.Anchors[0].Time), clock(d.Anchors[1].Time))
	default:
		words := " from " + at(0) + " to " + at(1)
		if d.Extend != "" && d.Extend != "none" {
			words += ", " + d.Extend
		}
		return words
	}
}

// Clip truncates a text to n characters, and marks the truncation.
func Clip(s string, n int) string {
	r := []rune(s)
	if len(r) <= n {
		return s
	}
	return string(r[:n]) + "…"
}

// Ordered returns drawings in order of importance. Drawings that mark prices come first, hidden and closed ones last;
// within each group the newest change comes first. If the list is truncated, a level matters more than an old remark.
func Ordered(all []Drawing) []Drawing {
	list := slices.Clone(all)
	slices.SortStableFunc(list, func(a, b Drawing) int {
		return cmp.Or(cmp.Compare(a.rank(), b.rank()), cmp.Compare(b.Version, a.Version))
	})
	return list
}

// Describe returns the number of drawings, and describes up to maxShown of them in that order.
func Describe(all []Drawing, maxShown int) string {
	if len(all) == 0 {
		return "There are no drawings."
	}
	list := Ordered(all)
	var b strings.Builder
	fmt.Fprintf(&b, "There are %d drawings:", len(list))
	for i := range list {
		if i == maxShown {
			fmt.Fprintf(&b, "\n- and %d others, which are not listed here: get_drawings lists them, and a call that "+
				"would draw one of them again says so", len(list)-maxShown)
			break
		}
		b.WriteString("\n- " + list[i].Sentence())
	}
	return b.String()
}

// rank returns the group of a drawing in that order; lower comes first.
func (d *Drawing) rank() int {
	switch {
	case d.Hidden || d.Status == Closed:
		return 2
	case d.Type == Text || d.Type == Marker || d.Type == Circle || d.Type == VerticalLine:
		return 1
	}
	return 0
}

// Level is a price marked by drawings.
type Level struct {
	Price     float64
	What      string
	ID        string // of the drawing
	Timeframe string // of the chart when it was drawn
}

// KeyLevels returns the prices that visible drawings mark, highest first.
func KeyLevels(all []Drawing) []Level {
	var levels []Level
	for i := range all {
		d := &all[i]
		if d.Hidden || d.Status == Closed {
			continue
		}
		add := func(p float64, what string) {
			if d.Label != "" {
				what = strconv.Quote(d.Label) + " (" + what + ")"
			}
			levels = append(levels, Level{p, what, d.ID, d.Timeframe})
		}
		switch d.Type {
		case HorizontalLine, HorizontalRay:
			add(d.Level(), strings.ReplaceAll(d.Type, "_", " "))
		case Fibonacci:
			from, to := d.Anchors[0].Price, d.Anchors[1].Price
			for _, l := range d.Levels {
				add(to+(from-to)*l, "fibonacci "+Number(l))
			}
		case Rectangle:
			add(max(d.Anchors[0].Price, d.Anchors[1].Price), "top of a zone")
			add(min(d.Anchors[0].Price, d.Anchors[1].Price), "bottom of a zone")
		case LongPosition, ShortPosition:
			add(*d.Entry, "entry")
			add(*d.TakeProfit, "target")
			add(*d.StopLoss, "stop")
		}
	}
	slices.SortStableFunc(levels, func(a, b Level) int { return cmp.Compare(b.Price, a.Price) })
	return levels
}

// near reports whether two prices count as the same level: they differ by at most a ten-thousandth, about one pip.
func near(a, b float64) bool { return math.Abs(a-b) <= 1e-4*math.Max(math.Abs(a), math.Abs(b)) }

// Duplicate finds an existing drawing that marks the same as d.
func Duplicate(all []Drawing, d Drawing) (id string, found bool) {
	for i := range all {
		if o := &all[i]; o.ID != d.ID && marksSame(o, &d) {
			return o.ID, true
		}
	}
	return "", false
}

func marksSame(a, b *Drawing) bool {
	if a.IsLevel() && b.IsLevel() {
		return near(a.Level(), b.Level())
	}
	if a.Type != b.Type {
		return false
	}
	if a.IsPosition() {
		return a.Status != Closed && near(*a.Entry, *b.Entry) && near(*a.TakeProfit, *b.TakeProfit) &&
			near(*a.StopLoss, *b.StopLoss)
	}
	if a.Text != b.Text || a.MarkerType != b.MarkerType || len(a.Anchors) != len(b.Anchors) {
		return false
	}
	p, q := a.ends(), b.ends()
	for i := range p {
		if p[i].Time != q[i].Time || a.Type != VerticalLine && !near(p[i].Price, q[i].Price) {
			return false
		}
	}
	return true
}

// ends returns the anchors of a drawing. If their order does not matter, the earlier one comes first. For a zone they
// are the corners with the smallest and the largest values.
func (d *Drawing) ends() []Anchor {
	if len(d.Anchors) != 2 {
		return d.Anchors
	}
	p, q := d.Anchors[0], d.Anchors[1]
	switch {
	case d.Type == Rectangle:
		return []Anchor{{min(p.Time, q.Time), min(p.Price, q.Price)}, {max(p.Time, q.Time), max(p.Price, q.Price)}}
	case d.Type == Trendline && p.Time > q.Time:
		return []Anchor{q, p}
	}
	return d.Anchors
}
