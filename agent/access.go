package agent

import (
	"encoding/json"
	"slices"

	"github.com/footnotehq/footnote"
	"github.com/footnotehq/footnote/tool"
)

// Access says what people may use. What somebody may not use is to them as if it were
// not there.
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
func (everything) Source(footnote.Principal, string) bool    { return true }
func (everything) EverySource(footnote.Principal) bool       { return true }
func (everything) Tool(footnote.Principal, string) bool      { return true }
func (everything) Tier(footnote.Principal, string) bool      { return true }
func (everything) Model(footnote.Principal, string) bool     { return true }

// first is the assistant of who names none: the first that it may use, or nil.
func (e *Engine) first(p footnote.Principal) *Assistant {
	for _, a := range e.opts.Assistants {
		if e.opts.Access.Assistant(p, a.Name) {
			return a
		}
	}
	return nil
}

// Assistants describes the assistants that a principal may use, the default one first,
// with the tiers and tools that it may use. They must not be changed.
func (e *Engine) Assistants(p footnote.Principal) []AssistantInfo {
	if _, all := e.opts.Access.(everything); all {
		return e.infos
	}
	var list []AssistantInfo
	for i, a := range e.opts.Assistants {
		if !e.opts.Access.Assistant(p, a.Name) {
			continue
		}
		info := e.infos[i]
		info.Tiers = e.tiers(p, a)
		info.Tools = slices.DeleteFunc(slices.Clone(info.Tools), func(t ToolInfo) bool {
			return !e.opts.Access.Tool(p, t.Name)
		})
		if own, err := e.tier(p, a, ""); err == nil {
			info.Model = own.Model
		} else {
			info.Model, info.Unavailable = "", footnote.MessageOf(err)
		}
		list = append(list, info)
	}
	return list
}

// tiers are the tiers of an assistant that a principal may choose.
func (e *Engine) tiers(p footnote.Principal, a *Assistant) []Tier {
	if _, all := e.opts.Access.(everything); all {
		return a.Tiers
	}
	return slices.DeleteFunc(slices.Clone(a.Tiers), func(t Tier) bool {
		return !e.opts.Access.Tier(p, t.Name) || !e.opts.Access.Model(p, t.Model)
	})
}

// tools are the definitions of an assistant's tools that a principal may use.
func (e *Engine) toolsOf(p footnote.Principal, a *Assistant) json.RawMessage {
	if _, all := e.opts.Access.(everything); all {
		return e.frozen[a]
	}
	return Freeze(slices.DeleteFunc(slices.Clone(a.Tools), func(t tool.Tool) bool {
		return !e.opts.Access.Tool(p, t.Spec().Name)
	}), a.Policy)
}

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

// mayGoOn refuses to go on with a conversation whose principal may no longer use what
// it is held with.
func (e *Engine) mayGoOn(p footnote.Principal, s *state) error {
	o := s.opened
	if !MaySee(e.opts.Access, p, o, s.openedLost) {
		return footnote.Errorf(footnote.NotFound, "There is no such conversation.")
	}
	if o.Tier != "" && !e.opts.Access.Tier(p, o.Tier) || o.Model != "" && !e.opts.Access.Model(p, o.Model) {
		return footnote.Errorf(footnote.InvalidRequest,
			"The model of this conversation is no longer there. Open a new one.")
	}
	return nil
}
