package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"sync"
	"syscall"

	"github.com/footnotehq/footnote/config"
	"github.com/footnotehq/footnote/internal/app"
)

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
	log := app.NewLogger(std.err, c, c.LogLevel)
	listener, err := listen(ctx, c.Listen)
	if err != nil {
		return err
	}
	defer listener.Close()
	stdout := &lines{w: std.out}
	a, err := app.New(ctx, c, app.Options{
		Version: version, Modules: modules(), Logger: log, Progress: loading(std.err), Out: stdout,
	})
	if err != nil {
		return err
	}
	fmt.Fprint(std.err, a.Policies())
	err = a.Serve(ctx, listener, func(address string) {
		if err := printJSON(stdout, readyLine{true, address}); err != nil {
			log.Warn("standard output is closed", "err", err)
		}
		if ready != nil {
			ready(address)
		}
	})
	return errors.Join(err, a.Close(ctx))
}

// readyLine is the first line on standard output. Scripts match it as text, so its order is fixed.
type readyLine struct {
	Ready  bool   `json:"ready"`
	Listen string `json:"listen"`
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
