package offline_test

import (
	"context"
	"strings"
	"testing"

	"github.com/footnotehq/footnote/model/offline"
)

// TestMetrics checks that a question that names a metric runs its expression, in its splits too, and that a metric over
// several tables or with several aggregates is declined, and one with the name of a table or column changes nothing.
func TestMetrics(t *testing.T) {
	c := shop(t)
	metrics := []offline.Metric{
		{Name: "kept_value", Synonyms: []string{"safe money"}, Unit: "EUR",
			Expression: "SUM(CASE WHEN orders.status <> 'cancelled' THEN orders.total END)"},
		{Name: "mixture", Expression: "SUM(orders.total * products.price)"},
		{Name: "ratio thing", Expression: "SUM(orders.total) / COUNT(*)"},
		{Name: "broken one", Expression: "SUM(orders.total) + (SUM(orders.total)"},
		{Name: "status", Expression: "SUM(orders.id + 1)"},
		{Name: "cancelled total", Expression: "SUM(orders.total * products.price)"},
		{Name: "orders", Expression: "COUNT(DISTINCT orders.id)"},
	}
	planner := offline.New(offline.Options{
		Catalog: c, Metrics: func(context.Context) []offline.Metric { return metrics },
	})
	for question, want := range map[string]string{
		"kept value by channel":         `SUM((CASE WHEN orders.status <> 'cancelled' THEN orders.total END)) AS "kept_value"`,
		"safe money in March 2026":      `AS "kept_value"`,
		"top 3 customers by kept value": `ORDER BY "kept_value" DESC`,
		"average kept value":            `AVG((CASE WHEN orders.status <> 'cancelled'`,
		"orders by status":              `COUNT(*)`,
	} {
		talk := newTalk(t, c, planner, "shop")
		if got := talk.ask(question); !strings.Contains(got.sql, want) || got.rows == nil {
			t.Errorf("%s: %s\n%s", question, got.sql, got.text)
		}
	}
	for _, question := range []string{"mixture by month", "ratio thing by channel", "broken one by channel",
		"cancelled totals by channel"} {
		talk := newTalk(t, c, planner, "shop")
		if got := talk.ask(question); got.sql != "" || !strings.Contains(got.text, "your company has defined") {
			t.Errorf("%s: %s\n%s", question, got.sql, got.text)
		}
	}
}
