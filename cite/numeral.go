package cite

import (
	"math/big"
	"slices"
	"strconv"
	"strings"
	"unicode"
	"unicode/utf8"
)

// maxNumerals is the maximum number of numerals analysed in one answer. The rest are listed as unresolved.
const maxNumerals = 2000

type numeralKind uint8

const (
	number numeralKind = iota
	ordinal
	calendar
)

// hedge is a word before the number that makes it inexact.
type hedge int8

const (
	exactly hedge = iota
	about
	nearly
	over
)

// numeral is a number, an ordinal or a date as written in a text, with the information from its context.
type numeral struct {
	start, end int
	from, to   int // tokens
	kind       numeralKind
	readings   []reading // of a number or ordinal, most likely first
	date       date
	year       bool // a number that can also be a year
	percent    bool
	points     bool // percentage points
	times      bool // 2.5 times, 20x, twice
	word       bool
	currency   bool
	unit       unit // of measure, after the number
	per        unit // numerator of a rate: hours for "2 hours each"
	hash       bool // #2
	sign       int  // as written: -1, 0, +1
	hedge      hedge
	scaled     bool
	scale      int
	sig        int    // significant digits as written
	prefix     string // attached prefix: sku for SKU-1042
	huge       bool   // beyond the limits
	quiet      bool   // often not a claim, so it is dropped if nothing explains it
}

// reading is one interpretation of the digits. unit is the value of one step of the last digit, or zero if the number
// is exact as written.
type reading struct{ val, unit *big.Rat }

// clip returns the part of a text that is analysed, cut at a rune boundary.
func clip(text string) string { return clipRunes(text, maxText) }

// scanNumerals finds the numerals. more is true if it stopped at maxNumerals.
func scanNumerals(p *prose) (found []numeral, more bool) {
	digits := 0
	for _, t := range p.tokens {
		if t.low != "" && t.low[0] >= '0' && t.low[0] <= '9' {
			digits++
		}
	}
	found = make([]numeral, 0, min(digits, maxNumerals))
	for i := 0; i < len(p.tokens); {
		if len(found) == maxNumerals {
			return found, true
		}
		t := &p.tokens[i]
		if !t.word || t.code || t.low == "" {
			i++
			continue
		}
		n, ok := p.scanAt(i)
		if !ok {
			i++
			continue
		}
		n.from = i
		i++
		for i < len(p.tokens) && p.tokens[i].start < n.end {
			i++
		}
		n.to = i
		if p.isUnitQuantity(&n) {
			continue
		}
		if n.start < n.end {
			p.readHedge(&n)
			p.readUnit(&n)
			if n.kind == number && !n.percent && p.low(n.from-1) == "of" && p.low(n.from-2) == "factor" {
				n.times = true
			}
			found = append(found, n)
		}
	}
	p.dayRanges(found)
	return p.durations(found), false
}

// dayRanges reads the 18 of "18 to 21 July 2024" and of "18–21 July" as a day.
func (p *prose) dayRanges(found []numeral) {
	for k := range found[:max(len(found)-1, 0)] {
		n, m := &found[k], &found[k+1]
		if n.kind != number || m.kind != calendar || m.date.day == 0 || m.date.month == 0 || m.from-n.to != 1 ||
			n.percent || n.currency || n.word || !rangeLinks[p.low(n.to)] || !n.readings[0].val.IsInt() {
			continue
		}
		v := n.readings[0].val.Num().Int64()
		if c := p.text[m.start]; v < 1 || v > 31 || c < '0' || c > '9' {
			continue
		}
		n.kind, n.date, n.unit = calendar, m.date, unit{}
		n.date.day = int(v)
	}
}

// durations joins the two parts of "10 h 10 min" into one number of minutes.
func (p *prose) durations(found []numeral) []numeral {
	kept := found[:0]
	for _, m := range found {
		last := len(kept) - 1
		if last < 0 || !kept[last].hoursBefore(&m) || !p.onlyUnit(kept[last].to, m.from) {
			kept = append(kept, m)
			continue
		}
		n := &kept[last]
		v := new(big.Rat).Mul(n.readings[0].val, big.NewRat(60, 1))
		n.readings = []reading{{v.Add(v, m.readings[0].val), ratOne}}
		n.unit, n.to, n.sig = m.unit, m.to, n.sig+2
		n.end = m.end + len(p.unitText(m.end))
		for n.to < len(p.tokens) && p.tokens[n.to].start < n.end {
			n.to++
		}
	}
	return kept
}

