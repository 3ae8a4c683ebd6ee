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

// dialect describes our tables in SQLite.
var dialect = tables.Dialect{
	User:   "user",
	Time:   second,
	Stored: func(t time.Time) any { return t.Unix() },
	Bin:    bin,
	End:    end,
	About: func(list []string, add func(any) string) string {
		var parts []string
		for _, name := range list {
			parts = append(parts, "instr(currencies, "+add(","+name+",")+") > 0")
		}
		return "(" + strings.Join(parts, " OR ") + ")"
	},
	Currencies:       func(to *[]string) any { return names{to} },
	StoredCurrencies: func(list []string) any { return "," + strings.Join(list, ",") + "," },
}

// bin returns the start of the bar that contains the column time.
func bin(f market.Timeframe) string {
	if f == market.MN1 {
		return "unixepoch(time, 'unixepoch', 'start of month')"
	}
	const monday = 4 * 24 * 3600
	return fmt.Sprintf("time - ((time - %[1]d) %% %[2]d + %[2]d) %% %[2]d", monday, int(f.Length().Seconds()))
}

// end returns the end of a bar.
func end(f market.Timeframe, start string) string {
	if f == market.MN1 {
		return "unixepoch(" + start + ", 'unixepoch', '+1 month')"
	}
	return fmt.Sprintf("(%s + %d)", start, int(f.Length().Seconds()))
}

// second rounds a time up to whole seconds, the stored precision.
func second(t time.Time) any { return t.Add(time.Second - 1).Unix() }

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

// querier is a database or a transaction.
type querier interface {
	QueryContext(ctx context.Context, query string, args ...any) (*sql.Rows, error)
}

// each returns the function that runs a query and passes its rows to scan one by one.
func each(db querier) tables.Each {
	return func(ctx context.Context, query string, args []any, scan func(tables.Row) error) error {
		rows, err := db.QueryContext(ctx, query, args...)
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
