// Package apikey creates and checks API keys. A store keeps only a digest of each; docs/decisions/0015
// explains why that is enough.
package apikey

import (
	"context"
	"crypto/rand"
	"crypto/sha256"
	"crypto/subtle"
	"errors"
	"strings"
	"sync"
	"time"

	"github.com/footnotehq/footnote"
	"github.com/footnotehq/footnote/store"
)

// Prefix begins every key.
const Prefix = "fnk_"

// The format of a key is fnk_<id>_<secret>. The id is 80 random bits and public; the secret is 130 random
// bits.
const (
	idSize     = 16
	secretSize = 26
	keySize    = len(Prefix) + idSize + 1 + secretSize
)

// cacheTime is how long a lookup stays cached; maxCached is the number of cached keys.
const (
	cacheTime = time.Second
	maxCached = 10_000
)

// New creates a key and the record that a store keeps of it. The record does not contain the key.
func New(p footnote.Principal, expires time.Time) (key string, kept store.Key) {
	id := strings.ToLower(rand.Text()[:idSize])
	key = Prefix + id + "_" + rand.Text()[:secretSize]
	return key, store.Key{ID: id, Hash: sha256.Sum256([]byte(key)), Principal: p, Expires: expires}
}

// IDOf returns the id in a text that is a key or an id.
func IDOf(text string) string {
	if id, ok := idOf(text); ok {
		return id
	}
	return text
}

// idOf returns the id in a text that has the format of a key.
func idOf(text string) (id string, ok bool) {
	if len(text) != keySize || !strings.HasPrefix(text, Prefix) || text[len(Prefix)+idSize] != '_' {
		return "", false
	}
	return text[len(Prefix) : len(Prefix)+idSize], true
}

// KeyStore is the part of a store that a Ring needs.
type KeyStore interface {
	// Key returns a key by its id, or NotFound.
	Key(ctx context.Context, id string) (store.Key, error)
}

// Ring looks up the principals of keys. It is safe for concurrent use.
type Ring struct {
	store KeyStore
	now   func() time.Time

	mu    sync.Mutex // guards below
	cache map[string]cachedKey
}

// cachedKey is a key with the time of its lookup.
type cachedKey struct {
	key store.Key
	at  time.Time
}

// NewRing returns a ring over the keys in a store.
func NewRing(store KeyStore) *Ring {
	return &Ring{store: store, now: time.Now, cache: map[string]cachedKey{}}
}

// HasFormat reports whether a text has the format of a key, whether or not the key exists.
func (r *Ring) HasFormat(text string) bool {
	_, ok := idOf(text)
	return ok
}

var errUnknown = footnote.Errorf(footnote.Unauthorized, "Unknown API key.")

// Check returns the id of a key and its principal. It returns Unauthorized for a key that is unknown, revoked
// or expired; only a caller with the right secret learns which of the last two it is.
func (r *Ring) Check(ctx context.Context, key string) (id string, p footnote.Principal, err error) {
	id, ok := idOf(key)
	if !ok {
		return "", p, errUnknown
	}
	k, err := r.find(ctx, id)
	if err != nil && !errors.Is(err, errUnknown) {
		return "", p, err
	}
	sum := sha256.Sum256([]byte(key))
	if subtle.ConstantTimeCompare(sum[:], k.Hash[:]) != 1 || err != nil {
		return "", p, errUnknown
	}
	return id, k.Principal, r.checkValid(k)
}

// PrincipalOf returns the current principal of the key with the given id. It returns the same errors as Check. Its
// answer must only go to callers who were admitted by that key.
func (r *Ring) PrincipalOf(ctx context.Context, id string) (footnote.Principal, error) {
	if len(id) != idSize {
		return footnote.Principal{}, errUnknown
	}
	k, err := r.find(ctx, id)
	if err != nil {
		return footnote.Principal{}, err
	}
	return k.Principal, r.checkValid(k)
}

func (r *Ring) checkValid(k store.Key) error {
	switch {
	case !k.Revoked.IsZero():
		return footnote.Errorf(footnote.Unauthorized, "The API key was revoked.")
	case !k.Expires.IsZero() && !k.Expires.After(r.now()):
		return footnote.Errorf(footnote.Unauthorized, "The API key has expired.")
	}
	if err := k.Principal.Check(); err != nil { // created before names were checked
		return footnote.Wrapf(footnote.Unauthorized, err,
			"The API key has a name or role that is not accepted. Make a new one.")
	}
	return nil
}

// find returns a key as it was in the store at most a moment ago. It does not cache unknown ids, because
// anybody could fill the memory with them.
func (r *Ring) find(ctx context.Context, id string) (store.Key, error) {
	now := r.now()
	r.mu.Lock()
	k, ok := r.cache[id]
	r.mu.Unlock()
	if ok && now.Sub(k.at) < cacheTime {
		return k.key, nil
	}
	key, err := r.store.Key(ctx, id)
	if footnote.CodeOf(err) == footnote.NotFound {
		return store.Key{}, errUnknown
	}
	if err != nil {
		return store.Key{}, err
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	if len(r.cache) >= maxCached {
		r.forget(now)
	}
	r.cache[id] = cachedKey{key, now}
	return key, nil
}

// forget makes room in the cache. r.mu must be held.
func (r *Ring) forget(now time.Time) {
	for id, k := range r.cache {
		if now.Sub(k.at) >= cacheTime {
			delete(r.cache, id)
		}
	}
	if len(r.cache) >= maxCached {
		clear(r.cache) // all were in use: look them up again
	}
}
