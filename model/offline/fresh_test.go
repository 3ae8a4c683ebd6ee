package offline_test

import (
	"testing"
)

// club creates a German list of members: first and last name in one column, and two dates besides the date of birth.
func club(t *testing.T) catalog {
	return makeSource(t, "mitglieder",
		`CREATE TABLE mitglieder ("Mitgliedsnr" TEXT, "Vorname" TEXT, "Nachname" TEXT, "Geburtsdatum" TEXT, `+
			`"Eintritt" TEXT, "Austritt" TEXT, "Jahresbeitrag" REAL, "Ort" TEXT)`,
		`INSERT INTO mitglieder VALUES ('M1', 'Ute', 'Jung', '1950-02-01', '2021-03-01', NULL, 60, 'Bonn'), ('M2', 'Ute', 'Jung', '1981-07-09', '2019-01-01', '2022-05-01', 120, 'Brühl'),
		('M3', 'Max', 'Groß', '2001-01-01', '2023-04-01', NULL, 96.5, 'Bonn'), ('M4', 'Kai', 'Lang', '1999-01-01', '2023-09-01', '2024-02-01', 60, 'Hürth')`)
}

func TestCompoundNames(t *testing.T) {
	c := club(t)
	for q, gold := range map[string]string{
		"what is the average annual fee?": "SELECT AVG(Jahresbeitrag) FROM mitglieder",
		"beitrag by ort":                  "",
		"new members per year": "SELECT strftime('%Y', Eintritt), COUNT(*) FROM " +
			"mitglieder GROUP BY 1",
		"how many members joined since 2020":               "SELECT COUNT(*) FROM mitglieder WHERE Eintritt >= '2020'",
		"when did the first member join":                   "SELECT MIN(Eintritt) FROM mitglieder",
		"how many members pay more than 80 euros":          "SELECT COUNT(*) FROM mitglieder WHERE Jahresbeitrag > 80",
		"how many members pay less than 2 thousand":        "SELECT 4",
		"how many members pay over 2 million":              "SELECT 0",
		"how many members joined on 1.3.2021":              "SELECT 1",
		"average fee of members who are still in the club": "", // "the club" does not mean all members here
		"Who is the oldest member?": "SELECT Vorname || ' ' || Nachname, Vorname, Nachname, " +
			"Geburtsdatum FROM mitglieder WHERE Mitgliedsnr = 'M1'",
	} {
		checkSame(t, c, "mitglieder", gold, q)
	}
}

// desk creates an export of tickets with abbreviated headers and a temperature.
func desk(t *testing.T) catalog {
	return makeSource(t, "desk",
		`CREATE TABLE tickets ("Ticket Key" TEXT, "Created (UTC)" TEXT, "Resolved (UTC)" TEXT, "Prio" TEXT, `+
			`"Assigned Agent" TEXT, "1st Resp. (min)" INTEGER, "CSAT 1-5" INTEGER, "Alarm" TEXT, "Temp C" REAL)`,
		`INSERT INTO tickets VALUES ('HD-1', '2026-01-01 08:00', NULL, 'P1', 'Ann', 5, 2, 'none', 31), ('HD-2', '2026-01-02 08:00', '2026-01-03 08:00', 'P2', NULL, 15, NULL, 'low', NULL),
		('HD-3', '2026-02-01 08:00', NULL, 'P1', 'Bob', 7, 5, 'none', 12), ('HD-4', '2026-02-05 08:00', '2026-02-06 08:00', 'P3', 'Ann', 9, 5, 'high', 30.5)`)
}

func TestAbbreviatedHeadersAndMissingValues(t *testing.T) {
	c := desk(t)
	for q, gold := range map[string]string{
		"average first response time by prio": `SELECT "Prio", AVG("1st Resp. (min)") FROM tickets GROUP ` +
			`BY 1`,
		"how many tickets are open":                  `SELECT COUNT(*) FROM tickets WHERE "Resolved (UTC)" IS NULL`,
		"unassigned tickets":                         `SELECT COUNT(*) FROM tickets WHERE "Assigned Agent" IS NULL`,
		"how many tickets are missing a temperature": `SELECT COUNT(*) FROM tickets WHERE "Temp C" IS NULL`,
		"how many tickets with temperature above 30": `SELECT COUNT(*) FROM tickets WHERE "Temp C" > 30`,
		"how many alarms were there?":                `SELECT COUNT(*) FROM tickets WHERE "Alarm" <> 'none'`,
		"share of tickets with an alarm":             `SELECT 50.0`,
		"who has the best csat?":                     `SELECT 'Bob', 5.0`,
		"how many different alarms are there":        `SELECT COUNT(DISTINCT "Alarm") FROM tickets`,
		"which ticket has the highest temperature":   `SELECT 'HD-1', 31.0`,
		"lowest temperature in c":                    `SELECT MIN("Temp C") FROM tickets`,
		"did we have more P1 in January or in February": "SELECT substr(\"Created (UTC)\", 1, 7), COUNT(*) FROM " +
			"tickets WHERE Prio = 'P1' GROUP BY 1",
	} {
		checkSame(t, c, "desk", gold, q)
	}
}

func TestAverageRowsPerOtherRow(t *testing.T) {
	c := surgery(t)
	checkSame(t, c, "surgery", "", "visits per pet on average")
	checkSame(t, c, "surgery", "", "average number of visits per pet")
	checkSame(t, c, "surgery", "SELECT COUNT(*) FROM visits WHERE cost > 60 AND status = 'done'", "visits over 60",
		"how many of those were done?")
}
