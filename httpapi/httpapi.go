// Package httpapi is the HTTP edge: routes, keys, limits, the error table, and
// the pump that turns what happens in a run into a response. It serves the
// OpenAI-compatible door and the native event stream itself; other doors are added
// with Handle and share everything else.
//
// A handler returns its error. One wrapper writes it, in the envelope of the
// route, and logs the request once.
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
	"runtime/debug"
	"slices"
	"strings"
	"sync/atomic"
	"time"

	"github.com/footnotehq/footnote"
	"github.com/footnotehq/footnote/agent"
	"github.com/footnotehq/footnote/hub"
	"github.com/footnotehq/footnote/market"
	"github.com/footnotehq/footnote/protocol/openai"
)

// Engine is what the doors need of an agent.Engine.
type Engine interface {
	Submit(ctx context.Context, t agent.Turn) (agent.Ticket, error)
	Subscribe(t agent.Ticket) *hub.Reader
	Stop(ctx context.Context, conversation, by string) error
	Note(ctx context.Context, p footnote.Principal, conversation string, body footnote.Body, rows *footnote.Result) (int64, footnote.Body, error)
	Complete(ctx context.Context, p footnote.Principal, prompt string) (string, footnote.Usage, error)
	Assistants(p footnote.Principal) []agent.AssistantInfo
}

// Log is what the endpoints need of a store.
type Log interface {
	Get(ctx context.Context, id string) (footnote.Stream, error)
	List(ctx context.Context, p footnote.Page) (heads []footnote.Stream, next string, err error)
	Find(ctx context.Context, org, user, kind, clientID string) (footnote.Stream, error)
	Events(ctx context.Context, stream string, after int64) iter.Seq2[footnote.Event, error]
	Blob(ctx context.Context, stream string, d footnote.Digest) ([]byte, error)
	Delete(ctx context.Context, id string) error
}

// Metrics is told what happened at the edge. Runs report themselves.
type Metrics interface {
	RequestEnded(route, method string, status int, d time.Duration)
	RequestFailed(route string, code footnote.Code)
	// Answered tells how long an answer took that was not streamed.
	Answered(route string, d time.Duration)
	StreamOpened(door string)
	StreamClosed(door string)
}

type noMetrics struct{}

func (noMetrics) RequestEnded(string, string, int, time.Duration) {}
func (noMetrics) RequestFailed(string, footnote.Code)             {}
func (noMetrics) Answered(string, time.Duration)                  {}
func (noMetrics) StreamOpened(string)                             {}
func (noMetrics) StreamClosed(string)                             {}

