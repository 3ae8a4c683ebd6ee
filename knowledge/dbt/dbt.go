// Package dbt reads what a dbt project says about its tables from the files that dbt writes into target: manifest.json
// and semantic_manifest.json. It takes descriptions, tests as facts, joins, and simple and ratio metrics, and lists
// everything that it does not take.
package dbt

import (
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"regexp"
	"slices"
	"strings"

	"github.com/footnotehq/footnote/knowledge"
)

// MaxBytes is the maximum size of a file.
const MaxBytes = 256 << 20

// manifest is the part of manifest.json that is read.
type manifest struct {
	Metadata struct {
		Version string `json:"dbt_schema_version"`
		Project string `json:"project_name"`
	} `json:"metadata"`
	Nodes     map[string]node            `json:"nodes"`
	Sources   map[string]node            `json:"sources"`
	Models    map[string]semanticModel   `json:"semantic_models"`
	Metrics   map[string]metric          `json:"metrics"`
	Macros    map[string]json.RawMessage `json:"macros"`
	Exposures map[string]json.RawMessage `json:"exposures"`
	Queries   map[string]json.RawMessage `json:"saved_queries"`
	UnitTests map[string]json.RawMessage `json:"unit_tests"`
}

// node is a model, a seed, a snapshot, a source or a test.
type node struct {
	Type        string            `json:"resource_type"`
	Name        string            `json:"name"`
	Alias       string            `json:"alias"`
	Identifier  string            `json:"identifier"` // of a source
	Schema      string            `json:"schema"`
	Description string            `json:"description"`
	Columns     map[string]column `json:"columns"`
	Config      struct {
		Materialized string `json:"materialized"`
		Enabled      *bool  `json:"enabled"`
		Severity     string `json:"severity"`
	} `json:"config"`
	// Of a test:
	Test *struct {
		Name      string          `json:"name"`
		Namespace string          `json:"namespace"`
		Arguments json.RawMessage `json:"kwargs"`
	} `json:"test_metadata"`
	Column   string `json:"column_name"`
	Attached string `json:"attached_node"`
	Depends  struct {
		Nodes []string `json:"nodes"`
	} `json:"depends_on"`
}

type column struct {
	Name        string `json:"name"`
	Description string `json:"description"`
}

// semantic is semantic_manifest.json.
type semantic struct {
	Models  []semanticModel `json:"semantic_models"`
	Metrics []metric        `json:"metrics"`
	Queries json.RawMessage `json:"saved_queries"`
}

type semanticModel struct {
	Name        string `json:"name"`
	Description string `json:"description"`
	Relation    struct {
		Alias  string `json:"alias"`
		Schema string `json:"schema_name"`
	} `json:"node_relation"`
	Entities   []entity    `json:"entities"`
	Measures   []measure   `json:"measures"`
	Dimensions []dimension `json:"dimensions"`
}

type entity struct {
	Name string `json:"name"`
	Type string `json:"type"` // primary, unique, natural or foreign
	Expr string `json:"expr"`
}

type dimension struct {
	Name        string `json:"name"`
	Label       string `json:"label"`
	Description string `json:"description"`
	Expr        string `json:"expr"`
}

// importer collects the model, and what is not taken.
type importer struct {
	model knowledge.Model
	left  []string
	// datasets maps the ids of nodes to the indexes of their datasets, and tables maps schema.table.
	datasets, tables map[string]int
	measures         map[string]aggregation // by the name of a measure
	named            map[string]bool        // names of datasets, in lower case
}

func (i *importer) skip(format string, args ...any) {
	i.left = append(i.left, fmt.Sprintf(format, args...))
}

// Import reads the files; the second may be empty, as newer manifests have its content, too. It returns the model and a
// line for each thing that it did not take.
func Import(manifestJSON, semanticJSON []byte) (m knowledge.Model, left []string, err error) {
	var file manifest
	if err := json.Unmarshal(manifestJSON, &file); err != nil {
		return m, nil, fmt.Errorf("read the manifest: %w", err)
	}
	if !strings.Contains(file.Metadata.Version, "/manifest/") {
		return m, nil, errors.New("the file is no manifest.json of dbt: metadata.dbt_schema_version is missing")
	}
	words := semantic{
		Models:  slices.Collect(maps.Values(file.Models)),
		Metrics: slices.Collect(maps.Values(file.Metrics)),
	}
	if len(semanticJSON) > 0 {
		words = semantic{}
		if err := json.Unmarshal(semanticJSON, &words); err != nil {
			return m, nil, fmt.Errorf("read the semantic manifest: %w", err)
		}
	}
	i := &importer{
		model: knowledge.Model{Name: file.Metadata.Project}, datasets: map[string]int{}, tables: map[string]int{},
		measures: map[string]aggregation{}, named: map[string]bool{},
	}
	i.relations(file)
	i.tests(file)
	slices.SortFunc(words.Models, func(a, b semanticModel) int { return strings.Compare(a.Name, b.Name) })
	for _, s := range words.Models {
		i.semanticModel(s)
	}
	i.entities(words.Models)
	i.metrics(words.Metrics)
	for what, n := range map[string]int{
		"macros": len(file.Macros), "exposures": len(file.Exposures), "saved queries": len(file.Queries),
		"unit tests": len(file.UnitTests),
	} {
		if n > 0 {
			i.skip("%d %s: they say nothing about tables", n, what)
		}
	}
	slices.Sort(i.left)
	return i.model, i.left, nil
}

