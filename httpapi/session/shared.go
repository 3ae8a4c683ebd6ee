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

// Shelf keeps the sessions of servers that share it, each under a digest of its token
// and until its time is over. Nothing it is given stands for anybody without the token.
type Shelf interface {
	// AddSession keeps one. To add the same again changes nothing.
	AddSession(ctx context.Context, id, sealed []byte, lifetime time.Duration) error
	// Session returns one, or nil when there is none, or none any more.
	Session(ctx context.Context, id []byte) (sealed []byte, err error)
	// EndSession takes one away, if it is there.
	EndSession(ctx context.Context, id []byte) error
}

// tokenBytes is the size of the tokens of shared sessions: too many to be guessed.
const tokenBytes = 32

// Shared makes and checks sessions that all servers with the same shelf know. Whoever
// reads the shelf can neither continue a session nor find out whose it is.
type Shared struct{ shelf Shelf }

// Share keeps sessions on a shelf.
func Share(shelf Shelf) *Shared { return &Shared{shelf} }

// DigestOf is what stands for an API key. It is in no token, and stored only sealed.
func (*Shared) DigestOf(key string) Digest {
	return Digest(seal([]byte("footnote session"), "key\x00"+key))
}

// seal is the first bytes of a MAC.
func seal(secret []byte, text string) []byte {
	h := hmac.New(sha256.New, secret)
	h.Write([]byte(text))
	return h.Sum(nil)[:len(Digest{})]
}

// New makes the token of a new session.
func (s *Shared) New(ctx context.Context, key Digest) (token string, err error) {
	raw := make([]byte, tokenBytes)
	_, _ = rand.Read(raw) // never fails
	id := sha256.Sum256(raw)
	if err := s.shelf.AddSession(ctx, id[:], cover(raw, key[:]), Lifetime); err != nil {
		return "", err
	}
	return base64.RawURLEncoding.EncodeToString(raw), nil
}

// cover makes a digest unreadable without the token, and readable again: a token is
// used for one digest only.
func cover(raw, digest []byte) []byte {
	out := make([]byte, len(Digest{}))
	subtle.XORBytes(out, digest, seal(raw, "cover"))
	return out
}

// Check returns the key a token stands for. It is not ok when the token is not one
// of ours, or its session is over.
func (s *Shared) Check(ctx context.Context, token string) (key Digest, ok bool, err error) {
	raw, ok := decode(token)
	if !ok {
		return Digest{}, false, nil
	}
	id := sha256.Sum256(raw)
	sealed, err := s.shelf.Session(ctx, id[:])
	if err != nil || len(sealed) != len(Digest{}) {
		return Digest{}, false, err
	}
	return Digest(cover(raw, sealed)), true, nil
}

// End ends the session of a token, for good and at all servers.
func (s *Shared) End(ctx context.Context, token string) error {
	raw, ok := decode(token)
	if !ok {
		return nil
	}
	id := sha256.Sum256(raw)
	return s.shelf.EndSession(ctx, id[:])
}

func decode(token string) (raw []byte, ok bool) {
	if len(token) != base64.RawURLEncoding.EncodedLen(tokenBytes) {
		return nil, false
	}
	raw, err := base64.RawURLEncoding.Strict().DecodeString(token)
	return raw, err == nil
}
