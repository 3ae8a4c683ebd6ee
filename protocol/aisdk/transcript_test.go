package aisdk

import (
	"encoding/json"
	"strings"
	"testing"

	"github.com/footnotehq/footnote"
	"github.com/footnotehq/footnote/agent"
	"github.com/footnotehq/footnote/internal/transcript"
	"github.com/footnotehq/footnote/tool"
)

// setting holds the settings of a script.
type setting struct {
	Dialect   Dialect
	Client    []string // tools that the browser runs
	Ask       []string // tools that a person must approve
	Again     bool     // the response replays past events
	Seen      int      // how many of the events earlier responses showed
	Answers   []string
	Approvals []string
}

func (s setting) options() Options {
	var tools []agent.ToolInfo
	for _, name := range []string{"query", "pick", "drop", "draw"} {
		info := agent.ToolInfo{Name: name, Side: tool.Server, Verdict: agent.Allow}
		for _, c := range s.Client {
			if c == name {
				info.Side = tool.Client
			}
		}
		for _, a := range s.Ask {
			if a == name {
				info.Verdict = agent.Ask
			}
		}
		tools = append(tools, info)
	}
	return Options{Dialect: s.Dialect, Run: "r1", Conversation: "conv_1", Tools: tools}
}

func (s setting) turn() (turn agent.Turn) {
	for _, id := range s.Answers {
		turn.Answers = append(turn.Answers, tool.Answer{CallID: id})
	}
	for _, id := range s.Approvals {
		turn.Approvals = append(turn.Approvals, agent.Approval{CallID: id})
	}
	return turn
}

// TestTranscripts plays each script of testdata to an Encoder and to Messages.
func TestTranscripts(t *testing.T) {
	transcript.Each(t, func(t *testing.T, file *transcript.File) {
		var set setting
		file.Decode(t, "setting.json", &set)
		stream, events := play(t, set, file.Script(t))
		check(t, stream)
		file.Check(t, "stream", stream)
		file.Check(t, "messages", pretty(t, Messages(events, set.options())))
	})
}

// play returns the frames of the response to a script, and its events.
func play(t *testing.T, set setting, lines []transcript.Line) (stream []byte, events []footnote.Event) {
	enc := NewEncoder(set.options())
	answering := set.Seen == 0
	if set.Again {
		enc.Past(eventsOf(t, lines))
	}
	for _, l := range lines {
		if l.Event == "" {
			stream = enc.Delta(stream, l.AsDelta(t))
			continue
		}
		ev := l.AsEvent(t, int64(len(events))+1)
		events = append(events, ev)
		if len(events) <= set.Seen {
			enc.Seen(ev)
			continue
		}
		if !answering {
			answering = true
			enc.Answering(set.turn())
		}
		stream = enc.Event(stream, ev)
	}
	return stream, events
}

func eventsOf(t *testing.T, lines []transcript.Line) (events []footnote.Event) {
	for _, l := range lines {
		if l.Event != "" {
			events = append(events, l.AsEvent(t, int64(len(events))+1))
		}
	}
	return events
}

// TestReplays checks that every run can be shown again, from its start or from where it was parked, to
// clients of every dialect.
func TestReplays(t *testing.T) {
	transcript.Each(t, func(t *testing.T, file *transcript.File) {
		var set setting
		file.Decode(t, "setting.json", &set)
		events := eventsOf(t, file.Script(t))
		for _, set.Dialect = range []Dialect{Unstated, Core, V6, V7} {
			for from := range events {
				_, parked := events[from].Body.(footnote.RunParked)
				if from > 0 && !parked {
					continue
				}
				enc := NewEncoder(set.options())
				enc.Past(events)
				var stream []byte
				for i, ev := range events {
					if i < from || from > 0 && i == from {
						enc.Seen(ev)
					} else {
						stream = enc.Event(stream, ev)
					}
				}
				check(t, stream)
				if ended := len(events) > 0 && footnote.Terminal(events[len(events)-1].Body); ended && !enc.Done() {
					t.Errorf("%s from %d: the response does not end", file.Path, from)
				}
				if last := events[len(events)-1].Body; footnote.Terminal(last) &&
					strings.Contains(string(stream), `"finishReason":"tool-calls"`) {
					t.Errorf("%s from %d: a run that is over waits: %s", file.Path, from, stream)
				}
			}
		}
	})
}

func pretty(t *testing.T, messages []Message) []byte {
	var out []byte
	for _, m := range messages {
		meta := mustJSON(m.Metadata)
		out = append(out, m.Role+" "+m.ID+" "+string(meta)+"\n"...)
		for _, p := range m.Parts {
			data, err := json.Marshal(p)
			if err != nil {
				t.Fatal(err)
			}
			out = append(append(append(out, "  "...), data...), '\n')
		}
	}
	return out
}

// check verifies what holds for every response: chunks are single-line JSON without nulls, every opened part
// is closed, and no chunk refers to an unknown part.
func check(t *testing.T, stream []byte) {
	open, calls := map[string]bool{}, map[string]bool{}
	step := false
	for frame := range strings.SplitSeq(strings.TrimSuffix(string(stream), "\n\n"), "\n\n") {
		data, ok := strings.CutPrefix(frame, "data: ")
		if !ok && frame != "" {
			t.Errorf("not a frame: %q", frame)
		}
		if data == "[DONE]" || frame == "" {
			continue
		}
		var c map[string]any
		if err := json.Unmarshal([]byte(data), &c); err != nil {
			t.Errorf("%s: %v", data, err)
			continue
		}
		for name, v := range c {
			if v == nil {
				t.Errorf("%s is null in %s", name, data)
			}
		}
		id, _ := c["id"].(string)
		call, _ := c["toolCallId"].(string)
		switch kind := c["type"].(string); kind {
		case "start-step":
			step = true
		case "finish-step":
			if !step || len(open) > 0 {
				t.Errorf("a step ends with %v open", open)
			}
			step = false
		case "text-start", "reasoning-start":
			open[id] = true
		case "text-delta", "reasoning-delta":
			if !open[id] {
				t.Errorf("no part for %s", data)
			}
		case "text-end", "reasoning-end":
			if !open[id] {
				t.Errorf("no part for %s", data)
			}
			delete(open, id)
		case "tool-input-start", "tool-input-available":
			calls[call] = true
		case "finish", "abort":
			if step {
				t.Errorf("%s within a step", kind)
			}
		}
	}
	if len(open) > 0 || step {
		t.Errorf("left open: %v, step %v", open, step)
	}
}
