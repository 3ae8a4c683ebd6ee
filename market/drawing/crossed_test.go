package drawing_test

import (
	"encoding/json"
	"os"
	"testing"
	"time"

	"github.com/footnotehq/footnote/market"
	"github.com/footnotehq/footnote/market/drawing"
)

// TestCrossed has the test cases of the web app. Their times are in hours.
func TestCrossed(t *testing.T) {
	type want struct {
		Above  bool
		Closes int
		First  float64
	}
	var cases []struct {
		Name        string
		Timeframe   market.Timeframe
		Bars        []float64
		Placed, Now float64
		Drawing     struct {
			Type, Extend string
			Price        *float64
			Anchors      []struct{ Time, Price float64 }
		}
		Want *want
	}
	data, err := os.ReadFile("testdata/crossed.json")
	if err == nil {
		err = json.Unmarshal(data, &cases)
	}
	if err != nil || len(cases) == 0 {
		t.Fatalf("%d cases, %v", len(cases), err)
	}
	start := time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC)
	at := func(hours float64) time.Time { return start.Add(time.Duration(hours * float64(time.Hour))) }
	for _, c := range cases {
		if c.Timeframe == "" {
			c.Timeframe = market.H1
		}
		if c.Placed == 0 {
			c.Placed = 2
		}
		if c.Bars == nil {
			c.Bars = []float64{0, 1, 2, 3, 4, 5}
		}
		var candles []market.Candle
		for i, closing := range []float64{1.1, 1.1, 0.9, 1.2, 0.8, 0.7} {
			candles = append(candles, market.Candle{Time: at(c.Bars[i]), Close: closing})
		}
		d := drawing.Drawing{
			Type: c.Drawing.Type, Extend: c.Drawing.Extend, Price: c.Drawing.Price, Placed: at(c.Placed),
		}
		for _, a := range c.Drawing.Anchors {
			d.Anchors = append(d.Anchors, drawing.Anchor{Time: at(a.Time).Unix(), Price: a.Price})
		}
		var got *want
		x, ok := drawing.Crossed(&d, c.Timeframe, candles, at(c.Now))
		if ok && x.Closes > 0 {
			got = &want{x.Above, x.Closes, x.First.Sub(start).Hours()}
		}
		if (got == nil) != (c.Want == nil) || got != nil && *got != *c.Want {
			t.Errorf("%s: %+v (known: %t), want %+v", c.Name, got, ok, c.Want)
		}
	}
	if _, ok := drawing.Crossed(&drawing.Drawing{Type: drawing.HorizontalLine}, market.H1, nil, start); ok {
		t.Error("without candles, a crossing is known")
	}
}
