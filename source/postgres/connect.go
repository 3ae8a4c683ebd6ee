package postgres

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"net"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"
	"github.com/jackc/pgx/v5/pgconn/ctxwatch"
	"github.com/jackc/pgx/v5/pgxpool"

	"github.com/footnotehq/footnote"
	"github.com/footnotehq/footnote/source"
	"github.com/footnotehq/footnote/source/child"
)

const (
	connectTime = 5 * time.Second
	endTime     = 3 * time.Second // for ending a transaction and resetting the connection
	maxMessage  = 16 << 20        // bytes of one row on the wire
)

// settings apply to every connection from the start and after each reset.
var settings = map[string]string{
	"application_name": "footnote", "default_transaction_read_only": "on", "row_security": "on",
	"statement_timeout": "5min", "lock_timeout": "3s", "idle_in_transaction_session_timeout": "60s",
	"work_mem": "32MB", "hash_mem_multiplier": "1", "jit": "off", "TimeZone": "UTC", "DateStyle": "ISO, YMD",
	"synchronize_seqscans": "off", // a statement returns its rows in the same order again
	"IntervalStyle":        "postgres", "lc_monetary": "C", "bytea_output": "hex", "extra_float_digits": "1",
	"standard_conforming_strings": "on", "client_encoding": "UTF8", "xmloption": "content",
	"tcp_keepalives_idle": "15", "tcp_keepalives_interval": "5", "tcp_keepalives_count": "3",
}

// engine is one database. It implements child.Engine but runs in this process.
type engine struct {
	name    string
	pool    *pgxpool.Pool
	grammar *Grammar
	allowed []string // Options.Functions
	version string   // the statement that returns the version of the data

	mu          sync.Mutex // guards below
	cat         *catalog
	definitions map[string]facts // of views and types, by their text
}

// connect opens the pool and reads the catalog.
func connect(ctx context.Context, name, url string, o Options) (*engine, error) {
	bad := footnote.Invalidf(
		"source %s: the address is not a URL of Postgres. It is postgres://user:password@host:5432/database, with "+
			"the special characters of the password written as %%XX.", name)
	if !strings.HasPrefix(url, "postgres://") && !strings.HasPrefix(url, "postgresql://") {
		return nil, bad
	}
	c, err := pgxpool.ParseConfig(url)
	if err != nil {
		return nil, bad // the driver's message may contain the password
	}
	c.MaxConns, c.MinConns = child.Concurrency, 0
	c.MaxConnIdleTime = 5 * time.Minute
	c.ConnConfig.ConnectTimeout = connectTime
	c.ConnConfig.DefaultQueryExecMode = pgx.QueryExecModeExec
	maps.Copy(c.ConnConfig.RuntimeParams, settings)
	c.ConnConfig.BuildContextWatcherHandler = func(pc *pgconn.PgConn) ctxwatch.Handler {
		return &pgconn.CancelRequestContextWatcherHandler{Conn: pc, DeadlineDelay: time.Second}
	}
	c.ConnConfig.AfterConnect = func(_ context.Context, pc *pgconn.PgConn) error {
		pc.Frontend().SetMaxBodyLen(maxMessage)
		return nil
	}
	e := &engine{name: name, grammar: o.Grammar, allowed: o.Functions, version: query("version")}
	if o.VersionSQL != "" {
		e.version = "SELECT concat_ws('-', (" + strings.TrimRight(o.VersionSQL, "; \t\r\n") + "\n), " + shapeSQL + ")"
	}
	if e.pool, err = pgxpool.NewWithConfig(ctx, c); err != nil {
		return nil, bad
	}
	if _, err := e.catalog(ctx, time.Time{}); err != nil {
		e.pool.Close()
		return nil, err
	}
	if o.VersionSQL == "" {
		return e, nil
	}
	if err := e.checkVersion(ctx); err != nil {
		e.pool.Close()
		return nil, err
	}
	return e, nil
}

// checkVersion runs the configured statement once, so that its errors show at startup.
func (e *engine) checkVersion(ctx context.Context) error {
	s, err := e.begin(ctx, connectTime)
	if err != nil {
		return err
	}
	defer s.end()
	if _, err := s.rows(ctx, e.version); err != nil {
		s.broken = true
		if pg, ok := errors.AsType[*pgconn.PgError](err); ok {
			return footnote.Wrapf(footnote.InvalidRequest, err,
				"source %s: the statement for its version must give one value: %s", e.name, pg.Message)
		}
		return e.unreachable(ctx, err)
	}
	return nil
}

