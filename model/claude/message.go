package claude

import (
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"

	"github.com/footnotehq/footnote"
	"github.com/footnotehq/footnote/model"
)

var (
	errNotObject = errors.New("not a JSON object")
	errTooLarge  = errors.New("the message is larger than this server accepts")
)

const (
	maxBlocks  = 10_000
	maxMessage = 64 << 20 // bytes of all blocks
)

// message builds a message from its events and notifies live.
type message struct {
	live   model.Live
	blocks []*block
	size   int
	grown  *block // has text that live does not have yet; it gets the pieces that came in one read together
	dirty  bool   // live has unflushed changes
	shown  bool   // live has shown anything at all

	begun, ended    bool // message_start, message_stop
	id, model, stop string
	usage           footnote.Usage
	sawInput        bool // the upstream counted the prompt
	sawOutput       bool // it counted the whole output
	scratch         []byte
}

// count is a number of tokens as servers write it.
type count struct {
	n   int64
	set bool
}

// UnmarshalJSON accepts any JSON value. null leaves the count unset; a fraction is truncated; a negative
// number becomes 0.
func (c *count) UnmarshalJSON(raw []byte) error {
	f, err := strconv.ParseFloat(string(raw), 64)
	if err != nil || math.IsNaN(f) {
		return nil // ignore a count in an unknown form
	}
	c.n, c.set = int64(min(max(f, 0), 1e12)), true
	return nil
}

func (c count) setIfKnown(n *int64) {
	if c.set {
		*n = c.n
	}
}

// usageJSON is the usage object of message_start and message_delta.
type usageJSON struct {
	Input      count `json:"input_tokens"`
	Output     count `json:"output_tokens"`
	CacheWrite count `json:"cache_creation_input_tokens"`
	CacheRead  count `json:"cache_read_input_tokens"`
	CacheSplit struct {
		Short count `json:"ephemeral_5m_input_tokens"`
		Long  count `json:"ephemeral_1h_input_tokens"`
	} `json:"cache_creation"`
	Details struct {
		Thinking count `json:"thinking_tokens"`
	} `json:"output_tokens_details"`
	Server struct {
		Searches count `json:"web_search_requests"`
	} `json:"server_tool_use"`
}

// setUsage replaces the counters that u sets. They are totals of the whole message and must not be added up.
func (m *message) setUsage(u *usageJSON, final bool) {
	if u == nil {
		return
	}
	u.Input.setIfKnown(&m.usage.Input)
	u.CacheRead.setIfKnown(&m.usage.CacheRead)
	u.CacheSplit.Long.setIfKnown(&m.usage.CacheWrite1h)
	switch {
	case u.CacheWrite.set: // without a known lifetime of an hour, assume five minutes
		m.usage.CacheWrite1h = min(m.usage.CacheWrite1h, u.CacheWrite.n)
		m.usage.CacheWrite5m = u.CacheWrite.n - m.usage.CacheWrite1h
	default:
		u.CacheSplit.Short.setIfKnown(&m.usage.CacheWrite5m)
	}
	u.Output.setIfKnown(&m.usage.Output)
	u.Details.Thinking.setIfKnown(&m.usage.Thinking)
	u.Server.Searches.setIfKnown(&m.usage.Searches)
	m.sawInput = m.sawInput || m.usage.Prompt() > 0
	m.sawOutput = m.sawOutput || final && u.Output.set
}

// event is any event, for the slow path.
type event struct {
	Type    string `json:"type"`
	Index   int    `json:"index"`
	Message struct {
		ID      string            `json:"id"`
		Model   string            `json:"model"`
		Content []json.RawMessage `json:"content"`
		Stop    *string           `json:"stop_reason"`
		Usage   *usageJSON        `json:"usage"`
	} `json:"message"`
	Block json.RawMessage `json:"content_block"`
	Delta struct {
		Type      string          `json:"type"`
		Text      json.RawMessage `json:"text"`
		Thinking  json.RawMessage `json:"thinking"`
		Input     json.RawMessage `json:"partial_json"`
		Signature json.RawMessage `json:"signature"`
		Citation  json.RawMessage `json:"citation"`
		Stop      *string         `json:"stop_reason"`
	} `json:"delta"`
	Usage *usageJSON `json:"usage"`
	Error *errorJSON `json:"error"`
}

type errorJSON struct {
	Type    string `json:"type"`
	Message string `json:"message"`
	Details struct {
		Code string `json:"error_code"`
	} `json:"details"`
}

// handle processes the data of one event. name comes from the event line.
func (m *message) handle(name, data []byte) error {
	if d, ok := scanDelta(data); ok {
		return m.scannedDelta(d)
	}
	if string(data) == "[DONE]" { // some proxies add the end marker of another protocol
		return nil
	}
	var e event
	if err := json.Unmarshal(data, &e); err != nil {
		// A field has an unexpected type; ignore it if we do not know the event anyway.
		if _, wrongType := errors.AsType[*json.UnmarshalTypeError](err); !wrongType || known(e.Type) {
			return &streamError{kind: malformed, err: fmt.Errorf("event %q: %w", clip(string(name), 64), err)}
		}
		return nil
	}
	e.Type = cmp.Or(e.Type, string(name))
	return m.dispatch(e)
}

