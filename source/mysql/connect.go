package mysql

import (
	"context"
	"database/sql"
	"database/sql/driver"
	"errors"
	"fmt"
	"log/slog"
	"sync"
	"time"

	"github.com/go-sql-driver/mysql"

	"github.com/footnotehq/footnote"
	"github.com/footnotehq/footnote/internal/rowfilter"
	"github.com/footnotehq/footnote/source"
	"github.com/footnotehq/footnote/source/child"
	"github.com/footnotehq/footnote/source/mysql/grammar"
)

const (
	connectTime = 5 * time.Second
	endTime     = 3 * time.Second        // for ending a transaction
	killEvery   = 100 * time.Millisecond // a KILL that arrives before the statement has no effect
	killTime    = time.Second            // after it, the connection is closed
)

// engine is one database. It implements child.Engine but runs in this process.
type engine struct {
	name      string
	config    *mysql.Config
	connector *connector
	pool      *sql.DB
	rules     *rowfilter.Rules // nil: everybody sees every row
	filters   map[string]bool  // tables that may be read to whether everybody may see all their rows; nil without rules
	functions map[string]bool  // Options.Functions in lower case
	version   string           // Options.VersionSQL as it is sent, or ""
	log       *slog.Logger

	mu      sync.Mutex // guards below
	cat     *catalog
	started time.Time // when the server was started, as far as its clock tells
}

// connect opens the pool and reads the catalog.
func connect(ctx context.Context, name, address string, o Options) (_ *engine, err error) {
	c, err := parseAddress(address)
	if err != nil {
		return nil, footnote.Invalidf("source %s: the address is not one of MySQL or MariaDB: %v.", name, err)
	}
	rules, err := rowfilter.Parse(o.Filters)
	if err != nil {
		return nil, footnote.Invalidf("source %s: filters: %v.", name, err)
	}
	limits := o.Limits.Within(source.DefaultLimits())
	if o.Limits.Time > 0 {
		limits.Time = o.Limits.Time
	}
	if o.Limits.Memory > 0 {
		limits.Memory = o.Limits.Memory
	}
	e := &engine{
		name: name, config: c, connector: newConnector(c, limits.Time, limits.Memory), rules: rules,
		filters: rules.Opened(), functions: functionSet(o.Functions, c.DBName), log: o.Logger,
	}
	e.pool = sql.OpenDB(e.connector)
	e.pool.SetMaxOpenConns(child.Concurrency)
	e.pool.SetMaxIdleConns(child.Concurrency)
	e.pool.SetConnMaxIdleTime(5 * time.Minute)
	defer func() {
		if err != nil {
			_ = e.pool.Close()
		}
	}()
	cat, err := e.catalog(ctx, time.Time{})
	if err != nil {
		return nil, err
	}
	if err := e.checkFilters(ctx, cat); err != nil {
		return nil, err
	}
	return e, e.checkVersion(ctx, o.VersionSQL)
}

// checkVersion reads the configured statement for the version and runs it once, so that its errors show at startup.
func (e *engine) checkVersion(ctx context.Context, statement string) error {
	if statement == "" {
		return nil
	}
	cat, err := e.catalog(ctx, time.Time{})
	if err != nil {
		return err
	}
	st, err := grammar.Read(statement, (&reader{e: e, cat: cat, allRows: true}).options(nil))
	if err == nil {
		e.version = st.SQL
		_, err = e.Version(ctx)
	}
	if bad, ok := errors.AsType[*source.Error](err); ok {
		return footnote.Wrapf(footnote.InvalidRequest, err, "source %s: the statement for its version must give one "+
			"value: %s", e.name, bad.Reason)
	}
	return err
}

// Close implements child.Engine.
func (e *engine) Close() error { return e.pool.Close() }

// session is a connection inside a read-only transaction.
type session struct {
	e      *engine
	pooled *sql.Conn
	conn   *conn
	mark   string // comment before each statement: whom it runs for
	broken bool   // the connection must not be reused
}

