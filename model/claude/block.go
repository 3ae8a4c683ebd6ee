package claude

import (
	"bytes"
	"encoding/json"
	"slices"
	"strings"

	"github.com/footnotehq/footnote/model"
	"github.com/footnotehq/footnote/tool"
)

// block is a growing block of a message. Its text is kept as JSON text, the inside of a string, and is only
// ever appended to.
type block struct {
	index  int // the upstream's index
	place  int // position in the message, which is usually the same
	kind   string
	fields []field // of the start event, in order
	grows  bool    // text may be appended: the kind is one of those known here
	open   bool
	begun  bool // Live has been notified
	live   bool // Live is notified about this kind

	text    []byte // text, thinking or the fragments of a tool's input
	passed  int    // bytes of text that Live has
	sig     []byte
	half    [6]byte // first half of a surrogate pair while its second half is missing
	hasHalf bool
	cite    []byte          // citations, separated by commas
	done    json.RawMessage // the whole block, once it is closed
}

// field is one member of a JSON object.
type field struct {
	name  string
	value json.RawMessage
}

// objectFields splits a JSON object and keeps the order of its members. The values are compact, so that
// storing them does not change them.
func objectFields(raw []byte) ([]field, error) {
	var tight bytes.Buffer
	if err := json.Compact(&tight, raw); err != nil {
		return nil, err
	}
	dec := json.NewDecoder(&tight)
	if t, err := dec.Token(); err != nil || t != json.Delim('{') {
		return nil, errNotObject
	}
	var out []field
	for dec.More() {
		name, err := dec.Token()
		if err != nil {
			return nil, err
		}
		var value json.RawMessage
		if err := dec.Decode(&value); err != nil {
			return nil, err
		}
		out = append(out, field{name.(string), value}) // the decoder returns member names as strings
	}
	return out, nil
}

func (b *block) field(name string) json.RawMessage {
	for _, f := range b.fields {
		if f.name == name {
			return f.value
		}
	}
	return nil
}

func (b *block) string(name string) string {
	var s string
	if raw := b.field(name); raw != nil && json.Unmarshal(raw, &s) != nil {
		return ""
	}
	return s
}

// set replaces or adds a field of the start event.
func (b *block) set(name string, value []byte) {
	for i := range b.fields {
		if b.fields[i].name == name {
			b.fields[i].value = value
			return
		}
	}
	b.fields = append(b.fields, field{name, value})
}

// grownField returns the field that deltas append to, by kind of block.
func grownField(kind string) string {
	switch kind {
	case model.TextBlock:
		return "text"
	case model.ThinkingBlock:
		return "thinking"
	case model.ToolUseBlock, "server_tool_use", "mcp_tool_use":
		return "input"
	}
	return ""
}

func isLive(kind string) bool {
	return kind == model.TextBlock || kind == model.ThinkingBlock || kind == model.ToolUseBlock
}

// innerJSON returns the inside of a JSON string, or nil if raw is not one.
func innerJSON(raw json.RawMessage) []byte {
	if len(raw) < 2 || raw[0] != '"' {
		return nil
	}
	return raw[1 : len(raw)-1]
}

// quoted makes a JSON string from its inside.
func quoted(inside []byte) []byte {
	out := make([]byte, 0, len(inside)+2)
	return append(append(append(out, '"'), inside...), '"')
}

// finish builds the whole block from what was received.
func (b *block) finish() {
	switch grown := grownField(b.kind); grown {
	case "":
	case "input":
		b.set("input", b.input())
	default:
		b.set(grown, quoted(b.text))
		if b.kind == model.ThinkingBlock && b.sig != nil {
			b.set("signature", quoted(b.sig))
		}
		if len(b.cite) > 0 {
			b.set("citations", slices.Concat([]byte{'['}, b.cite, []byte{']'}))
		}
	}
	size := 2
	for _, f := range b.fields {
		size += len(f.name) + len(f.value) + 4
	}
	out := append(make([]byte, 0, size), '{')
	for i, f := range b.fields {
		if i > 0 {
			out = append(out, ',')
		}
		name, _ := json.Marshal(f.name) // a string always encodes
		out = append(append(append(out, name...), ':'), f.value...)
	}
	b.done = append(out, '}')
}

// input returns a tool's input: the joined fragments, or the value in the start event if there were none.
// Fragments that do not form a JSON object are kept as a string, under a name that cannot be confused with an
// argument.
func (b *block) input() []byte {
	if len(b.text) == 0 {
		if start := b.field("input"); len(start) > 0 && start[0] == '{' {
			return start
		}
		return []byte("{}")
	}
	var text string
	if json.Unmarshal(quoted(b.text), &text) == nil {
		text = strings.TrimSpace(text)
		var tight bytes.Buffer
		if strings.HasPrefix(text, "{") && json.Compact(&tight, []byte(text)) == nil {
			return tight.Bytes()
		}
		if text == "" {
			return []byte("{}")
		}
	}
	return append(append([]byte(`{"`+tool.InvalidInput+`":`), quoted(b.text)...), '}')
}
