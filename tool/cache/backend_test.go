package cache_test

import (
	"context"
	"encoding/json"
	"fmt"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/gomodule/redigo/redis"

	"github.com/footnotehq/footnote/internal/redispool"
	"github.com/footnotehq/footnote/internal/redistest"
	"github.com/footnotehq/footnote/tool/cache"
)

// TestMemoryIsBounded stores more than fits, in bytes and in entries.
func TestMemoryIsBounded(t *testing.T) {
	for _, c := range []struct {
		name          string
		bytes         int64
		entries, size int
		most, puts    int
	}{
		{name: "bytes", bytes: 1 << 20, entries: 1 << 20, size: 10_000, most: 105, puts: 2000},
		{name: "entries", bytes: 1 << 20, entries: 50, size: 10, most: 50, puts: 2000},
	} {
		t.Run(c.name, func(t *testing.T) {
			m, err := cache.NewMemory(c.bytes, c.entries)
			if err != nil {
				t.Fatal(err)
			}
			defer m.Close()
			for i := range c.puts {
				if err := m.Put(t.Context(), fmt.Sprint(i), "o", make([]byte, c.size), time.Hour); err != nil {
					t.Fatal(err)
				}
			}
			m.Settle()
			n := 0
			for i := range c.puts {
				if data, _ := m.Get(t.Context(), fmt.Sprint(i)); data != nil {
					n++
				}
			}
			if n == 0 || n > c.most {
				t.Fatalf("%d entries are kept, want 1 to %d", n, c.most)
			}
			if err := m.Put(t.Context(), "large", "o", make([]byte, c.bytes/2), time.Hour); err != nil {
				t.Fatal(err)
			}
			if data, _ := m.Get(t.Context(), "large"); data != nil {
				t.Fatal("one entry takes half of the room")
			}
		})
	}
}

// TestRedisOutage kills the server between calls and during one, makes it hang, and restarts it: every call is
// answered.
func TestRedisOutage(t *testing.T) {
	server := redistest.New(t)
	var now atomic.Int64
	later := func() { now.Add(int64(time.Minute)) } // after the pause
	r := inRedis(t, server, cache.RedisOptions{
		Time: 2 * time.Second,
		Now:  func() time.Time { return time.Unix(0, now.Load()) },
	})
	w, f := newRig(t, r), &fake{name: "run_query"}
	tool := w.Tool(f, rule)
	want := func(what string, hit bool) {
		t.Helper()
		if out := mustCall(t, tool, ask(`{}`)); out.CacheHit != hit || out.Rows == nil {
			t.Fatalf("%s: hit is %v, want %v", what, out.CacheHit, hit)
		}
	}
	want("at first", false)
	want("then", true)
	server.Kill(t)
	want("killed", false)
	failed := w.counts("failed get")
	if failed == 0 {
		t.Fatal("no failure was counted")
	}
	if err := w.Forget(t.Context(), "c1"); err == nil {
		t.Fatal("a server that is gone forgets")
	}
	server.Start(t)
	later()
	want("started again, empty", false)
	want("started again", true)
	server.Freeze(t)
	want("frozen", false)
	server.Thaw(t)
	later()
	want("thawed", true)
}

// TestRedisPauses checks that a server that failed is not contacted for a while.
func TestRedisPauses(t *testing.T) {
	server := redistest.New(t)
	var now atomic.Int64
	r := inRedis(t, server, cache.RedisOptions{
		Pause: time.Second,
		Now:   func() time.Time { return time.Unix(0, now.Load()) },
	})
	defer r.Close()
	ctx := t.Context()
	server.Kill(t)
	if _, err := r.Get(ctx, "k"); err == nil || err == cache.ErrPaused {
		t.Fatalf("a killed server: %v", err)
	}
	server.Start(t)
	if _, err := r.Get(ctx, "k"); err != cache.ErrPaused {
		t.Fatalf("in the pause: %v", err)
	}
	now.Add(int64(time.Second))
	if _, err := r.Get(ctx, "k"); err != nil {
		t.Fatalf("after the pause: %v", err)
	}
	gone, cancel := context.WithCancel(ctx)
	cancel()
	if _, err := r.Get(gone, "k"); err == nil {
		t.Fatal("no error for a caller that has gone")
	}
	if _, err := r.Get(ctx, "k"); err != nil {
		t.Fatalf("a caller that went stopped the others: %v", err)
	}
}

