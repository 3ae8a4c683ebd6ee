package sqlite

import (
	"bytes"
	"context"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/footnotehq/footnote"
	"github.com/footnotehq/footnote/store"
)

// TestMalformedPage checks that a damaged page makes only its own events unreadable.
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

	var seen []int64
	report := func(_ string, seq int64, _ string) { seen = append(seen, seq) }
	s, err := Open(t.Context(), path, Options{Damaged: report})
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
	if !slices.Equal(seen, []int64{2}) {
		t.Errorf("the store reported %v", seen)
	}
}

// TestDeleteOnMalformedPage deletes a conversation with rows on a malformed page. Afterwards nothing of it may be
// readable, especially not in the conversation that is created next.
func TestDeleteOnMalformedPage(t *testing.T) {
	const short = "a short text that stays on the page"
	long := strings.Repeat("a long text that needs pages of its own ", 2_000)
	for name, test := range map[string]struct {
		text string
		harm func(testing.TB, string)
		left int // reports of rows that stay in the database
	}{
		"overflow": {long, breakOverflow, 0}, // SQLite finds the rest of the chain by its map of pages
		"leaf":     {short, func(tb testing.TB, path string) { breakPage(tb, path, short) }, 1},
	} {
		t.Run(name, func(t *testing.T) {
			path := damagedFile(t, test.text, test.harm)
			var reports []string
			s, err := Open(t.Context(), path, Options{Damaged: func(stream string, seq int64, reason string) {
				if stream == "damaged" && seq == 0 {
					reports = append(reports, reason)
				}
			}})
			must(t, err)
			defer func() { must(t, s.Close()) }()
			must(t, s.Delete(t.Context(), "damaged"))
			if len(reports) != test.left {
				t.Errorf("%d reports of leftover blobs, want %d: %q", len(reports), test.left, reports)
			}
			for _, report := range reports {
				for _, want := range []string{"some of its events remain in the database", "footnote export"} {
					if !strings.Contains(report, want) {
						t.Errorf("the report %q lacks %q", report, want)
					}
				}
			}
			if _, err := s.Get(t.Context(), "damaged"); footnote.CodeOf(err) != footnote.NotFound {
				t.Errorf("the deleted conversation: %v", err)
			}
			must(t, s.Create(t.Context(), store.Stream{ID: "next", Kind: "conversation", Org: "o", User: "other"}))
			mine := []footnote.Body{footnote.UserMessage{Text: "mine"}}
			_, err = s.Append(t.Context(), store.Append{Stream: "next", Bodies: mine})
			must(t, err)
			s.recent.forget()
			if got := textsOf(t, s, "next"); !slices.Equal(got, []string{"mine"}) {
				t.Errorf("the next conversation reads %.200q", got)
			}
			if got := textsOf(t, s, "whole"); len(got) != 200 {
				t.Errorf("the conversation on other pages has %d events, want 200", len(got))
			}
		})
	}
}

// TestDropBlobsOnMalformedPage checks that blobs outside the malformed page are dropped.
func TestDropBlobsOnMalformedPage(t *testing.T) {
	const text = "a short text that stays on the page"
	dir := t.TempDir()
	s := open(t, dir)
	must(t, s.Create(t.Context(), store.Stream{ID: "c1", Kind: "document", Org: "o", User: "u"}))
	blobs := map[footnote.Digest][]byte{}
	for i := range 200 {
		data := []byte(text + strconv.Itoa(i))
		blobs[footnote.DigestOf(data)] = data
	}
	bodies := []footnote.Body{footnote.UserMessage{Text: "one"}}
	_, err := s.Append(t.Context(), store.Append{Stream: "c1", Bodies: bodies, Blobs: blobs})
	must(t, err)
	must(t, s.Close())
	path := filepath.Join(dir, "footnote.db")
	breakPage(t, path, text)

	var reports int
	s, err = Open(t.Context(), path, Options{Damaged: func(string, int64, string) { reports++ }})
	must(t, err)
	defer func() { must(t, s.Close()) }()
	must(t, s.DropBlobs(t.Context(), "c1", slices.Collect(maps.Keys(blobs))))
	if reports == 0 || reports > len(blobs)/2 {
		t.Errorf("%d of %d blobs could not be dropped; those of one page cannot", reports, len(blobs))
	}
}

