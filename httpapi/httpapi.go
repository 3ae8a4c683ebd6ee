// Package httpapi is the HTTP layer: routes, API keys, limits, the error table, and the pump that turns the events of a
// run into a response. It mounts the protocols of Options.Protocols, and serves the endpoints of the app.
//
// A handler returns its error. One wrapper writes it in the envelope of the route and logs the request once.
package httpapi

import (
	"cmp"
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"iter"
	"log/slog"
	"maps"
	"net/http"
	"net/url"
	"path"
	"regexp"
	"runtime/debug"
	"slices"
	"strings"
	"sync/atomic"
	"time"

	"golang.org/x/time/rate"

	"github.com/footnotehq/footnote"
	"github.com/footnotehq/footnote/agent"
	"github.com/footnotehq/footnote/httpapi/consent"
	"github.com/footnotehq/footnote/httpapi/session"
	"github.com/footnotehq/footnote/hub"
	"github.com/footnotehq/footnote/protocol"
)

// Engine is the part of agent.Engine that the server needs.
type Engine interface {
	Submit(ctx context.Context, t agent.Turn) (agent.Ticket, error)
	Subscribe(t agent.Ticket) *hub.Reader
	Stop(ctx context.Context, conversation, by string) error
	Append(ctx context.Context, p footnote.Principal, conversation string, body footnote.Body,
		rows *footnote.Result) (int64, footnote.Body, error)
	Record(ctx context.Context, p footnote.Principal, clientID string, run footnote.QueryRun,
		rows *footnote.Result) (conversation string, stored footnote.QueryRun, err error)
	Complete(ctx context.Context, p footnote.Principal, prompt string) (string, footnote.Spent, error)
	Assistants(p footnote.Principal) []agent.AssistantInfo
}

// Log is the part of a store that the endpoints need.
type Log interface {
	Get(ctx context.Context, id string) (footnote.Stream, error)
	List(ctx context.Context, p footnote.Page) (heads []footnote.Stream, next string, err error)
	Find(ctx context.Context, org, user, kind, clientID string) (footnote.Stream, error)
	Events(ctx context.Context, stream string, after int64) iter.Seq2[footnote.Event, error]
	Blob(ctx context.Context, stream string, d footnote.Digest) ([]byte, error)
	Delete(ctx context.Context, id string) error
}

// Metrics records what happens at the HTTP layer. Runs report themselves.
type Metrics interface {
	RequestEnded(route, method string, status int, d time.Duration)
	RequestFailed(route string, code footnote.Code)
	// Answered records how long a non-streamed answer took.
	Answered(route string, d time.Duration)
	StreamOpened(protocol string)
	StreamClosed(protocol string)
}

type noMetrics struct{}

func (noMetrics) RequestEnded(string, string, int, time.Duration) {}
func (noMetrics) RequestFailed(string, footnote.Code)             {}
func (noMetrics) Answered(string, time.Duration)                  {}
func (noMetrics) StreamOpened(string)                             {}
func (noMetrics) StreamClosed(string)                             {}

