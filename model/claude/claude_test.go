package claude

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"strings"
	"testing"
	"time"

	"github.com/footnotehq/footnote"
	"github.com/footnotehq/footnote/model"
	"github.com/footnotehq/footnote/model/modeltest"
)

const testKey = "sk-test-0123456789abcdef"

// recorder is a Live that records its calls.
type recorder struct {
	text    map[int]string // escaped, per block
	kinds   []string
	calls   []string
	flushes int
	retries []string
	open    map[int]bool
	waits   []time.Duration
	bad     []string // broken rules
	onDelta func()
}

func (r *recorder) Start(i int, kind, id, name string) {
	if r.text == nil {
		r.text, r.open = map[int]string{}, map[int]bool{}
	}
	if r.open[i] {
		r.bad = append(r.bad, fmt.Sprintf("block %d started twice", i))
	}
	r.open[i] = true
	r.kinds = append(r.kinds, fmt.Sprintf("%d:%s", i, kind))
	if id != "" {
		r.calls = append(r.calls, id+"="+name)
	}
}

func (r *recorder) Delta(i int, escaped []byte) {
	var s string
	if err := json.Unmarshal(quoted(escaped), &s); err != nil ||
		strings.Contains(s, "\ufffd") && !strings.Contains(string(escaped), "fffd") {
		r.bad = append(r.bad, fmt.Sprintf("delta %q is not the inside of a string: %v", escaped, err))
	}
	if !r.open[i] || len(escaped) == 0 {
		r.bad = append(r.bad, fmt.Sprintf("delta %q for block %d", escaped, i))
	}
	r.text[i] += string(escaped)
	if r.onDelta != nil {
		r.onDelta()
	}
}

func (r *recorder) Stop(i int) {
	if !r.open[i] {
		r.bad = append(r.bad, fmt.Sprintf("block %d stopped while closed", i))
	}
	r.open[i] = false
}

func (r *recorder) Flush() { r.flushes++ }

func (r *recorder) Retrying(attempt int, code footnote.Code, wait time.Duration) {
	r.retries = append(r.retries, fmt.Sprintf("%d:%s", attempt, code))
	r.waits = append(r.waits, wait)
}

// setup starts a server that follows replies, and a model that calls it. Waits between attempts take no time.
func setup(t *testing.T, server modeltest.Options, opts Options) (*Model, *modeltest.Server) {
	t.Helper()
	if server.Key == "" {
		server.Key = testKey
	}
	s := modeltest.New(server)
	opts.BaseURL = s.Start(t)
	if opts.APIKey == "" {
		opts.APIKey = testKey
	}
	if opts.Model == "" {
		opts.Model = "claude-sonnet-5-5"
	}
	if opts.Logger == nil {
		opts.Logger = slog.New(slog.NewTextHandler(t.Output(), nil))
	}
	m, err := New(opts)
	if err != nil {
		t.Fatal(err)
	}
	m.sleep = func(ctx context.Context, d time.Duration) error { return ctx.Err() }
	t.Cleanup(m.Close)
	return m, s
}

func user(text string) model.Message {
	content, _ := json.Marshal([]map[string]string{{"type": "text", "text": text}})
	return model.Message{Role: "user", Content: content}
}

func ask(messages ...model.Message) model.Request {
	return model.Request{
		Principal: footnote.Principal{Org: "acme", User: "ada@example.com"},
		System:    json.RawMessage(`[{"type":"text","text":"be brief"}]`),
		Tools:     json.RawMessage(`[{"name":"run_query","description":"d","input_schema":{"type":"object"}}]`),
		Messages:  messages,
	}
}

func replies(r ...modeltest.Reply) modeltest.Options { return modeltest.Options{Replies: r} }

// answer returns an assistant message for the history.
func answer(m footnote.AssistantMessage) model.Message {
	content, _ := json.Marshal(m.Blocks)
	return model.Message{Role: "assistant", Content: content}
}

func textOf(m footnote.AssistantMessage) string {
	var out strings.Builder
	for _, raw := range m.Blocks {
		var b struct{ Type, Text string }
		if json.Unmarshal(raw, &b) == nil && b.Type == "text" {
			out.WriteString(b.Text)
		}
	}
	return out.String()
}

func TestText(t *testing.T) {
	usage := &modeltest.Usage{Input: 100, CacheRead: 1000, CacheWrite: 10, CacheHour: 20, Output: 50, Thinking: 5}
	m, s := setup(t, replies(modeltest.Reply{Text: "Sales rose \"4 %\" 📈 <b>.\n", Usage: usage}), Options{})
	live := &recorder{}
	reply, err := m.Step(t.Context(), ask(user("how are sales?")), live)
	if err != nil {
		t.Fatal(err)
	}
	got := reply.Message
	if textOf(got) != "Sales rose \"4 %\" 📈 <b>.\n" || got.StopReason != model.EndTurn ||
		got.Model != "claude-sonnet-5-5" ||
		got.Upstream != "msg_00000001" || got.Request != "req_00000001" {
		t.Errorf("message = %+v", got)
	}
	if want := `{"type":"text","text":"Sales rose \"4 %\" 📈 <b>.\n"}`; string(got.Blocks[0]) != want {
		t.Errorf("block = %s, want %s", got.Blocks[0], want)
	}
	if want := (footnote.Usage{
		Input: 100, CacheRead: 1000, CacheWrite5m: 10, CacheWrite1h: 20, Output: 50, Thinking: 5,
	}); got.Usage != want {
		t.Errorf("usage = %+v, want %+v", got.Usage, want)
	}
	// 100×2 + 10×2.5 + 20×4 + 1000×0.1 + 50×10 = 905 micro-dollars
	if got.Cost != (footnote.Cost{MicroUSD: 905}) {
		t.Errorf("cost = %+v", got.Cost)
	}
	if live.text[0] != `Sales rose \"4 %\" 📈 <b>.\n` || live.flushes == 0 || len(live.bad) > 0 {
		t.Errorf("live = %+v", live)
	}
	if r := s.Refusals(); len(r) > 0 {
		t.Errorf("refusals: %v", r)
	}
}

