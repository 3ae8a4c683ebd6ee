package token

import (
	"context"
	"crypto"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/rsa"
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/go-jose/go-jose/v4"
	"github.com/go-jose/go-jose/v4/jwt"

	"github.com/footnotehq/footnote"
)

// issuer is an OpenID Connect issuer on this machine, with its own clock.
type issuer struct {
	t   *testing.T
	srv *httptest.Server

	mu    sync.Mutex // guards below
	now   time.Time
	keys  []jose.JSONWebKey
	asked int
	away  bool
	self  string // its name for itself; empty: its address
}

func newIssuer(t *testing.T, keys ...jose.JSONWebKey) *issuer {
	is := &issuer{t: t, keys: keys, now: time.Date(2026, 11, 21, 12, 0, 0, 0, time.UTC)}
	is.srv = httptest.NewServer(is)
	t.Cleanup(is.srv.Close)
	return is
}

func (is *issuer) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	is.mu.Lock()
	defer is.mu.Unlock()
	switch {
	case is.away:
		w.WriteHeader(http.StatusBadGateway)
	case r.URL.Path == "/.well-known/openid-configuration":
		self := is.self
		if self == "" {
			self = is.srv.URL
		}
		_ = json.NewEncoder(w).Encode(map[string]string{"issuer": self, "jwks_uri": is.srv.URL + "/keys"})
	case r.URL.Path == "/keys":
		is.asked++
		_ = json.NewEncoder(w).Encode(jose.JSONWebKeySet{Keys: is.keys})
	case r.URL.Path == "/elsewhere":
		http.Redirect(w, r, "/keys", http.StatusFound)
	case r.URL.Path == "/huge":
		_, _ = w.Write([]byte(`{"keys":[` + strings.Repeat(" ", maxKeySet) + `]}`))
	default:
		w.WriteHeader(http.StatusNotFound)
	}
}

func (is *issuer) change(f func()) {
	is.mu.Lock()
	defer is.mu.Unlock()
	f()
}

func (is *issuer) clock() time.Time {
	is.mu.Lock()
	defer is.mu.Unlock()
	return is.now
}

// verifier returns a verifier for the issuer's tokens.
func (is *issuer) verifier(change func(*Options)) *Verifier {
	is.t.Helper()
	o := Options{Issuer: is.srv.URL, Audience: "footnote", Now: is.clock, Attributes: []string{"region", "level"}}
	if change != nil {
		change(&o)
	}
	v, err := New(o)
	if err != nil {
		is.t.Fatal(err)
	}
	is.t.Cleanup(v.Close)
	return v
}

var (
	rsaKey   = must(rsa.GenerateKey(rand.Reader, 2048))
	otherRSA = must(rsa.GenerateKey(rand.Reader, 2048))
	ecKey    = must(ecdsa.GenerateKey(elliptic.P256(), rand.Reader))
)

func must[T any](v T, err error) T {
	if err != nil {
		panic(err)
	}
	return v
}

func public(id string, key crypto.Signer) jose.JSONWebKey {
	return jose.JSONWebKey{Key: key.Public(), KeyID: id, Use: "sig"}
}

// sign returns a signed token. If id is empty, the token has no key id.
func sign(t *testing.T, alg, id string, key any, claims map[string]any) string {
	t.Helper()
	o := (&jose.SignerOptions{}).WithType("JWT")
	if id != "" {
		o = o.WithHeader("kid", id)
	}
	signer, err := jose.NewSigner(jose.SigningKey{Algorithm: jose.SignatureAlgorithm(alg), Key: key}, o)
	if err != nil {
		t.Fatal(err)
	}
	text, err := jwt.Signed(signer).Claims(claims).Serialize()
	if err != nil {
		t.Fatal(err)
	}
	return text
}

