package main

import (
	"fmt"
	"strconv"
	"strings"
	"time"
)

// utility builds an energy utility: meters hang on customers, readings on meters,
// and a region is two or three tables away from what was used in it.
func utility() []file {
	r := &rng{state: 211}
	customers := utilityCustomers(r)
	meters := utilityMeters(r)
	return []file{{"utility.sql", script("An energy utility: customers, meters, readings and outages.",
		utilityRegions(), utilityTariffs(), customers, meters, utilityReadings(r, meters), utilityOutages(r))}}
}

const (
	utilityCustomerCount = 64
	utilityMeterCount    = 84
	utilitySilent        = 3 // meters at the end that nobody has read yet
)

func utilityRegions() *table {
	t := &table{name: "regions", ddl: `CREATE TABLE regions (
  region_id INTEGER PRIMARY KEY,
  region_name TEXT NOT NULL,
  manager TEXT NOT NULL,
  grid_km REAL NOT NULL
)`}
	t.add(1, "North Coast", "Sven Aker", 412.50)
	t.add(2, "Lakeland", "Petra Lind", 287.20)
	t.add(3, "Central Valley", "Omar Haddad", 655.80)
	t.add(4, "Highlands", "Ruth Calder", 198.40)
	return t
}

func utilityTariffs() *table {
	t := &table{name: "tariffs", ddl: `CREATE TABLE tariffs (
  tariff_id INTEGER PRIMARY KEY,
  tariff_name TEXT NOT NULL,
  energy_type TEXT NOT NULL,
  price_per_kwh REAL NOT NULL,
  monthly_fee REAL NOT NULL,
  is_green INTEGER NOT NULL
)`}
	t.add(1, "Basic Power", "electricity", 0.31, 9.50, 0)
	t.add(2, "Green Power Plus", "electricity", 0.34, 10.90, 1)
	t.add(3, "Night Saver", "electricity", 0.27, 11.50, 0)
	t.add(4, "Home Gas", "gas", 0.11, 8.20, 0)
	t.add(5, "Business Flex", "electricity", 0.24, 24.00, 0)
	t.add(6, "Biogas", "gas", 0.15, 8.90, 1)
	return t
}

// utilityTowns are the towns of each region, the first region first.
var utilityTowns = [][]string{
	{"Skarhaven", "Port Wynn"}, {"Lowmere", "Ferry Bank"}, {"Midford", "Tolley", "Garrick"}, {"Stonehead"},
}

func utilityCustomers(r *rng) *table {
	t := &table{name: "customers", ddl: `CREATE TABLE customers (
  customer_id INTEGER PRIMARY KEY,
  customer_name TEXT NOT NULL,
  segment TEXT NOT NULL,
  city TEXT NOT NULL,
  region_id INTEGER NOT NULL REFERENCES regions(region_id),
  signed_up_on TEXT NOT NULL,
  cancelled_on TEXT,
  phone TEXT
)`}
	first := []string{"Alma", "Bodo", "Clara", "Dev", "Elin", "Frank", "Gila", "Hugo"}
	last := []string{"Marsh", "Nyberg", "Olsen", "Pratt", "Quill", "Rowe", "Sandhu", "Thorn"}
	firms := []string{
		"Coldwell Foods", "Lake Laundry", "Brinkmann Steel", "Tolley Bakers", "Northline Cold Storage",
		"Hillside Dental", "Pixel Print", "Garrick Garage",
	}
	public := []string{"Midford School", "Port Wynn Swimming Pool", "Lowmere Town Hall", "Stonehead Clinic"}
	for i := range utilityCustomerCount {
		name, segment := first[i%8]+" "+last[i/8], "household"
		switch {
		case i%8 == 3:
			name, segment = firms[i/8], "business"
		case i%16 == 14:
			name, segment = public[i/16], "public"
		}
		region := r.weighted(22, 26, 40, 12)
		signed := r.dayIn(day(2017, 2, 1), day(2023, 11, 30))
		var cancelled, phone any = nil, fmt.Sprintf("0700 %06d", r.between(100000, 999999))
		if r.chance(0.15) {
			cancelled = iso(r.dayIn(day(2024, 1, 10), day(2025, 5, 20)))
		}
		if r.chance(0.2) {
			phone = nil
		}
		t.add(i+1, name, segment, pick(r, utilityTowns[region]), region+1, iso(signed), cancelled, phone)
	}
	return t
}

