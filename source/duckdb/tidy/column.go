package tidy

import (
	"bytes"
	"cmp"
	"fmt"
	"slices"
	"strings"
	"time"
)

// Type is the type of a column's values.
type Type int

// The comment on each type names the Go type that Each passes for a cell; an empty cell is nil.
const (
	Text      Type = iota // string
	Integer               // int64
	Huge                  // *big.Int, at most 38 digits
	Decimal               // Unscaled: at most 18 digits, Column.Scale of them after the point
	Double                // float64
	Boolean               // bool
	Date                  // time.Time, midnight UTC
	Timestamp             // time.Time, the local time as written, in UTC
	Zoned                 // time.Time, an instant
	Clock                 // time.Time, on 1970-01-01 UTC
)

// Unscaled is a decimal number: a count of 10^-Scale.
type Unscaled int64

// Column describes a column of a Table.
type Column struct {
	Name    string
	Type    Type
	Scale   int    // of a Decimal
	Comment string // what was stripped from its values, or why it stayed text

	mode      uint8 // how its numbers are read
	order     uint8 // how its dates are read
	compact   bool  // its dates look like 20231231
	nullNA    bool  // NA means an empty cell
	ambiguous bool
	cells     *cells
}

// family is the common kind of all values seen so far.
type family uint8

const (
	unknown family = iota
	numbers
	booleans
	moments
	clocks
	texts
)

// cells collects facts about the values of a column.
type cells struct {
	family family
	count  int64 // number of non-empty values
	first  string
	odd    string // the value that did not fit the others, or that made the column text

	modes               uint8
	digits, frac        [2]int
	unclear             string // a number whose separator is ambiguous
	whole               int    // most digits of any number without a separator
	beyond              bool   // some integer exceeds int64
	exponents, bare     bool
	percents, unpercent int64
	currency            string
	compact             bool // every number could be a date like 20231231

	yes, no, letters bool
	words            bool

	orders           uint8
	numeric          int64
	timed, untimed   int64
	zoned, unzoned   int64
	clockless        bool // every time is midnight
	sep              byte
	codes            bool // every value could be a code of one to three capitals
	naSeen, dashSeen int64
}

func newCells() *cells {
	return &cells{modes: point | comma, orders: dayFirst | monthFirst, compact: true, clockless: true, codes: true}
}

// empty classifies cells that may mean "no value".
type empty uint8

const (
	filled      empty = iota
	always            // empty in every column
	unlessCodes       // NA: empty, unless the column holds codes
	amongTyped        // empty among numbers, dates and truth values; text elsewhere
)

// classifyEmpty classifies a trimmed cell.
func classifyEmpty(b []byte) empty {
	if len(b) == 0 {
		return always
	}
	if len(b) > 13 || (plain(b[0]) && (b[0] != '0' || len(b) != 10)) || (b[0] == '-' && len(b) > 1 && plain(b[1])) {
		return filled
	}
	switch b[0] | 0x20 {
	case 'n', '-', '(', '<', '#', '\\' | 0x20, 'm', '.', '?', '0', 'k', 'u', 0xE2 | 0x20:
	default:
		return filled
	}
	return emptyWords[strings.ToLower(string(b))]
}

// emptyWords lists the words for empty cells.
var emptyWords = func() map[string]empty {
	m := map[string]empty{"na": unlessCodes, "k. a.": amongTyped, "not available": amongTyped}
	for word := range strings.FieldsSeq("null n/a #n/a - -- --- – — \\n (null) <null> nan #null! <na> n.a.") {
		m[word] = always
	}
	for word := range strings.FieldsSeq(
		"none nil . ? #ref! #div/0! #value! #name? #num! missing undefined k.a. 0000-00-00") {
		m[word] = amongTyped
	}
	return m
}()

