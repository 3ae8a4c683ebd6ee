package main

import (
	"fmt"
	"strconv"
	"strings"
	"time"
)

// visits builds the semicolon file of an emergency department: decimal commas,
// DD.MM.YYYY, yes and no, and cells left blank.
func visits() []file {
	r := &rng{state: 307}
	departments := []string{"Emergency", "Orthopedics", "Pediatrics", "Cardiology", "Eye Clinic", "Dermatology"}
	header := []string{
		"Visit No", "Visit Date", "Department", "Patient Age", "Sex", "Arrival Mode", "Triage Level", "Waiting Minutes",
		"Treatment Cost", "Insurer", "Admitted", "Discharge Date",
	}
	var dirty, clean strings.Builder
	dirty.WriteString(csvLine(";", header...))
	clean.WriteString(csvLine(",", header...))
	for i := range 380 {
		date := day(2023, 5, 2).AddDate(0, 0, i*730/380+r.below(2))
		dept := r.skewed(6, 1.3)
		age := 1 + r.skewed(92, 0.8)
		if dept == 2 {
			age = r.between(0, 17)
		}
		triage := r.weighted(6, 22, 41, 31)
		cost := r.money(40, 260) + float64(3-triage)*r.money(60, 400)
		admitted, out, outDE := r.chance(0.24), "", ""
		if admitted {
			cost += r.money(600, 4200)
			if r.chance(0.93) {
				left := date.AddDate(0, 0, r.between(1, 14))
				out, outDE = iso(left), left.Format("02.01.2006")
			}
		}
		wait := ""
		if r.chance(0.95) {
			wait = strconv.Itoa(2 + triage*r.between(4, 38))
		}
		head := []string{fmt.Sprintf("V%05d", 20310+i)}
		tail := []string{departments[dept], strconv.Itoa(age), pick(r, []string{"F", "M"}),
			[]string{"walk-in", "ambulance", "referral", "helicopter"}[r.weighted(55, 26, 17, 2)],
			[]string{"red", "orange", "yellow", "green"}[triage], wait}
		insurer := []string{"MediPlus", "Union Health", "SafeCare", "none"}[r.weighted(44, 30, 18, 8)]
		dirty.WriteString(csvLine(";", append(append(append([]string{}, head...), date.Format("02.01.2006")),
			append(append([]string{}, tail...), grouped(cost, ".", ","), insurer,
				map[bool]string{true: "yes", false: "no"}[admitted], outDE)...)...))
		clean.WriteString(csvLine(",", append(append(append([]string{}, head...), iso(date)),
			append(append([]string{}, tail...), plain(cost), insurer, strconv.FormatBool(admitted), out)...)...))
	}
	return []file{
		{"Hospital Visits.csv", []byte(dirty.String())}, {"logical/hospital_visits.csv", []byte(clean.String())},
	}
}

// sensors builds a clean file of readings with timestamps and missing values.
func sensors() []file {
	r := &rng{state: 311}
	zones := []string{"Seedlings", "Tomatoes", "Herbs", "Orchids"}
	var b strings.Builder
	b.WriteString("recorded_at,sensor_id,zone,temperature_c,humidity_pct,co2_ppm,battery_v,status\n")
	at := time.Date(2025, 3, 1, 0, 0, 0, 0, time.UTC)
	for range 520 {
		at = at.Add(time.Duration(r.between(90, 580)) * time.Minute)
		s := r.below(9)
		zone := s % 4
		status := []string{"ok", "ok", "low battery", "fault"}[r.weighted(70, 20, 7, 3)]
		missing := status == "fault"
		value := func(p float64, s string) string {
			if missing || r.chance(p) {
				return ""
			}
			return s
		}
		warm := []float64{22, 20, 17, 25}[zone] + float64(at.Month()-3)*1.4
		if h := at.Hour(); h >= 9 && h < 19 {
			warm += 4.5
		}
		b.WriteString(csvLine(",", at.Format(time.DateTime), fmt.Sprintf("GH-%02d", s+1), zones[zone],
			value(0.03, strconv.FormatFloat(warm+4*r.unit()-2, 'f', 1, 64)),
			value(0.06, strconv.Itoa(r.between(42, 93))),
			value(0.10, strconv.Itoa(380+r.skewed(900, 2))), strconv.FormatFloat(2.6+1.1*r.unit(), 'f', 2, 64), status))
	}
	return []file{
		{"greenhouse_sensors.csv", []byte(b.String())}, {"logical/greenhouse_sensors.csv", []byte(b.String())},
	}
}

