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
	"unicode/utf8"

	"github.com/footnotehq/footnote"
	"github.com/footnotehq/footnote/httpapi/session"
	"github.com/footnotehq/footnote/internal/strictjson"
)

// keyring maps API keys to principals. It stores digests keyed with a per-process secret, so lookup time
// reveals nothing about the keys.
type keyring struct {
	secret   [32]byte
	byHash   map[[sha256.Size]byte]footnote.Principal
	bySignIn map[session.Digest]footnote.Principal // keys by their session digest
}

func (k *keyring) digest(key string) (d [sha256.Size]byte) {
	mac := hmac.New(sha256.New, k.secret[:])
	mac.Write([]byte(key))
	mac.Sum(d[:0])
	return d
}

// admit loads the configured keys, hosts and origins.
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
			return fmt.Errorf("httpapi: the principal of an API key is invalid: %w", err)
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

// allow lets pages from an origin call the server.
func (s *Server) allow(origin string) error {
	if origin == "*" {
		if !s.opts.NeedsKey {
			return errors.New(`httpapi: the origin "*" needs API keys; without them every web page could ask in your ` +
				`name`)
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

// identify sets the principal of the request. The principal comes only from the API key, or from the session
// that was started with one.
func (s *Server) identify(r *http.Request) error {
	sc := scopeOf(r.Context())
	if p, ok := r.Context().Value(callerKey{}).(footnote.Principal); ok {
		sc.principal = p
		return nil
	}
	if !s.opts.NeedsKey {
		if !local(r) {
			return footnote.Errorf(footnote.Unauthorized,
				"This server has no API keys, so it only serves callers on its own machine.")
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
	g, err := s.credential(r.Context(), strings.TrimSpace(key))
	if err != nil {
		return err
	}
	if g.consent != "" && sc.route != s.opts.Consents.Path() {
		return footnote.Errorf(footnote.Unauthorized, "This access token is for %s only.", s.opts.Consents.Path())
	}
	sc.principal, sc.keyID, sc.withKey, sc.signIn, sc.consent = g.principal, g.keyID, true, g.signIn, g.consent
	return nil
}

type callerKey struct{}

// WithCaller makes p the caller of a request that this process makes to its own server, without a network. The context
// of a request from a network never has a caller, so only this process can choose one.
func WithCaller(ctx context.Context, p footnote.Principal) context.Context {
	return context.WithValue(ctx, callerKey{}, p)
}

// onceOnly lists the headers that a request may carry only once: they decide the caller, the origin or the
// response. With two values, a proxy in front of this server might act on the other one. Headers that are
// lists by design (Accept, Cookie, those that proxies add) are not included.
var onceOnly = []string{
	"Access-Control-Request-Method", "Authorization", "Content-Encoding", "Content-Type", "Last-Event-Id", "Origin",
	"Sec-Fetch-Site", "Traceparent", "X-Conversation-Id", "X-Footnote-Dialect", "X-Request-Id",
}

// single rejects a request that repeats one of the onceOnly headers.
func single(r *http.Request) error {
	for _, name := range onceOnly {
		if len(r.Header[name]) > 1 {
			return footnote.Invalidf("The request has %d %s headers; send only one.", len(r.Header[name]), name)
		}
	}
	if values := r.CookiesNamed(cookieName); len(values) > 1 {
		for _, c := range values[1:] {
			if c.Value != values[0].Value {
				return footnote.Invalidf(
					"The request has two cookies named %s. Delete the cookies of this site and sign in again.",
					cookieName)
			}
		}
	}
	return nil
}

// closing reports whether the connection must close after this request. RFC 9112 (6.1 and 6.3) requires this
// for a chunked body that also has a Content-Length, and for a chunked body in HTTP/1.0: the bytes after it
// may be a request that a proxy in front of this server took for part of the body. net/http removes the
// evidence before a handler sees the request, so the connection closes after every chunked body and every
// HTTP/1.0 request.
func closing(r *http.Request) bool { return len(r.TransferEncoding) > 0 || !r.ProtoAtLeast(1, 1) }

// grant holds the principal that a credential identifies.
type grant struct {
	principal footnote.Principal
	keyID     string         // for stored keys only
	once      bool           // cannot start a session
	signIn    session.Digest // digest of the key, as sessions store it
	consent   string         // of the person to a program, whose token it is; empty: it is no such token
}

// credential returns the grant for text that a client sent as a key.
func (s *Server) credential(ctx context.Context, text string) (grant, error) {
	if p, ok := s.keys.byHash[s.keys.digest(text)]; ok {
		return grant{principal: p, signIn: s.opts.Sessions.DigestOf(text)}, nil
	}
	if s.opts.Consents != nil && s.opts.Consents.HasFormat(text) {
		return s.consented(ctx, text)
	}
	if s.opts.StoredKeys != nil && s.opts.StoredKeys.HasFormat(text) {
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
	if s.opts.Tokens != nil && s.opts.Tokens.HasFormat(text) {
		p, err := s.opts.Tokens.Check(ctx, text)
		return grant{principal: p, once: true}, err
	}
	return grant{}, footnote.Errorf(footnote.Unauthorized, "Unknown API key.")
}

// signedInBy returns the grant for a session digest.
func (s *Server) signedInBy(ctx context.Context, d session.Digest) (grant, error) {
	if p, ok := s.keys.bySignIn[d]; ok {
		return grant{principal: p}, nil
	}
	if s.opts.StoredKeys == nil {
		return grant{}, footnote.Errorf(footnote.Unauthorized, "The key of this session was removed.")
	}
	p, err := s.opts.StoredKeys.PrincipalOf(ctx, string(d[:]))
	return grant{principal: p, keyID: string(d[:])}, err
}

// passedOn lists the headers, besides X-Forwarded-…, that show a proxy forwarded the request.
var passedOn = []string{"Forwarded", "Via", "X-Real-Ip", "X-Client-Ip", "True-Client-Ip", "Cf-Connecting-Ip"}

// local reports whether a request comes from this machine. A request that a proxy forwarded does not,
// whatever its remote address.
func local(r *http.Request) bool {
	for name := range r.Header {
		if strings.HasPrefix(name, "X-Forwarded-") || slices.Contains(passedOn, name) {
			return false
		}
	}
	ap, err := netip.ParseAddrPort(r.RemoteAddr)
	return err == nil && ap.Addr().Unmap().IsLoopback()
}

// hostname returns the Host header without port and brackets.
func hostname(host string) string {
	if h, _, err := net.SplitHostPort(host); err == nil {
		host = h
	}
	return strings.ToLower(strings.TrimSuffix(strings.TrimPrefix(host, "["), "]"))
}

// rateHeaders are the headers that limitHeaders sets.
const rateHeaders = "X-Ratelimit-Limit-Requests, X-Ratelimit-Remaining-Requests, X-Ratelimit-Reset-Requests, " +
	"X-Ratelimit-Limit-Tokens, X-Ratelimit-Remaining-Tokens, X-Ratelimit-Reset-Tokens, " +
	"X-Ratelimit-Limit-Usd, X-Ratelimit-Remaining-Usd, X-Ratelimit-Reset-Usd, X-Ratelimit-Limit-Runs, " +
	"X-Ratelimit-Remaining-Runs"

// exposed lists the response headers that pages from other origins may read.
const exposed = "X-Request-Id, X-Conversation-Id, X-Neutralized-Formulas, Retry-After, " + rateHeaders +
	", Www-Authenticate, Mcp-Session-Id, X-Resumable-Stream-Id, X-Vercel-Ai-Ui-Message-Stream"

// crossOrigin adds the CORS headers for allowed origins and answers preflights. It reports whether the
// request has been answered.
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
	// The OpenAI client sends a dozen headers of its own, so allow whatever the preflight asks for: the
	// origin is trusted already.
	if asked := r.Header.Get("Access-Control-Request-Headers"); asked != "" {
		h.Set("Access-Control-Allow-Headers", asked)
	}
	scopeOf(r.Context()).route = "preflight"
	w.WriteHeader(http.StatusNoContent)
	return true
}

// Body reads the whole body of a request, within scale times the server's limit. It does not decode it. The media type
// must be one of those listed; without a list, JSON.
func (s *Server) Body(w http.ResponseWriter, r *http.Request, scale int64, media ...string) ([]byte, error) {
	return s.body(w, r, scale*s.opts.BodyLimit, media...)
}

// Read decodes the JSON body of a request, within scale times the server's limit. It rejects unknown keys.
func (s *Server) Read(w http.ResponseWriter, r *http.Request, scale int64, into any) error {
	body, err := s.Body(w, r, scale)
	if err != nil {
		return err
	}
	return strictjson.Closed(body, into)
}

// body is Body with a limit in bytes.
func (s *Server) body(w http.ResponseWriter, r *http.Request, limit int64, media ...string) ([]byte, error) {
	text, err := accepts(r, media)
	if err != nil {
		return nil, err
	}
	if enc := r.Header.Get("Content-Encoding"); enc != "" && enc != "identity" {
		return nil, footnote.Invalidf("Compressed bodies are not accepted.")
	}
	tooLarge := footnote.Errorf(footnote.TooLarge, "The body may have at most %d bytes.", limit)
	if r.ContentLength > limit {
		return nil, tooLarge
	}
	rc := http.NewResponseController(w)
	slow := &paced{ReadCloser: r.Body, rc: rc, window: s.opts.BodyTimeout}
	body, err := readAll(http.MaxBytesReader(w, slow, limit), r.ContentLength)
	if _, ok := errors.AsType[*http.MaxBytesError](err); ok {
		return nil, tooLarge
	}
	if errors.Is(err, os.ErrDeadlineExceeded) {
		return nil, footnote.Invalidf(
			"The body did not arrive in time: each %d KB of it must come within %s.", paceBytes>>10, s.opts.BodyTimeout)
	}
	if err != nil {
		return nil, footnote.Wrapf(footnote.InvalidRequest, err, "The body is incomplete.")
	}
	if err := rc.SetReadDeadline(time.Time{}); err != nil && !errors.Is(err, http.ErrNotSupported) {
		return nil, fmt.Errorf("lift the time limit of the body: %w", err)
	}
	if text && !utf8.Valid(body) {
		return nil, footnote.Invalidf("The body is not UTF-8.")
	}
	if received := scopeOf(r.Context()).received; received != nil {
		return body, received()
	}
	return body, nil
}

// accepts checks that the body of a request has one of the media types; none means JSON. It reports whether the body is
// plain or marked-up text, which must be UTF-8.
func accepts(r *http.Request, media []string) (text bool, err error) {
	if len(media) == 0 {
		media = []string{"application/json"}
	}
	sent, parameters, err := mime.ParseMediaType(r.Header.Get("Content-Type"))
	if err != nil || !slices.Contains(media, sent) {
		return false, footnote.Invalidf("The Content-Type must be %s.", strings.Join(media, " or "))
	}
	text = strings.HasPrefix(sent, "text/")
	if charset := parameters["charset"]; text && charset != "" && !strings.EqualFold(charset, "utf-8") {
		return false, footnote.Invalidf("The charset of the body must be UTF-8.")
	}
	return text, nil
}

// readAll reads r to the end into a buffer of the announced size.
func readAll(r io.Reader, size int64) ([]byte, error) {
	if size < 0 {
		return io.ReadAll(r)
	}
	body := make([]byte, size)
	n, err := io.ReadFull(r, body)
	return body[:n], err
}
