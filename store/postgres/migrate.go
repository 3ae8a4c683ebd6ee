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

// The keys of the advisory locks: "footnote" and a number.
const (
	lockMigrate  = 0x666f6f746e6f7400
	lockPosition = 0x666f6f746e6f7401
)

// waitMigrate is how long a process waits while another one migrates.
const waitMigrate = "60s"

// Migrate migrates the database at a URL to the newest version, and returns the versions before and after. Each step is
// one transaction under an advisory lock, so a killed process leaves the database between two steps and another one can
// continue; several may call Migrate at once. It returns an error for a database of a newer version, and for a schema
// named footnote that belongs to another program.
func Migrate(ctx context.Context, url string) (from, to int, err error) {
	conn, scripts, from, err := dialSchema(ctx, url)
	if err != nil {
		return from, from, err
	}
	defer conn.Close(context.WithoutCancel(ctx))
	for to = from; err == nil && to < len(scripts); {
		to, err = step(ctx, conn, scripts)
		err = cannotMigrate(err, from, len(scripts))
	}
	return from, to, translate(ctx, "migrate", err)
}

// current returns an error unless the database has the newest version.
func current(ctx context.Context, url string) error {
	conn, scripts, have, err := dialSchema(ctx, url)
	if err != nil {
		return err
	}
	defer conn.Close(context.WithoutCancel(ctx))
	if have < len(scripts) {
		return footnote.Errorf(footnote.StorageUnavailable,
			"The database holds an older version of the conversations (schema %d; this one reads %d). Run footnote "+
				"migrate.", have, len(scripts))
	}
	return nil
}

// dialSchema connects to the database at a URL. It also returns all migrations, and the version of the database, which
// is at most their number.
func dialSchema(ctx context.Context, url string) (conn *pgx.Conn, scripts []string, have int, err error) {
	if scripts, err = schema.Scripts(migrationFiles); err != nil {
		return nil, nil, 0, err
	}
	if conn, err = dial(ctx, url); err != nil {
		return nil, nil, 0, translate(ctx, "open", err)
	}
	if have, err = version(ctx, conn); err == nil {
		err = schema.Check(have, len(scripts))
	}
	if err != nil {
		_ = conn.Close(context.WithoutCancel(ctx))
	}
	return conn, scripts, have, translate(ctx, "open", err)
}

type querier interface {
	QueryRow(ctx context.Context, sql string, args ...any) pgx.Row
}

// version returns the schema version of the database, 0 if it has no schema.
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
			"The database has the encoding %s. Create one with the encoding UTF8.", encoding)
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

// step runs one migration, unless another process has run it, and returns the resulting version.
func step(ctx context.Context, conn *pgx.Conn, scripts []string) (v int, err error) {
	err = pgx.BeginTxFunc(ctx, conn, readCommitted, func(tx pgx.Tx) error {
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
	// An administrator may have created the schema, if this user may not.
	return `DO $$ BEGIN IF to_regnamespace('footnote') IS NULL THEN CREATE SCHEMA footnote; END IF; END $$;
		CREATE TABLE footnote.migrations (version integer PRIMARY KEY, at timestamptz NOT NULL DEFAULT now(),
			by text NOT NULL);
		` + scripts[0], nil
}

func record(ctx context.Context, tx pgx.Tx, v int) error {
	host, _ := os.Hostname() // only for people who read the table
	_, err := tx.Exec(ctx, `INSERT INTO footnote.migrations (version, by) VALUES ($1, $2)`, v,
		fmt.Sprintf("process %d on %s", os.Getpid(), host))
	return err
}

// State is the result of Inspect.
type State struct {
	Server     string   // its product and version, and whether the connection is encrypted
	Have, Want int      // schema versions of the database and of this program
	Warnings   []string // settings that an operator may want to change
}

// Inspect checks the database at a URL without changing it. It returns an error if the database cannot be used as a
// store.
func Inspect(ctx context.Context, url string) (State, error) {
	conn, scripts, have, err := dialSchema(ctx, url)
	s := State{Have: have, Want: len(scripts)}
	if err != nil {
		return s, err
	}
	defer conn.Close(context.WithoutCancel(ctx))
	var number, fsync, commit string
	var encrypted, mayCreate, readOnly bool
	var conns int
	err = conn.QueryRow(ctx,
		`SELECT current_setting('server_version'), current_setting('fsync'), current_setting('synchronous_commit'),
		coalesce((SELECT ssl FROM pg_stat_ssl WHERE pid = pg_backend_pid()), false),
		has_database_privilege(current_database(), 'CREATE') OR to_regnamespace('footnote') IS NOT NULL,
		current_setting('max_connections')::int, current_setting('transaction_read_only')::bool`).
		Scan(&number, &fsync, &commit, &encrypted, &mayCreate, &conns, &readOnly)
	if err == nil && !mayCreate {
		err = footnote.Errorf(footnote.StorageUnavailable,
			"The user may not create the schema footnote in the database. Let an administrator run: CREATE SCHEMA "+
				"footnote AUTHORIZATION the_user")
	}
	if err != nil {
		return s, translate(ctx, "inspect", err)
	}
	s.Server = "Postgres " + number + map[bool]string{true: ", encrypted", false: ", not encrypted"}[encrypted]
	if readOnly {
		s.Warnings = append(s.Warnings,
			"the database is read-only: conversations can be read, but not written")
	}
	if fsync != "on" {
		s.Warnings = append(s.Warnings,
			"fsync is "+fsync+": a crash loses conversations, unless the disk is durable without it")
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
