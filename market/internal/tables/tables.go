// Package tables reads and writes the tables of a market. SQLite and Postgres have the same tables and statements,
// except for the differences in Dialect and in how a Tx adds many rows.
package tables

import (
	"context"
	"database/sql"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/footnotehq/footnote/market"
	"github.com/footnotehq/footnote/market/internal/bars"
)

// Dialect holds the differences between the databases.
type Dialect struct {
	Schema string // prefix of table names
	User   string // column with the owner of a trade
	// Time returns a time in stored precision, rounded up.
	Time func(time.Time) any
	// Stored returns a time as it is stored, rounded down.
	Stored func(time.Time) any
	// Bin returns the start of the bar that contains the column time, and End the end of a bar. Weeks are counted from
	// a Monday, on which all other bars begin as well.
	Bin func(f market.Timeframe) string
	End func(f market.Timeframe, start string) string
	// About returns the condition that a headline concerns one of the currencies. add adds an argument and returns
	// its placeholder.
	About func(currencies []string, add func(any) string) string
	// Currencies returns a scan target for the currencies of a headline; StoredCurrencies encodes them for storage.
	Currencies       func(*[]string) any
	StoredCurrencies func([]string) any
}

// Row is a row of a database.
type Row interface{ Scan(to ...any) error }

// Each runs a query and passes its rows to scan one by one.
type Each func(ctx context.Context, query string, args []any, scan func(Row) error) error

// Reader is the market.Data of a database.
type Reader struct {
	d    Dialect
	each Each
}

var _ market.Data = (*Reader)(nil)

// New returns the Reader of a database.
func New(d Dialect, each Each) *Reader { return &Reader{d, each} }

// list runs a query and returns its rows. Database errors get a code.
func list[T any](ctx context.Context, r *Reader, doing, query string, args []any,
	scan func(Row) (T, error)) ([]T, error) {
	var all []T
	err := r.each(ctx, query, args, func(row Row) error {
		v, err := scan(row)
		all = append(all, v)
		return err
	})
	if err != nil {
		return nil, Failed(ctx, doing, err)
	}
	return all, nil
}

// moment is a scan target for a time, stored as Unix seconds or as a time; NULL leaves it zero.
type moment struct{ to *time.Time }

var _ sql.Scanner = moment{}

// Scan implements sql.Scanner.
func (m moment) Scan(v any) error {
	switch v := v.(type) {
	case nil:
	case int64:
		*m.to = time.Unix(v, 0).UTC()
	case time.Time:
		*m.to = v.UTC()
	default:
		return fmt.Errorf("a time is a %T", v)
	}
	return nil
}

// Series scans a series from the last columns of a row: its id, time frame, made, first and last.
func Series(row Row, more ...any) (bars.Series, error) {
	var s bars.Series
	var f string
	var first, last time.Time
	err := row.Scan(append(more, &s.ID, &f, &s.Made, moment{&first}, moment{&last})...)
	s.Timeframe, s.First, s.Last = market.Timeframe(f), first.Unix(), last.Unix()
	return s, err
}

// Symbols implements market.Data.
func (r *Reader) Symbols(ctx context.Context) ([]market.Symbol, error) {
	all, err := list(ctx, r, "read the symbols",
		`SELECT symbol, name, base, quote, digits, synthetic FROM `+r.d.Schema+`symbols ORDER BY symbol`, nil,
		func(row Row) (m market.Symbol, err error) {
			err = row.Scan(&m.Symbol, &m.Name, &m.Base, &m.Quote, &m.Digits, &m.Synthetic)
			return m, err
		})
	if err != nil {
		return nil, err
	}
	series := map[string][]bars.Series{}
	_, err = list(ctx, r, "read the series", r.selectSeries(""), nil, func(row Row) (any, error) {
		var symbol string
		s, err := Series(row, &symbol)
		series[symbol] = append(series[symbol], s)
		return nil, err
	})
	if err != nil {
		return nil, err
	}
	for i := range all {
		bars.Describe(&all[i], series[all[i].Symbol])
	}
	return all, nil
}

func (r *Reader) selectSeries(where string) string {
	return `SELECT s.symbol, r.id, r.timeframe, r.made, r.first, r.last FROM ` + r.d.Schema + `series r JOIN ` +
		r.d.Schema + `symbols s ON s.id = r.symbol` + where
}

// Candles implements market.Data.
func (r *Reader) Candles(ctx context.Context, q market.CandleQuery) ([]market.Candle, error) {
	if err := q.Check(); err != nil {
		return nil, err
	}
	all, err := list(ctx, r, "read the series", r.selectSeries(` WHERE s.symbol = $1`), []any{q.Symbol},
		func(row Row) (bars.Series, error) {
			return Series(row, new(string))
		})
	if err != nil {
		return nil, err
	}
	if len(all) == 0 {
		return nil, r.unknown(ctx, q.Symbol)
	}
	return bars.Read(all, q, func(w bars.Window) ([]bars.Bar, error) {
		c := r.where("series = ?", w.Series)
		c.times("time", time.Unix(w.From, 0), time.Unix(w.To, 0))
		return list(ctx, r, "read the candles",
			`SELECT time, open, high, low, close, volume FROM `+r.d.Schema+`candles`+c.sorted("time DESC", w.Limit),
			c.args, func(row Row) (b bars.Bar, err error) {
				var at time.Time
				err = row.Scan(moment{&at}, &b.Open, &b.High, &b.Low, &b.Close, &b.Volume)
				b.Time = at.Unix()
				return b, err
			})
	})
}

// unknown returns the error for a symbol without candles, or nil if the symbol exists.
func (r *Reader) unknown(ctx context.Context, symbol string) error {
	_, err := market.Find(ctx, r, symbol)
	return err
}

