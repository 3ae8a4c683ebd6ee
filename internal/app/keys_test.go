package app

import (
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"encoding/json"
	"net/http"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/go-jose/go-jose/v4"
	"github.com/go-jose/go-jose/v4/jwt"

	"github.com/footnotehq/footnote/config"
)

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
