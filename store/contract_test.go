// Package store_test tests the contract of a store with each store that Footnote has. Its tests are the contract: a new
// store must pass all of them.
package store_test

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"reflect"
	"testing"
	"time"

	"github.com/footnotehq/footnote"
	"github.com/footnotehq/footnote/internal/pgtest"
	"github.com/footnotehq/footnote/store"
	"github.com/footnotehq/footnote/store/postgres"
	"github.com/footnotehq/footnote/store/sqlite"
)

// deadline limits every wait of a test.
const deadline = 60 * time.Second

func TestMain(m *testing.M) { os.Exit(pgtest.Run(m)) }

// backend is a kind of store.
type backend struct {
	name  string
	place func(testing.TB) string // returns where a new store can be created: a file or a database
	open  func(ctx context.Context, place string, damaged func(string, int64, string)) (store.Movable, error)
	damage
}

var backends = []backend{
	{
		name:  "sqlite",
		place: func(tb testing.TB) string { return filepath.Join(tb.TempDir(), "footnote.db") },
		open: func(ctx context.Context, file string, damaged func(string, int64, string)) (store.Movable, error) {
			return sqlite.Open(ctx, file, sqlite.Options{Damaged: damaged})
		},
		damage: sqliteDamage,
	},
	{
		name:  "postgres",
		place: pgtest.Database,
		open: func(ctx context.Context, url string, damaged func(string, int64, string)) (store.Movable, error) {
			return postgres.Open(ctx, url, postgres.Options{Damaged: damaged})
		},
		damage: postgresDamage,
	},
}

// openAt opens the store at a place and closes it when the test ends.
func (b backend) openAt(tb testing.TB, place string) store.Movable {
	tb.Helper()
	s, err := b.open(tb.Context(), place, nil)
	must(tb, err)
	tb.Cleanup(func() {
		if err := s.Close(); err != nil {
			tb.Error(err)
		}
	})
	return s
}

// empty opens an empty store.
func (b backend) empty(tb testing.TB) store.Movable {
	tb.Helper()
	return b.openAt(tb, b.place(tb))
}

// onEach runs a test on each kind of store.
func onEach(t *testing.T, test func(*testing.T, backend)) {
	for _, b := range backends {
		t.Run(b.name, func(t *testing.T) {
			t.Parallel()
			test(t, b)
		})
	}
}

func TestStore(t *testing.T) {
	tests := map[string]func(*testing.T, store.Store){
		"create":                  testCreate,
		"find":                    testFind,
		"append":                  testAppend,
		"append nothing":          testAppendNothing,
		"create and append":       testCreateAppend,
		"refused input":           testRefused,
		"bodies":                  testBodies,
		"hostile text":            testHostileText,
		"large text":              testLargeText,
		"read after":              testReadAfter,
		"read while reading":      testReadWhileReading,
		"read many":               testReadMany,
		"cancel":                  testCancel,
		"heads":                   testHeads,
		"unfinished":              testUnfinished,
		"blobs":                   testBlobs,
		"dropped blobs":           testDropBlobs,
		"list":                    testList,
		"list search":             testListSearch,
		"search of messages":      testSearchMessages,
		"list cursor":             testListCursor,
		"delete":                  testDelete,
		"lease":                   testLease,
		"lease expires":           testLeaseExpires,
		"lease renew":             testLeaseRenew,
		"lease race":              testLeaseRace,
		"tail":                    testTail,
		"tail order":              testTailOrder,
		"cursor":                  testCursor,
		"writers on one stream":   testWritersOneStream,
		"writers on many streams": testWritersManyStreams,
		"cancelled writers":       testCancelledWriters,
		"consents":                testConsents,
		"keys":                    testKeys,
		"invalid keys":            testKeysRefused,
		"revoked keys":            testWithdrawn,
		"reserve and settle":      testReserve,
		"limits":                  testCeilings,
		"overdue":                 testOverdue,
		"growing reservations":    testGrowing,
		"reserve race":            testReserveRace,
		"grow race":               testGrowRace,
		"running":                 testRunning,
		"ping and close":          testClose,
	}
	onEach(t, func(t *testing.T, b backend) {
		for name, test := range tests {
			t.Run(name, func(t *testing.T) {
				t.Parallel()
				test(t, b.empty(t))
			})
		}
	})
}

func begin(t testing.TB) context.Context {
	ctx, cancel := context.WithTimeout(t.Context(), deadline)
	t.Cleanup(cancel)
	return ctx
}

// conversation returns a conversation of the user ann of acme.
func conversation(id string) store.Stream {
	return store.Stream{ID: id, Kind: store.Conversation, Org: "acme", User: "ann", Assistant: "analyst"}
}

