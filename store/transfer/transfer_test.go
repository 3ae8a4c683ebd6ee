package transfer_test

import (
	"bytes"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/footnotehq/footnote"
	"github.com/footnotehq/footnote/internal/pgtest"
	"github.com/footnotehq/footnote/store"
	"github.com/footnotehq/footnote/store/postgres"
	"github.com/footnotehq/footnote/store/sqlite"
	"github.com/footnotehq/footnote/store/transfer"
)

func TestMain(m *testing.M) { os.Exit(pgtest.Run(m)) }

func file(t *testing.T) store.Movable {
	t.Helper()
	s, err := sqlite.Open(t.Context(), filepath.Join(t.TempDir(), "footnote.db"), sqlite.Options{})
	return closing(t, s, err)
}

func database(t *testing.T) store.Movable {
	t.Helper()
	s, err := postgres.Open(t.Context(), pgtest.Database(t), postgres.Options{})
	return closing(t, s, err)
}

func closing(t *testing.T, s store.Movable, err error) store.Movable {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := s.Close(); err != nil {
			t.Error(err)
		}
	})
	return s
}

// fill writes conversations with every kind of content.
func fill(t *testing.T, s store.Store, n int) {
	t.Helper()
	for i := range n {
		rows := fmt.Appendf(nil, "[[%d,\"\u2028<b>\"]]", i)
		st := store.Stream{
			ID: fmt.Sprintf("conv_%03d", i), Kind: store.Conversation, Org: "o", User: "ünï",
			ClientID: fmt.Sprintf("c%d", i), Assistant: "analyst",
		}
		bodies := []footnote.Body{
			footnote.Opened{
				Assistant: "analyst",
				Model:     "m",
				System:    footnote.DigestOf([]byte("[]")),
			}, footnote.Titled{Title: "Title <" + strings.Repeat("ä", i) + ">"},
			footnote.UserMessage{Text: "How many\u2028\x00?"}, footnote.RunStarted{Protocol: "x"},
			footnote.ToolResult{
				CallID: "t", Name: "q", Content: string(rows),
				Result: &footnote.StoredResult{
					ID:       "r1",
					RowCount: 1,
					Chunks:   []footnote.Chunk{{Digest: footnote.DigestOf(rows), Rows: 1}},
				},
			},
			footnote.Answered{
				Text: "1 & 2",
			}, footnote.RunFinished{Reason: "end_turn"}, footnote.Feedback{Seq: 6, Good: true, Words: "</script>"},
		}
		blobs := map[footnote.Digest][]byte{
			footnote.DigestOf([]byte("[]")):   []byte("[]"),
			footnote.DigestOf(rows):           rows,
			footnote.DigestOf([]byte{0, 255}): {0, 255},
		}
		if _, err := s.CreateAppend(t.Context(), st, store.Append{Run: "r", Bodies: bodies, Blobs: blobs}); err != nil {
			t.Fatal(err)
		}
	}
	if _, err := s.CreateAppend(t.Context(), store.Stream{
		ID: "acct", Kind: "account", Org: "p", User: "u",
	}, store.Append{Bodies: []footnote.Body{footnote.Spent{Model: "m"}}}); err != nil {
		t.Fatal(err)
	}
}

func noProgress(int, int64) {}

func export(t *testing.T, s store.Movable) []byte {
	t.Helper()
	var out bytes.Buffer
	if _, err := transfer.Export(t.Context(), s, &out, "", noProgress); err != nil {
		t.Fatal(err)
	}
	return out.Bytes()
}

// TestRoundTrip moves conversations from a file to a database and back. The two exports must have the same bytes.
func TestRoundTrip(t *testing.T) {
	one, two, three := file(t), database(t), file(t)
	fill(t, one, 5)
	first := export(t, one)
	for i, s := range []store.Movable{two, three} {
		n, err := transfer.Import(t.Context(), s, bytes.NewReader(first), noProgress)
		if err != nil || n.Streams != 6 || n.There != 0 {
			t.Fatalf("%d: %+v, %v", i, n, err)
		}
		if again := export(t, s); !bytes.Equal(again, first) {
			t.Errorf("export %d differs:\n%s\nwant\n%s", i, again, first)
		}
		if n, err = transfer.Import(t.Context(), s, bytes.NewReader(first), noProgress); err != nil || n.Streams != 0 ||
			n.There != 6 {
			t.Errorf("%d: once more: %+v, %v", i, n, err)
		}
	}
	if n, err := transfer.Export(t.Context(), one, new(bytes.Buffer), "p", noProgress); err != nil || n.Streams != 1 {
		t.Errorf("of one org: %+v, %v", n, err)
	}
}

