package offline_test

import (
	"strings"
	"testing"
)

// concerts creates a list with a running number, percent signs in headings and no names.
func concerts(t *testing.T) catalog {
	return makeSource(t, "concerts",
		`CREATE TABLE concerts ("Concert #" INTEGER, "Held on" TEXT, "Hall" TEXT, "Tickets sold" INTEGER, "Capacity" `+
			`INTEGER, "Sell-through (%)" REAL, "Avg. price $" REAL, "Refund %" REAL)`,
		`INSERT INTO concerts VALUES (101, '2025-01-04', 'North', 90, 100, 90, 55, 0), (102, '2025-02-08', 'North', 120, 400, 30, 20, 4.5), (103, '2025-04-01', 'South', 300, 1500, 20, 12.5, 3),
		(104, '2025-05-06', 'South', 250, 250, 100, 30, 0), (105, '2025-05-09', 'North', 10, 40, 25, 18, 6)`)
}

// A percent sign after a number is its unit and does not ask for a share. Percentages are not added up, whatever else
// the heading says. "Biggest" does not rank by price.
func TestPercentSignsInHeadings(t *testing.T) {
	c := concerts(t)
	for q, gold := range map[string]string{
		"how many concerts had a refund over 3%?":           `SELECT 2`,
		"how many concerts with a sell-through below 50 %?": `SELECT 3`,
		"how many concerts have a refund of 0%?":            `SELECT 2`,
		"what percentage of concerts had a refund over 3%?": `SELECT 40.0`,
		"sell-through by hall": `SELECT Hall, AVG("Sell-through (%)") ` +
			`FROM concerts GROUP BY 1`,
		"which hall has the lowest refund?":                                 `SELECT 'South', 1.5`,
		"total sell-through":                                                ``,
		"what is 10% of the tickets sold?":                                  ``,
		"how many concerts with capacity over 200 and no refund are there?": `SELECT 1`,
		"how many concerts without refund?":                                 `SELECT 2`,
		"how many tickets were not sold?":                                   ``,
		"biggest concert":                                                   `SELECT 103, 1500`,
		"which concert had the most tickets sold?":                          `SELECT 103, 300`,
	} {
		checkSame(t, c, "concerts", gold, q)
	}
}

// TestUnnamedRow checks that a figure of a row without a name is not presented as its name.
func TestUnnamedRow(t *testing.T) {
	c := makeSource(t, "runs", `CREATE TABLE runs (held TEXT, hall TEXT, visitors INTEGER)`,
		`INSERT INTO runs VALUES ('2025-01-04', 'North', 1295), ('2025-01-05', 'North', 40), ('2025-01-05', 'South', `+
			`41)`)
	s := checkSame(t, c, "runs", `SELECT visitors, held, hall FROM runs WHERE visitors = 1295`,
		"which run had the most visitors?")
	if strings.Contains(s.text, "It is") ||
		!strings.Contains(s.text, "There is 1 run.") {
		t.Error(s.text)
	}
}

// TestGermanNumberOfRows checks that the rows of a file are named by the heading of their running number.
func TestGermanNumberOfRows(t *testing.T) {
	c := makeSource(t, "werkstatt",
		`CREATE TABLE "werkstatt_aufträge_2025" ("Auftrags-Nr." INTEGER, "Datum Eingang" TEXT, "Rabatt %" REAL, `+
			`"Netto €" REAL)`,
		`INSERT INTO "werkstatt_aufträge_2025" VALUES (1001, '2025-02-03', 0, 100), (1002, '2025-02-04', 12.5, 300), `+
			`(1003, '2025-03-01', 5, 300)`)
	for q, gold := range map[string]string{
		"how many orders were there in February 2025?": `SELECT 2`,
		"how many orders have a rabatt over 4 %?":      `SELECT 2`,
		"which order had the highest netto?": `SELECT "Auftrags-Nr.", "Netto €" FROM ` +
			`"werkstatt_aufträge_2025" WHERE "Netto €" = 300`,
	} {
		checkSame(t, c, "werkstatt", gold, q)
	}
}
