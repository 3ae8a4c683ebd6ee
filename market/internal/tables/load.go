package tables

import (
	"context"
	"database/sql"
	"errors"
	"strings"
	"time"

	"github.com/footnotehq/footnote"
	"github.com/footnotehq/footnote/market"
	"github.com/footnotehq/footnote/market/internal/bars"
)

// Tx is a transaction that writes.
type Tx interface {
	Exec(ctx context.Context, query string, args ...any) error
	QueryRow(ctx context.Context, query string, args ...any) Row
	Each(ctx context.Context, query string, args []any, scan func(Row) error) error
	// Put adds n rows to a table. Each replaces an earlier row with the same key.
	Put(ctx context.Context, t Table, n int, row func(i int) []any) error
	Commit(ctx context.Context) error
	Rollback() error // nil after Commit
}

// Table is a table that rows are added to.
type Table struct {
	Name         string // with the schema
	Key, Columns []string
}

// All lists the columns, the key first.
func (t Table) All() []string { return append(t.Key[:len(t.Key):len(t.Key)], t.Columns...) }

// Into begins a statement that adds rows.
func (t Table) Into() string {
	return "INSERT INTO " + t.Name + " (" + strings.Join(t.All(), ", ") + ") "
}

// Replace ends it: a row replaces the one with the same key.
func (t Table) Replace() string {
	set := make([]string, len(t.Columns))
	for i, c := range t.Columns {
		set[i] = c + " = excluded." + c
	}
	return " ON CONFLICT (" + strings.Join(t.Key, ", ") + ") DO UPDATE SET " + strings.Join(set, ", ")
}

// Load is a market.Load: one transaction.
type Load struct {
	d       Dialect
	tx      Tx
	changed bars.Changes
}

var _ market.Load = (*Load)(nil)

// NewLoad returns the load that writes in a transaction.
func NewLoad(d Dialect, tx Tx) *Load { return &Load{d, tx, bars.Changes{}} }

// Failed adds a code to a database error. A connection error may contain the address; it is for the log only.
func Failed(ctx context.Context, doing string, err error) error {
	return market.Failed(ctx, market.Database, doing, err)
}

// put adds rows to a table, whose key and other columns are given as words.
func (l *Load) put(ctx context.Context, doing, table, key, columns string, n int, row func(i int) []any) error {
	t := Table{l.d.Schema + table, strings.Fields(key), strings.Fields(columns)}
	return Failed(ctx, doing, l.tx.Put(ctx, t, n, row))
}

// Symbol implements market.Load.
func (l *Load) Symbol(ctx context.Context, s market.Symbol) error {
	if err := s.Check(); err != nil {
		return err
	}
	return l.put(ctx, "add a symbol", "symbols", "symbol", "name base quote digits synthetic", 1, func(int) []any {
		return []any{s.Symbol, s.Name, s.Base, s.Quote, s.Digits, s.Synthetic}
	})
}

// Candles implements market.Load.
func (l *Load) Candles(ctx context.Context, symbol string, tf market.Timeframe, list []market.Candle) error {
	if len(list) == 0 {
		return nil
	}
	var owner int64
	err := l.tx.QueryRow(ctx, `SELECT id FROM `+l.d.Schema+`symbols WHERE symbol = $1`, symbol).Scan(&owner)
	if errors.Is(err, sql.ErrNoRows) {
		return footnote.Errorf(footnote.NotFound, "There is no symbol %q.", symbol)
	}
	if err != nil {
		return Failed(ctx, "add candles", err)
	}
	s, err := l.changed.Add(owner, tf, list)
	if err != nil {
		return err
	}
	c := l.candles(owner)
	if s, err = c.grow(ctx, s); err == nil {
		err = l.tx.Put(ctx, c.table, len(list), func(i int) []any {
			k := list[i]
			return []any{s.ID, l.d.Stored(k.Time), k.Open, k.High, k.Low, k.Close, k.Volume}
		})
	}
	return Failed(ctx, "add candles", err)
}

