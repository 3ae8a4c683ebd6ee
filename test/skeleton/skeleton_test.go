// Package skeleton tests one complete walk through the system: a model step asks for a query on the server, a
// query in the browser and a drawing; the server is killed while the browser's calls are open, restarted, and
// answered by another client through other protocols. It must pass at every commit.
package skeleton

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"io"
	"log/slog"
	"net"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"time"

	"golang.org/x/tools/txtar"

	"github.com/footnotehq/footnote"
	"github.com/footnotehq/footnote/agent"
	"github.com/footnotehq/footnote/agent/agenttest"
	"github.com/footnotehq/footnote/cite"
	"github.com/footnotehq/footnote/demo"
	"github.com/footnotehq/footnote/httpapi"
	"github.com/footnotehq/footnote/hub"
	"github.com/footnotehq/footnote/model"
	"github.com/footnotehq/footnote/model/claude"
	"github.com/footnotehq/footnote/model/modeltest"
	"github.com/footnotehq/footnote/protocol"
	"github.com/footnotehq/footnote/protocol/aisdk"
	"github.com/footnotehq/footnote/protocol/analyze"
	"github.com/footnotehq/footnote/protocol/openai"
	"github.com/footnotehq/footnote/source"
	"github.com/footnotehq/footnote/source/child"
	sqlitesource "github.com/footnotehq/footnote/source/sqlite"
	"github.com/footnotehq/footnote/store/sqlite"
	"github.com/footnotehq/footnote/tool"
	"github.com/footnotehq/footnote/tool/query"
)

var update = flag.Bool("update", false, "regenerate the transcript")

// Environment variables of the server under test.
const (
	envData = "SKELETON_DATA"
	envFake = "SKELETON_FAKE"
)

func TestMain(m *testing.M) {
	child.Main(map[string]child.OpenFunc{sqlitesource.Kind: sqlitesource.OpenEngine})
	if data := os.Getenv(envData); data != "" {
		if err := serve(data, os.Getenv(envFake)); err != nil {
			fmt.Fprintln(os.Stderr, err)
			os.Exit(1)
		}
		return
	}
	os.Exit(m.Run())
}

// sources finds the one source.
type sources struct{ db source.Source }

func (s sources) Source(string) (source.Source, error) { return s.db, nil }

// serve runs the whole server, with two tools that run in the browser. It prints its address and serves until
// it is killed.
func serve(data, fake string) error {
	ctx := context.Background()
	shop, err := sqlitesource.Open(ctx, "shop", filepath.Join(data, "shop.db"), sqlitesource.Options{})
	if err != nil {
		return err
	}
	log, err := sqlite.Open(ctx, filepath.Join(data, "footnote.db"), sqlite.Options{})
	if err != nil {
		return err
	}
	model, err := claude.New(claude.Options{
		Profile: claude.Anthropic, BaseURL: fake, APIKey: "test", Model: "claude-sonnet-5-5",
	})
	if err != nil {
		return err
	}
	live := hub.New()
	engine, err := agent.New(agent.Options{
		Log: log, Hub: live, Assistants: []*agent.Assistant{assistant(model, sources{shop})}, Resolve: resolve,
		Logger: slog.New(slog.NewTextHandler(os.Stderr, nil)), Now: onSaturday(),
	})
	if err != nil {
		return err
	}
	if err := engine.Recover(ctx); err != nil {
		return err
	}
	api, err := httpapi.New(httpapi.Options{
		Engine: engine, Log: log, Hub: live, Protocols: []protocol.Protocol{analyze.New(), aisdk.New()},
	})
	if err != nil {
		return err
	}
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return err
	}
	fmt.Println("http://" + listener.Addr().String())
	return api.HTTPServer("").Serve(listener)
}

// onSaturday returns a clock that starts on a fixed day. The prompt contains the day of the week, and the
// length of its name affects the fake model's token counts.
func onSaturday() func() time.Time {
	began := time.Now()
	return func() time.Time {
		return time.Date(2026, 11, 21, 12, 0, 0, 0, time.UTC).Add(time.Since(began))
	}
}

