package app

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/http"
	"sync"
	"time"

	"github.com/footnotehq/footnote"
	"github.com/footnotehq/footnote/config"
	"github.com/footnotehq/footnote/httpapi"
	"github.com/footnotehq/footnote/store/retention"
)

// auditGrace limits how long the audit may take to catch up at shutdown.
const auditGrace = 5 * time.Second

// Serve serves what has been opened until ctx ends and all running work has ended. It calls ready with the address
// once the server accepts requests. Every goroutine that it starts has ended when it returns.
func (a *App) Serve(ctx context.Context, listener net.Listener, ready func(address string)) error {
	limitHeap(a.cfg)
	api, err := a.API()
	if err != nil {
		return &config.Invalid{Err: err}
	}
	a.gauges()
	job, err := a.retention(func(d retention.Deleted) error { return a.audit.Note(d) }, time.Now)
	if err != nil {
		return err
	}
	tests, err := a.newTester()
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
	server := api.HTTPServer(a.cfg.Listen)
	var unused unusedConns
	bounded := server.ConnState
	server.ConnState = func(c net.Conn, state http.ConnState) { unused.note(c, state); bounded(c, state) }
	failed := make(chan error, 1)
	go func() { failed <- server.Serve(listener) }() // returns after shutdown
	a.announce(listener.Addr().String())
	ready(listener.Addr().String())

	following, stopFollowing := context.WithCancel(context.WithoutCancel(ctx))
	defer stopFollowing()
	followed := make(chan struct{})
	go func() { defer close(followed); a.audit.Run(following, auditGrace) }()

	follow := func(ctx context.Context) { a.flagged.Follow(ctx, a.log) }
	jobs := []func(context.Context){job.Run, a.resultsExpiry(time.Now).Run, a.warnOfEmptySources, follow}
	if tests != nil {
		jobs = append(jobs, tests.Run)
	}
	defer runJobs(ctx, jobs...)()
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

// announce logs the address, and the servers that receive data.
func (a *App) announce(address string) {
	a.log.Info("serving", "listen", address, "model", a.describe(), "sources", a.sources.names(), "data", a.cfg.Data)
	for _, name := range a.sources.names() {
		src := a.sources[name]
		proof := a.children.databases.Proof(src)
		a.log.Info("source is read-only", "source", name, "engine", src.Dialect().Name, "strength", proof.Strength,
			"tested_on", proof.TestedOn)
	}
	if services := a.externalServices(); len(services) > 0 {
		a.log.Info("data is sent to", services...)
	}
	if a.cfg.Auth.Required {
		a.log.Info("callers need a key, from footnote keys or api_keys")
	}
	if a.unconfined != nil {
		a.log.Warn("the coder has no Bash", "reason", a.unconfined)
	}
	if len(a.sources) == 0 {
		a.log.Warn("there are no sources to ask about. Name one with --source or FOOTNOTE_SOURCES")
	}
}

// schemaTime limits how long warnOfEmptySources waits for a source.
const schemaTime = 30 * time.Second

// warnOfEmptySources warns of configured sources that have no tables: nothing about them can be answered. Often the
// address names another database than the one that was meant.
func (a *App) warnOfEmptySources(ctx context.Context) {
	for _, name := range a.sources.names() {
		ctx, cancel := context.WithTimeout(ctx, schemaTime)
		s, err := a.sources[name].Schema(ctx)
		cancel()
		if err == nil && len(s.Tables) == 0 {
			a.log.Warn("a source has no tables; check its path or URL", "source", name)
		}
	}
}

// externalServices returns the external programs that receive data, by role, as log attributes. Most settings that name
// one can come from environment variables meant for other programs.
func (a *App) externalServices() []any {
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
	add("webhook of tests", webhookHost(string(a.cfg.Tests.Webhook)))
	return out
}

const (
	readerGrace  = 5 * time.Second        // for readers to receive the end, and for open requests
	requestGrace = 500 * time.Millisecond // for the request on a new connection to arrive
)

// shutdown rejects new work, waits for the running answers, and then ends the streams. It disconnects clients that
// are still not done after that, which does not count as a server failure.
func (a *App) shutdown(server *http.Server, conns *unusedConns, api *httpapi.Server, drain time.Duration) error {
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
// advance. Shutdown of net/http treats them as idle only after 5 s.
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

func (a *App) gauges() {
	a.metrics.Gauge("footnote_audit_lag_events", "Number of events that the audit lags behind the log.", a.audit.Lag)
	a.metrics.Gauge("footnote_live_readers", "Readers of live streams.", func() int64 { return int64(a.hub.Readers()) })
}

// runJobs runs jobs until stop is called. stop waits for their end.
func runJobs(ctx context.Context, jobs ...func(context.Context)) (stop func()) {
	ctx, cancel := context.WithCancel(ctx)
	var wg sync.WaitGroup
	for _, job := range jobs {
		wg.Go(func() { job(ctx) })
	}
	return func() { cancel(); wg.Wait() }
}
