package offline_test

import (
	"fmt"
	"math"
	"strconv"
	"strings"
	"testing"

	"github.com/footnotehq/footnote"
	"github.com/footnotehq/footnote/cite"
	"github.com/footnotehq/footnote/demo"
	"github.com/footnotehq/footnote/model/offline"
	"github.com/footnotehq/footnote/source"
)

const revenue = "SUM(i.quantity * i.unit_price)"
const lines = " FROM order_items i JOIN orders o ON o.id = i.order_id JOIN customers c ON c.id = o.customer_id JOIN " +
	"products p ON p.id = i.product_id "

// gold are questions about the shop with the SQL that a person would write. The order of columns does not matter.
var gold = []struct{ question, sql string }{
	{"How many orders are there?", "SELECT COUNT(*) FROM orders"},
	{"number of customers", "SELECT COUNT(*) FROM customers"},
	{"What is our total revenue?", "SELECT " + revenue + lines},
	{"average order value", "SELECT AVG(total) FROM orders"},
	{"highest order total", "SELECT MAX(total) FROM orders"},
	{"orders by status", "SELECT status, COUNT(*) FROM orders GROUP BY 1"},
	{"orders not shipped", "SELECT COUNT(*) FROM orders WHERE status <> 'shipped'"},
	{
		"how many orders were returned or cancelled",
		"SELECT COUNT(*) FROM orders WHERE status IN ('returned', 'cancelled')",
	},
	{"How many orders were placed in 2026?", "SELECT COUNT(*) FROM orders WHERE ordered_at >= '2026-01-01'"},
	{"orders in March 2026", "SELECT COUNT(*) FROM orders WHERE ordered_at LIKE '2026-03%'"},
	{
		"revenue in Q2 2026",
		"SELECT " + revenue + lines + "WHERE o.ordered_at >= '2026-04-01' AND o.ordered_at < '2026-07-01'",
	},
	{"orders after 2025", "SELECT COUNT(*) FROM orders WHERE ordered_at >= '2026-01-01'"},
	{
		"orders between January and March 2026",
		"SELECT COUNT(*) FROM orders WHERE ordered_at >= '2026-01-01' AND ordered_at < '2026-04-01'",
	},
	{
		"orders in the last 3 months",
		"SELECT COUNT(*) FROM orders WHERE date(ordered_at) > date('2026-10-31', '-3 months')",
	},
	{"How did revenue develop by month?", "SELECT strftime('%Y-%m', o.ordered_at), " + revenue + lines + "GROUP BY 1"},
	{
		"orders per quarter",
		"SELECT strftime('%Y', ordered_at) || '-Q' || ((CAST(strftime('%m', ordered_at) AS INTEGER) + 2) / 3), " +
			"COUNT(*) FROM orders GROUP BY 1",
	},
	{
		"monthly revenue in Germany",
		"SELECT strftime('%Y-%m', o.ordered_at), " + revenue + lines + "WHERE c.country = 'Germany' GROUP BY 1",
	},
	{
		"Which five products brought in the most revenue?",
		"SELECT p.name, " + revenue + lines + "GROUP BY p.id ORDER BY 2 DESC LIMIT 5",
	},
	{"bottom 3 categories by revenue", "SELECT p.category, " + revenue + lines + "GROUP BY 1 ORDER BY 2 LIMIT 3"},
	{
		"top 3 countries by number of customers",
		"SELECT country, COUNT(*) FROM customers GROUP BY 1 ORDER BY 2 DESC LIMIT 3",
	},
	{"revenue by category", "SELECT p.category, " + revenue + lines + "GROUP BY 1"},
	{
		"revenue by country and year",
		"SELECT c.country, strftime('%Y', o.ordered_at), " + revenue + lines + "GROUP BY 1, 2",
	},
	{
		"orders by segment and channel",
		"SELECT c.segment, o.channel, COUNT(*) FROM orders o JOIN customers c ON c.id = o.customer_id GROUP BY 1, 2",
	},
	{
		"What share of revenue does each category have?",
		"SELECT p.category, 100.0 * " + revenue + " / (SELECT SUM(quantity * unit_price) FROM order_items)" + lines +
			"GROUP BY 1",
	},
	{"what percentage of orders came from mobile", "SELECT 100.0 * SUM(channel = 'mobile') / COUNT(*) FROM orders"},
	{
		"What share of orders was returned or cancelled, by category?",
		"SELECT p.category, 100.0 * COUNT(DISTINCT CASE WHEN o.status IN ('returned', 'cancelled') THEN o.id END) / " +
			"COUNT(DISTINCT o.id)" + lines + "GROUP BY 1",
	},
	{
		"How many customers have never ordered anything?",
		"SELECT COUNT(*) FROM customers WHERE id NOT IN (SELECT customer_id FROM orders)",
	},
	{
		"how many customers ordered in 2026",
		"SELECT COUNT(DISTINCT customer_id) FROM orders WHERE ordered_at >= '2026-01-01'",
	},
	{"customers in Berlin", "SELECT COUNT(*) FROM customers WHERE city = 'Berlin'"},
	{
		"how many orders did customers from Berlin place in 2025",
		"SELECT COUNT(*) FROM orders o JOIN customers c ON c.id = o.customer_id WHERE c.city = 'Berlin' AND " +
			"o.ordered_at < '2026-01-01'",
	},
	{"orders over 500 euros", "SELECT COUNT(*) FROM orders WHERE total > 500"},
	{"orders with total between 100 and 200", "SELECT COUNT(*) FROM orders WHERE total BETWEEN 100 AND 200"},
	{
		"orders where status is shipped and total over 100",
		"SELECT COUNT(*) FROM orders WHERE status = 'shipped' AND total > 100",
	},
	{
		"total revenue excluding returned and cancelled orders",
		"SELECT " + revenue + lines + "WHERE o.status NOT IN ('returned', 'cancelled')",
	},
	{
		"compare web and mobile by revenue",
		"SELECT o.channel, " + revenue + lines + "WHERE o.channel IN ('web', 'mobile') GROUP BY 1",
	},
	{"revenue 2025 vs 2026", "SELECT strftime('%Y', o.ordered_at), " + revenue + lines + "GROUP BY 1"},
	{"average revenue per customer", "SELECT " + revenue + " / COUNT(DISTINCT c.id)" + lines},
	{"products cheaper than 20", "SELECT COUNT(*) FROM products WHERE price < 20"},
	{"products more expensive than 100", "SELECT COUNT(*) FROM products WHERE price > 100"},
	{"most expensive product", "SELECT name, price FROM products ORDER BY price DESC LIMIT 1"},
	{"highest order total per month", "SELECT strftime('%Y-%m', ordered_at), MAX(total) FROM orders GROUP BY 1"},
	{"number of items sold by product category", "SELECT p.category, SUM(i.quantity)" + lines + "GROUP BY 1"},
	{
		"which month had the highest revenue?",
		"SELECT strftime('%Y-%m', o.ordered_at), " + revenue + lines + "GROUP BY 1 ORDER BY 2 DESC LIMIT 1",
	},
	{"ordres by staus", "SELECT status, COUNT(*) FROM orders GROUP BY 1"},
	{"list the emails of customers in Hamburg", "SELECT email FROM customers WHERE city = 'Hamburg'"},
	{"SELECT COUNT(*) FROM products", "SELECT COUNT(*) FROM products"},
}

