package offline_test

import (
	"testing"
)

// payroll creates a list of employees with unusual headings and a running number.
func payroll(t *testing.T) catalog {
	return makeSource(t, "payroll",
		`CREATE TABLE crew_2026 ("Emp #" INTEGER, "Name (Last, First)" TEXT, "Dept." TEXT, "Job Title" TEXT, "Hire `+
			`Dt." TEXT, "Salary p.a. (GBP)" REAL, "Perf. Score (1-5)" INTEGER, "Remote? Y/N" TEXT)`,
		`INSERT INTO crew_2026 VALUES (101, 'Kay, Ann', 'Deck', 'Mate', '2020-02-01', 30000, 5, 'Y'), (102, 'Low, Bo', 'Deck', 'Cook', '2021-03-01', 41000, 3, 'N'),
		(103, 'May, Cy', 'Engine', 'Mate', '2021-07-01', 52000, 5, 'Y'), (104, 'Nye, Di', 'Engine', 'Stoker', '2023-01-09', 28000, 2, 'N')`)
}

// triage creates a list of visits with the age of each patient but no name.
func triage(t *testing.T) catalog {
	return makeSource(t, "triage",
		`CREATE TABLE ward_visits ("Visit No" TEXT, "Visit Date" TEXT, "Ward" TEXT, "Patient Age" INTEGER, "Sex" `+
			`TEXT, "Bill" REAL, "Admitted" INTEGER)`,
		`INSERT INTO ward_visits VALUES ('A1', '2025-01-01', 'Burns', 4, 'F', 900, 0), ('A2', '2025-01-08', 'Burns', 71, 'F', 20, 1),
		('A3', '2025-02-01', 'Eyes', 68, 'M', 75.5, 1), ('A4', '2025-02-03', 'Eyes', 33, 'F', 310, 0), ('A5', '2025-02-04', 'Eyes', 80, 'F', 10, 0)`)
}

func TestPeopleOfOneTable(t *testing.T) {
	for q, gold := range map[string]string{
		"employees per department":        `SELECT "Dept.", COUNT(*) FROM crew_2026 GROUP BY 1`,
		"headcount by job title":          `SELECT "Job Title", COUNT(*) FROM crew_2026 GROUP BY 1`,
		"how many people work in Engine?": `SELECT 2`,
		"who earns the most?":             `SELECT 'May, Cy', 52000.0`,
		"top 2 earners": `SELECT "Name (Last, First)", "Salary p.a. (GBP)", "Dept.", "Job ` +
			`Title", "Hire Dt.", "Perf. Score (1-5)", "Remote? Y/N" FROM crew_2026 ORDER BY "Salary p.a. (GBP)" DESC ` +
			`LIMIT 2`,
		"who joined in 2021": `SELECT "Name (Last, First)", "Hire Dt." FROM crew_2026 WHERE ` +
			`"Hire Dt." LIKE '2021%'`,
		"how many earn more than 40000":           `SELECT 2`,
		"how many work remotely?":                 `SELECT 2`,
		"average performance score by dept":       `SELECT "Dept.", AVG("Perf. Score (1-5)") FROM crew_2026 GROUP BY 1`,
		"number of people with a perf score of 5": `SELECT 2`,
	} {
		checkSame(t, payroll(t), "payroll", gold, q)
	}
	for q, gold := range map[string]string{
		"number of visits":                        `SELECT 5`,
		"visits by sex":                           `SELECT Sex, COUNT(*) FROM ward_visits GROUP BY 1`,
		"how many patients came to Eyes":          `SELECT 3`,
		"how many women over 65 were there?":      `SELECT 2`,
		"how many children under 10 came in":      `SELECT 1`,
		"how many children came in":               ``, // the question must say how old they are
		"how many patients older than 70":         `SELECT 2`,
		"how old is the oldest patient?":          `SELECT 80`,
		"how many admissions were there per ward": `SELECT Ward, COUNT(*) FROM ward_visits WHERE Admitted GROUP BY 1`,
		"how often was the bill above 300":        `SELECT 2`,
	} {
		checkSame(t, triage(t), "triage", gold, q)
	}
}

// The rows of shires contain numbers of people, but are not people.
func TestRowsThatAreNotPeople(t *testing.T) {
	c := makeSource(t, "shires", `CREATE TABLE shires (shire TEXT, sex TEXT, population INTEGER)`,
		`INSERT INTO shires VALUES ('Kent', 'F', 900), ('Kent', 'M', 880), ('Devon', 'F', 600), ('Devon', 'M', 590)`)
	checkSame(t, c, "shires", "", "how many people live in Kent")
}

// Houses have both a size and a rent.
func TestSizesKindsAndEqualNumbers(t *testing.T) {
	c := makeSource(t, "houses",
		`CREATE TABLE houses (house_id INTEGER PRIMARY KEY, street TEXT, bedrooms INTEGER, area_sqm REAL, `+
			`monthly_rent REAL)`,
		`CREATE TABLE repairs (repair_id INTEGER PRIMARY KEY, house_id INTEGER REFERENCES houses(house_id), category `+
			`TEXT, cost REAL, reported_on TEXT)`,
		`INSERT INTO houses VALUES (1, 'Elm Row', 2, 61, 900), (2, 'Oak Row', 3, 90, 850), (3, 'Ash Row', 2, 55.5, `+
			`1200)`,
		`INSERT INTO repairs VALUES (1, 1, 'roof', 80, '2025-01-02'), (2, 1, 'roof', 95, '2025-02-02'), (3, 3, `+
			`'boiler', 700, '2025-02-09')`)
	for q, gold := range map[string]string{
		"how many houses have 2 bedrooms":   `SELECT 2`,
		"what kinds of repairs are there":   `SELECT DISTINCT category FROM repairs`,
		"which is the smallest house?":      `SELECT 3, 55.5`,
		"which house has the highest rent?": `SELECT 3, 1200.0`,
	} {
		checkSame(t, c, "houses", gold, q)
	}
	checkSame(t, c, "houses", `SELECT 'roof', 2`, "how many repairs by category", "which one has the most?")
}