// ownKey returns a token that includes the key it is signed with.
func ownKey(t *testing.T, claims map[string]any) string {
	t.Helper()
	signer := must(jose.NewSigner(jose.SigningKey{
		Algorithm: jose.RS256,
		Key:       otherRSA,
	}, (&jose.SignerOptions{EmbedJWK: true}).WithType("JWT")))
	return must(jwt.Signed(signer).Claims(claims).Serialize())
}

// elsewhere returns a token that names a URL for its key, under the id of a real one.
func elsewhere(t *testing.T, claims map[string]any) string {
	t.Helper()
	o := (&jose.SignerOptions{}).WithHeader("kid", "r1").WithHeader("jku", "http://127.0.0.1:1/keys").WithHeader("x5u",
		"http://127.0.0.1:1/cert")
	signer := must(jose.NewSigner(jose.SigningKey{Algorithm: jose.RS256, Key: otherRSA}, o))
	return must(jwt.Signed(signer).Claims(claims).Serialize())
}

// claims returns ada's claims with changes; nil removes a claim.
func (is *issuer) claims(change map[string]any) map[string]any {
	now := is.clock()
	all := map[string]any{
		"iss": is.srv.URL, "aud": []string{"other", "footnote"}, "sub": "ada", "org": "acme",
		"roles": []string{"admin", "analyst"},
		"iat":   now.Unix(), "exp": now.Add(time.Hour).Unix(), "region": "eu", "level": 3,
	}
	maps.Copy(all, change)
	maps.DeleteFunc(all, func(_ string, v any) bool { return v == nil })
	return all
}

