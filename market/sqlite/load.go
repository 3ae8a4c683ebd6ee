package sqlite

import (
	"context"
	"database/sql"
	"errors"
	"strings"

	"modernc.org/sqlite"
	sqlite3 "modernc.org/sqlite/lib"

	"github.com/footnotehq/footnote"
	"github.com/footnotehq/footnote/market"
	"github.com/footnotehq/footnote/market/internal/bars"
)

// load is a market.Load: one transaction.
type load struct {
	tx      *sql.Tx
	changed bars.Changes
}

// Begin implements market.Store.
func (s *Store) Begin(ctx context.Context) (market.Load, error) {
	tx, err := s.write.BeginTx(ctx, nil)
	if e, ok := errors.AsType[*sqlite.Error](err); ok && e.Code()&0xff == sqlite3.SQLITE_BUSY {
		return nil, market.Occupied(err)
	}
	if err != nil {
		return nil, failed(ctx, "begin a load", err)
	}
	return &load{tx: tx, changed: bars.Changes{}}, nil
}

func (l *load) exec(ctx context.Context, doing, query string, args ...any) error {
	_, err := l.tx.ExecContext(ctx, query, args...)
	return failed(ctx, doing, err)
}

// Symbol implements market.Load.
func (l *load) Symbol(ctx context.Context, s market.Symbol) error {
	if err := s.Check(); err != nil {
		return err
	}
	return l.exec(ctx, "add a symbol",
		`INSERT INTO symbols (symbol, name, base, quote, digits, synthetic) VALUES (?, ?, ?, ?, ?, ?)
		ON CONFLICT (symbol) DO UPDATE SET name = excluded.name, base = excluded.base, quote = excluded.quote,
			digits = excluded.digits, synthetic = excluded.synthetic`,
		s.Symbol, s.Name, s.Base, s.Quote, s.Digits, s.Synthetic)
}

// rowsAtOnce is the number of rows per statement.
const rowsAtOnce = 100

// insert adds rows, many with each statement.
func (l *load) insert(ctx context.Context, doing, head string, columns, n int, row func(i int) []any) error {
	one := "(?" + strings.Repeat(", ?", columns-1) + ")"
	full, err := l.tx.PrepareContext(ctx, head+one+strings.Repeat(", "+one, rowsAtOnce-1))
	if err != nil {
		return failed(ctx, doing, err)
	}
	defer full.Close()
	args := make([]any, 0, rowsAtOnce*columns)
	for i := 0; i < n; {
		batch := min(rowsAtOnce, n-i)
		args = args[:0]
		for range batch {
			args = append(args, row(i)...)
			i++
		}
		if batch == rowsAtOnce {
			_, err = full.ExecContext(ctx, args...)
		} else {
			_, err = l.tx.ExecContext(ctx, head+one+strings.Repeat(", "+one, batch-1), args...)
		}
		if err != nil {
			return failed(ctx, doing, err)
		}
	}
	return nil
}

// Candles implements market.Load.
func (l *load) Candles(ctx context.Context, symbol string, tf market.Timeframe, list []market.Candle) error {
	if len(list) == 0 {
		return nil
	}
	var owner int64
	err := l.tx.QueryRowContext(ctx, `SELECT id FROM symbols WHERE symbol = ?`, symbol).Scan(&owner)
	if errors.Is(err, sql.ErrNoRows) {
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
	return l.insert(ctx, "add candles", insertCandles+" VALUES ", 7, len(list), func(i int) []any {
		c := list[i]
		return []any{s.ID, c.Time.Unix(), c.Open, c.High, c.Low, c.Close, c.Volume}
	})
}

// Events implements market.Load.
func (l *load) Events(ctx context.Context, list []market.Event) error {
	return l.insert(ctx, "add events",
		"INSERT OR REPLACE INTO events (time, currency, title, impact, actual, forecast, previous, unit, synthetic) "+
			"VALUES ", 9, len(list), func(i int) []any {
			e := list[i]
			return []any{
				e.Time.Unix(), e.Currency, e.Title, market.ImpactLevel(e.Impact), e.Actual, e.Forecast, e.Previous,
				e.Unit, e.Synthetic,
			}
		})
}

// Headlines implements market.Load.
func (l *load) Headlines(ctx context.Context, list []market.Headline) error {
	return l.insert(ctx, "add headlines",
		"INSERT OR REPLACE INTO headlines (time, source, title, url, currencies, synthetic) VALUES ", 6, len(list),
		func(i int) []any {
			h := list[i]
			return []any{
				h.Time.Unix(), h.Source, h.Title, h.URL, "," + strings.Join(h.Currencies, ",") + ",", h.Synthetic,
			}
		})
}

// COT implements market.Load.
func (l *load) COT(ctx context.Context, list []market.COTReport) error {
	return l.insert(ctx, "add positions", "INSERT OR REPLACE INTO cot VALUES ", 9, len(list), func(i int) []any {
		r := list[i]
		return []any{
			r.Symbol, r.Date.Unix(), r.Published.Unix(), r.NonCommercialLong, r.NonCommercialShort, r.CommercialLong,
			r.CommercialShort, r.OpenInterest, r.Synthetic,
		}
	})
}

// Trades implements market.Load.
func (l *load) Trades(ctx context.Context, org, user string, list []market.Trade) error {
	return l.insert(ctx, "add trades", "INSERT OR REPLACE INTO trades VALUES ", 16, len(list), func(i int) []any {
		t := list[i]
		var closed any
		if !t.Closed.IsZero() {
			closed = t.Closed.Unix()
		}
		return []any{
			org, user, t.ID, t.Symbol, t.Side, t.Size, t.Opened.Unix(), closed, t.Entry, t.Exit, t.Stop, t.Target,
			t.PnL, t.Currency, t.Notes, t.Synthetic,
		}
	})
}

// Commit implements market.Load.
func (l *load) Commit(ctx context.Context) error {
	for owner, changed := range l.changed {
		t := candles{l.tx, owner}
		all, err := t.series(ctx)
		if err == nil {
			err = bars.Make(ctx, t, all, changed)
		}
		if err != nil {
			return failed(ctx, "make bars", err)
		}
	}
	return failed(ctx, "commit a load", l.tx.Commit())
}

// Rollback implements market.Load.
func (l *load) Rollback() error {
	if err := l.tx.Rollback(); err != nil && !errors.Is(err, sql.ErrTxDone) {
		return failed(context.Background(), "roll back a load", err)
	}
	return nil
}

// Forget implements market.Store.
func (s *Store) Forget(ctx context.Context, org, user string) (int, error) {
	res, err := s.write.ExecContext(ctx, `DELETE FROM trades WHERE org = ? AND user = ?`, org, user)
	if err != nil {
		return 0, failed(ctx, "delete the trades", err)
	}
	n, err := res.RowsAffected()
	return int(n), failed(ctx, "delete the trades", err)
}
