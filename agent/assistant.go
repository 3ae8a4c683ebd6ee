package agent

import (
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"regexp"
	"slices"
	"strings"
	"time"

	"github.com/footnotehq/footnote"
	"github.com/footnotehq/footnote/model"
	"github.com/footnotehq/footnote/tool"
)

// Assistant combines a prompt, a model, tools and limits under a name.
type Assistant struct {
	Name        string
	Title       string // for people
	Description string
	Examples    []string // requests to begin with; none: the page finds its own
	Aliases     []string
	// Model makes the calls. ModelName names the model in its requests, unless one of the Tiers was chosen or is the
	// default one.
	Model     model.Model
	ModelName string
	Tiers     []Tier
	// Opening returns what stays frozen for a whole conversation. The argument sources holds the requested ones; none
	// means all. A source that does not exist, or that the principal may not use, is an error with code InvalidRequest.
	Opening func(ctx context.Context, p footnote.Principal, sources []string) (Opening, error)
	Tools   []tool.Tool
	Policy  Policy
	Limits  Limits
	// Unavailable is the message with which turns for the assistant are refused, because it cannot work here. It is
	// empty if it can.
	Unavailable string
	// Setting handles the place from which messages are sent; nil: messages have none.
	Setting Setting
	// Validate checks the input of the assistant's tools; nil: Options.Validate does.
	Validate func(name string, input []byte) error
	// Summaries lets the model summarise histories that have grown too long. Without it, the summary is the end of the
	// transcript.
	Summaries bool
	// Titles lets the model give a conversation its title, after the first answer.
	Titles  bool
	Created time.Time
}

// Opening holds the parts of a conversation that never change.
type Opening struct {
	System  json.RawMessage // the array of system blocks
	Sources []string        // their names
	Context footnote.Digest // of what the company says about its data, as System has it; empty: nothing
	Without []string        // names of tools that the conversation does not get
}

// Setting handles the place from which an assistant's messages are sent, such as a chart.
type Setting interface {
	// Check converts the place in a client's message to the form that is stored. The error's code is InvalidRequest.
	Check(where json.RawMessage) (json.RawMessage, error)
	// Describe returns a description of the current state of the place, which the model reads after each message. It
	// must be quick. where is empty if no message had a place.
	Describe(ctx context.Context, p footnote.Principal, where json.RawMessage) string
}

// Tier is a choice of model that an assistant offers.
type Tier struct {
	Name   string
	Model  string // names the model in requests
	Effort string // footnote.EffortOff, a level the model knows, or empty: the process's own
	// Multiplier weighs each token of this tier against limits; 0 counts as 1.
	Multiplier int
	Default    bool // used when none is chosen; at most one
}

// Limits bounds a run. Zero fields take the defaults.
type Limits struct {
	Steps     int           // model calls with tools; default 10
	MicroUSD  int64         // money; default 500,000 (0.50 USD)
	Run       time.Duration // active time; default 240 s
	Tool      time.Duration // one tool call; default 30 s
	Park      time.Duration // how long a call may wait for a client; default 5 min
	InputSize int           // characters of a message; default 10,000
	Events    int64         // of a conversation, before its next message; default 20,000
	History   int           // messages the model reads before they are summarised; 0: all
	Parallel  int           // read-only tools side by side; default 4
}

func (l Limits) withDefaults() Limits {
	l.Steps = cmp.Or(max(l.Steps, 0), 10)
	l.MicroUSD = cmp.Or(max(l.MicroUSD, 0), 500_000)
	l.Run = cmp.Or(max(l.Run, 0), 240*time.Second)
	l.Tool = cmp.Or(max(l.Tool, 0), 30*time.Second)
	l.Park = cmp.Or(max(l.Park, 0), 5*time.Minute)
	l.InputSize = cmp.Or(max(l.InputSize, 0), 10_000)
	l.Events = cmp.Or(max(l.Events, 0), 20_000)
	l.Parallel = cmp.Or(max(l.Parallel, 0), 4)
	return l
}

// toolName matches the names that the Messages API accepts.
var toolName = regexp.MustCompile(`^[a-zA-Z0-9_-]{1,64}$`)

