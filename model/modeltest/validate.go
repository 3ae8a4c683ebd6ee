package modeltest

import (
	"fmt"
	"net/http"
	"regexp"
	"slices"
	"strings"

	"github.com/footnotehq/footnote/model/price"
)

// refusal is an error response.
type refusal struct {
	status        int
	kind, message string
}

func (r *refusal) Error() string { return r.message }

func invalid(format string, args ...any) error {
	return &refusal{http.StatusBadRequest, "invalid_request_error", fmt.Sprintf(format, args...)}
}

const (
	versionNow = "2026-10-21"
	versionOld = "2023-06-01"
)

var (
	toolName = regexp.MustCompile(`^[a-zA-Z0-9_-]{1,64}$`)

	topLevel = []string{
		"model", "max_tokens", "messages", "system", "tools", "tool_choice", "thinking", "output_config",
		"stop_sequences", "stream", "metadata", "cache_control", "container", "service_tier", "speed",
		"inference_geo", "diagnostics",
	}
	sampling = []string{"temperature", "top_p", "top_k"}
	betaOnly = []string{"context_management", "compaction", "thread", "mcp_servers", "fallbacks", "output_format"}

	blocksOf = map[string][]string{
		"user": {"text", "image", "document", "search_result", "tool_result", "container_upload"},
		"assistant": {
			"text", "thinking", "redacted_thinking", "tool_use", "server_tool_use", "web_search_tool_result",
			"web_fetch_tool_result", "code_execution_tool_result", "bash_code_execution_tool_result",
			"text_editor_code_execution_tool_result", "tool_search_tool_result", "container_upload", futureBlock,
		},
		"system": {"text"},
	}
)

// checkHeaders checks the request headers.
func (s *Server) checkHeaders(h http.Header) error {
	key := strings.TrimPrefix(h.Get("Authorization"), "Bearer ")
	if key == "" {
		key = h.Get("X-Api-Key")
	}
	switch {
	case key == "" && s.opts.Key != "":
		return &refusal{http.StatusUnauthorized, "authentication_error", "x-api-key header is required"}
	case s.opts.Key != "" && key != s.opts.Key:
		return &refusal{http.StatusUnauthorized, "authentication_error", "invalid x-api-key"}
	}
	version := h.Get("Anthropic-Version")
	switch {
	case version == "":
		return invalid("anthropic-version: header is required")
	case version != versionNow && version != versionOld:
		return invalid("anthropic-version: %q is not a valid version", version)
	case s.opts.Compatible && h.Get("Anthropic-Beta") != "":
		return invalid("anthropic-beta: this server has no betas")
	}
	return nil
}

// check rejects what the API would reject.
func (s *Server) check(r Request) error {
	if err := s.checkFields(r); err != nil {
		return err
	}
	model, known := s.prices.Model(r.Model)
	if !known && !s.opts.Compatible {
		return &refusal{http.StatusNotFound, "not_found_error", "model: " + r.Model}
	}
	if known && !s.opts.Compatible {
		if err := checkModel(r, model); err != nil {
			return err
		}
	}
	if err := checkTools(r); err != nil {
		return err
	}
	if err := checkMessages(r); err != nil {
		return err
	}
	last := r.Messages[len(r.Messages)-1]
	if last.Role == "assistant" && !model.Prefill && !s.opts.Compatible && !s.isPaused(last) {
		return invalid("This model does not support assistant message prefill. The conversation must end with a user " +
			"message.")
	}
	if s.opts.Compatible {
		return nil
	}
	if err := checkMarks(r); err != nil {
		return err
	}
	if err := s.checkThinking(r, model.PrefixCheck); err != nil {
		return invalid("%v", err)
	}
	return nil
}

func (s *Server) checkFields(r Request) error {
	for _, name := range []string{"model", "max_tokens", "messages"} {
		if _, ok := r.Fields[name]; !ok {
			return invalid("%s: Field required", name)
		}
	}
	for name := range r.Fields {
		switch {
		case slices.Contains(topLevel, name):
			if s.opts.Compatible &&
				slices.Contains([]string{"cache_control", "thinking", "output_config", "metadata", "diagnostics"},
					name) {
				return invalid("%s: Extra inputs are not permitted", name)
			}
		case slices.Contains(sampling, name) && r.Header.Get("Anthropic-Version") == versionOld:
		case slices.Contains(betaOnly, name) && r.Header.Get("Anthropic-Beta") != "":
		default:
			return invalid("%s: Extra inputs are not permitted", name)
		}
	}
	switch {
	case r.Model == "":
		return invalid("model: String should have at least 1 character")
	case r.Max < 0:
		return invalid("max_tokens: Input should be greater than or equal to 0")
	case len(r.Messages) == 0:
		return invalid("messages: at least one message is required")
	case len(r.Messages) > 100_000:
		return invalid("messages: Too many messages: %d > 100000", len(r.Messages))
	}
	return nil
}

