package planner

import (
	"fmt"
	"regexp"
	"slices"
	"strings"
	"time"

	"github.com/footnotehq/footnote/model/offline"
)

// chartOrder is a request that was understood.
type chartOrder struct {
	kind    string // levels, trendline, fib, move, drawings, stats, events, price, cot, headlines
	symbol  string // that it names; empty: the chart's
	support bool   // levels, move: support is meant
	resist  bool   // levels, move: resistance is meant
	highs   bool   // move, trendline: of swing highs
	lows    bool
	down    bool // fib: from a high to a low; move: down
	up      bool
	tell    bool   // only say what would be drawn
	period  string // stats, events; empty: none was said
}

func set(words string) map[string]bool {
	m := map[string]bool{}
	for w := range strings.FieldsSeq(words) {
		m[w] = true
	}
	return m
}

// chartKind is a kind of order: what tells one, and the words it may have.
type chartKind struct {
	kind  string
	told  *regexp.Regexp
	words map[string]bool
}

// chartKinds are the kinds of orders. The first that is told is meant.
var chartKinds = []chartKind{
	{"move", regexp.MustCompile(`\b(move|shift|lower|raise|bring|drag|adjust|update)\b.*\b(support|resistance)\b`),
		set("move shift lower raise bring drag adjust update support resistance level line down up to swing low high " +
			"lows highs last latest newest recent")},
	{"fib", regexp.MustCompile(`\b(fibs?|fibonacci|fibonaccis|retracements?)\b`),
		set("fib fibs fibonacci retracement retracements level levels from low high lows highs swing leg move last " +
			"latest newest recent draw mark add put plot")},
	{"trendline", regexp.MustCompile(`\btrend ?-?lines?\b`),
		set("trendline trendlines trend trend-line line lines last latest newest recent swing swings low lows high " +
			"highs support resistance through two draw mark add put plot along under over")},
	{"levels", regexp.MustCompile(`\b(support|supports|resistance|resistances|s/r|key levels)\b`),
		set("support supports resistance resistances s/r key level levels line lines nearest next draw mark add put " +
			"plot find where major main")},
	{"drawings", regexp.MustCompile(`\b(drawings|drawn)\b`), set("drawings drawn list all have been how many")},
	{"stats", regexp.MustCompile(
		`\b(how (did|have|am|was) i\b|my (trades|trading|performance|results?|stats|statistics|win ` +
			`rate|profit|p&l|pnl|journal|drawdown|streaks?))`),
		set("how did have am was i my do done doing trade trades trading performance result results stats statistics " +
			"win rate profit profits p&l pnl journal drawdown streak streaks perform performed so far overall month " +
			"week quarter year today yesterday last this previous")},
	{"events", regexp.MustCompile(
		`\b(coming up|calendar|events?|releases?|upcoming|scheduled|happening|happens)\b|\bnews today\b|\bwhat('s| ` +
			`is) on (today|tomorrow|this week)\b`),
		set("happening happens coming up calendar economic event events release releases upcoming news next today " +
			"tomorrow this week scheduled")},
	{"cot", regexp.MustCompile(`\b(cot|commitments? of traders|positioning|speculators|large traders)\b`),
		set("cot commitment commitments traders positioning positions report speculators large how positioned last " +
			"latest newest")},
	{
		"headlines", regexp.MustCompile(`\b(headlines?|news)\b`),
		set("headline headlines news last latest newest recent today"),
	},
	{
		"price", regexp.MustCompile(`\b(price|quote|bid|ask|spread|trading at)\b`),
		set("price quote bid ask spread trading current currently now last latest newest where how"),
	},
}

// chartFiller are words that change nothing in any order.
var chartFiller = set(
	"please can could would will you now the a an of for from to me my us on at in it and is are what what's whats " +
		"which show give tell get i want i'd like let's let see there here chart this pair symbol your some any do " +
		"hey hi hello thanks ok okay also then")

