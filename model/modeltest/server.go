// Package modeltest is a Messages API server that follows a scenario. It speaks real HTTP, streamed and not.
// It is as strict as Anthropic's API, as far as that is known, and can fail in the ways real upstreams do.
// Tests, benchmarks and the fake-model command use it; it does not import package testing.
//
// Signatures of its thinking blocks are bound to the conversation in which they were made, like those of
// current models. It therefore rejects a history in which a significant byte has changed.
package modeltest

import (
	"cmp"
	"context"
	"crypto/sha256"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"github.com/footnotehq/footnote/model/price"
)

// Rule answers a request. It may be called concurrently.
type Rule func(Request) Reply

// Options configure a Server. The zero value is a strict server without a key and with an empty scenario.
type Options struct {
	Rule    Rule    // called when all Replies are used
	Replies []Reply // one per request, in order
	Loop    bool    // start over with Replies instead
	Key     string  // the only key accepted; empty: any key, or none
	// Compatible imitates another provider's server: it knows any model, rejects what only Anthropic's API
	// has, does not sign thinking, reports no input tokens, sends tool input whole and never pings.
	Compatible bool
	// Lax accepts everything without parsing the messages. A rule then sees only the body and the stream
	// flag. For measurements.
	Lax   bool
	Keep  int   // number of requests that Requests returns; default 1,000
	Limit int64 // largest body in bytes; default 32 MB
}

const (
	secret   = "modeltest" // signs thinking
	maxStall = 10 * time.Minute
)

// Metrics counts what a server did.
type Metrics struct {
	Requests int64 `json:"requests"` // calls of the messages endpoint
	Refusals int64 `json:"refusals"` // how many of them were invalid and rejected
	Open     int64 `json:"open"`     // being answered now
	MaxOpen  int64 `json:"max_open"`
	Deltas   int64 `json:"deltas"` // deltas written
}

// Server is the API server. It is an http.Handler, safe for concurrent use.
type Server struct {
	opts   Options
	prices *price.Table // models and what they support
	mux    *http.ServeMux
	done   context.Context // ends with Close
	close  context.CancelFunc
	deltas atomic.Int64

	mu       sync.Mutex // guards below
	next     int        // index into opts.Replies
	kept     []Request
	refusals []string
	metrics  Metrics           // without deltas
	paused   map[[32]byte]bool // digests of messages that stopped with pause_turn
}

// New returns a server. It panics if the embedded model table cannot be read.
func New(opts Options) *Server {
	opts.Keep = cmp.Or(opts.Keep, 1000)
	opts.Limit = cmp.Or(opts.Limit, 32<<20)
	prices, err := price.Load(nil)
	if err != nil {
		panic(err) // the table is part of the program
	}
	s := &Server{opts: opts, prices: prices, mux: http.NewServeMux(), paused: map[[32]byte]bool{}}
	s.done, s.close = context.WithCancel(context.Background())
	s.mux.HandleFunc("POST /v1/messages", s.messages)
	s.mux.HandleFunc("POST /v1/messages/count_tokens", s.checked(s.countTokens))
	s.mux.HandleFunc("GET /v1/models", s.checked(s.listModels))
	s.mux.HandleFunc("GET /v1/models/{id}", s.checked(s.getModel))
	s.mux.HandleFunc("/", func(w http.ResponseWriter, r *http.Request) {
		s.writeError(w, 0, Failure{Status: http.StatusNotFound, Message: "Not found"})
	})
	return s
}

// TB is the part of a test that Start needs.
type TB interface {
	Cleanup(func())
	Fatalf(format string, args ...any)
}

// Start serves on a loopback port until the test ends, and returns the base URL.
func (s *Server) Start(tb TB) string {
	ln, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		tb.Fatalf("modeltest: listen: %v", err)
	}
	srv := &http.Server{Handler: s}
	served := make(chan struct{})
	go func() {
		defer close(served)
		srv.Serve(ln) // ends with ErrServerClosed
	}()
	tb.Cleanup(func() {
		s.Close()
		srv.Close()
		<-served
	})
	return "http://" + ln.Addr().String()
}

// Close ends every stall. It does not close the listener of an http.Server that
// the caller made.
func (s *Server) Close() { s.close() }

// Add appends replies to the scenario.
func (s *Server) Add(replies ...Reply) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.opts.Replies = append(s.opts.Replies, replies...)
}

