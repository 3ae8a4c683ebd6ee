package knowledge

import (
	"encoding/json"
	"regexp"
	"slices"
	"strings"
)

// Model describes tables and columns, how tables are joined, and metrics. Parts of it may be for some roles only.
type Model struct {
	Name         string
	Description  string
	Instructions string // how to use the model
	Datasets     []Dataset
	Joins        []Join
	Metrics      []Metric
}

// Dataset describes a table or view.
type Dataset struct {
	Name        string // as joins and metrics call it
	Path        []string
	Description string
	Synonyms    []string
	Hidden      bool // nobody may read it
	Roles       []string
	PrimaryKey  []string
	Fields      []Field
	Line        int // of model.yaml
}

// Field describes a column, or an expression over the columns of its dataset.
type Field struct {
	Name        string
	Column      string // of the table; empty for an expression
	Expression  string // in SQL, if it is not a column
	Label       string
	Description string
	Synonyms    []string
	Unit        string // such as EUR, kg or %
	Format      string // such as 0.00; see docs/context.md
	Hidden      bool   // nobody may read it
	Roles       []string
	Line        int
}

// Join says which columns of one dataset refer to which of another.
type Join struct {
	Name     string
	From, To string // datasets
	// FromColumns refer to ToColumns, in order.
	FromColumns, ToColumns []string
	Description            string
	Line                   int
}

// Metric is a number that the company defines, such as revenue.
type Metric struct {
	Name        string
	Expression  string // an aggregate in SQL, over columns as dataset.column
	Description string
	Synonyms    []string
	Unit        string
	Format      string
	Roles       []string
	Line        int
}

// The following types are model.yaml as it is written: a subset of the drafts of Apache Ossie, with keys of our own.

type modelFile struct {
	Version  string      `yaml:"version"`
	Dialects []string    `yaml:"dialects"`
	Vendors  []string    `yaml:"vendors"`
	Models   []modelYAML `yaml:"semantic_model"`
	Top      modelYAML   `yaml:",inline"` // the later drafts have one model, at the top
}

type modelYAML struct {
	Name        string             `yaml:"name"`
	Description string             `yaml:"description"`
	AI          aiContext          `yaml:"ai_context"`
	Datasets    []datasetYAML      `yaml:"datasets"`
	Joins       []relationshipYAML `yaml:"relationships"`
	Metrics     []metricYAML       `yaml:"metrics"`
	Extensions  []extension        `yaml:"custom_extensions"`
	Line        Line
}

type datasetYAML struct {
	Name        string      `yaml:"name"`
	Source      string      `yaml:"source"`
	PrimaryKey  []string    `yaml:"primary_key"`
	UniqueKeys  [][]string  `yaml:"unique_keys"`
	Description string      `yaml:"description"`
	AI          aiContext   `yaml:"ai_context"`
	Fields      []fieldYAML `yaml:"fields"`
	Extensions  []extension `yaml:"custom_extensions"`
	Synonyms    []string    `yaml:"synonyms"`
	Hidden      bool        `yaml:"hidden"`
	Roles       []string    `yaml:"roles"`
	Line        Line
}

type fieldYAML struct {
	Name        string      `yaml:"name"`
	Expression  expression  `yaml:"expression"`
	Dimension   dimension   `yaml:"dimension"`
	Label       string      `yaml:"label"`
	Description string      `yaml:"description"`
	DataType    string      `yaml:"datatype"`
	AI          aiContext   `yaml:"ai_context"`
	Extensions  []extension `yaml:"custom_extensions"`
	Synonyms    []string    `yaml:"synonyms"`
	Unit        string      `yaml:"unit"`
	Format      string      `yaml:"format"`
	Hidden      bool        `yaml:"hidden"`
	Roles       []string    `yaml:"roles"`
	Line        Line
}

type dimension struct {
	IsTime bool `yaml:"is_time"`
}

