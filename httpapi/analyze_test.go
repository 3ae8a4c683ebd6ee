package httpapi_test

import (
	"bufio"
	"encoding/json"
	"io"
	"net/http"
	"net/http/httptest"
	"net/url"
	"strings"
	"sync"
	"testing"

	"github.com/footnotehq/footnote/agent"
	"github.com/footnotehq/footnote/agent/agenttest"
	"github.com/footnotehq/footnote/httpapi"
	"github.com/footnotehq/footnote/tool"
)

var browserQuery = agenttest.NewTool(
	tool.Spec{Name: "run_query", Family: tool.Query, Side: tool.Client, ReadOnly: true}, nil)

// eventSource implements the part of a browser's EventSource that matters here: it reads frames and remembers
// the last id.
type eventSource struct {
	res  *http.Response
	in   *bufio.Reader
	last string
}

type analyzeFrame struct {
	Type, SessionID, ID, Name, Content, Code, Stopped string
	Step                                              *int
	Result                                            struct {
		Answer, ChartType string
		RowCount          int
		Rows              [][]any
		SQL               []string
	}
}

// dial opens a stream. A browser adds the origin of the page by itself.
func dial(t *testing.T, base string, params url.Values, last string) *eventSource {
	t.Helper()
	r, err := http.NewRequestWithContext(t.Context(), "GET", base+"/api/analyze?"+params.Encode(), nil)
	if err != nil {
		t.Fatal(err)
	}
	r.Header.Set("Accept", "text/event-stream")
	r.Header.Set("Sec-Fetch-Site", "same-origin")
	if last != "" {
		r.Header.Set("Last-Event-ID", last)
	}
	res, err := http.DefaultClient.Do(r)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { res.Body.Close() })
	return &eventSource{res: res, in: bufio.NewReader(res.Body), last: last}
}

// next returns the next frame; ok is false at the end of the stream.
func (e *eventSource) next(t *testing.T) (f analyzeFrame, ok bool) {
	t.Helper()
	data, id := "", ""
	for {
		line, err := e.in.ReadString('\n')
		if err == io.EOF {
			return f, false
		}
		if err != nil {
			t.Fatal(err)
		}
		switch line = strings.TrimSuffix(line, "\n"); {
		case strings.HasPrefix(line, "data: "):
			data = line[6:]
		case strings.HasPrefix(line, "id: "):
			id = line[4:]
		case strings.HasPrefix(line, "event: "):
			t.Errorf("a frame has a name: %s", line)
		case line == "" && data != "":
			if id != "" {
				e.last = id
			}
			if err := json.Unmarshal([]byte(data), &f); err != nil {
				t.Fatalf("%s: %v", data, err)
			}
			return f, true
		}
	}
}

// until reads up to a frame of the given type.
func (e *eventSource) until(t *testing.T, kind string) analyzeFrame {
	t.Helper()
	for {
		f, ok := e.next(t)
		if !ok {
			t.Fatalf("the stream ends (%d) before %s", e.res.StatusCode, kind)
		}
		if f.Type == kind {
			return f
		}
	}
}

func schemaID(t *testing.T, api *httpapi.Server, key string) string {
	t.Helper()
	r := request("POST", "/api/analyze/schema",
		`{"schema":{"tables":[{"name":"sales","rows":200000,"columns":[{"name":"region","type":"VARCHAR"},`+
			`{"name":"amount","type":"DOUBLE"}]}]}}`)
	if key != "" {
		r.Header.Set("Authorization", "Bearer "+key)
	}
	w := do(api, r)
	var got struct{ Schema string }
	if err := json.Unmarshal(w.Body.Bytes(), &got); err != nil || got.Schema == "" {
		t.Fatalf("POST of a schema: %d %s", w.Code, w.Body)
	}
	return got.Schema
}

