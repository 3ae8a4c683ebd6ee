package offline_test

import (
	"strings"
	"testing"
)

// vendas creates an export with Portuguese headings.
func vendas(t *testing.T) catalog {
	return makeSource(t, "vendas",
		`CREATE TABLE vendas ("Dia" TEXT, "Loja" TEXT, "Vendedor" TEXT, "Quantidade" INTEGER, "Valor Total" REAL, `+
			`"Pago" TEXT)`,
		`INSERT INTO vendas VALUES ('2025-04-02', 'Porto', 'Ana', 2, 100, 'sim'), ('2025-04-30', 'Braga', 'Rui', 9, 40.5, 'sim'),
		('2025-05-06', 'Porto', 'Rui', 1, 80, 'nao'), ('2025-05-07', 'Porto', 'Ana', 4, 10, 'sim')`)
}

func TestShortQuestions(t *testing.T) {
	c := vendas(t)
	for q, gold := range map[string]string{
		"total sales by store":         `SELECT Loja, SUM("Valor Total") FROM vendas GROUP BY 1`,
		"who sold the most?":           ``,
		"best month":                   ``,
		"sales yesterday":              `SELECT 80.0`,
		"sales today":                  `SELECT 10.0`,
		"compare this month with last": ``,
		"total sales by shelf":         ``, // an unknown grouping is never ignored
		"total sales per stay":         ``,
	} {
		checkSame(t, c, "vendas", gold, q)
	}
}

func TestMethodWorstAndOpen(t *testing.T) {
	c := makeSource(t, "hops",
		`CREATE TABLE hops (hop_no TEXT, dep_date TEXT, origin TEXT, destination TEXT, passengers INTEGER, delay_min `+
			`INTEGER, airline TEXT)`,
		`INSERT INTO hops VALUES ('H1', '2025-01-03', 'LIS', 'FRA', 120, 5, 'Tip'), ('H2', '2025-01-04', 'OPO', `+
			`'LIS', 99, 90, 'Tap'), ('H3', '2025-01-05', 'FRA', 'OPO', 80, 2, 'Tip')`)
	for q, gold := range map[string]string{
		"passengers from LIS":                   ``, // the question does not say whether it means the origin or the destination
		"how many hops with destination LIS":    `SELECT 1`,
		"which airline has the worst delays":    `SELECT 'Tap', 90`,
		"hops by LIS":                           ``,
		"which airline has the most passengers": `SELECT 'Tip', 200`,
	} {
		checkSame(t, c, "hops", gold, q)
	}
	d := makeSource(t, "desk",
		`CREATE TABLE tickets ("Ticket #" INTEGER, "Opened" TEXT, "Customer" TEXT, "Resolved?" TEXT)`,
		`INSERT INTO tickets VALUES (1, '2025-01-01', 'Acme', 'yes'), (2, '2025-01-02', 'Bolt', 'no'), (3, `+
			`'2025-01-02', 'Bolt', 'no')`)
	checkSame(t, d, "desk", `SELECT 2`, "how many open tickets")
	checkSame(t, d, "desk", `SELECT 2`, "open tickets")
}

func TestNamesWithoutLetters(t *testing.T) {
	c := makeSource(t, "odd", `CREATE TABLE "--" ("?" TEXT, "…" INTEGER, "(x)" REAL, "#" INTEGER)`,
		`INSERT INTO "--" VALUES ('a', 0, 1.5, 1), ('b', 1, 2.5, 2), ('b', 1, 2, 3)`)
	for q, gold := range map[string]string{
		"how many rows":      `SELECT 3`,
		"average x":          `SELECT 2.0`,
		"what is the value?": ``,
		"hello":              ``,
	} {
		checkSame(t, c, "odd", gold, q)
	}
}

func TestHelpAndUnsupportedComputations(t *testing.T) {
	c := vendas(t)
	for q, want := range map[string]string{
		"help":         "I answer simple questions",
		"help please!": "I answer simple questions",
		"correlation between quantity and total value": "I can't calculate correlations",
	} {
		s := checkSame(t, c, "vendas", "", q)
		if !strings.Contains(s.text, want) || strings.Count(s.text, "\n- ") != 3 {
			t.Errorf("%q: want %q and three questions to ask, got %s", q, want, s.text)
		}
	}
}
