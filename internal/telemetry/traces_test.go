package telemetry_test

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"log/slog"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/footnotehq/footnote"
	"github.com/footnotehq/footnote/agent"
	"github.com/footnotehq/footnote/agent/agenttest"
	"github.com/footnotehq/footnote/hub"
	"github.com/footnotehq/footnote/internal/telemetry"
	"github.com/footnotehq/footnote/model"
	"github.com/footnotehq/footnote/store"
	"github.com/footnotehq/footnote/store/sqlite/sqlitetest"
	"github.com/footnotehq/footnote/tool"
)

var ann = footnote.Principal{Org: "acme", User: "ann"}

// mortalLog is a log as seen by one server, until that server dies.
type mortalLog struct {
	store.Store
	dead         atomic.Bool
	testDone     chan struct{} // closed when the test ends
	resultStored chan struct{} // closed when a tool's result is stored
	once         sync.Once

	stored chan struct{} // holds a token after each append
	token  atomic.Int64  // of the newest lease
}

var errDead = errors.New("dead")

func (m *mortalLog) Append(ctx context.Context, a footnote.Append) ([]footnote.Event, error) {
	if m.dead.Load() {
		<-m.testDone
		return nil, errDead
	}
	return m.tell(ctx, a, m.Store.Append)
}

func (m *mortalLog) CreateAppend(ctx context.Context, s footnote.Stream, a footnote.Append) ([]footnote.Event, error) {
	return m.tell(ctx, a, func(ctx context.Context, a footnote.Append) ([]footnote.Event, error) {
		return m.Store.CreateAppend(ctx, s, a)
	})
}

func (m *mortalLog) tell(ctx context.Context, a footnote.Append,
	write func(context.Context, footnote.Append) ([]footnote.Event, error)) ([]footnote.Event, error) {
	events, err := write(ctx, a)
	if err == nil && a.Take != nil {
		m.token.Store(a.After + 1)
	}
	select {
	case m.stored <- struct{}{}:
	default: // it already holds one
	}
	for _, ev := range events {
		if _, is := ev.Body.(footnote.ToolResult); is {
			m.once.Do(func() { close(m.resultStored) })
		}
	}
	return events, err
}

func (m *mortalLog) Renew(ctx context.Context, stream string, token int64, ttl time.Duration) error {
	if m.dead.Load() {
		return errDead
	}
	return m.Store.Renew(ctx, stream, token, ttl)
}

func (m *mortalLog) Unfinished(ctx context.Context, now time.Time, limit int) ([]footnote.Stream, error) {
	if m.dead.Load() {
		return nil, errDead
	}
	return m.Store.Unfinished(ctx, now, limit)
}

// server is an engine over a log that traces its runs to a collector.
type server struct {
	*agent.Engine
	log    *mortalLog
	traces *telemetry.Traces
}

func serve(t *testing.T, log store.Store, c *otlpCollector, content bool, model model.Model) *server {
	t.Helper()
	s := &server{log: &mortalLog{
		Store: log, testDone: make(chan struct{}), resultStored: make(chan struct{}), stored: make(chan struct{}, 1),
	}, traces: telemetry.NewTraces(telemetry.TraceOptions{
		Endpoint: c.URL + "/", Headers: map[string]string{"Authorization": "Bearer of-the-collector"}, Ratio: 1,
		Content: content,
		Redact:  func(s string) string { return strings.ReplaceAll(s, "4711", "***") }, Provider: "anthropic",
		Server: "http://127.0.0.1:99", Version: "1",
		Logger: slog.New(slog.NewTextHandler(t.Output(), nil)),
	})}
	query := agenttest.NewTool(tool.Spec{
		Name: "run_query", InputSchema: json.RawMessage(`{"type":"object"}`), Side: tool.Server, ReadOnly: true,
	},
		func(context.Context, tool.Call) (tool.Output, error) {
			return tool.Output{
				Content: "hammers 8150915",
				Rows:    &footnote.Result{Columns: []footnote.Column{{Name: "n"}}, Rows: [][]any{{int64(8150915)}}},
			}, nil
		})
	page := agenttest.NewTool(tool.Spec{
		Name:        "ask_page",
		InputSchema: json.RawMessage(`{"type":"object"}`),
		Side:        tool.Client,
	}, nil)
	var err error
	s.Engine, err = agent.New(agent.Options{Log: s.log, Hub: hub.New(), Tracer: s.traces,
		LeaseTTL: 200 * time.Millisecond, Assistants: []*agent.Assistant{{
			Name: "analyst", ModelName: "claude-x", Model: model, Tools: []tool.Tool{query, page},
			Policy: agent.Policy{Approve: []string{"*"}},
			Opening: func(context.Context, footnote.Principal, []string) (agent.Opening, error) {
				return agent.Opening{System: json.RawMessage(`[]`)}, nil
			}}}})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		close(s.log.testDone)
		s.stop()
		if err := s.traces.Close(t.Context()); err != nil {
			t.Error(err)
		}
	})
	return s
}

