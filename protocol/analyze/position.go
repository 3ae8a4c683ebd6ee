package analyze

import (
	"fmt"
	"strconv"
	"strings"
)

// Position is a reader's position: the events up to Seq and, beyond them, the bytes received of the thinking
// that grew after Seq and the frames received of the next event. It is written as "12", "12+840" or
// "12+840.1"; a position exactly at an event is just its number.
type Position struct {
	Seq     int64
	Thought int
	Frames  int
}

// ParsePosition parses a Last-Event-ID, which is untrusted input. It returns ok=false for anything that is
// not a position.
func ParsePosition(s string) (p Position, ok bool) {
	seq, beyond, more := strings.Cut(s, "+")
	n, err := strconv.ParseInt(seq, 10, 64)
	if err != nil || n < 0 || !digits(seq) {
		return Position{}, false
	}
	p.Seq = n
	if !more {
		return p, true
	}
	thought, frames, several := strings.Cut(beyond, ".")
	if p.Thought, err = strconv.Atoi(thought); err != nil || !digits(thought) {
		return Position{}, false
	}
	if several {
		if p.Frames, err = strconv.Atoi(frames); err != nil || !digits(frames) {
			return Position{}, false
		}
	}
	return p, true
}

func digits(s string) bool {
	return s != "" && !strings.ContainsFunc(s, func(r rune) bool { return r < '0' || r > '9' })
}

func (p Position) String() string {
	switch {
	case p.Frames > 0:
		return fmt.Sprintf("%d+%d.%d", p.Seq, p.Thought, p.Frames)
	case p.Thought > 0:
		return fmt.Sprintf("%d+%d", p.Seq, p.Thought)
	default:
		return strconv.FormatInt(p.Seq, 10)
	}
}
