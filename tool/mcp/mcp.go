// Package mcp makes the tools and resources of MCP servers available to assistants. A server is a program that this
// process starts, or an HTTP endpoint. Everything that a server sends is untrusted: its names are prefixed, its texts
// are cut and marked as its own, its schemas are checked, and nothing that it links to is fetched.
//
// Each server has one goroutine, which connects, lists what the server offers, and connects again when the connection
// ends. Tools always reads the newest list; a conversation keeps the definitions that it began with, and the engine
// refuses calls of a tool whose definition has changed since.
package mcp

import (
	"cmp"
	"context"
	"errors"
	"log/slog"
	"net/http"
	"path"
	"slices"
	"sync"
	"time"

	"github.com/footnotehq/footnote/tool"
)

// Prefix begins the names of all tools of MCP servers: mcp__server__tool.
const Prefix = "mcp__"

// Server describes how to reach one server, and which of its tools to use.
type Server struct {
	Name string // of letters, digits, - and _

	// Command starts a server that talks over its standard input and output. It gets Environment (as name=value) and
	// otherwise only the variables that programs need to run at all.
	Command     []string
	Environment []string
	Folder      string // the working directory; empty: a temporary one

	// URL is the endpoint of a server that is reached over HTTP instead, with Headers in each request.
	URL     string
	Headers map[string]string
	OAuth   *OAuth // nil: none

	Allow []string // names or globs of the server's tools; empty: all
	Deny  []string // wins over Allow
	Ask   []string // tools that count as changing something, whatever the server says

	Timeout   time.Duration // of a call
	Timeouts  map[string]time.Duration
	MaxOutput int // bytes of a result that the model reads
}

// OAuth holds the credentials with which this process gets tokens for itself (the client credentials grant).
type OAuth struct {
	ClientID, ClientSecret string
	Issuer                 string // that the credentials belong to; empty: the one that the server names
}

// Options configures Open.
type Options struct {
	Version string // of this program, for the servers
	Logger  *slog.Logger
	HTTP    http.RoundTripper // default: a copy of http.DefaultTransport
}

// Servers are the connections to all configured servers. The zero value has none.
type Servers struct {
	list []*connection
	stop context.CancelFunc
	wg   sync.WaitGroup
}

// errClosed is the cause of calls that end because the process stops.
var errClosed = errors.New("the server is shutting down")

// Open connects to servers in the background and stays connected until Close.
func Open(servers []Server, o Options) *Servers {
	ctx, stop := context.WithCancelCause(context.Background())
	s := &Servers{stop: func() { stop(errClosed) }}
	for _, server := range servers {
		c := newConnection(server, o)
		s.list = append(s.list, c)
		s.wg.Go(func() { c.run(ctx) })
	}
	return s
}

// Ready waits until every server has been tried once, or ctx ends.
func (s *Servers) Ready(ctx context.Context) {
	for _, c := range s.list {
		select {
		case <-c.tried:
		case <-ctx.Done():
			return
		}
	}
}

// Tools returns the tools that the named servers offer now, in a stable order. A server that cannot be reached keeps
// the tools of its last list, whose calls fail.
func (s *Servers) Tools(names []string) []tool.Tool {
	var all []tool.Tool
	for _, c := range s.list {
		if slices.Contains(names, c.server.Name) {
			all = append(all, c.current()...)
		}
	}
	return all
}

// Validate checks the input of a call of the tool with a name, against its newest schema.
func (s *Servers) Validate(name string, input []byte) error {
	for _, c := range s.list {
		for _, t := range c.current() {
			if t.Spec().Name == name {
				return t.(validated).validate(input)
			}
		}
	}
	return nil // the engine refuses unknown tools
}

// validated is implemented by all tools of this package.
type validated interface{ validate(input []byte) error }

// Close ends the connections and the programs, and waits for them.
func (s *Servers) Close() error {
	s.stop()
	s.wg.Wait()
	return nil
}

// Check connects to a server once and returns the names of the tools that it offers, and remarks on those that are
// left out.
func Check(ctx context.Context, server Server, o Options) (names, remarks []string, err error) {
	c := newConnection(server, o)
	session, end, err := c.connect(ctx)
	if err != nil {
		return nil, nil, err
	}
	defer end()
	tools, remarks, err := c.listTools(ctx, session)
	for _, t := range tools {
		names = append(names, t.Spec().Name)
	}
	return names, remarks, err
}

func (s Server) timeout(name string) time.Duration {
	if d, ok := s.Timeouts[name]; ok {
		return d
	}
	return s.Timeout
}

// offers reports whether a tool of the server is used.
func (s Server) offers(name string) bool {
	return !matches(s.Deny, name) && (len(s.Allow) == 0 || matches(s.Allow, name))
}

func matches(globs []string, name string) bool {
	return slices.ContainsFunc(globs, func(glob string) bool {
		ok, err := path.Match(glob, name)
		return ok && err == nil
	})
}

func logger(l *slog.Logger) *slog.Logger { return cmp.Or(l, slog.New(slog.DiscardHandler)) }
