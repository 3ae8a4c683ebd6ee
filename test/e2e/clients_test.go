package e2e

import (
	"context"
	"errors"
	"net/http"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/openai/openai-go/v3"
	"github.com/openai/openai-go/v3/option"

	"github.com/footnotehq/footnote/internal/clienttest"
	"github.com/footnotehq/footnote/model/modeltest"
)

// forClients returns the faults that the clients' tests name, besides the lines "fake: …".
func forClients() map[string]fault {
	all := faults()
	all["endless"] = fault{
		replies: []modeltest.Reply{
			modeltest.Blocks(modeltest.Block{
				Type: "text", Text: "word ", Repeat: true, Deltas: 100_000, Gap: 2 * time.Millisecond,
			}),
		},
	}
	all["silent"] = fault{replies: []modeltest.Reply{{Wait: 30 * time.Second}}}
	return all
}

// TestJavaScriptClient runs the official package, as published, against the program.
func TestJavaScriptClient(t *testing.T) {
	t.Parallel()
	fake, settings := imitate(t, scripted(t, forClients()))
	runClient(t, serve(t, append(settings, keys, "FOOTNOTE_BODY_LIMIT=65536")...), "program.test.js")
	eventually(t, "the upstream calls of clients that left have ended", func() bool { return fake.Metrics().Open == 0 })
}

// TestEventSource runs a published EventSource against the native stream.
func TestEventSource(t *testing.T) {
	t.Parallel()
	_, settings := imitate(t, auto(t))
	runClient(t, serve(t, append(settings, keys, "FOOTNOTE_BODY_LIMIT=65536")...), "analyze.test.js")
}

// runClient runs a file of test/clients against a server.
func runClient(t *testing.T, p *process, file string) {
	t.Helper()
	node, err := exec.LookPath("node")
	if err != nil {
		t.Fatal("Node.js is needed for the client tests: ", err)
	}
	ctx, cancel := context.WithTimeout(t.Context(), 5*time.Minute)
	defer cancel()
	dir := filepath.Join("..", "clients")
	if err := clienttest.Install(ctx, dir); err != nil {
		t.Fatal(err)
	}
	cmd := exec.CommandContext(ctx, node, "--test", "--test-reporter=tap", file)
	cmd.Dir, cmd.WaitDelay = dir, 5*time.Second
	cmd.Env = environ("FOOTNOTE_TEST_URL="+p.url, "FOOTNOTE_TEST_KEY="+adasKey, "FOOTNOTE_TEST_OTHER_KEY="+bobsKey)
	out, err := cmd.CombinedOutput()
	if err != nil || !strings.Contains(string(out), "# fail 0") || strings.Contains(string(out), "# pass 0") {
		t.Errorf("node --test: %v\n%s", err, out)
	}
}

func goClient(p *process, more ...option.RequestOption) openai.Client {
	return openai.NewClient(append([]option.RequestOption{
		option.WithBaseURL(p.url + "/v1"), option.WithAPIKey(adasKey), option.WithMaxRetries(0),
	}, more...)...)
}

func params(text string) openai.ChatCompletionNewParams {
	return openai.ChatCompletionNewParams{
		Model:    "analyst",
		Messages: []openai.ChatCompletionMessageParamUnion{openai.UserMessage(text)},
	}
}

func TestGoClient(t *testing.T) {
	t.Parallel()
	_, settings := imitate(t, scripted(t, forClients()))
	p := serve(t, append(settings, keys)...)
	client := goClient(p)
	const want = "The result holds 1, 846, 1."
	c, err := client.Chat.Completions.New(t.Context(), params("How many orders?"))
	if err != nil || !strings.HasSuffix(c.Choices[0].Message.Content, want) || c.Choices[0].FinishReason != "stop" ||
		c.Usage.TotalTokens == 0 {
		t.Errorf("completion: %+v, %v", c, err)
	}
	streamed := params("How many orders?")
	streamed.StreamOptions.IncludeUsage = openai.Bool(true)
	stream := client.Chat.Completions.NewStreaming(t.Context(), streamed)
	var acc openai.ChatCompletionAccumulator
	for stream.Next() {
		if !acc.AddChunk(stream.Current()) {
			t.Errorf("the accumulator refuses %s", stream.Current().RawJSON())
		}
	}
	if err := stream.Err(); err != nil || acc.Choices[0].Message.Content != c.Choices[0].Message.Content ||
		acc.Usage.TotalTokens != c.Usage.TotalTokens {
		t.Errorf("streamed: %+v, %v", acc.ChatCompletion, err)
	}
	models, err := client.Models.List(t.Context())
	if err != nil || len(models.Data) != 2 || models.Data[0].ID != "analyst" ||
		models.Data[1].ID != "claude-da/analyst" {
		t.Errorf("models: %+v, %v", models, err)
	}
	one, err := client.Models.Get(t.Context(), "claude-da/analyst")
	if err != nil || one.ID != "claude-da/analyst" {
		t.Errorf("model: %+v, %v", one, err)
	}
}

