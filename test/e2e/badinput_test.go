package e2e

import (
	"bytes"
	"context"
	"encoding/json"
	"io"
	"net"
	"net/http"
	"strings"
	"sync/atomic"
	"testing"
	"time"
)

// TestBadInput sends what no client should send. Each request gets its error quickly, and the server keeps
// running.
func TestBadInput(t *testing.T) {
	t.Parallel()
	fake, settings := imitate(t, auto(t))
	p := serve(t, settings...)
	chat := func(messages string) string { return `{"model":"analyst","messages":` + messages + `}` }
	says := func(text string) string {
		quoted, _ := json.Marshal(text) // a string always encodes
		return chat(`[{"role":"user","content":` + string(quoted) + `}]`)
	}
	for name, c := range map[string]struct {
		body   string
		status int
		code   string
	}{
		"too long":           {says(strings.Repeat("x", 10_001)), 400, "input_too_long"},
		"too long, in runes": {says(strings.Repeat("ü", 10_001)), 400, "input_too_long"},
		"nothing":            {``, 400, "invalid_request"},
		"broken":             {`{"model":"analyst","messages":[{"role":`, 400, "invalid_request"},
		"not an object":      {`[1,2,3]`, 400, "invalid_request"},
		"null":               {`null`, 400, "invalid_request"},
		"two documents":      {says("hi") + says("hi"), 400, "invalid_request"},
		"a key twice": {
			`{"model":"analyst","model":"analyst","messages":[{"role":"user","content":"hi"}]}`, 400, "invalid_request",
		},
		"not UTF-8": {
			"{\"model\":\"analyst\",\"messages\":[{\"role\":\"user\",\"content\":\"\xff\xfe\"}]}", 400,
			"invalid_request",
		},
		"wrong types":            {`{"model":7,"messages":{"role":"user"},"stream":"yes"}`, 400, "invalid_request"},
		"no messages":            {chat(`[]`), 400, "invalid_request"},
		"message without a role": {chat(`[{"content":"hi"}]`), 400, "invalid_request"},
		"an empty question":      {says(""), 400, "invalid_request"},
		"a number too big": {
			`{"model":"analyst","max_tokens":1e999,"messages":[{"role":"user","content":"hi"}]}`, 400,
			"invalid_request",
		},
		"deep": {`{"model":"analyst","messages":` + strings.Repeat("[", 200_000), 400, "invalid_request"},
		"deep and closed": {
			`{"model":"analyst","x":` + strings.Repeat(`{"a":`, 50_000) + "1" + strings.Repeat("}", 50_000) + `}`, 400,
			"invalid_request",
		},
		"no such model": {`{"model":"gpt-4","messages":[{"role":"user","content":"hi"}]}`, 404, "model_not_found"},
		"tools": {
			`{"model":"analyst","messages":[{"role":"user","content":"hi"}],"tools":[{"type":"function",` +
				`"function":{"name":"f"}}]}`, 400, "unsupported_parameter",
		},
		"too large": {says(strings.Repeat("x", 2<<20)), 413, "too_large"},
	} {
		t.Run(name, func(t *testing.T) {
			begun := time.Now()
			status, e := p.send(t, strings.NewReader(c.body))
			if status != c.status || e.Code != c.code || e.Message == "" {
				t.Errorf("status %d, code %q, message %q; want %d %q", status, e.Code, e.Message, c.status, c.code)
			}
			if took := time.Since(begun); took > 5*time.Second {
				t.Errorf("it took %v", took)
			}
		})
	}
	t.Run("100 MB, announced", func(t *testing.T) { p.flood(t, 100<<20) })
	t.Run("without end", func(t *testing.T) { p.flood(t, -1) })
	t.Run("raw", func(t *testing.T) { rawRequests(t, p) })
	if n := fake.Metrics().Requests; n != 0 {
		t.Errorf("the model was asked %d times", n)
	}
	p.answered(t, question{text: "fake: say Still here."})
}

// failed is the body of an error.
type failed struct{ Code, Message string }

func (p *process) send(t *testing.T, body io.Reader) (int, failed) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), 30*time.Second)
	defer cancel()
	res, err := p.post(ctx, "/v1/chat/completions", body, "", "")
	if err != nil {
		t.Fatal(err)
	}
	defer res.Body.Close()
	var e struct{ Error failed }
	if err := json.NewDecoder(res.Body).Decode(&e); err != nil {
		t.Fatal(err)
	}
	return res.StatusCode, e.Error
}

