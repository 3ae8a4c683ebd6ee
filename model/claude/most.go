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
		out, _ := m.limit(model, &req, 0)
		u := footnote.Usage{CacheWrite1h: int64(lasting)/2 + sentBeside, CacheWrite5m: int64(size) / 2, Output: out}
		c := m.prices.Cost(model, u)
		if tokens = max(tokens, u.Prompt()+out); c.MicroUSD > cost.MicroUSD {
			cost = c
		}
	}
	return tokens, cost
}
