package evalset

import (
	"bytes"
	"database/sql"
	"encoding/csv"
	"fmt"
	"os"
	"reflect"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"
)

// kinds lists the kinds of answerable question; each must occur.
var kinds = []string{"count", "sum", "avg", "median", "minmax", "distinct", "topn", "bottomn", "groupby", "timebucket",
	"filter_value", "filter_date", "join1", "join2", "share", "compare", "list"}

// sets are the sets by name, and how many questions and pairs each has at least.
var sets = []struct {
	name                      string
	set                       Set
	answerable, unanswerable  int
	pairs, sources, kilobytes int
	perKind                   int
}{
	{"frozen", Frozen, 120, 30, 20, 5, 1024, 3},
	{"heldout", Heldout, 110, 25, 15, 4, 512, 3},
	{"blind", Blind, 70, 20, 10, 3, 256, 3},
	{"fresh", Fresh, 90, 20, 10, 4, 256, 3},
	{"unseen", Unseen, 60, 14, 4, 4, 128, 1},
}

func TestQuestionsAreWellFormed(t *testing.T) {
	for _, tt := range sets {
		t.Run(tt.name, func(t *testing.T) { checkQuestions(t, tt.set, tt.answerable, tt.unanswerable, tt.perKind) })
	}
}

func checkQuestions(t *testing.T, set Set, leastAnswerable, leastUnanswerable, leastOfKind int) {
	t.Helper()
	seen := make(map[string]bool)
	texts := make(map[string]bool)
	perKind := make(map[string]int)
	answerable, declined := 0, 0
	for _, q := range set.Questions() {
		if seen[q.ID] {
			t.Errorf("%s occurs twice", q.ID)
		}
		if key := q.Source + "\x00" + strings.ToLower(q.Question); texts[key] {
			t.Errorf("%s repeats another question", q.ID)
		} else {
			texts[key] = true
		}
		seen[q.ID] = true
		checkQuestion(t, set, q)
		perKind[q.Kind]++
		if q.Answerable {
			answerable++
		} else {
			declined++
		}
	}
	if answerable < leastAnswerable || declined < leastUnanswerable {
		t.Errorf("%d answerable and %d unanswerable questions, want at least %d and %d", answerable, declined,
			leastAnswerable, leastUnanswerable)
	}
	for _, k := range kinds {
		if perKind[k] < leastOfKind {
			t.Errorf("%d questions of kind %s, want at least %d", perKind[k], k, leastOfKind)
		}
	}
}

func checkQuestion(t *testing.T, set Set, q Question) {
	t.Helper()
	switch {
	case !slices.ContainsFunc(set.Sources(), func(s Source) bool { return s.Name == q.Source }):
		t.Errorf("%s is about an unknown source %q", q.ID, q.Source)
	case strings.TrimSpace(q.Question) == "":
		t.Errorf("%s has no question", q.ID)
	case q.Numeral != "":
		t.Errorf("%s has a numeral; it is computed from gold", q.ID)
	case q.Answerable && (q.Gold == "" || !slices.Contains(kinds, q.Kind)):
		t.Errorf("%s is answerable and has no gold or the kind %q", q.ID, q.Kind)
	case !q.Answerable &&
		(q.Gold != "" || len(q.Alt) > 0 || q.Single || q.Ordered || !strings.HasPrefix(q.Kind, "unanswerable_")):
		t.Errorf("%s is unanswerable and has gold, flags or the kind %q", q.ID, q.Kind)
	}
}

func TestPairsAreWellFormed(t *testing.T) {
	for _, tt := range sets {
		pairs := tt.set.Pairs()
		if len(pairs) < tt.pairs {
			t.Errorf("%s: %d pairs, want at least %d", tt.name, len(pairs), tt.pairs)
		}
		seen := make(map[string]bool)
		for _, p := range pairs {
			if seen[p.ID] || p.First == "" || p.Second == "" || p.Gold == "" {
				t.Errorf("pair %s occurs twice or lacks a turn or gold", p.ID)
			}
			seen[p.ID] = true
		}
	}
}

func TestGoldRunsOnSQLite(t *testing.T) {
	for _, tt := range sets {
		t.Run(tt.name, func(t *testing.T) { checkGold(t, tt.set) })
	}
}

