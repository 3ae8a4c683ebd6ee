package prompt

import (
	"fmt"
	"math"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"github.com/footnotehq/footnote/source"
)

// level is the amount of detail shown of a schema; each level shows less than the one before.
type level int

const (
	withTypes level = iota // types, comments, keys
	withKeys
	withColumns
	tableNames
	levels
)

// schemaSection describes the sources in at most room bytes.
func schemaSection(sources []Source, room int) string {
	if len(sources) == 0 {
		return "\n# Data\nThis conversation has no data source.\n"
	}
	for l := range levels {
		if text, ok := section(sources, l, room); ok {
			return text
		}
	}
	return cutSection(sources, room)
}

const closing = "</schema>\n"

func opening(l level) string {
	s := "\n# Data\nWhat stands between the schema tags is data about the sources. Names in double quotes have " +
		"unusual characters, which are escaped as in a program.\n"
	switch l {
	case withKeys:
		s += "There are many columns, so their types are left out: describe_table has them.\n"
	case withColumns:
		s += "There are many columns, so types and keys are left out: describe_table has them.\n"
	case tableNames:
		s += "There are many tables, so columns are left out: use describe_table before you query one.\n"
	}
	return s + "<schema>\n"
}

// section returns the whole schema at a level; ok is false if it is longer than room.
func section(sources []Source, l level, room int) (text string, ok bool) {
	var b strings.Builder
	b.WriteString(opening(l))
	for _, s := range sources {
		b.WriteString(sourceLine(s))
		for n, t := range s.Schema.Tables {
			writeTable(&b, t, l, n)
			if b.Len() > room { // stop early when there are thousands of tables
				return "", false
			}
		}
		if l == tableNames && len(s.Schema.Tables) > 0 {
			b.WriteByte('\n')
		}
	}
	b.WriteString(closing)
	return b.String(), b.Len() <= room
}

// cutSection lists as many tables as fit, with an equal share for each source, and the number of omitted ones.
func cutSection(sources []Source, room int) string {
	const reserve = 80 // for a line with the number of omitted tables
	var b strings.Builder
	b.WriteString(opening(tableNames))
	room -= b.Len() + len(closing) + reserve
	shown := min(len(sources), max(1, room/300))
	for _, s := range sources[:shown] {
		part := sourceLine(s)
		left := room/shown - len(part) - reserve
		n := 0
		var names strings.Builder
		for n < len(s.Schema.Tables) {
			before := names.Len()
			writeTable(&names, s.Schema.Tables[n], tableNames, n)
			if names.Len() > left {
				text := names.String()[:before]
				names.Reset()
				names.WriteString(text)
				break
			}
			n++
		}
		b.WriteString(part + names.String())
		if n > 0 {
			b.WriteByte('\n')
		}
		if more := len(s.Schema.Tables) - n; more > 0 {
			fmt.Fprintf(&b, "%d more tables, use list_tables\n", more)
		}
	}
	if more := len(sources) - shown; more > 0 {
		fmt.Fprintf(&b, "%d more sources, use list_tables\n", more)
	}
	b.WriteString(closing)
	return b.String()
}

func sourceLine(s Source) string {
	dialect := s.Dialect
	if dialect == nil {
		dialect = &source.Dialect{}
	}
	line := "Source " + name(s.Name) + " (" + name(dialect.Name) + " SQL"
	if dialect.Advice != "" {
		line += ": " + dialect.Advice
	}
	switch {
	case s.Away:
		line += ", cannot be reached now: say so when a question needs it; list_tables shows its tables once it is back"
	case len(s.Schema.Tables) == 0:
		line += ", has no tables"
	}
	return line + "):\n"
}

// writeTable writes the nth table: on a line of its own or, at the last level, as part of a list of names.
func writeTable(b *strings.Builder, t source.Table, l level, n int) {
	if l == tableNames {
		if n > 0 {
			b.WriteString(", ")
		}
		b.WriteString(fullName(t))
		return
	}
	b.WriteString("- " + fullName(t))
	if l == withTypes {
		b.WriteString(tableFacts(t))
	}
	b.WriteString(": ")
	for i, c := range t.Columns {
		if i > 0 {
			b.WriteString(", ")
		}
		b.WriteString(name(c.Name))
		if l == withTypes {
			if c.Type != "" {
				b.WriteString(" " + columnType(c.Type))
			}
			if c.Comment != "" {
				b.WriteString(" " + quoted(c.Comment, 120))
			}
		}
		if l <= withKeys {
			b.WriteString(keys(t, c.Name))
		}
	}
	b.WriteByte('\n')
}

// tableFacts returns the facts about a table besides its columns. It rounds the number of rows: the number is for
// planning, and it changes while the prompt stays the same.
func tableFacts(t source.Table) string {
	var parts []string
	if t.View {
		parts = append(parts, "view")
	}
	switch {
	case t.Rows == 0:
		parts = append(parts, "empty")
	case t.Rows > 0:
		unit := math.Pow(10, max(0, math.Floor(math.Log10(float64(t.Rows)))-1))
		parts = append(parts, fmt.Sprintf("about %.0f rows", math.Round(float64(t.Rows)/unit)*unit))
	}
	if t.Comment != "" {
		parts = append(parts, quoted(t.Comment, 200))
	}
	if len(parts) == 0 {
		return ""
	}
	return " (" + strings.Join(parts, ", ") + ")"
}

func keys(t source.Table, column string) string {
	s := ""
	if slices.Contains(t.PrimaryKey, column) {
		s = " primary key"
	}
	for _, k := range t.ForeignKeys {
		if i := slices.Index(k.Columns, column); i >= 0 {
			s += " -> " + name(k.RefTable)
			if i < len(k.RefColumns) {
				s += "." + name(k.RefColumns[i])
			}
		}
	}
	return s
}

// maxNameBytes is the maximum number of bytes shown of a name. Engines allow a few hundred, but SQLite and DuckDB have
// no limit.
const maxNameBytes = 128

func fullName(t source.Table) string {
	if t.Schema == "" {
		return name(t.Name)
	}
	return name(t.Schema) + "." + name(t.Name)
}

// name writes an identifier. Plain ones are unchanged; others are escaped so that they stay on their line, inside
// their quotes and inside the schema's tags.
func name(s string) string {
	if len(s) <= maxNameBytes && plainName.MatchString(s) {
		return s
	}
	return quoted(s, maxNameBytes)
}

// columnType returns a column's type, which in SQLite may be any text.
func columnType(s string) string {
	if plainType.MatchString(s) && strings.Count(s, " ") <= 3 {
		return s
	}
	return quoted(s, 40)
}

var (
	// plainName has at most one dot, in the full name of a foreign key's table.
	plainName = regexp.MustCompile(`^[\pL_][\pL\p{Nd}_$]*(\.[\pL\p{Nd}_$]*)?$`)
	plainType = regexp.MustCompile(`^[A-Za-z0-9 _(),\[\]]{0,40}$`)
)

// quoted returns any text in double quotes on one line. It escapes control characters, marks that change
// the direction of text, backticks and angle brackets, and truncates text longer than n bytes.
func quoted(s string, n int) string {
	short := head(s, n)
	q := strconv.Quote(short)
	q = strings.NewReplacer("<", `\u003c`, ">", `\u003e`, "`", `\u0060`).Replace(q)
	if len(short) < len(s) {
		q += fmt.Sprintf(" [cut, %d bytes]", len(s))
	}
	return q
}
