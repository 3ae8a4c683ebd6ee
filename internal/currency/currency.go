// Package currency knows the currencies of ISO 4217 and finds out which one a column's amounts are in. It never guesses:
// an amount whose currency nothing names has none.
package currency

import (
	_ "embed"
	"encoding/json"
	"regexp"
	"strings"
	"sync"
	"unicode"
	"unicode/utf8"
)

// Currency describes a currency.
type Currency struct {
	Name   string `json:"name"`   // in the plural: US dollars
	Sign   string `json:"sign"`   // before an amount: $
	Digits int    `json:"digits"` // of the minor unit: 2 for cents
}

// The web app reads the same table.
//
//go:embed iso4217.json
var table []byte

var all = sync.OnceValue(func() map[string]Currency {
	var m map[string]Currency
	if err := json.Unmarshal(table, &m); err != nil {
		panic(err) // the table is part of the program
	}
	return m
})

// Of returns the currency with an ISO code, in upper or lower case.
func Of(code string) (Currency, bool) {
	c, ok := all()[strings.ToUpper(code)]
	return c, ok
}

var (
	// other matches words of names whose figures are not amounts in whole units of the currency: orders_eur_count,
	// usd_rate, price_eur_cents.
	other = regexp.MustCompile(`(?i)^(count|number|no|num|qty|quantity|units|rate|ratio|share|percent|pct|rank|index|` +
		`id|key|code|year|date|cents?|pence|k|m|mn|mio|bn|tsd|thousands?|millions?|billions?)$`)
	// words matches codes that are also words. They count only at the end of the name of an amount, as in price_try.
	words  = regexp.MustCompile(`^(BAM|BOB|CAD|COP|CUP|GEL|MAD|MOP|PEN|RON|SOS|TRY)$`)
	amount = regexp.MustCompile(`(?i)^(revenue|price|amount|cost|costs|fee|fees|salary|total|sales|value)$`)
	parts  = regexp.MustCompile(`[\p{Lu}]?[\p{Ll}]+|[\p{Lu}]+`)
	scaled = regexp.MustCompile(`(?i)\b(cents?|pence|minor units?|thousands?|millions?|billions?|[kmt](eur|usd|gbp|€|\$|£))`)
)

// InName returns the code of the currency that a column's name names, such as EUR for revenue_eur, or "". A name with
// two currencies is an exchange rate.
func InName(name string) string {
	found, isAmount := "", false
	list := parts.FindAllString(name, -1)
	for i, part := range list {
		code := strings.ToUpper(part)
		_, ok := all()[code]
		switch {
		case other.MatchString(part):
			return ""
		case !ok || code == "ALL" || code == "TOP" || words.MatchString(code) && (i < len(list)-1 || !isAmount):
			isAmount = isAmount || amount.MatchString(part)
		case found != "" && found != code:
			return ""
		default:
			found = code
		}
	}
	return found
}

// InText returns the code of the currency that a comment names, such as EUR for "net, in euros", or "". A comment that
// names two, or thousands or cents, names none that could be put before the figure.
func InText(text string) string {
	if scaled.MatchString(text) {
		return ""
	}
	lower, found := strings.ToLower(text), ""
	for code, c := range all() {
		sign := utf8.RuneCountInString(c.Sign) == 1 && c.Sign != "¥" // which is that of yen and of yuan
		named := hasWord(lower, strings.ToLower(c.Name)) || sign && strings.Contains(text, c.Sign) ||
			code == "EUR" && hasWord(lower, "euro") || code == "GBP" && hasWord(lower, "sterling") ||
			code != "ALL" && code != "TOP" && !words.MatchString(code) && hasWord(text, code)
		switch {
		case named && found != "":
			return ""
		case named:
			found = code
		}
	}
	return found
}

// hasWord reports whether a text contains a word or several words in a row.
func hasWord(text, word string) bool {
	for at := 0; ; {
		i := strings.Index(text[at:], word)
		if i < 0 {
			return false
		}
		i += at
		before, _ := utf8.DecodeLastRuneInString(text[:i])
		after, _ := utf8.DecodeRuneInString(text[i+len(word):])
		if !unicode.IsLetter(before) && !unicode.IsLetter(after) {
			return true
		}
		at = i + len(word)
	}
}

// Sign puts the sign of a currency before a formatted number: -€1,200.
func Sign(number, code string) string {
	c, ok := Of(code)
	if !ok {
		return number
	}
	minus := number[:len(number)-len(strings.TrimLeft(number, "-−"))]
	number = number[len(minus):]
	if last, _ := utf8.DecodeLastRuneInString(c.Sign); unicode.IsLetter(last) {
		return minus + c.Sign + "\u00a0" + number
	}
	return minus + c.Sign + number
}