// TestAnalyze runs the whole exchange as an EventSource does, including a connection that breaks while the
// browser works.
func TestAnalyze(t *testing.T) {
	model := agenttest.Script(
		agenttest.Call("t1", "run_query", `{"sql":"SELECT count(*) AS n FROM sales"}`),
		agenttest.Say("There are 200000 sales."),
		agenttest.Say("As I said."),
	)
	api := newReal(t, model, browserQuery)
	base := serve(t, api).URL
	params := url.Values{"question": {"How many?"}, "schema": {schemaID(t, api, "")}, "request_id": {"q1"}}

	es := dial(t, base, params, "")
	session := es.until(t, "session").SessionID
	call := es.until(t, "tool_call")
	if session == "" || call.ID == "" || call.Name != "run_query" || call.Step == nil || *call.Step != 0 {
		t.Fatalf("session %q, call %+v", session, call)
	}
	es.res.Body.Close() // the connection breaks
	es = dial(t, base, params, es.last)
	result := `{"sessionId":"` + session + `","toolCallId":"` + call.ID +
		`","result":{"columns":[{"name":"n","kind":"integer"}],"rows":[[200000]],"rowCount":1}}`
	for _, want := range []string{`{"ok":true,"duplicate":false}`, `{"ok":true,"duplicate":true}`} {
		if w := do(api, request("POST", "/api/analyze/tool-result", result)); w.Code != 200 ||
			strings.TrimSpace(w.Body.String()) != want {
			t.Errorf("%d %s, want %s", w.Code, w.Body, want)
		}
	}
	if w := do(api, request("POST", "/api/analyze/tool-result",
		strings.Replace(result, "[[200000]]", "[[1]]", 1))); w.Code != 409 {
		t.Errorf("another result: %d %s", w.Code, w.Body)
	}
	f, _ := es.next(t)
	if f.Type != "answer" || f.Result.Answer != "There are 200000 sales." || f.Result.RowCount != 1 ||
		len(f.Result.Rows) != 1 || len(f.Result.SQL) != 1 {
		t.Errorf("the frame after the call is %+v", f)
	}
	if f, _ := es.next(t); f.Type != "done" {
		t.Errorf("then comes %+v", f)
	}
	if again := dial(t, base, params, es.last); again.res.StatusCode != http.StatusNoContent {
		t.Errorf("after done: %d", again.res.StatusCode)
	}
	// A reloaded page has no position. It gets the whole run again, at no extra cost.
	again, kinds := dial(t, base, params, ""), ""
	for f, ok := again.next(t); ok; f, ok = again.next(t) {
		kinds += f.Type + " "
	}
	if kinds != "session tool_call answer done " {
		t.Errorf("shown again: %s", kinds)
	}
	if n := len(model.Requests()); n != 2 {
		t.Errorf("the model was called %d times", n)
	}
	if sent := history(model, 0); !strings.Contains(sent,
		`CREATE TABLE \"sales\" ( -- 200000 rows\n  \"region\" VARCHAR`) {
		t.Errorf("the model does not know the schema: %s", sent)
	}

	// The next question of the session does not send the same schema to the model again.
	params.Set("request_id", "q2")
	params.Set("sessionId", session)
	dial(t, base, params, "").until(t, "done")
	if sent := history(model, 2); strings.Count(sent, "CREATE TABLE") != 1 {
		t.Errorf("the model was sent %s", sent)
	}
}

func TestAnalyzeDuplicateRequests(t *testing.T) {
	model := agenttest.Script(agenttest.Say("Once."))
	api := newReal(t, model)
	base := serve(t, api).URL
	params := url.Values{"question": {"How many?"}, "request_id": {"the same"}}
	var wg sync.WaitGroup
	sessions := make([]string, 6)
	for i := range sessions {
		wg.Go(func() {
			es := dial(t, base, params, "")
			if es.res.StatusCode != 200 {
				t.Errorf("%d: %d", i, es.res.StatusCode)
				return
			}
			sessions[i] = es.until(t, "session").SessionID
			es.until(t, "done")
		})
	}
	wg.Wait()
	for _, s := range sessions[1:] {
		if s != sessions[0] {
			t.Errorf("the sessions are %v", sessions)
		}
	}
	if n := len(model.Requests()); n != 1 {
		t.Errorf("the model was called %d times", n)
	}
}

