package verified_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/footnotehq/footnote"
	"github.com/footnotehq/footnote/knowledge/verified"
)

const revenue = `-- question: Revenue in {month}
-- paraphrase: How much did we sell in {month}?
-- paraphrase: Umsatz im {month}
-- parameter: month month
-- source: shop
-- author: Ann
-- date: 2026-11-02

-- roles: finance, board
-- expires: 2027-11-02
SELECT sum(total) AS revenue FROM orders -- in euros
WHERE ordered_at >= $1 AND ordered_at < date($1, '+1 month')
`

const orders = `-- question: How many {status} orders are over {amount} on {day}
-- paraphrase: what's the {status} count over {amount} on {day}
-- parameter: status one of shipped, on hold
-- parameter: amount number
-- parameter: day date
-- source: shop
-- author: Bob
-- date: 2026-11-02
SELECT count(*) FROM orders WHERE status = $1 AND total > $2 AND day = $3`

const customer = `-- question: Orders of customer {name} in {year}, at least {n}
-- parameter: name text
-- parameter: year year
-- parameter: n int
-- source: shop
-- author: Bob
-- date: 2026-11-02
SELECT $1, $2, $3`

func set(t *testing.T) *verified.Set {
	t.Helper()
	var queries []*verified.Query
	for name, text := range map[string]string{
		"revenue_in_month": revenue, "orders_over": orders, "customer_orders": customer,
	} {
		q, err := verified.Parse("verified/"+name+".sql", text)
		if err != nil {
			t.Fatal(err)
		}
		queries = append(queries, q)
	}
	s, err := verified.New(queries)
	if err != nil {
		t.Fatal(err)
	}
	return s
}

var now = time.Date(2026, 11, 27, 12, 0, 0, 0, time.UTC)

func board() verified.Caller {
	return verified.Caller{Roles: []string{"board"}, Sources: []string{"shop"}, Now: now}
}

func TestMatch(t *testing.T) {
	s := set(t)
	for question, want := range map[string]string{
		"Revenue in March 2026":             "revenue_in_month [2026-03-01] Revenue in March 2026",
		"  REVENUE, in march, 2026?! ":      "revenue_in_month [2026-03-01] Revenue in March 2026",
		"revenue in 2026-03":                "revenue_in_month [2026-03-01] Revenue in March 2026",
		"how much did we sell in Sept 2026": "revenue_in_month [2026-09-01] Revenue in September 2026",
		"Umsatz im März 2026?":              "revenue_in_month [2026-03-01] Revenue in March 2026",
		"Umsatz im Ma\u0308rz 2026":         "revenue_in_month [2026-03-01] Revenue in March 2026",
		"How many SHIPPED orders are over 12.5 on 2 November 2026": "orders_over [shipped 12.5 2026-11-02] " +
			"How many shipped orders are over 12.5 on 2 November 2026",
		"how many on-hold orders are over -3 on November 2nd, 2026": "",
		"how many on-hold orders are over -3 on November 2, 2026": "orders_over [on hold -3 2026-11-02] " +
			"How many on hold orders are over -3 on 2 November 2026",
		"what’s the on hold count over 7 on 2. November 2026": "orders_over [on hold 7 2026-11-02] " +
			"How many on hold orders are over 7 on 2 November 2026",
		"how many shipped orders are over 0.125 on 2026-11-02": "orders_over [shipped 0.125 2026-11-02] " +
			"How many shipped orders are over 0.125 on 2 November 2026",
		`orders of customer "the {year} x" in 2026, at least 3!!`: "customer_orders [the {year} x 2026 3] " +
			"Orders of customer \"the {year} x\" in 2026, at least 3",
		"Orders of customer “Ann O’Brien, Jr.” in 2026, at least 3": "customer_orders [Ann O’Brien, Jr. 2026 3] " +
			"Orders of customer \"Ann O’Brien, Jr.\" in 2026, at least 3",
	} {
		got := ""
		if m, ok := s.Match(board(), question); ok {
			got = fmt.Sprint(m.Query.Name, " ", m.Args, " ", m.Question)
		}
		if got != want {
			t.Errorf("%q: %q, want %q", question, got, want)
		}
	}
}

