package storetest

import (
	"slices"
	"testing"

	"github.com/footnotehq/footnote"
	"github.com/footnotehq/footnote/store"
)

// Harm changes what a store has stored, behind its back.
type Harm struct {
	Body func(stream string, seq int64, kind string, body []byte)
	Drop func(stream string, seq int64)
	Blob func(digest footnote.Digest, data []byte)
	// Told are the events that the store has told of.
	Told func() []int64
}

// RunDamage tests what a store does with events and blobs that cannot be read.
func RunDamage(t *testing.T, open func(testing.TB) (store.Movable, Harm)) {
	for _, c := range []struct{ name, kind, body string }{
		{"cut off", "user_message", `{"text":"tw`},
		{"not JSON", "user_message", `garbage`},
		{"of another shape", "user_message", `{"text":2}`},
		{"null", "user_message", `null`},
		{"empty", "user_message", ``},
		{"of a kind from a newer version", "from_the_future", `{"text":"two"}`},
		{"without a kind", "", `{"text":"two"}`},
	} {
		t.Run(c.name, func(t *testing.T) {
			s, harm := open(t)
			create(t, s, "c1", "c2")
			write(t, s, "c1", 0, say("one", "two", "three")...)
			write(t, s, "c2", 0, say("other")...)
			harm.Body("c1", 2, c.kind, []byte(c.body))
			unreadable(t, s, "c1", c.kind, c.body)
			equal(t, "told", harm.Told(), []int64{2})
			other := read(t, s, "c2", 0)
			equal(t, "another conversation", other[0].Body, footnote.Body(footnote.UserMessage{Text: "other"}))
			write(t, s, "c1", 3, say("four")...)
			must(t, s.Delete(begin(t), "c1"))
		})
	}
	t.Run("gap", func(t *testing.T) {
		s, harm := open(t)
		create(t, s, "c1")
		write(t, s, "c1", 0, say("one", "two", "three")...)
		harm.Drop("c1", 2)
		got := read(t, s, "c1", 0)
		equal(t, "sequences", sequences(got), []int64{1, 2, 3})
		if u, ok := got[1].Body.(footnote.Unreadable); !ok || u.Reason != store.MissingEvent {
			t.Errorf("the gap reads %+v", got[1])
		}
		equal(t, "after the gap", sequences(read(t, s, "c1", 2)), []int64{3})
		must(t, s.Delete(begin(t), "c1"))
	})
	t.Run("blob", func(t *testing.T) {
		s, harm := open(t)
		create(t, s, "c1", "c2")
		data := []byte("rows")
		digest := store.DigestOf(data)
		with := func(id string, after int64) store.Append {
			return store.Append{Stream: id, After: after, Bodies: say("one"), Blobs: map[footnote.Digest][]byte{digest: data}}
		}
		_, err := s.Append(begin(t), with("c1", 0))
		must(t, err)
		harm.Blob(digest, []byte("rowz"))
		_, err = s.Blob(begin(t), "c1", digest)
		wantCode(t, err, footnote.StorageDamaged)
		// Whoever brings the content again mends it: another conversation with the same
		// prompt must not have a damaged one.
		for _, a := range []store.Append{with("c2", 0), with("c1", 1)} {
			_, err := s.Append(begin(t), a)
			must(t, err)
			got, err := s.Blob(begin(t), a.Stream, digest)
			must(t, err)
			equal(t, "blob", string(got), "rows")
		}
	})
	t.Run("moved", testMoveUnreadable(open))
}

// unreadable demands that the second event of a stream is a stand-in in every view.
func unreadable(t *testing.T, s store.Store, id, kind, body string) {
	t.Helper()
	for range 2 {
		got := read(t, s, id, 0)
		equal(t, "sequences", sequences(got), []int64{1, 2, 3})
		u, ok := got[1].Body.(footnote.Unreadable)
		if !ok || u.Kind != kind || u.Raw != body || u.Reason == "" || got[1].Run != "run1" || got[1].Time.IsZero() {
			t.Fatalf("the event reads %+v", got[1])
		}
	}
	tail, err := s.Tail(begin(t), 0, 100)
	must(t, err)
	i := slices.IndexFunc(tail, func(p store.Positioned) bool { return p.Stream == id && p.Seq == 2 })
	if i < 0 {
		t.Fatalf("the tail has no event 2: %+v", tail)
	}
	if tail[i].Org != "acme" || tail[i].User != "ann" {
		t.Errorf("the event belongs to %q/%q", tail[i].Org, tail[i].User)
	}
	_, err = s.Append(begin(t), store.Append{Stream: id, After: 3, Bodies: []footnote.Body{footnote.Unreadable{Kind: "x"}}})
	wantCode(t, err, footnote.InvalidRequest)
}

func sequences(events []footnote.Event) (list []int64) {
	for _, ev := range events {
		list = append(list, ev.Seq)
	}
	return list
}

// testMoveUnreadable holds that an event keeps its bytes when it is taken elsewhere.
func testMoveUnreadable(open func(testing.TB) (store.Movable, Harm)) func(*testing.T) {
	return func(t *testing.T) {
		from, harm := open(t)
		to, _ := open(t)
		create(t, from, "c1")
		write(t, from, "c1", 0, say("one", "two", "three")...)
		harm.Body("c1", 2, "from_the_future", []byte(`{"text":"two"}`))
		head, err := from.Get(begin(t), "c1")
		must(t, err)
		must(t, to.Import(begin(t), head, from.Events(begin(t), "c1", 0), func(func(store.Blob, error) bool) {}))
		unreadable(t, to, "c1", "from_the_future", `{"text":"two"}`)
	}
}
