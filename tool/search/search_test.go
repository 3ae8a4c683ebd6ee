package search_test

import (
	"context"
	"encoding/json"
	"fmt"
	"hash/fnv"
	"log/slog"
	"math/rand/v2"
	"os"
	"slices"
	"strings"
	"testing"

	"github.com/footnotehq/footnote"
	"github.com/footnotehq/footnote/internal/pgtest"
	"github.com/footnotehq/footnote/source"
	"github.com/footnotehq/footnote/source/child"
	"github.com/footnotehq/footnote/source/duckdb"
	"github.com/footnotehq/footnote/source/postgres"
	"github.com/footnotehq/footnote/source/sqlite"
	"github.com/footnotehq/footnote/tool"
	"github.com/footnotehq/footnote/tool/internal/tooltest"
	"github.com/footnotehq/footnote/tool/schema"
	"github.com/footnotehq/footnote/tool/search"
)

func TestMain(m *testing.M) {
	child.Main(map[string]child.OpenFunc{
		sqlite.Kind:   sqlite.OpenEngine,
		duckdb.Kind:   duckdb.OpenEngine,
		postgres.Kind: postgres.OpenEngine,
	})
	os.Exit(pgtest.Run(m))
}

// notes holds the same rows for every engine. acme must never see those of the org globex.
var notes = []string{
	`INSERT INTO notes VALUES (1, 'acme', 'Manutenção da caldeira', 'A manutenção preventiva das caldeiras evita ` +
		`paradas.', 'open', 2024, 10.5, '2024-03-01', TRUE)`,
	`INSERT INTO notes VALUES (2, 'acme', 'Relatório de produção', 'As produções do mês subiram; o relatório cita ` +
		`AB-12 e 100% das metas.', 'done', 2025, 20, '2025-03-31', FALSE)`,
	`INSERT INTO notes VALUES (3, 'acme', 'Boiler log', 'The boiler was repaired. A second boiler waits.', 'open', ` +
		`2025, 30.25, '2025-04-01', TRUE)`,
	`INSERT INTO notes VALUES (4, 'acme', 'Boiler order', 'One boiler was ordered, with a pump.', 'done', 2026, 40, ` +
		`'2026-01-01', TRUE)`,
	`INSERT INTO notes VALUES (5, 'globex', 'Zeppelin boiler', 'The zeppelin boiler of globex costs 70123.', 'open', ` +
		`2024, 70123, '2024-03-01', TRUE)`,
	`INSERT INTO notes VALUES (6, 'Acme', 'Quartz boiler', 'Manutenção do quartz boiler.', 'open', 2024, 70124, ` +
		`'2024-03-01', TRUE)`,
	`INSERT INTO notes VALUES (7, 'acme ', 'Martian boiler', 'A martian boiler.', 'open', 2024, 70125, '2024-03-01', ` +
		`TRUE)`,
}

// foreignWords lists words that occur only in rows of other orgs.
var foreignWords = []string{"eppelin", "lobex", "uartz", "artian", "7012"}

func config(more func(*search.Table)) search.Table {
	t := search.Table{
		Source: "docs", Table: "notes", Key: "id", Title: []string{"title"}, Text: []string{"title", "body"},
		OrgColumn: "org",
		Filters: []search.Filter{
			{
				Column: "status",
				Type:   "text",
				Values: []string{"open", "done"},
			},
			{Column: "year", Type: "integer"},
			{Column: "cost", Type: "number"},
			{Column: "noted", Type: "date"},
			{Column: "urgent", Type: "boolean"},
		},
	}
	if more != nil {
		more(&t)
	}
	return t
}

// rig is the tool over one source.
type rig struct {
	t    *testing.T
	src  source.Source
	tool tool.Tool
	log  strings.Builder
}

func newRig(t *testing.T, src source.Source, tables ...search.Table) *rig {
	t.Helper()
	g := &rig{t: t, src: src}
	var err error
	if g.tool, _, err = g.make(tables...); err != nil {
		t.Fatal(err)
	}
	return g
}

func (g *rig) make(tables ...search.Table) (tool.Tool, []string, error) {
	return search.New(g.t.Context(), search.Options{
		Tables:  tables,
		Sources: tooltest.Sources{"docs": g.src},
		Logger:  slog.New(slog.NewTextHandler(&g.log, nil)),
	})
}

// as calls the tool for a user of an org.
func (g *rig) as(org string, input any) tool.Output {
	g.t.Helper()
	p := footnote.Principal{
		Org: org, User: "ada", Roles: []string{"clerk"}, Attributes: map[string]string{"region": "north"},
	}
	call := tooltest.Call(g.t, g.tool, input, "docs")
	call.Principal = p
	out, err := g.tool.Call(footnote.WithPrincipal(context.Background(), p), call)
	if err != nil {
		g.t.Fatalf("%v: %v", input, err)
	}
	return out
}