// Options configure a Server. Engine, Log and Hub are required; other zero fields take the defaults.
type Options struct {
	Engine Engine
	Log    Log
	Hub    *hub.Hub
	// Protocols are mounted besides the endpoints of the app.
	Protocols []protocol.Protocol
	// Data holds the sources that users may browse; nil: the endpoints do not exist.
	Data Data
	// Usage reports what users have used; nil: the endpoints do not exist.
	Usage Usage
	// Inbox lists answers for administrators to look at; nil: the endpoint does not exist.
	Inbox Inbox
	// Proposals keeps suggested verified queries; nil: the endpoints do not exist. It needs Inbox.
	Proposals Proposals
	// Tests runs tests of answers; nil: the endpoints do not exist.
	Tests Tests
	// Generator writes SQL statements; nil: the endpoint does not exist.
	Generator Generator
	// Queried, if not nil, is called for each statement of a user that is not in the log, because it failed or named no
	// conversation.
	Queried func(ctx context.Context, q OwnQuery)
	// Ledger reports what is left of each limit; nil: no limits.
	Ledger Ledger
	// Workspaces holds the files of conversations; nil: none.
	Workspaces Workspaces
	// Sessions keeps users signed in; nil: until the process ends.
	Sessions Sessions
	About    About
	// Charts reports whether there is market data, each time a page asks; nil: there is none.
	Charts func(context.Context) bool

	// Notices returns what administrators should know, such as that a setting is faulty; nil: nothing.
	Notices func() []string

	// NoPage reports, for patterns of the web app, whether the address names something that does not exist.
	NoPage map[string]func(*http.Request) bool

	// Access decides what each principal may use; nil: everything. The engine must use the same one.
	Access agent.Access

	// Keys maps the configured API keys to principals.
	Keys map[string]footnote.Principal
	// StoredKeys checks keys that can be revoked while the server runs; nil: none.
	StoredKeys StoredKeys
	// Consents lets people allow programs to act for them; nil: the endpoints do not exist.
	Consents *consent.Issuer
	// Tokens checks signed tokens; nil: no token is accepted.
	Tokens Tokens
	// NeedsKey rejects callers without a key even when there are no Keys. If it is false and there are no
	// Keys, callers on the loopback interface are the local principal and all others are rejected.
	NeedsKey bool
	// Recheck is how often a long-running request, such as a stream, checks that its stored key is still
	// valid; default 2 s.
	Recheck time.Duration
	// Hosts are the names under which clients reach the server, besides those of the loopback interface. They
	// matter without keys: a web page whose name resolves to 127.0.0.1 (DNS rebinding) must not act for the
	// user.
	Hosts []string
	// AllowOrigins are the web origins that may call from a browser; empty: only the server's own. "*"
	// requires keys.
	AllowOrigins  []string
	InputMaxChars int           // of a question to the generator; default 10,000
	BodyLimit     int64         // bytes; default 1 MB
	BodyTimeout   time.Duration // to receive each 64 KB of a body; default 30 s
	AnswerTimeout time.Duration // of a non-streamed answer; default 300 s
	StreamTimeout time.Duration // of a stream; default 10 min
	Hold          time.Duration // how long a stream delays its headers for the first word; default 5 s
	// StoredOnDisconnect selects whether a run continues when its client leaves, for protocols that can show a stored
	// conversation again; default agent.Continue.
	StoredOnDisconnect string

	// Watch delivers events that other processes append to a conversation to its readers in this process, until leave
	// is called. Readers subscribe first and then read last, the newest event at that time. Nil: no other process
	// shares the log.
	Watch func(conversation string, last int64) (leave func())

	// Streams limits the answers and event streams that this process keeps open at once; default 2,000.
	// StreamsPerUser limits those of one user; default a quarter of Streams.
	Streams, StreamsPerUser int
	// Connections limits the connections that HTTPServer keeps; default twice Streams.
	Connections int

	Ready   func(context.Context) error // nil: always ready
	Scrape  http.Handler                // serves /metrics; nil: none
	Logger  *slog.Logger
	Metrics Metrics
	Now     func() time.Time
}

// Server serves the HTTP API. It is safe for concurrent use once it serves.
type Server struct {
	opts           Options
	mux            *http.ServeMux
	keys           keyring
	hosts, origins map[string]bool
	foreign        *http.CrossOriginProtection
	patterns       map[string][]string // methods by pattern
	openings       openings
	mounted        []protocol.Routes
	challenges     map[string]func(*http.Request) string // by pattern; see protocol.Routes
	notFoundPage   http.Handler                          // nil: without the web app
	tally          tally
	conns          connections
	strangers      *rate.Limiter // of requests without a key that read or write the store
	views          views
	exports        exports
	draining       atomic.Bool
}

// New checks the options and returns a server.
func New(o Options) (*Server, error) {
	if o.Engine == nil || o.Log == nil || o.Hub == nil {
		return nil, errors.New("httpapi: Engine, Log and Hub are required")
	}
	o = o.withDefaults()
	s := &Server{
		opts: o, mux: http.NewServeMux(), hosts: map[string]bool{}, origins: map[string]bool{},
		foreign: http.NewCrossOriginProtection(), patterns: map[string][]string{},
		openings: openings{of: map[string]footnote.Opened{}}, challenges: map[string]func(*http.Request) string{},
	}
	s.strangers = rate.NewLimiter(anonymous, anonymousTop)
	s.tally.perUser, s.tally.total, s.conns.max = o.StreamsPerUser, o.Streams, o.Connections
	if err := s.admit(); err != nil {
		return nil, err
	}
	s.routes()
	return s, nil
}

