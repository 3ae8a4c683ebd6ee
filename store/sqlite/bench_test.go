package sqlite

import (
	"context"
	"database/sql"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/footnotehq/footnote"
	"github.com/footnotehq/footnote/store"
)

// benchBody is a small event, like most events.
var benchBody = footnote.UserMessage{Text: strings.Repeat("How much did we sell? ", 10)}

// BenchmarkAppend appends single events to several streams concurrently. One op is one durable event.
func BenchmarkAppend(b *testing.B) {
	for _, streams := range []int{1, 8, 64, 256} {
		b.Run(fmt.Sprint("streams=", streams), func(b *testing.B) {
			s := open(b, b.TempDir())
			b.ReportAllocs()
			appendEvents(b, s, streams, 1, b.N)
		})
	}
	b.Run("streams=64/bodies=2", func(b *testing.B) {
		s := open(b, b.TempDir())
		b.ReportAllocs()
		appendEvents(b, s, 64, 2, b.N)
	})
}

// appendEvents makes n appends of the given number of bodies each, spread over the streams.
func appendEvents(tb testing.TB, s store.Store, streams, bodies, n int) {
	ctx := context.Background()
	for i := range streams {
		must(tb, s.Create(ctx, store.Stream{ID: fmt.Sprint("c", i), Kind: store.Conversation, Org: "o", User: "u"}))
	}
	body := make([]footnote.Body, bodies)
	for i := range body {
		body[i] = benchBody
	}
	if b, ok := tb.(*testing.B); ok {
		b.ResetTimer()
	}
	var left atomic.Int64
	left.Store(int64(n))
	var wg sync.WaitGroup
	for i := range streams {
		wg.Go(func() {
			a := store.Append{Stream: fmt.Sprint("c", i), Bodies: body}
			for ; left.Add(-1) >= 0; a.After += int64(bodies) {
				if _, err := s.Append(ctx, a); err != nil {
					tb.Error(err)
					return
				}
			}
		})
	}
	wg.Wait()
}

// BenchmarkRaw measures the baseline: plain INSERTs of the same rows into a table without indexes, one transaction
// each, over one connection with the same durability.
func BenchmarkRaw(b *testing.B) {
	db := openRaw(b)
	b.ReportAllocs()
	b.ResetTimer()
	insertRaw(b, db, b.N)
}

func openRaw(tb testing.TB) *sql.Stmt {
	db, err := sql.Open("sqlite", dsn(filepath.Join(tb.TempDir(), "raw.db"), writePragmas))
	must(tb, err)
	tb.Cleanup(func() { must(tb, db.Close()) })
	db.SetMaxOpenConns(1)
	_, err = db.Exec(`CREATE TABLE events (n INTEGER PRIMARY KEY, stream TEXT, seq INTEGER, time INTEGER, run TEXT, ` +
		`kind TEXT, body TEXT)`)
	must(tb, err)
	stmt, err := db.Prepare(`INSERT INTO events (stream, seq, time, run, kind, body) VALUES (?, ?, ?, ?, ?, ?)`)
	must(tb, err)
	return stmt
}

func insertRaw(tb testing.TB, stmt *sql.Stmt, n int) {
	kind, body, err := footnote.EncodeBody(benchBody)
	must(tb, err)
	for i := range n {
		_, err := stmt.Exec("c0", i, time.Now().UnixMicro(), "", kind, string(body))
		must(tb, err)
	}
}

