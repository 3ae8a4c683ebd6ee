// Package evalset is the frozen evaluation set of the offline planner: small synthetic sources, questions about them in
// plain words, and the SQL whose result is the right answer. README.md specifies how a question is read and how an
// answer is compared. The set is for judging, never for tuning: only tests import it.
//
// Besides the set that is used in development, there are a formerly held-out set, a blind set, whose failures nobody
// works on, and two sets that were measured before their failures were worked on: a fresh and an unseen one. The set
// Several tests the choice among several sources.
package evalset

import (
	"bytes"
	"database/sql"
	"embed"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path"
	"path/filepath"

	_ "modernc.org/sqlite" // the driver that makes the .db files
)

//go:embed README.md questions.jsonl pairs.jsonl data heldout blind fresh unseen sources
var files embed.FS

// Set is one of the evaluation sets, by the folder it is in.
type Set string

// The sets. Frozen is the zero Set.
const (
	Frozen  Set = ""
	Heldout Set = "heldout"
	Blind   Set = "blind"
	Fresh   Set = "fresh"
	Unseen  Set = "unseen"
	// Several has Choices instead of questions and pairs.
	Several Set = "sources"
)

// The kinds of source.
const (
	KindSQLite = "sqlite"
	KindCSV    = "csv"
)

// Source is one synthetic data source.
type Source struct {
	// Name is the name of the source in questions. For a CSV it is also the name of its only table in gold SQL.
	Name string
	// Kind is KindSQLite or KindCSV.
	Kind string
	// File is the name of the file that Materialize writes.
	File string
	// SQL is the script that creates and fills a SQLite source.
	SQL string
	// Data is a CSV file as received, with all its faults.
	Data []byte
	// Logical is the cleaned table of a CSV source as strict CSV: UTF-8, commas, one header line, decimal points, ISO
	// dates, true and false, and empty fields for NULL. Gold SQL reads this table.
	Logical []byte
}

// Question is one single-turn question.
type Question struct {
	ID       string `json:"id"`
	Source   string `json:"source"`
	Kind     string `json:"kind"`
	Question string `json:"question"`
	// Gold is the SQL of the right answer, in the dialect of SQLite or, for a CSV source, of DuckDB. It is empty if the
	// question is unanswerable.
	Gold string `json:"gold"`
	// Alt is the SQL of other right answers.
	Alt []string `json:"alt,omitempty"`
	// Ordered says that the order of the rows is part of the answer.
	Ordered bool `json:"ordered"`
	// Numeral is always empty, because the number expected in the text of an answer is computed from Gold.
	Numeral string `json:"numeral"`
	// Single says that the answer is one number.
	Single bool `json:"single"`
	// Answerable is false if the right answer is to decline.
	Answerable bool   `json:"answerable"`
	Note       string `json:"note"`
}

// Pair is a question and a follow-up; Gold is the answer to the follow-up.
type Pair struct {
	ID      string   `json:"id"`
	Source  string   `json:"source"`
	First   string   `json:"first"`
	Second  string   `json:"second"`
	Gold    string   `json:"gold"`
	Alt     []string `json:"alt,omitempty"`
	Ordered bool     `json:"ordered"`
	Note    string   `json:"note"`
}

// The values of Choice.Want other than the name of a source.
const (
	WantAsk     = "ask"     // more than one source can answer: ask which
	WantDecline = "decline" // no source can answer
)

// Choice is a question asked of several sources at once.
type Choice struct {
	ID      string   `json:"id"`
	Sources []string `json:"sources"`
	// First is the previous question of the conversation, or empty.
	First    string `json:"first,omitempty"`
	Question string `json:"question"`
	// Want is the source that must answer, WantAsk or WantDecline.
	Want string `json:"want"`
	Note string `json:"note,omitempty"`
}

// Choices returns the questions of the set Several, in the order of the file.
func Choices() []Choice { return mustLines[Choice](Several, "questions.jsonl") }

// Questions returns every single-turn question, in the order of the file.
func (set Set) Questions() []Question { return mustLines[Question](set, "questions.jsonl") }

// Pairs returns every two-turn pair, in the order of the file.
func (set Set) Pairs() []Pair { return mustLines[Pair](set, "pairs.jsonl") }