// hoursBefore reports whether n is in whole hours and m in minutes below sixty.
func (n *numeral) hoursBefore(m *numeral) bool {
	whole := func(n *numeral) bool {
		return n.kind == number && !n.word && len(n.readings) == 1 && n.unit.dimension == "time" &&
			n.readings[0].val.IsInt()
	}
	return whole(n) && whole(m) && n.unit.factor.Cmp(big.NewRat(3600, 1)) == 0 &&
		m.unit.factor.Cmp(big.NewRat(60, 1)) == 0 &&
		m.hedge == exactly && m.readings[0].val.Cmp(big.NewRat(60, 1)) < 0
}

// onlyUnit reports whether there is at most a unit of time between two tokens.
func (p *prose) onlyUnit(from, to int) bool {
	return to-from <= 1 && (to == from || unitNamed(p.low(from)).dimension == "time")
}

// unitText returns the unit after a number, with the preceding space.
func (p *prose) unitText(at int) string {
	word, skip := nextWord(p.text[at:])
	if unitNamed(word).factor == nil {
		return ""
	}
	return p.text[at : at+skip+len(word)]
}

var rangeLinks = set("to and – - until through bis")

// isUnitQuantity reports whether the number is part of a unit, like the 100 in "litres per 100 km".
func (p *prose) isUnitQuantity(n *numeral) bool {
	return n.kind == number && n.sig == 1 && !n.currency && !n.percent &&
		(p.low(n.from-1) == "per" || p.low(n.from-1) == "every") && p.tokens[n.from].word
}

// numberWords are the words with which a numeral can begin.
var numberWords = func() *sieve {
	s := sieveOf(cardinals, foreignCardinals, ordinals, multiples, fractionNames)
	for w := range months {
		s.add(w)
	}
	return s
}()

// scanAt reads the numeral that begins at token i. ok is false if there is none.
func (p *prose) scanAt(i int) (numeral, bool) {
	t := p.tokens[i]
	rest := p.text[t.start:p.blockEnd(t.blck)]
	c := t.low[0]
	digit := c >= '0' && c <= '9'
	if !digit && c != 'q' && !numberWords.mayContain(t.low) {
		return numeral{}, false
	}
	if digit || c == 'q' || months[t.low] > 0 {
		if d, n, ok := scanDate(rest); ok && (digit || n > len(t.low)) && !p.hasPrefix(i) {
			return numeral{start: t.start, end: t.start + n, kind: calendar, date: d}, true
		}
	}
	if digit {
		return p.scanDigits(i, rest)
	}
	return p.scanWord(i)
}

// blockEnd returns the offset of the end of a block.
func (p *prose) blockEnd(b int) int {
	to := p.blocks[b].span.to
	if to == 0 {
		return len(p.text)
	}
	return p.tokens[to-1].end
}

// hasPrefix reports whether the token continues a word, like the 1042 in SKU-1042.
func (p *prose) hasPrefix(i int) bool { return p.prefix(i) != "" }

// prefix returns the word to which a hyphen, underscore or slash attaches the token, or "".
func (p *prose) prefix(i int) string {
	if i < 2 {
		return ""
	}
	sep, w := p.tokens[i-1], p.tokens[i-2]
	if (sep.low == "-" || sep.low == "_" || sep.low == "/") && sep.end == p.tokens[i].start && w.word &&
		w.end == sep.start && !isDigits(w.low) {
		return w.low
	}
	return ""
}

// scanDigits reads a number that begins with a digit, with its separators, scale, sign, currency and unit.
func (p *prose) scanDigits(i int, rest string) (numeral, bool) {
	t := p.tokens[i]
	n := numeral{start: t.start, prefix: p.prefix(i)}
	run, size := scanNumber(rest)
	n.end = t.start + size
	if size > 3*maxDigits || run.digits > maxDigits {
		n.huge, n.end = true, t.start+size
		return n, true
	}
	if run.version {
		return numeral{start: n.end, end: n.end}, true
	}
	n.readings = run.readings(p.decimalComma)
	n.sig = run.significant()
	if !p.readSuffix(&n, rest[size:]) {
		return n, false
	}
	if n.prefix == "" {
		p.readPrefix(&n, i)
	}
	if v := n.readings[0].val; n.kind == number && run.plain && run.digits == 4 && !n.percent && !n.times &&
		!n.scaled && v.IsInt() {
		y := int(v.Num().Int64())
		if n.year = y >= 1900 && y <= 2100; n.year {
			n.date = date{year: y, hour: -1, minute: -1}
		}
	}
	return n, true
}