func (e *Engine) register(a *Assistant) error {
	if a.Name == "" || a.Model == nil || a.Opening == nil {
		return fmt.Errorf("assistant %q needs a name, a model and an opening", a.Name)
	}
	a.Limits = a.Limits.withDefaults()
	if a.Validate == nil {
		a.Validate = e.opts.Validate
	}
	if err := a.Policy.Check(); err != nil {
		return fmt.Errorf("assistant %s: %w", a.Name, err)
	}
	seen := map[string]bool{}
	for _, t := range a.Tools {
		s := t.Spec()
		switch {
		case seen[s.Name]:
			return fmt.Errorf("assistant %s: two tools are named %s", a.Name, s.Name)
		case !toolName.MatchString(s.Name):
			return fmt.Errorf("assistant %s: the tool name %q is not 1 to 64 letters, digits, - and _", a.Name, s.Name)
		case !json.Valid(s.InputSchema):
			return fmt.Errorf("assistant %s: the input schema of the tool %s is not JSON", a.Name, s.Name)
		case s.Final != (s.Name == tool.FinalAnswer):
			return fmt.Errorf("assistant %s: the tool %s and no other gives the final answer", a.Name, tool.FinalAnswer)
		}
		seen[s.Name] = true
	}
	tiers, byDefault := map[string]bool{}, 0
	for _, t := range a.Tiers {
		if t.Default {
			byDefault++
		}
		if t.Name == "" || t.Model == "" || tiers[t.Name] {
			return fmt.Errorf("assistant %s: the tier %q needs a name of its own and a model", a.Name, t.Name)
		}
		tiers[t.Name] = true
	}
	if byDefault > 1 {
		return fmt.Errorf("assistant %s: only one tier can be the default", a.Name)
	}
	e.frozen[a] = Freeze(a.Tools, a.Policy)
	for _, name := range append([]string{a.Name}, a.Aliases...) {
		if e.byName[name] != nil {
			return fmt.Errorf("two assistants are named %s", name)
		}
		e.byName[name] = a
	}
	return nil
}

// AssistantInfo describes an assistant to clients.
type AssistantInfo struct {
	Name        string
	Title       string // for people; empty: the name
	Description string
	Examples    []string // requests to begin with
	Aliases     []string
	Model       string // without a choice
	Tiers       []Tier
	DefaultTier string // without a choice; empty: none
	Tools       []ToolInfo
	Unavailable string // why it cannot work here; empty when it can
	TakesWhere  bool   // a message may have a place; see Setting
	Created     time.Time
}

// ToolInfo describes a tool of an assistant.
type ToolInfo struct {
	Name         string
	Label        string // what it does, for people: "Running a query"
	Family, Side string
	ReadOnly     bool
	Verdict      string
	// Checked means that the server may refuse a call before the client runs it.
	Checked bool
}

func (a *Assistant) info() AssistantInfo {
	info := AssistantInfo{
		Name: a.Name, Title: a.Title, Description: a.Description, Examples: a.Examples, Aliases: a.Aliases,
		Model: a.ModelName, Tiers: a.Tiers, Unavailable: a.Unavailable, TakesWhere: a.Setting != nil,
		Created: a.Created,
	}
	for _, t := range a.Tools {
		s := t.Spec()
		_, checked := t.(tool.Checked)
		info.Tools = append(info.Tools, ToolInfo{
			Name: s.Name, Label: s.Label, Family: s.Family, Side: s.Side, ReadOnly: s.ReadOnly,
			Verdict: a.Policy.Verdict(s), Checked: checked && s.Side == tool.Client,
		})
	}
	return info
}

// Assistants describes the assistants that a principal may use, the default one first, with the tiers and tools that it
// may use.
func (e *Engine) Assistants(p footnote.Principal) []AssistantInfo {
	var list []AssistantInfo
	for _, a := range e.opts.Assistants {
		if !e.opts.Access.Assistant(p, a.Name) {
			continue
		}
		info := a.info()
		info.Tiers = e.tiers(p, a)
		info.Tools = slices.DeleteFunc(info.Tools, func(t ToolInfo) bool {
			return !e.opts.Access.Tool(p, t.Name)
		})
		if own, err := e.tier(p, a, ""); err == nil {
			info.Model, info.DefaultTier = own.Model, own.Name
		} else {
			info.Model, info.Unavailable = "", footnote.MessageOf(err)
		}
		list = append(list, info)
	}
	return list
}

