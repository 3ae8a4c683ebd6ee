package knowledge

import (
	"context"
	"slices"
	"strings"

	"github.com/footnotehq/footnote"
	"github.com/footnotehq/footnote/source"
)

// Table returns the schema and the name of a dataset's table if the table may be in a source; schema is "" if the
// dataset names none. Sources are the names of all sources: a path that begins with one means that source.
func (d *Dataset) Table(name string, sources []string) (schema, table string, ok bool) {
	path := d.Path
	if len(path) > 1 && slices.Contains(sources, path[0]) {
		if path[0] != name {
			return "", "", false
		}
		path = path[1:]
	}
	if len(path) > 1 {
		schema = path[len(path)-2]
	}
	return schema, path[len(path)-1], true
}

// May reports whether a principal may see what is for some roles; no roles means everybody.
func May(p footnote.Principal, roles []string) bool {
	return len(roles) == 0 || slices.ContainsFunc(roles, func(r string) bool { return slices.Contains(p.Roles, r) })
}

// protects reports whether something of a dataset is hidden from somebody.
func (d *Dataset) protects() bool {
	return d.Hidden || len(d.Roles) > 0 ||
		slices.ContainsFunc(d.Fields, func(f Field) bool { return f.Hidden || len(f.Roles) > 0 })
}

// Hides reports whether something of a source is hidden from somebody.
func (c *Context) Hides(name string, sources []string) bool {
	return len(c.hidden(name, sources, func([]string) bool { return false })) > 0
}

// Hidden returns what is hidden of a source from a principal.
func (c *Context) Hidden(name string, sources []string, p footnote.Principal) source.Hidden {
	return c.hidden(name, sources, func(roles []string) bool { return May(p, roles) })
}

func (c *Context) hidden(name string, sources []string, may func(roles []string) bool) (h source.Hidden) {
	for _, i := range c.protected {
		d := &c.Model.Datasets[i]
		schema, table, ok := d.Table(name, sources)
		if !ok {
			continue
		}
		if d.Hidden || len(d.Roles) > 0 && !may(d.Roles) {
			h = append(h, source.HiddenTable{Schema: schema, Table: table})
			continue
		}
		var columns []string
		for _, f := range d.Fields {
			if f.Column != "" && (f.Hidden || len(f.Roles) > 0 && !may(f.Roles)) {
				columns = append(columns, f.Column)
			}
		}
		if len(columns) > 0 {
			h = append(h, source.HiddenTable{Schema: schema, Table: table, Columns: columns})
		}
	}
	return h
}

// Hiding implements source.Hiding for one source by the version of a context that is in use.
type Hiding struct {
	Source  string
	Sources []string        // the names of all sources
	Current func() *Context // must not return nil
}

// Any implements source.Hiding.
func (h Hiding) Any() bool { return h.Current().Hides(h.Source, h.Sources) }

// For implements source.Hiding. Without a principal, only what everybody may see is left.
func (h Hiding) For(ctx context.Context) source.Hidden {
	p, _ := footnote.ActingPrincipal(ctx)
	return h.Current().Hidden(h.Source, h.Sources, p)
}

// needs returns lists of roles: who has none of one cannot run a statement, because it names a hidden column and its
// table, or a hidden table. An empty list stands for what is hidden from everybody.
func (c *Context) needs(sql string) (lists [][]string) {
	names := namesIn(sql)
	add := func(hidden bool, roles []string) {
		switch {
		case hidden:
			lists = append(lists, nil)
		case len(roles) > 0:
			lists = append(lists, roles)
		}
	}
	for _, i := range c.protected {
		d := &c.Model.Datasets[i]
		if !names[strings.ToLower(d.Path[len(d.Path)-1])] {
			continue
		}
		add(d.Hidden, d.Roles)
		for _, f := range d.Fields {
			if f.Column != "" && names[strings.ToLower(f.Column)] {
				add(f.Hidden, f.Roles)
			}
		}
	}
	return lists
}

// CheckTables finds what the model says about tables and columns that do not exist. Schemas are the complete schemas of
// the sources, by name; those of sources that cannot be read now are missing, and what may be in them is not judged.
// Sources are the names of all sources.
//
// A table or column that is hidden, or for some roles only, must exist: a misspelled name would protect nothing. It is
// a fault; anything else that does not exist is a remark.
func (c *Context) CheckTables(sources []string, schemas map[string]source.Schema) (remarks []Fault, err error) {
	var faults Faults
	for i := range c.Model.Datasets {
		d := &c.Model.Datasets[i]
		found, unknown := d.find(sources, schemas)
		if unknown {
			continue
		}
		to := (*Faults)(&remarks)
		if d.protects() {
			to = &faults
		}
		if len(found) == 0 {
			to.add(ModelFile, d.Line, "no source has the table %s of the dataset %.80q; correct its source, or "+
				"remove it", strings.Join(d.Path, "."), d.Name)
			continue
		}
		for _, f := range d.Fields {
			if f.Column == "" || slices.ContainsFunc(found, func(t source.Table) bool { return has(t, f.Column) }) {
				continue
			}
			to = (*Faults)(&remarks)
			if f.Hidden || len(f.Roles) > 0 {
				to = &faults
			}
			to.add(ModelFile, f.Line, "the table %s has no column %.80q; correct the field, or remove it",
				found[0].FullName(), f.Column)
		}
	}
	return remarks, faults.err()
}

func has(t source.Table, column string) bool {
	_, ok := t.Column(column)
	return ok
}

// find returns the tables that a dataset may mean. unknown means that there may be more in a source that was not read.
func (d *Dataset) find(sources []string, schemas map[string]source.Schema) (found []source.Table, unknown bool) {
	for _, name := range sources {
		schema, table, ok := d.Table(name, sources)
		s, read := schemas[name]
		switch {
		case !ok:
		case !read:
			unknown = true
		default:
			for _, t := range s.Tables {
				if strings.EqualFold(t.Name, table) &&
					(schema == "" || t.Schema == "" || strings.EqualFold(t.Schema, schema)) {
					found = append(found, t)
				}
			}
		}
	}
	return found, unknown
}
