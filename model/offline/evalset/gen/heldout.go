package main

import (
	"fmt"
	"strconv"
	"strings"
	"time"
)

// library builds a town library: snake_case, plural tables, loans that point at
// books, members and branches.
func library() []file {
	r := &rng{state: 101}
	branches, authors := libraryBranches(), libraryAuthors(r)
	books, members := libraryBooks(r), libraryMembers(r)
	loans := libraryLoans(r)
	return []file{
		{
			"library.sql", script("A town library: books, members and what they borrowed.", branches, authors, books,
				members, loans),
		},
	}
}

const (
	libraryAuthorCount = 28
	libraryBookCount   = 90
	libraryMemberCount = 130
)

func libraryBranches() *table {
	t := &table{name: "branches", ddl: `CREATE TABLE branches (
  branch_id INTEGER PRIMARY KEY,
  branch_name TEXT NOT NULL,
  district TEXT NOT NULL,
  opened_on TEXT NOT NULL,
  opening_hours INTEGER NOT NULL
)`}
	t.add(1, "Central Library", "Old Town", "1964-05-11", 58)
	t.add(2, "Riverside", "Docklands", "1988-09-03", 40)
	t.add(3, "Hillside", "North End", "1997-03-17", 34)
	t.add(4, "Maple Street", "North End", "2009-10-01", 30)
	t.add(5, "Station Reading Room", "Docklands", "2019-06-24", 24)
	return t
}

func libraryAuthors(r *rng) *table {
	t := &table{name: "authors", ddl: `CREATE TABLE authors (
  author_id INTEGER PRIMARY KEY,
  author_name TEXT NOT NULL,
  nationality TEXT NOT NULL,
  born INTEGER
)`}
	first := []string{
		"Agnes", "Bertil", "Colette", "Dara", "Emeka", "Freya", "Giulio", "Hana", "Ivo", "Judit", "Kofi", "Leonie",
		"Mateus", "Nadia",
	}
	last := []string{
		"Ashworth", "Bergman", "Duval", "Eze", "Ferrante", "Ganz", "Horvat", "Ito", "Jansen", "Kovac", "Lindqvist",
		"Moreau", "Nkemelu", "Okada",
	}
	for i := range libraryAuthorCount {
		var born any = r.between(1890, 1992)
		if r.chance(0.12) {
			born = nil
		}
		t.add(i+1, first[i%14]+" "+last[(i*5+i/14)%14],
			[]string{
				"British", "Swedish", "French", "Nigerian", "Italian", "Japanese",
			}[r.weighted(30, 14, 18, 12, 10, 8)], born)
	}
	return t
}

func libraryBooks(r *rng) *table {
	t := &table{name: "books", ddl: `CREATE TABLE books (
  book_id INTEGER PRIMARY KEY,
  title TEXT NOT NULL,
  author_id INTEGER NOT NULL REFERENCES authors(author_id),
  genre TEXT NOT NULL,
  language TEXT NOT NULL,
  published_year INTEGER NOT NULL,
  pages INTEGER NOT NULL,
  price REAL NOT NULL
)`}
	adjectives := []string{
		"Silent", "Crooked", "Winter", "Glass", "Last", "Hidden", "Copper", "Salt", "Broken", "Distant",
	}
	nouns := []string{"Orchard", "Lighthouse", "Ledger", "Garden", "River", "Station", "Harbour", "Mirror", "Winter"}
	for i := range libraryBookCount {
		t.add(i+1, "The "+adjectives[i%10]+" "+nouns[(i/10+i)%9], 1+r.skewed(libraryAuthorCount, 1.2),
			[]string{
				"Crime", "Science Fiction", "Romance", "History", "Biography", "Children",
			}[r.weighted(28, 16, 15, 14, 9, 18)],
			[]string{"English", "German", "French", "Polish"}[r.weighted(64, 18, 12, 6)],
			r.between(1958, 2023), r.between(96, 820), r.money(6, 38))
	}
	return t
}

