package mysql

import (
	"context"
	"database/sql/driver"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"
	"time"

	"github.com/go-sql-driver/mysql"

	"github.com/footnotehq/footnote"
	"github.com/footnotehq/footnote/source"
	"github.com/footnotehq/footnote/source/mysql/grammar"
)

// Query implements child.Engine.
func (e *engine) Query(ctx context.Context, q source.Query, each func(row []any) error) (source.Summary, error) {
	st, err := e.admit(ctx, q)
	if err != nil {
		return source.Summary{}, err
	}
	s, err := e.begin(ctx)
	if err != nil {
		return source.Summary{Tables: st.Tables}, err
	}
	defer s.end()
	sum, err := s.query(ctx, st.SQL, each)
	sum.Tables = st.Tables
	return sum, err
}

// admit passes a statement through the gate. A name that the catalog does not know may be new.
func (e *engine) admit(ctx context.Context, q source.Query) (grammar.Statement, error) {
	cat, err := e.catalog(ctx, time.Time{})
	if err != nil {
		return grammar.Statement{}, err
	}
	r := e.reader(ctx, cat, e.rules.For(ctx))
	st, err := grammar.Read(q.SQL, r.options(q.Args))
	if !r.unknown || time.Since(cat.read) < recheckTime {
		return st, err
	}
	if cat, err = e.catalog(ctx, time.Now()); err != nil {
		return grammar.Statement{}, err
	}
	return grammar.Read(q.SQL, e.reader(ctx, cat, e.rules.For(ctx)).options(q.Args))
}

// query runs a statement that the gate has written. Only then is our mark put before it.
func (s *session) query(ctx context.Context, sql string, each func([]any) error) (source.Summary, error) {
	stop := s.killOn(ctx)
	sum, err := s.read(context.WithoutCancel(ctx), sql, each)
	if err == nil {
		err = s.complete(context.WithoutCancel(ctx))
	}
	if killed := stop(); killed {
		s.broken = true
	}
	return sum, s.explain(ctx, err)
}

// errEnded wraps an error that needs no explanation, such as that of a reader that wants no more rows.
type errEnded struct{ error }

// read runs a statement and passes on its rows.
func (s *session) read(ctx context.Context, sql string, each func([]any) error) (source.Summary, error) {
	rows, err := s.conn.query(ctx, s.mark+sql)
	if err != nil {
		return source.Summary{}, err
	}
	cols := newColumns(rows)
	sum := source.Summary{Columns: cols.describe()}
	values := make([]driver.Value, len(cols))
	for {
		s.conn.wire.read.Store(0)
		switch err := rows.Next(values); {
		case errors.Is(err, io.EOF):
			return sum, rows.Close()
		case err != nil:
			s.broken = true
			return sum, err
		}
		if err := each(cols.row(values)); err != nil {
			s.abandon()
			return sum, errEnded{err}
		}
	}
}

// errIncomplete are the numbers of warnings that come with wrong values: a text that GROUP_CONCAT cut, one that was too
// long and became NULL, and a recursion that was stopped.
var errIncomplete = []string{"1260", "1301", "1931"}

// complete returns an error if the server warns that it has not computed all that the last statement asks for.
func (s *session) complete(ctx context.Context) error {
	warnings, err := s.conn.rows(ctx, "SHOW WARNINGS LIMIT 64")
	for _, w := range warnings {
		if len(w) == 3 && slices.Contains(errIncomplete, w[1]) {
			s.broken = true // the server shows the warning again after a statement that reads no table
			return errEnded{source.Limitf("The database did not compute the whole result: %s.",
				strings.TrimRight(w[2], "."))}
		}
	}
	return err
}

// abandon ends a statement whose remaining rows nobody wants, and its connection.
func (s *session) abandon() {
	s.broken = true
	ctx, cancel := context.WithTimeout(context.Background(), killTime)
	defer cancel()
	_ = s.e.connector.kill(ctx, s.conn.id) // if it fails, the server ends the statement when it cannot send its rows
	_ = s.conn.wire.Conn.Close()
}

// Numbers of errors of the server. The last group are those of MariaDB 10.11 and MySQL 8.
var (
	errDenied  = []uint16{1044, 1142, 1143, 1227, 1370, 1792, 1290, 1345, 4085}
	errStopped = []uint16{1317, 1969, 3024}
	errLocked  = []uint16{1205, 1213, 3572}
	errTooMuch = []uint16{1021, 1037, 1038, 1041, 1104, 1114, 1135, 1206, 1436, 3170, 3636, 4030}
	errEnding  = []uint16{1053, 1927, 3169}
	errBroken  = []uint16{1030, 1033, 1034, 1194, 1195, 1877}
)

// explain turns an error of a statement into one that the model should read.
func (s *session) explain(ctx context.Context, err error) error {
	var ended errEnded
	switch {
	case err == nil:
		return nil
	case errors.As(err, &ended):
		return ended.error
	case ctx.Err() != nil:
		return context.Cause(ctx)
	case s.conn.wire.tooLarge.Load():
		s.broken = true
		return source.Limitf("A row is larger than %d MB. Select fewer columns, or a part of the value with SUBSTRING.",
			maxRow>>20)
	}
	bad, ok := errors.AsType[*mysql.MySQLError](err)
	if !ok {
		s.broken = true
		return source.Failf("The connection to the database was lost during the query. Run the query again.")
	}
	if bad.Number == 1064 && (s.e.rules != nil || len(source.HiddenIn(ctx)) > 0) {
		// The message would quote the statement as the gate has written it, with filters and tables below views.
		return source.Failf("The database does not know the syntax of a part of this statement.")
	}
	return explainNumber(ctx, bad)
}

func explainNumber(ctx context.Context, bad *mysql.MySQLError) error {
	message := strings.ToValidUTF8(strings.TrimRight(bad.Message, "."), "\uFFFD")
	switch is := func(numbers []uint16) bool { return slices.Contains(numbers, bad.Number) }; {
	case strings.Contains(message, "max-session-mem-used"):
		return source.Limitf("The query needed more memory than it may use and was stopped. Aggregate or filter " +
			"before sorting and joining.")
	case is(errStopped):
		// The server's own time limit is longer than ours. An administrator who stops a statement does so earlier.
		end, ok := ctx.Deadline()
		return &source.Error{
			Kind: source.Limited, TimedOut: ok && time.Until(end) < time.Second,
			Reason: "The query was stopped: " + message + ".",
		}
	case is(errLocked):
		return source.Limitf("A table is locked by another program. Try again later.")
	case is(errTooMuch):
		return source.Limitf("The query needed more than it may use: %s.", message)
	case is(errDenied):
		return source.Refusef("%s.", message)
	case is(errEnding):
		return source.Failf("The database ended the connection. Run the query again.")
	case is(errBroken):
		return footnote.Wrapf(footnote.DatabaseUnavailable, bad, "The database reported an internal error.")
	}
	return source.Failf("%s", fmt.Sprintf("%s.", message))
}
