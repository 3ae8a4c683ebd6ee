package offline_test

import (
	"context"
	"database/sql"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/footnotehq/footnote/model/offline"
	"github.com/footnotehq/footnote/source/child"
	"github.com/footnotehq/footnote/source/duckdb"
	"github.com/footnotehq/footnote/tool"
	"github.com/footnotehq/footnote/tool/ask"
)

// addSource adds a source with one table.
func addSource(t testing.TB, c catalog, name string, statements ...string) {
	t.Helper()
	path := filepath.Join(t.TempDir(), name+".db")
	db, err := sql.Open("sqlite", "file:"+path)
	if err != nil {
		t.Fatal(err)
	}
	for _, q := range statements {
		if _, err := db.Exec(q); err != nil {
			t.Fatal(err)
		}
	}
	if err := db.Close(); err != nil {
		t.Fatal(err)
	}
	c[name] = open(t, name, path)
}

// shopWithUploads opens the demo shop and some uploaded files.
func shopWithUploads(t testing.TB) catalog {
	c := shop(t)
	addSource(t, c, "sales", `CREATE TABLE sales (region TEXT, product TEXT, units INTEGER, revenue REAL)`,
		`INSERT INTO sales VALUES ('North', 'Lamp', 4, 80), ('South', 'Lamp', 1, 20), ('South', 'Desk', 2, 300)`)
	addSource(t, c, "sales_2024", `CREATE TABLE sales_2024 (region TEXT, product TEXT, units INTEGER, rebate REAL)`,
		`INSERT INTO sales_2024 VALUES ('East', 'Lamp', 9, 5)`)
	addSource(t, c, "visits", `CREATE TABLE visits (page TEXT, visitors INTEGER)`,
		`INSERT INTO visits VALUES ('home', 5), ('about', 2)`)
	return c
}

// TestSourceIsFoundByFileName checks that a question can name a file although the source's name has only the plain
// letters of it.
func TestSourceIsFoundByFileName(t *testing.T) {
	c := shopWithUploads(t)
	const name = "Ums_tze_2024_1"
	addSource(t, c, name, `CREATE TABLE units_sold (region TEXT, product TEXT, units INTEGER)`,
		`INSERT INTO units_sold VALUES ('East', 'Lamp', 77)`)
	p := offline.New(offline.Options{Catalog: c})
	for _, question := range []string{
		"total units by product from the file Umsätze 2024 (1).csv", "in Umsätze 2024 (1).csv, total units by product",
		"total units by product in umsätze 2024 (1)", "total units by product in Ums_tze_2024_1",
	} {
		if s := newTalk(t, c, p, "shop", "sales", "sales_2024", name).ask(question); !strings.Contains(s.text, "77") {
			t.Errorf("%s: %s\n%s", question, s.sql, s.text)
		}
	}
	if s := newTalk(t, c, p, "shop", "sales",
		name).ask("total units by product in umsatz 2024, 1"); strings.Contains(s.text, "77") {
		t.Errorf("a similar name: %s\n%s", s.sql, s.text)
	}
}

