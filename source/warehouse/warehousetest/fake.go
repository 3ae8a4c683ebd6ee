// Package warehousetest tests databases that run statements over HTTP. Fake has what their imitations share: the
// statements that they know, with their rows, and the statements that run. Each database's test adds its protocol,
// which refuses requests that its documentation does not have.
package warehousetest

import (
	"fmt"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"

	"github.com/footnotehq/footnote/source/warehouse"
)

// Fake is a database behind an imitated protocol.
type Fake struct {
	t  testing.TB
	db warehouse.Database

	mu         sync.Mutex // guards below
	excess     [][]string // rights beyond reading
	writable   bool       // a write past the gate works
	statements []*Statement
	tables     int // besides those that every fake has
	busy       int // requests that get the status 503 first
	elsewhere  string
}

// Statement is a statement that the fake got.
type Statement struct {
	ID      string
	SQL     string
	Names   []string
	Types   []string // integer, decimal, text, date or timestamp
	Rows    [][]any  // of strings and nil
	Fault   string   // denied, wrong, or ""
	Running bool     // until it is stopped
	Stopped bool
}

// Start runs a statement. An empty id becomes a number.
func (f *Fake) Start(id, sql string) *Statement {
	f.mu.Lock()
	defer f.mu.Unlock()
	if id == "" {
		id = "s" + strconv.Itoa(len(f.statements)+1)
	}
	s := &Statement{ID: id, SQL: sql}
	f.answer(s)
	f.statements = append(f.statements, s)
	return s
}

// Try returns what a statement would do, without running it.
func (f *Fake) Try(sql string) *Statement {
	f.mu.Lock()
	defer f.mu.Unlock()
	s := &Statement{SQL: sql}
	f.answer(s)
	return s
}

// Get returns a statement by its id, and whether it still runs.
func (f *Fake) Get(id string) (s *Statement, running bool) {
	f.mu.Lock()
	defer f.mu.Unlock()
	for _, s := range f.statements {
		if s.ID == id {
			return s, s.Running
		}
	}
	return nil, false
}

// Stop ends a statement, and reports whether it ran.
func (f *Fake) Stop(id string) bool {
	f.mu.Lock()
	defer f.mu.Unlock()
	for _, s := range f.statements {
		if s.ID == id && s.Running {
			s.Running, s.Stopped = false, true
			return true
		}
	}
	return false
}

// Refuse reports a request that the documentation does not have.
func (f *Fake) Refuse(format string, args ...any) { f.t.Errorf("the server got "+format, args...) }

// set changes the fake.
func (f *Fake) set(change func()) {
	f.mu.Lock()
	defer f.mu.Unlock()
	change()
}

func (f *Fake) redirect() string {
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.elsewhere
}

// busyNow reports whether a request gets the status 503.
func (f *Fake) busyNow() bool {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.busy--
	return f.busy >= 0
}

func (f *Fake) running() (list []string) {
	f.mu.Lock()
	defer f.mu.Unlock()
	for _, s := range f.statements {
		if s.Running {
			list = append(list, s.SQL)
		}
	}
	return list
}

func (f *Fake) seen() int {
	f.mu.Lock()
	defer f.mu.Unlock()
	return len(f.statements)
}

func (f *Fake) last() string {
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.statements[len(f.statements)-1].SQL
}

// texts sets rows of texts.
func texts(s *Statement, rows [][]string) {
	for _, r := range rows {
		row := make([]any, len(r))
		for i, c := range r {
			row[i] = c
		}
		s.Rows = append(s.Rows, row)
	}
	if len(rows) > 0 {
		for i := range rows[0] {
			s.Names, s.Types = append(s.Names, "c"+strconv.Itoa(i)), append(s.Types, "text")
		}
	}
}

// answer sets what a statement returns.
func (f *Fake) answer(s *Statement) {
	home := f.db.Home
	is := func(sql func() string) bool { return sql != nil && s.SQL == sql() }
	switch {
	case is(f.db.Tables):
		texts(s, slices.Concat([][]string{
			{home, "customers", "BASE TABLE", "who buys", "4"}, {home, "orders", "BASE TABLE", "", ""},
			{home, "many", "BASE TABLE", "", ""}, {home, "endless", "BASE TABLE", "", ""},
			{home, "kinds", "BASE TABLE", "", ""}, {home, "revenue", "VIEW", "", ""},
			{"other", "things", "BASE TABLE", "", ""},
		}, f.more(func(table string) [][]string { return [][]string{{home, table, "BASE TABLE", "", ""}} })))
	case is(f.db.Columns):
		integer := f.integer()
		texts(s, slices.Concat([][]string{
			{home, "customers", "id", integer, "NO", ""}, {home, "customers", "name", "String", "YES", "of a person"},
			{home, "orders", "id", integer, "NO", ""}, {home, "orders", "customer_id", integer, "NO", ""},
			{home, "orders", "secret_total", integer, "NO", "hush"}, {home, "many", "n", integer, "NO", ""},
			{home, "revenue", "total", integer, "NO", ""}, {"other", "things", "id", integer, "NO", ""},
		}, f.more(func(table string) (rows [][]string) {
			for c := range 10 {
				rows = append(rows, []string{home, table, "column_" + strconv.Itoa(c), integer, "YES", ""})
			}
			return rows
		})))
	case is(f.db.Keys):
		texts(s, [][]string{
			{home, "customers", "pk", "PRIMARY", "id", "", "", ""},
			{home, "orders", "fk", "FOREIGN", "customer_id", home, "customers", "id"},
		})
	default:
		f.data(s)
	}
}

func (f *Fake) integer() string {
	for _, typ := range []string{"INTEGER", "Int64", "BIGINT"} {
		if f.db.Kind(typ) == "integer" {
			return typ
		}
	}
	f.t.Fatal("the database has no type for integers")
	return ""
}

func (f *Fake) more(of func(table string) [][]string) (rows [][]string) {
	for i := range f.tables {
		rows = append(rows, of(fmt.Sprintf("table_%05d", i))...)
	}
	return rows
}

// data sets the rows of a statement that is not about the catalog.
func (f *Fake) data(s *Statement) {
	path := func(table string) bool { return strings.Contains(s.SQL, f.db.Path(f.db.Home, table)) }
	write := slices.ContainsFunc(f.db.Writes, func(w string) bool {
		return strings.HasPrefix(s.SQL, strings.Fields(w)[0]+" ")
	})
	switch {
	case write && !f.writable:
		s.Fault = "denied"
	case write:
	case path("endless"):
		s.Running = true
	case path("many"):
		s.Names, s.Types = []string{"n"}, []string{"integer"}
		for n := range 5000 {
			s.Rows = append(s.Rows, []any{strconv.Itoa(n + 1)})
		}
	case path("kinds"):
		s.Names = []string{"i", "d", "t", "z", "at", "none"}
		s.Types = []string{"integer", "decimal", "text", "date", "timestamp", "text"}
		s.Rows = [][]any{{
			"9007199254740993", "12345678901234567890.12", "it's \"字\" \\ \n", "2024-02-29",
			"2024-05-17T18:45:00.5", nil,
		}}
	case path("customers"), path("orders"), strings.Contains(s.SQL, f.db.Path("other", "things")):
		s.Names, s.Types, s.Rows = []string{"id"}, []string{"integer"}, [][]any{{"1"}, {"2"}}
	default:
		s.Fault = "wrong"
	}
}

// Excess returns the rights that the user has beyond reading, as rows of the statement that asks for them.
func (f *Fake) Excess() [][]string {
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.excess
}
