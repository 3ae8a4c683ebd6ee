package offline

import (
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/footnotehq/footnote"
	"github.com/footnotehq/footnote/internal/currency"
)

// This file writes rows as a table or a list.

// writeList writes an answer that lists rows.
func (w *Writer) writeList(pl *plan, res Result) {
	// A reader would take a figure in the first column for the name of the row.
	named := pl.rankBy == nil || len(res.Columns) == 1 || res.Columns[0] != pl.rankBy.name
	switch {
	case pl.limit == 1 && len(res.Rows) == 1 && named:
		w.say("It is **", cell{res, 0, 0, false, false}, "**")
		if pl.rankBy != nil {
			w.writeRanked(pl, res, ", "+pl.rankBy.title()+" ")
		}
		w.Text(".")
		return
	case pl.wantsFirstRow() && len(res.Rows) > 1:
		w.citeCount(res)
		w.say(" "+pl.base.many()+" share the "+pl.end(), label(pl.rankBy.title()))
		w.writeRanked(pl, res, ", ")
		w.Text(".")
	default:
		noun := pl.base.counted(float64(res.Count))
		if len(pl.dims) > 0 {
			if noun = "different " + pl.dims[0].name; res.Count != 1 {
				noun = manyOf(noun)
			}
		}
		lead := "There are "
		switch {
		case res.Count == 1:
			lead = "There is "
		case res.Count >= 1000:
			lead = "Here are the first "
		}
		w.Text(lead)
		w.citeCount(res)
		w.Text(" " + noun)
		w.writeScope(pl.filters)
		w.Text(".")
	}
	w.writeTable(res, pl, false)
}

// writeRanked writes the figure of the first row that ranks it.
func (w *Writer) writeRanked(pl *plan, res Result, before string) {
	if i := slices.Index(res.Columns, pl.rankBy.name); i > 0 {
		w.say(before, cell{res, 0, i, pl.rankBy.role == roleMeasure, false})
	}
}

// end returns the word for the end of a column at which the first row is: highest or lowest.
func (pl *plan) end() string {
	words := map[bool]string{true: "highest ", false: "lowest "}
	if pl.rankBy.role == roleDate {
		words = map[bool]string{true: "latest ", false: "earliest "}
	}
	return words[pl.order < 0]
}

// writeTable writes the first rows as a table, or the last ones if last is true, as for periods.
func (w *Writer) writeTable(res Result, pl *plan, last bool) {
	const maxRows = 12
	from, to := 0, min(maxRows, len(res.Rows))
	if last && !res.Truncated {
		from, to = max(0, len(res.Rows)-maxRows), len(res.Rows)
	}
	cols := min(len(res.Columns), 7)
	w.Text("\n\n")
	for c := range cols {
		w.say("| ", label(heading(pl, res.Columns[c])), " ")
	}
	w.Text("|\n" + strings.Repeat("| --- ", cols) + "|\n")
	for r := from; r < to; r++ {
		for c := range cols {
			measure := pl == nil && hasDecimals(res, c) || pl != nil &&
				(pl.kind == kindAggregate && c >= len(pl.dims) || pl.kind == kindList && pl.isMeasure(res.Columns[c]))
			w.Text("| ")
			w.Cell(res, r, c, measure, pl != nil && pl.kind == kindAggregate && pl.share)
			w.Text(" ")
		}
		w.Text("|\n")
	}
	if to-from < res.Count {
		which := "first"
		if from > 0 {
			which = "last"
		}
		shown := strconv.Itoa(to - from)
		w.Text("\n_Showing the " + which + " ")
		w.Cite(shown, footnote.Cite{Result: res.ID, Formula: fmt.Sprintf("top(%s, %s)", res.ID, shown), Value: shown})
		w.Text(" of ")
		w.writeRowCount(res)
		w.Text("._")
	}
}

// heading returns the heading of a result's column: in the plan's words, and spelled as in the data if the plan names
// it.
func heading(pl *plan, as string) string {
	if pl == nil { // the figures have the sign of the currency
		as = strings.TrimSuffix(as, "_"+strings.ToLower(currency.InName(as)))
	}
	if pl != nil {
		for _, d := range pl.dims {
			if d.as == as && strings.ReplaceAll(fold(d.name), " ", "_") == as {
				return Clip(d.name)
			}
		}
		for _, m := range pl.measures {
			plain := strings.TrimSuffix(as, "_"+strings.ToLower(m.currency(pl)))
			if m.as == as && strings.ReplaceAll(fold(m.name), " ", "_") == plain {
				return Clip(m.name)
			}
		}
	}
	return Clip(strings.ReplaceAll(as, "_", " "))
}

func (pl *plan) isMeasure(name string) bool {
	return slices.ContainsFunc(pl.show, func(c *column) bool { return c.name == name && c.role == roleMeasure })
}