func checkGold(t *testing.T, set Set) {
	t.Helper()
	dbs := openSQLite(t, set)
	for _, q := range set.Questions() {
		db := dbs[q.Source]
		if db == nil || !q.Answerable {
			continue
		}
		rows := mustQuery(t, db, q.ID, q.Gold)
		if isOneNumber(rows) != q.Single {
			t.Errorf("%s: single is %v, gold gives %v", q.ID, q.Single, rows[0])
		}
		checkCut(t, db, q.ID, q.Gold, q.Ordered)
		for _, alt := range q.Alt {
			mustQuery(t, db, q.ID+" (alt)", alt)
		}
	}
	for _, p := range set.Pairs() {
		if db := dbs[p.Source]; db != nil {
			mustQuery(t, db, p.ID, p.Gold)
			checkCut(t, db, p.ID, p.Gold, p.Ordered)
		}
	}
}

// limit matches the cut of a top-N gold query.
var limit = regexp.MustCompile(` LIMIT (\d+)$`)

// checkCut checks that neither the rows nor the order of a top-N depend on a tie. The measure is the last column.
func checkCut(t *testing.T, db *sql.DB, id, gold string, ordered bool) {
	t.Helper()
	m := limit.FindStringSubmatch(gold)
	if m == nil {
		return
	}
	var n int
	if _, err := fmt.Sscan(m[1], &n); err != nil {
		t.Fatalf("%s: reading the limit: %v", id, err)
	}
	rows := mustQuery(t, db, id, limit.ReplaceAllString(gold, fmt.Sprintf(" LIMIT %d", n+1)))
	if len(rows) < n {
		t.Errorf("%s: %d rows, want %d", id, len(rows), n)
	}
	for i := 1; i < len(rows); i++ {
		if (ordered || i == n) && rows[i][len(rows[i])-1] == rows[i-1][len(rows[i])-1] {
			t.Errorf("%s: rows %d and %d tie: %v %v", id, i, i+1, rows[i-1], rows[i])
		}
	}
}

func TestMaterialize(t *testing.T) {
	dir := t.TempDir()
	paths, err := Frozen.Materialize(dir)
	if err != nil {
		t.Fatal(err)
	}
	for _, s := range Frozen.Sources() {
		info, err := os.Stat(paths[s.Name])
		if err != nil {
			t.Fatal(err)
		}
		if s.Kind == KindSQLite && info.Mode().Perm() != 0o444 {
			t.Errorf("%s has mode %v, want read-only", s.Name, info.Mode())
		}
	}
	if _, err := Frozen.Materialize(dir); err == nil {
		t.Error("writing over existing files was not refused")
	}
}

func TestSourcesAreSmall(t *testing.T) {
	for _, tt := range sets {
		sources, total := tt.set.Sources(), 0
		for _, s := range sources {
			total += len(s.SQL) + len(s.Data) + len(s.Logical)
		}
		if len(sources) < tt.sources || total > tt.kilobytes<<10 {
			t.Errorf("%s: %d sources of %d bytes, want at least %d within %d KB", tt.name, len(sources), total,
				tt.sources, tt.kilobytes)
		}
	}
}

func TestCleanedFilesEqualLogicalTables(t *testing.T) {
	clean := map[string]func(*testing.T, []byte) [][]string{
		"store_sales_eu": cleanStoreSales,
		"expense_report": cleanExpenses,
		"hotel_bookings": func(t *testing.T, b []byte) [][]string { return readCSV(t, b, ',') },

		"fuhrpark_lieferungen":     cleanDeliveries,
		"equipment_rentals_export": cleanRentals,

		"backstube_verkauf_2024": cleanBakery,
		"web_traffic":            func(t *testing.T, b []byte) [][]string { return readCSV(t, b, ',') },

		"hospital_visits":    cleanVisits,
		"greenhouse_sensors": func(t *testing.T, b []byte) [][]string { return readCSV(t, b, ',') },
		"staff_list_2025":    cleanStaff,

		"bank_statement": func(t *testing.T, b []byte) [][]string { return readCSV(t, b, ',') },
		"support_calls":  func(t *testing.T, b []byte) [][]string { return readCSV(t, b, ',') },
	}
	var all []Source
	for _, tt := range sets {
		all = append(all, tt.set.Sources()...)
	}
	for _, s := range all {
		if s.Kind != KindCSV {
			continue
		}
		got, want := clean[s.Name](t, s.Data), readCSV(t, s.Logical, ',')
		if len(want) < 100 {
			t.Errorf("%s has %d lines", s.Name, len(want))
		}
		if !reflect.DeepEqual(got, want) {
			t.Errorf("%s: the cleaned file and the logical table differ", s.Name)
		}
	}
}

