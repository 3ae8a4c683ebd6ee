package history_test

import (
	"bytes"
	"encoding/json"
	"fmt"
	"reflect"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"github.com/footnotehq/footnote"
	"github.com/footnotehq/footnote/model/history"
)

// block holds the fields of a content block that the Messages API checks.
type block struct {
	Type      string          `json:"type"`
	Text      string          `json:"text"`
	ID        string          `json:"id"`
	Name      string          `json:"name"`
	Input     json.RawMessage `json:"input"`
	ToolUseID string          `json:"tool_use_id"`
	Signature string          `json:"signature"`
}

// accept imitates the checks of the Messages API on histories.
func accept(messages []history.Message) error {
	if len(messages) == 0 {
		return fmt.Errorf("no messages")
	}
	used := map[string]bool{}
	var open []string
	for i, m := range messages {
		want := [...]string{"user", "assistant"}[i%2]
		if m.Role != want {
			return fmt.Errorf("message %d has role %s, want %s", i, m.Role, want)
		}
		var blocks []block
		if err := json.Unmarshal(m.Content, &blocks); err != nil || len(blocks) == 0 {
			return fmt.Errorf("message %d: content %s: %v", i, m.Content, err)
		}
		var calls, results []string
		for j, b := range blocks {
			switch {
			case b.Type == "text" && strings.TrimSpace(b.Text) == "":
				return fmt.Errorf("message %d block %d: empty text", i, j)
			case b.Type == "thinking" && b.Signature == "":
				return fmt.Errorf("message %d block %d: thinking without signature", i, j)
			case b.Type == "tool_use":
				if used[b.ID] || b.ID == "" {
					return fmt.Errorf("message %d: tool_use id %q is used twice or empty", i, b.ID)
				}
				if in := bytes.TrimSpace(b.Input); len(in) == 0 || in[0] != '{' {
					return fmt.Errorf("message %d: input %s is not an object", i, b.Input)
				}
				used[b.ID] = true
				calls = append(calls, b.ID)
			case b.Type == "tool_result":
				if len(results) != j {
					return fmt.Errorf("message %d: a result comes after something else", i)
				}
				results = append(results, b.ToolUseID)
			case b.Type != "text" && b.Type != "thinking" && b.Type != "redacted_thinking":
				return fmt.Errorf("message %d: block of type %q", i, b.Type)
			}
		}
		if !reflect.DeepEqual(open, results) {
			return fmt.Errorf("message %d answers %v, open are %v", i, results, open)
		}
		open = calls
	}
	if len(messages)%2 == 0 {
		return fmt.Errorf("the last message is the assistant's")
	}
	return nil
}

var callIDs = rapid.SampledFrom([]string{
	"toolu_1", "toolu_2", "toolu_3", "call_0", "", "bad id!", strings.Repeat("x", 300), "toolu_1_1", "Ünïcode",
})

func anyText(t *rapid.T) string {
	return rapid.SampledFrom([]string{
		"", " ", "\n", "hello", "tool_result", "\x00", "caf\xe9", "<b>&", "😀", strings.Repeat("y", 3000),
	}).Draw(t, "text")
}

func anyBlock(t *rapid.T) json.RawMessage {
	must := func(v any) json.RawMessage { b, _ := json.Marshal(v); return b }
	switch rapid.IntRange(0, 9).Draw(t, "block") {
	case 0, 1:
		return must(map[string]any{"type": "text", "text": anyText(t)})
	case 2:
		return must(map[string]any{"type": "thinking", "thinking": anyText(t), "signature": "sig"})
	case 3:
		return must(map[string]any{"type": "thinking", "thinking": anyText(t)})
	case 4:
		return must(map[string]any{"type": "redacted_thinking", "data": "opaque"})
	case 5:
		return rapid.SampledFrom([]json.RawMessage{
			json.RawMessage(`{`), json.RawMessage(`null`), json.RawMessage(`[]`), nil,
			json.RawMessage(`{"type":"new_kind"}`),
		}).Draw(t, "torn")
	default:
		input := rapid.SampledFrom([]string{`{}`, `{"sql":"select 1"}`, `[]`, `null`, `"x"`}).Draw(t, "input")
		name := rapid.SampledFrom([]string{"run_query", "", "bad name", strings.Repeat("n", 100)}).Draw(t, "name")
		return must(map[string]any{
			"type": "tool_use", "id": callIDs.Draw(t, "id"), "name": name, "input": json.RawMessage(input),
		})
	}
}

