package offline

import (
	"fmt"
	"regexp"
	"strconv"
	"time"
)

// period is a span of days [from, to); either end may be open. If back > 0, it counts units back from the latest day in
// the data.
type period struct {
	from, to string
	back     int
	unit     string
	words    string // as shown in the reading
	relative bool   // this unit or the last one, resolved once the column is known
	last     bool
	yearless bool // a month or quarter without its year
	month    int
	day      int
	quarter  int
	bound    string // since, after, before or until, for a period whose year is still unknown
	size     string // calendar unit of the period: year
}

func day(y, m, d int) string {
	return time.Date(y, time.Month(m), d, 0, 0, 0, 0, time.UTC).Format(time.DateOnly)
}

func yearPeriod(y int) period {
	return period{from: day(y, 1, 1), to: day(y+1, 1, 1), words: strconv.Itoa(y), size: "year"}
}

func monthPeriod(y, m int) period {
	return period{
		from: day(y, m, 1), to: day(y, m+1, 1), words: time.Month(m).String() + " " + strconv.Itoa(y), size: "month",
	}
}

func quarterPeriod(y, q int) period {
	return period{from: day(y, 3*q-2, 1), to: day(y, 3*q+1, 1), words: fmt.Sprintf("Q%d %d", q, y), size: "quarter"}
}

func dayPeriod(t time.Time) period {
	return period{
		from: t.Format(time.DateOnly), to: t.AddDate(0, 0, 1).Format(time.DateOnly), words: t.Format(time.DateOnly),
		size: "day",
	}
}

// partWords are words for recurring parts, such as the days of a week or the hours of a day.
var partWords = map[string]string{"weekday": "weekday", "weekdays": "weekday", "hour": "hour", "hourly": "hour"}

// isRecurring reports whether a bucket is a recurring part, such as the weekday, rather than a period.
func isRecurring(bucket string) bool {
	return bucket == "weekday" || bucket == "hour" || bucket == "month of the year"
}

var (
	isoMonth = regexp.MustCompile(`^(\d{4})-(\d{1,2})$`)
	quarterN = regexp.MustCompile(`^q([1-4])$`)
	dayN     = regexp.MustCompile(`^(\d{1,2})(st|nd|rd|th)?$`)
	europe   = regexp.MustCompile(`^(\d{1,2})\.(\d{1,2})\.(\d{4})$`)
)

func asYear(w word) (int, bool) {
	if len(w.low) != 4 {
		return 0, false
	}
	y, err := strconv.Atoi(w.low)
	return y, err == nil && y >= 1900 && y <= 2100
}

func asDay(w word) (int, bool) {
	m := dayN.FindStringSubmatch(w.low)
	if m == nil {
		return 0, false
	}
	d, _ := strconv.Atoi(m[1])
	return d, d >= 1 && d <= 31
}

// readCalendar reads a period at the start of words: 2024, March 2024, 30 June 2024, 2024-03-05, Q2 2024, second
// quarter of 2024. It returns the number of words.
func readCalendar(ws []word) (period, int) {
	if len(ws) == 0 {
		return period{}, 0
	}
	at := func(i int) word {
		if i < len(ws) {
			return ws[i]
		}
		return word{}
	}
	low := ws[0].low
	if t, err := time.Parse(time.DateOnly, low); err == nil {
		return dayPeriod(t), 1
	}
	if europe.MatchString(low) {
		if t, err := time.Parse("2.1.2006", low); err == nil {
			return dayPeriod(t), 1
		}
	}
	if m := isoMonth.FindStringSubmatch(low); m != nil {
		y, _ := strconv.Atoi(m[1])
		if mo, _ := strconv.Atoi(m[2]); mo >= 1 && mo <= 12 {
			return monthPeriod(y, mo), 1
		}
	}
	if y, ok := asYear(ws[0]); ok {
		if m := quarterN.FindStringSubmatch(at(1).low); m != nil {
			q, _ := strconv.Atoi(m[1])
			return quarterPeriod(y, q), 2
		}
		return yearPeriod(y), 1
	}
	if p, n := readQuarter(ws, at); n > 0 {
		return p, n
	}
	return readMonth(ws, at)
}

