package sqlite

import (
	"fmt"
	"reflect"
	"strings"
	"testing"
	"time"

	"github.com/footnotehq/footnote"
	"github.com/footnotehq/footnote/store"
)

// tails compares the tail in memory with the file, from every position. It returns the number of events in memory.
func tails(t *testing.T, s *Store, last int64) (inMemory int) {
	t.Helper()
	for after := range last + 2 {
		got, err := s.Tail(t.Context(), after, 7)
		must(t, err)
		want, err := s.tail(t.Context(), after, 7)
		must(t, err)
		if !reflect.DeepEqual(got, want) {
			t.Fatalf("after %d: got %+v\nwant %+v", after, got, want)
		}
		if _, ok := s.recent.after(s.now(), after, 7); ok {
			inMemory++
		}
	}
	return inMemory
}

func TestRecentMatchesFile(t *testing.T) {
	dir := t.TempDir()
	s := open(t, dir)
	ctx := t.Context()
	for i := range 5 {
		id := fmt.Sprint("c", i)
		_, err := s.CreateAppend(ctx, store.Stream{
			ID: id, Kind: "k", Org: "o", User: "u" + id,
		}, store.Append{Bodies: []footnote.Body{
			footnote.Titled{Title: "t"}, footnote.UserMessage{Text: "1"}, footnote.UserMessage{Text: "2"},
			footnote.UserMessage{Text: "3"}, footnote.UserMessage{Text: "4"}, footnote.UserMessage{Text: "5"},
		}})
		must(t, err)
	}
	if n := tails(t, s, 30); n != 32 {
		t.Fatalf("%d of 32 reads needed no file", n)
	}
	must(t, s.Delete(ctx, "c4"))
	must(t, s.Delete(ctx, "c1"))
	tails(t, s, 30)
	// A freed row number is reused for another stream. Writes under the old stream id must not reach it.
	must(t, s.Create(ctx, store.Stream{ID: "new", Kind: "k"}))
	if _, err := s.Append(ctx, store.Append{
		Stream: "c4",
		After:  0,
		Bodies: []footnote.Body{footnote.Titled{}},
	}); footnote.CodeOf(err) != footnote.NotFound {
		t.Fatalf("an append to a deleted stream: %v", err)
	}
	must(t, s.Close())

	s = open(t, dir) // owners and positions from before are not in memory
	_, err := s.Append(ctx, store.Append{
		Stream: "c0",
		After:  6,
		Bodies: []footnote.Body{footnote.UserMessage{Text: "6"}},
	})
	must(t, err)
	if n := tails(t, s, 31); n != 3 {
		t.Fatalf("%d reads needed no file; the one event since the start should serve 3", n)
	}
}

func TestRecentIsBounded(t *testing.T) {
	now := time.Now()
	s, err := Open(t.Context(), t.TempDir()+"/footnote.db", Options{Now: func() time.Time { return now }})
	must(t, err)
	defer s.Close()
	ctx := t.Context()
	must(t, s.Create(ctx, store.Stream{ID: "c", Kind: "k"}))
	long := footnote.UserMessage{Text: strings.Repeat("x", recentBytes/4)}
	for i := range int64(9) {
		_, err := s.Append(ctx, store.Append{Stream: "c", After: i, Bodies: []footnote.Body{long}})
		must(t, err)
	}
	if n := len(s.recent.events); n != 9 {
		t.Errorf("%d long events are kept while they are fresh", n)
	}
	now = now.Add(freshTime + time.Second)
	tails(t, s, 9)
	if n := len(s.recent.events); n > 4 || n == 0 {
		t.Errorf("%d long events are kept for longer", n)
	}
	s.recent.mu.Lock()
	kept := len(s.recent.events)
	s.recent.events[0].size += freshBytes // pretend that it is large
	s.recent.bytes += freshBytes
	s.recent.trim(s.recent.events[0].Time)
	if n := len(s.recent.events); n != kept-1 {
		t.Errorf("%d of %d fresh events are kept that are too large together", n, kept)
	}
	s.recent.mu.Unlock()
	tails(t, s, 9)
	short := make([]footnote.Body, freshEvents/2+10)
	for i := range short {
		short[i] = footnote.UserMessage{}
	}
	for i := range 2 {
		_, err = s.Append(ctx, store.Append{Stream: "c", After: int64(9 + i*len(short)), Bodies: short})
		must(t, err)
	}
	if n := len(s.recent.events); n != freshEvents {
		t.Errorf("%d short events are kept while they are fresh", n)
	}
	now = now.Add(freshTime + time.Second)
	_, err = s.Tail(ctx, 9, 1)
	must(t, err)
	if n := len(s.recent.events); n != recentEvents {
		t.Errorf("%d short events are kept for longer", n)
	}
}

// TestRunAllocations checks that writing a run's events needs few statements, and reading them back none.
func TestRunAllocations(t *testing.T) {
	s := open(t, t.TempDir())
	ctx := t.Context()
	n := 0
	prompt := []byte(strings.Repeat("x", 10_000))
	allocs := testing.AllocsPerRun(50, func() {
		n++
		id := fmt.Sprint("c", n)
		_, err := s.CreateAppend(ctx, store.Stream{ID: id, Kind: "k", Org: "o", User: "u"}, store.Append{
			Run: "r", Take: &footnote.Take{Owner: "me", TTL: time.Minute},
			Blobs: map[footnote.Digest][]byte{footnote.DigestOf(prompt): prompt},
			Bodies: []footnote.Body{
				footnote.Opened{}, footnote.Titled{Title: "t"}, footnote.UserMessage{Text: "x"}, footnote.RunStarted{},
			}})
		must(t, err)
		_, err = s.Append(ctx, store.Append{Stream: id, After: 4, Lease: 1, Run: "r", Release: true,
			Bodies: []footnote.Body{footnote.AssistantMessage{}, footnote.Answered{}, footnote.RunFinished{}}})
		must(t, err)
		events, err := s.Tail(ctx, int64(7*n-7), 7)
		must(t, err)
		if len(events) != 7 {
			t.Fatalf("%d events", len(events))
		}
	})
	t.Logf("%.0f allocations", allocs)
	if allocs > maxRunAllocations {
		t.Errorf("a run's two appends and their tail made %.0f allocations, want at most %d", allocs,
			maxRunAllocations)
	}
}

const maxRunAllocations = 220
