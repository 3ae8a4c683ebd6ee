package offline_test

import (
	"database/sql"
	"fmt"
	"path/filepath"
	"testing"
)

// clinic creates a database with a flag called paid, a fee of visits as the only money, and prescriptions that only a
// verb names.
func clinic(t testing.TB) catalog {
	t.Helper()
	path := filepath.Join(t.TempDir(), "clinic.db")
	db, err := sql.Open("sqlite", "file:"+path)
	if err != nil {
		t.Fatal(err)
	}
	defer db.Close()
	stmts := []string{
		`CREATE TABLE owners (id INTEGER PRIMARY KEY, full_name TEXT, city TEXT)`,
		`CREATE TABLE pets (id INTEGER PRIMARY KEY, name TEXT, species TEXT, weight_kg REAL, owner_id INTEGER ` +
			`REFERENCES owners(id))`,
		`CREATE TABLE visits (id INTEGER PRIMARY KEY, pet_id INTEGER REFERENCES pets(id), visited_on DATE, reason ` +
			`TEXT, fee NUMERIC, paid INTEGER)`,
		`CREATE TABLE prescriptions (id INTEGER PRIMARY KEY, visit_id INTEGER REFERENCES visits(id), drug TEXT, ` +
			`dose_mg REAL)`,
	}
	for i := range 8 {
		stmts = append(stmts,
			fmt.Sprintf(`INSERT INTO owners VALUES (%d, 'Owner %c', '%s')`, i+1, 'A'+i,
				[]string{"Porto", "Braga", "Faro"}[i%3]))
	}
	for i := range 14 {
		stmts = append(stmts,
			fmt.Sprintf(`INSERT INTO pets VALUES (%d, 'Pet %c', '%s', %d.5, %d)`, i+1, 'A'+i,
				[]string{"dog", "cat", "rabbit"}[i*7%3], 3+i*5%17, i%8+1))
	}
	for i := range 90 {
		stmts = append(stmts, fmt.Sprintf(`INSERT INTO visits VALUES (%d, %d, '2024-%02d-%02d', '%s', %d.25, %d)`,
			i+1, i*i%14+1, 1+i/8, 1+i*5%27, []string{"checkup", "surgery", "dental"}[i*i%7%3], 20+i*37%230,
			min(1, i%5)))
	}
	for i := range 40 {
		stmts = append(stmts,
			fmt.Sprintf(`INSERT INTO prescriptions VALUES (%d, %d, '%s', %d)`, i+1, i*2+1,
				[]string{"meloxicam", "ivermectin", "gabapentin"}[i*i%5%3], 5+i%4*5))
	}
	for _, q := range stmts {
		if _, err := db.Exec(q); err != nil {
			t.Fatal(err)
		}
	}
	return catalog{"clinic": open(t, "clinic", path)}
}

func TestFlagCalledPaid(t *testing.T) {
	c := clinic(t)
	const no = "SELECT COUNT(*) FROM visits WHERE paid = 0"
	for _, q := range []string{
		"How many visits have not been paid?", "how many unpaid visits are there?",
		"number of visits that are not paid",
	} {
		checkSame(t, c, "clinic", no, q)
	}
	checkSame(t, c, "clinic",
		"SELECT o.city, COUNT(*) FROM visits v JOIN pets p ON p.id = v.pet_id JOIN owners o ON o.id = p.owner_id "+
			"WHERE paid = 0 GROUP BY 1", "unpaid visits by owner city")
}

func TestRanksColumnWithoutTable(t *testing.T) {
	c := clinic(t)
	for _, q := range []string{"What is the heaviest dog?", "which drug is prescribed most often"} {
		checkSame(t, c, "clinic", "", q)
	}
	checkSame(t, c, "clinic",
		"SELECT strftime('%Y-%m', visited_on), SUM(fee) FROM visits GROUP BY 1 ORDER BY 2 DESC LIMIT 1",
		"the month with the highest fees")
}

func TestExpensesAreNotRevenue(t *testing.T) {
	path := filepath.Join(t.TempDir(), "reisekosten.db")
	db, err := sql.Open("sqlite", "file:"+path)
	if err != nil {
		t.Fatal(err)
	}
	defer db.Close()
	stmts := []string{
		`CREATE TABLE reisekosten (datum DATE, beleg TEXT, mitarbeiter TEXT, betrag NUMERIC, status TEXT)`,
	}
	for i := range 30 {
		stmts = append(stmts,
			fmt.Sprintf(`INSERT INTO reisekosten VALUES ('2025-%02d-11', 'R-%d', '%s', %d.75, '%s')`, 1+i/4, 100+i,
				[]string{"Anna", "Tom", "Mia"}[i*i%7%3], 20+i*37%230, []string{"genehmigt", "offen"}[i*i%5%2]))
	}
	for _, q := range stmts {
		if _, err := db.Exec(q); err != nil {
			t.Fatal(err)
		}
	}
	c := catalog{"reisekosten": open(t, "reisekosten", path)}
	checkSame(t, c, "reisekosten", "", "total revenue by month")
	checkSame(t, c, "reisekosten",
		"SELECT mitarbeiter, SUM(betrag) FROM reisekosten GROUP BY 1 ORDER BY 2 DESC LIMIT 1",
		"who has the highest expenses")
}
