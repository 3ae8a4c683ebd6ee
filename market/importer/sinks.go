package importer

import (
	"cmp"
	"context"
	"net/url"
	"strings"
	"sync"
	"time"

	"github.com/footnotehq/footnote"
	"github.com/footnotehq/footnote/market"
)

// check rejects incomplete options before anything has to wait.
func (o Options) check() error {
	switch {
	case o.Kind == Candles && o.Symbol == "":
		return refuse("The symbol of the candles is missing.")
	case o.Kind == Candles && o.Timeframe.Order() < 0:
		return refuse("The time frame of the candles is missing. %s",
			footnote.MessageOf(market.CandleQuery{Timeframe: o.Timeframe}.Check()))
	case o.Kind == Trades && (o.Org == "" || o.User == ""):
		return refuse("The owner of the trades is missing: name the organisation and the user.")
	case len(o.Currency) > longName:
		return refuse("The currency %q is too long.", short(o.Currency))
	}
	return nil
}

// newSink returns the sink of the given kind.
func newSink(ctx context.Context, s market.Store, l market.Load, o Options, r *reader) (sink, error) {
	o.Symbol, o.Currency = strings.ToUpper(o.Symbol), strings.ToUpper(o.Currency)
	switch o.Kind {
	case Candles:
		return newCandles(ctx, s, l, o, r)
	case Calendar:
		return &list[market.Event]{
			read: o.event, add: l.Events, seen: map[any]bool{}, keyed: "time, currency and title",
			key: func(e market.Event) any { return [3]any{e.Time, e.Currency, e.Title} },
		}, nil
	case Headlines:
		return &list[market.Headline]{read: o.headline, add: l.Headlines}, nil
	case COT:
		return &list[market.COTReport]{
			read: o.report, add: l.COT, seen: map[any]bool{}, keyed: "symbol and date",
			key: func(r market.COTReport) any { return [2]any{r.Symbol, r.Date} },
		}, nil
	}
	return &list[market.Trade]{read: o.trade, seen: map[any]bool{}, keyed: "id",
		key: func(t market.Trade) any { return t.ID },
		add: func(ctx context.Context, rows []market.Trade) error { return l.Trades(ctx, o.Org, o.User, rows) }}, nil
}

// list collects rows until they are added.
type list[T any] struct {
	kept []T
	read func(fields) (T, error)
	add  func(context.Context, []T) error
	// keyed describes the key of a row: of rows with the same key, one would replace the other.
	keyed string
	key   func(T) any // nil: no key
	seen  map[any]bool
}

func (l *list[T]) row(f fields) error {
	v, err := l.read(f)
	if err != nil {
		return err
	}
	if l.key != nil {
		k := l.key(v)
		if l.seen[k] {
			return refuse("an earlier row has the same %s", l.keyed)
		}
		l.seen[k] = true
	}
	l.kept = append(l.kept, v)
	return nil
}

func (l *list[T]) flush(ctx context.Context) error {
	err := l.add(ctx, l.kept)
	l.drop()
	return err
}

func (l *list[T]) drop()                        { l.kept = l.kept[:0] }
func (l *list[T]) finish(context.Context) error { return nil }

// candles is the sink for candles of one symbol.
type candles struct {
	list[market.Candle]
	load   market.Load
	o      Options
	r      *reader
	symbol market.Symbol
	fresh  bool // the symbol is new
	seen   minutes
	rows   int
	last   time.Time     // of the previous row
	near   time.Duration // the smallest step between rows
}

// minutes is a set of bar starts, 64 of the shortest bars per word: a file may have millions.
type minutes map[int64]uint64

// add reports whether a minute is new.
func (m minutes) add(t time.Time) bool {
	n := t.Unix() / 60
	word, bit := n>>6, uint64(1)<<(n&63)
	old := m[word]
	m[word] = old | bit
	return old&bit == 0
}

// money lists the codes that form a pair, such as EURUSD: SILVER is not a pair of SIL and VER.
const money = " USD EUR JPY GBP CHF AUD NZD CAD SEK NOK DKK PLN CZK HUF RON TRY ZAR ILS AED SAR RUB CNY CNH HKD SGD " +
	"INR KRW TWD THB IDR MYR PHP MXN BRL CLP COP ARS XAU XAG XPT XPD BTC ETH "

