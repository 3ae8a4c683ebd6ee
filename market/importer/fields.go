package importer

import (
	"bufio"
	"bytes"
	"errors"
	"io"
	"math"
	"regexp"
	"strconv"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/footnotehq/footnote/market"
)

// maxRecord is the maximum length of a row, in bytes. Otherwise an unclosed quote would turn the rest of the file
// into one field.
const maxRecord = 128 << 10

var errLong = refuse("it is longer than %d KiB, as where a quote is not closed; the rest of the file cannot be read",
	maxRecord>>10)

// lines passes a file on line by line. It tracks the line in which a row begins, and cuts off a row that is too long.
type lines struct {
	in    *bufio.Reader
	rest  []byte // of the current line
	over  int    // lines passed on
	begin int    // first line of the row; 0: only empty lines so far
	left  int    // bytes left for the row
}

// row starts a row.
func (l *lines) row() { l.begin, l.left = 0, maxRecord }

// Read implements io.Reader.
func (l *lines) Read(p []byte) (int, error) {
	if l.left == 0 {
		return 0, errLong
	}
	if len(l.rest) == 0 {
		var err error
		if l.rest, err = l.in.ReadSlice('\n'); len(l.rest) == 0 {
			return 0, err
		}
		if l.begin == 0 && len(bytes.Trim(l.rest, "\r\n")) > 0 {
			l.begin = l.over + 1
		}
	}
	n := copy(p, l.rest[:min(len(l.rest), l.left)])
	if l.rest[n-1] == '\n' {
		l.over++
	}
	if l.rest = l.rest[n:]; l.begin > 0 {
		l.left -= n
	}
	return n, nil
}

// peek detects the field separator and skips a byte order mark.
func peek(file io.Reader) (*lines, rune, error) {
	in := bufio.NewReaderSize(file, 1<<16)
	head, err := in.Peek(1 << 16)
	if err != nil && !errors.Is(err, io.EOF) && !errors.Is(err, bufio.ErrBufferFull) {
		return nil, 0, err
	}
	if bytes.HasPrefix(head, []byte("\xff\xfe")) || bytes.HasPrefix(head, []byte("\xfe\xff")) {
		return nil, 0, refuse("The file is in UTF-16. Save it in UTF-8.")
	}
	if bytes.HasPrefix(head, []byte("\xef\xbb\xbf")) {
		if _, err := in.Discard(3); err != nil {
			return nil, 0, err
		}
		head = head[3:]
	}
	line, _, _ := bytes.Cut(head, []byte("\n"))
	best, most := ',', bytes.Count(line, []byte(","))
	for _, c := range ";\t" {
		if n := bytes.Count(line, []byte(string(c))); n > most {
			best, most = c, n
		}
	}
	return &lines{in: in, left: maxRecord}, best, nil
}

// fields is one row. A reader of its columns may ignore errors until the end, because err keeps the first one.
type fields struct {
	r      *reader
	record []string
	err    error
}

// refuse records why the row is invalid, unless an earlier reason is known.
func (f *fields) refuse(format string, args ...any) { f.fail(refuse(format, args...)) }

func (f *fields) fail(err error) {
	if f.err == nil {
		f.err = err
	}
}

// text returns a field, or "" if the file has no such column or the row is known to be invalid.
func (f *fields) text(name string) string {
	i, ok := f.r.columns[name]
	if !ok || f.err != nil {
		return ""
	}
	return strings.TrimSpace(f.record[i])
}

// words returns a text field of at most the given length in characters.
func (f *fields) words(name string, maxRunes int, required bool) string {
	s := f.text(name)
	switch {
	case s == "" && required:
		f.refuse("%s is empty", name)
	case !utf8.ValidString(s) || strings.ContainsRune(s, 0):
		f.refuse("%s is not text in UTF-8", name)
	case utf8.RuneCountInString(s) > maxRunes:
		f.refuse("%s has more than %d characters", name, maxRunes)
	}
	return s
}

var (
	plain = regexp.MustCompile(`^[+-]?(\d+\.?\d*|\.\d+)([eE][+-]?\d{1,3})?$`)
	comma = regexp.MustCompile(`^[+-]?(\d+,\d*|,\d+)$`)
)

// number parses a number as people write it: 1.5, but not NaN, 0x1p-2 or 1_000. In a file separated by semicolons it
// may be 1,5. A file has one decimal sign: with both 1.500 and 2,5 in one file, the first would be ambiguous.
func (r *reader) number(name, s string) (float64, error) {
	text := s
	if comma.MatchString(s) {
		if r.csv.Comma != ';' {
			return 0, refuse("%s is %q, which is not a number: a comma is a decimal sign only in files that "+
				"semicolons separate", name, short(s))
		}
		text = strings.Replace(s, ",", ".", 1)
	}
	v, err := strconv.ParseFloat(text, 64)
	if err != nil || !plain.MatchString(text) || math.Abs(v) > market.MaxNumber {
		return 0, refuse("%s is %q, which is not a number", name, short(s))
	}
	if i := strings.IndexAny(s, ".,"); i >= 0 {
		if r.sign != 0 && r.sign != s[i] {
			return 0, refuse("%s is %q, and numbers before it have a decimal %q", name, short(s), string(r.sign))
		}
		r.sign = s[i]
	}
	return v, nil
}

