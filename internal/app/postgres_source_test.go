package app

import (
	"encoding/json"
	"fmt"
	"net/http"
	"strings"
	"testing"

	"github.com/footnotehq/footnote/config"
	"github.com/footnotehq/footnote/internal/pgtest"
)

// tenants creates a table of two orgs, with a policy that shows each its own rows.
var tenants = []string{
	`CREATE TABLE sales (id integer PRIMARY KEY, org text NOT NULL, product text NOT NULL, region text NOT NULL, ` +
		`amount numeric(10,2) NOT NULL, sold date NOT NULL)`,
	`INSERT INTO sales SELECT i, 'acme', (ARRAY['anvil', 'rocket'])[1 + i % 2], (ARRAY['north', 'south'])[1 + i % ` +
		`2], 10 + i, DATE '2024-01-01' + i * 20 FROM generate_series(1, 12) i`,
	`INSERT INTO sales SELECT i, 'globex', (ARRAY['zeppelin', 'quartz'])[1 + i % 2], (ARRAY['lunar', 'martian'])[1 + ` +
		`i % 2], 70000 + i, DATE '2024-01-01' + i * 20 FROM generate_series(101, 107) i`,
	`ALTER TABLE sales ENABLE ROW LEVEL SECURITY`,
	`CREATE POLICY own ON sales USING (org = current_setting('footnote.org', true))`,
	`CREATE VIEW totals WITH (security_invoker) AS SELECT product, sum(amount) AS total FROM sales GROUP BY product`,
}

// orders creates tables that are the same for everybody.
var orders = []string{
	`CREATE TABLE customers (id integer PRIMARY KEY, name text NOT NULL, country text NOT NULL)`,
	`CREATE TABLE orders (id integer PRIMARY KEY, customer_id integer NOT NULL REFERENCES customers, status text NOT ` +
		`NULL, total numeric(10,2) NOT NULL, ordered_at timestamptz NOT NULL)`,
	`INSERT INTO customers SELECT i, 'Customer ' || i, (ARRAY['Norway', 'Japan', 'Brazil'])[1 + i % 3] FROM ` +
		`generate_series(1, 9) i`,
	`INSERT INTO orders SELECT i, 1 + i % 9, (ARRAY['open', 'shipped'])[1 + i % 2], i * 1.5, TIMESTAMPTZ '2024-01-01 ` +
		`12:00:00+00' + i * INTERVAL '5 days' FROM generate_series(1, 60) i`,
}

// as sends a request with a key and returns the answer's text.
func (g *rig) as(key, method, target string, body any, status int) string {
	g.t.Helper()
	r := g.request(method, target, body)
	r.Header.Set("Authorization", "Bearer "+key)
	w := g.do(r)
	if w.Code != status {
		g.t.Errorf("%s %s: %d, want %d: %s", method, target, w.Code, status, w.Body)
	}
	return w.Body.String()
}

// answerAs asks as the owner of a key, and returns everything readable about the answer: its events, messages,
// exports and first result.
func (g *rig) answerAs(key, question string) (conversation, all string) {
	g.t.Helper()
	var opened taken
	body := g.as(key, "POST", "/api/conversations", map[string]any{"text": question}, http.StatusAccepted)
	if err := json.Unmarshal([]byte(body), &opened); err != nil {
		g.t.Fatal(err)
	}
	at := "/api/conversations/" + opened.Conversation
	g.settleAs(key, opened.Conversation)
	for _, target := range []string{
		at + "/events", at + "/messages", at + "/export", at + "/export?format=html",
		"/api/results/" + opened.Conversation + ".r1",
	} {
		all += g.as(key, "GET", target, nil, http.StatusOK)
	}
	return opened.Conversation, all
}

// twoOrgs lists a user of each org, with a key.
var twoOrgs = []config.Key{{Key: adasKey, Org: "acme", User: "ada"}, {Key: bobsKey, Org: "globex", User: "bob"}}

// TestPostgresSource shares one server, because the parser takes seconds to start.
func TestPostgresSource(t *testing.T) {
	address := pgtest.Reader(t, append(tenants, orders...)...)
	g := newRig(t, t.TempDir(), func(c *config.Config) {
		c.Sources = map[string]string{"shop": address}
		c.APIKeys = twoOrgs
	})
	t.Run("RowLevelSecurity", func(t *testing.T) { rowLevelSecurity(t, g, "public.") })
	t.Run("RunAgain", func(t *testing.T) { ranAgain(t, g) })
	t.Run("Questions", func(t *testing.T) { postgresQuestions(t, g) })
}

