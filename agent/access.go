package agent

import (
	"slices"

	"github.com/footnotehq/footnote"
)

// Access decides what people may use. What a principal may not use behaves as if it did not exist.
type Access interface {
	Assistant(p footnote.Principal, name string) bool
	Source(p footnote.Principal, name string) bool
	EverySource(p footnote.Principal) bool // whether it may use all configured sources
	Tool(p footnote.Principal, name string) bool
	Tier(p footnote.Principal, name string) bool
	Model(p footnote.Principal, name string) bool
}

// everything may be used by everybody.
type everything struct{}

func (everything) Assistant(footnote.Principal, string) bool { return true }

func (everything) Source(footnote.Principal, string) bool { return true }

func (everything) EverySource(footnote.Principal) bool { return true }

func (everything) Tool(footnote.Principal, string) bool { return true }

func (everything) Tier(footnote.Principal, string) bool { return true }

func (everything) Model(footnote.Principal, string) bool { return true }

// MaySee reports whether a principal may still use what a conversation was opened with:
// its assistant and its sources. If not, the conversation counts as missing. With unknown, the
// event that names the sources cannot be read: it may have been any of them.
func MaySee(a Access, p footnote.Principal, o footnote.Opened, unknown bool) bool {
	if unknown && !a.EverySource(p) {
		return false
	}
	return a.Assistant(p, o.Assistant) &&
		!slices.ContainsFunc(o.Sources, func(name string) bool { return !a.Source(p, name) })
}

// maySee refuses a conversation, as one that does not exist, if its principal may no longer use what it was opened
// with.
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
			"The model of this conversation is no longer there. Open a new one.")
	}
	return nil
}
