package claude

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"maps"
	"slices"
	"strings"
	"testing"
	"testing/iotest"
	"unicode/utf8"

	"github.com/footnotehq/footnote"
	"github.com/footnotehq/footnote/model"
)

// transcript contains everything that a stream may contain.
const transcript = `event: message_start
data: {"type":"message_start","message":{"id":"msg_A","type":"message","role":"assistant","model":"claude-sonnet-5-5","content":[],"stop_reason":null,"usage":{"input_tokens":31,"cache_creation_input_tokens":30,"cache_creation":{"ephemeral_5m_input_tokens":10,"ephemeral_1h_input_tokens":20},"cache_read_input_tokens":4096,"output_tokens":2}}}

: a comment

event: content_block_start
data: {"type":"content_block_start","index":0,"content_block":{"type":"thinking","thinking":"","signature":""}}

event: ping
data: {"type": "ping"}

event: content_block_delta
data: {"type":"content_block_delta","index":0,"delta":{"type":"thinking_delta","thinking":"I \u003cneed\u003e it"}}

event: content_block_delta
data: {"type":"content_block_delta","index":0,"delta":{"type":"thinking_delta","thinking":" now","estimated_tokens":3}}

event: content_block_delta
data: {"type":"content_block_delta","index":0,"delta":{"type":"signature_delta","signature":"EqQB/+="}}

event: content_block_stop
data: {"type":"content_block_stop","index":0}

event: content_block_start
data: {"type":"content_block_start","index":1,"content_block":{"type":"redacted_thinking","data":"opaque=="}}

event: content_block_stop
data: {"type":"content_block_stop","index":1}

event: content_block_start
data: {"type":"content_block_start","index":2,"content_block":{"type":"text","text":"","citations":[]}}

event: content_block_delta
data: {"type":"content_block_delta","index":2,"delta":{"type":"citations_delta","citation":{"type":"web_search_result_location","url":"u", "cited_text":"c"}}}

event: content_block_delta
data: {"type":"content_block_delta","index":2,"delta":{"type":"text_delta","text":"Umsätze \ud83d"}       }

event: content_block_delta
data: {"type":"content_block_delta","index":2,"delta":{"type":"text_delta","text":"\udcc8 und \ud83d\udcc8 \"mehr\"\n\\"}}

event: content_block_delta
data: {"type": "content_block_delta", "index": 2, "delta": {"type": "text_delta", "text": " 📈 spaced \ud83d"}}

event: content_block_delta
data: {"delta":{"text":" sorted","type":"text_delta"},"index":2,"type":"content_block_delta"}

event: content_block_delta
data: {"type":"content_block_delta","index":2,"delta":{"type":"future_delta","text":"never"}}

event: brand_new
data: {"type":"brand_new","index":"a string, here"}

event: content_block_stop
data: {"type":"content_block_stop","index":2}

event: content_block_start
data: {"type":"content_block_start","index":3,"content_block":{"type":"tool_use","id":"toolu_1","name":"run_query","input":{},"caller":{"type":"direct"}}}

event: content_block_start
data: {"type":"content_block_start","index":4,"content_block":{"type":"server_tool_use","id":"srvtoolu_1","name":"web_search","input":{}}}

event: content_block_delta
data: {"type":"content_block_delta","index":3,"delta":{"type":"input_json_delta","partial_json":""}}

event: content_block_delta
data: {"type":"content_block_delta","index":4,"delta":{"type":"input_json_delta","partial_json":"{\"query\":"}}

event: content_block_delta
data: {"type":"content_block_delta","index":3,"delta":{"type":"input_json_delta","partial_json":"{\"sql\": \"sel"}}

event: content_block_delta
data: {"type":"content_block_delta","index":4,"delta":{"type":"input_json_delta","partial_json":" \"q\"}"}}

event: content_block_delta
data: {"type":"content_block_delta","index":3,"delta":{"type":"input_json_delta","partial_json":"ect 1\"}"}}

event: content_block_stop
data: {"type":"content_block_stop","index":4}

event: content_block_stop
data: {"type":"content_block_stop","index":3}

event: content_block_start
data: {"type":"content_block_start","index":5,"content_block":{"type":"future_block","list":[1, 2.50, {"a": "\u00e9"}]}}

event: content_block_stop
data: {"type":"content_block_stop","index":5}

event: message_delta
data: {"type":"message_delta","delta":{"stop_reason":"tool_use","stop_sequence":null},"usage":{"output_tokens":50,"input_tokens":null,"cache_read_input_tokens":5000}}

event: message_delta
data: {"type":"message_delta",
data: "delta":{},"usage":{"output_tokens":88,"output_tokens_details":{"thinking_tokens":20},"server_tool_use":{"web_search_requests":1}}}

event: message_stop
data: {"type":"message_stop"}

`

