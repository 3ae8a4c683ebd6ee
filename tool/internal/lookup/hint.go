package lookup

import (
	"regexp"
	"strings"

	"github.com/footnotehq/footnote/internal/spelling"
	"github.com/footnotehq/footnote/source"
)

// Messages of the engines for a name that does not exist. The first group is the name.
var (
	noTable = []*regexp.Regexp{
		regexp.MustCompile(`(?i)no such (?:table|view): "?([^\s"]+)`),                            // SQLite
		regexp.MustCompile(`(?i)table with name "?([^\s"]+)"? does not exist`),                   // DuckDB
		regexp.MustCompile(`(?i)relation "([^"]+)" does not exist`),                              // Postgres
		regexp.MustCompile(`(?i)table '([^']+)' doesn't exist`),                                  // MySQL
		regexp.MustCompile("(?i)unknown table (?:expression )?(?:identifier )?[`'\"]?([\\w.]+)"), // ClickHouse
		regexp.MustCompile("(?i)(?:no|unknown) (?:such )?(?:table|relation|view)(?: named)? [`'\"]?([\\w.]+)"),
	}
	noColumn = []*regexp.Regexp{
		regexp.MustCompile(`(?i)no such column: "?([^\s"]+)`),                                          // SQLite
		regexp.MustCompile(`(?i)(?:referenced )?column "?([^\s"]+)"? not found`),                       // DuckDB
		regexp.MustCompile(`(?i)does not have a column named "?([^\s"]+)"?`),                           // DuckDB
		regexp.MustCompile(`(?i)column "?([^\s"]+)"? does not exist`),                                  // Postgres
		regexp.MustCompile(`(?i)unknown column '([^']+)'`),                                             // MySQL
		regexp.MustCompile("(?i)unknown (?:expression )?(?:or function )?identifier [`'\"]?([\\w.]+)"), // ClickHouse
	}
)

// maxListed limits the names listed in a hint.
const maxListed = 30

// hint returns help for a name that does not exist: the nearest names and the existing ones. It returns "" for
// other faults.
func hint(reason, sql string, s source.Schema) string {
	if len(reason) > maxText {
		reason = reason[:maxText]
	}
	if name := match(noTable, reason); name != "" {
		return tableHint(name, s)
	}
	if name := match(noColumn, reason); name != "" {
		return columnHint(name, sql, s)
	}
	return ""
}

func match(patterns []*regexp.Regexp, reason string) string {
	for _, p := range patterns {
		if m := p.FindStringSubmatch(reason); m != nil {
			return m[1]
		}
	}
	return ""
}

func tableHint(name string, s source.Schema) string {
	names := tableNames(s)
	last := name[strings.LastIndex(name, ".")+1:]
	if near := spelling.Nearest(last, names, 2); len(near) > 0 {
		return didYouMean(near)
	}
	return listTables(names)
}

func listTables(names []string) string {
	if len(names) == 0 {
		return "The source has no tables."
	}
	if len(names) > maxListed {
		return "Call list_tables to see the tables."
	}
	return "The tables are: " + strings.Join(clipAll(names), ", ") + "."
}

func didYouMean(names []string) string {
	return "Did you mean " + strings.Join(clipAll(names), " or ") + "?"
}

// columnHint considers the columns of the tables that the statement names.
func columnHint(name, sql string, s source.Schema) string {
	last := name[strings.LastIndex(name, ".")+1:]
	var names, columns []string
	sql = strings.ToLower(sql)
	for _, t := range s.Tables {
		if !strings.Contains(sql, strings.ToLower(t.Name)) {
			continue
		}
		for _, c := range t.Columns {
			names = append(names, t.Name+"."+c.Name)
			columns = append(columns, c.Name)
		}
	}
	// Nearest compares bare names; the hint also says which table has them.
	if near := spelling.Nearest(last, columns, 2); len(near) > 0 {
		var full []string
		for i, c := range columns {
			if (c == near[0] || (len(near) > 1 && c == near[1])) && len(full) < 4 {
				full = append(full, names[i])
			}
		}
		return didYouMean(full)
	}
	if len(names) == 0 || len(names) > maxListed {
		return "Call describe_table to see a table's columns."
	}
	return "The columns are: " + strings.Join(clipAll(names), ", ") + "."
}

func tableNames(s source.Schema) []string {
	names := make([]string, len(s.Tables))
	for i, t := range s.Tables {
		names[i] = t.FullName()
	}
	return names
}

func clipAll(names []string) []string {
	out := make([]string, len(names))
	for i, n := range names {
		out[i] = clip(n)
	}
	return out
}
