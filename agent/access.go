package agent

import (
	"cmp"
	"slices"

	"github.com/footnotehq/footnote"
)

// Access decides what a principal may use. Everything else behaves as if it did not exist.
type Access interface {
	Assistant(p footnote.Principal, name string) bool
	Source(p footnote.Principal, name string) bool
	EverySource(p footnote.Principal) bool // reports whether p may use all configured sources
	Tool(p footnote.Principal, name string) bool
	Tier(p footnote.Principal, name string) bool
	Model(p footnote.Principal, name string) bool
}

// MaySee reports whether a principal may still use the assistant and the sources of a conversation. If not, the
// conversation is treated as missing. With unknown, the event that names the sources is unreadable, and the principal
// must be allowed to use every source.
func MaySee(a Access, p footnote.Principal, o footnote.Opened, unknown bool) bool {
	if unknown && !a.EverySource(p) {
		return false
	}
	return a.Assistant(p, o.Assistant) &&
		!slices.ContainsFunc(o.Sources, func(name string) bool { return !a.Source(p, name) })
}

// maySee returns NotFound if the principal may no longer use what the conversation was opened with.
func (e *Engine) maySee(p footnote.Principal, head footnote.Stream, log []footnote.Event) error {
	opened, unknown := footnote.Opened{Assistant: head.Assistant}, false
	if len(log) > 0 {
		switch b := log[0].Body.(type) {
		case footnote.Opened:
			opened = b
		case footnote.Unreadable:
			unknown = true
		}
	}
	if !MaySee(e.opts.Access, p, opened, unknown) {
		return noConversation(nil)
	}
	return nil
}

// mayContinue returns an error if the principal may no longer use what the conversation was opened with, or its tier.
func (e *Engine) mayContinue(p footnote.Principal, a *Assistant, s *state) error {
	o := s.opened
	if !MaySee(e.opts.Access, p, o, s.openingUnreadable) {
		return noConversation(nil)
	}
	if !e.mayUse(p, a, Tier{Name: o.Tier, Model: o.Model}) {
		return footnote.Invalidf("The model of this conversation is no longer available. Open a new conversation.")
	}
	return nil
}

// mayUse reports whether a principal may use a tier. The default tier can be used without a rule that allows a tier:
// nothing is then chosen.
func (e *Engine) mayUse(p footnote.Principal, a *Assistant, t Tier) bool {
	return (t.Model == "" || e.opts.Access.Model(p, t.Model)) &&
		(t.Name == "" || e.opts.Access.Tier(p, t.Name) ||
			t.Name == a.DefaultTier().Name && len(e.tiers(p, a)) == 0)
}

// choose checks that a turn may continue a conversation. If the turn asks for another tier or effort, it sets the
// turn's choice.
func (e *Engine) choose(a *Assistant, s *state, t *Turn) error {
	o := s.opened
	t.weight = e.weight(o.Tier)
	if t.Tier == "" || t.Tier == o.Tier {
		if t.Effort != "" && t.Effort != o.Effort {
			t.choice = &footnote.Choice{Model: o.Model, Tier: o.Tier, Effort: t.Effort}
		}
		return e.mayContinue(t.Principal, a, s)
	}
	if !MaySee(e.opts.Access, t.Principal, o, s.openingUnreadable) {
		return noConversation(nil)
	}
	tier, err := e.tier(t.Principal, a, t.Tier)
	if err != nil {
		return err
	}
	t.weight = e.weight(tier.Name)
	t.choice = &footnote.Choice{Model: tier.Model, Tier: tier.Name, Effort: cmp.Or(t.Effort, tier.Effort)}
	return nil
}

// weight returns how often tokens of a tier count, as stored in RunStarted.
func (e *Engine) weight(tier string) int64 {
	if w := e.opts.Budget.Weight(tier); w > 1 {
		return w
	}
	return 0
}