// Events implements market.Load.
func (l *Load) Events(ctx context.Context, list []market.Event) error {
	return l.put(ctx, "add events", "events", "time currency title",
		"impact actual forecast previous unit synthetic", len(list), func(i int) []any {
			e := list[i]
			return []any{
				l.d.Stored(e.Time), e.Currency, e.Title, market.ImpactLevel(e.Impact), e.Actual, e.Forecast, e.Previous,
				e.Unit, e.Synthetic,
			}
		})
}

// Headlines implements market.Load.
func (l *Load) Headlines(ctx context.Context, list []market.Headline) error {
	return l.put(ctx, "add headlines", "headlines", "time source title", "url currencies synthetic", len(list),
		func(i int) []any {
			h := list[i]
			return []any{l.d.Stored(h.Time), h.Source, h.Title, h.URL, l.d.StoredCurrencies(h.Currencies), h.Synthetic}
		})
}

// COT implements market.Load.
func (l *Load) COT(ctx context.Context, list []market.COTReport) error {
	return l.put(ctx, "add positions", "cot", "symbol date",
		"published spec_long spec_short comm_long comm_short interest synthetic", len(list), func(i int) []any {
			r := list[i]
			return []any{
				r.Symbol, l.d.Stored(r.Date), l.d.Stored(r.Published), r.NonCommercialLong, r.NonCommercialShort,
				r.CommercialLong, r.CommercialShort, r.OpenInterest, r.Synthetic,
			}
		})
}

// Trades implements market.Load.
func (l *Load) Trades(ctx context.Context, org, user string, list []market.Trade) error {
	return l.put(ctx, "add trades", "trades", "org "+l.d.User+" id",
		"symbol side size opened closed entry exit stop target pnl currency notes synthetic", len(list),
		func(i int) []any {
			t := list[i]
			var closed any
			if !t.Closed.IsZero() {
				closed = l.d.Stored(t.Closed)
			}
			return []any{
				org, user, t.ID, t.Symbol, t.Side, t.Size, l.d.Stored(t.Opened), closed, t.Entry, t.Exit, t.Stop,
				t.Target, t.PnL, t.Currency, t.Notes, t.Synthetic,
			}
		})
}

// Commit implements market.Load.
func (l *Load) Commit(ctx context.Context) error {
	for owner, changed := range l.changed {
		c := l.candles(owner)
		all, err := c.series(ctx)
		if err == nil {
			err = bars.Make(ctx, c, all, changed)
		}
		if err != nil {
			return Failed(ctx, "make bars", err)
		}
	}
	return Failed(ctx, "commit a load", l.tx.Commit(ctx))
}

// Rollback implements market.Load.
func (l *Load) Rollback() error {
	return Failed(context.Background(), "roll back a load", l.tx.Rollback())
}

// candles implements bars.Tables for one symbol in a load.
type candles struct {
	d     Dialect
	tx    Tx
	owner int64
	table Table
}

func (l *Load) candles(owner int64) candles {
	return candles{l.d, l.tx, owner,
		Table{l.d.Schema + "candles", []string{"series", "time"}, []string{"open", "high", "low", "close", "volume"}}}
}

// unix returns a time as the database stores it.
func (c candles) unix(at int64) any { return c.d.Stored(time.Unix(at, 0)) }

// grow adds a series, or extends an existing one to include the bars of another.
func (c candles) grow(ctx context.Context, s bars.Series) (bars.Series, error) {
	return Series(c.tx.QueryRow(ctx, `INSERT INTO `+c.d.Schema+`series (symbol, timeframe, made, first, last)
		VALUES ($1, $2, $3, $4, $5) ON CONFLICT (symbol, timeframe, made) DO UPDATE SET
			first = CASE WHEN excluded.first < series.first THEN excluded.first ELSE series.first END,
			last = CASE WHEN excluded.last > series.last THEN excluded.last ELSE series.last END
		RETURNING id, timeframe, made, first, last`,
		c.owner, string(s.Timeframe), s.Made, c.unix(s.First), c.unix(s.Last)))
}

