package offline

import (
	"regexp"
	"strconv"
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/footnotehq/footnote/internal/currency"
	"golang.org/x/text/unicode/norm"
)

// word is one token of a question.
type word struct {
	raw   string // as typed
	low   string // folded: lower case, no accents
	sing  string // low in the singular
	stem  string // low without inflection
	num   float64
	isNum bool
	was   string // the typed word, if a typo was corrected
	stop  bool   // there is a comma, colon or other break before the word
}

func newWord(raw string) word {
	w := word{raw: raw, low: fold(raw)}
	w.sing = singular(w.low)
	w.stem = stem(w.low)
	if n, ok := parseNumber(w.low); ok {
		w.num, w.isNum = n, true
	}
	return w
}

// fold converts letters to lower case and removes accents.
func fold(s string) string {
	ascii := true
	for i := 0; i < len(s); i++ {
		if s[i] >= utf8.RuneSelf {
			ascii = false
			break
		}
	}
	if ascii {
		return strings.ToLower(s)
	}
	var b strings.Builder
	for _, r := range norm.NFD.String(s) {
		switch {
		case unicode.Is(unicode.Mn, r):
		case r == 'ß':
			b.WriteString("ss")
		case r == 'ø' || r == 'Ø':
			b.WriteByte('o')
		case r == 'æ' || r == 'Æ':
			b.WriteString("ae")
		case r == 'ł' || r == 'Ł':
			b.WriteByte('l')
		case r == '’' || r == '‘':
			b.WriteByte('\'')
		default:
			b.WriteRune(unicode.ToLower(r))
		}
	}
	return b.String()
}

// irregular maps words to base forms that no rule finds.
var irregular = meanings(`
	person: people; man: men; woman: women; child: children; status: status statuses; data: data; buy: bought;
	sell: sold; spend: spent; pay: paid; birth: born; weigh: weighs; country: countries; city: cities;
	series: series; species: species; sale: sales; movie: movies; cookie: cookies; business: business;
	address: address; analysis: analysis; bus: bus buses; gas: gas; lens: lens lenses; news: news; index: indices;
	media: media; plus: plus; less: less; shelf: shelves; box: boxes; tax: taxes`)

// singular returns the singular of a noun; most other words are unchanged.
func singular(s string) string {
	if v, ok := irregular[s]; ok {
		return v
	}
	switch {
	case len(s) < 4 || !strings.HasSuffix(s, "s"):
		return s
	case strings.HasSuffix(s, "ies"):
		return s[:len(s)-3] + "y"
	case strings.HasSuffix(s, "sses"), strings.HasSuffix(s, "shes"), strings.HasSuffix(s, "ches"),
		strings.HasSuffix(s, "xes"), strings.HasSuffix(s, "zzes"):
		return s[:len(s)-2]
	case strings.HasSuffix(s, "ss"), strings.HasSuffix(s, "us"), strings.HasSuffix(s, "is"):
		return s
	case strings.HasSuffix(s, "'s"):
		return s[:len(s)-2]
	}
	return s[:len(s)-1]
}

// stem removes the inflection of a noun or verb, so that "cancelled" matches "cancel" and "ordered" matches "orders".
func stem(s string) string {
	s = singular(s)
	switch {
	case len(s) > 5 && strings.HasSuffix(s, "ing"):
		s = s[:len(s)-3]
	case len(s) > 4 && strings.HasSuffix(s, "ied"):
		s = s[:len(s)-3] + "y"
	case len(s) > 4 && strings.HasSuffix(s, "ed"):
		s = s[:len(s)-2]
	case len(s) > 7 && strings.HasSuffix(s, "ment"):
		s = s[:len(s)-4]
	case len(s) > 8 && strings.HasSuffix(s, "ation"):
		s = s[:len(s)-5]
	}
	if n := len(s); n > 3 && s[n-1] == s[n-2] && s[n-1] != 's' {
		s = s[:n-1]
	}
	if len(s) > 3 {
		s = strings.TrimSuffix(s, "e")
	}
	return s
}

const maxWords = 120

