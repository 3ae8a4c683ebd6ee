package cite

import "strings"

// The word lists are data: small, lower case, English first, with the German and Portuguese (and a few French and
// Spanish) words that answers use.

func set(words string) map[string]bool {
	m := map[string]bool{}
	for w := range strings.FieldsSeq(words) {
		m[w] = true
	}
	return m
}

// A sieve quickly excludes most words that are not in a set, by their first two bytes and their length. Without it,
// looking up each word of a text in several maps would take more time than everything else.
type sieve [1 << 10]uint32

func (s *sieve) add(w string) { s[s.place(w)] |= 1 << min(len(w), 31) }

// mayContain returns false only for words that are in none of the sets.
func (s *sieve) mayContain(w string) bool {
	return len(w) > 1 && s[s.place(w)]>>min(len(w), 31)&1 != 0
}

func (s *sieve) place(w string) int { return int(w[0]&31)<<5 | int(w[1]&31) }

func sieveOf[T any](sets ...map[string]T) *sieve {
	s := new(sieve)
	for _, set := range sets {
		for w := range set {
			s.add(w)
		}
	}
	return s
}

var cardinals = map[string]int64{
	"zero": 0, "one": 1, "two": 2, "three": 3, "four": 4, "five": 5, "six": 6, "seven": 7, "eight": 8,
	"nine": 9, "ten": 10, "eleven": 11, "twelve": 12, "thirteen": 13, "fourteen": 14, "fifteen": 15,
	"sixteen": 16, "seventeen": 17, "eighteen": 18, "nineteen": 19, "twenty": 20, "thirty": 30, "forty": 40,
	"fifty": 50, "sixty": 60, "seventy": 70, "eighty": 80, "ninety": 90, "hundred": 100, "dozen": 12,
}

// foreignCardinals are read only in a text with a decimal comma.
var foreignCardinals = map[string]int64{
	"zwei": 2, "drei": 3, "vier": 4, "fünf": 5, "sechs": 6, "sieben": 7, "acht": 8, "neun": 9, "zehn": 10,
	"elf": 11, "zwölf": 12,
	"dois": 2, "duas": 2, "três": 3, "quatro": 4, "cinco": 5, "seis": 6, "sete": 7, "oito": 8, "nove": 9,
	"dez": 10, "doze": 12,
}

var ordinals = map[string]int64{
	"first": 1, "second": 2, "third": 3, "fourth": 4, "fifth": 5, "sixth": 6, "seventh": 7, "eighth": 8,
	"ninth": 9, "tenth": 10, "eleventh": 11, "twelfth": 12,
}

// periodNames are the names of columns whose rows follow each other in time, and of periods.
var periodNames = set("quarter month week day year period date quartal monat woche jahr trimestre semana ano")

// multiplies are the words after "times" that turn the number into a ratio.
var multiplies = set("as more the that higher larger less faster bigger its what his her their longer greater mais so")

// scales maps the words after a number to powers of ten.
var scales = map[string]int{
	"k": 3, "thousand": 3, "thousands": 3, "tsd": 3, "tausend": 3, "mil": 3, "mille": 3,
	"m": 6, "mn": 6, "mm": 6, "mio": 6, "million": 6, "millions": 6, "millionen": 6, "milhão": 6, "milhões": 6,
	"milhao": 6, "milhoes": 6, "millones": 6,
	"b": 9, "bn": 9, "billion": 9, "billions": 9, "mrd": 9, "milliarde": 9, "milliarden": 9, "milliards": 9,
	"bilhão": 9, "bilhões": 9, "bilhoes": 9,
	"t": 12, "tn": 12, "trillion": 12, "trillions": 12, "lakh": 5, "crore": 7,
}

var months = map[string]int{
	"january": 1, "february": 2, "march": 3, "april": 4, "may": 5, "june": 6, "july": 7, "august": 8,
	"september": 9, "october": 10, "november": 11, "december": 12,
	"jan": 1, "feb": 2, "mar": 3, "apr": 4, "jun": 6, "jul": 7, "aug": 8, "sep": 9, "sept": 9, "oct": 10,
	"nov": 11, "dec": 12,
	"januar": 1, "februar": 2, "märz": 3, "mai": 5, "juni": 6, "juli": 7, "oktober": 10, "dezember": 12,
	"okt": 10, "dez": 12,
	"janeiro": 1, "fevereiro": 2, "março": 3, "abril": 4, "maio": 5, "junho": 6, "julho": 7, "agosto": 8,
	"setembro": 9, "outubro": 10, "novembro": 11, "dezembro": 12,
}