func known(kind string) bool {
	switch kind {
	case "message_start", "content_block_start", "content_block_delta", "content_block_stop", "message_delta",
		"message_stop", "error":
		return true
	}
	return false
}

// dispatch processes a decoded event. It ignores events of unknown types.
func (m *message) dispatch(e event) error {
	switch e.Type {
	case "message_start":
		m.begun = true
		m.id, m.model = e.Message.ID, e.Message.Model
		m.setUsage(e.Message.Usage, false)
	case "content_block_start":
		return m.start(e.Index, e.Block)
	case "content_block_delta":
		return m.parsedDelta(e)
	case "content_block_stop":
		if b := m.find(e.Index); b != nil && b.open {
			m.close(b)
		}
	case "message_delta":
		if e.Delta.Stop != nil {
			m.stop = *e.Delta.Stop
		}
		m.setUsage(e.Usage, true)
	case "message_stop":
		m.end()
	case "error":
		err := &streamError{kind: reported}
		if e.Error != nil {
			err.upstream = *e.Error
		}
		return err
	}
	return nil
}

func (m *message) end() {
	for _, b := range m.blocks {
		if b.open {
			m.close(b)
		}
	}
	m.ended = true
}

// readWhole processes a complete message, from a server that does not stream.
func (m *message) readWhole(data []byte) error {
	var e event
	if err := json.Unmarshal(data, &e.Message); err != nil {
		return &streamError{kind: malformed, err: err}
	}
	e.Type = "message_start"
	if err := m.dispatch(e); err != nil {
		return err
	}
	for i, raw := range e.Message.Content {
		if err := m.start(i, raw); err != nil {
			return err
		}
		m.close(m.blocks[i])
	}
	if e.Message.Stop != nil {
		m.stop = *e.Message.Stop
	}
	m.setUsage(e.Message.Usage, true)
	m.end()
	return nil
}

// find returns the block with an upstream index. Usually that is the newest.
func (m *message) find(index int) *block {
	for _, b := range slices.Backward(m.blocks) {
		if b.index == index {
			return b
		}
	}
	return nil
}

// open adds a block.
func (m *message) open(b *block) error {
	if m.find(b.index) != nil || len(m.blocks) >= maxBlocks {
		return &streamError{kind: malformed, err: fmt.Errorf("block %d starts twice, or there are too many", b.index)}
	}
	b.place = len(m.blocks)
	m.blocks = append(m.blocks, b)
	return nil
}

func (m *message) start(index int, raw json.RawMessage) error {
	fields, err := objectFields(raw)
	if err != nil {
		return &streamError{kind: malformed, err: fmt.Errorf("start of block %d: %w", index, err)}
	}
	if m.size += len(raw); m.size > maxMessage {
		return &streamError{kind: oversized, err: errTooLarge}
	}
	b := &block{index: index, fields: fields, open: true}
	b.kind = b.string("type")
	grown := grownField(b.kind)
	b.grows, b.live = grown != "", isLive(b.kind)
	if err := m.open(b); err != nil {
		return err
	}
	// Text is announced with its first piece, so that a call that breaks off before it can be repeated unnoticed.
	if b.live && b.kind != model.TextBlock {
		m.announce(b)
	}
	if text := innerJSON(b.field(grown)); len(text) > 0 && grown != "input" {
		return m.add(b, text)
	}
	// Show an input that came complete like one that was streamed.
	if input := b.field("input"); b.kind == model.ToolUseBlock && len(input) > 2 && input[0] == '{' {
		text, err := json.Marshal(string(input))
		if err != nil {
			return &streamError{kind: malformed, err: err}
		}
		m.live.Delta(b.place, innerJSON(text))
	}
	return nil
}

func (m *message) announce(b *block) {
	m.showGrown()
	b.begun, m.dirty, m.shown = true, true, true
	id, name := "", ""
	if b.kind == model.ToolUseBlock {
		id, name = b.string("id"), b.string("name")
	}
	m.live.Start(b.place, b.kind, id, name)
}

// grew appends a piece to a block, which live gets with the next flush or before anything else.
func (m *message) grew(b *block, text []byte) {
	b.text = append(b.text, text...)
	if !b.live || len(text) == 0 {
		return
	}
	if m.grown != b {
		m.showGrown()
		m.grown = b
	}
	m.dirty, m.shown = true, true
}

// showGrown passes on the text that live does not have yet.
func (m *message) showGrown() {
	b := m.grown
	if b == nil {
		return
	}
	m.grown = nil
	if !b.begun {
		m.announce(b)
	}
	m.live.Delta(b.place, b.text[b.passed:])
	b.passed = len(b.text)
}

