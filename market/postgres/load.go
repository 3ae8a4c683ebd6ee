package postgres

import (
	"context"
	"errors"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/footnotehq/footnote"
	"github.com/footnotehq/footnote/market"
)

// Symbol implements market.Load.
func (l *load) Symbol(ctx context.Context, s market.Symbol) error {
	if err := s.Check(); err != nil {
		return err
	}
	_, err := l.tx.Exec(ctx,
		`INSERT INTO footnote_market.symbols (symbol, name, base, quote, digits, synthetic) VALUES ($1, $2, $3, $4,
			$5, $6)
		ON CONFLICT (symbol) DO UPDATE SET name = excluded.name, base = excluded.base, quote = excluded.quote,
			digits = excluded.digits, synthetic = excluded.synthetic`,
		s.Symbol, s.Name, s.Base, s.Quote, s.Digits, s.Synthetic)
	return failed(ctx, "add a symbol", err)
}

// Candles implements market.Load.
func (l *load) Candles(ctx context.Context, symbol string, tf market.Timeframe, list []market.Candle) error {
	if len(list) == 0 {
		return nil
	}
	var owner int64
	err := l.tx.QueryRow(ctx, `SELECT id FROM footnote_market.symbols WHERE symbol = $1`, symbol).Scan(&owner)
	if errors.Is(err, pgx.ErrNoRows) {
		return footnote.Errorf(footnote.NotFound, "There is no symbol %q.", symbol)
	}
	if err != nil {
		return failed(ctx, "add candles", err)
	}
	s, err := l.changed.Add(owner, tf, list)
	if err != nil {
		return err
	}
	if s, err = (candles{l.tx, owner}).grow(ctx, s); err != nil {
		return failed(ctx, "add candles", err)
	}
	return failed(ctx, "add candles", l.copy(ctx, s.ID, list))
}

// copy adds candles through a temporary table, because COPY cannot replace rows.
func (l *load) copy(ctx context.Context, id int64, list []market.Candle) error {
	if _, err := l.tx.Exec(ctx, `TRUNCATE fresh`); err != nil {
		return err
	}
	_, err := l.tx.CopyFrom(ctx, pgx.Identifier{
		"fresh",
	}, []string{
		"n", "time", "open", "high", "low", "close", "volume",
	}, pgx.CopyFromSlice(len(list), func(i int) ([]any, error) {
		c := list[i]
		return []any{int64(i), c.Time, c.Open, c.High, c.Low, c.Close, c.Volume}, nil
	}))
	if err != nil {
		return err
	}
	_, err = l.tx.Exec(ctx, insertCandles+`
		SELECT DISTINCT ON (time) $1::bigint, time, open, high, low, close, volume FROM fresh ORDER BY time, n DESC`+
		replace, id)
	return err
}

// batch runs one statement for each row.
func (l *load) batch(ctx context.Context, doing, sql string, n int, row func(i int) []any) error {
	var b pgx.Batch
	for i := range n {
		b.Queue(sql, row(i)...)
	}
	return failed(ctx, doing, l.tx.SendBatch(ctx, &b).Close())
}

// Events implements market.Load.
func (l *load) Events(ctx context.Context, list []market.Event) error {
	return l.batch(ctx, "add events",
		`INSERT INTO footnote_market.events (time, currency, title, impact, actual, forecast, previous, unit,
			synthetic) VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9)
		ON CONFLICT (time, currency, title) DO UPDATE SET impact = excluded.impact, actual = excluded.actual,
			forecast = excluded.forecast, previous = excluded.previous, unit = excluded.unit,
			synthetic = excluded.synthetic`,
		len(list), func(i int) []any {
			e := list[i]
			return []any{
				e.Time, e.Currency, e.Title, market.ImpactLevel(e.Impact), e.Actual, e.Forecast, e.Previous, e.Unit,
				e.Synthetic,
			}
		})
}

// Headlines implements market.Load.
func (l *load) Headlines(ctx context.Context, list []market.Headline) error {
	return l.batch(ctx, "add headlines",
		`INSERT INTO footnote_market.headlines (time, source, title, url, currencies, synthetic) VALUES ($1, $2, $3,
			$4, $5, $6)
		ON CONFLICT (time, source, title) DO UPDATE SET url = excluded.url, currencies = excluded.currencies,
			synthetic = excluded.synthetic`,
		len(list), func(i int) []any {
			h := list[i]
			return []any{h.Time, h.Source, h.Title, h.URL, append([]string{}, h.Currencies...), h.Synthetic}
		})
}

// COT implements market.Load.
func (l *load) COT(ctx context.Context, list []market.COTReport) error {
	return l.batch(ctx, "add positions", `INSERT INTO footnote_market.cot VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9)
		ON CONFLICT (symbol, date) DO UPDATE SET published = excluded.published, spec_long = excluded.spec_long,
			spec_short = excluded.spec_short,
			comm_long = excluded.comm_long, comm_short = excluded.comm_short, interest = excluded.interest, synthetic
			= excluded.synthetic`,
		len(list), func(i int) []any {
			r := list[i]
			return []any{
				r.Symbol, r.Date, r.Published, r.NonCommercialLong, r.NonCommercialShort, r.CommercialLong,
				r.CommercialShort, r.OpenInterest, r.Synthetic,
			}
		})
}

// Trades implements market.Load.
func (l *load) Trades(ctx context.Context, org, user string, list []market.Trade) error {
	return l.batch(ctx, "add trades",
		`INSERT INTO footnote_market.trades VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $12, $13, $14, $15,
			$16)
		ON CONFLICT (org, username, id) DO UPDATE SET symbol = excluded.symbol, side = excluded.side,
			size = excluded.size, opened = excluded.opened, closed = excluded.closed,
			entry = excluded.entry, exit = excluded.exit, stop = excluded.stop, target = excluded.target, pnl =
			excluded.pnl, currency = excluded.currency, notes = excluded.notes, synthetic = excluded.synthetic`,
		len(list), func(i int) []any {
			t := list[i]
			var closed *time.Time
			if !t.Closed.IsZero() {
				closed = &t.Closed
			}
			return []any{
				org, user, t.ID, t.Symbol, t.Side, t.Size, t.Opened, closed, t.Entry, t.Exit, t.Stop, t.Target, t.PnL,
				t.Currency, t.Notes, t.Synthetic,
			}
		})
}

// Forget implements market.Store.
func (s *Store) Forget(ctx context.Context, org, user string) (int, error) {
	gone, err := s.pool.Exec(ctx, `DELETE FROM footnote_market.trades WHERE org = $1 AND username = $2`, org, user)
	return int(gone.RowsAffected()), failed(ctx, "delete the trades", err)
}
