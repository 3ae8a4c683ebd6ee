package demo

import (
	"cmp"
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"time"

	"github.com/footnotehq/footnote/market"
)

// release is a recurring event.
type release struct {
	currency, title, impact, unit string
	hour, minute                  int    // local time in place
	place                         string // time zone name
	level, spread, surprise       float64
	digits                        int
	// force is how far a surprise of one standard deviation moves the currency, as a fraction of its price; negative
	// if a higher value is bad.
	force float64
	on    func(day time.Time) bool
}

// nth returns a function that reports whether a day is the nth of its weekday in the month.
func nth(n int, d time.Weekday) func(time.Time) bool {
	return func(t time.Time) bool { return t.Weekday() == d && (t.Day()-1)/7 == n-1 }
}

// weekdayAfter matches the first working day on or after a day of the month.
func weekdayAfter(date int, months ...time.Month) func(time.Time) bool {
	return func(t time.Time) bool {
		if len(months) > 0 && !slices.Contains(months, t.Month()) {
			return false
		}
		day := time.Date(t.Year(), t.Month(), date, 0, 0, 0, 0, time.UTC)
		for day.Weekday() == time.Saturday || day.Weekday() == time.Sunday {
			day = day.AddDate(0, 0, 1)
		}
		return t.Equal(day)
	}
}

func weekly(d time.Weekday) func(time.Time) bool {
	return func(t time.Time) bool { return t.Weekday() == d }
}

const (
	inNewYork = "America/New_York"
	inLondon  = "Europe/London"
	inBerlin  = "Europe/Berlin"
	inTokyo   = "Asia/Tokyo"
)

// rateDay matches the day on which a central bank decides, eight times a year.
func rateDay(date int) func(time.Time) bool {
	return weekdayAfter(date, time.January, time.March, time.May, time.June, time.July, time.September, time.October,
		time.December)
}

var releases = []release{
	{"USD", "Nonfarm Payrolls", "high", "K", 8, 30, inNewYork, 175, 45, 40, 0, 0.0035, nth(1, time.Friday)},
	{"USD", "Unemployment Rate", "high", "%", 8, 30, inNewYork, 4.1, 0.2, 0.1, 1, -0.0010, nth(1, time.Friday)},
	{"USD", "CPI y/y", "high", "%", 8, 30, inNewYork, 2.9, 0.3, 0.1, 1, 0.0030, weekdayAfter(12)},
	{"USD", "Retail Sales m/m", "medium", "%", 8, 30, inNewYork, 0.3, 0.4, 0.3, 1, 0.0012, weekdayAfter(16)},
	{"USD", "Initial Jobless Claims", "medium", "K", 8, 30, inNewYork, 225, 12, 8, 0, -0.0006, weekly(time.Thursday)},
	{"USD", "ISM Manufacturing PMI", "medium", "", 10, 0, inNewYork, 49.5, 1.5, 0.8, 1, 0.0012, weekdayAfter(1)},
	{"USD", "FOMC Rate Decision", "high", "%", 14, 0, inNewYork, 4.25, 0.5, 0.08, 2, 0.0030, rateDay(18)},
	{"EUR", "ECB Rate Decision", "high", "%", 14, 15, inBerlin, 2.75, 0.4, 0.08, 2, 0.0025, rateDay(6)},
	{"EUR", "CPI Flash y/y", "high", "%", 11, 0, inBerlin, 2.3, 0.3, 0.1, 1, 0.0015, weekdayAfter(30)},
	{"EUR", "German Ifo Business Climate", "medium", "", 10, 0, inBerlin, 87.5, 1.2, 0.7, 1, 0.0008, weekdayAfter(24)},
	{"EUR", "Flash Manufacturing PMI", "medium", "", 10, 0, inBerlin, 47.5, 1.3, 0.7, 1, 0.0010, weekdayAfter(21)},
	{
		"GBP", "BoE Rate Decision", "high", "%", 12, 0, inLondon, 4.5, 0.4, 0.08, 2, 0.0025,
		weekdayAfter(7, time.February, time.March, time.May, time.June, time.August, time.September, time.November,
			time.December),
	},
	{"GBP", "CPI y/y", "high", "%", 7, 0, inLondon, 2.9, 0.4, 0.1, 1, 0.0020, weekdayAfter(19)},
	{"GBP", "Retail Sales m/m", "medium", "%", 7, 0, inLondon, 0.1, 0.5, 0.4, 1, 0.0009, weekdayAfter(20)},
	{"JPY", "BoJ Rate Decision", "high", "%", 12, 0, inTokyo, 0.4, 0.15, 0.05, 2, 0.0035, rateDay(19)},
	{"JPY", "National CPI y/y", "medium", "%", 8, 30, inTokyo, 2.7, 0.3, 0.1, 1, 0.0010, weekdayAfter(20)},
}

