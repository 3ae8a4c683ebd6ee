package e2e

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"io"
	"net/http"
	"strings"
	"testing"
	"time"
)

// question is one request to the OpenAI protocol.
type question struct {
	text         string
	conversation string
	key          string
	stream       bool
}

// reply is the response to a question.
type reply struct {
	status       int
	header       http.Header
	conversation string
	text         string
	finish       string
	code         string // of the error, also of one within a stream
	message      string
	midstream    bool // the error came within a stream
	err          error
}

// ask sends a question and reads the whole answer.
func (p *process) ask(t *testing.T, q question) reply {
	t.Helper()
	r := p.try(t.Context(), q)
	if r.err != nil {
		t.Fatalf("%.80q: %v", q.text, r.err)
	}
	return r
}

// answered is ask for a question that must be answered.
func (p *process) answered(t *testing.T, q question) reply {
	t.Helper()
	r := p.ask(t, q)
	if r.status != http.StatusOK || r.code != "" {
		t.Fatalf("%.80q: status %d, code %q, %s", q.text, r.status, r.code, r.message)
	}
	return r
}

// try is ask that returns its error.
func (p *process) try(ctx context.Context, q question) (r reply) {
	ctx, cancel := context.WithTimeout(ctx, 60*time.Second)
	defer cancel()
	body, _ := json.Marshal(map[string]any{ // strings always encode
		"model": "analyst", "stream": q.stream, "messages": []map[string]string{{"role": "user", "content": q.text}},
	})
	res, err := p.post(ctx, "/v1/chat/completions", bytes.NewReader(body), q.key, q.conversation)
	if err != nil {
		return reply{err: err}
	}
	defer res.Body.Close()
	r.status, r.header, r.conversation = res.StatusCode, res.Header, res.Header.Get("X-Conversation-Id")
	if strings.HasPrefix(res.Header.Get("Content-Type"), "text/event-stream") {
		r.readStream(res.Body)
		return r
	}
	data, err := io.ReadAll(res.Body)
	if err != nil {
		r.err = err
		return r
	}
	r.err = r.read(data)
	return r
}

func (p *process) post(ctx context.Context, path string, body io.Reader,
	key, conversation string) (*http.Response, error) {
	req, err := http.NewRequestWithContext(ctx, http.MethodPost, p.url+path, body)
	if err != nil {
		return nil, err
	}
	req.Header.Set("Content-Type", "application/json")
	if key != "" {
		req.Header.Set("Authorization", "Bearer "+key)
	}
	if conversation != "" {
		req.Header.Set("X-Conversation-Id", conversation)
	}
	return http.DefaultClient.Do(req)
}

// chunk is a completion, a chunk of one, or an error.
type chunk struct {
	Choices []struct {
		Message, Delta struct{ Content string }
		FinishReason   string `json:"finish_reason"`
	}
	Error *struct{ Code, Message string }
}

func (r *reply) read(data []byte) error {
	var c chunk
	if err := json.Unmarshal(data, &c); err != nil {
		return err
	}
	for _, choice := range c.Choices {
		r.text += choice.Message.Content + choice.Delta.Content
		if choice.FinishReason != "" {
			r.finish = choice.FinishReason
		}
	}
	if c.Error != nil {
		r.code, r.message = c.Error.Code, c.Error.Message
	}
	return nil
}

func (r *reply) readStream(body io.Reader) {
	lines := bufio.NewScanner(body)
	lines.Buffer(nil, 1<<20)
	for lines.Scan() {
		data, ok := strings.CutPrefix(lines.Text(), "data: ")
		if !ok || data == "[DONE]" {
			continue
		}
		if r.err = r.read([]byte(data)); r.err != nil {
			return
		}
	}
	r.midstream = r.code != ""
	r.err = lines.Err()
}

// get reads a page.
func (p *process) get(t *testing.T, path, key string) (status int, body string) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), 30*time.Second)
	defer cancel()
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, p.url+path, nil)
	if err != nil {
		t.Fatal(err)
	}
	if key != "" {
		req.Header.Set("Authorization", "Bearer "+key)
	}
	res, err := http.DefaultClient.Do(req)
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