var (
	chartWord   = regexp.MustCompile(`[\pL\pN][\pL\pN&/'’.-]*`)
	chartTicker = regexp.MustCompile(`^[A-Z][A-Z0-9]*([./-][A-Z0-9]+)?$`)
	chartFrame  = regexp.MustCompile(`^(\d+[MHDW]|[MHDW]\d+)$`)
	onlyTold    = regexp.MustCompile(`^\W*(what|where|which|tell)\b`)
	firstEnd    = regexp.MustCompile(`\b(highs?|lows?)\b`)
)

// understandChart reads a request; nil when it is none that is known, and then perhaps
// with a sentence that says why.
func understandChart(said string, at chartAt) (o *chartOrder, unknown string) {
	if len(said) > 500 {
		return nil, "It is too long."
	}
	o = &chartOrder{}
	rest := strings.ReplaceAll(said, "’", "'")
	for _, word := range chartWord.FindAllString(rest, -1) {
		if isSymbol(strings.Trim(word, ".-'/&")) {
			o.symbol = strings.ReplaceAll(strings.ToUpper(strings.Trim(word, ".-'/&")), "/", "")
			rest = strings.Replace(rest, word, " ", 1)
			break
		}
	}
	rest = strings.ToLower(rest)
	for _, k := range chartKinds {
		if !k.told.MatchString(rest) {
			continue
		}
		o.kind = k.kind
		left, ok := o.readPeriod(rest)
		if !ok {
			return nil, ""
		}
		for _, word := range chartWord.FindAllString(left, -1) {
			word = strings.Trim(word, ".-'/&")
			if !k.words[word] && !chartFiller[word] && !strings.EqualFold(word, at.symbol) &&
				!strings.EqualFold(word, at.timeframe) {
				return nil, "I know no rule for the word `" + offline.Clip(word) + "` in it."
			}
		}
		return o.read(rest, at)
	}
	return nil, ""
}

// chartMoney are the halves of pairs that people write in small letters, too.
var chartMoney = set(
	"usd eur gbp jpy chf aud nzd cad cnh sek nok dkk pln huf czk try zar mxn brl inr sgd hkd krw xau xag xpt xpd btc " +
		"eth")

// isSymbol reports whether a word of a request names a symbol: two currencies, or
// capitals that are no word of any order.
func isSymbol(word string) bool {
	low := strings.ToLower(word)
	if pair := strings.ReplaceAll(low, "/", ""); len(pair) == 6 && chartMoney[pair[:3]] && chartMoney[pair[3:]] {
		return true
	}
	if len(word) < 3 || len(word) > 12 || !chartTicker.MatchString(word) || chartFrame.MatchString(word) ||
		chartFiller[low] || namedMonth.MatchString(low) {
		return false
	}
	return !slices.ContainsFunc(chartKinds, func(k chartKind) bool { return k.words[low] })
}

// read fills in what the words of an order say.
func (o *chartOrder) read(said string, at chartAt) (_ *chartOrder, unknown string) {
	has := func(re string) bool { return regexp.MustCompile(`\b(` + re + `)\b`).MatchString(said) }
	o.support, o.resist = has("supports?|s/r|levels"), has("resistances?|s/r|levels")
	if has("supports?") != has("resistances?") {
		o.support, o.resist = has("supports?"), has("resistances?")
	}
	o.highs, o.lows = has("highs?"), has("lows?")
	o.tell = onlyTold.MatchString(said) && !has("draw|mark|add|plot|put")
	draws := o.kind == "move" || o.kind == "fib" || o.kind == "trendline" || o.kind == "levels"
	if draws && o.symbol != "" && o.symbol != at.symbol {
		return nil, fmt.Sprintf("I draw on the chart that is open, which is %s.", at.symbol)
	}
	if o.kind != "levels" && draws && has("and") {
		return nil, "Ask for one drawing at a time."
	}
	switch o.kind {
	case "fib":
		if end := firstEnd.FindString(said); o.highs && o.lows {
			o.down = strings.HasPrefix(end, "high")
			o.up = !o.down
		} else if o.highs || o.lows {
			return nil, "A retracement goes from a high to a low, or from a low to a high."
		}
	case "trendline":
		if has("supports?|under") || has("resistances?|over") {
			o.lows, o.highs = has("supports?|under") || o.lows, has("resistances?|over") || o.highs
		}
		if o.highs && o.lows {
			return nil, "A trendline goes through lows or through highs."
		}
	case "move":
		o.down, o.up = has("down|lower"), has("up|raise")
		if o.support && o.resist || o.highs == o.lows || o.down && o.up {
			return nil, "Say which one to move, and to which swing: the last swing low, or the last swing high."
		}
	}
	return o, ""
}

