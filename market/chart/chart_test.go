package chart_test

import (
	"encoding/json"
	"strings"
	"testing"

	"github.com/footnotehq/footnote"
	"github.com/footnotehq/footnote/agent"
	"github.com/footnotehq/footnote/internal/transcript"
	"github.com/footnotehq/footnote/market/chart"
	"github.com/footnotehq/footnote/tool"
)

var tools = []agent.ToolInfo{
	{Name: "get_candles", Side: tool.Server}, {Name: "draw_horizontal_line", Side: tool.Client},
}

// TestTranscripts shows each script as a stream and as the view of its log.
func TestTranscripts(t *testing.T) {
	transcript.Each(t, func(t *testing.T, file *transcript.File) {
		enc := chart.NewEncoder(chart.Options{Conversation: "conv_1", Run: "r1", Tools: tools})
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
		}
		if !enc.Done() {
			t.Error("the stream does not end")
		}
		file.Check(t, "stream", out)
		view, err := json.MarshalIndent(chart.View(footnote.Stream{ID: "conv_1", Title: "Support"}, events), "", " ")
		if err != nil {
			t.Fatal(err)
		}
		file.Check(t, "view", append(view, '\n'))
	})
}

// TestEarlyFailureHasNoFrames checks that a run that fails before anything was shown can get the HTTP
// status of its error.
func TestEarlyFailureHasNoFrames(t *testing.T) {
	enc := chart.NewEncoder(chart.Options{Conversation: "conv_1", Run: "r1"})
	out := enc.Event(nil, footnote.Event{
		Run:  "r1",
		Body: footnote.RunFailed{Code: footnote.ModelUnavailable, Message: "Away."},
	})
	if len(out) > 0 || !enc.Done() || footnote.CodeOf(enc.Err()) != footnote.ModelUnavailable {
		t.Errorf("%s, done %v, %v", out, enc.Done(), enc.Err())
	}
}

func TestDecode(t *testing.T) {
	long := strings.Repeat("x", 129)
	for body, want := range map[string]bool{
		`{"message":"Hi","symbol":"EURUSD","timeframe":"1h"}`: true,
		`{"message":"Hi","symbol":"EURUSD","timeframe":"1h","conversationId":"a","messageId":"b","model":"haiku",` +
			`"state":{"price":1,"drawings":"None."}}`: true,
		`{"message":"Hi","symbol":"EURUSD"}`:                                                  false,
		`{"message":"","symbol":"EURUSD","timeframe":"1h"}`:                                   false,
		`{"message":"Hi","symbol":"EURUSD","timeframe":"1h","more":1}`:                        false,
		`{"message":"Hi","symbol":"EURUSD","timeframe":"1h","conversationId":"` + long + `"}`: false,
		`[]`: false,
	} {
		if _, err := chart.Decode([]byte(body)); (err == nil) != want ||
			err != nil && footnote.CodeOf(err) != footnote.InvalidRequest {
			t.Errorf("%s: %v", body, err)
		}
	}
	for body, want := range map[string]tool.Answer{
		`{"conversationId":"c","toolCallId":"t","result":{"ok":true}}`: {CallID: "t", Content: `{"ok":true}`},
		`{"conversationId":"c","id":"t","result":"Drawn."}`:            {CallID: "t", Content: "Drawn."},
		`{"conversationId":"c","id":"t","result":"No chart.","isError":true}`: {
			CallID:  "t",
			Content: "No chart.",
			IsError: true,
		},
	} {
		q, err := chart.DecodeResult([]byte(body))
		if got := q.Answer(); err != nil || got.CallID != want.CallID || got.Content != want.Content ||
			got.IsError != want.IsError {
			t.Errorf("%s: %+v, %v", body, got, err)
		}
	}
	for _, body := range []string{`{}`, `{"conversationId":"c","result":1}`, `{"conversationId":"c","id":"t"}`} {
		if _, err := chart.DecodeResult([]byte(body)); footnote.CodeOf(err) != footnote.InvalidRequest {
			t.Errorf("%s: %v", body, err)
		}
	}
}
