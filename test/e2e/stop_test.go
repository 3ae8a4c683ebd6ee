package e2e

import (
	"bytes"
	"encoding/json"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/footnotehq/footnote/model/modeltest"
)

// TestStopStringEndsRun checks that after a stop string the model call ends, and the text before it is an
// answer with footnotes.
func TestStopStringEndsRun(t *testing.T) {
	t.Parallel()
	for _, stream := range []bool{true, false} {
		endless := modeltest.Block{
			Type: "text", Text: "There are 846 orders. END Not shown. ", Repeat: true, Deltas: 20_000,
			Gap: 2 * time.Millisecond,
		}
		fake, settings := imitate(t, func(r modeltest.Request) modeltest.Reply {
			last := r.Messages[len(r.Messages)-1].Content
			switch {
			case last[0].Type == "tool_result":
				return modeltest.Blocks(endless)
			case strings.Contains(last[0].Text, "And"):
				return modeltest.Say("You are welcome.")
			}
			return modeltest.Use("run_query", `{"sql":"SELECT count(*) AS orders FROM orders"}`)
		})
		p := serve(t, settings...)
		body, _ := json.Marshal(map[string]any{ // strings always encode
			"model": "analyst", "stream": stream, "stop": []string{"END"}, "footnotes": true,
			"messages": []map[string]string{{"role": "user", "content": "How many orders?"}},
		})
		res, err := p.post(t.Context(), "/v1/chat/completions", bytes.NewReader(body), "", "")
		if err != nil {
			t.Fatal(err)
		}
		var raw bytes.Buffer
		if _, err := raw.ReadFrom(res.Body); err != nil {
			t.Fatal(err)
		}
		res.Body.Close()
		var r reply
		if stream {
			r.readStream(bytes.NewReader(raw.Bytes()))
		} else if err := r.read(raw.Bytes()); err != nil {
			t.Fatal(err)
		}
		if res.StatusCode != http.StatusOK || r.text != "There are 846 orders. " || r.finish != "stop" ||
			!strings.Contains(raw.String(), `"text":"846","result":"r1"`) {
			t.Errorf("stream %v: status %d, %q, finish reason %q\n%s", stream, res.StatusCode, r.text, r.finish,
				raw.String())
		}
		eventually(t, "the model call has ended", func() bool { return fake.Metrics().Open == 0 })
		if n := fake.Metrics().Deltas; n > 5000 {
			t.Errorf("stream %v: the model went on for %d pieces", stream, n)
		}
		id := res.Header.Get("X-Conversation-Id")
		events := p.log(t, id, "")
		checkLog(t, events)
		if end := events[len(events)-1]; end.Kind != "run_finished" ||
			!strings.Contains(end.line, `"reason":"stop_sequence"`) {
			t.Errorf("stream %v: the run ended with %s", stream, end.line)
		}
		p.answered(t, question{text: "And thanks", conversation: id}) // the API accepts the history
		// A run may be counted just after its answer was sent.
		eventually(t, "both runs are counted", func() bool {
			_, metrics := p.get(t, "/metrics", "")
			return strings.Contains(metrics, `footnote_runs_total{assistant="analyst",outcome="finished"} 2`)
		})
	}
}
