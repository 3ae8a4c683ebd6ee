package httpapi_test

import (
	"bufio"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/footnotehq/footnote"
	"github.com/footnotehq/footnote/httpapi"
)

// listening serves with the limits of HTTPServer and returns the address.
func listening(t *testing.T, api *httpapi.Server) string {
	t.Helper()
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	srv := api.HTTPServer("")
	go srv.Serve(listener) // returns when the server closes
	t.Cleanup(func() { srv.Close() })
	return listener.Addr().String()
}

// sending begins a request whose body never comes, and returns the first status: 100 when a handler waits for the body,
// 0 when the connection was closed instead.
func sending(t *testing.T, address, target, key string) int {
	t.Helper()
	conn, err := net.Dial("tcp", address)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { conn.Close() })
	if err := conn.SetDeadline(time.Now().Add(time.Minute)); err != nil {
		t.Fatal(err)
	}
	fmt.Fprintf(conn, "POST %s HTTP/1.1\r\nHost: localhost\r\nAuthorization: Bearer %s\r\n"+
		"Content-Type: application/json\r\nContent-Length: 1000\r\nExpect: 100-continue\r\n\r\n", target, key)
	line, err := bufio.NewReader(conn).ReadString('\n') // a closed connection gives an empty line
	if errors.Is(err, os.ErrDeadlineExceeded) {
		t.Fatal("the server neither responds nor closes the connection")
	}
	var status int
	_, _ = fmt.Sscanf(line, "HTTP/1.1 %d", &status)
	return status
}

// TestSlowBodiesDoNotBlockOthers checks that no number of bodies that never arrive keeps another user from asking or
// from opening the page, whether one user sends them, several do, or callers without a key.
func TestSlowBodiesDoNotBlockOthers(t *testing.T) {
	const connections = 280 // a user may have 65 requests: four users do not fill the connections
	keys := map[string]footnote.Principal{bobsKey: {Org: "acme", User: "bob"}}
	var attackers []string
	for i := range 4 {
		key := fmt.Sprintf("key-of-attacker-%d", i)
		attackers = append(attackers, key)
		keys[key] = footnote.Principal{Org: "evil", User: fmt.Sprint(i)}
	}
	for name, test := range map[string]struct {
		target string
		keys   []string
	}{
		"one user":         {"/v1/chat/completions", attackers[:1]},
		"one organisation": {"/v1/chat/completions", attackers},
		"no key":           {"/api/session", []string{"wrong"}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			api, _ := newAPI(t, func(o *httpapi.Options) {
				o.Keys, o.BodyTimeout = keys, time.Hour
				o.Streams, o.StreamsPerUser, o.Connections = 4, 1, connections
			})
			address := listening(t, api)
			got := map[int]int{}
			for i := range connections + 60 {
				got[sending(t, address, test.target, test.keys[i%len(test.keys)])]++
			}
			t.Logf("the attackers' responses by status: %v", got)
			if got[100] == 0 || name == "one user" && got[429] == 0 {
				t.Errorf("the attackers' responses by status: %v", got)
			}
			for range 5 {
				asBob(t, "POST", "http://"+address+"/v1/chat/completions",
					`{"model":"analyst","messages":[{"role":"user","content":"hi"}]}`)
				asBob(t, "GET", "http://"+address+"/api/session", "")
			}
		})
	}
}

// asBob sends a request of bob's on a new connection. It fails the test when the response is not a success.
func asBob(t *testing.T, method, url, body string) {
	t.Helper()
	client := &http.Client{Transport: &http.Transport{}}
	req, err := http.NewRequestWithContext(t.Context(), method, url, strings.NewReader(body))
	if err != nil {
		t.Fatal(err)
	}
	req.Header.Set("Authorization", "Bearer "+bobsKey)
	req.Header.Set("Content-Type", "application/json")
	resp, err := client.Do(req)
	if err != nil {
		t.Fatalf("bob is locked out: %v", err)
	}
	defer resp.Body.Close()
	text, err := io.ReadAll(resp.Body)
	if err != nil || resp.StatusCode != 200 {
		t.Errorf("bob: %s %s: %d %s %v", method, url, resp.StatusCode, text, err)
	}
}

