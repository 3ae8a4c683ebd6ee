package cite

import (
	"fmt"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"time"
	"unicode"
)

// date is a date or a period, as precise as written. Fields that were not written are zero; hour is -1 without a time
// of day.
type date struct {
	year, month, day, quarter int
	hour, minute              int
	weekday                   int // 1 is Monday; only without a date
}

var noTime = date{hour: -1, minute: -1}

func (d date) isZero() bool { return d == date{} || d == noTime }

// covers reports whether every field of d that is set agrees with the cell c. A day never covers a cell with only a
// month.
func (d date) covers(c date) bool {
	q := c.quarter
	if q == 0 && c.month > 0 {
		q = (c.month + 2) / 3
	}
	return (d.year == 0 || d.year == c.year) && (d.month == 0 || d.month == c.month) &&
		(d.day == 0 || d.day == c.day) && (d.quarter == 0 || d.quarter == q) &&
		(d.weekday == 0 || d.weekday == c.weekdayNumber()) &&
		(d.hour < 0 || d.hour == c.hour && d.minute == c.minute)
}

// time returns the start of a day. ok is false if the date is not a full day.
func (d date) time() (time.Time, bool) {
	if d.year == 0 || d.month == 0 || d.day == 0 {
		return time.Time{}, false
	}
	return time.Date(d.year, time.Month(d.month), d.day, 0, 0, 0, 0, time.UTC), true
}

// weekdayNumber returns 1 for a Monday up to 7 for a Sunday, or 0 if the day is not known.
func (d date) weekdayNumber() int {
	t, ok := d.time()
	if !ok {
		return 0
	}
	return (int(t.Weekday())+6)%7 + 1
}

func (d date) valid() bool {
	if d.month > 12 || d.month < 0 || d.day > 31 || d.hour > 24 || d.minute > 59 || d.quarter > 4 {
		return false
	}
	if t, ok := d.time(); ok {
		return t.Day() == d.day
	}
	return true
}

const monthWord = `(jan(?:uary|uar|eiro)?|feb(?:ruary|ruar)?|fevereiro|mar(?:ch)?|märz|março|apr(?:il)?|abril|may|` +
	`mai|maio|june?|juni|junho|july?|juli|julho|aug(?:ust)?|agosto|sept?(?:ember)?|setembro|o[ck]t(?:ober)?|outubro|` +
	`nov(?:ember)?|novembro|de[cz](?:ember)?|dezembro)\.?`

// The written forms of dates, each anchored at the start of the remaining text.
var (
	isoDay = regexp.MustCompile(
		`^(\d{4})-(\d{2})-(\d{2})(?:[T ](\d{2}):(\d{2})(?::\d{2}(?:\.\d+)?)?(?:Z|[+-]\d{2}:?\d{2})?)?`)
	clock = regexp.MustCompile(`^(?i)([01]?\d|2[0-4]):([0-5]\d)(?::[0-5]\d)?(?: ?([ap])\.?m\b\.?)?`)
)

// dateForm is a written form of dates. The other fields are the groups of its pattern, or 0. The date ends with the
// last group that took part in the match.
type dateForm struct {
	pattern                   *regexp.Regexp
	year, month, day, quarter int
}

var numericForms = []dateForm{
	{regexp.MustCompile(`^(\d{4})-(\d{2})(?:$|[^\d-])`), 1, 2, 0, 0},
	{regexp.MustCompile(`^(\d{4})[- ]?[Qq]([1-4])(?:$|\W)`), 1, 0, 0, 2},
	{regexp.MustCompile(`^(\d{4})/(\d{1,2})/(\d{1,2})(?:$|\D)`), 1, 2, 3, 0},
	{regexp.MustCompile(`^(\d{1,2})\.(\d{1,2})\.(\d{4})(?:$|\D)`), 3, 2, 1, 0},
	{regexp.MustCompile(`^(0?[1-9]|1[0-2])/(\d{1,2})/(\d{4})(?:$|\D)`), 3, 1, 2, 0},
	{regexp.MustCompile(`^(\d{1,2})/(\d{1,2})/(\d{4})(?:$|\D)`), 3, 2, 1, 0},
	{regexp.MustCompile(`^(?i)(\d{1,2})(?:st|nd|rd|th|\.|º)?[ \x{a0}](?:of |de )?` + monthWord +
		`(?:(?:,? | de )(\d{4})\b)?(?:$|[^\pL])`), 3, 2, 1, 0},
}

var wordForms = []dateForm{
	{regexp.MustCompile(`^(?i)q([1-4])(?: |-|/|'| of )(\d{4})(?:$|[^\d\pL])`), 2, 0, 0, 1},
	{regexp.MustCompile(`^(?i)` + monthWord + `(?:,? | de )(\d{4})(?:$|[^\d\pL])`), 2, 1, 0, 0},
	{regexp.MustCompile(`^(?i)` + monthWord + ` (\d{1,2}(?:st|nd|rd|th)?)(?:,? (\d{4}))?(?:$|[^\d\pL])`),
		3, 1, 2, 0},
}

// scanForms reads a date in one of the forms, and its length, which is 0 if there is none.
func scanForms(s string, forms []dateForm) (date, int) {
	for _, f := range forms {
		if m := f.pattern.FindStringSubmatchIndex(s); m != nil {
			d := date{year: submatch(s, m, f.year), month: submatch(s, m, f.month), day: submatch(s, m, f.day),
				quarter: submatch(s, m, f.quarter), hour: -1, minute: -1}
			return d, slices.Max(m[2:])
		}
	}
	return noTime, 0
}

