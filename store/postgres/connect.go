package postgres

import (
	"context"
	"strings"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"
	"github.com/jackc/pgx/v5/pgxpool"

	"github.com/footnotehq/footnote"
)

// Time limits of one call. The server's limits are a little shorter than the client's, so that its error messages
// arrive. The URL can set others.
const (
	connectTime   = 2 * time.Second
	callTime      = 9 * time.Second
	writeTime     = 6 * time.Second
	slowDisk      = 4 << 20 // a large write gets another second for each of these bytes
	statementTime = "8s"
	lockTime      = "5s"
	idleTime      = "3s" // of a stopped process within a transaction; less than lockTime
	poolConns     = 8
)

// readCommitted lets each statement see what others committed while the one before it waited for a lock.
var readCommitted = pgx.TxOptions{IsoLevel: pgx.ReadCommitted}

// errURL returns the error for an invalid URL. It does not repeat the URL, which may contain a password.
func errURL() error {
	return footnote.Invalidf(
		"The store is not a Postgres URL. Use postgres://user:password@host:5432/database, with the special " +
			"characters of the password written as %%XX.")
}

// parse parses a URL and sets defaults.
func parse(url string) (*pgxpool.Config, error) {
	if !strings.HasPrefix(url, "postgres://") && !strings.HasPrefix(url, "postgresql://") {
		return nil, errURL()
	}
	c, err := pgxpool.ParseConfig(url)
	if err != nil {
		return nil, errURL() // the original error may contain the password
	}
	if !strings.Contains(url, "pool_max_conns") {
		c.MaxConns = poolConns
	}
	if !strings.Contains(url, "connect_timeout") {
		c.ConnConfig.ConnectTimeout = connectTime
	}
	for name, value := range map[string]string{
		"application_name": "footnote", "statement_timeout": statementTime, "lock_timeout": lockTime,
		"idle_in_transaction_session_timeout": idleTime, "TimeZone": "UTC",
		// Release the locks of a machine that has died after 30 s instead of 2 h.
		"tcp_keepalives_idle": "15", "tcp_keepalives_interval": "5", "tcp_keepalives_count": "3",
		"tcp_user_timeout": "30000",
	} {
		if _, set := c.ConnConfig.RuntimeParams[name]; !set {
			c.ConnConfig.RuntimeParams[name] = value
		}
	}
	if c.ConnConfig.ValidateConnect == nil {
		// After a failover another host of the URL accepts the writes; see servers.
		c.ConnConfig.ValidateConnect = pgconn.ValidateConnectTargetSessionAttrsReadWrite
	}
	c.ConnConfig.AfterConnect = prepareSession
	return c, nil
}

// prepareSession makes commits durable, whatever the database's default is.
func prepareSession(ctx context.Context, c *pgconn.PgConn) error {
	return c.Exec(ctx, `SELECT set_config('synchronous_commit', 'on', false) WHERE `+
		`current_setting('synchronous_commit') = 'off'`).Close()
}

// dial opens one connection outside the pool, if possible to a server that accepts writes.
func dial(ctx context.Context, url string) (*pgx.Conn, error) {
	c, err := parse(url)
	if err != nil {
		return nil, err
	}
	return connectAny(ctx, c.ConnConfig)
}
