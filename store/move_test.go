package store_test

import (
	"errors"
	"iter"
	"reflect"
	"slices"
	"testing"
	"time"

	"github.com/footnotehq/footnote"
	"github.com/footnotehq/footnote/store"
)

// TestMovable tests the additional methods of store.Movable.
func TestMovable(t *testing.T) {
	onEach(t, func(t *testing.T, b backend) {
		t.Run("walk", func(t *testing.T) { testWalk(t, b.empty(t)) })
		t.Run("import", func(t *testing.T) { testImport(t, b.empty(t), b.empty(t)) })
		t.Run("delete at", func(t *testing.T) { testDeleteAt(t, b.empty(t)) })
	})
}

func testWalk(t *testing.T, s store.Movable) {
	var want []string
	for _, st := range []store.Stream{{ID: "b", User: "u"}, {ID: "B", User: "v"}, {ID: "a", Org: "o"}, {ID: "ä"}} {
		st.Kind = "conversation"
		if err := s.Create(t.Context(), st); err != nil {
			t.Fatal(err)
		}
		want = append(want, st.ID)
	}
	slices.Sort(want) // in byte order
	var got []string
	for after := ""; ; after = got[len(got)-1] {
		heads, err := s.Walk(t.Context(), after, 3)
		if err != nil {
			t.Fatal(err)
		}
		for _, h := range heads {
			got = append(got, h.ID)
		}
		if len(heads) < 3 {
			break
		}
	}
	if !slices.Equal(got, want) {
		t.Errorf("walked %q, want %q", got, want)
	}
}

// moved returns a stream as another store wrote it.
func moved() (store.Stream, []footnote.Event, []store.Blob) {
	at := time.Date(2025, 1, 2, 3, 4, 5, 678_000, time.UTC)
	data := []byte("\x00rows\xff")
	blobs := []store.Blob{
		{Digest: footnote.DigestOf(data), Data: data}, {Digest: footnote.DigestOf(nil), Data: []byte{}},
	}
	st := store.Stream{ID: "conv_m", Kind: "conversation", Org: "o", User: "u", ClientID: "mine", Assistant: "analyst",
		Title: "Ä title",
		Last:  4, Run: "r", RunState: "parked", Deadline: at.Add(time.Hour), Created: at, Updated: at.Add(time.Minute)}
	var events []footnote.Event
	for i, b := range []footnote.Body{
		footnote.UserMessage{
			Text: "<b>Hi</b>\u2028",
		}, footnote.RunStarted{
			Protocol: "x",
		}, footnote.StepFailed{Step: 1, Usage: footnote.Usage{Input: 3, Output: 4}, Cost: footnote.Cost{MicroUSD: 9}},
		footnote.RunParked{Calls: []string{"c"}, Deadline: st.Deadline},
	} {
		events = append(events, footnote.Event{
			Stream: st.ID, Seq: int64(i + 1), Time: at.Add(time.Duration(i) * time.Microsecond), Run: "r", Body: b,
		})
	}
	return st, events, blobs
}

// each yields a list, and then err unless it is nil.
func each[T any](list []T, err error) iter.Seq2[T, error] {
	return func(yield func(T, error) bool) {
		for _, v := range list {
			if !yield(v, nil) {
				return
			}
		}
		if err != nil {
			yield(*new(T), err)
		}
	}
}