// TestAnalyzeUnknownRunIsNotStarted checks that a reconnecting reader never starts a new run.
func TestAnalyzeUnknownRunIsNotStarted(t *testing.T) {
	model := agenttest.Script()
	base := serve(t, newReal(t, model)).URL
	for _, params := range []url.Values{
		{"question": {"How many?"}}, {"question": {"How many?"}, "request_id": {"gone"}},
	} {
		if es := dial(t, base, params, "7"); es.res.StatusCode != http.StatusNoContent {
			t.Errorf("%v: %d", params, es.res.StatusCode)
		}
	}
	if n := len(model.Requests()); n != 0 {
		t.Errorf("the model was called %d times", n)
	}
}

func TestAnalyzeHostilePositions(t *testing.T) {
	model := agenttest.Script(agenttest.Say("Fine."))
	base := serve(t, newReal(t, model)).URL
	params := url.Values{"question": {"How many?"}, "request_id": {"q"}}
	dial(t, base, params, "").until(t, "done")
	for _, last := range []string{
		"-1", "x", "999999999", "99999999999999999999", "1+", "1+x.9", "0+999999999.999999999",
	} {
		es := dial(t, base, params, last)
		if es.res.StatusCode != 200 {
			t.Errorf("%q: %d", last, es.res.StatusCode)
			continue
		}
		if told := es.res.Header.Get("X-Log-Reset") != ""; told != (last == "999999999") {
			t.Errorf("%q: told that it is ahead of the log: %t", last, told)
		}
		es.until(t, "done")
	}
	if n := len(model.Requests()); n != 1 {
		t.Errorf("the model was called %d times", n)
	}
}

