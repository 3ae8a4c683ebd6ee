package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"path/filepath"
	"runtime"
	"runtime/debug"
	"sync"
	"syscall"

	"github.com/footnotehq/footnote/config"
	"github.com/footnotehq/footnote/demo"
	"github.com/footnotehq/footnote/internal/app"
	"github.com/footnotehq/footnote/source/duckdb"
)

type serveCmd struct {
	Listen string `help:"Address and port." placeholder:"ADDRESS"`
}

// Run executes the command.
func (cmd *serveCmd) Run(ctx context.Context, c config.Config, std streams) error {
	return serve(ctx, c, std, nil)
}

// serve runs the server until ctx ends, then waits for the running answers. It calls ready with the address once the
// server accepts requests; ready may be nil.
func serve(ctx context.Context, c config.Config, std streams, ready func(address string)) error {
	listener, err := listen(ctx, c.Listen)
	if err != nil {
		return err
	}
	defer listener.Close()
	stdout := &lines{w: std.out}
	o := options(c, std, c.LogLevel)
	o.Out, o.Progress = stdout, loading(std.err)
	a, err := app.New(ctx, c, o)
	if err != nil {
		return err
	}
	fmt.Fprint(std.err, a.Policies())
	err = a.Serve(ctx, listener, func(address string) {
		if err := printJSON(stdout, readyLine{true, address}); err != nil {
			o.Logger.Warn("standard output is closed", "err", err)
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

// version is set by the release build.
var version = "dev"

type versionCmd struct{}

// Run executes the command.
func (versionCmd) Run(std streams) error {
	revision := ""
	if info, ok := debug.ReadBuildInfo(); ok {
		for _, s := range info.Settings {
			if s.Key == "vcs.revision" {
				revision = " (" + s.Value[:min(12, len(s.Value))] + ")"
			}
		}
	}
	files := "with DuckDB: CSV, Parquet, JSON and XLSX files can be opened"
	if !duckdb.Available {
		files = "without DuckDB: SQLite files can be opened"
	}
	_, err := fmt.Fprintf(std.out, "footnote %s%s, %s, %s\n", version, revision, runtime.Version(), files)
	return err
}

type seedDemoCmd struct {
	Path string `arg:"" optional:"" default:"shop.db" help:"Where to write it."`
}

// Run executes the command.
func (cmd *seedDemoCmd) Run(ctx context.Context, std streams) error {
	if err := demo.Write(ctx, cmd.Path); err != nil {
		return err
	}
	_, err := fmt.Fprintln(std.out, cmd.Path)
	return err
}

type demoCmd struct {
	Listen string `help:"Address and port." placeholder:"ADDRESS"`
}

// demoContext returns the configured context folder or, without one, the demo's.
func demoContext(c config.Config) (string, error) {
	if c.Context != "" {
		return c.Context, nil
	}
	return app.DemoContext(c.Data)
}

// Run executes the command.
func (cmd *demoCmd) Run(ctx context.Context, s *settings, c config.Config, std streams) (err error) {
	if len(s.Source) == 0 {
		if c.Sources, err = app.DemoShop(ctx, c.Data); err != nil {
			return err
		}
		if c.Context, err = demoContext(c); err != nil {
			return err
		}
	}
	if c.Workspace == "" {
		if c.Workspace, err = app.DemoWorkspaces(c.Data); err != nil {
			return err
		}
	}
	if c.Market.Store == "" {
		c.Market.Store = config.Secret(filepath.Join(c.Data, config.DemoMarket))
	}
	return serve(ctx, c, std, func(address string) {
		fmt.Fprintf(std.err, `
The demo shop is being served at http://%s
Ask it something:

  curl -s http://%s/v1/chat/completions -H 'content-type: application/json' \
    -d '{"model":"analyst","messages":[{"role":"user","content":%q}]}'

or: bin/footnote ask --data %s %q        (stop the server with Ctrl+C)
`, address, address, demo.Questions()[0], c.Data, demo.Questions()[0])
	})
}
