package analyze

import (
	"encoding/json"
	"regexp"
	"strings"
	"testing"

	"github.com/footnotehq/footnote"
	"github.com/footnotehq/footnote/agent"
	"github.com/footnotehq/footnote/internal/transcript"
	"github.com/footnotehq/footnote/tool"
)

func options() Options {
	tools := []agent.ToolInfo{{Name: "list_tables", Side: tool.Server}}
	for name, family := range map[string]string{
		"run_query": tool.Query, "get_column_stats": tool.ColumnStats, "transform_data": tool.Transform,
	} {
		tools = append(tools, agent.ToolInfo{Name: name, Side: tool.Client, Family: family})
	}
	return Options{Run: "r1", Tools: tools, Rows: func(r footnote.StoredResult) (json.RawMessage, error) {
		return json.RawMessage(`[["` + r.Chunks[0].Digest + `"]]`), nil
	}}
}

// play shows a script to a reader at position from. With live, the deltas after that event are included, as a
// hub delivers them; otherwise it reads the log only.
func play(t *testing.T, lines []transcript.Line, from Position, live bool) string {
	opt := options()
	opt.From = from
	enc := NewEncoder(opt)
	var out []byte
	seq := int64(0)
	for _, l := range lines {
		if l.Event == "" {
			if live && seq >= from.Seq {
				out = enc.Delta(out, l.AsDelta(t))
			}
			continue
		}
		seq++
		out = enc.Event(out, l.AsEvent(t, seq))
	}
	if !enc.Done() {
		t.Error("the stream does not end")
	}
	return string(out)
}

func TestTranscripts(t *testing.T) {
	transcript.Each(t, func(t *testing.T, file *transcript.File) {
		file.Check(t, "stream", []byte(play(t, file.Script(t), Position{}, true)))
	})
}

var idOf = regexp.MustCompile(`(?m)^id: (\S+)$`)

// content returns a stream without ids and with consecutive pieces of thinking merged: what a reader has in
// the end.
func content(t *testing.T, stream string) string {
	var b strings.Builder
	thinking := ""
	flush := func() {
		if thinking != "" {
			b.WriteString("thinking " + thinking + "\n")
		}
		thinking = ""
	}
	for l := range strings.Lines(stream) {
		data, ok := strings.CutPrefix(l, "data: ")
		if !ok {
			continue
		}
		var f struct{ Type, Content string }
		if err := json.Unmarshal([]byte(data), &f); err != nil {
			t.Fatalf("%s: %v", data, err)
		}
		if f.Type == "thinking" {
			thinking += f.Content
			continue
		}
		flush()
		b.WriteString(data)
	}
	flush()
	return b.String()
}

// TestReconnecting cuts each stream after each of its frames. A reader that reconnects with the id of that
// frame must get exactly the rest.
func TestReconnecting(t *testing.T) {
	cuts := 0
	transcript.Each(t, func(t *testing.T, file *transcript.File) {
		lines := file.Script(t)
		whole := play(t, lines, Position{}, true)
		want := content(t, whole)
		for _, at := range idOf.FindAllStringSubmatchIndex(whole, -1) {
			end := at[0] + strings.Index(whole[at[0]:], "\n\n") + 2
			from, ok := ParsePosition(whole[at[2]:at[3]], "conv_1")
			if !ok {
				t.Fatalf("%s is no position", whole[at[2]:at[3]])
			}
			for _, live := range []bool{true, false} {
				cuts++
				rest := play(t, lines, from, live)
				got := content(t, whole[:end]+rest)
				if !live { // an interrupted step is only shown while it grows
					got, want := strings.ReplaceAll(got, "Now it", ""), strings.ReplaceAll(want, "Now it", "")
					if got != want {
						t.Errorf("after %v, from the log: got\n%s\nwant\n%s", from, got, want)
					}
				} else if got != want {
					t.Errorf("after %v: got\n%s\nwant\n%s", from, got, want)
				}
			}
		}
	})
	if cuts < 30 {
		t.Errorf("only %d cuts were tried", cuts)
	}
}

func TestFailIsNoEvent(t *testing.T) {
	enc := NewEncoder(options())
	out := string(enc.Fail(nil, footnote.Errorf(footnote.ModelUnavailable, "The server is shutting down.")))
	if strings.Contains(out, "id:") || strings.Contains(out, "done") ||
		!strings.Contains(out, `"code":"model_unavailable"`) || !enc.Done() {
		t.Errorf("got %s", out)
	}
}