func TestTokens(t *testing.T) {
	is := newIssuer(t, public("r1", rsaKey), public("e1", ecKey))
	is.change(func() {
		is.keys = append(is.keys, jose.JSONWebKey{Key: []byte("a secret that all can read......"), KeyID: "h1"})
	})
	at := func(d time.Duration) int64 { return is.clock().Add(d).Unix() }
	good := sign(t, "RS256", "r1", rsaKey, is.claims(nil))
	parts := strings.Split(good, ".")
	none := base64.RawURLEncoding.EncodeToString([]byte(`{"alg":"none","kid":"r1"}`)) + "." + parts[1] + "."
	publicPEM := must(json.Marshal(public("r1", rsaKey)))
	for name, c := range map[string]struct {
		token string
		want  string // part of the error; empty: accepted
	}{
		"RSA":            {good, ""},
		"elliptic curve": {sign(t, "ES256", "e1", ecKey, is.claims(nil)), ""},
		"one audience":   {sign(t, "RS256", "r1", rsaKey, is.claims(map[string]any{"aud": "footnote"})), ""},
		"just expired": {
			sign(t, "RS256", "r1", rsaKey, is.claims(map[string]any{"exp": at(-59 * time.Second)})), "",
		},
		"expired": {
			sign(t, "RS256", "r1", rsaKey, is.claims(map[string]any{"exp": at(-61 * time.Second)})), "has expired",
		},
		"never expires": {
			sign(t, "RS256", "r1", rsaKey, is.claims(map[string]any{"exp": nil})), "when it expires",
		},
		"soon": {
			sign(t, "RS256", "r1", rsaKey, is.claims(map[string]any{"nbf": at(59 * time.Second)})), "",
		},
		"not yet": {
			sign(t, "RS256", "r1", rsaKey, is.claims(map[string]any{"nbf": at(61 * time.Second)})), "not valid yet",
		},
		"issued in the future": {
			sign(t, "RS256", "r1", rsaKey, is.claims(map[string]any{"iat": at(2 * time.Minute)})), "not valid yet",
		},
		"another issuer": {
			sign(t, "RS256", "r1", rsaKey, is.claims(map[string]any{"iss": is.srv.URL + "/"})), "another issuer",
		},
		"no issuer": {sign(t, "RS256", "r1", rsaKey, is.claims(map[string]any{"iss": nil})), "another issuer"},
		"another audience": {
			sign(t, "RS256", "r1", rsaKey, is.claims(map[string]any{"aud": "footnotes"})), "another audience",
		},
		"no audience": {
			sign(t, "RS256", "r1", rsaKey, is.claims(map[string]any{"aud": nil})), "another audience",
		},
		"unlisted algorithm": {sign(t, "RS512", "r1", rsaKey, is.claims(nil)), "algorithm"},
		"no signature":       {none, "algorithm"},
		"HMAC, public key":   {sign(t, "HS256", "r1", publicPEM, is.claims(nil)), "algorithm"},
		"HMAC, shown secret": {
			sign(t, "HS256", "h1", []byte("a secret that all can read......"), is.claims(nil)), "algorithm",
		},
		"another's key":      {sign(t, "RS256", "r1", otherRSA, is.claims(nil)), "signature"},
		"key of another alg": {sign(t, "RS256", "e1", rsaKey, is.claims(nil)), "signature"},
		"unknown key":        {sign(t, "RS256", "r9", otherRSA, is.claims(nil)), "does not publish"},
		"no key id":          {sign(t, "RS256", "", rsaKey, is.claims(nil)), "does not publish"}, // there are two
		"a path as key id":   {sign(t, "RS256", "../../../../dev/null", otherRSA, is.claims(nil)), "does not publish"},
		"its own key":        {ownKey(t, is.claims(nil)), "does not publish"},
		"where its keys are": {elsewhere(t, is.claims(nil)), "signature"},
		"changed": {
			parts[0] + "." + base64.RawURLEncoding.EncodeToString([]byte(`{"sub":"eve"}`)) + "." + parts[2],
			"signature",
		},
		"no org": {sign(t, "RS256", "r1", rsaKey, is.claims(map[string]any{"org": nil})), "organisation"},
		"an org in capitals": {
			sign(t, "RS256", "r1", rsaKey, is.claims(map[string]any{"org": nil, "ORG": "acme"})), "organisation",
		},
		"org is a list": {
			sign(t, "RS256", "r1", rsaKey, is.claims(map[string]any{"org": []string{"acme"}})), "organisation",
		},
		"no user": {sign(t, "RS256", "r1", rsaKey, is.claims(map[string]any{"sub": ""})), "user"},
		"a NUL":   {sign(t, "RS256", "r1", rsaKey, is.claims(map[string]any{"sub": "a\x00b"})), "user"},
		"a long name": {
			sign(t, "RS256", "r1", rsaKey, is.claims(map[string]any{"sub": strings.Repeat("x", 513)})), "user",
		},
		"many roles": {
			sign(t, "RS256", "r1", rsaKey, is.claims(map[string]any{"roles": strings.Repeat("r ", maxRoles+1)})),
			"roles",
		},
		"a long attribute": {
			sign(t, "RS256", "r1", rsaKey, is.claims(map[string]any{"region": strings.Repeat("x", 513)})), "attribute",
		},
		"a newline": {
			sign(t, "RS256", "r1", rsaKey, is.claims(map[string]any{"sub": "ada\nlevel=ERROR msg=forged"})), "the user",
		},
		"an escape": {
			sign(t, "RS256", "r1", rsaKey, is.claims(map[string]any{"org": "ac\x1b[2Jme"})), "the organisation",
		},
		"a line separator": {
			sign(t, "RS256", "r1", rsaKey, is.claims(map[string]any{"sub": "ada\u2028bob"})), "the user",
		},
		"reversed": {
			sign(t, "RS256", "r1", rsaKey, is.claims(map[string]any{"sub": "ada\u202ebob"})), "the user",
		},
		"hidden in tags": {
			sign(t, "RS256", "r1", rsaKey, is.claims(map[string]any{"region": "eu\U000e0041"})), "an attribute",
		},
		"a role with a line break": {
			sign(t, "RS256", "r1", rsaKey, is.claims(map[string]any{"roles": []string{"a\rb"}})), "a role",
		},
		"huge": {
			sign(t, "RS256", "r1", rsaKey, is.claims(map[string]any{"x": strings.Repeat("x", maxToken)})), "more than",
		},
		"enormous": {strings.Repeat("eyJ.", 1<<20), "more than"},
		"empty":    {"", "cannot be read"}, "dots": {"eyJ..", "cannot be read"},
		"text": {"eyJhello.world.x", "cannot be read"},
	} {
		p, err := is.verifier(nil).Check(t.Context(), c.token)
		if c.want == "" {
			if err != nil || p.Org != "acme" || p.User != "ada" || !p.Has("analyst") ||
				p.Attributes["region"] != "eu" || p.Attributes["level"] != "3" {
				t.Errorf("%s: %+v, %v", name, p, err)
			}
			continue
		}
		if footnote.CodeOf(err) != footnote.Unauthorized || !strings.Contains(footnote.MessageOf(err), c.want) ||
			p.User != "" {
			t.Errorf("%s: %+v, %v; want words of %q", name, p, err, c.want)
		}
	}
}