// cleanStoreSales reads the Latin-1 file and drops its totals row after checking it.
func cleanStoreSales(t *testing.T, data []byte) [][]string {
	t.Helper()
	return cleanGerman(t, data, "Total", 7, 8)
}

// cleanDeliveries reads the similar file in the held-out set, which also repeats its header.
func cleanDeliveries(t *testing.T, data []byte) [][]string {
	t.Helper()
	rows := cleanGerman(t, data, "Summe", 7, 8)
	if rows[0][11] != rows[0][10] {
		t.Fatalf("no header occurs twice in %v", rows[0])
	}
	rows[0][11] += "_2"
	return rows
}

// cleanGerman reads a Latin-1 file with semicolons, DD.MM.YYYY in its first column, decimal commas in the columns of
// amounts, and a last row of totals.
func cleanGerman(t *testing.T, data []byte, totals string, amounts ...int) [][]string {
	t.Helper()
	runes := make([]rune, len(data))
	for i, b := range data {
		runes[i] = rune(b)
	}
	rows := readCSV(t, []byte(string(runes)), ';')
	last := rows[len(rows)-1]
	if last[0] != totals {
		t.Fatalf("the last row is %v, not the totals", last)
	}
	rows = rows[:len(rows)-1]
	for _, row := range rows[1:] {
		date, err := time.Parse("02.01.2006", row[0])
		if err != nil {
			t.Fatal(err)
		}
		row[0] = date.Format(time.DateOnly)
		for _, i := range amounts {
			row[i] = decimalPoint(row[i])
		}
	}
	return rows
}

// cleanRentals converts two formats of dates, amounts of money, and yes and no.
func cleanRentals(t *testing.T, data []byte) [][]string {
	t.Helper()
	rows := readCSV(t, data, ',')
	for _, row := range rows[1:] {
		for _, i := range []int{1, 2} {
			if date, err := time.Parse("02 Jan 2006", row[i]); err == nil {
				row[i] = date.Format(time.DateOnly)
			}
		}
		for _, i := range []int{7, 8} {
			row[i] = strings.ReplaceAll(strings.TrimPrefix(row[i], "€"), ",", "")
		}
		row[9] = map[string]string{"Yes": "true", "No": "false"}[row[9]]
	}
	return rows
}

// cleanBakery drops the byte order mark, the blank line and the totals row, and converts the German dates and amounts.
func cleanBakery(t *testing.T, data []byte) [][]string {
	t.Helper()
	table, totals, ok := bytes.Cut(bytes.TrimPrefix(data, []byte("\ufeff")), []byte("\n\n"))
	if !ok || !bytes.HasPrefix(totals, []byte("Gesamt;")) {
		t.Fatalf("no totals row after a blank line, but %q", totals)
	}
	rows := readCSV(t, append(table, '\n'), ';')
	for _, row := range rows[1:] {
		date, err := time.Parse("02.01.2006", row[0])
		if err != nil {
			t.Fatal(err)
		}
		row[0] = date.Format(time.DateOnly)
		for _, i := range []int{5, 6} {
			row[i] = decimalPoint(strings.TrimSuffix(row[i], " €"))
		}
	}
	return rows
}

// cleanVisits converts the German dates and amounts, and yes and no.
func cleanVisits(t *testing.T, data []byte) [][]string {
	t.Helper()
	rows := readCSV(t, data, ';')
	for _, row := range rows[1:] {
		row[1], row[11] = isoOf(t, "02.01.2006", row[1]), isoOf(t, "02.01.2006", row[11])
		row[8] = decimalPoint(row[8])
		row[10] = map[string]string{"yes": "true", "no": "false"}[row[10]]
	}
	return rows
}

// cleanStaff converts the American dates and the salaries.
func cleanStaff(t *testing.T, data []byte) [][]string {
	t.Helper()
	rows := readCSV(t, data, ',')
	for _, row := range rows[1:] {
		row[5], row[11] = isoOf(t, "01/02/2006", row[5]), isoOf(t, "01/02/2006", row[11])
		row[6] = strings.ReplaceAll(strings.TrimPrefix(row[6], "€ "), ",", "")
	}
	return rows
}