type relationshipYAML struct {
	Name        string      `yaml:"name"`
	From        string      `yaml:"from"`
	To          string      `yaml:"to"`
	FromColumns []string    `yaml:"from_columns"`
	ToColumns   []string    `yaml:"to_columns"`
	Description string      `yaml:"description"`
	AI          aiContext   `yaml:"ai_context"`
	Extensions  []extension `yaml:"custom_extensions"`
	Line        Line
}

type metricYAML struct {
	Name        string      `yaml:"name"`
	Expression  expression  `yaml:"expression"`
	Description string      `yaml:"description"`
	DataType    string      `yaml:"datatype"`
	AI          aiContext   `yaml:"ai_context"`
	Extensions  []extension `yaml:"custom_extensions"`
	Synonyms    []string    `yaml:"synonyms"`
	Unit        string      `yaml:"unit"`
	Format      string      `yaml:"format"`
	Roles       []string    `yaml:"roles"`
	Line        Line
}

// aiContext is a text, or a mapping.
type aiContext struct {
	Instructions string   `yaml:"instructions"`
	Synonyms     []string `yaml:"synonyms"`
	Examples     []string `yaml:"examples"`
}

func (a *aiContext) fromScalar(text string) { a.Instructions = text }

// expression is SQL, or the same SQL in several dialects.
type expression struct {
	Dialects []dialectExpression `yaml:"dialects"`
	text     string
}

type dialectExpression struct {
	Dialect    string `yaml:"dialect"`
	Expression string `yaml:"expression"`
	Line       Line
}

func (e *expression) fromScalar(text string) { e.text = text }

// standard names standard SQL among the dialects. Without it, the first dialect counts.
var standard = []string{"ANSI_SQL", "OSSIE_SQL_2026"}

// sql returns the expression in standard SQL, or else in its first dialect.
func (e expression) sql() string {
	if e.text != "" || len(e.Dialects) == 0 {
		return strings.TrimSpace(e.text)
	}
	for _, d := range e.Dialects {
		if slices.Contains(standard, d.Dialect) {
			return strings.TrimSpace(d.Expression)
		}
	}
	return strings.TrimSpace(e.Dialects[0].Expression)
}

// extension holds keys of one program as JSON. Those of Footnote are the keys of its own; others are passed over.
type extension struct {
	Vendor string `yaml:"vendor_name"`
	Data   string `yaml:"data"`
	Line   Line
}

// own are Footnote's keys of an extension.
type own struct {
	Synonyms []string `json:"synonyms"`
	Unit     string   `json:"unit"`
	Format   string   `json:"format"`
	Hidden   bool     `json:"hidden"`
	Roles    []string `json:"roles"`
}

// vendor is the name of Footnote's own extensions.
const vendor = "FOOTNOTE"

// reader turns the file into a Model, and collects faults.
type reader struct{ faults *Faults }

func (r reader) fault(line Line, format string, args ...any) {
	r.faults.add(ModelFile, int(line), format, args...)
}

// readModel reads model.yaml.
func readModel(data []byte, faults *Faults) Model {
	var file modelFile
	before := len(*faults)
	decodeYAML(ModelFile, data, &file, faults)
	if len(*faults) > before {
		return Model{}
	}
	r := reader{faults}
	models := file.Models
	if top := file.Top; top.Name != "" || len(top.Datasets) > 0 || len(top.Metrics) > 0 || len(top.Joins) > 0 {
		if len(models) > 0 {
			r.fault(top.Line, "the file has both semantic_model and a model at the top; keep one of them")
			return Model{}
		}
		models = []modelYAML{top}
	}
	var m Model
	for _, part := range models {
		r.merge(&m, part)
	}
	r.check(m)
	return m
}

