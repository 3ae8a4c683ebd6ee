package claude

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"io"
	"strconv"

	"github.com/footnotehq/footnote"
	"github.com/footnotehq/footnote/model"
	"github.com/footnotehq/footnote/model/price"
)

// minOutput is the shortest answer worth requesting, in tokens.
const minOutput = 256

// body is a request body in pieces. The pieces of the history are the stored bytes themselves; they are not
// copied, and must not change during a call.
type body struct {
	parts [][]byte
	size  int64
}

func (b *body) add(part []byte) {
	if len(part) > 0 {
		b.parts = append(b.parts, part)
		b.size += int64(len(part))
	}
}

// open returns a reader of the whole body. Every attempt opens its own.
func (b *body) open() io.ReadCloser { return &bodyReader{parts: b.parts} }

// bodyReader fills each read with as many pieces as fit, so that a long history does not become one write per
// message.
type bodyReader struct {
	parts [][]byte
	at    int // in parts[0]
}

func (r *bodyReader) Read(p []byte) (n int, err error) {
	for n < len(p) && len(r.parts) > 0 {
		c := copy(p[n:], r.parts[0][r.at:])
		n += c
		if r.at += c; r.at == len(r.parts[0]) {
			r.parts, r.at = r.parts[1:], 0
		}
	}
	if n == 0 && len(p) > 0 {
		return 0, io.EOF
	}
	return n, nil
}

func (r *bodyReader) Close() error {
	r.parts = nil
	return nil
}

// thinkingType returns the thinking type to request, or "" to omit the field.
func (m *Model) thinkingType(model price.Model, effort string) string {
	switch {
	case m.opts.Profile == Compatible:
		return ""
	case effort == footnote.EffortOff && !model.Thinking.Always && model.Thinks("disabled"):
		return "disabled"
	case model.Thinks("adaptive"):
		return "adaptive"
	default:
		return ""
	}
}

// effort returns the effort of a request: its own, or the process's default. A model that always thinks gets
// its lowest level.
func (m *Model) effort(effort string, model price.Model) string {
	switch {
	case effort == "":
		return m.opts.Effort
	case effort != footnote.EffortOff:
		return effort
	case model.Thinking.Always:
		return "low"
	default:
		return ""
	}
}

// limit returns the maximum number of tokens that model may produce in this call.
func (m *Model) limit(model string, req *model.Request) (int64, *failure) {
	out := int64(m.opts.MaxTokens)
	if req.MaxTokens > 0 {
		out = min(out, int64(req.MaxTokens))
	}
	if known, ok := m.prices.Model(model); ok && known.MaxOutput > 0 {
		out = min(out, known.MaxOutput)
	}
	if req.MaxCost <= 0 {
		return out, nil
	}
	fits := m.prices.MaxOutputFor(model, req.MaxCost, m.promptUsage(req, 0))
	if fits < min(minOutput, out) {
		return 0, &failure{code: footnote.BudgetExceeded, message: sayBudget,
			err: fmt.Errorf("model %s: the remaining %d micro-USD cover only %d tokens", model, req.MaxCost, fits)}
	}
	return min(out, fits), nil
}

// build builds the request for one model.
func (m *Model) build(model string, req *model.Request) (*body, *failure) {
	anthropic := m.opts.Profile == Anthropic
	var tail body // everything after the head
	hasTools := len(bytes.Trim(req.Tools, " \t\r\n[]")) > 0
	hasSystem := len(bytes.Trim(req.System, " \t\r\n[]")) > 0
	if hasTools {
		tail.add([]byte(`,"tools":`))
		// The mark on the system prompt covers the tools, which come before it.
		tail.addMarked(req.Tools, anthropic && !hasSystem)
		if req.NoTools {
			tail.add([]byte(`,"tool_choice":{"type":"none"}`))
		}
	}
	if hasSystem {
		tail.add([]byte(`,"system":`))
		tail.addMarked(req.System, anthropic)
	}
	tail.add([]byte(`,"messages":[`))
	if err := m.addMessages(&tail, req.Messages); err != nil {
		return nil, &failure{code: footnote.Internal, message: sayBad, err: err}
	}
	tail.add([]byte("]}"))

	limit, f := m.limit(model, req)
	if f != nil {
		return nil, f
	}
	out := &body{parts: make([][]byte, 0, len(tail.parts)+1)}
	out.add(m.head(model, req.Effort, limit, req.Principal))
	out.parts = append(out.parts, tail.parts...)
	out.size += tail.size
	return out, nil
}