// stop cancels all running work.
func (s *server) stop() {
	ctx, cancel := context.WithCancel(context.Background())
	cancel()
	s.Drain(ctx)
}

// stuck answers from its script, and then hangs until its run ends.
type stuck struct {
	model.Model
	left atomic.Int64
	hung chan struct{}
}

func (m *stuck) Step(ctx context.Context, req model.Request, l model.Live) (model.Reply, error) {
	if m.left.Add(-1) < 0 {
		close(m.hung)
		<-ctx.Done()
		return model.Reply{}, context.Cause(ctx)
	}
	return m.Model.Step(ctx, req, l)
}

// ended waits until a run has ended or parked, and returns the newest event.
func (s *server) ended(t *testing.T, stream string) (last footnote.Body) {
	t.Helper()
	for end := time.After(time.Minute); ; {
		head, err := s.log.Get(t.Context(), stream)
		if err == nil && head.RunState != "running" {
			break
		}
		if err != nil && footnote.CodeOf(err) != footnote.NotFound {
			t.Fatal(err)
		}
		select { // not yet, or no longer
		case <-s.log.stored:
		case <-end:
			t.Fatal("the run does not end")
		}
	}
	for ev, err := range s.log.Events(t.Context(), stream, 0) {
		if err != nil {
			t.Fatal(err)
		}
		last = ev.Body
	}
	return last
}

func named(spans []received, name string) (found []received) {
	for _, s := range spans {
		if s.Name == name {
			found = append(found, s)
		}
	}
	return found
}

const (
	callersTrace = "0af7651916cd43dd8448eb211c80319c"
	callersSpan  = "b7ad6b7169203331"
)

