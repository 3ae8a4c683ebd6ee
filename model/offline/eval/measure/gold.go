package measure

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"net/url"
	"strings"

	"github.com/footnotehq/footnote"
	"github.com/footnotehq/footnote/model/offline/eval/compare"
	"github.com/footnotehq/footnote/model/offline/evalset"
)

// gold runs the set's own SQL. It does not use the source under test, so that a fault of that source does not affect
// both sides of the comparison.
type gold struct {
	db   *sql.DB
	keys compare.Keys
}

// openGold opens a source for gold SQL: the SQLite file itself, or the logical table of a CSV.
func openGold(ctx context.Context, s evalset.Source, path string) (*gold, error) {
	if s.Kind == evalset.KindCSV {
		db, err := openLogical(ctx, s, path+".logical")
		if err != nil {
			return nil, fmt.Errorf("open the logical table: %w", err)
		}
		return &gold{db: db}, nil
	}
	db, err := sql.Open("sqlite",
		(&url.URL{Scheme: "file", Opaque: url.PathEscape(path), RawQuery: "mode=ro"}).String())
	if err != nil {
		return nil, fmt.Errorf("open %s for gold: %w", s.Name, err)
	}
	g := &gold{db: db}
	if err := g.readKeys(ctx); err != nil {
		return nil, errors.Join(err, db.Close())
	}
	return g, nil
}

func (g *gold) close() error { return g.db.Close() }

// query runs one statement and returns its rows.
func (g *gold) query(ctx context.Context, text string) (_ compare.Table, err error) {
	rows, err := g.db.QueryContext(ctx, text)
	if err != nil {
		return compare.Table{}, fmt.Errorf("run %s: %w", text, err)
	}
	defer func() { err = errors.Join(err, rows.Close()) }()
	names, err := rows.Columns()
	if err != nil {
		return compare.Table{}, fmt.Errorf("columns of %s: %w", text, err)
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
			return compare.Table{}, fmt.Errorf("read %s: %w", text, err)
		}
		all = append(all, row)
	}
	if err := rows.Err(); err != nil {
		return compare.Table{}, fmt.Errorf("read %s: %w", text, err)
	}
	return compare.New(columns, all)
}

// readKeys reads the primary keys of all tables.
func (g *gold) readKeys(ctx context.Context) error {
	list, err := g.query(ctx,
		`SELECT m.name, min(c.cid) FROM sqlite_master m JOIN pragma_table_info(m.name) c ON c.pk > 0
		WHERE m.type = 'table' GROUP BY m.name HAVING count(*) = 1`)
	if err != nil {
		return fmt.Errorf("list the keys: %w", err)
	}
	for _, row := range list.Rows {
		t, err := g.query(ctx, `SELECT * FROM "`+strings.ReplaceAll(row[0].String(), `"`, `""`)+`"`)
		if err != nil {
			return err
		}
		var at int
		if _, err := fmt.Sscan(row[1].String(), &at); err != nil {
			return fmt.Errorf("position of the key of %s: %w", row[0], err)
		}
		g.keys.Add(t, at)
	}
	return nil
}
