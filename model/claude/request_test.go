package claude

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"log/slog"
	"net"
	"net/http"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/footnotehq/footnote"
	"github.com/footnotehq/footnote/model"
	"github.com/footnotehq/footnote/model/modeltest"
)

// stored returns a message as a store returns it.
func stored(t *testing.T, m footnote.AssistantMessage) footnote.AssistantMessage {
	t.Helper()
	kind, data, err := footnote.EncodeBody(m)
	if err != nil {
		t.Fatal(err)
	}
	body, err := footnote.DecodeBody(kind, data)
	if err != nil {
		t.Fatal(err)
	}
	return body.(footnote.AssistantMessage)
}

// TestHistoryKeepsThinkingValid checks that a conversation over several turns, whose messages are stored and
// read back, keeps its thinking valid: the server checks every signature.
func TestHistoryKeepsThinkingValid(t *testing.T) {
	for _, display := range []string{"summarized", "omitted"} {
		turn := func(r modeltest.Request) modeltest.Reply {
			if len(r.Results()) > 0 {
				return modeltest.Blocks(modeltest.ThinkBlock("<so>   it is\u2028 📈"),
					modeltest.TextBlock("It is 42 & more."))
			}
			return modeltest.Reply{Odd: true, Blocks: []modeltest.Block{
				modeltest.ThinkBlock("count & think"), {Type: "redacted_thinking"}, modeltest.TextBlock("Looking."),
				{
					Type: "tool_use", Name: "run_query", Input: `{"sql" : "select count(*) from a where b < 'é'" }`,
					Deltas: 5,
				},
			}}
		}
		m, s := setup(t, modeltest.Options{Rule: turn}, Options{ThinkingDisplay: display, Effort: "low"})
		var history []model.Message
		for range 4 {
			history = append(history, user("how many, and why <b>?"))
			first, err := m.Step(t.Context(), ask(history...), &recorder{})
			if err != nil {
				t.Fatal(err)
			}
			history = append(history, answer(stored(t, first.Message)))
			var call struct{ ID string }
			if err := json.Unmarshal(first.Message.Blocks[len(first.Message.Blocks)-1], &call); err != nil {
				t.Fatal(err)
			}
			history = append(history, model.Message{
				Role:    "user",
				Content: json.RawMessage(`[{"type":"tool_result","tool_use_id":"` + call.ID + `","content":"42"}]`),
			})
			second, err := m.Step(t.Context(), ask(history...), &recorder{})
			if err != nil {
				t.Fatal(err)
			}
			history = append(history, answer(stored(t, second.Message)))
		}
		if r := s.Refusals(); len(r) > 0 {
			t.Errorf("%s: refusals %v", display, r)
		}
		last := s.Requests()[len(s.Requests())-1]
		for i, msg := range history[:len(history)-1] {
			if !bytes.Contains(last.Body, msg.Content) {
				t.Errorf("message %d was not sent as it is", i)
			}
		}
		if bytes.Contains(last.Body, []byte("ada@example.com")) || !strings.HasPrefix(last.User, "u_") {
			t.Errorf("user id %q, or the user's name was sent", last.User)
		}
	}
}

func effort(level string) func(*model.Request) {
	return func(r *model.Request) { r.Effort = level }
}

