package httpapi_test

import (
	"bufio"
	"errors"
	"io"
	"net/http"
	"net/http/httptest"
	"regexp"
	"strings"
	"sync"
	"testing"
	"testing/synctest"

	"github.com/footnotehq/footnote/agent/agenttest"
	"github.com/footnotehq/footnote/httpapi"
	"github.com/footnotehq/footnote/model"
	"github.com/footnotehq/footnote/protocol/protocoltest"
	"github.com/footnotehq/footnote/tool"
)

// replicas returns two servers over one log, like two processes.
func replicas(t *testing.T, model model.Model, tools ...tool.Tool) (first, second *httpapi.Server) {
	t.Helper()
	return protocoltest.Replicas(t, protocoltest.Options{Protocols: allProtocols(), Model: model, Tools: tools})
}

func chunksOf(t *testing.T, status int, body string) (kinds []string) {
	t.Helper()
	if status != http.StatusOK || !strings.HasSuffix(body, "data: [DONE]\n\n") {
		t.Fatalf("%d %s", status, body)
	}
	for _, m := range regexp.MustCompile(`data: \{"type":"([a-z-]+)"`).FindAllStringSubmatch(body, -1) {
		kinds = append(kinds, m[1])
	}
	return kinds
}

// TestAIStreamOfAnotherProcess checks that a stream shows a run that another process drives, from start to
// end, although its own hub never sees the run.
func TestAIStreamOfAnotherProcess(t *testing.T) {
	release := make(chan struct{})
	last := agenttest.Say("There are 42.")
	last.Wait = release
	first, second := replicas(t, agenttest.Script(agenttest.Call("t1", "query", `{}`), last), counting)
	// What a client sees has been stored, so the other process has it, too.
	posted, err := http.Post(serve(t, first).URL+"/api/ai", "application/json",
		strings.NewReader(`{"id":"c1","messages":[{"id":"m1","role":"user","parts":[{"type":"text","text":"How `+
			`many?"}]}]}`))
	if err != nil {
		t.Fatal(err)
	}
	defer posted.Body.Close()
	own := bufio.NewReader(posted.Body)
	asked := until(t, own, "tool-output-available")
	res, err := http.Get(serve(t, second).URL + "/api/ai/c1/stream")
	if err != nil {
		t.Fatal(err)
	}
	defer res.Body.Close()
	stream := bufio.NewReader(res.Body)
	past := until(t, stream, "tool-output-available")
	close(release) // the rest is written while the stream waits
	rest, err := io.ReadAll(stream)
	if err != nil {
		t.Fatal(err)
	}
	want := []string{
		"start", "start-step", "tool-input-start", "tool-input-available", "tool-output-available", "finish-step",
		"start-step", "text-start", "text-delta", "text-end", "data-footnotes", "finish-step", "finish",
	}
	if got := chunksOf(t, res.StatusCode, past+string(rest)); strings.Join(got, " ") != strings.Join(want, " ") {
		t.Errorf("the other process shows %v, want %v", got, want)
	}
	if rest, err = io.ReadAll(own); err != nil {
		t.Fatal(err)
	}
	if got := chunksOf(t, posted.StatusCode, asked+string(rest)); got[0] != "start" || got[len(got)-1] != "finish" {
		t.Errorf("the post shows %v", got)
	}
	if w := do(second, request("GET", "/api/ai/c1/stream", "")); w.Code != http.StatusNoContent {
		t.Errorf("after the end: %d %s", w.Code, w.Body)
	}
}

