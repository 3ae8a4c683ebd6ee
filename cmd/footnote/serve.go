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
	"github.com/footnotehq/footnote/source/duckdb"
	"github.com/footnotehq/footnote/store/postgres"
	"github.com/footnotehq/footnote/store/retention"
	"github.com/footnotehq/footnote/store/sqlite"
)

// auditGrace limits how long the audit may take to catch up at shutdown.
const auditGrace = 5 * time.Second

type serveCmd struct {
	Listen string `help:"Address and port." placeholder:"ADDRESS"`
}

// Help is shown by footnote serve --help.
func (serveCmd) Help() string {
	return `Without keys, only programs on this machine can call.

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

// flag returns the setting given by a flag, or nothing for an empty value.
func flag(name, value string) map[string]string {
	if value == "" {
		return nil
	}
	return map[string]string{name: value}
}

// serve runs the server until ctx ends, then waits for the running answers. It calls ready with the address once the
// server accepts requests; ready may be nil.
func serve(ctx context.Context, c config.Config, std streams, ready func(address string)) error {
	log := logger(std.err, c, c.LogLevel)
	listener, err := listen(ctx, c.Listen)
	if err != nil {
		return err
	}
	defer listener.Close()
	var follow *audit.Audit // set before any run can end
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

// serve serves what has been opened until ctx ends and all running work has ended. The audit follows until then.
func (a *app) serve(ctx context.Context, listener net.Listener, stdout, stderr io.Writer, follow *audit.Audit,
	ready func(address string)) error {
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
		// The engine retries by itself. Conversations are readable in the meantime.
		a.log.Warn("cannot resume unfinished runs yet; retrying", "err", err)
	}
	fmt.Fprint(stderr, a.assistant.Policy.Table(a.assistant.Tools))
	a.printCoder(stderr)
	server := api.HTTPServer(a.cfg.Listen)
	var unused unusedConns
	bounded := server.ConnState
	server.ConnState = func(c net.Conn, state http.ConnState) { unused.note(c, state); bounded(c, state) }
	failed := make(chan error, 1)
	go func() { failed <- server.Serve(listener) }() // returns after shutdown
	a.announce(stdout, listener.Addr().String())
	if ready != nil {
		ready(listener.Addr().String())
	}

	following, stopFollowing := context.WithCancel(context.WithoutCancel(ctx))
	defer stopFollowing()
	followed := make(chan struct{})
	go func() { defer close(followed); follow.Run(following, auditGrace) }()

	defer runJobs(ctx, job.Run)()
	// Runs until the last answer has ended, so that the file includes its cost.
	defer runJobs(context.WithoutCancel(ctx), func(ctx context.Context) { a.usage.Follow(ctx, a.log) })()
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

// announce prints the server's address for scripts and people.
func (a *app) announce(stdout io.Writer, address string) {
	if err := printJSON(stdout, struct {
		Ready  bool   `json:"ready"`
		Listen string `json:"listen"`
	}{true, address}); err != nil {
		a.log.Warn("standard output is closed", "err", err)
	}
	a.log.Info("serving", "listen", address, "model", a.describe(), "sources", a.sources.names(), "data", a.cfg.Data)
	if services := a.externalServices(); len(services) > 0 {
		a.log.Info("data is sent to", services...)
	}
	if a.cfg.Auth.Required {
		a.log.Info("callers need a key, from footnote keys or api_keys")
	}
	if len(a.sources) == 0 {
		a.log.Warn("there are no sources to ask about. Name one with --source or FOOTNOTE_SOURCES")
	}
}

// externalServices returns the external programs that receive data, by role, as log attributes. Most settings that name
// one
// can come from environment variables meant for other programs.
func (a *app) externalServices() []any {
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
	readerGrace  = 5 * time.Second        // for readers to receive the end, and for open requests
	requestGrace = 500 * time.Millisecond // for the request on a new connection to arrive
)

// shutdown rejects new work, waits for the running answers, and then ends the streams. It disconnects clients that
// are still not done after that, which does not count as a server failure.
func (a *app) shutdown(server *http.Server, conns *unusedConns, api *httpapi.Server, drain time.Duration) error {
	a.log.Info("shutting down", "drain", drain.String())
	api.Drain()
	ctx, cancel := context.WithTimeout(context.Background(), drain)
	defer cancel()
	a.engine.Drain(ctx)
	// The runs have ended; readers still have to receive the last events. Until this point new connections are
	// accepted, so that their requests get an error response instead of a refused connection.
	last, stop := context.WithTimeout(context.Background(), readerGrace)
	defer stop()
	defer time.AfterFunc(requestGrace, conns.close).Stop()
	closed := make(chan error, 1)
	go func() { closed <- server.Shutdown(last) }()
	a.hub.Close()
	switch err := <-closed; {
	case errors.Is(err, context.DeadlineExceeded):
		a.log.Warn("disconnected clients that took too long", "after", readerGrace.String())
		return server.Close()
	case err != nil:
		return errors.Join(fmt.Errorf("end the connections: %w", err), server.Close())
	}
	return nil
}

// unusedConns tracks connections that have not sent a complete request yet, such as those that browsers open in
// advance.
// Shutdown of net/http treats them as idle only after 5 s.
type unusedConns struct {
	mu     sync.Mutex // guards below
	conns  map[net.Conn]struct{}
	closed bool
}

// note implements http.Server's ConnState.
func (u *unusedConns) note(c net.Conn, state http.ConnState) {
	u.mu.Lock()
	defer u.mu.Unlock()
	switch {
	case state != http.StateNew:
		delete(u.conns, c)
	case u.closed:
		_ = c.Close() // no request is waiting on it
	default:
		if u.conns == nil {
			u.conns = map[net.Conn]struct{}{}
		}
		u.conns[c] = struct{}{}
	}
}

// close closes these connections, and any that arrive later.
func (u *unusedConns) close() {
	u.mu.Lock()
	defer u.mu.Unlock()
	u.closed = true
	for c := range u.conns {
		_ = c.Close() // no request is waiting on it
	}
}

func listen(ctx context.Context, address string) (net.Listener, error) {
	l, err := new(net.ListenConfig).Listen(ctx, "tcp", address)
	switch {
	case err == nil:
		return l, nil
	case errors.Is(err, syscall.EADDRINUSE):
		return nil, fmt.Errorf(
			"listen is %q, but another program uses that port; choose another with --listen or FOOTNOTE_LISTEN",
			address)
	case errors.Is(err, os.ErrPermission):
		return nil, fmt.Errorf("listen is %q, which this user may not use; choose a port above 1023", address)
	default:
		return nil, fmt.Errorf("listen is %q: %w", address, err)
	}
}

// doors creates the HTTP server.
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
	a.onClose(statements.close)
	open := limitsOfFiles(openFiles(), a.cfg.Limits)
	return httpapi.New(httpapi.Options{
		SideJob: a.sideJob, Queried: a.queried,
		Usage: a.usage, Ledger: a.ledger, Generator: statements, Workspaces: workspaces, Drawings: a.boards,
		Market: a.market,
		Access: a.allowed(),
		Engine: a.engine, Log: a.deleting(), Hub: a.hub, Data: data{a}, Sessions: sessions, About: a.about(),
		Keys: a.cfg.Principals(), StoredKeys: a.ring, Tokens: tokens, NeedsKey: a.cfg.NeedsKey(),
		AllowOrigins:  a.cfg.Origins,
		InputMaxChars: a.cfg.InputMaxChars, BodyLimit: a.cfg.BodyLimit, AnswerTimeout: a.cfg.HTTPTimeout,
		OnDisconnect: a.cfg.OnDisconnect, StoredOnDisconnect: a.cfg.StoredOnDisconnect, OnBusy: a.cfg.OnBusy,
		Ready: a.store.Ping, Scrape: a.metrics.Handler(), Logger: a.log, Metrics: a.metrics,
		Watch:   a.watch(),
		Streams: open.streams, StreamsPerUser: open.perUser, Connections: open.connections,
	})
}

// sessions returns the session store: the database if servers share one, otherwise the data folder.
func (a *app) sessions() (httpapi.Sessions, error) {
	if p, ok := a.store.(*postgres.Store); ok {
		return session.Share(p), nil
	}
	return session.Open(a.cfg.Data)
}

// about returns the information that the page shows about this server.
func (a *app) about() httpapi.About {
	about := httpapi.About{Version: version, Offline: a.cfg.Upstream == config.Offline}
	about.Features.DuckDB = duckdb.Available
	_, about.Features.Uploads = a.catalog.Uploads()
	about.Features.Coder = a.workspaces != nil
	if about.Offline {
		about.OfflineHint = "No model is connected: the offline planner answers questions about the data by fixed " +
			"rules. To connect one, set ANTHROPIC_API_KEY and start again."
	}
	return about
}

// audit creates the configured audit.
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

// auditTo creates the audit of this log with the given sinks. It redacts the keys of the configuration.
func (a *app) auditTo(sinks map[string]audit.Sink) (*audit.Audit, error) {
	patterns, err := a.cfg.RedactPatterns()
	if err != nil {
		return nil, err
	}
	var lead func(ctx context.Context, sink string) (release func(), ok bool, err error)
	if p, ok := a.store.(*postgres.Store); ok {
		lead = func(ctx context.Context, sink string) (func(), bool, error) { return p.Lead(ctx, "audit/"+sink) }
	}
	return audit.New(audit.Options{
		Lead: lead, Log: a.store, Inbox: &a.inbox, Sinks: sinks, Verbose: a.cfg.LogVerbose, Secrets: secretsOf(a.cfg),
		Redact: patterns, Logger: a.log,
	})
}

func (a *app) gauges(follow *audit.Audit) error {
	return errors.Join(
		a.metrics.Gauge("footnote_audit_lag_events", "Number of events that the audit lags behind the log.", follow.Lag),
		a.metrics.Gauge("footnote_live_readers", "Readers of live streams.", func() int64 {
			return int64(a.hub.Readers())
		}),
	)
}

// lines lets several writers share a stream, one line at a time.
type lines struct {
	mu sync.Mutex // guards w
	w  io.Writer
}

func (l *lines) Write(b []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.w.Write(b)
}
