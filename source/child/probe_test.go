package child

import (
	"errors"
	"os"
	"path/filepath"
	"slices"
	"testing"

	"github.com/footnotehq/footnote/source"
)

// TestCheckRefused passes CheckRefused outcomes that it must not accept.
func TestCheckRefused(t *testing.T) {
	target := filepath.Join(t.TempDir(), "made.db")
	if err := CheckRefused(t.Context(), "DROP TABLE t", nil, target, "here"); !errors.Is(err, source.ErrWritable) {
		t.Errorf("an accepted write: %v", err)
	}
	if err := CheckRefused(t.Context(), "VACUUM INTO", errors.New("no"), target, "here"); err != nil {
		t.Errorf("a refused write: %v", err)
	}
	if err := os.WriteFile(target, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	if err := CheckRefused(t.Context(), "VACUUM INTO", errors.New("no"), target, "here"); !errors.Is(err,
		source.ErrWritable) {
		t.Errorf("a write that left a file: %v", err)
	}
}

func TestAttempts(t *testing.T) {
	got := Attempts("# a comment\nDROP TABLE {table}\n\nVACUUM INTO '{target}'\n", `"t"`, "it's")
	if want := []string{`DROP TABLE "t"`, "VACUUM INTO 'it''s'"}; !slices.Equal(got, want) {
		t.Errorf("got %q, want %q", got, want)
	}
}
