package openai

import (
	"bytes"
	"encoding/json"
	"strings"
	"testing"
	"time"

	"github.com/footnotehq/footnote"
	"github.com/footnotehq/footnote/internal/transcript"
)

// TestTranscripts plays each script of testdata to an Encoder and a Collector.
func TestTranscripts(t *testing.T) {
	transcript.Each(t, func(t *testing.T, file *transcript.File) {
		opt := Options{ID: "chatcmpl-1", Run: "r1", Model: "analyst", Created: time.Unix(1_700_000_000, 0)}
		file.Decode(t, "options.json", &opt)
		enc, col := NewEncoder(opt), NewCollector(opt)
		var stream []byte
		for i, l := range file.Script(t) {
			if l.Event == "" {
				stream = enc.Delta(stream, l.AsDelta(t))
				continue
			}
			ev := l.AsEvent(t, int64(i)+1)
			stream = enc.Event(stream, ev)
			col.Event(ev)
		}
		completion, done, err := col.Completion()
		if done != enc.Done() {
			t.Errorf("the collector is done: %v, the encoder: %v", done, enc.Done())
		}
		if err != nil {
			completion = AppendError(nil, err, "")
		}
		checkFrames(t, stream)
		for name, got := range map[string][]byte{"stream": stream, "completion": append(completion, '\n')} {
			if file.Has(name) {
				file.Check(t, name, got)
			}
		}
	})
}

// checkFrames checks the rules that every stream must follow.
func checkFrames(t *testing.T, stream []byte) {
	t.Helper()
	finished, failed, role, end := 0, false, 0, false
	for frame := range strings.SplitSeq(strings.TrimSuffix(string(stream), "\n\n"), "\n\n") {
		if frame == "" {
			continue
		}
		data, ok := strings.CutPrefix(frame, "data: ")
		if !ok || end {
			t.Errorf("frame %q: not a data line, or after the end", frame)
		}
		if data == "[DONE]" {
			end = true
			continue
		}
		var c struct {
			Error   json.RawMessage
			Choices []struct {
				Delta struct {
					Role      string
					ToolCalls json.RawMessage `json:"tool_calls"`
				}
				FinishReason *string `json:"finish_reason"`
			}
		}
		if err := json.Unmarshal([]byte(data), &c); err != nil {
			t.Errorf("chunk %s: %v", data, err)
		}
		if c.Error == nil && c.Choices == nil {
			t.Errorf("chunk %s has no choices", data)
		}
		failed = failed || c.Error != nil
		for _, choice := range c.Choices {
			if choice.Delta.ToolCalls != nil {
				t.Errorf("chunk %s asks the client to run a tool", data)
			}
			if choice.FinishReason != nil {
				finished++
			}
			if choice.Delta.Role != "" {
				role++
			}
		}
	}
	if end && !failed && (finished != 1 || role != 1) {
		t.Errorf("%d finish reasons and %d roles, want one of each", finished, role)
	}
	if failed && finished > 0 {
		t.Error("a failed answer has a finish reason")
	}
}

func TestFailOnce(t *testing.T) {
	e := NewEncoder(Options{})
	frames := e.Fail(nil, footnote.Errorf(footnote.AgentTimeout, "Too slow."))
	if !e.Done() || !bytes.HasSuffix(frames, []byte("data: [DONE]\n\n")) {
		t.Errorf("frames = %s", frames)
	}
	if more := e.Fail(nil, footnote.Errorf(footnote.Internal, "x")); len(more) > 0 {
		t.Errorf("after the end came %s", more)
	}
	if more := e.Delta(nil, footnote.Delta{Op: footnote.BlockGrew, Kind: "text", Escaped: []byte("x")}); len(more) > 0 {
		t.Errorf("after the end came %s", more)
	}
}

// TestDeltaAllocations guards the hot path: a piece of text is only copied.
func TestDeltaAllocations(t *testing.T) {
	e, d := textDelta()
	buf := e.Delta(make([]byte, 0, 64<<10), d)
	if n := testing.AllocsPerRun(1000, func() { buf = e.Delta(buf[:0], d) }); n != 0 {
		t.Errorf("a text delta costs %v allocations, want none", n)
	}
}

func textDelta() (*Encoder, footnote.Delta) {
	e := NewEncoder(Options{
		ID: "chatcmpl-ABCDEFGHIJKLMNOPQRSTUVWXYZ", Run: "run_1", Model: "analyst", Usage: true,
		Created: time.Unix(1_700_000_000, 0),
	})
	return e, footnote.Delta{
		Run: "run_1", Step: 1, Attempt: 1, Op: footnote.BlockGrew, Kind: "text", Escaped: []byte(`orders in \"May\"`),
	}
}

func BenchmarkDelta(b *testing.B) {
	e, d := textDelta()
	buf := e.Delta(make([]byte, 0, 64<<10), d)
	b.ReportAllocs()
	for b.Loop() {
		buf = e.Delta(buf[:0], d)
	}
}