// Close implements child.Engine.
func (e *engine) Close() error {
	e.pool.Close()
	return nil
}

// session is a connection inside a read-only transaction.
type session struct {
	conn      *pgxpool.Conn
	pc        *pgconn.PgConn
	mark      string   // comment before each statement: whom it runs for
	broken    bool     // the connection must not be reused
	path      []string // schemas searched for unqualified names, including pg_catalog
	ambiguous []string // functions called by bare names that are read as Postgres's own; see judgeAndQualify
}

// begin starts a read-only transaction for the principal in ctx.
func (e *engine) begin(ctx context.Context, limit time.Duration) (*session, error) {
	set, err := claims(ctx)
	if err != nil {
		return nil, err
	}
	for again := true; ; again = false {
		conn, err := e.pool.Acquire(ctx)
		if err != nil {
			return nil, e.unreachable(ctx, err)
		}
		s := &session{conn: conn, pc: conn.Conn().PgConn(), mark: footnote.OriginOf(ctx).Comment()}
		if err = s.start(ctx, limit, set); err == nil {
			return s, nil
		}
		s.broken = true
		s.end()
		if _, answered := errors.AsType[*pgconn.PgError](err); answered || !again || ctx.Err() != nil {
			return nil, e.unreachable(ctx, err)
		}
	}
}

func (s *session) start(ctx context.Context, limit time.Duration, set [][2]string) error {
	begin := fmt.Sprintf("%sBEGIN ISOLATION LEVEL READ COMMITTED READ ONLY; SET LOCAL statement_timeout = %d; %s",
		s.mark, (limit + time.Second).Milliseconds(), pathSQL)
	results, err := s.pc.Exec(ctx, begin).ReadAll()
	if err != nil {
		return err
	}
	if last := results[len(results)-1]; len(last.Rows) != 1 || json.Unmarshal(last.Rows[0][0], &s.path) != nil {
		return errors.New("cannot read search_path")
	}
	if len(set) == 0 {
		return nil
	}
	calls, values := make([]string, len(set)), make([][]byte, 0, 2*len(set))
	for i, kv := range set {
		calls[i] = fmt.Sprintf("pg_catalog.set_config($%d, $%d, true)", 2*i+1, 2*i+2)
		values = append(values, []byte(kv[0]), []byte(kv[1]))
	}
	return s.pc.ExecParams(ctx, s.mark+"SELECT "+strings.Join(calls, ", "), values, nil, nil, nil).Read().Err
}

// pathSQL, like everything else that runs with the role's search_path, qualifies every name: an object of the
// database could have the same name as one of Postgres's own.
const pathSQL = `SELECT pg_catalog.array_to_json(pg_catalog.current_schemas(true))`

// pinSQL makes every unqualified name Postgres's own, for our statements; unpinSQL undoes that for other
// statements.
const (
	pinSQL   = `SET LOCAL search_path TO pg_catalog`
	unpinSQL = `SET LOCAL search_path TO DEFAULT`
)

// pin prepares a session that runs only our own statements.
func (e *engine) pin(ctx context.Context, s *session) error {
	_, err := s.pc.Exec(ctx, pinSQL).ReadAll()
	return e.broken(ctx, s, err)
}

// broken gives up the connection of a session for an error of one of our own statements.
func (e *engine) broken(ctx context.Context, s *session, err error) error {
	if err == nil {
		return nil
	}
	s.broken = true
	return e.unreachable(ctx, err)
}

// end ends the transaction and resets the connection, or closes it if that fails.
func (s *session) end() {
	ctx, cancel := context.WithTimeout(context.Background(), endTime)
	defer cancel()
	for _, sql := range []string{"ROLLBACK", "DISCARD ALL"} {
		if s.broken {
			break
		}
		if _, err := s.pc.Exec(ctx, sql).ReadAll(); err != nil {
			s.broken = true
		}
	}
	if s.broken {
		_ = s.conn.Conn().Close(ctx) // the connection is given up anyway
	}
	s.conn.Release()
}

// attribute matches names of principals' attributes that may be part of a setting's name.
var attribute = regexp.MustCompile(`^[A-Za-z_][A-Za-z0-9_]{0,40}$`)

