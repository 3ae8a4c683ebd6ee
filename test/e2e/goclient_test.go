//go:build conformance

package e2e

import (
	"errors"
	"strings"
	"testing"

	"github.com/openai/openai-go/v3"
	"github.com/openai/openai-go/v3/option"
)

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
