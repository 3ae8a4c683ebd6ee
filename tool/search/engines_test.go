package search_test

import (
	"context"
	"database/sql"
	"net/url"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"
	_ "modernc.org/sqlite"

	"github.com/footnotehq/footnote/internal/pgtest"
	"github.com/footnotehq/footnote/source"
	"github.com/footnotehq/footnote/source/postgres"
	"github.com/footnotehq/footnote/source/sqlite"
	"github.com/footnotehq/footnote/tool/search"
)

// create returns the statements that create the table of notes in an engine.
func create(dialect string) []string {
	org := map[string]string{
		"sqlite":   "TEXT COLLATE NOCASE",
		"duckdb":   "VARCHAR COLLATE NOCASE",
		"postgres": "text",
	}[dialect]
	return append([]string{
		`CREATE TABLE notes (id INTEGER PRIMARY KEY, org ` + org +
			`, title VARCHAR(200), body TEXT, status TEXT, year INTEGER, cost DECIMAL(10,2), noted DATE, urgent ` +
			`BOOLEAN)`,
	}, notes...)
}

// fts is a SQLite index over the notes.
var fts = []string{
	`CREATE VIRTUAL TABLE notes_fts USING fts5(title, body, content='notes', content_rowid='id', tokenize='unicode61 ` +
		`remove_diacritics 2')`,
	`INSERT INTO notes_fts(notes_fts) VALUES ('rebuild')`,
}

// open creates a database file and opens it as a source.
func open(t *testing.T, driver string, statements ...string) source.Source {
	t.Helper()
	path := filepath.Join(t.TempDir(), "docs.db")
	write(t, driver, path, statements...)
	src, err := openers[driver](t.Context(), path)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { src.Close() })
	return src
}

var openers = map[string]func(ctx context.Context, path string) (source.Source, error){
	"sqlite": func(ctx context.Context, path string) (source.Source, error) {
		return sqlite.Open(ctx, "docs", path, sqlite.Options{})
	},
}

func write(t *testing.T, driver, path string, statements ...string) {
	t.Helper()
	db, err := sql.Open(driver, path)
	if err != nil {
		t.Fatal(err)
	}
	defer db.Close()
	for _, s := range statements {
		if _, err := db.Exec(s); err != nil {
			t.Fatalf("%s: %v", s, err)
		}
	}
}

func TestSQLite(t *testing.T) {
	src := open(t, "sqlite", append(create("sqlite"), fts...)...)
	t.Run("LIKE", func(t *testing.T) {
		g := newRig(t, src, config(nil))
		everyEngine(t, g)
		g.t = t
		g.want(query("MANUTENÇÃO"), 1)
		g.want(query("100%"), 2)
		g.want(query("1%s")) // % is not a wildcard
		if got := g.ids(query("boiler")); !slices.Equal(got, []int64{3, 4}) {
			t.Errorf("the row with more boilers does not come first: %v", got)
		}
	})
	t.Run("FTS5", func(t *testing.T) {
		g := newRig(t, src, config(func(c *search.Table) { c.FTS = "notes_fts" }))
		everyEngine(t, g)
		g.t = t
		g.want(query("manutencao"), 1) // the tokenizer removes accents
		out := g.as("acme", query("boiler"))
		for _, c := range out.Rows.Columns {
			if c.Name == "score" {
				t.Error("the score, which is made of everybody's rows, is shown")
			}
		}
		if !strings.Contains(out.Content, "**boiler**") || !strings.Contains(out.SQL, "MATCH $1") {
			t.Errorf("snippets: %s\n%s", out.Content, out.SQL)
		}
	})
	t.Run("FTS5ForAll", func(t *testing.T) {
		g := newRig(t, src, config(func(c *search.Table) { c.FTS, c.OrgColumn = "notes_fts", "" }))
		out := g.as("acme", query("boiler"))
		n := len(out.Rows.Columns)
		if len(out.Rows.Rows) != 5 || out.Rows.Columns[n-2].Name != "score" {
			t.Fatalf("rows: %s", out.Content)
		}
		for i, row := range out.Rows.Rows {
			score, ok := row[n-2].(float64)
			if !ok || i > 0 && score > out.Rows.Rows[i-1][n-2].(float64) {
				t.Errorf("score %v of row %d", row[n-2], i)
			}
		}
	})
}