func TestQuestionsAboutTheShop(t *testing.T) {
	c := shop(t)
	p := offline.New(offline.Options{Catalog: c})
	for _, g := range gold {
		s := newTalk(t, c, p, "shop").ask(g.question)
		if s.rows == nil {
			t.Errorf("%s\ndeclined: %s", g.question, s.text)
			continue
		}
		want, _, err := source.Collect(t.Context(), c["shop"], source.Query{SQL: g.sql})
		if err != nil {
			t.Fatalf("%s: %v", g.sql, err)
		}
		if got, want := canonical(s.rows.Rows), canonical(want.Rows); got != want {
			t.Errorf("%s\nsql  %s\ngot  %.300s\nwant %.300s", g.question, s.sql, got, want)
		}
		if !strings.Contains(s.text, "Reading: ") {
			t.Errorf("%s: the answer shows no reading:\n%s", g.question, s.text)
		}
	}
}

// canonical formats rows as text that does not depend on their order or on the order of columns.
func canonical(rows [][]any) string {
	lines := make([]string, len(rows))
	for i, row := range rows {
		cells := make([]string, len(row))
		for k, v := range row {
			cells[k] = fmt.Sprint(v)
			switch n := v.(type) {
			case float64:
				cells[k] = strconv.FormatFloat(math.Round(n*1e6)/1e6, 'f', 6, 64)
			case int64:
				cells[k] = strconv.FormatFloat(float64(n), 'f', 6, 64)
			}
		}
		sortStrings(cells)
		lines[i] = strings.Join(cells, " | ")
	}
	sortStrings(lines)
	return strings.Join(lines, "\n")
}

func TestDemoQuestionsAreAnswered(t *testing.T) {
	c := shop(t)
	p := offline.New(offline.Options{Catalog: c})
	for _, q := range demo.Questions() {
		if s := newTalk(t, c, p, "shop").ask(q); s.rows == nil || len(s.rows.Rows) == 0 {
			t.Errorf("%s\n%s", q, s.text)
		}
	}
}

// The planner's footnotes pass the general check, and no numeral is without one.
func TestFootnotesAreComplete(t *testing.T) {
	c := shop(t)
	p := offline.New(offline.Options{Catalog: c})
	for _, g := range gold {
		k := newTalk(t, c, p, "shop")
		s := k.ask(g.question)
		var tables []cite.Table
		for _, r := range k.results {
			tables = append(tables, cite.Table{ID: r.ID, SQL: r.SQL, RowCount: r.RowCount, Result: k.rows[r.ID]})
		}
		for _, bad := range cite.Verify(s.text, s.cites, tables) {
			t.Errorf("%s: footnote of %q: %s", g.question, bad.Cite.Text, bad.Reason)
		}
		for _, fn := range s.cites {
			checkCell(t, g.question, s, fn)
		}
	}
}

