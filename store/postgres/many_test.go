package postgres

import (
	"fmt"
	"slices"
	"sync"
	"testing"
	"time"

	"github.com/footnotehq/footnote"
	"github.com/footnotehq/footnote/internal/pgtest"
	"github.com/footnotehq/footnote/store"
)

// TestManyProcesses opens several stores on one database, as several processes do. Each store writes to its own streams
// and to a shared one, and follows the tail: positions must only grow, and no event may be missed.
func TestManyProcesses(t *testing.T) {
	const stores, writers, each = 3, 6, 20
	target := pgtest.Database(t)
	var all [stores]*Store
	for i := range all {
		all[i] = openAt(t, target, Options{})
	}
	must(t, all[0].Create(t.Context(), conversation("shared")))
	var wg sync.WaitGroup
	for i, s := range all {
		for w := range writers {
			wg.Go(func() { appendMany(t, s, fmt.Sprintf("c%d.%d", i, w), each) })
		}
		wg.Go(func() { appendShared(t, s, each) })
		wg.Go(func() { followTail(t, all[(i+1)%stores], stores*(writers+1)*each) })
	}
	wg.Wait()
	if n := len(texts(t, all[0], "shared")); n != stores*each {
		t.Errorf("%d events in the stream that all write to, want %d", n, stores*each)
	}
}

func appendMany(t *testing.T, s *Store, id string, n int) {
	if err := s.Create(t.Context(), conversation(id)); err != nil {
		t.Error(err)
		return
	}
	for i := range int64(n) {
		if _, err := s.Append(t.Context(), store.Append{Stream: id, After: i, Bodies: say("x")}); err != nil {
			t.Error(err)
			return
		}
	}
}