var transcriptBlocks = []string{
	`{"type":"thinking","thinking":"I \u003cneed\u003e it now","signature":"EqQB/+="}`,
	`{"type":"redacted_thinking","data":"opaque=="}`,
	`{"type":"text","text":"Umsätze \ud83d\udcc8 und \ud83d\udcc8 \"mehr\"\n\\ 📈 spaced \ufffd ` +
		`sorted","citations":[{"type":"web_search_result_location","url":"u","cited_text":"c"}]}`,
	`{"type":"tool_use","id":"toolu_1","name":"run_query","input":{"sql":"select 1"},"caller":{"type":"direct"}}`,
	`{"type":"server_tool_use","id":"srvtoolu_1","name":"web_search","input":{"query":"q"}}`,
	`{"type":"future_block","list":[1,2.50,{"a":"\u00e9"}]}`,
}

func nothing() {}

func checkTranscript(t *testing.T, where string, r *reader, live *recorder, err error) {
	t.Helper()
	if err != nil {
		t.Fatalf("%s: %v", where, err)
	}
	for i, b := range r.msg.blocks {
		if string(b.done) != transcriptBlocks[i] {
			t.Fatalf("%s: block %d = %s, want %s", where, i, b.done, transcriptBlocks[i])
		}
	}
	want := map[int]string{
		0: `I \u003cneed\u003e it now`,
		2: `Umsätze \ud83d\udcc8 und \ud83d\udcc8 \"mehr\"\n\\ 📈 spaced \ufffd sorted`,
		3: `{\"sql\": \"select 1\"}`,
	}
	if !maps.Equal(live.text, want) || len(live.bad) > 0 ||
		!slices.Equal(live.kinds, []string{"0:thinking", "2:text", "3:tool_use"}) {
		t.Fatalf("%s: live %+v", where, live)
	}
	usage := footnote.Usage{
		Input: 31, CacheWrite5m: 10, CacheWrite1h: 20, CacheRead: 5000, Output: 88, Thinking: 20, Searches: 1,
	}
	if got := r.msg.total(1000); got != usage || r.msg.stop != model.ToolUse || r.msg.id != "msg_A" ||
		r.msg.model != "claude-sonnet-5-5" {
		t.Fatalf("%s: usage %+v, message %+v", where, got, r.msg)
	}
}

func TestTranscript(t *testing.T) {
	for name, text := range map[string]string{
		"LF":                 transcript,
		"CRLF":               strings.ReplaceAll(transcript, "\n", "\r\n"),
		"no last blank line": strings.TrimRight(transcript, "\n"),
	} {
		live := &recorder{}
		r := newReader(live)
		err := r.run(strings.NewReader(text), nothing)
		checkTranscript(t, name, r, live, err)
		live = &recorder{}
		r = newReader(live)
		err = r.run(iotest.OneByteReader(strings.NewReader(text)), nothing)
		checkTranscript(t, name+", byte by byte", r, live, err)
		live = &recorder{}
		r = newReader(live)
		err = r.run(iotest.DataErrReader(strings.NewReader(text)), nothing)
		checkTranscript(t, name+", end with data", r, live, err)
	}
}

// TestStreamSplitAnywhere checks that the message is the same wherever the network splits the bytes, and that there is
// one flush for each read that had something to show.
func TestStreamSplitAnywhere(t *testing.T) {
	for i := 1; i < len(transcript); i++ {
		live := &recorder{}
		r := newReader(live)
		r.buf = make([]byte, len(transcript)) // so that the buffer does not split a read
		err := r.run(io.MultiReader(strings.NewReader(transcript[:i]), strings.NewReader(transcript[i:])), nothing)
		checkTranscript(t, transcript[max(0, i-30):i]+"|", r, live, err)
		if live.flushes > 2 {
			t.Fatalf("split at %d: %d flushes", i, live.flushes)
		}
	}
}

// TestSmallBuffersGrow checks that small buffers grow and move their contents.
func TestSmallBuffersGrow(t *testing.T) {
	for size := 1; size < 600; size += 7 {
		live := &recorder{}
		r := newReader(live)
		r.buf = make([]byte, size)
		err := r.run(strings.NewReader(transcript), nothing)
		checkTranscript(t, "small buffer", r, live, err)
	}
}