func utilityMeters(r *rng) *table {
	t := &table{name: "meters", ddl: `CREATE TABLE meters (
  meter_id INTEGER PRIMARY KEY,
  serial_no TEXT NOT NULL,
  customer_id INTEGER NOT NULL REFERENCES customers(customer_id),
  tariff_id INTEGER NOT NULL REFERENCES tariffs(tariff_id),
  meter_type TEXT NOT NULL,
  installed_on TEXT NOT NULL
)`}
	for i := range utilityMeterCount {
		customer, tariff := i+1, []int{1, 2, 3, 4, 6}[r.weighted(34, 20, 14, 24, 8)]
		if i >= utilityCustomerCount {
			customer = 1 + r.below(utilityCustomerCount)
		}
		if (customer-1)%8 == 3 {
			tariff = []int{5, 5, 4}[r.below(3)]
		}
		t.add(i+1, fmt.Sprintf("MX-%05d", 31007+i*37), customer, tariff,
			[]string{"smart", "analogue", "prepaid"}[r.weighted(58, 32, 10)],
			iso(r.dayIn(day(2012, 3, 1), day(2023, 12, 20))))
	}
	return t
}

func utilityReadings(r *rng, meters *table) *table {
	t := &table{name: "readings", ddl: `CREATE TABLE readings (
  reading_id INTEGER PRIMARY KEY,
  meter_id INTEGER NOT NULL REFERENCES meters(meter_id),
  read_on TEXT NOT NULL,
  kwh REAL NOT NULL,
  is_estimated INTEGER NOT NULL
)`}
	winter := []float64{1.5, 1.42, 1.2, 1, 0.8, 0.7, 0.66, 0.68, 0.82, 1.04, 1.25, 1.44}
	for month := range 18 {
		first := day(2024, 1, 1).AddDate(0, month, 0)
		for _, m := range meters.rows[:utilityMeterCount-utilitySilent] {
			if r.chance(0.04) {
				continue
			}
			base := 180 + float64(m[0].(int)*53%140)
			switch m[3].(int) {
			case 4, 6:
				base *= 2.6
			case 5:
				base *= 9
			}
			estimated := 0
			if r.chance(0.13) {
				estimated = 1
			}
			t.add(len(t.rows)+1, m[0], iso(first.AddDate(0, 0, r.between(0, 26))),
				r.money(0.8*base, 1.2*base)*winter[int(first.Month())-1], estimated)
		}
	}
	return t
}

func utilityOutages(r *rng) *table {
	t := &table{name: "outages", ddl: `CREATE TABLE outages (
  outage_id INTEGER PRIMARY KEY,
  region_id INTEGER NOT NULL REFERENCES regions(region_id),
  started_at TEXT NOT NULL,
  duration_min INTEGER NOT NULL,
  cause TEXT NOT NULL,
  homes_affected INTEGER NOT NULL
)`}
	for i := range 150 {
		at := day(2024, 1, 2).AddDate(0, 0, i*543/150+r.below(3)).Add(time.Duration(r.between(0, 1439)) * time.Minute)
		t.add(i+1, 1+r.weighted(30, 18, 28, 24), at.Format("2006-01-02 15:04:05"), 6+r.skewed(540, 2.2),
			[]string{"storm", "equipment failure", "planned work", "digger", "animal"}[r.weighted(30, 28, 22, 13, 7)],
			r.between(12, 2900))
	}
	return t
}

