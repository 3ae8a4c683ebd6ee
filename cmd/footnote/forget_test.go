package main

import (
	"testing"
)

// TestForget checks what the command says, for a user who has left nothing.
func TestForget(t *testing.T) {
	out, words, code := program(t, "forget", "--org", "acme", "--user", "ada", "--data", t.TempDir())
	want := "deleted of acme/ada: 0 conversations, 0 uploads, drawings on 0 charts\n" +
		"not deleted: usage in numbers; keys, which you revoke with footnote keys revoke; the audit; backups\n"
	if code != exitDone || out != want {
		t.Errorf("footnote forget: %d %s %s", code, out, words)
	}
}
