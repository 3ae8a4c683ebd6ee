package httpapi_test

import (
	"context"
	"errors"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/openai/openai-go/v3"
	"github.com/openai/openai-go/v3/option"

	"github.com/footnotehq/footnote"
	"github.com/footnotehq/footnote/httpapi"
	"github.com/footnotehq/footnote/internal/clienttest"
)

const (
	adasKey = "key-of-ada"
	bobsKey = "key-of-bob"
	answer  = "Let me count.\n\nThere are 42 orders, <b>\"naïve\"</b> 😀."
)

// newAPI starts a server with two users and scripted scenarios.
func newAPI(t *testing.T, change func(*httpapi.Options)) (*httpapi.Server, *clienttest.Engine) {
	t.Helper()
	engine := clienttest.New()
	t.Cleanup(engine.Close)
	o := httpapi.Options{
		Engine: engine, Log: engine, Hub: engine.Hub, Protocols: allProtocols(),
		Keys: map[string]footnote.Principal{
			adasKey: {Org: "acme", User: "ada"},
			bobsKey: {Org: "acme", User: "bob"},
		},
		BodyLimit: 64 << 10,
	}
	if change != nil {
		change(&o)
	}
	api, err := httpapi.New(o)
	if err != nil {
		t.Fatal(err)
	}
	return api, engine
}

// TestJavaScriptClient runs the official package, as published, against the server.
func TestJavaScriptClient(t *testing.T) {
	node, err := exec.LookPath("node")
	if err != nil {
		t.Fatal("Node.js is needed for the client tests: ", err)
	}
	dir := filepath.Join("..", "test", "clients")
	if err := clienttest.Install(t.Context(), dir); err != nil {
		t.Fatal(err)
	}
	api, _ := newAPI(t, nil)
	srv := serve(t, api)
	out := run(t, dir, 2*time.Minute, []string{
		"FOOTNOTE_TEST_URL=" + srv.URL, "FOOTNOTE_TEST_KEY=" + adasKey,
	}, node, "--test-reporter=tap", "openai.test.js")
	if !strings.Contains(out, "# fail 0") || strings.Contains(out, "# pass 0") {
		t.Errorf("no sign that the tests ran:\n%s", out)
	}
}

func run(t *testing.T, dir string, limit time.Duration, env []string, name string, args ...string) string {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), limit)
	defer cancel()
	cmd := exec.CommandContext(ctx, name, args...)
	cmd.Dir, cmd.Env, cmd.WaitDelay = dir, append(os.Environ(), env...), 5*time.Second
	out, err := cmd.CombinedOutput()
	if err != nil {
		t.Fatalf("%s %v: %v\n%s", name, args, err, out)
	}
	return string(out)
}

func goClient(t *testing.T, opts ...option.RequestOption) openai.Client {
	api, _ := newAPI(t, nil)
	srv := serve(t, api)
	return openai.NewClient(append([]option.RequestOption{
		option.WithBaseURL(srv.URL + "/v1"), option.WithAPIKey(adasKey), option.WithMaxRetries(0),
	}, opts...)...)
}

func question(text string) openai.ChatCompletionNewParams {
	return openai.ChatCompletionNewParams{
		Model:    "analyst",
		Messages: []openai.ChatCompletionMessageParamUnion{openai.UserMessage(text)},
	}
}

func TestGoClient(t *testing.T) {
	client := goClient(t)
	c, err := client.Chat.Completions.New(t.Context(), question("How many orders?"))
	if err != nil {
		t.Fatal(err)
	}
	if got := c.Choices[0].Message.Content; got != answer || c.Usage.TotalTokens != 121 {
		t.Errorf("content %q, usage %+v", got, c.Usage)
	}

	params := question("How many orders?")
	params.StreamOptions.IncludeUsage = openai.Bool(true)
	stream := client.Chat.Completions.NewStreaming(t.Context(), params)
	var acc openai.ChatCompletionAccumulator
	for stream.Next() {
		if !acc.AddChunk(stream.Current()) {
			t.Errorf("the accumulator refuses %s", stream.Current().RawJSON())
		}
	}
	if err := stream.Err(); err != nil {
		t.Fatal(err)
	}
	if got := acc.Choices[0].Message.Content; got != answer || acc.Usage.TotalTokens != 121 ||
		acc.Choices[0].FinishReason != "stop" {
		t.Errorf("streamed: content %q, usage %+v, finish %q", got, acc.Usage, acc.Choices[0].FinishReason)
	}
}

func TestGoClientModels(t *testing.T) {
	client := goClient(t)
	page, err := client.Models.List(t.Context())
	if err != nil || len(page.Data) != 3 || page.Data[1].ID != "claude-da/analyst" {
		t.Errorf("List = %+v, %v", page, err)
	}
	m, err := client.Models.Get(t.Context(), "claude-da/analyst")
	if err != nil || m.ID != "claude-da/analyst" {
		t.Errorf("Get = %+v, %v", m, err)
	}
}

func TestGoClientErrors(t *testing.T) {
	client := goClient(t)
	for scenario, want := range map[string]struct {
		status int
		code   string
	}{
		"429": {429, "rate_limited"}, "500": {500, "internal_error"}, "503": {503, "model_unavailable"},
		"504": {504, "agent_timeout"}, "database": {503, "database_unavailable"},
	} {
		_, err := client.Chat.Completions.New(t.Context(), question("scenario: "+scenario))
		e, ok := errors.AsType[*openai.Error](err)
		if !ok || e.StatusCode != want.status || e.Code != want.code {
			t.Errorf("%s: %v, want %d %s", scenario, err, want.status, want.code)
		}
	}
	stream := client.Chat.Completions.NewStreaming(t.Context(), question("scenario: midstream"))
	text := ""
	for stream.Next() {
		for _, c := range stream.Current().Choices {
			text += c.Delta.Content
		}
	}
	if err := stream.Err(); err == nil || !strings.Contains(err.Error(), "The model is not reachable") ||
		text != "Let me look. " {
		t.Errorf("midstream: text %q, err %v", text, err)
	}
}

func TestGoClientRetries(t *testing.T) {
	tries := 0
	client := goClient(t, option.WithMaxRetries(2),
		option.WithMiddleware(func(r *http.Request, next option.MiddlewareNext) (*http.Response, error) {
			tries++
			return next(r)
		}))
	c, err := client.Chat.Completions.New(t.Context(), question("scenario: 429-once"))
	if err != nil || c.Choices[0].Message.Content != answer || tries != 2 {
		t.Errorf("want success on the second try: %v after %d tries", err, tries)
	}
	tries = 0
	if _, err := client.Chat.Completions.New(t.Context(), question("scenario: 504")); err == nil || tries != 1 {
		t.Errorf("want a failed run not to be retried: %v after %d tries", err, tries)
	}
}
