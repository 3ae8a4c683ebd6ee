package offline

import (
	"slices"
	"strings"
)

// The lexicon contains English and business words. Nothing in it is specific to one database.

func set(words string) map[string]bool {
	m := map[string]bool{}
	for w := range strings.FieldsSeq(words) {
		m[w] = true
	}
	return m
}

// anyOf reports whether one of the words is in a set.
func anyOf(words []string, in map[string]bool) bool {
	return slices.ContainsFunc(words, func(w string) bool { return in[w] })
}

// anySaid reports whether one of the words of a question is in a set.
func anySaid(ws []word, in map[string]bool) bool {
	return slices.ContainsFunc(ws, func(w word) bool { return in[w.low] })
}

// meanings returns the meaning of each word in a list such as "day: day daily; week: week weekly".
func meanings(list string) map[string]string {
	m := map[string]string{}
	for entry := range strings.SplitSeq(list, ";") {
		meaning, words, _ := strings.Cut(entry, ":")
		for w := range strings.FieldsSeq(words) {
			m[w] = strings.TrimSpace(meaning)
		}
	}
	return m
}

// glossary returns the explanations of each word in a list such as "word word: explanation; word: explanation".
func glossary(list string) map[string][]string {
	m := map[string][]string{}
	for entry := range strings.SplitSeq(list, ";") {
		words, explanations, _ := strings.Cut(entry, ":")
		for w := range strings.FieldsSeq(words) {
			m[w] = append(m[w], strings.Fields(explanations)...)
		}
	}
	return m
}

// abbreviation expands short forms that occur in names.
var abbreviation = meanings(`
	quantity: qty quan; amount: amt; customer: cust; date: dt; product: prod; category: cat categ; weight: wt;
	shipment: shpmt shp; line: ln; status: stat sts; delivery: dlv dlvy; freight: frt; carrier: carr; name: nm;
	country: ctry cntry; warehouse: whse wh; segment: seg; employee: emp; department: dept dep; address: addr;
	description: desc descr; number: num no nbr; count: cnt; average: avg; percent: pct perc; invoice: inv;
	order: ord; account: acct; manager: mgr; region: reg; currency: curr; payment: pymt pmt; total: tot;
	transaction: trx txn tx trans; user: usr; year: yr; month: mth mo; birth: dob; phone: tel; manufacturer: mfr;
	discount: disc; salary: sal; supplier: sup supp; vendor: vend; location: loc; state: st; type: typ; time: ts;
	organization: org; first: 1st; second: 2nd; response: resp; priority: prio; performance: perf; volume: vol;
	language: lang; manufacturing: mfg; estimated: est; appointment: appt; temperature: temp; humidity: hum;
	group: grp`)

// synonymGroups are groups of words with the same meaning in business. The first word of a group is only its name.
var synonymGroups = strings.Split(`
	customer client buyer purchaser shopper; product item article good; order purchase; invoice bill;
	employee staff worker; doctor physician; country nation; city town; category kind type; vendor supplier;
	quantity unit piece; weight weigh heavy; price priced; phone telephone; gender sex; hire hired recruited joined;
	signup registration registered joined; birth born; duration long length lasted; shipment delivery consignment;
	warehouse depot; salary wage pay payroll earn earner; admission admit admitted; email mail;
	start begin began began joined hired; end ended; agent rep; total value amount sum; rating score;
	headcount employee; team squad club side; date day; height tall; pages long length;
	attendance spectator attendee audience crowd visitor; capacity seat size; population inhabitant;
	area surface size; loan lending checkout; rental rent hire lease; author writer; artist musician; movie film;
	song track; car vehicle automobile; match game fixture; student pupil learner; teacher instructor;
	department division; location place site venue; branch store shop outlet; comment remark note; fee charge;
	cost expense spending; fine penalty; refund reimbursement; passenger traveller traveler rider; guest visitor;
	reservation booking; apartment flat; mileage odometer kilometre kilometer;
	distance far kilometre kilometer mile; stock inventory; revenue sale turnover income earning takings proceeds;
	donation contribution; donor contributor; device machine; delay late; age old; speed fast; status state;
	company firm business; subject topic; grade mark score; exam test; trip journey ride; discount rebate;
	publisher published; nationality country; brand manufacturer make; worth value; breed race; month monthly;
	method mode; nights night; participant attendee; premium upgrade; humidity humid; temperature warm hot cold;
	sensor device`, ";")

var synonym = func() map[string][]int {
	m := map[string][]int{}
	for i, g := range synonymGroups {
		for w := range strings.FieldsSeq(g) {
			m[w] = append(m[w], i)
		}
	}
	return m
}()

func synonymous(a, b string) bool {
	for _, x := range synonym[a] {
		for _, y := range synonym[b] {
			if x == y {
				return true
			}
		}
	}
	return false
}

// optionalWords are words in the names of columns that describe how a value is stored, not what it is.
var optionalWords = set(
	`id name date at on dt is has was flag code number key minute second hour day kg g lb m3 m2 km eur usd gbp chf cm
	mm l lb lbs oz mi mile kmh mph kwh kw mb gb hrs hr min mins sec secs ms hours minutes days sqm m m² euros pct
	mwh gwh wh mg ml mm mw gw °c °f m³ stk stuck pcs h v c f ppm rpm lux hpa euro dollar percent title ts time
	timestamp utc full label count nr the of in`)