// staff builds a list of personnel with odd headings, dates as Americans write them
// and salaries with a currency sign.
func staff() []file {
	r := &rng{state: 313}
	first := []string{
		"Amara", "Bruno", "Celine", "Dario", "Esme", "Farid", "Greta", "Hideo", "Ines", "Jonas", "Kofi", "Lena",
		"Mateo",
	}
	last := []string{
		"Abbott", "Berger", "Castillo", "Duval", "Eriksen", "Fontaine", "Goldberg", "Hossain", "Ivanova", "Jensen",
	}
	depts := []string{"Production", "Sales", "R&D", "Logistics", "Finance", "HR"}
	jobs := [][]string{{
		"Operator", "Shift Lead", "Technician",
	}, {"Account Manager", "Sales Rep"}, {"Engineer", "Senior Engineer", "Technician"},
		{"Driver", "Warehouse Clerk"}, {"Accountant", "Controller"}, {"Recruiter", "HR Partner"}}
	header := []string{
		"Emp#", "Name (Last, First)", "Dept.", "Job Title", "Site/Location", "Start Dt.", "Gross Salary p.a. (EUR)",
		"FTE %", "Perf. Rating (1-5)", "Sick Days 2024", "Remote? Y/N", "Left On",
	}
	var dirty, clean strings.Builder
	dirty.WriteString(csvLine(",", header...))
	clean.WriteString(csvLine(",", header...))
	for i := range 130 {
		d := r.weighted(34, 22, 18, 15, 9, 6)
		start := r.dayIn(day(2009, 1, 5), day(2025, 6, 30))
		salary := float64(r.between(270, 760)) * 100
		if d == 2 {
			salary += float64(r.between(60, 240)) * 100
		}
		rating, left, leftUS := "", "", ""
		if r.chance(0.88) {
			rating = strconv.Itoa(1 + r.weighted(3, 10, 38, 34, 15))
		}
		if r.chance(0.13) {
			gone := r.dayIn(start, day(2025, 8, 31))
			left, leftUS = iso(gone), gone.Format("01/02/2006")
		}
		id, name := strconv.Itoa(1000+7*i), last[i%10]+", "+first[i/10]
		row := func(start, salary, left string, tail []string) []string {
			return append(append([]string{id, name, depts[d]}, tail[0], tail[1], start, salary),
				append(tail[2:6:6], left)...)
		}
		tail := []string{pick(r, jobs[d]), []string{"Graz", "Linz", "Porto", "Home Office"}[r.weighted(46, 25, 18, 11)],
			[]string{"100", "80", "60", "50"}[r.weighted(66, 15, 7, 12)], rating, strconv.Itoa(r.skewed(31, 2.2)),
			[]string{"Y", "N"}[r.weighted(35, 65)]}
		dirty.WriteString(csvLine(",",
			row(start.Format("01/02/2006"), "€ "+strings.TrimSuffix(grouped(salary, ",", "."), ".00"), leftUS,
				tail)...))
		clean.WriteString(csvLine(",", row(iso(start), strconv.Itoa(int(salary)), left, tail)...))
	}
	return []file{
		{"Staff List 2025.csv", []byte(dirty.String())}, {"logical/staff_list_2025.csv", []byte(clean.String())},
	}
}

// flats builds a landlord's database: rent is paid for a lease, a lease is of an
// apartment, and the building is two or three tables away from the money.
func flats() []file {
	r := &rng{state: 317}
	apartments := flatsApartments(r)
	leases := flatsLeases(r, len(apartments.rows))
	return []file{{"flats.sql", script("A landlord: buildings, apartments, tenants, leases, payments and repairs.",
		flatsBuildings(), apartments, flatsTenants(r), leases, flatsPayments(r, apartments, leases),
		flatsRepairs(r, len(apartments.rows)))}}
}

func flatsBuildings() *table {
	t := &table{name: "buildings", ddl: `CREATE TABLE buildings (
  building_id INTEGER PRIMARY KEY,
  building_name TEXT NOT NULL,
  district TEXT NOT NULL,
  year_built INTEGER NOT NULL,
  has_elevator INTEGER NOT NULL
)`}
	t.add(1, "Linden Court", "Westend", 1968, 1)
	t.add(2, "Mill House", "Old Town", 1904, 0)
	t.add(3, "Harbour Point", "Docklands", 2016, 1)
	t.add(4, "Cedar Rooms", "Westend", 1991, 0)
	t.add(5, "Station Lofts", "Docklands", 2009, 1)
	return t
}

func flatsApartments(r *rng) *table {
	t := &table{name: "apartments", ddl: `CREATE TABLE apartments (
  apartment_id INTEGER PRIMARY KEY,
  building_id INTEGER NOT NULL REFERENCES buildings(building_id),
  unit_no TEXT NOT NULL,
  floor INTEGER NOT NULL,
  bedrooms INTEGER NOT NULL,
  area_sqm REAL NOT NULL,
  monthly_rent REAL NOT NULL
)`}
	perBuilding := []int{14, 8, 12, 6, 10}
	for b, n := range perBuilding {
		for u := range n {
			rooms := r.weighted(20, 40, 28, 12)
			area := 26 + 19*float64(rooms) + r.money(0, 14)
			t.add(len(t.rows)+1, b+1, fmt.Sprintf("%d%c", u/3, 'A'+u%3), u/3, rooms, area, r.money(9, 17)*area)
		}
	}
	return t
}

