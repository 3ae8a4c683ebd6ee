package app

import (
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/footnotehq/footnote/config"
	"github.com/footnotehq/footnote/internal/pgtest"
)

// TestSessionsOfServers signs a page in at one of two servers that share a database.
func TestSessionsOfServers(t *testing.T) {
	url := pgtest.Database(t)
	here := func(c *config.Config) { c.Store = config.Secret(url) }
	one, two := newRig(t, t.TempDir(), here), newRig(t, t.TempDir(), here)
	var cookie *http.Cookie
	page := func(g *rig, method, target string, body any, want int) string {
		t.Helper()
		r := g.request(method, target, body)
		r.Header.Del("Authorization")
		if cookie != nil {
			r.AddCookie(cookie)
		}
		w := httptest.NewRecorder()
		g.api.ServeHTTP(w, r)
		if w.Code != want {
			t.Errorf("%s %s: %d %s", method, target, w.Code, w.Body)
		}
		if set := w.Result().Cookies(); cookie == nil && len(set) == 1 {
			cookie = set[0]
		}
		return w.Body.String()
	}
	page(two, "GET", "/api/sources", nil, 401)
	page(one, "POST", "/api/session", map[string]string{"key": adasKey}, 204)
	if cookie == nil {
		t.Fatal("there is no cookie")
	}
	for _, g := range []*rig{one, two, newRig(t, t.TempDir(), here)} {
		page(g, "GET", "/api/sources", nil, 200)
		if text := page(g, "GET", "/api/session", nil, 200); !strings.Contains(text, `"user":"ada"`) {
			t.Errorf("the session belongs to %s", text)
		}
	}
	page(two, "DELETE", "/api/session", nil, 204)
	page(one, "GET", "/api/sources", nil, 401)
	page(two, "GET", "/api/sources", nil, 401)
}

// TestTwoServers runs two servers on one database: each shows what the other wrote.
func TestTwoServers(t *testing.T) {
	url := pgtest.Database(t)
	here := func(c *config.Config) { c.Store = config.Secret(url) }
	one, two := newRig(t, t.TempDir(), here), newRig(t, t.TempDir(), here)
	id := one.ask("How many orders are there?")
	a, b := one.events(id), two.events(id)
	if len(a) < 4 || kinds(a) != kinds(b) {
		t.Errorf("the first shows %s, the second %s", kinds(a), kinds(b))
	}
	two.call("DELETE", "/api/conversations/"+id, nil, 204, nil)
	one.call("GET", "/api/conversations/"+id, nil, 404, nil)
}
