package redis_test

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/footnotehq/footnote/hub/relay/redis"
	"github.com/footnotehq/footnote/internal/redistest"
)

func open(t *testing.T, url string) *redis.Pipe {
	t.Helper()
	p, err := redis.Open(url)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = p.Close() })
	return p
}

// TestPipe checks that each reader gets the entries in order and once, that streams are limited and expire,
// and that a killed server is an error until it is back.
func TestPipe(t *testing.T) {
	server := redistest.New(t)
	a, b := open(t, server.URL()), open(t, server.URL())
	ctx := t.Context()
	if entries, next, err := b.Receive(ctx, "run:0", "", time.Millisecond); err != nil || len(entries) != 0 ||
		next != "0" {
		t.Fatalf("%v, %q, %v of a key that is not there", entries, next, err)
	}
	for i := range 450 {
		if err := a.Send(ctx, "run:0", fmt.Append(nil, i)); err != nil {
			t.Fatal(err)
		}
	}
	var got []string
	for next := ""; len(got) < 450; {
		entries, after, err := b.Receive(ctx, "run:0", next, time.Minute)
		if err != nil {
			t.Fatal(err)
		}
		for _, e := range entries {
			got = append(got, string(e))
		}
		next = after
	}
	for i, s := range got {
		if s != fmt.Sprint(i) {
			t.Fatalf("entry %d is %q", i, s)
		}
	}
	client := server.Client(t)
	key := "footnote:live:run:0"
	if left, err := client.Do(ctx, "PTTL", key); err != nil || left.(int64) <= 0 || left.(int64) > 5*60_000 {
		t.Errorf("it is kept for %v ms, %v", left, err)
	}
	for range 9000 {
		if err := a.Send(ctx, "run:0", []byte("x")); err != nil {
			t.Fatal(err)
		}
	}
	if n, err := client.Do(ctx, "XLEN", key); err != nil || n.(int64) > 5000 {
		t.Errorf("%v entries are kept, %v", n, err)
	}
	// Entries that are not ours.
	if _, err := client.Do(ctx, "XADD", "footnote:live:odd:0", "*", "f", "v"); err != nil {
		t.Fatal(err)
	}
	if entries, _, err := b.Receive(ctx, "odd:0", "", time.Millisecond); err != nil || len(entries) != 1 ||
		len(entries[0]) != 0 {
		t.Errorf("entry of another program: got %q, %v", entries, err)
	}
	if _, err := client.Do(ctx, "SET", "footnote:live:text:0", "v"); err != nil {
		t.Fatal(err)
	}
	if _, _, err := b.Receive(ctx, "text:0", "", time.Millisecond); err == nil {
		t.Error("reading a key that is not a stream returned no error")
	}
	server.Kill(t)
	if err := a.Send(ctx, "run:0", nil); err == nil {
		t.Error("an entry was sent to a server that was killed")
	}
	if _, _, err := b.Receive(ctx, "run:0", "", time.Minute); err == nil {
		t.Error("a server that was killed gave entries")
	}
	server.Start(t)
	if err := a.Send(ctx, "run:0", nil); err != nil {
		t.Errorf("the server is back, and %v", err)
	}
}

func TestOpenHidesPassword(t *testing.T) {
	for _, url := range []string{
		"", "http://me:hush@x", "redis://me:hush@x:port", "redis://me:hush@%zz", "redis://me:hush@x/notanumber",
	} {
		if _, err := redis.Open(url); err == nil || strings.Contains(err.Error(), "hush") {
			t.Errorf("Open(%q): %v", url, err)
		}
	}
}
