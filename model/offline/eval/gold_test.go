package eval_test

import (
	"database/sql"
	"fmt"
	"net/url"
	"strings"
	"testing"

	"github.com/footnotehq/footnote"
	"github.com/footnotehq/footnote/model/offline/evalset"
)

// gold runs the set's own SQL. It does not use the source under test, so that a fault of that source does not affect
// both sides of the comparison.
type gold struct {
	db   *sql.DB
	keys entityKeys
}

// openGold opens a source for gold SQL until the test ends: the SQLite file itself, or the logical table of a CSV.
func openGold(t *testing.T, s evalset.Source, path string) *gold {
	t.Helper()
	if s.Kind == evalset.KindCSV {
		return &gold{db: openLogical(t, s, path+".logical")}
	}
	db, err := sql.Open("sqlite",
		(&url.URL{Scheme: "file", Opaque: url.PathEscape(path), RawQuery: "mode=ro"}).String())
	if err != nil {
		t.Fatalf("open %s for gold: %v", s.Name, err)
	}
	closeAfter(t, db)
	g := &gold{db: db}
	g.readKeys(t)
	return g
}

// query runs one statement and returns its rows.
func (g *gold) query(t *testing.T, text string) table {
	t.Helper()
	rows, err := g.db.QueryContext(t.Context(), text)
	if err != nil {
		t.Fatalf("run %s: %v", text, err)
	}
	defer rows.Close()
	names, err := rows.Columns()
	if err != nil {
		t.Fatalf("columns of %s: %v", text, err)
	}
	columns := make([]footnote.Column, len(names))
	for i, name := range names {
		columns[i].Name = name
	}
	var all [][]any
	for rows.Next() {
		row, refs := make([]any, len(names)), make([]any, len(names))
		for i := range row {
			refs[i] = &row[i]
		}
		if err := rows.Scan(refs...); err != nil {
			t.Fatalf("read %s: %v", text, err)
		}
		all = append(all, row)
	}
	if err := rows.Err(); err != nil {
		t.Fatalf("read %s: %v", text, err)
	}
	result, err := newTable(columns, all)
	if err != nil {
		t.Fatalf("read %s: %v", text, err)
	}
	return result
}

// readKeys reads the primary keys of all tables.
func (g *gold) readKeys(t *testing.T) {
	t.Helper()
	list := g.query(t,
		`SELECT m.name, min(c.cid) FROM sqlite_master m JOIN pragma_table_info(m.name) c ON c.pk > 0
		WHERE m.type = 'table' GROUP BY m.name HAVING count(*) = 1`)
	for _, row := range list.rows {
		var at int
		if _, err := fmt.Sscan(row[1].String(), &at); err != nil {
			t.Fatalf("position of the key of %s: %v", row[0], err)
		}
		g.keys.add(g.query(t, `SELECT * FROM "`+strings.ReplaceAll(row[0].String(), `"`, `""`)+`"`), at)
	}
}
