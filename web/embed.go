// Package web is the app that people use in a browser. The files are built by Vite
// into dist and embedded; web/README.md says how the source is laid out.
//
// A program that was built without Node.js has an empty dist. It then serves one
// page, which says so.
package web

import (
	"cmp"
	"compress/gzip"
	"crypto/sha256"
	"embed"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"net/http"
	"path"
	"strconv"
	"strings"
	"sync"

	"github.com/andybalholm/brotli"
)

//go:embed all:dist
var dist embed.FS

// Policy is the Content-Security-Policy of the app: nothing but its own files, no inline script or style, no other
// host. Instantiating WebAssembly is allowed.
const Policy = "default-src 'none'; script-src 'self' 'wasm-unsafe-eval'; style-src 'self'; " +
	"img-src 'self' data: blob:; connect-src 'self'; worker-src 'self'; font-src 'self'; " +
	"frame-src 'none'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'"

// SandboxPolicy is the policy for workers that run model-written JavaScript. They can compute, but cannot fetch or
// import.
const SandboxPolicy = "default-src 'none'; script-src 'unsafe-eval'; sandbox allow-scripts"

// sandboxPrefix is the prefix of the names of these workers' scripts.
const sandboxPrefix = "assets/sandbox-"

// Patterns returns the app's routes, for http.ServeMux. Routing happens in the browser, so every route gets the same
// file.
func Patterns() []string {
	return []string{
		"/{$}", "/c/{id}", "/c/{id}/{result}", "/usage", "/inbox", "/tests", "/oauth/authorize", "/chart",
		"/chart/{symbol}", "/chart/{symbol}/{timeframe}", "/assets/", "/favicon.svg",
	}
}

// Built reports whether the app is part of this program.
func Built() bool {
	_, err := fs.Stat(dist, "dist/index.html.br")
	return err == nil
}

// Open reads the embedded app.
func Open() (*Site, error) {
	sub, err := fs.Sub(dist, "dist")
	if err != nil {
		return nil, fmt.Errorf("web: %w", err)
	}
	return newSite(sub)
}

// types maps extensions to content types. The system's table varies between machines.
var types = map[string]string{
	".html": "text/html; charset=utf-8", ".js": "text/javascript; charset=utf-8", ".css": "text/css; charset=utf-8",
	".svg": "image/svg+xml", ".json": "application/json", ".wasm": "application/wasm", ".png": "image/png",
	".woff2": "font/woff2", ".ico": "image/x-icon", ".txt": "text/plain; charset=utf-8",
}

// packed is the extension of files that the build compressed with Brotli, which packs them a quarter tighter than gzip.
const packed = ".br"

// file is a file of the build.
type file struct {
	name   string // without packed
	packed bool
	size   int64
	open   func() (io.ReadCloser, error)
	tag    func() (string, error) // a digest of what is stored, without quotes; computed once, when it is first needed
}

// Site serves the files of the app. It reads each when it is asked for, so a server that starts touches none of them.
type Site struct{ files map[string]*file }

// newSite lists the files of a build.
func newSite(fsys fs.FS) (*Site, error) {
	s := &Site{files: map[string]*file{}}
	err := fs.WalkDir(fsys, ".", func(name string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() || strings.HasPrefix(d.Name(), ".") {
			return err
		}
		info, err := d.Info()
		if err != nil {
			return err
		}
		s.add(name, info.Size(), func() (io.ReadCloser, error) { return fsys.Open(name) })
		return nil
	})
	if err != nil {
		return nil, fmt.Errorf("web: %w", err)
	}
	if s.files["index.html"] == nil {
		s.add("index.html", int64(len(unbuilt)), func() (io.ReadCloser, error) {
			return io.NopCloser(strings.NewReader(unbuilt)), nil
		})
	}
	return s, nil
}

func (s *Site) add(stored string, size int64, open func() (io.ReadCloser, error)) {
	name, isPacked := strings.CutSuffix(stored, packed)
	tag := sync.OnceValues(func() (string, error) { return digest(open) })
	s.files[name] = &file{name: name, packed: isPacked, size: size, open: open, tag: tag}
}

func digest(open func() (io.ReadCloser, error)) (string, error) {
	r, err := open()
	if err != nil {
		return "", err
	}
	defer r.Close()
	sum := sha256.New()
	_, err = io.Copy(sum, r)
	return hex.EncodeToString(sum.Sum(nil)[:8]), err
}

// ServeHTTP serves a file, or the page for every address that is not a file's.
func (s *Site) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	h := w.Header()
	protect(h)
	if r.Method != http.MethodGet && r.Method != http.MethodHead {
		h.Set("Allow", "GET, HEAD")
		http.Error(w, "Only GET and HEAD are allowed here.", http.StatusMethodNotAllowed)
		return
	}
	name := strings.TrimPrefix(r.URL.Path, "/")
	asset := strings.HasPrefix(name, "assets/")
	f := s.files[name]
	switch {
	case f == nil && asset && strings.Contains(r.Header.Get("Accept"), "text/html"):
		s.NotFound(w, r) // somebody opened the address; the app asks for its files without it
		return
	case f == nil && (asset || path.Ext(name) == ".svg"):
		http.Error(w, "File not found. Reload the page; the server may have been updated.", http.StatusNotFound)
		return
	case f == nil || name == "index.html":
		f, asset = s.files["index.html"], false
	}
	if strings.HasPrefix(name, sandboxPrefix) {
		h.Set("Content-Security-Policy", SandboxPolicy)
	}
	h.Set("Cache-Control", "no-cache")
	if asset { // the name has a digest of the content in it
		h.Set("Cache-Control", "public, max-age=31536000, immutable")
	}
	f.respond(w, r, http.StatusOK)
}

