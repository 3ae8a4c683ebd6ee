package market_test

import (
	"context"
	"testing"
	"time"

	"github.com/footnotehq/footnote"
	"github.com/footnotehq/footnote/market"
)

// broken is data that can be made unreadable.
type broken struct {
	market.Data
	away, empty bool
	asked       int
}

func (b *broken) Symbols(ctx context.Context) ([]market.Symbol, error) {
	b.asked++
	if b.away {
		return nil, market.Down(market.Database, "it cannot be read.", nil)
	}
	if b.empty {
		return nil, nil
	}
	return []market.Symbol{{Symbol: "EURUSD", To: utc("2026-11-19 10:00")}}, nil
}

// TestReplayNow checks that callers asking for the time do not all read unavailable data. The time is the last
// known one, and an error if none was known.
func TestReplayNow(t *testing.T) {
	clock := utc("2026-11-21 12:00")
	data := &broken{away: true}
	r := &market.Replay{Data: data, Clock: func() time.Time { return clock }}
	now := func(want string, asked int) {
		t.Helper()
		got, err := r.Now(t.Context())
		if unknown := footnote.CodeOf(err) == footnote.MarketUnavailable; err != nil && !unknown ||
			unknown != (want == "") || want != "" && !got.Equal(utc(want)) || data.asked != asked {
			t.Errorf("Now() = %s, %v after %d reads; want %q after %d", got, err, data.asked, want, asked)
		}
	}
	gone, cancel := context.WithCancel(t.Context())
	cancel()
	if got, err := r.Now(gone); err == nil {
		t.Errorf("it is %s", got)
	}
	now("", 2) // one caller's cancellation does not affect the next
	now("", 2)
	clock, data.away = clock.Add(time.Second), false
	now("2026-11-19 10:00", 3)
	clock, data.away = clock.Add(5*time.Second), true
	now("2026-11-19 10:00", 4)
	now("2026-11-19 10:00", 4)
	empty := &market.Replay{Data: &broken{empty: true}, Clock: r.Clock}
	if got, err := empty.Now(t.Context()); err != nil || !got.Equal(clock) {
		t.Errorf("without data it is %s, %v", got, err)
	}
}

// ended is data with one candle per time frame.
type ended struct {
	market.Data
	last map[market.Timeframe]market.Candle
}

func (e ended) Candles(_ context.Context, q market.CandleQuery) ([]market.Candle, error) {
	return []market.Candle{e.last[q.Timeframe]}, nil
}

func (ended) Symbols(context.Context) ([]market.Symbol, error) {
	return []market.Symbol{
		{
			Symbol: "EURUSD", Digits: 5, To: utc("2026-11-18 00:00"),
			Timeframes: []market.Timeframe{market.M1, market.H1, market.D1},
		},
		{Symbol: "XAUUSD", To: utc("2026-11-19 10:00")},
	}, nil
}

// TestReplayUsesNewestCandle plays a day that continues after the minutes. Its price is older than the market's time,
// because the data of another symbol continues.
func TestReplayUsesNewestCandle(t *testing.T) {
	c := func(when string, price float64, partial bool) market.Candle {
		return market.Candle{Time: utc(when), Open: price, High: price, Low: price, Close: price, Partial: partial}
	}
	r := &market.Replay{Data: ended{last: map[market.Timeframe]market.Candle{
		market.M1: c("2026-10-01 09:59", 1, false), market.H1: c("2026-11-18 00:00", 2, true),
		market.D1: c("2026-11-17 00:00", 3, false)}}}
	p, err := r.Price(t.Context(), "EURUSD")
	if err != nil || p.Bid != 3 || p.Ask != 3 || !p.Time.Equal(utc("2026-11-18 00:00")) {
		t.Errorf("price: %+v, %v", p, err)
	}
	if now, err := r.Now(t.Context()); err != nil || !now.Equal(utc("2026-11-19 10:00")) {
		t.Errorf("it is %s, %v", now, err)
	}
	if _, err := r.Price(t.Context(), "XAUUSD"); footnote.CodeOf(err) != footnote.MarketUnavailable {
		t.Errorf("without candles: %v", err)
	}
}
