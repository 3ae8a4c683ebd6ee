package main

import (
	"fmt"
	"strconv"
	"strings"
)

// storeSales builds the semicolon file: Latin-1, decimal commas, DD.MM.YYYY
// and a totals row. The logical table goes beside it in plain UTF-8.
func storeSales() []file {
	r := &rng{state: 41}
	stores := [][3]string{{
		"Köln Dom", "Köln", "Germany",
	}, {"München Ost", "München", "Germany"}, {"Berlin Mitte", "Berlin", "Germany"},
		{
			"Lyon Part-Dieu", "Lyon", "France",
		}, {"Besançon Centre", "Besançon", "France"}, {"Málaga Puerto", "Málaga", "Spain"},
		{
			"Madrid Sol", "Madrid", "Spain",
		}, {"Zürich Bahnhof", "Zürich", "Switzerland"}, {"Genève Lac", "Genève", "Switzerland"}}
	goods := [][2]string{{
		"Coffee", "Espresso Roast",
	}, {"Coffee", "Café Crème"}, {"Coffee", "Decaf Blend"}, {"Tea", "Earl Grey"},
		{"Tea", "Green Sencha"}, {"Pastry", "Crème Brûlée"}, {"Pastry", "Apfelstrudel"}, {"Pastry", "Churros"},
		{"Equipment", "French Press"}, {"Equipment", "Hand Grinder"}, {"Equipment", "Milk Frother"}}
	prices := []float64{14.5, 13.2, 15.9, 7.4, 9.1, 6.25, 4.8, 3.9, 39, 58.5, 24.9}
	staff := []string{
		"Jürgen Weiß", "Zoë Keller", "Inés Peña", "François Petit", "Marc Dubois", "Anke Vogel", "Luis Ortega",
	}
	header := []string{
		"Order Date", "Store", "City", "Country", "Category", "Product", "Units", "Net Amount", "Discount Pct",
		"Salesperson",
	}

	var dirty, clean strings.Builder
	dirty.WriteString(csvLine(";", header...))
	clean.WriteString(csvLine(",", header...))
	units, net := 0, 0.0
	for i := range 330 {
		date := day(2023, 1, 2).AddDate(0, 0, i*726/330+r.below(2))
		s, p := stores[r.skewed(9, 1.35)], r.skewed(11, 1.2)
		n := r.between(1, 48)
		amount := r.money(0.9*prices[p]*float64(n), 1.05*prices[p]*float64(n))
		discount, discountDE := "", ""
		if r.chance(0.85) {
			v := float64(r.below(31)) / 2
			discount, discountDE = strconv.FormatFloat(v, 'f', 1, 64),
				strings.Replace(strconv.FormatFloat(v, 'f', 1, 64), ".", ",", 1)
		}
		who := staff[r.skewed(7, 1.2)]
		dirty.WriteString(csvLine(";", date.Format("02.01.2006"), s[0], s[1], s[2], goods[p][0], goods[p][1],
			strconv.Itoa(n), grouped(amount, ".", ","), discountDE, who))
		clean.WriteString(csvLine(",", iso(date), s[0], s[1], s[2], goods[p][0], goods[p][1], strconv.Itoa(n),
			plain(amount), discount, who))
		units += n
		net += amount
	}
	dirty.WriteString(csvLine(";", "Total", "", "", "", "", "", strconv.Itoa(units), grouped(net, ".", ","), "", ""))
	return []file{
		{"Store-Sales EU.csv", latin1(dirty.String())}, {"logical/store_sales_eu.csv", []byte(clean.String())},
	}
}

