package offline_test

import (
	"strings"
	"testing"

	"github.com/footnotehq/footnote/cite"
	"github.com/footnotehq/footnote/model/offline"
	"github.com/footnotehq/footnote/tool"
	"github.com/footnotehq/footnote/tool/search"
)

// searching starts a conversation in which tables of the shop can be searched.
func searching(t *testing.T, tables ...string) *talk {
	t.Helper()
	c := shop(t)
	var list []search.Table
	for _, name := range tables {
		list = append(list, search.Table{
			Source: "shop", Table: name, Key: "id", Title: []string{"name"}, Text: []string{"name"},
		})
	}
	talk := newTalk(t, c, offline.New(offline.Options{Catalog: c}), "shop")
	if len(list) > 0 {
		tl, _, err := search.New(t.Context(), search.Options{Tables: list, Sources: c})
		if err != nil {
			t.Fatal(err)
		}
		talk.tools = append([]tool.Tool{tl}, talk.tools...)
	}
	return talk
}

// TestSearchRequests checks phrases that are searches.
func TestSearchRequests(t *testing.T) {
	for _, q := range []string{
		"search for Chair in products", "Search products for chair", "Please search the products for “chair”",
		"find products about chair?", "Which products mention chair?",
		`look for "chair" in the products`, "search for chair", "find documents about chair",
		"show me all articles about chair.",
	} {
		c := searching(t, "products")
		s := c.ask(q)
		if !strings.Contains(s.sql, "matches") || s.rows == nil || len(s.rows.Rows) == 0 ||
			!strings.Contains(strings.ToLower(s.text), "chair") || !strings.HasPrefix(s.text, "I found ") {
			t.Errorf("%s: %s\n%s", q, s.text, s.sql)
			continue
		}
		var results []cite.Table
		for _, r := range c.results {
			results = append(results, cite.Table{ID: r.ID, SQL: r.SQL, RowCount: r.RowCount, Result: c.rows[r.ID]})
		}
		if len(s.cites) == 0 {
			t.Errorf("%s: no footnote: %s", q, s.text)
		}
		for _, p := range cite.Verify(s.text, s.cites, results) {
			t.Errorf("%s: %s: %+v", q, p.Reason, p.Cite)
		}
	}
	c := searching(t, "products")
	if s := c.ask("search for zeppelin in products"); !strings.Contains(s.text,
		"There is no row of products with “zeppelin”") {
		t.Error(s.text)
	}
	if s := c.ask("How many products are there?"); !strings.Contains(s.text, "**41**") {
		t.Errorf("the question after a search: %s", s.text)
	}
	if s := searching(t, "products", "customers").ask("find documents about Anna"); !strings.Contains(s.text,
		"products, customers") || s.sql != "" {
		t.Errorf("two tables: %s", s.text)
	}
	if s := searching(t, "products", "customers").ask("search for a in customers"); s.rows == nil ||
		len(s.rows.Rows) == 0 {
		t.Errorf("one of two tables: %s", s.text)
	}
}

// TestOtherRequestsAreNoSearch checks that other questions get the same answer with and without the search tool.
func TestOtherRequestsAreNoSearch(t *testing.T) {
	for _, q := range []string{
		"search for customers in Japan", "find customers in Norway", "show orders over 2000 euros",
		"which products are the most expensive?", "show me all products",
	} {
		with, without := searching(t, "products").ask(q), searching(t).ask(q)
		if with.text != without.text || with.sql != without.sql {
			t.Errorf("%s: %s\nwithout the tool: %s", q, with.text, without.text)
		}
	}
	if s := searching(t).ask("search for chair in products"); strings.HasPrefix(s.text, "I found") {
		t.Errorf("without the tool: %s", s.text)
	}
}