// TestTakeoverContinuesTrace kills the server of a run during a call. The server that takes over continues in
// the caller's trace.
func TestTakeoverContinuesTrace(t *testing.T) {
	log, collector := sqlitetest.New(t), startCollector(t)
	first := &stuck{
		Model: agenttest.Script(agenttest.Call("c1", "run_query", `{"sql":"SELECT 8150915"}`)),
		hung:  make(chan struct{}),
	}
	first.left.Store(1)
	a := serve(t, log, collector, false, first)
	ticket, err := a.Submit(t.Context(),
		agent.Turn{Text: "How many hammers?", Principal: ann, Protocol: "openai", OnDisconnect: agent.Continue,
			RequestID: "req_1", Trace: "00-" + callersTrace + "-" + callersSpan + "-01"})
	if err != nil {
		t.Fatal(err)
	}
	defer a.Subscribe(ticket).Close()
	<-first.hung
	<-a.log.resultStored // otherwise the call would run again
	a.log.dead.Store(true)
	if err := a.traces.Flush(t.Context()); err != nil {
		t.Fatal(err)
	}
	collector.Refuse(1) // a busy collector gets a retry

	b := serve(t, log, collector, false, agenttest.Script(agenttest.Say("There are 8150915 hammers.")))
	if err := log.Release(t.Context(), ticket.Conversation, a.log.token.Load()); err != nil { // the lease is over
		t.Fatal(err)
	}
	if err := b.Recover(t.Context()); err != nil {
		t.Fatal(err)
	}
	if last := b.ended(t, ticket.Conversation); footnote.KindOf(last) != "run_finished" {
		t.Fatalf("last event: %#v", last)
	}
	b.stop()
	if err := b.traces.Flush(t.Context()); err != nil {
		t.Fatal(err)
	}

	spans := collector.Spans()
	runs, chats, tools := named(spans, "invoke_agent analyst"), named(spans, "chat claude-x"),
		named(spans, "execute_tool run_query")
	if len(runs) != 1 || len(chats) != 2 || len(tools) != 1 {
		t.Fatalf("%d runs, %d chats, %d tools: %+v", len(runs), len(chats), len(tools), spans)
	}
	for _, s := range spans {
		if s.Trace != callersTrace {
			t.Errorf("%s is in the trace %s", s.Name, s.Trace)
		}
	}
	// The parent span of all others is from the first server, which had no time to send it.
	if runs[0].Parent != chats[0].Parent || chats[1].Parent != runs[0].ID || tools[0].Parent != chats[0].Parent {
		t.Errorf("the parents are %s, %s, %s, %s", runs[0].Parent, chats[0].Parent, chats[1].Parent, tools[0].Parent)
	}
	if chats[0].Resource["service.instance.id"] == chats[1].Resource["service.instance.id"] ||
		chats[0].Resource["service.name"] != "footnote" {
		t.Errorf("resources of both servers: %v, %v", chats[0].Resource, chats[1].Resource)
	}
	for _, want := range []struct {
		span received
		kind int
		set  map[string]any
	}{
		{runs[0], 1, map[string]any{"gen_ai.operation.name": "invoke_agent", "gen_ai.agent.name": "analyst",
			"gen_ai.provider.name": "anthropic", "gen_ai.conversation.id": ticket.Conversation,
			"footnote.run.id": ticket.Run, "footnote.run.part": int64(2), "footnote.request.id": "req_1",
			"footnote.run.outcome": "finished", "user.id": "ann", "gen_ai.request.model": "claude-x"}},
		{
			chats[0], 3, map[string]any{
				"gen_ai.operation.name": "chat", "gen_ai.request.model": "claude-x", "server.address": "127.0.0.1",
				"server.port": int64(99), "gen_ai.usage.cache_read.input_tokens": int64(0),
			},
		},
		{
			tools[0], 1, map[string]any{
				"gen_ai.operation.name": "execute_tool", "gen_ai.tool.name": "run_query", "gen_ai.tool.call.id": "c1",
				"gen_ai.tool.type": "function", "footnote.rows": int64(1),
			},
		},
	} {
		for k, v := range want.set {
			if want.span.Attributes[k] != v {
				t.Errorf("%s: %s is %v, want %v", want.span.Name, k, want.span.Attributes[k], v)
			}
		}
		if want.span.Kind != want.kind || want.span.Failed {
			t.Errorf("span: %+v", want.span)
		}
	}
	if stop, _ := chats[0].Attributes["gen_ai.response.finish_reasons"].([]string); !slices.Equal(stop, []string{
		"tool_use",
	}) {
		t.Errorf("attributes of the first call: %v", chats[0].Attributes)
	}
	for _, secret := range []string{"hammers", "8150915", "SELECT"} {
		if strings.Contains(collector.Text(), secret) {
			t.Errorf("the collector was told %s", secret)
		}
	}
	if got := collector.Header().Get("Authorization"); got != "Bearer of-the-collector" {
		t.Errorf("the collector was told %q", got)
	}
}

// TestParkedRunContinuesTrace parks a run for an answer from a page, which goes to a different server. No trace
// was started before, so the run's id determines it.
func TestParkedRunContinuesTrace(t *testing.T) {
	log, collector := sqlitetest.New(t), startCollector(t)
	a := serve(t, log, collector, true, agenttest.Script(agenttest.Call("c1", "ask_page", `{"what":"size"}`)))
	ticket, err := a.Submit(t.Context(), agent.Turn{
		Text: "How large is order 4711?", Principal: ann, Protocol: "aisdk", OnDisconnect: agent.Continue,
	})
	if err != nil {
		t.Fatal(err)
	}
	a.Subscribe(ticket).Close()
	if last := a.ended(t, ticket.Conversation); footnote.KindOf(last) != "run_parked" {
		t.Fatalf("last event: %#v", last)
	}
	a.stop()
	b := serve(t, log, collector, true, agenttest.Script(agenttest.Say("It has 12 pages.")))
	again, err := b.Submit(t.Context(),
		agent.Turn{Conversation: ticket.Conversation, Principal: ann, Protocol: "aisdk", OnDisconnect: agent.Continue,
			Answers: []tool.Answer{{CallID: "c1", Content: "12"}},
			Trace:   "00-" + callersTrace + "-" + callersSpan + "-01"})
	if err != nil {
		t.Fatal(err)
	}
	b.Subscribe(again).Close()
	if last := b.ended(t, ticket.Conversation); footnote.KindOf(last) != "run_finished" {
		t.Fatalf("last event: %#v", last)
	}
	b.stop()
	for _, s := range []*server{a, b} {
		if err := s.traces.Flush(t.Context()); err != nil {
			t.Fatal(err)
		}
	}
	sum := sha256.Sum256([]byte(ticket.Run))
	runs := named(collector.Spans(), "invoke_agent analyst")
	if len(runs) != 2 || runs[0].Trace != hex.EncodeToString(sum[:16]) || runs[1].Trace != runs[0].Trace {
		t.Fatalf("want two runs in one trace: %+v", runs)
	}
	if runs[0].Parent != "" || runs[1].Parent != runs[0].ID || !slices.Equal(runs[1].Links, []string{callersSpan}) {
		t.Errorf("want the second run below the first: %+v", runs)
	}
	if runs[0].Attributes["footnote.run.outcome"] != "parked" ||
		runs[1].Attributes["footnote.run.outcome"] != "finished" {
		t.Errorf("outcomes: %+v", runs)
	}
	// The span has the content, but nothing the log must not show.
	want := `[{"role":"user","parts":[{"type":"text","content":"How large is order ***?"}]}]`
	if got := runs[0].Attributes["gen_ai.input.messages"]; got != want || strings.Contains(collector.Text(), "4711") {
		t.Errorf("the question is %v, want %s", got, want)
	}
	if got := runs[1].Attributes["gen_ai.output.messages"]; got !=
		`[{"role":"assistant","parts":[{"type":"text","content":"It has 12 pages."}],"finish_reason":"stop"}]` {
		t.Errorf("the answer is %v", got)
	}
	const response = `"response":"\u003cdata\u003e\n12\n\u003c/data\u003e"`
	if chat := named(collector.Spans(), "chat claude-x"); len(chat) != 2 ||
		!strings.Contains(chat[1].Attributes["gen_ai.input.messages"].(string), response) {
		t.Errorf("model calls: %+v", chat)
	}
}

