package offline

import (
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/footnotehq/footnote"
)

// This file writes rows as a table or a list.

// writeList writes an answer that lists rows.
func (w *Writer) writeList(pl *plan, res Result) {
	if pl.limit == 1 && len(res.Rows) == 1 && pl.unnamed(res) {
		w.say("The "+pl.end(), label(pl.rankBy.title()), " is **", cell{res, 0, 0, true, false}, "**, in this row:")
		w.writeTable(res, pl, false)
		return
	}
	if pl.limit == 1 && len(res.Rows) == 1 {
		w.say("It is **", cell{res, 0, 0, false, false}, "**")
		if pl.rankBy != nil {
			if i := slices.Index(res.Columns, pl.rankBy.name); i > 0 {
				w.say(", "+pl.rankBy.title()+" ", cell{res, 0, i, pl.rankBy.role == roleMeasure, false})
			}
		}
		w.Text(".")
		return
	}
	if pl.wantsFirstRow() && len(res.Rows) > 1 {
		w.writeEqualRows(pl, res)
		return
	}
	noun := pl.base.many()
	switch {
	case len(pl.dims) > 1:
		noun = "different pairs of " + pl.dims[0].name + " and " + pl.dims[1].name
	case len(pl.dims) > 0 && res.Count == 1:
		noun = "different " + pl.dims[0].name
	case len(pl.dims) > 0:
		noun = "different " + manyOf(pl.dims[0].name)
	case res.Count == 1 && plural(pl.base.title(), 2) == noun:
		noun = pl.base.title()
	}
	if res.Count >= 1000 {
		w.Text("Here are the first ")
	} else if pl.limit > 1 && res.Count > 1 {
		w.Text("Here are ")
	} else if res.Count == 1 {
		w.Text("There is ")
	} else {
		w.Text("There are ")
	}
	w.citeCount(res)
	w.Text(" " + noun)
	w.writeScope(pl.filters)
	w.Text(".")
	w.writeTable(res, pl, false)
}

// unnamed reports whether nothing identifies the row with the highest or the lowest figure. A reader would take the
// figure alone for the name of the row.
func (pl *plan) unnamed(res Result) bool {
	return pl.rankBy != nil && pl.rankBy.role == roleMeasure && !pl.bare && len(res.Columns) > 1 &&
		res.Columns[0] == pl.rankBy.name
}

// end returns the word for the end of a column at which the first row is: highest or lowest.
func (pl *plan) end() string {
	switch date := pl.rankBy.role == roleDate; {
	case date && pl.order < 0:
		return "latest "
	case date:
		return "earliest "
	case pl.order < 0:
		return "highest "
	}
	return "lowest "
}

// writeEqualRows writes the answer to a search for one row that found several equal ones.
func (w *Writer) writeEqualRows(pl *plan, res Result) {
	w.citeCount(res)
	w.say(" "+pl.base.many()+" share the "+pl.end(), label(pl.rankBy.title()))
	if i := slices.Index(res.Columns, pl.rankBy.name); i > 0 {
		w.say(", ", cell{res, 0, i, pl.rankBy.role == roleMeasure, false})
	}
	w.Text(".")
	w.writeTable(res, pl, false)
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
			measure := pl != nil &&
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
