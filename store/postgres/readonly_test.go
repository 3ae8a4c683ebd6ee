package postgres

import (
	"errors"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/footnotehq/footnote"
	"github.com/footnotehq/footnote/internal/pgtest"
	"github.com/footnotehq/footnote/store"
)

// TestReadOnly makes a server refuse writes in each possible way. Conversations must stay readable, writes must fail
// with a clear message, and writes must work again afterwards without a restart.
func TestReadOnly(t *testing.T) {
	set := func(t *testing.T, target, on string, ended bool) {
		ctx := t.Context()
		conn, err := pgx.Connect(ctx, target)
		must(t, err)
		defer conn.Close(ctx)
		_, err = conn.Exec(ctx, "SET default_transaction_read_only = off")
		must(t, err)
		_, err = conn.Exec(ctx,
			`DO $$ BEGIN EXECUTE format('ALTER DATABASE %I SET default_transaction_read_only = `+on+`',
			current_database()); END $$`)
		must(t, err)
		if ended {
			_, err = conn.Exec(ctx, `SELECT pg_terminate_backend(pid) FROM pg_stat_activity
				WHERE application_name = 'footnote' AND datname = current_database()`)
			must(t, err)
		}
	}
	for name, c := range map[string]struct {
		begin, end func(t *testing.T, server *pgtest.Server, target string)
	}{
		"reloaded": {
			func(t *testing.T, s *pgtest.Server, _ string) { s.ReadOnly(t, true) },
			func(t *testing.T, s *pgtest.Server, _ string) { s.ReadOnly(t, false) },
		},
		"connections ended": {
			func(t *testing.T, _ *pgtest.Server, target string) { set(t, target, "on", true) },
			func(t *testing.T, _ *pgtest.Server, target string) { set(t, target, "off", true) },
		},
		"new connections only": {
			func(t *testing.T, _ *pgtest.Server, target string) { set(t, target, "on", true) },
			func(t *testing.T, _ *pgtest.Server, target string) { set(t, target, "off", false) },
		},
		"restarted": {
			func(t *testing.T, s *pgtest.Server, _ string) { s.ReadOnly(t, true); s.Stop(t); s.Start(t) },
			func(t *testing.T, s *pgtest.Server, _ string) { s.ReadOnly(t, false); s.Stop(t); s.Start(t) },
		},
	} {
		t.Run(name, func(t *testing.T) {
			server := pgtest.New(t)
			target := server.Database(t)
			s := openAt(t, target, Options{})
			fill(t, s)
			c.begin(t, server, target)
			reads(t, s)
			refuses(t, s)
			reads(t, s)
			opened := openAt(t, target, Options{}) // as by a server that starts now
			reads(t, opened)
			refuses(t, opened)
			c.end(t, server, target)
			writes(t, s, opened)
		})
	}
}

// fill writes the data that reads expects.
func fill(t *testing.T, s *Store) {
	t.Helper()
	blob := []byte("blob")
	_, err := s.CreateAppend(t.Context(), conversation("c"), store.Append{Bodies: say("x"),
		Blobs: map[footnote.Digest][]byte{footnote.DigestOf(blob): blob}})
	must(t, err)
	must(t, s.SetCursor(t.Context(), "there", 1))
}

// reads checks that all data can be read by many goroutines at once.
func reads(t *testing.T, s *Store) {
	t.Helper()
	ctx := t.Context()
	done := make(chan error)
	for range 2 * poolConns {
		go func() {
			_, err := s.Get(ctx, "c")
			done <- err
		}()
	}
	for range 2 * poolConns {
		must(t, <-done)
	}
	if words := texts(t, s, "c"); len(words) != 1 {
		t.Errorf("the stream has %q", words)
	}
	heads, _, err := s.List(ctx, store.Page{Org: "acme", User: "ann", Limit: 10})
	if err != nil || len(heads) != 1 {
		t.Errorf("List: %d streams, %v", len(heads), err)
	}
	blob, err := s.Blob(ctx, "c", footnote.DigestOf([]byte("blob")))
	if err != nil || string(blob) != "blob" {
		t.Errorf("Blob: %q, %v", blob, err)
	}
	events, err := s.Tail(ctx, 0, 10)
	if err != nil || len(events) != 1 {
		t.Errorf("Tail: %d events, %v", len(events), err)
	}
	_, _, err1 := s.Balances(ctx, "acme", "ann", "c")
	_, err2 := s.Tallies(ctx, footnote.Tally{}, 10)
	_, err3 := s.ListKeys(ctx, "", "", 1)
	_, err4 := s.Session(ctx, []byte("none"))
	_, err5 := s.Cursor(ctx, "there")
	_, err6 := s.Unfinished(ctx, time.Now(), 10)
	_, err7 := s.Walk(ctx, "", 10)
	must(t, errors.Join(err1, err2, err3, err4, err5, err6, err7))
}