// head returns the start of the body, which is built for each call: the model, its limits and its settings.
func (m *Model) head(model, effort string, limit int64, principal footnote.Principal) []byte {
	out := append([]byte(`{"model":`), jsonString(model)...)
	out = append(strconv.AppendInt(append(out, `,"max_tokens":`...), limit, 10), `,"stream":true`...)
	if m.opts.Profile == Compatible {
		return out
	}
	known, _ := m.prices.Model(model)
	if kind := m.thinkingType(known, effort); kind != "" {
		out = append(append(out, `,"thinking":{"type":`...), jsonString(kind)...)
		if kind != "disabled" {
			out = append(append(out, `,"display":`...), jsonString(m.opts.ThinkingDisplay)...)
		}
		out = append(out, '}')
	}
	effort = m.effort(effort, known)
	for _, level := range known.Effort {
		if level == effort {
			out = append(append(append(out, `,"output_config":{"effort":`...), jsonString(level)...), '}')
		}
	}
	if principal.User != "" {
		out = append(append(append(out, `,"metadata":{"user_id":`...), jsonString(userID(principal))...), '}')
	}
	return append(out, `,"cache_control":{"type":"ephemeral"}`...)
}

// userID returns a pseudonym for a user that reveals nothing to the provider.
func userID(p footnote.Principal) string {
	sum := sha256.Sum256([]byte("footnote user\x00" + p.Org + "\x00" + p.User))
	return "u_" + hex.EncodeToString(sum[:16])
}

func jsonString(s string) []byte {
	out, _ := json.Marshal(s) // a string always encodes
	return out
}

const longMark = `,"cache_control":{"type":"ephemeral","ttl":"1h"}`

// addMarked adds a JSON array with a cache mark on its last object. An array stays as it is if it should not
// be marked, has its own marks, or does not end in an object.
func (b *body) addMarked(array []byte, mark bool) {
	trimmed, ok := bytes.CutSuffix(bytes.TrimRight(array, " \t\r\n"), []byte("]"))
	inner, object := bytes.CutSuffix(bytes.TrimRight(trimmed, " \t\r\n"), []byte("}"))
	if !mark || !ok || !object || bytes.Contains(array, []byte(`"cache_control":`)) {
		b.add(array)
		return
	}
	b.add(inner)
	b.add([]byte(longMark + "}]"))
}

// addMessages adds the history.
func (m *Model) addMessages(b *body, messages []model.Message) error {
	first := true
	for i, msg := range messages {
		content := []byte(msg.Content)
		if msg.Role == "assistant" {
			var err error
			if content, err = m.withoutForeignThinking(content); err != nil {
				return fmt.Errorf("message %d of the history: %w", i, err)
			}
			if content == nil {
				continue
			}
		}
		if len(content) == 0 {
			return fmt.Errorf("message %d of the history has no content", i)
		}
		if !first {
			b.add([]byte(","))
		}
		first = false
		b.add(roleHead(msg.Role))
		b.add(content)
		b.add([]byte("}"))
	}
	if first {
		return fmt.Errorf("the history has no messages")
	}
	return nil
}

func roleHead(role string) []byte {
	switch role {
	case "user":
		return []byte(`{"role":"user","content":`)
	case "assistant":
		return []byte(`{"role":"assistant","content":`)
	}
	return append(append([]byte(`{"role":`), jsonString(role)...), `,"content":`...)
}

// withoutForeignThinking removes thinking that the upstream cannot have produced: thinking without a
// signature for Anthropic's API, and all thinking for another server, which cannot read Anthropic's. It
// returns nil if nothing is left, and content itself if nothing needs to change.
func (m *Model) withoutForeignThinking(content []byte) ([]byte, error) {
	if !bytes.Contains(content, []byte(`thinking"`)) {
		return content, nil // almost always, and a history is long
	}
	thinking := bytes.Count(content, []byte(`"type":"thinking"`))
	redacted := bytes.Count(content, []byte(`"type":"redacted_thinking"`))
	signed := bytes.Count(content, []byte(`"signature":"`)) - bytes.Count(content, []byte(`"signature":""`))
	anthropic := m.opts.Profile == Anthropic
	if anthropic && thinking <= signed || thinking+redacted == 0 {
		return content, nil
	}
	var blocks []json.RawMessage
	if err := json.Unmarshal(content, &blocks); err != nil {
		return nil, err
	}
	var kept [][]byte
	for _, raw := range blocks {
		var head struct{ Type, Signature string }
		if err := json.Unmarshal(raw, &head); err != nil {
			return nil, err
		}
		foreign := head.Type == "thinking" && (!anthropic || head.Signature == "") ||
			head.Type == "redacted_thinking" && !anthropic
		if !foreign {
			kept = append(kept, raw)
		}
	}
	if len(kept) == 0 {
		return nil, nil
	}
	return append(append([]byte{'['}, bytes.Join(kept, []byte{','})...), ']'), nil
}
