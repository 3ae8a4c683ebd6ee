package tidy

import (
	"bytes"
	_ "embed"
	"strings"
	"time"

	"github.com/footnotehq/footnote/internal/wordlist"
)

// A date in digits may have its day or its month first. Year first is always recognised.
const (
	dayFirst uint8 = 1 << iota
	monthFirst
)

// moment is the parts of a cell that may be a date, with or without a time.
type moment struct {
	year, first, second int // first and second: month and day, or in an unknown order
	ymd                 bool
	numeric             bool // all digits; the order of day and month is open
	sep                 byte
	orders              uint8
	hasTime             bool
	hour, min, sec, ns  int
	zoned               bool
	offset              int // seconds east of UTC
}

// parseMoment parses a trimmed cell.
func parseMoment(b []byte) (m moment, ok bool) {
	if len(b) < 6 || len(b) > 48 {
		return m, false
	}
	var rest []byte
	if plain(b[0]) {
		rest, ok = m.numericDate(b)
	} else {
		rest, ok = m.namedDate(b)
	}
	if !ok || !m.valid() {
		return m, false
	}
	if len(rest) == 0 {
		return m, true
	}
	switch {
	case rest[0] == 'T' || rest[0] == 't', rest[0] == ' ':
		rest = trim(rest[1:])
	case rest[0] == ',' && len(rest) > 1 && rest[1] == ' ':
		rest = trim(rest[2:])
	default:
		return m, false
	}
	m.hasTime = true
	return m, m.clock(rest)
}

// numericDate parses a date that begins with a digit.
func (m *moment) numericDate(b []byte) (rest []byte, ok bool) {
	n, b, width := digits(b, 4)
	if len(b) < 2 {
		return nil, false
	}
	m.sep = b[0]
	between := m.sep == '-' || m.sep == '.' || m.sep == '/'
	if width <= 2 && (between || m.sep == ' ') {
		if name := trim(b[1:]); len(name) > 0 && !plain(name[0]) {
			return m.dayMonthName(n, name)
		}
	}
	if !between {
		return nil, false
	}
	second, b, w2 := digits(b[1:], 2)
	if w2 == 0 || len(b) < 2 || b[0] != m.sep {
		return nil, false
	}
	third, b, w3 := digits(b[1:], 4)
	switch {
	case width == 4 && (w3 == 1 || w3 == 2):
		m.year, m.first, m.second, m.ymd = n, second, third, true
	case width <= 2 && width > 0 && (w3 == 4 || w3 == 2):
		m.year, m.first, m.second, m.numeric = fullYear(third, w3), n, second, true
	default:
		return nil, false
	}
	return b, true
}

// dayMonthName parses the rest of "3. January 2023" or "03-Jan-23".
func (m *moment) dayMonthName(day int, b []byte) (rest []byte, ok bool) {
	month, b := monthName(b)
	b = bytes.TrimLeft(b, ".,-/ ")
	year, b, width := digits(b, 4)
	if month == 0 || (width != 4 && width != 2) {
		return nil, false
	}
	m.year, m.first, m.second, m.ymd = fullYear(year, width), month, day, true
	return b, true
}

// namedDate parses "Jan 3, 2023", with or without a leading weekday.
func (m *moment) namedDate(b []byte) (rest []byte, ok bool) {
	month, after := monthName(b)
	if month == 0 {
		i := bytes.IndexAny(b, ", ")
		if i < 2 || !weekday(bytes.TrimRight(b[:i], ".")) {
			return nil, false
		}
		b = bytes.TrimLeft(b[i:], ", ")
		if len(b) == 0 {
			return nil, false
		}
		if plain(b[0]) {
			return m.numericDate(b)
		}
		if month, after = monthName(b); month == 0 {
			return nil, false
		}
	}
	day, after, width := digits(bytes.TrimLeft(after, ". "), 2)
	if width == 0 {
		return nil, false
	}
	for _, suffix := range [...]string{"st", "nd", "rd", "th"} {
		after = bytes.TrimPrefix(after, []byte(suffix))
	}
	year, after, width := digits(bytes.TrimLeft(after, ", "), 4)
	if width != 4 {
		return nil, false
	}
	m.year, m.first, m.second, m.ymd = year, month, day, true
	return after, true
}

func fullYear(year, width int) int {
	switch {
	case width == 4:
		return year
	case year < 69:
		return 2000 + year
	default:
		return 1900 + year
	}
}

// digits parses up to maxDigits digits.
func digits(b []byte, maxDigits int) (n int, rest []byte, width int) {
	for width < len(b) && width < maxDigits && plain(b[width]) {
		n = n*10 + int(b[width]-'0')
		width++
	}
	return n, b[width:], width
}

