package main

import (
	"bytes"
	"context"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"encoding/json"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/go-jose/go-jose/v4"
	"github.com/go-jose/go-jose/v4/jwt"

	"github.com/footnotehq/footnote/config"
)

// program runs a command of the program in-process.
func program(t *testing.T, args ...string) (stdout, stderr string, code int) {
	t.Helper()
	var out, errs bytes.Buffer
	code = run(t.Context(), args, streams{strings.NewReader(""), &out, &errs}, []string{"FOOTNOTE_MODEL=offline"})
	return out.String(), errs.String(), code
}

// TestKeysFromCreateToRevoke checks that a key made beside a running server admits its user under the key's identity,
// and nobody once it is revoked.
func TestKeysFromCreateToRevoke(t *testing.T) {
	folder := t.TempDir()
	g := newRig(t, folder, func(c *config.Config) { c.APIKeys, c.Auth.Required = nil, true })
	with := func(key string) int {
		r := g.request("GET", "/api/conversations", nil)
		r.Header.Set("Authorization", "Bearer "+key)
		return g.do(r).Code
	}
	if got := with(adasKey); got != http.StatusUnauthorized {
		t.Fatalf("without any key: %d", got)
	}
	out, words, code := program(t, "--data", folder, "keys", "create", "--org", "acme", "--user", "ada", "--role",
		"admin", "--role", "a,b", "--attr", "region=eu;west", "--expires", "2h")
	key := strings.TrimSpace(out)
	if code != 0 || !strings.HasPrefix(key, "fnk_") || strings.Contains(words, key) {
		t.Fatal(code, out, words)
	}
	if got := with(key); got != http.StatusOK {
		t.Fatalf("with the key: %d", got)
	}
	id := strings.Split(key, "_")[1]
	k, err := g.app.store.Key(t.Context(), id)
	if err != nil || len(k.Roles) != 2 || k.Roles[1] != "a,b" || k.Attributes["region"] != "eu;west" ||
		time.Until(k.Expires) > 2*time.Hour {
		t.Errorf("kept %+v, %v", k, err)
	}
	list, _, code := program(t, "--data", folder, "keys", "list", "--org", "acme")
	if code != 0 || !strings.Contains(list, id) || strings.Contains(list, key) || !strings.Contains(list, "admin") {
		t.Errorf("list: %d %s", code, list)
	}
	if other, _, _ := program(t, "--data", folder, "keys", "list", "--org", "other"); strings.Contains(other, id) {
		t.Errorf("the list of another organisation has it: %s", other)
	}
	if _, words, code := program(t, "--data", folder, "keys", "revoke", key); code != 0 {
		t.Fatal(code, words)
	}
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	for with(key) != http.StatusUnauthorized {
		if ctx.Err() != nil {
			t.Fatal("a revoked key goes on")
		}
		time.Sleep(10 * time.Millisecond)
	}
	if list, _, _ = program(t, "--data", folder, "keys", "list"); !strings.Contains(list, "revoked ") {
		t.Errorf("list: %s", list)
	}
	if _, words, code := program(t, "--data", folder, "keys", "revoke", "nobodys"); code != exitFailed ||
		!strings.Contains(words, "no API key") {
		t.Errorf("revoke nothing: %d %s", code, words)
	}
}

// TestKeysAskForKeys checks that a store with a key, even a revoked one, is not served to callers without one.
func TestKeysAskForKeys(t *testing.T) {
	folder := filepath.Join(t.TempDir(), "new")
	if _, words, code := program(t, "--data", folder, "keys", "create", "--org", "acme", "--user", "ada"); code != 0 {
		t.Fatal(words)
	}
	g := newRig(t, folder, func(c *config.Config) { c.APIKeys = nil })
	if got := g.do(g.request("GET", "/api/conversations", nil)).Code; got != http.StatusUnauthorized {
		t.Errorf("without the key: %d", got)
	}
}

func TestKeysThatCannotBeMade(t *testing.T) {
	folder := t.TempDir()
	for name, args := range map[string][]string{
		"no org": {"--user", "ada"}, "no user": {"--org", "acme"}, "empty org": {"--org", "", "--user", "ada"},
		"yesterday": {"--org", "a", "--user", "b", "--expires", "2001-01-01"},
		"nonsense":  {"--org", "a", "--user", "b", "--expires", "soon"},
		"negative":  {"--org", "a", "--user", "b", "--expires=-3d"},
		"far":       {"--org", "a", "--user", "b", "--expires", "9999999d"},
		"long":      {"--org", strings.Repeat("x", 600), "--user", "b"},
	} {
		if out, words, code := program(t,
			append([]string{"--data", folder, "keys", "create"}, args...)...); code != exitUsage || out != "" ||
			words == "" {
			t.Errorf("%s: %d %q %q", name, code, out, words)
		}
	}
}

func TestEnding(t *testing.T) {
	now := time.Date(2026, 11, 21, 12, 0, 0, 0, time.UTC)
	for text, want := range map[string]string{
		"90d": "2027-02-19T12:00:00Z", "12h": "2026-11-22T00:00:00Z", "2027-12-31": "2027-12-31T00:00:00Z",
		"2027-01-01T10:00:00+01:00": "2027-01-01T09:00:00Z",
	} {
		if got, err := ending(text, now); err != nil || got.UTC().Format(time.RFC3339) != want {
			t.Errorf("%s: %v, %v", text, got, err)
		}
	}
	if got, err := ending("", now); err != nil || !got.IsZero() {
		t.Error(got, err)
	}
}

// TestTokens checks that a signed token admits its user under the token's identity, alongside keys.
func TestTokens(t *testing.T) {
	folder := t.TempDir()
	secret, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	shown, err := json.Marshal(jose.JSONWebKeySet{
		Keys: []jose.JSONWebKey{{Key: secret.Public(), KeyID: "k1", Algorithm: "ES256"}},
	})
	if err != nil {
		t.Fatal(err)
	}
	file := filepath.Join(folder, "keys.json")
	if err := os.WriteFile(file, shown, 0o600); err != nil {
		t.Fatal(err)
	}
	g := newRig(t, folder, func(c *config.Config) {
		c.Auth.JWT = config.JWT{Issuer: "https://login.example", Audience: "footnote", Keys: file}
	})
	signer, err := jose.NewSigner(jose.SigningKey{
		Algorithm: jose.ES256,
		Key:       jose.JSONWebKey{Key: secret, KeyID: "k1"},
	}, nil)
	if err != nil {
		t.Fatal(err)
	}
	signed := func(audience string) string {
		text, err := jwt.Signed(signer).Claims(map[string]any{
			"iss": "https://login.example", "aud": audience, "exp": time.Now().Add(time.Hour).Unix(), "org": "acme",
			"sub": "ada", "roles": "admin",
		}).Serialize()
		if err != nil {
			t.Fatal(err)
		}
		return text
	}
	id := g.ask("How many orders are there?") // by ada, with her key
	r := g.request("GET", "/api/conversations/"+id, nil)
	r.Header.Set("Authorization", "Bearer "+signed("footnote"))
	if w := g.do(r); w.Code != http.StatusOK {
		t.Errorf("ada's token does not open her conversation: %d %s", w.Code, w.Body)
	}
	r.Header.Set("Authorization", "Bearer "+signed("another"))
	g.refused(r, http.StatusUnauthorized, "unauthorized")
	g.refused(g.request("POST", "/api/session", map[string]any{"key": signed("footnote")}), http.StatusBadRequest,
		"invalid_request")
}