func TestRequestFields(t *testing.T) {
	ok := modeltest.Options{Rule: func(modeltest.Request) modeltest.Reply { return modeltest.Say("ok") }}
	for _, tc := range []struct {
		name, model string
		opts        Options
		change      func(*model.Request)
		want        []string
		not         []string
	}{
		{"newest", "claude-opus-5-5", Options{Effort: "high"}, nil, []string{
			`"model":"claude-opus-5-5","max_tokens":16000,"stream":true`,
			`"thinking":{"type":"adaptive","display":"summarized"}`,
			`"output_config":{"effort":"high"}`, `"cache_control":{"type":"ephemeral"}`,
			`"text":"be brief","cache_control":{"type":"ephemeral","ttl":"1h"}}]`,
		}, []string{"tool_choice", "temperature"}},
		{
			"no thinking, no effort", "claude-haiku-4-5", Options{Effort: "high"},
			nil, nil, []string{`"thinking"`, `"output_config"`},
		},
		{
			"thinking off", "claude-haiku-5-5", Options{Effort: "high"}, effort(footnote.EffortOff), []string{
				`"thinking":{"type":"disabled"}`,
			}, []string{`"output_config"`, `"display"`},
		},
		{
			"thinking off where it cannot be", "claude-opus-5-5", Options{Effort: "high"},
			effort(footnote.EffortOff), []string{`"thinking":{"type":"adaptive"`, `"output_config":{"effort":"low"}`},
			nil,
		},
		{
			"a level of its own", "claude-opus-5-5", Options{Effort: "high"},
			effort("max"), []string{`"thinking":{"type":"adaptive"`, `"output_config":{"effort":"max"}`}, nil,
		},
		{
			"no tools, please", "claude-opus-5-5", Options{}, func(r *model.Request) {
				r.NoTools = true
			}, []string{`"tool_choice":{"type":"none"}`, `"tools":[`}, nil,
		},
		{
			"without tools", "claude-opus-5-5", Options{}, func(r *model.Request) {
				r.Tools, r.NoTools = json.RawMessage("[]"), true
			}, nil, []string{`"tool_choice"`, `"tools"`},
		},
		{
			"without system", "claude-opus-5-5", Options{}, func(r *model.Request) {
				r.System = nil
			}, []string{`{"type":"object"},"cache_control":{"type":"ephemeral","ttl":"1h"}}]`}, []string{`"system"`},
		},
		{"marks of its own", "claude-opus-5-5", Options{}, func(r *model.Request) {
			r.System = json.RawMessage(
				`[{"type":"text","text":"a","cache_control":{"type":"ephemeral","ttl":"1h"}},{"type":"text",` +
					`"text":"b"}]`)
		}, []string{`{"type":"text","text":"b"}]`}, nil},
		{
			"request lowers the limit", "claude-opus-5-5", Options{}, func(r *model.Request) {
				r.MaxTokens = 300
			}, []string{`"max_tokens":300,`}, nil,
		},
		{
			"model lowers the limit", "claude-haiku-4-5", Options{MaxTokens: 100_000},
			nil, []string{`"max_tokens":64000,`}, nil,
		},
		{
			"money lowers the limit", "claude-opus-5-5", Options{}, func(r *model.Request) {
				r.MaxCost = 21_000
			}, nil, []string{`"max_tokens":16000`},
		},
		{"unsigned thinking is left out", "claude-opus-5-5", Options{}, func(r *model.Request) {
			r.Messages = append(r.Messages, model.Message{
				Role:    "assistant",
				Content: json.RawMessage(`[{"type":"thinking","thinking":"a"},{"type":"text","text":"b"}]`),
			}, user("c"),
				model.Message{
					Role:    "assistant",
					Content: json.RawMessage(`[{"type":"thinking","thinking":"","signature":""}]`),
				}, user("d"))
		}, []string{`"content":[{"type":"text","text":"b"}]}`}, []string{`"thinking":"a"`}},
	} {
		t.Run(tc.name, func(t *testing.T) {
			m, s := setup(t, ok, tc.opts)
			req := ask(user("hi"))
			req.Model = tc.model
			if tc.change != nil {
				tc.change(&req)
			}
			if _, err := m.Step(t.Context(), req, &recorder{}); err != nil {
				t.Fatal(err)
			}
			sent := string(s.Requests()[0].Body)
			for _, want := range tc.want {
				if !strings.Contains(sent, want) {
					t.Errorf("request lacks %s:\n%s", want, sent)
				}
			}
			for _, not := range tc.not {
				if strings.Contains(sent, not) {
					t.Errorf("request has %s:\n%s", not, sent)
				}
			}
			if h := s.Requests()[0].Header; h.Get("Anthropic-Version") != "2026-10-21" || h.Get("X-Api-Key") != "" {
				t.Errorf("headers %v", h)
			}
		})
	}
}

