package tidy

import (
	"bytes"
	"math/big"
	"strconv"
	"strings"
)

// The separators of a number can be read in two ways.
const (
	point uint8 = 1 << iota // 1,234.56
	comma                   // 1.234,56
)

// number is a cell that may be a number, split into parts but not yet converted: the meaning of a comma depends on
// the whole column.
type number struct {
	core         []byte // digits and separators
	neg, percent bool
	currency     string // as written; "" without one
	exp          int
	hasExp       bool
	bareExp      bool // like 12E5: it might be a code
	modes        uint8
	digits       [2]int // before the decimal separator, per mode
	frac         [2]int // after it
}

func modeIndex(mode uint8) int { return int(mode - 1) }

// currencies lists the signs and codes that may precede or follow an amount.
var currencies = strings.Fields(`US$ CA$ AU$ A$ C$ R$ € $ £ ¥ ₹ ₽ ₺ ₩ ₪ ₫ ₴
	EUR USD GBP CHF JPY CNY SEK NOK DKK ISK PLN CZK HUF RON BGN TRY RUB UAH
	AUD CAD NZD INR BRL MXN ZAR SGD HKD KRW ILS THB AED SAR
	zł kr. kr Kč Ft lei TL Rs. Rs Fr. SFr.`)

// plain reports whether c can begin and end a number that has no sign, currency or percent sign.
func plain(c byte) bool { return c-'0' <= 9 }

// parseNumber splits a trimmed cell into parts.
func parseNumber(cell []byte) (n number, ok bool) {
	if len(cell) == 0 || len(cell) > 64 {
		return n, false
	}
	n.core = cell
	if (!plain(cell[0]) || !plain(cell[len(cell)-1])) && !n.strip() {
		return n, false
	}
	if i := bytes.IndexAny(n.core, "eE"); i > 0 && !n.exponent(i) {
		return n, false
	}
	for i, dec := range [2]byte{'.', ','} {
		if digits, frac, ok := layout(n.core, dec); ok {
			n.modes |= 1 << i
			n.digits[i], n.frac[i] = digits, frac
		}
	}
	return n, n.modes != 0
}

// strip removes signs, parentheses, currencies and the percent sign.
func (n *number) strip() bool {
	b := n.core
	if b[0] == '(' && b[len(b)-1] == ')' {
		n.neg = true
		b = trim(b[1 : len(b)-1])
	}
	signed := n.neg
	for range 3 { // -€5, €-5, € 5-: at most one sign, currency and percent sign each
		b = trim(b)
		if rest, neg, ok := cutSign(b); ok {
			if signed {
				return false
			}
			signed, n.neg = true, neg
			b = trim(rest)
		}
		if len(b) > 0 && plain(b[0]) && plain(b[len(b)-1]) {
			break
		}
		if rest, ok := bytes.CutSuffix(b, []byte("%")); ok && !n.percent {
			n.percent = true
			b = trim(rest)
		}
		if rest, name := cutCurrency(b); name != "" && n.currency == "" {
			n.currency = name
			b = rest
		}
	}
	n.core = b
	if len(b) == 0 || n.percent && n.currency != "" {
		return false
	}
	first, last := b[0], b[len(b)-1]
	return (plain(first) || first == '.' || first == ',') && plain(last)
}

func cutSign(b []byte) (rest []byte, neg, ok bool) {
	switch {
	case len(b) < 2:
	case b[0] == '-':
		return b[1:], true, true
	case b[0] == '+' && len(b) < 9: // longer ones are phone numbers
		return b[1:], false, true
	case bytes.HasPrefix(b, []byte("\u2212")):
		return b[len("\u2212"):], true, true
	case b[len(b)-1] == '-' && plain(b[0]):
		return b[:len(b)-1], true, true
	}
	return b, false, false
}

func cutCurrency(b []byte) (rest []byte, name string) {
	for _, c := range currencies {
		if len(b) > len(c) && bytes.EqualFold(b[:len(c)], []byte(c)) {
			return trim(b[len(c):]), c
		}
		if at := len(b) - len(c); at > 0 && bytes.EqualFold(b[at:], []byte(c)) {
			return trim(b[:at]), c
		}
	}
	return b, ""
}

