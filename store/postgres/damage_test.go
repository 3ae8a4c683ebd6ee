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
	"github.com/footnotehq/footnote/store/storetest"
)

func TestDamage(t *testing.T) {
	storetest.RunDamage(t, func(tb testing.TB) (store.Movable, storetest.Corrupter) {
		url, seen := pgtest.Database(tb), &storetest.Reports{}
		s := openAt(tb, url, Options{Damaged: seen.Add})
		exec := func(query string, args ...any) {
			tb.Helper()
			c, err := pgx.Connect(tb.Context(), url)
			if err != nil {
				tb.Fatal(err)
			}
			defer c.Close(tb.Context())
			if _, err := c.Exec(tb.Context(), query, args...); err != nil {
				tb.Fatal(err)
			}
		}
		times := []string{"'infinity'", "'-infinity'", "'20000-01-01'", "'0044-03-15 BC'"}
		const where = ` WHERE stream = (SELECT n FROM footnote.streams WHERE id = $1) AND seq = $2`
		return s, storetest.Corrupter{
			Body: func(stream string, seq int64, kind string, body []byte) {
				exec(`UPDATE footnote.events SET kind = $3, body = $4`+where, stream, seq, kind, string(body))
			},
			Drop: func(stream string, seq int64) { exec(`DELETE FROM footnote.events`+where, stream, seq) },
			Blob: func(digest footnote.Digest, data []byte) {
				exec(`UPDATE footnote.blobs SET data = $1 WHERE digest = $2`, data, digest)
			},
			Event: func(stream string, seq int64, column, value string) {
				exec(`UPDATE footnote.events SET `+column+` = `+value+where, stream, seq)
			},
			Head: func(stream, column, value string) {
				if column != "deadline" {
					column += "_at"
				}
				exec(`UPDATE footnote.streams SET `+column+` = `+value+` WHERE id = $1`, stream)
			},
			Columns: map[string][]string{
				"time":   times,
				"seq":    {"-5", "99"},
				"stream": {"-1", "9223372036854775807"},
				"kind":   {"''"},
				"body":   {"''", "'1'"},
			},
			Times:    times,
			Reported: seen.Events,
		}
	})
}

// TestLostValue holds that a value whose parts are gone costs its event, and no others.
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
	// The rows of the table that holds the long values are taken away.
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

// TestDeleteOnDamagedPage deletes a conversation that has rows on a damaged page. What cannot be deleted is reported,
// and the conversations on other pages stay as they are.
func TestDeleteOnDamagedPage(t *testing.T) {
	server := pgtest.New(t)
	for name, test := range map[string]struct {
		table string
		long  bool
		left  string // what cannot be deleted
	}{
		"events":      {"footnote.events", false, "events"},
		"long events": {"footnote.events", true, "events"},
		"blobs":       {"footnote.blobs", false, "blobs"},
		"long blobs":  {"footnote.blobs", true, "blobs"},
	} {
		t.Run(name, func(t *testing.T) {
			url := server.Database(t)
			fillDamaged(t, url)
			server.Damage(t, url, test.table, test.long, 0)
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

// TestDropBlobsOnDamagedPage drops the blobs that can be dropped.
func TestDropBlobsOnDamagedPage(t *testing.T) {
	server := pgtest.New(t)
	url := server.Database(t)
	fillDamaged(t, url)
	s := openAt(t, url, Options{})
	sizes, err := s.Blobs(t.Context(), "damaged")
	must(t, err)
	must(t, s.Close())
	server.Damage(t, url, "footnote.blobs", false, 0)
	var reports int
	s = openAt(t, url, Options{Damaged: func(string, int64, string) { reports++ }})
	must(t, s.DropBlobs(t.Context(), "damaged", slices.Collect(maps.Keys(sizes))))
	if reports == 0 || reports > len(sizes)/2 {
		t.Errorf("%d of %d blobs could not be dropped; those of one page cannot", reports, len(sizes))
	}
}

// fillDamaged creates the conversation damaged, of which rows stand on the first pages of each table, and then the
// conversation whole on the pages behind them.
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
			blobs[store.DigestOf(data)] = data
		}
		bodies := slices.Repeat([]footnote.Body{footnote.UserMessage{Text: incompressible[:300]}}, 199)
		_, err := s.Append(t.Context(), store.Append{
			Stream: id, Bodies: append(bodies, footnote.UserMessage{Text: incompressible}), Blobs: blobs,
		})
		must(t, err)
	}
}

// incompressible is a text that Postgres keeps outside its row.
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

// TestTailSkips holds that reading around damage takes no longer for positions that hold nothing: with as many as here
// it would never end.
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
