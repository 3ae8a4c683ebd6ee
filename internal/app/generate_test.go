package app

import (
	"strings"
	"testing"

	"github.com/footnotehq/footnote/config"
	"github.com/footnotehq/footnote/internal/localschema"
	"github.com/footnotehq/footnote/model/modeltest"
	"github.com/footnotehq/footnote/source/duckdb"
)

type generated struct{ SQL, Dialect string }

func fileSchema(typ string) map[string]any {
	return map[string]any{"tables": []any{map[string]any{"name": "sales 1", "columns": []any{
		map[string]any{"name": "region", "type": "VARCHAR"}, map[string]any{"name": "amount", "type": typ}}}}}
}

func TestGenerateSQL(t *testing.T) {
	g := newRig(t, t.TempDir())
	var got generated
	g.call("POST", "/api/generate-sql", map[string]any{"question": "How many orders are there?"}, 200, &got)
	if got.Dialect != "sqlite" || !strings.Contains(got.SQL, "COUNT(*)") {
		t.Errorf("generated SQL: %+v", got)
	}
	for name, c := range map[string]struct {
		body   map[string]any
		status int
	}{
		"not understood": {map[string]any{"question": "How many frobnicators are there?"}, 400},
		"another dialect": {
			map[string]any{"question": "How many orders are there?", "source": "shop", "dialect": "duckdb"}, 400,
		},
		"no such source": {map[string]any{"question": "How many orders are there?", "source": "none"}, 400},
		"both": {
			map[string]any{"question": "How many?", "source": "shop", "schema": fileSchema("DOUBLE")}, 400,
		},
		"no question": {map[string]any{"question": " "}, 400},
		"unknown key": {map[string]any{"question": "How many?", "run": true}, 400},
		"no columns": {
			map[string]any{
				"question": "How many?",
				"schema":   map[string]any{"tables": []any{map[string]any{"name": "t"}}},
			}, 400,
		},
	} {
		w := g.do(g.request("POST", "/api/generate-sql", c.body))
		if w.Code != c.status && !(name == "no such source" && w.Code == 404) {
			t.Errorf("%s: %d %s", name, w.Code, w.Body)
		}
	}
	for _, typ := range []string{"DOUBLE", "STRUCT(a INTEGER)) FROM x; --"} { // the second counts as text
		w := g.do(g.request("POST", "/api/generate-sql", map[string]any{
			"question": "How many sales by region?",
			"schema":   fileSchema(typ),
		}))
		if duckdb.Available &&
			(w.Code != 200 || !strings.Contains(w.Body.String(), `\"sales 1\"`) ||
				!strings.Contains(w.Body.String(), `"dialect":"duckdb"`)) {
			t.Errorf("%s: %d %s", typ, w.Code, w.Body)
		}
		if !duckdb.Available && w.Code != 503 {
			t.Errorf("without DuckDB: %d %s", w.Code, w.Body)
		}
	}
}

// TestGenerateSQLWithAModel checks that a statement its engine rejects is not returned: the model gets one retry,
// then the request fails.
func TestGenerateSQLWithAModel(t *testing.T) {
	say := func(texts ...string) (replies []modeltest.Reply) {
		for _, s := range texts {
			replies = append(replies, modeltest.Say(s))
		}
		return replies
	}
	fake := modeltest.New(modeltest.Options{Key: "test", Replies: say(
		"```sql\nSELECT count(*) FROM ordres;\n```", "SELECT count(*) AS n FROM orders",
		"DROP TABLE orders", "DELETE FROM orders",
	)})
	g := newRig(t, t.TempDir(), func(c *config.Config) {
		c.Upstream, c.BaseURL, c.APIKey, c.Model = config.Anthropic, fake.Start(t), "test", "claude-sonnet-5-5"
	})
	var got generated
	g.call("POST", "/api/generate-sql", map[string]any{"question": "How many orders?"}, 200, &got)
	if got.SQL != "SELECT count(*) AS n FROM orders" {
		t.Errorf("generated SQL: %+v", got)
	}
	w := g.do(g.request("POST", "/api/generate-sql", map[string]any{"question": "Drop them"}))
	if w.Code != 400 || !strings.Contains(w.Body.String(), "refused") {
		t.Errorf("refused statement: %s", w.Body)
	}
	var used struct {
		Days []struct{ Tokens int64 }
	}
	g.call("GET", "/api/usage", nil, 200, &used)
}

func TestWithEmptyTables(t *testing.T) {
	s := localschema.Schema{
		Tables: []localschema.Table{{Name: `a"b`, Columns: []localschema.Column{{Name: "x", Type: "DECIMAL(18, 3)"}}}},
	}
	const head = `WITH "a""b" AS (SELECT CAST(NULL AS DECIMAL(18, 3)) AS "x" WHERE 1 = 0)`
	for sql, want := range map[string]string{
		"SELECT 1":                    head + " SELECT 1",
		"with y AS (SELECT 1) FROM y": head + ", y AS (SELECT 1) FROM y",
		"-- why\nWITH RECURSIVE y AS (SELECT 1) SELECT 2": strings.Replace(head, "WITH", "WITH RECURSIVE",
			1) + ", y AS (SELECT 1) SELECT 2",
	} {
		if got := withEmptyTables(s, sql); got != want {
			t.Errorf("over(%q) = %s, want %s", sql, got, want)
		}
	}
}