func checkCell(t *testing.T, question string, s reply, fn footnote.Cite) {
	t.Helper()
	if s.text[fn.Start:fn.End] != fn.Text {
		t.Errorf("%s: footnote has the text %q, want %q", question, fn.Text, s.text[fn.Start:fn.End])
	}
	if fn.Row == nil {
		return
	}
	for i, col := range s.rows.Columns {
		if col.Name != fn.Column {
			continue
		}
		cell := s.rows.Rows[*fn.Row][i]
		got, err := strconv.ParseFloat(fn.Value, 64)
		if want, ok := cell.(float64); ok && (err != nil || math.Abs(got-want) > 1e-9*math.Abs(want)) {
			t.Errorf("%s: footnote of %q has value %s, the cell has %v", question, fn.Text, fn.Value, want)
		}
		return
	}
	t.Errorf("%s: footnote of %q names column %q, which the result does not have", question, fn.Text, fn.Column)
}

func TestFollowUps(t *testing.T) {
	c := shop(t)
	p := offline.New(offline.Options{Catalog: c})
	for _, g := range []struct {
		turns []string
		sql   string
	}{
		{
			[]string{
				"How many orders are there?", "only 2026",
			}, "SELECT COUNT(*) FROM orders WHERE ordered_at >= '2026-01-01'",
		},
		{
			[]string{
				"How many orders are there?", "and by country?", "top 3",
			}, "SELECT c.country, COUNT(*) FROM orders o JOIN customers c ON c.id = o.customer_id GROUP BY 1 ORDER " +
				"BY 2 DESC LIMIT 3",
		},
		{
			[]string{
				"orders in Berlin", "what about Hamburg?",
			}, "SELECT COUNT(*) FROM orders o JOIN customers c ON c.id = o.customer_id WHERE c.city = 'Hamburg'",
		},
		{[]string{"average order value", "by segment", "and the highest?"}, ""},
		{
			[]string{
				"average order value", "and the median?",
			}, "SELECT AVG(total) FROM (SELECT total, ROW_NUMBER() OVER (ORDER BY total) k, COUNT(*) OVER () n FROM " +
				"orders) WHERE k IN ((n + 1) / 2, (n + 2) / 2)",
		},
		{
			[]string{
				"revenue by category", "as percentages",
			}, "SELECT p.category, 100.0 * " + revenue + " / (SELECT SUM(quantity * unit_price) FROM order_items)" +
				lines + "GROUP BY 1",
		},
		{
			[]string{
				"revenue by month", "per quarter",
			}, "SELECT strftime('%Y', o.ordered_at) || '-Q' || ((CAST(strftime('%m', o.ordered_at) AS INTEGER) + 2) " +
				"/ 3), " + revenue + lines + "GROUP BY 1",
		},
		{
			[]string{
				"orders by status", "hi", "only web",
			}, "SELECT status, COUNT(*) FROM orders WHERE channel = 'web' GROUP BY 1",
		},
		{
			[]string{
				"top 5 customers by revenue", "and the bottom 5?",
			}, "SELECT c.name, " + revenue + lines + "GROUP BY c.id ORDER BY 2 LIMIT 5",
		},
		{
			[]string{
				"revenue by category", "without cancelled orders",
			}, "SELECT p.category, " + revenue + lines + "WHERE o.status <> 'cancelled' GROUP BY 1",
		},
	} {
		k := newTalk(t, c, p, "shop")
		var s reply
		for _, q := range g.turns {
			s = k.ask(q)
		}
		if g.sql == "" {
			continue
		}
		want, _, err := source.Collect(t.Context(), c["shop"], source.Query{SQL: g.sql})
		if err != nil {
			t.Fatal(err)
		}
		if s.rows == nil || canonical(s.rows.Rows) != canonical(want.Rows) {
			t.Errorf("%q\nsql  %s\nwant %.200s\ntext %.400s", g.turns, s.sql, canonical(want.Rows), s.text)
		}
	}
}

func TestChartsFollowTheQuestion(t *testing.T) {
	c := shop(t)
	p := offline.New(offline.Options{Catalog: c})
	k := newTalk(t, c, p, "shop")
	for _, step := range []struct{ question, kind string }{
		{"revenue by month", `"type":"line"`}, {"as a bar chart", `"type":"bar"`}, {"orders by status", `"type":"bar"`},
		{"as a pie", `"type":"pie"`}, {"How many orders are there?", ""}, {"orders by status as a table", ""},
	} {
		s := k.ask(step.question)
		if step.kind == "" && s.chart != nil || !strings.Contains(string(s.chart), step.kind) {
			t.Errorf("%s: chart = %s, want %s", step.question, s.chart, step.kind)
		}
	}
}