// add records a cell.
func (c *cells) add(cell []byte) {
	cell = trim(cell)
	switch classifyEmpty(cell) {
	case always:
		return
	case unlessCodes:
		c.naSeen++
		return
	case amongTyped:
		c.dashSeen++
		if c.family != texts {
			return
		}
	}
	c.count++
	if c.count == 1 {
		c.first = clip(cell)
	}
	if c.codes && !isCode(cell) {
		c.codes = false
	}
	fits := true
	switch c.family {
	case texts:
		return
	case unknown:
		fits = c.number(cell) || c.boolean(cell) || c.moment(cell) || c.clock(cell)
	case numbers:
		fits = c.number(cell)
	case booleans:
		fits = c.boolean(cell)
	case moments:
		fits = c.moment(cell)
	case clocks:
		fits = c.clock(cell)
	}
	if !fits {
		if c.family != unknown {
			c.odd = fmt.Sprintf("%q beside %q", clip(cell), c.first)
		}
		c.family = texts
	}
}

func clip(b []byte) string {
	const maxRunes = 40
	r := []rune(string(bytes.ToValidUTF8(b[:min(len(b), 4*maxRunes)], nil)))
	if len(r) > maxRunes {
		return string(r[:maxRunes-1]) + "…"
	}
	return string(r)
}

func isCode(b []byte) bool {
	return len(b) <= 3 && !slices.ContainsFunc(b, func(c byte) bool { return c < 'A' || c > 'Z' })
}

func (c *cells) number(cell []byte) bool {
	n, ok := parseNumber(cell)
	if !ok || c.modes&n.modes == 0 || (n.currency != "" && c.currency != "" && !sameCurrency(n.currency, c.currency)) {
		return false
	}
	c.family = numbers
	c.modes &= n.modes
	for i := range c.digits {
		c.digits[i] = max(c.digits[i], n.digits[i])
		c.frac[i] = max(c.frac[i], n.frac[i])
	}
	if n.modes != point|comma || !bytes.ContainsAny(n.core, ".,") {
		c.whole = max(c.whole, n.digits[0])
	} else if c.unclear == "" {
		c.unclear = clip(cell)
	}
	if n.digits[0] > 18 || n.digits[1] > 18 {
		_, ok := n.unscaled(n.mode(), 0)
		c.beyond = c.beyond || !ok
	}
	if n.hasExp {
		c.exponents = true
		c.bare = c.bare || n.bareExp
	}
	if n.percent {
		c.percents++
	} else if len(n.core) > 1 || n.core[0] != '0' {
		c.unpercent++
	}
	if n.currency != "" {
		c.currency = n.currency
	}
	c.compact = c.compact && isCompactDate(cell)
	return true
}

// currencyCodes maps other ways to write a currency to the usual one.
var currencyCodes = map[string]string{
	"€": "EUR", "$": "USD", "US$": "USD", "£": "GBP", "Fr.": "CHF", "SFr.": "CHF", "kr.": "kr", "Rs.": "INR",
	"₹": "INR",
}

func sameCurrency(a, b string) bool {
	return cmp.Or(currencyCodes[a], a) == cmp.Or(currencyCodes[b], b)
}

func isCompactDate(b []byte) bool {
	if len(b) != 8 {
		return false
	}
	year, rest, w1 := digits(b, 4)
	month, rest, w2 := digits(rest, 2)
	day, _, w3 := digits(rest, 2)
	return w1 == 4 && w2 == 2 && w3 == 2 && year >= 1900 && year <= 2100 && isDay(year, month, day)
}

// truths maps the words for truth values to what they mean.
var truths = map[string]bool{
	"true": true, "yes": true, "ja": true, "wahr": true, "oui": true, "vrai": true, "y": true, "t": true,
	"false": false, "no": false, "nein": false, "falsch": false, "non": false, "faux": false, "n": false, "f": false,
}

// parseBool parses a truth value. The result letter reports whether it is a single letter.
func parseBool(b []byte) (v, letter, ok bool) {
	if len(b) > 6 {
		return false, false, false
	}
	v, ok = truths[strings.ToLower(string(b))]
	return v, ok && len(b) == 1, ok
}

