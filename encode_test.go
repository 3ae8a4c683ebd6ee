package footnote_test

import (
	"bytes"
	"encoding/json"
	"math"
	"testing"
	"time"

	"github.com/footnotehq/footnote"
)

// reflected returns the JSON of a body as encoding/json writes it, or nil.
func reflected(b footnote.Body) []byte {
	var buf bytes.Buffer
	enc := json.NewEncoder(&buf)
	enc.SetEscapeHTML(false)
	if enc.Encode(b) != nil {
		return nil
	}
	return bytes.TrimSuffix(buf.Bytes(), []byte("\n"))
}

func same(t *testing.T, b footnote.Body) {
	t.Helper()
	_, got, err := footnote.EncodeBody(b)
	if want := reflected(b); !bytes.Equal(got, want) || (err != nil) != (want == nil) {
		t.Errorf("%s: %s, %v; want %s", footnote.KindOf(b), got, err, want)
	}
}

// TestBodiesAreWrittenAsEncodingJSONDoes compares both encoders on full, empty and unusual bodies.
func TestBodiesAreWrittenAsEncodingJSONDoes(t *testing.T) {
	all := make([]byte, 256)
	for i := range all {
		all[i] = byte(i)
	}
	odd := string(all) + "\u2027\u2028\u2029\u202a<a> & é 😀 \xed\xa0\x80 \\ \" end\xe2\x80"
	usage := footnote.Usage{
		Input: 1, CacheWrite5m: 2, CacheWrite1h: 3, CacheRead: 4, Output: 5, Thinking: 6, Searches: 7, Estimated: true,
	}
	cost := footnote.Cost{MicroUSD: 8, Unpriced: true}
	row := 0
	for _, b := range []footnote.Body{
		footnote.Opened{}, footnote.Opened{
			Assistant: odd, Model: "m", Tier: "t", Effort: "e", Sources: []string{"a", odd}, System: "s", Tools: "t",
		},
		footnote.UserMessage{}, footnote.UserMessage{
			Text: odd, Context: odd, ID: odd, Where: json.RawMessage(`{"a": 1}`),
		},
		footnote.Imported{}, footnote.Imported{
			Turns: []footnote.TextTurn{},
		}, footnote.Imported{Turns: []footnote.TextTurn{{Role: "user", Text: odd}, {}}},
		footnote.AssistantMessage{}, footnote.AssistantMessage{Blocks: []json.RawMessage{}},
		footnote.AssistantMessage{Step: 1, Upstream: odd, Request: "r", Model: "m", StopReason: "s", Usage: usage,
			Cost: cost, Blocks: []json.RawMessage{
				json.RawMessage(`{"type":"text","text":"a \" \\ \/\n<b> é"}`),
				json.RawMessage(`{"type":"text","text":"\u0041"}`), json.RawMessage(` { "type" : [ 1.50 , "a b" ] } `),
				nil,
				json.RawMessage(`{"type":"text","text":"a","citations":"x"}`)}},
		footnote.AssistantMessage{Blocks: []json.RawMessage{json.RawMessage(`{"type":"text","text":"\x"}`)}},
		footnote.AssistantMessage{Blocks: []json.RawMessage{json.RawMessage(`{"type":"text","text":"a\"}`)}},
		footnote.AssistantMessage{Blocks: []json.RawMessage{json.RawMessage("{\"type\":\"text\",\"text\":\"\n\"}")}},
		footnote.AssistantMessage{Blocks: []json.RawMessage{{}}},
		footnote.AssistantMessage{Millis: 7, Tools: map[string]footnote.CalledTool{
			"b": {Label: odd, Family: "f"}, odd: {Label: "l"}, "a": {Family: "f"}, "c": {},
		}},
		footnote.ToolResult{}, footnote.ToolResult{Chart: json.RawMessage{}, Detail: json.RawMessage(`{`)},
		footnote.ToolResult{CallID: odd, Name: "n", Content: odd, IsError: true, Fault: "f", Millis: -3, CacheHit: true,
			Chart:  json.RawMessage(`{"a": 1}`),
			Detail: json.RawMessage(`null`), By: "b", Told: "t", RanAt: time.Date(2026, 1, 2, 3, 4, 5, 6000, time.UTC),
			Result: &footnote.StoredResult{ID: "r1", Source: "s", SQL: odd, RowCount: 3, Truncated: true,
				Columns: []footnote.Column{{Name: odd, Kind: "k"}, {}},
				Chunks:  []footnote.Chunk{{Digest: "d", Rows: 2}, {}}}},
		footnote.ToolResult{
			RanAt: time.Date(2026, 1, 2, 3, 4, 5, 0, time.FixedZone("x", 3600)),
		}, footnote.ToolResult{RanAt: time.Date(2026, 1, 2, 3, 4, 5, 120_000_000, time.UTC)},
		footnote.ToolResult{Cost: footnote.Cost{MicroUSD: 5, Unpriced: true}, By: "server"},
		footnote.ToolResult{
			Result: &footnote.StoredResult{Columns: []footnote.Column{}, Chunks: []footnote.Chunk{}},
		}, footnote.ToolResult{Result: &footnote.StoredResult{}},
		footnote.RunStarted{}, footnote.RunStarted{
			Protocol: "d", OnDisconnect: "c", RequestID: odd, Unattended: true, Roles: []string{"a", "b"}, MaxTokens: 9,
		},
		footnote.RunStarted{Attributes: map[string]string{"b": odd, "a": ""}},
		footnote.RunFinished{}, footnote.RunFinished{
			Reason: odd, Steps: -1, Usage: usage, Cost: cost, Millis: math.MaxInt64,
		},
		footnote.Answered{}, footnote.Answered{Cites: []footnote.Cite{}, Unresolved: []footnote.Unresolved{}},
		footnote.Answered{Text: odd, Chart: json.RawMessage(`{ }`), Cites: []footnote.Cite{
			{
				Start: 1, End: 2, Text: odd, Result: "r", Row: &row, Column: odd, Formula: "f", Value: "v",
				Confidence: 0.85,
			}, {Confidence: 1}, {Confidence: -0.1}},
			Unresolved: []footnote.Unresolved{{Start: 1, End: 2, Text: odd, Reason: odd}, {}}},
		footnote.Answered{
			Cites: []footnote.Cite{{Confidence: 1e-7}},
		}, footnote.Answered{
			Cites: []footnote.Cite{{Confidence: 1e22}},
		}, footnote.Answered{Cites: []footnote.Cite{{Confidence: math.NaN()}}},
		footnote.Titled{}, footnote.Titled{Title: odd, Auto: true, Usage: usage, Cost: cost},
		footnote.Titled{
			Title: odd, Usage: usage, Model: odd, Millis: 3,
		}, footnote.Titled{Usage: footnote.Usage{Estimated: true}},
	} {
		same(t, b)
	}
}

