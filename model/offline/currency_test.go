package offline_test

import (
	"strings"
	"testing"

	"github.com/footnotehq/footnote/model/offline"
)

// An amount has the currency that its column or a column beside it names, and no other.
func TestCurrencyOfAmounts(t *testing.T) {
	c := makeSource(t, "books",
		`CREATE TABLE invoices (id INTEGER PRIMARY KEY, city TEXT, amount_inr REAL)`,
		`INSERT INTO invoices VALUES (1, 'Pune', 1200.5), (2, 'Pune', 99.25), (3, 'Goa', 10)`,
		`CREATE TABLE payments (id INTEGER PRIMARY KEY, amount REAL, quantity INTEGER, currency TEXT NOT NULL)`,
		`INSERT INTO payments VALUES (1, 1000, 2, 'JPY'), (2, 2500.25, 3, 'JPY')`,
		`CREATE TABLE donations (id INTEGER PRIMARY KEY, amount REAL, currency TEXT NOT NULL, day DATE, city TEXT)`,
		`INSERT INTO donations VALUES (1, 1000, 'EUR', '2026-01-05', 'Pune'), (2, 2500.5, 'USD', '2026-01-06', 'Goa'),
			(3, 0.35, 'USD', '2026-02-07', 'Goa')`,
		`CREATE TABLE refunds (id INTEGER PRIMARY KEY, amount REAL)`,
		`INSERT INTO refunds VALUES (1, 5.5)`,
	)
	for _, q := range []struct{ question, want, column string }{
		{"total amount of invoices", "is **₹1,309.75**", "total_amount_inr"},
		{"amount of invoices by city", "| Pune | ₹1,299.75 |", "total_amount_inr"},
		{"total amount of payments", "is **¥3,500**", "total_amount_jpy"},
		{"total quantity of payments", "is **5**", "total_quantity"},
		{"number of payments", "**2**", "number_of_payments"},
		{"total amount of donations", "Total amount in each currency:\n\n| currency | total amount |", "total_amount"},
		{"total amount of donations", "| USD | $2,500.85 |", "total_amount"},
		{"which currency has the highest amount of donations", "**USD**: total amount $2,500.85.", "total_amount"},
		{"average amount of donations per month", "| 2026-01 | EUR | €1,000.00 |", "average_amount"},
		{"share of amount of donations by city", "amounts in several currencies, taken as one",
			"share_of_total_amount_percent"},
		{"total amount of donations in USD", "is **$2,500.85**", "total_amount_usd"},
		{"amount of donations by currency", "| EUR | €1,000.00 |", "total_amount"},
		{"total amount of refunds", "is **5.50**", "total_amount"},
	} {
		s := newTalk(t, c, offline.New(offline.Options{Catalog: c}), "books").ask(q.question)
		if !strings.Contains(s.text, q.want) || s.rows == nil {
			t.Errorf("%q: want %s, got %s", q.question, q.want, s.text)
		} else if got := s.rows.Columns[len(s.rows.Columns)-1].Name; got != q.column {
			t.Errorf("%q: the column is %s, want %s", q.question, got, q.column)
		}
	}
}
