package dbt

import (
	"encoding/json"
	"slices"
	"strings"

	"github.com/footnotehq/footnote/knowledge"
)

type measure struct {
	Name        string          `json:"name"`
	Agg         string          `json:"agg"`
	Expr        string          `json:"expr"`
	NonAdditive json.RawMessage `json:"non_additive_dimension"`
}

// metric is a metric, by type: simple, ratio and others.
type metric struct {
	Name        string          `json:"name"`
	Label       string          `json:"label"`
	Description string          `json:"description"`
	Type        string          `json:"type"`
	Filter      json.RawMessage `json:"filter"`
	Parameters  struct {
		Measure     *input          `json:"measure"`
		Numerator   *input          `json:"numerator"`
		Denominator *input          `json:"denominator"`
		Aggregation json.RawMessage `json:"metric_aggregation_params"`
	} `json:"type_params"`
}

// input is a measure or metric that a metric uses. Older files have only its name.
type input struct {
	Name   string          `json:"name"`
	Filter json.RawMessage `json:"filter"`
	Fill   json.RawMessage `json:"fill_nulls_with"`
}

// UnmarshalJSON implements json.Unmarshaler.
func (i *input) UnmarshalJSON(data []byte) error {
	if len(data) > 0 && data[0] == '"' {
		return json.Unmarshal(data, &i.Name)
	}
	type plain input
	return json.Unmarshal(data, (*plain)(i))
}

// set reports whether a value is given.
func set(v json.RawMessage) bool { return len(v) > 0 && string(v) != "null" }

// aggregation is the SQL of a measure or simple metric, and the dataset that it reads.
type aggregation struct{ sql, dataset string }

// semanticModel takes the descriptions of dimensions, and notes the measures.
func (i *importer) semanticModel(s semanticModel) {
	at, ok := i.tables[tableKey(s.Relation.Schema, s.Relation.Alias)]
	if !ok {
		i.skip("semantic model %s: the table %s.%s is not taken", s.Name, s.Relation.Schema, s.Relation.Alias)
		return
	}
	d := &i.model.Datasets[at]
	if d.Description == "" {
		d.Description = i.text("semantic model "+s.Name, s.Description)
	}
	for _, x := range s.Dimensions {
		i.dimension(at, s.Name, x)
	}
	for _, m := range s.Measures {
		expr := m.Expr
		if expr == "" {
			expr = m.Name
		}
		if plain(expr) {
			expr = i.model.Datasets[at].Name + "." + expr
		}
		sql := aggregate(m.Agg, expr)
		switch {
		case set(m.NonAdditive):
			i.skip("measure %s: it cannot be added up over a dimension", m.Name)
		case sql == "":
			i.skip("measure %s: the aggregation %s is not supported", m.Name, m.Agg)
		default:
			i.measures[m.Name] = aggregation{sql, i.model.Datasets[at].Name}
		}
	}
}

func (i *importer) dimension(at int, model string, x dimension) {
	expr := x.Expr
	if expr == "" {
		expr = x.Name
	}
	if !plain(expr) {
		d := &i.model.Datasets[at]
		named := func(f knowledge.Field) bool { return strings.EqualFold(f.Name, x.Name) }
		taken := slices.ContainsFunc(d.Fields, named)
		sql, cut := knowledge.Cut(expr)
		if taken || cut {
			i.skip("dimension %s of %s: a column has its name, or it is too long", x.Name, model)
			return
		}
		d.Fields = append(d.Fields, knowledge.Field{
			Name: x.Name, Expression: sql, Label: x.Label, Description: i.text("dimension "+x.Name, x.Description),
		})
		return
	}
	f := i.field(at, expr)
	if f.Description == "" {
		f.Description = i.text("dimension "+x.Name, x.Description)
	}
	if f.Label == "" {
		f.Label = x.Label
	}
	if !strings.EqualFold(x.Name, expr) && !slices.Contains(f.Synonyms, x.Name) {
		f.Synonyms = append(f.Synonyms, strings.ReplaceAll(x.Name, "_", " "))
	}
}