// begin starts a read-only transaction.
func (e *engine) begin(ctx context.Context) (*session, error) {
	for again := true; ; again = false {
		pooled, err := e.pool.Conn(ctx)
		if err != nil {
			return nil, e.unreachable(ctx, err)
		}
		s := &session{e: e, pooled: pooled, mark: footnote.OriginOf(ctx).Comment()}
		err = pooled.Raw(func(c any) error {
			s.conn, _ = c.(*conn)
			return s.conn.exec(ctx, s.mark+"START TRANSACTION READ ONLY")
		})
		if err == nil {
			return s, nil
		}
		s.broken = true
		s.end()
		if _, answered := errors.AsType[*mysql.MySQLError](err); answered || !again || ctx.Err() != nil {
			return nil, e.unreachable(ctx, err)
		}
	}
}

// end ends the transaction, or closes the connection if that fails.
func (s *session) end() {
	ctx, cancel := context.WithTimeout(context.Background(), endTime)
	defer cancel()
	if !s.broken {
		s.broken = s.conn.exec(ctx, "ROLLBACK") != nil
	}
	if s.broken {
		_ = s.pooled.Raw(func(any) error { return driver.ErrBadConn }) // closes it
	}
	_ = s.pooled.Close()
}

// rows runs one of our own queries. After an error the connection is not used again.
func (s *session) rows(ctx context.Context, query string) ([][]string, error) {
	stop := s.killOn(ctx)
	rows, err := s.conn.rows(context.WithoutCancel(ctx), s.mark+query)
	if killed := stop(); killed || err != nil {
		s.broken = true
	}
	if err != nil {
		return nil, s.e.unreachable(ctx, err)
	}
	return rows, nil
}

// killOn ends the session's statement on the server when ctx ends. The driver alone would only close its connection,
// and the server would work on. Stop waits until nothing can hit a later statement, and reports whether the connection
// must not be used again.
func (s *session) killOn(ctx context.Context) (stop func() (killed bool)) {
	done, ended := make(chan struct{}), make(chan bool, 1)
	go func() {
		select {
		case <-done:
			ended <- false
		case <-ctx.Done():
			s.e.kill(s.conn, done)
			ended <- true
		}
	}()
	return func() bool {
		close(done)
		return <-ended
	}
}

// kill ends a connection's statement, until done. When the server does not react, it closes the connection.
func (e *engine) kill(c *conn, done <-chan struct{}) {
	ctx, cancel := context.WithTimeout(context.Background(), killTime)
	defer cancel()
	for {
		if err := e.connector.kill(ctx, c.id); err != nil {
			e.log.Warn("cannot stop a statement on the server", "source", e.name, "err", err)
		}
		select {
		case <-done:
			return
		case <-ctx.Done():
			e.log.Warn("the server does not stop a statement; it will end with the function that it is computing",
				"source", e.name, "connection", c.id)
			_ = c.wire.Conn.Close()
			return
		case <-time.After(killEvery):
		}
	}
}

// unreachable returns the error for a database that cannot be reached.
func (e *engine) unreachable(ctx context.Context, err error) error {
	if ctx.Err() != nil {
		return context.Cause(ctx)
	}
	if bad, ok := errors.AsType[*source.Error](err); ok {
		return bad
	}
	message := fmt.Sprintf("The database at %s cannot be reached. Check that it runs, and the address of the source.",
		e.config.Addr)
	if bad, ok := errors.AsType[*mysql.MySQLError](err); ok {
		switch bad.Number {
		case 1044, 1045, 1698, 1130, 1862, 3118:
			message = "The database refuses this server: its user, password or privileges are wrong."
		case 1049:
			message = "The server has no database of this name."
		case 1040, 1203, 1226:
			message = "The database takes no further connections."
		case 1053:
			message = "The database is stopping."
		default:
			message = "The database reported an error: " + bad.Message + "."
		}
	}
	return &footnote.Error{
		Code: footnote.DatabaseUnavailable, Message: "database " + e.name + ": " + message, RetryAfter: 5 * time.Second,
		Err: err,
	}
}
