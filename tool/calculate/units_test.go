package calculate

import (
	"testing"

	"github.com/footnotehq/footnote"
)

// TestUnits checks which formulas keep the units of their parents' columns.
func TestUnits(t *testing.T) {
	parents := []footnote.StoredResult{
		{Columns: []footnote.Column{{Name: "month"}, {Name: "revenue", Unit: "EUR", Format: "#,##0.00"}, {Name: "n"}}},
		{Columns: []footnote.Column{{Name: "month"}, {Name: "Cost of sales", Unit: "EUR", Format: "#,##0.00"},
			{Name: "weight", Unit: "kg"}}},
		{Columns: []footnote.Column{{Name: "n", Unit: "kg"}}},
	}
	for sql, want := range map[string][]string{
		"SELECT month, a.revenue FROM r1 a":                            {"", "EUR"},
		"select SUM(revenue) AS total, sum(r2.weight) from r1, r2":     {"EUR", "kg"},
		`SELECT revenue - "Cost of sales" AS margin FROM r1 JOIN r2`:   {"EUR"},
		`SELECT round(sum(revenue) - sum("Cost of sales"), 2) FROM r1`: {"EUR"},
		"SELECT a.revenue / b.revenue AS revenue FROM r1 a, r1 b":      {""},
		"SELECT revenue * weight AS revenue FROM r1, r2":               {""},
		"SELECT revenue + weight AS revenue FROM r1, r2":               {""},
		"SELECT revenue + 1 AS revenue FROM r1":                        {""},
		"SELECT -revenue AS x FROM r1":                                 {""},
		"SELECT count(revenue) AS revenue FROM r1":                     {""},
		"SELECT n FROM r1": {""}, // two units
		"SELECT (SELECT count(*) FROM r1) AS revenue, weight FROM r2":  {"", ""},
		"WITH x AS (SELECT 1 AS revenue) SELECT revenue FROM x":        {""},
		"SELECT revenue FROM r1 UNION ALL SELECT n FROM r1":            {""},
		"SELECT 'a, b from ', revenue FROM r1":                         {"", "EUR"},
		"SELECT max(revenue) / sum(revenue) AS revenue, month FROM r1": {"", ""},
		"SELECT sum(revenue) / sum(n) + sum(revenue) AS x FROM r1":     {""},
		"SELECT sum(revenue) - (sum(revenue) - sum(n)) AS x FROM r1":   {""},
		"SELECT CASE WHEN n > 1 THEN revenue END AS revenue FROM r1":   {""},
		"SELECT * FROM r1": {"", ""}, // not as many columns
		"FROM r1":          {""},
	} {
		columns := make([]footnote.Column, len(want))
		label(sql, parents, columns)
		for i, unit := range want {
			if columns[i].Unit != unit || (columns[i].Format != "") != (unit == "EUR") {
				t.Errorf("%s: column %d has %q and %q, want %q", sql, i+1, columns[i].Unit, columns[i].Format, unit)
			}
		}
	}
	columns := make([]footnote.Column, 3)
	if label("SELECT * FROM r1", parents[:1], columns); columns[1].Unit != "EUR" || columns[0].Unit != "" {
		t.Errorf("star: %+v", columns)
	}
}