func checkModel(r Request, m price.Model) error {
	if r.Max > m.MaxOutput {
		return invalid("max_tokens: %d > %d, which is the maximum allowed number of output tokens for %s", r.Max,
			m.MaxOutput, r.Model)
	}
	if r.Choice == "any" || r.Choice == "tool" {
		if !m.ForcedTools {
			return invalid("tool_choice: forced tool use is not supported by %s", r.Model)
		}
		if r.Thinking.Type == "enabled" {
			return invalid("Thinking may not be enabled when tool_choice forces tool use.")
		}
	}
	if r.Fields["thinking"] != nil {
		if err := checkThinking(r, m); err != nil {
			return err
		}
	}
	if r.Effort != "" && !slices.Contains(m.Effort, r.Effort) {
		return invalid("output_config.effort: %q is not supported by %s", r.Effort, r.Model)
	}
	for i, msg := range r.Messages {
		if msg.Role == "system" && !m.SystemRole {
			return invalid("messages.%d: role 'system' is not supported by %s", i, r.Model)
		}
	}
	return nil
}

func checkThinking(r Request, m price.Model) error {
	switch kind := r.Thinking.Type; {
	case !slices.Contains([]string{"adaptive", "enabled", "disabled", "between_tools"}, kind):
		return invalid("thinking: Input tag '%s' found using 'type' does not match any of the expected tags: "+
			"'adaptive', 'between_tools', 'disabled', 'enabled'", kind)
	case !m.Thinks(kind):
		return invalid("thinking.type: %q is not supported by %s. Supported types: %s", kind, r.Model,
			strings.Join(m.Thinking.Types, ", "))
	case kind == "disabled" && (r.Effort == "xhigh" || r.Effort == "max") && strings.Contains(r.Model, "-5"):
		return invalid("thinking.type: \"disabled\" is only supported at effort high and below")
	case kind == "enabled" && (r.Thinking.Budget < 1024 || r.Thinking.Budget >= r.Max):
		return invalid("thinking.budget_tokens: must be at least 1024 and less than max_tokens")
	case r.Thinking.Display != "" && r.Thinking.Display != "summarized" && r.Thinking.Display != "omitted":
		return invalid("thinking.display: Input should be 'summarized' or 'omitted'")
	}
	return nil
}

func checkTools(r Request) error {
	seen := map[string]bool{}
	loaded := len(r.Tools) == 0
	for i, t := range r.Tools {
		if t.Type != "" && t.Type != "custom" { // a tool of the provider has its own name and schema
			loaded = true
			continue
		}
		switch {
		case !toolName.MatchString(t.Name):
			return invalid("tools.%d.custom.name: String should match pattern '%s'", i, toolName)
		case seen[t.Name]:
			return invalid("tools: Tool names must be unique.")
		case len(t.InputSchema) == 0:
			return invalid("tools.%d.custom.input_schema: Field required", i)
		case plainType(t.InputSchema) != "object":
			return invalid("tools.%d.custom.input_schema.type: Input should be 'object'", i)
		}
		seen[t.Name] = true
		loaded = loaded || !t.DeferLoading
	}
	if !loaded {
		return invalid("tools: At least one tool must not have defer_loading set")
	}
	if r.Choice != "" && len(r.Tools) == 0 {
		return invalid("tool_choice: may only be specified while providing tools")
	}
	return nil
}

// checkMarks enforces the rules of cache_control.
func checkMarks(r Request) error {
	var marks []cacheControl
	add := func(c *cacheControl) {
		if c != nil {
			marks = append(marks, *c)
		}
	}
	for _, t := range r.Tools {
		add(t.CacheControl)
	}
	blocks, err := systemBlocks(r)
	if err != nil {
		return err
	}
	for _, b := range blocks {
		add(b.CacheControl)
	}
	for i, m := range r.Messages {
		for j, c := range m.Content {
			if c.CacheControl != nil && (c.Type == "thinking" || c.Type == "redacted_thinking") {
				return invalid("messages.%d.content.%d.%s.cache_control: Extra inputs are not permitted", i, j, c.Type)
			}
			add(c.CacheControl)
		}
	}
	if raw, ok := r.Fields["cache_control"]; ok {
		add(parseMark(raw))
	}
	return checkMarkList(marks)
}

func systemBlocks(r Request) ([]Content, error) {
	blocks, err := parseContent(r.System)
	if err != nil {
		return nil, invalid("system: Input should be a valid string or list of text blocks")
	}
	for i, b := range blocks {
		if b.Type != "text" {
			return nil, invalid("system.%d: Input tag '%s' found using 'type' does not match any of the expected "+
				"tags: 'text'", i, b.Type)
		}
		if b.Text == "" {
			return nil, invalid("system: text content blocks must be non-empty")
		}
	}
	return blocks, nil
}

func checkMarkList(marks []cacheControl) error {
	if len(marks) > 4 {
		return invalid("A maximum of 4 blocks with cache_control may be provided. Found %d.", len(marks))
	}
	short := false
	for _, m := range marks {
		switch {
		case m.Type != "ephemeral" || m.TTL != "" && m.TTL != "5m" && m.TTL != "1h":
			return invalid("cache_control: Input should be {type: 'ephemeral', ttl: '5m' or '1h'}")
		case m.TTL == "1h" && short:
			return invalid("cache_control.ttl: a ttl='1h' cache_control block must not come after a ttl='5m' " +
				"cache_control block.")
		}
		short = short || m.TTL != "1h"
	}
	return nil
}
