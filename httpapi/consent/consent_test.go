package consent

import (
	"context"
	"crypto/sha256"
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"net/http/httptest"
	"net/netip"
	"net/url"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/footnotehq/footnote"
	"github.com/footnotehq/footnote/store/sqlite/sqlitetest"
)

const resource = "https://data.example/mcp"

// fixture is an issuer over a real store, with a clock that tests move, and a client that has registered.
type fixture struct {
	*Issuer
	t      *testing.T
	ahead  time.Duration
	events []Event
	client string
}

const (
	verifier = "a-verifier-that-is-long-enough-to-be-one-of-the-real-ones"
	redirect = "https://client.example/callback"
)

var ada = footnote.Principal{Org: "acme", User: "ada"}

func newFixture(t *testing.T) *fixture {
	t.Helper()
	f := &fixture{t: t}
	f.Issuer = New(Options{
		Resource: resource, Store: sqlitetest.New(t), Now: func() time.Time { return time.Now().Add(f.ahead) },
		Notify: func(_ context.Context, e Event) { f.events = append(f.events, e) },
	})
	out, err := f.Register([]byte(`{"client_name":"Test","redirect_uris":["` + redirect + `","http://127.0.0.1:1/cb"]}`))
	if err != nil {
		t.Fatal(err)
	}
	f.client = out.(map[string]any)["client_id"].(string)
	return f
}

func (f *fixture) query(change ...string) url.Values {
	sum := sha256.Sum256([]byte(verifier))
	q := url.Values{
		"client_id": {f.client}, "redirect_uri": {redirect}, "response_type": {"code"}, "state": {"s&1"},
		"code_challenge": {base64.RawURLEncoding.EncodeToString(sum[:])}, "code_challenge_method": {"S256"},
		"resource": {resource},
	}
	for i := 0; i < len(change); i += 2 {
		q.Set(change[i], change[i+1])
	}
	return q
}

// code returns a code for ada's consent.
func (f *fixture) code() string {
	f.t.Helper()
	r, err := f.Read(f.t.Context(), f.query())
	if err != nil {
		f.t.Fatal(err)
	}
	to, err := f.Allow(f.t.Context(), ada, []byte("digest-of-a-key!"), r)
	if err != nil {
		f.t.Fatal(err)
	}
	u, err := url.Parse(to)
	if err != nil || u.Query().Get("state") != "s&1" || u.Query().Get("iss") != "https://data.example" {
		f.t.Fatalf("the answer goes to %s", to)
	}
	return u.Query().Get("code")
}

func (f *fixture) grant(kind, field, value string, change ...string) url.Values {
	form := url.Values{
		"grant_type": {kind}, field: {value}, "client_id": {f.client}, "redirect_uri": {redirect},
		"code_verifier": {verifier}, "resource": {resource},
	}
	for i := 0; i < len(change); i += 2 {
		form.Set(change[i], change[i+1])
	}
	return form
}

func (f *fixture) signIn() Tokens {
	f.t.Helper()
	tokens, err := f.Exchange(f.t.Context(), f.grant("authorization_code", "code", f.code()))
	if err != nil {
		f.t.Fatal(err)
	}
	return tokens
}

func (f *fixture) refresh(token string) (Tokens, error) {
	return f.Exchange(f.t.Context(), f.grant("refresh_token", "refresh_token", token))
}

func (f *fixture) valid(token string) bool {
	f.t.Helper()
	a, err := f.Check(f.t.Context(), token)
	if err != nil && footnote.CodeOf(err) != footnote.Unauthorized {
		f.t.Fatal(err)
	}
	return err == nil && a.Org == "acme" && a.User == "ada" && string(a.Key) == "digest-of-a-key!"
}

func wantRefusal(t *testing.T, what string, err error, code string) {
	t.Helper()
	if r, ok := errors.AsType[*Refusal](err); !ok || r.Code != code {
		t.Errorf("%s: %v, want %s", what, err, code)
	}
}

