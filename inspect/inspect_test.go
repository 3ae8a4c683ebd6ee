package inspect_test

import (
	"context"
	"encoding/json"
	"strings"
	"testing"
	"time"

	"github.com/footnotehq/footnote"
	"github.com/footnotehq/footnote/inspect"
	"github.com/footnotehq/footnote/store"
)

// told is a log that says what a test makes it say.
type told struct {
	events []footnote.Positioned
	head   footnote.Stream
	gone   footnote.Digest
}

func (l *told) Get(context.Context, string) (footnote.Stream, error) { return l.head, nil }

func (l *told) Blob(_ context.Context, _ string, d footnote.Digest) ([]byte, error) {
	if d == l.gone {
		return nil, footnote.Errorf(footnote.NotFound, "gone")
	}
	return nil, nil
}

func (l *told) Tail(_ context.Context, after int64, _ int) ([]footnote.Positioned, error) {
	return l.events[min(int(after), len(l.events)):], nil
}

// sound is a log without a fault.
func sound() *told {
	call := footnote.AssistantMessage{Step: 1, Usage: footnote.Usage{Input: 1}, Cost: footnote.Cost{MicroUSD: 5},
		Blocks: []json.RawMessage{json.RawMessage(`{"type":"text","text":"x"}`), json.RawMessage(`{"type":"tool_use","id":"a","name":"q","input":{}}`)}}
	last := footnote.AssistantMessage{Step: 2, Usage: footnote.Usage{Input: 2}, Cost: footnote.Cost{MicroUSD: 6}}
	l := &told{head: footnote.Stream{ID: "c", Org: "o", User: "u", Last: 8}}
	for i, b := range []footnote.Body{
		footnote.Opened{System: "sha256:s", Tools: "sha256:t"}, footnote.UserMessage{}, footnote.RunStarted{}, call,
		footnote.ToolResult{CallID: "a", Result: &footnote.StoredResult{Chunks: []footnote.Chunk{{Digest: "sha256:r"}}}}, footnote.StepFailed{Usage: footnote.Usage{Output: 1}}, last,
		footnote.RunFinished{Usage: footnote.Usage{Input: 3, Output: 1}, Cost: footnote.Cost{MicroUSD: 11}},
	} {
		l.events = append(l.events, footnote.Positioned{Position: int64(i + 1), Org: "o", User: "u", Event: footnote.Event{Stream: "c", Seq: int64(i + 1), Run: "r", Body: b}})
	}
	return l
}

func (l *told) drop(seq int) {
	l.events = append(l.events[:seq-1:seq-1], l.events[seq:]...)
	for i := range l.events {
		l.events[i].Position, l.events[i].Seq = int64(i+1), int64(i+1)
	}
	l.head.Last = int64(len(l.events))
}

func TestProblems(t *testing.T) {
	for name, c := range map[string]struct {
		spoil func(*told)
		want  string
	}{
		"nothing":          {func(*told) {}, ""},
		"a gap":            {func(l *told) { l.events[4].Seq = 9 }, "the event before it is 4"},
		"positions":        {func(l *told) { l.events[3].Position = 3 }, "the position 3 comes after 3"},
		"another user":     {func(l *told) { l.events[3].User = "eve" }, "belongs to o/eve"},
		"another org":      {func(l *told) { l.head.Org = "evil" }, "the stream belongs to evil/u"},
		"no result":        {func(l *told) { l.drop(5) }, "before the result of a"},
		"no call":          {func(l *told) { l.drop(4) }, "without its call"},
		"two results":      {func(l *told) { l.events[5].Body = footnote.ToolResult{CallID: "a"} }, "already"},
		"a call at an end": {func(l *told) { l.events = append(l.events[:4:4], l.events[7]); l.events[4].Position = 5 }, "has no result"},
		"two ends":         {func(l *told) { l.events[6].Body = l.events[7].Body }, "ends twice"},
		"no beginning":     {func(l *told) { l.events[2].Body = footnote.UserMessage{} }, "has not begun"},
		"two beginnings":   {func(l *told) { l.events[1].Body = footnote.RunStarted{} }, "begins twice"},
		"interleaved":      {func(l *told) { l.events[1].Body, l.events[1].Run = footnote.RunStarted{}, "other" }, "while other goes on"},
		"after the end": {func(l *told) {
			l.events[7], l.events[6].Body = l.events[6], l.events[7].Body
			l.events[7].Position, l.events[7].Seq = 8, 8
		}, "after the end"},
		"money":  {func(l *told) { l.events[7].Body = footnote.RunFinished{Usage: footnote.Usage{Input: 3, Output: 1}} }, "the run took"},
		"tokens": {func(l *told) { l.events[7].Body = footnote.RunFailed{Cost: footnote.Cost{MicroUSD: 11}} }, "the run took"},
		"rows":   {func(l *told) { l.gone = "sha256:r" }, "sha256:r are not there"},
		"prompt": {func(l *told) { l.gone = "sha256:s" }, "sha256:s are not there"},
		"head":   {func(l *told) { l.head.Last = 7 }, "its last event is 7"},
		"state":  {func(l *told) { l.head.RunState = "running" }, `of its run "running"`},
	} {
		t.Run(name, func(t *testing.T) {
			l := sound()
			c.spoil(l)
			report, err := inspect.Read(t.Context(), l)
			if err != nil {
				t.Fatal(err)
			}
			var words []string
			for _, p := range report.Problems {
				words = append(words, p.String())
			}
			if all := strings.Join(words, "\n"); c.want == "" && all != "" || !strings.Contains(all, c.want) {
				t.Errorf("the problems are\n%s\nwant %q", all, c.want)
			}
		})
	}
}

// TestRealStore inspects what a store gives, a run that goes on included.
func TestRealStore(t *testing.T) {
	log := store.NewMem()
	if err := log.Create(t.Context(), footnote.Stream{ID: "c", Kind: "conversation", Org: "o", User: "u"}); err != nil {
		t.Fatal(err)
	}
	take := &footnote.Take{Owner: "x", TTL: time.Minute}
	if _, err := log.Append(t.Context(), footnote.Append{Stream: "c", Run: "r", Bodies: []footnote.Body{footnote.RunStarted{}}, Take: take}); err != nil {
		t.Fatal(err)
	}
	report, err := inspect.Read(t.Context(), log)
	if err != nil || len(report.Problems) > 0 || report.Unfinished != 1 || report.Events != 1 || report.Runs != 1 {
		t.Errorf("%+v, %v", report, err)
	}
	if err := log.Close(); err != nil {
		t.Fatal(err)
	}
	if _, err := inspect.Read(t.Context(), log); err == nil {
		t.Error("a store that is closed was read to its end")
	}
}