var (
	namedPeriod = regexp.MustCompile(
		`\b(last|previous|this) (day|week|month|quarter|year)\b|\b(today|yesterday|tomorrow)\b`)
	namedMonth = regexp.MustCompile(
		`\b(january|february|march|april|may|june|july|august|september|october|november|december)(?: (\d{4}))?\b`)
	namedYear = regexp.MustCompile(`\bin (\d{4})\b`)
)

// readPeriod takes the period out of an order that may have one.
func (o *chartOrder) readPeriod(said string) (left string, ok bool) {
	if o.kind != "stats" && o.kind != "events" {
		return said, true
	}
	for _, re := range []*regexp.Regexp{namedMonth, namedYear, namedPeriod} {
		for _, m := range re.FindAllString(said, 2) {
			if o.period != "" {
				return said, false // two are one too many
			}
			o.period = strings.Replace(strings.TrimPrefix(m, "in "), "previous ", "last ", 1)
			said = strings.Replace(said, m, " ", 1)
		}
	}
	switch o.period {
	case "tomorrow":
		return said, o.kind == "events"
	case "", "today", "this week":
		return said, true
	}
	return said, o.kind == "stats"
}

// span is the period of an order, counted from a moment. The first is in it, the second
// is not. A month without a year is the newest that has begun. Weeks begin on Monday.
func (o *chartOrder) span(now time.Time) (from, to time.Time) {
	day := time.Date(now.Year(), now.Month(), now.Day(), 0, 0, 0, 0, time.UTC)
	if m := namedMonth.FindStringSubmatch(o.period); m != nil {
		month, _ := time.Parse("January", m[1])
		from = time.Date(now.Year(), month.Month(), 1, 0, 0, 0, 0, time.UTC)
		if year, err := time.Parse("2006", m[2]); err == nil {
			from = time.Date(year.Year(), month.Month(), 1, 0, 0, 0, 0, time.UTC)
		} else if from.After(now) {
			from = from.AddDate(-1, 0, 0)
		}
		return from, from.AddDate(0, 1, 0)
	}
	if year, err := time.Parse("2006", o.period); err == nil {
		return year, year.AddDate(1, 0, 0)
	}
	which, unit, _ := strings.Cut(o.period, " ")
	back := 0
	if which == "last" {
		back = -1
	}
	switch unit {
	case "day":
		from = day.AddDate(0, 0, back)
		return from, from.AddDate(0, 0, 1)
	case "week":
		from = day.AddDate(0, 0, 7*back-(int(day.Weekday())+6)%7)
		return from, from.AddDate(0, 0, 7)
	case "month":
		from = time.Date(day.Year(), day.Month()+time.Month(back), 1, 0, 0, 0, 0, time.UTC)
		return from, from.AddDate(0, 1, 0)
	case "quarter":
		from = time.Date(day.Year(), (day.Month()-1)/3*3+1+time.Month(3*back), 1, 0, 0, 0, 0, time.UTC)
		return from, from.AddDate(0, 3, 0)
	case "year":
		from = time.Date(day.Year()+back, 1, 1, 0, 0, 0, 0, time.UTC)
		return from, from.AddDate(1, 0, 0)
	}
	shift := map[string]int{"yesterday": -1, "tomorrow": 1}[which]
	from = day.AddDate(0, 0, shift)
	return from, from.AddDate(0, 0, 1)
}
