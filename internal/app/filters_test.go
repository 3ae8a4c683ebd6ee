package app

import (
	"archive/zip"
	"bytes"
	"database/sql"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"path/filepath"
	"strings"
	"testing"

	"github.com/footnotehq/footnote/config"
)

// sales returns the statements for the tenants' rows, for engines without policies.
func sales(engine string) []string {
	series := "(WITH RECURSIVE s(i) AS (SELECT %d UNION ALL SELECT i + 1 FROM s WHERE i < %d) SELECT i FROM s)"
	day := "date('2024-01-01', '+' || (i * 20) || ' days')"
	if engine == "duckdb" {
		day = "DATE '2024-01-01' + CAST(i * 20 AS INTEGER)"
	}
	rows := "INSERT INTO sales SELECT i, '%s', CASE i %% 2 WHEN 0 THEN '%s' ELSE '%s' END, CASE i %% 2 WHEN 0 THEN " +
		"'%s' ELSE '%s' END, %d + i, " + day + " FROM " + series
	return []string{
		`CREATE TABLE sales (id integer PRIMARY KEY, org text NOT NULL, product text NOT NULL, region text NOT NULL, ` +
			`amount numeric(10,2) NOT NULL, sold date NOT NULL)`,
		fmt.Sprintf(rows, "acme", "anvil", "rocket", "north", "south", 10, 1, 12),
		fmt.Sprintf(rows, "globex", "zeppelin", "quartz", "lunar", "martian", 70000, 101, 107),
		`CREATE VIEW totals AS SELECT product, sum(amount) AS total FROM sales GROUP BY product`,
		`CREATE TABLE salaries (person text, amount integer)`, `INSERT INTO salaries VALUES ('zeppelin', 70101)`,
	}
}

// salesFile creates a database for an engine.
func salesFile(t *testing.T, engine string) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), "sales."+map[string]string{"sqlite": "db", "duckdb": "duckdb"}[engine])
	db, err := sql.Open(engine, path)
	if err != nil {
		t.Fatal(err)
	}
	defer db.Close()
	for _, s := range sales(engine) {
		if _, err := db.Exec(s); err != nil {
			t.Fatalf("%s: %v", s, err)
		}
	}
	return path
}

var ownSales = map[string]string{"sales": "org = {org}", "totals": "all"}

func TestFilteredSources(t *testing.T) {
	for _, engine := range []string{"sqlite", "duckdb"} {
		t.Run(engine, func(t *testing.T) {
			if engine == "duckdb" {
				needsDuckDB(t)
			}
			file := salesFile(t, engine)
			g := newRig(t, t.TempDir(), func(c *config.Config) {
				c.Sources = map[string]string{"shop": file}
				c.Filters = map[string]map[string]string{"shop": ownSales}
				c.APIKeys = twoOrgs
			})
			rowLevelSecurity(t, g, "")
			ranAgain(t, g)
			schema := g.as(adasKey, "GET", "/api/sources/shop/schema", nil, http.StatusOK)
			if strings.Contains(schema, "salaries") || !strings.Contains(schema, "totals") {
				t.Errorf("the schema is %s", schema)
			}
			for _, table := range []string{"salaries", "sqlite_master"} {
				g.as(adasKey, "GET", "/api/sources/shop/samples?table="+table, nil, http.StatusNotFound)
				g.as(adasKey, "POST", "/api/sources/shop/query", in("sql", "SELECT * FROM "+table),
					http.StatusBadRequest)
			}
		})
	}
}

// ranAgain lets people of two orgs edit the statement of an answer and run it again.
func ranAgain(t *testing.T, g *rig) {
	for _, o := range []struct{ key, own, foreign, other string }{
		{adasKey, "rocket", "zeppelin quartz lunar globex", bobsKey},
		{bobsKey, "quartz", "anvil rocket north acme", adasKey},
	} {
		var opened taken
		body := g.as(o.key, "POST", "/api/conversations", in("text", "How many sales are there by product?"),
			http.StatusAccepted)
		if err := json.Unmarshal([]byte(body), &opened); err != nil {
			t.Fatal(err)
		}
		g.settleAs(o.key, opened.Conversation)
		again := in("sql", "SELECT * FROM sales ORDER BY amount DESC", "conversation", opened.Conversation, "replaces",
			"r1")
		var ran struct{ Result struct{ ID string } }
		body = g.as(o.key, "POST", "/api/sources/shop/query", again, http.StatusOK)
		if err := json.Unmarshal([]byte(body), &ran); err != nil {
			t.Fatal(err)
		}
		all := body + g.as(o.key, "GET", "/api/conversations/"+opened.Conversation+"/export?format=html", nil,
			http.StatusOK) +
			g.as(o.key, "GET", "/api/conversations/"+opened.Conversation+"/events", nil, http.StatusOK)
		for _, format := range []string{"", "?format=csv", "?format=json", "?format=arrow", "?format=xlsx"} {
			file := g.as(o.key, "GET", "/api/results/"+ran.Result.ID+format, nil, http.StatusOK)
			if text := unzipped(t, file); strings.Contains(text, o.own) {
				all += text
			} else {
				t.Errorf("the result%s has no %s", format, o.own)
			}
			g.as(o.other, "GET", "/api/results/"+ran.Result.ID+format, nil, http.StatusNotFound)
		}
		for word := range strings.FieldsSeq(o.foreign) {
			if strings.Contains(all, word) {
				t.Errorf("a statement that ran again shows %q of another org", word)
			}
		}
		g.as(o.other, "POST", "/api/sources/shop/query", again, http.StatusNotFound)
	}
}

// unzipped returns a file, or all contents if it is an archive.
func unzipped(t *testing.T, file string) string {
	if !strings.HasPrefix(file, "PK") {
		return file
	}
	archive, err := zip.NewReader(bytes.NewReader([]byte(file)), int64(len(file)))
	if err != nil {
		t.Fatal(err)
	}
	var b strings.Builder
	for _, f := range archive.File {
		r, err := f.Open()
		if err != nil {
			t.Fatal(err)
		}
		if _, err := io.Copy(&b, r); err != nil {
			t.Fatal(err)
		}
		r.Close()
	}
	return b.String()
}