// ahead is how many days the calendar extends into the future.
const ahead = 21

// calendar generates three years of past releases, and those still to come.
func calendar() []market.Event {
	from := time.Date(Ends.Year()-hourYears, Ends.Month(), Ends.Day(), 0, 0, 0, 0, time.UTC)
	to := Ends.AddDate(0, 0, ahead)
	var list []market.Event
	for _, rel := range releases {
		r := seed("calendar " + rel.currency + rel.title)
		loc := place(rel.place)
		level := rel.level
		previous := rel.number(level)
		for day := from; day.Before(to); day = day.AddDate(0, 0, 1) {
			if !rel.on(day) {
				continue
			}
			at := time.Date(day.Year(), day.Month(), day.Day(), rel.hour, rel.minute, 0, 0, loc).UTC()
			level += 0.3*(rel.level-level) + rel.spread*0.5*r.NormFloat64()
			e := market.Event{
				Time: at, Currency: rel.currency, Title: rel.title, Impact: rel.impact, Unit: rel.unit, Synthetic: true,
				Forecast: new(rel.number(level)), Previous: new(previous),
			}
			actual := rel.number(level + rel.surprise*r.NormFloat64())
			if at.Before(Ends) {
				e.Actual = new(actual)
			}
			previous = actual
			list = append(list, e)
		}
	}
	slices.SortStableFunc(list, func(a, b market.Event) int { return a.Time.Compare(b.Time) })
	return list
}

func (rel release) number(v float64) float64 { return round(v, rel.digits) }

// shocks returns the moves that the releases cause in a pair, by minute.
func shocks(p pair, events []market.Event) map[int64]float64 {
	r := seed("shocks " + p.symbol.Symbol)
	moves := map[int64]float64{}
	for _, e := range events {
		rel := releaseOf(e)
		if e.Actual == nil || e.Forecast == nil {
			continue
		}
		side := 0.0
		switch e.Currency {
		case p.symbol.Base:
			side = 1
		case p.symbol.Quote:
			side = -1
		}
		surprise := (*e.Actual - *e.Forecast) / rel.surprise
		move := side * rel.force * (0.7*surprise + 0.5*r.NormFloat64()) * p.day / 0.0045
		for i, share := range []float64{0.6, 0.25, 0.15} {
			moves[e.Time.Unix()+int64(i)*60] += move * share
		}
	}
	return moves
}

func releaseOf(e market.Event) release {
	return releases[slices.IndexFunc(releases, func(rel release) bool {
		return rel.currency == e.Currency && rel.title == e.Title
	})]
}

// positions generates the weekly reports: speculators follow the price.
func (p pair) positions(days []market.Candle) []market.COTReport {
	r := seed("cot " + p.symbol.Symbol)
	var list []market.COTReport
	net := 0.0
	for i, d := range days {
		if d.Time.Weekday() != time.Tuesday || i < 20 {
			continue
		}
		trend := d.Close/days[i-20].Close - 1
		net = 0.75*net + trend/p.day*9000 + 4000*r.NormFloat64()
		base := 120_000 + 25_000*r.Float64()
		rep := market.COTReport{
			Symbol: p.symbol.Symbol, Date: d.Time,
			Published: d.Time.AddDate(0, 0, 3).Add(20*time.Hour + 30*time.Minute), Synthetic: true,
		}
		rep.NonCommercialLong = int64(max(5000, base+net/2))
		rep.NonCommercialShort = int64(max(5000, base-net/2))
		rep.CommercialLong = int64(max(5000, 1.3*base-net/2))
		rep.CommercialShort = int64(max(5000, 1.3*base+net/2))
		rep.OpenInterest = max(rep.NonCommercialLong+rep.CommercialLong,
			rep.NonCommercialShort+rep.CommercialShort) + int64(40_000*r.Float64()) + 20_000
		if rep.Published.Before(Ends) {
			list = append(list, rep)
		}
	}
	return list
}

