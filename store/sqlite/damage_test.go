package sqlite

import (
	"database/sql"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/footnotehq/footnote"
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
		path, seen := filepath.Join(tb.TempDir(), "footnote.db"), &told{}
		s, err := Open(tb.Context(), path, Options{Damaged: seen.damaged})
		if err != nil {
			tb.Fatal(err)
		}
		tb.Cleanup(func() { _ = s.Close() })
		exec := func(query string, args ...any) {
			tb.Helper()
			db, err := sql.Open("sqlite", path)
			if err == nil {
				_, err = db.Exec(query, args...)
			}
			if err != nil {
				tb.Fatal(err)
			}
			_ = db.Close()
			s.recent.forget() // as after a restart
		}
		const where = ` WHERE stream = (SELECT n FROM streams WHERE id = ?) AND seq = ?`
		return s, storetest.Harm{
			Body: func(stream string, seq int64, kind string, body []byte) {
				exec(`UPDATE events SET kind = ?, body = ?`+where, kind, string(body), stream, seq)
			},
			Drop: func(stream string, seq int64) { exec(`DELETE FROM events`+where, stream, seq) },
			Blob: func(digest footnote.Digest, data []byte) {
				exec(`UPDATE blobs SET data = ? WHERE digest = ?`, data, digest)
			},
			Told: seen.list,
		}
	})
}

// TestMalformedPage holds that a damaged page costs the events on it, and no others.
func TestMalformedPage(t *testing.T) {
	dir := t.TempDir()
	path := filepath.Join(dir, "footnote.db")
	long := strings.Repeat("a long text that needs pages of its own ", 2_000)
	s := open(t, dir)
	if err := s.Create(t.Context(), store.Stream{ID: "c1", Kind: "conversation", Org: "o", User: "u"}); err != nil {
		t.Fatal(err)
	}
	if _, err := s.Append(t.Context(), store.Append{Stream: "c1", Run: "run1", Bodies: []footnote.Body{
		footnote.UserMessage{Text: "one"}, footnote.UserMessage{Text: long}, footnote.UserMessage{Text: "three"},
	}}); err != nil {
		t.Fatal(err)
	}
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	breakOverflow(t, path)

	seen := &told{}
	s, err := Open(t.Context(), path, Options{Damaged: seen.damaged})
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	var got []footnote.Event
	for ev, err := range s.Events(t.Context(), "c1", 0) {
		if err != nil {
			t.Fatal(err)
		}
		got = append(got, ev)
	}
	check := func(events []footnote.Event) {
		t.Helper()
		if len(events) != 3 {
			t.Fatalf("%d events", len(events))
		}
		u, ok := events[1].Body.(footnote.Unreadable)
		if !ok || u.Kind != "user_message" || events[1].Run != "run1" || events[1].Seq != 2 {
			t.Errorf("the damaged event reads %.200v", events[1])
		}
		if last, ok := events[2].Body.(footnote.UserMessage); !ok || last.Text != "three" {
			t.Errorf("the event after it reads %.200v", events[2])
		}
	}
	check(got)
	tail, err := s.Tail(t.Context(), 0, 100)
	if err != nil {
		t.Fatal(err)
	}
	got = got[:0]
	for _, p := range tail {
		got = append(got, p.Event)
	}
	check(got)
	if !slices.Equal(seen.list(), []int64{2}) {
		t.Errorf("told of %v", seen.list())
	}
}

// breakOverflow ends the chain of pages of the long event with a page that is not there.
func breakOverflow(t *testing.T, path string) {
	t.Helper()
	data, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	size := int(data[16])<<8 | int(data[17])
	for at := size; at < len(data); at += size {
		if page := data[at : at+size]; strings.HasPrefix(string(page[4:]), "a long text") || strings.Contains(string(page[4:80]), "pages of its own") {
			copy(page, "\xff\xff\xff\xff")
			if err := os.WriteFile(path, data, 0o600); err != nil {
				t.Fatal(err)
			}
			return
		}
	}
	t.Fatal("there is no page to break")
}