func testImport(t *testing.T, s, other store.Movable) {
	st, events, blobs := moved()
	for what, err := range map[string]error{
		"events that break off": s.Import(t.Context(), st, each(events[:2], errors.New("torn")), each(blobs, nil)),
		"too few events":        s.Import(t.Context(), st, each(events[:3], nil), each(blobs, nil)),
		"events in disorder":    s.Import(t.Context(), st, each([]footnote.Event{events[1]}, nil), each(blobs, nil)),
		"blobs that break off":  s.Import(t.Context(), st, each(events, nil), each(blobs[:1], errors.New("torn"))),
	} {
		if err == nil {
			t.Errorf("%s: accepted, want an error", what)
		}
	}
	if _, err := s.Get(t.Context(), st.ID); footnote.CodeOf(err) != footnote.NotFound {
		t.Fatalf("a failed import left something: %v", err)
	}
	before, err := s.Tail(t.Context(), 0, 10) // fills any cache of recent events
	if err != nil || len(before) != 0 {
		t.Fatal(before, err)
	}
	if err := s.Create(t.Context(), store.Stream{ID: "first", Kind: "conversation"}); err != nil {
		t.Fatal(err)
	}
	if _, err := s.Append(t.Context(), store.Append{
		Stream: "first",
		Bodies: []footnote.Body{footnote.UserMessage{Text: "1"}},
	}); err != nil {
		t.Fatal(err)
	}
	if err := s.Import(t.Context(), st, each(events, nil), each(blobs, nil)); err != nil {
		t.Fatal(err)
	}
	if err := s.Import(t.Context(), st, each(events, nil),
		each(blobs, nil)); footnote.CodeOf(err) != footnote.Conflict {
		t.Errorf("again: %v", err)
	}
	same(t, s, st, events, blobs)
	if tail, err := s.Tail(t.Context(), 0, 10); err != nil || len(tail) != 5 || tail[4].Seq != 4 ||
		tail[4].User != "u" {
		t.Errorf("the tail is %+v, %v", tail, err)
	}
	// The imported stream accepts new events.
	if _, err := s.Append(t.Context(), store.Append{
		Stream: st.ID, After: 4, Run: "r", Bodies: []footnote.Body{footnote.RunStopped{By: "user"}},
	}); err != nil {
		t.Error(err)
	}
	// Import it into another store, and delete it there with its blobs.
	if err := other.Import(t.Context(), st, each(events, nil), each(blobs, nil)); err != nil {
		t.Fatal(err)
	}
	same(t, other, st, events, blobs)
	used := footnote.Amount{MicroUSD: 9, Tokens: 7}
	tally(t, other, map[string]footnote.Amount{"": used, "o": used, "o/u": used, "o/u/conv_m": used})
}

func same(t *testing.T, s store.Movable, st store.Stream, events []footnote.Event, blobs []store.Blob) {
	t.Helper()
	head, err := s.Get(t.Context(), st.ID)
	if err != nil || !reflect.DeepEqual(head, st) {
		t.Errorf("the head is %+v, %v\nwant %+v", head, err, st)
	}
	var got []footnote.Event
	for ev, err := range s.Events(t.Context(), st.ID, 0) {
		if err != nil {
			t.Fatal(err)
		}
		got = append(got, ev)
	}
	if !reflect.DeepEqual(got, events) {
		t.Errorf("the events are %+v\nwant %+v", got, events)
	}
	list, err := s.Digests(t.Context(), st.ID)
	if err != nil || len(list) != len(blobs) {
		t.Errorf("the blobs are %v, %v", list, err)
	}
	for _, b := range blobs {
		if data, err := s.Blob(t.Context(), st.ID, b.Digest); err != nil || string(data) != string(b.Data) {
			t.Errorf("the blob %s is %q, %v", b.Digest, data, err)
		}
	}
}

func testDeleteAt(t *testing.T, s store.Movable) {
	st, events, blobs := moved()
	if err := s.Import(t.Context(), st, each(events, nil), each(blobs, nil)); err != nil {
		t.Fatal(err)
	}
	if err := s.DeleteAt(t.Context(), st.ID, 3); footnote.CodeOf(err) != footnote.Conflict {
		t.Errorf("DeleteAt of a changed stream: %v", err)
	}
	same(t, s, st, events, blobs)
	if err := s.DeleteAt(t.Context(), st.ID, 4); err != nil {
		t.Error(err)
	}
	for what, err := range map[string]error{
		"delete": s.DeleteAt(t.Context(), st.ID, 4), "blobs": second(s.Digests(t.Context(), st.ID)),
		"head": second(s.Get(t.Context(), st.ID)),
	} {
		if footnote.CodeOf(err) != footnote.NotFound {
			t.Errorf("%s: %v", what, err)
		}
	}
}

func second[T any](_ T, err error) error { return err }