// relations takes the models, seeds, snapshots and sources that are tables or views.
func (i *importer) relations(file manifest) {
	all := maps.Clone(file.Sources)
	if all == nil {
		all = map[string]node{}
	}
	for id, n := range file.Nodes {
		switch n.Type {
		case "model", "seed", "snapshot":
			all[id] = n
		case "test":
		default:
			i.skip("%s %s: it is no table", n.Type, n.Name)
		}
	}
	for _, id := range slices.Sorted(maps.Keys(all)) {
		n := all[id]
		switch {
		case n.Config.Materialized == "ephemeral":
			i.skip("%s %s: it is ephemeral, so there is no table", n.Type, n.Name)
			continue
		case n.Config.Enabled != nil && !*n.Config.Enabled:
			i.skip("%s %s: it is disabled", n.Type, n.Name)
			continue
		}
		i.relation(id, n)
	}
}

func (i *importer) relation(id string, n node) {
	table := n.Name
	for _, other := range []string{n.Alias, n.Identifier} {
		if other != "" {
			table = other
		}
	}
	d := knowledge.Dataset{Name: i.unused(n.Name, n.Schema), Path: []string{n.Schema, table}}
	if n.Schema == "" {
		d.Path = d.Path[1:]
	}
	d.Description = i.text(n.Type+" "+n.Name, n.Description)
	for _, name := range slices.Sorted(maps.Keys(n.Columns)) {
		c := n.Columns[name]
		if c.Name == "" {
			c.Name = name
		}
		d.Fields = append(d.Fields, knowledge.Field{
			Name: c.Name, Column: c.Name, Description: i.text(n.Name+"."+c.Name, c.Description),
		})
	}
	i.datasets[id] = len(i.model.Datasets)
	i.tables[tableKey(n.Schema, table)] = len(i.model.Datasets)
	i.model.Datasets = append(i.model.Datasets, d)
}

func tableKey(schema, table string) string { return strings.ToLower(schema + "\x00" + table) }

// unused returns a name for a dataset: two sources may have a table of one name.
func (i *importer) unused(name, schema string) string {
	if i.named[strings.ToLower(name)] {
		name = schema + "_" + name
	}
	for base, k := name, 2; i.named[strings.ToLower(name)]; k++ {
		name = fmt.Sprintf("%s_%d", base, k)
	}
	i.named[strings.ToLower(name)] = true
	return name
}

// text returns a description of the length that a model may have.
func (i *importer) text(of, text string) string {
	short, cut := knowledge.Cut(text)
	if cut {
		i.skip("the end of the description of %s: it is too long", of)
	}
	return short
}

// field returns the field of a column, and adds it if there is none.
func (i *importer) field(dataset int, column string) *knowledge.Field {
	d := &i.model.Datasets[dataset]
	for k := range d.Fields {
		if strings.EqualFold(d.Fields[k].Name, column) {
			return &d.Fields[k]
		}
	}
	d.Fields = append(d.Fields, knowledge.Field{Name: column, Column: column})
	return &d.Fields[len(d.Fields)-1]
}

// arguments are those of the tests that are taken.
type arguments struct {
	Column string   `json:"column_name"`
	Values []any    `json:"values"`
	To     string   `json:"to"`
	Field  string   `json:"field"`
	Where  string   `json:"where"`
	Names  []string `json:"combination_of_columns"`
}

// tests takes tests as facts about columns.
func (i *importer) tests(file manifest) {
	unique, filled := map[int][]string{}, map[int][]string{}
	for _, id := range slices.Sorted(maps.Keys(file.Nodes)) {
		n := file.Nodes[id]
		if n.Type != "test" {
			continue
		}
		if n.Test == nil {
			i.skip("test %s: it is a statement of its own", n.Name)
			continue
		}
		at, a, ok := i.arguments(n)
		switch name := n.Test.Name; {
		case !ok: // listed already
		case name == "unique" && plain(a.Column):
			unique[at] = append(unique[at], a.Column)
		case name == "not_null" && plain(a.Column):
			filled[at] = append(filled[at], a.Column)
		case name == "accepted_values" && plain(a.Column) && len(a.Values) > 0:
			i.values(at, a)
		case name == "relationships" && plain(a.Column) && plain(a.Field):
			i.reference(n, at, a, file)
		case name == "unique_combination_of_columns" && len(a.Names) > 0 && len(i.model.Datasets[at].PrimaryKey) == 0:
			i.model.Datasets[at].PrimaryKey = a.Names
		default:
			i.skip("test %s: tests of the kind %s are not supported", n.Name, name)
		}
	}
	i.keys(unique, filled)
}

