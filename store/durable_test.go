package store_test

import (
	"fmt"
	"testing"
	"time"

	"github.com/footnotehq/footnote"
	"github.com/footnotehq/footnote/store"
)

// TestDurable tests that data survives closing and reopening the store. The tests close each store before they open
// the next one at the same place.
func TestDurable(t *testing.T) {
	for name, test := range map[string]func(*testing.T, func() store.Movable){
		"reopen":                   testReopen,
		"reopen with reservations": testReservedAfterReopen,
		"reopen often":             testReopenOften,
	} {
		t.Run(name, func(t *testing.T) {
			onEach(t, func(t *testing.T, b backend) {
				place := b.place(t)
				test(t, func() store.Movable { return b.openAt(t, place) })
			})
		})
	}
}

func testReopen(t *testing.T, open func() store.Movable) {
	s := open()
	st := conversation("c")
	st.ClientID, st.Title = "mine", "Title"
	data := []byte("blob")
	events, err := s.CreateAppend(begin(t), st, store.Append{Run: "r", Bodies: everyBody(),
		Blobs: map[footnote.Digest][]byte{footnote.DigestOf(data): data}})
	must(t, err)
	create(t, s, "running", "parked", "deleted")
	write(t, s, "running", 0, footnote.RunStarted{})
	write(t, s, "parked", 0, footnote.RunStarted{}, footnote.RunParked{Deadline: time.Now().Add(time.Hour)})
	write(t, s, "deleted", 0, say("gone")...)
	must(t, s.Delete(begin(t), "deleted"))
	must(t, s.SetCursor(begin(t), "usage", 5))
	tail, err := s.Tail(begin(t), 0, 100)
	must(t, err)
	var heads []store.Stream
	for _, id := range []string{"c", "running", "parked"} {
		heads = append(heads, get(t, s, id))
	}
	must(t, s.Close())

	s = open()
	equal(t, "events", read(t, s, "c", 0), events)
	for _, h := range heads {
		equal(t, "head", get(t, s, h.ID), h)
	}
	again, err := s.Tail(begin(t), 0, 100)
	must(t, err)
	equal(t, "tail", again, tail)
	got, err := s.Blob(begin(t), "c", footnote.DigestOf(data))
	must(t, err)
	equal(t, "blob", string(got), "blob")
	cursor, err := s.Cursor(begin(t), "usage")
	must(t, err)
	equal(t, "cursor", cursor, int64(5))
	_, err = s.Get(begin(t), "deleted")
	wantCode(t, err, footnote.NotFound)
	unfinished, err := s.Unfinished(begin(t), time.Now(), 10)
	must(t, err)
	equal(t, "unfinished", []any{len(unfinished), unfinished[0].ID}, []any{1, "running"})
	write(t, s, "c", heads[0].Last, say("more")...)
	more, err := s.Tail(begin(t), tail[len(tail)-1].Position, 10)
	must(t, err)
	equal(t, "tail continues", len(more), 1)
	must(t, s.Close())
}

func testReopenOften(t *testing.T, open func() store.Movable) {
	for i := range int64(10) {
		s := open()
		if i == 0 {
			create(t, s, "c")
		}
		equal(t, "last", get(t, s, "c").Last, i)
		write(t, s, "c", i, say(fmt.Sprint(i))...)
		must(t, s.Close())
	}
}