func anyBody(t *rapid.T) footnote.Body {
	switch rapid.IntRange(0, 9).Draw(t, "body") {
	case 0, 1:
		return footnote.UserMessage{Text: anyText(t), Context: anyText(t)}
	case 2, 3, 4:
		m := footnote.AssistantMessage{
			StopReason: rapid.SampledFrom([]string{"end_turn", "tool_use", "refusal", "max_tokens", ""}).Draw(t,
				"stop"),
		}
		for range rapid.IntRange(0, 5).Draw(t, "blocks") {
			m.Blocks = append(m.Blocks, anyBlock(t))
		}
		return m
	case 5, 6, 7:
		return footnote.ToolResult{
			CallID:  callIDs.Draw(t, "call"),
			Content: anyText(t),
			IsError: rapid.Bool().Draw(t, "failed"),
		}
	case 8:
		return rapid.SampledFrom([]footnote.Body{
			footnote.RunStarted{}, footnote.RunFinished{}, footnote.RunParked{}, footnote.StepFailed{},
			footnote.Answered{
				Text: "x",
			},
		}).Draw(t, "other")
	default:
		if rapid.Bool().Draw(t, "segment") {
			return footnote.Segmented{FromSeq: rapid.Int64Range(-1, 40).Draw(t, "from"), Summary: anyText(t)}
		}
		return footnote.Rewound{ToSeq: rapid.Int64Range(-1, 40).Draw(t, "to")}
	}
}

func anyLog(t *rapid.T) []footnote.Event {
	var events []footnote.Event
	for i := range rapid.IntRange(0, 30).Draw(t, "events") {
		events = append(events, footnote.Event{Seq: int64(i + 1), Body: anyBody(t)})
	}
	return events
}

func TestHistoryOfAnyLogIsAccepted(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		if err := accept(history.Messages(anyLog(t))); err != nil {
			t.Fatal(err)
		}
	})
}

// TestHistoryGrowsOnlyAtTheEnd checks that a new user message changes only the part after the last assistant message.
// Thinking is valid only as long as everything before it stays the same.
func TestHistoryGrowsOnlyAtTheEnd(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		events := anyLog(t)
		before := history.Messages(events)
		next := footnote.Event{Seq: int64(len(events) + 1), Body: footnote.UserMessage{Text: "and then?"}}
		after := history.Messages(append(events, next))
		n := len(before) - 1 // the last user message may still grow
		if !reflect.DeepEqual(before[:n], after[:n]) {
			t.Fatalf("messages changed:\n%s\n%s", before[:n], after[:n])
		}
	})
}

func TestThinkingKeepsItsBytes(t *testing.T) {
	thinking := json.RawMessage(`{"type":"thinking","thinking":"<a> & é","signature":"EqQ+/="}`)
	kind, data, err := footnote.EncodeBody(footnote.AssistantMessage{StopReason: "tool_use", Blocks: []json.RawMessage{
		thinking, json.RawMessage(
			`{"type":"tool_use","id":"toolu_1","name":"run_query","input":{"sql":"a<b","n":1.50}}`),
	}})
	if err != nil {
		t.Fatal(err)
	}
	body, err := footnote.DecodeBody(kind, data)
	if err != nil {
		t.Fatal(err)
	}
	got := history.Messages([]footnote.Event{{Seq: 1, Body: footnote.UserMessage{Text: "q"}}, {Seq: 2, Body: body}})
	if !bytes.Contains(got[1].Content, thinking) || !bytes.Contains(got[1].Content, []byte(`{"sql":"a<b","n":1.50}`)) {
		t.Errorf("the blocks were changed: %s", got[1].Content)
	}
}

func TestResultsAreInOrderOfCalls(t *testing.T) {
	call := func(id string) json.RawMessage {
		return json.RawMessage(`{"type":"tool_use","id":"` + id + `","name":"q","input":{}}`)
	}
	got := history.Messages([]footnote.Event{
		{Seq: 1, Body: footnote.UserMessage{Text: "q"}},
		{
			Seq: 2,
			Body: footnote.AssistantMessage{
				StopReason: "tool_use",
				Blocks:     []json.RawMessage{call("a"), call("b"), call("c")},
			},
		},
		{Seq: 3, Body: footnote.ToolResult{CallID: "c", Content: "3"}},
		{Seq: 4, Body: footnote.ToolResult{CallID: "a", Content: "1"}},
		{Seq: 5, Body: footnote.ToolResult{CallID: "a", Content: "again"}},
		{Seq: 6, Body: footnote.UserMessage{Text: "never mind"}},
		{Seq: 7, Body: footnote.ToolResult{CallID: "b", Content: "too late"}},
	})
	want := `[{"type":"tool_result","tool_use_id":"a","content":"<data>\n1\n</data>"},` +
		`{"type":"tool_result","tool_use_id":"b","is_error":true,"content":"` + history.Unanswered + `"},` +
		`{"type":"tool_result","tool_use_id":"c","content":"<data>\n3\n</data>"},{"type":"text","text":"never mind"}]`
	if string(got[2].Content) != want {
		t.Errorf("got  %s\nwant %s", got[2].Content, want)
	}
}