func (o Options) withDefaults() Options {
	o.BodyTimeout = cmp.Or(max(o.BodyTimeout, 0), 30*time.Second)
	o.AnswerTimeout = cmp.Or(max(o.AnswerTimeout, 0), 300*time.Second)
	o.StreamTimeout = cmp.Or(max(o.StreamTimeout, 0), 10*time.Minute)
	o.Hold = cmp.Or(max(o.Hold, 0), 5*time.Second)
	o.Recheck = cmp.Or(max(o.Recheck, 0), 2*time.Second)
	o.InputMaxChars = cmp.Or(max(o.InputMaxChars, 0), 10_000)
	o.BodyLimit = cmp.Or(max(o.BodyLimit, 0), 1<<20)
	o.Streams = cmp.Or(max(o.Streams, 0), 2000)
	o.StreamsPerUser = cmp.Or(max(o.StreamsPerUser, 0), max(o.Streams/4, 1))
	o.Connections = cmp.Or(max(o.Connections, 0), 2*o.Streams)
	o.NeedsKey = o.NeedsKey || len(o.Keys) > 0 || o.Tokens != nil
	o.StoredOnDisconnect = cmp.Or(o.StoredOnDisconnect, agent.Continue)
	o.Logger = cmp.Or(o.Logger, slog.New(slog.DiscardHandler))
	o.Metrics = cmp.Or(o.Metrics, Metrics(noMetrics{}))
	if o.Ready == nil {
		o.Ready = func(context.Context) error { return nil }
	}
	if o.Now == nil {
		o.Now = time.Now
	}
	return o
}

// Methods maps HTTP methods to the handlers of a route.
type Methods map[string]Handler

// Handler serves a request or returns an error. If it returns an error after the response has begun, the
// server aborts the connection.
type Handler = protocol.Handler

func (s *Server) routes() {
	s.open("/healthz", protocol.Native, get(s.health))
	s.open("/readyz", protocol.Native, get(s.ready))
	if s.opts.Scrape != nil {
		s.Handle("/metrics", protocol.Native, get(func(w http.ResponseWriter, r *http.Request) error {
			s.opts.Scrape.ServeHTTP(w, r)
			return nil
		}))
	}
	for _, p := range s.opts.Protocols {
		s.mount(p)
	}
	s.generateRoutes()
	s.sessionRoutes()
	s.consentRoutes()
	s.conversationRoutes()
	s.assistantRoutes()
	s.workspaceRoutes()
	s.sourceRoutes()
	s.resultRoutes()
	s.usageRoutes()
	s.inboxRoutes()
	s.testRoutes()
	s.descriptionRoutes()
}

// get returns the methods of a read-only route.
func get(h Handler) Methods { return Methods{http.MethodGet: h, http.MethodHead: h} }

// Handle adds a route for callers with a key. Call it before the server starts. The pattern must not contain
// a method. It panics if a pattern is added twice.
func (s *Server) Handle(pattern string, env protocol.Envelope, m Methods) {
	identified := Methods{}
	for method, h := range m {
		identified[method] = s.identified(s.counted(h))
	}
	s.open(pattern, env, identified)
}

// identified wraps the handler of a route for callers with a key.
func (s *Server) identified(h Handler) Handler {
	return func(w http.ResponseWriter, r *http.Request) error {
		if err := s.identify(r); err != nil {
			return err
		}
		s.conns.belongs(connOf(r.Context()), PrincipalOf(r.Context()))
		if s.opts.Ledger != nil {
			if err := s.opts.Ledger.Request(r.Context(), PrincipalOf(r.Context())); err != nil {
				return err
			}
		}
		r, release := s.guarded(r)
		defer release()
		err := h(w, r)
		if gone := revocation(r.Context()); err != nil && gone != nil {
			return gone
		}
		return err
	}
}

