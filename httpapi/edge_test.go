package httpapi_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net"
	"net/http"
	"regexp"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/footnotehq/footnote"
	"github.com/footnotehq/footnote/httpapi"
	"github.com/footnotehq/footnote/internal/clienttest"
	"github.com/footnotehq/footnote/protocol"
	"github.com/footnotehq/footnote/protocol/protocoltest"
)

// request returns a request of a caller on this machine, with ada's key.
func request(method, target, body string) *http.Request {
	r := protocoltest.Request(method, target, body)
	r.Header.Set("Authorization", "Bearer "+adasKey)
	return r
}

var (
	do      = protocoltest.Do
	serve   = protocoltest.Serve
	until   = protocoltest.Until
	history = protocoltest.Sent
)

func TestStatusTable(t *testing.T) {
	for code, want := range map[footnote.Code]int{
		footnote.InputTooLong: 400, footnote.InvalidRequest: 400, footnote.UnsupportedParameter: 400,
		footnote.Unauthorized: 401, footnote.Forbidden: 403, footnote.NotFound: 404, footnote.ModelNotFound: 404,
		footnote.Conflict: 409, footnote.CallUnknown: 409, footnote.CallAnswered: 409, footnote.CallClosed: 409,
		footnote.TooLarge: 413, footnote.RateLimited: 429, footnote.BudgetExceeded: 429,
		footnote.Internal: 500, footnote.ModelUnavailable: 503, footnote.DatabaseUnavailable: 503,
		footnote.StorageUnavailable: 503, footnote.AgentTimeout: 504, "made_up": 500,
	} {
		if got := httpapi.Status(code); got != want {
			t.Errorf("Status(%s) = %d, want %d", code, got, want)
		}
	}
}

func TestNewRefuses(t *testing.T) {
	e := clienttest.New()
	defer e.Close()
	good := httpapi.Options{Engine: e, Log: e, Hub: e.Hub, Protocols: allProtocols()}
	for name, change := range map[string]func(*httpapi.Options){
		"no engine": func(o *httpapi.Options) { o.Engine = nil },
		"short key": func(o *httpapi.Options) {
			o.Keys = map[string]footnote.Principal{"abc": {Org: "a", User: "b"}}
		},
		"key with a space": func(o *httpapi.Options) {
			o.Keys = map[string]footnote.Principal{"abc def ghi": {Org: "a", User: "b"}}
		},
		"key of nobody": func(o *httpapi.Options) {
			o.Keys = map[string]footnote.Principal{"abcdefghi": {Org: "a"}}
		},
		"every origin, no keys":   func(o *httpapi.Options) { o.AllowOrigins = []string{"*"} },
		"origin without a scheme": func(o *httpapi.Options) { o.AllowOrigins = []string{"example.org"} },
		"origin with a path":      func(o *httpapi.Options) { o.AllowOrigins = []string{"https://example.org/x"} },
	} {
		o := good
		change(&o)
		if _, err := httpapi.New(o); err == nil {
			t.Errorf("%s: New accepts it", name)
		}
	}
	if _, err := httpapi.New(good); err != nil {
		t.Error(err)
	}
}

