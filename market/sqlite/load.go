package sqlite

import (
	"context"
	"database/sql"
	"errors"
	"strings"

	"modernc.org/sqlite"
	sqlite3 "modernc.org/sqlite/lib"

	"github.com/footnotehq/footnote/market"
	"github.com/footnotehq/footnote/market/internal/tables"
)

// Begin implements market.Store.
func (s *Store) Begin(ctx context.Context) (market.Load, error) {
	own, err := s.write.BeginTx(ctx, nil)
	if e, ok := errors.AsType[*sqlite.Error](err); ok && e.Code()&0xff == sqlite3.SQLITE_BUSY {
		return nil, market.LoadBusy(err)
	}
	if err != nil {
		return nil, tables.Failed(ctx, "begin a load", err)
	}
	return tables.NewLoad(dialect, tx{own}), nil
}

// tx implements tables.Tx.
type tx struct{ *sql.Tx }

func (t tx) Exec(ctx context.Context, query string, args ...any) error {
	_, err := t.ExecContext(ctx, query, args...)
	return err
}

func (t tx) QueryRow(ctx context.Context, query string, args ...any) tables.Row {
	return t.QueryRowContext(ctx, query, args...)
}

func (t tx) Each(ctx context.Context, query string, args []any, scan func(tables.Row) error) error {
	return each(t.Tx)(ctx, query, args, scan)
}

func (t tx) Commit(context.Context) error { return t.Tx.Commit() }

func (t tx) Rollback() error {
	if err := t.Tx.Rollback(); !errors.Is(err, sql.ErrTxDone) {
		return err
	}
	return nil
}

// rowsAtOnce is the number of rows per statement.
const rowsAtOnce = 100

// Put adds rows, many with each statement.
func (t tx) Put(ctx context.Context, table tables.Table, n int, row func(i int) []any) error {
	one := "(?" + strings.Repeat(", ?", len(table.All())-1) + ")"
	statement := func(rows int) string {
		return table.Into() + "VALUES " + one + strings.Repeat(", "+one, rows-1) + table.Replace()
	}
	var full *sql.Stmt
	for i := 0; i < n; {
		batch := min(rowsAtOnce, n-i)
		var args []any
		for range batch {
			args = append(args, row(i)...)
			i++
		}
		if batch < rowsAtOnce {
			return t.Exec(ctx, statement(batch), args...)
		}
		if full == nil {
			var err error
			if full, err = t.PrepareContext(ctx, statement(rowsAtOnce)); err != nil {
				return err
			}
			defer full.Close()
		}
		if _, err := full.ExecContext(ctx, args...); err != nil {
			return err
		}
	}
	return nil
}

// Forget implements market.Store.
func (s *Store) Forget(ctx context.Context, org, user string) (int, error) {
	res, err := s.write.ExecContext(ctx, `DELETE FROM trades WHERE org = ? AND user = ?`, org, user)
	if err != nil {
		return 0, tables.Failed(ctx, "delete the trades", err)
	}
	n, err := res.RowsAffected()
	return int(n), tables.Failed(ctx, "delete the trades", err)
}
