package postgres

import "slices"

// Indexes, partitions, extended statistics and CHECK constraints contain expressions. A query of their table does
// not compute them, but Postgres simplifies them to plan the query: it runs each immutable function whose arguments
// are constants, with the privileges of the current user. Such functions are therefore judged as if the statement
// called them. A function of a column, as in an index on lower(name), does not run, unless Postgres replaces it by
// its body, which may call others with constants.

// planned is an object that an expression of a table needs and that is not Postgres's own.
type planned struct {
	table, class, oid string
	name              string // of a function or operator
	cast              bool   // the function is a cast's, which the text need not show
	value             bool   // the type of a column or of the table's row
	inlined           bool   // its function is replaced by its body, or has defaults, which are expressions, too
	text              string // of the expressions
}

func newPlanned(r []string) planned {
	return planned{
		table: r[0], class: r[1], oid: r[2], name: r[3], cast: r[4] == "t", value: r[5] == "t", inlined: r[6] == "t",
		text: r[7],
	}
}

// plan judges what the planner may run in the expressions.
func (j *judge) plan(list []planned) {
	inlined := map[string]bool{} // texts with a function that may drop its arguments
	for _, p := range list {
		inlined[p.text] = inlined[p.text] || p.inlined
	}
	for _, p := range list {
		what := "Planning a query of the table " + p.table
		f := j.read(what, "SELECT "+p.text)
		if j.refusal != nil {
			return
		}
		j.addImplied(f)
		constant := slices.ContainsFunc(f.Constant, func(n name) bool { return n[len(n)-1] == p.name })
		switch {
		case p.value && f.Bad == "" && !renders(f):
		case f.Bad != "" || p.class == "pg_type" || p.cast || constant || inlined[p.text]:
			j.addNeeded(what, []string{"", p.class, p.oid, "0"})
		}
	}
}