// tokenize splits a question into words.
func tokenize(text string) (words []word, tooLong bool) {
	rs := []rune(text)
	broke := false
	for i := 0; i < len(rs); {
		if len(words) >= maxWords {
			return words, true
		}
		r := rs[i]
		if !wordRune(r) && !strings.ContainsRune("<>=%€$£", r) {
			title := r == '.' && len(words) > 0 && len(words[len(words)-1].low) <= 3 // Dr. Klein
			broke = broke || strings.ContainsRune(",;:()?!.\n", r) && !title
			i++
			continue
		}
		n := runLength(rs[i:])
		for k, w := range splitWords(string(rs[i : i+n])) {
			w.stop = k == 0 && broke
			words = append(words, w)
		}
		broke = false
		i += n
	}
	return words, false
}

func wordRune(r rune) bool {
	return unicode.IsLetter(r) || unicode.IsDigit(r) || unicode.Is(unicode.Mn, r)
}

// runLength returns the length of a token: a word with inner apostrophes, a number with separators, or a comparison
// sign.
func runLength(rs []rune) int {
	if strings.ContainsRune("<>=", rs[0]) {
		if len(rs) > 1 && rs[1] == '=' {
			return 2
		}
		return 1
	}
	if strings.ContainsRune("%€$£", rs[0]) {
		return 1
	}
	n := 1
	for n < len(rs) {
		if wordRune(rs[n]) || rs[n] == '_' {
			n++
			continue
		}
		inner := n+1 < len(rs) && wordRune(rs[n+1])
		digits := inner && unicode.IsDigit(rs[n-1]) && unicode.IsDigit(rs[n+1])
		if inner && (rs[n] == '\'' || rs[n] == '’') || digits && strings.ContainsRune(".,-/:", rs[n]) {
			n++
			continue
		}
		break
	}
	return n
}

// splitWords splits one run into its words: possessives, contractions, snake_case.
func splitWords(run string) []word {
	var out []word
	for part := range strings.FieldsFuncSeq(run, func(r rune) bool {
		return r == '_' || r == ' ' || r == '-' && !startsDigit(run)
	}) {
		low := fold(part)
		if v, ok := contraction[low]; ok {
			for _, s := range strings.Fields(v) {
				out = append(out, newWord(s))
			}
			continue
		}
		if i := strings.IndexByte(low, '\''); i > 0 {
			cut := strings.IndexAny(part, "'’")
			if head := part[:cut]; head != "" {
				w := newWord(head)
				if strings.HasPrefix(low[i:], "'s") {
					out = append(out, w)
					continue
				}
				out = append(out, w)
				if rest := strings.TrimLeft(part[cut:], "'’"); len(rest) > 2 {
					out = append(out, newWord(rest))
				}
				continue
			}
		}
		out = append(out, newWord(part))
	}
	return out
}

func startsDigit(s string) bool { return s != "" && s[0] >= '0' && s[0] <= '9' }

var contraction = meanings(`
	what is: what's whats; who is: who's; where is: where's; how is: how's; that is: that's; it is: it's;
	is not: isn't; are not: aren't; was not: wasn't; were not: weren't; do not: don't; does not: doesn't;
	did not: didn't; have not: haven't; has not: hasn't; had not: hadn't; can not: can't cannot;
	could not: couldn't; will not: won't; i am: i'm; i would: i'd; let us: let's; we have: we've; we are: we're;
	i have: i've; you are: you're; they have: they've`)

var numberWords = map[string]float64{
	"zero": 0, "one": 1, "two": 2, "three": 3, "four": 4, "five": 5, "six": 6, "seven": 7, "eight": 8,
	"nine": 9, "ten": 10, "eleven": 11, "twelve": 12, "fifteen": 15, "twenty": 20, "thirty": 30, "fifty": 50,
	"hundred": 100, "thousand": 1000, "dozen": 12,
}

var numeral = regexp.MustCompile(`^(\d+(?:,\d{3})*(?:\.\d+)?)([km]?)$`)

