// Package redistest gives tests their own Redis, from the program that is installed on the machine: it
// listens only on a Unix socket in a temporary folder, may be killed or made to hang, and ends with the test.
package redistest

import (
	"context"
	"errors"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"syscall"
	"testing"
	"time"

	"github.com/footnotehq/footnote/internal/leash"
	"github.com/footnotehq/footnote/internal/redispool"
)

// Server is a Redis server.
type Server struct {
	dir, program string
	settings     []string
	process      *leash.Process // nil while it is not running
}

// New starts a server for one test. It stores nothing on disk, so a restart also empties it, unless the
// settings say otherwise. Settings are arguments of redis-server, such as "--appendonly", "yes".
func New(tb testing.TB, settings ...string) *Server {
	tb.Helper()
	s, err := Open(settings...)
	if err != nil {
		tb.Fatal(err)
	}
	tb.Cleanup(s.Remove)
	return s
}

// Open is New outside a test. The caller must remove the server.
func Open(settings ...string) (*Server, error) {
	program, err := exec.LookPath("redis-server")
	if err != nil {
		return nil, errors.New(
			"this needs the program redis-server. Run scripts/setup.sh test, or install your system's package redis")
	}
	// Do not use tb.TempDir: the path of a socket is limited to about 100 bytes.
	dir, err := os.MkdirTemp("", "footnote-redis-")
	if err != nil {
		return nil, err
	}
	s := &Server{dir: dir, program: program, settings: settings}
	if err := s.start(); err != nil {
		s.Remove()
		return nil, err
	}
	return s, nil
}

// URL returns the server's address, which stays the same after a restart.
func (s *Server) URL() string { return (&url.URL{Scheme: "unix", Path: s.Socket()}).String() }

// Socket returns the path of the server's socket.
func (s *Server) Socket() string { return filepath.Join(s.dir, "redis.sock") }

// Client returns connections to the server that are closed when the test ends.
func (s *Server) Client(tb testing.TB) *redispool.Pool {
	tb.Helper()
	c, err := redispool.Open(s.URL(), redispool.Options{Time: replyTime})
	if err != nil {
		tb.Fatal(err)
	}
	tb.Cleanup(func() { _ = c.Close() })
	return c
}

// replyTime limits the commands of a test.
const replyTime = 10 * time.Second

// Start restarts a server that was killed or stopped, and waits until it answers.
func (s *Server) Start(tb testing.TB) {
	tb.Helper()
	if err := s.start(); err != nil {
		tb.Fatal(err)
	}
}

func (s *Server) start() error {
	args := append([]string{
		"--port", "0", "--unixsocket", s.Socket(), "--dir", s.dir, "--save", "", "--appendonly", "no",
	}, s.settings...)
	cmd := exec.Command(s.program, args...)
	cmd.Dir = s.dir
	cmd.Env = []string{"PATH=" + os.Getenv("PATH"), "LC_ALL=C", "TZ=UTC"}
	leash.OwnGroup(cmd)
	process, err := leash.Start(cmd, "TERM")
	if err != nil {
		return err
	}
	s.process = process
	c, err := redispool.Open(s.URL(), redispool.Options{Time: replyTime})
	if err != nil {
		return err
	}
	defer c.Close()
	return process.Ready(func(ctx context.Context) error {
		_, err := c.Do(ctx, "PING")
		return err
	})
}

// Kill ends the server with SIGKILL.
func (s *Server) Kill(tb testing.TB) { tb.Helper(); s.end(tb, leash.Kill) }

// Stop stops the server as an operator would.
func (s *Server) Stop(tb testing.TB) { tb.Helper(); s.end(tb, leash.Terminate) }

// Freeze makes the server hang: it accepts connections and does not answer.
func (s *Server) Freeze(tb testing.TB) { tb.Helper(); s.send(tb, leash.Stop) }

// Thaw undoes Freeze.
func (s *Server) Thaw(tb testing.TB) { tb.Helper(); s.send(tb, leash.Continue) }

func (s *Server) send(tb testing.TB, signal syscall.Signal) {
	tb.Helper()
	if s.process == nil {
		tb.Fatal("redis does not run")
	}
	if err := s.process.Signal(signal); err != nil {
		tb.Fatal(err)
	}
}

func (s *Server) end(tb testing.TB, signal syscall.Signal) {
	tb.Helper()
	s.send(tb, signal)
	if err := s.process.Wait(); err != nil {
		tb.Fatal(err)
	}
	s.process = nil
}

// Remove stops the server and deletes its files.
func (s *Server) Remove() {
	if s.process != nil {
		_ = s.process.Signal(leash.Kill) // works for a frozen one, too
		_ = s.process.Wait()
	}
	_ = os.RemoveAll(s.dir)
}
