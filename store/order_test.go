package store_test

import (
	"context"
	"fmt"
	"sync"
	"testing"

	"github.com/footnotehq/footnote"
	"github.com/footnotehq/footnote/store"
)

func testTail(t *testing.T, s store.Store) {
	tail, err := s.Tail(begin(t), 0, 10)
	must(t, err)
	equal(t, "empty", len(tail), 0)
	must(t, s.Create(begin(t), store.Stream{ID: "d", Kind: store.Document, Org: "globex", User: "bob"}))
	create(t, s, "c")
	want := append(write(t, s, "c", 0, say("1", "2")...), write(t, s, "d", 0, say("3")...)...)
	want = append(want, write(t, s, "c", 2, say("4")...)...)
	tail, err = s.Tail(begin(t), 0, 10)
	must(t, err)
	equal(t, "count", len(tail), 4)
	for i, p := range tail {
		equal(t, "event", p.Event, want[i])
		if i > 0 && p.Position <= tail[i-1].Position || p.Position < 1 {
			t.Fatalf("position %d at %d", p.Position, i)
		}
	}
	equal(t, "owner", []string{
		tail[0].Org, tail[0].User, tail[2].Org, tail[2].User,
	}, []string{"acme", "ann", "globex", "bob"})
	part, err := s.Tail(begin(t), tail[0].Position, 2)
	must(t, err)
	equal(t, "part", part, tail[1:3])
	for _, limit := range []int{0, -1} {
		part, err = s.Tail(begin(t), 0, limit)
		must(t, err)
		equal(t, "none", len(part), 0)
	}
	part, err = s.Tail(begin(t), 1<<62, 10)
	must(t, err)
	equal(t, "beyond", len(part), 0)

	// A position must not be reused, because a reader of the tail would miss its event.
	must(t, s.Delete(begin(t), "c"))
	must(t, s.Delete(begin(t), "d"))
	create(t, s, "e")
	write(t, s, "e", 0, say("5")...)
	part, err = s.Tail(begin(t), tail[3].Position, 10)
	must(t, err)
	equal(t, "after delete", len(part), 1)
}

// testTailOrder follows the tail during many writes: positions must only grow, and no event may be missed.
func testTailOrder(t *testing.T, s store.Store) {
	const writers, each = 8, 40
	ctx, cancel := context.WithCancel(begin(t))
	defer cancel()
	var wg sync.WaitGroup
	for i := range writers {
		id := fmt.Sprint("c", i)
		create(t, s, id)
		wg.Go(func() {
			for n := range int64(each) {
				if _, err := s.Append(ctx, store.Append{Stream: id, After: n, Bodies: say("x")}); err != nil {
					t.Error(err)
					cancel()
					return
				}
			}
		})
	}
	seen := map[string]int64{}
	var position int64
	for total := 0; total < writers*each && ctx.Err() == nil; {
		tail, err := s.Tail(ctx, position, 7)
		if err != nil {
			t.Error(err)
			break
		}
		for _, p := range tail {
			if p.Position <= position || p.Seq != seen[p.Stream]+1 {
				t.Errorf("%s event %d at %d comes after %d at %d", p.Stream, p.Seq, p.Position, seen[p.Stream],
					position)
				cancel()
			}
			position, seen[p.Stream] = p.Position, p.Seq
		}
		total += len(tail)
	}
	wg.Wait()
	for id, last := range seen {
		equal(t, id, last, int64(each))
	}
}

func testCursor(t *testing.T, s store.Store) {
	check := func(name string, want int64) {
		t.Helper()
		got, err := s.Cursor(begin(t), name)
		must(t, err)
		equal(t, name, got, want)
	}
	check("usage", 0)
	must(t, s.SetCursor(begin(t), "usage", 7))
	must(t, s.SetCursor(begin(t), "audit", 1<<60))
	check("usage", 7)
	check("audit", 1<<60)
	must(t, s.SetCursor(begin(t), "usage", 3)) // back, to rebuild the projection
	check("usage", 3)
	check("", 0)
	wantCode(t, s.SetCursor(begin(t), "", 1), footnote.InvalidRequest)
	wantCode(t, s.SetCursor(begin(t), "usage", -1), footnote.InvalidRequest)
}

// testWritersOneStream lets writers compete for the next sequence of one stream.
func testWritersOneStream(t *testing.T, s store.Store) {
	const writers, each = 8, 25
	create(t, s, "c")
	ctx := begin(t)
	var wg sync.WaitGroup
	for i := range writers {
		wg.Go(func() {
			var after int64
			for n := 0; n < each; {
				_, err := s.Append(ctx, store.Append{
					Stream: "c",
					After:  after,
					Bodies: say(fmt.Sprintf("%d/%d", i, n)),
				})
				switch footnote.CodeOf(err) {
				case "":
					n++
					after++
				case footnote.Conflict:
					h, err := s.Get(ctx, "c")
					if err != nil {
						t.Error(err)
						return
					}
					after = h.Last
				default:
					t.Error(err)
					return
				}
			}
		})
	}
	wg.Wait()
	events := read(t, s, "c", 0)
	gapless(t, "c", events)
	texts := map[string]bool{}
	for _, ev := range events {
		texts[ev.Body.(footnote.UserMessage).Text] = true
	}
	equal(t, "events and texts", []int{len(events), len(texts)}, []int{writers * each, writers * each})
}

func testWritersManyStreams(t *testing.T, s store.Store) {
	const writers, each = 32, 20
	ctx := begin(t)
	var wg sync.WaitGroup
	for i := range writers {
		id := fmt.Sprint("c", i)
		create(t, s, id)
		wg.Go(func() {
			for n := range int64(each) {
				if _, err := s.Append(ctx, store.Append{Stream: id, After: 2 * n, Bodies: say(id, id)}); err != nil {
					t.Error(err)
					return
				}
				// A failing append must not affect the others.
				_, err := s.Append(ctx, store.Append{Stream: id, After: 2 * n, Bodies: say("lost")})
				if !isConflict(err) {
					t.Errorf("a stale append: %v", err)
					return
				}
			}
		})
	}
	wg.Wait()
	for i := range writers {
		id := fmt.Sprint("c", i)
		events := read(t, s, id, 0)
		equal(t, id, len(events), 2*each)
		gapless(t, id, events)
		for _, ev := range events {
			equal(t, "body", ev.Body, footnote.Body(footnote.UserMessage{Text: id}))
		}
	}
}

// testCancelledWriters cancels appends at random times. A successful append must be in the log completely, a failed one
// completely or not at all.
func testCancelledWriters(t *testing.T, s store.Store) {
	create(t, s, "c")
	var last int64
	data := []byte("blob")
	for i := range 200 {
		ctx, cancel := context.WithCancel(begin(t))
		if i%4 == 0 {
			cancel()
		} else {
			go cancel()
		}
		events, err := s.Append(ctx, store.Append{Stream: "c", After: last, Bodies: say("one", "two", "three"),
			Blobs: map[footnote.Digest][]byte{footnote.DigestOf(data): data}})
		cancel()
		now := get(t, s, "c").Last
		if now != last && now != last+3 || err == nil && (now != last+3 || len(events) != 3) {
			t.Fatalf("last went from %d to %d: %v", last, now, err)
		}
		last = now
	}
	events := read(t, s, "c", 0)
	gapless(t, "c", events)
	equal(t, "events", int64(len(events)), last)
}
