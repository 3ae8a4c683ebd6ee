package postgres

import (
	"context"
	"errors"
	"slices"
	"strings"

	"github.com/footnotehq/footnote/source"
)

// A database may have functions by the names of Postgres's own: a max of its own type of money. Which of them a call
// means only the server knows. Where the statement has nothing of such a type, the gate has it mean Postgres's own: it
// writes pg_catalog.max for max. Otherwise the statement is refused, so that max never means another function than it
// does in psql.

// takenError is returned by judge for a statement that calls functions of Postgres by names that others have, too.
type takenError struct{ names []string }

func (e *takenError) Error() string { return takenReason(strings.Join(e.names, ", ")) }

func takenReason(names string) string {
	return names + " is also a function of the database itself, which may not be called. " +
		"Write pg_catalog. before the name for Postgres's own."
}

// readAsPostgres returns a takenError, unless the statement may mean another function: one whose types its columns or
// casts have, or one of a schema that is searched before Postgres's own.
func (j *judge) readAsPostgres() error {
	reached := func(f function) bool {
		return slices.ContainsFunc(f.types, func(oid string) bool {
			return own(oid) && (j.columnTypes[oid] || j.named[oid])
		})
	}
	if j.s.path[0] == "pg_catalog" && !slices.ContainsFunc(j.meant, reached) {
		return &takenError{j.taken}
	}
	return source.Refusef("%s", takenReason(strings.Join(j.taken, ", ")))
}

// settle judges a statement and returns the text to run. Where that is not the statement's own text, it has been judged
// in its place.
func (e *engine) settle(ctx context.Context, s *session, sql string, f facts, cat *catalog) (string, error) {
	err := e.judge(ctx, s, f, cat)
	taken, ok := errors.AsType[*takenError](err)
	if !ok {
		return sql, err
	}
	sql = qualify(sql, f.Calls, taken.names)
	if f, err = e.grammar.read(ctx, sql); err != nil {
		return "", err
	}
	if err = cat.check(f); err != nil {
		return "", err
	}
	s.taken = taken.names
	if err = e.judge(ctx, s, f, cat); err == nil {
		return sql, nil
	}
	if taken, ok = errors.AsType[*takenError](err); ok { // a name that is called otherwise, too: TABLESAMPLE system
		err = source.Refusef("%s", taken.Error())
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