// run holds the digits of a number, as written.
type run struct {
	groups  []string // split at every separator
	seps    []string
	digits  int
	plain   bool // digits only
	version bool // 1.2.3
	exp     int
}

var spaces = []string{" ", "\u00a0", "\u202f", "\u2009"}

// scanNumber reads digits and the separators between them.
func scanNumber(s string) (run, int) {
	var r run
	i := digitRun(s)
	r.groups, r.digits = []string{s[:i]}, i
	for i < len(s) && r.digits <= maxDigits {
		sep := separator(s[i:])
		k := digitRun(s[i+len(sep):])
		if sep == "" || k == 0 {
			break
		}
		after := i + len(sep) + k
		if isSpace(sep) && (k != 3 || len(r.groups[0]) > 3 || len(r.seps) > 0 && r.seps[0] != sep || wordAt(s, after)) {
			break
		}
		if sep == "'" && k != 3 {
			break
		}
		if n := len(r.seps); n > 0 && sep != r.seps[n-1] && n > 1 && r.seps[n-1] != r.seps[n-2] {
			break // a third kind of separator
		}
		r.groups = append(r.groups, s[i+len(sep):after])
		if sep == "’" {
			sep = "'"
		}
		r.seps = append(r.seps, sep)
		r.digits += k
		i = after
	}
	r.plain = len(r.groups) == 1
	r.version = r.isVersion()
	if r.digits > maxDigits {
		i += digitRun(s[i:])
	}
	return r, i
}

// digitRun returns the number of digits with which s begins.
func digitRun(s string) int {
	n := 0
	for n < len(s) && s[n] >= '0' && s[n] <= '9' {
		n++
	}
	return n
}

// separator returns the separator of digits with which s begins, or "".
func separator(s string) string {
	for _, sep := range []string{",", ".", "'", "’", " ", "\u00a0", "\u202f", "\u2009"} {
		if strings.HasPrefix(s, sep) {
			return sep
		}
	}
	return ""
}

func isSpace(sep string) bool { return slices.Contains(spaces, sep) }

// isVersion reports whether the digits are a version or an address (1.2.3, 10.0.0.1): separated by points, but not in
// groups of three.
func (r *run) isVersion() bool {
	if len(r.seps) < 2 || r.seps[0] != "." || r.seps[1] != "." {
		return false
	}
	for i, g := range r.groups[1:] {
		if r.seps[i] == "." && len(g) != 3 {
			return true
		}
	}
	return false
}

// readings returns the possible values of the digits, most likely first. comma is true if the text writes 1.234,5 and
// not 1,234.5.
func (r *run) readings(comma bool) []reading {
	last := len(r.seps) - 1
	if last < 0 {
		return []reading{r.interpret(-1)}
	}
	sep, frac := r.seps[last], r.groups[last+1]
	if last > 0 {
		if sep == r.seps[last-1] {
			return []reading{r.interpret(-1)} // 1,234,567
		}
		return []reading{r.interpret(last)}
	}
	grouped := len(frac) == 3 && len(r.groups[0]) <= 3 && r.groups[0] != "0"
	switch {
	case isSpace(sep) || sep == "'":
		return []reading{r.interpret(-1)}
	case !grouped:
		return []reading{r.interpret(last)}
	case (sep == ",") != comma:
		if comma { // 1.234 in German means 1234, but programs print decimals in this way
			return []reading{r.interpret(-1), r.interpret(last)}
		}
		return []reading{r.interpret(-1)}
	case comma:
		return []reading{r.interpret(last), r.interpret(-1)}
	}
	return []reading{r.interpret(last)}
}

// interpret returns the value of the digits if the separator at index point is the decimal mark; -1 means that there is
// none.
func (r *run) interpret(point int) reading {
	digits := strings.Join(r.groups, "")
	places := 0
	if point >= 0 {
		places = len(digits) - len(strings.Join(r.groups[:point+1], ""))
	}
	unit := pow10(r.exp - places)
	v := new(big.Rat)
	if m, err := strconv.ParseInt(digits, 10, 64); err == nil {
		v.SetInt64(m)
	} else {
		mant, _ := new(big.Int).SetString(digits, 10)
		v.SetInt(mant)
	}
	if r.exp != places {
		v.Mul(v, unit)
	}
	return reading{val: v, unit: unit}
}

// significant returns the number of significant digits.
func (r *run) significant() int {
	s := strings.TrimLeft(strings.Join(r.groups, ""), "0")
	if len(r.seps) == 0 || r.seps[len(r.seps)-1] != "." {
		s = strings.TrimRight(s, "0")
	}
	return len(s)
}

