package offline_test

import (
	"database/sql"
	"fmt"
	"path/filepath"
	"testing"
)

// festival creates a database of tickets that refer to no other table, some for a day, and of vendors whose name is in
// a column called like the table.
func festival(t testing.TB) catalog {
	t.Helper()
	path := filepath.Join(t.TempDir(), "festival.db")
	db, err := sql.Open("sqlite", "file:"+path)
	if err != nil {
		t.Fatal(err)
	}
	defer db.Close()
	stmts := []string{
		`CREATE TABLE acts (act_id INTEGER PRIMARY KEY, act_name TEXT, genre TEXT)`,
		`CREATE TABLE performances (performance_id INTEGER PRIMARY KEY, act_id INTEGER REFERENCES acts, starts_at ` +
			`TEXT, duration_min INTEGER, rating REAL)`,
		`CREATE TABLE tickets (ticket_no INTEGER PRIMARY KEY, sold_at TEXT, ticket_type TEXT, price_eur REAL)`,
		`CREATE TABLE vendors (vendor_id INTEGER PRIMARY KEY, vendor TEXT, kind TEXT)`,
		`CREATE TABLE vendor_sales (vendor_id INTEGER REFERENCES vendors, day TEXT, gross_eur REAL)`,
		`CREATE TABLE permits (permit_no INTEGER PRIMARY KEY, issue_date TEXT, status TEXT, fee_paid REAL)`,
	}
	for i := range 9 {
		stmts = append(stmts,
			fmt.Sprintf(`INSERT INTO acts VALUES (%d, 'Act %c', '%s')`, i+1, 'A'+i,
				[]string{"folk", "techno", "jazz"}[i%3]))
	}
	for i := range 17 {
		stmts = append(stmts,
			fmt.Sprintf(`INSERT INTO performances VALUES (%d, %d, '2025-07-%02d 2%d:00:00', %d, %d.%d)`, i+1, i*4%9+1,
				17+i%4, i%4, 40+i*7%50, 2+i%3, i*3%10))
	}
	for i := range 80 {
		stmts = append(stmts,
			fmt.Sprintf(`INSERT INTO tickets VALUES (%d, '2025-%02d-%02d 10:00:00', '%s', %d)`, i+1, 2+i/20, 1+i*3%27,
				[]string{"day", "weekend", "vip"}[i*i%7%3], 59+i*i%7%3*100))
		stmts = append(stmts,
			fmt.Sprintf(`INSERT INTO permits VALUES (%d, '%d-%02d-11', '%s', %d.5)`, i+1, 2023+i%2, 1+i%12,
				[]string{"Issued", "Expired", "Withdrawn"}[i*i%7%3], 40+i))
	}
	for i, name := range []string{"Taco Cart", "Bean Bus", "Noodle Bar"} {
		stmts = append(stmts,
			fmt.Sprintf(`INSERT INTO vendors VALUES (%d, '%s', '%s')`, i+1, name,
				[]string{"food", "drinks", "food"}[i]))
		for day := 17; day < 21; day++ {
			stmts = append(stmts,
				fmt.Sprintf(`INSERT INTO vendor_sales VALUES (%d, '2025-07-%d', %d.25)`, i+1, day,
					900+day*31*(i+2)%700))
		}
	}
	for _, q := range stmts {
		if _, err := db.Exec(q); err != nil {
			t.Fatal(err)
		}
	}
	return catalog{"festival": open(t, "festival", path)}
}

func TestRevenueOfRowsWithoutReferences(t *testing.T) {
	c := festival(t)
	checkSame(t, c, "festival", "SELECT ticket_type, SUM(price_eur) FROM tickets GROUP BY 1",
		"ticket revenue by ticket type")
	checkSame(t, c, "festival",
		"SELECT ticket_type, SUM(price_eur) FROM tickets WHERE ticket_type IN ('vip', 'day') GROUP BY 1",
		"compare vip and day ticket revenue")
	checkSame(t, c, "festival", "SELECT COUNT(*) FROM tickets WHERE ticket_type = 'day'",
		"how many day tickets were sold?")
}

func TestRowsAreNamed(t *testing.T) {
	c := festival(t)
	checkSame(t, c, "festival",
		"SELECT vendor, SUM(gross_eur) FROM vendor_sales JOIN vendors USING (vendor_id) WHERE day = '2025-07-19' "+
			"GROUP BY 1", "gross per vendor on 2025-07-19")
	checkSame(t, c, "festival",
		"SELECT act_name, AVG(rating) FROM performances JOIN acts USING (act_id) GROUP BY 1 ORDER BY 2 DESC LIMIT 1",
		"best rated act")
}

func TestIssuedInYearMeansDate(t *testing.T) {
	c := festival(t)
	checkSame(t, c, "festival", "SELECT COUNT(*) FROM permits WHERE issue_date LIKE '2024%'",
		"How many permits were issued in 2024?")
	checkSame(t, c, "festival", "SELECT COUNT(*) FROM permits WHERE status = 'Issued'", "how many permits are issued?")
	checkSame(t, c, "festival", "SELECT COUNT(*) FROM permits WHERE status = 'Withdrawn' AND issue_date LIKE '2024%'",
		"how many permits were withdrawn in 2024?")
	checkSame(t, c, "festival", "SELECT strftime('%Y', issue_date), SUM(fee_paid) FROM permits GROUP BY 1",
		"fees per year")
}