// bakery builds a file with German headers: a byte order mark, semicolons, decimal
// commas, a euro sign after the takings, a blank line and a totals row.
func bakery() []file {
	r := &rng{state: 223}
	articles := []struct {
		name, group string
		price       float64
	}{{
		"Bauernbrot", "Brot", 4.60,
	}, {"Laugenbrezel", "Kleingebäck", 1.10}, {"Käsekuchen", "Kuchen", 3.40}, {"Mohnbrötchen", "Kleingebäck", 0.85},
		{
			"Roggenbrot", "Brot", 5.20,
		}, {"Filterkaffee", "Getränke", 2.60}, {"Apfelstrudel", "Kuchen", 3.80}, {"Orangensaft", "Getränke", 3.10}}
	branches := []string{"Hauptstraße", "Bahnhof", "Markthalle", "Uferweg"}
	sellers := []string{"Frau Möller", "Herr Özdemir", "Frau Klein", "Herr Bauer", "Frau Jäger"}
	header := []string{
		"Datum", "Filiale", "Warengruppe", "Artikel", "Menge", "Einzelpreis", "Umsatz", "Zahlungsart", "Verkäufer",
	}

	var dirty, clean strings.Builder
	dirty.WriteString("\ufeff" + csvLine(";", header...))
	clean.WriteString(csvLine(",", header...))
	amount, takings := 0, 0.0
	for i := range 420 {
		date := day(2024, 1, 2).AddDate(0, 0, i*362/420+r.below(2))
		a, n := articles[r.skewed(8, 1.15)], r.between(4, 120)
		if r.chance(0.05) {
			n = r.between(250, 480) // a standing order
		}
		price := a.price
		if date.Month() >= time.July {
			price += 0.10
		}
		total := float64(int(price*100+0.5)*n) / 100
		branch, seller := branches[r.skewed(4, 1.3)], sellers[r.skewed(5, 1.2)]
		if r.chance(0.05) {
			seller = ""
		}
		pay := []string{"bar", "Karte", "Rechnung"}[r.weighted(52, 40, 8)]
		dirty.WriteString(csvLine(";", date.Format("02.01.2006"), branch, a.group, a.name, strconv.Itoa(n),
			grouped(price, ".", ","), grouped(total, ".", ",")+" €", pay, seller))
		clean.WriteString(csvLine(",", iso(date), branch, a.group, a.name, strconv.Itoa(n), plain(price), plain(total),
			pay, seller))
		amount, takings = amount+n, takings+total
	}
	dirty.WriteString("\n" + csvLine(";", "Gesamt", "", "", "", strconv.Itoa(amount), "",
		grouped(takings, ".", ",")+" €", "", ""))
	return []file{
		{
			"Backstube-Verkauf 2024.csv", []byte(dirty.String()),
		}, {"logical/backstube_verkauf_2024.csv", []byte(clean.String())},
	}
}

// traffic builds a clean file of web analytics: a line for a day, channel and page.
func traffic() []file {
	r := &rng{state: 227}
	header := []string{
		"visit_date", "channel", "campaign", "country", "device", "landing_page", "sessions", "visitors", "pageviews",
		"bounces", "signups", "revenue",
	}
	channels := []string{"organic", "paid search", "email", "social", "referral"}
	campaigns := map[string][]string{
		"paid search": {"brand_q1", "summer_deal", "retarget"},
		"email":       {"newsletter", "winback"},
		"social":      {"summer_deal", "influencer"},
	}
	var clean strings.Builder
	clean.WriteString(csvLine(",", header...))
	for i := range 520 {
		date := day(2024, 3, 1).AddDate(0, 0, i*425/520+r.below(2))
		channel, campaign := channels[r.skewed(5, 1.3)], ""
		if c := campaigns[channel]; c != nil {
			campaign = pick(r, c)
		}
		sessions := 20 + r.skewed(780, 1.7)
		visitors := sessions - r.below(sessions/4+1)
		signups := r.below(sessions/18 + 2)
		revenue := ""
		if signups > 0 {
			revenue = plain(float64(signups) * r.money(9, 58))
		}
		clean.WriteString(csvLine(",", iso(date), channel, campaign,
			[]string{"Germany", "Austria", "Switzerland", "Netherlands"}[r.weighted(52, 18, 16, 14)],
			[]string{"mobile", "desktop", "tablet"}[r.weighted(55, 37, 8)],
			[]string{"/", "/pricing", "/blog/heat-pumps", "/demo", "/docs"}[r.skewed(5, 1.2)],
			strconv.Itoa(sessions), strconv.Itoa(visitors), strconv.Itoa(sessions+r.below(4*sessions)),
			strconv.Itoa(r.below(sessions*7/10)), strconv.Itoa(signups), revenue))
	}
	data := []byte(clean.String())
	return []file{{"web_traffic.csv", data}, {"logical/web_traffic.csv", data}}
}
