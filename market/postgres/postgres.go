// Package postgres stores market data in a Postgres database, in its own schema footnote_market.
package postgres

import (
	"context"
	_ "embed"
	"fmt"
	"strings"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"

	"github.com/footnotehq/footnote"
	"github.com/footnotehq/footnote/market"
	"github.com/footnotehq/footnote/market/internal/tables"
)

//go:embed schema.sql
var schema string

const (
	version     = 2
	lockMigrate = 0x666f6f746d6b7400 // an advisory lock: "footmkt" and a number
	connectTime = 2 * time.Second
	poolConns   = 8
)

// Store is a market.Store on a database.
type Store struct {
	reader
	pool *pgxpool.Pool
}

type reader = *tables.Reader

var _ market.Store = (*Store)(nil)

// Open connects to the database at a URL and creates missing tables.
func Open(ctx context.Context, url string) (*Store, error) {
	bad := footnote.Invalidf(
		"The market database is not a URL of Postgres. It is postgres://user:password@host:5432/database, with the " +
			"special characters of the password written as %%XX.")
	if !strings.HasPrefix(url, "postgres://") && !strings.HasPrefix(url, "postgresql://") {
		return nil, bad
	}
	c, err := pgxpool.ParseConfig(url)
	if err != nil {
		return nil, bad // the parser's error may contain the password
	}
	if !strings.Contains(url, "pool_max_conns") {
		c.MaxConns = poolConns
	}
	if !strings.Contains(url, "connect_timeout") {
		c.ConnConfig.ConnectTimeout = connectTime
	}
	for name, value := range map[string]string{"application_name": "footnote", "statement_timeout": "20s",
		"lock_timeout": "5s", "TimeZone": "UTC", "idle_in_transaction_session_timeout": "10min",
		"tcp_keepalives_idle": "15", "tcp_keepalives_interval": "5", "tcp_keepalives_count": "3"} {
		if _, set := c.ConnConfig.RuntimeParams[name]; !set {
			c.ConnConfig.RuntimeParams[name] = value
		}
	}
	s := &Store{}
	if s.pool, err = pgxpool.NewWithConfig(ctx, c); err != nil {
		return nil, bad
	}
	s.reader = tables.New(dialect, each(s.pool))
	if err := s.migrate(ctx); err != nil {
		s.pool.Close()
		return nil, tables.Failed(ctx, "open the database", err)
	}
	return s, nil
}

// migrate creates the tables, once, even if several processes start at the same time.
func (s *Store) migrate(ctx context.Context) error {
	return pgx.BeginFunc(ctx, s.pool, func(tx pgx.Tx) error {
		var have, taken bool
		for _, sql := range []string{
			"SET LOCAL lock_timeout = '60s'", fmt.Sprintf("SELECT pg_advisory_xact_lock(%d)", lockMigrate),
		} {
			if _, err := tx.Exec(ctx, sql); err != nil {
				return err
			}
		}
		if err := tx.QueryRow(ctx, `SELECT to_regclass('footnote_market.version') IS NOT NULL,
			EXISTS (SELECT 1 FROM pg_class c JOIN pg_namespace n ON n.oid = c.relnamespace
				WHERE n.nspname = 'footnote_market')`).Scan(&have, &taken); err != nil {
			return err
		}
		if !have {
			if taken {
				return footnote.Errorf(footnote.MarketUnavailable,
					"The schema footnote_market of the database belongs to another program.")
			}
			_, err := tx.Conn().PgConn().Exec(ctx, schema).ReadAll()
			return err
		}
		var v int
		if err := tx.QueryRow(ctx, `SELECT max(version) FROM footnote_market.version`).Scan(&v); err != nil {
			return err
		}
		if v != version {
			return footnote.Errorf(footnote.MarketUnavailable,
				"The market database has version %d; this program reads %d. Load its files into a new one.", v, version)
		}
		return nil
	})
}

// Close closes the connections.
func (s *Store) Close() error {
	s.pool.Close()
	return nil
}