func assistant(model model.Model, shop sources) *agent.Assistant {
	browser := func(name string) tool.Tool {
		return agenttest.NewTool(tool.Spec{Name: name, Description: "Runs in the browser.", Side: tool.Client}, nil)
	}
	tools := append(query.New(query.Options{Sources: shop}), browser("browser_query"), browser("draw_horizontal_line"))
	return &agent.Assistant{
		Name: "analyst", Model: model, ModelName: "claude-sonnet-5-5", Tools: tools,
		Policy: agent.Policy{Approve: []string{"*"}},
		Opening: func(context.Context, footnote.Principal, []string) (agent.Opening, error) {
			system := json.RawMessage(`[{"type":"text","text":"You are an analyst."}]`)
			return agent.Opening{System: system, Sources: []string{"shop"}}, nil
		},
	}
}

func resolve(d agent.Draft) (r agent.Resolved) {
	r.Cites, r.Unresolved = cite.Resolve(d.Text, d.Tables, d.Question)
	return r
}

// server is a server process under test.
type server struct {
	url string
	cmd *exec.Cmd
}

func start(t *testing.T, data, fake string) *server {
	t.Helper()
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	cmd := exec.Command(self)
	cmd.Env = append(os.Environ(), envData+"="+data, envFake+"="+fake)
	cmd.Stderr = t.Output()
	out, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	s := &server{cmd: cmd}
	t.Cleanup(s.kill)
	line, err := bufio.NewReader(out).ReadString('\n')
	if err != nil {
		t.Fatalf("the server did not start: %v", err)
	}
	s.url = strings.TrimSpace(line)
	return s
}

// kill kills the server with kill -9.
func (s *server) kill() {
	_ = s.cmd.Process.Kill()
	_ = s.cmd.Wait()
}

func (s *server) post(t *testing.T, path, body string) *http.Response {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), 30*time.Second)
	t.Cleanup(cancel)
	req, err := http.NewRequestWithContext(ctx, http.MethodPost, s.url+path, strings.NewReader(body))
	if err != nil {
		t.Fatal(err)
	}
	req.Header.Set("Content-Type", "application/json")
	res, err := http.DefaultClient.Do(req)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { res.Body.Close() })
	return res
}

func read(t *testing.T, res *http.Response) string {
	t.Helper()
	body, err := io.ReadAll(res.Body)
	if err != nil && !errors.Is(err, io.ErrUnexpectedEOF) {
		t.Fatal(err)
	}
	return string(body)
}

// call is a tool_call frame of the native stream.
type call struct {
	Type, SessionID, ID, Name string
}

// parkedCalls reads the native stream until both of the browser's calls have come.
func parkedCalls(t *testing.T, res *http.Response) (conversation, query, draw string) {
	t.Helper()
	scan := bufio.NewScanner(res.Body)
	for scan.Scan() && (query == "" || draw == "") {
		data, ok := strings.CutPrefix(scan.Text(), "data: ")
		if !ok {
			continue
		}
		var c call
		if err := json.Unmarshal([]byte(data), &c); err != nil {
			t.Fatalf("frame %q: %v", data, err)
		}
		switch {
		case c.Type == "session":
			conversation = c.SessionID
		case c.Name == "browser_query":
			query = c.ID
		case c.Name == "draw_horizontal_line":
			draw = c.ID
		}
	}
	if conversation == "" || query == "" || draw == "" {
		t.Fatalf("the stream ended early: %v", scan.Err())
	}
	return conversation, query, draw
}

// waitParked waits until the log says that the run is parked.
func (s *server) waitParked(t *testing.T, conversation string) {
	t.Helper()
	for begun := time.Now(); time.Since(begun) < 10*time.Second; {
		res, err := http.Get(s.url + "/api/conversations/" + conversation + "/events")
		if err != nil {
			t.Fatal(err)
		}
		body, err := io.ReadAll(res.Body)
		res.Body.Close()
		if err == nil && bytes.Contains(body, []byte("run_parked")) {
			return
		}
	}
	t.Fatal("the run was not parked within 10 s")
}