// TestSourceThatExplainsEveryWordAnswers checks that a question goes to the source that explains every word, that the
// planner asks the user if there are two, and that the answer names the source.
func TestSourceThatExplainsEveryWordAnswers(t *testing.T) {
	c := shopWithUploads(t)
	p := offline.New(offline.Options{Catalog: c})
	all := []string{"shop", "sales", "sales_2024", "visits"}
	for _, g := range []struct {
		question string
		source   string // that answers; "" if the planner asks the user
		options  string
	}{
		{"visitors by page", "visits", ""},
		{"total rebate by region", "sales_2024", ""},
		{"how many customers are there", "shop", ""},
		{"total revenue by region", "sales", ""},
		{"total units by region", "", "sales sales_2024"},
		{"total units by product", "", "shop sales sales_2024"},
		{"in sales, total units by product", "sales", ""},
		{"total units by product in sales", "sales", ""},
		{"total units by product in sales.csv", "sales", ""},
		{"total units by product from the file sales_2024", "sales_2024", ""},
		{"total units by product in Sales 2024", "sales_2024", ""},
		{"sales: total units by product", "sales", ""},
		{"SELECT count(*) FROM visits", "visits", ""},
		{"SELECT random()", "", "shop sales sales_2024 visits"},
	} {
		for _, order := range [][]string{all, {"visits", "sales_2024", "sales", "shop"}} {
			s := newTalk(t, c, p, order...).ask(g.question)
			if g.source != "" {
				if s.sql == "" || strings.Contains(s.text, "number of sales") ||
					!strings.Contains(s.text, "Source: ") ||
					!strings.Contains(strings.ReplaceAll(s.text, "`", ""), "Source: "+g.source+". ") {
					t.Errorf("%s: want it from %s: %s\n%s", g.question, g.source, s.sql, s.text)
				}
				continue
			}
			if s.sql != "" || !strings.Contains(s.text,
				"More than one source can answer this. Which one do you mean?") {
				t.Errorf("%s: want to be asked: %s\n%s", g.question, s.sql, s.text)
			}
			for _, name := range all {
				listed := strings.Contains(strings.ReplaceAll(s.text, "`", ""), "\n- "+name+": ")
				if want := slices.Contains(strings.Fields(g.options), name); listed != want {
					t.Errorf("%s: %s is offered: %v, want %v\n%s", g.question, name, listed, want, s.text)
				}
			}
		}
	}
}

// TestSourceNameThatIsAlsoATable checks that the name of an upload that is also a table of another source selects
// neither of them, unless the question says that it is a file.
func TestSourceNameThatIsAlsoATable(t *testing.T) {
	c := shop(t)
	addSource(t, c, "orders", `CREATE TABLE orders (id INTEGER, customer TEXT, amount REAL)`,
		`INSERT INTO orders VALUES (1, 'Ann', 10), (2, 'Bob', 20)`)
	p := offline.New(offline.Options{Catalog: c})
	for _, g := range []struct{ question, want string }{
		{"how many rows are in orders?", "Which one do you mean?"},
		{"number of rows in orders", "Which one do you mean?"},
		{"how many orders are there?", "Which one do you mean?"},
		{"average of total in orders", "Which one do you mean?"},
		{"total amount in orders", "Which one do you mean?"},
		{"number of rows in orders.csv", "Source: orders. "},
		{"number of rows in the file orders", "Source: orders. "},
		{"orders: number of rows", "Source: orders. "},
		{"number of orders in shop", "Source: shop. "},
		{"number of rows in shop", "I could not tell what to count."},
	} {
		for _, order := range [][]string{{"shop", "orders"}, {"orders", "shop"}} {
			s := newTalk(t, c, p, order...).ask(g.question)
			if !strings.Contains(strings.ReplaceAll(s.text, "`", ""), g.want) ||
				strings.Contains(g.want, "Source: ") == (s.sql == "") {
				t.Errorf("%s (%v): want %q: %s\n%s", g.question, order, g.want, s.sql, s.text)
			}
		}
	}
}

