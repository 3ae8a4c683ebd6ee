// Command serve runs the HTTP layer over scripted scenarios, for tests of clients that are not written in Go.
// It prints its base URL as the first line of its output, and exits at the end of its input.
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"log/slog"
	"net"
	"net/http"
	"os"
	"time"

	"github.com/footnotehq/footnote"
	"github.com/footnotehq/footnote/httpapi"
	"github.com/footnotehq/footnote/internal/clienttest"
	"github.com/footnotehq/footnote/protocol"
	"github.com/footnotehq/footnote/protocol/openai"
)

func main() {
	if err := run(os.Args[1:], os.Stdin, os.Stdout, os.Stderr); err != nil {
		fmt.Fprintln(os.Stderr, "serve:", err)
		os.Exit(1)
	}
}

func run(args []string, stdin io.Reader, stdout, stderr io.Writer) error {
	flags := flag.NewFlagSet("serve", flag.ContinueOnError)
	flags.SetOutput(stderr)
	key := flags.String("key", "test-key-1", "API key of the only user")
	limit := flags.Int64("body-limit", 64<<10, "largest body, in bytes")
	if err := flags.Parse(args); err != nil {
		return err
	}
	engine := clienttest.New()
	defer engine.Close()
	api, err := httpapi.New(httpapi.Options{
		Engine: engine, Log: engine, Hub: engine.Hub, BodyLimit: *limit,
		Protocols: []protocol.Protocol{openai.New(openai.Settings{})},
		Keys:      map[string]footnote.Principal{*key: {Org: "acme", User: "ada"}},
		Logger:    slog.New(slog.NewTextHandler(stderr, &slog.HandlerOptions{Level: slog.LevelWarn})),
	})
	if err != nil {
		return err
	}
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return err
	}
	srv := api.HTTPServer("")
	served := make(chan error, 1)
	go func() { served <- srv.Serve(l) }() // ended by Shutdown below
	fmt.Fprintf(stdout, "http://%s\n", l.Addr())
	_, _ = io.Copy(io.Discard, stdin)

	engine.Close()
	ctx, cancel := context.WithTimeout(context.Background(), 5*time.Second)
	defer cancel()
	err = srv.Shutdown(ctx)
	if serr := <-served; !errors.Is(serr, http.ErrServerClosed) {
		err = errors.Join(err, serr)
	}
	return err
}
