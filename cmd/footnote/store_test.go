package main

import (
	"bytes"
	"path/filepath"
	"strings"
	"testing"

	"github.com/footnotehq/footnote/config"
	"github.com/footnotehq/footnote/demo/demotest"
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

// TestPostgresStore checks the commands on a database for conversations.
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

	c := config.Default()
	c.Data, c.Store, c.Upstream, c.Model = t.TempDir(), config.Secret(url), config.Offline, "offline"
	c.Sources = map[string]string{"shop": demotest.Shop(t)}
	id := newServer(t, c).ask("How many orders are there?")
	has(command(t, 0, "verify", "--store", url, id), "ok")
}

// TestStoreSecret looks for the password in the errors of a database that is missing or has a malformed address.
func TestStoreSecret(t *testing.T) {
	t.Chdir(t.TempDir())
	for _, url := range []string{
		"postgres://me:hush@127.0.0.1:1/db", "postgres://me:hu%sh@127.0.0.1/db", "nosuch://me:hush@127.0.0.1/db",
		"hush",
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

// TestDoctorReadsAllLogs checks folders that only the terminal has used, and unused folders.
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
		t.Errorf("doctor did not read the terminal's log: %s", out)
	}
}