func short(s string) string {
	if r := []rune(s); len(r) > 40 {
		return string(r[:40]) + "…"
	}
	return s
}

// number returns a numeric field. Unless required, an empty field is 0.
func (f *fields) number(name string, required bool) float64 {
	s := f.text(name)
	if s == "" && !required {
		return 0
	}
	v, err := f.r.number(name, s)
	f.fail(err)
	return v
}

// price returns a number and records its decimal places.
func (f *fields) price(name string) float64 {
	v := f.number(name, true)
	s := strings.TrimRight(f.text(name), "0")
	if i := strings.IndexAny(s, ".,"); i >= 0 {
		f.r.places = max(f.r.places, len(s)-i-1)
	}
	return v
}

var counted = regexp.MustCompile(`^(\d+|\d{1,3}(,\d{3})+)$`)

// whole returns a non-negative integer, written as 1234 or 1,234.
func (f *fields) whole(name string) int64 {
	s := f.text(name)
	n, err := strconv.ParseInt(strings.ReplaceAll(s, ",", ""), 10, 64)
	if err != nil || !counted.MatchString(s) {
		f.refuse("%s is %q, which is not a whole number", name, short(s))
	}
	return n
}

// scales are the multipliers of the units in the calendar.
var scales = map[string]float64{"": 0, "K": 1e3, "M": 1e6, "B": 1e9, "T": 1e12}

// figure returns a number of the calendar, which may have a unit or be missing. It converts to the unit of the row,
// which by default is the unit of the row's first number.
func (f *fields) figure(name string, unit *string) *float64 {
	s := f.text(name)
	if s == "" || s == "-" {
		return nil
	}
	bare := strings.TrimRight(s, "%KMBTkmbt ")
	v, err := f.r.number(name, bare)
	f.fail(err)
	own := strings.ToUpper(strings.TrimSpace(s[len(bare):]))
	row := strings.ToUpper(*unit)
	switch from, to := scales[own], scales[row]; {
	case own == "" || own == row:
	case row == "":
		*unit = own
	case from > 0 && to > 0:
		v = v * from / to
	default:
		f.refuse("%s is %q, and the unit of the row is %s", name, short(s), short(*unit))
	}
	return &v
}

// layouts lists the time formats; those from local on have no zone.
var layouts = []string{time.RFC3339, "2006-01-02 15:04:05Z07:00", "2006-01-02 15:04:05 -0700",
	"2006-01-02 15:04:05", "2006-01-02T15:04:05", "2006-01-02 15:04", "2006-01-02T15:04", time.DateOnly,
	"2006.01.02 15:04:05", "2006.01.02 15:04", "2006.01.02", "02.01.2006 15:04:05", "02.01.2006 15:04", "02.01.2006",
	"20060102 150405", "20060102 15:04:05", "20060102 15:04", "20060102150405", "200601021504", "20060102"}

const local = 3

// time parses a field: Unix seconds, milliseconds or microseconds, or one of the time formats.
func (f *fields) time(name string) time.Time {
	s := f.text(name)
	if hour := f.text("hour"); name == "time" && hour != "" {
		s += " " + hour
	}
	t, err := f.r.parse(s)
	if err != nil {
		f.refuse("%s is %q, %v", name, short(s), err)
	}
	f.fail(market.CheckTime(t))
	return t.UTC()
}

var (
	errTime  = errors.New("which is not a time such as 2026-11-19 15:00")
	errTwice = errors.New("a time that occurred twice because the clocks went back: write it with its zone, or in UTC")
	errNever = errors.New("a time that never occurred because the clocks went forward")
)

func (r *reader) parse(s string) (time.Time, error) {
	// Numbers with 12 or 14 digits are dates.
	if n, err := strconv.ParseInt(s, 10, 64); err == nil {
		switch len(s) {
		case 9, 10:
			return time.Unix(n, 0), nil
		case 13:
			return time.UnixMilli(n), nil
		case 16:
			return time.UnixMicro(n), nil
		}
	}
	for i, layout := range layouts {
		t, err := time.ParseInLocation(layout, s, r.zone)
		if err != nil {
			continue
		}
		if i < local || r.zone == time.UTC {
			return t, nil
		}
		wall := func(t time.Time) string { return t.Format(time.DateTime) }
		asked, err := time.Parse(layout, s)
		if err != nil || wall(asked) != wall(t) {
			return t, errNever
		}
		for _, shift := range []time.Duration{-time.Hour, -30 * time.Minute, 30 * time.Minute, time.Hour} {
			if wall(t.Add(shift)) == wall(t) {
				return t, errTwice
			}
		}
		return t, nil
	}
	return time.Time{}, errTime
}
