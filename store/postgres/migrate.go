package postgres

import (
	"context"
	"embed"
	"fmt"
	"os"

	"github.com/jackc/pgx/v5"

	"github.com/footnotehq/footnote"
	"github.com/footnotehq/footnote/store/internal/schema"
)

//go:embed migrations/*.sql
var migrationFiles embed.FS

// The keys of our advisory locks, of the database's 2^64: "footnote" and a number.
const (
	lockMigrate  = 0x666f6f746e6f7400
	lockPosition = 0x666f6f746e6f7401
)

// waitMigrate is how long a process waits for another one that migrates.
const waitMigrate = "60s"

// Migrate brings the database at a URL to the newest version, and returns the
// version before and after. Each step is one transaction under an advisory lock, so
// a process that is killed leaves the database at a whole step and another one goes
// on; many may call it at once. It refuses a database of a newer version, and a
// schema footnote that is not ours.
func Migrate(ctx context.Context, url string) (from, to int, err error) {
	scripts, err := schema.Scripts(migrationFiles)
	if err != nil {
		return 0, 0, err
	}
	conn, err := dial(ctx, url)
	if err != nil {
		return 0, 0, translate(ctx, "open", err)
	}
	defer conn.Close(context.WithoutCancel(ctx))
	if from, err = version(ctx, conn); err == nil {
		err = schema.Check(from, len(scripts))
	}
	for to = from; err == nil && to < len(scripts); {
		to, err = step(ctx, conn, scripts)
		err = cannotMigrate(err, from, len(scripts))
	}
	return from, to, translate(ctx, "migrate", err)
}

// current refuses a database of any other version than the newest.
func current(ctx context.Context, url string) error {
	scripts, err := schema.Scripts(migrationFiles)
	if err != nil {
		return err
	}
	conn, err := dial(ctx, url)
	if err != nil {
		return translate(ctx, "open", err)
	}
	defer conn.Close(context.WithoutCancel(ctx))
	v, err := version(ctx, conn)
	switch {
	case err != nil:
		return translate(ctx, "open", err)
	case v < len(scripts):
		return footnote.Errorf(footnote.StorageUnavailable,
			"The database holds an older version of the conversations (schema %d; this one reads %d). Run footnote "+
				"migrate.", v, len(scripts))
	}
	return schema.Check(v, len(scripts))
}

type querier interface {
	QueryRow(ctx context.Context, sql string, args ...any) pgx.Row
}

// version is the version of what the database holds; 0 is nothing.
func version(ctx context.Context, q querier) (int, error) {
	var encoding string
	var ours, taken bool
	err := q.QueryRow(ctx, `SELECT current_setting('server_encoding'), to_regclass('footnote.migrations') IS NOT NULL,
		EXISTS (SELECT 1 FROM pg_class c JOIN pg_namespace n ON n.oid = c.relnamespace WHERE n.nspname = 'footnote')`).
		Scan(&encoding, &ours, &taken)
	switch {
	case err != nil:
		return 0, err
	case encoding != "UTF8":
		return 0, footnote.Errorf(footnote.StorageUnavailable,
			"The database keeps text as %s. Make one with the encoding UTF8.", encoding)
	case !ours && taken:
		return 0, footnote.Errorf(footnote.StorageUnavailable,
			"The schema footnote of the database belongs to another program.")
	case !ours:
		return 0, nil
	}
	var v int
	err = q.QueryRow(ctx, `SELECT coalesce(max(version), 0) FROM footnote.migrations`).Scan(&v)
	return v, err
}

// step does one migration, unless another process was quicker, and returns the
// version that the database has then.
func step(ctx context.Context, conn *pgx.Conn, scripts []string) (v int, err error) {
	err = pgx.BeginTxFunc(ctx, conn, pgx.TxOptions{IsoLevel: pgx.ReadCommitted}, func(tx pgx.Tx) error {
		script, err := begin(ctx, tx, scripts, &v)
		if err != nil || script == "" {
			return err
		}
		if _, err := tx.Conn().PgConn().Exec(ctx, script).ReadAll(); err != nil {
			return fmt.Errorf("to version %d: %w", v+1, err)
		}
		v++
		return record(ctx, tx, v)
	})
	return v, err
}

