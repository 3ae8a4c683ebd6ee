package storetest

import (
	"context"
	"maps"
	"slices"
	"time"

	"github.com/footnotehq/footnote/store"
)

// AddKey implements Keys.
func (m *Mem) AddKey(ctx context.Context, k store.Key) error {
	if err := store.CheckKey(k); err != nil {
		return err
	}
	unlock, err := m.lock(ctx)
	if err != nil {
		return err
	}
	defer unlock()
	if old, ok := m.keys[k.ID]; ok {
		if old.Hash == k.Hash {
			return nil
		}
		return store.ErrTaken(k.ID)
	}
	k = cloneKey(k)
	k.Created, k.Revoked = store.Micros(m.now()), time.Time{}
	if !k.Expires.IsZero() {
		k.Expires = store.Micros(k.Expires)
	}
	m.keys[k.ID] = k
	return nil
}

// Key implements Keys.
func (m *Mem) Key(ctx context.Context, id string) (store.Key, error) {
	unlock, err := m.rlock(ctx)
	if err != nil {
		return store.Key{}, err
	}
	defer unlock()
	k, ok := m.keys[id]
	if !ok {
		return store.Key{}, store.ErrNoKey(id)
	}
	return cloneKey(k), nil
}

// ListKeys implements Keys.
func (m *Mem) ListKeys(ctx context.Context, org, after string, limit int) ([]store.Key, error) {
	if err := store.CheckKeys(org, after, limit); err != nil {
		return nil, err
	}
	unlock, err := m.rlock(ctx)
	if err != nil {
		return nil, err
	}
	defer unlock()
	var list []store.Key
	for _, id := range slices.Sorted(maps.Keys(m.keys)) {
		if k := m.keys[id]; id > after && (org == "" || k.Org == org) && len(list) < limit {
			list = append(list, cloneKey(k))
		}
	}
	return list, nil
}

// RevokeKey implements Keys.
func (m *Mem) RevokeKey(ctx context.Context, id string) error {
	unlock, err := m.lock(ctx)
	if err != nil {
		return err
	}
	defer unlock()
	k, ok := m.keys[id]
	if !ok {
		return store.ErrNoKey(id)
	}
	if k.Revoked.IsZero() {
		k.Revoked = store.Micros(m.now())
		m.keys[id] = k
	}
	return nil
}

// Withdrawn implements Keys.
func (m *Mem) Withdrawn(ctx context.Context, now time.Time, limit int) ([]store.Stream, error) {
	unlock, err := m.rlock(ctx)
	if err != nil {
		return nil, err
	}
	defer unlock()
	dead := map[[2]string]bool{} // by org and user
	for _, k := range m.keys {
		if !k.Revoked.IsZero() || !k.Expires.IsZero() && !k.Expires.After(now) {
			dead[[2]string{k.Org, k.User}] = true
		}
	}
	return m.heads(limit, func(h store.Stream) bool {
		return h.RunState == "parked" && dead[[2]string{h.Org, h.User}]
	}), nil
}

// cloneKey returns a key that shares nothing with k.
func cloneKey(k store.Key) store.Key {
	k.Roles, k.Attributes = slices.Clone(k.Roles), maps.Clone(k.Attributes)
	return k
}