// BenchmarkRatio alternates between appends to 64 streams and the baseline on the same disk, and reports the ratio of
// their throughputs.
func BenchmarkRatio(b *testing.B) {
	raw := openRaw(b)
	s := open(b, b.TempDir())
	const streams, round = 64, 2048
	appendEvents(b, s, streams, 1, 0) // create the streams
	var ours, theirs time.Duration
	last := int64(0)
	for b.Loop() {
		start := time.Now()
		insertRaw(b, raw, round)
		theirs += time.Since(start)
		start = time.Now()
		var wg sync.WaitGroup
		for i := range streams {
			wg.Go(func() {
				for n := range int64(round / streams) {
					if _, err := s.Append(context.Background(), store.Append{
						Stream: fmt.Sprint("c", i),
						After:  last + n,
						Bodies: []footnote.Body{benchBody},
					}); err != nil {
						b.Error(err)
						return
					}
				}
			})
		}
		wg.Wait()
		ours += time.Since(start)
		last += round / streams
	}
	events := float64(b.N * round)
	b.ReportMetric(theirs.Seconds()/ours.Seconds(), "×raw")
	b.ReportMetric(events/ours.Seconds(), "events/s")
	b.ReportMetric(events/theirs.Seconds(), "raw/s")
}

// grow writes events to many streams in large appends, and halfway also to the stream "one".
func grow(tb testing.TB, s store.Store, events int) {
	tb.Helper()
	const streams, each = 100, 1000
	ctx := tb.Context()
	bodies := make([]footnote.Body, each)
	for i := range bodies {
		bodies[i] = footnote.UserMessage{Text: "How much did we sell?"}
	}
	head := func(i int) (string, int64) {
		id := fmt.Sprint("big", i)
		h, err := s.Get(ctx, id)
		if footnote.CodeOf(err) == footnote.NotFound {
			err = s.Create(ctx, store.Stream{ID: id, Kind: store.Conversation, Org: "o", User: "u"})
		}
		must(tb, err)
		return id, h.Last
	}
	for i := range events / each {
		id, last := head(i % streams)
		_, err := s.Append(ctx, store.Append{Stream: id, After: last, Bodies: bodies})
		must(tb, err)
	}
}

// cost returns the median times of an append and of reading the last of many events.
func cost(tb testing.TB, s store.Store) (write, read time.Duration) {
	tb.Helper()
	ctx := tb.Context()
	h, err := s.Get(ctx, "big0")
	must(tb, err)
	var writes, reads []time.Duration
	for range 201 {
		start := time.Now()
		_, err := s.Append(ctx, store.Append{Stream: "big0", After: h.Last, Bodies: []footnote.Body{benchBody}})
		must(tb, err)
		writes = append(writes, time.Since(start))
		h.Last++
		start = time.Now()
		n := 0
		for _, err := range s.Events(ctx, "big0", h.Last-5) {
			must(tb, err)
			n++
		}
		if n != 5 {
			tb.Fatalf("read %d events, want 5", n)
		}
		reads = append(reads, time.Since(start))
	}
	return median(writes), median(reads)
}

// TestCostIsFlat compares a store of 1,000 events with one of 100,000, or of a million when FOOTNOTE_LONG is set:
// neither an append nor a read of new events may depend on the number of older events.
func TestCostIsFlat(t *testing.T) {
	events := 100_000
	if os.Getenv("FOOTNOTE_LONG") != "" {
		events = 1_000_000
	}
	s := open(t, t.TempDir())
	grow(t, s, 1000)
	write0, read0 := cost(t, s)
	start := time.Now()
	grow(t, s, events)
	took := time.Since(start)
	write1, read1 := cost(t, s)
	t.Logf("%d events in %v; append %v → %v, read after %v → %v", events, took.Round(time.Millisecond), write0, write1,
		read0, read1)
	// A cost that grows with the events would be 100 times as large; a busy machine is not that slow.
	const room = 8
	if write1 > room*write0 || read1 > room*read0 {
		t.Errorf("append %v → %v, read after %v → %v", write0, write1, read0, read1)
	}
}

// BenchmarkEvents reads a conversation of 1,000 events.
func BenchmarkEvents(b *testing.B) {
	s := open(b, b.TempDir())
	grow(b, s, 1000)
	b.ReportAllocs()
	for b.Loop() {
		for _, err := range s.Events(b.Context(), "big0", 0) {
			must(b, err)
		}
	}
	b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N)/1000, "ns/event")
}
