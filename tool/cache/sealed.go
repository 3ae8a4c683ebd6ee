package cache

import (
	"context"
	"crypto/aes"
	"crypto/cipher"
	"crypto/hkdf"
	"crypto/sha256"
	"time"
)

// sealed is a backend that encrypts what another one keeps.
type sealed struct {
	Backend
	aead cipher.AEAD // AES-256-GCM; a random nonce is at the beginning of each entry
}

// Sealed returns a backend that keeps its entries in b, encrypted with a secret that cannot be guessed. Only a backend
// with the same secret can read them, or write entries that it reads: any other entry counts as missing.
func Sealed(b Backend, secret string) (Backend, error) {
	key, err := hkdf.Key(sha256.New, []byte(secret), nil, "footnote cache", 32)
	if err != nil {
		return nil, err
	}
	block, err := aes.NewCipher(key)
	if err != nil {
		return nil, err
	}
	aead, err := cipher.NewGCMWithRandomNonce(block)
	return sealed{b, aead}, err
}

// Get implements Backend.
func (s sealed) Get(ctx context.Context, key string) ([]byte, error) {
	data, err := s.Backend.Get(ctx, key)
	if err != nil || data == nil {
		return nil, err
	}
	data, err = s.aead.Open(nil, nil, data, []byte(key))
	if err != nil {
		return nil, nil //nolint:nilerror // of another secret, or of none
	}
	return data, nil
}

// Put implements Backend. The key is authenticated, so that an entry cannot be moved to another key.
func (s sealed) Put(ctx context.Context, key, owner string, data []byte, ttl time.Duration) error {
	return s.Backend.Put(ctx, key, owner, s.aead.Seal(nil, nil, data, []byte(key)), ttl)
}
