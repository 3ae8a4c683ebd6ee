package postgres

import (
	"context"
	"fmt"
	"time"

	"github.com/footnotehq/footnote/market/internal/tables"
)

// dialect describes our tables in Postgres.
var dialect = tables.Dialect{
	Schema:     "footnote_market.",
	User:       "username",
	Arg:        func(n int) string { return fmt.Sprintf("$%d", n) },
	Time:       upward,
	About:      func(list []string, add func(any) string) string { return "currencies && " + add(list) },
	Currencies: func(to *[]string) any { return to },
}

// upward rounds a time up to whole microseconds, the precision of Postgres.
func upward(t time.Time) any {
	if whole := t.Truncate(time.Microsecond); whole.Before(t) {
		return whole.Add(time.Microsecond)
	}
	return t
}

// each implements tables.Each.
func (s *Store) each(ctx context.Context, query string, args []any, scan func(tables.Row) error) error {
	rows, err := s.pool.Query(ctx, query, args...)
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
