package httpapi_test

import (
	"bufio"
	"fmt"
	"io"
	"net"
	"net/http"
	"strings"
	"testing"
	"time"
)

// TestRepeatedHeadersAreRejected checks that a request with a repeated header is rejected: a proxy in front of the
// server might act on the other value.
func TestRepeatedHeadersAreRejected(t *testing.T) {
	api, _ := newAPI(t, nil)
	for name, values := range map[string][]string{
		"Authorization":    {"Bearer " + adasKey, "Bearer " + bobsKey},
		"authorization":    {"Bearer " + adasKey, "Bearer " + adasKey},
		"Content-Type":     {"application/json", "text/plain"},
		"Origin":           {"http://localhost:8080", "http://evil.example"},
		"Sec-Fetch-Site":   {"same-origin", "cross-site"},
		"Last-Event-ID":    {"1", "2"},
		"X-Request-Id":     {"a", "b"},
		"Traceparent":      {"00-a", "00-b"},
		"Cookie":           {"footnote_session=a", "footnote_session=b"},
		"Content-Encoding": {"identity", "gzip"},
	} {
		r := request("POST", "/v1/chat/completions", `{"model":"analyst","messages":[{"role":"user","content":"hi"}]}`)
		r.Header.Del(name)
		for _, v := range values {
			r.Header.Add(name, v)
		}
		if w := do(api, r); w.Code != 400 ||
			!strings.Contains(w.Body.String(), `"invalid_request"`) &&
				!strings.Contains(w.Body.String(), "invalid_request_error") {
			t.Errorf("two of %s: %d %s", name, w.Code, w.Body)
		}
	}
	r := request("GET", "/v1/models", "")
	r.Header["Cookie"] = []string{"footnote_session=a", "footnote_session=a; other=b", "other=c"}
	r.Header["X-Forwarded-For"] = []string{"192.0.2.1", "192.0.2.2"}
	r.Header["Accept"] = []string{"text/html", "application/json"}
	if w := do(api, r); w.Code != 200 {
		t.Errorf("repeated list headers were refused as duplicates: %d %s", w.Code, w.Body)
	}
}

// TestRequestBoundaries checks that this server never answers bytes as a request if another reader could take
// them for part of a body.
func TestRequestBoundaries(t *testing.T) {
	api, _ := newAPI(t, nil)
	srv := serve(t, api)
	const next = "GET /healthz HTTP/1.1\r\nHost: localhost\r\n\r\n"
	const auth = "Authorization: Bearer " + adasKey + "\r\nContent-Type: application/json\r\n"
	const body = `{"model":"analyst","messages":[{"role":"user","content":"hi"}]}`
	chunked := fmt.Sprintf("%x\r\n%s\r\n0\r\n\r\n", len(body), body)
	post := func(headers, rest string) string {
		return "POST /v1/chat/completions HTTP/1.1\r\nHost: localhost\r\n" + auth + headers + "\r\n" + rest
	}
	for name, tc := range map[string]struct {
		send string
		want int // number of responses
	}{
		"both lengths":             {post("Content-Length: 4\r\nTransfer-Encoding: chunked\r\n", chunked+next), 1},
		"both, in the other order": {post("Transfer-Encoding: chunked\r\nContent-Length: 400\r\n", chunked+next), 1},
		"both, and kept alive": {
			post("Connection: keep-alive\r\nContent-Length: 0\r\nTransfer-Encoding: CHUNKED\r\n", chunked+next), 1,
		},
		"both, without a key": {
			"POST /api/conversations HTTP/1.1\r\nHost: localhost\r\nContent-Length: 4\r\nTransfer-Encoding: " +
				"chunked\r\n\r\n0\r\n\r\n" + next, 1,
		},
		"both, at a public address": {
			"GET /healthz HTTP/1.1\r\nHost: localhost\r\nContent-Length: 4\r\nTransfer-Encoding: " +
				"chunked\r\n\r\n0\r\n\r\n" + next, 1,
		},
		"both, at an unknown address": {
			"GET /none HTTP/1.1\r\nHost: localhost\r\nContent-Length: 4\r\nTransfer-Encoding: " +
				"chunked\r\n\r\n0\r\n\r\n" + next, 1,
		},
		"chunked in HTTP/1.0": {
			"POST /v1/chat/completions HTTP/1.0\r\nHost: localhost\r\nConnection: keep-alive\r\n" + auth +
				fmt.Sprintf("Transfer-Encoding: chunked\r\nContent-Length: %d\r\n\r\n%s", len(body), body) + next, 1,
		},
		"chunks with an extension": {
			post("Transfer-Encoding: chunked\r\n", strings.Replace(chunked, "\r\n", ";a=b\r\n", 1)+next), 1,
		},
		"two encodings": {
			post("Transfer-Encoding: chunked\r\nTransfer-Encoding: identity\r\n", chunked+next), 1,
		},
		"an encoding nobody knows":    {post("Transfer-Encoding: xchunked\r\n", chunked+next), 1},
		"two lengths":                 {post("Content-Length: 4\r\nContent-Length: 5\r\n", body+next), 1},
		"a length with a sign":        {post("Content-Length: +4\r\n", body+next), 1},
		"a name with a blank":         {post("Transfer-Encoding : chunked\r\n", chunked+next), 1},
		"two hosts":                   {"GET /healthz HTTP/1.1\r\nHost: a\r\nHost: b\r\n\r\n" + next, 1},
		"a header that starts folded": {"GET /healthz HTTP/1.1\r\n Host: localhost\r\n\r\n" + next, 1},
		"a bare LF in a chunk": {
			post("Transfer-Encoding: chunked\r\n", strings.Replace(chunked, "\r\n", "\n", 1)+next), 1,
		},
		"one length, twice the same": {post(fmt.Sprintf("Content-Length: %d\r\n", len(body)), body+next), 2},
	} {
		t.Run(name, func(t *testing.T) {
			conn, err := net.Dial("tcp", srv.Listener.Addr().String())
			if err != nil {
				t.Fatal(err)
			}
			defer conn.Close()
			_ = conn.SetDeadline(time.Now().Add(time.Minute))
			if _, err := io.WriteString(conn, tc.send); err != nil {
				t.Fatal(err)
			}
			r := bufio.NewReader(conn)
			got := 0
			for ; got < tc.want; got++ {
				resp, err := http.ReadResponse(r, nil)
				if err != nil {
					t.Fatalf("after %d responses: %v", got, err)
				}
				_, _ = io.Copy(io.Discard, resp.Body)
			}
			if tc.want > 1 {
				return // the connection stays open
			}
			if rest, err := io.ReadAll(r); len(rest) > 0 {
				t.Errorf("after the response came %q, %v", rest, err)
			} else if e, ok := err.(net.Error); ok && e.Timeout() { //nolint:errorlint // as it is returned
				t.Error("the connection is left open")
			}
		})
	}
}
