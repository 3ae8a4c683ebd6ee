package sqlite

import (
	"crypto/sha256"
	"os"
	"path/filepath"
	"testing"

	"github.com/footnotehq/footnote"
	"github.com/footnotehq/footnote/store"
)

// TestKeysFromSecondProcess checks that a second process can create and revoke keys while the first one writes
// conversations.
func TestKeysFromSecondProcess(t *testing.T) {
	dir := t.TempDir()
	server := open(t, dir)
	beside, err := OpenReader(t.Context(), filepath.Join(dir, "footnote.db"))
	if err != nil {
		t.Fatal(err)
	}
	defer beside.Close()
	k := store.Key{ID: "k1", Hash: sha256.Sum256([]byte("x")), Principal: footnote.Principal{Org: "acme", User: "ann"}}
	if err := beside.AddKey(t.Context(), k); err != nil {
		t.Fatal(err)
	}
	if got, err := server.Key(t.Context(), "k1"); err != nil || got.User != "ann" {
		t.Fatal(got, err)
	}
	if err := beside.RevokeKey(t.Context(), "k1"); err != nil {
		t.Fatal(err)
	}
	if got, err := server.Key(t.Context(), "k1"); err != nil || got.Revoked.IsZero() {
		t.Fatal(got, err)
	}
	if err := server.Create(t.Context(), store.Stream{
		ID: "c", Kind: store.Conversation, Org: "acme", User: "ann",
	}); err != nil {
		t.Error("the server cannot write any more:", err)
	}
}

// TestKeysOfMissingFile checks that changing keys does not create an empty file in place of a missing one.
func TestKeysOfMissingFile(t *testing.T) {
	dir := t.TempDir()
	s := open(t, dir)
	path := filepath.Join(dir, "footnote.db")
	if err := os.Rename(path, path+".away"); err != nil {
		t.Fatal(err)
	}
	if err := s.RevokeKey(t.Context(), "k1"); footnote.CodeOf(err) != footnote.StorageUnavailable {
		t.Error(err)
	}
	if _, err := os.Stat(path); err == nil {
		t.Error("the change created a file")
	}
	if err := os.Rename(path+".away", path); err != nil {
		t.Fatal(err)
	}
}
