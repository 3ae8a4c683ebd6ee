package offline

// columnList reads "names and clubs of players" and "show the coaches and their clubs": rows of one table with only
// these columns.
func (ps *parser) columnList(pl *plan) (*declined, bool) {
	if len(ps.aggs) > 0 || ps.hasGroups() || ps.share || ps.compare || ps.never ||
		ps.duration || ps.prev != nil || ps.order != 0 || ps.howMany >= 0 {
		return nil, false
	}
	var named []*item
	and, cols := false, 0
	for _, it := range ps.items {
		if it.done || it.qual || it.neg || it.verb {
			continue
		}
		column := it.kind == itColumn && it.col().role != roleBool
		if !column && (it.kind != itTable || len(it.tables) != 1) {
			continue
		}
		if len(named) > 0 && ps.joined(named[len(named)-1].hi, it.lo) {
			and = true
		} else if len(named) > 0 && ps.at(it.lo-1) != "of" && ps.at(it.lo-2) != "of" && ps.at(it.lo-1) != "for" &&
			ps.at(it.lo-1) != "all" {
			break
		}
		if named = append(named, it); column {
			cols++
		}
	}
	if !and || cols == 0 || !ps.list && !anySaid(ps.ws, set("their its of")) {
		return nil, false
	}
	return ps.listNamed(pl, named), true
}

// listNamed chooses the table from which everything named can be reached, and the columns to show.
func (ps *parser) listNamed(pl *plan, named []*item) *declined {
	base := ps.nearTable()
	var show []*column
	for _, it := range named {
		if it.kind == itColumn {
			c, ok := ps.pick(it.cols)
			if !ok {
				return ps.ambiguous(it)
			}
			if base == nil || c.t.reaches(base) {
				base = c.t
			}
			show = append(show, c)
			continue
		}
		if t := it.table(); len(t.label) > 0 {
			show = append(show, t.label...)
		} else if t.key != nil {
			show = append(show, t.key)
		}
	}
	for _, c := range show {
		if base == nil || !base.reaches(c.t) {
			return decline("I could not tell how %s and %s belong together.", c.t.title(), show[0].t.title())
		}
	}
	for _, it := range named {
		it.done = true
	}
	pl.kind, pl.base, pl.show, pl.narrow = kindList, base, show, true
	return nil
}

// linkNames proposes the name columns of rows for "names" in a list of columns.
func (ps *parser) linkNames(i int) []item {
	w := ps.ws[i].low
	if w != "names" && w != "titles" || ps.at(i+1) != "and" && ps.at(i-1) != "and" && !ps.list {
		return nil
	}
	it := item{kind: itColumn, lo: i, hi: i + 1, score: 20, partial: true}
	for _, t := range ps.p.tables {
		if len(t.label) == 1 && (len(ps.named) == 0 || ps.named[t]) {
			it.cols = append(it.cols, t.label[0])
		}
	}
	if len(it.cols) == 0 {
		return nil
	}
	return []item{it}
}