// Mount adds a handler that needs no key, such as the pages of the web interface. The handler writes its own
// errors.
func (s *Server) Mount(pattern string, h http.Handler) {
	s.mux.HandleFunc(pattern, func(w http.ResponseWriter, r *http.Request) {
		scopeOf(r.Context()).route = pattern
		h.ServeHTTP(w, r)
	})
}

// open adds a route that needs no key.
func (s *Server) open(pattern string, env protocol.Envelope, m Methods) {
	methods := slices.Sorted(maps.Keys(m))
	allow := strings.Join(methods, ", ")
	s.patterns[pattern] = methods
	s.mux.HandleFunc(pattern, func(w http.ResponseWriter, r *http.Request) {
		sc := scopeOf(r.Context())
		sc.route, sc.envelope = pattern, env
		h, ok := m[r.Method]
		if !ok {
			w.Header().Set("Allow", allow)
			sc.status = http.StatusMethodNotAllowed
			s.fail(w, r, footnote.Invalidf("This address takes %s.", allow))
			return
		}
		if err := h(w, r); err != nil {
			s.fail(w, r, err)
		}
	})
}

// ServeHTTP serves one request and logs it.
func (s *Server) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	sc := &scope{id: requestID(r), route: "none", envelope: s.envelopeOf(r.URL.Path), begun: s.opts.Now()}
	r, body := s.receive(r)
	rec := &recorder{ResponseWriter: w, body: body, closes: r.Method == http.MethodGet || r.Method == http.MethodHead}
	r = r.WithContext(footnote.WithOrigin(context.WithValue(r.Context(), scopeKey{}, sc), footnote.Origin{
		Request: sc.id,
		Trace:   r.Header.Get("Traceparent"),
	}))
	defer s.endUnread(rec, r) // last, after the handler has released everything
	defer s.logged(rec, r, sc)
	defer s.recovered(rec, r)

	h := rec.Header()
	h.Set("X-Request-Id", sc.id)
	h.Set("X-Content-Type-Options", "nosniff")
	if closing(r) {
		h.Set("Connection", "close")
	}
	if err := s.gate(rec, r); err != nil {
		s.fail(rec, r, err)
		return
	}
	if s.crossOrigin(rec, r) {
		return // it was a preflight
	}
	if _, pattern := s.mux.Handler(r); pattern == "" {
		sc.unknown = true
		if s.notFoundPage != nil && s.opensPage(r) {
			s.notFoundPage.ServeHTTP(rec, r)
			return
		}
		s.fail(rec, r, footnote.Errorf(footnote.NotFound, "There is nothing at this address."))
		return
	}
	s.mux.ServeHTTP(rec, r)
}

// gate rejects requests that must not reach any handler.
func (s *Server) gate(w http.ResponseWriter, r *http.Request) error {
	if p := r.URL.Path; !cleanPath(p) && !s.clientID(r.URL) {
		scopeOf(r.Context()).unknown = true
		return footnote.Errorf(footnote.NotFound, "There is nothing at this address.")
	}
	if err := single(r); err != nil {
		return err
	}
	if s.opts.NeedsKey {
		return nil
	}
	if !s.hosts[hostname(r.Host)] {
		return footnote.Errorf(footnote.Forbidden, "This server does not serve the name in the Host header.")
	}
	return s.ownSite(r)
}

// ownSite refuses a request that a page of another web site makes.
func (s *Server) ownSite(r *http.Request) error {
	if err := s.foreign.Check(r); err != nil {
		return footnote.Wrapf(footnote.Forbidden, err, "Requests from other web sites are not accepted.")
	}
	return nil
}

// cleanPath reports whether a decoded path can belong to a route: absolute, without dots, double slashes,
// backslashes or control characters.
func cleanPath(p string) bool {
	if p == "" || p[0] != '/' ||
		strings.ContainsFunc(p, func(r rune) bool { return r < ' ' || r == 0x7f || r == '\\' || r == 0xfffd }) {
		return false
	}
	clean := path.Clean(p)
	return p == clean || p == clean+"/"
}

