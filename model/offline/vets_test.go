package offline_test

import (
	"database/sql"
	"fmt"
	"path/filepath"
	"strings"
	"testing"

	"github.com/footnotehq/footnote/model/offline"
	"github.com/footnotehq/footnote/source"
)

// vets creates a database with seconds since 1970 for dates, a view over a table, and columns named by years.
func vets(t testing.TB) catalog {
	t.Helper()
	path := filepath.Join(t.TempDir(), "vets.db")
	db, err := sql.Open("sqlite", "file:"+path)
	if err != nil {
		t.Fatal(err)
	}
	defer db.Close()
	stmts := []string{
		`CREATE TABLE Owner (owner_id INTEGER PRIMARY KEY, surname TEXT, town TEXT)`,
		`CREATE TABLE Animal (animal_id INTEGER PRIMARY KEY, owner_id INTEGER REFERENCES Owner, petName TEXT, ` +
			`species TEXT, birth_date TEXT, weightKg REAL)`,
		`CREATE TABLE Visit (visit_no INTEGER PRIMARY KEY, animal_id INTEGER REFERENCES Animal, visit_ts INTEGER, ` +
			`fee REAL, outcome TEXT)`,
		`CREATE VIEW v_big AS SELECT * FROM Visit WHERE fee > 100`,
	}
	for i := range 6 {
		stmts = append(stmts,
			fmt.Sprintf(`INSERT INTO Owner VALUES (%d, 'Fam%d', '%s')`, i+1, i,
				[]string{"Porto", "Leeds", "Graz"}[i%3]))
	}
	for i := range 12 {
		stmts = append(stmts,
			fmt.Sprintf(`INSERT INTO Animal VALUES (%d, %d, 'Pet%d', '%s', '20%02d-03-11', %d.5)`, i+1, i%6+1, i,
				[]string{"dog", "cat", "parrot"}[i*7%3], 10+i*5%12, i+1))
	}
	for i := range 60 {
		stmts = append(stmts,
			fmt.Sprintf(`INSERT INTO Visit VALUES (%d, %d, %d, %d.25, '%s')`, i+1, i*5%12+1, 1672531200+i*86400*5,
				20+i*37%200, []string{"healed", "ongoing", "referred"}[i*i%7%3]))
	}
	for _, q := range stmts {
		if _, err := db.Exec(q); err != nil {
			t.Fatal(err)
		}
	}
	return catalog{"vets": open(t, "vets", path)}
}

// checkSame asks the questions and compares the rows of the last answer with those of gold. An empty gold means that
// the question must be declined.
func checkSame(t *testing.T, c catalog, name, gold string, turns ...string) reply {
	t.Helper()
	k := newTalk(t, c, offline.New(offline.Options{Catalog: c}), name)
	var s reply
	for _, q := range turns {
		s = k.ask(q)
	}
	if gold == "" {
		if s.sql != "" {
			t.Errorf("%q: answered with %s", turns, s.sql)
		}
		return s
	}
	want, _, err := source.Collect(t.Context(), c[name], source.Query{SQL: gold})
	if err != nil {
		t.Fatalf("%s: %v", gold, err)
	}
	if s.rows == nil || canonical(s.rows.Rows) != canonical(want.Rows) {
		t.Errorf("%q\nsql  %s\nwant %.200s\ntext %.300s", turns, s.sql, canonical(want.Rows), s.text)
	}
	return s
}

func TestNegations(t *testing.T) {
	c := vets(t)
	const no = "SELECT COUNT(*) FROM Visit WHERE outcome <> 'healed'"
	for _, q := range []string{
		"visits except healed", "visits where outcome is not healed", "visits excluding healed outcome",
		"visits without healed",
	} {
		checkSame(t, c, "vets", no, q)
	}
	for _, q := range []string{"not healed", "except healed", "and without healed outcome"} {
		checkSame(t, c, "vets", no, "how many visits are there?", q)
	}
	for _, q := range []string{"visits without outcome healed or ongoing", "visits apart from outcome healed"} {
		checkSame(t, c, "vets", "", q)
	}
	checkSame(t, c, "vets", "SELECT town, COUNT(*) FROM Owner WHERE town <> 'Porto' GROUP BY 1", "owners by town",
		"except Porto")
	if s := checkSame(t, c, "vets", "", "visits without the surname",
		"without Zebra"); !strings.Contains(s.text, "Zebra") && !strings.Contains(strings.ToLower(s.text), "without") {
		t.Errorf("the answer does not name the negation that could not be applied: %s", s.text)
	}
}

