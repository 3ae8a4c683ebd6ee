package store_test

import (
	"crypto/sha256"
	"fmt"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/footnotehq/footnote"
	"github.com/footnotehq/footnote/store"
)

// keyOf returns a key of a user.
func keyOf(id, org, user string) store.Key {
	return store.Key{
		ID:        id,
		Hash:      sha256.Sum256([]byte("secret of " + id)),
		Principal: footnote.Principal{Org: org, User: user},
	}
}

func testKeys(t *testing.T, s store.Store) {
	ctx := begin(t)
	soon := time.Now().Add(time.Hour).UTC().Truncate(time.Microsecond)
	ann := keyOf("k1", "acme", "ann")
	ann.Roles, ann.Attributes, ann.Expires = []string{
		"admin", "é'\"\\",
	}, map[string]string{"region": "eu, 'west'", "": ""}, soon
	delete(ann.Attributes, "")
	must(t, s.AddKey(ctx, ann))
	must(t, s.AddKey(ctx, keyOf("k2", "other", "bob")))
	must(t, s.AddKey(ctx, keyOf("k3", "acme", "bob")))
	must(t, s.AddKey(ctx, ann)) // again: no effect

	got, err := s.Key(ctx, "k1")
	must(t, err)
	if since := time.Since(got.Created); since < -time.Minute || since > time.Hour {
		t.Errorf("created %v", got.Created)
	}
	ann.Created = got.Created
	equal(t, "the key", got, ann)
	got.Roles[0], got.Attributes["region"] = "changed", "changed"
	again, err := s.Key(ctx, "k1")
	must(t, err)
	equal(t, "the key after its reader changed it", again, ann)

	stolen := keyOf("k1", "other", "eve")
	stolen.Hash[0]++
	wantCode(t, s.AddKey(ctx, stolen), footnote.Conflict)
	_, err = s.Key(ctx, "k")
	wantCode(t, err, footnote.NotFound)
	_, err = s.Key(ctx, "k1\x00")
	wantCode(t, err, footnote.NotFound)

	for _, c := range []struct {
		org, after string
		limit      int
		want       string
	}{
		{"", "", 10, "k1 k2 k3"},
		{"", "k1", 1, "k2"},
		{"acme", "", 10, "k1 k3"},
		{"acme", "k1", 10, "k3"},
		{"ACME", "", 10, ""},
		{"", "k3", 10, ""},
	} {
		list, err := s.ListKeys(ctx, c.org, c.after, c.limit)
		must(t, err)
		var ids []string
		for _, k := range list {
			ids = append(ids, k.ID)
		}
		equal(t, fmt.Sprintf("%+v", c), strings.Join(ids, " "), c.want)
	}

	must(t, s.RevokeKey(ctx, "k1"))
	first, err := s.Key(ctx, "k1")
	must(t, err)
	if first.Revoked.IsZero() || first.Hash != ann.Hash {
		t.Errorf("after it was revoked: %+v", first)
	}
	must(t, s.RevokeKey(ctx, "k1"))
	must(t, s.AddKey(ctx, ann)) // does not restore it
	second, err := s.Key(ctx, "k1")
	must(t, err)
	equal(t, "the key that was revoked twice", second, first)
	wantCode(t, s.RevokeKey(ctx, "k9"), footnote.NotFound)
	wantCode(t, s.RevokeKey(ctx, "\x00"), footnote.NotFound)

	// Keys can change during other writes.
	create(t, s, "c1")
	var wg sync.WaitGroup
	for i := range 8 {
		wg.Go(func() {
			if err := s.AddKey(ctx, keyOf(fmt.Sprintf("p%d", i), "many", "u")); err != nil {
				t.Error(err)
			}
		})
	}
	for i := range 20 {
		write(t, s, "c1", int64(i), say("x")...)
	}
	wg.Wait()
	list, err := s.ListKeys(ctx, "many", "", store.MaxKeys)
	must(t, err)
	equal(t, "keys that were added at once", len(list), 8)
}

func testKeysRefused(t *testing.T, s store.Store) {
	ctx := begin(t)
	long := strings.Repeat("x", store.MaxID+1)
	for name, change := range map[string]func(*store.Key){
		"no id": func(k *store.Key) { k.ID = "" }, "no org": func(k *store.Key) { k.Org = "" },
		"no user": func(k *store.Key) { k.User = "" },
		"a NUL":   func(k *store.Key) { k.User = "a\x00b" }, "no text": func(k *store.Key) { k.Org = "\xff" },
		"a long id":            func(k *store.Key) { k.ID = long },
		"a long role":          func(k *store.Key) { k.Roles = []string{long} },
		"an empty role":        func(k *store.Key) { k.Roles = []string{""} },
		"many roles":           func(k *store.Key) { k.Roles = strings.Split(strings.Repeat("r ", 64)+"r", " ") },
		"a long attribute":     func(k *store.Key) { k.Attributes = map[string]string{"a": long} },
		"an attribute: NUL":    func(k *store.Key) { k.Attributes = map[string]string{"a\x00": ""} },
		"a nameless attribute": func(k *store.Key) { k.Attributes = map[string]string{"": "v"} },
	} {
		k := keyOf("bad", "acme", "ann")
		change(&k)
		if err := s.AddKey(ctx, k); footnote.CodeOf(err) != footnote.InvalidRequest {
			t.Errorf("%s: %v", name, err)
		}
	}
	for _, limit := range []int{0, -1, store.MaxKeys + 1} {
		_, err := s.ListKeys(ctx, "", "", limit)
		wantCode(t, err, footnote.InvalidRequest)
	}
	list, err := s.ListKeys(ctx, "", "", 10)
	must(t, err)
	equal(t, "keys that were refused", len(list), 0)
}

func testWithdrawn(t *testing.T, s store.Store) {
	ctx := begin(t)
	now := time.Now()
	parked := footnote.RunParked{Deadline: now.Add(time.Hour)}
	for id, owner := range map[string][2]string{
		"anns": {"acme", "ann"}, "anns going": {"acme", "ann"}, "bobs": {"acme", "bob"},
		"another anns": {"other", "ann"}, "cids": {"acme", "cid"},
	} {
		must(t, s.Create(ctx, store.Stream{ID: id, Kind: store.Conversation, Org: owner[0], User: owner[1]}))
		write(t, s, id, 0, footnote.RunStarted{})
		if id != "anns going" {
			write(t, s, id, 1, parked)
		}
	}
	expires := keyOf("k2", "acme", "bob")
	expires.Expires = now.Add(time.Hour)
	for _, k := range []store.Key{
		keyOf("k1", "acme", "ann"), keyOf("k1b", "acme", "ann"), expires, keyOf("k3", "other", "ann"),
		keyOf("k4", "acme", "cid"),
	} {
		must(t, s.AddKey(ctx, k))
	}
	ids := func(now time.Time, limit int) []string {
		t.Helper()
		heads, err := s.Withdrawn(ctx, now, limit)
		must(t, err)
		ids := []string{}
		for _, h := range heads {
			ids = append(ids, h.ID)
		}
		slices.Sort(ids)
		return ids
	}
	equal(t, "with all keys valid", ids(now, 10), []string{})
	must(t, s.RevokeKey(ctx, "k1"))
	equal(t, "with a revoked key", ids(now, 10), []string{"anns"})
	equal(t, "with an expired key, too", ids(now.Add(2*time.Hour), 10), []string{"anns", "bobs"})
	equal(t, "limit", len(ids(now.Add(2*time.Hour), 1)), 1)
	write(t, s, "anns", 2, footnote.RunStopped{})
	equal(t, "the run has ended", ids(now, 10), []string{})
}