// Options are what a Server is made of. Engine, Log and Hub are required; zero
// fields take the defaults.
type Options struct {
	Engine Engine
	Log    Log
	Hub    *hub.Hub
	// Data are the sources that people may look at; nil: there are none.
	Data Data
	// Usage is what people have used; nil: it is not known.
	Usage Usage
	// Generator writes statements; nil: there is no such address.
	Generator Generator
	// Ledger says what is left of a limit; nil: there is none.
	Ledger Ledger
	// Workspaces are the files of conversations; nil: there are none.
	Workspaces Workspaces
	// Drawings are those on charts; nil: there are no charts.
	Drawings Drawings
	// Market is what charts are drawn of; nil: there is none.
	Market market.Market
	// Sessions keeps people signed in; nil: until the process ends.
	Sessions Sessions
	About    About

	// Access says who may use what; nil: everybody everything. It is the engine's, too.
	Access agent.Access

	// Keys are the API keys of the configuration and whom they stand for.
	Keys map[string]footnote.Principal
	// StoredKeys are those that can be revoked while the server runs; nil: none.
	StoredKeys StoredKeys
	// Tokens are signed tokens; nil: none are believed.
	Tokens Tokens
	// NeedsKey refuses callers without a key also when there are no Keys. Where it is
	// not set and there are none, callers on the loopback interface are the local
	// principal and all others are refused.
	NeedsKey bool
	// Recheck is how often a request that goes on, such as a stream, asks whether its
	// stored key still stands; default 2 s.
	Recheck time.Duration
	// Hosts are names under which the server is reached, beside those of the
	// loopback interface. They matter without keys: a web page whose name was
	// pointed at 127.0.0.1 must not speak for the user.
	Hosts []string
	// AllowOrigins are the web origins that may call from a browser; empty: none
	// but the server's own. "*" needs keys.
	AllowOrigins []string
	// TrustOpenWebUI believes the X-OpenWebUI-Chat-Id header.
	TrustOpenWebUI bool

	InputMaxChars int           // of a user's message; default 10,000
	BodyLimit     int64         // bytes; default 1 MB
	BodyTimeout   time.Duration // for a body to arrive; default 30 s
	AnswerTimeout time.Duration // of an unstreamed answer; default 300 s
	StreamTimeout time.Duration // of a stream; default 10 min
	Hold          time.Duration // how long a stream's headers wait for its first word; default 5 s
	OnDisconnect  string        // what a run of the OpenAI door does when its client leaves; default agent.Cancel
	// StoredOnDisconnect is the same for the doors that show a stored conversation
	// again; default agent.Continue.
	StoredOnDisconnect string
	// OnBusy is what becomes of a message of /api/chat-v2 to a conversation that is
	// still answering: Reject, Enqueue or Interrupt; default Reject.
	OnBusy string

	// Watch shows the readers that a conversation has here what other processes do in
	// it, until leave is called. They have subscribed, and then learnt that last was its
	// newest event. Nil: no other process shares the log.
	Watch func(conversation string, last int64) (leave func())

	// Streams is how many answers and event streams this process keeps open at once;
	// default 2,000. StreamsPerUser is how many of them one user has; default a quarter.
	Streams, StreamsPerUser int
	// Connections is how many connections HTTPServer keeps; default twice Streams.
	Connections int

	Reasoning bool // the OpenAI door shows thinking

	Ready   func(context.Context) error // nil: always ready
	Scrape  http.Handler                // of /metrics; nil: none
	Logger  *slog.Logger
	Metrics Metrics
	Now     func() time.Time
}

// Server is the HTTP edge. It may be used by several goroutines once it serves.
type Server struct {
	opts      Options
	mux       *http.ServeMux
	keys      keyring
	hosts     map[string]bool
	origins   map[string]bool
	foreign   *http.CrossOriginProtection
	patterns  map[string][]string // methods by pattern
	posts     posts
	schemas   schemas
	openings  openings
	summaries summaries
	queues    queues
	tally     tally
	conns     connections
	draining  atomic.Bool
	work      turnstile
}

// New checks the options and makes a server.
func New(o Options) (*Server, error) {
	if o.Engine == nil || o.Log == nil || o.Hub == nil {
		return nil, errors.New("httpapi: Engine, Log and Hub are required")
	}
	o = o.withDefaults()
	s := &Server{
		opts: o, mux: http.NewServeMux(), hosts: map[string]bool{}, origins: map[string]bool{},
		foreign: http.NewCrossOriginProtection(), patterns: map[string][]string{}, openings: openings{of: map[string]footnote.Opened{}}, summaries: summaries{of: map[string]summarised{}},
	}
	s.tally.perUser, s.tally.total, s.conns.max = o.StreamsPerUser, o.Streams, o.Connections
	if err := s.admit(); err != nil {
		return nil, err
	}
	s.routes()
	return s, nil
}