func readQuarter(ws []word, at func(int) word) (period, int) {
	q, n := 0, 0
	if m := quarterN.FindStringSubmatch(ws[0].low); m != nil {
		q, _ = strconv.Atoi(m[1])
		n = 1
	} else if at(1).low == "quarter" {
		q = map[string]int{
			"first": 1, "1st": 1, "second": 2, "2nd": 2, "third": 3, "3rd": 3, "fourth": 4, "4th": 4,
		}[ws[0].low]
		n = 2
	}
	if q == 0 {
		return period{}, 0
	}
	if at(n).low == "of" || at(n).low == "in" {
		if y, ok := asYear(at(n + 1)); ok {
			return quarterPeriod(y, q), n + 2
		}
	}
	if y, ok := asYear(at(n)); ok {
		return quarterPeriod(y, q), n + 1
	}
	return period{yearless: true, quarter: q, size: "quarter"}, n
}

func readMonth(ws []word, at func(int) word) (period, int) {
	d, i := 0, 0
	if n, ok := asDay(ws[0]); ok {
		d, i = n, 1
		if at(1).low == "of" {
			i = 2
		}
	}
	m, ok := months[at(i).low]
	if !ok || (at(i).low == "may" || at(i).low == "mar" || at(i).low == "sun") && at(i).raw == at(i).low && d == 0 &&
		!isYear(at, i+1) {
		return period{}, 0
	}
	i++
	if n, ok := asDay(at(i)); d == 0 && ok && isYear(at, i+1) {
		d = n
		i++
	}
	if at(i).low == "of" || at(i).low == "in" {
		if isYear(at, i+1) {
			i++
		}
	}
	y, ok := asYear(at(i))
	switch {
	case !ok && d > 0 && day(2024, m, d)[5:7] != day(2024, m, 1)[5:7]:
		return period{}, 0
	case !ok && d > 0:
		return period{yearless: true, month: m, day: d, size: "day"}, i
	case !ok:
		return period{yearless: true, month: m, size: "month"}, i
	case d > 0:
		t := time.Date(y, time.Month(m), d, 0, 0, 0, 0, time.UTC)
		if t.Day() != d {
			return period{}, 0
		}
		return dayPeriod(t), i + 1
	}
	return monthPeriod(y, m), i + 1
}

func isYear(at func(int) word, i int) bool {
	_, ok := asYear(at(i))
	return ok
}

// inYear adds the year of another period to a period without one.
func (p period) inYear(y int) period {
	switch {
	case !p.yearless:
		return p
	case p.day > 0:
		t := time.Date(y, time.Month(p.month), p.day, 0, 0, 0, 0, time.UTC)
		return dayPeriod(t)
	case p.month > 0:
		return monthPeriod(y, p.month)
	}
	return quarterPeriod(y, p.quarter)
}

func (p period) year() (int, bool) {
	if len(p.from) < 4 || p.yearless {
		return 0, false
	}
	y, err := strconv.Atoi(p.from[:4])
	return y, err == nil
}

// readDatePhrase reads a period with the words around it: in 2024, since July 2023, after 30 June 2024, between January
// and March 2024, last 6 months. It returns the number of words.
func readDatePhrase(ws []word) (period, int) {
	at := func(i int) string {
		if i < len(ws) {
			return ws[i].low
		}
		return ""
	}
	i := 0
	if set("in during for within over of on from")[at(0)] {
		i = 1
		if at(1) == "the" {
			i = 2
		}
	} else if at(0) == "the" {
		i = 1
	}
	if p, n := readRelative(ws[min(i, len(ws)):]); n > 0 {
		return p, i + n
	}
	if p, n := readSpan(ws); n > 0 {
		return p, n
	}
	if p, n := readBound(ws); n > 0 {
		return p, n
	}
	if i == 1 && at(0) == "over" {
		return period{}, 0
	}
	if at(i) == "year" && i < len(ws)-1 {
		if _, ok := asYear(ws[i+1]); ok {
			i++
		}
	}
	p, n := readCalendar(ws[min(i, len(ws)):])
	if n == 0 {
		return period{}, 0
	}
	return p, i + n
}