// parseNumber reads 12, 1,500, 2.5, 10k, 3m and number words.
func parseNumber(low string) (float64, bool) {
	if n, ok := numberWords[low]; ok {
		return n, true
	}
	m := numeral.FindStringSubmatch(low)
	if m == nil || len(m[1]) > 20 {
		return 0, false
	}
	n, err := strconv.ParseFloat(strings.ReplaceAll(m[1], ",", ""), 64)
	return n * map[string]float64{"": 1, "k": 1e3, "m": 1e6}[m[2]], err == nil
}

// splitName splits a column's or table's name into words: snake_case, kebab-case, CamelCase, blanks. Digits stay with
// their letters.
func splitName(name string) []string { return spellName(name, true) }

// spellName returns the words of splitName, in the singular or unchanged.
func spellName(name string, one bool) []string {
	parts := nameParts(name)
	out := make([]string, len(parts))
	for i, part := range parts {
		out[i] = fold(part)
		if i > 0 && isUnit(part) || out[i] == "no" && i == 0 && len(parts) > 1 {
			continue // no_show is not the number of a show
		}
		if full, ok := abbreviation[out[i]]; ok && part != "Wh" {
			out[i] = full
		} else if one {
			out[i] = singular(out[i])
		}
	}
	return out
}

// showName returns a name for sentences: spelled out, with the accents of its letters and its units as written.
func showName(name string) string {
	parts, words := nameParts(name), spellName(name, false)
	for i, part := range parts {
		switch {
		case i > 0 && isUnit(part):
			words[i] = part
		case words[i] == fold(part):
			words[i] = strings.ToLower(part)
		}
	}
	return strings.Join(words, " ")
}

// isUnit reports whether a part of a name, other than the first, is a unit: kWh, and Wh only in this spelling, because
// wh is a warehouse.
func isUnit(part string) bool {
	return part == "Wh" || part != "WH" && part != "wh" && columnUnits[fold(part)]
}

// coreName returns a name without additions in brackets, after a question mark or of a currency: "Salary (EUR)",
// "Remote? Y/N", price_eur.
func coreName(name string) string {
	name = cut(name, nameBytes)
	core := name
	if i := strings.IndexAny(name, "(["); i > 0 {
		core = name[:i]
	}
	if i := strings.IndexByte(core, '?'); i > 0 {
		core = core[:i]
	}
	if code := currency.InName(core); code != "" && len(core) > len(code) &&
		strings.EqualFold(core[len(core)-len(code):], code) {
		core = strings.TrimRight(core[:len(core)-len(code)], "_ ")
	}
	if core = strings.TrimSpace(core); !strings.ContainsFunc(core, wordRune) {
		return name
	}
	return core
}

// nameBytes limits how much of a name is matched and shown, because every word of a question is compared with every
// word of it.
const nameBytes = 240

// nameParts splits a name as written, with units in one piece. A name without letters and digits, such as "?", is one
// part, so there is always one.
func nameParts(name string) []string {
	name = cut(name, nameBytes)
	rs := []rune(name)
	var out []string
	for i := 0; i < len(rs); {
		if rs[i] == '#' {
			out = append(out, "number")
		}
		if !wordRune(rs[i]) {
			i++
			continue
		}
		n := i
		for n < len(rs) && (wordRune(rs[n]) || rs[n] == '²' || rs[n] == '³') {
			n++
		}
		chunk := string(rs[i:n])
		switch {
		case i > 0 && rs[i-1] == '°':
			out = append(out, "°"+chunk)
		case isUnit(chunk):
			out = append(out, chunk)
		default:
			out = append(out, camelParts(rs[i:n])...)
		}
		i = n
	}
	if len(out) == 0 {
		return []string{name}
	}
	return out
}

// camelParts splits before every capital that begins a word.
func camelParts(rs []rune) []string {
	var out []string
	from := 0
	for i := 1; i < len(rs); i++ {
		if unicode.IsUpper(rs[i]) &&
			(unicode.IsLower(rs[i-1]) || unicode.IsUpper(rs[i-1]) && i+1 < len(rs) && unicode.IsLower(rs[i+1])) {
			out = append(out, string(rs[from:i]))
			from = i
		}
	}
	return append(out, string(rs[from:]))
}