func libraryMembers(r *rng) *table {
	t := &table{name: "members", ddl: `CREATE TABLE members (
  member_id INTEGER PRIMARY KEY,
  full_name TEXT NOT NULL,
  membership TEXT NOT NULL,
  joined_on TEXT NOT NULL,
  birth_year INTEGER NOT NULL,
  home_branch_id INTEGER NOT NULL REFERENCES branches(branch_id),
  email TEXT
)`}
	first := []string{
		"Amira", "Boris", "Celia", "Dominik", "Esther", "Felix", "Greta", "Hakim", "Ingrid", "Jasper", "Karin",
		"Lorenz", "Mona",
	}
	last := []string{"Abel", "Brandt", "Clarke", "Dietz", "Engel", "Frost", "Gruber", "Haas", "Iversen", "Jung"}
	for i := range libraryMemberCount {
		name := first[i%13] + " " + last[i/13]
		var email any = strings.ToLower(strings.ReplaceAll(name, " ", ".")) + "@example.org"
		if r.chance(0.2) {
			email = nil
		}
		t.add(i+1, name, []string{"adult", "student", "child", "senior"}[r.weighted(50, 22, 16, 12)],
			iso(r.dayIn(day(2018, 1, 8), day(2024, 9, 30))), r.between(1938, 2017), 1+r.skewed(5, 1.5), email)
	}
	return t
}

func libraryLoans(r *rng) *table {
	t := &table{name: "loans", ddl: `CREATE TABLE loans (
  loan_id INTEGER PRIMARY KEY,
  book_id INTEGER NOT NULL REFERENCES books(book_id),
  member_id INTEGER NOT NULL REFERENCES members(member_id),
  branch_id INTEGER NOT NULL REFERENCES branches(branch_id),
  loaned_on TEXT NOT NULL,
  due_on TEXT NOT NULL,
  returned_on TEXT,
  renewals INTEGER NOT NULL,
  fine REAL
)`}
	last := day(2024, 12, 30)
	for i := range 1100 {
		loaned := earlier(day(2023, 1, 3).AddDate(0, 0, i*727/1100+r.below(2)), last)
		renewals := r.skewed(4, 2)
		due := loaned.AddDate(0, 0, 21*(1+renewals))
		back := loaned.AddDate(0, 0, r.between(2, 21*(1+renewals)+9))
		var returned, fine any
		if !back.After(last) && r.chance(0.97) {
			returned = iso(back)
		}
		if back.After(due) && returned != nil {
			fine = float64(int(back.Sub(due).Hours()/24)) * 0.35
		}
		t.add(i+1, 1+r.skewed(libraryBookCount, 1.35), 1+r.skewed(libraryMemberCount-6, 1.3), 1+r.skewed(5, 1.6),
			iso(loaned), iso(due), returned, renewals, fine)
	}
	return t
}

// league builds two seasons of a football league: CamelCase, singular tables, and
// a match that points at clubs twice.
func league() []file {
	r := &rng{state: 103}
	stadiums, clubs, players := leagueGrounds(r), leagueClubs(), leaguePlayers(r)
	matches, goals := leagueMatches(r)
	return []file{{"league.sql", script("Two seasons of a football league.", stadiums, clubs, players, matches, goals)}}
}

const (
	leagueClubCount = 10
	leagueSquad     = 14
)

func leagueGrounds(r *rng) *table {
	t := &table{name: "Stadium", ddl: `CREATE TABLE Stadium (
  StadiumId INTEGER PRIMARY KEY,
  StadiumName TEXT NOT NULL,
  City TEXT NOT NULL,
  Capacity INTEGER NOT NULL,
  OpenedYear INTEGER NOT NULL
)`}
	cities := []string{
		"Aldport", "Brimley", "Carrow", "Dunmore", "Eastvale", "Aldport", "Granton", "Hexley", "Inverby", "Brimley",
	}
	for i, name := range []string{
		"Harbour Park", "Mill Lane", "The Meadow", "Castle Ground", "Vale Arena", "Dockyard Stadium", "Forge Road",
		"Priory Field", "North Shore", "Canal Street",
	} {
		t.add(i+1, name, cities[i], 100*r.between(62, 410), r.between(1904, 2018))
	}
	return t
}