// clientID reports whether a URL ends in a client's own id, which may look like a path.
func (s *Server) clientID(u *url.URL) bool {
	p := u.EscapedPath()
	return cleanPath(p) && slices.ContainsFunc(s.mounted, func(m protocol.Routes) bool {
		return m.ClientIDs != "" && strings.HasPrefix(p, m.ClientIDs)
	})
}

// recovered turns a panic into a 500, or aborts the connection if the response has begun.
func (s *Server) recovered(rec *recorder, r *http.Request) {
	p := recover()
	if p == nil {
		return
	}
	sc := scopeOf(r.Context())
	if p == http.ErrAbortHandler { //nolint:errorlint // net/http compares it so too
		sc.aborted = true
		return
	}
	sc.aborted = rec.status != 0
	s.fail(rec, r, protocol.NotRetryable(fmt.Errorf("handler panicked: %v\n%s", p, debug.Stack())))
}

// logged writes the log line of a request. It runs last, and tells net/http if the response must be aborted.
func (s *Server) logged(rec *recorder, r *http.Request, sc *scope) {
	took := s.opts.Now().Sub(sc.begun)
	s.opts.Metrics.RequestEnded(sc.route, r.Method, rec.code(), took)
	if sc.err != nil {
		s.opts.Metrics.RequestFailed(sc.route, footnote.CodeOf(sc.err))
	}
	if !strings.HasPrefix(rec.Header().Get("Content-Type"), "text/event-stream") {
		s.opts.Metrics.Answered(sc.route, took)
	}
	level := slog.LevelInfo
	switch {
	case sc.err != nil && footnote.CodeOf(sc.err) == footnote.Internal:
		level = slog.LevelError
	case rec.code() >= 500 || sc.outcome == "failed":
		level = slog.LevelWarn
	}
	attrs := []slog.Attr{
		slog.String("request", sc.id), slog.String("method", r.Method), slog.String("route", sc.route),
		slog.Int("status", rec.code()), slog.Int64("bytes", rec.bytes),
		slog.Float64("took_ms", float64(took.Microseconds())/1000),
		slog.String("remote", r.RemoteAddr),
	}
	if sc.principal.User != "" {
		attrs = append(attrs, slog.String("org", sc.principal.Org), slog.String("user", sc.principal.User))
	}
	if sc.outcome != "" {
		attrs = append(attrs, slog.String("outcome", sc.outcome))
	}
	if sc.err != nil {
		attrs = append(attrs, slog.String("code", string(footnote.CodeOf(sc.err))), slog.Any("err", sc.err))
	}
	s.opts.Logger.LogAttrs(r.Context(), level, "request", attrs...)
	if sc.aborted {
		panic(http.ErrAbortHandler)
	}
}

// HTTPServer returns an http.Server with the limits that this server needs. It has no write timeout, which
// would cut streams short; every write has its own deadline.
func (s *Server) HTTPServer(addr string) *http.Server {
	return &http.Server{
		Addr:              addr,
		Handler:           s,
		ReadHeaderTimeout: 10 * time.Second,
		IdleTimeout:       120 * time.Second,
		MaxHeaderBytes:    64 << 10,
		ConnState:         s.conns.changed,
		ConnContext:       withConn,
		ErrorLog:          slog.NewLogLogger(s.opts.Logger.Handler(), slog.LevelWarn),
	}
}

// Drain makes the server report that it is not ready, so that it receives no new requests. It still serves those that
// arrive.
func (s *Server) Drain() { s.draining.Store(true) }

func (s *Server) health(w http.ResponseWriter, _ *http.Request) error {
	return protocol.WriteJSON(w, http.StatusOK, []byte(`{"status":"ok"}`))
}

func (s *Server) ready(w http.ResponseWriter, r *http.Request) error {
	if s.draining.Load() {
		return footnote.Errorf(footnote.ModelUnavailable, "The server is shutting down.")
	}
	ctx, cancel := context.WithTimeout(r.Context(), 5*time.Second)
	defer cancel()
	if err := s.opts.Ready(ctx); err != nil {
		message := "The server is not ready."
		if footnote.CodeOf(err) == footnote.StorageUnavailable {
			message += " " + footnote.MessageOf(err)
		}
		return footnote.Wrapf(footnote.StorageUnavailable, err, "%s", message)
	}
	return protocol.WriteJSON(w, http.StatusOK, []byte(`{"status":"ready"}`))
}