func (c *cells) boolean(cell []byte) bool {
	v, letter, ok := parseBool(cell)
	if !ok {
		return false
	}
	c.family = booleans
	c.yes, c.no = c.yes || v, c.no || !v
	c.letters, c.words = c.letters || letter, c.words || !letter
	return true
}

func (c *cells) moment(cell []byte) bool {
	m, ok := parseMoment(cell)
	if !ok {
		return false
	}
	if m.numeric {
		if c.orders&m.orders == 0 {
			return false
		}
		c.orders &= m.orders
		c.numeric++
		c.sep = m.sep
	}
	if m.hasTime {
		c.timed++
		c.clockless = c.clockless && m.midnight()
		if m.zoned {
			c.zoned++
		} else {
			c.unzoned++
		}
	} else {
		c.untimed++
	}
	if c.zoned > 0 && (c.unzoned > 0 || c.untimed > 0) {
		return false // an instant and a local time have no common type
	}
	c.family = moments
	return true
}

func (c *cells) clock(cell []byte) bool {
	_, ok := parseClock(cell)
	if ok {
		c.family = clocks
	}
	return ok
}

// preference is the reading that a file's unambiguous columns suggest for its ambiguous ones.
type preference struct {
	mode, order         uint8
	modeSure, orderSure bool // some column is unambiguous, and no other contradicts it
}

// prefer collects the votes of the unambiguous columns.
func prefer(columns []*cells, delim byte) preference {
	var l preference
	var modes, orders [3]int
	for _, c := range columns {
		if c.family == numbers && c.modes != point|comma {
			modes[c.modes]++
		}
		if c.family == moments && c.numeric > 0 && c.orders != dayFirst|monthFirst && c.sep != '.' {
			orders[c.orders]++
		}
	}
	l.modeSure = (modes[point] == 0) != (modes[comma] == 0)
	l.orderSure = (orders[dayFirst] == 0) != (orders[monthFirst] == 0)
	l.mode = point
	if modes[comma] > modes[point] || (modes[comma] == modes[point] && delim == ';') {
		l.mode = comma
	}
	l.order = dayFirst
	if orders[monthFirst] > orders[dayFirst] || orders[monthFirst] == orders[dayFirst] && l.mode == point {
		l.order = monthFirst
	}
	return l
}

// decide sets the column's type.
func (c *Column) decide(l preference) {
	k := c.cells
	c.Type, c.Comment = Text, ""
	c.nullNA = !(k.family == texts && k.codes && k.count > 0)
	switch k.family {
	case texts:
		if k.odd != "" {
			c.Comment = "stays text: " + k.odd
		}
	case numbers:
		c.decideNumber(l)
	case booleans:
		if k.letters && (!k.yes || !k.no) {
			return // only N: probably a code
		}
		c.Type = Boolean
	case clocks:
		c.Type = Clock
	case moments:
		c.decideMoment(l)
	}
}

func (c *Column) decideNumber(l preference) {
	k := c.cells
	c.mode = k.modes
	if k.modes == point|comma {
		c.mode = l.mode
		c.ambiguous = k.unclear != "" && !l.modeSure
	}
	digits, frac := k.digits[modeIndex(c.mode)], k.frac[modeIndex(c.mode)]
	if why := k.noNumber(frac); why != "" {
		c.Comment = "stays text: " + why
		return
	}
	switch {
	case k.exponents:
		c.Type = Double
	case frac == 0 && k.compact && dateName(c.Name):
		c.Type, c.compact = Date, true
		c.Comment = "dates written YYYYMMDD"
		return
	case frac == 0 && (digits <= 18 || digits == 19 && !k.beyond):
		c.Type = Integer
	case frac == 0 && digits <= 38:
		c.Type = Huge
	case frac == 0:
		c.Comment = "stays text: more digits than a number can hold"
		return
	case digits+frac <= 18 && frac <= 4 && (k.currency != "" || frac == 2):
		c.Type, c.Scale = Decimal, frac
	default:
		c.Type = Double
	}
	c.Comment = c.aboutNumber()
}