// Requests returns the newest requests, oldest first, including rejected ones.
func (s *Server) Requests() []Request {
	s.mu.Lock()
	defer s.mu.Unlock()
	return slices.Clone(s.kept)
}

// Refusals returns the reasons for which the server, not the scenario, rejected requests. A test of a
// well-behaved client expects none.
func (s *Server) Refusals() []string {
	s.mu.Lock()
	defer s.mu.Unlock()
	return slices.Clone(s.refusals)
}

// Metrics returns the current counters.
func (s *Server) Metrics() Metrics {
	s.mu.Lock()
	defer s.mu.Unlock()
	m := s.metrics
	m.Deltas = s.deltas.Load()
	return m
}

// ServeHTTP answers one request.
func (s *Server) ServeHTTP(w http.ResponseWriter, r *http.Request) { s.mux.ServeHTTP(w, r) }

// messages is the main endpoint.
func (s *Server) messages(w http.ResponseWriter, r *http.Request) {
	n := s.count(1)
	defer s.count(-1)
	req, err := s.read(w, r)
	req.N = n
	s.keep(req)
	if errors.Is(err, errLeft) {
		return
	}
	if err != nil {
		s.refuse(w, n, err)
		return
	}
	reply, ok := s.reply(req)
	if !ok {
		s.refuse(w, n, &refusal{http.StatusInternalServerError, "api_error", "The scenario has no more replies."})
		return
	}
	if !s.sleep(r, reply.Wait) {
		return
	}
	if reply.Error != nil {
		s.writeError(w, n, *reply.Error)
		return
	}
	newWriter(s, w, r, req, reply).write()
}

// count counts a request that begins, or one that ends if change is -1. It returns the number of requests that began.
func (s *Server) count(change int64) int {
	s.mu.Lock()
	defer s.mu.Unlock()
	m := &s.metrics
	m.Requests += max(change, 0)
	m.Open += change
	m.MaxOpen = max(m.MaxOpen, m.Open)
	return int(m.Requests)
}

// errLeft is returned for a request whose client left before it was sent.
var errLeft = errors.New("the client left")

// read reads and checks a request.
func (s *Server) read(w http.ResponseWriter, r *http.Request) (Request, error) {
	body, err := io.ReadAll(http.MaxBytesReader(w, r.Body, s.opts.Limit))
	if _, tooLarge := errors.AsType[*http.MaxBytesError](err); err != nil && !tooLarge {
		return Request{Header: r.Header}, errLeft
	}
	if err != nil {
		return Request{Header: r.Header},
			&refusal{http.StatusRequestEntityTooLarge, "request_too_large", "Request exceeds the maximum size"}
	}
	if s.opts.Lax {
		var head struct {
			Stream bool   `json:"stream"`
			Model  string `json:"model"`
		}
		if len(body) < 1<<12 {
			json.Unmarshal(body, &head) // best effort; a large body is not worth the time
		} else {
			head.Stream = true
		}
		return Request{Header: r.Header, Body: body, Stream: head.Stream, Model: head.Model}, nil
	}
	if err := s.checkHeaders(r.Header); err != nil {
		return Request{Header: r.Header, Body: body}, err
	}
	req, err := parse(body)
	req.Header = r.Header
	if err != nil {
		return req, invalid("%v", err)
	}
	return req, s.check(req)
}

func (s *Server) keep(r Request) {
	if s.opts.Lax {
		return
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if len(s.kept) >= s.opts.Keep {
		s.kept = slices.Delete(s.kept, 0, 1)
	}
	s.kept = append(s.kept, r)
}

// reply picks the reply to a request.
func (s *Server) reply(r Request) (Reply, bool) {
	s.mu.Lock()
	if s.opts.Loop && len(s.opts.Replies) > 0 && s.next >= len(s.opts.Replies) {
		s.next = 0
	}
	if s.next < len(s.opts.Replies) {
		s.next++
		defer s.mu.Unlock()
		return s.opts.Replies[s.next-1], true
	}
	s.mu.Unlock()
	if s.opts.Rule == nil {
		return Reply{}, false
	}
	return s.opts.Rule(r), true
}

// sleep waits for d. It returns false if the client left or the server was closed.
func (s *Server) sleep(r *http.Request, d time.Duration) bool {
	if d <= 0 {
		return true
	}
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-timer.C:
		return true
	case <-r.Context().Done():
	case <-s.done.Done():
	}
	return false
}