// TestAIAnswersThroughAnotherProcess checks that a run parked by one process continues in another.
func TestAIAnswersThroughAnotherProcess(t *testing.T) {
	pick := agenttest.NewTool(tool.Spec{Name: "pick", Side: tool.Client, ReadOnly: true}, nil)
	first, second := replicas(t, agenttest.Script(agenttest.Call("t1", "pick", `{}`), agenttest.Say("Red.")), pick)
	const question = `{"id":"m1","role":"user","parts":[{"type":"text","text":"Pick."}]}`
	w := do(first, request("POST", "/api/ai", `{"id":"c1","messages":[`+question+`]}`))
	id := regexp.MustCompile(`"messageId":"(msg_run_[A-Z0-9]+)"`).FindStringSubmatch(w.Body.String())
	if len(id) != 2 || !strings.Contains(w.Body.String(), `"finishReason":"tool-calls"`) {
		t.Fatal(w.Body)
	}
	answer := `{"id":"c1","messageId":"` + id[1] + `","messages":[` + question + `,{"id":"` + id[1] +
		`","role":"assistant","parts":[
		{"type":"step-start"},{"type":"tool-pick","toolCallId":"t1","state":"output-available","input":{},"output":"red"}]}]}`
	w = do(second, request("POST", "/api/ai", answer))
	if !strings.Contains(w.Body.String(), `"messageId":"`+id[1]+`"`) ||
		!strings.Contains(w.Body.String(), `"delta":"Red."`) || strings.Contains(w.Body.String(), "tool-") {
		t.Errorf("post through another process: %d %s", w.Code, w.Body)
	}
	// The same request again, through the first process: it returns the same text and runs nothing.
	again := do(first, request("POST", "/api/ai", answer))
	if !strings.Contains(again.Body.String(), `"delta":"Red."`) || strings.Contains(again.Body.String(), "tool-") {
		t.Errorf("repeated post: %d %s", again.Code, again.Body)
	}
}

// TestAIDuplicateRequests checks that a message which is posted several times at once runs once, also when it is posted
// again after a failure, or edited, and that each post gets the answer.
func TestAIDuplicateRequests(t *testing.T) { synctest.Test(t, testAIDuplicateRequests) }

func testAIDuplicateRequests(t *testing.T) {
	second, third := agenttest.Say("Second."), agenttest.Say("Third.")
	held := []chan struct{}{make(chan struct{}), make(chan struct{})}
	second.Wait, third.Wait = held[0], held[1]
	llm := agenttest.Script(agenttest.Reply{Err: errors.New("gone")}, second, third)
	api := newReal(t, llm)
	post := func(text, about string) *httptest.ResponseRecorder {
		return do(api, request("POST", "/api/ai", `{"id":"c",`+about+`"messages":[{"id":"u1","role":"user","parts":`+
			`[{"type":"text","text":"`+text+`"}]}]}`))
	}
	post("How many?", "")
	for i, c := range []struct{ text, about, want string }{
		{"How many?", "", "Second."}, {"How much?", `"messageId":"u1",`, "Third."},
	} {
		var wg sync.WaitGroup
		for range 6 {
			wg.Go(func() {
				if w := post(c.text, c.about); w.Code != 200 || !strings.Contains(w.Body.String(), c.want) {
					t.Errorf("%s: %d %s", c.text, w.Code, w.Body)
				}
			})
		}
		synctest.Wait() // until all have been posted
		close(held[i])
		wg.Wait()
	}
	if n := len(llm.Requests()); n != 3 {
		t.Errorf("the model was called %d times", n)
	}
}

// TestAIRegenerateTwice checks that two requests for another answer, of which the second comes while the first is being
// served, get the same one.
func TestAIRegenerateTwice(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		second := agenttest.Say("Second.")
		release := make(chan struct{})
		second.Wait = release
		llm := agenttest.Script(agenttest.Say("First."), second)
		api := newReal(t, llm)
		const question = `{"id":"u1","role":"user","parts":[{"type":"text","text":"How many?"}]}`
		w := do(api, request("POST", "/api/ai", `{"id":"c","messages":[`+question+`]}`))
		id := regexp.MustCompile(`"messageId":"(msg_run_[A-Z0-9]+)"`).FindStringSubmatch(w.Body.String())
		if len(id) != 2 {
			t.Fatal(w.Body)
		}
		var wg sync.WaitGroup
		for range 2 {
			wg.Go(func() {
				w := do(api, request("POST", "/api/ai", `{"id":"c","trigger":"regenerate-message","messageId":"`+id[1]+
					`","messages":[`+question+`]}`))
				if w.Code != 200 || !strings.Contains(w.Body.String(), "Second.") {
					t.Errorf("second regeneration: %d %s", w.Code, w.Body)
				}
			})
			synctest.Wait()
		}
		close(release)
		wg.Wait()
		if n := len(llm.Requests()); n != 2 {
			t.Errorf("the model was called %d times", n)
		}
	})
}
