package postgres

import (
	"slices"
	"sync"
	"testing"

	"github.com/jackc/pgx/v5"

	"github.com/footnotehq/footnote"
	"github.com/footnotehq/footnote/internal/pgtest"
	"github.com/footnotehq/footnote/store"
	"github.com/footnotehq/footnote/store/storetest"
)

// told gathers the events that a store has told of.
type told struct {
	mu  sync.Mutex
	seq []int64
}

func (d *told) damaged(_ string, seq int64, _ string) {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.seq = append(d.seq, seq)
}

func (d *told) list() []int64 {
	d.mu.Lock()
	defer d.mu.Unlock()
	return slices.Clone(d.seq)
}

func TestDamage(t *testing.T) {
	storetest.RunDamage(t, func(tb testing.TB) (store.Movable, storetest.Harm) {
		url, seen := pgtest.Database(tb), &told{}
		s := openAt(tb, url, Options{Damaged: seen.damaged})
		exec := func(query string, args ...any) {
			tb.Helper()
			c, err := pgx.Connect(tb.Context(), url)
			if err != nil {
				tb.Fatal(err)
			}
			defer c.Close(tb.Context())
			if _, err := c.Exec(tb.Context(), query, args...); err != nil {
				tb.Fatal(err)
			}
		}
		const where = ` WHERE stream = (SELECT n FROM footnote.streams WHERE id = $1) AND seq = $2`
		return s, storetest.Harm{
			Body: func(stream string, seq int64, kind string, body []byte) {
				exec(`UPDATE footnote.events SET kind = $3, body = $4`+where, stream, seq, kind, string(body))
			},
			Drop: func(stream string, seq int64) { exec(`DELETE FROM footnote.events`+where, stream, seq) },
			Blob: func(digest footnote.Digest, data []byte) {
				exec(`UPDATE footnote.blobs SET data = $1 WHERE digest = $2`, data, digest)
			},
			Told: seen.list,
		}
	})
}

// TestLostValue holds that a value whose parts are gone costs its event, and no others.
func TestLostValue(t *testing.T) {
	url := pgtest.Database(t)
	s := openAt(t, url, Options{})
	if err := s.Create(t.Context(), store.Stream{ID: "c1", Kind: "conversation", Org: "o", User: "u"}); err != nil {
		t.Fatal(err)
	}
	long := make([]byte, 200_000) // letters that do not compress well
	for i, x := 0, uint32(1); i < len(long); i++ {
		x = x*1664525 + 1013904223
		long[i] = 'A' + byte(x>>24)%58
		if long[i] == '\\' {
			long[i] = '-'
		}
	}
	if _, err := s.Append(t.Context(), store.Append{Stream: "c1", Run: "run1", Bodies: []footnote.Body{
		footnote.UserMessage{Text: "one"}, footnote.UserMessage{Text: string(long)}, footnote.UserMessage{Text: "three"},
	}}); err != nil {
		t.Fatal(err)
	}
	c, err := pgx.Connect(t.Context(), url)
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close(t.Context())
	var toast string
	if err := c.QueryRow(t.Context(), `SELECT reltoastrelid::regclass::text FROM pg_class WHERE oid = 'footnote.events'::regclass`).Scan(&toast); err != nil {
		t.Fatal(err)
	}
	// The rows of the table that holds the long values are taken away.
	for _, query := range []string{
		"SET allow_system_table_mods = on",
		"UPDATE pg_class SET relkind = 'r' WHERE oid = '" + toast + "'::regclass",
		"DELETE FROM " + toast,
		"UPDATE pg_class SET relkind = 't' WHERE oid = '" + toast + "'::regclass",
	} {
		if _, err := c.Exec(t.Context(), query); err != nil {
			t.Fatal(err)
		}
	}
	var kinds []string
	for ev, err := range s.Events(t.Context(), "c1", 0) {
		if err != nil {
			t.Fatal(err)
		}
		kinds = append(kinds, footnote.KindOf(ev.Body))
	}
	want := []string{"user_message", "unreadable", "user_message"}
	if !slices.Equal(kinds, want) {
		t.Errorf("the conversation reads %v", kinds)
	}
	kinds = nil
	tail, err := s.Tail(t.Context(), 0, 10)
	if err != nil {
		t.Fatal(err)
	}
	for _, p := range tail {
		kinds = append(kinds, footnote.KindOf(p.Body))
	}
	if !slices.Equal(kinds, want) {
		t.Errorf("the tail reads %v", kinds)
	}
}