// headlines generates the news: the results of the last weeks' releases, and the daily price moves.
func headlines(events []market.Event, bars []candles) []market.Headline {
	var list []market.Headline
	add := func(at time.Time, title string, currencies ...string) {
		if at.Before(Ends) {
			list = append(list, market.Headline{
				Time: at, Source: "Demo Wire (synthetic)", Title: title, Currencies: currencies, Synthetic: true,
			})
		}
	}
	since := Ends.AddDate(0, 0, -minuteDays)
	for _, e := range events {
		if e.Actual == nil || e.Time.Before(since) {
			continue
		}
		how := "in line with"
		if *e.Actual > *e.Forecast {
			how = "above"
		} else if *e.Actual < *e.Forecast {
			how = "below"
		}
		add(e.Time.Add(2*time.Minute),
			fmt.Sprintf("%s %s at %v%s, %s the forecast of %v%s", e.Currency, e.Title, *e.Actual, e.Unit, how,
				*e.Forecast, e.Unit), e.Currency)
	}
	for i, p := range pairs {
		days := bars[i].days
		for j := max(1, len(days)-minuteDays*5/7); j < len(days); j++ {
			move := (days[j].Close/days[j-1].Close - 1) * 100
			if math.Abs(move) < 0.25 {
				continue
			}
			word := "rises"
			if move < 0 {
				word = "falls"
			}
			add(days[j].Time.Add(20*time.Hour+time.Duration(i)*7*time.Minute),
				fmt.Sprintf("%s %s %.1f%% on the day to %.*f", p.symbol.Name, word, math.Abs(move), p.symbol.Digits,
					days[j].Close), p.symbol.Base, p.symbol.Quote)
		}
	}
	slices.SortStableFunc(list, func(a, b market.Headline) int {
		return cmp.Or(a.Time.Compare(b.Time), cmp.Compare(a.Title, b.Title))
	})
	return list
}

// journalTrades is the number of trades in the journal.
const journalTrades = 300

// trades generates a journal of the last year. Each trade has a stop and a target. It ends when the hourly bars reach
// one of them, or after two days.
func trades(bars []candles) []market.Trade {
	r := seed("journal")
	var list []market.Trade
	for n := 0; len(list) < journalTrades; n++ {
		i := r.IntN(len(pairs))
		hours := bars[i].hours
		year := 6000
		at := len(hours) - 72 - r.IntN(year)
		if h := hours[at].Time.Hour(); h < 7 && r.Float64() < 0.7 || h > 19 {
			continue
		}
		list = append(list, pairs[i].trade(r, hours, at))
	}
	slices.SortStableFunc(list, func(a, b market.Trade) int { return a.Opened.Compare(b.Opened) })
	for i := range list {
		list[i].ID = fmt.Sprintf("T%03d", i+1)
	}
	return list
}

var setups = []string{
	"break of the range", "pullback to support", "rejection at resistance", "trend continuation",
	"reversal after the release",
}

// trade generates one trade that is entered at the close of an hour.
func (p pair) trade(r *rand.Rand, hours []market.Candle, at int) market.Trade {
	entry := hours[at].Close
	risk := p.round(entry * p.day * (0.5 + 0.6*r.Float64()))
	reward := p.round(risk * (1.2 + 1.3*r.Float64()))
	side, sign := "long", 1.0
	// The trader is slightly better than chance: sometimes they look three bars ahead.
	if up := hours[at+3].Close > entry; up != (r.Float64() < 0.58) {
		side, sign = "short", -1
	}
	t := market.Trade{
		Symbol: p.symbol.Symbol, Side: side, Opened: hours[at].Time.Add(time.Hour), Entry: entry, Currency: "USD",
		Synthetic: true, Stop: p.round(entry - sign*risk), Target: p.round(entry + sign*reward),
		Notes: setups[r.IntN(len(setups))], Size: math.Round((0.1+0.9*r.Float64())*10) / 10,
	}
	for i := at + 1; i < min(at+48, len(hours)); i++ {
		h := hours[i]
		t.Exit, t.Closed = h.Close, h.Time.Add(time.Hour)
		if sign > 0 && h.Low <= t.Stop || sign < 0 && h.High >= t.Stop {
			t.Exit = t.Stop
			break
		}
		if sign > 0 && h.High >= t.Target || sign < 0 && h.Low <= t.Target {
			t.Exit = t.Target
			break
		}
	}
	t.PnL = p.money(sign*(t.Exit-t.Entry), t.Size, t.Exit)
	return t
}

// money returns the value of a price move in US dollars. A lot is 100,000 of the base currency, or 100 ounces.
func (p pair) money(move, lots, price float64) float64 {
	units := 100_000 * lots
	if p.symbol.Base == "XAU" {
		units = 100 * lots
	}
	value := move * units
	if p.symbol.Quote == "JPY" {
		value /= price
	}
	return round(value, 2)
}