func newCandles(ctx context.Context, s market.Store, l market.Load, o Options, r *reader) (sink, error) {
	known, err := s.Symbols(ctx)
	if err != nil {
		return nil, err
	}
	c := &candles{
		load: l, o: o, r: r, fresh: true, seen: minutes{},
		symbol: market.Symbol{Symbol: o.Symbol, Name: o.Symbol, Digits: 5},
	}
	if n := o.Symbol; len(n) == 6 && strings.Contains(money, " "+n[:3]+" ") && strings.Contains(money, " "+n[3:]+" ") {
		c.symbol.Base, c.symbol.Quote = n[:3], n[3:]
	}
	for _, m := range known {
		if m.Symbol == o.Symbol {
			c.symbol, c.fresh = m, false
		}
	}
	c.symbol.Name = cmp.Or(o.Name, c.symbol.Name)
	c.symbol.Synthetic = c.symbol.Synthetic || o.Synthetic
	c.read = c.candle
	c.add = func(ctx context.Context, rows []market.Candle) error {
		return l.Candles(ctx, o.Symbol, o.Timeframe, rows)
	}
	return c, l.Symbol(ctx, c.symbol)
}

func (c *candles) candle(f fields) (k market.Candle, err error) {
	if s := strings.ToUpper(strings.ReplaceAll(f.text("symbol"), "/", "")); s != "" && s != c.o.Symbol {
		return k, refuse("it is of %s, and the file of %s", short(s), c.o.Symbol)
	}
	if k.Time, err = f.time("time"); err != nil {
		return k, err
	}
	for _, p := range []struct {
		name string
		to   *float64
	}{{"open", &k.Open}, {"high", &k.High}, {"low", &k.Low}, {"close", &k.Close}} {
		if *p.to, err = f.price(p.name); err != nil {
			return k, err
		}
	}
	if k.Volume, err = f.number("volume", false); err != nil {
		return k, err
	}
	if err = k.Check(c.o.Timeframe); err == nil && !c.seen.add(k.Time) {
		err = refuse("an earlier row has the same time")
	}
	if err == nil {
		if apart := k.Time.Sub(c.last).Abs(); c.rows == 1 || c.rows > 1 && apart < c.near {
			c.near = apart
		}
		c.rows, c.last = c.rows+1, k.Time
	}
	return k, err
}

// many is the number of rows that must be far apart to count as longer candles.
const many = 100

// longer rejects candles that are all as far apart as longer candles would be: an hour read as a minute would have
// its close 59 minutes too early.
func (c *candles) longer() error {
	declared, longest := c.o.Timeframe, c.o.Timeframe
	for _, f := range market.Timeframes() {
		length := f.Length()
		if f == market.MN1 {
			length = 28 * 24 * time.Hour
		}
		if f.Order() > declared.Order() && c.near >= length {
			longest = f
		}
	}
	if longest == declared || c.rows < many {
		return nil
	}
	return refuse("The candles are declared as %s, but no two of the %d are less than %s apart. Name their real "+
		"time frame.", declared, c.rows, longest)
}

// finish sets the number of decimal places, which is known now.
func (c *candles) finish(ctx context.Context) error {
	if err := c.longer(); err != nil {
		return err
	}
	switch {
	case c.o.Digits >= 0:
		c.symbol.Digits = c.o.Digits
	case c.fresh:
		c.symbol.Digits = min(c.r.places, 10)
	}
	return c.load.Symbol(ctx, c.symbol)
}

// The limits on text lengths.
const (
	longName  = 16
	longTitle = 500
	longNotes = 10_000
)

func (o Options) event(f fields) (e market.Event, err error) {
	e.Synthetic = o.Synthetic
	if e.Time, err = f.time("time"); err != nil {
		return e, err
	}
	if e.Currency, err = f.words("currency", longName, true); err != nil {
		return e, err
	}
	e.Currency = strings.ToUpper(e.Currency)
	if e.Title, err = f.words("title", longTitle, true); err != nil {
		return e, err
	}
	if e.Impact = strings.ToLower(f.text("impact")); market.ImpactLevel(e.Impact) == 0 {
		return e, refuse("impact is %q; it must be low, medium or high", short(e.Impact))
	}
	if e.Unit, err = f.words("unit", longName, false); err != nil {
		return e, err
	}
	for _, p := range []struct {
		name string
		to   **float64
	}{{"actual", &e.Actual}, {"forecast", &e.Forecast}, {"previous", &e.Previous}} {
		if *p.to, err = f.figure(p.name, &e.Unit); err != nil {
			return e, err
		}
	}
	return e, nil
}

