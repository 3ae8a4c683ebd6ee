package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"sync"
	"syscall"
	"time"

	"github.com/footnotehq/footnote"
	"github.com/footnotehq/footnote/audit"
	"github.com/footnotehq/footnote/config"
	"github.com/footnotehq/footnote/httpapi"
	"github.com/footnotehq/footnote/httpapi/session"
	"github.com/footnotehq/footnote/retention"
	"github.com/footnotehq/footnote/source/duckdb"
	"github.com/footnotehq/footnote/store/postgres"
	"github.com/footnotehq/footnote/store/sqlite"
)

// auditGrace is how long the audit may take to catch up when the server ends.
const auditGrace = 5 * time.Second

type serveCmd struct {
	Listen string `help:"Address and port." placeholder:"ADDRESS"`
}

// Help is shown by footnote serve --help.
func (serveCmd) Help() string {
	return `Without keys only programs on this machine can call.

  footnote serve --source shop=shop.db
  curl -N http://127.0.0.1:8787/v1/chat/completions -H 'content-type: application/json' \
    -d '{"model":"analyst","stream":true,"messages":[{"role":"user","content":"How many orders?"}]}'

The first line on standard output is {"ready":true,"listen":"…"}.`
}

// Run executes the command.
func (cmd *serveCmd) Run(ctx context.Context, s *settings, e env, std streams) error {
	c, err := s.load(e, flag("listen", cmd.Listen))
	if err != nil {
		return err
	}
	return serve(ctx, c, std, nil)
}

// flag is a setting given by a flag, or none.
func flag(name, value string) map[string]string {
	if value == "" {
		return nil
	}
	return map[string]string{name: value}
}

// serve runs the server until ctx ends, then lets the running answers end. Ready
// is called with the address once it answers; it may be nil.
func serve(ctx context.Context, c config.Config, std streams, ready func(address string)) error {
	log := logger(std.err, c, c.LogLevel)
	listener, err := listen(ctx, c.Listen)
	if err != nil {
		return err
	}
	defer listener.Close()
	var follow *audit.Audit // no run ends before it is set
	a, err := newApp(ctx, c, "", sqlite.Options{}, log, loading(std.err), func() { follow.Wake() })
	if err != nil {
		return err
	}
	stdout := &lines{w: std.out}
	follow, err = a.audit(stdout)
	if err == nil {
		err = a.gauges(follow)
	}
	if err == nil {
		err = a.serve(ctx, listener, stdout, std.err, follow, ready)
	}
	return errors.Join(err, a.close(ctx))
}

// serve serves what has been opened, until ctx ends and all that was running has
// ended, too. The audit is followed for as long.
func (a *app) serve(ctx context.Context, listener net.Listener, stdout, stderr io.Writer, follow *audit.Audit, ready func(address string)) error {
	api, err := a.doors()
	if err != nil {
		return &exit{exitUsage, err}
	}
	if err := a.pages(api); err != nil {
		return err
	}
	job, err := a.retention(func(d retention.Deleted) error { return follow.Note(d) }, time.Now)
	if err != nil {
		return err
	}
	if err := a.engine.Recover(ctx); err != nil {
		if footnote.CodeOf(err) != footnote.StorageUnavailable {
			return err
		}
		// The engine looks again by itself. Until then conversations can be read.
		a.log.Warn("unfinished runs do not go on yet", "err", err)
	}
	fmt.Fprint(stderr, a.assistant.Policy.Table(a.assistant.Tools))
	a.printCoder(stderr)
	server := api.HTTPServer(a.cfg.Listen)
	var unused unused
	bounded := server.ConnState
	server.ConnState = func(c net.Conn, state http.ConnState) { unused.note(c, state); bounded(c, state) }
	failed := make(chan error, 1)
	go func() { failed <- server.Serve(listener) }() // ended by shutdown
	a.announce(stdout, listener.Addr().String())
	if ready != nil {
		ready(listener.Addr().String())
	}

	following, stopFollowing := context.WithCancel(context.WithoutCancel(ctx))
	defer stopFollowing()
	followed := make(chan struct{})
	go func() { defer close(followed); follow.Run(following, auditGrace) }()

	defer running(ctx, job.Run)()
	// Until the last answer has ended: the file then has what that cost, too.
	defer running(context.WithoutCancel(ctx), func(ctx context.Context) { a.usage.Follow(ctx, a.log) })()
	select {
	case <-ctx.Done():
	case err = <-failed:
		err = fmt.Errorf("serve: %w", err)
	}
	err = errors.Join(err, a.shutdown(server, &unused, api, a.cfg.DrainTimeout))
	stopFollowing()
	<-followed
	return err
}

