package offline

import (
	"slices"
	"strings"
)

// The subject of a question may not be a noun of the schema: "who", "people", or what a verb stands for ("the most
// borrowed books" are books by their loans).

func (t *table) ofPeople() bool {
	last := t.words[max(len(t.words)-1, 0):][0]
	if personTables[last] || anyOf(english(last), personTables) {
		return true
	}
	if len(t.p.tables) == 1 && (t.personNoun() != "" || anyOf(t.nouns, personTables)) {
		return true
	}
	return slices.ContainsFunc(t.cols, func(c *column) bool {
		joined := strings.Join(splitName(c.name), " ")
		return joined == "first name" || joined == "last name" || joined == "surname" ||
			c.role == roleDate && c.means(set("birth"))
	})
}

// personNoun returns the noun for the rows of the only table, if its columns contain an age or a salary but no name:
// "patient" for Patient Age, otherwise "person". It returns "" for other tables.
func (t *table) personNoun() string {
	who := ""
	for _, c := range t.cols {
		ws := splitName(c.core)
		switch n := len(ws); {
		case c.role == roleMeasure && anyOf(ws, countWords):
			return "" // a row counts several people
		case n == 2 && personTables[ws[0]] && personTraits[ws[1]] && (who == "" || who == "person"):
			who = ws[0]
		case n == 1 && personTraits[ws[0]] && who == "":
			who = "person"
		}
	}
	if named := t.personColumn(); named != nil && slices.Contains(splitName(named.core), who) {
		return ""
	}
	return who
}

// countWords are words in names of columns that count something.
var countWords = set("count population number people person inhabitant case death total quantity headcount member " +
	"visitor frequency")

// personTraits are words in names of columns that only people have.
var personTraits = set(
	"age sex gender birth birthday salary occupation geschlecht gehalt alter sexe sexo salaire salario")

// personColumn returns the only column of a table that names people: the driver, the customer.
func (t *table) personColumn() *column {
	return onlyOne(t.find(func(c *column) bool {
		return c.role == roleDimension && slices.ContainsFunc(splitName(c.name), func(w string) bool {
			return personTables[w] || anyOf(english(w), personTables)
		})
	}))
}

// linkPeople proposes the only table of people for "people".
func (ps *parser) linkPeople(i int) []item {
	aged := ageGroups[ps.ws[i].sing] && set("under over below above aged younger older between")[ps.at(i+1)]
	if !aged && !peopleWords[ps.ws[i].sing] && !peopleWords[ps.ws[i].low] || filler[ps.ws[i].low] {
		return nil
	}
	all := filtered(ps.p.tables, (*table).ofPeople)
	if named := filtered(all, func(t *table) bool { return ps.named[t] }); len(named) == 1 {
		all = named
	}
	if len(all) != 1 {
		return nil
	}
	return []item{{kind: itTable, lo: i, hi: i + 1, score: 34, tables: all}}
}

// ageGroups are people of some age, which the question has to say.
var ageGroups = set("child kid teenager adult senior baby pensioner")

// agedBy returns the column of ages that a bare "over 65" at an item refers to. The item must follow people or begin
// with a word such as "older".
func (ps *parser) agedBy(base *table, it *item) *column {
	ages := base.rankColumn([]string{"age"})
	if ages == nil || set("older younger aged")[ps.at(it.lo)] {
		return ages
	}
	for _, o := range ps.items {
		if o.hi > it.lo || it.lo-o.hi > 1 || it.lo-o.hi == 1 && !set("are aged were is was who")[ps.at(o.hi)] {
			continue
		}
		person := o.kind == itTable && o.table().ofPeople()
		sex := o.kind == itValue &&
			slices.ContainsFunc(o.vals, func(v *value) bool { return v.col.means(set("sex gender")) })
		if person || sex {
			return ages
		}
	}
	return nil
}

// personDim groups by the people that "who" asks for.
func (ps *parser) personDim(pl *plan) (dim, bool) {
	if !ps.who || pl.base == nil {
		return dim{}, false
	}
	people := filtered(ps.p.tables, func(t *table) bool { return t.ofPeople() && t != pl.base && pl.base.reaches(t) })
	if len(people) == 1 {
		return dim{entity: people[0]}, true
	}
	if c := pl.base.personColumn(); c != nil {
		return columnDim(c), true
	}
	return dim{}, false
}

// verbTable returns the table whose rows a verb of the question names.
func (ps *parser) verbTable() *item {
	for _, it := range ps.nouns(itTable) {
		if it.verb && len(it.tables) == 1 {
			return it
		}
	}
	return nil
}

// hasEvents reports whether rows of another table refer to those of t.
func (t *table) hasEvents() bool {
	return slices.ContainsFunc(t.p.tables, func(o *table) bool { return o != t && len(o.path(t)) == 1 })
}
