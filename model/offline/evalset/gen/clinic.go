package main

import "time"

var (
	firstNames = []string{
		"Ana", "Bruno", "Carla", "Diogo", "Elena", "Filipe", "Gloria", "Hugo", "Irene", "Jonas", "Katia", "Luis",
		"Marta", "Nuno", "Olga", "Paulo", "Quintus", "Rita", "Sergio", "Teresa", "Umberto", "Vera", "Walter", "Xenia",
		"Yara", "Zeno",
	}
	lastNames = []string{
		"Almeida", "Barros", "Castro", "Duarte", "Esteves", "Fonseca", "Gomes", "Henriques", "Ibarra", "Jardim",
		"Klein", "Lopes", "Matos", "Neves", "Oliveira", "Pinto", "Queiroz", "Ramos", "Sousa", "Tavares", "Urbano",
		"Vidal",
	}
)

// clinic builds a group practice: snake_case, plural tables.
func clinic() []file {
	r := &rng{state: 11}
	departments := clinicDepartments()
	doctors := clinicDoctors(r)
	patients := clinicPatients(r)
	appointments, invoices := clinicVisits(r)
	return []file{{"clinic.sql", script("A clinic: who came, to which doctor, and what was billed.",
		departments, doctors, patients, appointments, invoices)}}
}

func clinicDepartments() *table {
	t := &table{name: "departments", ddl: `CREATE TABLE departments (
  department_id INTEGER PRIMARY KEY,
  department_name TEXT NOT NULL,
  floor INTEGER NOT NULL
)`}
	for i, name := range []string{
		"Heart Center", "Skin Center", "Family Care", "Bones and Joints", "Children", "Eye Center",
	} {
		t.add(i+1, name, i/2+1)
	}
	return t
}

func clinicDoctors(r *rng) *table {
	t := &table{name: "doctors", ddl: `CREATE TABLE doctors (
  doctor_id INTEGER PRIMARY KEY,
  full_name TEXT NOT NULL,
  specialty TEXT NOT NULL,
  hired_on TEXT NOT NULL,
  department_id INTEGER NOT NULL REFERENCES departments(department_id)
)`}
	specialties := []string{
		"Cardiology", "Dermatology", "General Practice", "Orthopedics", "Pediatrics", "Ophthalmology",
	}
	for i := range 30 {
		s := i % 6
		if i >= 18 {
			s = r.weighted(5, 3, 9, 4, 4, 2)
		}
		name := "Dr. " + firstNames[(i*7+3)%26] + " " + lastNames[(i*5+1)%22]
		t.add(i+1, name, specialties[s], iso(r.dayIn(day(2012, 1, 10), day(2023, 9, 1))), s+1)
	}
	return t
}

func clinicPatients(r *rng) *table {
	t := &table{name: "patients", ddl: `CREATE TABLE patients (
  patient_id INTEGER PRIMARY KEY,
  first_name TEXT NOT NULL,
  last_name TEXT NOT NULL,
  birth_date TEXT NOT NULL,
  gender TEXT NOT NULL,
  city TEXT NOT NULL,
  insurance_provider TEXT
)`}
	cities := []string{"Porto", "Braga", "Coimbra", "Aveiro", "Viseu", "Faro"}
	insurers := []any{"Medisure", "HealthFirst", "Unicare", "Saudemais", nil}
	for i := range 180 {
		gender := []string{"F", "M"}[r.weighted(55, 45)]
		t.add(i+1, firstNames[i%26], lastNames[(i/26+i*3)%22], iso(r.dayIn(day(1938, 1, 1), day(2021, 12, 31))),
			gender, cities[r.weighted(60, 38, 27, 20, 14, 9)], insurers[r.weighted(30, 24, 18, 12, 10)])
	}
	return t
}

func clinicVisits(r *rng) (appointments, invoices *table) {
	appointments = &table{name: "appointments", ddl: `CREATE TABLE appointments (
  appointment_id INTEGER PRIMARY KEY,
  patient_id INTEGER NOT NULL REFERENCES patients(patient_id),
  doctor_id INTEGER NOT NULL REFERENCES doctors(doctor_id),
  appointment_date TEXT NOT NULL,
  status TEXT NOT NULL,
  duration_minutes INTEGER NOT NULL
)`}
	invoices = &table{name: "invoices", ddl: `CREATE TABLE invoices (
  invoice_id INTEGER PRIMARY KEY,
  appointment_id INTEGER NOT NULL REFERENCES appointments(appointment_id),
  amount REAL NOT NULL,
  issued_on TEXT NOT NULL,
  paid_on TEXT,
  payment_method TEXT
)`}
	statuses := []string{"completed", "cancelled", "no_show"}
	for i := range 600 {
		date := day(2022, 1, 3).AddDate(0, 0, i*1080/600+r.below(4))
		status := statuses[r.weighted(74, 16, 10)]
		if date.After(day(2024, 12, 1)) {
			status = "scheduled"
		}
		appointments.add(i+1, 1+r.skewed(165, 1.3), 1+r.skewed(30, 1.7), iso(date), status, 10+5*r.below(10))
		if status == "completed" {
			clinicInvoice(r, invoices, i+1, date)
		}
	}
	return appointments, invoices
}

func clinicInvoice(r *rng, invoices *table, appointment int, date time.Time) {
	issued := date.AddDate(0, 0, r.between(0, 6))
	var paid, method any
	if r.chance(0.84) {
		paid = iso(issued.AddDate(0, 0, r.between(1, 45)))
		method = []string{"card", "cash", "bank transfer", "insurance"}[r.weighted(40, 14, 20, 26)]
	}
	invoices.add(len(invoices.rows)+1, appointment, r.money(35, 420), iso(issued), paid, method)
}