// announce tells scripts and people where the server answers.
func (a *app) announce(stdout io.Writer, address string) {
	if err := printJSON(stdout, struct {
		Ready  bool   `json:"ready"`
		Listen string `json:"listen"`
	}{true, address}); err != nil {
		a.log.Warn("standard output is closed", "err", err)
	}
	a.log.Info("serving", "listen", address, "model", a.describe(), "sources", a.sources.names(), "data", a.cfg.Data)
	if elsewhere := a.elsewhere(); len(elsewhere) > 0 {
		a.log.Info("data is sent to", elsewhere...)
	}
	if a.cfg.Auth.Required {
		a.log.Info("callers need a key: of footnote keys, or of api_keys")
	}
	if len(a.sources) == 0 {
		a.log.Warn("there are no sources: nothing can be asked about. Name one with --source or FOOTNOTE_SOURCES")
	}
}

// elsewhere are the programs that are sent data, by what they are, as attributes of a log
// entry. Most settings that name one may stand in the environment for other programs.
func (a *app) elsewhere() []any {
	var out []any
	add := func(what, address string) {
		if address != "" {
			out = append(out, what, config.Redact(address))
		}
	}
	if a.cfg.Upstream != config.Offline {
		add("model", serverOf(a.cfg))
	}
	add("traces", a.cfg.Traces.Endpoint)
	add("redis", string(a.cfg.Redis))
	add("store", string(a.cfg.Store))
	return out
}

const (
	lastWords  = 5 * time.Second        // for readers to see the end, and for requests to be served
	firstWords = 500 * time.Millisecond // for a request on a new connection to arrive
)

// shutdown refuses new work, lets the running answers end, and then the streams. Clients
// that are still not done after that are cut off, which is no failure of the server.
func (a *app) shutdown(server *http.Server, conns *unused, api *httpapi.Server, drain time.Duration) error {
	a.log.Info("shutting down", "drain", drain.String())
	api.Drain()
	ctx, cancel := context.WithTimeout(context.Background(), drain)
	defer cancel()
	a.engine.Drain(ctx)
	// The runs have ended; what is left is that readers see it. New connections
	// are still taken until here, so that they are told instead of refused.
	last, stop := context.WithTimeout(context.Background(), lastWords)
	defer stop()
	defer time.AfterFunc(firstWords, conns.close).Stop()
	closed := make(chan error, 1)
	go func() { closed <- server.Shutdown(last) }()
	a.hub.Close()
	switch err := <-closed; {
	case errors.Is(err, context.DeadlineExceeded):
		a.log.Warn("clients were cut off that took too long", "after", lastWords.String())
		return server.Close()
	case err != nil:
		return errors.Join(fmt.Errorf("end the connections: %w", err), server.Close())
	}
	return nil
}

// unused are the connections that have not brought a whole request yet, such as those
// that browsers open before they need them. Shutdown of net/http takes them for idle
// only after 5 s.
type unused struct {
	mu     sync.Mutex // guards below
	conns  map[net.Conn]struct{}
	closed bool
}

// note is an http.Server's ConnState.
func (u *unused) note(c net.Conn, state http.ConnState) {
	u.mu.Lock()
	defer u.mu.Unlock()
	switch {
	case state != http.StateNew:
		delete(u.conns, c)
	case u.closed:
		_ = c.Close() // nobody waits for anything on it
	default:
		if u.conns == nil {
			u.conns = map[net.Conn]struct{}{}
		}
		u.conns[c] = struct{}{}
	}
}

// close ends them, and those that still come.
func (u *unused) close() {
	u.mu.Lock()
	defer u.mu.Unlock()
	u.closed = true
	for c := range u.conns {
		_ = c.Close() // as above
	}
}

func listen(ctx context.Context, address string) (net.Listener, error) {
	l, err := new(net.ListenConfig).Listen(ctx, "tcp", address)
	switch {
	case err == nil:
		return l, nil
	case errors.Is(err, syscall.EADDRINUSE):
		return nil, fmt.Errorf("listen is %q, but another program uses that port; choose another with --listen or FOOTNOTE_LISTEN", address)
	case errors.Is(err, os.ErrPermission):
		return nil, fmt.Errorf("listen is %q, which this user may not use; choose a port above 1023", address)
	default:
		return nil, fmt.Errorf("listen is %q: %w", address, err)
	}
}