// smallMonths are month names that are written in lower case and have no other meaning.
var smallMonths = set("janeiro fevereiro março abril maio junho julho agosto setembro outubro novembro dezembro")

var weekdays = map[string]int{
	"monday": 1, "tuesday": 2, "wednesday": 3, "thursday": 4, "friday": 5, "saturday": 6, "sunday": 7,
}

var (
	hedgeAbout = set("about around approximately approx roughly circa ca some ~ ≈ close rund etwa ungefähr cerca " +
		"aproximadamente environ")
	hedgeUnder = set("nearly almost under below fast knapp quase")
	hedgeOver  = set("over above exceeding exceeds exceed über mais")

	percentWords = set("% percent pct prozent percentage")
	timesWords   = set("times x × mal vezes fold")

	nouns = set("rows row records record entries entry results result items lines")

	totalCues = set("total totals overall altogether together combined sum sums all across whole entire insgesamt " +
		"gesamt gesamtkosten zusammen summe jointly grand aggregate adds add cumulative wide")
	averageCues = set("average avg mean averages averaged averaging durchschnitt durchschnittlich média médio schnitt")
	maxCues     = set("highest maximum max peak peaked peaks peaking most largest biggest greatest best top record " +
		"strongest busiest höchste maior longest")
	minCues = set("lowest minimum min smallest fewest weakest worst cheapest quietest bottomed shortest " +
		"niedrigste menor")

	diffCues = set("more less fewer higher lower ahead behind difference gap band spread distance width by increase " +
		"increased decrease decreased grew grow growth rose rise risen fell fall dropped drop drops declined decline " +
		"gain gained gains lost loss margin above below short exceed exceeded exceeds exceeding trailing trails " +
		"trail added lead leads leading improved improvement difference longer shorter older younger cheaper change " +
		"changed up down extra additional over under mehr weniger missing beats beat surplus deficit reduction " +
		"reduced jump jumped narrower wider climbed climb faster slower quicker spanning spans lift uplift boost too " +
		"few back dropping falling rising growing increasing overrun excess surplus missed outsold outpaced " +
		"outperformed overshot undershot swing shortfall overspend savings saving saved jumping climbing dropping " +
		"gaining losing slipping surging soaring slipped slid surged soared plunged sank shrank shrunk crept " +
		"expanded contracted collapsed")
	upCues = set("more higher above increase increased grew growth rose rise gain gained up exceeded exceeds " +
		"exceed improved longer climbed climb jump jumped jumping climbing gaining surging soaring ahead surplus " +
		"rising growing increasing mehr")
	downCues = set("less fewer lower below decrease decreased fell fall falls dropped drop drops declined decline " +
		"declines falling dropping declining saving savings saved weniger lost loss losses down shrank shrunk " +
		"shrinking negative deficit reduction reduced minus behind under shorter loses lose losing decreasing " +
		"declining cut short slipped worse cheaper slower gesunken caiu trailing trails shrinks underspent " +
		"underspend undershot undershoots underran shortfall missed owed refunded overdrawn")

	perCues   = set("per each pro por every je")
	timeUnits = map[string]int64{"day": 1, "days": 1, "week": 7, "weeks": 7, "tage": 1, "tagen": 1, "dias": 1}

	// linkWords are prepositions that tie a label to the number before it.
	linkWords = set(
		"in for from at by on of during among within to em no na nas nos para im für bei aus am do da von against")
	articles     = set("the a an der die das dem den os la le all each every our their its")
	pronouns     = set("it its they their this that these there he she which where")
	conjunctions = set("and or & und e y et plus")
	rankCues     = set(
		"ranks rank ranked ranking came comes come finished finishes placed places place position in is as are " +
			"number took")
	superlatives = set(
		"largest highest best biggest most smallest lowest strongest busiest longest cheapest fastest place rank " +
			"position")
	rangeCues = set(
		"over above exceed exceeds exceeding least more than under below less fewer minimum maximum up between top " +
			"first last latest past within since threshold next previous most recent limit limited until before " +
			"after beyond exceeded bottom")
	aboveCues = set(
		"over above exceed exceeds exceeding least more beyond exceeded crossed passed topped surpassed crossing")
	belowCues     = set("under below less fewer most")
	pointers      = set("this that which each every any the another")
	strictPronoun = set("it its they their this that")
)