// readSuffix reads the scale and unit after the digits. It returns false if the whole is not a number (3D, 5G).
func (p *prose) readSuffix(n *numeral, rest string) bool {
	glued := letters(rest)
	if glued > 0 {
		w := rest[:glued]
		low := strings.ToLower(w)
		switch {
		case low == "st" || low == "nd" || low == "rd" || low == "th":
			n.kind = ordinal
			n.end += glued
			return true
		case low == "x":
			n.times = true
			n.end += glued
			return true
		case scaleOf(w) > 0:
			n.rescale(scaleOf(w))
			n.end += glued
			rest = rest[glued:]
		case glued == 1 && unicode.IsUpper(rune(w[0])) && strings.ContainsAny(w, "DGE"):
			return false
		case len(w) <= 4: // a unit: 10mm, 30min
			return true
		default:
			return len(low) <= 7 // 30minutes
		}
	}
	word, at := nextWord(rest)
	if s := scaleOf(word); s > 0 && !n.scaled && (len(word) > 1 || word != strings.ToLower(word) || at == 0) {
		n.rescale(s)
		n.end += at + len(word)
		rest = rest[at+len(word):]
		word, at = nextWord(rest)
	}
	p.readSuffixWord(n, rest, word, at)
	return true
}

// readSuffixWord reads a percent sign or a word after a number: percent, percentage points, times.
func (p *prose) readSuffixWord(n *numeral, rest, word string, at int) {
	low := strings.ToLower(word)
	blank := len(rest) - len(strings.TrimLeft(rest, " \u00a0\u202f\u2009"))
	mark := rest[blank:]
	second, _ := nextWord(rest[min(len(rest), at+len(word)):])
	switch {
	case strings.HasPrefix(mark, "%"):
		n.percent = true
		n.end += blank + 1
	case strings.HasPrefix(mark, "×"):
		n.times = true
		n.end += blank + len("×")
	case low == "percentage" && strings.HasPrefix(strings.ToLower(second), "point"),
		low == "percent" && strings.HasPrefix(strings.ToLower(second), "point"):
		n.points = true
		n.end += at + len(word)
	case low == "pp" || low == "pps" || low == "prozentpunkte":
		n.points = true
		n.end += at + len(word)
	case low == "por" && second == "cento", low == "per" && second == "cent", low == "pour" && second == "cent":
		n.percent = true
		n.end += at + len(word)
	case percentWords[low] && low != "percentage":
		n.percent = true
		n.end += at + len(word)
	case timesWords[low] && (multiplies[second] || low == "times" && isCapitalised(second)):
		n.times = true
		n.end += at + len(word)
	}
}

func isCapitalised(w string) bool {
	c, _ := utf8.DecodeRuneInString(w)
	return unicode.IsUpper(c)
}

// scaleOf returns the power of ten for a word after a number, or 0.
func scaleOf(w string) int {
	if w == "t" || w == "mm" { // tonnes, millimetres
		return 0
	}
	return scales[strings.ToLower(w)]
}

// rescale multiplies the readings by 10^s.
func (n *numeral) rescale(s int) {
	n.scaled, n.scale = true, s
	f := pow10(s)
	for i, r := range n.readings {
		n.readings[i] = reading{new(big.Rat).Mul(r.val, f), new(big.Rat).Mul(r.unit, f)}
	}
}

// letters returns the length of the word at the start of s.
func letters(s string) int {
	for i, r := range s {
		if !unicode.IsLetter(r) {
			return i
		}
	}
	return len(s)
}

// nextWord returns the word after at most one space or hyphen, and its offset.
func nextWord(s string) (string, int) {
	at := 0
	for _, sep := range []string{" ", "\u00a0", "\u202f", "\u2009", "-"} {
		if strings.HasPrefix(s, sep) {
			at = len(sep)
			break
		}
	}
	return s[at : at+letters(s[at:])], at
}

// readPrefix reads the sign, the currency and the # before a number.
func (p *prose) readPrefix(n *numeral, i int) {
	at := n.start
	r, size := utf8.DecodeLastRuneInString(p.text[:at])
	if unicode.Is(unicode.Sc, r) {
		n.currency = true
		at -= size
		n.start = at
		r, size = utf8.DecodeLastRuneInString(p.text[:at])
	} else if r == '#' {
		n.hash = true
	}
	if r == '-' || r == '−' || r == '+' || r == '–' {
		prev, _ := utf8.DecodeLastRuneInString(p.text[:at-size])
		spacedOut := at-size == 0 || unicode.IsSpace(prev) || strings.ContainsRune("(|*[:~≈", prev)
		if spacedOut && (r != '–' || prev == '(') {
			n.sign = -1
			if r == '+' {
				n.sign = 1
			}
			n.start = at - size
		}
	}
}

