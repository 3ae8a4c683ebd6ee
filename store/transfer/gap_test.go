package transfer_test

import (
	"bytes"
	"database/sql"
	"path/filepath"
	"strings"
	"testing"

	"github.com/footnotehq/footnote"
	"github.com/footnotehq/footnote/store"
	"github.com/footnotehq/footnote/store/sqlite"
	"github.com/footnotehq/footnote/store/transfer"
)

// withGaps returns a store with a conversation of three events, numbered 1, 4 and a billion, whose head counts three
// more.
func withGaps(t *testing.T) store.Movable {
	t.Helper()
	path := filepath.Join(t.TempDir(), "footnote.db")
	s, err := sqlite.Open(t.Context(), path, sqlite.Options{})
	if err != nil {
		t.Fatal(err)
	}
	one, two, three := footnote.UserMessage{Text: "1"}, footnote.UserMessage{Text: "2"}, footnote.UserMessage{Text: "3"}
	_, err = s.CreateAppend(t.Context(), store.Stream{ID: "c1", Kind: store.Conversation, Org: "o", User: "u"},
		store.Append{Bodies: []footnote.Body{one, two, three}})
	if err != nil {
		t.Fatal(err)
	}
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	db, err := sql.Open("sqlite", path)
	if err != nil {
		t.Fatal(err)
	}
	defer db.Close()
	for _, change := range []string{
		`UPDATE events SET seq = 1000000000 WHERE seq = 3`, `UPDATE events SET seq = 4 WHERE seq = 2`,
		`UPDATE streams SET last = 1000000003`,
	} {
		if _, err := db.Exec(change); err != nil {
			t.Fatal(err)
		}
	}
	s, err = sqlite.Open(t.Context(), path, sqlite.Options{})
	return closing(t, s, err)
}

// TestGaps checks that an export lists missing events, in one line per gap, and that an import restores the gaps.
func TestGaps(t *testing.T) {
	var out bytes.Buffer
	n, err := transfer.Export(t.Context(), withGaps(t), &out, "", noProgress)
	const missing = 2 + 999_999_995 + 3
	if err != nil || n.Streams != 1 || n.Unreadable != 0 || n.Missing != missing {
		t.Fatalf("export: %+v, %v; want 1 stream and %d missing events", n, err, missing)
	}
	for _, gap := range []string{
		`{"gap":{"from":2,"to":3}}`, `{"gap":{"from":5,"to":999999999}}`, `{"gap":{"from":1000000001,"to":1000000003}}`,
	} {
		if strings.Count(out.String(), gap+"\n") != 1 {
			t.Errorf("the export does not name %s:\n%s", gap, &out)
		}
	}
	for name, to := range map[string]store.Movable{"sqlite": file(t), "postgres": database(t)} {
		n, err := transfer.Import(t.Context(), to, bytes.NewReader(out.Bytes()), noProgress)
		if err != nil || n.Streams != 1 {
			t.Errorf("%s: import: %+v, %v", name, n, err)
		}
		if again := export(t, to); !bytes.Equal(again, out.Bytes()) {
			t.Errorf("%s: exported again:\n%s\nwant\n%s", name, again, &out)
		}
		n, err = transfer.Import(t.Context(), to, bytes.NewReader(out.Bytes()), noProgress)
		if err != nil || n.There != 1 {
			t.Errorf("%s: import again: %+v, %v", name, n, err)
		}
	}
}