// TestStaleIndexEntries searches an FTS5 table with an entry whose row now belongs to another org.
func TestStaleIndexEntries(t *testing.T) {
	src := open(t, "sqlite", append(create("sqlite"),
		`CREATE VIRTUAL TABLE loose USING fts5(title, body, org UNINDEXED)`,
		`INSERT INTO loose (rowid, title, body, org) SELECT id, title, body, org FROM notes`,
		`UPDATE loose SET title = 'zeppelin', body = 'zeppelin of globex', org = 'globex' WHERE rowid = 1`)...)
	g := newRig(t, src, config(func(c *search.Table) { c.FTS = "loose" }))
	g.want(query("zeppelin"))
	g.want(query("boiler"), 3, 4)
	own := newRig(t, src, search.Table{
		Name: "loose", Source: "docs", Table: "loose", Key: "title", Text: []string{"body"}, FTS: "loose",
		OrgColumn: "org",
	})
	if out := own.as("acme", query("boiler")); out.IsError || len(out.Rows.Rows) != 2 {
		t.Errorf("an FTS5 table that is searched itself: %s", out.Content)
	}
}

// TestNumberedOrgs searches a table whose org column considers 01 equal to 1.
func TestNumberedOrgs(t *testing.T) {
	src := open(t, "sqlite", `CREATE TABLE notes (id INTEGER PRIMARY KEY, org INTEGER, body TEXT)`,
		`INSERT INTO notes VALUES (1, 1, 'a boiler')`)
	g := newRig(t, src, search.Table{
		Source: "docs", Table: "notes", Key: "id", Text: []string{"body"}, OrgColumn: "org",
	})
	for org, want := range map[string]int{"1": 1, "01": 0, "1.0": 0, " 1": 0, "1e0": 0} {
		if out := g.as(org, query("boiler")); out.IsError || len(out.Rows.Rows) != want {
			t.Errorf("the org %q sees %s", org, out.Content)
		}
	}
}

// pg creates a Postgres database and opens it with a read-only role.
func pg(t *testing.T, statements ...string) (owner string, src source.Source) {
	t.Helper()
	owner = pgtest.Database(t)
	do(t, owner, append(append([]string{
		`DO $$ BEGIN CREATE ROLE reader LOGIN NOSUPERUSER NOINHERIT; EXCEPTION WHEN duplicate_object THEN END $$`,
	}, statements...),
		`GRANT USAGE ON SCHEMA public TO reader`, `GRANT SELECT ON ALL TABLES IN SCHEMA public TO reader`)...)
	u, err := url.Parse(owner)
	if err != nil {
		t.Fatal(err)
	}
	u.User = url.User("reader")
	src, err = postgres.Open(t.Context(), "docs", u.String(), postgres.Options{Grammar: grammar(t)})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { src.Close() })
	// The first statement waits until the parser has started, for which a busy machine needs more than the usual limit.
	first := source.Query{SQL: "SELECT 1", Limits: source.Limits{Time: 3 * time.Minute}}
	if _, _, err := source.Collect(t.Context(), src, first); err != nil {
		t.Fatal(err)
	}
	return owner, src
}

var parser *postgres.Grammar // takes seconds to start; TestPostgres closes it

func grammar(t *testing.T) *postgres.Grammar {
	if parser == nil {
		parser = postgres.NewGrammar(nil, nil)
	}
	return parser
}

func do(t *testing.T, url string, statements ...string) {
	t.Helper()
	conn, err := pgx.Connect(t.Context(), url)
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close(context.Background())
	for _, s := range statements {
		if _, err := conn.Exec(t.Context(), s); err != nil {
			t.Fatalf("%s: %v", s, err)
		}
	}
}

