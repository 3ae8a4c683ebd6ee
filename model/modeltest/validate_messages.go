package modeltest

import (
	"encoding/json"
	"slices"
	"strings"
)

func plainType(schema json.RawMessage) string {
	var s struct {
		Type string `json:"type"`
	}
	if json.Unmarshal(schema, &s) != nil {
		return ""
	}
	return s.Type
}

func parseMark(raw json.RawMessage) *cacheControl {
	var c cacheControl
	if json.Unmarshal(raw, &c) != nil {
		return &cacheControl{Type: "?"}
	}
	return &c
}

// checkMessages enforces the rules for roles, blocks and tool results.
func checkMessages(r Request) error {
	if r.Messages[0].Role != "user" {
		return invalid("messages: first message must use the \"user\" role")
	}
	hasCalls := false
	for i, m := range r.Messages {
		if err := checkMessage(i, m); err != nil {
			return err
		}
		if err := checkPlace(r, i); err != nil {
			return err
		}
		for _, c := range m.Content {
			hasCalls = hasCalls || c.Type == "tool_use"
		}
	}
	if hasCalls && len(r.Tools) == 0 {
		return invalid("Requests which include `tool_use` or `tool_result` blocks must define tools")
	}
	return checkResults(merged(r.Messages))
}

func checkMessage(i int, m Message) error {
	allowed, ok := blocksOf[m.Role]
	if !ok {
		return invalid("messages.%d.role: Input should be 'user', 'assistant' or 'system'", i)
	}
	if len(m.Content) == 0 {
		return invalid("messages.%d: %s messages must have non-empty content", i, m.Role)
	}
	for j, c := range m.Content {
		if err := checkBlock(i, j, m.Role, allowed, c); err != nil {
			return err
		}
	}
	return nil
}

func checkBlock(i, j int, role string, allowed []string, c Content) error {
	switch {
	case !slices.Contains(allowed, c.Type):
		return invalid("messages.%d.content.%d: Input tag '%s' found using 'type' does not match any of the "+
			"expected tags: '%s'", i, j, c.Type, strings.Join(allowed, "', '"))
	case c.Type == "text" && c.Text == "":
		return invalid("messages: text content blocks must be non-empty")
	case c.Type == "text" && role == "user" && len(c.Citations) > 2 && c.Citations[0] == '[':
		return invalid("messages.%d.content.%d.text.citations: Extra inputs are not permitted", i, j)
	case c.Type == "tool_use" && (c.ID == "" || c.Name == "" || !isObject(c.Input)):
		return invalid("messages.%d.content.%d.tool_use: id, name and an object as input are required", i, j)
	case c.Type == "tool_use" && !toolName.MatchString(c.ID):
		return invalid("messages.%d.content.%d.tool_use.id: String should match pattern '%s'", i, j, toolName)
	case c.Type == "tool_result" && c.ToolUseID == "":
		return invalid("messages.%d.content.%d.tool_result.tool_use_id: Field required", i, j)
	case c.Type == "tool_result":
		if _, err := parseContent(c.Content); err != nil {
			return invalid("messages.%d.content.%d.tool_result.content: Input should be a valid string or list "+
				"of blocks", i, j)
		}
	}
	return nil
}

func isObject(raw json.RawMessage) bool { return len(raw) > 0 && raw[0] == '{' }

// checkPlace enforces where a message of role system may appear.
func checkPlace(r Request, i int) error {
	if r.Messages[i].Role != "system" {
		return nil
	}
	before := r.Messages[i-1] // a first message of another role was already rejected
	if before.Role == "assistant" && !endsInServerTool(before) {
		return invalid("messages.%d: a system message must follow a user message", i)
	}
	if i+1 < len(r.Messages) && r.Messages[i+1].Role == "user" {
		return invalid("messages.%d: a system message must be last or be followed by an assistant message", i)
	}
	return nil
}

func endsInServerTool(m Message) bool {
	last := m.Content[len(m.Content)-1].Type
	return strings.HasSuffix(last, "_tool_result")
}

// merged joins adjacent messages of one role, as the API does.
func merged(messages []Message) []Message {
	var out []Message
	for _, m := range messages {
		if n := len(out); n > 0 && out[n-1].Role == m.Role {
			out[n-1].Content = slices.Concat(out[n-1].Content, m.Content)
			continue
		}
		out = append(out, m)
	}
	return out
}

// checkResults checks that every call is answered in the message right after it, once, and before anything
// else.
func checkResults(messages []Message) error {
	for i, m := range messages {
		var open []string // calls of the previous message
		if i > 0 && messages[i-1].Role == "assistant" {
			open = callIDs(messages[i-1])
		}
		seen := map[string]bool{}
		other := false
		for j, c := range m.Content {
			if c.Type != "tool_result" {
				other = true
				continue
			}
			switch {
			case !slices.Contains(open, c.ToolUseID):
				return invalid("messages.%d.content.%d: unexpected `tool_use_id` found in `tool_result` blocks: %s. "+
					"Each `tool_result` block must have a corresponding `tool_use` block in the previous message.", i,
					j, c.ToolUseID)
			case seen[c.ToolUseID]:
				return invalid("messages.%d.content.%d: each tool_use must have a single result. Found multiple "+
					"`tool_result` blocks with id: %s", i, j, c.ToolUseID)
			case other:
				return invalid("messages.%d: `tool_result` blocks must come first in the content of a message", i)
			}
			seen[c.ToolUseID] = true
		}
		var missing []string
		for _, id := range open {
			if !seen[id] {
				missing = append(missing, id)
			}
		}
		if len(missing) > 0 {
			return unansweredCalls(i-1, missing)
		}
	}
	if last := len(messages) - 1; messages[last].Role == "assistant" {
		if ids := callIDs(messages[last]); len(ids) > 0 {
			return unansweredCalls(last, ids)
		}
	}
	return nil
}

func unansweredCalls(i int, ids []string) error {
	return invalid("messages.%d: `tool_use` ids were found without `tool_result` blocks immediately after: %s. Each "+
		"`tool_use` block must have a corresponding `tool_result` block in the next message.", i,
		strings.Join(ids, ", "))
}

func callIDs(m Message) []string {
	var ids []string
	for _, c := range m.Content {
		if c.Type == "tool_use" {
			ids = append(ids, c.ID)
		}
	}
	return ids
}
