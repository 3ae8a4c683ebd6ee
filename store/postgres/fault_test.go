package postgres

import (
	"bytes"
	"context"
	"fmt"
	"net"
	"net/url"
	"os"
	"path/filepath"
	"reflect"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/footnotehq/footnote"
	"github.com/footnotehq/footnote/internal/pgtest"
	"github.com/footnotehq/footnote/store"
)

func must(t testing.TB, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

func say(text string) []footnote.Body { return []footnote.Body{footnote.UserMessage{Text: text}} }

func conversation(id string) store.Stream {
	return store.Stream{ID: id, Kind: store.Conversation, Org: "acme", User: "ann"}
}

// eventually calls ok until it returns true, or fails the test after a minute.
func eventually(t testing.TB, what string, ok func() bool) {
	t.Helper()
	for end := time.Now().Add(time.Minute); !ok(); time.Sleep(5 * time.Millisecond) {
		if time.Now().After(end) {
			t.Fatal(what)
		}
	}
}

// texts returns the texts of a stream's events, and checks their sequences.
func texts(t testing.TB, s *Store, id string) (words []string) {
	t.Helper()
	for ev, err := range s.Events(t.Context(), id, 0) {
		must(t, err)
		words = append(words, ev.Body.(footnote.UserMessage).Text)
		if ev.Seq != int64(len(words)) {
			t.Fatalf("%s: event %d has seq %d", id, len(words), ev.Seq)
		}
	}
	return words
}

// TestServerFails runs the tests that stop and kill a server, on a server of their own.
func TestServerFails(t *testing.T) {
	server := pgtest.New(t)
	t.Run("amid appends", func(t *testing.T) { testServerDies(t, server) })
	t.Run("for a while", func(t *testing.T) { testGone(t, server) })
	t.Run("amid a migration", func(t *testing.T) { testMigrateServerDies(t, server) })
}

// testServerDies kills and restarts the server while many goroutines append through one store, which stays open. Every
// acknowledged append must be stored once, and every other append at most once.
func testServerDies(t *testing.T, server *pgtest.Server) {
	const writers = 8
	s := openAt(t, server.Database(t), Options{})
	stop := make(chan struct{})
	acked := make([]map[string]int64, writers)
	var total atomic.Int64
	var wg sync.WaitGroup
	for i := range writers {
		acked[i] = map[string]int64{}
		id := fmt.Sprint("c", i)
		must(t, s.Create(t.Context(), conversation(id)))
		wg.Go(func() { appendUntil(t, s, id, acked[i], stop, &total) })
	}
	progress := func() {
		t.Helper()
		begun := total.Load()
		eventually(t, "no append goes through", func() bool { return total.Load() >= begun+3*writers })
	}
	for round := range 3 {
		progress()
		if round%2 == 0 {
			server.Kill(t)
		} else {
			server.Stop(t)
		}
		server.Start(t)
	}
	progress()
	close(stop)
	wg.Wait()
	for i := range writers {
		words := texts(t, s, fmt.Sprint("c", i))
		seen := map[string]bool{}
		for _, word := range words {
			if seen[word] {
				t.Errorf("c%d: %q is there twice", i, word)
			}
			seen[word] = true
		}
		for word, seq := range acked[i] {
			if int(seq) > len(words) || words[seq-1] != word {
				t.Errorf("c%d: %q was acknowledged as event %d and is not there", i, word, seq)
			}
		}
	}
	t.Logf("%d events were acknowledged", total.Load())
}

// appendUntil appends events with unique texts until stop is closed.
func appendUntil(t *testing.T, s *Store, id string, acked map[string]int64, stop chan struct{}, total *atomic.Int64) {
	var last int64
	for n := 0; ; n++ {
		select {
		case <-stop:
			return
		default:
		}
		word := fmt.Sprint(id, " says ", n)
		events, err := s.Append(context.Background(), store.Append{Stream: id, After: last, Bodies: say(word)})
		switch footnote.CodeOf(err) {
		case "":
			last = events[0].Seq
			acked[word] = last
			total.Add(1)
		case footnote.StorageUnavailable, footnote.Conflict: // the outcome of the previous append was uncertain
			time.Sleep(time.Millisecond)
			if h, err := s.Get(context.Background(), id); err == nil {
				last = h.Last
			}
		default:
			t.Errorf("append: %v", err)
			return
		}
	}
}

// cutter is a proxy between a store and a server that breaks a connection at a chosen message.
type cutter struct {
	before atomic.Pointer[string] // break when the client sends this text, and do not forward it
	after  atomic.Pointer[string] // break when the server sends this text, and do not forward it
	cuts   atomic.Int64
}

// cutting starts a cutter in front of a database and returns its URL.
func cutting(t *testing.T, target string) (*cutter, string) {
	t.Helper()
	u, err := url.Parse(target)
	must(t, err)
	socket := filepath.Join(u.Query().Get("host"), ".s.PGSQL.5432")
	dir, err := os.MkdirTemp("", "cut")
	must(t, err)
	t.Cleanup(func() { os.RemoveAll(dir) })
	l, err := net.Listen("unix", filepath.Join(dir, ".s.PGSQL.5432"))
	must(t, err)
	t.Cleanup(func() { l.Close() })
	c := &cutter{}
	go func() {
		for {
			client, err := l.Accept()
			if err != nil {
				return
			}
			server, err := net.Dial("unix", socket)
			if err != nil {
				client.Close()
				continue
			}
			go c.copy(server, client, &c.before)
			go c.copy(client, server, &c.after)
		}
	}()
	u.RawQuery = url.Values{"host": {dir}}.Encode()
	return c, u.String()
}

func (c *cutter) copy(dst, src net.Conn, at *atomic.Pointer[string]) {
	defer dst.Close()
	defer src.Close()
	buf := make([]byte, 1<<16)
	for {
		n, err := src.Read(buf)
		if mark := at.Load(); mark != nil && bytes.Contains(buf[:n], []byte(*mark)) && at.CompareAndSwap(mark, nil) {
			c.cuts.Add(1)
			return
		}
		if _, werr := dst.Write(buf[:n]); err != nil || werr != nil {
			return
		}
	}
}

// TestLostCommit breaks the connection while a transaction commits, before and after the server has committed. The
// caller must learn the actual outcome, and no event may be stored twice.
func TestLostCommit(t *testing.T) {
	direct := pgtest.Database(t)
	cut, target := cutting(t, direct)
	s := openAt(t, target, Options{})
	plain := openAt(t, direct, Options{})
	blob := []byte("blob")
	blobs := map[footnote.Digest][]byte{footnote.DigestOf(blob): blob}
	ctx := t.Context()
	must(t, s.Create(ctx, conversation("warm")))
	for i, at := range []struct {
		name string
		do   func(mark string)
	}{
		{"before", func(mark string) { cut.before.Store(&mark) }},
		{"after", func(string) { cut.after.Store(new("COMMIT\x00")) }},
	} {
		id := at.name
		at.do("first words of " + id)
		events, err := s.CreateAppend(ctx, conversation(id),
			store.Append{Bodies: say("first words of " + id), Blobs: blobs,
				Take: &footnote.Take{Owner: "me", TTL: time.Hour}})
		must(t, err)
		at.do("more words of " + id)
		more, err := s.Append(ctx, store.Append{
			Stream: id, After: 1, Lease: 1, Bodies: append(say("more words of "+id), say("and more")...), Blobs: blobs,
		})
		must(t, err)
		if got := cut.cuts.Load(); got != int64(2*i+2) {
			t.Fatalf("%s: %d connections were broken", id, got)
		}
		if words := texts(t, plain, id); len(words) != 3 {
			t.Fatalf("%s: %q", id, words)
		}
		n := 0
		for ev, err := range plain.Events(ctx, id, 0) {
			must(t, err)
			if want := append(events, more...)[n]; ev.Seq != want.Seq || !ev.Time.Equal(want.Time) {
				t.Errorf("%s: told %+v, wrote %+v", id, want, ev)
			}
			n++
		}
		if _, err := s.Append(ctx, store.Append{
			Stream: id, After: 1, Lease: 1, Bodies: say("again"),
		}); footnote.CodeOf(err) != footnote.Conflict {
			t.Errorf("%s: an old append: %v", id, err)
		}
		must(t, s.Create(ctx, conversation(id+" empty")))
		at.do("words that only a title has")
		empty := conversation(id + " lost")
		empty.Title = "words that only a title has"
		must(t, s.Create(ctx, empty))
		cut.before.Store(nil)
		cut.after.Store(nil)
		cut.cuts.Store(int64(2*i + 2))
		if err := s.Create(ctx, empty); footnote.CodeOf(err) != footnote.Conflict {
			t.Errorf("%s: created twice: %v", id, err)
		}
		must(t, s.Delete(ctx, id+" lost"))
	}
}

// testGone stops the server for a while: calls must fail quickly with a clear message, and the store must work again
// without being reopened.
func testGone(t *testing.T, server *pgtest.Server) {
	s := openAt(t, server.Database(t), Options{})
	ctx := t.Context()
	must(t, s.Create(ctx, conversation("c")))
	server.Kill(t)
	for range 2 {
		_, err := s.Append(ctx, store.Append{Stream: "c", Bodies: say("x")})
		_, err2 := s.Get(ctx, "c")
		for _, err := range []error{err, err2, s.Ping(ctx), s.Renew(ctx, "c", 1, time.Minute)} {
			e, ok := err.(*footnote.Error)
			if !ok || e.Code != footnote.StorageUnavailable || e.RetryAfter == 0 || e.Message != msgDown {
				t.Errorf("without a server: %v", err)
			}
		}
	}
	server.Start(t)
	_, err := s.Get(ctx, "c")
	must(t, err)
	_, err = s.Append(ctx, store.Append{Stream: "c", Bodies: say("x")})
	must(t, err)
	must(t, s.Ping(ctx))
	// The store does not notice a restart between two calls.
	server.Stop(t)
	server.Start(t)
	_, err = s.Append(ctx, store.Append{Stream: "c", After: 1, Bodies: say("y")})
	must(t, err)
	must(t, s.SetCursor(ctx, "x", 1))
}

// TestNoConnectionsAllowed makes the database refuse connections for a while, as during maintenance.
func TestNoConnectionsAllowed(t *testing.T) {
	server := pgtest.New(t)
	target, other := server.Database(t), server.Database(t)
	s := openAt(t, target, Options{Patience: time.Second})
	ctx := t.Context()
	must(t, s.Create(ctx, conversation("c")))
	admin, err := dial(ctx, other)
	must(t, err)
	defer admin.Close(ctx)
	u, err := url.Parse(target)
	must(t, err)
	name := strings.TrimPrefix(u.Path, "/")
	_, err = admin.Exec(ctx, `ALTER DATABASE `+name+` ALLOW_CONNECTIONS false`)
	must(t, err)
	_, err = admin.Exec(ctx, `SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE datname = $1`, name)
	must(t, err)
	_, err = s.Append(ctx, store.Append{Stream: "c", Bodies: say("x")})
	_, err2 := s.Get(ctx, "c")
	for _, err := range []error{err, err2} {
		e, ok := err.(*footnote.Error)
		if !ok || e.Code != footnote.StorageUnavailable || e.RetryAfter == 0 || e.Message != msgDown {
			t.Errorf("while no connections are allowed: %v", err)
		}
	}
	_, err = admin.Exec(ctx, `ALTER DATABASE `+name+` ALLOW_CONNECTIONS true`)
	must(t, err)
	_, err = s.Append(ctx, store.Append{Stream: "c", Bodies: say("x")})
	must(t, err)
}

// TestStoppedProcess holds the lock on positions in an idle transaction. The server must end that transaction, so that
// others can write.
func TestStoppedProcess(t *testing.T) {
	target := pgtest.Database(t)
	s := openAt(t, target, Options{})
	ctx := t.Context()
	must(t, s.Create(ctx, conversation("c")))
	conn, err := dial(ctx, target)
	must(t, err)
	defer conn.Close(ctx)
	_, err = conn.Exec(ctx, "BEGIN")
	must(t, err)
	_, err = conn.Exec(ctx, "SELECT pg_advisory_xact_lock($1)", int64(lockPosition))
	must(t, err)
	eventually(t, "the lock stays", func() bool {
		_, err := s.Append(ctx, store.Append{Stream: "c", Bodies: say("x")})
		if err != nil && footnote.CodeOf(err) != footnote.StorageUnavailable {
			t.Fatal(err)
		}
		return err == nil
	})
}

// TestSecrets checks that no error about a URL contains the password.
func TestSecrets(t *testing.T) {
	for _, target := range []string{
		"postgres://me:hush-1@127.0.0.1:1/db", "postgres://me:hush-2@[::1/db", "postgres://me:hush/3@host/db",
		"postgres://me:hu%sh-4@host",
		"postgres://me:hush-5@127.0.0.1:1/db?sslmode=odd",
		"postgres://me@127.0.0.1:1/db?password=hush-6&pool_max_conns=x", "mysql://me:hush-7@h/d",
		"host=127.0.0.1 password=hush-8", "postgres://me:hush-9@nowhere.invalid/db",
		"postgres://me:hush@10@127.0.0.1:1/db",
	} {
		for _, err := range []error{
			second(Open(t.Context(), target, Options{})), second(OpenReader(t.Context(), target)),
		} {
			if err == nil {
				t.Errorf("%s can be opened", target)
				continue
			}
			if text := fmt.Sprintf("%v %+v %#v", err, err, err); strings.Contains(text, "hush") ||
				strings.Contains(text, "hu%s") {
				t.Errorf("the error contains the password: %s", text)
			}
		}
	}
}

func second[T any](_ T, err error) error { return err }

// TestAppendAgain checks that repeating an append under its ID has no effect, even if the stream has newer events or
// the append released the lease, and that a different append is refused.
func TestAppendAgain(t *testing.T) {
	s := openAt(t, pgtest.Database(t), Options{})
	ctx := t.Context()
	create := store.Append{ID: 41, Run: "r", Take: &footnote.Take{Owner: "me", TTL: time.Minute}, Bodies: say("one")}
	first := ok(s.CreateAppend(ctx, conversation("c"), create))(t)
	again := store.Append{ID: 42, Stream: "c", After: 1, Run: "r", Lease: 1, Release: true, Bodies: say("two")}
	second := ok(s.Append(ctx, again))(t)
	for range 2 {
		if got := ok(s.CreateAppend(ctx, conversation("c"), create))(t); !reflect.DeepEqual(got, first) {
			t.Errorf("repeated create = %+v; want %+v", got, first)
		}
		if got := ok(s.Append(ctx, again))(t); !reflect.DeepEqual(got, second) {
			t.Errorf("repeated append = %+v; want %+v", got, second)
		}
	}
	again.ID = 43
	if _, err := s.Append(ctx, again); footnote.CodeOf(err) != footnote.Conflict {
		t.Errorf("another append: %v, want conflict", err)
	}
	if words := texts(t, s, "c"); len(words) != 2 {
		t.Errorf("the stream has %q", words)
	}
}

func ok(events []footnote.Event, err error) func(*testing.T) []footnote.Event {
	return func(t *testing.T) []footnote.Event {
		t.Helper()
		must(t, err)
		return events
	}
}