// TestNearMisses checks that a question that differs in anything but case, spaces and punctuation matches nothing.
func TestNearMisses(t *testing.T) {
	s := set(t)
	for _, question := range []string{
		"", "?", "Revenue", "Revenue in", "Revenue in {month}", "Revenue in March", "Revenue in 2026",
		"Revenue in 2026-13", "Revenue in 26-03", "Revenue in March 26", "Revenue in March 2026 by country",
		"Revenue in March 2026 without returns", "Net revenue in March 2026", "Revenue in March and April 2026",
		"Revenue in March 2026 and April 2026", "Revenue in Marsh 2026", "Revenues in March 2026",
		"Revenue in March 2026 %", "Revenue in -March 2026 $", "Revenue + in March 2026", "in Revenue March 2026",
		"Revenue in March 2026 & April", "Revenue in 2026-03-01", "Revenue in March 12026", "Revenue in March  02026",
		"Revenue not in March 2026", "Revenue in March 2026; DROP TABLE orders", "Revenue in March 2026 Revenue in",
		"How many shipped orders are over 12,5 on 2026-11-02", "How many shipped orders are over $5 on 2026-11-02",
		"How many shipped orders are over 5% on 2026-11-02", "How many shipped orders are over 1e3 on 2026-11-02",
		"How many returned orders are over 5 on 2026-11-02", "How many shipped orders are over 5 on 2026-02-30",
		"How many shipped orders are over 5 on 31 June 2026", "How many shipped orders are over five on 2026-11-02",
		"How many shipped orders are over NaN on 2026-11-02", "How many shipped orders are over Inf on 2026-11-02",
		"How many not shipped orders are over 5 on 2026-11-02", "How many shipped orders are over 5 6 on 2026-11-02",
		"Orders of customer Ann in 2026, at least 3", `Orders of customer "Ann in 2026, at least 3`,
		`Orders of customer "" in 2026, at least 3`, `Orders of customer "Ann" or "Bob" in 2026, at least 3`,
		`Orders of customer "Ann" in 2026, at least 3.5`, `Orders of customer "Ann" in 2026, at least`,
		`Orders of customer "Ann" in 2026, at least 99999999999999999999`,
		"Revenue in March 2026" + strings.Repeat(" x", 5000),
		// Signs that change a number or a meaning, and numbers and lists with two readings.
		"Revenue in March 2026½", "Revenue in March 2026 Ⅱ", "Revenue in March 2026①", "Revenue in !March 2026",
		"Revenue in -March 2026", "Revenue in March 2026‱", "How many shipped orders are over –5 on 2026-11-02",
		"How many shipped orders are over ‑5 on 2026-11-02", "How many -shipped orders are over 5 on 2026-11-02",
		"How many shipped orders are over 5½ on 2026-11-02", "How many shipped orders are over 5² on 2026-11-02",
		"How many shipped orders are over 1.500 on 2026-11-02", "How many !shipped orders are over 5 on 2026-11-02",
		`Orders of customer !"Ann" in 2026, at least 3`, "Orders of customer ‘Ann’ or ‘Bob’ in 2026, at least 3",
	} {
		if m, ok := s.Match(board(), question); ok {
			t.Errorf("%q matches %s %v", question, m.Query.Name, m.Args)
		}
	}
}

// TestChangedQuestions changes questions that match, by a word at each place, and checks that none of them matches.
func TestChangedQuestions(t *testing.T) {
	s := set(t)
	n := 0
	for _, question := range []string{
		"Revenue in March 2026", "How much did we sell in 2026-03", "Umsatz im März 2026",
		"How many shipped orders are over 12.5 on 2 November 2026", "What's the on hold count over 7 on 2026-11-02",
		`Orders of customer "Ann" in 2026, at least 3`,
	} {
		if _, ok := s.Match(board(), question); !ok {
			t.Fatalf("%q does not match", question)
		}
		words := strings.Fields(question)
		var changed [][]string
		for i := range words {
			changed = append(changed, slices.Concat(words[:i], words[i+1:]))
			if i > 0 {
				swapped := slices.Clone(words)
				swapped[i-1], swapped[i] = swapped[i], swapped[i-1]
				changed = append(changed, swapped)
			}
			for _, more := range strings.Fields("not net by country only without and or % $ & - 2025 March total {month}") {
				changed = append(changed, slices.Concat(words[:i], []string{more}, words[i:]),
					slices.Concat(words[:i], []string{more}, words[i+1:]), append(slices.Clone(words), more))
			}
		}
		for _, c := range changed {
			text := strings.Join(c, " ")
			m, ok := s.Match(board(), text)
			if n++; ok && !equivalent(m, text) {
				t.Errorf("%q matches %s %v", text, m.Query.Name, m.Args)
			}
		}
	}
	t.Logf("%d changed questions", n)
}