func (o Options) headline(f fields) (h market.Headline, err error) {
	h.Synthetic = o.Synthetic
	if h.Time, err = f.time("time"); err != nil {
		return h, err
	}
	if h.Title, err = f.words("title", longTitle, true); err != nil {
		return h, err
	}
	if h.Source, err = f.words("source", longTitle, false); err != nil {
		return h, err
	}
	if h.URL, err = f.words("url", 2000, false); err != nil {
		return h, err
	}
	if u, err := url.Parse(h.URL); h.URL != "" &&
		(err != nil || u.Scheme != "http" && u.Scheme != "https" || u.Host == "") {
		return h, refuse("url is %q, which is not the address of a page", short(h.URL))
	}
	all, err := f.words("currencies", longTitle, false)
	h.Currencies = strings.FieldsFunc(strings.ToUpper(all), func(r rune) bool {
		return strings.ContainsRune(" ,;|/", r)
	})
	return h, err
}

// symbolOf returns the symbol of a row, or that of the file.
func (o Options) symbolOf(f fields) (string, error) {
	s := cmp.Or(strings.ToUpper(strings.ReplaceAll(f.text("symbol"), "/", "")), o.Symbol)
	if err := (market.Symbol{Symbol: s}).Check(); err != nil {
		return "", refuse("symbol is %q; it must be 1 to 32 capital letters, digits and . _ -", short(s))
	}
	return s, nil
}

var washington = sync.OnceValue(func() *time.Location {
	loc, err := time.LoadLocation("America/New_York")
	if err != nil {
		panic(err) // the time zones are linked in
	}
	return loc
})

// published returns when the positions of a Tuesday are published: on the following Friday at 15:30 in Washington.
func published(date time.Time) time.Time {
	return time.Date(date.Year(), date.Month(), date.Day()+3, 15, 30, 0, 0, washington()).UTC()
}

func (o Options) report(f fields) (r market.COTReport, err error) {
	r.Synthetic = o.Synthetic
	if r.Symbol, err = o.symbolOf(f); err != nil {
		return r, err
	}
	if r.Date, err = f.time("date"); err != nil {
		return r, err
	}
	r.Published = published(r.Date)
	if f.text("published") != "" {
		if r.Published, err = f.time("published"); err != nil {
			return r, err
		}
	}
	for _, p := range []struct {
		name string
		to   *int64
	}{
		{"noncommercial_long", &r.NonCommercialLong}, {"noncommercial_short", &r.NonCommercialShort},
		{"commercial_long", &r.CommercialLong}, {"commercial_short", &r.CommercialShort},
		{"open_interest", &r.OpenInterest},
	} {
		if *p.to, err = f.whole(p.name); err != nil {
			return r, err
		}
	}
	return r, nil
}

var sides = map[string]string{"long": "long", "buy": "long", "short": "short", "sell": "short"}

func (o Options) trade(f fields) (t market.Trade, err error) {
	t.Synthetic = o.Synthetic
	if t.ID, err = f.words("id", 100, true); err != nil {
		return t, err
	}
	if t.Symbol, err = o.symbolOf(f); err != nil {
		return t, err
	}
	if t.Side = sides[strings.ToLower(f.text("side"))]; t.Side == "" {
		return t, refuse("side is %q; it must be long or short", short(f.text("side")))
	}
	if t.Opened, err = f.time("opened"); err != nil {
		return t, err
	}
	over := f.text("closed") != ""
	if over {
		if t.Closed, err = f.time("closed"); err != nil {
			return t, err
		}
		if t.Closed.Before(t.Opened) {
			return t, refuse("it was closed before it was opened")
		}
	}
	for _, p := range []struct {
		name     string
		to       *float64
		required bool
	}{
		{"size", &t.Size, true}, {"entry", &t.Entry, true},
		{"exit", &t.Exit, over}, {"stop", &t.Stop, false}, {"target", &t.Target, false}, {"pnl", &t.PnL, over},
	} {
		if *p.to, err = f.number(p.name, p.required); err != nil {
			return t, err
		}
	}
	if t.Size <= 0 {
		return t, refuse("size is %v; it must be more than 0", t.Size)
	}
	if t.Currency, err = f.words("currency", longName, false); err != nil {
		return t, err
	}
	t.Currency = cmp.Or(strings.ToUpper(t.Currency), o.Currency)
	t.Notes, err = f.words("notes", longNotes, false)
	return t, err
}
