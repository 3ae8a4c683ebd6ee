// Package sqlite stores market data in one SQLite file. Several processes may have it open: a server can read while a
// command loads, and sees the load once it is complete.
package sqlite

import (
	"context"
	"database/sql"
	_ "embed"
	"errors"
	"fmt"
	"net/url"
	"os"
	"path/filepath"
	"strings"

	_ "modernc.org/sqlite" // the engine

	"github.com/footnotehq/footnote"
	"github.com/footnotehq/footnote/market"
	"github.com/footnotehq/footnote/market/internal/tables"
)

//go:embed schema.sql
var schema string

// The marks of our files in SQLite's header: "Fmkt", and the schema version.
const (
	applicationID = 0x466d6b74
	version       = 2
)

// readers is the number of concurrent queries.
const readers = 8

// Store is a market.Store on one file.
type Store struct {
	reader
	path  string
	read  *sql.DB
	write *sql.DB // one connection
}

type reader = *tables.Reader

var _ market.Store = (*Store)(nil)

// Open opens the file at path, or creates it together with its folder.
func Open(ctx context.Context, path string) (_ *Store, err error) {
	if path, err = filepath.Abs(path); err != nil {
		return nil, err
	}
	if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
		return nil, market.Down(market.Database, "its folder cannot be created.", err)
	}
	s := &Store{path: path}
	if err := create(path); err != nil {
		return nil, market.Down(market.Database, "its file cannot be created.", err)
	}
	defer func() {
		if err != nil {
			err = errors.Join(market.Failed(ctx, market.Database, "open "+path, err), s.Close())
		}
	}()
	if s.write, err = sql.Open("sqlite",
		dsn(path, fmt.Sprintf("busy_timeout(%d)", market.LoadWait.Milliseconds()), "journal_mode(WAL)",
			"synchronous(NORMAL)", "cache_size(-32000)", "temp_store(MEMORY)")); err != nil {
		return nil, err
	}
	s.write.SetMaxOpenConns(1)
	if err := migrate(ctx, s.write); err != nil {
		return nil, err
	}
	if s.read, err = sql.Open("sqlite",
		dsn(path, "busy_timeout(5000)", "query_only(ON)", "cache_size(-16000)", "temp_store(MEMORY)",
			"mmap_size(1073741824)")); err != nil {
		return nil, err
	}
	s.reader = tables.New(dialect, each(s.read))
	s.read.SetMaxOpenConns(readers)
	s.read.SetMaxIdleConns(readers)
	return s, s.read.PingContext(ctx)
}

// create creates a missing file with access for this user only, because SQLite would grant more. It does not
// open an existing file: closing it would release the locks that this process may hold on it.
func create(path string) error {
	if _, err := os.Lstat(path); err == nil {
		return nil
	}
	f, err := os.OpenFile(path, os.O_RDWR|os.O_CREATE, 0o600)
	if err != nil {
		return err
	}
	return f.Close()
}

func dsn(path string, pragmas ...string) string {
	path = filepath.ToSlash(path)
	if !strings.HasPrefix(path, "/") {
		path = "/" + path // a drive letter
	}
	u := url.URL{Scheme: "file", Path: path}
	u.RawQuery = url.Values{"_pragma": pragmas, "_txlock": {"immediate"}, "_dqs": {"0"}, "_error_rc": {"1"}}.Encode()
	return u.String()
}

// migrate creates the tables in an empty file, and rejects another program's file. It only reads a file that is
// ready: a load in another process may hold it for minutes.
func migrate(ctx context.Context, db *sql.DB) error {
	if ready, err := look(ctx, db); ready || err != nil {
		return err
	}
	tx, err := db.BeginTx(ctx, nil)
	if err != nil {
		return err
	}
	defer tx.Rollback() // no effect after a commit
	if ready, err := look(ctx, tx); ready || err != nil {
		return err // another process was faster
	}
	if _, err := tx.ExecContext(ctx,
		fmt.Sprintf("%s; PRAGMA user_version = %d; PRAGMA application_id = %d", schema, version, applicationID)); err !=
		nil {
		return err
	}
	return tx.Commit()
}

// look reports whether the file has our tables; an empty one has none.
func look(ctx context.Context, db interface {
	QueryRowContext(context.Context, string, ...any) *sql.Row
}) (ready bool, err error) {
	var have, app, tables int
	if err := db.QueryRowContext(ctx, `SELECT user_version, application_id, (SELECT count(*) FROM sqlite_schema)
		FROM pragma_user_version, pragma_application_id`).Scan(&have, &app, &tables); err != nil {
		return false, err
	}
	switch {
	case app == applicationID && have == version:
		return true, nil
	case app == applicationID:
		return false, footnote.Errorf(footnote.MarketUnavailable,
			"The market database has version %d; this program reads %d. Load its files into a new one.", have, version)
	case tables != 0 || app != 0:
		return false, footnote.Errorf(footnote.MarketUnavailable,
			"The file of the market database belongs to another program.")
	}
	return false, nil
}

// Close closes the file.
func (s *Store) Close() error {
	var errs []error
	for _, db := range []*sql.DB{s.read, s.write} {
		if db != nil {
			errs = append(errs, db.Close())
		}
	}
	return errors.Join(errs...)
}
