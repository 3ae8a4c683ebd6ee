package postgres

import (
	"cmp"
	"context"
	_ "embed"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/jackc/pgx/v5/pgconn"

	"github.com/footnotehq/footnote/source"
	"github.com/footnotehq/footnote/source/child"
)

var (
	//go:embed probe/writes.sql
	writes string
	//go:embed probe/session.sql
	sessionStatements string
)

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
	list := child.Attempts(writes, table, "")
	for _, sql := range append(list, child.Attempts(sessionStatements, table, "")...) {
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
	return cmp.Or(child.CheckRefused(ctx, sql, err, "", how), fmt.Errorf("try %q %s: %w", sql, how, err))
}