// TestStreamCutAnywhereFails checks that a stream that ends anywhere before message_stop is an error, never a message.
func TestStreamCutAnywhereFails(t *testing.T) {
	last := strings.LastIndex(transcript, `{"type":"message_stop"}`) + len(`{"type":"message_stop"}`)
	for i := range last {
		r := newReader(&recorder{})
		err := r.run(strings.NewReader(transcript[:i]), nothing)
		if e, ok := errors.AsType[*streamError](err); !ok || e.kind != cutShort && e.kind != malformed {
			t.Fatalf("cut at %d: %v", i, err)
		}
		if text := r.msg.partial(); !utf8.ValidString(text) {
			t.Fatalf("cut at %d: partial %q", i, text)
		}
	}
}

func sse(data ...string) string {
	var b strings.Builder
	for _, d := range data {
		b.WriteString("data: " + d + "\n\n")
	}
	return b.String()
}

const (
	startText = `{"type":"content_block_start","index":0,"content_block":{"type":"text","text":""}}`
	startTool = `{"type":"content_block_start","index":0,"content_block":{"type":"tool_use","id":"t","name":"n",` +
		`"input":{}}}`
	stopBlock = `{"type":"content_block_stop","index":0}`
	stopAll   = `{"type":"message_stop"}`
)

func fragment(s string) string {
	raw, _ := json.Marshal(s)
	return `{"type":"content_block_delta","index":0,"delta":{"type":"input_json_delta","partial_json":` + string(raw) +
		`}}`
}

func textEvent(inside string) string {
	return `{"type":"content_block_delta","index":0,"delta":{"type":"text_delta","text":"` + inside + `"}}`
}

func TestBlocks(t *testing.T) {
	for _, tc := range []struct{ name, stream, want string }{
		{
			"cut input", sse(startTool, fragment(`{"sql":"sel`), stopBlock, stopAll),
			`{"type":"tool_use","id":"t","name":"n","input":{"INVALID_JSON":"{\"sql\":\"sel"}}`,
		},
		{
			"cut input without stop", sse(startTool, fragment(`{"sql":"sel`), stopAll),
			`{"type":"tool_use","id":"t","name":"n","input":{"INVALID_JSON":"{\"sql\":\"sel"}}`,
		},
		{
			"input that is not an object", sse(startTool, fragment(`[1]`), stopBlock, stopAll),
			`{"type":"tool_use","id":"t","name":"n","input":{"INVALID_JSON":"[1]"}}`,
		},
		{
			"two inputs", sse(startTool, fragment(`{}{}`), stopBlock, stopAll),
			`{"type":"tool_use","id":"t","name":"n","input":{"INVALID_JSON":"{}{}"}}`,
		},
		{
			"blank input", sse(startTool, fragment(`  `), stopBlock, stopAll),
			`{"type":"tool_use","id":"t","name":"n","input":{}}`,
		},
		{
			"line breaks in input", sse(startTool, fragment("{\n \"a\": 1\n}"), stopBlock, stopAll),
			`{"type":"tool_use","id":"t","name":"n","input":{"a":1}}`,
		},
		{"empty text", sse(startText, stopBlock, stopAll), `{"type":"text","text":""}`},
		{
			"text in the start",
			sse(`{"type":"content_block_start","index":0,"content_block":{"type":"text","text":"so "}}`,
				textEvent("on"), stopBlock, stopAll), `{"type":"text","text":"so on"}`,
		},
		{
			"odd index", sse(strings.Replace(startText, `"index":0`, `"index":7`, 1),
				strings.Replace(textEvent("x"), `"index":0`, `"index":7`, 1), stopAll), `{"type":"text","text":"x"}`,
		},
		{
			"low half alone", sse(startText, textEvent(`a\udcc8b`), stopBlock, stopAll),
			`{"type":"text","text":"a\ufffdb"}`,
		},
		{
			"high half at the end", sse(startText, textEvent(`a\ud83d`), stopBlock, stopAll),
			`{"type":"text","text":"a\ufffd"}`,
		},
		{
			"high halves in a row",
			sse(startText, textEvent(`\ud83d`), textEvent(`\ud83d`), textEvent(`\udcc8`), stopBlock, stopAll),
			`{"type":"text","text":"\ufffd\ud83d\udcc8"}`,
		},
		{
			"invalid UTF-8", sse(startText, textEvent("a\xffb\xc3"), stopBlock, stopAll),
			`{"type":"text","text":"a\ufffdb\ufffd"}`,
		},
		{
			"null text", sse(startText,
				`{"type":"content_block_delta","index":0,"delta":{"type":"text_delta","text":null}}`, stopAll),
			`{"type":"text","text":""}`,
		},
		{
			"end mark of another protocol", sse(startText, textEvent("x"), "[DONE]", stopAll),
			`{"type":"text","text":"x"}`,
		},
		{
			"type only in the event line",
			"event: content_block_start\ndata: " +
				"{\"index\":0,\"content_block\":{\"type\":\"text\",\"text\":\"y\"}}\n\nevent: message_stop\ndata: " +
				"{}\n\n", `{"type":"text","text":"y"}`,
		},
	} {
		live := &recorder{}
		r := newReader(live)
		err := r.run(strings.NewReader(tc.stream), nothing)
		if err != nil || len(r.msg.blocks) != 1 || string(r.msg.blocks[0].done) != tc.want || len(live.bad) > 0 ||
			live.open[0] {
			t.Errorf("%s: %v %s, want %s; live %+v", tc.name, err, r.msg.blocks[0].done, tc.want, live)
		}
	}
}