// TestClaims checks which claims identify the user, and that invalid roles and attributes are dropped.
func TestClaims(t *testing.T) {
	is := newIssuer(t, public("r1", rsaKey))
	v := is.verifier(func(o *Options) {
		o.Org, o.UserClaim, o.RolesClaim, o.Attributes = "acme", "https://x.example/mail", "realm_access.roles",
			[]string{
				"a.b", "list", "yes", "none",
			}
	})
	p, err := v.Check(t.Context(), sign(t, "RS256", "", rsaKey, is.claims(map[string]any{
		"org": "evil", "https://x.example/mail": "ada@x.example",
		"realm_access": map[string]any{"roles": []any{"one", 2, "two"}},
		"a":            map[string]any{"b": 1.5}, "list": []string{"x"}, "yes": true,
	})))
	got := fmt.Sprintf("%+v", p)
	if want := "{Org:acme User:ada@x.example Roles:[one two] Attributes:map[a.b:1.5 yes:true]}"; err != nil ||
		got != want {
		t.Errorf("%s, %v; want %s", got, err, want)
	}
}

// TestChangedKeys checks that a rotated key is found when it is first used, and that made-up key ids do not
// each cause a fetch.
func TestChangedKeys(t *testing.T) {
	is := newIssuer(t, public("r1", rsaKey))
	v := is.verifier(nil)
	old := sign(t, "RS256", "r1", rsaKey, is.claims(nil))
	check := func(what, text, want string) {
		t.Helper()
		_, err := v.Check(t.Context(), text)
		if (want == "") != (err == nil) || err != nil && !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v; want %q", what, err, want)
		}
	}
	check("the first key", old, "")
	is.change(func() { is.keys = []jose.JSONWebKey{public("r2", otherRSA)} })
	fresh := sign(t, "RS256", "r2", otherRSA, is.claims(nil))
	check("too soon after the last look", fresh, "does not publish")
	is.change(func() { is.now = is.now.Add(fetchPause) })
	check("the new key", fresh, "")
	check("the key that was taken away", old, "does not publish")
	count := func() (n int) { is.change(func() { n = is.asked }); return n }
	asked := count()
	for i := range 200 {
		check("made up", sign(t, "RS256", fmt.Sprintf("made-up-%d", i), otherRSA, is.claims(nil)), "does not publish")
	}
	if got := count(); got != asked {
		t.Errorf("200 made-up keys made %d requests", got-asked)
	}
}

