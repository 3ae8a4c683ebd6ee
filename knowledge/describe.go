package knowledge

import (
	"regexp"
	"slices"
	"strings"

	"github.com/footnotehq/footnote"
	"github.com/footnotehq/footnote/source"
)

// Digest implements source.Describer.
func (h Hiding) Digest() string {
	c := h.Current()
	if len(c.Model.Datasets) == 0 {
		return ""
	}
	return strings.TrimPrefix(c.Digest, "sha256:")[:16]
}

// Describe implements source.Describer.
func (h Hiding) Describe(s source.Schema) source.Schema {
	return h.Current().Describe(h.Source, h.Sources, s)
}

// Label implements source.Describer.
func (h Hiding) Label(tables []string, columns []footnote.Column) {
	h.Current().Label(h.Source, h.Sources, tables, columns)
}

// Describe returns the schema of a source with what the model says about its tables and columns. A description of the
// model comes before the database's own comment.
func (c *Context) Describe(name string, sources []string, s source.Schema) source.Schema {
	if len(c.Model.Datasets) == 0 {
		return s
	}
	tables := slices.Clone(s.Tables)
	of := map[string]*source.Table{} // by the names of datasets, in lower case
	for i := range c.Model.Datasets {
		d := &c.Model.Datasets[i]
		if t := d.in(name, sources, tables); t != nil {
			of[strings.ToLower(d.Name)] = t
			d.describe(t)
		}
	}
	for _, j := range c.Model.Joins {
		from, to := of[strings.ToLower(j.From)], of[strings.ToLower(j.To)]
		if from != nil && to != nil {
			join(from, to, j)
		}
	}
	s.Tables = tables
	return s
}

// in returns the table of a dataset among some, preferring the one with the schema that the dataset names, or nil.
func (d *Dataset) in(name string, sources []string, tables []source.Table) *source.Table {
	schema, table, ok := d.Table(name, sources)
	if !ok {
		return nil
	}
	var found *source.Table
	for i := range tables {
		t := &tables[i]
		switch {
		case !strings.EqualFold(t.Name, table):
		case strings.EqualFold(t.Schema, schema):
			return t
		case found == nil && (schema == "" || t.Schema == ""):
			found = t
		}
	}
	return found
}

// describe writes what the model says about a table. The columns are copied: the schema may be shared.
func (d *Dataset) describe(t *source.Table) {
	t.Comment = first(d.Description, t.Comment)
	if len(d.Synonyms) > 0 {
		t.Synonyms = d.Synonyms
		t.Comment = oneLine(sentence(t.Comment), "Also called "+strings.Join(d.Synonyms, ", ")+".")
	}
	if len(t.PrimaryKey) == 0 && allColumns(*t, d.PrimaryKey) {
		t.PrimaryKey = d.PrimaryKey
	}
	t.Columns = slices.Clone(t.Columns)
	for i := range t.Columns {
		col := &t.Columns[i]
		k := slices.IndexFunc(d.Fields, func(f Field) bool { return strings.EqualFold(f.Column, col.Name) })
		if k < 0 {
			continue
		}
		f := d.Fields[k]
		col.Synonyms, col.Unit, col.Format = f.Synonyms, f.Unit, f.Format
		words := []string{first(f.Description, f.Label, col.Comment)}
		if f.Unit != "" {
			words = append(words, "Unit: "+f.Unit+".")
		}
		if len(f.Synonyms) > 0 {
			words = append(words, "Also called "+strings.Join(f.Synonyms, ", ")+".")
		}
		if len(words) > 1 {
			words[0] = sentence(words[0])
		}
		col.Comment = oneLine(words...)
	}
}

// sentence returns a text with a full stop at its end.
func sentence(text string) string {
	text = strings.TrimSpace(text)
	if text == "" || strings.ContainsAny(text[len(text)-1:], ".!?") {
		return text
	}
	return text + "."
}

func allColumns(t source.Table, names []string) bool {
	return len(names) > 0 && !slices.ContainsFunc(names, func(n string) bool { return !has(t, n) })
}

// join adds a join as a foreign key, unless the database has one of these columns. Joins over columns that the tables
// do not have, because they are hidden, are left out.
func join(from, to *source.Table, j Join) {
	known := func(k source.ForeignKey) bool { return slices.EqualFunc(k.Columns, j.FromColumns, strings.EqualFold) }
	if !allColumns(*from, j.FromColumns) || !allColumns(*to, j.ToColumns) ||
		slices.ContainsFunc(from.ForeignKeys, known) {
		return
	}
	from.ForeignKeys = append(slices.Clone(from.ForeignKeys), source.ForeignKey{
		Columns: j.FromColumns, RefTable: to.FullName(), RefColumns: j.ToColumns,
	})
}

