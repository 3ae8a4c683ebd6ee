package storetest

import (
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"sync"
	"testing"

	"github.com/footnotehq/footnote"
	"github.com/footnotehq/footnote/store"
	"github.com/footnotehq/footnote/store/inspect"
)

// Reports collects the damaged events that a store reports. Its methods may be called from several goroutines.
type Reports struct {
	mu  sync.Mutex // guards below
	seq []int64
}

// Add adds a report.
func (r *Reports) Add(_ string, seq int64, _ string) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.seq = append(r.seq, seq)
}

// Events returns the numbers of the events reported so far.
func (r *Reports) Events() []int64 {
	r.mu.Lock()
	defer r.mu.Unlock()
	return slices.Clone(r.seq)
}

// Corrupter changes the stored data of a store directly in its database.
type Corrupter struct {
	Body func(stream string, seq int64, kind string, body []byte)
	Drop func(stream string, seq int64)
	Blob func(digest footnote.Digest, data []byte)
	// Event sets a column of an event to an SQL expression. Head does the same for the head of a stream.
	Event func(stream string, seq int64, column, value string)
	Head  func(stream, column, value string)
	// Columns lists such expressions by column of an event: values that the database can hold but the store never
	// writes.
	Columns map[string][]string
	// Heads lists such expressions by column of a head.
	Heads map[string][]string
	// Times lists such expressions for columns with times.
	Times []string
	// Reported returns the numbers of the events that the store has reported.
	Reported func() []int64
}

