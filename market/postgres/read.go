package postgres

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/footnotehq/footnote/market"
	"github.com/footnotehq/footnote/market/internal/bars"
)

// each runs a query and reads its rows.
func (s *Store) each(ctx context.Context, doing, query string, args []any, scan func(pgx.Rows) error) error {
	rows, err := s.pool.Query(ctx, query, args...)
	if err != nil {
		return failed(ctx, doing, err)
	}
	defer rows.Close()
	for rows.Next() {
		if err := scan(rows); err != nil {
			return failed(ctx, doing, err)
		}
	}
	return failed(ctx, doing, rows.Err())
}

// series are those of some symbols, or of all.
func (s *Store) series(ctx context.Context, symbol string) (map[string][]bars.Series, error) {
	all := map[string][]bars.Series{}
	err := s.each(ctx, "read the series", `SELECT s.symbol, r.id, r.timeframe, r.made, r.first, r.last FROM footnote_market.series r
		JOIN footnote_market.symbols s ON s.id = r.symbol WHERE $1 = '' OR s.symbol = $1`, []any{symbol}, func(rows pgx.Rows) error {
		var name string
		r, err := scan(rows, &name)
		all[name] = append(all[name], r)
		return err
	})
	return all, err
}

// Symbols implements market.Data.
func (s *Store) Symbols(ctx context.Context) ([]market.Symbol, error) {
	var list []market.Symbol
	err := s.each(ctx, "read the symbols", `SELECT symbol, name, base, quote, digits, synthetic FROM footnote_market.symbols ORDER BY symbol`, nil, func(rows pgx.Rows) error {
		var m market.Symbol
		err := rows.Scan(&m.Symbol, &m.Name, &m.Base, &m.Quote, &m.Digits, &m.Synthetic)
		list = append(list, m)
		return err
	})
	if err != nil {
		return nil, err
	}
	all, err := s.series(ctx, "")
	for i := range list {
		bars.Describe(&list[i], all[list[i].Symbol])
	}
	return list, err
}

// Candles implements market.Data.
func (s *Store) Candles(ctx context.Context, q market.CandleQuery) ([]market.Candle, error) {
	if err := q.Check(); err != nil {
		return nil, err
	}
	var all map[string][]bars.Series
	var err error
	if q.Symbol != "" {
		if all, err = s.series(ctx, q.Symbol); err != nil {
			return nil, err
		}
	}
	if len(all) == 0 {
		return nil, s.unknown(ctx, q.Symbol)
	}
	return bars.Read(all[q.Symbol], q, func(w bars.Window) ([]bars.Bar, error) { return s.bars(ctx, w) })
}

// unknown is the error of a symbol without candles; nil when there is such a symbol.
func (s *Store) unknown(ctx context.Context, symbol string) error {
	known, err := s.Symbols(ctx)
	if err != nil {
		return err
	}
	if slices.ContainsFunc(known, func(m market.Symbol) bool { return m.Symbol == symbol }) {
		return nil
	}
	return market.Unknown(symbol, known)
}

const selectBars = `SELECT time, open, high, low, close, volume FROM footnote_market.candles WHERE series = $1 AND time >= $2 AND time < $3 ORDER BY time DESC LIMIT $4`

func (s *Store) bars(ctx context.Context, w bars.Window) ([]bars.Bar, error) {
	var list []bars.Bar
	err := s.each(ctx, "read the candles", selectBars, []any{w.Series, time.Unix(w.From, 0), time.Unix(w.To, 0), w.Limit}, func(rows pgx.Rows) error {
		var b bars.Bar
		var at time.Time
		err := rows.Scan(&at, &b.Open, &b.High, &b.Low, &b.Close, &b.Volume)
		b.Time = at.Unix()
		list = append(list, b)
		return err
	})
	return list, err
}

// conditions collects what a query asks for; each value is a parameter.
type conditions struct {
	where []string
	args  []any
}

// add adds a condition in which ? stands for the value.
func (c *conditions) add(sql string, arg any) {
	c.where = append(c.where, c.with(sql, arg))
}

func (c *conditions) with(sql string, arg any) string {
	c.args = append(c.args, arg)
	return strings.ReplaceAll(sql, "?", fmt.Sprintf("$%d", len(c.args)))
}

func (c *conditions) times(column string, from, to time.Time) {
	if !from.IsZero() {
		c.add(column+" >= ?", upward(from))
	}
	if !to.IsZero() {
		c.add(column+" < ?", upward(to))
	}
}

// upward is a moment in whole microseconds, which is what Postgres keeps, and not
// before t.
func upward(t time.Time) time.Time {
	if whole := t.Truncate(time.Microsecond); whole.Before(t) {
		return whole.Add(time.Microsecond)
	}
	return t
}

func (c *conditions) limited(order string, limit int) string {
	where := ""
	if len(c.where) > 0 {
		where = " WHERE " + strings.Join(c.where, " AND ")
	}
	return where + " ORDER BY " + order + c.with(" LIMIT ?", limit)
}

