package offline

import (
	"slices"
	"strings"
)

// Several references can lead from one table to another: a match has a home club and an away club, a flight has two
// airports. They are called twins here. The question must name the one that it means. If it names none, the planner
// uses another path or declines.

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

// inRoles returns the profile with only those twin references that the question names, or the profile itself if it
// names none.
func (p *profile) inRoles(ws []word) *profile {
	drop := map[*column]bool{}
	said := map[string]string{}
	for _, t := range p.tables {
		for _, e := range t.parents {
			if e.isTwin() && !e.isNamed(ws) &&
				slices.ContainsFunc(t.parents, func(o edge) bool { return o.to.t == e.to.t && o.isNamed(ws) }) {
				drop[e.from] = true
			} else if e.isTwin() && e.isNamed(ws) {
				for _, role := range e.roles() {
					said[role] = e.to.t.title()
				}
			}
		}
	}
	if len(drop) == 0 {
		return p
	}
	q := p.clone(drop)
	q.roles = said
	return q
}

// namedRole reports whether a word names the kept reference, and returns the table that it leads to.
func (p *profile) namedRole(w word) (string, bool) {
	for role, to := range p.roles {
		if matchWord(w, role) > 1 {
			return to, true
		}
	}
	return "", false
}

func (e edge) isNamed(ws []word) bool {
	return slices.ContainsFunc(e.roles(), func(role string) bool {
		return !filler[role] && slices.ContainsFunc(ws, func(w word) bool { return matchWord(w, role) > 1 })
	})
}

// useRoles marks the words that chose a reference as used.
func (ps *parser) useRoles() {
	for k, w := range ps.ws {
		if to, ok := ps.p.namedRole(w); ok && !ps.used[k] {
			ps.used[k] = true
			ps.roleNotes = append(ps.roleNotes, to+" means the "+w.low+" "+to)
		}
	}
}

// clone copies a profile without some references.
func (p *profile) clone(drop map[*column]bool) *profile {
	q := *p
	q.reduced, q.tables, q.tablesOnly = true, nil, nil
	q.values, q.partOf = map[string][]*value{}, map[string]*value{}
	q.words, q.valueWords = map[string]bool{}, map[string]bool{}
	tables, cols := map[*table]*table{}, map[*column]*column{}
	for _, t := range p.tables {
		c := *t
		c.p, c.cols = &q, make([]*column, len(t.cols))
		for i, col := range t.cols {
			one := *col
			one.t = &c
			c.cols[i], cols[col] = &one, &one
		}
		tables[t] = &c
		q.tables = append(q.tables, &c)
	}
	for _, t := range q.tables {
		t.key = cols[t.key]
		t.label = slices.Clone(t.label)
		for i, c := range t.label {
			t.label[i] = cols[c]
		}
		var kept []edge
		for _, e := range t.parents {
			if !drop[e.from] {
				kept = append(kept, edge{cols[e.from], cols[e.to]})
			}
		}
		t.parents = kept
	}
	q.index()
	return &q
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
			return decline("%s has %s. Say which one is meant.", UpperFirst(article(e.from.t.title())),
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
