package mysql

import (
	"fmt"
	"strconv"

	"github.com/footnotehq/footnote"
	"github.com/footnotehq/footnote/source"
)

var plans = &source.Plans{Explain: "EXPLAIN ", Read: readPlan}

// readPlan reads a plan: a row for each table, and the tables of one SELECT in the order of its nested loops.
func readPlan(plan footnote.Result, _ func(table string) int64, _ int64) source.Estimate {
	at := map[string]int{}
	for i, c := range plan.Columns {
		at[c.Name] = i + 1
	}
	for _, name := range []string{"id", "table", "type", "rows"} {
		if at[name] == 0 {
			return source.Unknown()
		}
	}
	cell := func(row []any, name string) string {
		if v := row[at[name]-1]; v != nil {
			return fmt.Sprint(v)
		}
		return ""
	}
	var w source.Work
	times := map[string]float64{} // how often the next table of a SELECT is read, by the SELECT's id
	for _, row := range plan.Rows {
		rows, err := strconv.ParseFloat(cell(row, "rows"), 64)
		if err != nil {
			continue // such as a UNION's result
		}
		id := cell(row, "id")
		w.Scan(cell(row, "table"), rows, times[id], cell(row, "type") == "ALL")
		times[id] = max(times[id], 1) * max(rows, 1)
	}
	return w.Estimate()
}
