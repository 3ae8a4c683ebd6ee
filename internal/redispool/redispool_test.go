package redispool_test

import (
	"context"
	"strings"
	"testing"
	"time"

	"github.com/gomodule/redigo/redis"

	"github.com/footnotehq/footnote/internal/redispool"
	"github.com/footnotehq/footnote/internal/redistest"
)

func TestHost(t *testing.T) {
	for address, want := range map[string]string{
		"redis://one": "one", "redis://one:7000/2": "one", "rediss://user:pw@two.example:1": "two.example",
		"redis://": "localhost", "redis://[::1]:7": "::1", "redis://one?db=3": "one",
		"unix:///tmp/r.sock?db=2": "", "unix://:pw@/tmp/r.sock": "", "postgres://one": "", "shop.db": "", "": "",
	} {
		if got := redispool.Host(address); got != want {
			t.Errorf("Host(%q) = %q, want %q", address, got, want)
		}
	}
}

// TestRefusedAddresses checks that what cannot be understood is refused, without the password.
func TestRefusedAddresses(t *testing.T) {
	for _, address := range []string{
		"", "one", "http://:hush@one", "redis://:hush@one:port", "redis://:hush@%zz", "redis://:hush@one/two",
		"redis://:hush@one/-1", "redis://:hush@one/1?db=2", "redis://:hush@one?db=1&db=2",
		"redis://:hush@one?readonly=1",
		"unix://:hush@", "unix://:hush@host/r.sock", "redis:hush", "redis://:hush@one#x",
	} {
		if p, err := redispool.Open(address, redispool.Options{Time: time.Second}); err == nil {
			t.Errorf("Open(%q) = %v, want an error", address, p)
		} else if strings.Contains(err.Error(), "hush") {
			t.Errorf("Open(%q): %v: it has the password", address, err)
		}
	}
}

func open(t *testing.T, address string, o redispool.Options) *redispool.Pool {
	t.Helper()
	p, err := redispool.Open(address, o)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = p.Close() })
	return p
}

// TestPassword checks that the user, the password and the database of an address are used.
func TestPassword(t *testing.T) {
	s := redistest.New(t)
	admin := s.Client(t)
	if _, err := admin.Do(t.Context(), "ACL", "SETUSER", "ann", "on", ">secret", "~*", "+@all"); err != nil {
		t.Fatal(err)
	}
	with := func(user string) *redispool.Pool {
		return open(t, "unix://"+user+s.Socket()+"?db=3", redispool.Options{Time: time.Minute})
	}
	if name, err := redis.String(with("ann:secret@").Do(t.Context(), "ACL", "WHOAMI")); name != "ann" || err != nil {
		t.Errorf("the server knows us as %q, %v; want ann", name, err)
	}
	if _, err := with("ann:wrong@").Do(t.Context(), "PING"); err == nil || strings.Contains(err.Error(), "wrong") {
		t.Errorf("with a wrong password: %v", err)
	}
	if _, err := with("ann:secret@").Do(t.Context(), "SET", "k", "v"); err != nil {
		t.Fatal(err)
	}
	if got, err := admin.Do(t.Context(), "GET", "k"); got != nil || err != nil {
		t.Errorf("database 0 has the key: %v, %v", got, err)
	}
}

// TestTogether checks that a refused command of a transaction is an error.
func TestTogether(t *testing.T) {
	p := redistest.New(t).Client(t)
	err := p.Together(t.Context(), redispool.Command{"SET", "k", "v"}, redispool.Command{"LPUSH", "k", "x"})
	if _, refused := err.(interface{ Unwrap() []error }); !refused || !strings.Contains(err.Error(), "WRONGTYPE") {
		t.Errorf("Together = %v, want the server's refusal", err)
	}
	if got, err := redis.String(p.Do(t.Context(), "GET", "k")); got != "v" || err != nil {
		t.Errorf("then k is %q, %v", got, err)
	}
}

// TestWaits checks that commands wait for one of few connections, and no longer than their context.
func TestWaits(t *testing.T) {
	s := redistest.New(t)
	p := open(t, s.URL(), redispool.Options{Time: time.Minute, Conns: 1})
	busy := make(chan error, 1)
	go func() {
		_, err := p.Do(t.Context(), "BLPOP", "list", 0)
		busy <- err
	}()
	watch := s.Client(t)
	for {
		n, err := redis.String(watch.Do(t.Context(), "INFO", "clients"))
		if err != nil {
			t.Fatal(err)
		}
		if strings.Contains(n, "blocked_clients:1") {
			break
		}
	}
	short, cancel := context.WithTimeout(t.Context(), 20*time.Millisecond)
	defer cancel()
	if _, err := p.Do(short, "PING"); err == nil {
		t.Error("a command ran on a connection that is in use")
	}
	if _, err := watch.Do(t.Context(), "LPUSH", "list", "x"); err != nil {
		t.Fatal(err)
	}
	if err := <-busy; err != nil {
		t.Fatal(err)
	}
	if _, err := p.Do(t.Context(), "PING"); err != nil {
		t.Errorf("the connection is free, and %v", err)
	}
}
