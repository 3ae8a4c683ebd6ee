package offline

import (
	"slices"
	"strings"
)

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

// roles returns the words that distinguish a reference from its twins: home, away.
func (e edge) roles() []string {
	var out []string
	for _, w := range splitName(e.from.name) {
		if w != "id" && w != "key" && w != "code" && !slices.Contains(e.to.t.words, w) {
			out = append(out, w)
		}
	}
	return out
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
			var ways []string
			for _, o := range e.from.t.parents {
				if o.to.t == e.to.t {
					ways = append(ways, article(strings.Join(append(o.roles(), o.to.t.title()), " ")))
				}
			}
			return decline("%s has %s, and I can't tell which one you mean.", UpperFirst(article(e.from.t.title())),
				strings.Join(ways, " and "))
		}
	}
	return nil
}

// article puts "a" or "an" before a noun.
func article(noun string) string {
	if noun != "" && strings.ContainsRune("aeio", rune(noun[0])) {
		return "an " + noun
	}
	return "a " + noun
}