func (o Options) withDefaults() Options {
	duration := func(d *time.Duration, v time.Duration) {
		if *d <= 0 {
			*d = v
		}
	}
	duration(&o.BodyTimeout, 30*time.Second)
	duration(&o.AnswerTimeout, 300*time.Second)
	duration(&o.StreamTimeout, 10*time.Minute)
	duration(&o.Hold, 5*time.Second)
	duration(&o.Recheck, 2*time.Second)
	if o.InputMaxChars <= 0 {
		o.InputMaxChars = 10_000
	}
	if o.BodyLimit <= 0 {
		o.BodyLimit = 1 << 20
	}
	o.Streams = cmp.Or(max(o.Streams, 0), 2000)
	o.StreamsPerUser = cmp.Or(max(o.StreamsPerUser, 0), max(o.Streams/4, 1))
	o.Connections = cmp.Or(max(o.Connections, 0), 2*o.Streams)
	o.NeedsKey = o.NeedsKey || len(o.Keys) > 0 || o.Tokens != nil
	if o.OnDisconnect == "" {
		o.OnDisconnect = agent.Cancel
	}
	if o.StoredOnDisconnect == "" {
		o.StoredOnDisconnect = agent.Continue
	}
	if o.OnBusy == "" {
		o.OnBusy = Reject
	}
	if o.Ready == nil {
		o.Ready = func(context.Context) error { return nil }
	}
	if o.Logger == nil {
		o.Logger = slog.New(slog.DiscardHandler)
	}
	if o.Metrics == nil {
		o.Metrics = noMetrics{}
	}
	if o.Now == nil {
		o.Now = time.Now
	}
	if o.Usage == nil {
		o.Usage = noUsage{}
	}
	if o.Data == nil {
		o.Data = noData{}
	}
	return o
}

// Methods are the handlers of a route by HTTP method.
type Methods map[string]Handler

// Handler serves a request, or says why not. An error that is returned after the
// response was begun breaks the connection.
type Handler func(w http.ResponseWriter, r *http.Request) error

func (s *Server) routes() {
	s.open("/healthz", Native, get(s.health))
	s.open("/readyz", Native, get(s.ready))
	if s.opts.Scrape != nil {
		s.Handle("/metrics", Native, get(func(w http.ResponseWriter, r *http.Request) error {
			s.opts.Scrape.ServeHTTP(w, r)
			return nil
		}))
	}
	s.Handle("/v1/chat/completions", openAI, Methods{http.MethodPost: s.holding(s.chatCompletions)})
	s.Handle("/v1/models", openAI, get(s.listModels))
	s.Handle("/v1/models/{id...}", openAI, get(s.getModel))
	s.browserRoutes()
	s.chatV2Routes()
	s.generateRoutes()
	s.sessionRoutes()
	s.conversationRoutes()
	s.assistantRoutes()
	s.workspaceRoutes()
	s.drawingRoutes()
	s.chartRoutes()
	s.sourceRoutes()
	s.resultRoutes()
	s.usageRoutes()
	s.marketRoutes()
	s.descriptionRoutes()
}

// get is the methods of an address that is only read.
func get(h Handler) Methods { return Methods{http.MethodGet: h, http.MethodHead: h} }

// Handle adds a route for callers with a key, before the server serves. The
// pattern has no method. Two routes with one pattern are a programmer's mistake.
func (s *Server) Handle(pattern string, env Envelope, m Methods) {
	s.open(pattern, env, m.each(func(h Handler) Handler {
		h = s.counted(h)
		return func(w http.ResponseWriter, r *http.Request) error {
			if err := s.identify(r); err != nil {
				return err
			}
			if s.opts.Ledger != nil {
				if err := s.opts.Ledger.Request(r.Context(), PrincipalOf(r.Context())); err != nil {
					return err
				}
			}
			r, release := s.guarded(r)
			defer release()
			err := h(w, r)
			if gone := withdrawn(r.Context()); err != nil && gone != nil {
				return gone
			}
			return err
		}
	}))
}

// Mount adds a handler that needs no key, such as the pages of the web
// interface. Errors are its own business.
func (s *Server) Mount(pattern string, h http.Handler) {
	s.mux.HandleFunc(pattern, func(w http.ResponseWriter, r *http.Request) {
		scopeOf(r.Context()).route = pattern
		h.ServeHTTP(w, r)
	})
}

// names lists the methods for the Allow header.
func (m Methods) names() string { return strings.Join(slices.Sorted(maps.Keys(m)), ", ") }

func (m Methods) each(wrap func(Handler) Handler) Methods {
	out := Methods{}
	for name, h := range m {
		out[name] = wrap(h)
	}
	return out
}

