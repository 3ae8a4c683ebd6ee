package offline_test

import (
	"context"
	"database/sql"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/footnotehq/footnote/model/offline"
	"github.com/footnotehq/footnote/model/offline/evalset"
	"github.com/footnotehq/footnote/source"
)

// evalSources opens the databases of the evaluation set. The questions here are not in the set.
func evalSources(t testing.TB) catalog {
	t.Helper()
	paths, err := evalset.Frozen.Materialize(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	c := catalog{}
	for _, name := range []string{"clinic", "saas", "freight"} {
		c[name] = open(t, name, paths[name])
	}
	return c
}

// An empty SQL means that the question must be declined. The planner once answered a different question instead.
func TestPlannerAnswersQuestionsAboutOtherDatabases(t *testing.T) {
	c := evalSources(t)
	p := offline.New(offline.Options{Catalog: c})
	for _, g := range []struct{ source, question, sql string }{
		{
			"clinic", "invoices not paid by card",
			"SELECT COUNT(*) FROM invoices WHERE paid_on IS NOT NULL AND payment_method <> 'card'",
		},
		{
			"clinic", "how many patients have insurance",
			"SELECT COUNT(*) FROM patients WHERE insurance_provider IS NOT NULL",
		},
		{"clinic", "patients without insurance", "SELECT COUNT(*) FROM patients WHERE insurance_provider IS NULL"},
		{
			"clinic", "how many invoices over 200 are unpaid",
			"SELECT COUNT(*) FROM invoices WHERE amount > 200 AND paid_on IS NULL",
		},
		{
			"clinic", "appointments with Dr. Elena Klein",
			"SELECT COUNT(*) FROM appointments a JOIN doctors d USING (doctor_id) WHERE full_name = 'Dr. Elena Klein'",
		},
		{
			"clinic", "patients per doctor",
			"SELECT full_name, COUNT(DISTINCT patient_id) FROM appointments JOIN doctors USING (doctor_id) GROUP BY " +
				"doctor_id",
		},
		{"clinic", "patients by year of birth", "SELECT strftime('%Y', birth_date), COUNT(*) FROM patients GROUP BY 1"},
		{
			"clinic", "how many different doctors did patients from Porto see",
			"SELECT COUNT(DISTINCT doctor_id) FROM appointments JOIN patients USING (patient_id) WHERE city = 'Porto'",
		},
		{"clinic", "patients in Porto or Braga", "SELECT COUNT(*) FROM patients WHERE city IN ('Porto', 'Braga')"},
		{"clinic", "first and last appointment", ""},
		{"clinic", "average age of patients", ""},
		{"clinic", "how many male patients over 50", ""},
		{"clinic", "appointments on Monday", ""},
		{
			"saas", "how many tickets did Mira Hansen close",
			"SELECT COUNT(*) FROM Ticket JOIN Agent USING (AgentId) WHERE AgentName = 'Mira Hansen' AND ClosedAt IS " +
				"NOT NULL",
		},
		{"saas", "open tickets by priority", "SELECT Priority, COUNT(*) FROM Ticket WHERE ClosedAt IS NULL GROUP BY 1"},
		{
			"saas", "tickets closed in 2024",
			"SELECT COUNT(*) FROM Ticket WHERE ClosedAt >= '2024-01-01' AND ClosedAt < '2025-01-01'",
		},
		{
			"saas", "countries with more than 10 accounts",
			"SELECT Country, COUNT(*) FROM Account GROUP BY 1 HAVING COUNT(*) > 10",
		},
		{
			"saas", "top 5 agents by average satisfaction",
			"SELECT AgentName, AVG(SatisfactionScore) FROM Ticket JOIN Agent USING (AgentId) GROUP BY AgentId ORDER " +
				"BY 2 DESC LIMIT 5",
		},
		{"saas", "number of accounts in Lisbon", ""},
		{"saas", "churned accounts", ""},
		{"saas", "monthly recurring revenue", ""},
		{
			"freight", "shipments from Rotterdam",
			"SELECT COUNT(*) FROM shpmt JOIN whse USING (whse_id) WHERE city = 'Rotterdam'",
		},
		{
			"freight", "quantity by month for furniture",
			"SELECT strftime('%Y-%m', ship_dt), SUM(qty) FROM shpmt_ln JOIN shpmt USING (shpmt_id) JOIN prod USING " +
				"(prod_id) WHERE cat = 'Furniture' GROUP BY 1",
		},
		{"freight", "freight cost per kg", ""},
		{"freight", "total weight of products", ""},
		{"freight", "late shipments", ""},
		{"freight", "revenue over 1000 by customer", ""},
	} {
		s := newTalk(t, c, p, g.source).ask(g.question)
		if g.sql == "" {
			if s.sql != "" {
				t.Errorf("%s: answered with %s", g.question, s.sql)
			}
			continue
		}
		want, _, err := source.Collect(t.Context(), c[g.source], source.Query{SQL: g.sql})
		if err != nil {
			t.Fatalf("%s: %v", g.sql, err)
		}
		if s.rows == nil || canonical(s.rows.Rows) != canonical(want.Rows) {
			t.Errorf("%s\nsql  %s\nwant %.200s\ntext %.300s", g.question, s.sql, canonical(want.Rows), s.text)
		}
	}
}

// With several sources, the one whose words fit best answers, and follow-ups stay with it.
func TestBestFittingSourceAnswers(t *testing.T) {
	c := evalSources(t)
	k := newTalk(t, c, offline.New(offline.Options{Catalog: c}), "clinic", "saas", "freight")
	for _, g := range []struct{ question, table string }{
		{"How many tickets are there?", `"Ticket"`},
		{"by priority", `"Ticket"`},
		{"shipments per carrier", `"shpmt"`},
		{"How many patients live in Porto?", `"patients"`},
	} {
		if s := k.ask(g.question); !strings.Contains(s.sql, g.table) {
			t.Errorf("%s: sql = %q, want it to read %s\n%s", g.question, s.sql, g.table, s.text)
		}
	}
}

// The planner follows keys that are only named alike. It can handle reserved words, spaces and quotes in names, and an
// empty table.
func TestSchemaWithoutDeclaredKeys(t *testing.T) {
	path := filepath.Join(t.TempDir(), "odd.db")
	db, err := sql.Open("sqlite", "file:"+path)
	if err != nil {
		t.Fatal(err)
	}
	for _, q := range []string{
		`CREATE TABLE customers (id INTEGER, name TEXT, "home ""town" TEXT)`,
		`CREATE TABLE "order" (id INTEGER, customer_id INTEGER, "group" TEXT, total REAL, is_gift INTEGER, made_on ` +
			`TEXT)`,
		`CREATE TABLE empty (a TEXT, b INTEGER)`,
		`INSERT INTO customers VALUES (1, 'Ann', 'Ghent'), (2, 'Bo''b', 'Lyon'), (3, 'Cy', 'Ghent')`,
		`INSERT INTO "order" VALUES (1, 1, 'a', 10, 0, '2024-01-05'), (2, 1, 'b', 20.5, 1, '2024-02-29'), (3, 2, ` +
			`'a', 5, 1, NULL)`,
	} {
		if _, err := db.Exec(q); err != nil {
			t.Fatal(err)
		}
	}
	if err := db.Close(); err != nil {
		t.Fatal(err)
	}
	c := catalog{"odd": open(t, "odd", path)}
	p := offline.New(offline.Options{Catalog: c})
	for _, g := range []struct{ question, want string }{
		{"total by customer", "30.500000 | Ann\n5.000000 | Bo'b"},
		{"orders by group", "1.000000 | b\n2.000000 | a"},
		{"how many orders did Bo'b make", "1.000000"},
		{"gift orders", "2.000000"},
		{"how many orders are gifts", "2.000000"},
		{"orders in February 2024", "1.000000"},
		{"number of empty", "0.000000"},
	} {
		s := newTalk(t, c, p, "odd").ask(g.question)
		if s.rows == nil || canonical(s.rows.Rows) != g.want {
			t.Errorf("%s\nsql  %s\nwant %s\ntext %.300s", g.question, s.sql, g.want, s.text)
		}
	}
}

// The other sources answer if one is unavailable. The answer names it, because it might have had an answer too.
func TestUnavailableSourceIsNamed(t *testing.T) {
	c := shop(t)
	p := offline.New(offline.Options{Catalog: c})
	if s := newTalk(t, c, p, "gone", "shop").ask("How many orders are there?"); !strings.Contains(s.text, "846") ||
		!strings.Contains(s.text, "I couldn't look into gone, which can't be reached right now.") {
		t.Errorf("a question about the other source: %s", s.text)
	}
	for _, q := range []string{"how many employees are there", "which tables are there?"} {
		if s := newTalk(t, c, p, "gone", "shop").ask(q); !strings.Contains(s.text,
			"I couldn't look into gone, which can't be reached right now.") {
			t.Errorf("%s: %s", q, s.text)
		}
	}
}

// commentedSource is a source whose tables have the comment of a loader.
type commentedSource struct {
	source.Source
	comment string
}

func (l commentedSource) Schema(ctx context.Context) (source.Schema, error) {
	s, err := l.Source.Schema(ctx)
	s.Tables = slices.Clone(s.Tables)
	for i := range s.Tables {
		s.Tables[i].Comment = l.comment
	}
	return s, err
}

// The first answer about a table has the notes about what was left out of its file or not understood. Later answers do
// not repeat them.
func TestLoaderNotesAppearOnce(t *testing.T) {
	c := shop(t)
	c["shop"] = commentedSource{
		c["shop"], "read as ; separated, Windows-1252; 2 totals rows left out; a second \"city\" is now called " +
			"city_2; dates DD.MM.YYYY in day",
	}
	p := offline.New(offline.Options{Catalog: c})
	const note = "About the file: `2 totals rows left out`; `a second \"city\" is now called city_2`."
	talk := newTalk(t, c, p, "shop")
	for i, s := range []reply{
		talk.ask("How many orders are there?"), talk.ask("orders by status"), talk.ask("how many customers are there"),
		talk.ask("hi"),
	} {
		if shown := strings.Contains(s.text, note); shown != (i == 0 || i == 2) {
			t.Errorf("answer %d: %s", i+1, s.text)
		}
	}
	c["shop"] = commentedSource{c["shop"].(commentedSource).Source, "read as , separated; decimal comma"}
	if s := newTalk(t, c, offline.New(offline.Options{Catalog: c}),
		"shop").ask("How many orders are there?"); strings.Contains(s.text, "About the file") {
		t.Errorf("notes about a file without faults: %s", s.text)
	}
}

// However little a source contains, if only a value, the planner suggests three questions that have an answer, both at the start and
// when it declines a question.
func TestAnySourceHasThreeSuggestions(t *testing.T) {
	for name, stmts := range map[string][]string{
		"notes": {`CREATE TABLE notes (note TEXT)`, `INSERT INTO notes VALUES ('all is well'), ('nothing new')`},
		"one":   {`CREATE TABLE t (x INTEGER)`, `INSERT INTO t VALUES (1)`},
		"texts": {
			`CREATE TABLE words (de TEXT, fr TEXT, en TEXT)`,
			`INSERT INTO words VALUES ('Haus', 'maison', 'house'), ('Hof', 'cour', 'yard')`,
		},
		"views": {
			`CREATE TABLE base (k INTEGER PRIMARY KEY, town TEXT)`,
			`CREATE VIEW v_towns AS SELECT 'Graz' AS town, 3 AS people UNION ALL SELECT 'Linz', 4`,
		},
		"unlike": {
			`CREATE TABLE "läufe 2024" ("#" INTEGER, "Zeit (s)" REAL, "Läufer" TEXT)`,
			`INSERT INTO "läufe 2024" VALUES (1, 61.5, 'Ann'), (2, 58.25, 'Bo')`,
		},
	} {
		path := filepath.Join(t.TempDir(), name+".db")
		db, err := sql.Open("sqlite", "file:"+path)
		if err != nil {
			t.Fatal(err)
		}
		for _, q := range stmts {
			if _, err := db.Exec(q); err != nil {
				t.Fatal(err)
			}
		}
		if err := db.Close(); err != nil {
			t.Fatal(err)
		}
		c := catalog{name: open(t, name, path)}
		p := offline.New(offline.Options{Catalog: c})
		hints, err := p.Suggest(t.Context(), name, 6)
		if err != nil || len(hints) < 3 {
			t.Errorf("%s: Suggest() = %q, %v, want three", name, hints, err)
		}
		for _, q := range hints {
			if s := newTalk(t, c, p, name).ask(q); s.rows == nil || len(s.rows.Rows) == 0 {
				t.Errorf("%s: %q has no answer: %s", name, q, s.text)
			}
		}
		if s := newTalk(t, c, p, name).ask("what is the capital of the moon"); strings.Count(s.text, "\n- ") != 3 {
			t.Errorf("%s: want three suggestions in %s", name, s.text)
		}
	}
}
