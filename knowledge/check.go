package knowledge

import (
	"regexp"
	"slices"
	"strings"
	"unicode/utf8"
)

// The bounds of a model.
const (
	maxName        = 128   // bytes of a name, a unit or a format
	maxText        = 2_000 // bytes of a description or an expression
	maxSynonyms    = 20    // of one thing
	maxDatasets    = 2_000
	maxFields      = 2_000 // of one dataset
	maxJoins       = 2_000
	maxMetrics     = 500
	maxPath        = 4 // parts of a table's name
	maxJoinColumns = 16
)

// check finds the faults of a model that can be found without its database.
func (r reader) check(m Model) {
	if len(m.Datasets) > maxDatasets || len(m.Joins) > maxJoins || len(m.Metrics) > maxMetrics {
		r.fault(0, "the model has more than %d datasets, %d relationships or %d metrics; leave some out", maxDatasets,
			maxJoins, maxMetrics)
		return
	}
	r.text(0, "the description or ai_context of the model", maxText, m.Description, m.Instructions)
	datasets := map[string]*Dataset{}
	for i := range m.Datasets {
		d := &m.Datasets[i]
		if low := strings.ToLower(d.Name); datasets[low] != nil {
			r.fault(Line(d.Line), "the dataset %.80q is here a second time; the first is in line %d", d.Name,
				datasets[low].Line)
		} else {
			datasets[low] = d
		}
		r.checkDataset(d)
	}
	for _, j := range m.Joins {
		r.checkJoin(j, datasets)
	}
	seen := map[string]int{}
	for _, x := range m.Metrics {
		r.checkMetric(x, seen)
	}
}

func (r reader) checkDataset(d *Dataset) {
	line := Line(d.Line)
	r.name(line, "the dataset", d.Name)
	if len(d.Path) > maxPath || slices.Contains(d.Path, "") {
		r.fault(line, "the source of the dataset %.80q must be a table, such as orders, public.orders or "+
			"shop.public.orders, where shop is a source of the configuration", d.Name)
	}
	if strings.ContainsAny(strings.Join(d.Path, ""), " ()") && !d.quoted() {
		r.fault(line, "the source of the dataset %.80q is a statement; make a view of it and name that", d.Name)
	}
	r.words(line, "the dataset", d.Description, d.Synonyms, d.Roles, "", "")
	if len(d.Fields) > maxFields {
		r.fault(line, "the dataset %.80q has more than %d fields; leave some out", d.Name, maxFields)
		return
	}
	seen := map[string]int{}
	for _, f := range d.Fields {
		line := Line(f.Line)
		r.name(line, "the field", f.Name)
		if first := seen[strings.ToLower(f.Name)]; first > 0 {
			r.fault(line, "the field %.80q is here a second time; the first is in line %d", f.Name, first)
		}
		seen[strings.ToLower(f.Name)] = f.Line
		r.words(line, "the field", f.Description, f.Synonyms, f.Roles, f.Unit, f.Format)
		r.text(line, "the expression", maxText, f.Expression)
		if f.Expression != "" && (f.Hidden || len(f.Roles) > 0) {
			r.fault(line, "the field %.80q is an expression, so hidden and roles would protect nothing; hide the "+
				"columns that it reads", f.Name)
		}
	}
}

// quoted reports whether the name of the table has characters that need quotes.
func (d *Dataset) quoted() bool {
	return !slices.ContainsFunc(d.Path, func(p string) bool { return statement.MatchString(p) })
}

// statement matches the beginning of a query in place of a table.
var statement = regexp.MustCompile(`(?i)^\s*\(?\s*(select|with)\b`)

func (r reader) checkJoin(j Join, datasets map[string]*Dataset) {
	line := Line(j.Line)
	for _, name := range []string{j.From, j.To} {
		if datasets[strings.ToLower(name)] == nil {
			r.fault(line, "the relationship %.80q names the dataset %.80q, which the model does not have", j.Name, name)
		}
	}
	if n := len(j.FromColumns); n == 0 || n != len(j.ToColumns) || n > maxJoinColumns {
		r.fault(line, "the relationship %.80q needs as many from_columns as to_columns, and 1 to %d of them", j.Name,
			maxJoinColumns)
	}
	r.text(line, "the description", maxText, j.Description)
	r.text(line, "a column", maxName, slices.Concat(j.FromColumns, j.ToColumns)...)
}

func (r reader) checkMetric(m Metric, seen map[string]int) {
	line := Line(m.Line)
	r.name(line, "the metric", m.Name)
	if first := seen[strings.ToLower(m.Name)]; first > 0 {
		r.fault(line, "the metric %.80q is here a second time; the first is in line %d", m.Name, first)
	}
	seen[strings.ToLower(m.Name)] = m.Line
	if m.Expression == "" {
		r.fault(line, "the metric %.80q has no expression; give it one, such as SUM(orders.total)", m.Name)
	}
	r.text(line, "the expression", maxText, m.Expression)
	r.words(line, "the metric", m.Description, m.Synonyms, m.Roles, m.Unit, m.Format)
}

// name checks a name that something must have.
func (r reader) name(line Line, what, name string) {
	if strings.TrimSpace(name) == "" {
		r.fault(line, "%s has no name; give it one", what)
	}
	r.text(line, "the name", maxName, name)
}

// words checks what datasets, fields and metrics have in common.
func (r reader) words(line Line, what, description string, synonyms, roles []string, unit, format string) {
	r.text(line, "the description", maxText, description)
	r.text(line, "a synonym or role", maxName, slices.Concat(synonyms, roles)...)
	r.text(line, "the unit", maxName, unit)
	if len(synonyms) > maxSynonyms || len(roles) > maxSynonyms {
		r.fault(line, "%s has more than %d synonyms or roles; leave some out", what, maxSynonyms)
	}
	if slices.Contains(roles, "") {
		r.fault(line, "%s has an empty role; remove it", what)
	}
	if format != "" && !ValidFormat(format) {
		r.fault(line, "the format %.40q is not known; it must be a pattern such as 0, 0.00, 0.0%% or 0.00 kg", format)
	}
}

// text checks texts that are shown in one line.
func (r reader) text(line Line, what string, limit int, texts ...string) {
	for _, t := range texts {
		switch {
		case len(t) > limit:
			r.fault(line, "%s has %d bytes; at most %d are allowed", what, len(t), limit)
		case !utf8.ValidString(t) || strings.ContainsFunc(t, func(c rune) bool { return c != '\n' && isControl(c) }):
			r.fault(line, "%s has a control character; remove it", what)
		}
	}
}

// formats matches the supported patterns of numbers.
var formats = regexp.MustCompile(`^(#,##)?0(\.0{1,9})?%?$`)

// ValidFormat reports whether a pattern of numbers is supported: 0, 0.00, #,##0.00, and each with a percent sign, which
// multiplies by 100.
func ValidFormat(pattern string) bool { return formats.MatchString(pattern) }
