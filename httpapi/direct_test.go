package httpapi_test

import (
	"bufio"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/footnotehq/footnote"
	"github.com/footnotehq/footnote/model"
	"github.com/footnotehq/footnote/protocol/protocoltest"
)

// pieces is a model that answers in many pieces.
type pieces struct {
	n     int
	ended chan struct{} // closed when its last piece was shown
}

func (p pieces) text() string {
	var b strings.Builder
	for i := range p.n {
		fmt.Fprintf(&b, "piece-%d ", i)
	}
	return b.String()
}

// Step implements model.Model.
func (p pieces) Step(_ context.Context, _ model.Request, live model.Live) (model.Reply, error) {
	live.Start(0, model.TextBlock, "", "")
	for i := range p.n {
		live.Delta(0, fmt.Appendf(nil, "piece-%d ", i))
		live.Flush()
		if i%10 == 0 {
			time.Sleep(time.Microsecond) // lets the client's goroutine wait, and then this one writes
		}
	}
	live.Stop(0)
	live.Flush()
	close(p.ended)
	block, err := json.Marshal(map[string]string{"type": "text", "text": p.text()})
	return model.Reply{Message: footnote.AssistantMessage{
		Upstream: "msg_1", Model: "pieces", Blocks: []json.RawMessage{block}, StopReason: "end_turn",
	}}, err
}

// TestPiecesReachClients asks over a real connection. A client that reads gets every piece once and in order, however
// they were written; one that does not read does not keep the run waiting, and gets everything when it does.
func TestPiecesReachClients(t *testing.T) {
	for name, stuck := range map[string]bool{"reads": false, "reads later": true} {
		t.Run(name, func(t *testing.T) {
			answer := pieces{n: 30_000, ended: make(chan struct{})}
			api := protocoltest.New(t, protocoltest.Options{
				Protocols: allProtocols(), Model: answer, ModelName: "pieces",
			})
			listener, err := net.Listen("tcp", "127.0.0.1:0")
			if err != nil {
				t.Fatal(err)
			}
			srv := api.HTTPServer(listener.Addr().String())
			go func() { _ = srv.Serve(listener) }() // until Close
			defer srv.Close()
			conn, err := net.Dial("tcp", listener.Addr().String())
			if err != nil {
				t.Fatal(err)
			}
			defer conn.Close()
			r := request("POST", "http://"+listener.Addr().String()+"/v1/chat/completions",
				`{"model":"claude-da/analyst","stream":true,"messages":[{"role":"user","content":"Tell me."}]}`)
			r.RequestURI = ""
			if err := r.Write(conn); err != nil {
				t.Fatal(err)
			}
			if stuck {
				<-answer.ended
			}
			res, err := http.ReadResponse(bufio.NewReader(conn), r)
			if err != nil {
				t.Fatal(err)
			}
			defer res.Body.Close()
			if got := contents(t, res.Body); got != answer.text() {
				t.Errorf("got %d bytes, want %d, or others", len(got), len(answer.text()))
			}
		})
	}
}

// contents returns the text of a stream of the OpenAI protocol.
func contents(t *testing.T, body io.Reader) string {
	t.Helper()
	var b strings.Builder
	lines := bufio.NewScanner(body)
	lines.Buffer(nil, 1<<20)
	for lines.Scan() {
		data, ok := strings.CutPrefix(lines.Text(), "data: ")
		var chunk struct {
			Choices []struct{ Delta struct{ Content string } }
		}
		if !ok || json.Unmarshal([]byte(data), &chunk) != nil || len(chunk.Choices) == 0 {
			continue
		}
		b.WriteString(chunk.Choices[0].Delta.Content)
	}
	if err := lines.Err(); err != nil {
		t.Error(err)
	}
	return b.String()
}