// isoOf converts a date of the given layout to YYYY-MM-DD. An empty text stays empty.
func isoOf(t *testing.T, layout, s string) string {
	t.Helper()
	if s == "" {
		return ""
	}
	date, err := time.Parse(layout, s)
	if err != nil {
		t.Fatal(err)
	}
	return date.Format(time.DateOnly)
}

// decimalPoint turns 1.234,50 into 1234.50.
func decimalPoint(s string) string {
	return strings.ReplaceAll(strings.ReplaceAll(s, ".", ""), ",", ".")
}

// cleanExpenses drops the title, renames the second Notes column and converts the money and the booleans.
func cleanExpenses(t *testing.T, data []byte) [][]string {
	t.Helper()
	_, table, ok := bytes.Cut(data, []byte("\n\n"))
	if !ok {
		t.Fatal("no blank line after the title")
	}
	rows := readCSV(t, table, ',')
	if rows[0][6] != rows[0][7] {
		t.Fatalf("no header occurs twice in %v", rows[0])
	}
	rows[0][7] += "_2"
	for _, row := range rows[1:] {
		row[4] = strings.ReplaceAll(strings.TrimPrefix(row[4], "€"), ",", "")
		row[5] = strings.ToLower(row[5])
	}
	return rows
}

func readCSV(t *testing.T, data []byte, sep rune) [][]string {
	t.Helper()
	r := csv.NewReader(bytes.NewReader(data))
	r.Comma = sep
	rows, err := r.ReadAll()
	if err != nil {
		t.Fatal(err)
	}
	return rows
}

// openSQLite returns the SQLite sources of a set as databases, by name.
func openSQLite(t *testing.T, set Set) map[string]*sql.DB {
	t.Helper()
	paths, err := set.Materialize(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	dbs := make(map[string]*sql.DB)
	for _, s := range set.Sources() {
		if s.Kind != KindSQLite {
			continue
		}
		db, err := sql.Open("sqlite", paths[s.Name])
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { _ = db.Close() })
		dbs[s.Name] = db
	}
	return dbs
}

// mustQuery runs a query and returns its rows. It must return at least one.
func mustQuery(t *testing.T, db *sql.DB, id, query string) [][]any {
	t.Helper()
	rows, err := db.Query(query)
	if err != nil {
		t.Fatalf("%s: running %s: %v", id, query, err)
	}
	defer func() { _ = rows.Close() }()
	cols, err := rows.Columns()
	if err != nil {
		t.Fatalf("%s: reading columns: %v", id, err)
	}
	var all [][]any
	for rows.Next() {
		row, refs := make([]any, len(cols)), make([]any, len(cols))
		for i := range row {
			refs[i] = &row[i]
		}
		if err := rows.Scan(refs...); err != nil {
			t.Fatalf("%s: reading a row: %v", id, err)
		}
		all = append(all, row)
	}
	if err := rows.Err(); err != nil {
		t.Fatalf("%s: reading rows: %v", id, err)
	}
	if len(all) == 0 {
		t.Fatalf("%s: no rows from %s", id, query)
	}
	return all
}

// isOneNumber reports whether a result is a single number.
func isOneNumber(rows [][]any) bool {
	if len(rows) != 1 || len(rows[0]) != 1 {
		return false
	}
	switch rows[0][0].(type) {
	case int64, float64:
		return true
	}
	return false
}

func TestChoicesAreWellFormed(t *testing.T) {
	sources := map[string]bool{}
	for _, s := range Several.Sources() {
		sources[s.Name] = true
	}
	ids, groups, wants := map[string]bool{}, map[string]bool{}, map[string]int{}
	for _, c := range Choices() {
		if ids[c.ID] || c.ID == "" || c.Question == "" {
			t.Errorf("choice %q occurs twice or asks nothing", c.ID)
		}
		ids[c.ID], groups[strings.Join(c.Sources, " ")] = true, true
		for _, name := range c.Sources {
			if !sources[name] {
				t.Errorf("%s is about an unknown source %q", c.ID, name)
			}
		}
		switch {
		case c.Want == WantAsk || c.Want == WantDecline:
			wants[c.Want]++
		case !slices.Contains(c.Sources, c.Want):
			t.Errorf("%s wants %q, which is not among %q", c.ID, c.Want, c.Sources)
		}
	}
	if len(ids) < 120 || len(groups) < 7 || wants[WantAsk] < 30 || wants[WantDecline] < 7 {
		t.Errorf("%d choices in %d groups, outcomes %v: want no fewer than before", len(ids), len(groups), wants)
	}
}
