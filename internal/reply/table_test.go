package reply_test

import (
	"strings"
	"testing"

	"github.com/footnotehq/footnote"
	"github.com/footnotehq/footnote/internal/reply"
)

// TestTableKeptPrivate checks that a model that receives no rows is told to answer anyway, and one that
// receives some is told to aggregate.
func TestTableKeptPrivate(t *testing.T) {
	columns := []footnote.Column{{Name: "name"}}
	for _, tt := range []struct {
		name string
		rows [][]any
		want string
	}{
		{"none", nil, "do not query again"},
		{"some", [][]any{{"Ann"}}, "aggregate in the query"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			got := reply.Table{ID: "r1", Result: footnote.Result{Columns: columns, Rows: tt.rows}, Count: 40}.JSON()
			if !strings.Contains(got, tt.want) || !strings.Contains(got, "The query gave 40 rows") {
				t.Errorf("JSON() = %s, want %q in it", got, tt.want)
			}
		})
	}
}
