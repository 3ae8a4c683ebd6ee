package sqlite

import (
	"strings"

	"github.com/footnotehq/footnote"
	"github.com/footnotehq/footnote/source"
)

var plans = &source.Plans{Explain: "EXPLAIN QUERY PLAN ", Read: readPlan}

// readPlan reads a plan. Each of its rows names its parent; the loops of one parent are nested. SQLite does not tell
// how many rows a SEARCH finds: it counts as one, or as the whole table for a range. SQLite names tables by their
// aliases; an unknown name counts as the largest table of the statement.
func readPlan(plan footnote.Result, rows func(table string) int64, largest int64) source.Estimate {
	var w source.Work
	times := map[any]float64{}    // how often the next loop of a parent runs
	computed := map[string]bool{} // names that stand for subqueries
	for _, row := range plan.Rows {
		if len(row) != 4 {
			return source.Unknown()
		}
		detail, _ := row[3].(string)
		parent := row[1]
		verb, rest, _ := strings.Cut(detail, " ")
		name, _, _ := strings.Cut(rest, " ")
		switch verb {
		case "CO-ROUTINE", "MATERIALIZE":
			computed[name] = true
		case "SCAN", "SEARCH":
			if verb == "SEARCH" && !strings.ContainsAny(detail, "<>") {
				w.Scan(name, 1, times[parent], false)
				continue
			}
			if computed[name] || name == "CONSTANT" || name == "(subquery-" {
				continue // its rows are counted where they are read
			}
			size := rows(name)
			if size < 0 {
				size = largest
			}
			if size < 0 {
				return source.Unknown()
			}
			w.Scan(name, float64(size), times[parent], verb == "SCAN")
			times[parent] = max(times[parent], 1) * max(float64(size), 1)
		}
	}
	return w.Estimate()
}