func TestBudget(t *testing.T) {
	m, s := setup(t, replies(modeltest.Say("ok")), Options{})
	req := ask(user("hi"))
	req.MaxCost = 100
	_, err := m.Step(t.Context(), req, &recorder{})
	if e := stepError(t, err); e.Code != footnote.BudgetExceeded || e.Again || s.Metrics().Requests != 0 {
		t.Errorf("%+v, %d requests", e, s.Metrics().Requests)
	}
	req.MaxCost = 5_000
	reply, err := m.Step(t.Context(), req, &recorder{})
	if err != nil || reply.Message.Cost.MicroUSD > 5_000 {
		t.Fatalf("reply: %+v %v", reply, err)
	}
	if limit := s.Requests()[0].Max; limit < minOutput || limit > 500 {
		t.Errorf("max_tokens = %d", limit)
	}
}

// TestCompatible checks that the compatible profile sends only what every such server supports, and accepts
// what they leave out.
func TestCompatible(t *testing.T) {
	m, s := setup(t, modeltest.Options{Compatible: true, Replies: []modeltest.Reply{
		modeltest.Blocks(modeltest.ThinkBlock("hm"), modeltest.TextBlock("Looking."),
			modeltest.CallBlock("run_query", `{"sql":"select 1, 2, 3, 4, 5, 6"}`)),
		{Text: "It is 1.", NoUsage: true},
	}}, Options{Profile: Compatible, Model: "qwen3:8b", Effort: "high"})
	live := &recorder{}
	first, err := m.Step(t.Context(), ask(user("hi")), live)
	if err != nil {
		t.Fatal(err)
	}
	got := first.Message
	if string(got.Blocks[0]) != `{"type":"thinking","thinking":"hm"}` || got.StopReason != model.ToolUse ||
		len(live.bad) > 0 {
		t.Errorf("blocks: %s", got.Blocks)
	}
	if !got.Usage.Estimated || got.Usage.Input == 0 || !got.Cost.Unpriced || got.Cost.MicroUSD == 0 {
		t.Errorf("usage %+v cost %+v", got.Usage, got.Cost)
	}
	second, err := m.Step(t.Context(), ask(user("hi"), answer(got),
		model.Message{
			Role:    "user",
			Content: json.RawMessage(`[{"type":"tool_result","tool_use_id":"toolu_00000001_1","content":"1"}]`),
		}), &recorder{})
	if err != nil || !second.Message.Usage.Estimated || second.Message.Usage.Output == 0 {
		t.Fatalf("want an estimated usage: %+v %v", second, err)
	}
	sent := s.Requests()[1]
	if h := sent.Header; h.Get("Anthropic-Version") != "2023-06-01" || h.Get("X-Api-Key") != testKey ||
		h.Get("Authorization") != "Bearer "+testKey {
		t.Errorf("headers %v", h)
	}
	if bytes.Contains(sent.Body, []byte("thinking")) || len(s.Refusals()) > 0 {
		t.Errorf("second request: %s\n%v", sent.Body, s.Refusals())
	}
	if err := m.Check(t.Context()); err != nil {
		t.Errorf("Check = %v", err)
	}
}

