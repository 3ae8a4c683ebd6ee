package e2e

import (
	"encoding/json"
	"io"
	"net/http"
	"strings"
	"testing"

	"github.com/footnotehq/footnote/model/modeltest"
)

// complete posts a raw body to the OpenAI protocol.
func (p *process) complete(t *testing.T, body string) (status int, answer string) {
	t.Helper()
	res, err := p.post(t.Context(), "/v1/chat/completions", strings.NewReader(body), "", "")
	if err != nil {
		t.Fatal(err)
	}
	defer res.Body.Close()
	data, err := io.ReadAll(res.Body)
	if err != nil {
		t.Fatal(err)
	}
	return res.StatusCode, string(data)
}

// TestReasoningEffort checks that a client's reasoning effort reaches the model.
func TestReasoningEffort(t *testing.T) {
	t.Parallel()
	fake, settings := imitate(t, auto(t))
	p := serve(t, settings...)
	// "none" becomes low, because the model always thinks.
	for asked, want := range map[string][2]string{
		"": {"", "adaptive"}, "minimal": {"low", "adaptive"}, "high": {"high", "adaptive"}, "none": {"low", "adaptive"},
	} {
		body := `{"model":"analyst","reasoning_effort":"` + asked +
			`","messages":[{"role":"user","content":"How many orders?"}]}`
		if asked == "" {
			body = strings.Replace(body, `"reasoning_effort":"",`, "", 1)
		}
		if status, answer := p.complete(t, body); status != http.StatusOK {
			t.Errorf("%q: status %d, %s", asked, status, answer)
		}
		all := fake.Requests()
		if last := all[len(all)-1]; last.Effort != want[0] || last.Thinking.Type != want[1] {
			t.Errorf("%q: effort %q, thinking %q; want %q", asked, last.Effort, last.Thinking.Type, want)
		}
	}
}

// TestTitleByForcedCall sends LibreChat's title request, with a model and without one.
func TestTitleByForcedCall(t *testing.T) {
	t.Parallel()
	fake, settings := imitate(t, func(modeltest.Request) modeltest.Reply {
		return modeltest.Say(`{"language": "Deutsch", "title": "Bestellungen im Mai"}`)
	})
	for _, c := range []struct{ model, want string }{
		{"claude-sonnet-5-5", `{"language":"Deutsch","title":"Bestellungen im Mai"}`},
		{"offline", `{"language":"English","title":"orders in May"}`},
	} {
		p := serve(t, append(settings, "FOOTNOTE_MODEL="+c.model)...)
		status, answer := p.complete(t,
			`{"model":"analyst","messages":[{"role":"user","content":"Analyze this conversation and provide:\n1. The detected language of the conversation\n2. A concise title in the detected language (5 words or less)\n\nUser: orders in May\nAI: 71."}],
			"tools":[{"type":"function","function":{"name":"extract","parameters":{"type":"object","properties":{"language":{"type":"string"},"title":{"type":"string"}}}}}],
			"tool_choice":{"type":"function","function":{"name":"extract"}}}`)
		var got struct {
			Choices []struct {
				Message struct {
					Calls []struct {
						Function struct{ Name, Arguments string }
					} `json:"tool_calls"`
				}
			}
		}
		if err := json.Unmarshal([]byte(answer), &got); err != nil || status != http.StatusOK ||
			len(got.Choices) != 1 || len(got.Choices[0].Message.Calls) != 1 {
			t.Fatalf("%s: status %d, %v, %s", c.model, status, err, answer)
		}
		if call := got.Choices[0].Message.Calls[0].Function; call.Name != "extract" || call.Arguments != c.want {
			t.Errorf("%s: %+v, want %s", c.model, call, c.want)
		}
		if _, list := p.get(t, "/api/conversations", ""); strings.Contains(list, "conv_") {
			t.Errorf("%s: a conversation was stored: %s", c.model, list)
		}
	}
	if n := fake.Metrics().Requests; n != 1 {
		t.Errorf("the model was asked %d times", n)
	}
}
