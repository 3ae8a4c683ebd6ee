package mcp

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"math/rand/v2"
	"strings"
	"sync"
	"time"

	sdk "github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/footnotehq/footnote/tool"
)

// Limits of a connection.
const (
	connectTime = 30 * time.Second       // to connect and list the tools
	minBackoff  = 500 * time.Millisecond // before the second attempt to connect
	maxBackoff  = time.Minute
	relistEvery = time.Second     // a server that keeps changing its tools is asked this often
	relistAfter = 5 * time.Minute // one that says nothing is asked this often
)

// connection is the connection to one server.
type connection struct {
	server  Server
	opts    Options
	log     *slog.Logger
	tried   chan struct{} // closed when the first attempt has ended
	changed chan struct{} // the server says that its tools have changed
	broken  chan error    // a call found that the connection is of no use any more

	mu      sync.Mutex // guards below
	session *sdk.ClientSession
	tools   []tool.Tool
	problem error // why there is no session
}

func newConnection(server Server, o Options) *connection {
	return &connection{
		server: server, opts: o, log: logger(o.Logger).With("mcp_server", server.Name),
		tried: make(chan struct{}), changed: make(chan struct{}, 1), broken: make(chan error, 1),
		problem: errors.New("it is still being connected"),
	}
}

func (c *connection) current() []tool.Tool {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.tools
}

// live returns the session, or why there is none.
func (c *connection) live() (*sdk.ClientSession, error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.session, c.problem
}

// run keeps the connection until ctx ends.
func (c *connection) run(ctx context.Context) {
	first := true
	for wait := minBackoff; ctx.Err() == nil; wait = min(2*wait, maxBackoff) {
		begun := time.Now()
		err := c.serve(ctx, func() {
			if first {
				close(c.tried)
				first = false
			}
		})
		if first {
			close(c.tried)
			first = false
		}
		if ctx.Err() != nil {
			return
		}
		c.log.Warn("no connection to an MCP server; trying again", "err", err, "wait", wait)
		if time.Since(begun) > maxBackoff {
			wait = minBackoff
		}
		select {
		case <-ctx.Done():
		case <-time.After(wait/2 + rand.N(wait)): // servers that stopped together must not be asked together
		}
	}
}

// serve connects, and returns why the connection ended. It calls ready when the tools are listed.
func (c *connection) serve(ctx context.Context, ready func()) (err error) {
	defer func() {
		c.mu.Lock()
		defer c.mu.Unlock()
		c.session, c.problem = nil, err
	}()
	limited, cancel := context.WithTimeoutCause(ctx, connectTime, fmt.Errorf("it took longer than %s", connectTime))
	defer cancel()
	session, end, err := c.connect(limited)
	if err != nil {
		return cause(limited, err)
	}
	defer end()
	if err := c.list(limited, session); err != nil {
		return cause(limited, err)
	}
	cancel()
	ready()
	select {
	case <-c.broken: // of an earlier session
	default:
	}
	refresh := time.NewTicker(relistAfter) // over HTTP, nothing else would notice that a server is gone
	defer refresh.Stop()
	ended := make(chan error, 1)
	go func() { ended <- session.Wait() }() // end makes it return
	for {
		select {
		case <-ctx.Done():
			return context.Cause(ctx)
		case err := <-ended:
			if err == nil {
				err = errors.New("it ended the connection")
			}
			return err
		case err := <-c.broken:
			return err
		case <-refresh.C:
			c.noteChange()
		case <-c.changed:
			limited, cancel := context.WithTimeout(ctx, connectTime)
			err := c.list(limited, session)
			cancel()
			if err != nil {
				return err
			}
			select {
			case <-ctx.Done():
			case <-time.After(relistEvery):
			}
		}
	}
}

// list reads and publishes the tools of a session.
func (c *connection) list(ctx context.Context, session *sdk.ClientSession) error {
	tools, remarks, err := c.listTools(ctx, session)
	if err != nil {
		return err
	}
	if len(remarks) > 0 {
		c.log.WarnContext(ctx, "left out tools of an MCP server", "why", strings.Join(remarks, "; "))
	}
	c.log.InfoContext(ctx, "connected to an MCP server", "tools", len(tools))
	c.mu.Lock()
	defer c.mu.Unlock()
	c.session, c.tools, c.problem = session, tools, nil
	return nil
}

// connect opens a session. The caller must call end.
func (c *connection) connect(ctx context.Context) (_ *sdk.ClientSession, end func(), err error) {
	client := sdk.NewClient(&sdk.Implementation{Name: "footnote", Version: c.opts.Version}, &sdk.ClientOptions{
		Capabilities:           &sdk.ClientCapabilities{}, // no roots, no sampling, no questions to the user
		Logger:                 slog.New(slog.DiscardHandler),
		ToolListChangedHandler: func(context.Context, *sdk.ToolListChangedRequest) { c.noteChange() },
	})
	transport, stop, err := c.transport()
	if err != nil {
		return nil, nil, err
	}
	session, err := client.Connect(ctx, transport, nil)
	if err != nil {
		stop()
		return nil, nil, fmt.Errorf("connect: %w", err)
	}
	return session, func() {
		done := make(chan struct{})
		go func() { defer close(done); session.Close() }()
		select {
		case <-done: // over HTTP, this ends the session on the server
		case <-time.After(closeTime):
		}
		stop()
		<-done
	}, nil
}

func (c *connection) noteChange() {
	select {
	case c.changed <- struct{}{}:
	default:
	}
}

// cause replaces the error of an attempt that took too long.
func cause(ctx context.Context, err error) error {
	if ctx.Err() != nil {
		return context.Cause(ctx)
	}
	return err
}

// drop ends the connection of a session that failed, so that run connects again.
func (c *connection) drop(session *sdk.ClientSession, err error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.session != session {
		return
	}
	c.session, c.problem = nil, err
	select {
	case c.broken <- err:
	default:
	}
}
