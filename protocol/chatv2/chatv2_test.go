package chatv2

import (
	"encoding/json"
	"strings"
	"testing"

	"github.com/footnotehq/footnote"
	"github.com/footnotehq/footnote/internal/strictjson"
	"github.com/footnotehq/footnote/internal/transcript"
)

// TestTranscripts shows each script as a stream, as a complete answer, and as the view of its log.
func TestTranscripts(t *testing.T) {
	transcript.Each(t, func(t *testing.T, file *transcript.File) {
		enc, col := NewEncoder("conv_1", "r1"), NewCollector("conv_1", "r1")
		var out []byte
		var events []footnote.Event
		for _, l := range file.Script(t) {
			if l.Event == "" {
				out = enc.Delta(out, l.AsDelta(t))
				continue
			}
			ev := l.AsEvent(t, int64(len(events)+1))
			events = append(events, ev)
			out = enc.Event(out, ev)
			col.Event(ev)
		}
		if !enc.Done() {
			t.Error("the stream does not end")
		}
		file.Check(t, "stream", out)
		body, done, err := col.Completion()
		if !done || err != nil != (enc.Err() != nil) {
			t.Errorf("the answer: done %v, %v; the stream: %v", done, err, enc.Err())
		}
		if err != nil {
			body = AppendError(nil, err, "req_1")
		}
		file.Check(t, "whole", append(body, '\n'))
		view, err := json.MarshalIndent(View(events, 0), "", " ")
		if err != nil {
			t.Fatal(err)
		}
		file.Check(t, "view", append(view, '\n'))
	})
}

// TestEarlyFailureHasNoFrames checks that a run that fails before the model said anything can get the HTTP
// status of its error.
func TestEarlyFailureHasNoFrames(t *testing.T) {
	enc := NewEncoder("conv_1", "r1")
	var out []byte
	for i, b := range []footnote.Body{
		footnote.UserMessage{
			Text: "Hi",
		}, footnote.RunStarted{}, footnote.RunFailed{Code: footnote.ModelUnavailable, Message: "Away."},
	} {
		out = enc.Event(out, footnote.Event{Stream: "conv_1", Seq: int64(i + 1), Run: "r1", Body: b})
	}
	if len(out) > 0 || !enc.Done() || footnote.CodeOf(enc.Err()) != footnote.ModelUnavailable {
		t.Errorf("%s, done %v, %v", out, enc.Done(), enc.Err())
	}
}

func TestViewOmitsRewoundMessages(t *testing.T) {
	events := []footnote.Event{
		{Seq: 1, Body: footnote.UserMessage{Text: "One"}}, {Seq: 2, Body: footnote.UserMessage{Text: "Wrong"}},
		{Seq: 3, Body: footnote.Rewound{ToSeq: 1}}, {Stream: "c", Seq: 4, Body: footnote.UserMessage{Text: "Two"}},
	}
	if got := View(events, 0); len(got) != 2 || *got[1].Content.Text != "Two" {
		t.Errorf("view: %+v", got)
	}
	if got := View(events, 1); len(got) != 1 || got[0].ID != "c.4" {
		t.Errorf("after the first: %+v", got)
	}
}

func TestDecode(t *testing.T) {
	long := strings.Repeat("x", maxIDBytes+1)
	for body, want := range map[string]string{
		`{"message":"Hi"}`:    "Hi",
		`{"newMessage":"Hi"}`: "Hi",
		`{"message":"Hi","conversationId":"a","messageId":"b","assistant":"c","tier":"d","orgId":"e"}`: "Hi",
		`{"message":"Hi","newMessage":"Ho"}`: "",
		`{"message":""}`:                     "",
		`{}`:                                 "",
		`{"message":"Hi","history":[]}`:      "",
		`{"message":"Hi","messageId":"` + long + `"}`: "",
		`{"message":"Hi","messageId":"a\nb"}`:         "",
		`{"message":7}`:                               "",
		`[]`:                                          "",
	} {
		var q Request
		err := strictjson.Closed([]byte(body), &q)
		if err == nil {
			err = q.Check()
		}
		if want == "" {
			if footnote.CodeOf(err) != footnote.InvalidRequest {
				t.Errorf("%s: %v", body, err)
			}
			continue
		}
		if turn := q.Turn(); err != nil || turn.Text != want || turn.MessageID != q.MessageID || !turn.Unattended {
			t.Errorf("%s: %+v, %v", body, turn, err)
		}
	}
}