func leagueClubs() *table {
	t := &table{name: "Club", ddl: `CREATE TABLE Club (
  ClubId INTEGER PRIMARY KEY,
  ClubName TEXT NOT NULL,
  FoundedYear INTEGER NOT NULL,
  StadiumId INTEGER NOT NULL REFERENCES Stadium(StadiumId),
  Coach TEXT NOT NULL
)`}
	for i, c := range []struct {
		name    string
		founded int
		coach   string
	}{{
		"Aldport United", 1889, "Roy Kessler",
	}, {
		"Brimley Town", 1902, "Mikael Strand",
	}, {"Carrow Rangers", 1911, "Paul Tench"}, {"Dunmore City", 1898, "Andre Silveira"},
		{
			"Eastvale FC", 1923, "Tom Okoro",
		}, {
			"Dockers 05", 1905, "Jan Wouters",
		}, {"Granton Athletic", 1931, "Steve Marsh"}, {"Hexley Rovers", 1894, "Luigi Baro"},
		{"Inverby Thistle", 1908, "Craig Muir"}, {"Canal Street Wanderers", 1947, "Dieter Holm"}} {
		t.add(i+1, c.name, c.founded, i+1, c.coach)
	}
	return t
}

func leaguePlayers(r *rng) *table {
	t := &table{name: "Player", ddl: `CREATE TABLE Player (
  PlayerId INTEGER PRIMARY KEY,
  PlayerName TEXT NOT NULL,
  ClubId INTEGER NOT NULL REFERENCES Club(ClubId),
  Position TEXT NOT NULL,
  Nationality TEXT NOT NULL,
  BirthDate TEXT NOT NULL,
  HeightCm INTEGER,
  MarketValue REAL NOT NULL
)`}
	first := []string{
		"Alex", "Bruno", "Carl", "Danny", "Emre", "Fabio", "Gavin", "Henrik", "Isak", "Jamal", "Kai", "Liam", "Marko",
		"Nils", "Oscar", "Pedro", "Quinn",
	}
	last := []string{
		"Adams", "Brekke", "Costa", "Doyle", "Evans", "Fofana", "Gallo", "Hughes", "Ilic", "Jones", "Kone", "Larsen",
		"Mensah", "Novak", "Owen", "Pires", "Quist", "Reyes", "Stone",
	}
	for i := range leagueClubCount * leagueSquad {
		slot := i % leagueSquad
		position := "Goalkeeper"
		switch {
		case slot >= 10:
			position = "Forward"
		case slot >= 6:
			position = "Midfielder"
		case slot >= 2:
			position = "Defender"
		}
		var height any = r.between(168, 199)
		if r.chance(0.06) {
			height = nil
		}
		t.add(i+1, first[i%17]+" "+last[i%19], i/leagueSquad+1, position,
			[]string{"England", "Scotland", "Norway", "Brazil", "Ghana", "Croatia"}[r.weighted(40, 18, 10, 12, 9, 8)],
			iso(r.dayIn(day(1988, 1, 1), day(2005, 12, 31))), height, float64(r.between(8, 900))*10000)
	}
	return t
}