// stop contains words of column names and of prose without a meaning of their own.
var stop = set("of the a an in per for and by to on our their")

// generic contains words of column names that describe how something is measured, not what is measured.
var generic = set("total sum value amount count number average mean minimum maximum rate percent share id name date " +
	"n usd eur gbp musd ms mb gb mwh kwh kg km hours minutes days min max avg t ha kg l h s mwh sqm km2 pro per gb tb")

// vague contains the generic words that can mean a column without another word.
var vague = set("average rate share percent")

var expansions = map[string]string{
	"avg": "average", "mean": "average", "pct": "percent", "percentage": "percent", "num": "number", "cnt": "count",
	"nr":  "number",
	"qty": "quantity", "amt": "amount", "rev": "revenue", "cust": "customer", "ytd": "year", "min": "minimum",
	"kilometre": "km", "kilometer": "km", "max": "maximum", "hrs": "hour", "mins": "minute",
	"temperatur": "temperature", "temp": "temperature", "std": "standard", "stddev": "stddev", "deviation": "stddev",
}

// A column with one of percentNames in its name holds percentages or ratios. One of ratioNames means the same, unless
// all numbers of the column are whole.
var (
	percentNames = set("percent pct percentage percentagem porcentagem porcentaje pourcentage prozent anteil quote " +
		"taxa rate ratio share pctg coverage occupancy utilization utilisation completion retention")
	ratioNames = set("margin growth conversion churn change yoy mom progress met bounce return discount tax " +
		"interest probability score accuracy precision recall")
)

// stem reduces a word to a common form, for comparing column names with prose.
func stem(w string) string {
	if e, ok := expansions[w]; ok {
		return e
	}
	switch n := len(w); {
	case n > 4 && strings.HasSuffix(w, "ies"):
		return w[:n-3] + "y"
	case n > 4 && (strings.HasSuffix(w, "sses") || strings.HasSuffix(w, "xes") || strings.HasSuffix(w, "ches") ||
		strings.HasSuffix(w, "shes")):
		return w[:n-2]
	case n > 3 && strings.HasSuffix(w, "s") && !strings.HasSuffix(w, "ss") && !strings.HasSuffix(w, "us"):
		return w[:n-1]
	}
	return w
}

var endings = []string{
	"ations", "ation", "ancies", "ments", "ancy", "ment", "ings", "ions", "ers", "ing", "ion", "ied", "ies", "als",
	"ed", "er", "al", "s", "e", "y",
}

// root returns the part that a word shares with related words, such as cancelled and cancellations or occupied and
// occupancy. It returns "" for short words.
func root(w string) string {
	if len(w) < 4 || len(w) > 30 || generic[w] {
		return ""
	}
	for range 2 {
		for _, ending := range endings {
			if s, ok := strings.CutSuffix(w, ending); ok && len(s) >= 4 {
				w = s
				break
			}
		}
	}
	if n := len(w); w[n-1] == w[n-2] && w[n-1] != 's' {
		w = w[:n-1]
	}
	if len(w) < 4 {
		return ""
	}
	return w
}

// synonyms maps each word to a key shared by the words for the same measure. They find a column if its own words are
// not in the text.
var synonyms = groupOf(
	"profit ebit earning income result loss deficit",
	"revenue sale turnover umsatz proceed",
	"staff employee headcount people worker team head",
	"customer client account buyer shopper",
	"cost expense spending spend expenditure outlay",
	"order purchase",
	"visit visitor session traffic",
	"unit piece item quantity",
	"wait waiting delay",
	"budget allowance allocation",
	"won win victory",
	"drawn draw tie",
	"lost defeat",
)

func groupOf(groups ...string) map[string]string {
	m := map[string]string{}
	for _, g := range groups {
		for w := range strings.FieldsSeq(g) {
			m[w] = "=" + g
		}
	}
	return m
}
