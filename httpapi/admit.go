package httpapi

import (
	"context"
	"crypto/hmac"
	"crypto/rand"
	"crypto/sha256"
	"errors"
	"fmt"
	"io"
	"mime"
	"net"
	"net/http"
	"net/netip"
	"net/url"
	"os"
	"slices"
	"strings"
	"time"

	"github.com/footnotehq/footnote"
	"github.com/footnotehq/footnote/httpapi/session"
)

// keyring finds the principal of a key. It holds digests under a secret of this
// process, so that how long a lookup takes tells nothing about the keys.
type keyring struct {
	secret   [32]byte
	byHash   map[[sha256.Size]byte]footnote.Principal
	bySignIn map[session.Digest]footnote.Principal // keys as sessions know them
}

func (k *keyring) digest(key string) (d [sha256.Size]byte) {
	mac := hmac.New(sha256.New, k.secret[:])
	mac.Write([]byte(key))
	mac.Sum(d[:0])
	return d
}

// admit reads who and what may come in.
func (s *Server) admit() error {
	_, _ = rand.Read(s.keys.secret[:]) // never fails
	s.keys.byHash = make(map[[sha256.Size]byte]footnote.Principal, len(s.opts.Keys))
	s.keys.bySignIn = make(map[session.Digest]footnote.Principal, len(s.opts.Keys))
	if s.opts.Sessions == nil {
		var err error
		if s.opts.Sessions, err = session.Open(""); err != nil {
			return err
		}
	}
	for key, p := range s.opts.Keys {
		if len(key) < 8 || strings.ContainsFunc(key, func(r rune) bool { return r <= ' ' || r > '~' }) {
			return fmt.Errorf("httpapi: the API key of user %q must be at least 8 printable ASCII characters", p.User)
		}
		if err := p.Check(); err != nil {
			return fmt.Errorf("httpapi: an API key stands for nobody: %w", err)
		}
		s.keys.byHash[s.keys.digest(key)] = p
		s.keys.bySignIn[s.opts.Sessions.DigestOf(key)] = p
	}
	for _, h := range append([]string{"localhost", "127.0.0.1", "::1"}, s.opts.Hosts...) {
		s.hosts[strings.ToLower(h)] = true
	}
	for _, o := range s.opts.AllowOrigins {
		if err := s.allow(o); err != nil {
			return err
		}
	}
	return nil
}

// allow lets the pages of an origin call.
func (s *Server) allow(origin string) error {
	if origin == "*" {
		if !s.opts.NeedsKey {
			return errors.New(`httpapi: the origin "*" needs API keys; without them every web page could ask in your name`)
		}
		s.origins["*"] = true
		return nil
	}
	u, err := url.Parse(origin)
	if err != nil || u.Scheme == "" || u.Host == "" || u.Path != "" || u.RawQuery != "" {
		return fmt.Errorf("httpapi: the origin %q must look like https://example.org", origin)
	}
	s.origins[origin] = true
	return s.foreign.AddTrustedOrigin(origin)
}

// identify finds out who calls. The principal comes from the key, or from the
// session that was begun with one, and from nothing else of the request.
func (s *Server) identify(r *http.Request) error {
	sc := scopeOf(r.Context())
	if !s.opts.NeedsKey {
		if !local(r) {
			return footnote.Errorf(footnote.Unauthorized, "This server has no API keys, so it only serves callers on its own machine.")
		}
		sc.principal = footnote.Principal{Org: "local", User: "local"}
		return nil
	}
	if _, sent := r.Header["Authorization"]; !sent {
		if ok, err := s.signedIn(r); ok || err != nil {
			return err
		}
	}
	scheme, key, _ := strings.Cut(r.Header.Get("Authorization"), " ")
	if !strings.EqualFold(scheme, "Bearer") || key == "" {
		return footnote.Errorf(footnote.Unauthorized, "An API key is needed: Authorization: Bearer <key>.")
	}
	who, err := s.credential(r.Context(), strings.TrimSpace(key))
	if err != nil {
		return err
	}
	sc.principal, sc.keyID, sc.withKey = who.principal, who.keyID, true
	return nil
}

// onceOnly are the headers of which a request has one at most: what is read of them
// decides who asks, from where, or what the answer is. Of two, a proxy before this
// server could believe the other one. Those that are lists by nature (Accept, Cookie,
// what proxies add) are not among them.
var onceOnly = []string{
	"Access-Control-Request-Method", "Authorization", "Content-Encoding", "Content-Type", "Last-Event-Id", "Origin",
	"Sec-Fetch-Site", "Traceparent", "X-Conversation-Id", "X-Footnote-Dialect", "X-Openwebui-Chat-Id", "X-Request-Id",
}

