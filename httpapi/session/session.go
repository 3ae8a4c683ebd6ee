// Package session keeps users signed in at a page: a cookie represents the API key it was made from, until it
// expires, its owner signs out, or the key is revoked. A single server signs cookies with a secret from the
// data folder, so sessions survive a restart (Keeper). Servers that share a store keep sessions there, so
// that all of them accept each session (Shared). Keys themselves are never stored.
package session

import (
	"bufio"
	"context"
	"crypto/hmac"
	"crypto/rand"
	"crypto/sha256"
	"encoding/base64"
	"encoding/binary"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/footnotehq/footnote/internal/plainfile"
)

// Lifetime limits how long a session lasts.
const Lifetime = 7 * 24 * time.Hour

// Digest represents an API key. Digests can be compared, but reveal nothing about the key without the secret.
type Digest [16]byte

// Layout of a token: id, expiry in Unix seconds, digest of the key, signature.
const (
	idSize    = 16
	bodySize  = idSize + 8 + len(Digest{})
	tokenSize = bodySize + sha256.Size
)

// Keeper creates and checks sessions. It is safe for concurrent use.
type Keeper struct {
	secret [32]byte
	folder string // empty: nothing is stored
	now    func() time.Time

	mu    sync.Mutex             // guards below, and the file of ended sessions
	ended map[[idSize]byte]int64 // signed-out sessions and when they would have expired
}

// Open reads the secret in a folder, or creates one that only its owner can read. With an empty folder,
// sessions end with the process.
func Open(folder string) (*Keeper, error) {
	k := &Keeper{folder: folder, now: time.Now, ended: map[[idSize]byte]int64{}}
	if folder == "" {
		_, _ = rand.Read(k.secret[:]) // never fails
		return k, nil
	}
	if err := k.readSecret(); err != nil {
		return nil, fmt.Errorf("session secret: %w", err)
	}
	if err := k.readEnded(); err != nil {
		return nil, fmt.Errorf("ended sessions: %w", err)
	}
	return k, nil
}

func (k *Keeper) secretFile() string { return filepath.Join(k.folder, "session.key") }
func (k *Keeper) endedFile() string  { return filepath.Join(k.folder, "session.ended") }

// readSecret reads the secret or creates it atomically, so that no other process reads half of it.
func (k *Keeper) readSecret() error {
	data, err := plainfile.Read(k.secretFile(), 4<<10)
	switch {
	case err == nil && len(data) == len(k.secret):
		copy(k.secret[:], data)
		return os.Chmod(k.secretFile(), 0o600)
	case err == nil:
		return fmt.Errorf("%s is damaged; remove it, and all users sign in again", k.secretFile())
	case !errors.Is(err, fs.ErrNotExist):
		return err
	}
	_, _ = rand.Read(k.secret[:]) // never fails
	return plainfile.Replace(k.secretFile(), k.secret[:])
}

// readEnded reads the sessions that were signed out, and drops those that have expired since.
func (k *Keeper) readEnded() error {
	f, err := plainfile.Open(k.endedFile())
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	if err != nil {
		return err
	}
	defer f.Close()
	var left strings.Builder
	lines := bufio.NewScanner(f)
	for lines.Scan() {
		name, until, _ := strings.Cut(lines.Text(), " ")
		id, err1 := base64.RawURLEncoding.DecodeString(name)
		end, err2 := strconv.ParseInt(until, 10, 64)
		if err1 != nil || err2 != nil || len(id) != idSize || end <= k.now().Unix() {
			continue // expired, or the torn end of a write that was never acknowledged
		}
		k.ended[[idSize]byte(id)] = end
		fmt.Fprintln(&left, lines.Text())
	}
	if err := lines.Err(); err != nil {
		return err // the sessions in an unreadable file would become valid again
	}
	return plainfile.Replace(k.endedFile(), []byte(left.String()))
}

func (k *Keeper) mac(purpose string, data []byte) []byte {
	h := hmac.New(sha256.New, k.secret[:])
	h.Write([]byte(purpose))
	h.Write([]byte{0})
	h.Write(data)
	return h.Sum(nil)
}

// DigestOf returns the digest that represents an API key in tokens.
func (k *Keeper) DigestOf(key string) Digest {
	return Digest(k.mac("key", []byte(key))[:len(Digest{})])
}

// New returns the token of a new session.
func (k *Keeper) New(_ context.Context, key Digest) (token string, err error) {
	ends := k.now().Add(Lifetime)
	body := make([]byte, idSize, tokenSize)
	_, _ = rand.Read(body) // never fails
	body = binary.BigEndian.AppendUint64(body, uint64(ends.Unix()))
	body = append(body, key[:]...)
	return base64.RawURLEncoding.EncodeToString(append(body, k.mac("session", body)...)), nil
}

// Check returns the digest of the key with which a session began. ok is false for a token that is not ours, and for one
// whose session is over.
func (k *Keeper) Check(_ context.Context, token string) (key Digest, ok bool, err error) {
	id, end, key, ok := k.read(token)
	if !ok || end <= k.now().Unix() {
		return Digest{}, false, nil
	}
	k.mu.Lock()
	defer k.mu.Unlock()
	_, gone := k.ended[id]
	return key, !gone, nil
}

func (k *Keeper) read(token string) (id [idSize]byte, end int64, key Digest, ok bool) {
	raw, ok := decode(token, tokenSize)
	if !ok || !hmac.Equal(raw[bodySize:], k.mac("session", raw[:bodySize])) {
		return id, 0, key, false
	}
	//nolint:gosec // we wrote it
	return [idSize]byte(raw), int64(binary.BigEndian.Uint64(raw[idSize:])), Digest(raw[idSize+8 : bodySize]), true
}

// End ends the session of a token for good. It ignores a token that is not ours, or whose session is over.
func (k *Keeper) End(_ context.Context, token string) error {
	id, end, _, ok := k.read(token)
	if !ok {
		return nil
	}
	k.mu.Lock()
	defer k.mu.Unlock()
	if _, gone := k.ended[id]; gone || end <= k.now().Unix() {
		return nil
	}
	if err := k.remember(id, end); err != nil {
		return fmt.Errorf("end a session: %w", err)
	}
	maps.DeleteFunc(k.ended, func(_ [idSize]byte, end int64) bool { return end <= k.now().Unix() })
	k.ended[id] = end
	return nil
}

// remember appends to the file of ended sessions. It starts with a line break because the previous line may
// be torn. k.mu must be held.
func (k *Keeper) remember(id [idSize]byte, end int64) error {
	if k.folder == "" {
		return nil
	}
	f, err := os.OpenFile(k.endedFile(), os.O_APPEND|os.O_CREATE|os.O_WRONLY, 0o600)
	if err != nil {
		return err
	}
	_, err = fmt.Fprintf(f, "\n%s %d\n", base64.RawURLEncoding.EncodeToString(id[:]), end)
	return errors.Join(err, f.Sync(), f.Close())
}
