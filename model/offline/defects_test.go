package offline_test

import (
	"strings"
	"testing"

	"github.com/footnotehq/footnote/model/offline"
)

const sales = "SUM(i.quantity * i.unit_price)"

// A question about how much a figure changed is declined and never read as a sum.
func TestChangeIsDeclined(t *testing.T) {
	c := shop(t)
	for _, q := range []string{
		"difference in revenue between 2025 and 2026", "how much did revenue grow from September to October",
		"how much did revenue drop in July 2026", "revenue growth from 2025 to 2026",
		"did the number of orders increase from 2025 to 2026?",
		"how much has revenue risen from last month to this month",
		"how much did revenue grow", "how much did revenue fall between web and mobile", "running total of revenue",
		"month over month growth of orders", "change in revenue between 2025 and 2026",
	} {
		checkSame(t, c, "shop", "", q)
	}
	checkSame(t, c, "shop", "", "Revenue by year", "difference between 2025 and 2026")
}

// A day or month without a year means the newest one in the data.
func TestDatesWithoutYear(t *testing.T) {
	c := shop(t)
	since := "SELECT COUNT(*) FROM orders WHERE ordered_at >= '2026-10-01'"
	for q, gold := range map[string]string{
		"orders since 1 October":          since,
		"orders since October":            since,
		"orders since October 1st":        "",
		"orders from 1 October onwards":   "",
		"orders before 3 June":            "SELECT COUNT(*) FROM orders WHERE ordered_at < '2026-06-03'",
		"orders after 15 December":        "SELECT COUNT(*) FROM orders WHERE ordered_at >= '2025-12-16'",
		"orders on 5 October":             "SELECT COUNT(*) FROM orders WHERE ordered_at LIKE '2026-10-05%'",
		"orders since 31 February":        "",
		"orders between 1 May and 3 June": "",
	} {
		checkSame(t, c, "shop", gold, q)
	}
}

// Best selling can mean the most pieces or the most revenue.
func TestBestNeedsAFigure(t *testing.T) {
	c := shop(t)
	for q, gold := range map[string]string{
		"best selling 3 products":               "",
		"what are the top 3 most sold products": "",
		"worst selling product":                 "",
		"best product":                          "",
		"3 best selling products by revenue": "SELECT p.name, " + sales + lines +
			"GROUP BY p.id ORDER BY 2 DESC LIMIT 3",
		"who brought more revenue, Germany or France": "SELECT c.country, " + sales + lines +
			"WHERE c.country IN ('Germany', 'France') GROUP BY 1",
		"who brought more, Germany or France?": "",
		"who had more orders, Germany or France": "SELECT c.country, COUNT(*) FROM orders o JOIN customers c ON " +
			"c.id = o.customer_id WHERE c.country IN ('Germany', 'France') GROUP BY 1",
	} {
		checkSame(t, c, "shop", gold, q)
	}
}

// A complete question does not continue the previous one.
func TestCompleteQuestionsAreNotFollowUps(t *testing.T) {
	c := shop(t)
	top := "SELECT c.name, " + sales + lines + "GROUP BY c.id ORDER BY 2 DESC LIMIT 5"
	checkSame(t, c, "shop", top, "Revenue by month", "Top five customers by revenue")
	checkSame(t, c, "shop", "SELECT status, COUNT(*) FROM orders GROUP BY 1", "Revenue in Germany", "Orders by status")
	checkSame(t, c, "shop", "SELECT p.category, "+sales+lines+"GROUP BY 1 ORDER BY 2 DESC LIMIT 2",
		"Revenue by category",
		"top 2")
}

// twice creates a file in which two columns have the same name.
func twice(t *testing.T) catalog {
	return makeSource(t, "twice",
		`CREATE TABLE twice (filiale TEXT, umsatz REAL, umsatz_2 REAL, status TEXT, total REAL)`,
		`INSERT INTO twice VALUES ('Graz', 1.5, 2.5, 'offen', 3), ('Linz', 2.5, 3.5, 'zu', 4), ('Wels', 1.5, 1.5, `+
			`'zu', 5), ('Graz', 7.5, 0.5, 'offen', 6)`)
}

// A column that is compared with a number is not also added up.
func TestComparedColumnsAreNotFigures(t *testing.T) {
	c := twice(t)
	for q, gold := range map[string]string{
		"rows with umsatz 2 over 2":          "SELECT COUNT(*) FROM twice WHERE umsatz_2 > 2",
		"total umsatz 2 by filiale":          "SELECT filiale, SUM(umsatz_2) FROM twice GROUP BY 1",
		"how many rows have umsatz 2 over 2": "SELECT COUNT(*) FROM twice WHERE umsatz_2 > 2",
	} {
		checkSame(t, c, "twice", gold, q)
	}
	// no word stands before the column
	newTalk(t, c, offline.New(offline.Options{Catalog: c}), "twice").ask("umsatz 2 over 2")
	hints, err := offline.New(offline.Options{Catalog: c}).Suggest(t.Context(), "twice", 16)
	if err != nil {
		t.Fatal(err)
	}
	if all := strings.Join(hints, "\n"); strings.Contains(all, "Total total") ||
		!strings.Contains(all, "Sum of total by status") {
		t.Errorf("suggestions:\n%s", all)
	}
}
