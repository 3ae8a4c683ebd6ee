package postgres

import (
	"context"
	"errors"
	"log/slog"
	"sync/atomic"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"
	"github.com/jackc/pgx/v5/pgxpool"

	"github.com/footnotehq/footnote"
)

// A server can refuse writes: it is a standby, or an operator made it read-only. All
// connections are made to a server that takes writes, where there is one. While there is
// none the pool also connects to the others, so that conversations can be read. It uses
// such a connection for lookAgain only, and then looks for a server that takes writes.
// The writer, which has a connection of its own, looks for one with each write.

// lookAgain is how long the pool uses a connection to a server that refuses writes.
const lookAgain = 5 * time.Second

// forReading is the key under which a connection has the time until which the pool may
// use it although its server refuses writes.
const forReading = "footnote.forReading"

// readOnly reports whether err says that a server refuses writes: to a statement, or
// when a connection was to be made.
func readOnly(err error) bool {
	if errors.Is(err, pgconn.ErrReadOnlyConnection) || errors.Is(err, pgconn.ErrStandbyConnection) {
		return true
	}
	e, ok := errors.AsType[*pgconn.PgError](err)
	return ok && e.Code == "25006"
}

// servers says which servers the pool connects to.
type servers struct {
	log   *slog.Logger
	since atomic.Pointer[time.Time] // when it was last seen that none takes writes; nil while one does
	reset func()                    // ends the connections of the pool that nobody uses
}

// use sets the hooks of a pool.
func (v *servers) use(c *pgxpool.Config) {
	c.BeforeConnect = v.choose
	c.AfterConnect = v.connected
	c.PrepareConn = v.prepare
}

// choose accepts all servers while it is known that none takes writes.
func (v *servers) choose(_ context.Context, c *pgx.ConnConfig) error {
	if at := v.since.Load(); at != nil && time.Since(*at) < lookAgain {
		c.ValidateConnect = markReading
	}
	return nil
}

// markReading accepts a server, and notes on the connection if it refuses writes.
func markReading(ctx context.Context, c *pgconn.PgConn) error {
	err := pgconn.ValidateConnectTargetSessionAttrsReadWrite(ctx, c)
	if !errors.Is(err, pgconn.ErrReadOnlyConnection) {
		return err
	}
	c.CustomData()[forReading] = time.Now().Add(lookAgain)
	return nil
}

// connected notes that a server takes writes.
func (v *servers) connected(_ context.Context, conn *pgx.Conn) error {
	c := conn.PgConn()
	switch {
	case marked(conn):
	case refusesWrites(c): // but the URL asks for such a server
		c.CustomData()[forReading] = time.Now().Add(time.Hour)
	default:
		v.takesWrites()
	}
	return nil
}

// prepare ends connections to servers that refuse writes once they have had their time,
// and those whose server has begun to refuse writes.
func (v *servers) prepare(_ context.Context, conn *pgx.Conn) (bool, error) {
	until, ok := conn.PgConn().CustomData()[forReading].(time.Time)
	if ok {
		return time.Now().Before(until), nil
	}
	return !refusesWrites(conn.PgConn()), nil
}

// marked reports whether a connection was accepted for reading only.
func marked(c *pgx.Conn) bool { return c.PgConn().CustomData()[forReading] != nil }

// refusesWrites reports what a server has said of itself, as Postgres 14 and later do
// without being asked.
func refusesWrites(c *pgconn.PgConn) bool {
	return c.ParameterStatus("in_hot_standby") == "on" || c.ParameterStatus("default_transaction_read_only") == "on"
}

// noneTakesWrites notes that all servers that answer refuse writes.
func (v *servers) noneTakesWrites() {
	if v.since.Swap(new(time.Now())) == nil {
		v.log.Warn("the store is read-only: conversations can be read, nothing can be written")
	}
}

// takesWrites notes that a server takes writes: the pool shall use that one.
func (v *servers) takesWrites() {
	if v.since.Swap(nil) != nil {
		v.log.Info("the store can be written again")
		v.reset()
	}
}

// connectAny opens a connection: to a server that takes writes, where there is one.
func connectAny(ctx context.Context, c *pgx.ConnConfig) (*pgx.Conn, error) {
	conn, err := pgx.ConnectConfig(ctx, c)
	if !readOnly(err) {
		return conn, err
	}
	c = c.Copy()
	c.ValidateConnect = nil
	return pgx.ConnectConfig(ctx, c)
}

// cannotMigrate is err, or why a database of a version cannot be used while it is
// read-only.
func cannotMigrate(err error, have, want int) error {
	if !readOnly(err) {
		return err
	}
	words := footnote.Errorf(footnote.StorageUnavailable,
		"The store is read-only and holds an older version of the conversations (schema %d; this one reads %d). "+
			"Start again when it can be written.", have, want)
	if have == 0 {
		words = footnote.Errorf(footnote.StorageUnavailable,
			"The store is read-only, and Footnote has made nothing in it yet. Start again when it can be written.")
	}
	words.Err = err
	return words
}