// open adds a route that needs no key.
func (s *Server) open(pattern string, env Envelope, m Methods) {
	allow := m.names()
	s.patterns[pattern] = slices.Sorted(maps.Keys(m))
	s.mux.HandleFunc(pattern, func(w http.ResponseWriter, r *http.Request) {
		sc := scopeOf(r.Context())
		sc.route, sc.envelope = pattern, env
		h, ok := m[r.Method]
		if !ok {
			w.Header().Set("Allow", allow)
			sc.status = http.StatusMethodNotAllowed
			s.fail(w, r, footnote.Errorf(footnote.InvalidRequest, "This address takes %s.", allow))
			return
		}
		if err := h(w, r); err != nil {
			s.fail(w, r, err)
		}
	})
}

// ServeHTTP serves one request and logs it.
func (s *Server) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	sc := &scope{id: requestID(r), route: "none", envelope: envelopeOf(r.URL.Path), begun: s.opts.Now()}
	rec := &recorder{ResponseWriter: w}
	r = r.WithContext(footnote.WithOrigin(context.WithValue(r.Context(), scopeKey{}, sc), footnote.Origin{Request: sc.id, Trace: r.Header.Get("Traceparent")}))
	defer s.logged(rec, r, sc)
	defer s.recovered(rec, r)

	defer leaveBody(rec, r)
	if r.Body != nil && r.Body != http.NoBody && (r.Method == http.MethodGet || r.Method == http.MethodHead) {
		rec.Header().Set("Connection", "close") // else net/http would wait for the body before the answer
	}

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
		return // a preflight
	}
	if _, pattern := s.mux.Handler(r); pattern == "" {
		sc.unknown = true
		s.fail(rec, r, footnote.Errorf(footnote.NotFound, "There is nothing at this address."))
		return
	}
	s.mux.ServeHTTP(rec, r)
}

// restTime is how long the part of a body may take to arrive that no handler read.
const restTime = 5 * time.Second

// leaveBody bounds the time for the rest of a body: net/http reads it after the
// handler, before the next request, and would wait for it as long as the client likes.
func leaveBody(w http.ResponseWriter, r *http.Request) {
	if r.Body != nil && r.Body != http.NoBody {
		_ = http.NewResponseController(w).SetReadDeadline(time.Now().Add(restTime)) // a recorder has none
	}
}

// gate refuses what must not reach any handler.
func (s *Server) gate(w http.ResponseWriter, r *http.Request) error {
	if p := r.URL.Path; !cleanPath(p) && !chatPath(r.URL) {
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
		return footnote.Errorf(footnote.Forbidden, "This server is not known under the name in the Host header.")
	}
	if err := s.foreign.Check(r); err != nil {
		return &footnote.Error{Code: footnote.Forbidden, Message: "Requests from other web sites are not accepted.", Err: err}
	}
	return nil
}

// cleanPath reports whether a decoded path is one that a route can mean: absolute,
// without dots, doubled slashes, backslashes or control characters.
func cleanPath(p string) bool {
	if p == "" || p[0] != '/' || strings.ContainsFunc(p, func(r rune) bool { return r < ' ' || r == 0x7f || r == '\\' || r == 0xfffd }) {
		return false
	}
	clean := path.Clean(p)
	return p == clean || p == clean+"/"
}

// chatPath reports whether an address is one of a chat whose id, which a client
// chose, only looks like a path.
func chatPath(u *url.URL) bool {
	p := u.EscapedPath()
	return strings.HasPrefix(p, "/api/ai/") && cleanPath(p)
}

// recovered turns a panic into a 500, or into a broken connection when the
// response was begun.
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
	s.fail(rec, r, AfterWork(fmt.Errorf("handler panicked: %v\n%s", p, debug.Stack())))
}

// logged writes the one line about a request. It runs last: net/http then learns
// of a response that must be broken off.
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
		slog.Int("status", rec.code()), slog.Int64("bytes", rec.bytes), slog.Float64("took_ms", float64(took.Microseconds())/1000),
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

