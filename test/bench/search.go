package main

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"math/rand/v2"
	"net/url"
	"path/filepath"
	"strings"
	"time"

	_ "github.com/jackc/pgx/v5/stdlib" // the bare driver, as the baseline for searches in Postgres

	"github.com/footnotehq/footnote/internal/pgtest"
	"github.com/footnotehq/footnote/source"
	"github.com/footnotehq/footnote/source/postgres"
	"github.com/footnotehq/footnote/source/sqlite"
	"github.com/footnotehq/footnote/tool/search"
)

// searches compares search_database with a plain query of the same engine for the ten best documents. A search also
// highlights the words, counts all matches and passes the gate, and with SQLite it makes a round trip to a child
// process.
func searches(ctx context.Context, r *rig) error {
	path := filepath.Join(r.dir, "documents.db")
	db, err := sql.Open("sqlite", "file:"+path)
	if err != nil {
		return err
	}
	defer db.Close()
	if err := fillDocuments(ctx, db, r.plan.documents,
		`CREATE TABLE documents (id INTEGER PRIMARY KEY, title TEXT, body TEXT)`,
		`CREATE VIRTUAL TABLE found USING fts5(title, body, content='documents', content_rowid='id', `+
			`tokenize='unicode61 remove_diacritics 2')`,
		`INSERT INTO found(found) VALUES ('rebuild')`); err != nil {
		return err
	}
	src, err := sqlite.Open(ctx, "docs", path, sqlite.Options{})
	if err != nil {
		return err
	}
	defer src.Close()
	const plain = `SELECT t.id, t.title, t.body FROM found f JOIN documents t ON t.id = f.rowid WHERE found MATCH $1 ` +
		`ORDER BY bm25(found) LIMIT 10`
	if err := compareSearches(ctx, r, "SQLite", db, plain, src, search.Table{FTS: "found"}); err != nil {
		return err
	}
	if pg := r.postgresServer(); pg != nil {
		return postgresSearches(ctx, r, pg)
	}
	return nil
}

func postgresSearches(ctx context.Context, r *rig, pg *pgtest.Server) error {
	owner, err := pg.Create(ctx)
	if err != nil {
		return err
	}
	db, err := sql.Open("pgx", owner)
	if err != nil {
		return err
	}
	defer db.Close()
	if err := fillDocuments(ctx, db, r.plan.documents,
		`CREATE TABLE documents (id bigint PRIMARY KEY, title text, body text)`,
		`ALTER TABLE documents ADD COLUMN found tsvector GENERATED ALWAYS AS (to_tsvector('portuguese', title || ' ' `+
			`|| body)) STORED`,
		`CREATE INDEX ON documents USING gin (found)`, `ANALYZE documents`,
		`CREATE ROLE reader LOGIN NOSUPERUSER NOINHERIT`, `GRANT SELECT ON documents TO reader`); err != nil {
		return err
	}
	reader, err := url.Parse(owner)
	if err != nil {
		return err
	}
	reader.User = url.User("reader")
	src, err := postgres.Open(ctx, "docs", reader.String(), postgres.Options{})
	if err != nil {
		return err
	}
	defer src.Close()
	const plain = `SELECT id, title, body FROM documents, websearch_to_tsquery('portuguese', $1) q WHERE found @@ q ` +
		`ORDER BY ts_rank(found, q) DESC, id LIMIT 10`
	return compareSearches(ctx, r, "Postgres", db, plain, src, search.Table{Vector: "found", Language: "portuguese"})
}

// word returns the nth word of the documents' vocabulary.
func word(n int) string {
	stems := []string{"caldeira", "bomba", "relatório", "válvula", "turbina", "manutenção", "motor", "pressão"}
	return fmt.Sprintf("%s%d", stems[n%len(stems)], n)
}

// fillDocuments creates n documents of forty words. A few words are in most documents, and most words are in few.
// create runs before the inserts, and after runs afterwards.
func fillDocuments(ctx context.Context, db *sql.DB, n int, create string, after ...string) error {
	if _, err := db.ExecContext(ctx, create); err != nil {
		return err
	}
	random := rand.New(rand.NewPCG(3, 3))
	zipf := rand.NewZipf(random, 1.1, 2, 4999)
	tx, err := db.BeginTx(ctx, nil)
	if err != nil {
		return err
	}
	insert, err := tx.PrepareContext(ctx, `INSERT INTO documents VALUES ($1, $2, $3)`)
	for i := 0; err == nil && i < n; i++ {
		words := make([]string, 40)
		for j := range words {
			words[j] = word(int(zipf.Uint64()))
		}
		_, err = insert.ExecContext(ctx, i+1, strings.Join(words[:4], " "), strings.Join(words[4:], " "))
	}
	if err != nil {
		return errors.Join(err, tx.Rollback())
	}
	if err := tx.Commit(); err != nil {
		return err
	}
	for _, s := range after {
		if _, err := db.ExecContext(ctx, s); err != nil {
			return fmt.Errorf("%s: %w", s, err)
		}
	}
	return nil
}

// oneSource is a catalogue with a single source.
type oneSource struct{ src source.Source }

func (s oneSource) Source(string) (source.Source, error) { return s.src, nil }

// compareSearches alternates between both ways: for words in one of a hundred documents, where fixed costs dominate,
// and for words in most documents.
func compareSearches(ctx context.Context, r *rig, engine string, db *sql.DB, plain string, src source.Source,
	table search.Table) error {
	table.Source, table.Table, table.Key = "docs", "documents", "id"
	table.Title, table.Text = []string{"title"}, []string{"title", "body"}
	tool, _, err := search.New(ctx, search.Options{Tables: []search.Table{table}, Sources: oneSource{src}})
	if err != nil {
		return err
	}
	random := rand.New(rand.NewPCG(4, 4))
	for _, kind := range []struct {
		name          string
		word          func() string
		most, stretch float64
	}{
		{"a rare word", func() string { return word(150 + random.IntN(100)) }, 5, 3},
		{"a common word", func() string { return word(random.IntN(2)) }, 3, 1.5},
	} {
		var f figures
		for range 30 {
			asked := kind.word()
			bare, err := plainSearch(ctx, db, plain, asked)
			if err != nil {
				return err
			}
			ours, _, err := timeCall(ctx, tool, map[string]any{
				"query": asked, "table": "documents", "thought": "A measurement.",
			}, "docs")
			if err != nil {
				return err
			}
			f.base, f.ours = append(f.base, bare), append(f.ours, ours)
		}
		r.table.compare(fmt.Sprintf("%s: search_database, %s, %d documents", engine, kind.name, r.plan.documents), "ms",
			f, kind.most, kind.stretch)
	}
	return nil
}

// plainSearch returns the bare driver's time for the ten best documents, in milliseconds.
func plainSearch(ctx context.Context, db *sql.DB, plain, asked string) (float64, error) {
	begun := time.Now()
	rows, err := db.QueryContext(ctx, plain, asked)
	if err != nil {
		return 0, err
	}
	defer rows.Close()
	n := 0
	for ; rows.Next(); n++ {
		var id int64
		var title, body string
		if err := rows.Scan(&id, &title, &body); err != nil {
			return 0, err
		}
	}
	if n == 0 && rows.Err() == nil {
		return 0, fmt.Errorf("nothing was found for %s", asked)
	}
	return since(begun), rows.Err()
}
