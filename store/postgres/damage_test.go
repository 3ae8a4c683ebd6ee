package postgres

import (
	"maps"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/jackc/pgx/v5"

	"github.com/footnotehq/footnote"
	"github.com/footnotehq/footnote/internal/pgtest"
	"github.com/footnotehq/footnote/store"
)

// TestLostValue checks that a large value with missing parts makes only its own event unreadable.
func TestLostValue(t *testing.T) {
	url := pgtest.Database(t)
	s := openAt(t, url, Options{})
	if err := s.Create(t.Context(), store.Stream{ID: "c1", Kind: "conversation", Org: "o", User: "u"}); err != nil {
		t.Fatal(err)
	}
	if _, err := s.Append(t.Context(), store.Append{Stream: "c1", Run: "run1", Bodies: []footnote.Body{
		footnote.UserMessage{
			Text: "one",
		}, footnote.UserMessage{Text: incompressible}, footnote.UserMessage{Text: "three"},
	}}); err != nil {
		t.Fatal(err)
	}
	c, err := pgx.Connect(t.Context(), url)
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close(t.Context())
	var toast string
	if err := c.QueryRow(t.Context(),
		`SELECT reltoastrelid::regclass::text FROM pg_class WHERE oid = 'footnote.events'::regclass`).
		Scan(&toast); err != nil {
		t.Fatal(err)
	}
	// Delete the rows of the table that stores the large values.
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

// TestDeleteOnDamagedPage deletes a conversation with rows on a damaged page. The store must report the rows that it
// cannot delete, and leave conversations on other pages unchanged.
func TestDeleteOnDamagedPage(t *testing.T) {
	server := pgtest.New(t)
	for name, test := range map[string]struct {
		table string
		long  bool
		left  string // rows that cannot be deleted
	}{
		"events":      {"footnote.events", false, "events"},
		"long events": {"footnote.events", true, "events"},
		"blobs":       {"footnote.blobs", false, "blobs"},
		"long blobs":  {"footnote.blobs", true, "blobs"},
	} {
		t.Run(name, func(t *testing.T) {
			url := server.Database(t)
			fillDamaged(t, url)
			damage(t, server, url, test.table, test.long, 0)
			var reports []string
			s := openAt(t, url, Options{Damaged: func(stream string, seq int64, reason string) {
				if stream == "damaged" && seq == 0 {
					reports = append(reports, reason)
				}
			}})
			must(t, s.Delete(t.Context(), "damaged"))
			if len(reports) != 1 || !strings.Contains(reports[0], "some of its "+test.left+" remain in the database") {
				t.Errorf("the reports are %q", reports)
			}
			if _, err := s.Get(t.Context(), "damaged"); footnote.CodeOf(err) != footnote.NotFound {
				t.Errorf("the deleted conversation: %v", err)
			}
			events := 0
			for ev, err := range s.Events(t.Context(), "whole", 0) {
				must(t, err)
				if _, ok := ev.Body.(footnote.UserMessage); ok {
					events++
				}
			}
			if events != 200 {
				t.Errorf("the conversation on other pages has %d events, want 200", events)
			}
		})
	}
}

// TestDropBlobsOnDamagedPage checks that blobs outside the damaged page are dropped.
func TestDropBlobsOnDamagedPage(t *testing.T) {
	server := pgtest.New(t)
	url := server.Database(t)
	fillDamaged(t, url)
	s := openAt(t, url, Options{})
	sizes, err := s.Blobs(t.Context(), "damaged")
	must(t, err)
	must(t, s.Close())
	damage(t, server, url, "footnote.blobs", false, 0)
	var reports int
	s = openAt(t, url, Options{Damaged: func(string, int64, string) { reports++ }})
	must(t, s.DropBlobs(t.Context(), "damaged", slices.Collect(maps.Keys(sizes))))
	if reports == 0 || reports > len(sizes)/2 {
		t.Errorf("%d of %d blobs could not be dropped; those of one page cannot", reports, len(sizes))
	}
}

// fillDamaged creates the conversation "damaged", with rows on the first pages of each table, and then the conversation
// "whole" on the following pages.
func fillDamaged(t *testing.T, url string) {
	t.Helper()
	s := openAt(t, url, Options{})
	for _, id := range []string{"damaged", "whole"} {
		must(t, s.Create(t.Context(), store.Stream{ID: id, Kind: "conversation", Org: "o", User: "u"}))
		blobs := map[footnote.Digest][]byte{}
		for i := range 100 {
			data := []byte(id + strconv.Itoa(i) + incompressible[:300])
			if i == 0 {
				data = []byte(id + incompressible)
			}
			blobs[footnote.DigestOf(data)] = data
		}
		bodies := slices.Repeat([]footnote.Body{footnote.UserMessage{Text: incompressible[:300]}}, 199)
		_, err := s.Append(t.Context(), store.Append{
			Stream: id, Bodies: append(bodies, footnote.UserMessage{Text: incompressible}), Blobs: blobs,
		})
		must(t, err)
	}
}

// incompressible returns a text that Postgres stores outside its row.
var incompressible = func() string {
	long := make([]byte, 200_000)
	for i, x := 0, uint32(1); i < len(long); i++ {
		x = x*1664525 + 1013904223
		long[i] = 'A' + byte(x>>24)%58
		if long[i] == '\\' {
			long[i] = '-'
		}
	}
	return string(long)
}()

// TestTailSkips checks that reading around damage skips unused positions instead of trying each of them: there are so
// many here that the read would never end.
func TestTailSkips(t *testing.T) {
	url := pgtest.Database(t)
	s := openAt(t, url, Options{})
	must(t, s.Create(t.Context(), store.Stream{ID: "c1", Kind: "conversation", Org: "o", User: "u"}))
	_, err := s.Append(t.Context(), store.Append{
		Stream: "c1",
		Bodies: []footnote.Body{footnote.UserMessage{}, footnote.UserMessage{}},
	})
	must(t, err)
	c, err := pgx.Connect(t.Context(), url)
	must(t, err)
	defer c.Close(t.Context())
	for _, query := range []string{
		`UPDATE footnote.events SET position = 1::bigint << 50, seq = 1::bigint << 40 WHERE seq = 2`,
		`UPDATE footnote.streams SET last = 1::bigint << 40`,
	} {
		_, err := c.Exec(t.Context(), query)
		must(t, err)
	}
	tail, err := s.tailByRow(t.Context(), 0, 500)
	if err != nil || len(tail) != 2 {
		t.Errorf("the tail has %d events, %v", len(tail), err)
	}
	page, err := s.pageByRow(t.Context(), "c1", 0)
	if err != nil || len(page) > 1100 || page[len(page)-1].Seq != 1<<40 {
		t.Errorf("%d events, %v", len(page), err)
	}
}
