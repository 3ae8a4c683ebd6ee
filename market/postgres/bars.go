package postgres

import (
	"context"
	"fmt"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/footnotehq/footnote/market"
	"github.com/footnotehq/footnote/market/internal/bars"
	"github.com/footnotehq/footnote/market/internal/tables"
)

// candles implements bars.Tables for one symbol in a load.
type candles struct {
	tx    pgx.Tx
	owner int64
}

// Statements that add candles; they replace existing ones.
const (
	insertCandles = `INSERT INTO footnote_market.candles (series, time, open, high, low, close, volume) `
	replace       = ` ON CONFLICT (series, time) DO UPDATE SET open = excluded.open, high = excluded.high, low = ` +
		`excluded.low, close = excluded.close, volume = excluded.volume`
)

// grow adds a series, or extends an existing one to include the bars of another.
func (t candles) grow(ctx context.Context, s bars.Series) (bars.Series, error) {
	return tables.Series(t.tx.QueryRow(ctx,
		`INSERT INTO footnote_market.series (symbol, timeframe, made, first, last) VALUES ($1, $2, $3, $4, $5)
		ON CONFLICT (symbol, timeframe, made) DO UPDATE SET first = least(series.first, excluded.first),
			last = greatest(series.last, excluded.last)
		RETURNING id, timeframe, made, first, last`, t.owner, string(s.Timeframe), s.Made, time.Unix(s.First, 0),
		time.Unix(s.Last, 0)))
}

func (t candles) series(ctx context.Context) ([]bars.Series, error) {
	rows, err := t.tx.Query(ctx,
		`SELECT id, timeframe, made, first, last FROM footnote_market.series WHERE symbol = $1`, t.owner)
	if err != nil {
		return nil, err
	}
	return pgx.CollectRows(rows, func(row pgx.CollectableRow) (bars.Series, error) { return tables.Series(row) })
}

// Around implements bars.Tables.
func (t candles) Around(ctx context.Context, in bars.Series, s bars.Span) (bars.Span, error) {
	var before, after *time.Time
	err := t.tx.QueryRow(ctx, `SELECT (SELECT max(time) FROM footnote_market.candles WHERE series = $1 AND time < $2),
		(SELECT min(time) FROM footnote_market.candles WHERE series = $1 AND time >= $3)`, in.ID, time.Unix(s.From, 0),
		time.Unix(s.To, 0)).Scan(&before, &after)
	if before != nil {
		s.From = before.Unix()
	}
	if after != nil {
		s.To = in.Timeframe.End(*after).Unix()
	}
	return s, err
}

// step returns the length of a bar.
func step(f market.Timeframe) string {
	if f == market.MN1 {
		return "interval '1 month'"
	}
	return fmt.Sprintf("interval '%d seconds'", int(f.Length().Seconds()))
}

// bin and end return the start and the end of the bar that contains a time. Weeks are counted from a Monday, on which
// all other bars begin as well.
func bin(f market.Timeframe) string {
	if f == market.MN1 {
		return "date_trunc('month', time, 'UTC')"
	}
	return "date_bin(" + step(f) + ", time, '1970-01-05 00:00:00+00')"
}

func end(f market.Timeframe, start string) string {
	return "((" + start + " AT TIME ZONE 'UTC' + " + step(f) + ") AT TIME ZONE 'UTC')"
}

// Make implements bars.Tables.
func (t candles) Make(ctx context.Context, f market.Timeframe, shorter, loaded bars.Series,
	s bars.Span) (bars.Series, error) {
	made, err := t.grow(ctx, bars.Series{Timeframe: f, Made: true, First: s.From, Last: s.From})
	if err != nil {
		return made, err
	}
	args := []any{shorter.ID, time.Unix(s.From, 0), time.Unix(s.To, 0), made.ID}
	if _, err := t.tx.Exec(ctx, insertCandles+group(f)+replace, args...); err != nil {
		return made, err
	}
	if loaded.ID != 0 {
		if _, err := t.tx.Exec(ctx, insertCandles+uncovered(f)+replace, append(args, loaded.ID)...); err != nil {
			return made, err
		}
	}
	return tables.Series(t.tx.QueryRow(ctx,
		`UPDATE footnote_market.series SET first = (SELECT min(time) FROM footnote_market.candles WHERE series = $1),
		last = (SELECT max(time) FROM footnote_market.candles WHERE series = $1) WHERE id = $1 RETURNING id,
			timeframe, made, first, last`, made.ID))
}

// group aggregates the bars of the series $1 in the range $2 to $3.
func group(f market.Timeframe) string {
	return `SELECT $4::bigint, ` + bin(f) +
		`, (array_agg(open ORDER BY time))[1], max(high), min(low), (array_agg(close ORDER BY time DESC))[1],
			sum(volume)
		FROM footnote_market.candles WHERE series = $1 AND time >= $2 AND time < $3 GROUP BY 2`
}

// uncovered selects the candles of the series $5 that shorter bars do not cover. Among the shorter bars, inside is
// the first that does not begin before the candle, before the last that does, and behind the first after its end.
// earlier and later are the adjacent candles.
func uncovered(f market.Timeframe) string {
	const of = " FROM footnote_market.candles WHERE series = "
	return `SELECT $4::bigint, time, open, high, low, close, volume FROM (SELECT c.*, ` + end(f, "c.time") + ` AS over,
			(SELECT min(time)` + of + `$1 AND time >= c.time) AS inside,
			(SELECT max(time)` + of + `$1 AND time < c.time) AS before,
			(SELECT min(time)` + of + `$1 AND time >= ` + end(f, "c.time") + `) AS behind,
			(SELECT max(time)` + of + `$5 AND time < c.time) AS earlier,
			(SELECT min(time)` + of + `$5 AND time > c.time) AS later
		FROM footnote_market.candles AS c WHERE series = $5 AND time >= $2 AND time < $3) AS c
		WHERE NOT coalesce(inside < over AND (inside = time OR before >= coalesce(earlier, before))
			AND (later IS NULL OR behind < ` + end(f, "later") + `), false)`
}
