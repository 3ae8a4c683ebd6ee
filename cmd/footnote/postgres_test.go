package main

import (
	"os"
	"regexp"
	"strings"
	"testing"

	"github.com/footnotehq/footnote/internal/pgtest"
)

// TestPostgresSource checks what an operator sees of a Postgres source.
func TestPostgresSource(t *testing.T) {
	address := pgtest.Reader(t, `CREATE TABLE a (id integer)`, `CREATE TABLE b (id integer)`,
		`CREATE TABLE c (id integer)`, `CREATE VIEW d AS SELECT id FROM a`)
	t.Chdir(t.TempDir())
	text := command(t, 0, "doctor", "--source", "shop="+address)
	for _, want := range []string{
		"opened as postgres", "4 tables", "read-only: every way to write was refused", "asked as the role reader",
		"temp_file_limit is not set",
	} {
		if !strings.Contains(text, want) {
			t.Errorf("doctor does not say %q:\n%s", want, text)
		}
	}
	owner := strings.Replace(address, "reader@", "footnote@", 1)
	if text := command(t, 1, "query", "--source", owner, "SELECT 1"); !strings.Contains(text,
		"Database is not read-only. Refusing to start. The role footnote is a superuser") {
		t.Error(text)
	}
	hidden := "postgres://reader:hush@127.0.0.1:1/shop"
	if text := command(t, 1, "query", "--source", hidden, "SELECT 1") + command(t, 1, "doctor", "--source",
		hidden); strings.Contains(text, "hush") || !strings.Contains(text, "cannot be reached") {
		t.Error(text)
	}
}

var fenced = regexp.MustCompile("(?s)```(sql|yaml)\n(.*?)```")

// TestPageOfSearch runs the steps of docs/search.md on Postgres.
func TestPageOfSearch(t *testing.T) {
	page, err := os.ReadFile("../../docs/search.md")
	if err != nil {
		t.Fatal(err)
	}
	statements := []string{`CREATE TABLE documents (id integer PRIMARY KEY, org text, title text, body text, year ` +
		`integer)`,
		`INSERT INTO documents VALUES (1, 'local', 'Manutenção', 'A manutenção das caldeiras.', 2024), (2, 'other', ` +
			`'Manutenção', 'Zeppelin', 2024)`}
	settings := ""
	for _, m := range fenced.FindAllStringSubmatch(string(page), -1) {
		if m[1] == "sql" {
			statements = append(statements, m[2])
		} else {
			settings = m[2]
		}
	}
	t.Chdir(t.TempDir())
	file := "sources: {crm: '" + pgtest.Reader(t, statements...) + "'}\n" + settings
	if err := os.WriteFile("footnote.yaml", []byte(file), 0o600); err != nil {
		t.Fatal(err)
	}
	if text := command(t, 0, "doctor"); !strings.Contains(text, "search: documents: a tsvector made for each row") ||
		!strings.Contains(text, "language portuguese_unaccent, in which accents do not matter") {
		t.Error(text)
	}
	if text := command(t, 0, "ask",
		"search for manutencao in documents"); !strings.Contains(text, "I found 1 row of documents") ||
		!strings.Contains(text, "das caldeiras") || strings.Contains(text, "Zeppelin") {
		t.Error(text)
	}
	if err := os.WriteFile("footnote.yaml", []byte(strings.Replace(file, "title: [title]", "title: [titulo]", 1)),
		0o600); err != nil {
		t.Fatal(err)
	}
	if text := command(t, 1, "doctor"); !strings.Contains(text, `tools.search: crm.documents: title is "titulo"`) {
		t.Error(text)
	}
}
