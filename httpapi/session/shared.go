package session

import (
	"context"
	"crypto/hmac"
	"crypto/rand"
	"crypto/sha256"
	"crypto/subtle"
	"encoding/base64"
	"time"
)

// SessionStore stores the sessions of several servers, each under a digest of its token, until it expires. What it
// stores cannot be used without the token.
type SessionStore interface {
	// AddSession stores a session. Adding the same one again has no effect.
	AddSession(ctx context.Context, id, sealed []byte, lifetime time.Duration) error
	// Session returns a session, or nil if it does not exist or has expired.
	Session(ctx context.Context, id []byte) (sealed []byte, err error)
	// EndSession removes a session, if it exists.
	EndSession(ctx context.Context, id []byte) error
}

// tokenBytes is the size of a shared session's token, large enough that it cannot be guessed.
const tokenBytes = 32

// Shared creates and checks sessions that all servers with the same store accept. Read access to the store is
// not enough to use a session, or to find out whose it is.
type Shared struct{ store SessionStore }

// NewShared returns a Shared that stores sessions in a store.
func NewShared(store SessionStore) *Shared { return &Shared{store} }

// DigestOf returns the digest that represents an API key. It is not part of any token, and is only stored
// encrypted.
func (*Shared) DigestOf(key string) Digest {
	return Digest(seal([]byte("footnote session"), "key\x00"+key))
}

// seal returns the first bytes of a MAC.
func seal(secret []byte, text string) []byte {
	h := hmac.New(sha256.New, secret)
	h.Write([]byte(text))
	return h.Sum(nil)[:len(Digest{})]
}

// New returns the token of a new session.
func (s *Shared) New(ctx context.Context, key Digest) (token string, err error) {
	raw := make([]byte, tokenBytes)
	_, _ = rand.Read(raw) // never fails
	id := sha256.Sum256(raw)
	if err := s.store.AddSession(ctx, id[:], mask(raw, key[:]), Lifetime); err != nil {
		return "", err
	}
	return base64.RawURLEncoding.EncodeToString(raw), nil
}

// mask encrypts or decrypts a digest with the token. Each token covers only one digest.
func mask(raw, digest []byte) []byte {
	out := make([]byte, len(Digest{}))
	subtle.XORBytes(out, digest, seal(raw, "cover"))
	return out
}

// Check returns the digest of the key with which a session began. ok is false for a token that is not ours, and for one
// whose session is over.
func (s *Shared) Check(ctx context.Context, token string) (key Digest, ok bool, err error) {
	raw, ok := decode(token, tokenBytes)
	if !ok {
		return Digest{}, false, nil
	}
	id := sha256.Sum256(raw)
	sealed, err := s.store.Session(ctx, id[:])
	if err != nil || len(sealed) != len(Digest{}) {
		return Digest{}, false, err
	}
	return Digest(mask(raw, sealed)), true, nil
}

// End ends the session of a token for good, at all servers.
func (s *Shared) End(ctx context.Context, token string) error {
	raw, ok := decode(token, tokenBytes)
	if !ok {
		return nil
	}
	id := sha256.Sum256(raw)
	return s.store.EndSession(ctx, id[:])
}

// decode returns the bytes of a token, and reports whether it has exactly size of them.
func decode(token string, size int) (raw []byte, ok bool) {
	if len(token) != base64.RawURLEncoding.EncodedLen(size) {
		return nil, false
	}
	raw, err := base64.RawURLEncoding.Strict().DecodeString(token)
	return raw, err == nil
}