// exponent removes an exponent that begins at i.
func (n *number) exponent(i int) bool {
	exp := n.core[i+1:]
	mantissa := n.core[:i]
	n.bareExp = !bytes.ContainsAny(n.core, ".,+-")
	e, err := strconv.Atoi(string(exp))
	if err != nil || e > 308 || e < -330 {
		return false
	}
	n.core, n.exp, n.hasExp = mantissa, e, true
	return true
}

// layout counts the digits of core, with dec as the decimal separator. Groups of thousands must be complete: 1,234
// is valid, 12,34 is not. A number with a leading zero, such as 007, is not a number but text: a postal code or
// phone number.
func layout(core []byte, dec byte) (digits, frac int, ok bool) {
	at := bytes.IndexByte(core, dec)
	whole := core
	if at >= 0 {
		whole = core[:at]
		for _, c := range core[at+1:] {
			if !plain(c) {
				return 0, 0, false
			}
			frac++
		}
		if frac == 0 {
			return 0, 0, false
		}
	}
	digits, ok = groups(whole, dec)
	if !ok || digits+frac == 0 || (digits > 1 && whole[0] == '0') {
		return 0, 0, false
	}
	return digits, frac, true
}

// groups counts the digits of whole, which may be grouped.
func groups(whole []byte, dec byte) (digits int, ok bool) {
	run := 0    // digits since the last separator
	var sep int // the separator as a rune; 0 before the first
	for i := 0; i < len(whole); {
		c := whole[i]
		if plain(c) {
			run++
			digits++
			i++
			continue
		}
		r, size := separator(whole[i:])
		switch {
		case size == 0 || c == dec || (sep != 0 && r != sep):
			return 0, false
		case sep == 0 && (run < 1 || run > 3), sep != 0 && run != 3 && (run != 2 || r != ','):
			return 0, false // groups of two are Indian: 12,34,567
		}
		sep, run = r, 0
		i += size
	}
	return digits, sep == 0 || run == 3
}

// separator recognises the separators between groups.
func separator(b []byte) (r, size int) {
	switch b[0] {
	case '.', ',', '\'', ' ':
		return int(b[0]), 1
	}
	for i, s := range [...]string{"\u00A0", "\u202F", "\u2009", "’"} {
		if bytes.HasPrefix(b, []byte(s)) {
			return 1000 + i, len(s)
		}
	}
	return 0, 0
}

// mode returns one mode in which the number can be read.
func (n number) mode() uint8 {
	if n.modes&point != 0 {
		return point
	}
	return comma
}

// text writes the number in the form that Go and DuckDB read.
func (n number) text(dst []byte, mode uint8) []byte {
	dec := byte('.')
	if mode == comma {
		dec = ','
	}
	if n.neg {
		dst = append(dst, '-')
	}
	for _, c := range n.core {
		switch {
		case plain(c):
			dst = append(dst, c)
		case c == dec:
			dst = append(dst, '.')
		}
	}
	if n.hasExp {
		dst = strconv.AppendInt(append(dst, 'e'), int64(n.exp), 10)
	}
	return dst
}

func (n number) float(mode uint8) (float64, error) {
	var buf [96]byte
	return strconv.ParseFloat(string(n.text(buf[:0], mode)), 64)
}

// unscaled returns the number as an integer count of 10^-scale. It returns false for ok when the number has more
// decimals or does not fit.
func (n number) unscaled(mode uint8, scale int) (v int64, ok bool) {
	zeros := scale - n.frac[modeIndex(mode)]
	if zeros < 0 || n.hasExp {
		return 0, false
	}
	var buf [96]byte
	text := n.text(buf[:0], mode)
	if i := bytes.IndexByte(text, '.'); i >= 0 {
		text = append(text[:i], text[i+1:]...)
	}
	for range zeros {
		text = append(text, '0')
	}
	v, err := strconv.ParseInt(string(text), 10, 64)
	return v, err == nil
}

func (n number) big(mode uint8) (*big.Int, bool) {
	var buf [96]byte
	return new(big.Int).SetString(string(n.text(buf[:0], mode)), 10)
}