// claims returns the settings that identify the principal to the database.
func claims(ctx context.Context) ([][2]string, error) {
	p, ok := footnote.ActingPrincipal(ctx)
	if !ok {
		return nil, nil
	}
	for _, role := range p.Roles {
		if strings.Contains(role, ",") { // a policy would read two roles, neither of which was given
			return nil, source.Refusef("Your role %.40q cannot be passed to the database: it contains a comma.", role)
		}
	}
	set := [][2]string{
		{"footnote.org", p.Org}, {"footnote.user", p.User}, {"footnote.roles", strings.Join(p.Roles, ",")},
	}
	for k, v := range p.Attributes {
		low := strings.ToLower(k)
		if !attribute.MatchString(k) || slices.Contains([]string{"org", "user", "roles"}, low) ||
			strings.IndexByte(v, 0) >= 0 {
			return nil, source.Refusef(
				"The database cannot learn your attribute %.40q: a name consists of letters, digits and _, and is "+
					"not org, user or roles.", k)
		}
		set = append(set, [2]string{"footnote." + low, v})
	}
	slices.SortFunc(set[3:], func(a, b [2]string) int { return strings.Compare(a[0], b[0]) })
	for i := 4; i < len(set); i++ {
		if set[i][0] == set[i-1][0] {
			return nil, source.Refusef("Two of your attributes differ only in case: %s.", set[i][0])
		}
	}
	return set, nil
}

// rows runs one of our own statements in a transaction and returns its rows as text.
func (s *session) rows(ctx context.Context, sql string) ([][]string, error) {
	r := s.pc.ExecParams(ctx, s.mark+sql, nil, nil, nil, nil).Read()
	if r.Err != nil {
		return nil, r.Err
	}
	out := make([][]string, len(r.Rows))
	for i, row := range r.Rows {
		out[i] = texts(row)
	}
	return out, nil
}

// unreachable returns the error for a database that cannot be reached.
func (e *engine) unreachable(ctx context.Context, err error) error {
	if ctx.Err() != nil {
		return context.Cause(ctx)
	}
	if bad, ok := errors.AsType[*source.Error](err); ok {
		return bad
	}
	at := e.pool.Config().ConnConfig
	message := fmt.Sprintf("The database at %s cannot be reached. Check that it runs, and the address of the source.",
		net.JoinHostPort(at.Host, strconv.Itoa(int(at.Port))))
	if pg, ok := errors.AsType[*pgconn.PgError](err); ok {
		switch {
		case strings.Contains(pg.Message, "startup parameter"):
			message = "A connection pooler shares connections between transactions. Use the direct address: of Neon, " +
				"the host without -pooler; of Supabase, port 5432; of PgBouncer, pool_mode = session."
		case strings.HasPrefix(pg.Code, "28"):
			message = "The database refuses this server: its user, password or privileges are wrong."
		case pg.Code == "3D000":
			message = "The server has no database of this name."
		case pg.Code == "53300":
			message = "The database takes no further connections."
		case strings.HasPrefix(pg.Code, "57P"):
			message = "The database is starting or stopping."
		}
	}
	return &footnote.Error{
		Code: footnote.DatabaseUnavailable, Message: "database " + e.name + ": " + message, RetryAfter: 5 * time.Second,
		Err: err,
	}
}

// Version implements child.Engine. It returns the database's own count of writes (which lags by up to about a
// second), and includes the principal if rows differ between users.
func (e *engine) Version(ctx context.Context) (string, error) {
	cat, err := e.catalog(ctx, time.Time{})
	if err != nil {
		return "", err
	}
	s, err := e.begin(ctx, connectTime)
	if err != nil {
		return "", err
	}
	defer s.end()
	if e.version == query("version") {
		if err := e.pin(ctx, s); err != nil {
			return "", err
		}
	}
	rows, err := s.rows(ctx, e.version)
	if err == nil && len(rows) != 1 {
		err = errors.New("the version is not one row")
	}
	if err != nil {
		return "", e.broken(ctx, s, err)
	}
	v := rows[0][0]
	if !cat.rowsPerUser {
		return v, nil
	}
	set, err := claims(ctx)
	for _, kv := range set {
		v += " " + strconv.Quote(kv[0]) + "=" + strconv.Quote(kv[1])
	}
	return v, err
}

// shapeSQL changes when tables or columns do.
const shapeSQL = `(SELECT coalesce(max(oid)::bigint, 0) FROM pg_catalog.pg_class), (SELECT count(*)
	FROM pg_catalog.pg_attribute)`