// TestTypedSQLRunsOnSourceThatAcceptsIt checks that typed SQL goes to the source that can run it, whatever words it
// contains, and that the planner asks the user if several can.
func TestTypedSQLRunsOnSourceThatAcceptsIt(t *testing.T) {
	c := catalog{}
	addSource(t, c, "crm", `CREATE TABLE sales (region TEXT, units INTEGER, customers INTEGER)`,
		`INSERT INTO sales VALUES ('X', 1, 5)`)
	addSource(t, c, "erp", `CREATE TABLE sales (region TEXT, units INTEGER, customers INTEGER, rebate REAL)`,
		`CREATE TABLE customers (name TEXT)`, `INSERT INTO sales VALUES ('Y', 9, 9, 1)`)
	file := filepath.Join(t.TempDir(), "stock.csv")
	if err := os.WriteFile(file, []byte("region,units\nNorth,3\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	duck, err := duckdb.Open(t.Context(), "stock", file, duckdb.Options{Pool: child.NewPool(1), Dir: t.TempDir()})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = duck.Close() })
	c["stock"] = duck
	p := offline.New(offline.Options{Catalog: c})
	for _, g := range []struct{ sql, want string }{
		{"SELECT region, sum(customers) FROM sales GROUP BY region", "Which one do you mean?"},
		{"SELECT sum(units) AS customers FROM sales", "Which one do you mean?"},
		{"SELECT sum(units) FROM sales WHERE region <> 'customers' -- stock", "Which one do you mean?"},
		{"WITH s AS (SELECT * FROM sales) SELECT count(*) FROM s, s AS t;", "Which one do you mean?"},
		{"SELECT 7 / 2", "Which one do you mean?"}, // DuckDB has 3.5
		{"SELECT sum(rebate) FROM sales", "Source: erp. "},
		{"SELECT s.units FROM sales s JOIN customers c ON c.name = s.region", "Source: erp. "},
		{"WITH customers AS (SELECT units FROM stock) SELECT sum(units) FROM customers", "Source: stock. "},
		{"SELECT region, region FROM stock ORDER BY 1 LIMIT 1", "Source: stock. "},
		{"SELECT colour FROM sales", "\n- crm: no such column: colour"},
		{"SELECT colour FROM sales", "\n- stock: "},
	} {
		k := newTalk(t, c, p, "crm", "erp", "stock")
		k.ask("how many sales are there in crm")
		s := k.ask(g.sql)
		if !strings.Contains(strings.ReplaceAll(s.text, "`", ""), g.want) ||
			strings.Contains(g.want, "Source: ") == (s.sql == "") {
			t.Errorf("%s: want %q: %s\n%s", g.sql, g.want, s.sql, s.text)
		}
	}
}

// TestDeclineNamesConsultedSources checks that a declined question names the sources that were tried.
func TestDeclineNamesConsultedSources(t *testing.T) {
	c := shopWithUploads(t)
	p := offline.New(offline.Options{Catalog: c})
	s := newTalk(t, c, p, "shop", "sales", "visits", "gone").ask("average temperature by planet")
	for _, want := range []string{
		"I looked at shop, sales, visits.", "I couldn't look into gone, which can't be reached right now.",
	} {
		if s.sql != "" || !strings.Contains(s.text, want) {
			t.Errorf("want %q in %s", want, s.text)
		}
	}
	s = newTalk(t, c, p, "shop", "gone").ask("how many customers are there")
	if s.sql == "" || !strings.Contains(s.text, "Source: shop. ") ||
		!strings.Contains(s.text, "I couldn't look into gone") {
		t.Errorf("with an unavailable source: %s", s.text)
	}
	s = newTalk(t, c, p, "shop", "visits").ask("how many customers are there in visits")
	if s.sql != "" || !strings.Contains(s.text, "visits") {
		t.Errorf("with a named source that cannot answer: %s\n%s", s.sql, s.text)
	}
}

// TestReplyChoosesSource checks that the planner understands the reply to its question, and that later questions stay
// with the chosen source until one names another.
func TestReplyChoosesSource(t *testing.T) {
	c := shopWithUploads(t)
	p := offline.New(offline.Options{Catalog: c})
	for _, reply := range []string{"sales", "sales.csv", "in sales please", "Use the file sales"} {
		k := newTalk(t, c, p, "shop", "sales", "sales_2024")
		if s := k.ask("total units by product"); s.sql != "" {
			t.Fatalf("not asked back: %s", s.text)
		}
		for _, g := range []struct{ question, source, sql string }{
			{reply, "sales", `"units"`},
			{"by region", "sales", `"region"`},
			{"and in sales_2024?", "sales_2024", `"region"`},
			{"average rebate", "sales_2024", `"rebate"`},
			{"how many customers are there", "shop", `"customers"`},
		} {
			s := k.ask(g.question)
			if !strings.Contains(s.sql, g.sql) ||
				!strings.Contains(strings.ReplaceAll(s.text, "`", ""), "Source: "+g.source+". ") {
				t.Errorf("%s, %s: want it from %s: %s\n%s", reply, g.question, g.source, s.sql, s.text)
			}
		}
	}
	k := newTalk(t, c, p, "shop", "sales", "visits")
	k.ask("total units by product")
	if s := k.ask("visitors by page"); !strings.Contains(s.text, "Source: visits. ") {
		t.Errorf("another question instead of a choice: %s", s.text)
	}
}

// TestCountedTableSelectsSource checks that a question that counts a table goes to the only source with that table,
// even if another source has a column of that name.
func TestCountedTableSelectsSource(t *testing.T) {
	c := shop(t)
	addSource(t, c, "sales", `CREATE TABLE sales (order_id INTEGER, orders INTEGER, region TEXT)`,
		`INSERT INTO sales VALUES (1, 2, 'x')`)
	addSource(t, c, "old", `CREATE TABLE orders (id INTEGER)`, `INSERT INTO orders VALUES (1)`)
	p := offline.New(offline.Options{Catalog: c})
	for _, q := range []string{"how many orders are there?", "number of orders"} {
		if s := newTalk(t, c, p, "sales", "shop").ask(q); !strings.Contains(s.text, "Source: shop. ") {
			t.Errorf("%s: %s\n%s", q, s.sql, s.text)
		}
		if s := newTalk(t, c, p, "shop", "old").ask(q); s.sql != "" {
			t.Errorf("%s, with two such tables: %s\n%s", q, s.sql, s.text)
		}
	}
}

// TestReplyChoosesSourceByPosition checks that a reply may pick an option by its position.
func TestReplyChoosesSourceByPosition(t *testing.T) {
	c := shopWithUploads(t)
	p := offline.New(offline.Options{Catalog: c})
	for reply, source := range map[string]string{
		"1": "shop", "2": "sales", "#2": "sales", "3.": "sales_2024", "the first one": "shop", "The second": "sales",
		"third source, please": "sales_2024",
		"the last one":         "sales_2024", "option 2": "sales", "number two": "sales",
	} {
		k := newTalk(t, c, p, "shop", "sales", "sales_2024")
		k.ask("total units by product")
		if s := k.ask(reply); s.sql == "" ||
			!strings.Contains(strings.ReplaceAll(s.text, "`", ""), "Source: "+source+". ") {
			t.Errorf("%s: want it from %s: %s\n%s", reply, source, s.sql, s.text)
		}
	}
	k := newTalk(t, c, p, "shop", "sales")
	k.ask("total units by product")
	if s := k.ask("4"); s.sql != "" {
		t.Errorf("there is no fourth: %s", s.sql)
	}
}

// TestFollowUpsKeepTheirSource checks that a question that refers to the previous answer stays with its source, and
// that the planner asks back about a complete question that other sources can answer as well.
func TestFollowUpsKeepTheirSource(t *testing.T) {
	c := shopWithUploads(t)
	p := offline.New(offline.Options{Catalog: c})
	for _, g := range []struct{ question, source string }{
		{"by region", "sales"},
		{"and by region?", "sales"},
		{"only Lamp", "sales"},
		{"Lamp", "sales"},
		{"now as a chart", "sales"},
		{"top 1", "sales"},
		{"what about the units?", "sales"},
		{"and the average?", "sales"},
		{"total units by region", ""},
		{"total units", ""},
		{"how many rows are there", ""},
		{"top 2 products by units", ""},
		{"average units", ""},
		{"total rebate", "sales_2024"},
	} {
		k := newTalk(t, c, p, "sales", "sales_2024")
		if s := k.ask("total revenue by product"); !strings.Contains(s.text, "Source: sales. ") {
			t.Fatalf("not from sales: %s", s.text)
		}
		s := k.ask(g.question)
		source := "Source: " + g.source + ". "
		switch {
		case g.source == "" && !strings.Contains(s.text, "Which one do you mean?"):
			t.Errorf("%s: not asked back: %s\n%s", g.question, s.sql, s.text)
		case g.source != "" && !strings.Contains(strings.ReplaceAll(s.text, "`", ""), source):
			t.Errorf("%s: want it from %s: %s\n%s", g.question, g.source, s.sql, s.text)
		}
	}
}

// TestSourceNameThatIsAlsoAValue checks that "in North" means the source or the value, whichever can be computed, and
// that the planner asks the user if both can.
func TestSourceNameThatIsAlsoAValue(t *testing.T) {
	c := catalog{}
	addSource(t, c, "north", `CREATE TABLE north (product TEXT, revenue REAL)`,
		`INSERT INTO north VALUES ('Lamp', 5), ('Desk', 7)`)
	addSource(t, c, "staff", `CREATE TABLE staff (person TEXT, region TEXT, salary REAL)`,
		`INSERT INTO staff VALUES ('Ann', 'North', 10), ('Bo', 'South', 20), ('Cy', 'North', 30)`)
	addSource(t, c, "south", `CREATE TABLE south (product TEXT, region TEXT, revenue REAL)`,
		`INSERT INTO south VALUES ('Lamp', 'South', 1), ('Lamp', 'West', 2)`)
	p := offline.New(offline.Options{Catalog: c})
	for _, g := range []struct{ first, question, source, figure string }{
		{"", "total revenue in North", "north", "**12**"},
		{"", "total salary in North", "staff", "**40**"},
		{"", "how many rows in North", "", ""},
		{"", "how many rows in the file north", "north", "**2**"},
		{"", "total salary in south", "staff", "**20**"},
		{"", "total revenue in West", "south", "**2**"},
		{"total salary in South", "and in North?", "staff", "**40**"},
		{"total revenue in North", "and in South?", "south", "**3**"},
		{"total revenue in North", "by product", "north", "Desk"},
	} {
		k := newTalk(t, c, p, "north", "staff", "south")
		if g.first != "" {
			k.ask(g.first)
		}
		s := k.ask(g.question)
		plain := strings.ReplaceAll(s.text, "`", "")
		switch {
		case g.source == "" && !strings.Contains(plain, "Which one do you mean?"):
			t.Errorf("%s: not asked back: %s\n%s", g.question, s.sql, s.text)
		case !strings.Contains(plain, g.figure) || g.source != "" && !strings.Contains(plain, "Source: "+g.source+". "):
			t.Errorf("%s, %s: want %s from %s: %s\n%s", g.first, g.question, g.figure, g.source, s.sql, s.text)
		}
	}
}

// TestSourceNameInQuestionDoesNotSelectIt checks that a word that happens to be the name of a source does not select
// it.
func TestSourceNameInQuestionDoesNotSelectIt(t *testing.T) {
	c := shop(t)
	addSource(t, c, "customers", `CREATE TABLE customers (name TEXT, town TEXT)`,
		`INSERT INTO customers VALUES ('Ann', 'Graz')`)
	p := offline.New(offline.Options{Catalog: c})
	for _, g := range []struct{ question, want string }{
		{"how many customers are there", "Which one do you mean?"},
		{"in shop, how many customers are there", "Source: shop. "},
		{"how many customers are there in customers", "Which one do you mean?"},
		{"how many rows in customers.csv", "Source: customers. "},
		{"customers: how many rows", "Source: customers. "},
	} {
		for _, order := range [][]string{{"shop", "customers"}, {"customers", "shop"}} {
			s := newTalk(t, c, p, order...).ask(g.question)
			if !strings.Contains(strings.ReplaceAll(s.text, "`", ""), g.want) {
				t.Errorf("%s: want %q: %s\n%s", g.question, g.want, s.sql, s.text)
			}
		}
	}
}

// TestQuestionAboutTwoSourcesIsDeclined checks that a question that names two sources is not answered from one of them.
func TestQuestionAboutTwoSourcesIsDeclined(t *testing.T) {
	c := shopWithUploads(t)
	addSource(t, c, "q1", `CREATE TABLE sales (region TEXT, day TEXT, units INTEGER)`,
		`INSERT INTO sales VALUES ('West', '2024-01-02', 7)`)
	addSource(t, c, "q2", `CREATE TABLE sales (region TEXT, day TEXT, units INTEGER)`,
		`INSERT INTO sales VALUES ('West', '2024-04-02', 8)`)
	addSource(t, c, "north", `CREATE TABLE north (region TEXT, units INTEGER)`,
		`INSERT INTO north VALUES ('North', 1), ('South', 2)`)
	addSource(t, c, "south", `CREATE TABLE south (region TEXT, units INTEGER)`, `INSERT INTO south VALUES ('Inner', 4)`)
	p := offline.New(offline.Options{Catalog: c})
	const two = "names more than one source"
	for _, g := range []struct{ sources, question, want string }{
		{"sales sales_2024 shop", "units in sales versus sales_2024 by product", two},
		{"sales sales_2024 shop", "units in sales_2024 versus sales by product", two},
		{"sales_2024 shop sales", "units by product in sales and in sales_2024", two},
		{"sales sales_2024", "total units in sales plus total units in sales_2024", two},
		{"sales sales_2024", "sales_2024 versus sales: units by product", two},
		{"q1 q2", "units in q1 versus q2 by region", two},
		{"q1 q2", "units by region in q1 compared with q2", two},
		{"q1 q2", "units by region in the files q2 and q1", two},
		{"sales sales_2024 shop", "total units by product in Sales 2024", "Source: sales_2024. "},
		{"visits sales shop", "how many customers in shop", "Source: shop. "},
		{"north south", "units in north and south", "Source: north. "},
		{"north south", "units in north for the region South", "Source: north. "},
	} {
		s := newTalk(t, c, p, strings.Fields(g.sources)...).ask(g.question)
		if !strings.Contains(strings.ReplaceAll(s.text, "`", ""), g.want) || g.want == two && s.sql != "" {
			t.Errorf("%s: want %q: %s\n%s", g.question, g.want, s.sql, s.text)
		}
	}
}

// TestPeriodSelectsSource checks that, of two similar sources, the one with dates in the period answers.
func TestPeriodSelectsSource(t *testing.T) {
	c := catalog{}
	for _, year := range []string{"2023", "2024"} {
		addSource(t, c, "y"+year, `CREATE TABLE y`+year+` (day TEXT, units INTEGER)`,
			`INSERT INTO y`+year+` VALUES ('`+year+`-01-05', 2), ('`+year+`-12-31', 3)`)
	}
	p := offline.New(offline.Options{Catalog: c})
	for question, want := range map[string]string{
		"total units in 2023":            "Source: y2023. ",
		"total units in 2024":            "Source: y2024. ",
		"total units on 5 January 2024":  "Source: y2024. ",
		"total units since January 2023": "Which one do you mean?",
		"total units in 1999":            "Which one do you mean?",
		"total units by month":           "Which one do you mean?",
	} {
		if s := newTalk(t, c, p, "y2023", "y2024").ask(question); !strings.Contains(strings.ReplaceAll(s.text, "`", ""),
			want) {
			t.Errorf("%s: want %q: %s\n%s", question, want, s.sql, s.text)
		}
	}
}

// answeringTool is ask_user with a fixed reply.
type answeringTool struct {
	tool.Tool
	says string
}

func (a answeringTool) Call(context.Context, tool.Call) (tool.Output, error) {
	return tool.Output{Content: a.says}, nil
}

// TestAskToolAsksForSource checks that the planner calls ask_user if it is offered, with the sources to choose from,
// and uses the reply.
func TestAskToolAsksForSource(t *testing.T) {
	c := shopWithUploads(t)
	k := newTalk(t, c, offline.New(offline.Options{Catalog: c}), "shop", "sales", "sales_2024")
	k.tools = append(k.tools, ask.New())
	// The tool's own Call reports that nobody was asked, as in a protocol without a page.
	if s := k.ask("total units by region"); s.sql != "" || !strings.Contains(s.text, "Which one do you mean?") ||
		s.steps != 2 {
		t.Errorf("nobody answers: %d steps, %s", s.steps, s.text)
	}
	k = newTalk(t, c, offline.New(offline.Options{Catalog: c}), "shop", "sales", "sales_2024")
	k.tools = append(k.tools, answeringTool{ask.New(), "sales_2024"})
	s := k.ask("total units by region")
	if !strings.Contains(s.sql, `"sales_2024"`) || !strings.Contains(s.text, "Source: `sales_2024`. ") {
		t.Errorf("it was answered: %s\n%s", s.sql, s.text)
	}
	if s := k.ask("by product"); !strings.Contains(s.sql, `"sales_2024"`) {
		t.Errorf("a question that follows: %s\n%s", s.sql, s.text)
	}
}
