package agent

import (
	"bytes"
	"encoding/json"
	"strconv"
	"unicode/utf8"

	"github.com/footnotehq/footnote/internal/strictjson"
	"github.com/footnotehq/footnote/model"
	"github.com/footnotehq/footnote/tool"
)

// Block is one block of a message, as the page shows it.
type Block struct {
	Index int    // of the block within the message
	Kind  string // TextBlock, ThinkingBlock or ToolUseBlock
	Text  string // of text and thinking
	// ID, Name and Input belong to a tool call. A call of FinalAnswer also has them, but its Kind is TextBlock and its
	// Text is the answer, as it was streamed.
	ID    string
	Name  string
	Input json.RawMessage
}

// Shown returns the blocks of a message that the page shows. It skips blocks of other kinds and unreadable ones.
func Shown(blocks []json.RawMessage) []Block {
	var shown []Block
	for i, raw := range blocks {
		if text, ok := plainText(raw); ok {
			shown = append(shown, Block{Index: i, Kind: model.TextBlock, Text: text})
			continue
		}
		var b struct {
			Type     string          `json:"type"`
			Text     string          `json:"text"`
			Thinking string          `json:"thinking"`
			ID       string          `json:"id"`
			Name     string          `json:"name"`
			Input    json.RawMessage `json:"input"`
		}
		if json.Unmarshal(raw, &b) != nil {
			continue
		}
		block := Block{Index: i, Kind: b.Type, Text: b.Text + b.Thinking, ID: b.ID, Name: b.Name, Input: b.Input}
		switch b.Type {
		case model.TextBlock, model.ThinkingBlock:
		case model.ToolUseBlock:
			if text, ok := finalText(b.Name, b.Input); ok {
				block.Kind, block.Text = model.TextBlock, text
			}
		default:
			continue
		}
		shown = append(shown, block)
	}
	return shown
}

// finalText returns the answer in a call of FinalAnswer.
func finalText(name string, input json.RawMessage) (text string, ok bool) {
	if name != tool.FinalAnswer {
		return "", false
	}
	var in struct {
		Answer string `json:"answer"`
	}
	if json.Unmarshal(input, &in) != nil || in.Answer == "" {
		return "", false
	}
	return in.Answer, true
}

// answerOf returns the answer in a message: the input of its call of FinalAnswer, or else its text.
func answerOf(blocks []json.RawMessage) string {
	for _, c := range toolCalls(blocks) {
		if text, ok := finalText(c.Name, c.Input); ok {
			return text
		}
	}
	return Text(blocks)
}

// final reports whether the newest message has a call of FinalAnswer that succeeded.
func (r *run) final() bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	for _, c := range r.s.calls {
		res, ok := r.s.results[c.ID]
		if _, spec := r.tool(&c); ok && !res.IsError && spec.Final {
			return true
		}
	}
	return false
}

// isFinal reports whether name is that of FinalAnswer or one of its aliases.
func (r *run) isFinal(name string) bool {
	c := openCall{Name: name}
	_, spec := r.tool(&c)
	return spec.Final
}

// answerReader extracts the text of the answer from the input of a call of FinalAnswer while the input grows. It
// returns the inside of a JSON string, as model.Live expects it: a piece never ends inside an escape, a surrogate pair
// or a character.
//
// It has a small parser of its own, because the JSON is incomplete. The parser only finds where the value of the first
// key "answer" of the outermost object begins and ends.
type answerReader struct {
	raw   []byte // the part of the input that is not parsed yet, unescaped once
	depth int
	state readerState
	key   bool   // the current string is a key
	name  []byte // the newest key
	done  bool   // the whole answer was read
}

type readerState int

const (
	between  readerState = iota // outside of strings
	inString                    // inside a string other than the answer
	inAnswer
)