// HTTPServer is an http.Server with the limits that this server needs: no write
// timeout, which would cut streams short; every write has its own deadline.
func (s *Server) HTTPServer(addr string) *http.Server {
	return &http.Server{
		Addr:              addr,
		Handler:           s,
		ReadHeaderTimeout: 10 * time.Second,
		IdleTimeout:       120 * time.Second,
		MaxHeaderBytes:    64 << 10,
		ConnState:         s.conns.changed,
		ErrorLog:          slog.NewLogLogger(s.opts.Logger.Handler(), slog.LevelWarn),
	}
}

// Drain makes the server report that it is not ready, so that no new requests are
// sent to it. It goes on serving.
func (s *Server) Drain() { s.draining.Store(true) }

func (s *Server) health(w http.ResponseWriter, _ *http.Request) error {
	return writeJSON(w, http.StatusOK, []byte(`{"status":"ok"}`))
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
		return &footnote.Error{Code: footnote.StorageUnavailable, Message: message, Err: err}
	}
	return writeJSON(w, http.StatusOK, []byte(`{"status":"ready"}`))
}

// scope is what is known of a request while it is served.
type scope struct {
	id        string
	route     string
	envelope  Envelope
	principal footnote.Principal
	withKey   bool   // the caller sent an API key
	keyID     string // of a stored key, sent or behind a session
	begun     time.Time
	status    int    // instead of the one of the error's code
	unknown   bool   // there is no such route
	outcome   string // of a stream
	err       error  // for the log
	aborted   bool   // the connection must be broken off
}

type scopeKey struct{}

func scopeOf(ctx context.Context) *scope {
	sc, _ := ctx.Value(scopeKey{}).(*scope)
	if sc == nil {
		return &scope{envelope: Native} // a handler that is called without the server
	}
	return sc
}

// PrincipalOf is who makes the request of a handler that was added with Handle.
func PrincipalOf(ctx context.Context) footnote.Principal { return scopeOf(ctx).principal }

// RequestIDOf is the id of the request, as the client and the log know it.
func RequestIDOf(ctx context.Context) string { return scopeOf(ctx).id }

// requestID takes the caller's id when it is one, and makes one otherwise.
func requestID(r *http.Request) string {
	if id := r.Header.Get("X-Request-Id"); validID(id) {
		return id
	}
	return "req_" + rand.Text()
}

// validID reports whether id is made of 1 to 64 letters, digits, and -_. only.
func validID(id string) bool {
	return id != "" && len(id) <= 64 && !strings.ContainsFunc(id, func(r rune) bool {
		return !(r >= 'a' && r <= 'z' || r >= 'A' && r <= 'Z' || r >= '0' && r <= '9' || r == '-' || r == '_' || r == '.')
	})
}

// recorder notes what was sent. It can be looked behind.
type recorder struct {
	http.ResponseWriter
	status int
	bytes  int64
}

func (r *recorder) Unwrap() http.ResponseWriter { return r.ResponseWriter }

func (r *recorder) WriteHeader(status int) {
	if r.status == 0 && status >= 200 {
		r.status = status
	}
	r.ResponseWriter.WriteHeader(status)
}

func (r *recorder) Write(b []byte) (int, error) {
	if r.status == 0 {
		r.status = http.StatusOK
	}
	n, err := r.ResponseWriter.Write(b)
	r.bytes += int64(n)
	return n, err
}

// code is the status for the log: of a request that got no answer, because its
// client had gone, it is 499.
func (r *recorder) code() int {
	if r.status == 0 {
		return 499
	}
	return r.status
}

// envelopeOf is the envelope of addresses that have no route.
func envelopeOf(p string) Envelope {
	switch {
	case strings.HasPrefix(p, "/v1/") || p == "/v1":
		return openAI
	case strings.HasPrefix(p, "/api/chat-v2"):
		return chatV2Error
	}
	return Native
}

// openAI is the envelope of the Chat Completions API.
func openAI(err error, sc Failure) (contentType string, body []byte) {
	code := ""
	if sc.UnknownURL {
		code = openai.UnknownURL
	}
	return "application/json", openai.AppendError(nil, err, code)
}
