package offline_test

import (
	"database/sql"
	"fmt"
	"path/filepath"
	"strings"
	"testing"
)

// airline has flights that refer to airports twice, tickets whose price is what they
// brought in, and passengers.
func airline(t *testing.T) catalog {
	t.Helper()
	path := filepath.Join(t.TempDir(), "airline.db")
	db, err := sql.Open("sqlite", "file:"+path)
	if err != nil {
		t.Fatal(err)
	}
	defer db.Close()
	stmts := []string{
		"CREATE TABLE airports (airport_id INTEGER PRIMARY KEY, airport_name TEXT, country TEXT)",
		"CREATE TABLE passengers (passenger_id INTEGER PRIMARY KEY, passenger_name TEXT, birth_date TEXT, " +
			"home_country TEXT, email TEXT)",
		"CREATE TABLE flights (flight_id INTEGER PRIMARY KEY, origin_airport_id INTEGER REFERENCES airports, " +
			"destination_airport_id INTEGER REFERENCES airports, departed_on TEXT, duration_min INTEGER)",
		"CREATE TABLE tickets (ticket_id INTEGER PRIMARY KEY, flight_id INTEGER REFERENCES flights, passenger_id " +
			"INTEGER REFERENCES passengers, bought_on TEXT, price REAL, seat_class TEXT)",
	}
	for i, a := range []string{"Graz", "Oslo", "Lyon", "Porto"} {
		stmts = append(stmts,
			fmt.Sprintf("INSERT INTO airports VALUES (%d, '%s', '%s')", i+1, a,
				[]string{"Austria", "Norway", "France", "Portugal"}[i]))
	}
	for i := range 12 {
		email := fmt.Sprintf("'p%d@x.example'", i%5)
		if i%4 == 0 {
			email = "NULL"
		}
		stmts = append(stmts,
			fmt.Sprintf("INSERT INTO passengers VALUES (%d, 'Pia %c', '19%d-02-03', '%s', %s)", i+1, 'A'+i, 50+i*3,
				[]string{"Norway", "France", "Austria"}[i%3], email))
	}
	for i := range 30 {
		stmts = append(stmts,
			fmt.Sprintf("INSERT INTO flights VALUES (%d, %d, %d, '2024-%02d-%02d', %d)", i+1, i*i%4+1, (i*i+1+i%3)%4+1,
				i%12+1, i%27+1, 60+i*13%150))
	}
	for i := range 200 {
		stmts = append(stmts,
			fmt.Sprintf("INSERT INTO tickets VALUES (%d, %d, %d, '2024-%02d-%02d', %d, '%s')", i+1, i*7%28+1, i*i%11+1,
				i%12+1, i%28+1, 50+i*17%300, []string{"basic", "first", "basic", "flex"}[i%4]))
	}
	for _, q := range stmts {
		if _, err := db.Exec(q); err != nil {
			t.Fatalf("%s: %v", q, err)
		}
	}
	return catalog{"airline": open(t, "airline", path)}
}

func TestOrdinaryQuestions(t *testing.T) {
	c := airline(t)
	const joined = " FROM tickets JOIN flights USING (flight_id) JOIN passengers USING (passenger_id) "
	for q, gold := range map[string]string{
		"flights by origin airport": "",
		"flights by airport":        "",
		"who bought the most tickets": "SELECT passenger_name, COUNT(*)" + joined +
			"GROUP BY 1 ORDER BY 2 DESC LIMIT 1",
		"youngest passenger": "SELECT passenger_name, birth_date FROM passengers ORDER BY " +
			"birth_date DESC LIMIT 1",
		"longest flight": "SELECT flight_id, duration_min FROM flights ORDER BY 2 " +
			"DESC LIMIT 1",
		"flights longer than 120 minutes":  "SELECT COUNT(*) FROM flights WHERE duration_min > 120",
		"flights longer than 2 hours":      "SELECT COUNT(*) FROM flights WHERE duration_min > 120",
		"tickets with above average price": "",
		"number of tickets and total price by class": "SELECT seat_class, COUNT(*), SUM(price) FROM tickets GROUP " +
			"BY 1",
		"passengers without tickets": "SELECT COUNT(*) FROM passengers WHERE passenger_id NOT IN " +
			"(SELECT passenger_id FROM tickets)",
		"duplicate emails":               "",
		"names and emails of passengers": "SELECT passenger_name, email FROM passengers",
		"what seat classes are there":    "SELECT DISTINCT seat_class FROM tickets",
		"passengers with more than 20 tickets": "SELECT passenger_name, COUNT(*)" + joined +
			"GROUP BY 1 HAVING COUNT(*) > 20",
		"first ticket of each passenger": "SELECT passenger_name, MIN(bought_on)" + joined +
			"GROUP BY 1",
		"revenue by month": "SELECT strftime('%Y-%m', bought_on), SUM(price) FROM " +
			"tickets GROUP BY 1",
		"which class sold more tickets, basic or flex?": "SELECT seat_class, COUNT(*) FROM tickets WHERE seat_class " +
			"IN ('basic', 'flex') GROUP BY 1",
		"how many tickets were refunded": "",
		"lost tickets":                   "",
		"tickets of Zorro":               "",
	} {
		checkSame(t, c, "airline", gold, q)
	}
	if s := checkSame(t, c, "airline", "", "flights by airport"); !strings.Contains(s.text,
		"Flights lead to airports in several ways") {
		t.Errorf("the answer does not say that there are two references: %s", s.text)
	}
	if s := checkSame(t, c, "airline", "", "average durability of flights"); !strings.Contains(s.text,
		"It has airports, flights") {
		t.Errorf("the answer does not name the tables: %s", s.text)
	}
}
