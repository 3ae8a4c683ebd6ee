package postgres

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"

	"github.com/footnotehq/footnote/market"
	"github.com/footnotehq/footnote/market/internal/tables"
)

// Begin implements market.Store.
func (s *Store) Begin(ctx context.Context) (market.Load, error) {
	own, err := s.pool.Begin(ctx)
	if err != nil {
		return nil, tables.Failed(ctx, "begin a load", err)
	}
	// A file may be large. Loads run one after another, because two loads of the same bars would wait for each other
	// in different orders.
	for _, sql := range []string{"SET LOCAL statement_timeout = 0",
		fmt.Sprintf("SET LOCAL lock_timeout = %d", market.LoadWait.Milliseconds()),
		fmt.Sprintf("SELECT pg_advisory_xact_lock(%d)", lockMigrate+1)} {
		if _, err := own.Exec(ctx, sql); err != nil {
			const lockNotAvailable = "55P03"
			if e, ok := errors.AsType[*pgconn.PgError](err); ok && e.Code == lockNotAvailable {
				err = market.LoadBusy(err)
			}
			return nil, errors.Join(tables.Failed(ctx, "begin a load", err), own.Rollback(context.WithoutCancel(ctx)))
		}
	}
	return tables.NewLoad(dialect, tx{own}), nil
}

// tx implements tables.Tx.
type tx struct{ own pgx.Tx }

func (t tx) Exec(ctx context.Context, query string, args ...any) error {
	_, err := t.own.Exec(ctx, query, args...)
	return err
}

func (t tx) QueryRow(ctx context.Context, query string, args ...any) tables.Row {
	return t.own.QueryRow(ctx, query, args...)
}

func (t tx) Each(ctx context.Context, query string, args []any, scan func(tables.Row) error) error {
	return each(t.own)(ctx, query, args, scan)
}

func (t tx) Commit(ctx context.Context) error { return t.own.Commit(ctx) }

func (t tx) Rollback() error {
	ctx, cancel := context.WithTimeout(context.Background(), 5*time.Second)
	defer cancel()
	if err := t.own.Rollback(ctx); !errors.Is(err, pgx.ErrTxClosed) {
		return err
	}
	return nil
}

// Put adds rows through a temporary table, because COPY cannot replace rows. Of several rows with the same key, the
// last one counts.
func (t tx) Put(ctx context.Context, table tables.Table, n int, row func(i int) []any) error {
	_, name, _ := strings.Cut(table.Name, ".")
	fresh, columns := "fresh_"+name, strings.Join(table.All(), ", ")
	for _, sql := range []string{
		"CREATE TEMP TABLE IF NOT EXISTS " + fresh + " ON COMMIT DROP AS SELECT 0 AS n, " + columns + " FROM " +
			table.Name + " WITH NO DATA",
		"TRUNCATE " + fresh,
	} {
		if err := t.Exec(ctx, sql); err != nil {
			return err
		}
	}
	if _, err := t.own.CopyFrom(ctx, pgx.Identifier{fresh}, append([]string{"n"}, table.All()...),
		pgx.CopyFromSlice(n, func(i int) ([]any, error) { return append([]any{i}, row(i)...), nil })); err != nil {
		return err
	}
	key := strings.Join(table.Key, ", ")
	return t.Exec(ctx, table.Into()+"SELECT "+columns+" FROM (SELECT DISTINCT ON ("+key+") * FROM "+fresh+" ORDER BY "+
		key+", n DESC) AS f ORDER BY n"+table.Replace())
}

// Forget implements market.Store.
func (s *Store) Forget(ctx context.Context, org, user string) (int, error) {
	gone, err := s.pool.Exec(ctx, `DELETE FROM footnote_market.trades WHERE org = $1 AND username = $2`, org, user)
	return int(gone.RowsAffected()), tables.Failed(ctx, "delete the trades", err)
}