// flush makes readers see what live has.
func (m *message) flush() {
	if m.dirty {
		m.showGrown()
		m.dirty = false
		m.live.Flush()
	}
}

// scannedDelta appends a piece that the fast path read.
func (m *message) scannedDelta(d scannedDelta) error {
	b := m.find(d.index)
	if b == nil || !b.open {
		return &streamError{kind: malformed, err: fmt.Errorf("a delta for block %d, which is not open", d.index)}
	}
	if !b.grows || (d.kind == textDelta) != (b.kind == model.TextBlock) ||
		(d.kind == thinkingDelta) != (b.kind == model.ThinkingBlock) {
		return nil // an unknown kind of block, or a delta that does not match it
	}
	if m.size += len(d.text); m.size > maxMessage {
		return &streamError{kind: oversized, err: errTooLarge}
	}
	if d.tail || d.odd || b.hasHalf {
		m.addRepaired(b, d.text)
		return nil
	}
	m.grew(b, d.text)
	return nil
}

// add appends the inside of a JSON string that encoding/json has accepted.
func (m *message) add(b *block, text []byte) error {
	if m.size += len(text); m.size > maxMessage {
		return &streamError{kind: oversized, err: errTooLarge}
	}
	m.addRepaired(b, text)
	return nil
}

// addRepaired appends a piece that may need repair. It holds back the first half of a surrogate pair at its end
// until the second half comes.
func (m *message) addRepaired(b *block, text []byte) {
	if b.hasHalf {
		text = append(append(m.scratch[:0], b.half[:]...), text...)
		m.scratch, b.hasHalf = text, false
	}
	fixed := repair(nil, text)
	if n := len(fixed); endsInFirstHalf(fixed) {
		copy(b.half[:], fixed[n-6:])
		b.hasHalf, fixed = true, fixed[:n-6]
	}
	m.grew(b, fixed)
}

// endsInFirstHalf reports whether the inside of a JSON string ends with the first half of an escaped
// surrogate pair.
func endsInFirstHalf(text []byte) bool {
	s, ok := scanString(append(text[:len(text):len(text)], '"'), 0)
	return ok && s.tail
}

func (m *message) parsedDelta(e event) error {
	d, b := e.Delta, m.find(e.Index)
	if b == nil || !b.open {
		return &streamError{kind: malformed, err: fmt.Errorf("a delta for block %d, which is not open", e.Index)}
	}
	var text []byte
	switch {
	case d.Type == "text_delta" && b.kind == model.TextBlock:
		text = innerJSON(d.Text)
	case d.Type == "thinking_delta" && b.kind == model.ThinkingBlock:
		text = innerJSON(d.Thinking)
	case d.Type == "input_json_delta" && grownField(b.kind) == "input":
		text = innerJSON(d.Input)
	case d.Type == "signature_delta" && b.kind == model.ThinkingBlock:
		b.sig = repair(b.sig, innerJSON(d.Signature))
		m.size += len(d.Signature)
	case d.Type == "citations_delta" && b.kind == model.TextBlock && len(d.Citation) > 0:
		fields, err := objectFields(d.Citation)
		if err != nil {
			return &streamError{kind: malformed, err: fmt.Errorf("citation: %w", err)}
		}
		one := block{fields: fields}
		one.finish()
		if b.cite != nil {
			b.cite = append(b.cite, ',')
		}
		b.cite = append(b.cite, one.done...)
		m.size += len(d.Citation)
	}
	return m.add(b, text)
}

func (m *message) close(b *block) {
	if b.hasHalf { // the second half never came
		b.hasHalf = false
		m.grew(b, []byte(`\ufffd`))
	}
	m.showGrown()
	b.open = false
	b.finish()
	if b.live {
		if !b.begun {
			m.announce(b)
		}
		m.dirty = true
		m.live.Stop(b.place)
	}
}

// partial returns the text that was shown.
func (m *message) partial() string {
	var out strings.Builder
	for _, b := range m.blocks {
		var text string
		if b.kind == model.TextBlock && json.Unmarshal(quoted(b.text), &text) == nil {
			out.WriteString(text)
		}
	}
	return out.String()
}

// total returns the usage of the message, with estimates where the upstream sent no count or did not get that
// far. prompt is the size of the request in bytes.
func (m *message) total(prompt int) footnote.Usage {
	u := m.usage
	if !m.sawInput {
		u.Input, u.Estimated = estimate(prompt), true
	}
	if !m.sawOutput {
		size := 0
		for _, b := range m.blocks {
			size += len(b.text)
		}
		u.Output, u.Estimated = max(u.Output, estimate(size)), true
	}
	return u
}

// estimate returns the approximate number of tokens in a number of bytes.
func estimate(bytes int) int64 { return (int64(bytes)*2 + 6) / 7 }