// TestHostileEntries writes hostile entries into Redis under the key of a call.
func TestHostileEntries(t *testing.T) {
	server := redistest.New(t)
	w, f := newRig(t, inRedis(t, server, cache.RedisOptions{})), &fake{name: "run_query"}
	tool, client := w.Tool(f, rule), server.Client(t)
	mustCall(t, tool, ask(`{}`))
	mustCall(t, tool, ask(`{"n":2}`))
	mine, good := entryOf(t, client, `{}`)
	change := func(name string, to any) string {
		var e map[string]any
		if err := json.Unmarshal([]byte(good), &e); err != nil {
			t.Fatal(err)
		}
		e[name] = to
		data, err := json.Marshal(e)
		if err != nil {
			t.Fatal(err)
		}
		return string(data)
	}
	poison := map[string]string{
		"nothing": " ", "no JSON": "{", "cut": good[:len(good)/2], "null": "null", "a list": "[]",
		"another shape": `{"rows":{}}`,
		"huge":          strings.Repeat("x", 20<<20), "huge JSON": good + strings.Repeat(" ", 9<<20),
		"deep":   strings.Repeat("[", 1<<20),
		"format": change("format", 2), "no key": change("key", nil), "key of another": change("key", "AAAA"),
		"future": change("made", "2036-01-01T00:00:00Z"), "past": change("made", "2006-01-01T00:00:00Z"),
		"mark": change("mark", ""), "short mark": change("mark", "r"), "pattern": change("mark", ".*"),
		"no statement": change("sql", ""), "cells": change("rows", []any{[]any{1}}),
		"too many cells": change("rows", []any{[]any{"a", 1, 2, 3}}),
		"nested cells":   change("rows", []any{[]any{[]any{}, 1, 2}}),
		"object cells":   change("rows", []any{[]any{map[string]any{"a": 1}, 1, 2}}),
		"rows":           change("rows", "none"), "columns": change("columns", make([]map[string]any, 5000)),
	}
	for name, data := range poison {
		t.Run(name, func(t *testing.T) {
			if _, err := client.Do(t.Context(), "SET", mine, data); err != nil {
				t.Fatal(err)
			}
			if out := mustCall(t, tool, ask(`{}`)); out.CacheHit {
				t.Fatalf("believed: %+v", out)
			}
			if out := mustCall(t, tool, ask(`{}`)); !out.CacheHit {
				t.Fatal("the bad entry was not replaced")
			}
		})
	}
	t.Run("the entry of another call", func(t *testing.T) {
		_, theirs := entryOf(t, client, `{"n":2}`)
		if _, err := client.Do(t.Context(), "SET", mine, theirs); err != nil {
			t.Fatal(err)
		}
		if out := mustCall(t, tool, ask(`{}`)); out.CacheHit {
			t.Fatalf("believed: %+v", out)
		}
	})
	t.Run("another type", func(t *testing.T) {
		if _, err := client.Do(t.Context(), "DEL", mine); err != nil {
			t.Fatal(err)
		}
		if _, err := client.Do(t.Context(), "LPUSH", mine, "x"); err != nil {
			t.Fatal(err)
		}
		if out := mustCall(t, tool, ask(`{}`)); out.CacheHit {
			t.Fatalf("believed: %+v", out)
		}
	})
}