// add reads the next piece of the input and appends its part of the answer to dst.
func (a *answerReader) add(dst, piece []byte) []byte {
	if a.done {
		return dst
	}
	a.raw = strictjson.AppendUnescaped(a.raw, piece)
	n := 0
	for n < len(a.raw) && !a.done {
		var more int
		if a.state == inAnswer {
			dst, more = a.text(dst, a.raw[n:])
		} else {
			more = a.skip(a.raw[n:])
		}
		if more == 0 {
			break // the next token is incomplete
		}
		n += more
	}
	a.raw = append(a.raw[:0], a.raw[n:]...)
	return dst
}

// maxKey is the number of bytes kept of a key, longer than "answer".
const maxKey = 16

// skip reads one token outside the answer and returns its length, or 0 if it is incomplete.
func (a *answerReader) skip(in []byte) int {
	c := in[0]
	if a.state == inString {
		switch {
		case c == '\\' && len(in) < 2:
			return 0
		case c == '\\':
			a.name = append(a.name, '\\') // "answer" has no escapes, so this key cannot match
			return 2
		case c == '"':
			a.state = between
		case len(a.name) < maxKey:
			a.name = append(a.name, c)
		}
		return 1
	}
	switch c {
	case '{', '[':
		a.depth++
		a.key = c == '{' && a.depth == 1
	case '}', ']':
		a.depth--
	case ',':
		a.key = a.depth == 1
	case ':':
		a.key = false
	case '"':
		a.state = inString
		if a.depth == 1 && !a.key && string(a.name) == "answer" {
			a.state = inAnswer
		}
		if a.key {
			a.name = a.name[:0]
		} else {
			a.name = append(a.name[:0], '\\') // a value is not a key
		}
	}
	return 1
}

// text appends the next characters of the answer and returns their length in the input, or 0 if the next one is
// incomplete.
func (a *answerReader) text(dst, in []byte) ([]byte, int) {
	switch c := in[0]; {
	case c == '"':
		a.done = true
		return dst, 1
	case c == '\\':
		return escape(dst, in)
	case c < ' ': // not JSON, but some servers send it
		return append(append(dst, `\u00`...), hexDigit(c>>4), hexDigit(c&15)), 1
	case c < utf8.RuneSelf:
		n := bytes.IndexFunc(in, func(r rune) bool { return r < ' ' || r >= utf8.RuneSelf || r == '"' || r == '\\' })
		if n < 0 {
			n = len(in)
		}
		return append(dst, in[:n]...), n
	case !utf8.FullRune(in):
		return dst, 0
	default:
		r, n := utf8.DecodeRune(in)
		return utf8.AppendRune(dst, r), n
	}
}

// escape copies one escape; half of a surrogate pair becomes U+FFFD.
func escape(dst, in []byte) ([]byte, int) {
	if len(in) < 2 {
		return dst, 0
	}
	if in[1] != 'u' {
		return append(dst, in[:2]...), 2
	}
	if len(in) < 6 {
		return dst, 0
	}
	switch kind := surrogate(in); {
	case kind == low:
		return append(dst, `\ufffd`...), 6
	case kind == high && len(in) < 12 && (len(in) < 7 || in[6] == '\\') && (len(in) < 8 || in[7] == 'u'):
		return dst, 0
	case kind == high && (len(in) < 12 || surrogate(in[6:]) != low):
		return append(dst, `\ufffd`...), 6
	case kind == high:
		return append(dst, in[:12]...), 12
	default:
		return append(dst, in[:6]...), 6
	}
}

const (
	high = 1 // the first half of a surrogate pair
	low  = 2
)

// surrogate reports which half of a surrogate pair an escape is; 0 for none.
func surrogate(in []byte) int {
	if in[0] != '\\' || in[1] != 'u' {
		return 0
	}
	n, err := strconv.ParseUint(string(in[2:6]), 16, 32)
	switch {
	case err != nil:
		return 0
	case n >= 0xD800 && n < 0xDC00:
		return high
	case n >= 0xDC00 && n < 0xE000:
		return low
	default:
		return 0
	}
}

func hexDigit(n byte) byte { return "0123456789abcdef"[n] }
