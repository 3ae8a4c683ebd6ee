package web

import (
	"bytes"
	"compress/gzip"
	"io"
	"net/http"
	"net/http/httptest"
	"strconv"
	"strings"
	"testing"
	"testing/fstest"

	"github.com/andybalholm/brotli"
)

func compressed(t *testing.T, text string) *fstest.MapFile {
	t.Helper()
	var b bytes.Buffer
	z := brotli.NewWriter(&b)
	_, _ = io.WriteString(z, text) // into memory
	if err := z.Close(); err != nil {
		t.Fatal(err)
	}
	return &fstest.MapFile{Data: b.Bytes()}
}

// plain returns the body of a response without its encoding.
func plain(t *testing.T, w *httptest.ResponseRecorder) string {
	t.Helper()
	body := io.Reader(w.Body)
	switch w.Header().Get("Content-Encoding") {
	case "br":
		body = brotli.NewReader(body)
	case "gzip":
		z, err := gzip.NewReader(body)
		if err != nil {
			t.Fatal(err)
		}
		body = z
	}
	text, err := io.ReadAll(body)
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}

func site(t *testing.T) *Site {
	t.Helper()
	s, err := newSite(fstest.MapFS{
		".gitkeep":                {},
		"index.html.br":           compressed(t, "<title>the app</title>"),
		"assets/app-1a2b.js.br":   compressed(t, "start()"),
		"assets/sandbox-9f.js.br": compressed(t, "onmessage = 0"),
		"assets/photo-3c.png":     {Data: []byte("png")},
	})
	if err != nil {
		t.Fatal(err)
	}
	return s
}

func built(t *testing.T) http.Handler {
	t.Helper()
	s := site(t)
	mux := http.NewServeMux()
	for _, p := range Patterns() {
		mux.Handle(p, s)
	}
	return mux
}

func get(h http.Handler, target string, headers ...string) *httptest.ResponseRecorder {
	r := httptest.NewRequest(http.MethodGet, target, nil)
	for i := 0; i < len(headers); i += 2 {
		r.Header.Set(headers[i], headers[i+1])
	}
	w := httptest.NewRecorder()
	h.ServeHTTP(w, r)
	return w
}

func TestFiles(t *testing.T) {
	h := built(t)
	for _, c := range []struct {
		target, accept, encoding, mime, body string
		status                               int
		immutable                            bool
	}{
		{"/", "gzip, br", "br", "text/html; charset=utf-8", "<title>the app</title>", 200, false},
		{"/c/conv_1", "br", "br", "text/html; charset=utf-8", "<title>the app</title>", 200, false},
		{"/c/conv_1/r3?view=sql", "br", "br", "text/html; charset=utf-8", "<title>the app</title>", 200, false},
		{"/", "gzip", "gzip", "text/html; charset=utf-8", "<title>the app</title>", 200, false},
		{"/", "", "", "text/html; charset=utf-8", "<title>the app</title>", 200, false},
		{"/", "br;q=0, gzip;q=0", "", "text/html; charset=utf-8", "<title>the app</title>", 200, false},
		{
			"/assets/app-1a2b.js", "deflate, br;q=0.5", "br", "text/javascript; charset=utf-8", "start()", 200,
			true,
		},
		{"/assets/app-1a2b.js", "identity", "", "text/javascript; charset=utf-8", "start()", 200, true},
		{"/assets/photo-3c.png", "gzip, br", "", "image/png", "png", 200, true},
		{"/assets/gone-1.js", "br", "", "text/plain; charset=utf-8", "", 404, false},
		{"/assets/", "br", "", "text/plain; charset=utf-8", "", 404, false},
		{"/favicon.svg", "br", "", "text/plain; charset=utf-8", "", 404, false},
	} {
		w := get(h, c.target, "Accept-Encoding", c.accept)
		if w.Code != c.status || w.Header().Get("Content-Encoding") != c.encoding {
			t.Errorf("%s (%s): %d %q, want %d %q", c.target, c.accept, w.Code, w.Header().Get("Content-Encoding"),
				c.status, c.encoding)
		}
		if c.mime != "" && w.Header().Get("Content-Type") != c.mime {
			t.Errorf("%s: type %q, want %q", c.target, w.Header().Get("Content-Type"), c.mime)
		}
		if got := w.Header().Get("Content-Length"); got != "" && got != strconv.Itoa(w.Body.Len()) {
			t.Errorf("%s (%s): a length of %s for %d bytes", c.target, c.accept, got, w.Body.Len())
		}
		if body := plain(t, w); c.body != "" && body != c.body {
			t.Errorf("%s (%s): body %q, want %q", c.target, c.accept, body, c.body)
		}
		if got := strings.Contains(w.Header().Get("Cache-Control"), "immutable"); got != c.immutable {
			t.Errorf("%s: kept for ever = %v, want %v", c.target, got, c.immutable)
		}
	}
}

