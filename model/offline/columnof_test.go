package offline_test

import (
	"database/sql"
	"path/filepath"
	"strings"
	"testing"

	"github.com/footnotehq/footnote/model/offline"
)

// A column whose name is a part of its table's name can be grouped by like any other, and the requested grouping is
// never ignored.
func TestColumnNamedLikeItsTable(t *testing.T) {
	path := filepath.Join(t.TempDir(), "workshop.db")
	db, err := sql.Open("sqlite", "file:"+path)
	if err != nil {
		t.Fatal(err)
	}
	defer db.Close()
	for _, q := range []string{
		"CREATE TABLE bikes (id INTEGER PRIMARY KEY, brand TEXT)",
		"CREATE TABLE repairs (id INTEGER PRIMARY KEY, bike_id INTEGER REFERENCES bikes, came_in DATE, state TEXT)",
		"CREATE TABLE parts_used (id INTEGER PRIMARY KEY, repair_id INTEGER REFERENCES repairs, part TEXT, qty " +
			"INTEGER, unit_price REAL)",
		"INSERT INTO bikes SELECT value, 'Brand ' || (value % 3) FROM json_each('[1,2,3,4,5,6,7]')",
		"INSERT INTO repairs SELECT value, value % 7 + 1, '2024-0' || (value % 8 + 1) || '-03', CASE WHEN value % 5 " +
			"THEN 'done' ELSE 'open' END FROM " +
			"json_each('[1,2,3,4,5,6,7,8,9,10,11,12,13,14,15,16,17,18,19,20,21,22,23]')",
		"INSERT INTO parts_used SELECT id, id, 'part no ' || (id % 4), id % 3 + id % 4, id * 1.5 FROM repairs",
	} {
		if _, err := db.Exec(q); err != nil {
			t.Fatalf("%s: %v", q, err)
		}
	}
	c := catalog{"workshop": open(t, "workshop", path)}
	const quantity = "SELECT part, SUM(qty) FROM parts_used GROUP BY 1 "
	for q, gold := range map[string]string{
		"quantity by part":            quantity,
		"total qty by part":           quantity,
		"top 3 parts by quantity":     quantity + "ORDER BY 2 DESC LIMIT 3",
		"how many parts used by part": "SELECT part, COUNT(*) FROM parts_used GROUP BY 1",
		"revenue by part":             "SELECT part, SUM(qty * unit_price) FROM parts_used GROUP BY 1",
		"parts used by repair state": "SELECT state, COUNT(*) FROM parts_used JOIN repairs ON repairs.id = " +
			"repair_id GROUP BY 1",
		"number of parts used per brand": "SELECT brand, COUNT(*) FROM parts_used JOIN repairs ON repairs.id = " +
			"repair_id JOIN bikes ON bikes.id = bike_id GROUP BY 1",
	} {
		if s := checkSame(t, c, "workshop", gold, q); strings.Contains(s.text, "useds") {
			t.Errorf("%q: %s", q, s.text)
		}
	}
	s := newTalk(t, c, offline.New(offline.Options{Catalog: c}),
		"workshop").ask("which brand has the most repairs per bike?")
	if strings.Contains(s.text, "Did you mean brand?") {
		t.Errorf("the answer suggests the unknown word itself: %s", s.text)
	}
}