// RunDamage tests how a store handles unreadable events and blobs.
func RunDamage(t *testing.T, open func(testing.TB) (store.Movable, Corrupter)) {
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
			checkPlaceholder(t, s, "c1", c.kind, c.body)
			equal(t, "reported", harm.Reported(), []int64{2})
			other := read(t, s, "c2", 0)
			equal(t, "another conversation", other[0].Body, footnote.Body(footnote.UserMessage{Text: "other"}))
			write(t, s, "c1", 3, say("four")...)
			must(t, s.Delete(begin(t), "c1"))
		})
	}
	t.Run("columns", testColumns(open))
	t.Run("heads", testDamagedHeads(open))
	t.Run("gaps", testGaps(open))
	t.Run("blob", func(t *testing.T) {
		s, harm := open(t)
		create(t, s, "c1", "c2")
		data := []byte("rows")
		digest := store.DigestOf(data)
		with := func(id string, after int64) store.Append {
			return store.Append{
				Stream: id, After: after, Bodies: say("one"), Blobs: map[footnote.Digest][]byte{digest: data},
			}
		}
		_, err := s.Append(begin(t), with("c1", 0))
		must(t, err)
		harm.Blob(digest, []byte("rowz"))
		_, err = s.Blob(begin(t), "c1", digest)
		wantCode(t, err, footnote.StorageDamaged)
		// Appending the same content repairs the blob: another conversation with the same prompt must not get a damaged
		// one.
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

// testColumns checks that an unreadable value in any column makes only its own event unreadable.
func testColumns(open func(testing.TB) (store.Movable, Corrupter)) func(*testing.T) {
	return func(t *testing.T) {
		s, harm := open(t)
		n := 0
		for column, values := range harm.Columns {
			for _, value := range values {
				n++
				id := fmt.Sprintf("c%d", n)
				t.Run(column+" = "+value, func(t *testing.T) {
					create(t, s, id)
					write(t, s, id, 0, say("one", "two", "three")...)
					reported := len(harm.Reported())
					harm.Event(id, 2, column, value)
					checkSecondUnreadable(t, s, id)
					if len(harm.Reported()) == reported {
						t.Error("the store reported nothing")
					}
					write(t, s, id, 3, say("four")...)
					must(t, s.Delete(begin(t), id))
				})
			}
		}
	}
}

// checkSecondUnreadable checks that the second of the three events of a stream is unreadable and the others are
// readable, also in the tail.
func checkSecondUnreadable(t *testing.T, s store.Store, id string) {
	t.Helper()
	got := read(t, s, id, 0)
	equal(t, "sequences", sequences(got), []int64{1, 2, 3})
	u, ok := got[1].Body.(footnote.Unreadable)
	if !ok || u.Reason == "" {
		t.Errorf("the event reads %+v", got[1])
	}
	equal(t, "the first event", got[0].Body, say("one")[0])
	equal(t, "the last event", got[2].Body, say("three")[0])
	if _, err := json.Marshal(got); err != nil {
		t.Error(err)
	}
	tail, err := s.Tail(begin(t), 0, 100)
	must(t, err)
	for seq, text := range map[int64]string{1: "one", 3: "three"} {
		i := slices.IndexFunc(tail, func(p store.Positioned) bool { return p.Stream == id && p.Seq == seq })
		if i < 0 {
			t.Fatalf("the tail has no event %d: %+v", seq, tail)
		}
		equal(t, "tail", tail[i].Body, say(text)[0])
	}
	for _, p := range tail {
		if p.Stream != "" && p.Seq < 1 {
			t.Errorf("the tail has %+v", p)
		}
	}
	report, err := inspect.Read(begin(t), s, nil)
	must(t, err)
	if len(report.Problems) == 0 {
		t.Error("the inspection found nothing")
	}
}

// testGaps checks that missing events are noticed anywhere in the log.
func testGaps(open func(testing.TB) (store.Movable, Corrupter)) func(*testing.T) {
	return func(t *testing.T) {
		s, harm := open(t)
		for i, lost := range [][]int64{{1}, {2}, {3}, {2, 3}, {1, 2, 3}} {
			t.Run(fmt.Sprint(lost), func(t *testing.T) {
				id := fmt.Sprintf("c%d", i)
				create(t, s, id)
				write(t, s, id, 0, say("one", "two", "three")...)
				for _, seq := range lost {
					harm.Drop(id, seq)
				}
				reported := len(harm.Reported())
				for after := range int64(4) {
					got := read(t, s, id, after)
					equal(t, "sequences", sequences(got), append([]int64(nil), []int64{1, 2, 3}[after:]...))
					for _, ev := range got {
						equal(t, "missing", store.Missing(ev.Body), slices.Contains(lost, ev.Seq))
					}
				}
				equal(t, "reported", slices.Sorted(slices.Values(harm.Reported()[reported:])), lost)
				if report, err := inspect.Read(begin(t), s, nil); err != nil || !named(report, id) && len(lost) < 3 {
					t.Errorf("the inspection: %+v, %v", report.Problems, err)
				}
				write(t, s, id, 3, say("four")...)
				equal(t, "sequences", sequences(read(t, s, id, 0)), []int64{1, 2, 3, 4})
				must(t, s.Delete(begin(t), id))
			})
		}
	}
}

func named(r inspect.Report, stream string) bool {
	return slices.ContainsFunc(r.Problems, func(p inspect.Problem) bool { return p.Stream == stream })
}

// testDamagedHeads checks that a head with an unreadable column hides neither its conversation nor others, is reported,
// and can be deleted.
func testDamagedHeads(open func(testing.TB) (store.Movable, Corrupter)) func(*testing.T) {
	return func(t *testing.T) {
		s, harm := open(t)
		columns := map[string][]string{"deadline": harm.Times, "created": harm.Times, "updated": harm.Times}
		maps.Copy(columns, harm.Heads)
		create(t, s, "other")
		n := 0
		for column, values := range columns {
			for _, value := range values {
				n++
				id := fmt.Sprintf("c%d", n)
				t.Run(column+" = "+value, func(t *testing.T) {
					create(t, s, id)
					write(t, s, id, 0, say("one", "two", "three")...)
					reported := len(harm.Reported())
					harm.Head(id, column, value)
					head, err := s.Get(begin(t), id)
					must(t, err)
					equal(t, "last", head.Last, int64(3))
					walked, err := s.Walk(begin(t), "", 100)
					must(t, err)
					listed, _, err := s.List(begin(t), store.Page{Org: "acme", User: "ann", Limit: 100})
					must(t, err)
					for _, heads := range [][]store.Stream{{head}, walked, listed} {
						if _, err := json.Marshal(heads); err != nil {
							t.Error(err)
						}
						if !slices.ContainsFunc(heads, func(h store.Stream) bool { return h.ID == id }) {
							t.Errorf("it is missing among %+v", heads)
						}
					}
					for page, seen := (store.Page{Org: "acme", User: "ann", Limit: 1}), 0; ; seen++ {
						heads, next, err := s.List(begin(t), page)
						must(t, err)
						if page.Before = next; next == "" && len(heads) == 1 && seen == len(listed)-1 {
							break
						}
						if next == "" || seen > len(listed) {
							t.Fatalf("page %d of %d ends with %q", seen+1, len(listed), next)
						}
					}
					if len(harm.Reported()) == reported {
						t.Error("the store reported nothing")
					}
					equal(t, "sequences", sequences(read(t, s, id, 0)), []int64{1, 2, 3})
					write(t, s, id, 3, say("four")...)
					equal(t, "sequences", sequences(read(t, s, id, 0)), []int64{1, 2, 3, 4})
					must(t, s.Delete(begin(t), id))
				})
			}
		}
		_, err := s.Get(begin(t), "other")
		must(t, err)
	}
}

// checkPlaceholder checks that the second event of a stream is an Unreadable in every view.
func checkPlaceholder(t *testing.T, s store.Store, id, kind, body string) {
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
	_, err = s.Append(begin(t), store.Append{
		Stream: id,
		After:  3,
		Bodies: []footnote.Body{footnote.Unreadable{Kind: "x"}},
	})
	wantCode(t, err, footnote.InvalidRequest)
}

func sequences(events []footnote.Event) (list []int64) {
	for _, ev := range events {
		list = append(list, ev.Seq)
	}
	return list
}

// testMoveUnreadable checks that an unreadable event keeps its bytes in another store.
func testMoveUnreadable(open func(testing.TB) (store.Movable, Corrupter)) func(*testing.T) {
	return func(t *testing.T) {
		from, harm := open(t)
		to, _ := open(t)
		create(t, from, "c1")
		write(t, from, "c1", 0, say("one", "two", "three")...)
		harm.Body("c1", 2, "from_the_future", []byte(`{"text":"two"}`))
		head, err := from.Get(begin(t), "c1")
		must(t, err)
		must(t, to.Import(begin(t), head, from.Events(begin(t), "c1", 0), func(func(store.Blob, error) bool) {}))
		checkPlaceholder(t, to, "c1", "from_the_future", `{"text":"two"}`)
	}
}
