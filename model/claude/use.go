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
	lasting, size := sizes(&req)
	u := footnote.Usage{CacheWrite1h: int64(lasting)/2 + maxToolOverhead, CacheWrite5m: int64(size) / 2}
	return m.mostExpensive(req, u, 0)
}

// sizes returns the bytes of a prompt that are the same in each call of a conversation, and those of its messages.
func sizes(req *model.Request) (lasting, messages int) {
	for _, msg := range req.Messages {
		messages += len(msg.Content)
	}
	return len(req.System) + len(req.Tools), messages
}

// mostExpensive returns the maximum of the tokens and of the cost of a call over the models that may be tried. u is the
// usage of its prompt. The output is as long as the limit allows, at least minOut.
func (m *Model) mostExpensive(req model.Request, u footnote.Usage, minOut int64) (tokens int64, cost footnote.Cost) {
	req.MaxCost = 0 // without a limit: the result is the cost
	for _, model := range m.candidates(&req) {
		out, _ := m.limit(model, &req)
		u.Output = max(minOut, out)
		c := m.prices.Cost(model, u)
		if tokens = max(tokens, u.Prompt()+u.Output); c.MicroUSD > cost.MicroUSD {
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
	lasting, size := sizes(req)
	u := footnote.Usage{CacheWrite1h: estimate(lasting), CacheWrite5m: estimate(size + grown)}
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
	return m.mostExpensive(req, m.promptUsage(&req, grown), minOutput)
}
