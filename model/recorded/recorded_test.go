package recorded_test

import (
	"context"
	"encoding/json"
	"os"
	"path/filepath"
	"reflect"
	"strings"
	"testing"
	"time"

	"github.com/footnotehq/footnote"
	"github.com/footnotehq/footnote/model"
	"github.com/footnotehq/footnote/model/recorded"
)

// talker answers each call with the number of messages that it got.
type talker struct{ calls int }

func (m *talker) Step(_ context.Context, req model.Request, _ model.Live) (model.Reply, error) {
	m.calls++
	text := json.RawMessage(`{"type":"text","text":"There are <3> \"orders\"."}`)
	call := json.RawMessage(`{"type":"tool_use","id":"t1","name":"run_query","input":{"sql":"SELECT 1"}}`)
	if len(req.Messages) > 1 {
		return model.Reply{Message: footnote.AssistantMessage{
			Model: "m", Blocks: []json.RawMessage{text}, StopReason: model.EndTurn, Cost: footnote.Cost{MicroUSD: 7},
		}}, nil
	}
	return model.Reply{Message: footnote.AssistantMessage{
		Model: "m", Blocks: []json.RawMessage{text, call}, StopReason: model.ToolUse,
	}}, nil
}

func request(question, result string) model.Request {
	req := model.Request{
		Model: "m", System: json.RawMessage(`[{"type":"text","text":"rules"}]`),
		Tools: json.RawMessage(`[{"name":"run_query","description":"d"},{"name":"show_chart"}]`),
		Messages: []model.Message{{Role: "user", Content: json.RawMessage(
			`[{"type":"text","text":"` + question + `"},{"type":"text","text":"Today is Friday."}]`)}},
	}
	if result != "" {
		req.Messages = append(req.Messages,
			model.Message{Role: "assistant", Content: json.RawMessage(
				`[{"type":"tool_use","id":"t1","name":"run_query","input":{}}]`)},
			model.Message{Role: "user", Content: json.RawMessage(
				`[{"type":"tool_result","tool_use_id":"t1","content":"` + result + `"}]`)})
	}
	return req
}

// listener collects the pieces of a message.
type listener struct {
	t     *testing.T
	open  int // the open block; -1: none
	words string
}

func live(t *testing.T) *listener { return &listener{t: t, open: -1} }

func (l *listener) Start(index int, _, _, _ string) {
	if l.open >= 0 {
		l.t.Errorf("block %d starts within block %d", index, l.open)
	}
	l.open = index
}

func (l *listener) Delta(_ int, escaped []byte) { l.words += string(escaped) }

func (l *listener) Stop(int) { l.open = -1 }

func (l *listener) Flush() {}

func (l *listener) Retrying(int, footnote.Code, time.Duration) { l.t.Error("the model retried") }

// tape records two steps of a question, and reads them back from a file.
func tape(t *testing.T) *recorded.Tape {
	t.Helper()
	inner := &talker{}
	r := recorded.NewRecorder(inner)
	for _, result := range []string{"", "3", "3"} {
		req := request("How many?", result)
		if _, err := r.Step(t.Context(), req, live(t)); err != nil {
			t.Fatal(err)
		}
	}
	path := filepath.Join(t.TempDir(), "tests.recordings")
	head := recorded.Head{
		Format: recorded.Format, Time: time.Unix(1e9, 0).UTC(), Model: "m",
		Parts: map[string]footnote.Digest{"glossary": "sha256:1", "schema of shop": "sha256:2"},
	}
	if err := (&recorded.Tape{Head: head, Entries: r.Entries()}).Write(path); err != nil {
		t.Fatal(err)
	}
	got, err := recorded.Read(path)
	if err != nil {
		t.Fatal(err)
	}
	if len(got.Entries) != 2 || !reflect.DeepEqual(got.Head, head) || inner.calls != 3 {
		t.Errorf("%d entries, %+v", len(got.Entries), got.Head)
	}
	return got
}

// now returns a function that returns parts.
func now(parts map[string]footnote.Digest) func() map[string]footnote.Digest {
	return func() map[string]footnote.Digest { return parts }
}