// doors makes the HTTP edge.
func (a *app) doors() (*httpapi.Server, error) {
	sessions, err := a.sessions()
	if err != nil {
		return nil, err
	}
	var workspaces httpapi.Workspaces
	if a.workspaces != nil {
		workspaces = shown{a.workspaces}
	}
	tokens, err := a.tokens()
	if err != nil {
		return nil, err
	}
	statements := &generator{app: a}
	a.later(statements.close)
	open := limitsOfFiles(openFiles(), a.cfg.Limits)
	return httpapi.New(httpapi.Options{
		Usage: a.usage, Ledger: a.ledger, Generator: statements, Workspaces: workspaces, Drawings: a.boards, Market: a.market,
		Access: a.allowed(),
		Engine: a.engine, Log: a.deleting(), Hub: a.hub, Data: data{a}, Sessions: sessions, About: a.about(),
		Keys: a.cfg.Principals(), StoredKeys: a.ring, Tokens: tokens, NeedsKey: a.cfg.NeedsKey(), AllowOrigins: a.cfg.Origins,
		InputMaxChars: a.cfg.InputMaxChars, BodyLimit: a.cfg.BodyLimit, AnswerTimeout: a.cfg.HTTPTimeout,
		OnDisconnect: a.cfg.OnDisconnect, StoredOnDisconnect: a.cfg.StoredOnDisconnect, OnBusy: a.cfg.OnBusy, Ready: a.store.Ping, Scrape: a.metrics.Handler(), Logger: a.log, Metrics: a.metrics,
		Watch:   a.watch(),
		Streams: open.streams, StreamsPerUser: open.perUser, Connections: open.connections,
	})
}

// sessions are kept where all servers find them, or else in the data folder.
func (a *app) sessions() (httpapi.Sessions, error) {
	if p, ok := a.store.(*postgres.Store); ok {
		return session.Share(p), nil
	}
	return session.Open(a.cfg.Data)
}

// about is what the page is told of this server.
func (a *app) about() httpapi.About {
	about := httpapi.About{Version: version, Offline: a.cfg.Upstream == config.Offline}
	about.Features.DuckDB = duckdb.Available
	_, about.Features.Uploads = a.catalog.Uploads()
	about.Features.Coder = a.workspaces != nil
	if about.Offline {
		about.OfflineHint = "No model is connected: the offline planner answers questions about the data by fixed rules. Set ANTHROPIC_API_KEY and start again to connect one."
	}
	return about
}

// audit makes the audit of what is configured.
func (a *app) audit(stdout io.Writer) (*audit.Audit, error) {
	sinks := map[string]audit.Sink{}
	if a.cfg.LogOutput == "stdout" || a.cfg.LogOutput == "both" {
		sinks["stdout"] = audit.Stream{W: stdout}
	}
	if a.cfg.LogOutput == "file" || a.cfg.LogOutput == "both" {
		sinks["file"] = audit.File{Path: a.cfg.AuditFile()}
	}
	return a.auditTo(sinks)
}

// auditTo makes the audit of this log into sinks. No key of the configuration
// stands in it.
func (a *app) auditTo(sinks map[string]audit.Sink) (*audit.Audit, error) {
	patterns, err := a.cfg.RedactPatterns()
	if err != nil {
		return nil, err
	}
	var lead func(ctx context.Context, sink string) (release func(), ok bool, err error)
	if p, ok := a.store.(*postgres.Store); ok {
		lead = func(ctx context.Context, sink string) (func(), bool, error) { return p.Lead(ctx, "audit/"+sink) }
	}
	return audit.New(audit.Options{Lead: lead, Log: a.store, Sinks: sinks, Verbose: a.cfg.LogVerbose, Secrets: secretsOf(a.cfg), Redact: patterns, Logger: a.log})
}

func (a *app) gauges(follow *audit.Audit) error {
	return errors.Join(
		a.metrics.Gauge("footnote_audit_lag_events", "Events the audit is behind the log.", follow.Lag),
		a.metrics.Gauge("footnote_live_readers", "Readers of live streams.", func() int64 { return int64(a.hub.Readers()) }),
	)
}

// lines lets several writers share a stream line by line.
type lines struct {
	mu sync.Mutex // guards w
	w  io.Writer
}

func (l *lines) Write(b []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.w.Write(b)
}