func TestTokens(t *testing.T) {
	f := newFixture(t)
	first := f.signIn()
	if !f.valid(first.Access) || first.Expires < 800 || f.valid(first.Refresh) || f.valid("fna_"+first.Refresh[4:]) {
		t.Errorf("the first tokens are %+v", first)
	}
	second, err := f.refresh(first.Refresh)
	if err != nil || !f.valid(second.Access) || f.valid(first.Access) || second.Refresh == first.Refresh {
		t.Errorf("refreshed: %+v %v", second, err)
	}
	f.ahead += accessTime + time.Second
	if f.valid(second.Access) {
		t.Error("an expired token is valid")
	}
	third, err := f.refresh(second.Refresh)
	if err != nil || !f.valid(third.Access) {
		t.Errorf("refreshed after the expiry: %v", err)
	}
	if err := f.Revoke(t.Context(), third.Refresh); err != nil || f.valid(third.Access) {
		t.Errorf("revoked: %v", err)
	}
	_, err = f.refresh(third.Refresh)
	wantRefusal(t, "a revoked token", err, invalidGrant)
	f.ahead = 0
	last := f.signIn()
	f.ahead = lifetime + time.Second
	_, err = f.refresh(last.Refresh)
	wantRefusal(t, "a consent that has ended", err, invalidGrant)
}

// TestCopies checks that a token that is used twice ends the consent, because one of the two has a copy of it.
func TestCopies(t *testing.T) {
	f := newFixture(t)
	code := f.code()
	tokens, err := f.Exchange(t.Context(), f.grant("authorization_code", "code", code))
	if err != nil {
		t.Fatal(err)
	}
	_, err = f.Exchange(t.Context(), f.grant("authorization_code", "code", code))
	wantRefusal(t, "a code that was used", err, invalidGrant)
	if f.valid(tokens.Access) {
		t.Error("the tokens of a code that was used twice are valid")
	}
	first := f.signIn()
	second, err := f.refresh(first.Refresh)
	if err != nil {
		t.Fatal(err)
	}
	// Two requests at once, or a lost response: the client gets the same tokens again.
	again, err := f.refresh(first.Refresh)
	if err != nil || again.Refresh != second.Refresh || again.Access != second.Access || !f.valid(again.Access) {
		t.Errorf("the same request again: %+v %v", again, err)
	}
	f.ahead += leeway + time.Second
	_, err = f.refresh(first.Refresh)
	wantRefusal(t, "a refresh token that was used", err, invalidGrant)
	if f.valid(second.Access) {
		t.Error("the tokens of a refresh token that was used twice are valid")
	}
	_, err = f.refresh(second.Refresh)
	wantRefusal(t, "the successor of such a token", err, invalidGrant)
	if last := f.events[len(f.events)-1]; last.What != Copied || last.User != "ada" {
		t.Errorf("the audit was told %+v", f.events)
	}
}

func TestParallelRefreshes(t *testing.T) {
	f := newFixture(t)
	first := f.signIn()
	var wg sync.WaitGroup
	got := make([]Tokens, 8)
	for i := range got {
		wg.Go(func() {
			tokens, err := f.refresh(first.Refresh)
			if err != nil {
				t.Error(err)
			}
			got[i] = tokens
		})
	}
	wg.Wait()
	for _, g := range got {
		if g.Refresh != got[0].Refresh || !f.valid(g.Access) {
			t.Errorf("parallel requests got %+v and %+v", got[0], g)
		}
	}
}

func TestExchangeRefuses(t *testing.T) {
	f := newFixture(t)
	other, err := f.Register([]byte(`{"redirect_uris":["https://other.example/"]}`))
	if err != nil {
		t.Fatal(err)
	}
	for name, c := range map[string]struct {
		code   string
		change []string
	}{
		"another client":     {invalidGrant, []string{"client_id", other.(map[string]any)["client_id"].(string)}},
		"another verifier":   {invalidGrant, []string{"code_verifier", verifier + "x"}},
		"no verifier":        {invalidGrant, []string{"code_verifier", ""}},
		"another redirect":   {invalidGrant, []string{"redirect_uri", "http://127.0.0.1:1/cb"}},
		"another resource":   {invalidTarget, []string{"resource", "https://other.example/mcp"}},
		"another grant type": {badGrantType, []string{"grant_type", "password"}},
		"a code to refresh":  {invalidGrant, []string{"grant_type", "refresh_token", "refresh_token", f.code()}},
		"no code":            {invalidGrant, []string{"code", ""}},
		"a made-up code":     {invalidGrant, []string{"code", "fnc_" + strings.Repeat("A", 3*part)}},
	} {
		_, err := f.Exchange(t.Context(), f.grant("authorization_code", "code", f.code(), c.change...))
		wantRefusal(t, name, err, c.code)
	}
	code := f.code()
	f.ahead = codeTime + time.Second
	_, err = f.Exchange(t.Context(), f.grant("authorization_code", "code", code))
	wantRefusal(t, "an old code", err, invalidGrant)
}