// TestCutFileCanBeImportedAgain cuts a file after each of its lines. Only complete streams may be imported, and
// importing the whole file must add the others.
func TestCutFileCanBeImportedAgain(t *testing.T) {
	from := file(t)
	fill(t, from, 3)
	whole := export(t, from)
	to := file(t)
	for cut := range whole {
		if whole[cut] != '\n' || cut == len(whole)-1 {
			continue
		}
		if _, err := transfer.Import(t.Context(), to, bytes.NewReader(whole[:cut+1]),
			noProgress); footnote.CodeOf(err) != footnote.InvalidRequest {
			t.Fatalf("after %d bytes: %v", cut, err)
		}
		heads, err := to.Walk(t.Context(), "", 10)
		if err != nil {
			t.Fatal(err)
		}
		for _, h := range heads {
			if want := int64(8); h.Kind == store.Conversation && h.Last != want {
				t.Fatalf("%s was imported partly: %+v", h.ID, h)
			}
		}
	}
	if _, err := transfer.Import(t.Context(), to, bytes.NewReader(whole), noProgress); err != nil {
		t.Error(err)
	}
	if got := export(t, to); !bytes.Equal(got, whole) {
		t.Error("the exports differ")
	}
}

func TestDamagedFiles(t *testing.T) {
	from := file(t)
	fill(t, from, 2)
	whole := string(export(t, from))
	for name, text := range map[string]string{
		"another text":  strings.Replace(whole, "How many", "How much", 1),
		"another blob":  strings.Replace(whole, `"data":"AP8="`, `"data":"AP4="`, 1),
		"an event less": withoutLine(whole, `"kind":"feedback"`),
		"a stream less": withoutLine(whole, `"id":"acct"`),
		"the last sum": strings.Replace(whole, `{"done":{"streams":3,"sha256":"`,
			`{"done":{"streams":3,"sha256":"0`, 1),
		"no export":                 "{}\n",
		"no JSON":                   "x\n",
		"another version":           strings.Replace(whole, `{"footnote_export":1}`, `{"footnote_export":2}`, 1),
		"an unknown key":            strings.Replace(whole, `{"footnote_export":1}`, `{"footnote_export":1,"x":1}`, 1),
		"an event without a stream": "{\"footnote_export\":1}\n{\"event\":{\"seq\":1}}\n",
		"nothing":                   "",
	} {
		to := file(t)
		if _, err := transfer.Import(t.Context(), to, strings.NewReader(text),
			noProgress); footnote.CodeOf(err) != footnote.InvalidRequest {
			t.Errorf("%s: %v", name, err)
		}
	}
	to := file(t)
	fill(t, to, 1) // the same id, written at another time
	if _, err := transfer.Import(t.Context(), to, strings.NewReader(whole),
		noProgress); footnote.CodeOf(err) != footnote.Conflict {
		t.Errorf("over another: %v", err)
	}
}

func withoutLine(text, words string) string {
	at := strings.Index(text, words)
	from := strings.LastIndexByte(text[:at], '\n') + 1
	return text[:from] + text[at+strings.IndexByte(text[at:], '\n')+1:]
}

func TestMessages(t *testing.T) {
	s := file(t)
	frame := transfer.Frame{
		Assistant: "analyst", Choice: footnote.Choice{Model: "m"}, Org: "o", User: "u",
		System: []byte(`[]`), Tools: []byte(`[]`),
		Now: func() time.Time { return time.Unix(1e9, 0).UTC() },
	}
	text := `{"id":"one","title":"Sales","messages":[{"role":"user","content":"How many?"},{"role":"assistant","content":[{"type":"text","text":"I look."},{"type":"tool_use","id":"t1","name":"search","input":{"q":1}}]},{"role":"user","content":[{"type":"tool_result","tool_use_id":"t1","content":[{"type":"text","text":"42"}]}]},{"role":"assistant","content":"42."},{"role":"user","content":"And now?"},{"role":"assistant","content":"43."}]}

{"messages":[]}
not json
{"messages":[{"role":"assistant","content":"Hi"}]}
{"messages":[{"role":"user","content":[{"type":"image","source":{}}]}]}
{"messages":[{"role":"user","content":[{"type":"tool_result","tool_use_id":"t9","content":"x"}]}]}
{"messages":[{"role":"user","content":"No id"}]}
`
	var bad []int
	report := func(line int, _ error) { bad = append(bad, line) }
	for _, want := range []transfer.Count{{Streams: 2}, {There: 2}} {
		bad = nil
		n, err := transfer.Messages(t.Context(), s, strings.NewReader(text), frame, report)
		if err != nil || n != want || fmt.Sprint(bad) != "[3 4 5 6 7]" {
			t.Errorf("%+v, %v, bad are %v; want %+v", n, err, bad, want)
		}
	}
	head, err := s.Find(t.Context(), "o", "u", store.Conversation, "one")
	if err != nil || head.Title != "Sales" || head.RunState != "" {
		t.Fatalf("head: %+v, %v", head, err)
	}
	kinds := ""
	for ev, err := range s.Events(t.Context(), head.ID, 0) {
		if err != nil {
			t.Fatal(err)
		}
		kinds += footnote.KindOf(ev.Body) + " "
	}
	if want := "opened titled user_message run_started assistant_message tool_result assistant_message answered " +
		"run_finished user_message run_started assistant_message answered run_finished "; kinds != want {
		t.Errorf("the events are %s", kinds)
	}
}