// NotFound serves the page with status 404. The page says that its address leads nowhere.
func (s *Site) NotFound(w http.ResponseWriter, r *http.Request) {
	protect(w.Header())
	w.Header().Set("Cache-Control", "no-store")
	s.files["index.html"].respond(w, r, http.StatusNotFound)
}

func (f *file) respond(w http.ResponseWriter, r *http.Request, status int) {
	if err := f.serve(w, r, status); err != nil && !errors.Is(err, http.ErrAbortHandler) {
		// The client disconnected or the file is corrupt; abort rather than send a truncated body.
		panic(http.ErrAbortHandler)
	}
}

// protect sets the security headers.
func protect(h http.Header) {
	h.Set("Content-Security-Policy", Policy)
	h.Set("X-Content-Type-Options", "nosniff")
	h.Set("X-Frame-Options", "DENY")
	h.Set("Referrer-Policy", "no-referrer")
	h.Set("Cross-Origin-Opener-Policy", "same-origin")
	h.Set("Cross-Origin-Resource-Policy", "same-origin")
	h.Set("Permissions-Policy", "camera=(), geolocation=(), microphone=(), payment=(), usb=()")
}

func (f *file) serve(w http.ResponseWriter, r *http.Request, status int) error {
	h := w.Header()
	h.Add("Vary", "Accept-Encoding")
	h.Set("Content-Type", cmp.Or(types[path.Ext(f.name)], "application/octet-stream"))
	encoding := f.encoding(r.Header.Get("Accept-Encoding"))
	if status == http.StatusOK {
		stored, err := f.tag()
		if err != nil {
			return fmt.Errorf("web: read %s: %w", f.name, err)
		}
		tag := `"` + stored + encoding + `"`
		h.Set("Etag", tag)
		if strings.Contains(r.Header.Get("If-None-Match"), tag) {
			w.WriteHeader(http.StatusNotModified)
			return nil
		}
	}
	if encoding != "" {
		h.Set("Content-Encoding", encoding)
	}
	if f.packed == (encoding == "br") { // sent as it is stored
		h.Set("Content-Length", strconv.FormatInt(f.size, 10))
	}
	w.WriteHeader(status)
	if r.Method == http.MethodHead {
		return nil
	}
	return f.send(w, encoding)
}

// encoding returns the Content-Encoding of a response. Browsers accept Brotli over HTTPS and from their own machine,
// and otherwise gzip.
func (f *file) encoding(accept string) string {
	switch {
	case !f.packed:
		return ""
	case accepts(accept, "br"):
		return "br"
	case accepts(accept, "gzip"):
		return "gzip"
	default:
		return ""
	}
}

// send writes the file in an encoding. The app's addresses contain digests, so a browser asks for each file once; the
// few that do not accept Brotli get it packed anew each time.
func (f *file) send(w io.Writer, encoding string) error {
	stored, err := f.open()
	if err != nil {
		return fmt.Errorf("web: read %s: %w", f.name, err)
	}
	defer stored.Close()
	if !f.packed || encoding == "br" {
		_, err = io.Copy(w, stored)
		return err
	}
	plain := brotli.NewReader(stored)
	if encoding == "" {
		_, err = io.Copy(w, plain)
		return err
	}
	z := gzip.NewWriter(w)
	if _, err = io.Copy(z, plain); err != nil {
		return err
	}
	return z.Close()
}

// accepts reads an Accept-Encoding header.
func accepts(header, name string) bool {
	for part := range strings.SplitSeq(header, ",") {
		coding, params, _ := strings.Cut(strings.TrimSpace(part), ";")
		if !strings.EqualFold(strings.TrimSpace(coding), name) {
			continue
		}
		key, value, _ := strings.Cut(strings.ReplaceAll(params, " ", ""), "=")
		if !strings.EqualFold(key, "q") {
			return true
		}
		q, err := strconv.ParseFloat(value, 64)
		return err == nil && q > 0
	}
	return false
}

// unbuilt is the page of a program that was built without Node.js.
const unbuilt = `<!doctype html>
<html lang="en">
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<meta name="color-scheme" content="light dark">
<title>Footnote</title>
<h1>Footnote is running, without its web app</h1>
<p>This program was built without Node.js, so it has no web app. Everything else works.</p>
<p>To add it, install Node.js 20.19 or newer, run <code>make clean build</code>, and restart.</p>
<p>To ask from a terminal: <code>footnote ask "How many orders are there?"</code></p>
</html>
`