// damagedFile creates a file with the conversations "whole" and "damaged". harm breaks a page of the latter.
func damagedFile(t *testing.T, text string, harm func(testing.TB, string)) (path string) {
	t.Helper()
	dir := t.TempDir()
	path = filepath.Join(dir, "footnote.db")
	s := open(t, dir)
	for id, body := range map[string]footnote.Body{
		"whole":   footnote.UserMessage{Text: strings.Repeat("x", 300)},
		"damaged": footnote.UserMessage{Text: text},
	} {
		must(t, s.Create(t.Context(), store.Stream{ID: id, Kind: "conversation", Org: "o", User: "u"}))
		_, err := s.Append(t.Context(), store.Append{Stream: id, Bodies: slices.Repeat([]footnote.Body{body}, 200)})
		must(t, err)
	}
	must(t, s.Close())
	harm(t, path)
	return path
}

// textsOf returns the messages of a conversation, with "?" for an unreadable one.
func textsOf(t *testing.T, s *Store, id string) (texts []string) {
	t.Helper()
	for ev, err := range s.Events(t.Context(), id, 0) {
		must(t, err)
		m, ok := ev.Body.(footnote.UserMessage)
		if !ok {
			m.Text = "?"
		}
		texts = append(texts, m.Text)
	}
	return texts
}

// breakPage overwrites the type byte of a page in the middle of the pages that contain a text.
func breakPage(tb testing.TB, path, text string) {
	tb.Helper()
	data, err := os.ReadFile(path)
	if err != nil {
		tb.Fatal(err)
	}
	size := int(data[16])<<8 | int(data[17])
	var full []int
	for at := size; at < len(data); at += size {
		if bytes.Count(data[at:at+size], []byte(text)) > 10 {
			full = append(full, at)
		}
	}
	if len(full) < 3 {
		tb.Fatalf("%d pages hold the text, want 3", len(full))
	}
	data[full[len(full)/2]] = 0xff
	if err := os.WriteFile(path, data, 0o600); err != nil {
		tb.Fatal(err)
	}
}

// breakOverflow makes the chain of overflow pages of the long event end in a page that does not exist.
func breakOverflow(t testing.TB, path string) {
	t.Helper()
	data, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	size := int(data[16])<<8 | int(data[17])
	for at := size; at < len(data); at += size {
		page := data[at : at+size]
		if strings.HasPrefix(string(page[4:]), "a long text") ||
			strings.Contains(string(page[4:80]), "pages of its own") {
			copy(page, "\xff\xff\xff\xff")
			if err := os.WriteFile(path, data, 0o600); err != nil {
				t.Fatal(err)
			}
			return
		}
	}
	t.Fatal("there is no page to break")
}

// TestTailSkips checks that reading around damage skips unused positions instead of trying each of them: there are so
// many here that the read would never end.
func TestTailSkips(t *testing.T) {
	s := open(t, t.TempDir())
	must(t, s.Create(t.Context(), store.Stream{ID: "c1", Kind: "conversation", Org: "o", User: "u"}))
	_, err := s.Append(t.Context(), store.Append{
		Stream: "c1",
		Bodies: []footnote.Body{footnote.UserMessage{}, footnote.UserMessage{}},
	})
	must(t, err)
	must(t, s.do(t.Context(), "harm", &request{exec: func(ctx context.Context, w *writer) error {
		_, err := w.conn.ExecContext(ctx, `UPDATE events SET position = 1 << 50, seq = 1 << 40 WHERE seq = 2;
			UPDATE streams SET last = 1 << 40`)
		return err
	}}))
	tail, err := s.tailByRow(t.Context(), 0, 500)
	if err != nil || len(tail) != 2 {
		t.Errorf("the tail has %d events, %v", len(tail), err)
	}
	page, more, err := s.pageByRow(t.Context(), nil, "c1", 0)
	if err != nil || more || len(page) > 1100 || page[len(page)-1].Seq != 1<<40 {
		t.Errorf("%d events, %v, %v", len(page), more, err)
	}
}