// columnUnits are units at the end of column names.
var columnUnits = set(
	`kwh mwh gwh wh kw mw gw kg g mg lb lbs oz km m cm mm mi m2 m3 m² m³ sqm l ml kmh mph kb mb gb tb ms sec secs s
	min mins h hr hrs °c °f pct pcs stk eur usd gbp chf v a hz c f ppm rpm lux hpa`)

// headWords are so general that people may omit them from the name of a column.
var headWords = set(
	`count score number amount type provider value level total name date code percent title category quantity method`)

// filler contains words that have no meaning for a query.
var filler = set(
	`a an the of to for from in on at with within into is are was were be been being am do does did done has have had
	having i we us our ours me my you your they them their it its there here this that these those as please pls plz
	can could would should tell give get got show display let know find want like need see look up out and or but so
	also just about all any some across who whom which what where when whose how then than if been ok okay hey much
	many exist exists existing available currently now overall altogether ever actually really exactly each every
	per by grouped group break broken down split total number count amounts amount developed develop development
	change evolve evolved evolution trend over time per single individual record records row rows entry entries data
	dataset database table file report list listed go goes went come comes came make makes made makes handle handles
	handled live lives living work works working use used uses using take takes took place places placed bring
	brings brought generate generates generated sell sells sold ship ships buy buys bought spend spends spent charge
	charged receive received belong belongs leave left leaves insured kept assign assigned hand handed happened
	happen recorded contain contains different distinct unique various term terms respect regarding according based
	result results us do through via still yet already anything something anyone euros euro dollars eur usd € $ £
	respectively both figures figure value values sorted sort order ordered ordering ascending
	descending calculate compute what's only chart graph plot bar line pie see visualize draw`)

// months maps names to numbers.
var months = map[string]int{
	"january": 1, "jan": 1, "february": 2, "feb": 2, "march": 3, "mar": 3, "april": 4, "apr": 4, "may": 5,
	"june": 6, "jun": 6, "july": 7, "jul": 7, "august": 8, "aug": 8, "september": 9, "sep": 9, "sept": 9,
	"october": 10, "oct": 10, "november": 11, "nov": 11, "december": 12, "dec": 12,
}

// bucketWords are words for the size of a period.
var bucketWords = meanings(`
	day: day daily; week: week weekly; month: month monthly; quarter: quarter quarterly;
	year: year yearly annual annually`)

// valueSynonyms are other words for coded values, by the name of the column.
var valueSynonyms = map[string]map[string]string{
	"gender": {"female": "f", "woman": "f", "male": "m", "man": "m"},
	"sex":    {"female": "f", "woman": "f", "male": "m", "man": "m"},
	"active": {"active": "y", "inactive": "n"},
}

// rankAdjectives maps superlatives to the columns that they rank by.
var rankAdjectives = map[string]struct {
	columns string // column words, in order of preference
	desc    bool
}{
	"cheapest": {priceNames, false}, "priciest": {priceNames, true}, "dearest": {priceNames, true},
	"costliest": {priceNames, true},
	"heaviest":  {"weight", true}, "lightest": {"weight", false},
	"longest":  {"duration length pages distance days nights minutes hours runtime", true},
	"shortest": {"duration length pages distance days nights minutes hours runtime height", false},
	"fastest":  {"speed duration time", false}, "slowest": {"duration time", true},
	"tallest": {"height", true}, "farthest": {"distance", true}, "furthest": {"distance", true},
	"nearest": {"distance", false}, "closest": {"distance", false},
	"thickest": {"pages thickness", true}, "richest": {"salary income value balance", true},
	"wealthiest": {"salary income value balance", true},
	"hottest":    {"temperature", true}, "warmest": {"temperature", true}, "coldest": {"temperature", false},
	"busiest": {"@count", true}, "quietest": {"@count", false}, "commonest": {"@count", true},
	"rarest": {"@count", false},
	"newest": {"@date", true}, "latest": {"@date", true}, "oldest": {"@birth", false}, "youngest": {"@birth", true},
	"earliest": {"@date", false}, "recent": {"@date", true},
}

const (
	priceNames = "price cost rate amount fee total value freight charge fare rent premium preis prix betrag"
	valueNames = "value worth price total amount"
	sizeNames  = "capacity size area population seats employees pages headcount height volume"
)

// revenueWords ask for revenue without naming a column.
var revenueWords = set(`revenue turnover sale takings income earning`)
var moneyColumns = []string{
	"amount", "total", "revenue", "sale", "cost", "price", "value", "fee", "freight", "fare", "rent", "charge",
	"income", "betrag", "umsatz", "montant", "gross",
}

var moneyWords = set(strings.Join(moneyColumns, " "))

// meanWords are names of figures that must not be added up.
var meanWords = set(
	`rate price score rating percent percentage ratio age discount margin temperature average unit_price capacity
	height width latitude longitude year floor hourly grade gpa csat nps star stars co2 voltage battery speed
	humidity pressure ph satisfaction preis prix precio rabatt bewertung alter`)

// extentWords are figures that are added up over events, such as the weight of deliveries, but not over things, such as
// the weight of products.
var extentWords = set("weight duration length pages distance area gewicht dauer")
