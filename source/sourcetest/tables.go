package sourcetest

import (
	"slices"
	"testing"

	"github.com/footnotehq/footnote"
	"github.com/footnotehq/footnote/source"
)

// tables checks which tables a source reports as read by a statement.
func (s suite) tables(t *testing.T) {
	src, _ := s.open(t)
	view := append(slices.Clone(s.behindView), "revenue")
	for sql, want := range map[string][]string{
		"SELECT 1": nil,
		`SELECT name FROM customers c, "order lines" AS l WHERE c.id = l.line`: {
			"customers", "order lines",
		},
		"WITH orders AS (SELECT id FROM customers), big AS (SELECT id FROM orders) SELECT id FROM big": {
			"customers",
		},
		"WITH RECURSIVE customers(n) AS (SELECT 1 UNION ALL SELECT n + 1 FROM customers WHERE n < 3) SELECT n FROM " +
			"customers": nil,
		"SELECT id FROM customers UNION ALL SELECT id FROM orders": {
			"customers", "orders",
		},
		"SELECT count(*) FROM orders":                                           {"orders"},
		"SELECT id FROM customers WHERE id IN (SELECT customer_id FROM orders)": {"customers", "orders"},
		"SELECT id FROM customers JOIN orders USING (id)":                       {"customers", "orders"},
		"SELECT 'from orders' AS x FROM customers -- join orders":               {"customers"},
		"SELECT total FROM revenue":                                             view,
	} {
		ctx, ran := footnote.WithStatements(t.Context())
		_, _, err := source.Collect(ctx, src, source.Query{SQL: sql})
		noted := ran.All()
		if err != nil || len(noted) != 1 {
			t.Errorf("%s: %v, noted %+v", sql, err, noted)
			continue
		}
		got := slices.Sorted(slices.Values(noted[0].Tables))
		if !slices.Equal(got, want) || noted[0].Outcome != footnote.StatementExecuted || noted[0].SQL != sql {
			t.Errorf("%s: reads %q (%s), want %q", sql, got, noted[0].Outcome, want)
		}
	}
	for sql, want := range map[string]string{
		"DELETE FROM customers":              footnote.StatementRefused,
		"SELECT nothing FROM customers":      footnote.StatementFailed,
		"SELECT id FROM nowhere_to_be_found": "",
	} {
		ctx, ran := footnote.WithStatements(t.Context())
		_, _, _ = source.Collect(ctx, src, source.Query{SQL: sql}) // the outcome is in the record
		noted := ran.All()
		if len(noted) != 1 || want != "" && noted[0].Outcome != want || noted[0].Outcome == footnote.StatementExecuted {
			t.Errorf("%s: %+v, want %s", sql, noted, want)
		}
	}
	ctx, ran := footnote.WithStatements(t.Context())
	_, _, _ = source.Collect(ctx, src, source.Query{SQL: "SELECT id FROM customers", Limits: source.Limits{Rows: 1}})
	_, _, _ = source.Collect(ctx, src, source.Query{SQL: s.common(t, "endless"), Limits: source.Limits{Time: 1}})
	if noted := ran.All(); len(noted) != 2 || noted[0].Outcome != footnote.StatementTruncated ||
		noted[0].RowCount != 1 ||
		noted[1].Outcome != footnote.StatementTimedOut && noted[1].Outcome != footnote.StatementLimited {
		t.Errorf("at limits: %+v", noted)
	}
}
