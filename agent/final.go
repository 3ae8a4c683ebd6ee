package agent

import (
	"bytes"
	"encoding/json"
	"strconv"
	"unicode/utf8"

	"github.com/footnotehq/footnote"
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
		b, ok := decodeBlock(raw)
		if !ok {
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

// answerMarks returns the marks in the answer of answerOf, with their offsets in it.
func answerMarks(m footnote.AssistantMessage) []footnote.Mark {
	if len(m.Marks) == 0 {
		return nil
	}
	begin := make([]int, len(m.Blocks)) // of each block in the answer; negative if it is no part of it
	final, n := false, 0
	for i, raw := range m.Blocks {
		b, ok := decodeBlock(raw)
		begin[i] = -1
		switch {
		case !ok:
		case b.Type == model.TextBlock && !final:
			begin[i] = n
			n += len(b.Text)
		case b.Type == model.ToolUseBlock && !final:
			if _, final = finalText(b.Name, b.Input); final {
				for j := range i {
					begin[j] = -1
				}
				begin[i] = 0
			}
		}
	}
	var marks []footnote.Mark
	for _, one := range m.Marks {
		if one.Block < len(begin) && begin[one.Block] >= 0 {
			marks = append(marks, footnote.Mark{At: begin[one.Block] + one.At, Text: one.Text})
		}
	}
	return marks
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
// incomplete. Control characters, which some servers send although they are not JSON, are escaped.
func (a *answerReader) text(dst, in []byte) ([]byte, int) {
	if in[0] == '"' {
		a.done = true
		return dst, 1
	}
	n := 0
	for n < len(in) && in[n] != '"' {
		size := character(in[n:])
		if size == 0 {
			break
		}
		n += size
	}
	return strictjson.AppendEscaped(dst, string(strictjson.AppendUnescaped(nil, in[:n]))), n
}

// character returns the length of the first character or escape inside a JSON string, or 0 if it is incomplete. The
// first half of a surrogate pair is complete only when the second half is there, or cannot follow any more.
func character(in []byte) int {
	switch {
	case in[0] != '\\' && !utf8.FullRune(in):
		return 0
	case in[0] != '\\':
		_, n := utf8.DecodeRune(in)
		return n
	case len(in) < 2:
		return 0
	case in[1] != 'u':
		return 2
	case len(in) < 6:
		return 0
	}
	half, err := strconv.ParseUint(string(in[2:6]), 16, 16)
	rest := in[6:min(len(in), 12)]
	if first := err == nil && half >= 0xD800 && half < 0xDC00; first && len(rest) < 6 &&
		bytes.HasPrefix([]byte(`\u`), rest[:min(len(rest), 2)]) {
		return 0
	}
	return 6
}