// TestKeyless checks who may call when there are no keys.
func TestKeyless(t *testing.T) {
	api, _ := newAPI(t, func(o *httpapi.Options) {
		o.Keys, o.Hosts = nil, []string{"analyst.lan"}
	})
	for _, tc := range []struct {
		name   string
		change func(*http.Request)
		want   int
	}{
		{"local", func(*http.Request) {}, 200},
		{"local, IPv6", func(r *http.Request) { r.RemoteAddr, r.Host = "[::1]:5", "[::1]:8080" }, 200},
		{"local, mapped", func(r *http.Request) { r.RemoteAddr = "[::ffff:127.0.0.1]:5" }, 200},
		{"configured name", func(r *http.Request) { r.Host = "Analyst.LAN" }, 200},
		{"any key is as good as none", func(r *http.Request) { r.Header.Set("Authorization", "Bearer sk-none") }, 200},
		{"another machine", func(r *http.Request) { r.RemoteAddr = "192.0.2.7:5" }, 401},
		{"passed on by a proxy", func(r *http.Request) { r.Header.Set("X-Forwarded-For", "192.0.2.7") }, 401},
		{"passed on by a proxy, RFC 7239", func(r *http.Request) { r.Header.Set("Forwarded", "for=192.0.2.7") }, 401},
		{"passed on with an empty address", func(r *http.Request) { r.Header["X-Forwarded-For"] = []string{""} }, 401},
		{"passed on with a host", func(r *http.Request) { r.Header.Set("X-Forwarded-Host", "localhost") }, 401},
		{"passed on, says the proxy", func(r *http.Request) { r.Header.Set("Via", "1.1 gateway") }, 401},
		{"passed on by a network", func(r *http.Request) { r.Header.Set("cf-connecting-ip", "127.0.0.1") }, 401},
		{"no address", func(r *http.Request) { r.RemoteAddr = "" }, 401},
		{"rebound name", func(r *http.Request) { r.Host = "evil.example.org" }, 403},
		{"no name", func(r *http.Request) { r.Host = "" }, 403},
	} {
		r := request("GET", "/v1/models", "")
		r.Header.Del("Authorization")
		tc.change(r)
		if got := do(api, r).Code; got != tc.want {
			t.Errorf("%s: %d, want %d", tc.name, got, tc.want)
		}
	}
	r := request("POST", "/v1/chat/completions", `{"model":"analyst","messages":[{"role":"user","content":"hi"}]}`)
	r.Header.Set("Sec-Fetch-Site", "cross-site")
	if w := do(api, r); w.Code != 403 {
		t.Errorf("a page of another site may ask: %d %s", w.Code, w.Body)
	}
}

func TestPrincipalComesFromTheKey(t *testing.T) {
	api, engine := newAPI(t, nil)
	r := request("POST", "/v1/chat/completions",
		`{"model":"analyst","user":"bob","messages":[{"role":"user","content":"hi"}]}`)
	r.Header.Set("X-OpenWebUI-User-Id", "bob")
	if w := do(api, r); w.Code != 200 {
		t.Fatal(w.Code, w.Body)
	}
	if p := engine.Turns()[0].Principal; p.User != "ada" || p.Org != "acme" {
		t.Errorf("principal = %+v", p)
	}
}

// TestForeignConversation checks that the id of another user's conversation starts a new one, like any
// unknown id.
func TestForeignConversation(t *testing.T) {
	api, engine := newAPI(t, nil)
	body := `{"model":"analyst","messages":[{"role":"user","content":"hi"}]}`
	id := do(api, request("POST", "/v1/chat/completions", body)).Header().Get("X-Conversation-Id")
	r := request("POST", "/v1/chat/completions", body)
	r.Header.Set("Authorization", "Bearer "+bobsKey)
	r.Header.Set("X-Conversation-Id", id)
	if got := do(api, r).Header().Get("X-Conversation-Id"); got == id || got == "" {
		t.Errorf("bob's conversation is %q, ada's %q", got, id)
	}
	if turn := engine.Turns()[1]; turn.Conversation != "" || turn.ClientID != id {
		t.Errorf("turn = %+v", turn)
	}
}

func TestRequestID(t *testing.T) {
	api, _ := newAPI(t, nil)
	for sent, kept := range map[string]bool{
		"abc-1_2.3": true, "": false, "a b": false, "a\tb": false, "é": false, strings.Repeat("x", 65): false,
		"<script>": false,
	} {
		r := request("GET", "/v1/models", "")
		r.Header.Set("X-Request-Id", sent)
		got := do(api, r).Header().Get("X-Request-Id")
		if kept != (got == sent) || !kept && !regexp.MustCompile(`^req_[A-Z2-7]{26}$`).MatchString(got) {
			t.Errorf("sent %q, got %q", sent, got)
		}
	}
}

func TestBodyLimits(t *testing.T) {
	api, _ := newAPI(t, func(o *httpapi.Options) { o.BodyLimit = 1000 })
	pad := func(n int) string {
		b := `{"model":"analyst","messages":[{"role":"user","content":"hi"}]}`
		return b + strings.Repeat(" ", n-len(b))
	}
	for _, tc := range []struct {
		name string
		body io.Reader
		size int64
		want int
	}{
		{"at the limit", strings.NewReader(pad(1000)), 1000, 200},
		{"over it", strings.NewReader(pad(1001)), 1001, 413},
		{"over it, size unknown", strings.NewReader(pad(1001)), -1, 413},
		{"over it, and lying", strings.NewReader(pad(1001)), 50, 400},
		{"cut short", strings.NewReader(pad(500)), 600, 400},
		{"broken", io.MultiReader(strings.NewReader(`{"model"`), broken{}), -1, 400},
	} {
		r := request("POST", "/v1/chat/completions", "")
		r.Body, r.ContentLength = io.NopCloser(tc.body), tc.size
		if w := do(api, r); w.Code != tc.want {
			t.Errorf("%s: %d %s, want %d", tc.name, w.Code, w.Body, tc.want)
		}
	}
}

