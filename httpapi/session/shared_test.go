package session_test

import (
	"bytes"
	"context"
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/footnotehq/footnote/httpapi/session"
)

// memory is a shelf that can be made unavailable.
type memory struct {
	kept map[string][]byte
	away error
}

func (m *memory) AddSession(_ context.Context, id, sealed []byte, _ time.Duration) error {
	m.kept[string(id)] = sealed
	return m.away
}
func (m *memory) Session(_ context.Context, id []byte) ([]byte, error) {
	return m.kept[string(id)], m.away
}
func (m *memory) EndSession(_ context.Context, id []byte) error {
	delete(m.kept, string(id))
	return m.away
}

func TestSharedSessions(t *testing.T) {
	ctx, shelf := t.Context(), &memory{kept: map[string][]byte{}}
	a, b := session.NewShared(shelf), session.NewShared(shelf)
	key := a.DigestOf("key-of-ada")
	if key != b.DigestOf("key-of-ada") || key == a.DigestOf("key-of-bob") {
		t.Fatal("two servers know a key by different digests, or two keys by one")
	}
	token, err := a.New(ctx, key)
	other, err2 := a.New(ctx, key)
	if err != nil || err2 != nil || token == other {
		t.Fatal(token, other, err, err2)
	}
	if got, ok, err := b.Check(ctx, token); got != key || !ok || err != nil {
		t.Errorf("at the other server: %x, %v, %v", got, ok, err)
	}
	seen := map[string]bool{}
	for id, sealed := range shelf.kept {
		if bytes.Contains(sealed, key[:8]) || strings.Contains(id, string(key[:])) || seen[string(sealed)] {
			t.Errorf("the shelf tells whose session it is: %x %x", id, sealed)
		}
		seen[string(sealed)] = true
	}
	for _, forged := range []string{
		"", token[1:], token + "A", strings.Repeat("A", len(token)), strings.Repeat("*", len(token)),
	} {
		if _, ok, err := a.Check(ctx, forged); ok || err != nil {
			t.Errorf("%q: %v, %v", forged, ok, err)
		}
		if err := a.End(ctx, forged); err != nil {
			t.Errorf("end %q: %v", forged, err)
		}
	}
	if err := b.End(ctx, token); err != nil {
		t.Fatal(err)
	}
	if _, ok, _ := a.Check(ctx, token); ok {
		t.Error("the session is still valid on the server that created it")
	}
	if _, ok, _ := a.Check(ctx, other); !ok {
		t.Error("another session was ended, too")
	}
	shelf.away = errors.New("away")
	if _, ok, err := a.Check(ctx, other); ok || !errors.Is(err, shelf.away) {
		t.Errorf("while the shelf is unavailable: %v, %v", ok, err)
	}
	if token, err := a.New(ctx, key); token != "" || err == nil {
		t.Errorf("a session that is not kept: %q, %v", token, err)
	}
}