// scanWord reads numbers in words, including words for ratios (twice).
func (p *prose) scanWord(i int) (numeral, bool) {
	t := p.tokens[i]
	n := numeral{start: t.start, end: t.end, word: true, sig: 1}
	set := func(v int64) {
		n.readings = []reading{{big.NewRat(v, 1), new(big.Rat)}}
	}
	if p.adjacent(i-1, "-") || p.adjacent(i-1, "'") {
		return n, false
	}
	if p.multiple(&n, i) || p.fraction(&n, i) {
		return n, true
	}
	if v, ok := ordinals[t.low]; ok {
		set(v)
		n.kind = ordinal
		return n, p.meansRank(i)
	}
	v, ok := cardinals[t.low]
	if !ok && p.decimalComma {
		v, ok = foreignCardinals[t.low]
	}
	if !ok {
		return n, false
	}
	if v >= 20 && v < 100 && p.adjacent(i+1, "-") && i+2 < len(p.tokens) {
		if u := cardinals[p.tokens[i+2].low]; u > 0 && u < 10 {
			v += u
			n.end = p.tokens[i+2].end
		}
	}
	if v == 1 && (pointers[p.low(i-1)] || strings.HasSuffix(p.low(i-1), "est")) {
		return n, false // "the oldest one"
	}
	set(v)
	n.quiet = v <= 1 || t.low == "hundred" || t.low == "dozen"
	p.wordSuffix(&n, n.end)
	return n, true
}

// wordSuffix reads the scale and unit after a number in words.
func (p *prose) wordSuffix(n *numeral, at int) {
	rest := clipRunes(p.text[at:], 64)
	word, off := nextWord(rest)
	p.readSuffixWord(n, rest, word, off)
	if n.times {
		n.readings[0].unit = ratOne
	}
}

// clipRunes returns at most n bytes of s, cut at a rune boundary.
func clipRunes(s string, n int) string {
	if len(s) <= n {
		return s
	}
	for n > 0 && !utf8.RuneStart(s[n]) {
		n--
	}
	return s[:n]
}

// adjacent reports whether token i is the mark low, without a space before or after it.
func (p *prose) adjacent(i int, low string) bool {
	if i < 0 || i >= len(p.tokens) || p.tokens[i].low != low {
		return false
	}
	t := p.tokens[i]
	return i > 0 && p.tokens[i-1].end == t.start && i+1 < len(p.tokens) && p.tokens[i+1].start == t.end
}

// meansRank distinguishes ranks ("ranks third", "the third-largest") from other ordinals ("first, …", "a third of",
// "the second quarter").
func (p *prose) meansRank(i int) bool {
	next := p.low(i + 1)
	if next == "-" {
		next = p.low(i + 2)
	}
	if superlatives[next] {
		return true
	}
	if next == "of" && !strings.HasPrefix(p.low(i-1), "rank") && p.low(i-1) != "place" && p.low(i-1) != "came" ||
		next == "quarter" || next == "half" || next == "time" {
		return false
	}
	return i > 0 && rankCues[p.low(i-1)] && p.tokens[i-1].sentence == p.tokens[i].sentence &&
		(next == "" || !p.tokens[i+1].word || linkWords[next] || next == "with" || next == "and")
}

// low returns the text of token i in lower case, or "" if there is no such token.
func (p *prose) low(i int) string {
	if i < 0 || i >= len(p.tokens) {
		return ""
	}
	return p.tokens[i].low
}

// readHedge reads the words before a number that make it inexact.
func (p *prose) readHedge(n *numeral) {
	i := n.from - 1
	for i >= 0 && !p.tokens[i].word && p.tokens[i].low != "~" && p.tokens[i].low != "≈" &&
		p.tokens[i].blck == p.tokens[n.from].blck {
		if strings.ContainsAny(p.tokens[i].low, ",.;:()") {
			return
		}
		i--
	}
	if i < 0 || p.tokens[i].sentence != p.tokens[n.from].sentence {
		return
	}
	w, prev := p.low(i), p.low(i-1)
	switch {
	case hedgeAbout[w], w == "to" && prev == "close":
		n.hedge = about
	case hedgeUnder[w], w == "than" && (prev == "less" || prev == "fewer"):
		n.hedge = nearly
	case hedgeOver[w], w == "than" && prev == "more", w == "least" && prev == "at":
		n.hedge = over
	}
}
