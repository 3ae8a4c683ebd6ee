package mysql

import (
	"context"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/footnotehq/footnote"
	"github.com/footnotehq/footnote/source"
	"github.com/footnotehq/footnote/source/mysql/mariatest"
	"github.com/footnotehq/footnote/source/sourcetest"
)

// moreHidden is setup that the statements need in addition to sourcetest.HiddenSetup. Lines for the variants with
// hidden columns alone are in onlyHidden.
var moreHidden = []string{
	"CREATE TABLE people (id INT PRIMARY KEY, name VARCHAR(40))", "INSERT INTO people VALUES (1, 'Eve')",
	"ALTER TABLE bonuses ADD FOREIGN KEY (staff) REFERENCES staff (id)",
	"CREATE INDEX staff_since ON staff (since)", "CREATE FULLTEXT INDEX staff_name ON staff (name)",
	"CREATE VIEW rostered AS SELECT team, COUNT(*) AS n FROM roster GROUP BY team",
	"CREATE VIEW named AS WITH s AS (SELECT name, since FROM staff) SELECT * FROM s WHERE since > 2019",
	"CREATE VIEW plain AS SELECT * FROM people",
}

var onlyHidden = []string{
	"ALTER TABLE staff COMMENT 'with the salary', MODIFY salary INT COMMENT 'canary', ADD CHECK (salary > 0), " +
		"ADD taxed INT AS (salary / 2) VIRTUAL, ADD kept INT AS (salary * 2) STORED",
	"CREATE INDEX staff_salary ON staff (salary)", "CREATE UNIQUE INDEX staff_iban ON staff (iban)",
	"CREATE INDEX staff_taxed ON staff (taxed)",
	"CREATE VIEW rich_too AS SELECT s.name FROM staff s JOIN bonuses b USING (salary)",
	"CREATE VIEW rich_natural AS SELECT staff.name FROM staff NATURAL JOIN bonuses",
	"CREATE VIEW rich_sorted AS SELECT name FROM staff ORDER BY salary",
	"CREATE VIEW rich_inside AS SELECT name FROM teams t, staff s WHERE EXISTS (SELECT 1 FROM staff x WHERE " +
		"x.salary > 1)",
	"CREATE VIEW rich_with AS WITH s AS (SELECT * FROM staff) SELECT s.name FROM s WHERE s.iban > ''",
	"CREATE VIEW rich_taxed AS SELECT name, taxed FROM staff",
	"CREATE VIEW rich_many AS SELECT COUNT(*) FROM rich_taxed",
	"CREATE VIEW rich_remarks AS SELECT remark FROM dossiers",
}

// hiddenDatabase makes the tables of a variant.
func hiddenDatabase(t testing.TB, variant int) *mariatest.Database {
	t.Helper()
	d := mariatest.New(t)
	d.Do(t, sourcetest.HiddenSetup(variant)...)
	d.Do(t, moreHidden...)
	if variant < 2 {
		d.Do(t, onlyHidden...)
	}
	return d
}

// TestHidden hides columns of tables and of their views.
func TestHidden(t *testing.T) {
	sourcetest.RunHidden(t, func(t testing.TB, variant int) source.Source {
		return open(t, hiddenDatabase(t, variant), Options{Hiding: sourcetest.Hiding{}})
	})
}

// TestHiddenAndFiltered does the same where rows are filtered, too, and by a hidden column.
func TestHiddenAndFiltered(t *testing.T) {
	sourcetest.RunHidden(t, func(t testing.TB, variant int) source.Source {
		filters := map[string]string{"staff": "{org} = 'acme' AND since > 0", "roster": "all", "rostered": "all"}
		for _, name := range []string{"teams", "bonuses", "people", "named", "plain"} {
			filters[name] = "all"
		}
		if variant < 2 {
			filters["staff"] = "{org} = 'acme' AND salary > 0"
			for _, name := range []string{"rich", "paid", "paid_twice", "dossiers"} {
				filters[name] = "all"
			}
		}
		return open(t, hiddenDatabase(t, variant), Options{Hiding: sourcetest.Hiding{}, Filters: filters})
	})
}

