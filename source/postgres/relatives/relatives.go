// Package relatives opens servers that speak Postgres's protocol but are not Postgres: CockroachDB, Amazon Redshift and
// MotherDuck. Postgres's gate looks up what a statement can reach in catalogs that these lack, so their statements pass
// the gate of package warehouse, which writes them anew. What a server offers beyond that, such as read-only
// transactions and time limits, is tried when it is opened, and what is missing is a remark for the operator.
//
// None of them can run here: the tests imitate them, by their documentation, on a Postgres whose catalog lacks entries.
package relatives

import (
	"context"
	"encoding/base64"
	"encoding/hex"
	"errors"
	"fmt"
	"net"
	"regexp"
	"strconv"
	"strings"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"
	"github.com/jackc/pgx/v5/pgconn/ctxwatch"
	"github.com/jackc/pgx/v5/pgtype"
	"github.com/jackc/pgx/v5/pgxpool"

	"github.com/footnotehq/footnote"
	"github.com/footnotehq/footnote/source"
	"github.com/footnotehq/footnote/source/child"
	"github.com/footnotehq/footnote/source/engines"
	"github.com/footnotehq/footnote/source/warehouse"
)

const (
	connectTime = 5 * time.Second
	endTime     = 3 * time.Second
	ownTime     = time.Minute // for a statement of this program
	maxMessage  = 16 << 20    // bytes of one row on the wire
)

// Source is an open database.
type Source struct {
	*warehouse.Source
	service *service
}

// Role returns the user that queries run as, and remarks for the operator.
func (s *Source) Role() (name string, remarks []string) { return s.service.user, s.service.remarks }

// Open opens the database at an address if its version says that it is a relative of Postgres. It returns nil for
// Postgres itself, and for a server that does not answer, which Postgres's own source can explain better.
func Open(ctx context.Context, name, address string, o engines.Options) (source.Source, error) {
	c, err := pgxpool.ParseConfig(address)
	if err != nil {
		return nil, nil
	}
	c.MaxConns, c.MinConns = child.Concurrency, 0
	c.MaxConnIdleTime = 5 * time.Minute
	c.ConnConfig.ConnectTimeout = connectTime
	c.ConnConfig.DefaultQueryExecMode = pgx.QueryExecModeExec
	c.ConnConfig.BuildContextWatcherHandler = func(pc *pgconn.PgConn) ctxwatch.Handler {
		return &pgconn.CancelRequestContextWatcherHandler{Conn: pc, DeadlineDelay: time.Second}
	}
	c.ConnConfig.AfterConnect = func(_ context.Context, pc *pgconn.PgConn) error {
		pc.Frontend().SetMaxBodyLen(maxMessage)
		return nil
	}
	pool, err := pgxpool.NewWithConfig(ctx, c)
	if err != nil {
		return nil, nil
	}
	s := &service{pool: pool, user: c.ConnConfig.User}
	version, err := s.one(ctx, "SELECT version()")
	kind := kindOf(version)
	if err != nil || kind == nil {
		pool.Close()
		if err != nil || strings.HasPrefix(version, "PostgreSQL") {
			return nil, nil
		}
		return nil, footnote.Invalidf("source %s: the server speaks Postgres's protocol, but is none that is known: "+
			"Postgres, CockroachDB, Redshift and MotherDuck are.", name)
	}
	for _, given := range []struct {
		is      bool
		setting string
	}{
		{len(o.Functions) > 0, "functions"}, {o.VersionSQL != "", "cache.versions"},
	} {
		if given.is {
			pool.Close()
			return nil, footnote.Invalidf("source %s: %s has no setting %s; remove it.", name, kind.title,
				given.setting)
		}
	}
	if err := s.detect(ctx, kind); err != nil {
		pool.Close()
		return nil, source.Named(name, err)
	}
	src, err := warehouse.Open(ctx, s.database(), s, o.Limits, o.Hiding)
	if err != nil {
		return nil, source.Named(name, err)
	}
	return &Source{Source: src, service: s}, nil
}

