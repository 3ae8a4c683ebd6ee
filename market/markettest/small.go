// Package markettest provides a small market for tests.
package markettest

import (
	"errors"
	"path/filepath"
	"testing"
	"time"

	"github.com/footnotehq/footnote/market"
	"github.com/footnotehq/footnote/market/sqlite"
)

// Begins is the start of the first candle of a small market, a Thursday.
var Begins = time.Date(2026, time.November, 19, 12, 0, 0, 0, time.UTC)

// Small creates a small market and returns its file: ten minutes of rising EURUSD, and one event.
func Small(t *testing.T) (path string) {
	t.Helper()
	path = filepath.Join(t.TempDir(), "market.db")
	s, err := sqlite.Open(t.Context(), path)
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	var list []market.Candle
	for i := range 10 {
		p := 1.1 + float64(i)/1000
		list = append(list, market.Candle{
			Time: Begins.Add(time.Duration(i) * time.Minute), Open: p, High: p + 0.002, Low: p - 0.002,
			Close: p + 0.001, Volume: 5,
		})
	}
	l, err := s.Begin(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	if err := errors.Join(
		l.Symbol(t.Context(), market.Symbol{Symbol: "EURUSD", Name: "Euro", Base: "EUR", Quote: "USD", Digits: 5}),
		l.Candles(t.Context(), "EURUSD", market.M1, list),
		l.Events(t.Context(), []market.Event{
			{Time: Begins, Currency: "USD", Title: "CPI y/y", Impact: "high", Forecast: new(2.5), Unit: "%"},
		}),
		l.Commit(t.Context()),
	); err != nil {
		t.Fatal(err)
	}
	return path
}