type broken struct{}

func (broken) Read([]byte) (int, error) { return 0, errors.New("connection reset") }

// TestSlowBody checks that a body that trickles in does not block a handler.
func TestSlowBody(t *testing.T) {
	api, _ := newAPI(t, func(o *httpapi.Options) { o.BodyTimeout = 50 * time.Millisecond })
	srv := serve(t, api)
	conn, err := net.Dial("tcp", srv.Listener.Addr().String())
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close()
	fmt.Fprintf(conn, "POST /v1/chat/completions HTTP/1.1\r\nHost: localhost\r\nAuthorization: Bearer "+
		"%s\r\nContent-Type: application/json\r\nContent-Length: 100\r\n\r\n{", adasKey)
	_ = conn.SetReadDeadline(time.Now().Add(10 * time.Second))
	got, err := io.ReadAll(conn)
	if err != nil || !bytes.HasPrefix(got, []byte("HTTP/1.1 400")) || !bytes.Contains(got, []byte("did not arrive")) {
		t.Errorf("slow body: %v\n%s", err, got)
	}
}

func TestHTTPServerLimits(t *testing.T) {
	api, _ := newAPI(t, nil)
	srv := api.HTTPServer("127.0.0.1:0")
	if srv.WriteTimeout != 0 || srv.ReadTimeout != 0 {
		t.Error("a timeout of the whole server cuts streams short")
	}
	if srv.ReadHeaderTimeout != 10*time.Second || srv.IdleTimeout != 120*time.Second || srv.MaxHeaderBytes != 64<<10 {
		t.Errorf("server limits: %+v", srv)
	}
}

func TestReadiness(t *testing.T) {
	fail := errors.New("disk is gone: /secret/path")
	api, _ := newAPI(t, func(o *httpapi.Options) {
		o.Ready = func(context.Context) error { return fail }
	})
	if w := do(api, request("GET", "/readyz", "")); w.Code != 503 || strings.Contains(w.Body.String(), "secret") {
		t.Errorf("not ready: %d %s", w.Code, w.Body)
	}
	fail = &footnote.Error{Code: footnote.StorageUnavailable, Message: "The store is read-only.", Err: fail}
	if w := do(api, request("GET", "/readyz", "")); w.Code != 503 || strings.Contains(w.Body.String(), "secret") ||
		!strings.Contains(w.Body.String(), "The store is read-only.") {
		t.Errorf("read-only: %d %s", w.Code, w.Body)
	}
	fail = nil
	if w := do(api, request("GET", "/readyz", "")); w.Code != 200 {
		t.Errorf("ready: %d %s", w.Code, w.Body)
	}
	api.Drain()
	if w := do(api, request("GET", "/readyz", "")); w.Code != 503 {
		t.Errorf("draining: %d %s", w.Code, w.Body)
	}
	if w := do(api, request("GET", "/healthz", "")); w.Code != 200 {
		t.Errorf("a draining server reports %d at /healthz, want 200", w.Code)
	}
}

// counters implements Metrics.
type counters struct {
	mu       sync.Mutex // guards below
	requests []string
	open     int
	opened   int
}

func (c *counters) RequestEnded(route, method string, status int, _ time.Duration) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.requests = append(c.requests, fmt.Sprintf("%s %s %d", method, route, status))
}

func (c *counters) RequestFailed(string, footnote.Code) {}
func (c *counters) Answered(string, time.Duration)      {}
func (c *counters) StreamOpened(string) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.open++
	c.opened++
}

func (c *counters) StreamClosed(string) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.open--
}

