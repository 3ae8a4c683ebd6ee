package store

import (
	"context"
	"crypto/sha256"
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"time"

	"github.com/footnotehq/footnote"
)

// Key is an API key as a store keeps it: who it stands for, and a digest by which
// the key itself is recognised. The key is nowhere.
type Key struct {
	ID   string            // public: the key names it
	Hash [sha256.Size]byte // of the whole key
	footnote.Principal
	Created time.Time // set by the store
	Expires time.Time // zero: never
	Revoked time.Time // zero: it stands
}

// Keys are the API keys of all organisations.
type Keys interface {
	// AddKey keeps a key. An ID that another key has is a Conflict.
	AddKey(ctx context.Context, k Key) error
	// Key returns the key with an id, or NotFound.
	Key(ctx context.Context, id string) (Key, error)
	// ListKeys returns keys with larger ids than after, by id: those of an
	// organisation, or of all when org is empty.
	ListKeys(ctx context.Context, org, after string, limit int) ([]Key, error)
	// RevokeKey ends a key for good. One that was revoked stays as it is; one that
	// does not exist is NotFound.
	RevokeKey(ctx context.Context, id string) error
	// Withdrawn returns the heads of the streams whose run is parked and whose user has
	// a key that was revoked, or has expired by now. Such a run may have come with that
	// key, or with another.
	Withdrawn(ctx context.Context, now time.Time, limit int) ([]Stream, error)
}

// Bounds of a key.
const (
	MaxKeys       = 1_000 // of one ListKeys
	maxRoles      = 64
	maxAttributes = 64
)

// CheckKey says what is wrong with a key that is to be kept.
func CheckKey(k Key) error {
	if k.ID == "" || k.Org == "" || k.User == "" {
		return footnote.Errorf(footnote.InvalidRequest, "A key needs an id, an organisation and a user.")
	}
	if len(k.Roles) > maxRoles || len(k.Attributes) > maxAttributes {
		return footnote.Errorf(footnote.InvalidRequest, "A key has at most %d roles and %d attributes.", maxRoles, maxAttributes)
	}
	texts := []struct{ name, value string }{{"id", k.ID}, {"org", k.Org}, {"user", k.User}}
	for _, role := range k.Roles {
		texts = append(texts, struct{ name, value string }{"role", role})
	}
	for name, value := range k.Attributes {
		texts = append(texts, struct{ name, value string }{"attribute's name", name}, struct{ name, value string }{"attribute", value})
	}
	for _, f := range texts {
		if err := checkID(f.name, f.value); err != nil {
			return err
		}
	}
	if err := k.Principal.Check(); err != nil {
		return &footnote.Error{Code: footnote.InvalidRequest, Message: "A key cannot stand for this: " + err.Error() + ".", Err: err}
	}
	return nil
}

// CheckKeys says what is wrong with a listing of keys.
func CheckKeys(org, after string, limit int) error {
	if limit < 1 || limit > MaxKeys {
		return footnote.Errorf(footnote.InvalidRequest, "A listing has 1 to %d keys, not %d.", MaxKeys, limit)
	}
	if err := checkID("org", org); err != nil {
		return err
	}
	return checkID("id", after)
}

// grants is what a key says of its user beyond the name, as the stores on disk keep
// it.
type grants struct {
	Roles      []string          `json:"roles,omitempty"`
	Attributes map[string]string `json:"attributes,omitempty"`
}

// EncodeGrants gives the roles and attributes of a principal as a store keeps them.
func EncodeGrants(p footnote.Principal) (string, error) {
	data, err := json.Marshal(grants{p.Roles, p.Attributes})
	return string(data), err
}

// DecodeGrants reads what EncodeGrants wrote into p.
func DecodeGrants(data string, p *footnote.Principal) error {
	var g grants
	if err := json.Unmarshal([]byte(data), &g); err != nil {
		return fmt.Errorf("decode roles and attributes: %w", err)
	}
	p.Roles, p.Attributes = g.Roles, g.Attributes
	return nil
}

// ErrNoKey is the error for a key that does not exist.
func ErrNoKey(id string) error {
	return footnote.Errorf(footnote.NotFound, "There is no API key %.80q.", id)
}

// clone is a key that shares nothing.
func (k Key) clone() Key {
	k.Roles, k.Attributes = slices.Clone(k.Roles), maps.Clone(k.Attributes)
	return k
}

// AddKey implements Keys.
func (m *Mem) AddKey(ctx context.Context, k Key) error {
	if err := CheckKey(k); err != nil {
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
		return ErrTaken(k.ID)
	}
	k = k.clone()
	k.Created, k.Revoked = Micros(m.now()), time.Time{}
	if !k.Expires.IsZero() {
		k.Expires = Micros(k.Expires)
	}
	m.keys[k.ID] = k
	return nil
}

// Key implements Keys.
func (m *Mem) Key(ctx context.Context, id string) (Key, error) {
	unlock, err := m.rlock(ctx)
	if err != nil {
		return Key{}, err
	}
	defer unlock()
	k, ok := m.keys[id]
	if !ok {
		return Key{}, ErrNoKey(id)
	}
	return k.clone(), nil
}

// ListKeys implements Keys.
func (m *Mem) ListKeys(ctx context.Context, org, after string, limit int) ([]Key, error) {
	if err := CheckKeys(org, after, limit); err != nil {
		return nil, err
	}
	unlock, err := m.rlock(ctx)
	if err != nil {
		return nil, err
	}
	defer unlock()
	var list []Key
	for _, id := range slices.Sorted(maps.Keys(m.keys)) {
		if k := m.keys[id]; id > after && (org == "" || k.Org == org) && len(list) < limit {
			list = append(list, k.clone())
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
		return ErrNoKey(id)
	}
	if k.Revoked.IsZero() {
		k.Revoked = Micros(m.now())
		m.keys[id] = k
	}
	return nil
}

// Withdrawn implements Keys.
func (m *Mem) Withdrawn(ctx context.Context, now time.Time, limit int) ([]Stream, error) {
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
	return m.heads(limit, func(h Stream) bool { return h.RunState == "parked" && dead[[2]string{h.Org, h.User}] }), nil
}
