package audit_test

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/footnotehq/footnote"
	"github.com/footnotehq/footnote/audit"
	"github.com/footnotehq/footnote/store/sqlite/sqlitetest"
)

// TestServersShareAudit checks that servers on one log write each run completely and once, even if several of them
// have read its events.
func TestServersShareAudit(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		log := sqlitetest.New(t)
		var lock sync.Mutex
		lead := func(context.Context, string) (func(), bool, error) {
			ok := lock.TryLock()
			return lock.Unlock, ok, nil
		}
		ctx, cancel := context.WithCancel(t.Context())
		var servers sync.WaitGroup
		var sinks [3]sink
		for i := range sinks {
			a := follow(t, audit.Options{
				Log: log, Lead: lead, Sinks: map[string]audit.Sink{"s": &sinks[i]},
				Poll: time.Duration(i+2) * 300 * time.Millisecond,
			})
			servers.Go(func() { a.Run(ctx, 5*time.Second) })
		}
		var want []string
		for i := range 20 {
			run := fmt.Sprintf("run_%02d", i)
			want = append(want, run)
			bodies := question("how many", "seven", "t")
			put(t, log, run, bodies[0])
			for n, b := range bodies[1:] {
				time.Sleep(170 * time.Millisecond)
				a := footnote.Append{Stream: "conv_" + run, After: int64(n + 1), Run: run, Bodies: []footnote.Body{b}}
				if _, err := log.Append(ctx, a); err != nil {
					t.Fatal(err)
				}
			}
		}
		time.Sleep(10 * time.Second)
		cancel()
		servers.Wait()
		var got []string
		wrote := 0
		for i := range sinks {
			part := entries(t, sinks[i].text())
			if len(part) > 0 {
				wrote++
			}
			for _, e := range part {
				got = append(got, e.RunID)
				if e.Question != "how many" || e.Response != "seven" || len(e.Queries) != 1 {
					t.Errorf("server %d has of %s: %+v", i, e.RunID, e)
				}
			}
		}
		if wrote < 2 {
			t.Errorf("%d of the servers wrote; the test says nothing", wrote)
		}
		slices.Sort(got)
		if !slices.Equal(got, want) {
			t.Errorf("the audits have %v", got)
		}
	})
}

// entries reads the lines of a sink.
func entries(t *testing.T, text string) (all []audit.Entry) {
	t.Helper()
	for line := range strings.Lines(text) {
		var e audit.Entry
		if err := json.Unmarshal([]byte(line), &e); err != nil {
			t.Fatalf("line %q: %v", line, err)
		}
		all = append(all, e)
	}
	return all
}
