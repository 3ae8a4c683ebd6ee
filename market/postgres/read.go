package postgres

import (
	"context"
	"fmt"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/footnotehq/footnote/market"
	"github.com/footnotehq/footnote/market/internal/tables"
)

// dialect describes our tables in Postgres.
var dialect = tables.Dialect{
	Schema:           "footnote_market.",
	User:             "username",
	Time:             upward,
	Stored:           func(t time.Time) any { return t },
	Bin:              bin,
	End:              end,
	About:            func(list []string, add func(any) string) string { return "currencies && " + add(list) },
	Currencies:       func(to *[]string) any { return to },
	StoredCurrencies: func(list []string) any { return append([]string{}, list...) },
}

// step returns the length of a bar.
func step(f market.Timeframe) string {
	if f == market.MN1 {
		return "interval '1 month'"
	}
	return fmt.Sprintf("interval '%d seconds'", int(f.Length().Seconds()))
}

// bin returns the start of the bar that contains the column time.
func bin(f market.Timeframe) string {
	if f == market.MN1 {
		return "date_trunc('month', time, 'UTC')"
	}
	return "date_bin(" + step(f) + ", time, '1970-01-05 00:00:00+00')"
}

// end returns the end of a bar.
func end(f market.Timeframe, start string) string {
	return "((" + start + " AT TIME ZONE 'UTC' + " + step(f) + ") AT TIME ZONE 'UTC')"
}

// upward rounds a time up to whole microseconds, the precision of Postgres.
func upward(t time.Time) any {
	if whole := t.Truncate(time.Microsecond); whole.Before(t) {
		return whole.Add(time.Microsecond)
	}
	return t
}

// querier is a pool or a transaction.
type querier interface {
	Query(ctx context.Context, query string, args ...any) (pgx.Rows, error)
}

// each returns the function that runs a query and passes its rows to scan one by one.
func each(db querier) tables.Each {
	return func(ctx context.Context, query string, args []any, scan func(tables.Row) error) error {
		rows, err := db.Query(ctx, query, args...)
		if err != nil {
			return err
		}
		defer rows.Close()
		for rows.Next() {
			if err := scan(rows); err != nil {
				return err
			}
		}
		return rows.Err()
	}
}
