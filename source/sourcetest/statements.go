package sourcetest

import (
	"bytes"
	"cmp"
	"embed"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path"
	"slices"
	"strconv"
	"strings"
	"testing"
	"text/template"

	"github.com/footnotehq/footnote/internal/wordlist"
)

//go:embed testdata
var shared embed.FS // the statements for every engine

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
// more, separated by spaces. By default, a statement in hostile.sql must be refused and one in allowed.sql executed.
// The flags are
//
//	quoted    the text is a Go string literal, for control characters
//	template  the text is a text/template with the function repeat (n, text)
//
// After a line "----" come the expected rows as JSON: [[1,"a"],[2,null]]. Space around the text is trimmed, except
// if it is quoted. A line that begins with "#" before the first entry is a comment.
type Statement struct {
	Name, SQL string
	Want      []string // accepted outcomes
	Rows      string   // the rows as JSON without space, or ""
}

// Allows reports whether an outcome is accepted.
func (s Statement) Allows(outcome string) bool { return slices.Contains(s.Want, outcome) }

// everyEngine begins the names of shared statements.
const everyEngine = "every engine: "

// Statements reads testdata/statements/<file>.sql of the package under test, after the file of that name that every
// engine shares, if there is one. Outcomes apply to entries that name none.
//
// An engine whose SQL differs can replace a shared statement that must be executed. Its own file then has an entry
// "==== every engine: <name>" with other SQL. The rows stay those of the shared entry, unless the new one has its own.
func Statements(t testing.TB, file string, outcomes ...string) []Statement {
	t.Helper()
	name := path.Join("testdata/statements", file+".sql")
	common, noCommon := fs.ReadFile(shared, name)
	own, err := os.ReadFile(name)
	if err != nil && (noCommon != nil || !errors.Is(err, fs.ErrNotExist)) {
		t.Fatal(err)
	}
	list, err1 := parse(string(common), outcomes)
	for i := range list {
		list[i].Name = everyEngine + list[i].Name
	}
	rest, err2 := parse(string(own), outcomes)
	list, err3 := merge(list, rest)
	if err := errors.Join(err1, err2, err3); err != nil {
		t.Fatalf("%s: %v", name, err)
	}
	return list
}

// merge appends an engine's own statements to the shared ones, and replaces those that the engine has by their names.
func merge(list, own []Statement) ([]Statement, error) {
	shared := len(list)
	for _, s := range own {
		if !strings.HasPrefix(s.Name, everyEngine) {
			list = append(list, s)
			continue
		}
		i := slices.IndexFunc(list[:shared], func(other Statement) bool { return other.Name == s.Name })
		if i < 0 {
			return nil, fmt.Errorf("no statement is named %q", s.Name)
		}
		if !slices.Equal(list[i].Want, []string{Executed}) || !slices.Equal(s.Want, list[i].Want) {
			return nil, fmt.Errorf("%q cannot be replaced: only statements that must be executed can, by others that "+
				"must be", s.Name)
		}
		list[i].SQL, list[i].Rows = s.SQL, cmp.Or(s.Rows, list[i].Rows)
	}
	return list, nil
}

func parse(text string, outcomes []string) ([]Statement, error) {
	var list []Statement
	seen := make(map[string]bool)
	for i, entry := range strings.Split("\n"+text, "\n==== ") {
		if i == 0 {
			continue // comments
		}
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
			var rows bytes.Buffer
			if err := json.Compact(&rows, []byte(after)); err != nil {
				return nil, fmt.Errorf("%s: its rows are not JSON: %w", s.Name, err)
			}
			body, s.Rows = before, rows.String()
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
// write access before the source is opened, on a connection that reads "…" as a name and times as UTC; for MariaDB,
// that is the sql_mode ANSI_QUOTES. The sum of its integers must come back as an integer.
var Setup = setup("tables")

// setup returns the statements of a file in testdata/setup, one per line.
func setup(file string) []string {
	text, err := shared.ReadFile("testdata/setup/" + file + ".sql")
	if err != nil {
		panic(err)
	}
	return wordlist.Lines(string(text))
}