// single refuses a request that says one thing twice.
func single(r *http.Request) error {
	for _, name := range onceOnly {
		if len(r.Header[name]) > 1 {
			return footnote.Errorf(footnote.InvalidRequest, "The request has %d %s headers; it may have one.", len(r.Header[name]), name)
		}
	}
	if values := r.CookiesNamed(cookieName); len(values) > 1 {
		for _, c := range values[1:] {
			if c.Value != values[0].Value {
				return footnote.Errorf(footnote.InvalidRequest, "The request has two cookies named %s. Delete the cookies of this site and sign in again.", cookieName)
			}
		}
	}
	return nil
}

// closing reports whether the connection must end with this request. RFC 9112 asks so
// (6.1 and 6.3) of a chunked body that also has a Content-Length, and of a chunked one in
// HTTP/1.0: what follows it may be a request that a proxy before this server took for a
// part of the body. net/http takes the evidence away before a handler sees the request,
// so the connection ends after every chunked body and every request of HTTP/1.0.
func closing(r *http.Request) bool {
	return len(r.TransferEncoding) > 0 || !r.ProtoAtLeast(1, 1)
}

// grant is whom a credential stands for.
type grant struct {
	principal footnote.Principal
	keyID     string         // of a stored key
	once      bool           // it cannot begin a session
	signIn    session.Digest // of the key, as sessions know it
}

// credential finds out whom a text stands for that somebody sent as a key.
func (s *Server) credential(ctx context.Context, text string) (grant, error) {
	if p, ok := s.keys.byHash[s.keys.digest(text)]; ok {
		return grant{principal: p, signIn: s.opts.Sessions.DigestOf(text)}, nil
	}
	if s.opts.StoredKeys != nil && s.opts.StoredKeys.Mine(text) {
		id, p, err := s.opts.StoredKeys.Check(ctx, text)
		if err != nil {
			return grant{}, err
		}
		g := grant{principal: p, keyID: id}
		if copy(g.signIn[:], id) != len(id) || len(id) != len(g.signIn) {
			return grant{}, fmt.Errorf("httpapi: the id of a stored key has %d bytes, not %d", len(id), len(g.signIn))
		}
		return g, nil
	}
	if s.opts.Tokens != nil && s.opts.Tokens.Mine(text) {
		p, err := s.opts.Tokens.Check(ctx, text)
		return grant{principal: p, once: true}, err
	}
	return grant{}, footnote.Errorf(footnote.Unauthorized, "The API key is not known.")
}

// signedInBy finds out whom the digest of a session stands for.
func (s *Server) signedInBy(ctx context.Context, d session.Digest) (grant, error) {
	if p, ok := s.keys.bySignIn[d]; ok {
		return grant{principal: p}, nil
	}
	if s.opts.StoredKeys == nil {
		return grant{}, footnote.Errorf(footnote.Unauthorized, "The key of this session was taken away.")
	}
	p, err := s.opts.StoredKeys.Named(ctx, string(d[:]))
	return grant{principal: p, keyID: string(d[:])}, err
}

// passedOn are headers that proxies add, whatever their values, beside X-Forwarded-….
var passedOn = []string{"Forwarded", "Via", "X-Real-Ip", "X-Client-Ip", "True-Client-Ip", "Cf-Connecting-Ip"}

// local reports whether a request comes from this machine. One that a proxy passed
// on does not, whatever its connection says.
func local(r *http.Request) bool {
	for name := range r.Header {
		if strings.HasPrefix(name, "X-Forwarded-") || slices.Contains(passedOn, name) {
			return false
		}
	}
	ap, err := netip.ParseAddrPort(r.RemoteAddr)
	return err == nil && ap.Addr().Unmap().IsLoopback()
}

// hostname is the Host header without port and brackets.
func hostname(host string) string {
	if h, _, err := net.SplitHostPort(host); err == nil {
		host = h
	}
	return strings.ToLower(strings.TrimSuffix(strings.TrimPrefix(host, "["), "]"))
}

