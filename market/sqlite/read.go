package sqlite

import (
	"context"
	"database/sql"
	"slices"
	"strings"
	"time"

	"github.com/footnotehq/footnote/market"
	"github.com/footnotehq/footnote/market/internal/bars"
)

// failed gives an error of the database its code.
func failed(ctx context.Context, doing string, err error) error {
	return market.Failed(ctx, market.Database, doing, err)
}

// each runs a query and reads its rows.
func (s *Store) each(ctx context.Context, doing, query string, args []any, scan func(*sql.Rows) error) error {
	rows, err := s.read.QueryContext(ctx, query, args...)
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

const selectSymbols = `SELECT s.symbol, s.name, s.base, s.quote, s.digits, s.synthetic, r.id, r.timeframe, r.made, r.first, r.last
	FROM symbols s LEFT JOIN series r ON r.symbol = s.id ORDER BY s.symbol`

// Symbols implements market.Data.
func (s *Store) Symbols(ctx context.Context) ([]market.Symbol, error) {
	var list []market.Symbol
	series := map[string][]bars.Series{}
	err := s.each(ctx, "read the symbols", selectSymbols, nil, func(rows *sql.Rows) error {
		var m market.Symbol
		var id, first, last sql.NullInt64
		var tf sql.NullString
		var made sql.NullBool
		if err := rows.Scan(&m.Symbol, &m.Name, &m.Base, &m.Quote, &m.Digits, &m.Synthetic, &id, &tf, &made, &first, &last); err != nil {
			return err
		}
		if n := len(list); n == 0 || list[n-1].Symbol != m.Symbol {
			list = append(list, m)
		}
		if id.Valid {
			series[m.Symbol] = append(series[m.Symbol], bars.Series{
				ID: id.Int64, Timeframe: market.Timeframe(tf.String), Made: made.Bool, First: first.Int64, Last: last.Int64})
		}
		return nil
	})
	for i := range list {
		bars.Describe(&list[i], series[list[i].Symbol])
	}
	return list, err
}

const selectSeries = `SELECT r.id, r.timeframe, r.made, r.first, r.last FROM series r JOIN symbols s ON s.id = r.symbol WHERE s.symbol = ?`

// Candles implements market.Data.
func (s *Store) Candles(ctx context.Context, q market.CandleQuery) ([]market.Candle, error) {
	if err := q.Check(); err != nil {
		return nil, err
	}
	var all []bars.Series
	err := s.each(ctx, "read the series", selectSeries, []any{q.Symbol}, func(rows *sql.Rows) error {
		var r bars.Series
		err := rows.Scan(&r.ID, &r.Timeframe, &r.Made, &r.First, &r.Last)
		all = append(all, r)
		return err
	})
	if err != nil {
		return nil, err
	}
	if len(all) == 0 {
		return nil, s.unknown(ctx, q.Symbol)
	}
	return bars.Read(all, q, func(w bars.Window) ([]bars.Bar, error) { return s.bars(ctx, w) })
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

const selectBars = `SELECT time, open, high, low, close, volume FROM candles WHERE series = ? AND time >= ? AND time < ? ORDER BY time DESC LIMIT ?`

func (s *Store) bars(ctx context.Context, w bars.Window) ([]bars.Bar, error) {
	var list []bars.Bar
	err := s.each(ctx, "read the candles", selectBars, []any{w.Series, w.From, w.To, w.Limit}, func(rows *sql.Rows) error {
		var b bars.Bar
		err := rows.Scan(&b.Time, &b.Open, &b.High, &b.Low, &b.Close, &b.Volume)
		list = append(list, b)
		return err
	})
	return list, err
}

// conditions collects what a query asks for.
type conditions struct {
	where []string
	args  []any
}

func (c *conditions) add(sql string, args ...any) {
	c.where, c.args = append(c.where, sql), append(c.args, args...)
}

func (c *conditions) times(column string, from, to time.Time) {
	if !from.IsZero() {
		c.add(column+" >= ?", second(from))
	}
	if !to.IsZero() {
		c.add(column+" < ?", second(to))
	}
}

func (c *conditions) String() string {
	if len(c.where) == 0 {
		return ""
	}
	return " WHERE " + strings.Join(c.where, " AND ")
}

// oneOf is a condition that a column is one of some values.
func (c *conditions) oneOf(column string, values []string) {
	if len(values) == 0 {
		return
	}
	args := make([]any, len(values))
	for i, v := range values {
		args[i] = v
	}
	c.add(column+" IN (?"+strings.Repeat(", ?", len(values)-1)+")", args...)
}

// second is the first whole second that is not before a moment: what is stored has no
// parts of one.
func second(t time.Time) int64 {
	if t.Nanosecond() > 0 {
		return t.Unix() + 1
	}
	return t.Unix()
}

func at(unix int64) time.Time { return time.Unix(unix, 0).UTC() }

// Events implements market.Data.
func (s *Store) Events(ctx context.Context, q market.EventQuery) ([]market.Event, error) {
	limit, err := q.Check()
	if err != nil {
		return nil, err
	}
	var c conditions
	c.oneOf("currency", q.Currencies)
	c.times("time", q.From, q.To)
	if q.Title != "" {
		c.add("lower(title) = lower(?)", q.Title)
	}
	if n := market.ImpactLevel(q.Impact); n > 1 {
		c.add("impact >= ?", n)
	}
	order := ""
	if q.Newest {
		order = " DESC"
	}
	var list []market.Event
	err = s.each(ctx, "read the calendar", `SELECT id, time, currency, title, impact, actual, forecast, previous, unit, synthetic FROM events`+
		c.String()+` ORDER BY time`+order+`, id`+order+` LIMIT ?`, append(c.args, limit), func(rows *sql.Rows) error {
		var e market.Event
		var unix int64
		var impact int
		err := rows.Scan(&e.ID, &unix, &e.Currency, &e.Title, &impact, &e.Actual, &e.Forecast, &e.Previous, &e.Unit, &e.Synthetic)
		e.Time, e.Impact = at(unix), market.ImpactName(impact)
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
	var any []string
	for _, name := range q.Currencies {
		any = append(any, "instr(currencies, ?) > 0")
		c.args = append(c.args, ","+name+",")
	}
	if len(any) > 0 {
		c.where = append(c.where, "("+strings.Join(any, " OR ")+")")
	}
	var list []market.Headline
	err = s.each(ctx, "read the headlines", `SELECT id, time, source, title, url, currencies, synthetic FROM headlines`+
		c.String()+` ORDER BY time DESC, id DESC LIMIT ?`, append(c.args, limit), func(rows *sql.Rows) error {
		var h market.Headline
		var unix int64
		var currencies string
		err := rows.Scan(&h.ID, &unix, &h.Source, &h.Title, &h.URL, &currencies, &h.Synthetic)
		h.Time, h.Currencies = at(unix), strings.FieldsFunc(currencies, func(r rune) bool { return r == ',' })
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
	err = s.each(ctx, "read the positions", `SELECT symbol, date, published, spec_long, spec_short, comm_long, comm_short, interest, synthetic FROM cot`+
		c.String()+` ORDER BY date DESC LIMIT ?`, append(c.args, limit), func(rows *sql.Rows) error {
		var r market.COTReport
		var date, published int64
		err := rows.Scan(&r.Symbol, &date, &published, &r.NonCommercialLong, &r.NonCommercialShort, &r.CommercialLong, &r.CommercialShort, &r.OpenInterest, &r.Synthetic)
		r.Date, r.Published = at(date), at(published)
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
	c.add("org = ? AND user = ?", q.Org, q.User)
	if q.Symbol != "" {
		c.add("symbol = ?", q.Symbol)
	}
	closed := "closed IS NOT NULL"
	if !q.From.IsZero() {
		closed += " AND closed >= ?"
		c.args = append(c.args, second(q.From))
	}
	if !q.To.IsZero() {
		closed += " AND closed < ?"
		c.args = append(c.args, second(q.To))
	}
	if q.Open {
		closed = "(closed IS NULL OR " + closed + ")"
	}
	c.where = append(c.where, closed)
	var list []market.Trade
	err = s.each(ctx, "read the trades", `SELECT id, symbol, side, size, opened, closed, entry, exit, stop, target, pnl, currency, notes, synthetic FROM trades`+
		c.String()+` ORDER BY closed IS NULL DESC, closed DESC, opened DESC, id DESC LIMIT ?`, append(c.args, limit), func(rows *sql.Rows) error {
		var t market.Trade
		var opened int64
		var closed sql.NullInt64
		err := rows.Scan(&t.ID, &t.Symbol, &t.Side, &t.Size, &opened, &closed, &t.Entry, &t.Exit, &t.Stop, &t.Target, &t.PnL, &t.Currency, &t.Notes, &t.Synthetic)
		t.Opened = at(opened)
		if closed.Valid {
			t.Closed = at(closed.Int64)
		}
		list = append(list, t)
		return err
	})
	slices.Reverse(list)
	return list, err
}