func TestRead(t *testing.T) {
	f := newFixture(t)
	for name, c := range map[string]struct {
		code     string
		answered bool // the client gets the error
		change   []string
	}{
		"plain PKCE":           {invalidRequest, true, []string{"code_challenge_method", "plain"}},
		"no PKCE":              {invalidRequest, true, []string{"code_challenge", ""}},
		"a token":              {badResponseType, true, []string{"response_type", "token"}},
		"another resource":     {invalidTarget, true, []string{"resource", "https://other.example/mcp"}},
		"a long state":         {invalidRequest, true, []string{"state", strings.Repeat("s", maxState+1)}},
		"an unnamed redirect":  {invalidRedirect, false, []string{"redirect_uri", redirect + "/x"}},
		"no redirect":          {invalidRedirect, false, []string{"redirect_uri", ""}},
		"another host":         {invalidRedirect, false, []string{"redirect_uri", "http://127.0.0.2:1/cb"}},
		"a path of a loopback": {invalidRedirect, false, []string{"redirect_uri", "http://127.0.0.1:2/other"}},
		"an unknown client":    {invalidClient, false, []string{"client_id", "x"}},
		"a damaged client":     {invalidClient, false, []string{"client_id", selfPrefix + "x"}},
		"a client with scripts": {invalidRedirect, false, []string{
			"client_id", encoded(`{"redirect_uris":["javascript:1"]}`),
		}},
	} {
		r, err := f.Read(t.Context(), f.query(c.change...))
		wantRefusal(t, name, err, c.code)
		if (r.Redirect != "") != c.answered {
			t.Errorf("%s: the error goes to %q", name, r.Redirect)
		}
	}
	if r, err := f.Read(t.Context(), f.query("redirect_uri", "http://127.0.0.1:9999/cb")); err != nil ||
		r.Redirect != "http://127.0.0.1:9999/cb" {
		t.Errorf("another port of this machine: %v", err)
	}
	twice := f.query()
	twice.Add("redirect_uri", "https://evil.example")
	_, err := f.Read(t.Context(), twice)
	wantRefusal(t, "a parameter twice", err, invalidRequest)
}

func encoded(text string) string {
	return selfPrefix + base64.RawURLEncoding.EncodeToString([]byte(text))
}

func TestRegister(t *testing.T) {
	f := newFixture(t)
	long := strings.Repeat("x", 300)
	for body, code := range map[string]string{
		`{}`: invalidRedirect,
		`{"redirect_uris":["http://a.example/"]}`:                                             invalidRedirect,
		`{"redirect_uris":["https://a/#b"]}`:                                                  invalidRedirect,
		`{"redirect_uris":["https://u:p@a/"]}`:                                                invalidRedirect,
		`{"redirect_uris":["data:text/html,x"]}`:                                              invalidRedirect,
		`{"redirect_uris":["javascript://a/%0a"]}`:                                            invalidRedirect,
		`{"redirect_uris":["/relative"]}`:                                                     invalidRedirect,
		`{"redirect_uris":["https://a/"],"token_endpoint_auth_method":"client_secret_basic"}`: invalidMetadata,
		`{"redirect_uris":["https://a/"],"client_name":"` + long + `"}`:                       invalidMetadata,
		`{"redirect_uris":["https://a/"],"client_name":"a\u202eb"}`:                           invalidMetadata,
		`{"redirect_uris":["https://` + strings.Join([]string{
			long + `","https://`, long + `","https://`, long + `","https://`, long + `","https://`, long, `"]}`,
		}, ""): invalidMetadata,
		`[]`: invalidMetadata,
	} {
		_, err := f.Register([]byte(body))
		wantRefusal(t, body, err, code)
	}
	for _, good := range []string{
		"cursor://anysphere/callback", "com.example.app://cb", "http://[::1]:1/", "http://localhost/cb",
	} {
		if _, err := f.Register([]byte(fmt.Sprintf(`{"redirect_uris":[%q]}`, good))); err != nil {
			t.Errorf("%s: %v", good, err)
		}
	}
}