// TestMalformedTraceparent checks that a malformed traceparent starts a new trace.
func TestMalformedTraceparent(t *testing.T) {
	collector := startCollector(t)
	traces := telemetry.NewTraces(telemetry.TraceOptions{
		Endpoint: collector.URL,
		Ratio:    1,
		Logger:   slog.New(slog.DiscardHandler),
	})
	good := "00-" + callersTrace + "-" + callersSpan + "-01"
	for _, caller := range []string{
		"", "x", good[:54], good + "-x", "ff" + good[2:], strings.ToUpper(good),
		"00-" + strings.Repeat("0", 32) + good[35:], strings.Replace(good, "-01", "-0g", 1), good,
		"cc" + good[2:] + "-more",
	} {
		ctx := footnote.WithOrigin(t.Context(), footnote.Origin{Run: "run_" + strings.Trim(caller, " -")})
		_, own, end := traces.Run(ctx, agent.TracedRun{Assistant: "analyst", Caller: caller, Part: 1})
		end(agent.RunEnd{Outcome: "failed", Code: footnote.AgentTimeout})
		taken := caller == good || strings.HasPrefix(caller, "cc")
		if got := strings.Contains(own, callersTrace); got != taken {
			t.Errorf("%q: the run is %s", caller, own)
		}
	}
	if _, own, _ := traces.Run(t.Context(), agent.TracedRun{
		Caller: strings.TrimSuffix(good, "01") + "00",
	}); !strings.HasSuffix(own, "-00") {
		t.Errorf("a caller that follows nothing: %s", own)
	}
	if err := traces.Close(t.Context()); err != nil {
		t.Error(err)
	}
	for _, s := range collector.Spans() {
		if !s.Failed || s.Attributes["error.type"] != "agent_timeout" {
			t.Errorf("want a failed span: %+v", s)
		}
	}
}

// TestSecretsEscapedInJSON checks that no span contains a secret with a quote or an & in it.
func TestSecretsEscapedInJSON(t *testing.T) {
	collector := startCollector(t)
	const secret = `p&ss"4711`
	traces := telemetry.NewTraces(telemetry.TraceOptions{
		Endpoint: collector.URL, Ratio: 1, Content: true, Logger: slog.New(slog.NewTextHandler(t.Output(), nil)),
		Redact: func(s string) string { return strings.ReplaceAll(s, secret, "***") },
	})
	ctx, _, end := traces.Run(t.Context(), agent.TracedRun{Run: "run_1", Question: "Is it " + secret + "?"})
	content, _ := json.Marshal([]map[string]string{{"type": "text", "text": "It is " + secret}})
	_, done := traces.Step(ctx, &model.Request{Model: "m", Messages: []model.Message{{Role: "user", Content: content}}})
	done(&model.Reply{Message: footnote.AssistantMessage{Blocks: agenttest.Say("No, " + secret).Blocks}}, nil)
	end(agent.RunEnd{Outcome: "finished", Answer: "It was " + secret})
	if err := traces.Close(t.Context()); err != nil {
		t.Fatal(err)
	}
	if text := collector.Text(); strings.Contains(text, "4711") || strings.Count(text, "***") != 4 {
		t.Error(text)
	}
}