// rowLevelSecurity lets users of two orgs ask the same questions of one source, in turns: each sees only
// the rows of its org, whichever way it asks. schema is the prefix that table names may have.
func rowLevelSecurity(t *testing.T, g *rig, schema string) {
	orgs := []struct{ key, rows, own, foreign string }{ // the last word of foreign may be repeated by a refusal
		{adasKey, "12", "anvil", "zeppelin quartz lunar martian globex 7010"},
		{bobsKey, "7", "zeppelin", "anvil rocket north south acme"},
	}
	clean := func(what, text, foreign string) {
		t.Helper()
		for word := range strings.FieldsSeq(foreign) {
			if strings.Contains(text, word) {
				t.Errorf("%s shows %q of another org: %.600s", what, word, text)
			}
		}
	}
	query := func(sql string) map[string]any { return map[string]any{"sql": sql} }
	for range 2 { // the second pass runs with warm caches
		for _, o := range orgs {
			for _, q := range []struct {
				method, target string
				body           any
				want           string
			}{
				{
					"POST", "/api/sources/shop/query",
					query("SELECT count(*), min(product), max(product), sum(amount) FROM sales"), o.rows,
				},
				{"POST", "/api/sources/shop/query", query("SELECT * FROM sales"), o.own},
				{"POST", "/api/sources/shop/query", query("SELECT * FROM totals ORDER BY 2"), o.own},
				{
					"POST", "/api/sources/shop/query",
					query("WITH s AS (SELECT * FROM " + schema + "sales) SELECT product, count(*) FROM s GROUP BY 1"),
					o.own,
				},
				{"GET", "/api/sources/shop/samples?table=sales&limit=50", nil, o.own},
				{"GET", "/api/sources/shop/distribution?table=sales&column=product", nil, o.own},
				{"GET", "/api/sources/shop/distribution?table=sales&column=amount", nil, `"rows":` + o.rows},
				{"GET", "/api/sources/shop/distribution?table=sales&column=org", nil, `"count":` + o.rows},
				{"GET", "/api/sources/shop/schema", nil, "sales"},
				{"GET", "/api/sources", nil, "shop"},
				{"GET", "/api/suggestions?source=shop", nil, "?"},
			} {
				text := g.as(o.key, q.method, q.target, q.body, http.StatusOK)
				if !strings.Contains(text, q.want) {
					t.Errorf("%s %v: %.300s, want %s in it", q.target, q.body, text, q.want)
				}
				clean(fmt.Sprint(q.target, q.body), text, o.foreign)
			}
			for _, sql := range []string{
				"SELECT set_config('footnote.org', 'acme', true), set_config('footnote.org', 'globex', true)",
				"SELECT * FROM sales, set_config('footnote.org', 'globex', true)",
				"SET footnote.org = 'globex'", "SET LOCAL footnote.org TO 'acme'", "RESET footnote.org",
				"SET row_security = off",
				"BEGIN; SET LOCAL footnote.org = 'globex'; SELECT * FROM sales",
				"DO $$ BEGIN PERFORM set_config('footnote.org', 'acme', false); END $$",
				"EXPLAIN ANALYZE SELECT * FROM sales", "EXPLAIN SELECT * FROM sales", "SELECT * FROM pg_stats",
				"SELECT reltuples FROM pg_class",
				"SELECT query FROM pg_stat_activity", "SELECT current_setting('footnote.org')",
				"SELECT 1 / (amount - 70101)::int FROM sales WHERE pg_sleep(0) IS NULL",
			} {
				clean(sql, g.as(o.key, "POST", "/api/sources/shop/query", query(sql), http.StatusBadRequest),
					o.foreign[:strings.LastIndexByte(o.foreign, ' ')])
			}
		}
	}
	// The planner's own knowledge of the data, its answers, and what is cached of them.
	for _, o := range orgs {
		id, all := g.answerAs(o.key, "How many sales are there by product?")
		if !strings.Contains(all, o.own) {
			t.Errorf("the answer shows no %s: %.2000s", o.own, all)
		}
		clean("the answer", all, o.foreign)
		for _, other := range orgs {
			if other.key != o.key {
				g.as(other.key, "GET", "/api/results/"+id+".r1", nil, http.StatusNotFound)
			}
		}
	}
}

// postgresQuestions asks the offline planner, which writes Postgres SQL here.
func postgresQuestions(t *testing.T, g *rig) {
	for question, want := range map[string]string{
		"How many orders are there?":       "60",
		"Revenue by status":                "1,395", // of shipped or open: the sum of 1.5 × 2, 4, … 60
		"How many customers are in Japan?": "3",
		"orders by country":                "20",
		"average total of orders by month": "2024",
		"median total of orders":           "45.75",
	} {
		var text strings.Builder
		for _, ev := range g.events(g.ask(question)) {
			if ev.Kind == "answered" || ev.Kind == "assistant_message" || ev.Kind == "tool_result" {
				text.Write(ev.Body)
			}
		}
		if !strings.Contains(text.String(), want) || !strings.Contains(text.String(), "SELECT") {
			t.Errorf("%s: %s, want %s and the query", question, text.String(), want)
		}
	}
}
