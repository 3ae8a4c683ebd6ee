package app

import (
	"crypto/sha256"
	"encoding/base64"
	"encoding/json"
	"net/http"
	"net/http/httptest"
	"net/url"
	"strings"
	"testing"

	"github.com/footnotehq/footnote/config"
)

// form posts a form without a key.
func (g *rig) form(target string, fields url.Values) (*httptest.ResponseRecorder, map[string]any) {
	g.t.Helper()
	r := httptest.NewRequest("POST", target, strings.NewReader(fields.Encode()))
	r.Host, r.RemoteAddr = "data.example", "127.0.0.1:50000"
	r.Header.Set("Content-Type", "application/x-www-form-urlencoded")
	w := g.do(r)
	g.described(r, w)
	var out map[string]any
	if err := json.Unmarshal(w.Body.Bytes(), &out); err != nil {
		g.t.Fatalf("%s: %d %s", target, w.Code, w.Body)
	}
	return w, out
}

// described checks that the OpenAPI document allows a response.
func (g *rig) described(r *http.Request, w *httptest.ResponseRecorder) {
	g.t.Helper()
	if err := readSpec(g.t, g).check(r, w); err != nil {
		g.t.Errorf("%s %s: %v", r.Method, r.URL.Path, err)
	}
}

// TestMCPSignIn follows a program from its registration to its first call, and checks what its token opens.
func TestMCPSignIn(t *testing.T) {
	g := newRig(t, t.TempDir(), func(c *config.Config) {
		c.MCP = config.MCP{URL: "https://data.example/mcp", SignIn: true}
	})
	open := func(method, target string, body any, into any) {
		t.Helper()
		r := g.request(method, target, body)
		r.Header.Del("Authorization")
		w := g.do(r)
		g.described(r, w)
		if err := json.Unmarshal(w.Body.Bytes(), into); err != nil || w.Code >= 300 {
			t.Fatalf("%s: %d %s", target, w.Code, w.Body)
		}
	}
	var about struct{ Issuer string }
	open("GET", "/.well-known/oauth-authorization-server", nil, &about)
	open("GET", "/.well-known/oauth-protected-resource", nil, &struct{}{})
	var resource struct {
		Servers []string `json:"authorization_servers"`
	}
	open("GET", "/.well-known/oauth-protected-resource/mcp", nil, &resource)
	if len(resource.Servers) != 1 || resource.Servers[0] != about.Issuer || about.Issuer != "https://data.example" {
		t.Fatalf("the issuer is %+v, of %+v", about, resource)
	}
	var client struct {
		ID string `json:"client_id"`
	}
	open("POST", "/oauth/register", map[string]any{
		"client_name": "Tester", "redirect_uris": []string{"https://client.example/cb"},
	}, &client)
	const verifier = "0123456789012345678901234567890123456789012345"
	sum := sha256.Sum256([]byte(verifier))
	query := url.Values{
		"client_id": {client.ID}, "redirect_uri": {"https://client.example/cb"}, "response_type": {"code"},
		"code_challenge": {base64.RawURLEncoding.EncodeToString(sum[:])}, "code_challenge_method": {"S256"},
	}
	var shown struct {
		Client struct{ Name, Host string }
		To     string
	}
	g.call("GET", "/api/consent?"+query.Encode(), nil, 200, &shown)
	page := g.request("GET", "/api/consent?"+query.Encode(), nil)
	g.described(page, g.do(page))
	if shown.Client.Name != "Tester" || shown.Client.Host != "" || shown.To != "https://client.example" {
		t.Errorf("the page shows %+v", shown)
	}
	var to struct{ Redirect string }
	decide := func(allow bool) url.Values {
		t.Helper()
		g.call("POST", "/api/consent", map[string]any{"query": query.Encode(), "allow": allow}, 200, &to)
		u, err := url.Parse(to.Redirect)
		if err != nil || u.Host != "client.example" {
			t.Fatalf("the answer goes to %s", to.Redirect)
		}
		return u.Query()
	}
	if q := decide(false); q.Get("error") != "access_denied" || q.Has("code") {
		t.Errorf("a refusal: %v", q)
	}
	fields := url.Values{
		"grant_type": {"authorization_code"}, "code": {decide(true).Get("code")}, "client_id": {client.ID},
		"redirect_uri": {"https://client.example/cb"}, "code_verifier": {verifier},
	}
	w, tokens := g.form("/oauth/token", fields)
	access, _ := tokens["access_token"].(string)
	if w.Code != 200 || w.Header().Get("Cache-Control") != "no-store" || access == "" {
		t.Fatalf("the tokens are %d %s", w.Code, w.Body)
	}
	if w, reply := g.mcp(access, "tools/list", map[string]any{}); w.Code != 200 || len(reply.Result.Tools) == 0 {
		t.Errorf("the first call: %d %s", w.Code, w.Body)
	}
	// The token opens nothing else, and starts no session.
	for _, target := range []string{"/api/conversations", "/v1/models", "/api/consent?" + query.Encode(), "/metrics"} {
		r := g.request("GET", target, nil)
		r.Header.Set("Authorization", "Bearer "+access)
		if w := g.do(r); w.Code != http.StatusUnauthorized {
			t.Errorf("%s with the token: %d %s", target, w.Code, w.Body)
		}
	}
	r := g.request("POST", "/api/session", map[string]any{"key": access})
	if w := g.do(r); w.Code != http.StatusBadRequest {
		t.Errorf("a session with the token: %d %s", w.Code, w.Body)
	}
	// A program cannot consent for a person, nor can a page of another site.
	r = g.request("POST", "/api/consent", map[string]any{"query": query.Encode(), "allow": true})
	r.Header.Del("Authorization")
	if w := g.do(r); w.Code != http.StatusUnauthorized {
		t.Errorf("consent without a key: %d %s", w.Code, w.Body)
	}
	if w, out := g.form("/oauth/token", fields); w.Code != 400 || out["error"] != "invalid_grant" {
		t.Errorf("a code that was used: %d %s", w.Code, w.Body)
	}
	if w, _ := g.mcp(access, "tools/list", map[string]any{}); w.Code != http.StatusUnauthorized {
		t.Errorf("after the code was used twice: %d %s", w.Code, w.Body)
	}
	fields.Set("code", decide(true).Get("code"))
	_, tokens = g.form("/oauth/token", fields)
	access, _ = tokens["access_token"].(string)
	if w, _ := g.form("/oauth/revoke", url.Values{"token": {access}}); w.Code != 200 {
		t.Errorf("revoke: %d %s", w.Code, w.Body)
	}
	if w, _ := g.mcp(access, "tools/list", map[string]any{}); w.Code != http.StatusUnauthorized {
		t.Errorf("after the revocation: %d %s", w.Code, w.Body)
	}
	many := 0
	for range 200 {
		r := httptest.NewRequest("POST", "/oauth/token", strings.NewReader(fields.Encode()))
		r.Header.Set("Content-Type", "application/x-www-form-urlencoded")
		if w := g.do(r); w.Code == http.StatusTooManyRequests {
			many++
		}
	}
	if many == 0 {
		t.Error("200 requests for tokens at once were answered")
	}
}

// TestSignInIsDescribed checks that the OpenAPI document has every route of a server that issues tokens.
func TestSignInIsDescribed(t *testing.T) {
	g := newRig(t, t.TempDir(), func(c *config.Config) {
		c.MCP = config.MCP{URL: "https://data.example/mcp", SignIn: true}
	})
	paths := readSpec(t, g).paths
	for pattern := range g.api.Routes() {
		if _, ok := paths[strings.ReplaceAll(pattern, "...}", "}")]; !ok {
			t.Errorf("%s is not described", pattern)
		}
	}
}

// TestMCPSignInIsOff checks that a server issues no tokens unless the setting asks for them.
func TestMCPSignInIsOff(t *testing.T) {
	g := newRig(t, t.TempDir())
	for _, target := range []string{"/.well-known/oauth-authorization-server", "/api/consent", "/oauth/authorize"} {
		if w := g.do(g.request("GET", target, nil)); w.Code != http.StatusNotFound {
			t.Errorf("%s: %d %s", target, w.Code, w.Body)
		}
	}
}
