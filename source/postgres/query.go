package postgres

import (
	"context"
	"errors"
	"fmt"
	"strconv"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/jackc/pgx/v5/pgconn"
	"github.com/jackc/pgx/v5/pgproto3"

	"github.com/footnotehq/footnote"
	"github.com/footnotehq/footnote/source"
)

// Query implements child.Engine.
func (e *engine) Query(ctx context.Context, q source.Query, each func(row []any) error) (source.Summary, error) {
	f, cat, err := e.admit(ctx, q.SQL, len(q.Args))
	if err != nil {
		return source.Summary{}, err
	}
	values, types, err := arguments(q.Args)
	if err != nil {
		return source.Summary{}, err
	}
	limit := q.Limits.Time
	if end, ok := ctx.Deadline(); ok {
		limit = min(limit, time.Until(end))
	}
	s, err := e.begin(ctx, limit)
	if err != nil {
		return source.Summary{}, err
	}
	defer s.end()
	sql, inner, err := e.hide(ctx, s, q.SQL, f, cat)
	if err != nil {
		return source.Summary{}, err
	}
	sql, err = e.judgeAndQualify(ctx, s, sql, inner, cat)
	if err != nil {
		return source.Summary{}, err
	}
	sum, err := s.query(ctx, sql, values, types, cat, each)
	sum.Tables = f.tables()
	return sum, err
}

// query runs a single statement: the extended protocol accepts no more. The gate has accepted exactly this text,
// and only then is our mark put before it.
func (s *session) query(ctx context.Context, sql string, values [][]byte, types []uint32, cat *catalog,
	each func(row []any) error) (source.Summary, error) {
	ctx, stop := context.WithCancel(ctx)
	defer stop()
	r := s.pc.ExecParams(ctx, s.mark+sql, values, types, nil, nil)
	cols := newColumns(r.FieldDescriptions(), cat, s.conn.Conn().TypeMap())
	sum := func() source.Summary { return source.Summary{Columns: cols.describe()} }
	for r.NextRow() {
		if err := each(cols.row(r.Values())); err != nil {
			s.broken = true // the cancel may arrive late, so do not reuse this connection
			stop()
			_, _ = r.Close() // its error is the one caused by the cancel
			return sum(), err
		}
	}
	_, err := r.Close()
	if cols.empty() {
		cols = newColumns(r.FieldDescriptions(), cat, s.conn.Conn().TypeMap())
	}
	if err == nil {
		return sum(), nil
	}
	if ctx.Err() != nil || s.pc.IsClosed() {
		s.broken = true
	}
	if pg, ok := errors.AsType[*pgconn.PgError](err); ok && len(s.ambiguous) > 0 &&
		(pg.Code == "42883" || pg.Code == "42725") {
		return sum(), source.Refusef("%s %s.", ambiguousReason(strings.Join(s.ambiguous, ", ")), pg.Message)
	}
	return sum(), explain(ctx, err)
}

// arguments returns the arguments of a statement as text, with their types.
func arguments(args []any) (values [][]byte, types []uint32, err error) {
	const (
		boolOID, int8OID, float8OID = 16, 20, 701
		inferred                    = 0
	)
	for i, a := range args {
		switch v := a.(type) {
		case nil:
			values, types = append(values, nil), append(types, inferred)
		case bool:
			values, types = append(values, strconv.AppendBool(nil, v)), append(types, boolOID)
		case int64:
			values, types = append(values, strconv.AppendInt(nil, v, 10)), append(types, int8OID)
		case float64:
			values, types = append(values, strconv.AppendFloat(nil, v, 'g', -1, 64)), append(types, float8OID)
		case string:
			if !utf8.ValidString(v) || strings.IndexByte(v, 0) >= 0 {
				return nil, nil, source.Failf("Argument %d is not text that Postgres can keep.", i+1)
			}
			values, types = append(values, []byte(v)), append(types, inferred)
		default:
			return nil, nil, source.Failf("Argument %d has a type that no database knows.", i+1)
		}
	}
	return values, types, nil
}

// explain turns a Postgres error into one that the model should read.
func explain(ctx context.Context, err error) error {
	if ctx.Err() != nil {
		return context.Cause(ctx)
	}
	fault := func(kind, text string) error { return &source.Error{Kind: kind, Reason: text} }
	if _, ok := errors.AsType[*pgproto3.ExceededMaxBodyLenErr](err); ok {
		return fault(source.Limited,
			fmt.Sprintf("A row is larger than %d MB. Select fewer columns, or a part of the value with substr.",
				maxMessage>>20))
	}
	pg, ok := errors.AsType[*pgconn.PgError](err)
	if !ok {
		return fault(source.Failed, "The connection to the database was lost during the query. Run the query again.")
	}
	text := pg.Message
	if pg.Hint != "" {
		text += ". " + pg.Hint
	}
	switch {
	case pg.Code == "57014":
		// The server's own time limit equals ours. An administrator who stops a statement does so earlier.
		end, ok := ctx.Deadline()
		return &source.Error{
			Kind:     source.Limited,
			TimedOut: ok && time.Until(end) < time.Second,
			Reason:   "The query was stopped: " + text + ".",
		}
	case pg.Code == "55P03":
		return fault(source.Limited, "A table is locked by another program. Try again later.")
	case strings.HasPrefix(pg.Code, "53"), strings.HasPrefix(pg.Code, "54"):
		return fault(source.Limited, "The query needed more than it may use: "+text+".")
	case pg.Code == "25006", pg.Code == "42501":
		return fault(source.Refused, text+".")
	case strings.HasPrefix(pg.Code, "57P"):
		return fault(source.Failed, "The database ended the connection. Run the query again.")
	case strings.HasPrefix(pg.Code, "58"), strings.HasPrefix(pg.Code, "F0"):
		return footnote.Wrapf(footnote.DatabaseUnavailable, err, "The database reported an internal error.")
	}
	return fault(source.Failed, text)
}
