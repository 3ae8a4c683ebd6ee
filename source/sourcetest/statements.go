package sourcetest

import (
	"embed"
	"encoding/json"
	"fmt"
	"io/fs"
	"os"
	"path"
	"strconv"
	"strings"
	"testing"
	"text/template"
)

//go:embed testdata
var shared embed.FS // the statements for every engine with filters

// The outcomes of a statement.
const (
	Refused  = "refused"  // the gate refused it
	Executed = "executed" // it returned rows, possibly cut at a row or byte limit
	Limited  = "limited"  // it exceeded the time, memory or cell size limit
	Failed   = "failed"   // the engine could not run it
)

// Statement is one entry of a file of statements.
//
// An entry begins with a line "==== name | outcomes | flags" and extends to the next such line. Outcomes are one or
// more, separated by spaces. By default, a statement in hostile.sql must be refused and one in honest.sql executed.
// The flags are
//
//	quoted    the text is a Go string literal, for control characters
//	template  the text is a text/template with the function repeat (n, text)
//
// After a line "----" come the expected rows as JSON: [[1,"a"],[2,null]]. Space around the text is trimmed, except
// if it is quoted. A line that begins with "#" before the first entry is a comment.
type Statement struct {
	Name string
	SQL  string
	Want []string // accepted outcomes
	Rows string   // the rows as JSON, or ""
}

// Allows reports whether an outcome is accepted.
func (s Statement) Allows(outcome string) bool {
	for _, w := range s.Want {
		if w == outcome {
			return true
		}
	}
	return false
}

// Statements reads testdata/statements/<file>.sql of the package under test. Outcomes apply to entries that name none.
func Statements(t testing.TB, file string, outcomes ...string) []Statement {
	t.Helper()
	return statements(t, os.DirFS("."), path.Join("testdata/statements", file+".sql"), outcomes)
}

func statements(t testing.TB, files fs.FS, name string, outcomes []string) []Statement {
	t.Helper()
	data, err := fs.ReadFile(files, name)
	if err != nil {
		t.Fatal(err)
	}
	list, err := parse(string(data), outcomes)
	if err != nil {
		t.Fatalf("%s: %v", name, err)
	}
	return list
}

func parse(text string, outcomes []string) ([]Statement, error) {
	var list []Statement
	seen := make(map[string]bool)
	_, text, _ = strings.Cut("\n"+text, "\n==== ")
	for _, entry := range strings.Split(text, "\n==== ") {
		head, body, _ := strings.Cut(entry, "\n")
		parts := strings.Split(head, "|")
		s := Statement{Name: strings.TrimSpace(parts[0]), Want: outcomes}
		if seen[s.Name] {
			return nil, fmt.Errorf("two statements are named %q", s.Name)
		}
		seen[s.Name] = true
		if len(parts) > 1 && strings.TrimSpace(parts[1]) != "" {
			s.Want = strings.Fields(parts[1])
		}
		flags := ""
		if len(parts) > 2 {
			flags = strings.TrimSpace(parts[2])
		}
		if before, after, ok := strings.Cut("\n"+body, "\n----\n"); ok {
			body, s.Rows = before, strings.TrimSpace(after)
			if !json.Valid([]byte(s.Rows)) {
				return nil, fmt.Errorf("%s: its rows are not JSON", s.Name)
			}
		}
		var err error
		if s.SQL, err = expand(strings.TrimSpace(body), flags); err != nil {
			return nil, fmt.Errorf("%s: %w", s.Name, err)
		}
		list = append(list, s)
	}
	return list, nil
}

func expand(body, flags string) (string, error) {
	switch flags {
	case "":
		return body, nil
	case "quoted":
		return strconv.Unquote(body)
	case "template":
		tmpl, err := template.New("").Funcs(template.FuncMap{
			"repeat": func(n int, s string) string { return strings.Repeat(s, n) },
		}).Parse(body)
		if err != nil {
			return "", err
		}
		var b strings.Builder
		err = tmpl.Execute(&b, nil)
		return b.String(), err
	default:
		return "", fmt.Errorf("unknown flags %q", flags)
	}
}

// Setup holds the statements that create the tables for the suite, in SQL that the engines share. They run with
// write access before the source is opened.
var Setup = []string{
	`CREATE TABLE customers (id INTEGER PRIMARY KEY, name VARCHAR(80) NOT NULL, city VARCHAR(80), "update" ` +
		`VARCHAR(20), since DATE)`,
	`CREATE TABLE orders (id INTEGER PRIMARY KEY, customer_id INTEGER NOT NULL REFERENCES customers (id), placed ` +
		`TIMESTAMP NOT NULL, total DOUBLE PRECISION NOT NULL, note VARCHAR(200))`,
	`CREATE TABLE "order lines" (order_id INTEGER NOT NULL REFERENCES orders (id), line INTEGER NOT NULL, product ` +
		`VARCHAR(80) NOT NULL, quantity INTEGER NOT NULL, PRIMARY KEY (order_id, line))`,
	`INSERT INTO customers VALUES (1, 'Ada', 'London', 'weekly', '2019-03-01'), (2, 'Björn', 'Oslo', 'daily', ` +
		`'2020-07-15'), (3, 'Chiyo', 'Kyoto', NULL, '2021-11-30'), (4, 'D''Arcy; DROP TABLE customers', NULL, ` +
		`'never', NULL)`,
	`INSERT INTO orders VALUES (10, 1, '2024-01-05 10:00:00', 120.5, 'first'), (11, 1, '2024-02-10 11:30:00', 80, ` +
		`NULL), (12, 2, '2024-02-11 09:15:00', 15.25, 'gift -- wrap'), (13, 3, '2024-03-20 16:45:00', 300, 'please ` +
		`update /* soon */'), (14, 3, '2024-03-21 08:00:00', 42, NULL)`,
	`INSERT INTO "order lines" VALUES (10, 1, 'lamp', 2), (10, 2, 'desk', 1), (11, 1, 'chair', 4), (12, 1, 'pen', ` +
		`10), (13, 1, 'desk', 2), (13, 2, 'lamp', 1), (14, 1, 'ink', 6)`,
	`CREATE VIEW revenue AS SELECT c.id, c.name, sum(o.total) AS total FROM customers c JOIN orders o ON ` +
		`o.customer_id = c.id GROUP BY c.id, c.name`,
}
