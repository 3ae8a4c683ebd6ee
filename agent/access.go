package agent

import (
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

// everything lets every principal use everything.
type everything struct{}

func (everything) Assistant(footnote.Principal, string) bool { return true }

func (everything) Source(footnote.Principal, string) bool { return true }

func (everything) EverySource(footnote.Principal) bool { return true }

func (everything) Tool(footnote.Principal, string) bool { return true }

func (everything) Tier(footnote.Principal, string) bool { return true }

func (everything) Model(footnote.Principal, string) bool { return true }

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
		return footnote.Errorf(footnote.NotFound, "There is no such conversation.")
	}
	return nil
}

// mayGoOn returns an error if the principal may no longer use what the conversation was opened with.
func (e *Engine) mayGoOn(p footnote.Principal, s *state) error {
	o := s.opened
	if !MaySee(e.opts.Access, p, o, s.openingUnreadable) {
		return footnote.Errorf(footnote.NotFound, "There is no such conversation.")
	}
	if o.Tier != "" && !e.opts.Access.Tier(p, o.Tier) || o.Model != "" && !e.opts.Access.Model(p, o.Model) {
		return footnote.Errorf(footnote.InvalidRequest,
			"The model of this conversation is no longer available. Open a new conversation.")
	}
	return nil
}
