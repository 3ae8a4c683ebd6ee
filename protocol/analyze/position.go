package analyze

import (
	"cmp"
	"errors"
	"fmt"
	"regexp"
	"strconv"
	"strings"
)

// Position is a reader's position: the events up to Seq and, beyond them, the bytes received of the thinking
// that grew after Seq and the frames received of the next event. It is written as "12", "12+840" or
// "12+840.1"; a position exactly at an event is just its number. The id of a frame has the conversation before it:
// "conv_….12+840".
type Position struct {
	Seq             int64
	Thought, Frames int
}

// ParsePosition parses the id of a frame of a conversation, or only its position. It returns ok=false for anything
// else: s is untrusted input.
func ParsePosition(s, conversation string) (p Position, ok bool) {
	parts := position.FindStringSubmatch(strings.TrimPrefix(s, conversation+"."))
	if parts == nil {
		return Position{}, false
	}
	var errs [3]error
	p.Seq, errs[0] = strconv.ParseInt(parts[1], 10, 64)
	p.Thought, errs[1] = strconv.Atoi(cmp.Or(parts[2], "0"))
	p.Frames, errs[2] = strconv.Atoi(cmp.Or(parts[3], "0"))
	if errors.Join(errs[:]...) != nil { // a number is too large
		return Position{}, false
	}
	return p, true
}

var position = regexp.MustCompile(`^(\d+)(?:\+(\d+)(?:\.(\d+))?)?$`)

// id returns the id of a frame at the position.
func (p Position) id(conversation string) string { return conversation + "." + p.String() }

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