// valid finds the orders in which the date is valid.
func (m *moment) valid() bool {
	if m.year < 1 || m.year > 9999 {
		return false
	}
	if m.ymd {
		return isDay(m.year, m.first, m.second)
	}
	if isDay(m.year, m.second, m.first) {
		m.orders |= dayFirst
	}
	if m.sep != '.' && isDay(m.year, m.first, m.second) {
		m.orders |= monthFirst
	}
	return m.orders != 0
}

func isDay(year, month, day int) bool {
	if month < 1 || month > 12 || day < 1 || day > 31 {
		return false
	}
	return day <= 28 || time.Date(year, time.Month(month), day, 0, 0, 0, 0, time.UTC).Day() == day
}

// clock parses a time of day with its zone.
func (m *moment) clock(b []byte) bool {
	var width int
	if m.hour, b, width = digits(b, 2); width == 0 || len(b) < 3 || b[0] != ':' {
		return false
	}
	if m.min, b, width = digits(b[1:], 2); width != 2 {
		return false
	}
	if len(b) > 0 && b[0] == ':' {
		if m.sec, b, width = digits(b[1:], 2); width != 2 {
			return false
		}
		if len(b) > 1 && (b[0] == '.' || b[0] == ',') && plain(b[1]) {
			m.ns, b, width = digits(b[1:], 9)
			for ; width < 9; width++ {
				m.ns *= 10
			}
			b = bytes.TrimLeft(b, "0123456789")
		}
	}
	if !m.noon(&b) || !m.zone(b) {
		return false
	}
	return m.hour < 24 && m.min < 60 && m.sec < 60
}

// noon parses AM or PM.
func (m *moment) noon(b *[]byte) bool {
	rest := trim(*b)
	if len(rest) < 2 || (rest[1]|0x20) != 'm' {
		return true
	}
	half := rest[0] | 0x20
	if (half != 'a' && half != 'p') || m.hour < 1 || m.hour > 12 {
		return false
	}
	m.hour %= 12
	if half == 'p' {
		m.hour += 12
	}
	*b = rest[2:]
	return true
}

func (m *moment) zone(b []byte) bool {
	b = trim(b)
	if len(b) == 0 {
		return true
	}
	m.zoned = true
	for _, utc := range [...]string{"Z", "UTC", "GMT"} {
		if bytes.EqualFold(b, []byte(utc)) {
			return true
		}
	}
	sign := 1
	switch b[0] {
	case '-':
		sign = -1
	case '+':
	default:
		return false
	}
	h, b, width := digits(b[1:], 2)
	if width != 2 || h > 18 {
		return false
	}
	minutes := 0
	if len(b) > 0 {
		minutes, b, width = digits(bytes.TrimPrefix(b, []byte(":")), 2)
		if width != 2 || len(b) > 0 || minutes > 59 {
			return false
		}
	}
	m.offset = sign * (h*3600 + minutes*60)
	return true
}

// time returns the moment in UTC, with day and month read in the given order.
func (m moment) time(order uint8) time.Time {
	month, day := m.first, m.second
	if m.numeric && order == dayFirst {
		month, day = day, month
	}
	return time.Date(m.year, time.Month(month), day, m.hour, m.min, m.sec-m.offset, m.ns, time.UTC)
}

// midnight reports whether the time of day is zero.
func (m moment) midnight() bool { return m.hour|m.min|m.sec|m.ns == 0 }

// parseClock parses a cell that holds only a time of day.
func parseClock(b []byte) (m moment, ok bool) {
	if len(b) < 4 || len(b) > 20 || !plain(b[0]) || bytes.IndexByte(b[:min(3, len(b))], ':') < 0 {
		return m, false
	}
	m.year, m.first, m.second, m.ymd = 1970, 1, 1, true
	return m, m.clock(b) && !m.zoned
}

//go:embed months.txt
var monthsFile string

// months maps the names of months to their numbers.
var months = func() map[string]int {
	m := map[string]int{}
	for i, names := range wordlist.Lines(monthsFile) {
		for name := range strings.FieldsSeq(names) {
			m[name] = i + 1
		}
	}
	return m
}()

// monthName parses the name of a month at the start of b. The month is 0 when there is none.
func monthName(b []byte) (month int, rest []byte) {
	i := bytes.IndexAny(b, " .,-/0123456789")
	if i < 3 || i > 12 {
		return 0, b
	}
	return months[string(bytes.ToLower(b[:i]))], b[i:]
}

// weekdays lists the names of weekdays in English and German.
var weekdays = wordlist.Set(`mon tue wed thu fri sat sun monday tuesday wednesday thursday friday saturday sunday
	mo di mi do fr sa so montag dienstag mittwoch donnerstag freitag samstag sonntag`)

func weekday(b []byte) bool { return weekdays[string(bytes.ToLower(b))] }
