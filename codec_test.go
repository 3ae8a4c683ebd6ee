package footnote_test

import (
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"reflect"
	"strings"
	"testing"
	"time"

	"github.com/footnotehq/footnote"
)

func TestEveryBodySurvivesTheCodec(t *testing.T) {
	for _, b := range []footnote.Body{
		footnote.Opened{Assistant: "a", Model: "m", Sources: []string{"s"}, System: "sha256:1", Tools: "sha256:2"},
		footnote.Opened{Assistant: "a", Model: "m", System: "sha256:1", Tools: "sha256:2", Context: "sha256:3"},
		footnote.UserMessage{Text: "<b> & é\x00", Context: "c", ID: "m", Where: json.RawMessage(`{"symbol":"EURUSD"}`)},
		footnote.Imported{Turns: []footnote.TextTurn{{Role: "user", Text: "x"}}},
		footnote.AssistantMessage{
			Step: 1, Model: "m", Blocks: []json.RawMessage{json.RawMessage(`{"type":"text","text":"<a> & 1.50"}`)},
			StopReason: "end_turn",
		},
		footnote.ToolResult{
			CallID: "c", Name: "n", Content: "x",
			Result: &footnote.StoredResult{ID: "r1", Columns: []footnote.Column{{Name: "a"}}},
		},
		footnote.ApprovalAsked{
			ApprovalID: "a",
			CallID:     "c",
		}, footnote.ApprovalGiven{ApprovalID: "a", CallID: "c", Approved: true},
		footnote.RunStarted{
			Protocol: "d",
		}, footnote.RunParked{
			Calls:    []string{"c"},
			Deadline: time.Unix(1, 0).UTC(),
		}, footnote.RunResumed{Attempt: 1, Reason: "answered"},
		footnote.RunFinished{
			Reason: "end_turn",
		}, footnote.RunFailed{Code: footnote.Internal}, footnote.RunStopped{By: "user"}, footnote.StepFailed{Step: 1},
		footnote.Segmented{
			FromSeq: 3,
		}, footnote.Rewound{ToSeq: 2}, footnote.Answered{Text: "x", Cites: []footnote.Cite{{Text: "1"}}},
		footnote.Titled{Title: "t"}, footnote.Feedback{Seq: 1, Good: true},
		footnote.QueryRun{
			Result: footnote.StoredResult{ID: "r2", Columns: []footnote.Column{{Name: "a"}}}, Replaces: "r1", By: "u",
			Millis: 3,
		}, footnote.DrawingChanged{ID: "d", By: "human"},
		footnote.WorkspaceChanged{
			Path: "a/b", Op: "write", Before: "sha256:1", After: "sha256:2", Size: 3, Kept: true, Diff: "-a\n+b\n",
			Tool: "Edit", Conversation: "c", CallID: "t",
		},
		footnote.Spent{Model: "m", Usage: footnote.Usage{Input: 1}, Cost: footnote.Cost{MicroUSD: 2}},
		footnote.Proposed{
			Name: "n", Query: "-- q\nSELECT 1", Test: "tests:", Source: "s", By: "u", Conversation: "c", Seq: 2,
			Fails: "f", Warnings: []string{"w"},
		},
		footnote.Reviewed{Proposal: 1, Approved: true, By: "v", Words: "w"},
	} {
		kind, data, err := footnote.EncodeBody(b)
		if err != nil || kind != footnote.KindOf(b) {
			t.Errorf("%T: %q, %v", b, kind, err)
			continue
		}
		got, err := footnote.DecodeBody(kind, data)
		if err != nil || !reflect.DeepEqual(got, b) {
			t.Errorf("%s: got %+v, %v; want %+v", kind, got, err, b)
		}
	}
	if _, err := footnote.DecodeBody("from_the_future", []byte(`{}`)); err == nil {
		t.Error("an unknown kind must not be skipped")
	}
	if _, _, err := footnote.EncodeBody(footnote.Answered{Chart: json.RawMessage(`{`)}); err == nil {
		t.Error("invalid JSON was accepted for storage")
	}
}

func TestCodesAndMessages(t *testing.T) {
	secret := errors.New("secret detail")
	wrapped := fmt.Errorf("ask: %w", &footnote.Error{Code: footnote.Conflict, Message: "It is busy.", Err: secret})
	if footnote.CodeOf(wrapped) != footnote.Conflict || footnote.MessageOf(wrapped) != "It is busy." ||
		!errors.Is(wrapped, secret) {
		t.Errorf("CodeOf(%v) = %q, message %q", wrapped, footnote.CodeOf(wrapped), footnote.MessageOf(wrapped))
	}
	if footnote.CodeOf(secret) != footnote.Internal || footnote.MessageOf(secret) == secret.Error() ||
		footnote.CodeOf(nil) != "" {
		t.Errorf("CodeOf(%v) = %q, message %q", secret, footnote.CodeOf(secret), footnote.MessageOf(secret))
	}
}

