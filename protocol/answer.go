package protocol

import (
	"bytes"
	"encoding/json"
	"strings"
	"time"
	"unicode"
	"unicode/utf8"

	"github.com/footnotehq/footnote"
	"github.com/footnotehq/footnote/tool"
)

// RunError returns the error of a run that ended or parked with b without an answer, for a client that cannot answer
// calls. It returns nil if there is an answer. If a person, a client that left or a stop string stopped the run
// (RunStopped), the answer is its text so far, and looks complete unless the encoder says otherwise.
func RunError(b footnote.Body) error {
	switch b := b.(type) {
	case footnote.RunFailed:
		return &footnote.Error{
			Code: b.Code, Message: b.Message, RetryAfter: time.Duration(b.RetryAfterMillis) * time.Millisecond,
		}
	case footnote.RunParked:
		return footnote.Errorf(footnote.UnsupportedParameter, "The assistant waits for a person or a browser, which "+
			"this API cannot answer. Use an assistant without such tools.")
	case footnote.RunStopped:
		if b.By == "shutdown" || b.By == "interrupted" {
			return footnote.Errorf(footnote.ModelUnavailable,
				"The server was restarted before the answer was complete. Please ask again.")
		}
	}
	return nil
}

// UTF16 returns the footnotes of an answer, and the numbers without one, with offsets that count UTF-16 units, as
// JavaScript's strings do. The footnotes are not nil.
func UTF16(a footnote.Answered) (cites []footnote.Cite, unresolved []footnote.Unresolved) {
	u := units{text: a.Text}
	cites = make([]footnote.Cite, 0, len(a.Cites))
	for _, c := range a.Cites {
		c.Start, c.End = u.at(c.Start), u.at(c.End)
		cites = append(cites, c)
	}
	for _, n := range a.Unresolved {
		n.Start, n.End = u.at(n.Start), u.at(n.End)
		unresolved = append(unresolved, n)
	}
	return cites, unresolved
}

// units converts byte offsets in a text to UTF-16 offsets. Ascending queries are fast.
type units struct {
	text         string
	bytes, count int
}

func (u *units) at(offset int) int {
	offset = min(max(offset, 0), len(u.text))
	if offset < u.bytes {
		u.bytes, u.count = 0, 0
	}
	for _, r := range u.text[u.bytes:offset] {
		u.count++
		if r > 0xffff {
			u.count++
		}
	}
	u.bytes = offset
	return u.count
}

// PlainID reports whether a client's own id can be stored: printable UTF-8 of at most max bytes.
func PlainID(id string, maxBytes int) bool {
	return len(id) <= maxBytes && utf8.ValidString(id) &&
		!strings.ContainsFunc(id, func(r rune) bool { return !unicode.IsPrint(r) })
}

// TextAnswer returns a client's result as an answer with text: a string as it is, and other JSON in compact form.
func TextAnswer(callID string, result json.RawMessage) tool.Answer {
	a := tool.Answer{CallID: callID}
	if json.Unmarshal(result, &a.Content) == nil {
		return a
	}
	var buf bytes.Buffer
	if json.Compact(&buf, result) == nil {
		a.Content = buf.String()
	}
	return a
}

// Columns decodes the columns of a client's result. Each is a name, or an object with a name and a kind.
func Columns(list []json.RawMessage) (columns []footnote.Column, ok bool) {
	columns = make([]footnote.Column, len(list))
	for i, raw := range list {
		if json.Unmarshal(raw, &columns[i].Name) != nil && json.Unmarshal(raw, &columns[i]) != nil {
			return nil, false
		}
	}
	return columns, true
}

// Nested reports whether a cell of a client's result is an array or object, which no column can hold.
func Nested(cell any) bool {
	switch cell.(type) {
	case []any, map[string]any:
		return true
	}
	return false
}