// TestNotFound checks that the page of an unknown address is complete, also if the browser has it.
func TestNotFound(t *testing.T) {
	s := built(t)
	tag := get(s, "/", "Accept-Encoding", "br").Header().Get("Etag")
	for _, accept := range []string{"br", "gzip", ""} {
		w := get(http.HandlerFunc(site(t).NotFound), "/none", "Accept-Encoding", accept, "If-None-Match", tag)
		if body := plain(t, w); w.Code != http.StatusNotFound || body != "<title>the app</title>" ||
			w.Header().Get("Content-Security-Policy") != Policy {
			t.Errorf("encoding %q: %d %q", accept, w.Code, body)
		}
	}
}

// TestMissingFileInABrowser checks that somebody who opens the address of a missing file gets the page, too.
func TestMissingFileInABrowser(t *testing.T) {
	for accept, mime := range map[string]string{
		"text/html,application/xhtml+xml,*/*;q=0.8": "text/html; charset=utf-8", "*/*": "text/plain; charset=utf-8",
	} {
		w := get(built(t), "/assets/nope", "Accept", accept)
		if w.Code != http.StatusNotFound || w.Header().Get("Content-Type") != mime {
			t.Errorf("Accept: %s: %d %s, want 404 %s", accept, w.Code, w.Header().Get("Content-Type"), mime)
		}
	}
}

func TestNotModified(t *testing.T) {
	h := built(t)
	first := get(h, "/", "Accept-Encoding", "br")
	tag := first.Header().Get("Etag")
	if again := get(h, "/", "Accept-Encoding", "br", "If-None-Match", tag); again.Code != http.StatusNotModified ||
		again.Body.Len() != 0 {
		t.Errorf("with the tag %s: %d and %d bytes, want 304 and none", tag, again.Code, again.Body.Len())
	}
	if other := get(h, "/", "Accept-Encoding", "gzip", "If-None-Match", tag); other.Code != http.StatusOK {
		t.Errorf("another encoding has the tag of the first: %d", other.Code)
	}
}

func TestOnlyReading(t *testing.T) {
	w := httptest.NewRecorder()
	built(t).ServeHTTP(w, httptest.NewRequest(http.MethodPost, "/", nil))
	if w.Code != http.StatusMethodNotAllowed || w.Header().Get("Allow") != "GET, HEAD" {
		t.Errorf("POST: %d, Allow %q", w.Code, w.Header().Get("Allow"))
	}
	r := httptest.NewRequest(http.MethodHead, "/", nil)
	w = httptest.NewRecorder()
	built(t).ServeHTTP(w, r)
	if w.Code != http.StatusOK || w.Body.Len() != 0 {
		t.Errorf("HEAD: %d with %d bytes", w.Code, w.Body.Len())
	}
}

func TestPolicies(t *testing.T) {
	h := built(t)
	for target, want := range map[string]string{
		"/": Policy, "/assets/app-1a2b.js": Policy, "/assets/none.js": Policy, "/assets/sandbox-9f.js": SandboxPolicy,
	} {
		if got := get(h, target).Header().Get("Content-Security-Policy"); got != want {
			t.Errorf("%s: policy %q, want %q", target, got, want)
		}
	}
	for _, loose := range []string{"unsafe-inline", "*", "http:", "https:", "'unsafe-eval'"} {
		if strings.Contains(Policy, loose) {
			t.Errorf("the page's policy has %s", loose)
		}
	}
}

func TestWithoutTheApp(t *testing.T) {
	s, err := newSite(fstest.MapFS{".gitkeep": {}})
	if err != nil {
		t.Fatal(err)
	}
	w := get(s, "/")
	if w.Code != http.StatusOK || !strings.Contains(w.Body.String(), "without its web app") ||
		!strings.Contains(w.Body.String(), "make clean build") {
		t.Errorf("the page does not mention the missing build: %d %s", w.Code, w.Body)
	}
}
