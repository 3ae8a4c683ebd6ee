package sqlite

import (
	"context"
	"database/sql"
	"fmt"
	"strings"
	"time"

	"github.com/footnotehq/footnote/market"
	"github.com/footnotehq/footnote/market/internal/tables"
)

// failed adds a code to a database error.
func failed(ctx context.Context, doing string, err error) error {
	return market.Failed(ctx, market.Database, doing, err)
}

// dialect describes our tables in SQLite.
var dialect = tables.Dialect{
	User: "user",
	Arg:  func(n int) string { return fmt.Sprintf("?%d", n) },
	Time: second,
	About: func(list []string, add func(any) string) string {
		var parts []string
		for _, name := range list {
			parts = append(parts, "instr(currencies, "+add(","+name+",")+") > 0")
		}
		return "(" + strings.Join(parts, " OR ") + ")"
	},
	Currencies: func(to *[]string) any { return names{to} },
}

// second rounds a time up to whole seconds, the stored precision.
func second(t time.Time) any {
	if t.Nanosecond() > 0 {
		return t.Unix() + 1
	}
	return t.Unix()
}

// names is a scan target for currencies stored as ,EUR,USD,.
type names struct{ to *[]string }

// Scan implements sql.Scanner.
func (n names) Scan(v any) error {
	text, ok := v.(string)
	if !ok {
		return fmt.Errorf("currencies are a %T", v)
	}
	*n.to = strings.FieldsFunc(text, func(r rune) bool { return r == ',' })
	return nil
}

// each implements tables.Each.
func (s *Store) each(ctx context.Context, query string, args []any, scan func(tables.Row) error) error {
	rows, err := s.read.QueryContext(ctx, query, args...)
	if err != nil {
		return err
	}
	return all(rows, scan)
}

// all passes rows to scan one by one.
func all(rows *sql.Rows, scan func(tables.Row) error) error {
	defer rows.Close()
	for rows.Next() {
		if err := scan(rows); err != nil {
			return err
		}
	}
	return rows.Err()
}
