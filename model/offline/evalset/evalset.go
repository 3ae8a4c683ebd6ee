// Package evalset is the frozen evaluation set of the offline planner: small
// synthetic sources, questions in plain words about them, and the SQL whose
// result is the right answer. README.md says how a question is to be read and
// how an answer is compared. The set is for judging, never for tuning: no code
// outside tests and evaluation tools should import it.
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
	"path/filepath"

	_ "modernc.org/sqlite" // the driver that makes the .db files
)

//go:embed README.md questions.jsonl pairs.jsonl data
var files embed.FS

// The kinds of source.
const (
	KindSQLite = "sqlite"
	KindCSV    = "csv"
)

// Source is one synthetic data source.
type Source struct {
	// Name is what questions call the source. For a CSV it is also the name of
	// its one table in gold SQL.
	Name string
	// Kind is KindSQLite or KindCSV.
	Kind string
	// File is the name Materialize gives the file.
	File string
	// SQL is the script that makes and fills a SQLite source.
	SQL string
	// Data is a CSV file as it arrives, dirt included.
	Data []byte
	// Logical is the cleaned table of a CSV source as strict CSV: UTF-8,
	// commas, one header line, points for decimals, ISO dates, true and false,
	// and nothing between commas for NULL. Gold SQL is written against it.
	Logical []byte
}

// Question is one single-turn question.
type Question struct {
	ID       string `json:"id"`
	Source   string `json:"source"`
	Kind     string `json:"kind"`
	Question string `json:"question"`
	// Gold is the SQL of the right answer, in SQLite's dialect or, for a CSV
	// source, in DuckDB's. It is empty when the question is unanswerable.
	Gold string `json:"gold"`
	// Alt holds the SQL of other answers that are right as well.
	Alt []string `json:"alt,omitempty"`
	// Ordered says that the order of the rows is part of the answer.
	Ordered bool `json:"ordered"`
	// Numeral is always empty: the number expected in the text of a single
	// answer is computed from Gold.
	Numeral string `json:"numeral"`
	// Single says that the answer is one number.
	Single bool `json:"single"`
	// Answerable is false when the right answer is to decline.
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

// Questions returns every single-turn question, in the order of the file.
func Questions() []Question { return mustLines[Question]("questions.jsonl") }

// Pairs returns every two-turn pair, in the order of the file.
func Pairs() []Pair { return mustLines[Pair]("pairs.jsonl") }

// Sources returns every source.
func Sources() []Source {
	return []Source{
		sqliteSource("clinic"),
		sqliteSource("saas"),
		sqliteSource("freight"),
		csvSource("store_sales_eu", "Store-Sales EU.csv"),
		csvSource("expense_report", "Expense-Report.csv"),
		csvSource("hotel_bookings", "hotel_bookings.csv"),
	}
}

// Materialize writes every source into dir, which must exist: a read-only .db
// file for each SQLite source and the file as it arrives for each CSV. It
// returns the path of each source by name. A file that is already there is an
// error.
func Materialize(dir string) (map[string]string, error) {
	paths := make(map[string]string)
	for _, s := range Sources() {
		path := filepath.Join(dir, s.File)
		if _, err := os.Lstat(path); !errors.Is(err, fs.ErrNotExist) {
			return nil, fmt.Errorf("writing source %s: %s is already there or cannot be looked at", s.Name, path)
		}
		if err := s.write(path); err != nil {
			return nil, fmt.Errorf("writing source %s: %w", s.Name, err)
		}
		paths[s.Name] = path
	}
	return paths, nil
}

// write makes the source's file at path.
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

func sqliteSource(name string) Source {
	return Source{Name: name, Kind: KindSQLite, File: name + ".db", SQL: string(mustRead("data/" + name + ".sql"))}
}

func csvSource(name, file string) Source {
	return Source{Name: name, Kind: KindCSV, File: file, Data: mustRead("data/" + file), Logical: mustRead("data/logical/" + name + ".csv")}
}

// mustRead returns an embedded file; one that is missing is a mistake in this
// package.
func mustRead(name string) []byte {
	data, err := files.ReadFile(name)
	if err != nil {
		panic(fmt.Sprintf("evalset: reading %s: %v", name, err))
	}
	return data
}

// mustLines decodes an embedded file of one JSON object a line.
func mustLines[T any](name string) []T {
	dec := json.NewDecoder(bytes.NewReader(mustRead(name)))
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
