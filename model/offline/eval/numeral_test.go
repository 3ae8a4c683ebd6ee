package eval_test

import (
	"math"
	"regexp"
	"strconv"
	"strings"
)

var (
	isoDate  = regexp.MustCompile(`\d{4}-\d\d-\d\d`)
	numerals = regexp.MustCompile(`[-−]?\d+(?:[.,'’\x{a0}\x{202f}\x{2009}]\d+)*`)
	spaced   = regexp.MustCompile(`[-−]?\d{1,3}(?: \d{3})+(?:[.,]\d+)?`)
	scales   = regexp.MustCompile(`^\s?(k|K|thousand|M|million|bn|B|billion)\b`)
	factors  = map[string]float64{
		"k": 1e3, "K": 1e3, "thousand": 1e3, "M": 1e6, "million": 1e6, "bn": 1e9, "B": 1e9, "billion": 1e9,
	}
)

// shown reports whether a text contains a number, in full or rounded to the digits shown. Any grouping signs, a decimal
// point or comma, and a scale such as thousands or millions are allowed. A share from 0 to 100 may also be shown from 0
// to 1.
func shown(text string, value float64, share bool) bool {
	text = isoDate.ReplaceAllStringFunc(text, func(s string) string { return strings.Repeat("x", len(s)) })
	for _, form := range []*regexp.Regexp{numerals, spaced} {
		for _, at := range form.FindAllStringIndex(text, -1) {
			token := text[at[0]:at[1]]
			if at[0] > 0 && isWord(text[at[0]-1]) {
				unsigned := strings.TrimLeft(token, "-−")
				if unsigned == token {
					continue // part of a word, such as r1
				}
				token = unsigned // the end of a range
			}
			factor := 1.0
			if m := scales.FindStringSubmatch(text[at[1]:]); m != nil {
				factor = factors[m[1]]
			}
			for _, r := range readings(token) {
				if r.rounds(value, factor) || (share && r.rounds(value/100, factor)) {
					return true
				}
			}
		}
	}
	return false
}

func isWord(b byte) bool {
	return b == '_' || b >= '0' && b <= '9' || b >= 'a' && b <= 'z' || b >= 'A' && b <= 'Z'
}

// reading is one interpretation of a numeral.
type reading struct {
	value    float64
	decimals int
}

// rounds reports whether the reading is the value rounded to the digits shown. A zero means only zero.
func (r reading) rounds(value, factor float64) bool {
	if r.value == 0 {
		return math.Abs(value) <= 1e-9
	}
	half := 0.5 * math.Pow10(-r.decimals) * factor
	return math.Abs(r.value*factor-value) <= half*(1+1e-6)+1e-9*math.Abs(value)
}

// readings returns the interpretations of a numeral. For example, 1,234 may have a thousands separator or a decimal
// comma.
func readings(s string) []reading {
	sign := 1.0
	for _, minus := range []string{"-", "−"} {
		if rest, ok := strings.CutPrefix(s, minus); ok {
			s, sign = rest, -1
		}
	}
	groups := strings.FieldsFunc(s, func(r rune) bool { return r < '0' || r > '9' })
	var list []reading
	add := func(whole []string, fraction string) {
		for i, g := range whole {
			if len(whole) > 1 && (len(g) > 3 || (i > 0 && len(g) != 3)) {
				return
			}
		}
		v, err := strconv.ParseFloat(strings.Join(whole, "")+"."+fraction+"0", 64)
		if err == nil {
			list = append(list, reading{sign * v, len(fraction)})
		}
	}
	add(groups, "")
	last := len(groups) - 1
	if last > 0 && strings.ContainsAny(s[len(s)-len(groups[last])-1:], ".,") {
		sep := s[len(s)-len(groups[last])-1]
		if strings.Count(s, string(sep)) == 1 { // a decimal sign occurs only once
			add(groups[:last], groups[last])
		}
	}
	return list
}