func TestAnalyzeRefusals(t *testing.T) {
	api, engine := newAPI(t, nil)
	unkeyed := newReal(t, agenttest.Script())
	schema := schemaID(t, api, adasKey)
	long := strings.Repeat("x", 101)
	for name, c := range map[string]struct {
		api          *httpapi.Server
		method, path string
		body         string
		site, key    string
		status       int
	}{
		"another site":      {unkeyed, "GET", "/api/analyze?question=a", "", "cross-site", "", 403},
		"no site":           {unkeyed, "GET", "/api/analyze?question=a", "", "", "", 403},
		"an address typed":  {unkeyed, "GET", "/api/analyze?question=a", "", "none", "", 403},
		"no question":       {unkeyed, "GET", "/api/analyze", "", "same-origin", "", 400},
		"unknown parameter": {unkeyed, "GET", "/api/analyze?question=a&code=1", "", "same-origin", "", 400},
		"twice":             {unkeyed, "GET", "/api/analyze?question=a&question=b", "", "same-origin", "", 400},
		"long request_id": {
			unkeyed, "GET", "/api/analyze?question=a&request_id=" + long, "", "same-origin", "", 400,
		},
		"unknown schema":   {unkeyed, "GET", "/api/analyze?question=a&schema=schema_x", "", "same-origin", "", 404},
		"unknown session":  {unkeyed, "GET", "/api/analyze?question=a&sessionId=conv_x", "", "same-origin", "", 404},
		"a wrong key":      {api, "GET", "/api/analyze?question=a", "", "same-origin", "key-of-nobody", 401},
		"another's schema": {api, "GET", "/api/analyze?question=a&schema=" + schema, "", "", bobsKey, 404},
		"one's own schema": {api, "GET", "/api/analyze?question=a&schema=" + schema, "", "", adasKey, 200},
		"unknown key":      {unkeyed, "POST", "/api/analyze", `{"question":"a","rows":[]}`, "", "", 400},
		"values": {
			unkeyed, "POST", "/api/analyze",
			`{"question":"a","schema":{"tables":[{"name":"t","columns":[{"name":"c","type":"DATE"}],"rows":[[1]]}]}}`,
			"", "", 400,
		},
		"empty schema": {unkeyed, "POST", "/api/analyze/schema", `{"schema":{"tables":[]}}`, "", "", 400},
		"no schema":    {unkeyed, "POST", "/api/analyze/schema", `{}`, "", "", 400},
		"result and error": {
			unkeyed, "POST", "/api/analyze/tool-result", `{"sessionId":"c","toolCallId":"t","result":1,"error":"e"}`,
			"", "", 400,
		},
		"neither": {
			unkeyed, "POST", "/api/analyze/tool-result", `{"sessionId":"c","toolCallId":"t"}`, "", "", 400,
		},
		"crooked rows": {
			unkeyed, "POST", "/api/analyze/tool-result",
			`{"sessionId":"c","toolCallId":"t","result":{"columns":["a"],"rows":[[1],[1,2]]}}`, "", "", 400,
		},
		"rows that are none": {
			unkeyed, "POST", "/api/analyze/tool-result",
			`{"sessionId":"c","toolCallId":"t","result":{"columns":["a"],"rows":[[1],null]}}`, "", "", 400,
		},
		"too many rows": {
			unkeyed, "POST", "/api/analyze/tool-result",
			`{"sessionId":"c","toolCallId":"t","result":{"columns":["a"],"rows":[` + strings.Repeat("[1],", 10_000) +
				`[1]]}}`, "", "", 413,
		},
		"unknown session's": {
			unkeyed, "POST", "/api/analyze/tool-result", `{"sessionId":"c","toolCallId":"t","result":1}`, "", "", 404,
		},
		"a method like that": {unkeyed, "PUT", "/api/analyze", `{}`, "", "", 405},
	} {
		r := request(c.method, c.path, c.body)
		if c.site != "" {
			r.Header.Set("Sec-Fetch-Site", c.site)
		}
		if c.key != "" {
			r.Header.Set("Authorization", "Bearer "+c.key)
		}
		if w := do(c.api, r); w.Code != c.status {
			t.Errorf("%s: %d %s, want %d", name, w.Code, w.Body, c.status)
		}
	}
	turns := engine.Turns()
	if len(turns) != 1 || turns[0].Assistant != "explore" || !strings.Contains(turns[0].Context, "sales") ||
		turns[0].OnDisconnect != agent.Continue {
		t.Errorf("the turns are %+v", turns)
	}
}

// TestAnalyzeOfAnotherProcess checks that a reader can reconnect at a process that does not drive the run, and
// read on to the end of the run.
func TestAnalyzeOfAnotherProcess(t *testing.T) {
	model := agenttest.Script(agenttest.Call("t1", "run_query", `{}`), agenttest.Say("Yes."))
	first, second := replicas(t, model, browserQuery)
	params := url.Values{"question": {"How many?"}, "request_id": {"q"}}
	here, there := serve(t, first).URL, serve(t, second).URL
	es := dial(t, here, params, "")
	session, call := es.until(t, "session").SessionID, es.until(t, "tool_call").ID
	es.res.Body.Close()
	es = dial(t, there, params, es.last)
	var w *httptest.ResponseRecorder
	for range 200 { // until the first process has parked the run
		w = do(first, request("POST", "/api/analyze/tool-result",
			`{"sessionId":"`+session+`","toolCallId":"`+call+`","error":"no file"}`))
		if w.Code == 200 {
			break
		}
	}
	if w.Code != 200 {
		t.Fatal(w.Code, w.Body)
	}
	if f, _ := es.next(t); f.Type != "answer" {
		t.Errorf("the next frame is %+v", f)
	}
	es.until(t, "done")
	if sent := history(model, 1); !strings.Contains(sent, "no file") || !strings.Contains(sent, `"is_error":true`) {
		t.Errorf("the model read %s", sent)
	}
}
