package lease

import (
	"fmt"
	"testing"
	"time"

	"github.com/footnotehq/footnote"
)

// TestExpiredLeasesAreRemoved takes many leases that are never released. The table must stay small and keep the
// unexpired ones.
func TestExpiredLeasesAreRemoved(t *testing.T) {
	var table Table
	now := time.Unix(0, 0)
	take := func(stream string, ttl time.Duration) {
		table.Apply(footnote.Append{Stream: stream, Take: &footnote.Take{Owner: "me", TTL: ttl}}, now)
	}
	take("kept", time.Hour*24)
	for i := range 100 * sweepAt {
		take(fmt.Sprint(i), time.Second)
		now = now.Add(100 * time.Millisecond)
	}
	if n := len(table.leases); n > 2*sweepAt {
		t.Errorf("%d leases, of which %d are not expired", n, 11)
	}
	if !table.Held("kept", now) || !table.Allows(footnote.Append{Stream: "kept", Lease: 1}, now) {
		t.Error("an unexpired lease was removed")
	}
}