// TestAnswerWithoutStreaming checks that the client also reads the answer of a server that ignores stream.
func TestAnswerWithoutStreaming(t *testing.T) {
	rt := transport(func(*http.Request) (*http.Response, error) {
		body := `{"id":"m1","type":"message","model":"llama","content":[{"type":"text","text":"hi ` +
			`\ud83d"},{"type":"tool_use","id":"t1","name":"q","input":{"a": ` +
			`1}}],"stop_reason":"tool_use","usage":{"input_tokens":3,"output_tokens":5.0}}`
		return answering(200, http.Header{"Content-Type": {"application/json"}}, io.NopCloser(strings.NewReader(body))),
			nil
	})
	m := inBubble(t, rt, Options{})
	live := &recorder{}
	reply, err := m.Step(t.Context(), ask(user("x")), live)
	if err != nil {
		t.Fatal(err)
	}
	if string(reply.Message.Blocks[0]) != `{"type":"text","text":"hi \ufffd"}` ||
		string(reply.Message.Blocks[1]) != `{"type":"tool_use","id":"t1","name":"q","input":{"a":1}}` {
		t.Errorf("blocks: %s", reply.Message.Blocks)
	}
	if reply.Message.Usage != (footnote.Usage{Input: 3, Output: 5}) || live.flushes != 1 || len(live.bad) > 0 ||
		live.text[1] != `{\"a\":1}` {
		t.Errorf("usage %+v, live %+v", reply.Message.Usage, live)
	}
}

// TestLongHistoryIsSentUnchanged checks that a long history is sent unchanged, and again on a retry.
func TestLongHistoryIsSentUnchanged(t *testing.T) {
	m, s := setup(t, replies(modeltest.Fail(500), modeltest.Say("ok")), Options{})
	var history []model.Message
	for i := range 400 {
		history = append(history, user(fmt.Sprintf("question %d %s", i, strings.Repeat("é", 200))),
			model.Message{
				Role:    "assistant",
				Content: json.RawMessage(fmt.Sprintf(`[{"type":"text","text":"answer %d"}]`, i)),
			})
	}
	history = append(history, user("and now?"))
	if _, err := m.Step(t.Context(), ask(history...), &recorder{}); err != nil {
		t.Fatal(err)
	}
	r := s.Requests()
	if len(r) != 2 || !bytes.Equal(r[0].Body, r[1].Body) || len(r[0].Messages) != 801 || len(r[0].Body) < 200_000 {
		t.Errorf("%d requests of %d bytes", len(r), len(r[0].Body))
	}
	if r[1].Header.Get("Content-Length") != fmt.Sprint(len(r[1].Body)) {
		t.Errorf("Content-Length %q", r[1].Header.Get("Content-Length"))
	}
}

// TestConnectionsAreReused checks that one connection serves several calls.
func TestConnectionsAreReused(t *testing.T) {
	s := modeltest.New(modeltest.Options{Rule: func(modeltest.Request) modeltest.Reply { return modeltest.Say("ok") }})
	ln, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	var opened atomic.Int64
	srv := &http.Server{Handler: s, ConnState: func(_ net.Conn, state http.ConnState) {
		if state == http.StateNew {
			opened.Add(1)
		}
	}}
	go srv.Serve(ln)
	defer srv.Close()
	m, err := New(Options{BaseURL: "http://" + ln.Addr().String() + "/v1/", APIKey: testKey, Model: "claude-opus-5-5"})
	if err != nil {
		t.Fatal(err)
	}
	defer m.Close()
	for range 10 {
		if _, err := m.Step(t.Context(), ask(user("hi")), &recorder{}); err != nil {
			t.Fatal(err)
		}
		m.wg.Wait() // until the connection is free again
	}
	if opened.Load() != 1 {
		t.Errorf("%d connections", opened.Load())
	}
}

