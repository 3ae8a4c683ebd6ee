package store_test

import (
	"database/sql"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"sync"
	"testing"

	_ "github.com/jackc/pgx/v5/stdlib" // the driver of database/sql

	"github.com/footnotehq/footnote"
	"github.com/footnotehq/footnote/store"
	"github.com/footnotehq/footnote/store/inspect"
)

// damage describes how to change the stored data of a store directly in its database.
type damage struct {
	// driver and address connect to the database at a place, whose tables need no prefix then.
	driver  string
	address func(place string) string
	prepare string // the statement that permits more damage
	// columns lists SQL expressions by column of an event, and heads by column of a head: values that the database can
	// hold but the store never writes.
	columns, heads map[string][]string
}

var (
	sqliteTimes = []string{
		"'garbage'", "1.5", "x'ff'", "9223372036854775807", "-9223372036854775807", "253402300800000000",
	}
	sqliteDamage = damage{
		driver:  "sqlite",
		address: func(file string) string { return file + "?_pragma=busy_timeout(60000)" },
		// Damage can leave NULLs.
		prepare: `PRAGMA writable_schema = ON; UPDATE sqlite_schema SET sql = replace(sql, 'NOT NULL', '')`,
		columns: map[string][]string{
			"time":   append([]string{"NULL"}, sqliteTimes...),
			"seq":    {"NULL", "'garbage'", "2.5", "x'ff'", "-5", "99"},
			"stream": {"'garbage'", "4000.5", "-1", "9223372036854775807"},
			"run":    {"NULL", "x'ff00'", "char(0)"},
			"kind":   {"x'ff'", "char(0)", "1"},
			"body":   {"x'00'", "1", "''"},
		},
		heads: map[string][]string{
			"deadline": sqliteTimes, "created": sqliteTimes, "updated": sqliteTimes,
			"last":      {"NULL", "'garbage'", "2.5", "x'ff'", "-5"},
			"title":     {"NULL", "x'ff00'", "char(0)"},
			"assistant": {"NULL", "x'ff'", "char(0)"},
			"run":       {"NULL", "x'ff'", "char(0)"},
		},
	}

	postgresTimes  = []string{"'infinity'", "'-infinity'", "'20000-01-01'", "'0044-03-15 BC'"}
	postgresDamage = damage{
		driver:  "pgx",
		address: func(url string) string { return url + "&search_path=footnote" },
		columns: map[string][]string{
			"time":   postgresTimes,
			"seq":    {"-5", "99"},
			"stream": {"-1", "9223372036854775807"},
			"kind":   {"''"},
			"body":   {"''", "'1'"},
		},
		heads: map[string][]string{
			"deadline": postgresTimes, "created_at": postgresTimes, "updated_at": postgresTimes,
		},
	}
)

// corrupter is a store whose data a test changes behind its back.
type corrupter struct {
	store.Movable // opened again after each change, because a store remembers recent events
	backend
	place string

	mu       sync.Mutex // guards reported
	reported []int64
}

// corruptible opens an empty store whose data can be changed.
func (b backend) corruptible(t *testing.T) *corrupter {
	c := &corrupter{backend: b, place: b.place(t)}
	c.start(t)
	t.Cleanup(func() { _ = c.Close() })
	c.exec(t, b.prepare)
	return c
}

func (c *corrupter) start(t *testing.T) {
	s, err := c.open(t.Context(), c.place, func(_ string, seq int64, _ string) {
		c.mu.Lock()
		defer c.mu.Unlock()
		c.reported = append(c.reported, seq)
	})
	must(t, err)
	c.Movable = s
}

// exec runs a statement while the store is closed.
func (c *corrupter) exec(t *testing.T, query string, args ...any) {
	t.Helper()
	must(t, c.Close())
	db, err := sql.Open(c.driver, c.address(c.place))
	must(t, err)
	_, err = db.Exec(query, args...)
	must(t, errors.Join(err, db.Close()))
	c.start(t)
}

// reports returns the numbers of the events that the store has reported.
func (c *corrupter) reports() []int64 {
	c.mu.Lock()
	defer c.mu.Unlock()
	return slices.Clone(c.reported)
}

const ofEvent = ` WHERE stream = (SELECT n FROM streams WHERE id = $1) AND seq = $2`

// setBody replaces the kind and body of an event.
func (c *corrupter) setBody(t *testing.T, stream string, seq int64, kind, body string) {
	t.Helper()
	c.exec(t, `UPDATE events SET kind = $3, body = $4`+ofEvent, stream, seq, kind, body)
}

// setEvent sets a column of an event to an SQL expression.
func (c *corrupter) setEvent(t *testing.T, stream string, seq int64, column, value string) {
	t.Helper()
	c.exec(t, `UPDATE events SET `+column+` = `+value+ofEvent, stream, seq)
}

// TestDamage tests how a store handles unreadable events and blobs.
func TestDamage(t *testing.T) {
	onEach(t, func(t *testing.T, b backend) {
		t.Run("bodies", func(t *testing.T) { testDamagedBodies(t, b) })
		t.Run("columns", func(t *testing.T) { testColumns(t, b.corruptible(t)) })
		t.Run("heads", func(t *testing.T) { testDamagedHeads(t, b.corruptible(t)) })
		t.Run("gaps", func(t *testing.T) { testGaps(t, b.corruptible(t)) })
		t.Run("blob", func(t *testing.T) { testDamagedBlob(t, b.corruptible(t)) })
		t.Run("moved", func(t *testing.T) { testMoveUnreadable(t, b.corruptible(t), b.empty(t)) })
	})
}

