package offline_test

import (
	"strings"
	"testing"

	"github.com/footnotehq/footnote/cite"
	knowledge "github.com/footnotehq/footnote/knowledge/verified"
	"github.com/footnotehq/footnote/model/offline"
	"github.com/footnotehq/footnote/tool"
	"github.com/footnotehq/footnote/tool/verified"
)

// verifying starts a conversation about the shop with verified queries, each a wording and its SQL.
func verifying(t *testing.T, texts map[string]string) *talk {
	t.Helper()
	c := shop(t)
	var queries []*knowledge.Query
	for name, text := range texts {
		text = "-- source: shop\n-- author: Ann\n-- date: 2026-11-02\n" + text
		q, err := knowledge.Parse("verified/"+name+".sql", text)
		if err != nil {
			t.Fatal(err)
		}
		queries = append(queries, q)
	}
	set, err := knowledge.New(queries)
	if err != nil {
		t.Fatal(err)
	}
	current := func() *knowledge.Set { return set }
	talk := newTalk(t, c, offline.New(offline.Options{Catalog: c, Verified: current}), "shop")
	talk.tools = append([]tool.Tool{verified.New(verified.Options{Queries: current, Sources: c})}, talk.tools...)
	return talk
}

// TestVerified checks that a wording of a verified query is answered with its rows, and any other question by rules.
func TestVerified(t *testing.T) {
	texts := map[string]string{
		"books": "-- question: Booked volume in {month}\n-- parameter: month month\n" +
			"SELECT round(sum(total), 2) AS booked, count(*) AS n FROM orders\n" +
			"WHERE ordered_at >= $1 AND ordered_at < date($1, '+1 month')",
		"one":  "-- question: Our magic figure\nSELECT round(avg(total), 2) AS figure FROM orders",
		"euro": "-- question: Our magic amount\nSELECT round(sum(total), 2) AS amount_eur FROM orders",
		"table": "-- question: Channels of the shop\n" +
			"SELECT channel, sum(total) AS booked FROM orders GROUP BY 1 ORDER BY 1",
		"none":  "-- question: Lost orders\nSELECT id FROM orders WHERE id < 0",
		"wrong": "-- question: How many customers are there?\nSELECT nothing FROM customers",
	}
	for question, want := range map[string]string{
		"booked volume in March 2026?":    "Booked volume in March 2026: booked **",
		"Our magic amount?":               "Our magic amount: **€",
		"OUR MAGIC FIGURE":                "Our magic figure: **",
		"Channels of the shop":            "Channels of the shop: 3 rows.\n\n| channel | booked |",
		"lost orders":                     "Lost orders: no rows match.",
		"How many customers are there?":   "There are **", // the query fails, so the rules answer
		"How many orders are there?":      "There are **",
		"booked volume in March 2026 net": "",
	} {
		c := verifying(t, texts)
		s := c.ask(question)
		if !strings.HasPrefix(s.text, want) || want == "" && strings.Contains(s.text, "Booked volume in") {
			t.Errorf("%s: %s", question, s.text)
		}
		var results []cite.Table
		for _, r := range c.results {
			results = append(results, cite.Table{ID: r.ID, SQL: r.SQL, RowCount: r.RowCount, Result: c.rows[r.ID]})
		}
		for _, p := range cite.Verify(s.text, s.cites, results) {
			t.Errorf("%s: %s: %+v", question, p.Reason, p.Cite)
		}
		if _, open := cite.Resolve(s.text, results, question); want != "" && len(open) > 0 {
			t.Errorf("%s: %+v", question, open)
		}
	}
}
