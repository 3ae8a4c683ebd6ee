package sqlite_test

import (
	"path/filepath"
	"testing"
	"time"

	"github.com/footnotehq/footnote"
	"github.com/footnotehq/footnote/store"
	"github.com/footnotehq/footnote/store/sqlite"
)

func TestReaderDuringWrites(t *testing.T) {
	path := filepath.Join(t.TempDir(), "footnote.db")
	if _, err := sqlite.OpenReader(t.Context(), path); footnote.CodeOf(err) != footnote.NotFound {
		t.Errorf("no file: CodeOf(%v), want not_found", err)
	}
	writer, err := sqlite.Open(t.Context(), path, sqlite.Options{})
	if err != nil {
		t.Fatal(err)
	}
	defer writer.Close()
	if _, err := writer.CreateAppend(t.Context(), store.Stream{ID: "s", Kind: "conversation", Org: "o", User: "u"},
		store.Append{Stream: "s", Bodies: []footnote.Body{footnote.Titled{Title: "x"}}}); err != nil {
		t.Fatal(err)
	}
	reader, err := sqlite.OpenReader(t.Context(), path)
	if err != nil {
		t.Fatal(err)
	}
	if head, err := reader.Get(t.Context(), "s"); err != nil || head.Last != 1 {
		t.Errorf("head = %+v, %v", head, err)
	}
	_, err = reader.Append(t.Context(), store.Append{
		Stream: "s",
		After:  1,
		Bodies: []footnote.Body{footnote.Titled{Title: "y"}},
	})
	if footnote.CodeOf(err) != footnote.StorageUnavailable {
		t.Errorf("a write: CodeOf(%v), want storage_unavailable", err)
	}
	_, unfinished := reader.Unfinished(t.Context(), time.Now(), 1)
	for what, err := range map[string]error{
		"renew": reader.Renew(t.Context(), "s", 1, time.Second), "release": reader.Release(t.Context(), "s", 1),
		"ping": reader.Ping(t.Context()), "unfinished": unfinished, "delete": reader.Delete(t.Context(), "s"),
	} {
		if footnote.CodeOf(err) != footnote.StorageUnavailable {
			t.Errorf("%s: CodeOf(%v), want storage_unavailable", what, err)
		}
	}
	if err := reader.Close(); err != nil {
		t.Error(err)
	}
	if _, err := writer.Append(t.Context(), store.Append{
		Stream: "s",
		After:  1,
		Bodies: []footnote.Body{footnote.Titled{Title: "z"}},
	}); err != nil {
		t.Errorf("the writer, after the reader closed: %v", err)
	}
}