// service implements warehouse.Service.
type service struct {
	pool    *pgxpool.Pool
	kind    *kind
	user    string
	begin   string   // begins a transaction
	limits  bool     // the server knows statement_timeout
	keys    bool     // it lists keys
	remarks []string // what is missing
}

// detect tries what the server offers.
func (s *service) detect(ctx context.Context, k *kind) error {
	s.kind, s.begin = k, "BEGIN READ ONLY"
	offers := func(sql string) (bool, error) {
		_, err := s.one(ctx, sql)
		if _, refused := errors.AsType[*source.Error](err); refused {
			return false, nil
		}
		return err == nil, err
	}
	for _, try := range []struct {
		sql     string
		takes   *bool
		missing string
	}{
		{"SELECT 1", new(bool), "the server has no read-only transactions; only the gate and the user's rights keep " +
			"it from writing"},
		{"SET statement_timeout = 30000", &s.limits, "the server has no statement_timeout; a query that is lost runs " +
			"on there"},
		{k.keysSQL() + " LIMIT 1", &s.keys, "the server does not list keys, so joins are guessed by names"},
	} {
		ok, err := offers(try.sql)
		if err != nil {
			return err
		}
		if *try.takes = ok; !ok {
			s.remarks = append(s.remarks, try.missing)
			if try.sql == "SELECT 1" {
				s.begin = "BEGIN"
			}
		}
	}
	return nil
}

// one runs a statement of this program and returns the first cell, or "".
func (s *service) one(ctx context.Context, sql string) (first string, err error) {
	err = s.Run(ctx, warehouse.Statement{SQL: sql, Own: true}, warehouse.Sink{
		Columns: func([]warehouse.Column) {},
		Row: func(cells []any) error {
			if text, ok := cells[0].(string); ok && first == "" {
				first = text
			}
			return nil
		},
	})
	return first, err
}

// Close implements warehouse.Service.
func (s *service) Close() { s.pool.Close() }

// Excess implements warehouse.Service.
func (s *service) Excess(ctx context.Context) ([]string, error) {
	var excess []string
	untold := len(s.kind.excess) == 0
	for _, sql := range s.kind.excess {
		found, err := s.one(ctx, sql)
		if _, missing := errors.AsType[*source.Error](err); missing {
			untold = true
			continue
		} else if err != nil {
			return nil, err
		}
		if found != "" {
			excess = append(excess, found)
		}
	}
	if untold {
		return excess, warehouse.ErrUntold
	}
	return excess, nil
}

// Run implements warehouse.Service. Every statement has a transaction of its own, which is rolled back.
func (s *service) Run(ctx context.Context, st warehouse.Statement, to warehouse.Sink) error {
	if !st.Own {
		if err := s.admit(st.SQL); err != nil {
			return err
		}
	}
	limit := ownTime
	if end, ok := ctx.Deadline(); ok {
		limit = time.Until(end)
	}
	ctx, cancel := context.WithTimeout(ctx, limit)
	defer cancel()
	conn, err := s.pool.Acquire(ctx)
	if err != nil {
		return s.unreachable(ctx, err)
	}
	r := running{conn: conn, pc: conn.Conn().PgConn()}
	defer r.end()
	begin := s.begin
	if begin == "" {
		begin = "BEGIN"
	}
	if s.limits {
		begin += fmt.Sprintf("; SET statement_timeout = %d", (limit + time.Second).Milliseconds())
	}
	if _, err := r.pc.Exec(ctx, begin).ReadAll(); err != nil {
		return s.explain(ctx, err)
	}
	return s.explain(ctx, r.query(ctx, st.SQL, to))
}

// nameTypes matches the types that turn numbers into names of the server's users and functions.
var nameTypes = regexp.MustCompile(`(?i)\b(reg(role|proc|procedure|oper|operator|class|namespace|type)|aclitem)\b`)