func TestBrokenStreams(t *testing.T) {
	for name, tc := range map[string]struct{ stream, kind string }{
		"delta without a block": {sse(textEvent("x"), stopAll), malformed},
		"delta after the stop":  {sse(startText, stopBlock, textEvent("x"), stopAll), malformed},
		"block twice":           {sse(startText, startText, stopAll), malformed},
		"block that is not an object": {
			sse(`{"type":"content_block_start","index":0,"content_block":[]}`, stopAll), malformed,
		},
		"not JSON":               {sse(`{"type":"content`), malformed},
		"bad escape":             {sse(startText, textEvent(`a\x`)), malformed},
		"control character":      {sse(startText, textEvent("a\x01")), malformed},
		"error without a reason": {sse(`{"type":"error"}`), reported},
		"nothing":                {"", cutShort},
	} {
		err := newReader(&recorder{}).run(strings.NewReader(tc.stream), nothing)
		if e, ok := errors.AsType[*streamError](err); !ok || e.kind != tc.kind {
			t.Errorf("%s: %v, want kind %s", name, err, tc.kind)
		}
	}
}

// endless repeats a text forever.
type endless struct {
	text []byte
	at   int
}

func (e *endless) Read(p []byte) (n int, err error) {
	for n < len(p) {
		c := copy(p[n:], e.text[e.at:])
		e.at = (e.at + c) % len(e.text)
		n += c
	}
	return n, nil
}

// TestSizeLimits checks the size limits of an event and of a message.
func TestSizeLimits(t *testing.T) {
	line := io.MultiReader(strings.NewReader("data: "), &endless{text: bytes.Repeat([]byte("x"), 1<<20)})
	big := sse(startText) + "data: " + textEvent(strings.Repeat("x", 1<<20)) + "\n\n"
	rest := "data: " + textEvent(strings.Repeat("x", 1<<20)) + "\n\n"
	for name, body := range map[string]io.Reader{
		"event": line, "message": io.MultiReader(strings.NewReader(big), &endless{text: []byte(rest)}),
	} {
		err := newReader(&silent{}).run(body, nothing)
		if e, ok := errors.AsType[*streamError](err); !ok || e.kind != oversized {
			t.Errorf("%s: %v", name, err)
		}
	}
}

// TestLargeEvent checks that a single large event is read completely.
func TestLargeEvent(t *testing.T) {
	text := strings.Repeat("0123456789", 200_000)
	r := newReader(&silent{})
	if err := r.run(strings.NewReader(sse(startText, textEvent(text), stopAll)), nothing); err != nil ||
		len(r.msg.blocks[0].text) != len(text) {
		t.Errorf("large event: %v", err)
	}
}

// decoded decodes a string as encoding/json does, with one exception: each unpaired surrogate becomes one
// replacement character.
func decoded(t *testing.T, inside []byte) string {
	t.Helper()
	var s string
	if err := json.Unmarshal(quoted(inside), &s); err != nil {
		t.Fatalf("%q: %v", inside, err)
	}
	return s
}

