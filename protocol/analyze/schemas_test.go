package analyze

import (
	"fmt"
	"testing"
	"testing/synctest"
	"time"

	"github.com/footnotehq/footnote/internal/localschema"
)

// TestSchemasAreBounded checks that stored schemas are limited per user and in total, and that no user can
// evict another's.
func TestSchemasAreBounded(t *testing.T) {
	var k schemas
	now := time.Now()
	k.put("bob\x00", "s", localschema.Schema{}, 100, now)
	for i := range 3 * maxSchemasPerUser {
		now = now.Add(time.Millisecond)
		k.put("ada\x00", fmt.Sprint(i), localschema.Schema{}, 100, now)
	}
	if len(k.m) != maxSchemasPerUser+1 {
		t.Errorf("%d are kept", len(k.m))
	}
	if _, ok := k.get("bob\x00s", now); !ok {
		t.Error("bob's schema was evicted")
	}
	if _, ok := k.get("ada\x00"+fmt.Sprint(3*maxSchemasPerUser-1), now); !ok {
		t.Error("the newest was not kept")
	}
	for i := range 1000 {
		k.put(fmt.Sprint(i, "\x00"), "s", localschema.Schema{}, schemaBytes/100, now)
	}
	size := 0
	for _, s := range k.m {
		size += s.size
	}
	if size > schemaBytes {
		t.Errorf("%d bytes are kept", size)
	}
	k.put("eve\x00", "s", localschema.Schema{}, 1, now.Add(2*schemaIdle))
	if len(k.m) != 1 {
		t.Errorf("%d unused schemas are still kept", len(k.m))
	}
}

// TestIdleSchemasExpire checks that an unused schema expires without any further request, and that a
// used one stays.
func TestIdleSchemasExpire(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var k schemas
		count := func() int {
			k.mu.Lock()
			defer k.mu.Unlock()
			return len(k.m)
		}
		k.put("ada\x00", "idle", localschema.Schema{}, 100, time.Now())
		k.put("ada\x00", "used", localschema.Schema{}, 100, time.Now())
		time.Sleep(schemaIdle - time.Second)
		if _, ok := k.get("ada\x00used", time.Now()); !ok || count() != 2 {
			t.Errorf("%d are kept before their time is over", count())
		}
		time.Sleep(2 * time.Second)
		synctest.Wait()
		if n := count(); n != 1 {
			t.Errorf("%d are kept, of which one was used", n)
		}
		time.Sleep(2 * schemaIdle)
		synctest.Wait()
		if n := count(); n != 0 || k.sweep != nil {
			t.Errorf("%d unused schemas are still kept", n)
		}
	})
}
