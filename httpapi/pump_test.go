package httpapi

import (
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"github.com/footnotehq/footnote"
	"github.com/footnotehq/footnote/agent"
	"github.com/footnotehq/footnote/hub"
	"github.com/footnotehq/footnote/protocol"
	"github.com/footnotehq/footnote/protocol/openai"
	"github.com/footnotehq/footnote/protocol/sse"
)

// discard is a connection that discards everything written to it.
type discard struct{ h http.Header }

func (d discard) Header() http.Header              { return d.h }
func (d discard) Write(b []byte) (int, error)      { return len(b), nil }
func (d discard) WriteHeader(int)                  {}
func (d discard) FlushError() error                { return nil }
func (d discard) SetWriteDeadline(time.Time) error { return nil }

// newPump returns a pump in the middle of a stream, and the topic that feeds it.
func newPump(tb testing.TB) (*pump, *hub.Topic, hub.Block) {
	tb.Helper()
	h := hub.New()
	topic := h.Open("conv_1", 0)
	reader, _ := h.Subscribe("conv_1", 0)
	p := &pump{
		Stream: protocol.Stream{
			Ticket:  agent.Ticket{Run: "run_1"},
			Encoder: openai.NewEncoder(openai.Options{ID: "chatcmpl-1", Run: "run_1", Model: "analyst"}),
		},
		w: discard{http.Header{}}, r: httptest.NewRequest("POST", "/", nil), rd: reader,
	}
	block := topic.Start(footnote.Delta{Run: "run_1", Step: 1, Attempt: 1, Kind: "text"})
	var err error
	if p.out, err = sse.Start(p.w, http.StatusOK, nil); err != nil {
		tb.Fatal(err)
	}
	return p, topic, block
}

// step passes one piece of text from the model's bytes to the connection.
func step(tb testing.TB, p *pump, topic *hub.Topic, block hub.Block) {
	block.Grow([]byte(`orders in \"May\"`))
	topic.Flush()
	batch, err := p.rd.Take()
	if err == nil {
		err = p.show(batch)
	}
	if err != nil {
		tb.Fatal(err)
	}
}

// TestDeltaAllocations limits the allocations on a delta's way from the hub to the connection. The block
// itself grows occasionally, which is less than one allocation per delta.
func TestDeltaAllocations(t *testing.T) {
	p, topic, block := newPump(t)
	step(t, p, topic, block)
	if n := testing.AllocsPerRun(1000, func() { step(t, p, topic, block) }); n != 0 {
		t.Errorf("a delta costs %v allocations, want none", n)
	}
}

// written is a connection that keeps everything written to it.
type written struct {
	discard
	text *strings.Builder
}

func (w written) Write(b []byte) (int, error) { return w.text.Write(b) }

// TestFailureKeepsSentText checks that text in the same batch as a failure is sent before the error;
// without text, the error gets an HTTP status of its own.
func TestFailureKeepsSentText(t *testing.T) {
	for words, want := range map[string]string{"May": `"content":"May"`, "": ""} {
		p, topic, block := newPump(t)
		var text strings.Builder
		p.s, p.out, p.w = &Server{}, nil, written{discard{http.Header{}}, &text}
		block.Grow([]byte(words))
		block.End()
		topic.Publish(footnote.Event{
			Seq:  1,
			Run:  "run_1",
			Body: footnote.RunFailed{Code: footnote.ModelUnavailable, Message: "Away."},
		})
		batch, err := p.rd.Take()
		if err == nil {
			err = p.show(batch)
		}
		if err != nil || !p.Encoder.Done() {
			t.Fatal(err)
		}
		if began := p.out != nil; began != (words != "") || !strings.Contains(text.String(), want) ||
			began != strings.Contains(text.String(), "Away.") {
			t.Errorf("%q: %s", words, text.String())
		}
	}
}

func BenchmarkDelta(b *testing.B) {
	p, topic, block := newPump(b)
	b.ReportAllocs()
	for b.Loop() {
		step(b, p, topic, block)
	}
}
