package offline

import (
	"slices"
	"strings"
)

// The subject of a question may be no noun of the schema: "who", "people", or what a
// verb stands for ("the most borrowed books" are books by their loans).

// person is the table of people nearest to a base: "who" asks for its rows. Two equally
// near ones are nobody's choice.
func (p *profile) person(base *table) *table {
	var best *table
	dist, tie := 99, false
	for _, t := range p.tables {
		if !t.ofPeople() || !base.reaches(t) {
			continue
		}
		switch d := len(base.path(t)); {
		case d < dist:
			best, dist, tie = t, d, false
		case d == dist:
			tie = true
		}
	}
	if tie {
		return nil
	}
	return best
}

func (t *table) ofPeople() bool {
	last := t.words[max(len(t.words)-1, 0):][0]
	if personTables[last] || slices.ContainsFunc(english(last), func(w string) bool { return personTables[w] }) {
		return true
	}
	return slices.ContainsFunc(t.cols, func(c *column) bool {
		joined := strings.Join(splitName(c.name), " ")
		return joined == "first name" || joined == "last name" || joined == "surname" || c.role == roleDate && c.means(set("birth"))
	})
}

// personColumn is the only column of a table that names people: the driver, the customer.
func (t *table) personColumn() *column {
	var found *column
	for _, c := range t.cols {
		if c.role == roleDimension && slices.ContainsFunc(splitName(c.name), func(w string) bool { return personTables[w] }) {
			if found != nil {
				return nil
			}
			found = c
		}
	}
	return found
}

// linkPeople proposes the only table of people for "people".
func (ps *parser) linkPeople(i int) []item {
	if !peopleWords[ps.ws[i].sing] && !peopleWords[ps.ws[i].low] || filler[ps.ws[i].low] {
		return nil
	}
	var all, named []*table
	for _, t := range ps.p.tables {
		if t.ofPeople() {
			all = append(all, t)
			if ps.named[t] {
				named = append(named, t)
			}
		}
	}
	if len(named) == 1 {
		all = named
	}
	if len(all) != 1 {
		return nil
	}
	return []item{{kind: itTable, lo: i, hi: i + 1, score: 34, tables: all}}
}

// whoDim groups by the people that "who" asks for.
func (ps *parser) whoDim(pl *plan) (dim, bool) {
	if !ps.who || pl.base == nil {
		return dim{}, false
	}
	if t := ps.p.person(pl.base); t != nil && (t != pl.base || len(ps.p.tables) > 1) {
		return dim{entity: t}, t != pl.base
	}
	if c := pl.base.personColumn(); c != nil {
		return columnDim(c), true
	}
	return dim{}, false
}

// verbTable is the table that a verb of the question stands for.
func (ps *parser) verbTable() *item {
	for _, it := range ps.nouns(itTable) {
		if it.verb && len(it.tables) == 1 {
			return it
		}
	}
	return nil
}

// events is the only table whose rows refer to those of t, or the only one that the
// question names among them.
func (ps *parser) events(t *table) *table {
	var all, named []*table
	for _, o := range ps.p.tables {
		if o != t && o.reaches(t) && o.eventful() && len(o.path(t)) == 1 {
			all = append(all, o)
			if ps.named[o] {
				named = append(named, o)
			}
		}
	}
	if len(named) == 1 {
		all = named
	}
	if len(all) != 1 {
		return nil
	}
	return all[0]
}

// classify uses up the words that only say what kind of thing a column is: "membership
// type", "the region name".
func (ps *parser) classify() {
	for _, it := range ps.items {
		if it.kind != itColumn && it.kind != itTable || it.hi >= len(ps.ws) || ps.used[it.hi] || ps.ws[it.hi].stop {
			continue
		}
		if it.kind == itColumn && it.col().role != roleDimension {
			continue
		}
		if w := ps.ws[it.hi]; classifiers[w.sing] && (it.kind == itColumn || w.sing == "name") {
			ps.used[it.hi] = true
		}
	}
}