// begin takes the lock and returns the script to run from version v, if any.
func begin(ctx context.Context, tx pgx.Tx, scripts []string, v *int) (script string, err error) {
	for _, sql := range []string{
		"SET LOCAL lock_timeout = '" + waitMigrate + "'", "SET LOCAL statement_timeout = 0",
		fmt.Sprintf("SELECT pg_advisory_xact_lock(%d)", lockMigrate),
	} {
		if _, err := tx.Exec(ctx, sql); err != nil {
			return "", err
		}
	}
	if *v, err = version(ctx, tx); err != nil {
		return "", err
	}
	if err := schema.Check(*v, len(scripts)); err != nil || *v == len(scripts) {
		return "", err
	}
	if *v > 0 {
		return scripts[*v], nil
	}
	// The schema may have been made for us beforehand, where this user may not.
	return `DO $$ BEGIN IF to_regnamespace('footnote') IS NULL THEN CREATE SCHEMA footnote; END IF; END $$;
		CREATE TABLE footnote.migrations (version integer PRIMARY KEY, at timestamptz NOT NULL DEFAULT now(),
			by text NOT NULL);
		` + scripts[0], nil
}

func record(ctx context.Context, tx pgx.Tx, v int) error {
	host, _ := os.Hostname() // only words for whoever reads the table
	_, err := tx.Exec(ctx, `INSERT INTO footnote.migrations (version, by) VALUES ($1, $2)`, v,
		fmt.Sprintf("process %d on %s", os.Getpid(), host))
	return err
}

// State is what Inspect finds.
type State struct {
	Server     string   // its product, version and whether the connection is encrypted
	Have, Want int      // versions: of what the database holds, and of what this program writes
	Warnings   []string // what an operator may want otherwise
}

// Inspect looks at the database at a URL, without changing it. The error says why it
// cannot be the store.
func Inspect(ctx context.Context, url string) (State, error) {
	var s State
	scripts, err := schema.Scripts(migrationFiles)
	if err != nil {
		return s, err
	}
	conn, err := dial(ctx, url)
	if err != nil {
		return s, translate(ctx, "open", err)
	}
	defer conn.Close(context.WithoutCancel(ctx))
	if s.Have, err = version(ctx, conn); err == nil {
		err = schema.Check(s.Have, len(scripts))
	}
	s.Want = len(scripts)
	var number, fsync, commit string
	var encrypted, mayCreate, takesNoWrites bool
	var conns int
	if err == nil {
		err = conn.QueryRow(ctx,
			`SELECT current_setting('server_version'), current_setting('fsync'), current_setting('synchronous_commit'),
			coalesce((SELECT ssl FROM pg_stat_ssl WHERE pid = pg_backend_pid()), false),
			has_database_privilege(current_database(), 'CREATE') OR to_regnamespace('footnote') IS NOT NULL,
			current_setting('max_connections')::int, current_setting('transaction_read_only')::bool`).
			Scan(&number, &fsync, &commit, &encrypted, &mayCreate, &conns, &takesNoWrites)
	}
	if err == nil && !mayCreate {
		err = footnote.Errorf(footnote.StorageUnavailable,
			"The user may not make the schema footnote in the database. Let an administrator run: CREATE SCHEMA "+
				"footnote AUTHORIZATION the_user")
	}
	if err != nil {
		return s, translate(ctx, "inspect", err)
	}
	s.Server = "Postgres " + number + map[bool]string{true: ", encrypted", false: ", not encrypted"}[encrypted]
	if takesNoWrites {
		s.Warnings = append(s.Warnings,
			"the database is read-only: conversations can be read, and nothing can be written")
	}
	if fsync != "on" {
		s.Warnings = append(s.Warnings,
			"fsync is "+fsync+": unless the disk takes care of it by itself, a crash loses conversations")
	}
	if commit == "local" || commit == "remote_write" {
		s.Warnings = append(s.Warnings,
			"synchronous_commit is "+commit+": a failover to a standby may lose the last answers")
	}
	if conns < 2*(poolConns+2) {
		s.Warnings = append(s.Warnings,
			fmt.Sprintf("max_connections is %d; each server uses up to %d", conns, poolConns+2))
	}
	return s, nil
}
