package offline_test

import "testing"

// These questions were once answered with another figure than the one that was asked for.
func TestNoOtherFigureIsGiven(t *testing.T) {
	c := makeSource(t, "taxi",
		`CREATE TABLE drivers (driver_id INTEGER PRIMARY KEY, driver_name TEXT NOT NULL, city TEXT NOT NULL)`,
		`CREATE TABLE rides (ride_id INTEGER PRIMARY KEY, driver_id INTEGER NOT NULL REFERENCES drivers(driver_id),
			picked_up_at TEXT NOT NULL, dropped_off_at TEXT NOT NULL, fare REAL NOT NULL, wait_s INTEGER NOT NULL,
			zone TEXT NOT NULL)`,
		`CREATE TABLE checks (check_id INTEGER PRIMARY KEY, driver_id INTEGER NOT NULL REFERENCES drivers(driver_id),
			opened_on TEXT NOT NULL, closed_on TEXT, reason TEXT NOT NULL, duration_s INTEGER NOT NULL)`,
		`CREATE TABLE audits (audit_id INTEGER PRIMARY KEY, driver_id INTEGER NOT NULL REFERENCES drivers(driver_id),
			opened_on TEXT NOT NULL, score INTEGER NOT NULL)`,
		`INSERT INTO drivers VALUES (1, 'Ada', 'Ulm'), (2, 'Bo', 'Bonn'), (3, 'Cy', 'Ulm')`,
		`INSERT INTO rides VALUES (1, 1, '2024-01-01 08:00:00', '2024-01-01 09:00:00', 20, 60, 'north'),
			(2, 1, '2024-01-02 08:00:00', '2024-01-02 08:30:00', 9, 300, 'north'),
			(3, 2, '2024-02-01 23:30:00', '2024-02-02 00:30:00', 30, 600, 'south')`,
		`INSERT INTO checks VALUES (1, 1, '2024-01-01', '2024-01-04', 'late', 240), (2, 2, '2024-01-01', NULL, 'rude',
			900), (3, 2, '2024-01-03', '2024-01-04', 'late', 360)`,
		`INSERT INTO audits VALUES (1, 1, '2024-01-01', 3), (2, 3, '2024-01-02', 5)`)
	for q, gold := range map[string]string{
		"open checks":                            "SELECT 1",
		"how many open checks are there":         "SELECT 1",
		"how many open audits are there":         "", // "open" is no condition on them
		"how many urgent checks are there":       "",
		"how many checks took over 5 minutes":    "SELECT 2",
		"rides that waited at least 5 minutes":   "SELECT 2",
		"rides over 30 km":                       "",
		"average duration of a check in minutes": "", // it is in seconds
		"how long does a ride take": "SELECT AVG(julianday(dropped_off_at) - " +
			"julianday(picked_up_at)) FROM rides",
		"how many minutes does a ride take":          "SELECT 50.0",
		"how long does an audit take":                "",
		"how long do checks take to be closed":       "SELECT 2.0",
		"top 2 reasons by checks":                    "SELECT 'late', 2 UNION SELECT 'rude', 1",
		"what is the reason for late rides":          "",
		"most popular driver":                        "", // by rides, checks or audits
		"top city by drivers":                        "SELECT 'Ulm', 2",
		"revenue and waits by zone":                  "SELECT 'north', 29.0, 360 UNION SELECT 'south', 30.0, 600",
		"total revenue in January 2024":              "SELECT 29.0",
		"how many rides lasted more than 20 minutes": "",
	} {
		checkSame(t, c, "taxi", gold, q)
	}
	d := makeSource(t, "account", `CREATE TABLE account (booked_on TEXT, partner TEXT, kind TEXT, amount REAL)`,
		`INSERT INTO account VALUES ('2024-01-01', 'A', 'Food', -20), ('2024-01-09', 'B', 'Wages', 900),
			('2024-02-01', 'C', 'Rent', -500), ('2024-02-03', 'A', 'Food', -30), ('2024-02-05', 'A', 'Food', 10)`)
	for q, gold := range map[string]string{
		"total income":                         "SELECT 910.0",
		"how much did I spend":                 "SELECT -550.0",
		"how much did I spend on food in 2024": "SELECT -50.0",
		"spending by kind":                     "SELECT 'Food', -50.0 UNION SELECT 'Rent', -500.0",
		"how much did I earn in February 2024": "SELECT 10.0",
		"which kind has the highest spending":  "SELECT 'Rent', -500.0",
		"average spending per month":           "",
		"total amount":                         "SELECT 360.0",
	} {
		checkSame(t, d, "account", gold, q)
	}
}