func (s *Server) refuse(w http.ResponseWriter, n int, err error) {
	f := Failure{Status: http.StatusBadRequest, Message: err.Error(), ShouldRetry: "false"}
	if r, ok := err.(*refusal); ok {
		f.Status, f.Type = r.status, r.kind
	}
	s.mu.Lock()
	s.metrics.Refusals++
	if len(s.refusals) < 1000 {
		s.refusals = append(s.refusals, fmt.Sprintf("request %d: %d %s: %s", n, f.Status, f.kind(), f.Message))
	}
	s.mu.Unlock()
	s.writeError(w, n, f)
}

func requestID(n int) string { return fmt.Sprintf("req_%08d", n) }

func (s *Server) writeError(w http.ResponseWriter, n int, f Failure) {
	h := w.Header()
	h.Set("Content-Type", "application/json")
	h.Set("Request-Id", requestID(n))
	if f.RetryAfter != "" {
		h.Set("Retry-After", f.RetryAfter)
	}
	if f.ShouldRetry != "" {
		h.Set("X-Should-Retry", f.ShouldRetry)
	}
	w.WriteHeader(f.Status)
	if f.Body != "" {
		io.WriteString(w, f.Body)
		return
	}
	w.Write(errorBody(f, requestID(n)))
}

func errorBody(f Failure, id string) []byte {
	inner := map[string]any{"type": f.kind(), "message": f.text()}
	if f.Code != "" {
		inner["details"] = map[string]string{"error_code": f.Code}
	}
	body, _ := json.Marshal(map[string]any{"type": "error", "error": inner, "request_id": id}) // strings always encode
	return body
}

// remember records a message that stopped with pause_turn, so that the client may send it back as the last
// message.
func (s *Server) remember(blocks []json.RawMessage) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.paused[digest(blocks)] = true
}

func (s *Server) isPaused(m Message) bool {
	var blocks []json.RawMessage
	for _, c := range m.Content {
		blocks = append(blocks, c.Raw)
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.paused[digest(blocks)]
}

func digest(blocks []json.RawMessage) [32]byte {
	var all []byte
	for _, b := range blocks {
		all = append(append(all, canonical(b)...), '\n')
	}
	return sha256.Sum256(all)
}

func (s *Server) countTokens(w http.ResponseWriter, r *http.Request) {
	if s.opts.Compatible {
		s.writeError(w, 0, Failure{Status: http.StatusNotFound, Message: "Not found"})
		return
	}
	body, err := io.ReadAll(http.MaxBytesReader(w, r.Body, s.opts.Limit))
	if err != nil {
		s.writeError(w, 0, Failure{Status: http.StatusRequestEntityTooLarge})
		return
	}
	fmt.Fprintf(w, `{"input_tokens":%d}`, tokens(len(body)))
}

// tokens returns the approximate number of tokens in a number of bytes.
func tokens(bytes int) int64 { return int64(bytes+3) / 4 }

// checked returns a handler that checks the headers first.
func (s *Server) checked(handle http.HandlerFunc) http.HandlerFunc {
	return func(w http.ResponseWriter, r *http.Request) {
		if err := s.checkHeaders(r.Header); err != nil {
			s.refuse(w, 0, err)
			return
		}
		w.Header().Set("Content-Type", "application/json")
		handle(w, r)
	}
}

func (s *Server) describe(id string) map[string]any {
	m, _ := s.prices.Model(id)
	types := map[string]any{}
	for _, t := range []string{"adaptive", "between_tools", "disabled", "enabled"} {
		types[t] = map[string]bool{"supported": m.Thinks(t)}
	}
	return map[string]any{
		"type": "model", "id": id, "display_name": id, "created_at": "2026-01-01T00:00:00Z", "lifecycle": "active",
		"max_input_tokens": m.Context, "max_tokens": m.MaxOutput,
		"capabilities": map[string]any{"thinking": map[string]any{"supported": true, "types": types}},
	}
}

func (s *Server) listModels(w http.ResponseWriter, _ *http.Request) {
	items := []map[string]any{}
	for _, id := range s.prices.Names() {
		items = append(items, s.describe(id))
	}
	json.NewEncoder(w).Encode(map[string]any{"data": items, "has_more": false})
}

func (s *Server) getModel(w http.ResponseWriter, r *http.Request) {
	id := r.PathValue("id")
	if _, ok := s.prices.Model(id); !ok && !s.opts.Compatible {
		s.writeError(w, 0, Failure{Status: http.StatusNotFound, Message: "model: " + id})
		return
	}
	json.NewEncoder(w).Encode(s.describe(id))
}
