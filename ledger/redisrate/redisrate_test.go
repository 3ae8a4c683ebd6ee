package redisrate

import (
	"log/slog"
	"testing"
	"time"

	"github.com/footnotehq/footnote/internal/redistest"
	"github.com/footnotehq/footnote/ledger"
)

// TestServersShare checks that two servers together admit as many requests as the limit allows while Redis is
// available, and that each admits its half when Redis is down.
func TestServersShare(t *testing.T) {
	s := redistest.New(t)
	open := func() *Counter {
		c, err := Open(s.URL(), ledger.NewShare(2), slog.New(slog.DiscardHandler))
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { _ = c.Close() })
		c.reply = time.Minute // on a slow machine, too
		return c
	}
	a, b := open(), open()
	let := func(key string) (n int) {
		begun := time.Now()
		defer func() { n -= int(time.Since(begun) / (6 * time.Second)) }() // as many more may come
		for i := range 40 {
			c := []*Counter{a, b}[i%2]
			_, wait, err := c.Take(t.Context(), key, 10)
			if err != nil || wait > time.Minute {
				t.Fatal(wait, err)
			}
			if wait == 0 {
				n++
			}
		}
		return n
	}
	if n := let("k"); n < 9 || n > 10 {
		t.Errorf("%d of 10 were let through", n)
	}
	s.Kill(t)
	if n := let("l"); n < 9 || n > 10 {
		t.Errorf("without Redis %d of 10 were let through", n)
	}
	if _, err := Open("http://x", nil, nil); err == nil {
		t.Error("accepted an invalid address")
	}
}