func testDamagedBodies(t *testing.T, b backend) {
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
			s := b.corruptible(t)
			create(t, s, "c1", "c2")
			write(t, s, "c1", 0, say("one", "two", "three")...)
			write(t, s, "c2", 0, say("other")...)
			s.setBody(t, "c1", 2, c.kind, c.body)
			checkPlaceholder(t, s, "c1", c.kind, c.body)
			equal(t, "reported", s.reports(), []int64{2})
			other := read(t, s, "c2", 0)
			equal(t, "another conversation", other[0].Body, footnote.Body(footnote.UserMessage{Text: "other"}))
			write(t, s, "c1", 3, say("four")...)
			must(t, s.Delete(begin(t), "c1"))
		})
	}
}

func testDamagedBlob(t *testing.T, s *corrupter) {
	create(t, s, "c1", "c2")
	data := []byte("rows")
	digest := footnote.DigestOf(data)
	with := func(id string, after int64) store.Append {
		return store.Append{
			Stream: id, After: after, Bodies: say("one"), Blobs: map[footnote.Digest][]byte{digest: data},
		}
	}
	_, err := s.Append(begin(t), with("c1", 0))
	must(t, err)
	s.exec(t, `UPDATE blobs SET data = $1 WHERE digest = $2`, []byte("rowz"), string(digest))
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
}

// testColumns checks that an unreadable value in any column makes only its own event unreadable.
func testColumns(t *testing.T, s *corrupter) {
	n := 0
	for column, values := range s.columns {
		for _, value := range values {
			n++
			id := fmt.Sprintf("c%d", n)
			t.Run(column+" = "+value, func(t *testing.T) {
				create(t, s, id)
				write(t, s, id, 0, say("one", "two", "three")...)
				reported := len(s.reports())
				s.setEvent(t, id, 2, column, value)
				checkSecondUnreadable(t, s, id)
				if len(s.reports()) == reported {
					t.Error("the store reported nothing")
				}
				write(t, s, id, 3, say("four")...)
				must(t, s.Delete(begin(t), id))
			})
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
	report, err := inspect.Read(begin(t), s, nil, 0)
	must(t, err)
	if len(report.Problems) == 0 {
		t.Error("the inspection found nothing")
	}
}

// testGaps checks that missing events are noticed anywhere in the log.
func testGaps(t *testing.T, s *corrupter) {
	for i, lost := range [][]int64{{1}, {2}, {3}, {2, 3}, {1, 2, 3}} {
		t.Run(fmt.Sprint(lost), func(t *testing.T) {
			id := fmt.Sprintf("c%d", i)
			create(t, s, id)
			write(t, s, id, 0, say("one", "two", "three")...)
			for _, seq := range lost {
				s.exec(t, `DELETE FROM events`+ofEvent, id, seq)
			}
			reported := len(s.reports())
			for after := range int64(4) {
				got := read(t, s, id, after)
				equal(t, "sequences", sequences(got), append([]int64(nil), []int64{1, 2, 3}[after:]...))
				for _, ev := range got {
					equal(t, "missing", store.Missing(ev.Body), slices.Contains(lost, ev.Seq))
				}
			}
			equal(t, "reported", slices.Sorted(slices.Values(s.reports()[reported:])), lost)
			if report, err := inspect.Read(begin(t), s, nil, 0); err != nil || !named(report, id) && len(lost) < 3 {
				t.Errorf("the inspection: %+v, %v", report.Problems, err)
			}
			write(t, s, id, 3, say("four")...)
			equal(t, "sequences", sequences(read(t, s, id, 0)), []int64{1, 2, 3, 4})
			must(t, s.Delete(begin(t), id))
		})
	}
}

func named(r inspect.Report, stream string) bool {
	return slices.ContainsFunc(r.Problems, func(p inspect.Problem) bool { return p.Stream == stream })
}

// testDamagedHeads checks that a head with an unreadable column hides neither its conversation nor others, is reported,
// and can be deleted.
func testDamagedHeads(t *testing.T, s *corrupter) {
	create(t, s, "other")
	n := 0
	for column, values := range s.heads {
		for _, value := range values {
			n++
			id := fmt.Sprintf("c%d", n)
			t.Run(column+" = "+value, func(t *testing.T) {
				create(t, s, id)
				write(t, s, id, 0, say("one", "two", "three")...)
				reported := len(s.reports())
				s.exec(t, `UPDATE streams SET `+column+` = `+value+` WHERE id = $1`, id)
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
				if len(s.reports()) == reported {
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
func testMoveUnreadable(t *testing.T, from *corrupter, to store.Movable) {
	create(t, from, "c1")
	write(t, from, "c1", 0, say("one", "two", "three")...)
	from.setBody(t, "c1", 2, "from_the_future", `{"text":"two"}`)
	head, err := from.Get(begin(t), "c1")
	must(t, err)
	must(t, to.Import(begin(t), head, from.Events(begin(t), "c1", 0), func(func(store.Blob, error) bool) {}))
	checkPlaceholder(t, to, "c1", "from_the_future", `{"text":"two"}`)
}