func (c candles) series(ctx context.Context) (all []bars.Series, err error) {
	err = c.tx.Each(ctx, `SELECT id, timeframe, made, first, last FROM `+c.d.Schema+`series WHERE symbol = $1`,
		[]any{c.owner}, func(row Row) error {
			s, err := Series(row)
			all = append(all, s)
			return err
		})
	return all, err
}

// Around implements bars.Tables.
func (c candles) Around(ctx context.Context, in bars.Series, s bars.Span) (bars.Span, error) {
	var before, after time.Time
	of := ` FROM ` + c.table.Name + ` WHERE series = $1 AND time `
	err := c.tx.QueryRow(ctx, `SELECT (SELECT max(time)`+of+`< $2), (SELECT min(time)`+of+`>= $3)`, in.ID,
		c.unix(s.From), c.unix(s.To)).Scan(moment{&before}, moment{&after})
	if !before.IsZero() {
		s.From = before.Unix()
	}
	if !after.IsZero() {
		s.To = in.Timeframe.End(after).Unix()
	}
	return s, err
}

// Make implements bars.Tables.
func (c candles) Make(ctx context.Context, f market.Timeframe, shorter, loaded bars.Series,
	s bars.Span) (bars.Series, error) {
	made, err := c.grow(ctx, bars.Series{Timeframe: f, Made: true, First: s.From, Last: s.From})
	if err != nil {
		return made, err
	}
	args := []any{shorter.ID, c.unix(s.From), c.unix(s.To), made.ID}
	if err := c.tx.Exec(ctx, c.table.Into()+c.group(f)+c.table.Replace(), args...); err != nil {
		return made, err
	}
	if loaded.ID != 0 {
		args = append(args, loaded.ID)
		if err := c.tx.Exec(ctx, c.table.Into()+c.uncovered(f)+c.table.Replace(), args...); err != nil {
			return made, err
		}
	}
	of := `(time) FROM ` + c.table.Name + ` WHERE series = $1`
	return Series(c.tx.QueryRow(ctx, `UPDATE `+c.d.Schema+`series SET first = (SELECT min`+of+`),
		last = (SELECT max`+of+`) WHERE id = $1 RETURNING id, timeframe, made, first, last`, made.ID))
}

// group aggregates the bars of the series $1 in the range $2 to $3. It looks up the first and the last bar of each
// group by their times, which complete the key.
func (c candles) group(f market.Timeframe) string {
	of := ` FROM ` + c.table.Name + ` WHERE series = $1 AND time `
	return `SELECT CAST($4 AS bigint), g.bin, (SELECT open` + of + `= g.first), g.high, g.low,
			(SELECT close` + of + `= g.last), g.volume
		FROM (SELECT ` + c.d.Bin(f) + ` AS bin, min(time) AS first, max(time) AS last, max(high) AS high,
			min(low) AS low, sum(volume) AS volume` + of + `>= $2 AND time < $3 GROUP BY 1) AS g WHERE true`
}

// uncovered selects the candles of the series $5 that shorter bars do not cover. Among the shorter bars, inside is
// the first that does not begin before the candle, before the last that does, and behind the first after its end.
// earlier and later are the adjacent candles.
func (c candles) uncovered(f market.Timeframe) string {
	of := ` FROM ` + c.table.Name + ` WHERE series = `
	return `SELECT CAST($4 AS bigint), time, open, high, low, close, volume
		FROM (SELECT c.*, ` + c.d.End(f, "c.time") + ` AS over,
			(SELECT min(time)` + of + `$1 AND time >= c.time) AS inside,
			(SELECT max(time)` + of + `$1 AND time < c.time) AS before,
			(SELECT min(time)` + of + `$1 AND time >= ` + c.d.End(f, "c.time") + `) AS behind,
			(SELECT max(time)` + of + `$5 AND time < c.time) AS earlier,
			(SELECT min(time)` + of + `$5 AND time > c.time) AS later
		FROM ` + c.table.Name + ` AS c WHERE series = $5 AND time >= $2 AND time < $3) AS c
		WHERE NOT coalesce(inside < over AND (inside = time OR before >= coalesce(earlier, before))
			AND (later IS NULL OR behind < ` + c.d.End(f, "later") + `), false)`
}