func TestDatesAsSecondsSince1970(t *testing.T) {
	c := vets(t)
	checkSame(t, c, "vets", "SELECT strftime('%Y-%m', visit_ts, 'unixepoch'), COUNT(*) FROM Visit GROUP BY 1",
		"visits by month")
	checkSame(t, c, "vets", "SELECT COUNT(*) FROM Visit WHERE visit_ts >= 1675209600 AND visit_ts < 1677628800",
		"visits in February 2023")
}

func TestCountsRowsWithValue(t *testing.T) {
	c := vets(t)
	if s := newTalk(t, c, offline.New(offline.Options{Catalog: c}),
		"vets").ask("total fee by species"); strings.Contains(s.text+s.sql, "specy") ||
		!strings.Contains(s.text, "by species") {
		t.Errorf("%s\n%s", s.sql, s.text)
	}
	checkSame(t, c, "vets", "SELECT COUNT(*) FROM Animal WHERE species = 'dog'", "how many dogs?")
	checkSame(t, c, "vets",
		"SELECT town, COUNT(*) FROM Animal JOIN Owner USING (owner_id) WHERE species = 'dog' GROUP BY 1",
		"how many dogs are there by town")
}

// A view over a table does not make a question ambiguous. The planner reads views only if there are no tables.
func TestTablesArePreferredToViews(t *testing.T) {
	c := vets(t)
	checkSame(t, c, "vets", "SELECT outcome, SUM(fee) FROM Visit GROUP BY 1", "total fee by outcome")
	checkSame(t, c, "vets", "", "how many v big are there")
}

func TestSeveralFiguresInOneAnswer(t *testing.T) {
	c := shop(t)
	const median = "(SELECT AVG(price) FROM (SELECT price, ROW_NUMBER() OVER (ORDER BY price) k, COUNT(*) OVER () n " +
		"FROM products) WHERE k IN ((n + 1) / 2, (n + 2) / 2))"
	for q, gold := range map[string]string{
		"min and max price": "SELECT MIN(price), MAX(price) FROM products",
		"highest and lowest price by category": "SELECT category, MAX(price), MIN(price) FROM products " +
			"GROUP BY 1",
		"average price and cost by category": "SELECT category, AVG(price), AVG(cost) FROM products " +
			"GROUP BY 1",
		"average and median price":               "SELECT AVG(price), " + median + " FROM products",
		"number of orders and revenue by region": "",
		"number of orders and revenue by country": "SELECT c.country, COUNT(DISTINCT o.id), " + revenue + lines +
			"GROUP BY 1",
		"number of orders and average total per channel": "SELECT channel, COUNT(*), AVG(total) FROM orders GROUP BY 1",
		"number of customers and average order total":    "SELECT COUNT(DISTINCT customer_id), AVG(total) FROM orders",
	} {
		s := checkSame(t, c, "shop", gold, q)
		if q == "min and max price" &&
			!strings.Contains(s.text, "The lowest price is **6.90** and the highest price is **549**.") {
			t.Errorf("%s: %s", q, s.text)
		}
	}
}

func TestComparedItemsOverTime(t *testing.T) {
	c := shop(t)
	checkSame(t, c, "shop",
		"SELECT strftime('%Y-%m', ordered_at), city, COUNT(*) FROM orders o JOIN customers c ON c.id = o.customer_id "+
			"WHERE city IN ('Berlin', 'Hamburg') GROUP BY 1, 2", "Berlin vs Hamburg orders by month")
	checkSame(t, c, "shop",
		"",
		"median revenue per order")
}

func TestTypedSQLRunsOnSourceWithItsTables(t *testing.T) {
	c := vets(t)
	c["shop"] = shop(t)["shop"]
	s := newTalk(t, c, offline.New(offline.Options{Catalog: c}), "shop", "vets").ask("SELECT COUNT(*) FROM Visit")
	if s.rows == nil || canonical(s.rows.Rows) != "60.000000" {
		t.Errorf("%s\n%s", s.sql, s.text)
	}
	s = newTalk(t, c, offline.New(offline.Options{Catalog: c}), "shop", "vets").ask("hi")
	if !strings.Contains(s.text, "evenue") || !strings.Contains(s.text, " fee ") {
		t.Errorf("want suggestions for both sources: %s", s.text)
	}
}