// equivalent reports whether a changed question is again a whole wording, such as one with another month or year, or
// one with a hyphen more.
func equivalent(m verified.Match, text string) bool {
	plain := strings.NewReplacer(" - ", " ", " -", "", "- ", "").Replace(text + " ")
	for _, arg := range m.Args {
		s := fmt.Sprint(arg)
		ok := strings.Contains(plain, s) || len(s) == len("2006-01-02") && strings.Contains(plain, s[:4])
		if !ok {
			return false
		}
	}
	return !strings.Contains(plain, "not ") && !strings.Contains(plain, "net") && !strings.Contains(plain, "by") &&
		!strings.Contains(plain, "and") && !strings.ContainsAny(plain, "%$&{")
}

// TestCaller checks that a query does not exist for another role, in a conversation without its source, or once it has
// expired.
func TestCaller(t *testing.T) {
	s := set(t)
	const question = "Revenue in March 2026"
	for name, change := range map[string]func(c *verified.Caller){
		"no role":        func(c *verified.Caller) { c.Roles = nil },
		"another role":   func(c *verified.Caller) { c.Roles = []string{"Board"} },
		"another source": func(c *verified.Caller) { c.Sources = []string{"crm"} },
		"expired":        func(c *verified.Caller) { c.Now = time.Date(2027, 11, 3, 0, 0, 0, 0, time.UTC) },
	} {
		c := board()
		change(&c)
		_, matches := s.Match(c, question)
		_, found := s.Find(c, "revenue_in_month")
		if near := s.Nearest(c, question); matches || found || len(near) > 0 && near[0].Name == "revenue_in_month" {
			t.Errorf("%s: the query exists: %v %v %v", name, matches, found, near)
		}
	}
	c := board()
	c.Now = time.Date(2027, 11, 2, 23, 59, 59, 0, time.UTC)
	if _, ok := s.Match(c, question); !ok {
		t.Error("the query may not be used on its last day")
	}
	if n := len(s.Expired(c.Now)); n != 0 {
		t.Errorf("%d queries have expired", n)
	}
	if n := len(s.Expired(c.Now.Add(time.Second))); n != 1 {
		t.Errorf("%d queries have expired", n)
	}
	var none *verified.Set
	if _, ok := none.Match(c, question); ok || len(none.All()) > 0 || len(none.Nearest(c, question)) > 0 {
		t.Error("an empty set has a query")
	}
}

func TestNearest(t *testing.T) {
	s := set(t)
	for question, want := range map[string]string{
		"what was our revenue by country in March 2026": "revenue_in_month",
		"list orders of the best customer in 2026":      "customer_orders",
		"hello there": "",
	} {
		got := ""
		if near := s.Nearest(board(), question); len(near) > 0 {
			got = near[0].Name
		}
		if got != want {
			t.Errorf("%q: %q, want %q", question, got, want)
		}
	}
	var queries []*verified.Query
	for i := range 10 {
		q, err := verified.Parse(fmt.Sprintf("verified/q%d.sql", i), strings.Replace(strings.Replace(revenue,
			"Revenue in {month}", fmt.Sprintf("Revenue %d in {month}", i), 1), "-- roles: finance, board\n", "", 1))
		if err != nil {
			t.Fatal(err)
		}
		queries = append(queries, q)
	}
	_, err := verified.New(queries)
	if err == nil || !strings.Contains(err.Error(), "verified/q9.sql: its wording \"How much did we sell in {month}?\" is "+
		"also one of q8") {
		t.Errorf("ten queries may share a paraphrase: %v", err)
	}
}

func TestVerified(t *testing.T) {
	m, _ := set(t).Match(board(), "Revenue in March 2026")
	got := m.Query.Verified(m.Question)
	want := footnote.Verified{
		Query: "revenue_in_month", Question: "Revenue in March 2026", By: "Ann", On: "2026-11-02",
		Digest: footnote.DigestOf([]byte(strings.TrimSpace(revenue[strings.Index(revenue, "SELECT"):]))),
	}
	if *got != want {
		t.Errorf("%+v, want %+v", *got, want)
	}
}