// TestKeyIsNotPrinted checks that the key appears only in the request, even if the upstream repeats it.
func TestKeyIsNotPrinted(t *testing.T) {
	var log bytes.Buffer
	echo := modeltest.Reply{Error: &modeltest.Failure{Status: 401, Message: "invalid key " + testKey}}
	within := modeltest.Reply{
		Text:  "x y z",
		Fault: &modeltest.Fault{Kind: modeltest.ErrorIn, After: 1, Message: "key " + testKey},
	}
	opts := Options{Logger: slog.New(slog.NewTextHandler(&log, &slog.HandlerOptions{Level: slog.LevelDebug}))}
	m, s := setup(t, replies(echo, within), opts)
	var printed strings.Builder
	for range 2 {
		_, err := m.Step(t.Context(), ask(user("hi")), &recorder{})
		fmt.Fprintf(&printed, "%v %+v %s", err, stepError(t, err), footnote.MessageOf(err))
	}
	fmt.Fprintf(&printed, "%v %+v %#v", m.opts, m.opts, m.opts)
	opts.APIKey = testKey
	js, err := json.Marshal(opts.APIKey)
	fmt.Fprintf(&printed, "%v %+v %#v %s %v", opts, opts, opts, js, err)
	slog.New(slog.NewTextHandler(&log, nil)).Info("x", "opts", opts, "key", opts.APIKey)
	if strings.Contains(printed.String()+log.String(), testKey) {
		t.Errorf("the key was printed:\n%s\n%s", printed.String(), log.String())
	}
	if !strings.Contains(log.String(), "model call failed") || s.Metrics().Requests != 2 {
		t.Errorf("log: %s", log.String())
	}
	_, err = New(Options{BaseURL: "http://ada:" + testKey + "@host", APIKey: testKey})
	if err == nil || strings.Contains(err.Error(), testKey) {
		t.Errorf("New = %v", err)
	}
}

// TestEnvironmentIsIgnored checks that the process's environment has no effect.
func TestEnvironmentIsIgnored(t *testing.T) {
	t.Setenv("ANTHROPIC_API_KEY", "other")
	t.Setenv("ANTHROPIC_BASE_URL", "http://127.0.0.1:1")
	t.Setenv("ANTHROPIC_CUSTOM_HEADERS", "X-Evil: 1")
	m, s := setup(t, replies(modeltest.Say("ok")), Options{})
	if _, err := m.Step(t.Context(), ask(user("hi")), &recorder{}); err != nil ||
		s.Requests()[0].Header.Get("X-Evil") != "" {
		t.Errorf("step: %v", err)
	}
}

func TestOptions(t *testing.T) {
	for _, bad := range []Options{
		{}, {Profile: "other", APIKey: "k"}, {Profile: Compatible}, {APIKey: "k", BaseURL: "api.example.com"},
		{APIKey: "k", Effort: "heroic"}, {APIKey: "k", ThinkingDisplay: "loud"}, {APIKey: "k", MaxTokens: -1},
	} {
		if _, err := New(bad); err == nil {
			t.Errorf("New(%+v) gave no error", bad)
		}
	}
	m, err := New(Options{Profile: Compatible, BaseURL: "http://localhost:11434/v1/"})
	if err != nil || m.opts.BaseURL != "http://localhost:11434" {
		t.Errorf("base URL: %v %v", m.opts.BaseURL, err)
	}
	_, err = m.Step(t.Context(), ask(user("hi")), &recorder{})
	if e := stepError(t, err); e.Code != footnote.ModelNotFound {
		t.Errorf("want model_not_found: %+v", e)
	}
}

func TestCheck(t *testing.T) {
	m, _ := setup(t, modeltest.Options{}, Options{})
	if err := m.Check(t.Context()); err != nil {
		t.Errorf("Check = %v", err)
	}
	m, _ = setup(t, modeltest.Options{}, Options{Model: "claude-nope"})
	if err := m.Check(t.Context()); footnote.CodeOf(err) != footnote.ModelUnavailable ||
		!strings.Contains(footnote.MessageOf(err), "claude-nope") {
		t.Errorf("Check of an unknown model = %v", err)
	}
	m, _ = setup(t, modeltest.Options{}, Options{APIKey: "wrong-key"})
	if err := m.Check(t.Context()); footnote.MessageOf(err) != sayRefusedKey {
		t.Errorf("Check with a wrong key = %v", err)
	}
}
