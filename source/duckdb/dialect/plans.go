package dialect

import (
	"encoding/json"
	"strconv"
	"strings"

	"github.com/footnotehq/footnote"
	"github.com/footnotehq/footnote/source"
)

var plans = &source.Plans{Explain: "EXPLAIN (FORMAT json) ", Read: readPlan}

// node is an operator of a plan.
type node struct {
	Name     string `json:"name"`
	Children []node `json:"children"`
	Info     struct {
		Table string `json:"Table"`
		Rows  string `json:"Estimated Cardinality"`
	} `json:"extra_info"`
}

// readPlan reads a physical plan. A filtered scan still reads all of its table, as far as an estimate can tell.
func readPlan(plan footnote.Result, rows func(table string) int64, _ int64) source.Estimate {
	var nodes []node
	if len(plan.Rows) == 0 || len(plan.Rows[0]) < 2 {
		return source.Unknown()
	}
	text, _ := plan.Rows[0][1].(string)
	if json.Unmarshal([]byte(text), &nodes) != nil {
		return source.Unknown()
	}
	var w source.Work
	for _, n := range nodes {
		n.add(&w, rows)
	}
	return w.Estimate()
}

func (n node) add(w *source.Work, rows func(table string) int64) {
	for _, c := range n.Children {
		c.add(w, rows)
	}
	expected, _ := strconv.ParseFloat(n.Info.Rows, 64)
	name := strings.ToLower(strings.ReplaceAll(strings.TrimSpace(n.Name), "_", " "))
	switch {
	case len(n.Children) > 1:
		w.AtLeast(expected, "a "+name+" makes that many rows")
	case len(n.Children) == 0 && n.Info.Table != "":
		// The table is named database.schema.table.
		_, table, _ := strings.Cut(n.Info.Table, ".")
		known := rows(table)
		if _, bare, ok := strings.Cut(table, "."); ok {
			known, table = max(known, rows(bare)), bare
		}
		w.Scan(table, max(expected, float64(known)), 1, true)
	case len(n.Children) == 0:
		w.Add(expected, "a "+name+" returns most rows")
	}
}