// Events implements market.Data.
func (s *Store) Events(ctx context.Context, q market.EventQuery) ([]market.Event, error) {
	limit, err := q.Check()
	if err != nil {
		return nil, err
	}
	var c conditions
	if len(q.Currencies) > 0 {
		c.add("currency = ANY(?)", q.Currencies)
	}
	c.times("time", q.From, q.To)
	if q.Title != "" {
		c.add("lower(title) = lower(?)", q.Title)
	}
	if n := market.ImpactLevel(q.Impact); n > 1 {
		c.add("impact >= ?", n)
	}
	order := "time, id"
	if q.Newest {
		order = "time DESC, id DESC"
	}
	var list []market.Event
	err = s.each(ctx, "read the calendar", `SELECT id, time, currency, title, impact, actual, forecast, previous, unit, synthetic FROM footnote_market.events`+
		c.limited(order, limit), c.args, func(rows pgx.Rows) error {
		var e market.Event
		var impact int
		err := rows.Scan(&e.ID, &e.Time, &e.Currency, &e.Title, &impact, &e.Actual, &e.Forecast, &e.Previous, &e.Unit, &e.Synthetic)
		e.Time, e.Impact = e.Time.UTC(), market.ImpactName(impact)
		list = append(list, e)
		return err
	})
	if q.Newest {
		slices.Reverse(list)
	}
	return list, err
}

// Headlines implements market.Data.
func (s *Store) Headlines(ctx context.Context, q market.HeadlineQuery) ([]market.Headline, error) {
	limit, err := q.Check()
	if err != nil {
		return nil, err
	}
	var c conditions
	c.times("time", q.From, q.To)
	if len(q.Currencies) > 0 {
		c.add("currencies && ?", q.Currencies)
	}
	var list []market.Headline
	err = s.each(ctx, "read the headlines", `SELECT id, time, source, title, url, currencies, synthetic FROM footnote_market.headlines`+
		c.limited("time DESC, id DESC", limit), c.args, func(rows pgx.Rows) error {
		var h market.Headline
		err := rows.Scan(&h.ID, &h.Time, &h.Source, &h.Title, &h.URL, &h.Currencies, &h.Synthetic)
		h.Time = h.Time.UTC()
		list = append(list, h)
		return err
	})
	return list, err
}

// COT implements market.Data.
func (s *Store) COT(ctx context.Context, q market.COTQuery) ([]market.COTReport, error) {
	limit, err := q.Check()
	if err != nil {
		return nil, err
	}
	var c conditions
	c.add("symbol = ?", q.Symbol)
	c.times("published", time.Time{}, q.To)
	var list []market.COTReport
	err = s.each(ctx, "read the positions", `SELECT symbol, date, published, spec_long, spec_short, comm_long, comm_short, interest, synthetic FROM footnote_market.cot`+
		c.limited("date DESC", limit), c.args, func(rows pgx.Rows) error {
		var r market.COTReport
		err := rows.Scan(&r.Symbol, &r.Date, &r.Published, &r.NonCommercialLong, &r.NonCommercialShort, &r.CommercialLong, &r.CommercialShort, &r.OpenInterest, &r.Synthetic)
		r.Date, r.Published = r.Date.UTC(), r.Published.UTC()
		list = append(list, r)
		return err
	})
	slices.Reverse(list)
	if err == nil && len(list) == 0 {
		err = s.unknown(ctx, q.Symbol)
	}
	return list, err
}

// Trades implements market.Data.
func (s *Store) Trades(ctx context.Context, q market.TradeQuery) ([]market.Trade, error) {
	limit, err := q.Check()
	if err != nil {
		return nil, err
	}
	var c conditions
	c.add("org = ?", q.Org)
	c.add("username = ?", q.User)
	if q.Symbol != "" {
		c.add("symbol = ?", q.Symbol)
	}
	closed := "closed IS NOT NULL"
	if !q.From.IsZero() {
		closed += c.with(" AND closed >= ?", upward(q.From))
	}
	if !q.To.IsZero() {
		closed += c.with(" AND closed < ?", upward(q.To))
	}
	if q.Open {
		closed = "(closed IS NULL OR " + closed + ")"
	}
	c.where = append(c.where, closed)
	var list []market.Trade
	err = s.each(ctx, "read the trades", `SELECT id, symbol, side, size, opened, closed, entry, exit, stop, target, pnl, currency, notes, synthetic FROM footnote_market.trades`+
		c.limited("closed DESC NULLS FIRST, opened DESC, id DESC", limit), c.args, func(rows pgx.Rows) error {
		var t market.Trade
		var closed *time.Time
		err := rows.Scan(&t.ID, &t.Symbol, &t.Side, &t.Size, &t.Opened, &closed, &t.Entry, &t.Exit, &t.Stop, &t.Target, &t.PnL, &t.Currency, &t.Notes, &t.Synthetic)
		t.Opened = t.Opened.UTC()
		if closed != nil {
			t.Closed = closed.UTC()
		}
		list = append(list, t)
		return err
	})
	slices.Reverse(list)
	return list, err
}