// TestHiddenOrder checks that rows come in no order that depends on a hidden column.
func TestHiddenOrder(t *testing.T) {
	d := mariatest.New(t)
	d.Do(t,
		"CREATE TABLE indexed (id INT PRIMARY KEY, name VARCHAR(200), salary INT, KEY (salary), KEY named (name))",
		"CREATE TABLE keyed (id INT, salary INT PRIMARY KEY)",
		"CREATE TABLE uniquely (id INT, salary INT NOT NULL, UNIQUE (salary))",
		"CREATE TABLE parted (id INT, salary INT) PARTITION BY RANGE (salary) (PARTITION a VALUES LESS THAN (15), "+
			"PARTITION b VALUES LESS THAN (25), PARTITION c VALUES LESS THAN MAXVALUE)",
		"CREATE TABLE virtually (id INT PRIMARY KEY, name VARCHAR(200), salary INT, v INT AS (-salary) VIRTUAL, KEY (v))",
		"CREATE TABLE ignored (id INT PRIMARY KEY, name INT, KEY a (name) IGNORED, KEY b (name, id))",
		"CREATE VIEW viewed AS SELECT id FROM indexed", "CREATE VIEW twice AS SELECT id FROM viewed")
	tables := []string{"indexed", "keyed", "uniquely", "parted", "virtually"}
	for _, table := range tables {
		columns := " (id, salary)"
		d.Do(t, "INSERT INTO "+table+columns+" VALUES (1, 30), (2, 10), (3, 20), (4, 40)")
	}
	d.Do(t, "INSERT INTO ignored VALUES (1, 1)")
	plain := open(t, d, Options{})
	hidden := source.Hidden{{Table: "ignored", Columns: []string{"nothing"}}}
	for _, table := range tables {
		hidden = append(hidden, source.HiddenTable{Table: table, Columns: []string{"salary"}})
	}
	src := open(t, d, Options{Hiding: always{hidden}})
	for _, table := range append(tables, "viewed", "twice") {
		for _, sql := range []string{
			"SELECT id FROM " + table, "SELECT DISTINCT id FROM " + table,
			"SELECT x.id FROM " + table + " x JOIN (SELECT 1) y",
		} {
			r, _, err := source.Collect(t.Context(), src, source.Query{SQL: sql})
			if got := sourcetest.Text(r.Rows); err != nil || got != "[[1],[2],[3],[4]]" {
				t.Errorf("%s: %s, %v", sql, got, err)
			}
			r, _, err = source.Collect(t.Context(), plain, source.Query{SQL: sql})
			if got := sourcetest.Text(r.Rows); err != nil || strings.HasPrefix(sql, "SELECT id") &&
				got == "[[1],[2],[3],[4]]" {
				t.Errorf("%s: the order without hiding proves nothing: %s, %v", sql, got, err)
			}
		}
	}
	r, _, err := source.Collect(t.Context(), src, source.Query{SQL: "SELECT * FROM ignored WHERE name = 1"})
	if err != nil || len(r.Rows) != 1 {
		t.Errorf("a table with an ignored index: %v, %v", r.Rows, err)
	}
}

// always hides the same from everybody.
type always struct{ hidden source.Hidden }

func (always) Any() bool                           { return true }
func (a always) For(context.Context) source.Hidden { return a.hidden }

// TestHiddenColumnsAppear checks that a new column of a table is seen, and that one that was dropped fails no query
// for long.
func TestHiddenColumnsAppear(t *testing.T) {
	src, d := opened(t)
	ctx := footnote.WithPrincipal(t.Context(), footnote.Principal{Org: "acme"})
	ask := func() string {
		r, _, err := source.Collect(ctx, src, source.Query{SQL: "SELECT * FROM staff WHERE id = 1"})
		if err != nil {
			return err.Error()
		}
		return sourcetest.Text(r.Rows)
	}
	await := func(want string) {
		t.Helper()
		got := ""
		for end := time.Now().Add(20 * time.Second); time.Now().Before(end); time.Sleep(50 * time.Millisecond) {
			if got = ask(); got == want {
				return
			}
		}
		t.Errorf("%s, want %s", got, want)
	}
	await(`[[1,"Ada","north",2019]]`)
	d.Do(t, "ALTER TABLE staff ADD extra INT DEFAULT 7")
	await(`[[1,"Ada","north",2019,7]]`)
	d.Do(t, "ALTER TABLE staff DROP extra")
	await(`[[1,"Ada","north",2019]]`)
}

func opened(t *testing.T) (*Source, *mariatest.Database) {
	t.Helper()
	d := hiddenDatabase(t, 0)
	return open(t, d, Options{Hiding: sourcetest.Hiding{}}), d
}