// stored adds a stored tsvector, weighted by title and body.
const stored = `ALTER TABLE notes ADD COLUMN found tsvector GENERATED ALWAYS AS
	(setweight(to_tsvector('portuguese', coalesce(title, '')), 'A') || setweight(to_tsvector('portuguese', coalesce(body, '')), 'D')) STORED`

func TestPostgres(t *testing.T) {
	defer func() { parser.Close(); parser = nil }()
	owner, src := pg(t, append(create("postgres"), stored, `CREATE INDEX ON notes USING gin (found)`,
		`CREATE INDEX spoken ON notes USING gin (to_tsvector('portuguese', left(coalesce(title, '') || ' ' || `+
			`coalesce(body, ''), 250000)))`,
		`CREATE EXTENSION unaccent`, `CREATE TEXT SEARCH CONFIGURATION pt (COPY = portuguese)`,
		`ALTER TEXT SEARCH CONFIGURATION pt ALTER MAPPING FOR hword, hword_part, word WITH unaccent, `+
			`portuguese_stem`)...)
	portuguese := func(more func(*search.Table)) search.Table {
		c := config(func(c *search.Table) { c.Language = "portuguese" })
		if more != nil {
			more(&c)
		}
		return c
	}
	t.Run("Simple", func(t *testing.T) { everyEngine(t, newRig(t, src, config(nil))) })
	t.Run("Portuguese", func(t *testing.T) {
		g := newRig(t, src, portuguese(nil))
		everyEngine(t, g)
		g.t = t
		g.want(query("caldeira preventivas"), 1) // other forms of the words: caldeiras, preventiva
		g.want(query("manutenções"))             // Postgres's stemmer does not connect ão and ões
		g.want(query("manutenções or manutenção"), 1)
		g.want(query("manutencao")) // accents matter
		g.want(query("relatórios metas"), 2)
		if out := g.as("acme", query("caldeiras")); !strings.Contains(out.Content, "Manutenção da **caldeira**") ||
			!strings.Contains(out.Content, "preventiva das **caldeiras** evita") {
			t.Errorf("snippets: %s", out.Content)
		}
		indexed(t, owner, g.as("acme", query("boiler")).SQL, "spoken")
	})
	t.Run("Stored", func(t *testing.T) {
		g := newRig(t, src, portuguese(func(c *search.Table) { c.Vector = "found" }))
		everyEngine(t, g)
		out := g.as("acme", query("boiler"))
		if !strings.Contains(out.SQL, `"found" @@ websearch_to_tsquery('portuguese', $`) {
			t.Errorf("statement: %s", out.SQL)
		}
	})
	t.Run("Unaccented", func(t *testing.T) {
		g := newRig(t, src, portuguese(func(c *search.Table) { c.Language = "pt" }))
		everyEngine(t, g)
		g.t = t
		g.want(query("manutencao"), 1)
		g.want(query("Manutenção"), 1)
		g.want(query("PRODUCAO"), 2)
		if out := g.as("acme", query("manutencao")); !strings.Contains(out.Content, "**Manutenção** da caldeira") {
			t.Errorf("search without accents: %s", out.Content)
		}
	})
	t.Run("Remarks", func(t *testing.T) {
		g := &rig{t: t, src: src}
		for language, want := range map[string]string{
			"pt":         "in which accents do not matter",
			"portuguese": "accents matter: unaccent is installed, but no dictionary of this configuration",
			"":           "language simple",
		} {
			_, remarks, err := g.make(config(func(c *search.Table) { c.Language = language }))
			if err != nil || len(remarks) != 1 || !strings.Contains(remarks[0], want) {
				t.Errorf("%s: %v, %v", language, remarks, err)
			}
		}
	})
	t.Run("WrongSettings", func(t *testing.T) {
		g := &rig{t: t, src: src}
		for want, change := range map[string]func(*search.Table){
			`language is "klingon": text search configuration "klingon" does not exist`: func(c *search.Table) {
				c.Language = "klingon"
			},
			`language is "x'; DROP TABLE notes": it must be`: func(c *search.Table) {
				c.Language = "x'; DROP TABLE notes"
			},
			`vector is "fond"`:                 func(c *search.Table) { c.Vector = "fond" },
			`vector is "body": the column has`: func(c *search.Table) { c.Vector = "body" },
			`fts is "notes_fts": the source docs is postgres, which does not support it`: func(c *search.Table) { c.FTS = "notes_fts" },
			`text is "found": the column has the type tsvector`:                          func(c *search.Table) { c.Text = []string{"found"} },
		} {
			if _, _, err := g.make(config(change)); err == nil || !strings.Contains(err.Error(), want) {
				t.Errorf("%v, want %s", err, want)
			}
		}
	})
	t.Run("RowLevelSecurity", rowLevelSecurity)
	t.Run("LongTexts", longTexts)
	t.Run("NoUnaccent", func(t *testing.T) {
		_, src := pg(t, create("postgres")...)
		g := &rig{t: t, src: src}
		if _, remarks, err := g.make(portuguese(nil)); err != nil ||
			!strings.Contains(remarks[0], "unaccent is not installed") {
			t.Errorf("want a remark about unaccent: %v, %v", remarks, err)
		}
	})
}

