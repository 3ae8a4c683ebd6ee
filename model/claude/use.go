package claude

import (
	"github.com/footnotehq/footnote"
	"github.com/footnotehq/footnote/model"
)

// maxToolOverhead is an upper bound for the tokens that the provider adds to a prompt with tools.
const maxToolOverhead = 1_000

// MaxUse returns an upper bound for the usage of a call: its full output limit, and its prompt as if all of it
// were written to the cache, priced for the most expensive model that may be tried. It assumes two bytes per
// token of the prompt; the actual number is above three.
func (m *Model) MaxUse(req model.Request) (tokens int64, cost footnote.Cost) {
	lasting, size := len(req.System)+len(req.Tools), 0
	for _, msg := range req.Messages {
		size += len(msg.Content)
	}
	req.MaxCost = 0 // without a limit: the result is the cost
	for _, model := range m.candidates(&req) {
		out, _ := m.limit(model, &req)
		u := footnote.Usage{
			CacheWrite1h: int64(lasting)/2 + maxToolOverhead,
			CacheWrite5m: int64(size) / 2,
			Output:       out,
		}
		c := m.prices.Cost(model, u)
		if tokens = max(tokens, u.Prompt()+out); c.MicroUSD > cost.MicroUSD {
			cost = c
		}
	}
	return tokens, cost
}

// toolOverhead is the number of tokens that the provider adds to a prompt with tools.
const toolOverhead = 350

// promptUsage estimates the usage of a prompt after it has grown by a number of bytes, as if all of it were
// written to the cache.
func (m *Model) promptUsage(req *model.Request, grown int) footnote.Usage {
	lasting, size := len(req.System)+len(req.Tools), grown
	for _, msg := range req.Messages {
		size += len(msg.Content)
	}
	u := footnote.Usage{CacheWrite1h: estimate(lasting), CacheWrite5m: estimate(size)}
	if len(req.Tools) > len("[]") {
		u.CacheWrite1h += toolOverhead
	}
	if m.opts.Profile == Compatible {
		return footnote.Usage{Input: u.Prompt()}
	}
	return u
}

// MinUse returns the tokens and the cost that must be left for a call, for the most expensive model that may be tried:
// its prompt, grown by a number of bytes, and an answer of req.MaxTokens.
func (m *Model) MinUse(req model.Request, grown int) (tokens int64, cost footnote.Cost) {
	u := m.promptUsage(&req, grown)
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