// ids returns the keys of the rows acme finds, best first.
func (g *rig) ids(input any) []int64 {
	g.t.Helper()
	out := g.as("acme", input)
	if out.IsError {
		g.t.Fatalf("%v: %s", input, out.Content)
	}
	ids := []int64{}
	for _, row := range out.Rows.Rows {
		ids = append(ids, row[0].(int64))
	}
	return ids
}

func (g *rig) want(input map[string]any, want ...int64) {
	g.t.Helper()
	got := g.ids(input)
	slices.Sort(got)
	if !slices.Equal(got, want) && len(got)+len(want) > 0 {
		g.t.Errorf("%v gives %v, want %v", input, got, want)
	}
}

type in = map[string]any

func query(q string, filters ...in) in {
	if len(filters) == 0 {
		return in{"query": q}
	}
	return in{"query": q, "filters": filters}
}

// everyEngine checks what all engines must do alike.
func everyEngine(t *testing.T, g *rig) {
	t.Run("Words", func(t *testing.T) {
		g.t = t
		g.want(query("boiler"), 3, 4)
		g.want(query("BOILER pump"), 4)
		g.want(query(`"second boiler"`), 3)
		g.want(query("pump or repaired"), 3, 4)
		g.want(query("pump or boiler unheard"), 4) // AND binds more tightly than OR
		g.want(query("boiler unheard or repaired second -pump"), 3)
		g.want(query("boiler -pump"), 3)
		g.want(query("AB-12"), 2)
		g.want(query("caldeira"), 1)
		g.want(query("manutenção"), 1)
		g.want(query("unheard"))
	})
	t.Run("Filters", func(t *testing.T) {
		g.t = t
		g.want(query("boiler", in{"column": "status", "equals": "done"}), 4)
		g.want(query("boiler", in{"column": "status", "in": []string{"done", "open"}}), 3, 4)
		g.want(query("boiler", in{"column": "year", "from": 2026}), 4)
		g.want(query("boiler", in{"column": "year", "from": 2025, "to": 2025}), 3)
		g.want(query("boiler", in{"column": "year", "in": []int{2024, 2026}}), 4)
		g.want(query("boiler", in{"column": "cost", "equals": 30.25}), 3)
		g.want(query("boiler", in{"column": "cost", "to": 30.25}), 3)
		g.want(query("boiler", in{"column": "noted", "equals": "2025-04-01"}), 3)
		g.want(query("boiler", in{"column": "noted", "to": "2025-12-31"}), 3)
		g.want(query("boiler", in{"column": "noted", "from": "2026-01-01", "to": "2026-01-01"}), 4)
		g.want(query("boiler", in{"column": "noted", "in": []string{"2026-01-01", "2025-04-01"}}), 3, 4)
		g.want(query("boiler", in{"column": "urgent", "equals": true}, in{"column": "year", "equals": 2025}), 3)
		g.want(query("boiler", in{"column": "urgent", "equals": false}))
	})
	t.Run("Rows", func(t *testing.T) { g.t = t; resultRows(g) })
	t.Run("Refused", func(t *testing.T) { g.t = t; refused(g) })
	t.Run("OtherOrgs", func(t *testing.T) { g.t = t; otherOrgs(g) })
}

// resultRows checks a stored result, which footnotes cite.
func resultRows(g *rig) {
	out := g.as("acme", in{"query": "boiler", "limit": 1})
	var names []string
	for _, c := range out.Rows.Columns {
		names = append(names, c.Name)
	}
	joined := strings.Join(names, " ")
	if !strings.HasPrefix(joined, "id title status year cost noted urgent snippet") ||
		!strings.HasSuffix(joined, "matches") || strings.Contains(joined, "org") {
		g.t.Errorf("columns %s", joined)
	}
	row := out.Rows.Rows[0]
	if n := len(row); len(out.Rows.Rows) != 1 || row[n-1] != int64(2) {
		g.t.Errorf("%v, want one row of 2 matches", out.Rows.Rows)
	}
	if snippet := row[slices.Index(names, "snippet")].(string); !strings.Contains(strings.ToLower(snippet), "boiler") {
		g.t.Errorf("snippet %q", snippet)
	}
	if out.Source != "docs" || !strings.Contains(out.SQL, "SELECT") || !strings.Contains(out.SQL, `-- $`) ||
		!strings.Contains(out.SQL, `org: "acme"`) || !strings.Contains(out.Content, `"r1"`) {
		g.t.Errorf("evidence %s\n%s", out.SQL, out.Content)
	}
}

