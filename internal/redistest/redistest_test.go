package redistest

import (
	"context"
	"os"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"
)

// TestServer kills, restarts, freezes and stops a server, and checks that it leaves nothing behind.
func TestServer(t *testing.T) {
	s := New(t)
	c := s.Client(t)
	ctx := t.Context()
	if err := c.Set(ctx, "k", "v", 0).Err(); err != nil {
		t.Fatal(err)
	}
	s.Kill(t)
	if err := c.Get(ctx, "k").Err(); err == nil {
		t.Fatal("a killed server answers")
	}
	s.Start(t)
	if err := c.Get(ctx, "k").Err(); err != redis.Nil {
		t.Fatalf("a restarted server says %v, want that it has no such key", err)
	}
	s.Freeze(t)
	short, cancel := context.WithTimeout(ctx, 50*time.Millisecond)
	defer cancel()
	if err := s.Client(t).Ping(short).Err(); err == nil {
		t.Fatal("a frozen server answers")
	}
	s.Thaw(t)
	if err := c.Ping(ctx).Err(); err != nil {
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
	if err := c.Set(t.Context(), "k", "v", 0).Err(); err != nil {
		t.Fatal(err)
	}
	s.Kill(t)
	s.Start(t)
	if got, err := c.Get(t.Context(), "k").Result(); err != nil || got != "v" {
		t.Fatalf("after a restart: %q, %v", got, err)
	}
}
