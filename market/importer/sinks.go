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
	read func(*fields) T
	add  func(context.Context, []T) error
	// keyed describes the key of a row: of rows with the same key, one would replace the other.
	keyed string
	key   func(T) any // nil: no key
	seen  map[any]bool
}

func (l *list[T]) row(f *fields) error {
	v := l.read(f)
	if f.err != nil {
		return f.err
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

func (l *list[T]) flush(ctx context.Context, add bool) (err error) {
	if add {
		err = l.add(ctx, l.kept)
	}
	l.kept = l.kept[:0]
	return err
}

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

func (c *candles) candle(f *fields) market.Candle {
	if s := strings.ToUpper(strings.ReplaceAll(f.text("symbol"), "/", "")); s != "" && s != c.o.Symbol {
		f.refuse("it is of %s, and the file of %s", short(s), c.o.Symbol)
	}
	k := market.Candle{
		Time: f.time("time"), Open: f.price("open"), High: f.price("high"), Low: f.price("low"),
		Close: f.price("close"), Volume: f.number("volume", false),
	}
	f.fail(k.Check(c.o.Timeframe))
	if f.err == nil && !c.seen.add(k.Time) {
		f.refuse("an earlier row has the same time")
	}
	if f.err == nil {
		if apart := k.Time.Sub(c.last).Abs(); c.rows == 1 || c.rows > 1 && apart < c.near {
			c.near = apart
		}
		c.rows, c.last = c.rows+1, k.Time
	}
	return k
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

func (o Options) event(f *fields) market.Event {
	e := market.Event{
		Synthetic: o.Synthetic, Time: f.time("time"), Currency: strings.ToUpper(f.words("currency", longName, true)),
		Title: f.words("title", longTitle, true), Impact: strings.ToLower(f.text("impact")),
	}
	if market.ImpactLevel(e.Impact) == 0 {
		f.refuse("impact is %q; it must be low, medium or high", short(e.Impact))
	}
	e.Unit = f.words("unit", longName, false)
	e.Actual, e.Forecast = f.figure("actual", &e.Unit), f.figure("forecast", &e.Unit)
	e.Previous = f.figure("previous", &e.Unit)
	return e
}

func (o Options) headline(f *fields) market.Headline {
	h := market.Headline{
		Synthetic: o.Synthetic, Time: f.time("time"), Title: f.words("title", longTitle, true),
		Source: f.words("source", longTitle, false), URL: f.words("url", 2000, false),
	}
	if u, err := url.Parse(h.URL); h.URL != "" &&
		(err != nil || u.Scheme != "http" && u.Scheme != "https" || u.Host == "") {
		f.refuse("url is %q, which is not the address of a page", short(h.URL))
	}
	all := strings.ToUpper(f.words("currencies", longTitle, false))
	h.Currencies = strings.FieldsFunc(all, func(r rune) bool { return strings.ContainsRune(" ,;|/", r) })
	return h
}

// symbolOf returns the symbol of a row, or that of the file.
func (o Options) symbolOf(f *fields) string {
	s := cmp.Or(strings.ToUpper(strings.ReplaceAll(f.text("symbol"), "/", "")), o.Symbol)
	if (market.Symbol{Symbol: s}).Check() != nil {
		f.refuse("symbol is %q; it must be 1 to 32 capital letters, digits and . _ -", short(s))
	}
	return s
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

func (o Options) report(f *fields) market.COTReport {
	r := market.COTReport{Synthetic: o.Synthetic, Symbol: o.symbolOf(f), Date: f.time("date")}
	r.Published = published(r.Date)
	if f.text("published") != "" {
		r.Published = f.time("published")
	}
	r.NonCommercialLong, r.NonCommercialShort = f.whole("noncommercial_long"), f.whole("noncommercial_short")
	r.CommercialLong, r.CommercialShort = f.whole("commercial_long"), f.whole("commercial_short")
	r.OpenInterest = f.whole("open_interest")
	return r
}

var sides = map[string]string{"long": "long", "buy": "long", "short": "short", "sell": "short"}

func (o Options) trade(f *fields) market.Trade {
	t := market.Trade{
		Synthetic: o.Synthetic, ID: f.words("id", 100, true), Symbol: o.symbolOf(f),
		Side: sides[strings.ToLower(f.text("side"))],
	}
	if t.Side == "" {
		f.refuse("side is %q; it must be long or short", short(f.text("side")))
	}
	t.Opened = f.time("opened")
	over := f.text("closed") != ""
	if over {
		if t.Closed = f.time("closed"); t.Closed.Before(t.Opened) {
			f.refuse("it was closed before it was opened")
		}
	}
	t.Size, t.Entry, t.Exit = f.number("size", true), f.number("entry", true), f.number("exit", over)
	t.Stop, t.Target, t.PnL = f.number("stop", false), f.number("target", false), f.number("pnl", over)
	if t.Size <= 0 {
		f.refuse("size is %v; it must be more than 0", t.Size)
	}
	t.Currency = cmp.Or(strings.ToUpper(f.words("currency", longName, false)), o.Currency)
	t.Notes = f.words("notes", longNotes, false)
	return t
}
