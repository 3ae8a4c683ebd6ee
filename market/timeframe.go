package market

import (
	"slices"
	"strings"
	"time"
)

// Timeframe is the length of a bar. Bars begin at whole multiples of their length in UTC, weeks on
// Monday and months on their first day, regardless of any trader's time zone or summer time.
type Timeframe string

// The time frames, shortest first.
const (
	M1  Timeframe = "1m"
	M5  Timeframe = "5m"
	M15 Timeframe = "15m"
	M30 Timeframe = "30m"
	H1  Timeframe = "1h"
	H4  Timeframe = "4h"
	D1  Timeframe = "1D"
	W1  Timeframe = "1W"
	MN1 Timeframe = "1M"
)

var timeframes = []Timeframe{M1, M5, M15, M30, H1, H4, D1, W1, MN1}

var lengths = map[Timeframe]time.Duration{
	M1: time.Minute, M5: 5 * time.Minute, M15: 15 * time.Minute, M30: 30 * time.Minute,
	H1: time.Hour, H4: 4 * time.Hour, D1: 24 * time.Hour, W1: 7 * 24 * time.Hour, MN1: 31 * 24 * time.Hour,
}

// Timeframes returns all time frames, shortest first.
func Timeframes() []Timeframe { return slices.Clone(timeframes) }

// Order returns the index among all time frames, or -1 for an unknown one.
func (f Timeframe) Order() int { return slices.Index(timeframes, f) }

// Length returns the length of a bar; for months, that of the longest.
func (f Timeframe) Length() time.Duration { return lengths[f] }

// Start returns the start of the bar that contains t.
func (f Timeframe) Start(t time.Time) time.Time {
	t = t.UTC()
	switch f {
	case MN1:
		return time.Date(t.Year(), t.Month(), 1, 0, 0, 0, 0, time.UTC)
	case W1:
		day := D1.Start(t)
		return day.AddDate(0, 0, -int(day.Weekday()+6)%7)
	}
	step := int64(f.Length() / time.Second)
	at := t.Unix()
	return time.Unix(at-((at%step)+step)%step, 0).UTC()
}

// End returns the end of the bar that begins at start.
func (f Timeframe) End(start time.Time) time.Time {
	if f == MN1 {
		return start.UTC().AddDate(0, 1, 0)
	}
	return start.Add(f.Length()).UTC()
}

// Divides reports whether bars of g consist of whole bars of f.
func (f Timeframe) Divides(g Timeframe) bool {
	if f == W1 && g == MN1 {
		return false // weeks span the ends of months
	}
	return f.Order() >= 0 && f.Order() <= g.Order()
}

// TimeframeNames returns the names of all time frames, shortest first.
func TimeframeNames() (names []string) {
	for _, f := range timeframes {
		names = append(names, string(f))
	}
	return names
}

func join(names []string) string { return strings.Join(names, ", ") }

// clip truncates text from a caller for use in a message.
func clip(s string) string {
	if r := []rune(s); len(r) > 40 {
		return string(r[:40]) + "…"
	}
	return s
}
