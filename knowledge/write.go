package knowledge

import (
	"bytes"
	"regexp"
	"strings"

	"gopkg.in/yaml.v3"
)

// The following types are model.yaml as Write writes it.

type writtenModel struct {
	Version     string           `yaml:"version"`
	Name        string           `yaml:"name"`
	Description string           `yaml:"description,omitempty"`
	AI          string           `yaml:"ai_context,omitempty"`
	Datasets    []writtenDataset `yaml:"datasets,omitempty"`
	Joins       []writtenJoin    `yaml:"relationships,omitempty"`
	Metrics     []writtenMetric  `yaml:"metrics,omitempty"`
}

type writtenDataset struct {
	Name        string         `yaml:"name"`
	Source      string         `yaml:"source"`
	Description string         `yaml:"description,omitempty"`
	Synonyms    []string       `yaml:"synonyms,omitempty,flow"`
	Hidden      bool           `yaml:"hidden,omitempty"`
	Roles       []string       `yaml:"roles,omitempty,flow"`
	PrimaryKey  []string       `yaml:"primary_key,omitempty,flow"`
	Fields      []writtenField `yaml:"fields,omitempty"`
}

type writtenField struct {
	Name        string   `yaml:"name"`
	Expression  string   `yaml:"expression,omitempty"`
	Label       string   `yaml:"label,omitempty"`
	Description string   `yaml:"description,omitempty"`
	Synonyms    []string `yaml:"synonyms,omitempty,flow"`
	Unit        string   `yaml:"unit,omitempty"`
	Format      string   `yaml:"format,omitempty"`
	Hidden      bool     `yaml:"hidden,omitempty"`
	Roles       []string `yaml:"roles,omitempty,flow"`
}

type writtenJoin struct {
	Name        string   `yaml:"name"`
	From        string   `yaml:"from"`
	To          string   `yaml:"to"`
	FromColumns []string `yaml:"from_columns,flow"`
	ToColumns   []string `yaml:"to_columns,flow"`
	Description string   `yaml:"description,omitempty"`
}

type writtenMetric struct {
	Name        string   `yaml:"name"`
	Expression  string   `yaml:"expression"`
	Description string   `yaml:"description,omitempty"`
	Synonyms    []string `yaml:"synonyms,omitempty,flow"`
	Unit        string   `yaml:"unit,omitempty"`
	Format      string   `yaml:"format,omitempty"`
	Roles       []string `yaml:"roles,omitempty,flow"`
}

// version is that of the draft of Ossie that Write follows.
const version = "0.2.0.dev0"

// Write returns the text of a model.yaml that has the model. Reading it gives the model again, or names its faults.
func Write(m Model) ([]byte, error) {
	out := writtenModel{Version: version, Name: first(m.Name, "model"), Description: m.Description, AI: m.Instructions}
	for _, d := range m.Datasets {
		w := writtenDataset{
			Name: d.Name, Source: joinPath(d.Path), Description: d.Description, Synonyms: d.Synonyms, Hidden: d.Hidden,
			Roles: d.Roles, PrimaryKey: d.PrimaryKey,
		}
		for _, f := range d.Fields {
			w.Fields = append(w.Fields, writeField(f))
		}
		out.Datasets = append(out.Datasets, w)
	}
	for _, j := range m.Joins {
		out.Joins = append(out.Joins, writtenJoin{j.Name, j.From, j.To, j.FromColumns, j.ToColumns, j.Description})
	}
	for _, x := range m.Metrics {
		out.Metrics = append(out.Metrics, writtenMetric{
			x.Name, x.Expression, x.Description, x.Synonyms, x.Unit, x.Format, x.Roles,
		})
	}
	var b bytes.Buffer
	enc := yaml.NewEncoder(&b)
	enc.SetIndent(2)
	err := enc.Encode(out)
	return b.Bytes(), err
}

func writeField(f Field) writtenField {
	w := writtenField{
		Name: f.Name, Expression: f.Expression, Label: f.Label, Description: f.Description, Synonyms: f.Synonyms,
		Unit: f.Unit, Format: f.Format, Hidden: f.Hidden, Roles: f.Roles,
	}
	switch {
	case f.Column == "" || f.Column == f.Name:
	case plainName.MatchString(f.Column):
		w.Expression = f.Column
	default:
		w.Expression = `"` + f.Column + `"`
	}
	return w
}

var plainName = regexp.MustCompile(`^[\pL_][\pL\p{Nd}_$]*$`)

// joinPath is the inverse of splitPath.
func joinPath(path []string) string {
	parts := make([]string, len(path))
	for i, p := range path {
		if parts[i] = p; strings.ContainsAny(p, `. ()`) {
			parts[i] = `"` + strings.ReplaceAll(p, `"`, "") + `"`
		}
	}
	return strings.Join(parts, ".")
}

// Cut shortens a text to what a model may have, at the end of a word.
func Cut(text string) (short string, cut bool) {
	text = oneLine(text)
	if len(text) <= maxText {
		return text, false
	}
	text = strings.ToValidUTF8(text[:maxText-len(" …")], "")
	if i := strings.LastIndexByte(text, ' '); i > 0 {
		text = text[:i]
	}
	return text + " …", true
}