// entryOf finds the entry whose rows name the given input.
func entryOf(t *testing.T, client *redispool.Pool, input string) (name, data string) {
	t.Helper()
	names, err := redis.Strings(client.Do(t.Context(), "KEYS", "footnote:cache:entry:*"))
	if err != nil {
		t.Fatal(err)
	}
	for _, name := range names {
		data, err := redis.String(client.Do(t.Context(), "GET", name))
		if err != nil {
			t.Fatal(err)
		}
		var e struct{ Rows [][]any }
		if json.Unmarshal([]byte(data), &e) == nil && strings.Contains(fmt.Sprint(e.Rows[0][0]), ": "+input+" #") {
			return name, data
		}
	}
	t.Fatalf("no entry for %s among %d", input, len(names))
	return "", ""
}

// TestRedisExpires checks that entries and the sets that list them expire.
func TestRedisExpires(t *testing.T) {
	server := redistest.New(t)
	r := inRedis(t, server, cache.RedisOptions{})
	defer r.Close()
	if err := r.Put(t.Context(), "k", "conversation", []byte("x"), time.Minute); err != nil {
		t.Fatal(err)
	}
	client := server.Client(t)
	keys, err := redis.Strings(client.Do(t.Context(), "KEYS", "*"))
	if err != nil || len(keys) != 2 {
		t.Fatalf("keys: %v, %v", keys, err)
	}
	for _, key := range keys {
		ttl, err := redis.Int64(client.Do(t.Context(), "PTTL", key))
		if err != nil || ttl <= 0 || ttl > (cache.MaxTTL+time.Minute).Milliseconds() {
			t.Errorf("%s stays for %d ms, %v", key, ttl, err)
		}
		if strings.Contains(key, "conversation") {
			t.Errorf("%s tells the conversation", key)
		}
	}
}

func TestOpenRedisHidesAddress(t *testing.T) {
	if _, err := cache.OpenRedis("redis://:secret@host:port:1/x", cache.RedisOptions{}); err == nil ||
		strings.Contains(err.Error(), "secret") {
		t.Fatalf("want an error without the password: %v", err)
	}
}

// TestSealedEntries checks that entries in Redis are unreadable without the secret, and that entries of another secret,
// of none, of another key or damaged ones count as missing.
func TestSealedEntries(t *testing.T) {
	server := redistest.New(t)
	open := func(secret string) cache.Backend {
		b, err := cache.OpenRedis(server.URL(), cache.RedisOptions{})
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { _ = b.Close() })
		if secret == "" {
			return b
		}
		s, err := cache.Sealed(b, secret)
		if err != nil {
			t.Fatal(err)
		}
		return s
	}
	const secret = "a secret of this test, which is long"
	plain, ours, theirs := open(""), open(secret), open("another secret, which is long, too")
	put := func(b cache.Backend, key, data string) {
		if err := b.Put(t.Context(), key, "conv_1", []byte(data), time.Minute); err != nil {
			t.Fatal(err)
		}
	}
	get := func(what string, b cache.Backend, key, want string) {
		if data, err := b.Get(t.Context(), key); err != nil || string(data) != want {
			t.Errorf("%s: %q, %v; want %q", what, data, err, want)
		}
	}
	put(ours, "k", "salaries")
	get("the same secret", open(secret), "k", "salaries")
	get("another secret", theirs, "k", "")
	raw, err := plain.Get(t.Context(), "k")
	if err != nil || len(raw) == 0 || strings.Contains(string(raw), "salaries") {
		t.Errorf("stored: %q, %v", raw, err)
	}
	put(plain, "moved", string(raw))
	get("moved to another key", ours, "moved", "")
	raw[len(raw)-1] ^= 1
	put(plain, "k", string(raw))
	get("damaged", ours, "k", "")
	put(plain, "k", "x")
	get("not encrypted", ours, "k", "")
	put(ours, "k", "again")
	if err := ours.Drop(t.Context(), "conv_1"); err != nil {
		t.Fatal(err)
	}
	get("dropped", ours, "k", "")
}
