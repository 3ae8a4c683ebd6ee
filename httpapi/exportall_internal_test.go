package httpapi

import (
	"crypto/sha256"
	"errors"
	"slices"
	"strings"
	"testing"

	"github.com/footnotehq/footnote"
)

// TestExportNote checks what a file says about rows and columns that are not those that were footnoted.
func TestExportNote(t *testing.T) {
	stored := footnote.StoredResult{Columns: []footnote.Column{{Name: "id"}, {Name: "name"}}, RowCount: 1}
	sum := sha256.Sum256(footnote.AppendRow(nil, []any{int64(1), "Ada"}))
	for _, tc := range []struct {
		names []string
		row   []any
		left  string
		want  string
	}{
		{[]string{"id", "name"}, []any{int64(1), "Ada"}, "", ""},
		{[]string{"id", "name"}, []any{int64(1), "Ada"}, "More.", "More."},
		{[]string{"name", "id"}, []any{int64(1), "Ada"}, "", "The columns are named name, id now"},
		{[]string{"id", "name"}, []any{int64(1), "Bob"}, "", "their order have changed"},
	} {
		e := &exporting{stored: stored, rows: digest{sum: sha256.New(), most: 1}}
		batches := e.batches(func(each func(row []any) error) (columns []footnote.Column, note string, err error) {
			for _, n := range tc.names {
				columns = append(columns, footnote.Column{Name: n})
			}
			return columns, tc.left, errors.Join(each(tc.row))
		})
		for rows, err := range batches {
			if err != nil || !slices.Equal(rows[0], tc.row) {
				t.Fatalf("%v, %v", rows, err)
			}
		}
		if note := e.note(string(sum[:])); !strings.Contains(note, tc.want) || (tc.want == "") != (note == "") {
			t.Errorf("%v: the note is %q, want %q", tc, note, tc.want)
		}
	}
}
