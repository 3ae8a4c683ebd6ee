package mysql

import (
	"context"
	_ "embed"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/go-sql-driver/mysql"

	"github.com/footnotehq/footnote/internal/wordlist"
	"github.com/footnotehq/footnote/source"
	"github.com/footnotehq/footnote/source/child"
)

var (
	//go:embed probe/writes.sql
	writes string
	//go:embed probe/session.sql
	sessionStatements string
)

// harmless are the privileges of a user who only reads.
var harmless = wordlist.Map(`
	USAGE: nothing
	SELECT: read
	SHOW_VIEW: definitions of views
	SHOW_DATABASES: names of databases`)

// Probe implements child.Engine. It first refuses a user with privileges beyond reading. Then it tries every write as a
// query, and without the gate in the transaction that queries have. With the privileges of a reader, none can work.
func (e *engine) Probe(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(ctx, loadTime)
	defer cancel()
	cat, err := e.catalog(ctx, time.Now())
	if err != nil {
		return err
	}
	excess, err := e.excess(ctx)
	if err != nil {
		return err
	}
	if len(excess) > 0 {
		return fmt.Errorf("%w The user %s has %s. Make one that may only read:\n  CREATE USER footnote_reader "+
			"IDENTIFIED BY '…';\n  GRANT SELECT, SHOW VIEW ON %s.* TO footnote_reader;", source.ErrWritable,
			cat.role, strings.Join(excess, "; "), quote(cat.database))
	}
	table := "footnote_none"
	for _, r := range cat.relations {
		if !r.view {
			table = r.quoted()
			break
		}
	}
	list := child.Attempts(writes, table, "")
	for _, sql := range append(slices.Clone(list), child.Attempts(sessionStatements, table, "")...) {
		_, err := e.Query(ctx, source.Query{SQL: sql, Limits: source.DefaultLimits()}, func([]any) error { return nil })
		if bad, ok := errors.AsType[*source.Error](err); !ok || bad.Kind != source.Refused {
			return attemptError(ctx, sql, err, "as a query")
		}
	}
	return e.withoutGate(ctx, list)
}

// excess returns the privileges of the user that go beyond reading.
func (e *engine) excess(ctx context.Context) ([]string, error) {
	s, err := e.begin(ctx)
	if err != nil {
		return nil, err
	}
	defer s.end()
	statement := "SHOW GRANTS"
	if !s.conn.version.mariaDB { // MySQL lists the privileges of active roles only when asked
		roles, err := s.rows(ctx, "SELECT CURRENT_ROLE()")
		if err != nil {
			return nil, err
		}
		if len(roles) == 1 && roles[0][0] != "NONE" && roles[0][0] != "" {
			statement += " FOR CURRENT_USER() USING " + roles[0][0]
		}
	}
	rows, err := s.rows(ctx, statement)
	if err != nil {
		return nil, err
	}
	var found []string
	for _, r := range rows {
		found = append(found, excessOf(r[0], len(e.functions) > 0)...)
	}
	return found, nil
}

// excessOf returns the privileges in a line of SHOW GRANTS that go beyond reading. A user whose queries may call
// functions of the database needs EXECUTE.
func excessOf(line string, functions bool) []string {
	rest, isGrant := strings.CutPrefix(line, "GRANT ")
	granted, on, ok := privileges(rest)
	if !isGrant || !ok {
		if strings.HasPrefix(line, "SET DEFAULT ROLE ") || strings.HasPrefix(line, "GRANT `") ||
			strings.HasPrefix(line, "GRANT '") || strings.HasPrefix(line, "REVOKE ") {
			return nil // a role, whose privileges are in lines of their own once it is active
		}
		return []string{fmt.Sprintf("a privilege that is not known here (%.80s)", line)}
	}
	var found []string
	for _, privilege := range granted {
		_, ok := harmless[strings.ReplaceAll(privilege, " ", "_")]
		if !ok && (privilege != "EXECUTE" || !functions) {
			found = append(found, privilege+" on "+on)
		}
	}
	if strings.Contains(line, "WITH GRANT OPTION") {
		found = append(found, "GRANT OPTION on "+on)
	}
	return found
}

// privileges splits SELECT (`a`), INSERT ON `shop`.* TO … into the privileges, without columns, and what they are on.
// Names in backticks may contain all of these signs and words. ok is false without an ON.
func privileges(list string) (granted []string, on string, ok bool) {
	depth, quoted, from := 0, false, 0
	add := func(to int) {
		p, _, _ := strings.Cut(list[from:to], "(")
		granted = append(granted, strings.TrimSpace(p))
		from = to + 1
	}
	for i, c := range list {
		switch {
		case c == '`':
			quoted = !quoted
		case quoted:
		case c == '(':
			depth++
		case c == ')':
			depth--
		case c == ',' && depth == 0:
			add(i)
		case depth == 0 && strings.HasPrefix(list[i:], " ON "):
			add(i)
			on, _, _ = cutOutside(list[i+len(" ON "):], " TO ")
			return granted, on, true
		}
	}
	return nil, "", false
}

// cutOutside cuts a text at the first separator that is not in backticks.
func cutOutside(s, separator string) (before, after string, found bool) {
	quoted := false
	for i, c := range s {
		if c == '`' {
			quoted = !quoted
		}
		if !quoted && strings.HasPrefix(s[i:], separator) {
			return s[:i], s[i+len(separator):], true
		}
	}
	return s, "", false
}

// withoutGate tries statements past the gate. Each has its own transaction, because DDL ends one.
func (e *engine) withoutGate(ctx context.Context, list []string) error {
	s, err := e.begin(ctx)
	if err != nil {
		return err
	}
	defer s.end()
	s.broken = true // whatever the attempts did to the session ends with it
	for _, sql := range list {
		if err := s.conn.exec(ctx, "START TRANSACTION READ ONLY"); err != nil {
			return e.unreachable(ctx, err)
		}
		err := s.conn.exec(ctx, sql)
		if _, refused := errors.AsType[*mysql.MySQLError](err); !refused {
			return attemptError(ctx, sql, err, "past the gate")
		}
	}
	return nil
}

// attemptError returns the error for an attempt that was not refused.
func attemptError(ctx context.Context, sql string, err error, how string) error {
	if writable := child.CheckRefused(ctx, sql, err, "", how); writable != nil {
		return writable
	}
	return fmt.Errorf("try %q %s: %w", sql, how, err)
}
