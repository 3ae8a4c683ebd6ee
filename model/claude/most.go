package claude

import (
	"github.com/footnotehq/footnote"
	"github.com/footnotehq/footnote/agent"
)

// sentBeside is what the vendor adds to a prompt that has tools, in tokens, and more.
const sentBeside = 1_000

// Most is how much a call can use: all the output it may have, and its prompt as if
// all of it were written to the cache, by the dearest of the models that may be asked.
// A token is taken to be two bytes of the prompt, of which it has more than three.
func (m *Model) Most(req agent.Request) (tokens int64, cost footnote.Cost) {
	lasting, size := len(req.System)+len(req.Tools), 0
	for _, msg := range req.Messages {
		size += len(msg.Content)
	}
	req.MaxCost = 0 // it is asked what it would be
	for _, model := range m.candidates(&req) {
		out, _ := m.limit(model, &req)
		u := footnote.Usage{CacheWrite1h: int64(lasting)/2 + sentBeside, CacheWrite5m: int64(size) / 2, Output: out}
		c := m.prices.Cost(model, u)
		if tokens = max(tokens, u.Prompt()+out); c.MicroUSD > cost.MicroUSD {
			cost = c
		}
	}
	return tokens, cost
}

// besideTools is what the vendor adds to a prompt that has tools, in tokens.
const besideTools = 350

// prompt is what a prompt takes, about, as if all of it were written to the cache, and as
// if grown by so many bytes.
func (m *Model) prompt(req *agent.Request, grown int) footnote.Usage {
	lasting, size := len(req.System)+len(req.Tools), grown
	for _, msg := range req.Messages {
		size += len(msg.Content)
	}
	u := footnote.Usage{CacheWrite1h: estimate(lasting), CacheWrite5m: estimate(size)}
	if len(req.Tools) > len("[]") {
		u.CacheWrite1h += besideTools
	}
	if m.opts.Profile == Compatible {
		return footnote.Usage{Input: u.Prompt()}
	}
	return u
}

// Least is what must be left for a call to be made at all, by the dearest of the models
// that may be asked: its prompt, grown by so many bytes, and an answer of req.MaxTokens.
func (m *Model) Least(req agent.Request, grown int) (tokens int64, cost footnote.Cost) {
	u := m.prompt(&req, grown)
	for _, model := range m.candidates(&req) {
		req.MaxCost = 0
		u.Output, _ = m.limit(model, &req)
		u.Output = max(minOutput, u.Output)
		c := m.prices.Cost(model, u)
		if tokens = max(tokens, u.Prompt()+u.Output); c.MicroUSD > cost.MicroUSD {
			cost = c
		}
	}
	return tokens, cost
}
