package market_test

import (
	"context"
	"testing"
	"time"

	"github.com/footnotehq/footnote/market"
)

// hours is data with half hours and hours around a weekend, and with one release.
type hours struct {
	ended
	release, to time.Time
}

func (h hours) Now(context.Context) (time.Time, error) { return h.to, nil }

func (hours) Price(context.Context, string) (market.Price, error) { return market.Price{}, nil }

func (h hours) Symbols(context.Context) ([]market.Symbol, error) {
	return []market.Symbol{
		{Symbol: "EURUSD", Quote: "USD", To: h.to, Timeframes: []market.Timeframe{market.M30, market.H1}},
	}, nil
}

func (h hours) Events(context.Context, market.EventQuery) ([]market.Event, error) {
	return []market.Event{{Time: h.release, Currency: "USD", Title: "CPI"}}, nil
}

// Candles returns candles of Friday until 22:00 and from Sunday 22:00. The candle at time t has the price of its
// hour.
func (h hours) Candles(_ context.Context, q market.CandleQuery) (list []market.Candle, err error) {
	for at := utc("2026-11-20 00:00"); at.Before(h.to); at = at.Add(q.Timeframe.Length()) {
		p := at.Sub(utc("2026-11-20 00:00")).Hours()
		if (p < 22 || p >= 70) && !at.Before(q.From) && at.Before(q.To) {
			list = append(list, market.Candle{Time: at, Open: p, High: p, Low: p, Close: p})
		}
	}
	return list, nil
}

// TestReactionsAroundWeekend checks that reactions are omitted if they span the weekend, whatever the length of the
// candles, if they directly follow it, or if they have not ended yet.
func TestReactionsAroundWeekend(t *testing.T) {
	end := utc("2026-11-23 10:00")
	for _, c := range []struct {
		release string
		after   time.Duration
		to      time.Time
		move    float64 // 0: not measured
	}{
		{"2026-11-20 13:30", time.Hour, end, 1},
		{"2026-11-20 13:30", 8 * time.Hour, end, 8}, {"2026-11-20 21:00", time.Hour, end, 1},
		{"2026-11-20 13:30", 10 * time.Hour, end, 0}, // 90 minutes after the last candle
		{"2026-11-20 13:30", 17 * time.Hour, end, 0}, {"2026-11-20 21:30", time.Hour, end, 0},
		{"2026-11-22 22:00", time.Hour, end, 0}, {"2026-11-22 22:30", time.Hour, end, 1}, // no price before the opening
		{"2026-11-20 13:30", time.Hour, utc("2026-11-20 14:30"), 1},
		{"2026-11-20 13:30", time.Hour, utc("2026-11-20 14:25"), 0},
	} {
		h := hours{release: utc(c.release), to: c.to}
		got, err := market.New(h, h).EventReactions(t.Context(), market.ReactionQuery{
			Symbol: "EURUSD",
			Title:  "CPI",
			After:  c.after,
		})
		if err != nil || (len(got) == 1) != (c.move != 0) || len(got) == 1 && got[0].Move() != c.move {
			t.Errorf("%s after %s: %+v, %v, want %v", c.release, c.after, got, err, c.move)
		}
	}
}
