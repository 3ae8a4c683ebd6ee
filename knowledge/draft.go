package knowledge

import (
	"strings"

	"github.com/footnotehq/footnote/source"
)

// Facts are what a source's values say about a column. The zero value says nothing.
type Facts struct {
	Values      []string // all of them, if they are few
	First, Last string   // of dates
	Empty       bool     // it has no values
}

// Draft returns a first version of a model: the tables and columns of a schema with the database's own comments, its
// keys as joins, and facts about columns by table and column name. People complete it.
func Draft(name string, s source.Schema, facts map[string]map[string]Facts) Model {
	m := Model{Name: name}
	named := map[string]string{} // the dataset of each table
	seen := map[string]bool{}
	for _, t := range s.Tables {
		d := Dataset{Name: t.Name, Path: []string{t.Name}, PrimaryKey: t.PrimaryKey}
		if t.Schema != "" {
			d.Path = []string{t.Schema, t.Name}
		}
		if seen[strings.ToLower(d.Name)] {
			d.Name = t.Schema + "_" + t.Name
		}
		seen[strings.ToLower(d.Name)] = true
		d.Description, _ = Cut(t.Comment)
		for _, c := range t.Columns {
			d.Fields = append(d.Fields, Field{
				Name: c.Name, Column: c.Name, Description: facts[t.FullName()][c.Name].describe(c.Comment),
			})
		}
		named[t.FullName()] = d.Name
		m.Datasets = append(m.Datasets, d)
	}
	for _, t := range s.Tables {
		for _, k := range t.ForeignKeys {
			if to := named[k.RefTable]; to != "" && len(k.Columns) == len(k.RefColumns) {
				m.Joins = append(m.Joins, Join{
					Name: named[t.FullName()] + "_" + strings.Join(k.Columns, "_"), From: named[t.FullName()], To: to,
					FromColumns: k.Columns, ToColumns: k.RefColumns,
				})
			}
		}
	}
	return m
}

// describe returns a comment with the facts.
func (f Facts) describe(comment string) string {
	words := []string{sentence(comment)}
	switch {
	case f.Empty:
		words = append(words, "Always empty.")
	case len(f.Values) > 0:
		words = append(words, "One of: "+strings.Join(f.Values, ", ")+".")
	case f.First != "":
		words = append(words, "From "+f.First+" to "+f.Last+".")
	}
	text, _ := Cut(strings.Join(words, " "))
	return text
}