// Sources returns every source.
func (set Set) Sources() []Source {
	switch set {
	case Heldout:
		return []Source{
			sqliteSource(set, "library"),
			sqliteSource(set, "league"),
			csvSource(set, "fuhrpark_lieferungen", "Fuhrpark Lieferungen.csv"),
			csvSource(set, "equipment_rentals_export", "Equipment-Rentals Export.csv"),
		}
	case Blind:
		return []Source{
			sqliteSource(set, "utility"),
			csvSource(set, "backstube_verkauf_2024", "Backstube-Verkauf 2024.csv"),
			csvSource(set, "web_traffic", "web_traffic.csv"),
		}
	case Fresh:
		return []Source{
			sqliteSource(set, "flats"),
			csvSource(set, "hospital_visits", "Hospital Visits.csv"),
			csvSource(set, "greenhouse_sensors", "greenhouse_sensors.csv"),
			csvSource(set, "staff_list_2025", "Staff List 2025.csv"),
		}
	case Unseen:
		return []Source{
			sqliteSource(set, "bikeshare"),
			sqliteSource(set, "theatre"),
			csvSource(set, "bank_statement", "bank_statement.csv"),
			csvSource(set, "support_calls", "support_calls.csv"),
		}
	case Several:
		list := []Source{sqliteSource(set, "league"), sqliteSource(set, "library")}
		for _, name := range []string{
			"admissions", "staff", "transfers", "weather", "energy", "loans", "bestellungen", "retouren", "lieferanten",
			"sales_2023", "sales_2024", "berlin", "munich", "stores",
		} {
			list = append(list, Source{
				Name: name, Kind: KindCSV, File: name + ".csv", Data: mustRead(set, "data/"+name+".csv"),
			})
		}
		return list
	}
	return []Source{
		sqliteSource(set, "clinic"),
		sqliteSource(set, "saas"),
		sqliteSource(set, "freight"),
		csvSource(set, "store_sales_eu", "Store-Sales EU.csv"),
		csvSource(set, "expense_report", "Expense-Report.csv"),
		csvSource(set, "hotel_bookings", "hotel_bookings.csv"),
	}
}

// Materialize writes every source into dir, which must exist: a read-only .db file for each SQLite source and the file
// as received for each CSV. It returns the path of each source by name. An existing file is an error.
func (set Set) Materialize(dir string) (map[string]string, error) {
	paths := make(map[string]string)
	for _, s := range set.Sources() {
		path := filepath.Join(dir, s.File)
		if _, err := os.Lstat(path); !errors.Is(err, fs.ErrNotExist) {
			return nil, fmt.Errorf("writing source %s: %s already exists or cannot be read", s.Name, path)
		}
		if err := s.write(path); err != nil {
			return nil, fmt.Errorf("writing source %s: %w", s.Name, err)
		}
		paths[s.Name] = path
	}
	return paths, nil
}

// write creates the source's file at path.
func (s Source) write(path string) error {
	if s.Kind == KindCSV {
		return os.WriteFile(path, s.Data, 0o644)
	}
	if err := buildDB(path, s.SQL); err != nil {
		return err
	}
	return os.Chmod(path, 0o444)
}

// buildDB runs a script against a new SQLite database.
func buildDB(path, script string) (err error) {
	db, err := sql.Open("sqlite", path)
	if err != nil {
		return fmt.Errorf("opening the database: %w", err)
	}
	defer func() {
		if cerr := db.Close(); cerr != nil && err == nil {
			err = fmt.Errorf("closing the database: %w", cerr)
		}
	}()
	db.SetMaxOpenConns(1)
	if _, err := db.Exec("PRAGMA foreign_keys = ON; BEGIN;" + script + "COMMIT;"); err != nil {
		return fmt.Errorf("running the script: %w", err)
	}
	return nil
}

func sqliteSource(set Set, name string) Source {
	return Source{Name: name, Kind: KindSQLite, File: name + ".db", SQL: string(mustRead(set, "data/"+name+".sql"))}
}

func csvSource(set Set, name, file string) Source {
	return Source{
		Name: name, Kind: KindCSV, File: file, Data: mustRead(set, "data/"+file),
		Logical: mustRead(set, "data/logical/"+name+".csv"),
	}
}

// mustRead returns an embedded file of a set. It panics if the file is missing, which is a mistake in this package.
func mustRead(set Set, name string) []byte {
	data, err := files.ReadFile(path.Join(string(set), name))
	if err != nil {
		panic(fmt.Sprintf("evalset: reading %s: %v", name, err))
	}
	return data
}

// mustLines decodes an embedded file with one JSON object per line.
func mustLines[T any](set Set, name string) []T {
	dec := json.NewDecoder(bytes.NewReader(mustRead(set, name)))
	dec.DisallowUnknownFields()
	var items []T
	for {
		var item T
		err := dec.Decode(&item)
		if errors.Is(err, io.EOF) {
			return items
		}
		if err != nil {
			panic(fmt.Sprintf("evalset: decoding item %d of %s: %v", len(items)+1, name, err))
		}
		items = append(items, item)
	}
}
