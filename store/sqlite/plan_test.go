package sqlite

import (
	"strings"
	"testing"
)

// TestPlans makes sure that what is called often goes by an index and sorts nothing, however large the tables are.
func TestPlans(t *testing.T) {
	s := open(t, t.TempDir())
	for _, q := range readQueries(&s.reads) {
		var args []any
		for range strings.Count(q.sql, "?") {
			args = append(args, "1")
		}
		if strings.Contains(q.sql, "?7") {
			args = args[:7]
		}
		rows, err := s.read.QueryContext(t.Context(), "EXPLAIN QUERY PLAN "+q.sql, args...)
		must(t, err)
		defer rows.Close()
		for rows.Next() {
			var id, parent, unused int
			var detail string
			must(t, rows.Scan(&id, &parent, &unused, &detail))
			if strings.HasPrefix(detail, "SCAN keys") {
				continue // there are as many as somebody made by hand
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
