package bench_test

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"path/filepath"
	"strings"
	"time"

	"github.com/footnotehq/footnote/internal/app"
	"github.com/footnotehq/footnote/internal/pgtest"
	"github.com/footnotehq/footnote/source"
	"github.com/footnotehq/footnote/source/engines"
	"github.com/footnotehq/footnote/source/mysql/mariatest"
)

// measured is a database that is read through a source and through the bare driver.
type measured struct {
	name, address string
	bare          *sql.DB
	child         bool // its engine runs in a process of its own
}

// databases creates a database of each engine. Fill returns its statements, for the engine's list of numbers.
func (r *rig) databases(name string, fill func(series string) []string) (all []measured, err error) {
	for driver, series := range map[string]string{
		"sqlite": "(WITH RECURSIVE t(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM t WHERE i < %d) SELECT i FROM t)",
		"duckdb": "range(1, %d + 1) AS s(i)",
	} {
		path := filepath.Join(r.dir, name+"."+driver)
		db, err := sql.Open(driver, path)
		if err != nil {
			return nil, err
		}
		statements := strings.Join(append([]string{"BEGIN"}, append(fill(series), "COMMIT")...), ";\n")
		if _, err := db.Exec(statements); err != nil {
			return nil, errors.Join(err, db.Close())
		}
		if err := db.Close(); err != nil {
			return nil, err
		}
		only := map[string]string{"sqlite": "file:" + path + "?mode=ro", "duckdb": path + "?access_mode=READ_ONLY"}
		if db, err = sql.Open(driver, only[driver]); err != nil {
			return nil, err
		}
		all = append(all, measured{driver, path, db, true})
	}
	post := pgtest.Reader(r.plan.tb, fill("generate_series(1, %d) AS s(i)")...)
	bare, err := sql.Open("pgx", post)
	if err != nil {
		return nil, err
	}
	maria := mariatest.New(r.plan.tb)
	maria.Do(r.plan.tb, fill("(SELECT seq AS i FROM seq_1_to_%d) s")...)
	admin := maria.Admin(r.plan.tb)
	admin.SetMaxOpenConns(1)
	_, err = admin.Exec("USE `" + maria.Name + "`")
	return append(all, measured{"postgres", post, bare, false},
		measured{"mariadb", maria.Address(maria.Reader), admin, false}), err
}

// open opens the source, and returns how many milliseconds that took until its tables were known.
func (m measured) open(ctx context.Context, r *rig) (source.Source, float64, error) {
	engine, err := app.Databases().Find(m.address)
	if err != nil {
		return nil, 0, err
	}
	begun := time.Now()
	src, err := engine.Open(ctx, m.name, m.address, engines.Options{
		Dir: filepath.Join(r.dir, "loaded"), Limits: source.Limits{Rows: 1 << 20, Bytes: 1 << 30},
	})
	if err != nil {
		return nil, 0, err
	}
	_, err = src.Schema(ctx)
	return src, since(begun), err
}

// manyRows is the number of rows of a large query.
const manyRows = 100_000

// overheads compares queries of one and of 100,000 rows with the bare drivers, in this process.
func overheads(ctx context.Context, r *rig) error {
	all, err := r.databases("rows", func(series string) []string { return filled(series, manyRows) })
	if err != nil {
		return err
	}
	for _, m := range all {
		src, _, err := m.open(ctx, r)
		if err != nil {
			return fmt.Errorf("%s: %w", m.name, err)
		}
		read := func(statement string, rounds int) (figures, error) {
			return alternate(rounds, func(int) (float64, error) {
				begun := time.Now()
				err := scanAll(ctx, m.bare, statement)
				return since(begun), err
			}, func(int) (float64, error) {
				begun := time.Now()
				_, err := src.Query(ctx, source.Query{SQL: statement}, func([]any) error { return nil })
				return since(begun), err
			})
		}
		one, err := read("SELECT id, customer, total FROM orders WHERE id = 77", 300)
		if err == nil {
			limit := 1.0
			if m.child {
				limit = 2
			}
			r.table.absolute("a query of one row over the bare driver, "+m.name, "ms",
				median(one[ours])-median(one[base]), limit, limit/4)
			var many figures
			many, err = read(everyOrder, 3+2*r.plan.rounds)
			name := fmt.Sprintf("a query of %d rows and the bare driver, %s", manyRows, m.name)
			r.table.compare(name, "ms", many, 1.1, 1)
		}
		if err := errors.Join(err, src.Close(), m.bare.Close()); err != nil {
			return fmt.Errorf("%s: %w", m.name, err)
		}
	}
	return nil
}

// scanAll reads all rows of a statement as values.
func scanAll(ctx context.Context, db *sql.DB, statement string) error {
	rows, err := db.QueryContext(ctx, statement)
	if err != nil {
		return err
	}
	defer rows.Close()
	columns, err := rows.Columns()
	if err != nil {
		return err
	}
	for rows.Next() {
		row, into := make([]any, len(columns)), make([]any, len(columns))
		for i := range row {
			into[i] = &row[i]
		}
		if err := rows.Scan(into...); err != nil {
			return err
		}
	}
	return rows.Err()
}

// discoveries measures how long it takes to open a database and to know its tables.
func discoveries(ctx context.Context, r *rig) error {
	for _, n := range r.plan.tables {
		all, err := r.databases(fmt.Sprintf("tables%d", n), func(string) (list []string) {
			for i := range n {
				list = append(list, fmt.Sprintf("CREATE TABLE table_%d (id INTEGER PRIMARY KEY, name VARCHAR(40), "+
					"amount DECIMAL(10, 2), day DATE, parent INTEGER)", i))
			}
			return list
		})
		if err != nil {
			return err
		}
		for _, m := range all {
			src, ms, err := m.open(ctx, r)
			if err != nil {
				return fmt.Errorf("%s: %w", m.name, err)
			}
			r.table.absolute(fmt.Sprintf("opening and knowing %d tables, %s", n, m.name), "s", ms/1000, 5, 1)
			if err := errors.Join(src.Close(), m.bare.Close()); err != nil {
				return err
			}
		}
	}
	return nil
}