// aggregate returns the SQL of an aggregation, or "" if it is not supported.
func aggregate(agg, expr string) string {
	switch strings.ToLower(agg) {
	case "sum", "min", "max", "count":
		return strings.ToUpper(agg) + "(" + expr + ")"
	case "average":
		return "AVG(" + expr + ")"
	case "count_distinct":
		return "COUNT(DISTINCT " + expr + ")"
	case "sum_boolean":
		return "SUM(CASE WHEN " + expr + " THEN 1 ELSE 0 END)"
	}
	return ""
}

// entities takes a foreign entity and the primary entity of the same name as a join.
func (i *importer) entities(models []semanticModel) {
	type end struct {
		dataset int
		column  string
	}
	primary := map[string]end{}
	each := func(f func(e entity, at int, column string)) {
		for _, s := range models {
			at, ok := i.tables[tableKey(s.Relation.Schema, s.Relation.Alias)]
			for _, e := range s.Entities {
				column := e.Expr
				if column == "" {
					column = e.Name
				}
				if ok {
					f(e, at, column)
				}
			}
		}
	}
	each(func(e entity, at int, column string) {
		if _, known := primary[e.Name]; !known && (e.Type == "primary" || e.Type == "unique") && plain(column) {
			primary[e.Name] = end{at, column}
		}
	})
	each(func(e entity, at int, column string) {
		to, ok := primary[e.Name]
		switch {
		case e.Type != "foreign":
		case !plain(column):
			i.skip("entity %s of %s: it is an expression", e.Name, i.model.Datasets[at].Name)
		case !ok:
			i.skip("entity %s of %s: no table has it as its primary entity", e.Name, i.model.Datasets[at].Name)
		case to.dataset != at:
			i.join(at, to.dataset, column, to.column)
		}
	})
}

// metrics takes simple and ratio metrics.
func (i *importer) metrics(all []metric) {
	slices.SortFunc(all, func(a, b metric) int { return strings.Compare(a.Name, b.Name) })
	simple := map[string]aggregation{}
	take := func(m metric, a aggregation) {
		if !strings.Contains(a.sql, a.dataset+".") { // such as SUM(1)
			m.Description = strings.TrimSpace(m.Description + " (over " + a.dataset + ")")
		}
		out := knowledge.Metric{Name: m.Name, Expression: a.sql, Description: i.text("metric "+m.Name, m.Description)}
		if m.Label != "" && !strings.EqualFold(m.Label, m.Name) {
			out.Synonyms = []string{m.Label}
		}
		i.model.Metrics = append(i.model.Metrics, out)
	}
	for _, m := range all {
		if m.Type != "simple" {
			continue
		}
		if a := i.simple(m); a.sql != "" {
			simple[m.Name] = a
			take(m, a)
		}
	}
	for _, m := range all {
		p, above, below := m.Parameters, aggregation{}, aggregation{}
		if p.Numerator != nil && p.Denominator != nil {
			above, below = simple[p.Numerator.Name], simple[p.Denominator.Name]
		}
		switch {
		case m.Type == "simple":
		case m.Type != "ratio" || p.Numerator == nil || p.Denominator == nil:
			i.skip("metric %s: %s metrics are not supported", m.Name, m.Type)
		case set(m.Filter) || set(p.Numerator.Filter) || set(p.Denominator.Filter):
			i.skip("metric %s: it has a filter", m.Name)
		case above.sql == "" || below.sql == "":
			i.skip("metric %s: a metric that it uses is not taken", m.Name)
		case above.dataset != below.dataset: // a join would count rows several times
			i.skip("metric %s: it divides figures of two tables, %s and %s", m.Name, above.dataset, below.dataset)
		default:
			take(m, aggregation{above.sql + " * 1.0 / NULLIF(" + below.sql + ", 0)", above.dataset})
		}
	}
}

// simple returns the aggregation of a simple metric, without SQL if it is not taken.
func (i *importer) simple(m metric) aggregation {
	measure := m.Parameters.Measure
	switch {
	case measure == nil:
		i.skip("metric %s: it names no measure", m.Name)
	case set(m.Filter) || set(measure.Filter):
		i.skip("metric %s: it has a filter", m.Name)
	case i.measures[measure.Name].sql == "":
		i.skip("metric %s: the measure %s is not taken", m.Name, measure.Name)
	default:
		return i.measures[measure.Name]
	}
	return aggregation{}
}
