package offline

import (
	"encoding/json"
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/footnotehq/footnote/internal/fence"
	"github.com/footnotehq/footnote/model"
)

// History holds the parts of the messages that the planner uses: the user's questions, and the calls made for the last
// one.
type History struct {
	Questions []string
	from      []string // for each question, the source that was queried for it, if any
	pinned    []string // the tables that the last question was asked with
	Context   string   // all text sent along with the last question
	Calls     []*Call  // since the last question
	total     int      // in the whole history
}

// Call is a tool call with its result.
type Call struct {
	id, Name string
	Answered bool
	Content  string
	Failed   bool
}

// maxQuestion limits how much of a question is read.
const maxQuestion = 12_000

// ReadHistory reads the messages of a request.
func ReadHistory(messages []model.Message) History {
	h := History{}
	for _, m := range messages {
		h.add(m)
	}
	return h
}

type block struct {
	Type      string          `json:"type"`
	Text      string          `json:"text"`
	ID        string          `json:"id"`
	Name      string          `json:"name"`
	ToolUseID string          `json:"tool_use_id"`
	Content   json.RawMessage `json:"content"`
	Input     json.RawMessage `json:"input"`
	IsError   bool            `json:"is_error"`
}

func (h *History) add(m model.Message) {
	var blocks []block
	if json.Unmarshal(m.Content, &blocks) != nil {
		var s string
		if json.Unmarshal(m.Content, &s) != nil {
			return
		}
		blocks = []block{{Type: "text", Text: s}}
	}
	asked := false
	for _, b := range blocks {
		switch {
		case b.Type == "tool_use":
			h.total++
			h.Calls = append(h.Calls, &Call{id: b.ID, Name: b.Name})
			h.queried(b)
		case b.Type == "tool_result":
			for _, c := range h.Calls {
				if c.id == b.ToolUseID {
					c.Answered, c.Failed, c.Content = true, b.IsError, fence.Unwrap(plainText(b.Content))
				}
			}
		case b.Type == "text" && m.Role == "user" && !asked:
			// The first text is the question; what follows is context.
			asked = true
			h.Questions, h.from = append(h.Questions, cut(b.Text, maxQuestion)), append(h.from, "")
			h.Calls, h.pinned, h.Context = nil, nil, ""
		case b.Type == "text" && m.Role == "user":
			h.pinned = append(h.pinned, pins(b.Text)...)
			h.Context += b.Text + "\n"
		}
	}
}

// queried records which source was queried for the last question.
func (h *History) queried(b block) {
	var in struct {
		Source string `json:"source"`
	}
	if b.Name == "run_query" && len(h.from) > 0 && json.Unmarshal(b.Input, &in) == nil && in.Source != "" {
		h.from[len(h.from)-1] = in.Source
	}
}

// maxPins limits how many tables named beside a question are tried.
const maxPins = 4

// pins returns the tables that context names, in the words of the web app: "The user means these tables: shop.orders,
// shop.customers."
func pins(context string) []string {
	for _, lead := range []string{"The user means this table: ", "The user means these tables: "} {
		_, list, ok := strings.Cut(context, lead)
		if !ok {
			continue
		}
		list, _, _ = strings.Cut(list, "\n")
		names := strings.Split(strings.TrimSuffix(cut(list, maxQuestion), "."), ", ")
		return names[:min(len(names), maxPins)]
	}
	return nil
}

func plainText(raw json.RawMessage) string {
	var s string
	if json.Unmarshal(raw, &s) == nil {
		return s
	}
	var blocks []block
	if json.Unmarshal(raw, &blocks) != nil {
		return ""
	}
	var parts []string
	for _, b := range blocks {
		parts = append(parts, b.Text)
	}
	return strings.Join(parts, "\n")
}

// Last returns the last question.
func (h History) Last() string {
	if len(h.Questions) == 0 {
		return ""
	}
	return h.Questions[len(h.Questions)-1]
}

// Result returns the finished call of a tool since the last question.
func (h History) Result(name string) *Call {
	for i := len(h.Calls) - 1; i >= 0; i-- {
		if c := h.Calls[i]; c.Name == name && c.Answered {
			return c
		}
	}
	return nil
}

func (h History) called(name string) bool {
	for _, c := range h.Calls {
		if c.Name == name {
			return true
		}
	}
	return false
}

func cut(s string, n int) string {
	if len(s) <= n {
		return s
	}
	for n > 0 && !utf8.RuneStart(s[n]) {
		n--
	}
	return s[:n]
}

// Clip shortens text from outside for an answer, and removes line breaks and Markdown.
func Clip(s string) string {
	s = plainLine(s)
	if c := cut(s, 80); c != s {
		return c + "…"
	}
	return s
}

// plainLine removes line breaks and Markdown from text from outside.
func plainLine(s string) string {
	return strings.Map(func(r rune) rune {
		if unicode.IsControl(r) || r == '`' || r == '|' {
			return ' '
		}
		return r
	}, s)
}

// UpperFirst capitalises a text.
func UpperFirst(s string) string {
	r, n := utf8.DecodeRuneInString(s)
	if n == 0 || r == utf8.RuneError {
		return s
	}
	return string(unicode.ToUpper(r)) + s[n:]
}