// TestDocuments checks that a client can describe itself at its address, which is fetched from public addresses only.
func TestDocuments(t *testing.T) {
	reply := map[string]func(w http.ResponseWriter, id string){
		"/good": func(w http.ResponseWriter, id string) {
			_ = json.NewEncoder(w).Encode(registration{ID: id, Name: "Good", Redirects: []string{redirect}})
		},
		"/other": func(w http.ResponseWriter, _ string) {
			_ = json.NewEncoder(w).Encode(registration{ID: "https://x.example/y", Redirects: []string{redirect}})
		},
		"/large": func(w http.ResponseWriter, id string) {
			fmt.Fprintf(w, `{"client_id":%q,"redirect_uris":[%q],"x":%q}`, id, redirect, strings.Repeat("x", maxDocument))
		},
		"/moved": func(w http.ResponseWriter, _ string) { w.Header().Set("Location", "/good"); w.WriteHeader(302) },
		"/secret": func(w http.ResponseWriter, id string) {
			fmt.Fprintf(w, `{"client_id":%q,"redirect_uris":[%q],"token_endpoint_auth_method":"private_key_jwt"}`, id, redirect)
		},
	}
	hits := 0
	var srv *httptest.Server
	srv = httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		hits++
		reply[r.URL.Path](w, srv.URL+r.URL.Path)
	}))
	t.Cleanup(srv.Close)
	f := newFixture(t)
	f.documents = newDocuments(true, f.Now)
	for range 2 {
		r, err := f.Read(t.Context(), f.query("client_id", srv.URL+"/good"))
		if err != nil || r.Client.Name != "Good" || r.Client.Host != strings.TrimPrefix(srv.URL, "http://") {
			t.Errorf("the client is %+v %v", r.Client, err)
		}
	}
	if hits != 1 {
		t.Errorf("the document was fetched %d times", hits)
	}
	for path, code := range map[string]string{
		"/other": invalidClient, "/large": invalidClient, "/moved": invalidClient, "/secret": invalidMetadata,
		"": invalidClient, "/": invalidClient, "/a/../good": invalidClient, "/good#x": invalidClient,
	} {
		_, err := f.Read(t.Context(), f.query("client_id", srv.URL+path))
		wantRefusal(t, path, err, code)
	}
	f.documents, hits = newDocuments(false, f.Now), 0
	secret := strings.Replace(srv.URL, "http://", "https://", 1)
	for _, id := range []string{
		srv.URL + "/good", secret + "/good", "https://localhost:1/x", "https://[::1]/x", "https://10.0.0.1/x",
		"https://u@a.example/x",
	} {
		_, err := f.Read(t.Context(), f.query("client_id", id))
		wantRefusal(t, id, err, invalidClient)
	}
	if hits != 0 {
		t.Error("a document on this machine was fetched")
	}
}

func TestPublic(t *testing.T) {
	for address, want := range map[string]bool{
		"8.8.8.8": true, "2606:4700::1111": true, "127.0.0.1": false, "10.1.2.3": false, "169.254.169.254": false,
		"100.64.0.1": false, "::1": false, "fd00::1": false, "fe80::1": false, "0.0.0.0": false, "224.0.0.1": false,
		"64:ff9b::7f00:1": false, "2002:7f00:1::": false, "192.168.1.1": false,
	} {
		if got := public(netip.MustParseAddr(address)); got != want {
			t.Errorf("public(%s) = %v", address, got)
		}
	}
}
