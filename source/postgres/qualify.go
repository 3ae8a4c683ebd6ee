package postgres

import (
	"context"
	"errors"
	"slices"
	"strings"

	"github.com/footnotehq/footnote/source"
)

// A database may define functions with the same names as Postgres's own, for example a max for its own money type. Only
// the server knows which of the two a call runs. If the statement has no value of such a type, the gate chooses
// Postgres's own and writes pg_catalog.max for max. Otherwise it refuses the statement, so that max never runs another
// function than it would in psql.

// ambiguousError is the error of judge for a statement that calls functions of Postgres by names that functions of the
// database have, too.
type ambiguousError struct{ names []string }

func (e *ambiguousError) Error() string { return ambiguousReason(strings.Join(e.names, ", ")) }

func ambiguousReason(names string) string {
	return names + " is also a function of the database itself, which may not be called. " +
		"Write pg_catalog. before the name for Postgres's own."
}

// assumePostgres returns an ambiguousError if the calls can only mean Postgres's own functions. It refuses the
// statement if they may mean the database's: because a column or a cast has one of such a function's types, or because
// another schema is searched before pg_catalog.
func (j *judge) assumePostgres() error {
	mayRun := func(f function) bool {
		return slices.ContainsFunc(f.types, func(oid string) bool {
			return own(oid) && (j.columnTypes[oid] || j.named[oid])
		})
	}
	if j.s.path[0] == "pg_catalog" && !slices.ContainsFunc(j.candidates, mayRun) {
		return &ambiguousError{j.ambiguous}
	}
	return source.Refusef("%s", ambiguousReason(strings.Join(j.ambiguous, ", ")))
}

// judgeAndQualify judges a statement and returns the text to run. If names are ambiguous, that is the statement with
// pg_catalog written before them, and this text is judged as well.
func (e *engine) judgeAndQualify(ctx context.Context, s *session, sql string, f facts, cat *catalog) (string, error) {
	err := e.judge(ctx, s, f, cat)
	ambiguous, ok := errors.AsType[*ambiguousError](err)
	if !ok {
		return sql, err
	}
	sql = qualify(sql, f.Calls, ambiguous.names)
	if f, err = e.grammar.read(ctx, sql); err != nil {
		return "", err
	}
	if err = cat.check(f); err != nil {
		return "", err
	}
	s.ambiguous = ambiguous.names
	if err = e.judge(ctx, s, f, cat); err == nil {
		return sql, nil
	}
	// Not every use of a name is a call: TABLESAMPLE system.
	if ambiguous, ok = errors.AsType[*ambiguousError](err); ok {
		err = source.Refusef("%s", ambiguous.Error())
	}
	return "", err
}

// qualify writes pg_catalog before calls of some functions. Calls maps each name to where it is called.
func qualify(sql string, calls map[string][]int, names []string) string {
	var at []int
	for _, n := range names {
		at = append(at, calls[n]...)
	}
	slices.Sort(at)
	for _, i := range slices.Backward(slices.Compact(at)) {
		if 0 <= i && i <= len(sql) {
			sql = sql[:i] + "pg_catalog." + sql[i:]
		}
	}
	return sql
}
