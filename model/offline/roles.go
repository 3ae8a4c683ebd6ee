package offline

// Several references can lead from one table to another: a match has a home club and an away club, a flight has two
// airports. They are called twins here. The planner does not tell them apart: it uses another path or declines.

// isTwin reports whether another reference leads to the same table.
func (e edge) isTwin() bool {
	n := 0
	for _, o := range e.from.t.parents {
		if o.to.t == e.to.t {
			n++
		}
	}
	return n > 1
}

// unnamedRole declines a plan that would have to guess between twin references.
func (ps *parser) unnamedRole(pl *plan) *declined {
	w := &sqlWriter{pl: pl, dialect: ps.p.dialect}
	tables := w.tables()
	for _, t := range tables {
		for _, e := range pl.base.path(t) {
			if !e.isTwin() {
				continue
			}
			return decline("%s lead to %s in several ways, and I can't tell which one you mean.",
				UpperFirst(e.from.t.many()), e.to.t.many())
		}
	}
	return nil
}