func FuzzBodiesAreWrittenAsEncodingJSONDoes(f *testing.F) {
	f.Add("a \u2028 \xff", []byte(`{"type":"text","text":"\n"}`))
	f.Fuzz(func(t *testing.T, text string, raw []byte) {
		same(t, footnote.UserMessage{Text: text, ID: text})
		same(t, footnote.AssistantMessage{Blocks: []json.RawMessage{raw}})
		same(t, footnote.AssistantMessage{Blocks: []json.RawMessage{[]byte(`{"type":"text","text":"` + text + `"}`)}})
	})
}

// BenchmarkEncodeBody encodes the events at the end of a short answer.
func BenchmarkEncodeBody(b *testing.B) {
	text := bytes.Repeat([]byte("Orders grew by 12 % in May. "), 10)
	bodies := []footnote.Body{
		footnote.AssistantMessage{
			Step: 1, Model: "m",
			Blocks:     []json.RawMessage{append(append([]byte(`{"type":"text","text":"`), text...), `"}`...)},
			StopReason: "end_turn",
		},
		footnote.Answered{
			Text:       string(text),
			Cites:      []footnote.Cite{},
			Unresolved: make([]footnote.Unresolved, 10),
		}, footnote.RunFinished{Reason: "end_turn"},
	}
	b.ReportAllocs()
	for b.Loop() {
		for _, body := range bodies {
			if _, _, err := footnote.EncodeBody(body); err != nil {
				b.Fatal(err)
			}
		}
	}
}
