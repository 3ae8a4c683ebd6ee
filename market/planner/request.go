package planner

import (
	"cmp"
	"fmt"
	"regexp"
	"slices"
	"strings"
	"time"

	"github.com/footnotehq/footnote/market"
	"github.com/footnotehq/footnote/model/offline"
)

// request is a request that the planner understands.
type request struct {
	kind    string // levels, trendline, fib, move, drawings, stats, events, price, cot, headlines
	symbol  string // empty: the chart's
	support bool   // levels, move: support is requested
	resist  bool   // levels, move: resistance is requested
	highs   bool   // move, trendline: use swing highs
	lows    bool
	down    bool // fib: from a high to a low; move: down
	up      bool
	period  string // stats, events; empty: none was named

	describeOnly bool // describe the drawings without making them
}

func set(words string) map[string]bool {
	m := map[string]bool{}
	for w := range strings.FieldsSeq(words) {
		m[w] = true
	}
	return m
}

// requestKind is a kind of request: the pattern that identifies it, and the words that it may contain.
type requestKind struct {
	kind    string
	pattern *regexp.Regexp
	words   map[string]bool
}

// requestKinds lists the kinds of requests. The first one whose pattern matches is used.
var requestKinds = []requestKind{
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

// fillerWords are words that never change the meaning of a request.
var fillerWords = set(
	"please can could would will you now the a an of for from to me my us on at in it and is are what what's whats " +
		"which show give tell get i want i'd like let's let see there here chart this pair symbol your some any do " +
		"hey hi hello thanks ok okay also then")

var (
	requestWord   = regexp.MustCompile(`[\pL\pN][\pL\pN&/'’.-]*`)
	tickerWord    = regexp.MustCompile(`^[A-Z][A-Z0-9]*([./-][A-Z0-9]+)?$`)
	timeframeWord = regexp.MustCompile(`^(\d+[MHDW]|[MHDW]\d+)$`)
	questionWord  = regexp.MustCompile(`^\W*(what|where|which|tell)\b`)
	firstEnd      = regexp.MustCompile(`\b(highs?|lows?)\b`)
)

// understand parses a request. If it does not understand the text, it returns nil and, if possible, a sentence with the
// reason.
func understand(said string, at chartContext) (r *request, unknown string) {
	if len(said) > 500 {
		return nil, "It is too long."
	}
	r = &request{}
	rest := strings.ReplaceAll(said, "’", "'")
	for _, word := range requestWord.FindAllString(rest, -1) {
		if isSymbol(strings.Trim(word, ".-'/&")) {
			r.symbol = strings.ReplaceAll(strings.ToUpper(strings.Trim(word, ".-'/&")), "/", "")
			rest = strings.Replace(rest, word, " ", 1)
			break
		}
	}
	rest = strings.ToLower(rest)
	for _, k := range requestKinds {
		if !k.pattern.MatchString(rest) {
			continue
		}
		r.kind = k.kind
		left, ok := r.extractPeriod(rest)
		if !ok {
			return nil, ""
		}
		for _, word := range requestWord.FindAllString(left, -1) {
			word = strings.Trim(word, ".-'/&")
			if !k.words[word] && !fillerWords[word] && !strings.EqualFold(word, at.symbol) &&
				!strings.EqualFold(word, at.timeframe) {
				return nil, "I don't understand the word `" + offline.Clip(word) + "` in it."
			}
		}
		return r.read(rest, at)
	}
	return nil, ""
}

// currencyCodes are the codes that form a pair even in small letters, such as eurusd.
var currencyCodes = set(
	"usd eur gbp jpy chf aud nzd cad cnh sek nok dkk pln huf czk try zar mxn brl inr sgd hkd krw xau xag xpt xpd btc " +
		"eth")

// isSymbol reports whether a word of a request names a symbol: two currencies, or capitals that are not a word of some
// request.
func isSymbol(word string) bool {
	low := strings.ToLower(word)
	if pair := strings.ReplaceAll(low, "/", ""); len(pair) == 6 && currencyCodes[pair[:3]] && currencyCodes[pair[3:]] {
		return true
	}
	if len(word) < 3 || len(word) > 12 || !tickerWord.MatchString(word) || timeframeWord.MatchString(word) ||
		fillerWords[low] || namedMonth.MatchString(low) {
		return false
	}
	return !slices.ContainsFunc(requestKinds, func(k requestKind) bool { return k.words[low] })
}

// read sets the fields of a request from its words.
func (r *request) read(said string, at chartContext) (_ *request, unknown string) {
	has := func(re string) bool { return regexp.MustCompile(`\b(` + re + `)\b`).MatchString(said) }
	r.support, r.resist = has("supports?|s/r|levels"), has("resistances?|s/r|levels")
	if has("supports?") != has("resistances?") {
		r.support, r.resist = has("supports?"), has("resistances?")
	}
	r.highs, r.lows = has("highs?"), has("lows?")
	r.describeOnly = questionWord.MatchString(said) && !has("draw|mark|add|plot|put")
	draws := r.kind == "move" || r.kind == "fib" || r.kind == "trendline" || r.kind == "levels"
	if draws && r.symbol != "" && r.symbol != at.symbol {
		return nil, fmt.Sprintf("I draw on the chart that is open, which is %s.", at.symbol)
	}
	if r.kind != "levels" && draws && has("and") {
		return nil, "Ask for one drawing at a time."
	}
	switch r.kind {
	case "fib":
		if end := firstEnd.FindString(said); r.highs && r.lows {
			r.down = strings.HasPrefix(end, "high")
			r.up = !r.down
		} else if r.highs || r.lows {
			return nil, "A retracement goes from a high to a low, or from a low to a high."
		}
	case "trendline":
		if has("supports?|under") || has("resistances?|over") {
			r.lows, r.highs = has("supports?|under") || r.lows, has("resistances?|over") || r.highs
		}
		if r.highs && r.lows {
			return nil, "A trendline goes through lows or through highs."
		}
	case "move":
		r.down, r.up = has("down|lower"), has("up|raise")
		if r.support && r.resist || r.highs == r.lows || r.down && r.up {
			return nil, "Say which one to move, and to which swing: the last swing low, or the last swing high."
		}
	}
	return r, ""
}

var (
	namedPeriod = regexp.MustCompile(
		`\b(last|previous|this) (day|week|month|quarter|year)\b|\b(today|yesterday|tomorrow)\b`)
	namedMonth = regexp.MustCompile(
		`\b(january|february|march|april|may|june|july|august|september|october|november|december)(?: (\d{4}))?\b`)
	namedYear = regexp.MustCompile(`\bin (\d{4})\b`)
)

// extractPeriod sets the period of a request of a kind that may have one, and returns the text without it.
func (r *request) extractPeriod(said string) (left string, ok bool) {
	if r.kind != "stats" && r.kind != "events" {
		return said, true
	}
	for _, re := range []*regexp.Regexp{namedMonth, namedYear, namedPeriod} {
		for _, m := range re.FindAllString(said, 2) {
			if r.period != "" {
				return said, false // only one period is allowed
			}
			r.period = strings.Replace(strings.TrimPrefix(m, "in "), "previous ", "last ", 1)
			said = strings.Replace(said, m, " ", 1)
		}
	}
	switch r.period {
	case "tomorrow":
		return said, r.kind == "events"
	case "", "today", "this week":
		return said, true
	}
	return said, r.kind == "stats"
}

// span returns the period [from, to) of a request at a given time. A month without a year is the newest that has begun.
// Weeks begin on Monday.
func (r *request) span(now time.Time) (from, to time.Time) {
	day := market.D1.Start(now)
	if m := namedMonth.FindStringSubmatch(r.period); m != nil {
		from, _ = time.Parse("January 2006", m[1]+" "+cmp.Or(m[2], now.Format("2006")))
		if m[2] == "" && from.After(now) {
			from = from.AddDate(-1, 0, 0)
		}
		return from, from.AddDate(0, 1, 0)
	}
	if year, err := time.Parse("2006", r.period); err == nil {
		return year, year.AddDate(1, 0, 0)
	}
	which, unit, _ := strings.Cut(r.period, " ")
	years, months, days := 0, 0, 0
	from = time.Date(now.Year(), now.Month(), 1, 0, 0, 0, 0, time.UTC)
	switch unit {
	case "week":
		from, days = market.W1.Start(day), 7
	case "month":
		months = 1
	case "quarter":
		from, months = from.AddDate(0, -(int(now.Month())-1)%3, 0), 3
	case "year":
		from, years = time.Date(now.Year(), 1, 1, 0, 0, 0, 0, time.UTC), 1
	default: // a day
		from, days = day, 1
	}
	shift := map[string]int{"last": -1, "yesterday": -1, "tomorrow": 1}[which]
	from = from.AddDate(shift*years, shift*months, shift*days)
	return from, from.AddDate(years, months, days)
}