// indexed checks that a statement uses an index when that pays, and makes snippets only of the rows that it returns.
func indexed(t *testing.T, owner, sql, index string) {
	t.Helper()
	conn, err := pgx.Connect(t.Context(), owner)
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close(context.Background())
	if _, err := conn.Exec(t.Context(), "SET enable_seqscan = off"); err != nil {
		t.Fatal(err)
	}
	rows, err := conn.Query(t.Context(), "EXPLAIN VERBOSE "+sql, "boiler", "acme")
	if err != nil {
		t.Fatal(err)
	}
	plan, err := pgx.CollectRows(rows, pgx.RowTo[string])
	if err != nil || !strings.Contains(strings.Join(plan, "\n"), index) {
		t.Errorf("%v: the plan does not use %s:\n%s", err, index, strings.Join(plan, "\n"))
	}
	_, sorted, _ := strings.Cut(strings.Join(plan, "\n"), "->  Sort")
	if sorted == "" || strings.Contains(sorted, "ts_headline(") {
		t.Errorf("snippets are made before the rows are sorted:\n%s", strings.Join(plan, "\n"))
	}
}

// rowLevelSecurity lets a policy of the database decide: by the caller's attribute, with no org column at all.
func rowLevelSecurity(t *testing.T) {
	_, src := pg(t, append(create("postgres"), `ALTER TABLE notes ENABLE ROW LEVEL SECURITY`,
		`CREATE POLICY own ON notes USING (org = current_setting('footnote.org', true) AND `+
			`current_setting('footnote.region', true) = 'north')`)...)
	for _, org := range []string{"", "org"} {
		g := newRig(t, src, config(func(c *search.Table) { c.OrgColumn = org }))
		g.want(query("boiler"), 3, 4)
		if out := g.as("globex", query("boiler")); out.IsError || len(out.Rows.Rows) != 1 ||
			out.Rows.Rows[0][0] != int64(5) {
			t.Errorf("globex sees %s", out.Content)
		}
	}
}

// longTexts adds a row of another org that is too long for a tsvector. It must not fail anyone's search, and no
// message may reveal it.
func longTexts(t *testing.T) {
	_, src := pg(t, append(create("postgres"),
		`INSERT INTO notes SELECT 8, 'globex', 'Giant', string_agg(md5(i::text), ' '), 'open', 2024, 1, `+
			`'2024-03-01', TRUE FROM generate_series(1, 60000) i`,
		`CREATE VIEW broken AS SELECT id, org, title, CASE WHEN org = 'acme' THEN body ELSE repeat(body, 1 / (id - `+
			`id)) END AS body FROM notes`)...)
	g := newRig(t, src, config(nil))
	g.want(query("boiler"), 3, 4)
	g = newRig(t, src, search.Table{
		Source: "docs", Table: "broken", Key: "id", Text: []string{"title"}, Title: []string{"body"},
	})
	out := g.as("acme", query("zeppelin"))
	if !out.IsError || out.Fault != source.Failed || strings.Contains(out.Content, "zero") ||
		!strings.Contains(g.log.String(), "division by zero") {
		t.Errorf("an error of the database: %+v\n%s", out, g.log.String())
	}
}