// readRelative reads "last 6 months", "past year", "this quarter", "last month".
func readRelative(ws []word) (period, int) {
	if len(ws) > 0 && (ws[0].low == "today" || ws[0].low == "yesterday") {
		return period{relative: true, last: ws[0].low == "yesterday", unit: "day", size: "day"}, 1
	}
	if len(ws) < 2 {
		return period{}, 0
	}
	back := set("last past previous trailing latest")[ws[0].low]
	if !back && ws[0].low != "this" && ws[0].low != "current" {
		return period{}, 0
	}
	if back && ws[1].isNum && len(ws) > 2 {
		if u, ok := bucketWords[ws[2].sing]; ok && ws[1].num >= 1 && ws[1].num <= 1000 &&
			ws[1].num == float64(int(ws[1].num)) {
			n := int(ws[1].num)
			return period{back: n, unit: u, words: fmt.Sprintf("last %d %ss of the data", n, u)}, 3
		}
	}
	if back && ws[1].low == "quarter" && len(ws) > 3 && (ws[2].low == "of" || ws[2].low == "in") {
		if y, ok := asYear(ws[3]); ok {
			return quarterPeriod(y, 4), 4
		}
	}
	if u, ok := bucketWords[ws[1].low]; ok && u+"ly" != ws[1].low && u != "day" {
		return period{relative: true, last: back, unit: u, size: u}, 2
	}
	return period{}, 0
}

// readSpan reads "between A and B" and "from A to B".
func readSpan(ws []word) (period, int) {
	if len(ws) < 4 || ws[0].low != "between" && ws[0].low != "from" {
		return period{}, 0
	}
	a, n := readCalendar(ws[1:])
	if n == 0 || 1+n >= len(ws) {
		return period{}, 0
	}
	if !set("and to until till through")[ws[1+n].low] {
		return period{}, 0
	}
	b, m := readCalendar(ws[2+n:])
	if m == 0 {
		return period{}, 0
	}
	if y, ok := b.year(); ok {
		a = a.inYear(y)
	}
	if a.yearless || b.yearless || a.from > b.from {
		return period{}, 0
	}
	return period{from: a.from, to: b.to, words: a.words + " to " + b.words}, 2 + n + m
}

// readBound reads "after", "since", "before" and "until".
func readBound(ws []word) (period, int) {
	if len(ws) < 2 {
		return period{}, 0
	}
	i := 1
	kind := ws[0].low
	switch kind {
	case "after", "since", "before", "until", "till", "by", "from", "starting", "through":
	default:
		return period{}, 0
	}
	if i < len(ws) && (ws[i].low == "the" || ws[i].low == "in") {
		i++
	}
	p, n := readCalendar(ws[min(i, len(ws)):])
	if n == 0 || kind == "by" {
		return period{}, 0
	}
	i += n
	if p.yearless {
		p.bound, p.size = kind, ""
		return p, i
	}
	return p.withBound(kind), i
}

// withBound returns the period that begins or ends at another.
func (p period) withBound(kind string) period {
	switch kind {
	case "after":
		return period{from: p.to, words: "after " + p.words}
	case "since", "starting":
		return period{from: p.from, words: "since " + p.words}
	case "before":
		return period{to: p.from, words: "before " + p.words}
	case "":
		return p
	}
	return period{to: p.to, words: "until " + p.words}
}

// resolve computes the days of a relative period, counted from the latest day in the data, never from today.
func (p period) resolve(c *column) (period, bool) {
	last, err := time.Parse(time.DateOnly, c.max)
	if !p.relative && !p.yearless {
		if p.back > 0 && err != nil {
			return p, false
		}
		return p, true
	}
	if err != nil {
		return p, false
	}
	y, m := last.Year(), int(last.Month())
	if p.yearless {
		q := p.inYear(y)
		if q.from > c.max {
			q = p.inYear(y - 1)
		}
		return q.withBound(p.bound), true
	}
	n := 0
	if p.last {
		n = 1
	}
	switch p.unit {
	case "day":
		return dayPeriod(last.AddDate(0, 0, -n)), true
	case "year":
		return yearPeriod(y - n), true
	case "quarter":
		k := y*4 + (m-1)/3 - n
		return quarterPeriod(k/4, k%4+1), true
	case "month":
		k := y*12 + m - 1 - n
		return monthPeriod(k/12, k%12+1), true
	case "week":
		mon := last.AddDate(0, 0, -(int(last.Weekday())+6)%7-7*n)
		return period{
			from: mon.Format(time.DateOnly), to: mon.AddDate(0, 0, 7).Format(time.DateOnly),
			words: "week of " + mon.Format(time.DateOnly), size: "week",
		}, true
	}
	return p, false
}
