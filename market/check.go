package market

import (
	"math"
	"regexp"
	"time"

	"github.com/footnotehq/footnote"
)

// The bounds of data that can be loaded. Data outside of them is a mistake, such as milliseconds read as seconds.
var (
	earliest = time.Date(1900, 1, 1, 0, 0, 0, 0, time.UTC)
	latest   = time.Date(2200, 1, 1, 0, 0, 0, 0, time.UTC)
)

// MaxNumber is the largest price, volume or result. Sums of larger numbers would overflow to infinity.
const MaxNumber = 1e15

var symbolName = regexp.MustCompile(`^[A-Z0-9][A-Z0-9._-]{0,31}$`)

func bad(format string, args ...any) error {
	return footnote.Invalidf(format, args...)
}

// Check returns an error if a symbol is invalid.
func (s Symbol) Check() error {
	switch {
	case !symbolName.MatchString(s.Symbol):
		return bad("The symbol %q must be 1 to 32 capital letters, digits and . _ -", clip(s.Symbol))
	case s.Digits < 0 || s.Digits > 10:
		return bad("The digits of a price must be 0 to 10.")
	case len(s.Name) > 200 || len(s.Base) > 16 || len(s.Quote) > 16:
		return bad("The name of the symbol %s is too long.", s.Symbol)
	}
	return nil
}

// Check returns an error if a candle of a time frame is invalid.
func (c Candle) Check(f Timeframe) error {
	for _, p := range []float64{c.Open, c.High, c.Low, c.Close, c.Volume} {
		if math.IsNaN(p) || math.Abs(p) > MaxNumber {
			return bad("a price or the volume is not a number, or too large")
		}
	}
	switch {
	case c.High < max(c.Open, c.Close, c.Low):
		return bad("its high %v is below its open, low or close", c.High)
	case c.Low > min(c.Open, c.Close):
		return bad("its low %v is above its open or close", c.Low)
	case c.Volume < 0:
		return bad("its volume %v is negative", c.Volume)
	}
	if err := CheckTime(c.Time); err != nil {
		return err
	}
	if start := f.Start(c.Time); !start.Equal(c.Time) {
		return bad("%s is not the start of a bar of %s; %s is", c.Time.UTC().Format(time.RFC3339), f,
			start.Format(time.RFC3339))
	}
	return nil
}

// CheckTime rejects a time outside the valid range.
func CheckTime(t time.Time) error {
	if t.Before(earliest) || t.After(latest) {
		return bad("the time is not between 1900 and 2200")
	}
	return nil
}
