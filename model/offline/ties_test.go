package offline_test

import (
	"database/sql"
	"path/filepath"
	"strings"
	"testing"
)

// The answer names all groups or rows that share the first place, even if the question asks for one, because LIMIT 1
// would present one of them as the only one.
func TestTiesAreAllNamed(t *testing.T) {
	path := filepath.Join(t.TempDir(), "cup.db")
	db, err := sql.Open("sqlite", "file:"+path)
	if err != nil {
		t.Fatal(err)
	}
	defer db.Close()
	for _, q := range []string{
		"CREATE TABLE teams (id INTEGER PRIMARY KEY, team TEXT, city TEXT, budget REAL)",
		"CREATE TABLE matches (id INTEGER PRIMARY KEY, team_id INTEGER REFERENCES teams, played_on DATE, goals " +
			"INTEGER)",
		"INSERT INTO teams VALUES (1, 'Foxes', 'Ghent', 90), (2, 'Owls', 'Liège', 90), (3, 'Bears', 'Namur', 40), " +
			"(4, 'Hares', 'Mons', 55)",
		// Goals: Foxes 6, Owls 6, Bears 4, Hares 1; matches: 3, 2, 2, 1.
		"INSERT INTO matches VALUES (1, 1, '2024-03-02', 2), (2, 1, '2024-03-09', 3), (3, 1, '2024-03-16', 1), (4, " +
			"2, '2024-03-02', 5), (5, 2, '2024-04-06', 1), (6, 3, '2024-03-09', 4), (7, 3, '2024-04-13', 0), (8, 4, " +
			"'2024-04-20', 1)",
	} {
		if _, err := db.Exec(q); err != nil {
			t.Fatalf("%s: %v", q, err)
		}
	}
	c := catalog{"cup": open(t, "cup", path)}
	const goals = "SELECT team, SUM(goals) FROM matches JOIN teams ON teams.id = team_id GROUP BY 1 "
	const played = "SELECT team, COUNT(*) FROM matches JOIN teams ON teams.id = team_id GROUP BY 1 "
	for q, want := range map[string]struct{ gold, says string }{
		"which team has the most goals?": {
			goals + "HAVING SUM(goals) = 6", "Foxes and Owls have the highest total goals, **6** each.",
		},
		"which team has the fewest goals?": {goals + "HAVING SUM(goals) = 1", "**Hares**: "},
		"total goals by team": {
			goals, "Foxes and Owls have the highest total goals, **6** each; Hares the lowest, **1**.",
		},
		"top 3 teams by total goals": {
			goals + "HAVING SUM(goals) > 1", "Foxes and Owls have the highest total goals, **6** each.",
		},
		"which team played the most matches?": {played + "HAVING COUNT(*) = 3", "**Foxes**: "},
		"which team has the most matches?":    {played + "HAVING COUNT(*) = 3", "**Foxes**: "},
		"which team has the highest budget?": {
			"SELECT team, budget FROM teams WHERE budget = 90", "2 teams share the highest budget, 90.",
		},
		"which team has the lowest budget?": {"SELECT team, budget FROM teams WHERE budget = 40", "Bears"},
		"which month has the most matches?": {
			"SELECT strftime('%Y-%m', played_on), COUNT(*) FROM matches GROUP BY 1 HAVING COUNT(*) = 5", "**2024-03**",
		},
		"highest budget": {"SELECT 90", "90"},
		"which team has the lowest median of goals?": {"SELECT 'Hares', 1", "**Hares**"},
	} {
		s := checkSame(t, c, "cup", want.gold, q)
		if !strings.Contains(s.text, want.says) {
			t.Errorf("%q is answered without %q:\n%s", q, want.says, s.text)
		}
	}
}
