package tool

import (
	"testing"
	"time"

	"github.com/footnotehq/footnote"
)

// TestMentions checks that a name inside a longer name does not count: a text about level-10 says nothing about
// level-1.
func TestMentions(t *testing.T) {
	for text, want := range map[string]bool{
		"level-1":                    true,
		"- [level-1] line at 1.1":    true,
		`{"id":"level-1"}`:           true,
		"Move level-1, please.":      true,
		"level-10, level-1":          true,
		"":                           false,
		"level-10":                   false,
		"[my-level-1] and level-1_b": false,
		"level 1":                    false,
	} {
		if mentions(text, "level-1") != want {
			t.Errorf("%q: %v", text, !want)
		}
	}
	if mentions("anything", "") {
		t.Error("no name is in every text")
	}
}

// TestLastMentioned finds the newest text that mentions a drawing, and ignores texts about another drawing.
func TestLastMentioned(t *testing.T) {
	at := func(second int64) time.Time { return time.Unix(second, 0) }
	c := Call{Read: []footnote.Event{
		{Time: at(1), Body: footnote.UserMessage{Context: "- [level-1] line", Text: "Move it."}},
		{Time: at(2), Body: footnote.ToolResult{Content: `{"drawing_id":"level-2"}`}},
		{Time: at(3), Body: footnote.AssistantMessage{}},
		{Time: at(4), Body: footnote.UserMessage{Text: "And level-10?"}},
		{Body: footnote.ToolResult{Content: "level-3"}}, // it is not stored yet
	}}
	for name, want := range map[string]time.Time{
		"level-1": at(1), "level-2": at(2), "level-10": at(4), "level-3": {}, "level-4": {},
	} {
		if got := c.LastMentioned(name); !got.Equal(want) {
			t.Errorf("of %s at %s, want %s", name, got, want)
		}
	}
}
