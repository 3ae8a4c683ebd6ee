package main

import (
	"bytes"
	"net/http"
	"net/http/httptest"
	"path/filepath"
	"strings"
	"testing"

	"github.com/footnotehq/footnote/config"
	"github.com/footnotehq/footnote/internal/pgtest"
)

// command runs a command as a user would, without a configuration.
func command(t *testing.T, want int, args ...string) string {
	t.Helper()
	var out, errs bytes.Buffer
	code := run(t.Context(), args, streams{strings.NewReader(""), &out, &errs}, []string{"HOME=" + t.TempDir()})
	if text := out.String() + errs.String(); code != want {
		t.Errorf("footnote %s: exit code %d, want %d:\n%s", strings.Join(args, " "), code, want, text)
	}
	return out.String() + errs.String()
}

// TestPostgresStore runs two servers on one database: each shows what the other wrote.
func TestPostgresStore(t *testing.T) {
	url := pgtest.Database(t)
	t.Chdir(t.TempDir())
	has := func(text, want string) {
		t.Helper()
		if !strings.Contains(text, want) {
			t.Errorf("it does not say %q:\n%s", want, text)
		}
	}
	has(command(t, 0, "doctor", "--store", url), "schema 0 of ")
	has(command(t, 0, "migrate", "--store", url), "from schema 0 to ")
	has(command(t, 0, "migrate", "--store", url), "up to date")
	text := command(t, 0, "doctor", "--store", url)
	has(text, "Postgres 1")
	has(text, "schema ")

	here := func(c *config.Config) { c.Store = config.Secret(url) }
	one, two := newRig(t, t.TempDir(), here), newRig(t, t.TempDir(), here)
	id := one.ask("How many orders are there?")
	a, b := one.events(id), two.events(id)
	if len(a) < 4 || kinds(a) != kinds(b) {
		t.Errorf("the first shows %s, the second %s", kinds(a), kinds(b))
	}
	has(command(t, 0, "verify", "--store", url, id), "ok")
	two.call("DELETE", "/api/conversations/"+id, nil, 204, nil)
	one.call("GET", "/api/conversations/"+id, nil, 404, nil)
}

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
			t.Errorf("the session is of %s", text)
		}
	}
	page(two, "DELETE", "/api/session", nil, 204)
	page(one, "GET", "/api/sources", nil, 401)
	page(two, "GET", "/api/sources", nil, 401)
}

// TestStoreSecret looks for the password in the errors of a database that is missing or has a malformed address.
func TestStoreSecret(t *testing.T) {
	t.Chdir(t.TempDir())
	for _, url := range []string{
		"postgres://me:hush@127.0.0.1:1/db", "postgres://me:hu%sh@127.0.0.1/db", "mysql://me:hush@127.0.0.1/db", "hush",
	} {
		for _, name := range []string{"doctor", "migrate", "serve"} {
			want := 1
			if !strings.HasPrefix(url, "postgres://me:hush") {
				want = 2
			}
			if text := command(t, want, name, "--store", url); strings.Contains(text, "hush") ||
				strings.Contains(text, "hu%s") {
				t.Errorf("%s tells the password: %s", name, text)
			} else if want == 1 && !strings.Contains(text, "127.0.0.1:1") {
				t.Errorf("%s does not say what cannot be reached: %s", name, text)
			}
		}
	}
}

// TestDoctorReadsAllLogs checks folders that only the terminal has used, and folders that nobody has used.
func TestDoctorReadsAllLogs(t *testing.T) {
	data := t.TempDir()
	if out := command(t, 0, "doctor", "--log", "--data", data); !strings.Contains(out, "no conversations yet") {
		t.Errorf("an empty folder: %s", out)
	}
	shop := filepath.Join(data, "shop.db")
	command(t, 0, "seed-demo", shop)
	command(t, 0, "ask", "--data", data, "--source", shop, "--model", "offline", "How many orders are there?")
	if out := command(t, 0, "doctor", "--log", "--data", data); !strings.Contains(out, "log of ask") ||
		!strings.Contains(out, "1 run ") {
		t.Errorf("what was asked at the terminal is not read: %s", out)
	}
}
