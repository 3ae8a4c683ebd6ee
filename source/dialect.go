package source

import "strings"

// Dialect describes the SQL of an engine. Whatever writes statements takes the differences between engines from here.
// A field left empty means standard SQL, as its comment says.
type Dialect struct {
	// Name is shown to people and models: "sqlite", "duckdb", "postgres".
	Name string
	// Rules tell a model what it must know to write this SQL, in a sentence of the system prompt.
	Rules string
	// QuoteName quotes one identifier. Nil means double quotes.
	QuoteName func(name string) string
}

// Quote quotes one identifier. Pass it only names from a source's catalog, never names from an input.
func (d *Dialect) Quote(name string) string {
	if d.QuoteName != nil {
		return d.QuoteName(name)
	}
	return `"` + strings.ReplaceAll(name, `"`, `""`) + `"`
}

// Table quotes a table's full name.
func (d *Dialect) Table(t Table) string {
	if t.Schema == "" {
		return d.Quote(t.Name)
	}
	return d.Quote(t.Schema) + "." + d.Quote(t.Name)
}