func leagueMatches(r *rng) (matches, goals *table) {
	matches = &table{name: "Match", ddl: `CREATE TABLE Match (
  MatchId INTEGER PRIMARY KEY,
  Season TEXT NOT NULL,
  MatchDate TEXT NOT NULL,
  HomeClubId INTEGER NOT NULL REFERENCES Club(ClubId),
  AwayClubId INTEGER NOT NULL REFERENCES Club(ClubId),
  HomeGoals INTEGER NOT NULL,
  AwayGoals INTEGER NOT NULL,
  Attendance INTEGER,
  Referee TEXT NOT NULL
)`}
	goals = &table{name: "Goal", ddl: `CREATE TABLE Goal (
  GoalId INTEGER PRIMARY KEY,
  MatchId INTEGER NOT NULL REFERENCES Match(MatchId),
  PlayerId INTEGER NOT NULL REFERENCES Player(PlayerId),
  Minute INTEGER NOT NULL,
  GoalType TEXT NOT NULL
)`}
	referees := []string{"P. Hammond", "S. Acheson", "M. Ridley", "T. Vance", "L. Obuya"}
	for season := range 2 {
		start := day(2022+season, time.August, 6)
		for round := range 2 * (leagueClubCount - 1) {
			for pair := range leagueClubCount / 2 {
				home, away := leaguePair(round, pair)
				date := start.AddDate(0, 0, 14*round+[]int{0, 0, 1, 1, 6}[r.weighted(40, 20, 20, 10, 10)])
				var crowd any = r.between(3900, 31000)
				if r.chance(0.04) {
					crowd = nil
				}
				scored := [2]int{r.skewed(5, 1.3), r.skewed(5, 1.9)}
				id := len(matches.rows) + 1
				matches.add(id, fmt.Sprintf("%d/%02d", 2022+season, 23+season), iso(date), home, away, scored[0],
					scored[1], crowd, pick(r, referees))
				for side, club := range []int{home, away} {
					for range scored[side] {
						slot := leagueSquad - 1 - r.skewed(leagueSquad-2, 1.8)
						goals.add(len(goals.rows)+1, id, (club-1)*leagueSquad+slot+1, r.between(1, 94),
							[]string{"open play", "header", "penalty", "free kick"}[r.weighted(62, 18, 14, 6)])
					}
				}
			}
		}
	}
	return matches, goals
}

// leaguePair is the pair of clubs of a round, by the circle method; the second half
// of a season has the grounds swapped.
func leaguePair(round, pair int) (home, away int) {
	n := leagueClubCount - 1
	turn := round % n
	a, b := (turn+pair)%n+1, (turn+n-pair)%n+1
	if pair == 0 {
		b = leagueClubCount
	}
	if (turn+pair)%2 == 1 {
		a, b = b, a
	}
	if round >= n {
		a, b = b, a
	}
	return a, b
}

// deliveries builds a semicolon file as a German program exports it: Latin-1,
// decimal commas, DD.MM.YYYY, a header used twice and a totals row.
func deliveries() []file {
	r := &rng{state: 107}
	customers := [][2]string{{
		"Bäckerei Krüger", "Göttingen",
	}, {"Möbelhaus Öhler", "Kassel"}, {"Café Lügner", "Göttingen"}, {"Baumarkt Süd", "Fürth"},
		{
			"Großhandel Weiß", "Nürnberg",
		}, {"Apotheke am Markt", "Erfurt"}, {"Gärtnerei Blüml", "Fürth"}, {"Autohaus Jäger", "Kassel"}}
	depots := []string{"Nord", "Süd", "Ost"}
	drivers := []string{"Jörg Böhm", "Anja Schäfer", "Murat Kaya", "Käthe Vogt", "Uwe Grün"}
	goods := []string{"Lebensmittel", "Möbel", "Baustoffe", "Getränke", "Pflanzen"}
	header := []string{
		"Delivery Date", "Depot", "Driver", "Customer", "City", "Goods", "Pallets", "Weight kg", "Freight EUR",
		"Status", "Remark",
	}

	var dirty, clean strings.Builder
	dirty.WriteString(csvLine(";", append(header, "Remark")...))
	clean.WriteString(csvLine(",", append(header, "Remark_2")...))
	pallets, weight, freight := 0, 0.0, 0.0
	for i := range 300 {
		date := day(2023, 7, 3).AddDate(0, 0, i*540/300+r.below(2))
		c, n := customers[r.skewed(8, 1.25)], r.between(1, 22)
		kg := float64(r.between(900*n, 4200*n)) / 10
		eur := r.money(35+11*float64(n), 60+24*float64(n))
		status := []string{"delivered", "delayed", "refused"}[r.weighted(82, 13, 5)]
		remark, second := pick(r, []string{"", "", "", "Rampe 2", "vor 8 Uhr", "Anruf nötig"}), ""
		if r.chance(0.1) {
			second = pick(r, []string{"Palette beschädigt", "Lieferschein fehlt"})
		}
		depot, driver, what := depots[r.skewed(3, 1.3)], drivers[r.skewed(5, 1.3)], goods[r.skewed(5, 1.2)]
		kgText := strconv.FormatFloat(kg, 'f', 1, 64)
		dirty.WriteString(csvLine(";", date.Format("02.01.2006"), depot, driver, c[0], c[1], what, strconv.Itoa(n),
			strings.Replace(kgText, ".", ",", 1), grouped(eur, ".", ","), status, remark, second))
		clean.WriteString(csvLine(",", iso(date), depot, driver, c[0], c[1], what, strconv.Itoa(n), kgText, plain(eur),
			status, remark, second))
		pallets, weight, freight = pallets+n, weight+kg, freight+eur
	}
	dirty.WriteString(csvLine(";", "Summe", "", "", "", "", "", strconv.Itoa(pallets),
		strings.Replace(strconv.FormatFloat(weight, 'f', 1, 64), ".", ",", 1), grouped(freight, ".", ","), "", "", ""))
	return []file{
		{
			"Fuhrpark Lieferungen.csv", latin1(dirty.String()),
		}, {"logical/fuhrpark_lieferungen.csv", []byte(clean.String())},
	}
}