// script returns the model's replies: three calls at once, then an answer with numbers from both queries.
func script() []modeltest.Reply {
	return []modeltest.Reply{
		modeltest.Blocks(
			modeltest.ThinkBlock("I need both counts, and a line."),
			modeltest.CallBlock("run_query", `{"sql":"SELECT count(*) AS orders FROM orders"}`),
			modeltest.CallBlock("browser_query", `{"sql":"SELECT count(*) AS visits FROM visits"}`),
			modeltest.CallBlock("draw_horizontal_line", `{"price":1.095}`)),
		modeltest.Say("There are 846 orders and 7,531 visits."),
	}
}

func TestSkeleton(t *testing.T) {
	data := t.TempDir()
	if err := demo.Write(t.Context(), filepath.Join(data, "shop.db")); err != nil {
		t.Fatal(err)
	}
	replies := script()
	fake := modeltest.New(modeltest.Options{Replies: replies, Key: "test"})
	fakeURL := fake.Start(t)

	first := start(t, data, fakeURL)
	conversation, query,
		draw := parkedCalls(t, first.post(t, "/api/analyze", `{"question":"How many orders and visits? Draw a line."}`))
	first.waitParked(t, conversation)
	first.kill()

	second := start(t, data, fakeURL)
	result := fmt.Sprintf(`{"sessionId":%q,"toolCallId":%q,"result":"drawn"}`, conversation, draw)
	if got := read(t, second.post(t, "/api/analyze/tool-result", result)); !strings.Contains(got, `"duplicate":false`) {
		t.Fatalf("first result: %s", got)
	}
	// Another client, another protocol: the drawing again, and the query's rows.
	chat := fmt.Sprintf(`{"id":%q,"trigger":"submit-message","messages":[{"id":"m","role":"assistant","parts":[
		{"type":"tool-draw_horizontal_line","toolCallId":%q,"state":"output-available","input":{},"output":"drawn"},
		{"type":"tool-browser_query","toolCallId":%q,"state":"output-available","input":{},"output":{"columns":["visits"],"rows":[[7531]]}}]}]}`,
		conversation, draw, query)
	if got := read(t, second.post(t, "/api/ai", chat)); !strings.Contains(got, `"type":"finish"`) ||
		!strings.Contains(got, "7,531") {
		t.Fatalf("the answer did not come: %s", got)
	}
	twice := second.post(t, "/api/analyze/tool-result", result)
	if got := read(t, twice); !strings.Contains(got, `"duplicate":true`) {
		t.Errorf("the same result after the end: %d %s", twice.StatusCode, got)
	}
	second.kill()

	events := readLog(t, data, conversation)
	checkLog(t, events)
	if m := fake.Metrics(); m.Requests != 2 || m.Refusals != 0 {
		t.Errorf("the model got %d requests and refused %d: %v", m.Requests, m.Refusals, fake.Refusals())
	}
	compare(t, "testdata/skeleton.txtar", render(t, events))
}

func readLog(t *testing.T, data, conversation string) []footnote.Event {
	t.Helper()
	log, err := sqlite.Open(t.Context(), filepath.Join(data, "footnote.db"), sqlite.Options{})
	if err != nil {
		t.Fatal(err)
	}
	defer log.Close()
	var events []footnote.Event
	for ev, err := range log.Events(t.Context(), conversation, 0) {
		if err != nil {
			t.Fatal(err)
		}
		events = append(events, ev)
	}
	return events
}

func checkLog(t *testing.T, events []footnote.Event) {
	t.Helper()
	terminals, results := 0, map[string]int{}
	var answer footnote.Answered
	for i, ev := range events {
		if ev.Seq != int64(i+1) {
			t.Errorf("event %d has sequence %d", i+1, ev.Seq)
		}
		switch b := ev.Body.(type) {
		case footnote.ToolResult:
			results[b.CallID]++
		case footnote.Answered:
			answer = b
		}
		if footnote.Terminal(ev.Body) {
			terminals++
		}
	}
	if terminals != 1 || len(results) != 3 {
		t.Errorf("%d terminal events, results %v; want 1 and three calls", terminals, results)
	}
	for id, n := range results {
		if n != 1 {
			t.Errorf("the call %s has %d results", id, n)
		}
	}
	if len(answer.Cites) != 2 || len(answer.Unresolved) != 0 {
		t.Errorf("footnotes %+v, unresolved %+v; want both numbers explained", answer.Cites, answer.Unresolved)
	}
}

