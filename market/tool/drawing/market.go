package drawing

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/footnotehq/footnote"
	"github.com/footnotehq/footnote/market"
	core "github.com/footnotehq/footnote/market/drawing"
)

// Prices answers what drawings need to know about a market. It caches the facts about a symbol for a while, and
// keeps using them while the market is unavailable: bars are only ever added.
type Prices struct {
	market market.Market

	mu    sync.Mutex // guards below
	known map[string]bounds
}

type bounds struct {
	core.Data
	symbol market.Symbol
	until  time.Time
}

// boundsGood limits how long the facts about a symbol are cached.
const boundsGood = time.Minute

// NewPrices returns the Prices of a market.
func NewPrices(m market.Market) *Prices { return &Prices{market: m, known: map[string]bounds{}} }

// Data returns the range of times with prices of a symbol.
func (p *Prices) Data(ctx context.Context, symbol string) (core.Data, error) {
	b, err := p.bounds(ctx, symbol)
	return b.Data, err
}

func (p *Prices) bounds(ctx context.Context, symbol string) (bounds, error) {
	p.mu.Lock()
	old, had := p.known[symbol]
	p.mu.Unlock()
	if had && time.Now().Before(old.until) {
		return old, nil
	}
	b, err := p.look(ctx, symbol)
	if err != nil {
		if had && footnote.CodeOf(err) == footnote.MarketUnavailable {
			return old, nil
		}
		return bounds{}, err
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	p.known[symbol] = b
	return b, nil
}

func (p *Prices) look(ctx context.Context, symbol string) (bounds, error) {
	s, err := market.Find(ctx, p.market, symbol)
	if err != nil {
		return bounds{}, err
	}
	if len(s.Timeframes) == 0 {
		return bounds{}, footnote.Invalidf("There are no candles of %s.", symbol)
	}
	last := s.Timeframes[0].Start(s.To.Add(-1)) // s.To is the end of the last candle
	b := bounds{
		Data:   core.Data{First: s.From.Unix(), Last: last.Unix(), Digits: s.Digits},
		symbol: s,
		until:  time.Now().Add(boundsGood),
	}
	longest := s.Timeframes[len(s.Timeframes)-1]
	candles, err := p.market.Candles(ctx, market.CandleQuery{Symbol: symbol, Timeframe: longest})
	for i, c := range candles {
		if b.High = max(b.High, c.High); i == 0 || c.Low < b.Low {
			b.Low = c.Low
		}
	}
	return b, err
}

// present returns the facts about a chart's symbol and the time in the market.
func (p *Prices) present(ctx context.Context, c Chart) (b bounds, now time.Time, err error) {
	if b, err = p.bounds(ctx, c.Symbol); err == nil {
		now, err = p.market.Now(ctx)
	}
	return b, now, err
}

// Bar returns the start of the newest bar that begins at or before a time.
func (p *Prices) Bar(ctx context.Context, symbol, timeframe string, at int64) (int64, error) {
	candles, err := p.market.Candles(ctx, market.CandleQuery{
		Symbol: symbol, Timeframe: market.Timeframe(timeframe), To: time.Unix(at+1, 0), Limit: 1,
	})
	if err != nil {
		return 0, err
	}
	if len(candles) == 0 { // there are no bars that short, so long ago
		return market.Timeframe(timeframe).Start(time.Unix(at, 0)).Unix(), nil
	}
	return candles[0].Time.Unix(), nil
}

// Limits of Candles.
const (
	maxCounted = 20_000
	daysBefore = 10 // so that there is a candle before the time, whatever the holidays
)

// Candles returns the newest candles that begin some days before a time or later.
func (p *Prices) Candles(ctx context.Context, symbol, timeframe string, from int64) ([]market.Candle, error) {
	tf := market.Timeframe(timeframe)
	return p.market.Candles(ctx, market.CandleQuery{
		Symbol: symbol, Timeframe: tf, From: time.Unix(from, 0).Add(-max(2*tf.Length(), daysBefore*aDay)),
		Limit: maxCounted,
	})
}

const (
	rangeBars    = 50
	maxEvents    = 12
	maxHeadlines = 6
	aDay         = 24 * time.Hour
)

// Market returns the parts that come from a market: the price, the recent range, the events of the next day, the
// positions of large traders, and headlines.
func (p *Prices) Market() []Part {
	return []Part{
		{"Current price", p.price}, {"Recent range", p.recent}, {"Events of the next 24 hours", p.events},
		{"Positions of large traders (COT)", p.cot}, {"Newest headlines", p.headlines},
	}
}

// syntheticLabel labels data that does not come from a real market.
func syntheticLabel(synthetic bool) string {
	if synthetic {
		return " (synthetic)"
	}
	return ""
}

func (p *Prices) price(ctx context.Context, _ footnote.Principal, c Chart) (string, error) {
	b, clock, err := p.present(ctx, c)
	if err != nil {
		return "", err
	}
	now, err := p.market.Price(ctx, c.Symbol)
	if err != nil {
		return "", err
	}
	age := max(0, clock.Sub(now.Time)).Round(time.Second)
	spread := "not known"
	if v, ok := now.Spread(); ok {
		spread = core.Number(v)
	}
	return fmt.Sprintf("bid %.*f, ask %.*f, spread %s, at %s (%s old)%s.", b.Digits, now.Bid, b.Digits, now.Ask,
		spread, now.Time.UTC().Format(time.RFC3339), age, syntheticLabel(now.Synthetic)), nil
}

func (p *Prices) recent(ctx context.Context, _ footnote.Principal, c Chart) (string, error) {
	candles, err := p.market.Candles(ctx, market.CandleQuery{
		Symbol: c.Symbol, Timeframe: market.Timeframe(c.Timeframe), Limit: rangeBars,
	})
	if err != nil {
		return "", err
	}
	if len(candles) == 0 {
		return "there are no candles of " + c.Timeframe + ".", nil
	}
	last := candles[len(candles)-1]
	high := slices.MaxFunc(candles, func(a, b market.Candle) int { return cmp.Compare(a.High, b.High) })
	low := slices.MinFunc(candles, func(a, b market.Candle) int { return cmp.Compare(a.Low, b.Low) })
	return fmt.Sprintf("the last %d bars of %s are from %s to %s: high %s at %s, low %s at %s, last close %s.",
		len(candles), c.Timeframe, moments(candles[0].Time), moments(last.Time), core.Number(high.High),
		moments(high.Time), core.Number(low.Low), moments(low.Time), core.Number(last.Close)), nil
}

func moments(t time.Time) string { return t.UTC().Format(time.RFC3339) }

func (p *Prices) events(ctx context.Context, _ footnote.Principal, c Chart) (string, error) {
	b, now, err := p.present(ctx, c)
	if err != nil {
		return "", err
	}
	list, err := p.market.Events(ctx, market.EventQuery{
		Currencies: b.symbol.Currencies(), From: now, To: now.Add(aDay), Limit: maxEvents,
	})
	if err != nil {
		return "", err
	}
	var words []string
	for _, e := range list {
		line := fmt.Sprintf("%s %s %s (%s)", moments(e.Time), core.Line(e.Currency), core.Line(e.Title), e.Impact)
		for i, v := range []*float64{e.Forecast, e.Previous} {
			if v != nil {
				line += []string{", forecast ", ", previous "}[i] + core.Number(*v) + core.Line(e.Unit)
			}
		}
		words = append(words, line+syntheticLabel(e.Synthetic))
	}
	if len(words) == 0 {
		return p.noEvents(ctx, b.symbol, now)
	}
	return strings.Join(words, "; ") + ".", nil
}

// currencies names a symbol's currencies, if they are known.
func currencies(s market.Symbol) string {
	if len(s.Currencies()) == 0 {
		return ""
	}
	return " of " + strings.Join(s.Currencies(), " or ")
}

// noEvents distinguishes a day without events from one whose events are unknown, because the calendar was not
// loaded or ends before now.
func (p *Prices) noEvents(ctx context.Context, s market.Symbol, now time.Time) (string, error) {
	end, err := market.CalendarEnd(ctx, p.market, s.Currencies())
	switch {
	case err != nil:
		return "", err
	case end.IsZero():
		return "not known: no calendar" + currencies(s) + " is loaded.", nil
	case end.Before(now):
		return "not known: the loaded calendar ends at " + moments(end) + ".", nil
	}
	return "the calendar covers them and has none.", nil
}

func (p *Prices) cot(ctx context.Context, _ footnote.Principal, c Chart) (string, error) {
	now, err := p.market.Now(ctx)
	if err != nil {
		return "", err
	}
	list, err := p.market.COT(ctx, market.COTQuery{Symbol: c.Symbol, To: now, Limit: 2})
	if err != nil {
		return "", err
	}
	if len(list) == 0 {
		return "not known: no report of " + c.Symbol + " is loaded.", nil
	}
	last := list[len(list)-1]
	words := fmt.Sprintf("speculators net %+d contracts on %s (long %d, short %d, open interest %d)", last.Net(),
		last.Date.UTC().Format(time.DateOnly), last.NonCommercialLong, last.NonCommercialShort, last.OpenInterest)
	if len(list) > 1 {
		if change, ok := last.Change(list[0]); ok {
			words += fmt.Sprintf(", %+d in a week", change)
		}
	}
	return words + syntheticLabel(last.Synthetic) + ".", nil
}

func (p *Prices) headlines(ctx context.Context, _ footnote.Principal, c Chart) (string, error) {
	b, now, err := p.present(ctx, c)
	if err != nil {
		return "", err
	}
	list, err := p.market.Headlines(ctx, market.HeadlineQuery{
		Currencies: b.symbol.Currencies(), To: now, Limit: maxHeadlines,
	})
	if err != nil {
		return "", err
	}
	var words []string
	for _, h := range list {
		words = append(words,
			fmt.Sprintf("%s %q (%s)%s", moments(h.Time), h.Title, core.Line(h.Source), syntheticLabel(h.Synthetic)))
	}
	if len(words) == 0 {
		return "not known: no news" + currencies(b.symbol) + " is loaded.", nil
	}
	return strings.Join(words, "; ") + ".", nil
}
