// Package apikey makes API keys and recognises them. A store keeps a digest of each;
// docs/decisions/0015 says why that is enough.
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

// A key is fnk_<id>_<secret>. The id is 80 random bits and public; the secret is 130
// random bits.
const (
	prefix     = "fnk_"
	idSize     = 16
	secretSize = 26
	keySize    = len(prefix) + idSize + 1 + secretSize
)

// fresh is how long what the store said of a key is believed, and mostKnown how many
// keys are remembered.
const (
	fresh     = time.Second
	mostKnown = 10_000
)

// New makes a key, and what a store keeps of it. The key itself is nowhere else.
func New(p footnote.Principal, expires time.Time) (key string, kept store.Key) {
	id := strings.ToLower(rand.Text()[:idSize])
	key = prefix + id + "_" + rand.Text()[:secretSize]
	return key, store.Key{ID: id, Hash: sha256.Sum256([]byte(key)), Principal: p, Expires: expires}
}

// IDOf is the id in a text that is a key, or an id.
func IDOf(text string) string {
	if id, ok := idOf(text); ok {
		return id
	}
	return text
}

// idOf reads the id of a text that is made like a key.
func idOf(text string) (id string, ok bool) {
	if len(text) != keySize || !strings.HasPrefix(text, prefix) || text[len(prefix)+idSize] != '_' {
		return "", false
	}
	return text[len(prefix) : len(prefix)+idSize], true
}

// Log is what a Ring needs of a store.
type Log interface {
	// Key returns a key by its id; the error's code is NotFound when there is none.
	Key(ctx context.Context, id string) (store.Key, error)
}

// Ring finds out whom keys stand for. It may be used by several goroutines.
type Ring struct {
	log Log
	now func() time.Time

	mu    sync.Mutex // guards below
	known map[string]known
}

// known is what the store said of a key, and when.
type known struct {
	key store.Key
	at  time.Time
}

// NewRing makes a ring over the keys of a store.
func NewRing(log Log) *Ring {
	return &Ring{log: log, now: time.Now, known: map[string]known{}}
}

// Mine reports whether a text is made like a key, whoever it is of.
func (r *Ring) Mine(text string) bool {
	_, ok := idOf(text)
	return ok
}

var errUnknown = footnote.Errorf(footnote.Unauthorized, "The API key is not known.")

// Check returns the id of a key and whom it stands for. The error is Unauthorized for
// a key that is not known, was revoked or has expired; the last two are only told to
// who has the key.
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
	return id, k.Principal, r.stands(k)
}

// Named returns whom the key with an id stands for now. The error is as for Check.
// Only who was let in by a key may be told of it.
func (r *Ring) Named(ctx context.Context, id string) (footnote.Principal, error) {
	if len(id) != idSize {
		return footnote.Principal{}, errUnknown
	}
	k, err := r.find(ctx, id)
	if err != nil {
		return footnote.Principal{}, err
	}
	return k.Principal, r.stands(k)
}

func (r *Ring) stands(k store.Key) error {
	switch {
	case !k.Revoked.IsZero():
		return footnote.Errorf(footnote.Unauthorized, "The API key was revoked.")
	case !k.Expires.IsZero() && !k.Expires.After(r.now()):
		return footnote.Errorf(footnote.Unauthorized, "The API key has expired.")
	}
	if err := k.Principal.Check(); err != nil { // made before names were checked
		return &footnote.Error{Code: footnote.Unauthorized, Message: "The API key stands for a name that is not accepted. Make a new one.", Err: err}
	}
	return nil
}

// find returns a key as the store had it at most a moment ago. Ids that nobody has
// are not remembered: anybody could fill the memory with them.
func (r *Ring) find(ctx context.Context, id string) (store.Key, error) {
	now := r.now()
	r.mu.Lock()
	k, ok := r.known[id]
	r.mu.Unlock()
	if ok && now.Sub(k.at) < fresh {
		return k.key, nil
	}
	key, err := r.log.Key(ctx, id)
	if footnote.CodeOf(err) == footnote.NotFound {
		return store.Key{}, errUnknown
	}
	if err != nil {
		return store.Key{}, err
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	if len(r.known) >= mostKnown {
		r.forget(now)
	}
	r.known[id] = known{key, now}
	return key, nil
}

// forget makes room. r.mu must be held.
func (r *Ring) forget(now time.Time) {
	for id, k := range r.known {
		if now.Sub(k.at) >= fresh {
			delete(r.known, id)
		}
	}
	if len(r.known) >= mostKnown {
		clear(r.known) // all in use at once: they are read again
	}
}
