package storetest

import (
	"fmt"
	"testing"
	"time"

	"github.com/footnotehq/footnote"
	"github.com/footnotehq/footnote/store"
)

// RunDurable tests that data survives closing and reopening the store. The tests close each store before they open the
// next one in the same dir.
func RunDurable(t *testing.T, open func(tb testing.TB, dir string) store.Store) {
	t.Run("reopen", func(t *testing.T) { testReopen(t, open) })
	t.Run("reopen with reservations", func(t *testing.T) { testReservedAfterReopen(t, open) })
	t.Run("reopen often", func(t *testing.T) { testReopenOften(t, open) })
}

func testReopen(t *testing.T, open func(testing.TB, string) store.Store) {
	dir := t.TempDir()
	s := open(t, dir)
	st := conversation("c")
	st.ClientID, st.Title = "mine", "Title"
	data := []byte("blob")
	events, err := s.CreateAppend(begin(t), st, store.Append{Run: "r", Bodies: everyBody(),
		Blobs: map[footnote.Digest][]byte{store.DigestOf(data): data}})
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

	s = open(t, dir)
	equal(t, "events", read(t, s, "c", 0), events)
	for _, h := range heads {
		equal(t, "head", get(t, s, h.ID), h)
	}
	again, err := s.Tail(begin(t), 0, 100)
	must(t, err)
	equal(t, "tail", again, tail)
	got, err := s.Blob(begin(t), "c", store.DigestOf(data))
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

func testReopenOften(t *testing.T, open func(testing.TB, string) store.Store) {
	dir := t.TempDir()
	for i := range int64(10) {
		s := open(t, dir)
		if i == 0 {
			create(t, s, "c")
		}
		equal(t, "last", get(t, s, "c").Last, i)
		write(t, s, "c", i, say(fmt.Sprint(i))...)
		must(t, s.Close())
	}
}