func TestReplay(t *testing.T) {
	tp := tape(t)
	p := recorded.NewPlayer(tp, now(tp.Head.Parts))
	first := request("How many?", "")
	first.Conversation, first.MaxCost, first.Principal = "conv_2", 99, footnote.Principal{User: "bob"}
	reply, err := p.Step(t.Context(), first, live(t))
	if err != nil || reply.Message.StopReason != model.ToolUse || len(reply.Message.Blocks) != 2 {
		t.Errorf("%+v, %v", reply, err)
	}
	heard := live(t)
	reply, err = p.Step(t.Context(), request("How many?", "3"), heard)
	if heard.words != `There are \u003c3\u003e \"orders\".` {
		t.Errorf("shown: %s", heard.words)
	}
	if err != nil || reply.Message.Cost.MicroUSD != 7 || !strings.Contains(string(reply.Message.Blocks[0]), "<3>") {
		t.Errorf("%+v, %v", reply, err)
	}
	if p.Missed("How many?") != nil {
		t.Error("the recordings fit, and are missed")
	}
}

// TestStale checks that a request without a recording says what has changed.
func TestStale(t *testing.T) {
	tp := tape(t)
	for name, c := range map[string]struct {
		change func(req *model.Request, parts map[string]footnote.Digest)
		want   []string
	}{
		"prompt": {
			func(req *model.Request, _ map[string]footnote.Digest) { req.System = json.RawMessage(`[]`) },
			[]string{"the system prompt"},
		},
		"glossary": {
			func(req *model.Request, parts map[string]footnote.Digest) {
				req.System, parts["glossary"] = json.RawMessage(`[]`), "sha256:9"
			},
			[]string{"glossary"},
		},
		"schema and a new part": {
			func(req *model.Request, parts map[string]footnote.Digest) {
				req.System = json.RawMessage(`[]`)
				delete(parts, "schema of shop")
				parts["model.yaml"] = "sha256:3"
			},
			[]string{"model.yaml (new)", "schema of shop (gone)"},
		},
		"tool": {
			func(req *model.Request, _ map[string]footnote.Digest) {
				req.Tools = json.RawMessage(`[{"name":"run_query","description":"other"},{"name":"ask"}]`)
			},
			[]string{"the tool ask (new)", "the tool run_query", "the tool show_chart (gone)"},
		},
		"result": {
			func(req *model.Request, _ map[string]footnote.Digest) {
				req.Messages = request("How many?", "4").Messages
			},
			[]string{"result 1, of run_query"},
		},
		"model": {
			func(req *model.Request, _ map[string]footnote.Digest) { req.Model = "n" },
			[]string{"the model or its effort"},
		},
		"date": {
			func(req *model.Request, _ map[string]footnote.Digest) {
				req.Messages[0].Content = json.RawMessage(`[{"type":"text","text":"How many?"}]`)
			},
			[]string{"the messages of the conversation"},
		},
	} {
		parts := map[string]footnote.Digest{"glossary": "sha256:1", "schema of shop": "sha256:2"}
		req := request("How many?", "3")
		c.change(&req, parts)
		p := recorded.NewPlayer(tp, now(parts))
		_, err := p.Step(t.Context(), req, live(t))
		if got := p.Missed("How many?"); err == nil || !reflect.DeepEqual(got, c.want) ||
			!strings.Contains(err.Error(), strings.Join(c.want, ", ")) {
			t.Errorf("%s: %q, %v", name, got, err)
		}
	}
	p := recorded.NewPlayer(tp, now(tp.Head.Parts))
	if _, err := p.Step(t.Context(), request("How much?", ""), live(t)); err == nil ||
		p.Missed("How much?")[0] != "the question: it has no recording" {
		t.Errorf("%v", err)
	}
}

func TestUnreadableFiles(t *testing.T) {
	dir := t.TempDir()
	for name, text := range map[string]string{
		"empty": "", "other": `{"format":9}`, "broken": "{\"format\":1}\n{", "none": "x",
	} {
		path := filepath.Join(dir, name)
		if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		if _, err := recorded.Read(path); err == nil || !strings.Contains(err.Error(), "record them again") {
			t.Errorf("%s: %v", name, err)
		}
	}
	if _, err := recorded.Read(filepath.Join(dir, "missing")); err == nil {
		t.Error("a missing file is read")
	}
}
