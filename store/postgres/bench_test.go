package postgres

import (
	"context"
	"fmt"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/jackc/pgx/v5/pgxpool"

	"github.com/footnotehq/footnote"
	"github.com/footnotehq/footnote/internal/pgtest"
	"github.com/footnotehq/footnote/store"
)

var benchBody = footnote.UserMessage{Text: strings.Repeat("How much did we sell? ", 10)}

// BenchmarkRatio measures how many events per second 64 conversations can commit through stores, and compares that with
// plain INSERTs into a table without indexes, one transaction each, over one connection and over 64. Concurrent plain
// commits share fsyncs, too. The measurements alternate on one server.
func BenchmarkRatio(b *testing.B) {
	for _, stores := range []int{1, 3} {
		b.Run(fmt.Sprint("stores=", stores), func(b *testing.B) { benchRatio(b, stores) })
	}
}

func benchRatio(b *testing.B, stores int) {
	const streams, round = 64, 2048
	target := pgtest.Database(b)
	all := make([]*Store, stores)
	for i := range all {
		all[i] = openAt(b, target, Options{})
	}
	for i := range streams {
		must(b, all[0].Create(b.Context(), conversation(fmt.Sprint("c", i))))
	}
	pool := rawPool(b, target, streams)
	var ours, one, many time.Duration
	last := int64(0)
	for b.Loop() {
		one += timed(func() { rawInserts(b, pool, 1, round/4) }) * 4
		many += timed(func() { rawInserts(b, pool, streams, round) })
		ours += timed(func() { appendAll(b, all, streams, round/streams, last) })
		last += round / streams
	}
	events := float64(b.N * round)
	b.ReportMetric(events/ours.Seconds(), "events/s")
	b.ReportMetric(one.Seconds()/ours.Seconds(), "×raw1")
	b.ReportMetric(many.Seconds()/ours.Seconds(), "×raw64")
}

func timed(f func()) time.Duration {
	begun := time.Now()
	f()
	return time.Since(begun)
}

func appendAll(b *testing.B, all []*Store, streams, each int, last int64) {
	var wg sync.WaitGroup
	for i := range streams {
		wg.Go(func() {
			s := all[i%len(all)]
			for n := range int64(each) {
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
}

func rawPool(b *testing.B, target string, conns int32) *pgxpool.Pool {
	c, err := pgxpool.ParseConfig(target)
	must(b, err)
	c.MaxConns = conns
	pool, err := pgxpool.NewWithConfig(b.Context(), c)
	must(b, err)
	b.Cleanup(pool.Close)
	_, err = pool.Exec(b.Context(),
		`CREATE TABLE raw (n bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY, stream text, seq bigint, time `+
			`timestamptz, run text, kind text, body text)`)
	must(b, err)
	return pool
}

func rawInserts(b *testing.B, pool *pgxpool.Pool, conns, n int) {
	kind, body, err := footnote.EncodeBody(benchBody)
	must(b, err)
	var wg sync.WaitGroup
	for range conns {
		wg.Go(func() {
			err := pool.AcquireFunc(context.Background(), func(c *pgxpool.Conn) error {
				for i := range n / conns {
					if _, err := c.Exec(context.Background(),
						`INSERT INTO raw (stream, seq, time, run, kind, body) VALUES ($1, $2, $3, $4, $5, $6)`,
						"c0", i, time.Now(), "", kind, string(body)); err != nil {
						return err
					}
				}
				return nil
			})
			if err != nil {
				b.Error(err)
			}
		})
	}
	wg.Wait()
}

// BenchmarkTail reads the newest of many events.
func BenchmarkTail(b *testing.B) {
	s := openAt(b, pgtest.Database(b), Options{})
	bodies := make([]footnote.Body, 1000)
	for i := range bodies {
		bodies[i] = benchBody
	}
	_, err := s.CreateAppend(b.Context(), conversation("c"), store.Append{Bodies: bodies})
	must(b, err)
	tail, err := s.Tail(b.Context(), 0, 1000)
	must(b, err)
	after := tail[len(tail)-11].Position
	for b.Loop() {
		_, err := s.Tail(b.Context(), after, 100)
		must(b, err)
	}
}