// TestRefusalsClose checks that a client whose request is refused before its body has arrived gets the response and the
// end of the connection.
func TestRefusalsClose(t *testing.T) {
	api, _ := newAPI(t, nil)
	api.Mount("/page", http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		http.Error(w, "no", http.StatusMethodNotAllowed)
	}))
	address := listening(t, api)
	const ask = "POST /v1/chat/completions HTTP/1.1\r\n"
	const asAda = ask + "Authorization: Bearer " + adasKey + "\r\n"
	for name, test := range map[string]struct {
		request string
		status  int
	}{
		"no key":      {ask + "Content-Length: 1000", 401},
		"too large":   {asAda + "Content-Type: application/json\r\nContent-Length: 100000", 413},
		"wrong type":  {asAda + "Content-Length: 1000", 400},
		"chunked":     {ask + "Transfer-Encoding: chunked", 401},
		"no route":    {"POST /api/none HTTP/1.1\r\nContent-Length: 1000", 404},
		"page":        {"POST /page HTTP/1.1\r\nContent-Length: 1000", 405},
		"health":      {"GET /healthz HTTP/1.1\r\nContent-Length: 1000", 200},
		"wrong route": {"DELETE /v1/models HTTP/1.1\r\nContent-Length: 1000", 405},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			conn, err := net.Dial("tcp", address)
			if err != nil {
				t.Fatal(err)
			}
			defer conn.Close()
			fmt.Fprintf(conn, "%s\r\nHost: localhost\r\n\r\n", test.request)
			r := bufio.NewReader(conn)
			resp, err := http.ReadResponse(r, nil)
			if err != nil {
				t.Fatal(err)
			}
			_, err = io.Copy(io.Discard, resp.Body)
			if err != nil || resp.StatusCode != test.status || !resp.Close {
				t.Errorf("%d, closes: %v, %v; want %d", resp.StatusCode, resp.Close, err, test.status)
			}
			if _, err := r.ReadByte(); err != io.EOF { //nolint:errorlint // a bare end
				t.Errorf("the connection ends with %v", err)
			}
		})
	}
}

// TestRefusalsDoNotWaitForBody checks that a request is refused before its body arrives.
func TestRefusalsDoNotWaitForBody(t *testing.T) {
	api, _ := newAPI(t, nil)
	for name, change := range map[string]func(*http.Request){
		"no key":    func(r *http.Request) { r.Header.Del("Authorization") },
		"too large": func(r *http.Request) { r.ContentLength = 1 << 30 },
		"no route":  func(r *http.Request) { r.URL.Path = "/api/none" },
	} {
		w := &line{ResponseRecorder: httptest.NewRecorder(), each: 1 << 20}
		r := request("POST", "/v1/chat/completions", "")
		r.Body, r.ContentLength = io.NopCloser(neverRead{t}), 1000
		change(r)
		api.ServeHTTP(w, r)
		if w.Header().Get("Connection") != "close" || w.reads.IsZero() || w.reads.After(time.Now()) {
			t.Errorf("%s: %v, the body has until %v", name, w.Header(), w.reads)
		}
	}
}

type neverRead struct{ t *testing.T }

func (b neverRead) Read([]byte) (int, error) {
	b.t.Error("the body is read")
	return 0, io.EOF
}

// line is a connection whose client sends a body, and reads a response, at some pace. Time is that of a bubble.
type line struct {
	*httptest.ResponseRecorder
	each, left   int // bytes of a read or write, and those of the body to come
	pause        time.Duration
	reads, write time.Time // deadlines
}

func (l *line) SetReadDeadline(at time.Time) error  { l.reads = at; return nil }
func (l *line) SetWriteDeadline(at time.Time) error { l.write = at; return nil }

// pass waits for one step of the client.
func (l *line) pass(deadline time.Time) error {
	time.Sleep(l.pause)
	if !deadline.IsZero() && time.Now().After(deadline) {
		return fmt.Errorf("at %v: %w", deadline, os.ErrDeadlineExceeded)
	}
	return nil
}

