// Package web is the app that people use in a browser. The files are built by Vite
// into dist and embedded; web/README.md says how the source is laid out.
//
// A program that was built without Node.js has an empty dist. It then serves one
// page, which says so.
package web

import (
	"bytes"
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
		"/{$}", "/c/{id}", "/c/{id}/{result}", "/usage", "/chart", "/chart/{symbol}", "/chart/{symbol}/{timeframe}",
		"/assets/", "/favicon.svg",
	}
}

// Built reports whether the app is part of this program.
func Built() bool {
	_, err := fs.Stat(dist, "dist/index.html.gz")
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

// file is a file in the encodings that were embedded: "", "gzip" and "br".
type file struct {
	name    string
	etag    string // the same for every encoding
	encoded map[string][]byte
}

// Site serves the files of the app from memory.
type Site struct{ files map[string]*file }

// newSite reads the files of a build. A .gz or .br file is an encoding of the file without that extension.
func newSite(fsys fs.FS) (*Site, error) {
	s := &Site{files: map[string]*file{}}
	err := fs.WalkDir(fsys, ".", func(name string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() || strings.HasPrefix(d.Name(), ".") {
			return err
		}
		data, err := fs.ReadFile(fsys, name)
		if err != nil {
			return fmt.Errorf("web: %w", err)
		}
		s.add(name, data)
		return nil
	})
	if err != nil {
		return nil, err
	}
	if s.files["index.html"] == nil {
		s.add("index.html", []byte(unbuilt))
	}
	return s, nil
}

func (s *Site) add(name string, data []byte) {
	encoding := ""
	switch path.Ext(name) {
	case ".gz":
		name, encoding = strings.TrimSuffix(name, ".gz"), "gzip"
	case ".br":
		name, encoding = strings.TrimSuffix(name, ".br"), "br"
	}
	f := s.files[name]
	if f == nil {
		f = &file{name: name, encoded: map[string][]byte{}}
		s.files[name] = f
	}
	f.encoded[encoding] = data
	if f.etag == "" || encoding == "gzip" { // use the gzip digest if there is one, so that the ETag is stable
		sum := sha256.Sum256(data)
		f.etag = `"` + hex.EncodeToString(sum[:8]) + `"`
	}
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
	data, encoding := f.choose(r.Header.Get("Accept-Encoding"))
	if status == http.StatusOK {
		tag := strings.TrimSuffix(f.etag, `"`) + encoding + `"`
		h.Set("Etag", tag)
		if strings.Contains(r.Header.Get("If-None-Match"), tag) {
			w.WriteHeader(http.StatusNotModified)
			return nil
		}
	}
	if data == nil { // a client that wants neither encoding: rare enough to unpack each time
		return f.unpack(w, r, status)
	}
	if encoding != "" {
		h.Set("Content-Encoding", encoding)
	}
	h.Set("Content-Length", strconv.Itoa(len(data)))
	w.WriteHeader(status)
	if r.Method == http.MethodHead {
		return nil
	}
	_, err := w.Write(data)
	return err
}

// choose returns the data in the smallest encoding that the client accepts, or nil if it accepts none of them.
func (f *file) choose(accept string) (data []byte, encoding string) {
	for _, name := range []string{"br", "gzip"} {
		if data, ok := f.encoded[name]; ok && accepts(accept, name) {
			return data, name
		}
	}
	return f.encoded[""], ""
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

func (f *file) unpack(w http.ResponseWriter, r *http.Request, status int) error {
	z, err := gzip.NewReader(bytes.NewReader(f.encoded["gzip"]))
	if err != nil {
		return fmt.Errorf("web: unpack %s: %w", f.name, err)
	}
	w.WriteHeader(status)
	if r.Method == http.MethodHead {
		return nil
	}
	_, err = io.Copy(w, z)
	return err
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