func TestSmallRequests(t *testing.T) {
	c := vets(t)
	c["shop"] = shop(t)["shop"]
	checkSame(t, c, "vets", "SELECT petName, birth_date FROM Animal ORDER BY birth_date LIMIT 1", "oldest animal")
	if s := newTalk(t, c, offline.New(offline.Options{Catalog: c}), "vets").ask("show 5 visits"); s.rows == nil ||
		len(s.rows.Rows) != 5 {
		t.Errorf("show 5 visits: %s", s.text)
	}
	checkSame(t, c, "shop", "SELECT AVG(total) FROM orders", "averge order valeu")
	if s := checkSame(t, c, "shop", "", "and by region?"); !strings.Contains(s.text, "“region”") {
		t.Errorf("the answer does not name the unknown word: %s", s.text)
	}
	k := newTalk(t, c, offline.New(offline.Options{Catalog: c}), "shop")
	k.ask("orders by status")
	if s := k.ask("and by region?"); !strings.Contains(s.text, "“region”") {
		t.Errorf("the answer does not name the unknown word: %s", s.text)
	}
	if s := k.ask("orders last month"); !strings.Contains(s.text, "newest date of the data") {
		t.Errorf("what “last month” counts from is not said: %s", s.text)
	}
}

func TestLinesGoFromLeftToRight(t *testing.T) {
	c := shop(t)
	k := newTalk(t, c, offline.New(offline.Options{Catalog: c}), "shop")
	k.ask("revenue by month")
	top := k.ask("top 3")
	line := k.ask("as a line")
	if canonical(top.rows.Rows) != canonical(line.rows.Rows) || len(line.rows.Rows) != 3 {
		t.Fatalf("rows %v, want those of %v", line.rows.Rows, top.rows.Rows)
	}
	for i := 1; i < 3; i++ {
		if fmt.Sprint(line.rows.Rows[i-1][0]) >= fmt.Sprint(line.rows.Rows[i][0]) {
			t.Errorf("the line goes back: %v", line.rows.Rows)
		}
	}
	k.ask("revenue by category")
	if s := k.ask("as a line"); !strings.Contains(string(s.chart), `"bar"`) ||
		!strings.Contains(s.text, "a line needs dates") {
		t.Errorf("a line over categories: %s\n%s", s.chart, s.text)
	}
}

// TestDateWithNever checks that a date is not joined with what never happened, because it could belong to either.
func TestDateWithNever(t *testing.T) {
	c := vets(t)
	for _, q := range []string{
		"how many animals with birth date after 2015 never had a visit?", "animals without visits after 2022",
	} {
		checkSame(t, c, "vets", "", q)
	}
}

// TestNeverHappened checks that "never returned" selects rows whose date is NULL.
func TestNeverHappened(t *testing.T) {
	path := filepath.Join(t.TempDir(), "library.db")
	db, err := sql.Open("sqlite", "file:"+path)
	if err != nil {
		t.Fatal(err)
	}
	defer db.Close()
	for _, q := range []string{
		"CREATE TABLE books (id INTEGER PRIMARY KEY, title TEXT, published DATE)",
		"CREATE TABLE loans (id INTEGER PRIMARY KEY, book_id INTEGER REFERENCES books, member TEXT, loaned_on DATE, " +
			"returned_on DATE, fine REAL)",
		"INSERT INTO books SELECT value, 'Book ' || value, (1999 + value) || '-05-01' FROM " +
			"json_each('[1,2,3,4,5,6,7,8,9,10,11,12,13,14,15]')",
		"INSERT INTO loans SELECT value, value % 9 + 1, 'Member ' || (value % 4), '2024-0' || (value % 8 + 1) || " +
			"'-03', CASE WHEN value % 5 THEN '2024-12-01' END, value / 2.0 FROM " +
			"json_each('[1,2,3,4,5,6,7,8,9,10,11,12,13,14,15,16,17,18,19,20,21,22,23]')",
	} {
		if _, err := db.Exec(q); err != nil {
			t.Fatalf("%s: %v", q, err)
		}
	}
	c := catalog{"library": open(t, "library", path)}
	const out = " FROM loans WHERE returned_on IS NULL"
	for q, gold := range map[string]string{
		"how many loans were never returned":            "SELECT COUNT(*)" + out,
		"number of loans that have never been returned": "SELECT COUNT(*)" + out,
		"total fine of loans never returned":            "SELECT SUM(fine)" + out,
		"how many books were never loaned": "SELECT COUNT(*) FROM books WHERE id NOT IN (SELECT book_id " +
			"FROM loans)",
	} {
		checkSame(t, c, "library", gold, q)
	}
}
