package postgres

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/jackc/pgx/v5/pgconn"

	"github.com/footnotehq/footnote/source"
)

// writes lists ways to change the database or to reach outside it. READ ONLY refuses each, or the role lacks the
// right.
func writes(table string) []string {
	return []string{
		"CREATE TABLE footnote_probe (a integer)",
		"CREATE TABLE footnote_probe AS SELECT 1 AS a",
		"SELECT 1 AS a INTO footnote_probe",
		"DELETE FROM " + table,
		"UPDATE " + table + " SET footnote_probe = 1",
		"WITH x AS (DELETE FROM " + table + " RETURNING 1) SELECT * FROM x",
		"TRUNCATE " + table,
		"DROP TABLE " + table,
		"ALTER TABLE " + table + " RENAME TO footnote_probe",
		"CREATE VIEW footnote_probe AS SELECT 1",
		"CREATE FUNCTION footnote_probe() RETURNS integer LANGUAGE sql AS 'SELECT 1'",
		"CREATE SCHEMA footnote_probe",
		"CREATE SEQUENCE footnote_probe",
		"CREATE ROLE footnote_probe",
		"CREATE EXTENSION dblink",
		"GRANT ALL ON " + table + " TO PUBLIC",
		"COMMENT ON TABLE " + table + " IS 'footnote_probe'",
		"VACUUM",
		"CREATE DATABASE footnote_probe",
		"ALTER SYSTEM SET work_mem = '1GB'",
	}
}

// others need no write, and some of them no right, so only the gate stops them.
var others = []string{
	"CREATE TEMP TABLE footnote_probe (a integer)",
	"SELECT lo_create(0)",
	"SET statement_timeout = 0",
	"SET TRANSACTION READ WRITE",
	"SELECT set_config('footnote.org', 'another', false)",
	"SELECT pg_advisory_lock(1)",
	"SELECT pg_notify('footnote', 'probe')",
	"LISTEN footnote",
	"PREPARE footnote_probe AS SELECT 1",
	"DISCARD ALL",
	"COMMIT",
	"SELECT 1; SELECT 2",
	"DO $$ BEGIN END $$",
	"COPY (SELECT 1) TO PROGRAM 'true'",
	"COPY (SELECT 1) TO STDOUT",
	"SELECT pg_read_file('PG_VERSION')",
	"SELECT pg_terminate_backend(1)",
	"SELECT pg_sleep(1)",
}

// Probe implements child.Engine. It tries every write in three ways: as a query; without the gate, in a query's
// transaction; and in a transaction that does not ask for READ ONLY, where only the connection's default is left.
func (e *engine) Probe(ctx context.Context) error {
	cat, err := e.catalog(ctx, time.Now())
	if err != nil {
		return err
	}
	if len(cat.super) > 0 {
		return fmt.Errorf("%w The role %s %s. Make one that may only read:\n  CREATE ROLE footnote_reader LOGIN "+
			"PASSWORD '…' NOSUPERUSER NOINHERIT;\n  GRANT USAGE ON SCHEMA public TO footnote_reader;\n  GRANT SELECT "+
			"ON ALL TABLES IN SCHEMA public TO footnote_reader;",
			source.ErrWritable, cat.role, strings.Join(cat.super, "; it "))
	}
	table := "footnote_none"
	if len(cat.relations) > 0 {
		table = quote(cat.relations[0].schema) + "." + quote(cat.relations[0].name)
	}
	list := writes(table)
	for _, sql := range append(list, others...) {
		_, err := e.Query(ctx, source.Query{SQL: sql, Limits: source.DefaultLimits()}, func([]any) error { return nil })
		if bad, ok := errors.AsType[*source.Error](err); !ok || bad.Kind != source.Refused {
			return errAccepted(ctx, sql, err, "as a query")
		}
	}
	for _, begin := range []string{"", "ROLLBACK; BEGIN"} {
		if err := e.withoutGate(ctx, begin, list); err != nil {
			return err
		}
	}
	return nil
}

// withoutGate tries statements past the gate; begin replaces the transaction.
func (e *engine) withoutGate(ctx context.Context, begin string, list []string) error {
	s, err := e.begin(ctx, loadTime)
	if err != nil {
		return err
	}
	defer s.end()
	if begin != "" {
		if _, err := s.pc.Exec(ctx, begin).ReadAll(); err != nil {
			return e.unreachable(ctx, err)
		}
	}
	for _, sql := range list {
		if _, err := s.pc.Exec(ctx, "SAVEPOINT probe").ReadAll(); err != nil {
			return e.unreachable(ctx, err)
		}
		err := s.pc.ExecParams(ctx, sql, nil, nil, nil, nil).Read().Err
		if _, refused := errors.AsType[*pgconn.PgError](err); !refused {
			s.broken = true
			return errAccepted(ctx, sql, err, "past the gate")
		}
		if _, err := s.pc.Exec(ctx, "ROLLBACK TO probe").ReadAll(); err != nil {
			s.broken = true
			return e.unreachable(ctx, err)
		}
	}
	return nil
}

// errAccepted returns the error for an attempt that was not refused.
func errAccepted(ctx context.Context, sql string, err error, how string) error {
	switch {
	case ctx.Err() != nil:
		return context.Cause(ctx)
	case err == nil:
		return fmt.Errorf("%w %q was accepted %s", source.ErrWritable, sql, how)
	}
	return fmt.Errorf("try %q %s: %w", sql, how, err)
}