// FuzzScanDelta checks that the fast path agrees with encoding/json about every delta it accepts.
func FuzzScanDelta(f *testing.F) {
	for _, inside := range []string{
		"", "plain", `\"q\"`, `\ud83d\udcc8`, `\ud83d`, `\udcc8`, `\ud83d\ud83d\udcc8`, "\xff", "é", `\u00e9`, `\`,
		`\u12`, "\x01",
	} {
		f.Add([]byte(textEvent(inside)))
		f.Add([]byte(`{"type": "content_block_delta", "index": 3, "delta": {"type": "thinking_delta", "thinking": "` +
			inside + `"}}`))
	}
	f.Add([]byte(fragment(`{"a":1}`)))
	f.Add([]byte(`{"type":"content_block_delta","index":0,"delta":{"type":"text_delta","text":"x"}  } `))
	f.Add([]byte(`{"type":"content_block_delta","index":00,"delta":{"type":"text_delta","text":"x"}}`))
	f.Fuzz(func(t *testing.T, data []byte) {
		d, ok := scanDelta(data)
		if !ok {
			return
		}
		var e struct {
			Index json.Number
			Delta map[string]string
		}
		if err := json.Unmarshal(data, &e); err != nil {
			t.Fatalf("accepted %q: %v", data, err)
		}
		want := e.Delta["text"] + e.Delta["thinking"] + e.Delta["partial_json"]
		text := d.text
		if d.odd {
			text = repair(nil, text)
		}
		if got := decoded(t, text); got != want {
			t.Fatalf("%q: text %q, want %q", data, got, want)
		}
	})
}

// FuzzReader checks that no stream can crash the reader, make it show something that is not JSON text, or
// produce a block that is not JSON.
func FuzzReader(f *testing.F) {
	f.Add([]byte(transcript), 7)
	f.Add([]byte(sse(startTool, fragment(`{"sql":"sel`), stopBlock, stopAll)), 1)
	f.Add([]byte(sse(startText, textEvent(`\ud83d`), textEvent(`\ud83d\udcc8`), stopAll)), 3)
	f.Add([]byte("data: a\ndata: b\n\nevent: x\n\n"), 2)
	f.Add([]byte("event: error\ndata: {\"error\":{}}\n\n"), 100)
	f.Fuzz(func(t *testing.T, data []byte, chunk int) {
		live := &recorder{}
		r := newReader(live)
		r.buf = make([]byte, 64)
		err := r.run(&chunks{data, min(max(chunk, 1), 4096)}, nothing)
		if len(live.bad) > 0 {
			t.Fatalf("live: %v", live.bad)
		}
		whole := newReader(&recorder{})
		werr := whole.run(bytes.NewReader(data), nothing)
		if (err == nil) != (werr == nil) || len(r.msg.blocks) != len(whole.msg.blocks) {
			t.Fatalf("in pieces: %v, whole: %v", err, werr)
		}
		for i, b := range r.msg.blocks {
			if b.done != nil && !json.Valid(b.done) || !bytes.Equal(b.done, whole.msg.blocks[i].done) {
				t.Fatalf("block %d: %s, %s", i, b.done, whole.msg.blocks[i].done)
			}
			if shown := live.text[i]; err == nil && b.live && shown != string(b.text) && b.kind != model.ToolUseBlock {
				t.Fatalf("block %d: shown %q, kept %q", i, shown, b.text)
			}
		}
	})
}

// chunks returns data in pieces of n bytes.
type chunks struct {
	data []byte
	n    int
}

func (c *chunks) Read(p []byte) (int, error) {
	if len(c.data) == 0 {
		return 0, io.EOF
	}
	n := copy(p[:min(len(p), c.n)], c.data)
	c.data = c.data[n:]
	return n, nil
}

// TestPlainEventsInOtherSpellings checks that events mean the same in the spelling of a server that pads them with
// spaces.
func TestPlainEventsInOtherSpellings(t *testing.T) {
	plain := []string{
		`{"type":"message_start","message":{"id":"m","model":"x"}}`, `{"type":"ping"}`,
		`{"type":"content_block_start","index":0,"content_block":{"type":"text","text":""}}`,
		`{"type":"content_block_delta","index":0,"delta":{"type":"text_delta","text":"a"}}`,
		`{"type":"content_block_stop","index":0   }`,
		`{"type":"content_block_start","index":12,"content_block":{"type":"text","text":""}  }`,
		`{"type":"content_block_stop","index":12}`,
		`{"type":"message_stop"}`,
	}
	decoded := make([]string, len(plain))
	for i, event := range plain {
		decoded[i] = strings.ReplaceAll(strings.ReplaceAll(event, `,"`, `, "`), `{"type"`, `{ "type"`)
	}
	want := `[{"type":"text","text":"a"} {"type":"text","text":""}]`
	for _, events := range [][]string{plain, decoded} {
		live := &recorder{}
		r := newReader(live)
		if err := r.run(strings.NewReader(sse(events...)), nothing); err != nil {
			t.Fatal(err)
		}
		var blocks []string
		for _, b := range r.msg.blocks {
			blocks = append(blocks, string(b.done))
		}
		if got := fmt.Sprint(blocks); got != want {
			t.Errorf("blocks %s, want %s", got, want)
		}
	}
}