// scope holds the facts about a request while it is served.
type scope struct {
	id, route string
	envelope  protocol.Envelope
	principal footnote.Principal
	withKey   bool           // the caller sent an API key
	keyID     string         // id of the stored key, sent or behind a session
	signIn    session.Digest // of the key, sent or behind a session; zero: none, or a key that cannot start a session
	consent   string         // of the person to the program that calls; empty: the person calls
	begun     time.Time
	status    int    // overrides the status of the error's code
	unknown   bool   // no route matches
	outcome   string // how a stream ended
	err       error  // for the log
	aborted   bool   // the connection must be aborted
	// received is called when the body has been read, before any work is done; nil: nothing to do.
	received func() error
}

type scopeKey struct{}

func scopeOf(ctx context.Context) *scope {
	sc, _ := ctx.Value(scopeKey{}).(*scope)
	if sc == nil {
		return &scope{envelope: protocol.Native} // the handler was called without the server
	}
	return sc
}

// PrincipalOf returns the principal of a request to a handler that was added with Handle.
func PrincipalOf(ctx context.Context) footnote.Principal { return scopeOf(ctx).principal }

// RequestIDOf returns the id of the request, as the client and the log know it.
func RequestIDOf(ctx context.Context) string { return scopeOf(ctx).id }

// requestID returns the caller's request id if it is valid, and a new one otherwise.
func requestID(r *http.Request) string {
	if id := r.Header.Get("X-Request-Id"); validID(id) {
		return id
	}
	return "req_" + rand.Text()
}

// validID reports whether id consists of 1 to 64 letters, digits, - _ and . only.
var validID = regexp.MustCompile(`^[a-zA-Z0-9._-]{1,64}$`).MatchString

// recorder records what was sent. It supports http.ResponseController through Unwrap.
type recorder struct {
	http.ResponseWriter
	body   *incoming // the request's; nil: none
	closes bool      // an unread body ends the connection, whatever the status
	status int
	bytes  int64
	timed  bool // the handler sets its own write deadlines
}

func (r *recorder) Unwrap() http.ResponseWriter { return r.ResponseWriter }

// WriteHeader sends the status. The connection closes if that refuses a request whose body has not arrived; otherwise
// net/http reads the rest of the body now, before the response.
func (r *recorder) WriteHeader(status int) {
	if r.status == 0 && status >= 200 {
		r.status = status
		switch {
		case !r.body.unread():
		case r.closes || status >= 400:
			r.Header().Set("Connection", "close")
		default:
			// This fails only in test recorders.
			_ = http.NewResponseController(r.ResponseWriter).SetReadDeadline(time.Now().Add(restTime))
		}
	}
	r.ResponseWriter.WriteHeader(status)
}

// SetWriteDeadline implements the method that http.ResponseController looks for.
func (r *recorder) SetWriteDeadline(at time.Time) error {
	r.timed = true
	return http.NewResponseController(r.ResponseWriter).SetWriteDeadline(at)
}

// Write writes at a minimum pace, unless the handler has set a deadline.
func (r *recorder) Write(b []byte) (n int, err error) {
	if r.status == 0 {
		r.WriteHeader(http.StatusOK)
	}
	for {
		piece := b[n:]
		if !r.timed {
			piece = piece[:min(len(piece), paceBytes)]
			// This fails only in test recorders.
			_ = http.NewResponseController(r.ResponseWriter).SetWriteDeadline(time.Now().Add(answerWrite))
		}
		m, err := r.ResponseWriter.Write(piece)
		n += m
		r.bytes += int64(m)
		if err != nil || n == len(b) {
			return n, err
		}
	}
}

// code returns the status for the log: 499 when the client left before it got an answer.
func (r *recorder) code() int {
	if r.status == 0 {
		return 499
	}
	return r.status
}

// envelopeOf returns the envelope for paths without a route.
func (s *Server) envelopeOf(p string) protocol.Envelope {
	for _, m := range s.mounted {
		if m.Prefix != "" && strings.HasPrefix(p+"/", m.Prefix) {
			return m.Errors
		}
	}
	return protocol.Native
}
