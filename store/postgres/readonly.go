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

// A server rejects writes if it is a standby, or if an operator made it read-only. All connections lead to a server
// that accepts writes, if there is one. Otherwise the pool also connects to the others, so that conversations can be
// read. It uses such a connection only for lookAgain, and then looks for a server that accepts writes. The writer,
// which has its own connection, looks for one with each write.

// lookAgain is how long the pool uses a connection to a server that rejects writes.
const lookAgain = 5 * time.Second

// forReading is the key of a connection's custom data for the time until which the pool may use it although its server
// rejects writes.
const forReading = "footnote.forReading"

// readOnly reports whether err means that a server rejects writes. A statement or a new connection can return such an
// error.
func readOnly(err error) bool {
	if errors.Is(err, pgconn.ErrReadOnlyConnection) || errors.Is(err, pgconn.ErrStandbyConnection) {
		return true
	}
	e, ok := errors.AsType[*pgconn.PgError](err)
	return ok && e.Code == "25006"
}

// servers chooses the servers that the pool connects to.
type servers struct {
	log   *slog.Logger
	since atomic.Pointer[time.Time] // when no server was last found to accept writes; nil while one does
	reset func()                    // closes the idle connections of the pool
}

// use sets the hooks of a pool.
func (v *servers) use(c *pgxpool.Config) {
	c.BeforeConnect = v.choose
	c.AfterConnect = v.connected
	c.PrepareConn = v.prepare
}

// choose accepts all servers for some time after none was found to accept writes.
func (v *servers) choose(_ context.Context, c *pgx.ConnConfig) error {
	if at := v.since.Load(); at != nil && time.Since(*at) < lookAgain {
		c.ValidateConnect = markReading
	}
	return nil
}

// markReading accepts a server, and marks the connection if it rejects writes.
func markReading(ctx context.Context, c *pgconn.PgConn) error {
	err := pgconn.ValidateConnectTargetSessionAttrsReadWrite(ctx, c)
	if !errors.Is(err, pgconn.ErrReadOnlyConnection) {
		return err
	}
	c.CustomData()[forReading] = time.Now().Add(lookAgain)
	return nil
}

// connected records that a server accepts writes.
func (v *servers) connected(_ context.Context, conn *pgx.Conn) error {
	c := conn.PgConn()
	switch {
	case marked(conn):
	case rejectsWrites(c): // and the URL asks for such a server
		c.CustomData()[forReading] = time.Now().Add(time.Hour)
	default:
		v.acceptsWrites()
	}
	return nil
}

// prepare rejects connections to servers that reject writes, at once or when their time has passed.
func (v *servers) prepare(_ context.Context, conn *pgx.Conn) (bool, error) {
	if until, ok := conn.PgConn().CustomData()[forReading].(time.Time); ok {
		return time.Now().Before(until), nil
	}
	return !rejectsWrites(conn.PgConn()), nil
}

// marked reports whether a connection was accepted for reading only.
func marked(c *pgx.Conn) bool { return c.PgConn().CustomData()[forReading] != nil }

// rejectsWrites reports whether a server has announced that it rejects writes, as Postgres 14 and later do on their
// own.
func rejectsWrites(c *pgconn.PgConn) bool {
	return c.ParameterStatus("in_hot_standby") == "on" || c.ParameterStatus("default_transaction_read_only") == "on"
}

// noneAcceptsWrites records that all reachable servers reject writes.
func (v *servers) noneAcceptsWrites() {
	if v.since.Swap(new(time.Now())) == nil {
		v.log.Warn("the store is read-only: conversations can be read, but not written")
	}
}

// acceptsWrites records that a server accepts writes, and makes the pool use it.
func (v *servers) acceptsWrites() {
	if v.since.Swap(nil) != nil {
		v.log.Info("the store can be written again")
		v.reset()
	}
}

// connectAny opens a connection, if possible to a server that accepts writes.
func connectAny(ctx context.Context, c *pgx.ConnConfig) (*pgx.Conn, error) {
	conn, err := pgx.ConnectConfig(ctx, c)
	if !readOnly(err) {
		return conn, err
	}
	c = c.Copy()
	c.ValidateConnect = nil
	return pgx.ConnectConfig(ctx, c)
}

// cannotMigrate returns err, or, if the database is read-only, an error that explains why it cannot be used.
func cannotMigrate(err error, have, want int) error {
	if !readOnly(err) {
		return err
	}
	explained := footnote.Errorf(footnote.StorageUnavailable,
		"The store is read-only and holds an older version of the conversations (schema %d; this one reads %d). "+
			"Start again when it can be written.", have, want)
	if have == 0 {
		explained = footnote.Errorf(footnote.StorageUnavailable,
			"The store is read-only and still empty. Start again when it can be written.")
	}
	explained.Err = err
	return explained
}