// TestIssuerUnavailable checks that cached keys stay valid for a day while the issuer is unavailable, and that
// without cached keys the error says so.
func TestIssuerUnavailable(t *testing.T) {
	is := newIssuer(t, public("r1", rsaKey))
	is.change(func() { is.away = true })
	v := is.verifier(nil)
	text := sign(t, "RS256", "r1", rsaKey, is.claims(map[string]any{"exp": is.clock().Add(100 * time.Hour).Unix()}))
	_, err := v.Check(t.Context(), text)
	if footnote.CodeOf(err) != footnote.StorageUnavailable {
		t.Fatal("never seen:", err)
	}
	is.change(func() { is.away, is.now = false, is.now.Add(fetchPause) })
	if _, err := v.Check(t.Context(), text); err != nil {
		t.Fatal("back:", err)
	}
	is.change(func() { is.away = true })
	for _, d := range []time.Duration{fetchAgain, time.Hour, 22 * time.Hour} {
		is.change(func() { is.now = is.now.Add(d) })
		if _, err := v.Check(t.Context(), text); err != nil {
			t.Error("away for", d, err)
		}
	}
	is.change(func() { is.now = is.now.Add(time.Hour) })
	if _, err := v.Check(t.Context(), text); footnote.CodeOf(err) != footnote.StorageUnavailable {
		t.Error("after a day:", err)
	}
	ctx, cancel := context.WithCancelCause(t.Context())
	cancel(errors.New("left"))
	if _, err := v.Check(ctx, text); err == nil {
		t.Error("a caller who left is let in")
	}
}

// TestKeySources checks which key sets are accepted.
func TestKeySources(t *testing.T) {
	is := newIssuer(t, public("r1", rsaKey))
	file := filepath.Join(t.TempDir(), "keys.json")
	if err := os.WriteFile(file, must(json.Marshal(jose.JSONWebKeySet{Keys: []jose.JSONWebKey{public("r1", rsaKey)}})),
		0o600); err != nil {
		t.Fatal(err)
	}
	private := filepath.Join(t.TempDir(), "private.json")
	if err := os.WriteFile(private,
		must(json.Marshal(jose.JSONWebKeySet{Keys: []jose.JSONWebKey{{Key: rsaKey, KeyID: "r1"}}})),
		0o600); err != nil {
		t.Fatal(err)
	}
	for where, want := range map[string]string{
		"": "", file: "", is.srv.URL + "/keys": "", is.srv.URL + "/elsewhere": "302", is.srv.URL + "/huge": "too long",
		is.srv.URL + "/none": "404",
		private:              "0 public keys", file + ".gone": "no such file", "http://127.0.0.1:1/keys": "connect",
	} {
		v := is.verifier(func(o *Options) { o.Keys = where })
		if err := v.Ready(t.Context()); (want == "") != (err == nil) ||
			err != nil && !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v; want %q", where, err, want)
		}
	}
	is.change(func() { is.self = "https://other.example" })
	if err := is.verifier(nil).Ready(t.Context()); err == nil || !strings.Contains(err.Error(), "calls itself") {
		t.Error("an issuer with another name:", err)
	}
}

func TestNewRefuses(t *testing.T) {
	for name, o := range map[string]Options{
		"no issuer": {Audience: "a"}, "no audience": {Issuer: "i"},
		"none":    {Issuer: "i", Audience: "a", Algorithms: []string{"none"}},
		"HMAC":    {Issuer: "i", Audience: "a", Algorithms: []string{"RS256", "HS256"}},
		"no such": {Issuer: "i", Audience: "a", Algorithms: []string{"rs256"}},
	} {
		if v, err := New(o); err == nil {
			v.Close()
			t.Errorf("%s: accepted", name)
		}
	}
}

func TestSafe(t *testing.T) {
	for address, want := range map[string]bool{
		"https://login.example/keys": true, "http://127.0.0.1:5/keys": true, "http://localhost/keys": true,
		"http://[::1]:5/":           true,
		"http://login.example/keys": false, "ftp://x": false, "https://": false, "https://user:pw@login.example": false,
		"": false, "keys.json": false,
	} {
		if Safe(address) != want {
			t.Errorf("Safe(%q) = %v", address, !want)
		}
	}
}