// aggregate matches the names that engines give to simple aggregates of a column.
var aggregate = regexp.MustCompile(`(?i)^(sum|avg|min|max|total)\((?:"?[\pL_][\pL\p{Nd}_$]*"?\.)?` +
	`"?([\pL_][\pL\p{Nd}_$]*)"?\)$`)

// Label sets the units and formats of a result's columns that are columns of the tables read, simple aggregates of
// these, or metrics. A name that stands for two units has none.
func (c *Context) Label(name string, sources, tables []string, columns []footnote.Column) {
	known := map[string]footnote.Column{} // by name, in lower case
	add := func(as, unit, format string) {
		as = strings.ToLower(as)
		if old, ok := known[as]; ok && (old.Unit != unit || old.Format != format) {
			unit, format = "", ""
		}
		known[as] = footnote.Column{Unit: unit, Format: format}
	}
	for i := range c.Model.Datasets {
		d := &c.Model.Datasets[i]
		if _, table, ok := d.Table(name, sources); !ok || !slices.ContainsFunc(tables, func(read string) bool {
			return strings.EqualFold(read[strings.LastIndexByte(read, '.')+1:], table)
		}) {
			continue
		}
		for _, f := range d.Fields {
			if f.Column != "" && (f.Unit != "" || f.Format != "") {
				add(f.Column, f.Unit, f.Format)
			}
		}
	}
	for _, m := range c.Model.Metrics {
		if m.Unit != "" || m.Format != "" {
			add(m.Name, m.Unit, m.Format)
		}
	}
	for i := range columns {
		of := columns[i].Name
		if m := aggregate.FindStringSubmatch(of); m != nil {
			of = m[2]
		}
		if k := known[strings.ToLower(of)]; isNumber(columns[i].Kind) {
			columns[i].Unit, columns[i].Format = k.Unit, k.Format
		}
	}
}

// isNumber reports whether values of a kind may be numbers. Some engines do not know the kind.
func isNumber(kind string) bool {
	return slices.Contains([]string{"", footnote.KindInteger, footnote.KindNumber, footnote.KindDecimal}, kind)
}

// Prompt returns what the model says about the data besides its tables, as far as a principal may see it.
func (c *Context) Prompt(p footnote.Principal) string {
	var b strings.Builder
	for _, text := range []string{c.Model.Description, c.Model.Instructions} {
		if text != "" {
			b.WriteString(oneLine(text) + "\n")
		}
	}
	for _, m := range c.Metrics(p) {
		b.WriteString("- " + m.Name + " = " + oneLine(m.Expression))
		if m.Unit != "" {
			b.WriteString(" (" + m.Unit + ")")
		}
		if words := m.words(); words != "" {
			b.WriteString(": " + words)
		}
		b.WriteByte('\n')
	}
	return b.String()
}

// Metrics returns the metrics and computed fields that a principal may see.
func (c *Context) Metrics(p footnote.Principal) []Metric {
	return slices.DeleteFunc(slices.Concat(c.Model.Metrics, c.computed(p)), func(m Metric) bool {
		return !May(p, m.Roles) || c.metricHidden(m, p)
	})
}

// computed returns the fields that are expressions over columns, in the form of metrics.
func (c *Context) computed(p footnote.Principal) (list []Metric) {
	for _, d := range c.Model.Datasets {
		if d.Hidden || !May(p, d.Roles) {
			continue
		}
		for _, f := range d.Fields {
			if f.Expression != "" {
				list = append(list, Metric{
					Name: d.Name + "." + f.Name, Expression: f.Expression, Description: first(f.Description, f.Label),
					Synonyms: f.Synonyms, Unit: f.Unit,
				})
			}
		}
	}
	return list
}

func (m Metric) words() string {
	words := m.Description
	if len(m.Synonyms) > 0 {
		words = oneLine(sentence(words), "Also called "+strings.Join(m.Synonyms, ", ")+".")
	}
	return words
}

// identifier matches names in an expression.
var identifier = regexp.MustCompile(`[\pL_][\pL\p{Nd}_$]*`)

// namesIn returns the names in an expression or statement, in lower case.
func namesIn(sql string) map[string]bool {
	names := map[string]bool{}
	for _, w := range identifier.FindAllString(sql, -1) {
		names[strings.ToLower(w)] = true
	}
	return names
}

// metricHidden reports whether the expression of a metric may use a column or table that is hidden from a principal.
func (c *Context) metricHidden(m Metric, p footnote.Principal) bool {
	names := namesIn(m.Expression)
	for i := range c.Model.Datasets {
		d := &c.Model.Datasets[i]
		if (d.Hidden || !May(p, d.Roles)) && names[strings.ToLower(d.Name)] {
			return true
		}
		for _, f := range d.Fields {
			if (f.Hidden || !May(p, f.Roles)) && (names[strings.ToLower(f.Name)] || names[strings.ToLower(f.Column)]) {
				return true
			}
		}
	}
	return false
}