// arguments returns the dataset that a test is about, and its arguments. It lists a test that cannot be taken.
func (i *importer) arguments(n node) (at int, a arguments, ok bool) {
	err := json.Unmarshal(n.Test.Arguments, &a)
	if a.Column == "" {
		a.Column = n.Column
	}
	at, ok = i.attached(n)
	switch {
	case !ok:
		i.skip("test %s: its table is not taken", n.Name)
	case err != nil:
		i.skip("test %s: its arguments cannot be read", n.Name)
	case a.Where != "":
		i.skip("test %s: it holds for some rows only", n.Name)
	default:
		return at, a, true
	}
	return 0, a, false
}

// attached returns the dataset that a test is about.
func (i *importer) attached(n node) (int, bool) {
	id := n.Attached
	if id == "" && len(n.Depends.Nodes) > 0 { // older manifests name the table last
		id = n.Depends.Nodes[len(n.Depends.Nodes)-1]
	}
	at, ok := i.datasets[id]
	return at, ok
}

// plain reports whether a text is the name of a column, and no expression.
func plain(s string) bool { return columnName.MatchString(s) }

var columnName = regexp.MustCompile(`^[\pL_][\pL\p{Nd}_$]*$`)

// keys writes down which columns are never empty and which are unique. A column that is both is the primary key.
func (i *importer) keys(unique, filled map[int][]string) {
	for at, columns := range filled {
		for _, c := range columns {
			isKey := slices.ContainsFunc(unique[at], func(u string) bool { return strings.EqualFold(u, c) })
			if d := &i.model.Datasets[at]; isKey && len(d.PrimaryKey) == 0 {
				d.PrimaryKey = []string{c}
			}
			i.fact(at, c, "Never empty.")
		}
	}
	for at, columns := range unique {
		for _, c := range columns {
			i.fact(at, c, "Unique.")
		}
	}
}

func (i *importer) fact(at int, column, fact string) {
	f := i.field(at, column)
	words := strings.TrimSpace(f.Description)
	if words != "" && !strings.ContainsAny(words[len(words)-1:], ".!?") {
		words += "."
	}
	f.Description, _ = knowledge.Cut(words + " " + fact)
}

// maxValues is the number of accepted values that are taken.
const maxValues = 30

func (i *importer) values(at int, a arguments) {
	var list []string
	for _, v := range a.Values[:min(len(a.Values), maxValues)] {
		list = append(list, fmt.Sprint(v))
	}
	fact := "One of: " + strings.Join(list, ", ")
	if len(a.Values) > maxValues {
		fact += " and others"
	}
	i.fact(at, a.Column, fact+".")
}

var (
	refName    = regexp.MustCompile(`ref\(\s*(?:['"][^'"]+['"]\s*,\s*)?['"]([^'"]+)['"]\s*\)`)
	sourceName = regexp.MustCompile(`source\(\s*['"][^'"]+['"]\s*,\s*['"]([^'"]+)['"]\s*\)`)
)

// reference takes a test of relationships as a join.
func (i *importer) reference(n node, from int, a arguments, file manifest) {
	name := ""
	for _, pattern := range []*regexp.Regexp{refName, sourceName} {
		if m := pattern.FindStringSubmatch(a.To); m != nil {
			name = m[1]
		}
	}
	for _, id := range n.Depends.Nodes {
		to, ok := i.datasets[id]
		target := file.Nodes[id]
		if target.Name == "" {
			target = file.Sources[id]
		}
		if ok && target.Name == name {
			i.join(from, to, a.Column, a.Field)
			return
		}
	}
	i.skip("test %s: the table that it refers to is not taken", n.Name)
}

// join adds a join unless there is one of these columns.
func (i *importer) join(from, to int, column, field string) {
	a, b := i.model.Datasets[from].Name, i.model.Datasets[to].Name
	same := func(j knowledge.Join) bool {
		return j.From == a && j.To == b && strings.EqualFold(j.FromColumns[0], column)
	}
	if slices.ContainsFunc(i.model.Joins, same) {
		return
	}
	i.model.Joins = append(i.model.Joins, knowledge.Join{
		Name: a + "_" + column, From: a, To: b, FromColumns: []string{column}, ToColumns: []string{field},
	})
}