func TestToolCalls(t *testing.T) {
	m, _ := setup(t, replies(modeltest.Blocks(
		modeltest.ThinkBlock("I need the count"),
		modeltest.TextBlock("Looking."),
		modeltest.Block{
			Type: "tool_use", Name: "run_query", Input: `{"sql": "select \"a\"", "n": 1.50}`, EmptyFirst: true,
			Deltas: 7,
		},
		modeltest.Block{Type: "tool_use", Name: "run_query"},
		modeltest.Block{Type: "tool_use", Name: "run_query", Input: `{"sql":1}`, Whole: true},
	)), Options{})
	live := &recorder{}
	reply, err := m.Step(t.Context(), ask(user("count")), live)
	if err != nil {
		t.Fatal(err)
	}
	want := []string{
		`{"type":"thinking","thinking":"I need the count","signature":"`,
		`{"type":"text","text":"Looking."}`,
		`{"type":"tool_use","id":"toolu_00000001_1","name":"run_query","input":{"sql":"select \"a\"","n":1.50}}`,
		`{"type":"tool_use","id":"toolu_00000001_2","name":"run_query","input":{}}`,
		`{"type":"tool_use","id":"toolu_00000001_3","name":"run_query","input":{"sql":1}}`,
	}
	for i, raw := range reply.Message.Blocks {
		if !strings.HasPrefix(string(raw), want[i]) {
			t.Errorf("block %d = %s, want %s", i, raw, want[i])
		}
	}
	if reply.Message.StopReason != model.ToolUse || len(live.calls) != 3 || len(live.bad) > 0 {
		t.Errorf("stop %s, live %+v", reply.Message.StopReason, live)
	}
	if live.text[2] != `{\"sql\": \"select \\\"a\\\"\", \"n\": 1.50}` || live.text[4] != `{\"sql\":1}` {
		t.Errorf("inputs as shown: %v", live.text)
	}
}

// stepError checks an error's type.
func stepError(t *testing.T, err error) *model.StepError {
	t.Helper()
	e, ok := errors.AsType[*model.StepError](err)
	if !ok {
		t.Fatalf("error is %T %v, want a *StepError", err, err)
	}
	return e
}

// TestStopReasons checks that every stop reason reaches the loop unchanged, known or not.
func TestStopReasons(t *testing.T) {
	for _, tc := range []struct {
		reply modeltest.Reply
		want  string
		last  string // last block
	}{
		{modeltest.Reply{}, model.EndTurn, ""},
		{modeltest.Reply{Text: "so", StopReason: "pause_turn"}, model.PauseTurn, `{"type":"text","text":"so"}`},
		{
			modeltest.Reply{
				StopReason:  "refusal",
				StopDetails: `{"type":"refusal","category":null,"explanation":"no"}`,
			}, model.Refusal, "",
		},
		{
			modeltest.Reply{
				Text:         "so",
				StopReason:   "stop_sequence",
				StopSequence: "END",
			}, model.StopSequence, `{"type":"text","text":"so"}`,
		},
		{
			modeltest.Reply{
				Text:       "so",
				StopReason: "model_context_window_exceeded",
			}, model.ContextExceeded, `{"type":"text","text":"so"}`,
		},
		{modeltest.Reply{Text: "so", StopReason: "brand_new", Odd: true}, "brand_new", `{"type":"text","text":"so"}`},
		{modeltest.Reply{
			Blocks:     []modeltest.Block{modeltest.CallBlock("run_query", `{"sql":"sel`)},
			StopReason: "max_tokens",
		}, model.MaxTokens,
			`{"type":"tool_use","id":"toolu_00000001_1","name":"run_query","input":{"INVALID_JSON":"{\"sql\":\"sel"}}`},
	} {
		m, _ := setup(t, replies(tc.reply), Options{})
		reply, err := m.Step(t.Context(), ask(user("hi")), &recorder{})
		if err != nil || reply.Message.StopReason != tc.want {
			t.Fatalf("%s: %+v %v", tc.want, reply, err)
		}
		last := ""
		if n := len(reply.Message.Blocks); n > 0 {
			last = string(reply.Message.Blocks[n-1])
		}
		if last != tc.last || reply.Message.Usage.Estimated {
			t.Errorf("%s: block %s, want %s; usage %+v", tc.want, last, tc.last, reply.Message.Usage)
		}
	}
}

// TestPausedTurn checks that a paused turn is sent back unchanged, as the last message, and continues.
func TestPausedTurn(t *testing.T) {
	m, s := setup(t, replies(
		modeltest.Reply{
			Blocks:     []modeltest.Block{modeltest.ThinkBlock("a"), modeltest.TextBlock("so far")},
			StopReason: "pause_turn",
		},
		modeltest.Blocks(modeltest.ThinkBlock("b"), modeltest.TextBlock(" and on")), modeltest.Say("done")), Options{})
	history := []model.Message{user("hi")}
	for range 2 {
		reply, err := m.Step(t.Context(), ask(history...), &recorder{})
		if err != nil {
			t.Fatal(err)
		}
		history = append(history, answer(reply.Message))
	}
	if _, err := m.Step(t.Context(), ask(append(history, user("more"))...), &recorder{}); err != nil ||
		len(s.Refusals()) > 0 {
		t.Errorf("next step: %v %v", err, s.Refusals())
	}
}