// conditions collects the conditions of a query; each value becomes an argument.
type conditions struct {
	d     Dialect
	where []string
	args  []any
}

// where starts with one condition.
func (r *Reader) where(sql string, arg any) *conditions {
	c := &conditions{d: r.d}
	c.add(sql, arg)
	return c
}

// add adds a condition, in which ? stands for the value.
func (c *conditions) add(sql string, arg any) {
	c.where = append(c.where, strings.ReplaceAll(sql, "?", c.arg(arg)))
}

// arg adds an argument and returns its placeholder.
func (c *conditions) arg(v any) string {
	c.args = append(c.args, v)
	return fmt.Sprintf("$%d", len(c.args))
}

func (c *conditions) times(column string, from, to time.Time) {
	if !from.IsZero() {
		c.add(column+" >= ?", c.d.Time(from))
	}
	if !to.IsZero() {
		c.add(column+" < ?", c.d.Time(to))
	}
}

// sorted returns the rest of a statement.
func (c *conditions) sorted(order string, limit int) string {
	where := ""
	if len(c.where) > 0 {
		where = " WHERE " + strings.Join(c.where, " AND ")
	}
	return where + " ORDER BY " + order + " LIMIT " + c.arg(limit)
}

// Events implements market.Data.
func (r *Reader) Events(ctx context.Context, q market.EventQuery) ([]market.Event, error) {
	limit, err := q.Check()
	if err != nil {
		return nil, err
	}
	c := conditions{d: r.d}
	var of []string
	for _, name := range q.Currencies {
		of = append(of, c.arg(name))
	}
	if len(of) > 0 {
		c.where = append(c.where, "currency IN ("+strings.Join(of, ", ")+")")
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
	all, err := list(ctx, r, "read the calendar",
		`SELECT id, time, currency, title, impact, actual, forecast, previous, unit, synthetic FROM `+r.d.Schema+
			`events`+
			c.sorted(order, limit), c.args, func(row Row) (e market.Event, err error) {
			var impact int
			err = row.Scan(&e.ID, moment{&e.Time},
				&e.Currency, &e.Title, &impact, &e.Actual, &e.Forecast, &e.Previous, &e.Unit, &e.Synthetic)
			e.Impact = market.ImpactName(impact)
			return e, err
		})
	if q.Newest {
		slices.Reverse(all)
	}
	return all, err
}

// Headlines implements market.Data.
func (r *Reader) Headlines(ctx context.Context, q market.HeadlineQuery) ([]market.Headline, error) {
	limit, err := q.Check()
	if err != nil {
		return nil, err
	}
	c := conditions{d: r.d}
	c.times("time", q.From, q.To)
	if len(q.Currencies) > 0 {
		c.where = append(c.where, r.d.About(q.Currencies, c.arg))
	}
	return list(ctx, r, "read the headlines",
		`SELECT id, time, source, title, url, currencies, synthetic FROM `+r.d.Schema+`headlines`+
			c.sorted("time DESC, id DESC", limit), c.args, func(row Row) (h market.Headline, err error) {
			err = row.Scan(&h.ID, moment{&h.Time},
				&h.Source, &h.Title, &h.URL, r.d.Currencies(&h.Currencies), &h.Synthetic)
			return h, err
		})
}

// COT implements market.Data.
func (r *Reader) COT(ctx context.Context, q market.COTQuery) ([]market.COTReport, error) {
	limit, err := q.Check()
	if err != nil {
		return nil, err
	}
	c := r.where("symbol = ?", q.Symbol)
	c.times("published", time.Time{}, q.To)
	all, err := list(ctx, r, "read the positions",
		`SELECT symbol, date, published, spec_long, spec_short, comm_long, comm_short, interest, synthetic FROM `+
			r.d.Schema+`cot`+
			c.sorted("date DESC", limit), c.args, func(row Row) (p market.COTReport, err error) {
			err = row.Scan(&p.Symbol, moment{&p.Date}, moment{&p.Published}, &p.NonCommercialLong,
				&p.NonCommercialShort, &p.CommercialLong, &p.CommercialShort, &p.OpenInterest, &p.Synthetic)
			return p, err
		})
	slices.Reverse(all)
	if err == nil && len(all) == 0 {
		err = r.unknown(ctx, q.Symbol)
	}
	return all, err
}

// Trades implements market.Data.
func (r *Reader) Trades(ctx context.Context, q market.TradeQuery) ([]market.Trade, error) {
	limit, err := q.Check()
	if err != nil {
		return nil, err
	}
	c := r.where("org = ?", q.Org)
	c.add(r.d.User+" = ?", q.User)
	if q.Symbol != "" {
		c.add("symbol = ?", q.Symbol)
	}
	closed := &conditions{d: r.d, args: c.args, where: []string{"closed IS NOT NULL"}}
	closed.times("closed", q.From, q.To)
	over := strings.Join(closed.where, " AND ")
	if q.Open {
		over = "(closed IS NULL OR " + over + ")"
	}
	c.args, c.where = closed.args, append(c.where, over)
	all, err := list(ctx, r, "read the trades",
		`SELECT id, symbol, side, size, opened, closed, entry, exit, stop, target, pnl, currency, notes, synthetic `+
			`FROM `+r.d.Schema+`trades`+
			c.sorted("closed DESC NULLS FIRST, opened DESC, id DESC", limit), c.args,
		func(row Row) (t market.Trade, err error) {
			err = row.Scan(&t.ID, &t.Symbol, &t.Side, &t.Size, moment{&t.Opened},
				moment{&t.Closed}, &t.Entry, &t.Exit, &t.Stop, &t.Target, &t.PnL, &t.Currency, &t.Notes, &t.Synthetic)
			return t, err
		})
	slices.Reverse(all)
	return all, err
}