func must(t testing.TB, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

func wantCode(t testing.TB, err error, want footnote.Code) {
	t.Helper()
	if got := footnote.CodeOf(err); got != want {
		t.Fatalf("CodeOf(%v) = %q, want %q", err, got, want)
	}
}

func equal(t testing.TB, what string, got, want any) {
	t.Helper()
	if !reflect.DeepEqual(got, want) {
		t.Fatalf("%s: got %+v\nwant %+v", what, got, want)
	}
}

func create(t testing.TB, s store.Store, ids ...string) {
	t.Helper()
	for _, id := range ids {
		must(t, s.Create(begin(t), conversation(id)))
	}
}

func say(texts ...string) (bodies []footnote.Body) {
	for _, text := range texts {
		bodies = append(bodies, footnote.UserMessage{Text: text})
	}
	return bodies
}

func write(t testing.TB, s store.Store, id string, after int64, bodies ...footnote.Body) []footnote.Event {
	t.Helper()
	events, err := s.Append(begin(t), store.Append{Stream: id, After: after, Run: "run1", Bodies: bodies})
	must(t, err)
	return events
}

func read(t testing.TB, s store.Store, id string, after int64) []footnote.Event {
	t.Helper()
	events, err := collect(begin(t), s, id, after)
	must(t, err)
	return events
}

func collect(ctx context.Context, s store.Store, id string, after int64) ([]footnote.Event, error) {
	var events []footnote.Event
	for ev, err := range s.Events(ctx, id, after) {
		if err != nil {
			return events, err
		}
		events = append(events, ev)
	}
	return events, nil
}

func get(t testing.TB, s store.Store, id string) store.Stream {
	t.Helper()
	h, err := s.Get(begin(t), id)
	must(t, err)
	return h
}

// gapless checks that events are numbered from 1.
func gapless(t testing.TB, id string, events []footnote.Event) {
	t.Helper()
	for i, ev := range events {
		if ev.Seq != int64(i)+1 || ev.Stream != id {
			t.Fatalf("%s: event %d has seq %d of %s", id, i, ev.Seq, ev.Stream)
		}
	}
}

// eventually calls ok until it returns true, or fails after the deadline.
func eventually(t testing.TB, what string, ok func() bool) {
	t.Helper()
	ctx := begin(t)
	tick := time.NewTicker(2 * time.Millisecond)
	defer tick.Stop()
	for !ok() {
		select {
		case <-tick.C:
		case <-ctx.Done():
			t.Fatalf("%s: %v", what, ctx.Err())
		}
	}
}

func isConflict(err error) bool { return footnote.CodeOf(err) == footnote.Conflict }

func testCancel(t *testing.T, s store.Store) {
	create(t, s, "c")
	write(t, s, "c", 0, say("one", "two")...)
	gone := errors.New("the reader is gone")
	ctx, cancel := context.WithCancelCause(begin(t))
	cancel(gone)
	_, err := s.Append(ctx, store.Append{Stream: "c", After: 2, Bodies: say("three")})
	if !errors.Is(err, gone) {
		t.Fatalf("Append with an ended context: %v", err)
	}
	if _, err := collect(ctx, s, "c", 0); !errors.Is(err, gone) {
		t.Fatalf("Events with an ended context: %v", err)
	}
	if _, err := s.Get(ctx, "c"); !errors.Is(err, gone) {
		t.Fatalf("Get with an ended context: %v", err)
	}
	if err := s.Create(ctx, conversation("d")); !errors.Is(err, gone) {
		t.Fatalf("Create with an ended context: %v", err)
	}
	if n := len(read(t, s, "c", 0)); n != 2 {
		t.Fatalf("%d events, want 2", n)
	}
	_, err = s.Get(begin(t), "d")
	wantCode(t, err, footnote.NotFound)
	write(t, s, "c", 2, say("three")...) // the store still works
}

func testClose(t *testing.T, s store.Store) {
	create(t, s, "c")
	must(t, s.Ping(begin(t)))
	must(t, s.Close())
	must(t, s.Close())
	ctx := begin(t)
	wantCode(t, s.Ping(ctx), footnote.StorageUnavailable)
	_, err := s.Append(ctx, store.Append{Stream: "c", Bodies: say("late")})
	wantCode(t, err, footnote.StorageUnavailable)
	_, err = s.Get(ctx, "c")
	wantCode(t, err, footnote.StorageUnavailable)
	_, err = collect(ctx, s, "c", 0)
	wantCode(t, err, footnote.StorageUnavailable)
}
