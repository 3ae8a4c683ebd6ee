package postgres

import (
	"errors"
	"slices"

	"github.com/footnotehq/footnote/source"
)

// Indexes, partitions, extended statistics and CHECK constraints contain expressions. A query of their table does
// not compute them, but Postgres simplifies them to plan the query: it runs each immutable function whose arguments
// are constants, with the rights of the current user. Such functions are therefore judged as if the statement
// called them. A function of a column, as in an index on lower(name), does not run.

// planned is an object that an expression of a table needs and that is not Postgres's own.
type planned struct {
	table, class, oid string
	name              string // of a function or operator
	cast              bool   // the function is a cast's, which the text need not show
	text              string // of the expressions
}

func newPlanned(r []string) planned {
	return planned{table: r[0], class: r[1], oid: r[2], name: r[3], cast: r[4] == "t", text: r[5]}
}

// plan judges what the planner may run in the expressions.
func (j *judge) plan(list []planned) error {
	for _, p := range list {
		if j.refusal != nil {
			return nil
		}
		what := "Planning a query of the table " + p.table
		f, err := j.e.definition(j.ctx, "SELECT "+p.text)
		if bad, ok := errors.AsType[*source.Error](err); ok {
			j.refuse("%s cannot be checked: an expression of the table cannot be read. %s", what, bad.Reason)
			return nil
		}
		if err != nil {
			return err
		}
		constant := slices.ContainsFunc(f.Constant, func(n name) bool { return n[len(n)-1] == p.name })
		if f.Bad != "" || p.class == "pg_type" || p.cast || constant {
			j.addNeeded(what, []string{"", p.class, p.oid, "0"})
		}
	}
	return nil
}