// refused checks calls that must not run.
func refused(g *rig) {
	many := make([]int, 201)
	for name, c := range map[string]struct {
		input any
		want  string
	}{
		"no words":               {query("  "), "names no word"},
		"only what is excluded":  {query("-boiler"), "names no word"},
		"or with an exclusion":   {query("boiler or -pump"), "one side of or"},
		"too long":               {query(strings.Repeat("ç", 501)), "500 characters"},
		"too many":               {query(strings.Repeat("a ", 17)), "words"},
		"NUL":                    {query("a\x00b"), "NUL"},
		"another table":          {in{"query": "a", "table": "pg_authid"}, `no table "pg_authid"`},
		"no filter":              {query("a", in{"column": "org", "equals": "globex"}), `no filter "org"`},
		"SQL as a column":        {query("a", in{"column": `id" OR 1=1 --`, "equals": "x"}), "no filter"},
		"two ways":               {query("a", in{"column": "year", "equals": 1, "from": 2}), "needs one of"},
		"no way":                 {query("a", in{"column": "year"}), "needs one of"},
		"text for a number":      {query("a", in{"column": "year", "equals": "1 OR 1=1"}), "whole number"},
		"a fraction":             {query("a", in{"column": "year", "equals": 1.5}), "whole number"},
		"null":                   {query("a", in{"column": "year", "equals": nil}), "not null"},
		"a list for a value":     {query("a", in{"column": "status", "equals": []string{"open"}}), "must be text"},
		"not one of the values":  {query("a", in{"column": "status", "equals": "lost"}), "open, done"},
		"a range of texts":       {query("a", in{"column": "status", "from": "a"}), "no range"},
		"no date":                {query("a", in{"column": "noted", "from": "2024-02-30"}), "must be a date"},
		"a date before all time": {query("a", in{"column": "noted", "from": "0000-01-01"}), "years 1 to 9998"},
		"too many values":        {query("a", in{"column": "year", "in": many}), "200 values"},
		"no values":              {query("a", in{"column": "year", "in": []int{}}), "1 to 200"},
		"an object":              {`{"query":{"$gt":""}}`, "does not fit"},
	} {
		if out := g.as("acme", c.input); !out.IsError || !strings.Contains(out.Content, c.want) {
			g.t.Errorf("%s: %v %s, want %q", name, out.IsError, out.Content, c.want)
		}
	}
	call := tooltest.Call(g.t, g.tool, query("boiler"), "elsewhere")
	if out, err := g.tool.Call(g.t.Context(), call); err != nil || !out.IsError {
		g.t.Errorf("a conversation without the source: %+v, %v", out, err)
	}
}

// hostile lists texts that would do harm as part of a statement, a tsquery or FTS5's syntax, and words from other
// orgs' rows.
var hostile = []string{
	`'; DROP TABLE notes; --`, `' OR '1'='1`, `" OR 1=1 --`, `boiler' OR org='globex`, `$2 $1 $3`,
	"boiler\n-- \nOR 1=1", `\' OR 1=1`, "boiler\u2028OR 1=1",
	`boiler & | ! ( ) <-> <2> :* :A`, `!boiler`, `boiler:*`, `!!!(((`, `boiler <-> zeppelin`, `'boiler':*A`, `& & &`,
	`boiler | zeppelin`,
	`"`, `""`, `"""`, `"unclosed boiler`, `boiler NEAR(zeppelin quartz, 10)`, `title:boiler`, `{title body} : boiler`,
	`- boiler`, `boiler*`, `^boiler`, `boiler AND zeppelin`,
	`boiler NOT x`, `NOT boiler`, `org : globex`, `%`, `_`, `%boiler%`, `b_iler`, `\`, `100%`,
	`boiler OR zeppelin OR quartz OR martian`, `or`, `or or or`, `boiler or`, `or boiler`,
	`globex`, `zeppelin`, `70123`, `Acme`, `"acme "`, `martian or quartz`, `-unheard boiler`, `-acme boiler`,
	"\u202eboiler", "\xef\xbb\xbfboiler", strings.Repeat("(", 400), strings.Repeat(`"a" `, 16),
	strings.Repeat("boiler or ", 15) + "zeppelin", strings.Repeat("é", 500), `<b>boiler</b>`, `{"$ne":null}`,
	`boiler/*`, `*/ boiler`, `boiler;`, `--boiler`, `E'\x27' boiler`, `$$boiler$$`,
}

// random returns queries made of characters that engines treat as syntax, the same in every run.
func random(t *testing.T) []string {
	seed := fnv.New64()
	seed.Write([]byte(t.Name())) // each configuration gets texts of its own
	rng := rand.New(rand.NewPCG(4, seed.Sum64()))
	parts := []string{
		"boiler", "zeppelin", "quartz", "pump", "Água", "or", "OR", "AND", "NOT", "NEAR", "-", `"`, "'", `\\`, "(", ")",
		"&", "|", "!", ":", "*", "<->", "%", "_", "$1", "$2", ";", "--", "/*", "{", "^", "+", " ", " ", " ", "\n",
		"\u0301", "ﬁ", "٣", "\u200b", "日本",
	}
	list := make([]string, 60)
	for i := range list {
		for range 1 + rng.IntN(14) {
			list[i] += parts[rng.IntN(len(parts))]
		}
	}
	return list
}

