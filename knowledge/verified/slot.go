package verified

import (
	"errors"
	"fmt"
	"math"
	"regexp"
	"strconv"
	"strings"
	"time"
	"unicode/utf8"
)

// The types of parameters, with what a statement receives.
const (
	Text   = "text"   // what stands in quotes
	Int    = "int"    // an integer
	Number = "number" // a floating-point number
	Date   = "date"   // 2026-11-02
	Month  = "month"  // the first day of the month, 2026-11-01
	Year   = "year"   // an integer
	OneOf  = "one of" // the value, spelled as in the header
)

// Types lists all types.
var Types = []string{Text, Int, Number, Date, Month, Year, OneOf}

// maxText limits the bytes of a text that is bound.
const maxText = 200

// Value reads a value strictly. Text is taken as it is. The error continues a sentence that begins with the name of
// the parameter: "must be a year such as 2026".
func (p Parameter) Value(raw string) (any, error) {
	raw = strings.TrimSpace(raw)
	switch p.Type {
	case Int:
		n, err := strconv.ParseInt(raw, 10, 64)
		if err != nil || !plainNumber(raw) {
			return nil, errors.New("must be a whole number such as 12, without separators")
		}
		return n, nil
	case Number:
		f, err := strconv.ParseFloat(raw, 64)
		if err != nil || math.IsInf(f, 0) || !plainNumber(raw) {
			return nil, errors.New("must be a number such as 12.5, without separators")
		}
		if thousands.MatchString(raw) {
			return nil, errors.New("must not be like 1.500, which can mean 1500; write 1500 or 1.5")
		}
		return f, nil
	case Date:
		return date(raw)
	case Month:
		return month(raw)
	case Year:
		n, ok := year(raw)
		if !ok {
			return nil, errors.New("must be a year such as 2026")
		}
		return int64(n), nil
	case OneOf:
		return p.oneOf(raw)
	}
	if raw == "" || len(raw) > maxText || !utf8.ValidString(raw) || strings.ContainsRune(raw, 0) {
		return nil, fmt.Errorf("must be text of 1 to %d bytes", maxText)
	}
	return raw, nil
}

// thousands matches a number whose point separates thousands in German and decimals in English.
var thousands = regexp.MustCompile(`^-?[1-9]\d{0,2}\.\d{3}$`)

// plainNumber reports whether a number is written with digits, a minus and a point only.
func plainNumber(s string) bool { return strings.Trim(s, "0123456789.-") == "" }

func (p Parameter) oneOf(raw string) (any, error) {
	want := spell(raw)
	for _, v := range p.Values {
		if want == spell(v) && want != "" {
			return v, nil
		}
	}
	return nil, fmt.Errorf("must be one of %s", strings.Join(p.Values, ", "))
}

// The years that a slot accepts.
const (
	firstYear = 1000
	lastYear  = 9999
)

// year reads a year of four digits.
func year(s string) (int, bool) {
	n, err := strconv.Atoi(s)
	return n, err == nil && len(s) == 4 && n >= firstYear && n <= lastYear
}

var errMonth = errors.New("must be a month with its year, such as 2026-03 or March 2026")

// month reads 2026-03, March 2026, Mar 2026 or März 2026.
func month(raw string) (any, error) {
	if t, err := time.Parse("2006-01", raw); err == nil && t.Year() >= firstYear {
		return t.Format(time.DateOnly), nil
	}
	words := tokenize(raw)
	if len(words) != 2 {
		return nil, errMonth
	}
	m, y := months[words[0].text], words[1].text
	n, ok := year(y)
	if m == 0 || !ok {
		return nil, errMonth
	}
	return fmt.Sprintf("%04d-%02d-01", n, m), nil
}

var errDate = errors.New("must be a date such as 2026-11-02 or 2 November 2026")

// date reads 2026-11-02, 2 November 2026, November 2, 2026 or 2. November 2026.
func date(raw string) (any, error) {
	if t, err := time.Parse(time.DateOnly, raw); err == nil && t.Year() >= firstYear {
		return raw, nil
	}
	words := tokenize(raw)
	if len(words) != 3 {
		return nil, errDate
	}
	day, m := words[0].text, months[words[1].text]
	if m == 0 {
		m, day = months[words[0].text], words[1].text
	}
	y, ok := year(words[2].text)
	d, err := strconv.Atoi(day)
	t := time.Date(y, time.Month(m), d, 0, 0, 0, 0, time.UTC)
	if m == 0 || !ok || err != nil || len(day) > 2 || t.Day() != d || t.Month() != time.Month(m) {
		return nil, errDate
	}
	return t.Format(time.DateOnly), nil
}

// months maps names of months, in English and German, to their numbers.
var months = map[string]int{
	"january": 1, "jan": 1, "januar": 1, "jänner": 1, "february": 2, "feb": 2, "februar": 2, "march": 3, "mar": 3,
	"märz": 3, "april": 4, "apr": 4, "may": 5, "mai": 5, "june": 6, "jun": 6, "juni": 6, "july": 7, "jul": 7,
	"juli": 7, "august": 8, "aug": 8, "september": 9, "sep": 9, "sept": 9, "october": 10, "oct": 10, "oktober": 10,
	"okt": 10, "november": 11, "nov": 11, "december": 12, "dec": 12, "dezember": 12, "dez": 12,
}

// maxSlot is how many words a value of each type can have in a question; other types have one.
var maxSlot = map[string]int{Date: 3, Month: 2, OneOf: 12, Number: 2, Int: 2, Text: 30}

// inQuestion reads the value of a slot from the words of a question that it covers. A text must stand in quotes:
// otherwise "customers in Berlin without orders" would ask for the city "Berlin without orders".
func (p Parameter) inQuestion(question string, words []token) (any, error) {
	start, end := words[0].start, words[len(words)-1].end
	if p.Type != Text {
		return p.Value(question[start:end])
	}
	end += len(question[end:]) - len(strings.TrimLeft(question[end:], ".,;:!?()")) // up to the quote
	open, n := utf8.DecodeLastRuneInString(question[:start])
	closing, _ := utf8.DecodeRuneInString(question[end:])
	for pair := range strings.FieldsSeq(`"" “” „“ «» ‚‘ ‘’`) {
		first, _ := utf8.DecodeRuneInString(pair)
		last, _ := utf8.DecodeLastRuneInString(pair)
		if n > 0 && open == first && closing == last && !strings.ContainsAny(question[start:end], `"“”„«»‘‚`) {
			return p.Value(question[start:end])
		}
	}
	return nil, errors.New("must stand in quotes")
}
