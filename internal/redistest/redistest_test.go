package redistest

import (
	"context"
	"os"
	"testing"
	"time"

	"github.com/gomodule/redigo/redis"
)

// TestServer kills, restarts, freezes and stops a server, and checks that it leaves nothing behind.
func TestServer(t *testing.T) {
	s := New(t)
	c := s.Client(t)
	ctx := t.Context()
	if _, err := c.Do(ctx, "SET", "k", "v"); err != nil {
		t.Fatal(err)
	}
	s.Kill(t)
	if _, err := c.Do(ctx, "GET", "k"); err == nil {
		t.Fatal("a killed server answers")
	}
	s.Start(t)
	if got, err := c.Do(ctx, "GET", "k"); got != nil || err != nil {
		t.Fatalf("a restarted server says %v, %v, want that it has no such key", got, err)
	}
	s.Freeze(t)
	short, cancel := context.WithTimeout(ctx, 50*time.Millisecond)
	defer cancel()
	if _, err := s.Client(t).Do(short, "PING"); err == nil {
		t.Fatal("a frozen server answers")
	}
	s.Thaw(t)
	if _, err := c.Do(ctx, "PING"); err != nil {
		t.Fatal(err)
	}
	s.Stop(t)
	dir := s.dir
	s.Remove()
	if _, err := os.Stat(dir); !os.IsNotExist(err) {
		t.Fatalf("%s is left: %v", dir, err)
	}
}

// TestKept restarts a server that stores its data on disk.
func TestKept(t *testing.T) {
	s := New(t, "--appendonly", "yes", "--appendfsync", "always")
	c := s.Client(t)
	if _, err := c.Do(t.Context(), "SET", "k", "v"); err != nil {
		t.Fatal(err)
	}
	s.Kill(t)
	s.Start(t)
	if got, err := redis.String(c.Do(t.Context(), "GET", "k")); err != nil || got != "v" {
		t.Fatalf("after a restart: %q, %v", got, err)
	}
}