// noNumber returns the reason why cells that all look like numbers are not read as numbers, or "".
func (k *cells) noNumber(frac int) string {
	switch {
	case k.percents > 0 && k.unpercent > 0:
		return "percentages mixed with plain numbers"
	case k.bare && frac == 0 && k.whole <= 4 && k.currency == "" && k.percents == 0: // only values like 12E5
		return "values like " + fmt.Sprintf("%q", k.first) + " may be codes"
	}
	return ""
}

// aboutNumber returns a note on how the numbers of the column are read.
func (c *Column) aboutNumber() string {
	k := c.cells
	var about []string
	if k.percents > 0 {
		about = append(about, "in percent: 12.5% is 12.5")
	}
	if k.currency != "" {
		about = append(about, "in "+k.currency)
	}
	if c.ambiguous {
		about = append(about, "ambiguous: "+k.reading(c.mode))
	}
	return strings.Join(about, "; ")
}

// reading describes how an ambiguous number was read.
func (k *cells) reading(mode uint8) string {
	n, _ := parseNumber([]byte(k.unclear))
	return fmt.Sprintf("%q was read as %s", k.unclear, n.text(nil, mode))
}

// dateName reports whether a column's name suggests dates.
func dateName(name string) bool {
	return slices.ContainsFunc([]string{"date", "datum", "day", "fecha", "data", "_dt", "tag"},
		func(word string) bool { return strings.Contains(strings.ToLower(name), word) })
}

func (c *Column) decideMoment(l preference) {
	k := c.cells
	c.order = k.orders
	if k.orders == dayFirst|monthFirst {
		c.order = l.order
		c.ambiguous = k.numeric > 0 && !l.orderSure && k.sep != '.'
	}
	switch {
	case k.zoned > 0:
		c.Type = Zoned
	case k.timed > 0 && !k.clockless:
		c.Type = Timestamp
	default:
		c.Type = Date
	}
	var about []string
	if k.numeric > 0 {
		about = append(about, "dates written "+c.orderText())
	}
	if c.ambiguous {
		about = append(about, "ambiguous: every value could also be read the other way round")
	}
	if c.Type == Date && k.timed > 0 {
		about = append(about, "midnights were cut off")
	}
	c.Comment = strings.Join(about, "; ")
}

func (c *Column) orderText() string {
	sep := string(rune(c.cells.sep))
	if c.order == dayFirst {
		return "DD" + sep + "MM" + sep + "YYYY"
	}
	return "MM" + sep + "DD" + sep + "YYYY"
}

// value converts a cell. It returns false for ok when the cell does not fit the type, so it was not in the file
// when the types were decided.
func (c *Column) value(cell []byte) (v any, ok bool) {
	cell = trim(cell)
	switch e := classifyEmpty(cell); {
	case e == always, e == unlessCodes && c.nullNA, e == amongTyped && c.Type != Text:
		return nil, true
	}
	switch c.Type {
	case Text:
		if bytes.IndexByte(cell, 0) >= 0 {
			cell = bytes.ReplaceAll(cell, []byte{0}, nil) // not every consumer of text accepts NUL
		}
		return string(cell), true
	case Boolean:
		v, _, ok := parseBool(cell)
		return v, ok
	case Date, Timestamp, Zoned:
		if c.compact {
			t, err := time.Parse("20060102", string(cell))
			return t, err == nil
		}
		m, ok := parseMoment(cell)
		if !ok || (m.numeric && m.orders&c.order == 0) {
			return nil, false
		}
		return m.time(c.order), true
	case Clock:
		m, ok := parseClock(cell)
		return m.time(0), ok
	}
	n, ok := parseNumber(cell)
	if !ok || n.modes&c.mode == 0 {
		return nil, false
	}
	switch c.Type {
	case Integer:
		return n.unscaled(c.mode, 0)
	case Decimal:
		v, ok := n.unscaled(c.mode, c.Scale)
		return Unscaled(v), ok
	case Huge:
		v, ok := n.big(c.mode)
		return v, ok
	default:
		v, err := n.float(c.mode)
		return v, err == nil
	}
}
