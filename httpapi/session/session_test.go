package session_test

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/footnotehq/footnote/httpapi/session"
)

func open(t *testing.T, folder string) *session.Keeper {
	t.Helper()
	k, err := session.Open(folder)
	if err != nil {
		t.Fatal(err)
	}
	return k
}

func begin(t *testing.T, k *session.Keeper, key string) (token string) {
	t.Helper()
	token, err := k.New(t.Context(), k.DigestOf(key))
	if err != nil {
		t.Fatal(err)
	}
	return token
}

func TestSessionSurvivesRestart(t *testing.T) {
	folder := t.TempDir()
	k := open(t, folder)
	token := begin(t, k, "key-of-ada")
	other := begin(t, k, "key-of-ada")
	again := open(t, folder)
	if key, ok, _ := again.Check(t.Context(), token); !ok || key != again.DigestOf("key-of-ada") ||
		key == again.DigestOf("key-of-bob") {
		t.Errorf("after a restart the session stands for %x, %v", key, ok)
	}
	if err := again.End(t.Context(), token); err != nil {
		t.Fatal(err)
	}
	if err := again.End(t.Context(), token); err != nil {
		t.Error("a second sign-out:", err)
	}
	for name, k := range map[string]*session.Keeper{"at once": again, "after a restart": open(t, folder)} {
		if _, ok, _ := k.Check(t.Context(), token); ok {
			t.Errorf("%s: the session is still valid after it ended", name)
		}
		if _, ok, _ := k.Check(t.Context(), other); !ok {
			t.Errorf("%s: another session was ended, too", name)
		}
	}
	info, err := os.Stat(filepath.Join(folder, "session.key"))
	if err != nil || info.Mode().Perm() != 0o600 {
		t.Errorf("the secret's mode is %v, %v", info.Mode(), err)
	}
	for _, name := range []string{"session.key", "session.ended"} {
		if data, _ := os.ReadFile(filepath.Join(folder, name)); strings.Contains(string(data), "ada") ||
			len(data) == 0 {
			t.Errorf("%s holds %q", name, data)
		}
	}
}

func TestSessionExpires(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		k := open(t, "")
		token := begin(t, k, "key-of-ada")
		time.Sleep(session.Lifetime - time.Second)
		if _, ok, _ := k.Check(t.Context(), token); !ok {
			t.Error("session expired early")
		}
		time.Sleep(time.Second)
		if _, ok, _ := k.Check(t.Context(), token); ok {
			t.Error("it does not end")
		}
	})
}

func TestForgedTokens(t *testing.T) {
	k := open(t, "")
	token := begin(t, k, "key-of-ada")
	stranger := begin(t, open(t, ""), "key-of-ada")
	flipped := []byte(token)
	flipped[20] ^= 1
	for name, forged := range map[string]string{
		"empty": "", "another secret": stranger, "changed": string(flipped), "cut": token[:len(token)-1],
		"longer": token + "A", "long": strings.Repeat("A", 1<<16),
	} {
		if _, ok, _ := k.Check(t.Context(), forged); ok {
			t.Errorf("%s: accepted", name)
		}
		if err := k.End(t.Context(), forged); err != nil {
			t.Errorf("%s: %v", name, err)
		}
	}
}

func TestDamagedSecretIsReported(t *testing.T) {
	folder := t.TempDir()
	if err := os.WriteFile(filepath.Join(folder, "session.key"), []byte("short"), 0o600); err != nil {
		t.Fatal(err)
	}
	if _, err := session.Open(folder); err == nil || !strings.Contains(err.Error(), "session.key is damaged") {
		t.Error(err)
	}
}

// TestTornSignOut checks that a sign-out counts even if the write of the previous one was torn, for example
// by a full disk.
func TestTornSignOut(t *testing.T) {
	folder := t.TempDir()
	k := open(t, folder)
	token := begin(t, k, "key-of-ada")
	if err := os.WriteFile(filepath.Join(folder, "session.ended"), []byte("dG9ybg"), 0o600); err != nil {
		t.Fatal(err)
	}
	if err := k.End(t.Context(), token); err != nil {
		t.Fatal(err)
	}
	if _, ok, _ := open(t, folder).Check(t.Context(), token); ok {
		t.Error("the session survived a restart")
	}
	if err := os.WriteFile(filepath.Join(folder, "session.ended"), []byte(strings.Repeat("x", 1<<20)),
		0o600); err != nil {
		t.Fatal(err)
	}
	if _, err := session.Open(folder); err == nil {
		t.Error("an unreadable file of ended sessions was treated as empty")
	}
}
