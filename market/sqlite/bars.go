package sqlite

import (
	"context"
	"database/sql"
	"fmt"
	"time"

	"github.com/footnotehq/footnote/market"
	"github.com/footnotehq/footnote/market/internal/bars"
	"github.com/footnotehq/footnote/market/internal/tables"
)

// candles implements bars.Tables for one symbol in a load.
type candles struct {
	tx    *sql.Tx
	owner int64
}

const insertCandles = "INSERT OR REPLACE INTO candles (series, time, open, high, low, close, volume)"

// grow adds a series, or extends an existing one to include the bars of another.
func (t candles) grow(ctx context.Context, s bars.Series) (bars.Series, error) {
	return tables.Series(t.tx.QueryRowContext(ctx,
		`INSERT INTO series (symbol, timeframe, made, first, last) VALUES (?, ?, ?, ?, ?)
		ON CONFLICT (symbol, timeframe, made) DO UPDATE SET first = min(first, excluded.first), last = max(last,
			excluded.last)
		RETURNING id, timeframe, made, first, last`, t.owner, string(s.Timeframe), s.Made, s.First, s.Last))
}

func (t candles) series(ctx context.Context) ([]bars.Series, error) {
	rows, err := t.tx.QueryContext(ctx, `SELECT id, timeframe, made, first, last FROM series WHERE symbol = ?`, t.owner)
	if err != nil {
		return nil, err
	}
	var list []bars.Series
	err = all(rows, func(row tables.Row) error {
		s, err := tables.Series(row)
		list = append(list, s)
		return err
	})
	return list, err
}

// Around implements bars.Tables.
func (t candles) Around(ctx context.Context, in bars.Series, s bars.Span) (bars.Span, error) {
	var before, after sql.NullInt64
	err := t.tx.QueryRowContext(ctx,
		`SELECT (SELECT max(time) FROM candles WHERE series = ?1 AND time < ?2), (SELECT min(time) FROM candles `+
			`WHERE series = ?1 AND time >= ?3)`,
		in.ID, s.From, s.To).Scan(&before, &after)
	if before.Valid {
		s.From = before.Int64
	}
	if after.Valid {
		s.To = in.Timeframe.End(time.Unix(after.Int64, 0)).Unix()
	}
	return s, err
}

// bin and end return the start and the end of the bar that contains a time. Weeks are counted from a Monday, on which
// all other bars begin as well.
func bin(f market.Timeframe) string {
	if f == market.MN1 {
		return "unixepoch(time, 'unixepoch', 'start of month')"
	}
	const monday = 4 * 24 * 3600
	return fmt.Sprintf("time - ((time - %[1]d) %% %[2]d + %[2]d) %% %[2]d", monday, int(f.Length().Seconds()))
}

func end(f market.Timeframe, start string) string {
	if f == market.MN1 {
		return "unixepoch(" + start + ", 'unixepoch', '+1 month')"
	}
	return fmt.Sprintf("(%s + %d)", start, int(f.Length().Seconds()))
}

// Make implements bars.Tables.
func (t candles) Make(ctx context.Context, f market.Timeframe, shorter, loaded bars.Series,
	s bars.Span) (bars.Series, error) {
	made, err := t.grow(ctx, bars.Series{Timeframe: f, Made: true, First: s.From, Last: s.From})
	if err != nil {
		return made, err
	}
	args := []any{shorter.ID, s.From, s.To, made.ID}
	if _, err := t.tx.ExecContext(ctx, insertCandles+group(f), args...); err != nil {
		return made, err
	}
	if loaded.ID != 0 {
		if _, err := t.tx.ExecContext(ctx, insertCandles+uncovered(f), append(args, loaded.ID)...); err != nil {
			return made, err
		}
	}
	return tables.Series(t.tx.QueryRowContext(ctx,
		`UPDATE series SET first = (SELECT min(time) FROM candles WHERE series = ?1), last = (SELECT max(time)
			FROM candles WHERE series = ?1)
		WHERE id = ?1 RETURNING id, timeframe, made, first, last`, made.ID))
}

// group aggregates the bars of the series ?1 in the range ?2 to ?3. It looks up the first and the last bar of each
// group by their times, which complete the key.
func group(f market.Timeframe) string {
	return ` SELECT ?4, g.bin, (SELECT open FROM candles WHERE series = ?1 AND time = g.first), g.high, g.low,
			(SELECT close FROM candles WHERE series = ?1 AND time = g.last), g.volume
		FROM (SELECT ` + bin(f) +
		` AS bin, min(time) AS first, max(time) AS last, max(high) AS high, min(low) AS low, sum(volume) AS volume
			FROM candles WHERE series = ?1 AND time >= ?2 AND time < ?3 GROUP BY 1) AS g`
}

// uncovered selects the candles of the series ?5 that shorter bars do not cover. Among the shorter bars, inside is
// the first that does not begin before the candle, before the last that does, and behind the first after its end.
// earlier and later are the adjacent candles.
func uncovered(f market.Timeframe) string {
	return ` SELECT ?4, time, open, high, low, close, volume FROM (SELECT c.*, ` + end(f, "time") + ` AS over,
			(SELECT min(time) FROM candles WHERE series = ?1 AND time >= c.time) AS inside,
			(SELECT max(time) FROM candles WHERE series = ?1 AND time < c.time) AS before,
			(SELECT min(time) FROM candles WHERE series = ?1 AND time >= ` + end(f, "c.time") + `) AS behind,
			(SELECT max(time) FROM candles WHERE series = ?5 AND time < c.time) AS earlier,
			(SELECT min(time) FROM candles WHERE series = ?5 AND time > c.time) AS later
		FROM candles AS c WHERE series = ?5 AND time >= ?2 AND time < ?3)
		WHERE NOT coalesce(inside < over AND (inside = time OR before >= coalesce(earlier, before))
			AND (later IS NULL OR behind < ` + end(f, "later") + `), 0)`
}