func TestWrongSettings(t *testing.T) {
	src := open(t, "sqlite", append(create("sqlite"), append(fts, `CREATE TABLE plain (a TEXT, b BLOB, j JSON)`)...)...)
	g := &rig{t: t, src: src}
	for want, change := range map[string]func(*search.Table){
		`source is "crm"`:                         func(c *search.Table) { c.Source = "crm" },
		`source is ""`:                            func(c *search.Table) { c.Source = "" },
		`table is "note": There is no table`:      func(c *search.Table) { c.Table = "note" },
		`table is ""`:                             func(c *search.Table) { c.Table = "" },
		`name is "a b"`:                           func(c *search.Table) { c.Name = "a b" },
		`key is "idd"`:                            func(c *search.Table) { c.Key = "idd" },
		`Did you mean body?`:                      func(c *search.Table) { c.Text = []string{"title", "boddy"} },
		`text is "year": the column has the type`: func(c *search.Table) { c.Text = []string{"year"} },
		`text is ""`:                              func(c *search.Table) { c.Text = nil },
		`title is "nome"`:                         func(c *search.Table) { c.Title = []string{"nome"} },
		`org_column is "tenant"`:                  func(c *search.Table) { c.OrgColumn = "tenant" },
		`org_column is "noted": the column has`:   func(c *search.Table) { c.OrgColumn = "noted" },
		`limit is "101"`:                          func(c *search.Table) { c.Limit = 101 },
		`language is "portuguese": the source docs is sqlite, which does not support it`: func(c *search.Table) { c.Language = "portuguese" },
		`vector is "body": the source docs is sqlite, which does not support it`:         func(c *search.Table) { c.Vector = "body" },
		`fts is "notes_ft"`:                          func(c *search.Table) { c.FTS = "notes_ft" },
		`fts is "plain": it is not of the type FTS5`: func(c *search.Table) { c.FTS = "plain" },
		`filters.type is "string"`:                   func(c *search.Table) { c.Filters[0].Type = "string" },
		`filters.type is "date": the column year`:    func(c *search.Table) { c.Filters[1].Type = "date" },
		`filters.column is "yeah"`:                   func(c *search.Table) { c.Filters[1].Column = "yeah" },
		`filters.column is "org"`:                    func(c *search.Table) { c.Filters[0].Column = "org" },
		`filters.column is "status": it is listed twice`: func(c *search.Table) {
			c.Filters[1] = c.Filters[0]
		},
		`filters.values is "1"`: func(c *search.Table) { c.Filters[1].Values = []string{"1"} },
		`key is "j": the column has the type JSON`: func(c *search.Table) {
			*c = search.Table{Source: "docs", Table: "plain", Key: "j", Text: []string{"a"}}
		},
	} {
		_, _, err := g.make(config(nil), config(func(c *search.Table) { c.Name = "second"; change(c) }))
		if err == nil || !strings.Contains(err.Error(), want) || !strings.HasPrefix(err.Error(), "tools.search: ") {
			t.Errorf("%v, want %s", err, want)
		}
	}
	if _, _, err := g.make(config(nil), config(nil)); err == nil ||
		!strings.Contains(err.Error(), `tools.search: docs.notes: name is "notes": another`) {
		t.Errorf("two of one name: %v", err)
	}
	if _, _, err := g.make(); err == nil {
		t.Error("no table is no error")
	}
}
