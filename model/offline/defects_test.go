package offline_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/footnotehq/footnote/model/offline"
)

const sales = "SUM(i.quantity * i.unit_price)"

func in(period string) string {
	return "SUM(CASE WHEN o.ordered_at LIKE '" + period + "%' THEN i.quantity * i.unit_price ELSE 0 END)"
}

// The answer to how much a figure changed between two periods has both figures and the difference. Without two periods,
// the question is declined and never read as a sum.
func TestChangeBetweenTwoPeriods(t *testing.T) {
	c := shop(t)
	change := func(from, to string) string {
		return fmt.Sprintf("SELECT %[1]s, %[2]s, %[2]s - %[1]s, 100.0 * (%[2]s - %[1]s) / %[1]s"+lines, in(from),
			in(to))
	}
	orders := "SELECT SUM(ordered_at LIKE '2025%'), SUM(ordered_at LIKE '2026%'), SUM(ordered_at LIKE '2026%') - " +
		"SUM(ordered_at LIKE '2025%'), 100.0 * (SUM(ordered_at LIKE '2026%') - SUM(ordered_at LIKE '2025%')) / " +
		"SUM(ordered_at LIKE '2025%') FROM orders"
	for q, gold := range map[string]string{
		"difference in revenue between 2025 and 2026":                    change("2025", "2026"),
		"how much did revenue grow from September to October":            change("2026-09", "2026-10"),
		"by how much did revenue fall from March 2026 to February 2026?": change("2026-03", "2026-02"),
		"how much did revenue drop in July 2026":                         change("2026-06", "2026-07"),
		"revenue growth from 2025 to 2026":                               change("2025", "2026"),
		"did the number of orders increase from 2025 to 2026?":           orders,
		"how much has revenue risen from last month to this month":       change("2026-09", "2026-10"),
		"how much did revenue grow":                                      "",
		"how much did revenue grow from 2024 to 2025":                    "",
		"difference in median order total between 2025 and 2026":         "",
		"how much did revenue fall between web and mobile":               "",
		"how much did revenue grow from September to October by category": "SELECT p.category, " + in("2026-09") +
			", " + in("2026-10") + ", " + in("2026-10") + " - " + in("2026-09") + lines +
			" WHERE o.ordered_at >= '2026-09' AND o.ordered_at < '2026-11' GROUP BY 1",
	} {
		checkSame(t, c, "shop", gold, q)
	}
	checkSame(t, c, "shop", change("2025", "2026"), "Revenue by year", "difference between 2025 and 2026")
	checkSame(t, c, "shop", "", "revenue growth by month", "by country")
	if s := checkSame(t, c, "shop", change("2026-09", "2026-10"),
		"how much did revenue fall from September to October"); !strings.Contains(s.text,
		"It did not fall. Revenue rose from") {
		t.Errorf("the answer does not say that the figure rose: %s", s.text)
	}
}

// A day or month without a year means the newest one in the data.
func TestDatesWithoutYear(t *testing.T) {
	c := shop(t)
	since := "SELECT COUNT(*) FROM orders WHERE ordered_at >= '2026-10-01'"
	for q, gold := range map[string]string{
		"orders since 1 October":          since,
		"orders since October":            since,
		"orders since October 1st":        since,
		"orders from 1 October onwards":   since,
		"orders before 3 June":            "SELECT COUNT(*) FROM orders WHERE ordered_at < '2026-06-03'",
		"orders after 15 December":        "SELECT COUNT(*) FROM orders WHERE ordered_at >= '2025-12-16'",
		"orders on 5 October":             "SELECT COUNT(*) FROM orders WHERE ordered_at LIKE '2026-10-05%'",
		"orders since 31 February":        "",
		"orders between 1 May and 3 June": "",
	} {
		checkSame(t, c, "shop", gold, q)
	}
}

func TestBestSellingRanksByPieces(t *testing.T) {
	c := shop(t)
	top := "SELECT p.name, SUM(i.quantity)" + lines + "GROUP BY p.id ORDER BY 2 DESC LIMIT 3"
	for q, gold := range map[string]string{
		"best selling 3":                        top,
		"best selling 3 products":               top,
		"top 3 best sellers":                    top,
		"what are the top 3 most sold products": top,
		"worst selling product": "SELECT p.name, SUM(i.quantity)" + lines +
			"GROUP BY p.id ORDER BY 2 LIMIT 1",
		"best selling category in 2026": "SELECT p.category, SUM(i.quantity)" + lines +
			"WHERE o.ordered_at LIKE '2026%' GROUP BY 1 ORDER BY 2 DESC LIMIT 1",
		"3 best selling products by revenue": "SELECT p.name, " + sales + lines +
			"GROUP BY p.id ORDER BY 2 DESC LIMIT 3",
		"best product": "",
		"who brought more revenue, Germany or France": "SELECT c.country, " + sales + lines +
			"WHERE c.country IN ('Germany', 'France') GROUP BY 1",
		"who brought more, Germany or France?": "SELECT c.country, " + sales + lines +
			"WHERE c.country IN ('Germany', 'France') GROUP BY 1",
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