func (l *line) Read(b []byte) (int, error) {
	if l.left == 0 {
		return 0, io.EOF
	}
	if err := l.pass(l.reads); err != nil {
		return 0, err
	}
	n := copy(b[:min(len(b), l.each, l.left)], strings.Repeat(" ", l.each))
	l.left -= n
	return n, nil
}

func (l *line) Write(b []byte) (int, error) {
	for n := 0; n < len(b); n += l.each {
		if err := l.pass(l.write); err != nil {
			return n, err
		}
	}
	return len(b), nil
}

// TestPace checks that a body and a response may take long as long as they make progress.
func TestPace(t *testing.T) {
	const size = 10 << 20
	for name, test := range map[string]struct {
		target, kind string
		each         int
		pause        time.Duration
		ends         bool
	}{
		"body, slow line":      {"/v1/chat/completions", "application/json", 4 << 10, time.Second, true},
		"body, one byte":       {"/v1/chat/completions", "application/json", 1, time.Second, false},
		"body, then nothing":   {"/v1/chat/completions", "application/json", 1 << 20, time.Minute, false},
		"upload, slow line":    {"/api/sources", "multipart/form-data; boundary=X", 4 << 10, time.Second, true},
		"upload, one byte":     {"/api/sources", "multipart/form-data; boundary=X", 1, time.Second, false},
		"response, slow line":  {"/page", "", 4 << 10, time.Second, true},
		"response, one byte":   {"/page", "", 1, time.Second, false},
		"response, slow chunk": {"/page", "", 1 << 10, time.Second, false},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				api, _ := newAPI(t, func(o *httpapi.Options) { o.BodyLimit, o.Data = 2*size, receiver{size: 2 * size} })
				var written error
				api.Mount("/page", http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
					_, written = w.Write(make([]byte, size))
				}))
				w := &line{ResponseRecorder: httptest.NewRecorder(), each: test.each, left: size, pause: test.pause}
				r := request("POST", test.target, "")
				r.Header.Set("Content-Type", test.kind)
				r.Body, r.ContentLength = io.NopCloser(w), size
				if test.target == "/page" {
					r = request("GET", test.target, "")
				}
				if strings.HasPrefix(test.kind, "multipart") {
					head := "--X\r\nContent-Disposition: form-data; name=\"file\"; filename=\"a.csv\"\r\n\r\n"
					r.Body = io.NopCloser(io.MultiReader(strings.NewReader(head), w,
						strings.NewReader("\r\n--X--\r\n")))
					r.ContentLength = -1
				}
				begun := time.Now()
				api.ServeHTTP(w, r)
				took := time.Since(begun)
				if ended := w.left == 0 && written == nil ||
					test.target == "/page" && written == nil; ended != test.ends {
					t.Errorf("ended: %v after %v, want %v; %v", ended, took, test.ends, written)
				}
				if !test.ends && took > 3*time.Minute {
					t.Errorf("it ended only after %v", took)
				}
			})
		})
	}
}

// TestUnreadResponse checks that little of a response is accepted while its client reads nothing. The kernel
// does not ask for more until much of what it accepted was read, which would hide the pace of a slow client.
func TestUnreadResponse(t *testing.T) {
	const size, most = 64 << 20, 512 << 10 // most includes what the client's side accepts
	api, _ := newAPI(t, nil)
	accepted := make(chan int)
	api.Mount("/page", http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		_ = http.NewResponseController(w).SetWriteDeadline(time.Now().Add(time.Second))
		n, _ := w.Write(make([]byte, size)) // fails, because the server does not read
		accepted <- n
	}))
	conn, err := net.Dial("tcp", listening(t, api))
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close()
	fmt.Fprint(conn, "GET /page HTTP/1.1\r\nHost: localhost\r\n\r\n")
	if n := <-accepted; n > most {
		t.Errorf("%d bytes were accepted, want at most %d", n, most)
	}
}