// rateHeaders are those of limitHeaders.
const rateHeaders = "X-Ratelimit-Limit-Requests, X-Ratelimit-Remaining-Requests, X-Ratelimit-Reset-Requests, " +
	"X-Ratelimit-Limit-Tokens, X-Ratelimit-Remaining-Tokens, X-Ratelimit-Reset-Tokens, " +
	"X-Ratelimit-Limit-Usd, X-Ratelimit-Remaining-Usd, X-Ratelimit-Reset-Usd, X-Ratelimit-Limit-Runs, X-Ratelimit-Remaining-Runs"

// The headers that pages of other origins may read.
const exposed = "X-Request-Id, X-Conversation-Id, Retry-After, " + rateHeaders + ", Www-Authenticate, Mcp-Session-Id, X-Resumable-Stream-Id, X-Vercel-Ai-Ui-Message-Stream"

// crossOrigin adds what pages of allowed origins need, and answers preflights. It
// reports whether the request is done with.
func (s *Server) crossOrigin(w http.ResponseWriter, r *http.Request) (done bool) {
	if len(s.origins) == 0 {
		return false
	}
	h := w.Header()
	h.Add("Vary", "Origin")
	origin := r.Header.Get("Origin")
	if origin == "" || !s.origins[origin] && !s.origins["*"] {
		return false
	}
	h.Set("Access-Control-Allow-Origin", origin)
	h.Set("Access-Control-Expose-Headers", exposed)
	if r.Method != http.MethodOptions || r.Header.Get("Access-Control-Request-Method") == "" {
		return false
	}
	h.Add("Vary", "Access-Control-Request-Headers")
	h.Set("Access-Control-Allow-Methods", "GET, HEAD, POST, PUT, PATCH, DELETE")
	h.Set("Access-Control-Max-Age", "600")
	// The OpenAI client brings a dozen headers of its own, so what is asked for is
	// allowed: the origin is trusted already.
	if asked := r.Header.Get("Access-Control-Request-Headers"); asked != "" {
		h.Set("Access-Control-Allow-Headers", asked)
	}
	scopeOf(r.Context()).route = "preflight"
	w.WriteHeader(http.StatusNoContent)
	return true
}

// Body reads the whole JSON body of a request, within the server's limits.
// Nothing is decoded.
func (s *Server) Body(w http.ResponseWriter, r *http.Request) ([]byte, error) {
	return s.body(w, r, s.opts.BodyLimit)
}

// body is Body with a limit of its own, in bytes.
func (s *Server) body(w http.ResponseWriter, r *http.Request, limit int64) ([]byte, error) {
	media, _, err := mime.ParseMediaType(r.Header.Get("Content-Type"))
	if err != nil || media != "application/json" {
		return nil, footnote.Errorf(footnote.InvalidRequest, "The Content-Type must be application/json.")
	}
	if enc := r.Header.Get("Content-Encoding"); enc != "" && enc != "identity" {
		return nil, footnote.Errorf(footnote.InvalidRequest, "Compressed bodies are not accepted.")
	}
	tooLarge := footnote.Errorf(footnote.TooLarge, "The body may have at most %d bytes.", limit)
	if r.ContentLength > limit {
		return nil, tooLarge
	}
	rc := http.NewResponseController(w)
	if err := rc.SetReadDeadline(time.Now().Add(s.opts.BodyTimeout)); err != nil && !errors.Is(err, http.ErrNotSupported) {
		return nil, fmt.Errorf("limit the time of the body: %w", err)
	}
	body, err := readAll(http.MaxBytesReader(w, r.Body, limit), r.ContentLength)
	if _, ok := errors.AsType[*http.MaxBytesError](err); ok {
		return nil, tooLarge
	}
	if errors.Is(err, os.ErrDeadlineExceeded) {
		return nil, footnote.Errorf(footnote.InvalidRequest, "The body did not arrive within %s.", s.opts.BodyTimeout)
	}
	if err != nil {
		return nil, &footnote.Error{Code: footnote.InvalidRequest, Message: "The body is incomplete.", Err: err}
	}
	if err := rc.SetReadDeadline(time.Time{}); err != nil && !errors.Is(err, http.ErrNotSupported) {
		return nil, fmt.Errorf("lift the time limit of the body: %w", err)
	}
	return body, nil
}

// readAll reads to the end, into a buffer of the announced size.
func readAll(r io.Reader, size int64) ([]byte, error) {
	if size < 0 {
		return io.ReadAll(r)
	}
	body := make([]byte, size)
	n, err := io.ReadFull(r, body)
	return body[:n], err
}
