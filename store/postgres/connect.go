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

// The bounds of one call. Those of the server are a little shorter than ours, so
// that its words arrive; the URL may name others.
const (
	connectTime   = 2 * time.Second
	callTime      = 9 * time.Second
	writeTime     = 6 * time.Second
	slowDisk      = 4 << 20 // bytes that a large write has another second for
	statementTime = "8s"
	lockTime      = "5s"
	idleTime      = "3s" // within a transaction, of a process that was stopped in one; less than lockTime
	poolConns     = 8
)

// errURL says nothing of the URL, which may hold a password.
func errURL() error {
	return footnote.Errorf(footnote.InvalidRequest,
		"The store is not a URL of Postgres. It is postgres://user:password@host:5432/database, with the special "+
			"characters of the password written as %%XX.")
}

// parse reads a URL and sets what it leaves open.
func parse(url string) (*pgxpool.Config, error) {
	if !strings.HasPrefix(url, "postgres://") && !strings.HasPrefix(url, "postgresql://") {
		return nil, errURL()
	}
	c, err := pgxpool.ParseConfig(url)
	if err != nil {
		return nil, errURL() // its own words may hold the password
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
		// What a machine held that is suddenly away is free again after 30 s, not 2 h.
		"tcp_keepalives_idle": "15", "tcp_keepalives_interval": "5", "tcp_keepalives_count": "3",
		"tcp_user_timeout": "30000",
	} {
		if _, set := c.ConnConfig.RuntimeParams[name]; !set {
			c.ConnConfig.RuntimeParams[name] = value
		}
	}
	if c.ConnConfig.ValidateConnect == nil {
		// After a failover the URL's other host is the one to write to; see servers.
		c.ConnConfig.ValidateConnect = pgconn.ValidateConnectTargetSessionAttrsReadWrite
	}
	c.ConnConfig.AfterConnect = prepareSession
	return c, nil
}

// prepareSession makes sure that a commit means what the store promises, whatever
// the database's default is.
func prepareSession(ctx context.Context, c *pgconn.PgConn) error {
	return c.Exec(ctx, `SELECT set_config('synchronous_commit', 'on', false) WHERE `+
		`current_setting('synchronous_commit') = 'off'`).Close()
}

// dial opens one connection beside the pool, to a server that takes writes, where there
// is one.
func dial(ctx context.Context, url string) (*pgx.Conn, error) {
	c, err := parse(url)
	if err != nil {
		return nil, err
	}
	return connectAny(ctx, c.ConnConfig)
}
