package store_test

import (
	"fmt"
	"sync"
	"testing"
	"time"

	"github.com/footnotehq/footnote"
	"github.com/footnotehq/footnote/store"
)

// BenchmarkSettle measures appends of 64 conversations of one organisation, alternately without and with a reservation
// that each append settles. It reports the ratio of the times.
func BenchmarkSettle(b *testing.B) {
	for _, kind := range backends {
		b.Run(kind.name, func(b *testing.B) { benchSettle(b, kind.empty(b)) })
	}
}

func benchSettle(b *testing.B, s store.Store) {
	const streams, each = 64, 8
	for i := range streams {
		create(b, s, fmt.Sprint("c", i))
	}
	var last int64
	round := func(reserve bool) time.Duration {
		begun := time.Now()
		var wg sync.WaitGroup
		for i := range streams {
			wg.Go(func() {
				id := fmt.Sprint("c", i)
				for n := range int64(each) {
					a := store.Append{Stream: id, After: last + n, Bodies: say("x")}
					if reserve {
						w := request(fmt.Sprint(id, ".", last+n), usd(10), footnote.SpendingLimit{
							Scope: footnote.PerOrgDay,
							Max:   usd(1 << 50),
						})
						w.Stream = id
						if _, err := s.Reserve(b.Context(), w); err != nil {
							b.Error(err)
							return
						}
						a.Settle = []footnote.Settle{{ID: w.ID, Org: w.Org, User: w.User, Stream: id, Spent: usd(5)}}
					}
					if _, err := s.Append(b.Context(), a); err != nil {
						b.Error(err)
						return
					}
				}
			})
		}
		wg.Wait()
		last += each
		return time.Since(begun)
	}
	var plain, settled time.Duration
	for b.Loop() {
		plain += round(false)
		settled += round(true)
	}
	b.ReportMetric(settled.Seconds()/plain.Seconds(), "×plain")
	b.ReportMetric(float64(b.N*streams*each)/settled.Seconds(), "calls/s")
}
