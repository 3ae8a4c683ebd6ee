package agent

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"

	"github.com/footnotehq/footnote/tool"
)

// The texts from outside that a conversation reads before any result: names and comments of tables, what MCP servers
// say about their tools, and messages from before the conversation was imported, which may repeat results.
const (
	outsideSources = "the names and comments in its sources"
	outsideTools   = "the descriptions of tools by MCP servers"
	outsideHistory = "its earlier part, which began elsewhere"
)

// outsideText returns which text from outside the model has read, if calls of a tool therefore need an approval: text
// that somebody else wrote may have caused the call, and its effect would leave the conversation. It stays so for the
// rest of the conversation, even if the text is taken back. r.mu must be held.
func (r *run) outsideText(s tool.Spec) string {
	if !r.a.Policy.contained(s) {
		return ""
	}
	if r.s.outside != "" {
		return r.s.outside
	}
	if slices.ContainsFunc(r.a.tools(), func(t tool.Tool) bool { return t.Spec().Pinned }) {
		return outsideTools
	}
	return ""
}

// missing returns the refusal of a call of a tool that does not exist now. r.mu must be held.
func (r *run) missing(name string) string {
	for _, d := range r.definitions() {
		var tool struct{ Name string }
		if json.Unmarshal(d, &tool) == nil && tool.Name == name {
			return fmt.Sprintf("The tool %s is not available now. Continue without it.", name)
		}
	}
	return fmt.Sprintf("There is no tool named %.100s. The tools are: %s.", name, strings.Join(r.offered(), ", "))
}

// isFrozen reports whether the conversation began with the definition that a tool has now. Only pinned tools need to.
// r.mu must be held.
func (r *run) isFrozen(t tool.Tool) bool {
	if !t.Spec().Pinned {
		return true
	}
	var now []json.RawMessage
	if json.Unmarshal(Freeze([]tool.Tool{t}, Policy{}), &now) != nil || len(now) != 1 {
		return false
	}
	return slices.ContainsFunc(r.definitions(), func(d json.RawMessage) bool { return string(d) == string(now[0]) })
}

// definitions returns the definitions of the tools that the conversation began with.
func (r *run) definitions() (list []json.RawMessage) {
	_ = json.Unmarshal(r.tools, &list) // unreadable: none
	return list
}