// first returns the first assistant that a principal may use, or nil.
func (e *Engine) first(p footnote.Principal) *Assistant {
	for _, a := range e.opts.Assistants {
		if e.opts.Access.Assistant(p, a.Name) {
			return a
		}
	}
	return nil
}

// assistant returns the assistant of a turn: the requested one, which must be that of the conversation, or else that of
// the conversation, or else the default one.
func (e *Engine) assistant(p footnote.Principal, asked, own string) (*Assistant, error) {
	name := cmp.Or(asked, own)
	if name == "" {
		if a := e.first(p); a != nil {
			return a, nil
		}
		return nil, footnote.Errorf(footnote.ModelNotFound, "There is no assistant.")
	}
	a := e.byName[name]
	if a == nil || !e.opts.Access.Assistant(p, a.Name) {
		return nil, footnote.Errorf(footnote.ModelNotFound, "There is no assistant named %q.", name)
	}
	if own != "" && a.Name != own {
		return nil, footnote.Errorf(footnote.Conflict,
			"This conversation belongs to the assistant %q; open a new one for %q.", own, a.Name)
	}
	return a, nil
}

// tiers returns the tiers of an assistant that a principal may choose.
func (e *Engine) tiers(p footnote.Principal, a *Assistant) []Tier {
	return slices.DeleteFunc(slices.Clone(a.Tiers), func(t Tier) bool {
		return !e.opts.Access.Tier(p, t.Name) || !e.opts.Access.Model(p, t.Model)
	})
}

// DefaultTier returns the tier that is used when none is chosen. It has no name if the assistant then uses its own
// model.
func (a *Assistant) DefaultTier() Tier {
	for _, t := range a.Tiers {
		if t.Default {
			return t
		}
	}
	return Tier{Model: a.ModelName}
}

// tier returns the tier with a name, or the default one. A principal that may not use the default tier gets the first
// tier that it may use.
func (e *Engine) tier(p footnote.Principal, a *Assistant, name string) (Tier, error) {
	tiers := e.tiers(p, a)
	switch own := a.DefaultTier(); {
	case name == "" && e.mayUse(p, a, own):
		return own, nil
	case name == "" && len(tiers) > 0:
		return tiers[0], nil
	case name == "":
		return Tier{}, footnote.Invalidf("There is no model for the assistant %s.", a.Name)
	}
	names := make([]string, len(tiers))
	for i, t := range tiers {
		if names[i] = t.Name; t.Name == name {
			return t, nil
		}
	}
	if len(names) == 0 {
		return Tier{}, footnote.Invalidf("The assistant %s has no tiers to choose from.", a.Name)
	}
	return Tier{}, footnote.Invalidf("There is no tier %.40q; choose one of %s.", name, strings.Join(names, ", "))
}

// cheapest returns the tier with the smallest multiplier among those that a principal may use, or the model of
// the conversation if it has no tiers.
func (e *Engine) cheapest(p footnote.Principal, a *Assistant, own string) Tier {
	best := Tier{Model: own}
	for i, t := range e.tiers(p, a) {
		if i == 0 || t.Multiplier < best.Multiplier {
			best = t
		}
	}
	return best
}

// toolsOf returns the definitions of the tools of a new conversation, as far as its principal may use them.
func (e *Engine) toolsOf(p footnote.Principal, a *Assistant, o Opening) json.RawMessage {
	tools := slices.DeleteFunc(slices.Clone(a.Tools), func(t tool.Tool) bool {
		name := t.Spec().Name
		return !e.opts.Access.Tool(p, name) || slices.Contains(o.Without, name)
	})
	if len(tools) == len(a.Tools) {
		return e.frozen[a]
	}
	return Freeze(tools, a.Policy)
}

// side returns the side on which a tool runs, or empty if there is no such tool.
func (a *Assistant) side(name string) string {
	for _, t := range a.Tools {
		s := t.Spec()
		if _, alias := s.Aliases[name]; alias || s.Name == name {
			return s.Side
		}
	}
	return ""
}

// checked returns the Checked tool with a name, or nil.
func (a *Assistant) checked(name string) tool.Checked {
	for _, t := range a.Tools {
		if tool, ok := t.(tool.Checked); ok && t.Spec().Name == name {
			return tool
		}
	}
	return nil
}