// expenses builds the comma file with a title line, blank lines, euro signs,
// a header used twice and booleans in mixed case.
func expenses() []file {
	r := &rng{state: 53}
	employees := [][2]string{{
		"Hanna Brandt", "Sales",
	}, {"Joe Farrell", "Sales"}, {"Priya Nair", "Engineering"}, {"Luca Conti", "Engineering"},
		{"Grace Obi", "Marketing"}, {"Milan Horvat", "Marketing"}, {"Eva Lund", "Finance"}, {"Tariq Haddad", "Sales"},
		{
			"Chloe Martin", "Engineering",
		}, {"Ben Adler", "Human Resources"}, {"Nora Quinn", "Marketing"}, {"Sam Okafor", "Finance"}}
	categories := []string{"Travel", "Meals", "Software", "Training", "Office Supplies"}
	reasons := []string{
		"client visit", "team offsite", "yearly licence", "conference", "", "workshop, two days", "replacement",
	}
	yes, no := []string{"TRUE", "True", "true"}, []string{"FALSE", "False", "false"}

	var dirty, clean strings.Builder
	dirty.WriteString("Expense export - all departments\n\n")
	dirty.WriteString(csvLine(",", "Date", "Employee", "Department", "Category", "Amount", "Reimbursed", "Notes",
		"Notes"))
	clean.WriteString(csvLine(",", "Date", "Employee", "Department", "Category", "Amount", "Reimbursed", "Notes",
		"Notes_2"))
	for i := range 240 {
		date := day(2023, 7, 3).AddDate(0, 0, i*544/240+r.below(2))
		e, c := employees[r.skewed(12, 1.3)], r.weighted(34, 30, 14, 10, 12)
		amount := r.money([]float64{120, 12, 60, 200, 5}[c], []float64{2100, 190, 900, 2600, 160}[c])
		ok := r.chance(0.78)
		shown, note, second := pick(r, no), pick(r, reasons), ""
		if ok {
			shown = pick(r, yes)
		}
		if r.chance(0.2) {
			second = fmt.Sprintf("ref %d", r.between(1000, 9999))
		}
		dirty.WriteString(csvLine(",", iso(date), e[0], e[1], categories[c], "€"+grouped(amount, ",", "."), shown, note,
			second))
		clean.WriteString(csvLine(",", iso(date), e[0], e[1], categories[c], plain(amount), strconv.FormatBool(ok),
			note, second))
		if i%60 == 59 {
			dirty.WriteString("\n")
		}
	}
	return []file{
		{"Expense-Report.csv", []byte(dirty.String())}, {"logical/expense_report.csv", []byte(clean.String())},
	}
}

// hotel builds the clean file.
func hotel() []file {
	r := &rng{state: 67}
	var b strings.Builder
	b.WriteString("booking_id,booked_on,check_in,guest_country,room_type,channel,nights,nightly_rate,is_cancelled," +
		"rating\n")
	for i := range 400 {
		booked := day(2023, 1, 5).AddDate(0, 0, i*700/400+r.below(2))
		checkIn := booked.AddDate(0, 0, r.between(1, 60))
		room := r.weighted(48, 30, 14, 8)
		rate := r.money([]float64{70, 105, 160, 240}[room], []float64{130, 180, 270, 420}[room])
		cancelled := r.chance(0.17)
		rating := ""
		if !cancelled && r.chance(0.75) {
			rating = strconv.Itoa(3 + r.weighted(3, 4, 7, 14, 22, 30, 17, 10))
		}
		b.WriteString(csvLine(",", fmt.Sprintf("BK%04d", i+1), iso(booked), iso(checkIn),
			[]string{
				"Portugal", "Spain", "United Kingdom", "Germany", "Italy", "Canada",
			}[r.weighted(30, 24, 20, 14, 8, 5)],
			[]string{"Standard", "Superior", "Family", "Suite"}[room],
			[]string{"Website", "Travel Agency", "Phone", "Walk-in"}[r.weighted(50, 31, 12, 6)],
			strconv.Itoa(1+r.skewed(14, 1.8)), plain(rate), strconv.FormatBool(cancelled), rating))
	}
	return []file{{"hotel_bookings.csv", []byte(b.String())}, {"logical/hotel_bookings.csv", []byte(b.String())}}
}
