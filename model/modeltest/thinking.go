package modeltest

import (
	"bytes"
	"crypto/hmac"
	"crypto/sha256"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"hash"
	"slices"
)

// Signatures of thinking blocks. Newer models bind each block to what came before it: the system prompt, the
// set of tools and every earlier message, without thinking. A signature contains short digests of these
// three, so that an error can say which one differs, a digest of the previous thinking, and a MAC over all of
// it and the block's own text.
const (
	sumSize       = 6
	signatureSize = 5*sumSize + 16 // model, previous, system, tools, messages, MAC
	macOffset     = 5 * sumSize
)

type sum [sumSize]byte

func short(parts ...[]byte) (s sum) {
	h := sha256.New()
	for _, p := range parts {
		h.Write(p)
		h.Write([]byte{0})
	}
	copy(s[:], h.Sum(nil))
	return s
}

// binding identifies the messages that a thinking block is bound to.
type binding struct{ model, previous, system, tools, messages sum }

func (s *Server) sign(b binding, text string) string {
	buf := slices.Concat(b.model[:], b.previous[:], b.system[:], b.tools[:], b.messages[:])
	mac := hmac.New(sha256.New, []byte(secret))
	mac.Write(buf)
	mac.Write([]byte(text))
	return base64.StdEncoding.EncodeToString(append(buf, mac.Sum(nil)[:16]...))
}

// unseal decodes a signature. It returns ok=false if the signature is not ours or the text differs.
func (s *Server) unseal(signature, text string) (b binding, ok bool) {
	raw, err := base64.StdEncoding.DecodeString(signature)
	if err != nil || len(raw) != signatureSize {
		return b, false
	}
	for i, part := range []*sum{&b.model, &b.previous, &b.system, &b.tools, &b.messages} {
		copy(part[:], raw[i*sumSize:])
	}
	return b, s.sign(b, text) == signature
}

// prefix walks through a request from its start and computes the binding of a thinking block at each place.
type prefix struct {
	at   binding
	hash hash.Hash // over the messages so far, without thinking
	none bool      // no thinking so far
}

func newPrefix(r Request) *prefix {
	var tools [][]byte
	for _, t := range r.Tools {
		if !t.DeferLoading {
			tools = append(tools, canonical(t.Raw))
		}
	}
	slices.SortFunc(tools, bytes.Compare) // only the set counts, not the order
	system := []byte("null")
	if blocks, err := parseContent(r.System); err == nil && len(blocks) > 0 {
		system = nil
		for _, b := range blocks {
			system = append(system, canonical(b.Raw)...)
		}
	}
	p := &prefix{hash: sha256.New(), none: true}
	p.at = binding{model: short([]byte(r.Model)), system: short(system), tools: short(tools...)}
	return p
}

// message adds a finished message to the prefix.
func (p *prefix) message(m Message) {
	for _, c := range m.Content {
		p.block(m.Role, c)
	}
}

// block adds one block to the prefix.
func (p *prefix) block(role string, c Content) {
	if c.Type == "thinking" || c.Type == "redacted_thinking" {
		p.thought(c)
		return
	}
	fmt.Fprintf(p.hash, "%s %s\n", role, canonical(c.Raw))
	copy(p.at.messages[:], p.hash.Sum(nil))
}

// thought records a thinking block as the previous one for those that follow.
func (p *prefix) thought(c Content) {
	p.at.previous, p.none = short([]byte(c.Signature+c.Data)), false
}

// checkThinking verifies every signature of a request.
func (s *Server) checkThinking(r Request, bound bool) error {
	p := newPrefix(r)
	for i, m := range r.Messages {
		// A block is bound to what was before its message. If a paused turn came back as one message, it is
		// bound to what was before its part of it.
		before := p.at.messages
		for j, c := range m.Content {
			if c.Type == "thinking" || c.Type == "redacted_thinking" {
				at := p.at
				at.messages = before
				err := s.checkBlock(at, p.none, c, bound)
				if err != nil && s.checkBlock(p.at, p.none, c, bound) != nil {
					return fmt.Errorf("messages.%d.content.%d: %w", i, j, err)
				}
			}
			p.block(m.Role, c)
		}
	}
	return nil
}

func (s *Server) checkBlock(at binding, first bool, c Content, bound bool) error {
	sealed, text := c.Signature, c.Thinking
	if c.Type == "redacted_thinking" {
		sealed, text = c.Data, ""
	}
	made, ok := s.unseal(sealed, text)
	switch {
	case !ok:
		return fmt.Errorf("Invalid `signature` in `thinking` block")
	case !bound || made.model != at.model:
		return nil // another model cannot read it and drops it
	}
	const words = "Invalid signature in thinking block. The block is bound to a different conversation. %s differs " +
		"from the one this block was created with."
	switch {
	case made.system != at.system:
		return fmt.Errorf(words, "The `system` prompt")
	case made.tools != at.tools:
		return fmt.Errorf(words, "The set of `tools`")
	case made.messages != at.messages:
		return fmt.Errorf(words, "An earlier message")
	case made.previous != at.previous && !first:
		return fmt.Errorf(words, "The thinking before it")
	}
	return nil
}

// canonical returns the content of a JSON value: sorted keys, numbers as written, no cache marks.
func canonical(raw json.RawMessage) []byte {
	dec := json.NewDecoder(bytes.NewReader(raw))
	dec.UseNumber()
	var v any
	if err := dec.Decode(&v); err != nil {
		return raw
	}
	out, err := json.Marshal(unmarked(v))
	if err != nil {
		return raw
	}
	return out
}

func unmarked(v any) any {
	switch v := v.(type) {
	case map[string]any:
		delete(v, "cache_control")
		for k := range v {
			v[k] = unmarked(v[k])
		}
	case []any:
		for i := range v {
			v[i] = unmarked(v[i])
		}
	}
	return v
}