// flood sends a body that is far too large: size bytes, or endless. The server must respond, or close the
// connection, without reading all of it.
func (p *process) flood(t *testing.T, size int64) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), 30*time.Second)
	defer cancel()
	var sent atomic.Int64 // the transport may still be sending when the response arrives
	req, err := http.NewRequestWithContext(ctx, http.MethodPost, p.url+"/v1/chat/completions",
		readFunc(func(b []byte) (int, error) {
			if ctx.Err() != nil {
				return 0, ctx.Err()
			}
			sent.Add(int64(len(b)))
			copy(b, bytes.Repeat([]byte("x"), len(b)))
			return len(b), nil
		}))
	if err != nil {
		t.Fatal(err)
	}
	req.ContentLength = size
	req.Header.Set("Content-Type", "application/json")
	transport := &http.Transport{}
	defer transport.CloseIdleConnections()
	res, err := transport.RoundTrip(req)
	if err == nil {
		if res.StatusCode != http.StatusRequestEntityTooLarge {
			t.Errorf("status %d, want 413", res.StatusCode)
		}
		res.Body.Close()
	}
	if n := sent.Load(); n > 16<<20 {
		t.Errorf("the server read %d MB", n>>20)
	}
}

type readFunc func([]byte) (int, error)

func (f readFunc) Read(b []byte) (int, error) { return f(b) }

// rawRequests sends bytes that are not valid HTTP, and requests that end early.
func rawRequests(t *testing.T, p *process) {
	host := strings.TrimPrefix(p.url, "http://")
	post := "POST /v1/chat/completions HTTP/1.1\r\nHost: 127.0.0.1\r\nContent-Type: application/json\r\n"
	for _, c := range []struct{ send, want string }{
		{"\x16\x03\x01\x00\xa5\x01\x00\x00", ""},
		{"GET / HTTP/9.9\r\n\r\n", "505"},
		{post + "Content-Length: 5\r\n\r\n{", ""},
		{post + "Content-Length: -1\r\n\r\n", "400"},
		{post + "Transfer-Encoding: chunked\r\n\r\nzz\r\n", "400"},
		{"GET /v1/models HTTP/1.1\r\nHost: evil.example\r\n\r\n", "403"},
		{"GET /../../etc/passwd HTTP/1.1\r\nHost: 127.0.0.1\r\n\r\n", "404"},
		{"GET /v1/models HTTP/1.1\r\nHost: 127.0.0.1\r\nX: " + strings.Repeat("x", 100<<10) + "\r\n\r\n", "431"},
	} {
		conn, err := net.Dial("tcp", host)
		if err != nil {
			t.Fatal(err)
		}
		_ = conn.SetDeadline(time.Now().Add(10 * time.Second))
		_, _ = conn.Write([]byte(c.send)) // the server may have closed the connection
		_ = conn.(*net.TCPConn).CloseWrite()
		answer, _ := io.ReadAll(conn)
		conn.Close()
		first, _, _ := strings.Cut(string(answer), "\r\n")
		if c.want != "" && !strings.Contains(first, c.want) {
			t.Errorf("%.60q: %q, want %s", c.send, first, c.want)
		}
	}
}

func TestConversationIDs(t *testing.T) {
	t.Parallel()
	_, settings := imitate(t, auto(t))
	p := serve(t, settings...)
	for _, id := range []string{strings.Repeat("x", 129), "\x80\x81", "a\tb"} {
		r := p.ask(t, question{text: "fake: say Hello.", conversation: id})
		if r.status != http.StatusBadRequest || r.code != "invalid_request" {
			t.Errorf("id %.20q: status %d, code %q", id, r.status, r.code)
		}
	}
	for _, path := range []string{"conv_NOBODY", "..%2f..", "%00", strings.Repeat("x", 5000), "conv_X%0a"} {
		if status, body := p.get(t, "/api/conversations/"+path+"/events", ""); status != http.StatusNotFound {
			t.Errorf("%.40q: status %d %.100s", path, status, body)
		}
	}
	r := p.answered(t, question{text: "fake: say Hello."})
	for query, want := range map[string]int{
		"after=-1": 400, "after=x": 400, "after=99999999999999999999": 400, "after=1000": 200, "follow=maybe": 400,
	} {
		if status, _ := p.get(t, "/api/conversations/"+r.conversation+"/events?"+query, ""); status != want {
			t.Errorf("%s: status %d, want %d", query, status, want)
		}
	}
}