// rentals builds a comma file with euro money, dates written in two ways and
// blank lines.
func rentals() []file {
	r := &rng{state: 109}
	items := []struct {
		name, category string
		rate           float64
	}{{
		"Mini excavator", "Earthmoving", 210,
	}, {"Plate compactor", "Earthmoving", 48}, {"Scissor lift", "Access", 135}, {"Scaffold tower", "Access", 62},
		{
			"Diesel generator", "Power", 95,
		}, {"Light mast", "Power", 54}, {"Concrete mixer", "Masonry", 33}, {"Wall saw", "Masonry", 118}}
	customers := []string{
		"Halden Bau", "Brightwell Homes", "Ruiz & Sons", "Oakfield Council", "Peak Events", "Marlow Roofing",
		"Santoro Garden Design",
	}
	header := []string{
		"Contract No", "Start Date", "Return Date", "Customer", "Equipment", "Category", "Days", "Total", "Deposit",
		"Damaged", "Branch",
	}

	var dirty, clean strings.Builder
	dirty.WriteString("\n" + csvLine(",", header...))
	clean.WriteString(csvLine(",", header...))
	for i := range 260 {
		start := day(2023, 3, 1).AddDate(0, 0, i*650/260+r.below(2))
		days := 1 + r.skewed(28, 2)
		item, who := items[r.skewed(8, 1.15)], customers[r.skewed(7, 1.3)]
		total := r.money(0.85*item.rate*float64(days), 1.1*item.rate*float64(days))
		back := start.AddDate(0, 0, days)
		shape := time.DateOnly
		if i%3 == 1 {
			shape = "02 Jan 2006"
		}
		returned, returnedISO := back.Format(shape), iso(back)
		if r.chance(0.06) {
			returned, returnedISO = "", ""
		}
		deposit, depositText := "", ""
		if r.chance(0.8) {
			v := float64(50 * r.between(1, 40))
			deposit, depositText = plain(v), "€"+grouped(v, ",", ".")
		}
		damaged := r.chance(0.11)
		branch := []string{"Leeds", "Bristol", "Cardiff"}[r.weighted(50, 30, 20)]
		no := fmt.Sprintf("R-%04d", 2001+i)
		dirty.WriteString(csvLine(",", no, start.Format(shape), returned, who, item.name, item.category,
			strconv.Itoa(days), "€"+grouped(total, ",", "."), depositText,
			map[bool]string{true: "Yes", false: "No"}[damaged], branch))
		clean.WriteString(csvLine(",", no, iso(start), returnedISO, who, item.name, item.category, strconv.Itoa(days),
			plain(total), deposit, strconv.FormatBool(damaged), branch))
		if i%45 == 44 {
			dirty.WriteString("\n")
		}
	}
	return []file{
		{
			"Equipment-Rentals Export.csv", []byte(dirty.String()),
		}, {"logical/equipment_rentals_export.csv", []byte(clean.String())},
	}
}
