package main

import (
	"bytes"
	"context"
	"net/http"
	"path/filepath"
	"strings"
	"testing"
	"time"

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
// and no one after it is revoked.
func TestKeysFromCreateToRevoke(t *testing.T) {
	folder := t.TempDir()
	c := config.Default()
	c.Data, c.Upstream, c.Model, c.Auth.Required = folder, config.Offline, "offline", true
	g := newServer(t, c)
	with := func(key string) int {
		return g.call(key, "GET", "/api/conversations", "").Code
	}
	if got := with("key-of-nobody"); got != http.StatusUnauthorized {
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
	k, err := g.app.Store().Key(t.Context(), id)
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
			t.Fatal("a revoked key is still accepted")
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

// TestStoredKeysRequireKey checks that a store with a key, even a revoked one, is not served to callers without one.
func TestStoredKeysRequireKey(t *testing.T) {
	folder := filepath.Join(t.TempDir(), "new")
	if _, words, code := program(t, "--data", folder, "keys", "create", "--org", "acme", "--user", "ada"); code != 0 {
		t.Fatal(words)
	}
	c := config.Default()
	c.Data, c.Upstream, c.Model = folder, config.Offline, "offline"
	if got := newServer(t, c).call("", "GET", "/api/conversations", "").Code; got != http.StatusUnauthorized {
		t.Errorf("without the key: %d", got)
	}
}

func TestInvalidKeyOptions(t *testing.T) {
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
