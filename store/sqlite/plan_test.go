package sqlite

import (
	"strings"
	"testing"
)

// TestPlans checks that frequent statements use an index and sort nothing, however large the tables are.
func TestPlans(t *testing.T) {
	s := open(t, t.TempDir())
	for _, q := range readQueries(&s.reads) {
		var args []any
		for range strings.Count(q.sql, "?") {
			args = append(args, "1")
		}
		if strings.Contains(q.sql, "?6") {
			args = args[:6]
		}
		rows, err := s.read.QueryContext(t.Context(), "EXPLAIN QUERY PLAN "+q.sql, args...)
		must(t, err)
		defer rows.Close()
		for rows.Next() {
			var id, parent, unused int
			var detail string
			must(t, rows.Scan(&id, &parent, &unused, &detail))
			if strings.HasPrefix(detail, "SCAN keys") {
				continue // people create keys by hand, so there are few
			}
			if strings.Contains(detail, "TEMP B-TREE") ||
				strings.HasPrefix(detail, "SCAN") && !strings.Contains(detail, "CONSTANT ROW") &&
					!strings.Contains(detail, "streams_unfinished") {
				t.Errorf("%s\n%s", q.sql, detail)
			}
			t.Log(detail)
		}
		must(t, rows.Err())
	}
}
