package offline_test

import (
	"strings"
	"testing"

	"github.com/footnotehq/footnote/model/offline"
)

// TestPinnedTables checks that a table named beside the question is used if the question names none, and does not
// affect a question about something else.
func TestPinnedTables(t *testing.T) {
	c := shop(t)
	for _, g := range []struct{ before, question, context, from, want string }{
		{"", "How many?", "The user means this table: shop.customers.", "customers", "140"},
		{"How many orders are there?", "how many?", "The user means this table: shop.customers.", "customers", "140"},
		{"", "How many are there?", "The user means these tables: shop.order_items, shop.orders.", "order_items", ""},
		{"", "How many orders are there?", "The user means this table: shop.orders.", "orders", "846"},
		{"", "How many orders are there?", "The user means this table: shop.nowhere.", "orders", "846"},
		{"", "How many orders are there?", "The user means this table: elsewhere.customers.", "orders", "846"},
		{"", "average order value", "The user means this table: shop.customers.", "orders", ""},
	} {
		k := newTalk(t, c, offline.New(offline.Options{Catalog: c}), "shop")
		if g.before != "" {
			k.ask(g.before)
		}
		s := k.askWith(g.question, g.context)
		if !strings.Contains(strings.ToLower(s.sql)+" ", "from "+g.from+" ") &&
			!strings.Contains(strings.ToLower(s.sql), `from "`+g.from+`"`) || !strings.Contains(s.text, g.want) {
			t.Errorf("%q with %q\nsql  %s\ntext %s", g.question, g.context, s.sql, s.text)
		}
	}
}

// TestTruncatedTablesSayWhichRowsTheyShow checks the text below a table that does not show all rows.
func TestTruncatedTablesSayWhichRowsTheyShow(t *testing.T) {
	c := shop(t)
	p := offline.New(offline.Options{Catalog: c})
	for question, want := range map[string]string{
		"revenue by month":         "_Showing the last 12 of 18 rows._",
		"orders by city":           "_Showing the first 12 of ",
		"revenue by month in 2026": "",
	} {
		s := newTalk(t, c, p, "shop").ask(question)
		if has := strings.Contains(s.text, "_Showing the"); has != (want != "") || !strings.Contains(s.text, want) {
			t.Errorf("%s\n%s\nwant %q", question, s.text, want)
		}
	}
}