const flatsTenantCount = 66

func flatsTenants(r *rng) *table {
	t := &table{name: "tenants", ddl: `CREATE TABLE tenants (
  tenant_id INTEGER PRIMARY KEY,
  full_name TEXT NOT NULL,
  born_on TEXT NOT NULL,
  occupation TEXT,
  email TEXT
)`}
	first := []string{"Ada", "Ben", "Cleo", "Dora", "Emil", "Fay", "Gus", "Hana", "Ivo", "June", "Karl"}
	last := []string{"Alder", "Birch", "Croft", "Dale", "Elm", "Frost"}
	for i := range flatsTenantCount {
		job := any([]string{
			"nurse", "teacher", "software developer", "student", "chef", "retired",
		}[r.weighted(16, 16, 24, 22, 10, 12)])
		if r.chance(0.06) {
			job = nil
		}
		f, l := first[i%11], last[i/11]
		t.add(i+1, f+" "+l, iso(r.dayIn(day(1946, 1, 1), day(2004, 12, 31))), job,
			strings.ToLower(f+"."+l)+"@mail.example")
	}
	return t
}

// flatsLeases lets every apartment once or twice; the last four apartments are
// empty, and the last tenants have never rented.
func flatsLeases(r *rng, apartments int) *table {
	t := &table{name: "leases", ddl: `CREATE TABLE leases (
  lease_id INTEGER PRIMARY KEY,
  apartment_id INTEGER NOT NULL REFERENCES apartments(apartment_id),
  tenant_id INTEGER NOT NULL REFERENCES tenants(tenant_id),
  starts_on TEXT NOT NULL,
  ends_on TEXT,
  deposit REAL NOT NULL
)`}
	for a := range apartments - 4 {
		start := r.dayIn(day(2022, 2, 1), day(2023, 9, 30))
		tenant := 1 + r.below(flatsTenantCount-5)
		if r.chance(0.4) {
			end := start.AddDate(0, r.between(7, 15), -1)
			t.add(len(t.rows)+1, a+1, tenant, iso(start), iso(end), float64(r.between(9, 28))*100)
			start, tenant = end.AddDate(0, 0, r.between(1, 60)), 1+r.below(flatsTenantCount-5)
		}
		t.add(len(t.rows)+1, a+1, tenant, iso(start), nil, float64(r.between(9, 28))*100)
	}
	return t
}

func flatsPayments(r *rng, apartments, leases *table) *table {
	t := &table{name: "payments", ddl: `CREATE TABLE payments (
  payment_id INTEGER PRIMARY KEY,
  lease_id INTEGER NOT NULL REFERENCES leases(lease_id),
  due_on TEXT NOT NULL,
  paid_on TEXT,
  amount REAL NOT NULL,
  method TEXT
)`}
	for _, l := range leases.rows {
		start, _ := time.Parse(time.DateOnly, l[3].(string))
		end := day(2025, 4, 30)
		if l[4] != nil {
			end, _ = time.Parse(time.DateOnly, l[4].(string))
		}
		for due := day(start.Year(), start.Month()+1, 1); due.Before(end); due = due.AddDate(0, 2, 0) {
			paid, method := any(nil), any(nil)
			if r.chance(0.94) {
				paid = iso(due.AddDate(0, 0, r.between(-4, 9)))
				method = []string{"bank transfer", "direct debit", "cash"}[r.weighted(45, 46, 9)]
			}
			t.add(len(t.rows)+1, l[0], iso(due), paid, apartments.rows[l[1].(int)-1][6], method)
		}
	}
	return t
}

func flatsRepairs(r *rng, apartments int) *table {
	t := &table{name: "repairs", ddl: `CREATE TABLE repairs (
  repair_id INTEGER PRIMARY KEY,
  apartment_id INTEGER NOT NULL REFERENCES apartments(apartment_id),
  category TEXT NOT NULL,
  contractor TEXT NOT NULL,
  reported_on TEXT NOT NULL,
  completed_on TEXT,
  cost REAL
)`}
	for i := range 150 {
		reported := day(2022, 3, 1).AddDate(0, 0, i*1140/150+r.below(6))
		done, cost := any(nil), any(nil)
		if r.chance(0.9) {
			done, cost = iso(reported.AddDate(0, 0, r.between(0, 34))), r.money(35, 900)
		}
		t.add(i+1, 1+r.skewed(apartments, 1.2),
			[]string{"plumbing", "heating", "electrical", "windows", "appliances"}[r.weighted(34, 26, 18, 9, 13)],
			[]string{"Hansen & Sons", "QuickFix", "Meyer Haustechnik", "Atlas Service"}[r.weighted(36, 30, 20, 14)],
			iso(reported), done, cost)
	}
	return t
}