func TestMetricsAndLog(t *testing.T) {
	count := &counters{}
	var log bytes.Buffer
	api, _ := newAPI(t, func(o *httpapi.Options) {
		o.Metrics, o.Logger = count, slog.New(slog.NewJSONHandler(&log, nil))
		o.Scrape = http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { fmt.Fprint(w, "up 1") })
	})
	chat := func(text string) *http.Request {
		return request("POST", "/v1/chat/completions",
			`{"model":"analyst","stream":true,"messages":[{"role":"user","content":"`+text+`"}]}`)
	}
	do(api, chat("hi"))
	do(api, chat("scenario: midstream"))
	do(api, chat("scenario: 500"))
	do(api, request("GET", "/v1/models/nobody/knows/this", ""))
	do(api, request("GET", "/wp-admin", ""))
	if w := do(api, request("GET", "/metrics", "")); w.Body.String() != "up 1" {
		t.Errorf("metrics: %d %s", w.Code, w.Body)
	}
	anonymous := request("GET", "/metrics", "")
	anonymous.Header.Del("Authorization")
	if w := do(api, anonymous); w.Code != 401 {
		t.Errorf("metrics without a key: %d", w.Code)
	}
	want := []string{
		"POST /v1/chat/completions 200", "POST /v1/chat/completions 200", "POST /v1/chat/completions 500",
		"GET /v1/models/{id...} 404", "GET none 404", "GET /metrics 200", "GET /metrics 401",
	}
	if got := strings.Join(count.requests, "\n"); got != strings.Join(want, "\n") {
		t.Errorf("requests:\n%s\nwant\n%s", got, strings.Join(want, "\n"))
	}
	if count.open != 0 || count.opened != 2 {
		t.Errorf("%d streams of %d are still open", count.open, count.opened)
	}
	lines := strings.Split(strings.TrimSpace(log.String()), "\n")
	if len(lines) != len(want) {
		t.Fatalf("%d lines for %d requests:\n%s", len(lines), len(want), log.String())
	}
	for i, holds := range map[int]string{
		0: `"outcome":"complete"`, 1: `"outcome":"failed","code":"model_unavailable"`, 2: `"level":"ERROR"`,
		3: `"user":"ada"`,
	} {
		if !strings.Contains(lines[i], holds) {
			t.Errorf("line %d lacks %s: %s", i, holds, lines[i])
		}
	}
	if strings.Contains(log.String(), adasKey) {
		t.Error("the log holds an API key")
	}
}

// TestMountedProtocol checks that a protocol added with Handle gets keys, an envelope and the error table like the
// built-in ones.
func TestMountedProtocol(t *testing.T) {
	api, _ := newAPI(t, nil)
	api.Handle("/api/ask", protocol.Native, httpapi.Methods{
		"POST": func(w http.ResponseWriter, r *http.Request) error {
			body, err := api.Body(w, r, 1)
			if err != nil {
				return err
			}
			if string(body) == "{}" {
				fmt.Fprintf(w, "%s asks", httpapi.PrincipalOf(r.Context()).User)
				return nil
			}
			if string(body) == "[]" {
				_, _ = io.WriteString(w, "half an ans")
			}
			return footnote.Errorf(footnote.Conflict, "No.")
		},
	})
	api.Mount("/page/", http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		_, _ = io.WriteString(w, "page")
	}))
	if w := do(api, request("POST", "/api/ask", "{}")); w.Body.String() != "ada asks" {
		t.Errorf("answer of the mounted protocol: %d %s", w.Code, w.Body)
	}
	if w := do(api, request("POST", "/api/ask", "1")); w.Code != 409 ||
		!strings.Contains(w.Body.String(), `"code":"conflict"`) {
		t.Errorf("conflict of the mounted protocol: %d %s", w.Code, w.Body)
	}
	r := request("GET", "/page/x", "")
	r.Header.Del("Authorization")
	if w := do(api, r); w.Code != 200 || w.Body.String() != "page" {
		t.Errorf("mounted page: %d %s", w.Code, w.Body)
	}
	// An error after the response has begun aborts the connection.
	srv := serve(t, api)
	req, _ := http.NewRequestWithContext(t.Context(), "POST", srv.URL+"/api/ask", strings.NewReader("[]"))
	req.Header.Set("Authorization", "Bearer "+adasKey)
	req.Header.Set("Content-Type", "application/json")
	resp, err := srv.Client().Do(req)
	if err == nil {
		_, err = io.ReadAll(resp.Body)
		_ = resp.Body.Close()
	}
	if err == nil {
		t.Error("half an answer looks like a whole one")
	}
}