func TestCellsKeepTheirValues(t *testing.T) {
	columns := []footnote.Column{
		{Kind: footnote.KindInteger},
		{Kind: footnote.KindNumber},
		{Kind: footnote.KindDecimal},
		{Kind: footnote.KindText},
		{},
		{},
	}
	row := []any{int64(math.MinInt64), 2.0, "12345678901234567890.10", "<a> \u2028", nil, true}
	data := footnote.AppendRow([]byte{'['}, row)
	got, err := footnote.DecodeRows(append(data, ']'), columns)
	if err != nil || !reflect.DeepEqual(got, [][]any{row}) {
		t.Errorf("%s gives %#v, %v; want %#v", data, got, err, row)
	}
	for cell, want := range map[any]string{
		int64(1 << 53): "9007199254740992", int64(1<<53 + 1): `"9007199254740993"`, math.Inf(1): "null",
		struct{}{}: "null",
	} {
		if got := string(footnote.AppendCell(nil, cell)); got != want {
			t.Errorf("%v gives %s, want %s", cell, got, want)
		}
	}
}

// TestDecodeRows compares the decoder with encoding/json, and checks that it refuses what is not an array of rows.
func TestDecodeRows(t *testing.T) {
	columns := []footnote.Column{{Kind: footnote.KindInteger}, {Kind: footnote.KindNumber}, {Kind: footnote.KindText}}
	for data, want := range map[string][][]any{
		`[]`:                             {}, // not nil, which means that the rows are missing
		" [ [ 1 , 2 , \"a\" ] , [ ] ]\n": {{int64(1), 2.0, "a"}, {}},
		`[["9223372036854775807",-1.5e3,"\u00fc \"\\\/\n"],[null,null,null]]`: {
			{int64(math.MaxInt64), -1500.0, "ü \"\\/\n"}, {nil, nil, nil}},
		`[["x",1e999,"],["],[true,false,"",4,5.0]]`: {{"x", "1e999", "],["}, {true, false, "", int64(4), 5.0}},
	} {
		if got, err := footnote.DecodeRows([]byte(data), columns); err != nil || !reflect.DeepEqual(got, want) {
			t.Errorf("%s: %#v, %v; want %#v", data, got, err, want)
		}
	}
	odd := `[[1,{"a":2}],null,["9007199254740993",2,[1]]]`
	want := fmt.Sprint([][]any{{int64(1), map[string]any{"a": 2}}, nil, {int64(9007199254740993), 2.0, []any{1}}})
	if got, err := footnote.DecodeRows([]byte(odd), columns); err != nil || fmt.Sprint(got) != want {
		t.Errorf("%s: %v, %v; want %s", odd, got, err, want)
	}
	for _, data := range []string{
		``, `[`, `[[`, `[[1`, `[[1]`, `[[1,]]`, `[[1],]`, `[[1]]x`, `[1]`, `[["a]]`, `[["a\"]]`, `[["\x"]]`, `[[nul]]`,
		`[[Inf]]`, `[[0x1p4]]`, `[[{}]]`, `[[1 2]]`, `{}`, `[[--1]]`, `[["a\`,
	} {
		if err := footnote.EachRow([]byte(data), columns, func([]any, []byte) {}); err == nil {
			t.Errorf("%s is taken for rows", data)
		}
	}
}

// TestBlocksKeepTheirBytes checks that encoding leaves a message's blocks unchanged and replaces invalid UTF-8.
func TestBlocksKeepTheirBytes(t *testing.T) {
	block := `{"type":"text","text":"<a> & \u0041 \/ é 😀"}`
	for want, body := range map[string]footnote.Body{
		`"blocks":[` + block + `]`:     footnote.AssistantMessage{Blocks: []json.RawMessage{json.RawMessage(block)}},
		`"text":"<a> & \ufffd \u2028"`: footnote.UserMessage{Text: "<a> & \xff \u2028"},
	} {
		if _, got, err := footnote.EncodeBody(body); err != nil || !strings.Contains(string(got), want) {
			t.Errorf("%s, %v; want %s in it", got, err, want)
		}
	}
	for name, body := range map[string]footnote.Body{
		"not a number":   footnote.Answered{Cites: []footnote.Cite{{Confidence: math.NaN()}}},
		"a block is cut": footnote.AssistantMessage{Blocks: []json.RawMessage{[]byte(`{"type":`)}},
	} {
		if _, _, err := footnote.EncodeBody(body); err == nil {
			t.Errorf("%s: encoded", name)
		}
	}
}

// BenchmarkEncodeBody encodes the events at the end of a short answer, and of a long one.
func BenchmarkEncodeBody(b *testing.B) {
	for _, repeat := range []int{10, 4_000} {
		text := strings.Repeat("Orders grew by 12 % in May. ", repeat)
		bodies := []footnote.Body{
			footnote.AssistantMessage{
				Step: 1, Model: "m", StopReason: "end_turn",
				Blocks: []json.RawMessage{json.RawMessage(`{"type":"text","text":"` + text + `"}`)},
			},
			footnote.Answered{Text: text, Cites: []footnote.Cite{}, Unresolved: make([]footnote.Unresolved, 10)},
			footnote.RunFinished{Reason: "end_turn"},
		}
		b.Run(fmt.Sprint("bytes=", len(text)), func(b *testing.B) {
			b.ReportAllocs()
			for b.Loop() {
				for _, body := range bodies {
					if _, _, err := footnote.EncodeBody(body); err != nil {
						b.Fatal(err)
					}
				}
			}
		})
	}
}