// TestRewoundEventsAreOmitted checks that a log with rewound events, at any position, has the history of a log
// without them, including where the history is cut.
func TestRewoundEventsAreOmitted(t *testing.T) {
	plain := func(events []footnote.Event) []footnote.Event {
		kept := events[:0:0]
		for _, ev := range events {
			if _, ok := ev.Body.(footnote.Rewound); !ok {
				kept = append(kept, ev)
			}
		}
		return kept
	}
	rapid.Check(t, func(t *rapid.T) {
		before, after := plain(anyLog(t)), plain(anyLog(t))
		for place := range len(before) + 1 { // at every position
			log := append([]footnote.Event(nil), before[:place]...)
			to := rapid.IntRange(0, place).Draw(t, "to")
			last := int64(100)
			seq := int64(0)
			if to > 0 {
				seq = before[to-1].Seq
			}
			log = append(log, footnote.Event{Seq: last, Body: footnote.Rewound{ToSeq: seq}})
			want := append([]footnote.Event(nil), before[:to]...)
			for _, ev := range after {
				last++
				ev.Seq = last
				log, want = append(log, ev), append(want, ev)
			}
			got := history.Messages(log)
			if err := accept(got); err != nil {
				t.Fatal(err)
			}
			if !reflect.DeepEqual(got, history.Messages(want)) {
				t.Fatalf("rewound to %d at %d:\n%s\nwant\n%s", to, place, got, history.Messages(want))
			}
		}
	})
}

// TestHiddenCharactersAreMadeVisible checks every path by which outside text reaches the model. The model's own text
// keeps its bytes.
func TestHiddenCharactersAreMadeVisible(t *testing.T) {
	const hidden = "x\U000e0068\U000e0069\u202ey\u200bz"
	events := []footnote.Event{
		{
			Body: footnote.Imported{
				Turns: []footnote.TextTurn{{Role: "user", Text: hidden}, {Role: "assistant", Text: hidden}},
			},
		},
		{Body: footnote.UserMessage{Text: hidden, Context: hidden}},
		{
			Body: footnote.AssistantMessage{
				Blocks: []json.RawMessage{[]byte(`{"type":"tool_use","id":"c1","name":"run_query","input":{}}`)},
			},
		},
		{Body: footnote.ToolResult{CallID: "c1", Content: `{"rows":[["` + hidden + `"]]}`}},
	}
	sent := ""
	for _, m := range history.Messages(events) {
		sent += string(m.Content)
	}
	if strings.ContainsAny(sent, "\U000e0068\u202e\u200b") ||
		strings.Count(sent, "x<U+E0068><U+E0069><U+202E>y<U+200B>z") != 5 {
		t.Errorf("the model is sent %q", sent)
	}
}

// TestUnreadable checks that a log with an unreadable event still yields a request that the API accepts: with a
// placeholder for the event, and without thinking that was signed over it.
func TestUnreadable(t *testing.T) {
	raw := func(s string) []json.RawMessage { return []json.RawMessage{json.RawMessage(s)} }
	thought := []json.RawMessage{
		json.RawMessage(`{"type":"thinking","thinking":"x","signature":"s"}`),
		json.RawMessage(`{"type":"text","text":"One."}`),
	}
	call := raw(`{"type":"tool_use","id":"t1","name":"query","input":{}}`)
	for _, c := range []struct {
		name   string
		events []footnote.Event
		want   string
	}{
		{"question", []footnote.Event{
			{
				Seq:  1,
				Run:  "r1",
				Body: footnote.Unreadable{Kind: "user_message"},
			},
			{
				Seq:  2,
				Run:  "r1",
				Body: footnote.AssistantMessage{Blocks: thought},
			},
			{Seq: 3, Run: "r2", Body: footnote.UserMessage{Text: "b"}},
		},
			`user [{"type":"text","text":"(Event 1 of this conversation cannot be read.)"}] assistant ` +
				`[{"type":"text","text":"One."}] user [{"type":"text","text":"b"}]`},
		{"answer", []footnote.Event{
			{
				Seq:  1,
				Body: footnote.UserMessage{Text: "a"},
			},
			{
				Seq:  2,
				Body: footnote.Unreadable{Kind: "assistant_message"},
			},
			{
				Seq:  3,
				Body: footnote.ToolResult{CallID: "t1", Content: "42"},
			},
			{Seq: 4, Body: footnote.UserMessage{Text: "b"}},
		},
			`user [{"type":"text","text":"a"}] assistant [{"type":"text","text":"(Event 2 of this conversation ` +
				`cannot be read.)"}] user [{"type":"text","text":"b"}]`},
		{"result", []footnote.Event{
			{
				Seq:  1,
				Body: footnote.UserMessage{Text: "a"},
			},
			{
				Seq:  2,
				Body: footnote.AssistantMessage{Blocks: call},
			},
			{Seq: 3, Body: footnote.Unreadable{Kind: "tool_result"}},
		},
			`user [{"type":"text","text":"a"}] assistant [{"type":"tool_use","id":"t1","name":"query","input":{}}] ` +
				`user [{"type":"tool_result","tool_use_id":"t1","is_error":true,"content":"This call was ` +
				`interrupted; there is no result."}]`},
		{
			"end of a run", []footnote.Event{
				{
					Seq:  1,
					Body: footnote.UserMessage{Text: "a"},
				},
				{Seq: 2, Body: footnote.Unreadable{Kind: "run_finished"}},
			}, `user [{"type":"text","text":"a"}]`,
		},
	} {
		var got []string
		for _, m := range history.Messages(c.events) {
			got = append(got, m.Role+" "+string(m.Content))
		}
		if s := strings.Join(got, " "); s != c.want {
			t.Errorf("%s: got %s\nwant %s", c.name, s, c.want)
		}
	}
}