// refuses checks that every method that writes fails with a clear, temporary error.
func refuses(t *testing.T, s *Store) {
	t.Helper()
	ctx := t.Context()
	_, create := s.CreateAppend(ctx, conversation("new"), store.Append{Bodies: say("x")})
	_, add := s.Append(ctx, store.Append{Stream: "c", After: 1, Bodies: say("y")})
	_, reserve := s.Reserve(ctx, footnote.Reserve{ID: "r", Org: "acme", User: "ann", Stream: "c", TTL: time.Minute})
	_, led, lead := s.Lead(ctx, "task")
	for what, err := range map[string]error{
		"create": create, "append": add, "reserve": reserve, "lead": lead, "ping": s.Ping(ctx),
		"delete": s.Delete(ctx, "c"),
		"renew":  s.Renew(ctx, "c", 1, time.Minute), "set cursor": s.SetCursor(ctx, "there", 2),
		"unreserve":       s.Unreserve(ctx, "r"),
		"expire":          s.Expire(ctx, "r"),
		"begin a session": s.AddSession(ctx, []byte("id"), []byte("x"), time.Minute),
	} {
		e, ok := errors.AsType[*footnote.Error](err)
		if !ok || e.Code != footnote.StorageUnavailable || e.RetryAfter == 0 || e.Message != msgReadOnly {
			t.Errorf("%s: %v, want storage_unavailable", what, err)
		}
	}
	if led {
		t.Error("a leader was elected while the store is read-only")
	}
}

// writes checks that all stores accept writes again soon, one of them an append.
func writes(t *testing.T, stores ...*Store) {
	t.Helper()
	_, err := stores[0].Append(t.Context(), store.Append{Stream: "c", After: 1, Bodies: say("y")})
	must(t, err)
	for _, s := range stores {
		eventually(t, "ping fails", func() bool { return s.Ping(t.Context()) == nil })
		eventually(t, "the cursor cannot be set", func() bool { return s.SetCursor(t.Context(), "there", 3) == nil })
		if words := texts(t, s, "c"); len(words) != 2 {
			t.Errorf("the stream has %q", words)
		}
		for range poolConns + 1 { // on every connection of the pool
			_, err := s.Get(t.Context(), "c")
			must(t, err)
		}
	}
}

// TestFailover uses a URL with two servers. The store must use the server that accepts writes, and read from the other
// one while no server accepts writes.
func TestFailover(t *testing.T) {
	for name, c := range map[string]struct {
		gone         func(*testing.T, *pgtest.Server)
		standbyFirst bool
		more         string
	}{
		"killed":    {func(t *testing.T, s *pgtest.Server) { s.Kill(t) }, false, "&target_session_attrs=read-write"},
		"read-only": {func(t *testing.T, s *pgtest.Server) { s.ReadOnly(t, true) }, true, ""},
	} {
		t.Run(name, func(t *testing.T) {
			primary := pgtest.New(t)
			target := primary.Database(t)
			standby := primary.Standby(t)
			servers := []*pgtest.Server{primary, standby}
			if c.standbyFirst {
				slices.Reverse(servers)
			}
			s := openAt(t, at(t, target, servers...)+c.more, Options{})
			fill(t, s)
			follow(t, standby, primary)
			other := openAt(t, at(t, target, standby), Options{})
			reads(t, other)
			refuses(t, other)
			c.gone(t, primary)
			reads(t, s)
			refuses(t, s)
			valueOf(t, at(t, "postgres://footnote@/postgres", standby), "SELECT pg_promote()::text")
			writes(t, s, other)
		})
	}
}

// TestOpenReadOnly checks that Open names what it cannot do on a read-only database, such as a migration.
func TestOpenReadOnly(t *testing.T) {
	server := pgtest.New(t)
	empty, old := server.Database(t), server.Database(t)
	must(t, openAt(t, old, Options{}).Close())
	conn, err := dial(t.Context(), old)
	must(t, err)
	defer conn.Close(t.Context())
	_, err = conn.Exec(t.Context(), `DELETE FROM footnote.migrations
		WHERE version = (SELECT max(version) FROM footnote.migrations)`)
	must(t, err)
	server.ReadOnly(t, true)
	for target, want := range map[string]string{empty: "still empty", old: "an older version"} {
		_, err := Open(t.Context(), target, Options{})
		if footnote.CodeOf(err) != footnote.StorageUnavailable || !strings.Contains(footnote.MessageOf(err), want) ||
			!strings.HasPrefix(footnote.MessageOf(err), "The store is read-only") {
			t.Errorf("Open: %v, want %q", err, want)
		}
		state, err := Inspect(t.Context(), target)
		if err != nil || !strings.Contains(strings.Join(state.Warnings, "\n"), "read-only") {
			t.Errorf("Inspect: %+v, %v", state, err)
		}
	}
}