func TestGoClientErrors(t *testing.T) {
	t.Parallel()
	_, settings := imitate(t, scripted(t, forClients()))
	p := serve(t, append(settings, keys, "FOOTNOTE_RUN_TIMEOUT=20s", "FOOTNOTE_TOOL_TIMEOUT=20s",
		"FOOTNOTE_LIMITS_QUERY_TIME=5s", "FOOTNOTE_MODEL_IDLE_TIMEOUT=500ms", "FOOTNOTE_BODY_LIMIT=65536")...)
	unknown := params("Hello?")
	unknown.Model = "gpt-4"
	for _, c := range []struct {
		name   string
		params openai.ChatCompletionNewParams
		status int
		code   string
		more   []option.RequestOption
	}{
		{"too long", params(strings.Repeat("x", 10_001)), 400, "input_too_long", nil},
		{
			"key", params("Hello?"), 401, "invalid_api_key", []option.RequestOption{
				option.WithAPIKey("key-of-eve-0123456789"),
			},
		},
		{"model", unknown, 404, "model_not_found", nil},
		{"too large", params(strings.Repeat("x", 70_000)), 413, "too_large", nil},
		{"limited", params("fault: 429"), 429, "rate_limited", nil},
		{"overloaded", params("fault: 529"), 503, "model_unavailable", nil},
		{"broken", params("fault: 500"), 503, "model_unavailable", nil},
		{"reset", params("fault: reset always"), 503, "model_unavailable", nil},
		{"timeout", params("fault: stall"), 504, "agent_timeout", nil},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			client := goClient(p, c.more...)
			_, err := client.Chat.Completions.New(t.Context(), c.params)
			if e, ok := errors.AsType[*openai.Error](err); !ok || e.StatusCode != c.status || e.Code != c.code ||
				e.Message == "" {
				t.Errorf("%v; want %d %s", err, c.status, c.code)
			}
		})
	}
	t.Run("midstream", func(t *testing.T) {
		t.Parallel()
		client := goClient(p)
		stream := client.Chat.Completions.NewStreaming(t.Context(), params("fault: reset, streamed"))
		text := ""
		for stream.Next() {
			for _, choice := range stream.Current().Choices {
				text += choice.Delta.Content
			}
		}
		if err := stream.Err(); err == nil || !strings.Contains(err.Error(), "broke off") ||
			!strings.HasPrefix(text, "one two") {
			t.Errorf("text %q, err %v", text, err)
		}
	})
}

// TestDisconnectEndsRun checks that when a client leaves, its model call ends.
func TestDisconnectEndsRun(t *testing.T) {
	t.Parallel()
	fake, settings := imitate(t, scripted(t, forClients()))
	p := serve(t, append(settings, keys)...)
	client := goClient(p)
	open := func(n int64) func() bool { return func() bool { return fake.Metrics().Open == n } }
	for _, text := range []string{"fault: endless", "fault: silent"} {
		for _, streamed := range []bool{true, false} {
			first := p.answered(t, question{text: "fake: say Hello.", key: adasKey})
			in := option.WithHeader("X-Conversation-Id", first.conversation)
			ctx, leave := context.WithCancel(t.Context())
			left := make(chan error, 1)
			go func() {
				if !streamed {
					_, err := client.Chat.Completions.New(ctx, params(text), in)
					left <- err
					return
				}
				stream := client.Chat.Completions.NewStreaming(ctx, params(text), in)
				for stream.Next() {
				}
				left <- stream.Err()
			}()
			eventually(t, "the model is asked", open(1))
			time.Sleep(20 * time.Millisecond) // time for some words
			leave()
			begun := time.Now()
			if err := <-left; !errors.Is(err, context.Canceled) {
				t.Errorf("%s: %v", text, err)
			}
			eventually(t, "the upstream connection closes", open(0))
			t.Logf("%s, streamed %v: closed after %v", text, streamed, time.Since(begun))
			eventually(t, "the run is stopped", func() bool {
				events := p.log(t, first.conversation, adasKey)
				last := events[len(events)-1]
				return last.Kind == "run_stopped" && strings.Contains(last.line, `"by":"disconnect"`)
			})
			checkLog(t, p.log(t, first.conversation, adasKey))
			p.answered(t, question{text: nextQuestion, key: adasKey, conversation: first.conversation})
		}
	}
}

// TestRunContinuesAfterDisconnect checks that with on_disconnect=continue the run continues, and its answer can be
// read later.
func TestRunContinuesAfterDisconnect(t *testing.T) {
	t.Parallel()
	_, settings := imitate(t, auto(t))
	p := serve(t, append(settings, "FOOTNOTE_ON_DISCONNECT=continue")...)
	first := p.answered(t, question{text: "fake: say Hello."})
	ctx, leave := context.WithCancel(t.Context())
	left := make(chan reply, 1)
	go func() {
		left <- p.try(ctx, question{text: "fake: wait 1s\nfake: say Read me later.", conversation: first.conversation})
	}()
	eventually(t, "the run begins", func() bool { return running(p.log(t, first.conversation, "")) })
	leave()
	if r := <-left; r.err == nil {
		t.Errorf("the answer came: %+v", r)
	}
	if r := p.ask(t, question{text: "fake: say No.", conversation: first.conversation}); r.status !=
		http.StatusConflict {
		t.Errorf("a question during the run got %d; want 409", r.status)
	}
	eventually(t, "the run ends", func() bool { return !running(p.log(t, first.conversation, "")) })
	events := p.log(t, first.conversation, "")
	checkLog(t, events)
	if all := events[len(events)-2]; !strings.Contains(all.line, "Read me later.") {
		t.Errorf("the log has %s", all.line)
	}
}
