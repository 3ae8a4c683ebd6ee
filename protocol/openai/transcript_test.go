package openai

import (
	"bytes"
	"encoding/json"
	"flag"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"golang.org/x/tools/txtar"

	"github.com/footnotehq/footnote"
)

var update = flag.Bool("update", false, "write the transcripts anew")

// entry is one line of a script: an event, or a delta.
type entry struct {
	Event string          `json:"event"` // kind
	Run   string          `json:"run"`   // default r1
	Body  json.RawMessage `json:"body"`

	Delta string `json:"delta"` // text; empty for the other operations
	Op    string `json:"op"`
	Kind  string `json:"kind"` // default text
	Step  int    `json:"step"`
	Try   int    `json:"try"` // attempt, default 1
	Index int    `json:"index"`
}

var ops = map[string]footnote.DeltaOp{
	"start": footnote.BlockStarted, "": footnote.BlockGrew, "end": footnote.BlockEnded,
	"retrying": footnote.StepRetrying, "broke": footnote.StepBroke,
}

func (l entry) delta(t *testing.T) footnote.Delta {
	op, ok := ops[l.Op]
	if !ok {
		t.Fatalf("unknown op %q", l.Op)
	}
	d := footnote.Delta{Run: l.Run, Step: l.Step, Attempt: max(1, l.Try), Index: l.Index, Op: op, Kind: l.Kind}
	if d.Kind == "" {
		d.Kind = "text"
	}
	if op == footnote.BlockGrew {
		quoted, _ := json.Marshal(l.Delta)
		d.Escaped = quoted[1 : len(quoted)-1]
	}
	return d
}

// TestTranscripts plays each script of testdata to an Encoder and a Collector.
func TestTranscripts(t *testing.T) {
	files, err := filepath.Glob("testdata/*.txtar")
	if err != nil || len(files) == 0 {
		t.Fatal("no transcripts", err)
	}
	for _, file := range files {
		t.Run(strings.TrimSuffix(filepath.Base(file), ".txtar"), func(t *testing.T) { transcript(t, file) })
	}
}

func transcript(t *testing.T, file string) {
	ar, err := txtar.ParseFile(file)
	if err != nil {
		t.Fatal(err)
	}
	parts := map[string][]byte{}
	for _, f := range ar.Files {
		parts[f.Name] = f.Data
	}
	opt := Options{ID: "chatcmpl-1", Run: "r1", Model: "analyst", Created: time.Unix(1_700_000_000, 0)}
	if o := parts["options.json"]; o != nil {
		if err := json.Unmarshal(o, &opt); err != nil {
			t.Fatal(err)
		}
	}
	enc, col := NewEncoder(opt), NewCollector(opt)
	var stream []byte
	for line := range bytes.Lines(parts["script"]) {
		var l entry
		if err := json.Unmarshal(line, &l); err != nil {
			t.Fatalf("%s: %v", line, err)
		}
		if l.Run == "" {
			l.Run = "r1"
		}
		if l.Event == "" {
			stream = enc.Delta(stream, l.delta(t))
			continue
		}
		body, err := footnote.DecodeBody(l.Event, l.Body)
		if err != nil {
			t.Fatal(err)
		}
		ev := footnote.Event{Run: l.Run, Body: body}
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
	got := map[string][]byte{"stream": stream, "completion": append(completion, '\n')}
	for i, f := range ar.Files {
		want, ok := got[f.Name]
		if !ok {
			continue
		}
		if *update {
			ar.Files[i].Data = want
		} else if !bytes.Equal(f.Data, want) {
			t.Errorf("%s:\n%s\nwant\n%s", f.Name, want, f.Data)
		}
	}
	if *update {
		if err := os.WriteFile(file, txtar.Format(ar), 0o644); err != nil {
			t.Fatal(err)
		}
	}
}

// checkFrames holds what every stream must keep, whatever it says.
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

// TestDeltaAllocations guards the hot path: a piece of text is copied and nothing
// else.
func TestDeltaAllocations(t *testing.T) {
	e, d := textDelta()
	buf := e.Delta(make([]byte, 0, 64<<10), d)
	if n := testing.AllocsPerRun(1000, func() { buf = e.Delta(buf[:0], d) }); n != 0 {
		t.Errorf("a text delta costs %v allocations, want none", n)
	}
}

func textDelta() (*Encoder, footnote.Delta) {
	e := NewEncoder(Options{ID: "chatcmpl-ABCDEFGHIJKLMNOPQRSTUVWXYZ", Run: "run_1", Model: "analyst", Usage: true, Created: time.Unix(1_700_000_000, 0)})
	return e, footnote.Delta{Run: "run_1", Step: 1, Attempt: 1, Op: footnote.BlockGrew, Kind: "text", Escaped: []byte(`orders in \"May\"`)}
}

func BenchmarkDelta(b *testing.B) {
	e, d := textDelta()
	buf := e.Delta(make([]byte, 0, 64<<10), d)
	b.ReportAllocs()
	for b.Loop() {
		buf = e.Delta(buf[:0], d)
	}
}
