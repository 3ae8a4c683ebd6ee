package postgres

import (
	"encoding/json"
	"strings"

	"github.com/footnotehq/footnote"
	"github.com/footnotehq/footnote/source"
)

var plans = &source.Plans{Explain: "EXPLAIN (FORMAT JSON) ", Read: readPlan}

// planNode is a node of a plan. Its rows are per execution.
type planNode struct {
	Type  string     `json:"Node Type"`
	Table string     `json:"Relation Name"`
	Rows  float64    `json:"Plan Rows"`
	Width float64    `json:"Plan Width"`
	Plans []planNode `json:"Plans"`
}

// readPlan reads a plan. A sequential scan reads its whole table, whatever its filter leaves.
func readPlan(plan footnote.Result, rows func(table string) int64, _ int64) source.Estimate {
	var roots []struct{ Plan planNode }
	if len(plan.Rows) == 0 {
		return source.Unknown()
	}
	text, _ := plan.Rows[0][0].(string)
	if json.Unmarshal([]byte(text), &roots) != nil || len(roots) != 1 {
		return source.Unknown()
	}
	w := planWork{rows: rows}
	w.add(roots[0].Plan, 1)
	e := w.Estimate()
	e.Bytes = int64(min(w.bytes, 1<<62))
	return e
}

type planWork struct {
	source.Work
	rows  func(table string) int64
	bytes float64
}

// add adds a node that is executed a number of times.
func (w *planWork) add(n planNode, times float64) {
	if n.Table != "" {
		read, all := n.Rows, strings.HasSuffix(n.Type, "Seq Scan")
		if all {
			read = max(read, float64(w.rows(n.Table)))
		}
		w.Scan(n.Table, read, times, all)
		w.bytes += read * n.Width * max(times, 1)
	}
	for i, p := range n.Plans {
		again := times
		if n.Type == "Nested Loop" && i == 1 {
			again *= n.Plans[0].Rows
			w.AtLeast(again*p.Rows, "compares that many pairs of rows")
		}
		if n.Type == "Materialize" || n.Type == "Memoize" {
			again = 1 // it keeps the rows
		}
		w.add(p, again)
	}
	if len(n.Plans) > 1 {
		w.AtLeast(n.Rows*times, "a "+strings.ToLower(n.Type)+" makes that many rows")
	}
}