// TestFaults checks that each mistake is named with its file and line.
func TestFaults(t *testing.T) {
	change := func(old, new string) string {
		if !strings.Contains(revenue, old) {
			t.Fatalf("no %q", old)
		}
		return strings.Replace(revenue, old, new, 1)
	}
	for want, text := range map[string]string{
		"verified/q.sql: its header lacks author":                      change("-- author: Ann\n", ""),
		"verified/q.sql: behind its header must be SQL":                revenue[:strings.Index(revenue, "SELECT")],
		"verified/q.sql:6: the line has a control or invisible":        change("Ann", "A\u202enn"),
		"verified/q.sql: it is not UTF-8":                              change("Ann", "\xff"),
		`verified/q.sql:5: "owner" is not a key`:                       change("source", "owner"),
		"verified/q.sql:7: the date \"2 November\"":                    change("date: 2026-11-02", "date: 2 November"),
		"verified/q.sql:10: it expires before":                         change("2027-11-02", "2025-11-02"),
		"verified/q.sql:6: the header has lines such as":               change("author: Ann", "by Ann"),
		"verified/q.sql:6: source is given twice":                      change("author: Ann", "source: shop"),
		"verified/q.sql:4: the type of the parameter month is \"mon\"": change("month month", "month mon"),
		"verified/q.sql:4: the type of the parameter month is \"one":   change("month month", "month one of"),
		"verified/q.sql:4: the value \"A\" of the":                     change("month month", "month one of a, A"),
		"verified/q.sql:4: the name of the parameter \"Month\"":        change(": month month", ": Month month"),
		"verified/q.sql:1: the wording \"Revenue\" lacks the slot":     change("Revenue in {month}", "Revenue"),
		"verified/q.sql:1: the slot {m} of the":                        change("Revenue in {month}", "Revenue {m}"),
		"verified/q.sql:1: the wording \"In {month\" has a {":          change("Revenue in {month}", "In {month"),
		"verified/q.sql:1: the wording \"In month}\" has a }":          change("Revenue in {month}", "In month}"),
		"verified/q.sql:1: the wording \"{month}\" needs":              change("Revenue in {month}", "{month}"),
		"has the slot {month} twice":                                   change("Revenue in", "{month} in"),
		"verified/q.sql:11: parameter $2 appears":                      change(">= $1", ">= $2"),
		"verified/q.sql:11: its SQL has 0 of":                          strings.ReplaceAll(revenue, "$1", "1"),
		"verified/q.sql:1: the wording has more than":                  change("Revenue", strings.Repeat("x", 600)),
	} {
		_, err := verified.Parse("verified/q.sql", text)
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%v, want %q", err, want)
		}
	}
	if _, err := verified.Parse("verified/My Query.sql", revenue); err == nil {
		t.Error("a name with spaces is accepted")
	}
}

func FuzzMatch(f *testing.F) {
	q, err := verified.Parse("verified/orders_over.sql", orders)
	if err != nil {
		f.Fatal(err)
	}
	s, err := verified.New([]*verified.Query{q})
	if err != nil {
		f.Fatal(err)
	}
	f.Add("How many shipped orders are over 12.5 on 2 November 2026")
	f.Add("“”‚‘ -1 \xff{status}")
	f.Fuzz(func(t *testing.T, question string) {
		if m, ok := s.Match(board(), question); ok && len(m.Args) != 3 {
			t.Errorf("%q: %v", question, m.Args)
		}
		s.Nearest(board(), question)
	})
}

// TestSuggest checks which values of a question become parameters.
func TestSuggest(t *testing.T) {
	for _, c := range []struct{ question, sql, wantQuestion, wantSQL, name string }{
		{"Revenue in March 2026?", "SELECT 1 WHERE day >= '2026-03-01' AND day < '2026-04-01'", "Revenue in {month}?",
			"SELECT 1 WHERE day >= $1 AND day < '2026-04-01'", "revenue_in_march_2026"},
		{"Orders on 2 May 2026 and 3 May 2026", "SELECT 1 WHERE d IN ('2026-05-02', '2026-05-03')",
			"Orders on {date} and {date2}", "SELECT 1 WHERE d IN ($1, $2)", "orders_on_2_may_2026_and_3_may_2026"},
		{"Umsatz 2026", "SELECT '2026' WHERE year = 2026", "Umsatz {year}", "SELECT '2026' WHERE year = $1",
			"umsatz_2026"},
		{"Orders in 2026", "SELECT 1", "Orders in 2026", "SELECT 1", "orders_in_2026"},
		{"Äü {x}  y", "SELECT 1", "Äü {x} y", "SELECT 1", "x_y"},
		{"2026", "SELECT 2026", "{year}", "SELECT $1", "query_2026"},
	} {
		q := verified.Suggest(c.question, c.sql)
		if q.Question != c.wantQuestion || q.SQL != c.wantSQL || q.Name != c.name {
			t.Errorf("%q: %q, %q, %q", c.question, q.Question, q.SQL, q.Name)
		}
	}
}