// admit checks what the gate does not: it knows no types, and takes backslashes for characters.
func (s *service) admit(sql string) error {
	if s.kind.noBackslash && strings.Contains(sql, `\`) {
		return source.Refusef("A backslash is not allowed here: the server may read it in another way. Use chr(92).")
	}
	if typ := nameTypes.FindString(sql); typ != "" {
		return source.Refusef("The type %s is not allowed: it reveals names of the server's own.", typ)
	}
	return nil
}

// callerError is an error of the caller's, which is returned unchanged.
type callerError struct{ error }

// running is a statement's connection.
type running struct {
	conn   *pgxpool.Conn
	pc     *pgconn.PgConn
	broken bool
}

// query runs one statement: the extended protocol takes no more.
func (r *running) query(ctx context.Context, sql string, to warehouse.Sink) error {
	ctx, stop := context.WithCancel(ctx)
	defer stop()
	result := r.pc.ExecParams(ctx, sql, nil, nil, nil, nil)
	var columns []warehouse.Column
	describe := func() {
		types := r.conn.Conn().TypeMap()
		for _, f := range result.FieldDescriptions() {
			columns = append(columns, warehouse.Column{Name: f.Name, Type: typeName(types, f.DataTypeOID)})
		}
		to.Columns(columns)
	}
	for result.NextRow() {
		if columns == nil {
			describe()
		}
		cells := make([]any, len(columns))
		for i, v := range result.Values() {
			if v != nil && i < len(cells) {
				cells[i] = text(columns[i].Type, string(v))
			}
		}
		if err := to.Row(cells); err != nil {
			r.broken = true // the cancel may arrive late
			stop()
			_, _ = result.Close()
			return callerError{err}
		}
	}
	_, err := result.Close()
	if columns == nil && err == nil {
		describe()
	}
	r.broken = r.broken || ctx.Err() != nil || r.pc.IsClosed()
	return err
}

// end ends the transaction, or closes the connection if that fails.
func (r *running) end() {
	ctx, cancel := context.WithTimeout(context.Background(), endTime)
	defer cancel()
	if !r.broken {
		_, err := r.pc.Exec(ctx, "ROLLBACK").ReadAll()
		r.broken = err != nil
	}
	if r.broken {
		_ = r.conn.Conn().Close(ctx) // it is given up anyway
	}
	r.conn.Release()
}

func typeName(types *pgtype.Map, oid uint32) string {
	if t, ok := types.TypeForOID(oid); ok {
		return t.Name
	}
	return "text"
}

// text returns the text of a value as package warehouse reads it.
func text(typ, v string) string {
	switch typ {
	case "bytea":
		if data, err := hex.DecodeString(strings.TrimPrefix(v, `\x`)); err == nil {
			return base64.StdEncoding.EncodeToString(data)
		}
	case "timestamptz":
		if utc, ok := strings.CutSuffix(v, "+00"); ok {
			return utc + " UTC"
		}
	}
	return v
}

// explain turns an error of the server into one that the model should read.
func (s *service) explain(ctx context.Context, err error) error {
	pg, ok := errors.AsType[*pgconn.PgError](err)
	mine, taken := errors.AsType[callerError](err)
	switch {
	case err == nil:
		return nil
	case taken:
		return mine.error
	case ctx.Err() != nil:
		return context.Cause(ctx)
	case !ok:
		return s.unreachable(ctx, err)
	case pg.Code == "57014":
		return source.Limitf("The query was stopped: %s.", pg.Message)
	case pg.Code == "25006", pg.Code == "42501":
		return source.Refusef("%s.", pg.Message)
	case strings.HasPrefix(pg.Code, "53"), strings.HasPrefix(pg.Code, "54"):
		return source.Limitf("The query needed more than it may use: %s.", pg.Message)
	case strings.HasPrefix(pg.Code, "57P"), strings.HasPrefix(pg.Code, "58"):
		return s.unreachable(ctx, err)
	}
	return source.Failf("%s", pg.Message)
}

// unreachable returns the error for a server that cannot be reached. Its message has no password.
func (s *service) unreachable(ctx context.Context, err error) error {
	if ctx.Err() != nil {
		return context.Cause(ctx)
	}
	at := s.pool.Config().ConnConfig
	return footnote.Wrapf(footnote.DatabaseUnavailable, err, "The database at %s cannot be reached.",
		net.JoinHostPort(at.Host, strconv.Itoa(int(at.Port))))
}