// TestHiddenFromManyAtOnce runs queries of principals who see different columns at the same time, over one pool.
func TestHiddenFromManyAtOnce(t *testing.T) {
	src, _ := opened(t)
	wants := map[string]string{"payroll": "[[5100]]", "clerk": ""}
	var wg sync.WaitGroup
	for i := range 8 {
		role := []string{"payroll", "clerk"}[i%2]
		ctx := footnote.WithPrincipal(t.Context(), footnote.Principal{Org: "acme", Roles: []string{role}})
		wg.Go(func() {
			for range 25 {
				r, _, err := source.Collect(ctx, src, source.Query{SQL: "SELECT wage FROM paid WHERE id = 1"})
				if got := sourcetest.Text(r.Rows); role == "payroll" && (err != nil || got != wants[role]) ||
					role == "clerk" && (err == nil || strings.Contains(got, "5100")) {
					t.Errorf("%s sees %s, %v", role, got, err)
				}
			}
		})
	}
	wg.Wait()
}

// TestHiddenBelowViews checks views over tables that the user may not read, or whose definition is not readable: they
// may need anything.
func TestHiddenBelowViews(t *testing.T) {
	d := hiddenDatabase(t, 0)
	user := d.Reader + "@localhost"
	d.Do(t, "REVOKE SELECT, SHOW VIEW ON "+d.Name+".* FROM "+user,
		"GRANT SELECT, SHOW VIEW ON "+d.Name+".paid TO "+user,
		"GRANT SELECT ON "+d.Name+".roster TO "+user, "GRANT SELECT, SHOW VIEW ON "+d.Name+".plain TO "+user,
		"GRANT SELECT ON "+d.Name+".people TO "+user)
	src := open(t, d, Options{Hiding: sourcetest.Hiding{}})
	for sql, want := range map[string]string{
		"SELECT wage FROM paid": "There is no table paid", "SELECT * FROM roster": "There is no table roster",
		"SELECT * FROM plain": "", "SELECT * FROM people": "", "SELECT * FROM staff": "There is no table staff",
	} {
		_, _, err := source.Collect(t.Context(), src, source.Query{SQL: sql})
		if want == "" && err != nil || want != "" && (err == nil || !strings.Contains(err.Error(), want)) {
			t.Errorf("%s: %v, want %q", sql, err, want)
		}
	}
}

// TestHiddenByTheGate checks what the server is sent.
func TestHiddenByTheGate(t *testing.T) {
	src, d := opened(t)
	ctx := source.WithHidden(t.Context(), sourcetest.Hidden)
	const staff = "(SELECT `id`, `name`, `team`, `since` FROM `db`.`staff` USE INDEX (`PRIMARY`, `staff_since`, " +
		"`staff_name`)) AS "
	for sql, want := range map[string]string{
		"SELECT s.* FROM staff s": "SELECT `s`.* FROM " + staff + "`s`",
		"SELECT id FROM teams":    "SELECT `id` FROM `db`.`teams`",
		"SELECT id FROM roster r": "SELECT `id` FROM (SELECT * FROM (SELECT `staff`.`id` AS `id`, `staff`.`name` AS " +
			"`name`, `staff`.`team` AS `team` FROM " + staff + "`staff`) AS `roster`) AS `r`",
	} {
		st, err := src.engine.admit(ctx, source.Query{SQL: sql})
		if got := strings.ReplaceAll(st.SQL, d.Name, "db"); err != nil || got != want {
			t.Errorf("%s is sent as\n%s, %v, want\n%s", sql, got, err, want)
		}
	}
}

// TestHiddenLimits checks the limits that docs/context.md states.
func TestHiddenLimits(t *testing.T) {
	src, d := opened(t)
	d.Do(t, "ALTER TABLE staff ADD unseen INT INVISIBLE DEFAULT 9")
	for sql, want := range map[string]string{
		"SELECT id FROM staff WHERE MATCH (name) AGAINST ('Ada')": "[[1]]",
		"SELECT id FROM staff PARTITION (p0)":                     "PARTITION",
		"SELECT * FROM staff WHERE id = 1":                        `[[1,"Ada","north",2019,9]]`,
	} {
		r, _, err := source.Collect(t.Context(), src, source.Query{SQL: sql})
		if got := sourcetest.Text(r.Rows); got != want && (err == nil || !strings.Contains(err.Error(), want)) {
			t.Errorf("%s: %s, %v, want %s", sql, got, err, want)
		}
	}
}