// appendShared appends n events to the shared stream.
func appendShared(t *testing.T, s *Store, n int) {
	var after int64
	for done := 0; done < n; {
		_, err := s.Append(t.Context(), store.Append{Stream: "shared", After: after, Bodies: say("x")})
		switch footnote.CodeOf(err) {
		case "":
			done++
			after++
		case footnote.Conflict:
			h, err := s.Get(t.Context(), "shared")
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
}

// followTail reads n events from the tail.
func followTail(t *testing.T, s *Store, n int) {
	var position int64
	seen := map[string]int64{}
	for end := time.Now().Add(time.Minute); n > 0; {
		events, err := s.Tail(t.Context(), position, 5)
		if err != nil || time.Now().After(end) {
			t.Errorf("%d events are missing: %v", n, err)
			return
		}
		for _, ev := range events {
			if ev.Position <= position || ev.Seq != seen[ev.Stream]+1 {
				t.Errorf("%s event %d at %d comes after %d at %d", ev.Stream, ev.Seq, ev.Position, seen[ev.Stream],
					position)
				return
			}
			position, seen[ev.Stream] = ev.Position, ev.Seq
		}
		n -= len(events)
	}
}

// TestTakeover lets a second process take over a stream after the lease of the first has expired.
func TestTakeover(t *testing.T) {
	target := pgtest.Database(t)
	a, b := openAt(t, target, Options{}), openAt(t, target, Options{})
	ctx := t.Context()
	start := func(s *Store, after int64, owner string, ttl time.Duration) error {
		_, err := s.Append(ctx,
			store.Append{Stream: "c", After: after, Run: "r", Bodies: []footnote.Body{footnote.RunStarted{}},
				Take: &footnote.Take{Owner: owner, TTL: ttl}})
		return err
	}
	must(t, a.Create(ctx, conversation("c")))
	must(t, start(a, 0, "a", 50*time.Millisecond))
	eventually(t, "b takes over", func() bool { return start(b, 1, "b", time.Hour) == nil })
	for name, err := range map[string]error{
		"append":         second(a.Append(ctx, store.Append{Stream: "c", After: 2, Lease: 1, Bodies: say("stale")})),
		"renewal":        a.Renew(ctx, "c", 1, time.Hour),
		"second attempt": start(a, 2, "a", time.Hour),
	} {
		if footnote.CodeOf(err) != footnote.Conflict {
			t.Errorf("%s under the expired lease: %v", name, err)
		}
	}
	heads, err := a.Unfinished(ctx, time.Now(), 10)
	if err != nil || len(heads) != 0 {
		t.Errorf("unfinished while b works: %v, %v", heads, err)
	}
	must(t, a.Release(ctx, "c", 1)) // the lease belongs to b now
	_, err = b.Append(ctx, store.Append{Stream: "c", After: 2, Lease: 2, Bodies: say("mine")})
	must(t, err)
}

// TestCreateRace lets several processes create the same conversations concurrently.
func TestCreateRace(t *testing.T) {
	const stores, streams = 3, 20
	target := pgtest.Database(t)
	var mu sync.Mutex // guards made
	made := map[string]int{}
	var wg sync.WaitGroup
	for range stores {
		s := openAt(t, target, Options{})
		for i := range streams {
			wg.Go(func() {
				st := conversation(fmt.Sprint("c", i))
				st.ClientID = fmt.Sprint("client", (i*7)%streams)
				_, err := s.CreateAppend(t.Context(), st, store.Append{Bodies: say("x")})
				mu.Lock()
				defer mu.Unlock()
				if err == nil {
					made[st.ID]++
				} else if footnote.CodeOf(err) != footnote.Conflict {
					t.Error(err)
				}
			})
		}
	}
	wg.Wait()
	for i := range streams {
		if n := made[fmt.Sprint("c", i)]; n != 1 {
			t.Errorf("c%d was made %d times", i, n)
		}
	}
}

// TestDeleteRace deletes conversations while other processes write to them.
func TestDeleteRace(t *testing.T) {
	target := pgtest.Database(t)
	a, b := openAt(t, target, Options{}), openAt(t, target, Options{})
	ctx := t.Context()
	var wg sync.WaitGroup
	for i := range 10 {
		id := fmt.Sprint("c", i)
		must(t, a.Create(ctx, conversation(id)))
		started := make(chan struct{})
		wg.Go(func() {
			data := []byte(id)
			for n := int64(0); ; n++ {
				_, err := a.Append(ctx, store.Append{
					Stream: id, After: n, Bodies: say("x"),
					Blobs: map[footnote.Digest][]byte{footnote.DigestOf(data): data},
				})
				if n == 2 {
					close(started)
				}
				if footnote.CodeOf(err) == footnote.NotFound {
					return
				}
				if err != nil {
					t.Error(err)
					return
				}
			}
		})
		wg.Go(func() {
			<-started
			if err := b.Delete(ctx, id); err != nil {
				t.Error(err)
			}
		})
	}
	wg.Wait()
	var left int
	must(t, a.pool.QueryRow(ctx,
		"SELECT (SELECT count(*) FROM footnote.events) + (SELECT count(*) FROM footnote.blobs)").Scan(&left))
	if left != 0 {
		t.Errorf("%d rows are left", left)
	}
}

// TestToolResults reads the view tool_results, with texts that jsonb cannot hold.
func TestToolResults(t *testing.T) {
	s := openAt(t, pgtest.Database(t), Options{})
	ctx := t.Context()
	block := func(text string) footnote.AssistantMessage {
		return footnote.AssistantMessage{Blocks: jsons(`{"type":"text","text":"hm"}`, text)}
	}
	_, err := s.CreateAppend(ctx, conversation("c"), store.Append{Run: "r", Bodies: []footnote.Body{
		footnote.UserMessage{Text: "nul \x00"},
		block(`{"type":"tool_use","id":"t1","name":"run_query","input":{"sql":"SELECT 1"}}`),
		footnote.ToolResult{CallID: "t1", Name: "run_query", Content: "1", Millis: 7},
		block(`{"type":"tool_use","id":"t2","name":"run_query","input":{"sql":"a\u0000b \ud800 \\u0000"}}`),
		footnote.ToolResult{CallID: "t2", Name: "run_query", Content: "\x00", IsError: true},
		footnote.ToolResult{CallID: "t9", Name: "lost", Content: "no call"},
		block(`{"type":"tool_use","id":"t1","name":"run_query","input":{"sql":"SELECT 2"}}`), // the same id again
		footnote.ToolResult{CallID: "t1", Name: "run_query", Content: "2"},
	}})
	must(t, err)
	rows, err := s.pool.Query(ctx,
		`SELECT concat_ws('|', id, event_id, tool_name, input->>'sql', output->>'content', output->>'is_error',
			duration_ms, org_id)
		FROM footnote.tool_results WHERE conversation_id = 'c' ORDER BY executed_at, id`)
	must(t, err)
	var got []string
	for rows.Next() {
		var line string
		must(t, rows.Scan(&line))
		got = append(got, line)
	}
	must(t, rows.Err())
	want := []string{
		"c/3|c/2|run_query|SELECT 1|1|7|acme",
		"c/5|c/4|run_query|a\uFFFDb \uFFFD \\ufffd|\uFFFD|true|0|acme",
		"c/6|lost|no call|0|acme",
		"c/8|c/7|run_query|SELECT 2|2|0|acme",
	}
	if !slices.Equal(got, want) {
		t.Errorf("got  %q\nwant %q", got, want)
	}
}