// otherOrgs searches, as acme and as others, with texts that might widen a search.
func otherOrgs(g *rig) {
	clean := func(what string, out tool.Output) {
		g.t.Helper()
		text := out.Content
		if out.Rows != nil {
			b, err := json.Marshal(out.Rows.Rows)
			if err != nil {
				g.t.Fatal(err)
			}
			text = string(b) // apart from its own query, the model reads the same
		}
		for _, word := range foreignWords {
			if strings.Contains(text, word) && !strings.Contains(what, word) {
				g.t.Errorf("%s shows %q: %s", what, word, text)
			}
		}
		if out.Rows == nil {
			return
		}
		n := len(out.Rows.Columns)
		for _, row := range out.Rows.Rows {
			if id := row[0].(int64); id > 4 || row[n-1].(int64) > 4 {
				g.t.Errorf("%s gives %v", what, row)
			}
		}
	}
	ran := 0
	for _, q := range random(g.t) {
		out := g.as("acme", query(q))
		clean(fmt.Sprintf("%q", q), out)
		if out.Fault != "" {
			g.t.Errorf("%q reached the engine and failed: %s\n%s", q, out.Content, g.log.String())
		}
	}
	for _, q := range hostile {
		for _, filters := range [][]in{nil, {{"column": "year", "from": 0}}, {{"column": "cost", "from": 70000}}} {
			out := g.as("acme", query(q, filters...))
			clean(fmt.Sprintf("%q", q), out)
			if !out.IsError {
				ran++
			} else if out.Fault != "" {
				g.t.Errorf("%q reached the engine and failed: %s\n%s", q, out.Content, g.log.String())
			}
		}
	}
	for _, other := range append([]string{
		"ACME", "acme%", "_cme", "acme' OR '1'='1", "ácme", "*", "acme\t", "acm",
	}, hostile...) {
		if out := g.as(other, query("boiler")); !out.IsError && len(out.Rows.Rows) > 0 && other != "Acme" &&
			other != "globex" {
			g.t.Errorf("an org called %q sees %v", other, out.Rows.Rows)
		}
	}
	if ran < 50 {
		g.t.Errorf("only %d searches ran", ran)
	}
	for _, extra := range []string{
		`{"query":"boiler","org":"globex"}`, `{"query":"boiler","org_column":"status"}`,
		`{"query":"boiler","principal":{"org":"globex"}}`, `{"query":"boiler","Org":"globex","limit":-1}`,
		`{"query":"boiler","limit":1e9}`, `{"query":"boiler","source":"other"}`,
		`{"query":"boiler","sql":"SELECT * FROM notes"}`,
	} {
		clean(extra, g.as("acme", extra))
	}
	if out := g.as("", query("boiler")); !out.IsError {
		g.t.Errorf("a principal without an org sees %v", out.Rows.Rows)
	}
	if out := g.as("Acme", query("boiler")); out.IsError || len(out.Rows.Rows) != 1 || out.Rows.Rows[0][0] != int64(6) {
		g.t.Errorf("Acme sees %s", out.Content)
	}
	if out := g.as("globex", query("boiler")); len(out.Rows.Rows) != 1 || out.Rows.Rows[0][0] != int64(5) {
		g.t.Errorf("globex sees %s", out.Content)
	}
}

// TestSchema checks that hostile inputs do not pass the check against the schema.
func TestSchema(t *testing.T) {
	g := newRig(t, open(t, "sqlite", create("sqlite")...), config(nil))
	validate, err := schema.Validator([]tool.Spec{g.tool.Spec()})
	if err != nil {
		t.Fatal(err)
	}
	for input, good := range map[string]bool{
		`{"query":"boiler"}`: true,
		`{"query":"boiler","filters":[{"column":"year","from":2024}],"limit":5,"table":"notes","thought":"why"}`: true,
		`{"query":""}`: false, `{"query":"a","org":"globex"}`: false, `{"query":"a","table":"other"}`: false,
		`{"query":"a","limit":0}`: false, `{"query":"a","limit":1000}`: false,
		`{"query":"a","filters":[{"column":"org","equals":"globex"}]}`: false,
		`{"query":"a","filters":[{"column":"year","sql":"1"}]}`:        false,
		`{"query":"a","filters":[{"column":"year","equals":{"a":1}}]}`: false, `{}`: false,
	} {
		if problem := validate(search.Name, []byte(input)); (problem == nil) != good {
			t.Errorf("%s: %v, want good %v", input, problem, good)
		}
	}
}