// encoder is the interface that all three protocols' encoders have.
type encoder interface {
	Event(dst []byte, ev footnote.Event) []byte
}

// render renders the log as three protocols show it.
func render(t *testing.T, events []footnote.Event) *txtar.Archive {
	t.Helper()
	run := events[len(events)-1].Run
	protocols := []struct {
		name string
		enc  encoder
	}{
		{
			"openai", openai.NewEncoder(openai.Options{
				ID: "chatcmpl-1", Run: run, Model: "analyst", Created: time.Unix(0, 0),
			}),
		},
		{
			"aisdk", aisdk.NewEncoder(aisdk.Options{
				Run: run,
				Tools: []agent.ToolInfo{
					{Name: "browser_query", Side: tool.Client}, {Name: "draw_horizontal_line", Side: tool.Client},
				},
			}),
		},
		{
			"analyze", analyze.NewEncoder(analyze.Options{
				Run: run,
				Tools: []agent.ToolInfo{
					{Name: "run_query", Family: tool.Query, Side: tool.Server},
					{Name: "browser_query", Side: tool.Client}, {Name: "draw_horizontal_line", Side: tool.Client},
				},
			}),
		},
	}
	a := &txtar.Archive{Comment: []byte("The log of the walking skeleton, and how three protocols show it.\n")}
	var kinds bytes.Buffer
	for _, ev := range events {
		_, data, err := footnote.EncodeBody(ev.Body)
		if err != nil {
			t.Fatal(err)
		}
		fmt.Fprintf(&kinds, "%d %s %s\n", ev.Seq, footnote.KindOf(ev.Body), data)
	}
	a.Files = append(a.Files, txtar.File{Name: "log", Data: scrub(kinds.Bytes())})
	for _, d := range protocols {
		var out []byte
		for _, ev := range events {
			if _, parked := ev.Body.(footnote.RunParked); parked && d.name != "analyze" {
				continue // these protocols end a response there; show the log as a whole
			}
			out = d.enc.Event(out, ev)
		}
		a.Files = append(a.Files, txtar.File{Name: d.name, Data: scrub(out)})
	}
	return a
}

var changing = regexp.MustCompile(
	`conv_[A-Z0-9]+|run_[A-Z0-9]{20,}|req_[A-Z0-9]{20,}|sha256:[0-9a-f]{64}|"signature":"[^"]*"|"(deadline|request|` +
		`upstream|created)":"[^"]*"|,"millis":\d+|\d{4}-\d\d-\d\d|Today is \w+`)

// scrub replaces what differs from run to run.
func scrub(b []byte) []byte {
	return changing.ReplaceAllFunc(b, func(m []byte) []byte {
		if bytes.HasPrefix(m, []byte(`,"millis"`)) {
			return nil // left out if it is 0
		}
		if name, _, ok := bytes.Cut(m, []byte(`":`)); ok {
			return append(append([]byte{}, name...), `":"…"`...)
		}
		return regexp.MustCompile(`[A-Z0-9]{20,}|[0-9a-f]{64}|\d{4}-\d\d-\d\d|is \w+`).ReplaceAll(m, []byte("…"))
	})
}

func compare(t *testing.T, path string, got *txtar.Archive) {
	t.Helper()
	data := txtar.Format(got)
	if *update {
		if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, data, 0o644); err != nil {
			t.Fatal(err)
		}
		return
	}
	want, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	if !bytes.Equal(want, data) {
		t.Errorf("the transcript changed; look at the difference and run with -update\ngot:\n%s", data)
	}
}
