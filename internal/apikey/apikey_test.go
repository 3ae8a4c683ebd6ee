package apikey

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/footnotehq/footnote"
	"github.com/footnotehq/footnote/store"
	"github.com/footnotehq/footnote/store/sqlite"
	"github.com/footnotehq/footnote/store/sqlite/sqlitetest"
)

// counted is a store that counts its calls.
type counted struct {
	*sqlite.Store
	calls int
	err   error
}

func (c *counted) Key(ctx context.Context, id string) (store.Key, error) {
	c.calls++
	if c.err != nil {
		return store.Key{}, c.err
	}
	return c.Store.Key(ctx, id)
}

var ann = footnote.Principal{Org: "acme", User: "ann", Roles: []string{"admin"}}

func add(t *testing.T, log *counted, expires time.Time) (key string, kept store.Key) {
	t.Helper()
	key, kept = New(ann, expires)
	if err := log.AddKey(t.Context(), kept); err != nil {
		t.Fatal(err)
	}
	return key, kept
}

func TestRevocationIsSeenWithinASecond(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		log := &counted{Store: sqlitetest.New(t)}
		ring := NewRing(log)
		key, kept := add(t, log, time.Time{})
		for range 100 {
			id, p, err := ring.Check(t.Context(), key)
			if err != nil || id != kept.ID || p.User != "ann" || !p.Has(footnote.Admin) {
				t.Fatal(id, p, err)
			}
		}
		if log.calls != 1 {
			t.Errorf("the store was asked %d times", log.calls)
		}
		if err := log.RevokeKey(t.Context(), kept.ID); err != nil {
			t.Fatal(err)
		}
		time.Sleep(cacheTime)
		for what, err := range map[string]error{
			"key": second(ring.Check(t.Context(), key)),
			"id":  last(ring.PrincipalOf(t.Context(), kept.ID)),
		} {
			if footnote.CodeOf(err) != footnote.Unauthorized || !strings.Contains(footnote.MessageOf(err), "revoked") {
				t.Errorf("by its %s: %v", what, err)
			}
		}
	})
}

func second(_ string, _ footnote.Principal, err error) error { return err }
func last(_ footnote.Principal, err error) error             { return err }

func TestKeyExpires(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		log := &counted{Store: sqlitetest.New(t)}
		ring := NewRing(log)
		key, _ := add(t, log, time.Now().Add(500*time.Millisecond))
		if err := second(ring.Check(t.Context(), key)); err != nil {
			t.Fatal(err)
		}
		time.Sleep(500 * time.Millisecond)
		if err := second(ring.Check(t.Context(), key)); footnote.CodeOf(err) != footnote.Unauthorized ||
			!strings.Contains(err.Error(), "expired") || log.calls != 1 {
			t.Error(err, log.calls)
		}
	})
}

// TestForgedKeys checks that the error does not reveal what is wrong with a key, and that a wrong secret
// costs the same work as an unknown id.
func TestForgedKeys(t *testing.T) {
	log := &counted{Store: sqlitetest.New(t)}
	key, kept := add(t, log, time.Time{})
	if err := log.RevokeKey(t.Context(), kept.ID); err != nil {
		t.Fatal(err)
	}
	good, _ := add(t, log, time.Time{})
	stranger, _ := New(ann, time.Time{})
	flip := func(s string, i int) string {
		b := []byte(s)
		b[i] ^= 1
		return string(b)
	}
	for name, c := range map[string]struct {
		key   string
		calls int
	}{
		"empty": {"", 0}, "cut": {good[:len(good)-1], 0}, "longer": {good + "A", 0},
		"another prefix": {"x" + good[1:], 0}, "huge": {strings.Repeat("fnk_", 1<<16), 0},
		"of another server": {stranger, 1}, "wrong secret": {flip(good, keySize-1), 1},
		"wrong secret of a revoked one": {flip(key, keySize-1), 1},
		"id in capitals": {
			Prefix + strings.ToUpper(good[len(Prefix):len(Prefix)+idSize]) + good[len(Prefix)+idSize:], 1,
		},
	} {
		ring := NewRing(log)
		log.calls = 0
		if err := second(ring.Check(t.Context(), c.key)); !errors.Is(err, errUnknown) {
			t.Errorf("%s: %v", name, err)
		}
		if log.calls != c.calls {
			t.Errorf("%s: the store was asked %d times, want %d", name, log.calls, c.calls)
		}
	}
	if err := last(NewRing(log).PrincipalOf(t.Context(), "nobody")); !errors.Is(err, errUnknown) {
		t.Error(err)
	}
}

// TestOnlyCachedKeysWithoutStore checks that without a working store only cached keys are accepted, and that
// the error says why.
func TestOnlyCachedKeysWithoutStore(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		log := &counted{Store: sqlitetest.New(t)}
		ring := NewRing(log)
		key, _ := add(t, log, time.Time{})
		if err := second(ring.Check(t.Context(), key)); err != nil {
			t.Fatal(err)
		}
		log.err = footnote.Errorf(footnote.StorageUnavailable, "away")
		time.Sleep(cacheTime)
		if err := second(ring.Check(t.Context(), key)); footnote.CodeOf(err) != footnote.StorageUnavailable {
			t.Error(err)
		}
	})
}

func TestCacheIsBounded(t *testing.T) {
	log := &counted{Store: sqlitetest.New(t)}
	ring := NewRing(log)
	for i := range maxCached + 10 {
		ring.cache[fmt.Sprintf("%016d", i)] = cachedKey{at: time.Now().Add(time.Hour)}
	}
	key, _ := add(t, log, time.Time{})
	if err := second(ring.Check(t.Context(), key)); err != nil || len(ring.cache) > maxCached {
		t.Error(len(ring.cache), err)
	}
}

func TestIDOf(t *testing.T) {
	key, kept := New(ann, time.Time{})
	for _, text := range []string{key, kept.ID} {
		if got := IDOf(text); got != kept.ID {
			t.Errorf("IDOf(%q) = %q", text, got)
		}
	}
}

// TestKeysOfUnreadableNames checks that no key is created for a name that would break a log line, and that an
// older key with such a name is rejected.
func TestKeysOfUnreadableNames(t *testing.T) {
	for _, p := range []footnote.Principal{
		{
			Org:  "acme",
			User: "ann\nbob",
		},
		{Org: "ac\u202eme", User: "ann"},
		{Org: "acme", User: "ann", Roles: []string{"a\x00b"}},
		{
			Org:        "acme",
			User:       "ann",
			Attributes: map[string]string{"region": "eu\U000e0041"},
		},
		{Org: "acme", User: "ann", Attributes: map[string]string{"re\tgion": "eu"}},
	} {
		key, kept := New(p, time.Time{})
		if err := sqlitetest.New(t).AddKey(t.Context(), kept); footnote.CodeOf(err) != footnote.InvalidRequest {
			t.Errorf("%+v: %v", p, err)
		}
		if _, _, err := NewRing(old{kept}).Check(t.Context(), key); footnote.CodeOf(err) != footnote.Unauthorized {
			t.Errorf("%+v: %v", p, err)
		}
	}
	key, kept := New(footnote.Principal{
		Org:        "Åcmé",
		User:       "نام\u200cها",
		Attributes: map[string]string{"region": ""},
	}, time.Time{})
	if _, _, err := NewRing(old{kept}).Check(t.Context(), key); err != nil {
		t.Error(err)
	}
}

// old is a store with one key, valid or not.
type old struct{ key store.Key }

func (o old) Key(context.Context, string) (store.Key, error) { return o.key, nil }
