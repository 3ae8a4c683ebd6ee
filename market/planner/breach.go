package planner

import "fmt"

// breach holds the closes that lie beyond a drawn line.
type breach struct {
	above        bool    // a close above the line breaks it; otherwise, a close below it
	by           float64 // distance that a close must exceed
	count, first int     // number of these closes, and the bar of the first one
}

// find counts the closes after a bar. The close of a partial bar does not count, because it may still change.
func (x *breach) find(b *bars, after int, line func(bar int) float64) {
	whole := len(b.list)
	if b.Partial {
		whole--
	}
	for i := after + 1; i < whole; i++ {
		gap := b.list[i].Close - line(i)
		if !x.above {
			gap = -gap
		}
		if gap <= x.by {
			continue
		}
		if x.count == 0 {
			x.first = i
		}
		x.count++
	}
}

func (x breach) side() string { return map[bool]string{true: "above", false: "below"}[x.above] }

// note says that the line is broken already, for a note. It is empty if no close lies beyond the line. margin
// describes the distance.
func (x breach) note(b *bars, margin string) string {
	switch x.count {
	case 0:
		return ""
	case 1:
		return fmt.Sprintf(" It is broken already: the close of %s lies %s it%s.",
			clock(b.list[x.first].Time), x.side(), margin)
	}
	return fmt.Sprintf(" It is broken already: %d closes since %s lie %s it%s.",
		x.count, clock(b.list[x.first].Time), x.side(), margin)
}

// breach says the same in an answer.
func (w *writer) breach(b *bars, x breach, margin string) {
	switch {
	case x.count == 1:
		w.row(b.marketTable, x.first,
			" It is broken already: the close of {time time} lies "+x.side()+" it"+margin+".")
	case x.count > 1:
		w.row(b.marketTable, x.first, fmt.Sprintf(" It is broken already: `%d` closes since {time time} lie %s it%s.",
			x.count, x.side(), margin))
	}
}