// scanDate reads a date at the start of s. n is its length.
func scanDate(s string) (d date, n int, ok bool) {
	if len(s) > 48 {
		s = s[:48] // a broken rune at the end matches nothing
	}
	if len(s) == 0 {
		return date{}, 0, false
	}
	if c := s[0]; c >= '0' && c <= '9' {
		d, n = scanNumericDate(s)
	} else {
		d, n = scanForms(s, wordForms)
	}
	return d, n, n > 0 && d.valid()
}

// maybeDate checks the digits and the next character, to avoid matching the patterns in most cases.
func maybeDate(s string) bool {
	k := digitRun(s)
	if k == len(s) {
		return false
	}
	switch c := s[k]; k {
	case 4:
		return c == '-' || c == '/' || c == 'q' || c == 'Q' ||
			c == ' ' && k+1 < len(s) && (s[k+1] == 'q' || s[k+1] == 'Q')
	case 1, 2:
		switch c {
		case ' ':
			return k+1 < len(s) &&
				(months[letterRun(s[k+1:])] > 0 || strings.HasPrefix(s[k+1:], "of ") ||
					strings.HasPrefix(s[k+1:], "de ") || s[k+1]|0x20 == 'a' || s[k+1]|0x20 == 'p')
		case ',', ')', '%', ';', '|', '\n':
			return false
		}
		return true
	}
	return false
}

// letterRun returns the word with which s begins, in lower case.
func letterRun(s string) string {
	for i, c := range s {
		if !unicode.IsLetter(c) {
			return strings.ToLower(s[:i])
		}
	}
	return strings.ToLower(s)
}

// scanNumericDate reads a date that begins with a digit, and its length, which is 0 if there is none.
func scanNumericDate(s string) (date, int) {
	if len(s) < 4 || !maybeDate(s) {
		return noTime, 0
	}
	if m := isoDay.FindStringSubmatchIndex(s); m != nil {
		d := date{year: submatch(s, m, 1), month: submatch(s, m, 2), day: submatch(s, m, 3), hour: -1, minute: -1}
		if m[8] >= 0 {
			d.hour, d.minute = submatch(s, m, 4), submatch(s, m, 5)
		}
		return d, m[1]
	}
	if d, n := scanForms(s, numericForms); n > 0 {
		return d, n
	}
	if m := clock.FindStringSubmatchIndex(s); m != nil {
		d := date{hour: submatch(s, m, 1), minute: submatch(s, m, 2)}
		if m[6] >= 0 && (s[m[6]] == 'p' || s[m[6]] == 'P') && d.hour < 12 {
			d.hour += 12
		}
		return d, m[1]
	}
	return noTime, 0
}

// submatch returns group i, a number or the name of a month. It returns 0 if i is 0 or the group did not take part in
// the match.
func submatch(s string, m []int, i int) int {
	if i == 0 || m[2*i] < 0 {
		return 0
	}
	w := s[m[2*i]:m[2*i+1]]
	if k := digitRun(w); k > 0 {
		n, _ := strconv.Atoi(w[:k]) // at most four digits
		return n
	}
	return months[strings.ToLower(w)]
}

// cellDate reads a cell as a date: the ISO forms of the kinds date, timestamp and time, and common forms in text
// columns (2024-03, 2024-Q3, Jan).
func cellDate(cell any) (date, bool) {
	s, ok := cell.(string)
	if !ok || len(s) < 3 || len(s) > 40 {
		return date{}, false
	}
	if d, ok := parseISODay(s); ok {
		return d, true
	}
	if m := months[strings.ToLower(s)]; m > 0 {
		return date{month: m, hour: -1, minute: -1}, true
	}
	c := s[0]
	if c < '0' || c > '9' {
		if len(s) < 6 || len(s) > 20 {
			return date{}, false
		}
		d, n, ok := scanDate(s)
		return d, ok && n == len(s)
	}
	if d, n, ok := scanDate(s); ok && n == len(s) {
		return d, true
	}
	return date{}, false
}

// parseISODay reads 2006-01-02 and 2006-01-02T15:04… without a regular expression, because results can have very many
// of them.
func parseISODay(s string) (date, bool) {
	if len(s) < 10 || s[4] != '-' || s[7] != '-' {
		return date{}, false
	}
	y, ok1 := digits(s[:4])
	m, ok2 := digits(s[5:7])
	day, ok3 := digits(s[8:10])
	if !ok1 || !ok2 || !ok3 {
		return date{}, false
	}
	d := date{year: y, month: m, day: day, hour: -1, minute: -1}
	if len(s) >= 16 && (s[10] == 'T' || s[10] == ' ') && s[13] == ':' {
		h, ok4 := digits(s[11:13])
		mi, ok5 := digits(s[14:16])
		if !ok4 || !ok5 {
			return date{}, false
		}
		d.hour, d.minute = h, mi
	} else if len(s) > 10 {
		return date{}, false
	}
	return d, d.valid()
}

func digits(s string) (int, bool) {
	n := 0
	for i := 0; i < len(s); i++ {
		if s[i] < '0' || s[i] > '9' {
			return 0, false
		}
		n = n*10 + int(s[i]-'0')
	}
	return n, true
}

func (d date) String() string {
	switch {
	case d.day > 0 && d.year > 0:
		return fmt.Sprintf("%04d-%02d-%02d", d.year, d.month, d.day)
	case d.quarter > 0:
		return fmt.Sprintf("%04d-Q%d", d.year, d.quarter)
	case d.month > 0 && d.year > 0:
		return fmt.Sprintf("%04d-%02d", d.year, d.month)
	}
	return fmt.Sprint(d.year)
}