// merge adds one of the models of a file.
func (r reader) merge(m *Model, part modelYAML) {
	join := func(a, b string) string { return strings.TrimSpace(a + "\n" + b) }
	if m.Name == "" {
		m.Name = part.Name
	}
	m.Description = join(m.Description, part.Description)
	m.Instructions = join(m.Instructions, part.AI.Instructions)
	for _, d := range part.Datasets {
		m.Datasets = append(m.Datasets, r.dataset(d))
	}
	for _, j := range part.Joins {
		m.Joins = append(m.Joins, Join{
			Name: j.Name, From: j.From, To: j.To, FromColumns: j.FromColumns, ToColumns: j.ToColumns,
			Description: oneLine(j.Description, j.AI.Instructions), Line: int(j.Line),
		})
	}
	for _, y := range part.Metrics {
		o := r.own(y.Extensions)
		m.Metrics = append(m.Metrics, Metric{
			Name: y.Name, Expression: y.Expression.sql(), Description: oneLine(y.Description, y.AI.Instructions),
			Synonyms: slices.Concat(y.Synonyms, y.AI.Synonyms, o.Synonyms), Unit: first(y.Unit, o.Unit),
			Format: first(y.Format, o.Format), Roles: slices.Concat(y.Roles, o.Roles), Line: int(y.Line),
		})
	}
}

func (r reader) dataset(y datasetYAML) Dataset {
	o := r.own(y.Extensions)
	d := Dataset{
		Name: y.Name, Path: splitPath(first(y.Source, y.Name)),
		Description: oneLine(y.Description, y.AI.Instructions),
		Synonyms:    slices.Concat(y.Synonyms, y.AI.Synonyms, o.Synonyms), Hidden: y.Hidden || o.Hidden,
		Roles: slices.Concat(y.Roles, o.Roles), PrimaryKey: y.PrimaryKey, Line: int(y.Line),
	}
	for _, f := range y.Fields {
		d.Fields = append(d.Fields, r.field(f))
	}
	return d
}

func (r reader) field(y fieldYAML) Field {
	o := r.own(y.Extensions)
	f := Field{
		Name: y.Name, Label: y.Label, Description: oneLine(y.Description, y.AI.Instructions),
		Synonyms: slices.Concat(y.Synonyms, y.AI.Synonyms, o.Synonyms), Unit: first(y.Unit, o.Unit),
		Format: first(y.Format, o.Format), Hidden: y.Hidden || o.Hidden, Roles: slices.Concat(y.Roles, o.Roles),
		Line: int(y.Line),
	}
	switch sql := first(y.Expression.sql(), y.Name); {
	case sql == y.Name:
		f.Column = y.Name
	case plainColumn.MatchString(sql):
		f.Column = strings.Trim(sql, `"`)
	default:
		f.Expression = sql
	}
	return f
}

// plainColumn matches an expression that is a column and nothing else.
var plainColumn = regexp.MustCompile(`^([\pL_][\pL\p{Nd}_$]*|"[^"]+")$`)

// own returns Footnote's keys of some extensions.
func (r reader) own(all []extension) (o own) {
	for _, e := range all {
		if !strings.EqualFold(e.Vendor, vendor) {
			continue
		}
		dec := json.NewDecoder(strings.NewReader(e.Data))
		dec.DisallowUnknownFields()
		if err := dec.Decode(&o); err != nil {
			r.fault(e.Line, "the data of the extension %s must be JSON with the keys synonyms, unit, format, hidden "+
				"and roles: %v", vendor, err)
		}
	}
	return o
}

// first returns the first text that is not empty.
func first(texts ...string) string {
	for _, t := range texts {
		if t != "" {
			return t
		}
	}
	return ""
}

// oneLine joins texts to one line.
func oneLine(texts ...string) string {
	return strings.Join(strings.Fields(strings.Join(texts, " ")), " ")
}

// splitPath splits the name of a table at its dots, except at those in double quotes.
func splitPath(path string) []string {
	var parts []string
	var part strings.Builder
	quoted := false
	for _, c := range path {
		switch {
		case c == '"':
			quoted = !quoted
		case c == '.' && !quoted:
			parts = append(parts, part.String())
			part.Reset()
		default:
			part.WriteRune(c)
		}
	}
	return append(parts, part.String())
}
