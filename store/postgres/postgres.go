// Package postgres keeps the event log in a Postgres database, which several processes may use at once.
//
// One goroutine of each process writes, over one connection. It writes all waiting requests in one transaction (group
// commit). A transaction has two round trips: the first locks the heads of the streams, from which this process decides
// which writes to refuse; the second writes the others and commits. So the last sequence and the lease are compared and
// set in one transaction, and a writer that lost a race gets the exact reason.
//
// Positions come from a sequence, under an advisory lock that each transaction takes last and keeps until its commit is
// visible to others. That makes events visible in the order of their positions; see docs/decisions/0010.
//
// If the connection breaks before COMMIT is sent, nothing was written. If it breaks afterwards, the outcome is unknown.
// The store then repeats the write with the same write id, which the first event or the stream records, and so finds
// what the first attempt wrote. No write happens twice, and no completed write is reported as failed, unless the
// database remains unreachable.
//
// Leases are columns of the stream, and expire by the database's clock.
package postgres

import (
	"context"
	"errors"
	"log/slog"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"time"
	"unicode/utf8"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"
	"github.com/jackc/pgx/v5/pgxpool"

	"github.com/footnotehq/footnote/store"
	"github.com/footnotehq/footnote/store/internal/group"
)

// Options configures a store. The zero value is the default.
type Options struct {
	// Logger receives warnings about the database. Default: discard them.
	Logger *slog.Logger
	// Patience is how long the store tries to find out the outcome of a commit after the connection broke. Default 9 s.
	Patience time.Duration
	// Damaged, if set, is called once for each event that cannot be read.
	Damaged func(stream string, seq int64, reason string)
}

// Store implements store.Store in one database.
type Store struct {
	log      *slog.Logger
	patience time.Duration
	damage   store.Damage
	connect  *pgx.ConnConfig // of the writer
	pool     *pgxpool.Pool
	servers  *servers // that the pool connects to

	queue      *group.Queue[*write]
	reserves   *group.Queue[*reservation]
	background sync.WaitGroup  // the writers, and goroutines that find out the outcome of commits
	closing    context.Context // ends when Close stops waiting
	giveUp     context.CancelFunc
	closed     atomic.Bool
	clock      atomic.Pointer[clockReading]
	committed  atomic.Int64 // time of the last commit in ns, by this process's clock; 0 if it failed
}

var _ store.Store = (*Store)(nil)

// Open opens the log in the database at a URL, and migrates it to the newest version. The error has the code
// StorageUnavailable if the database cannot be used, or was written by a newer version. Open accepts a read-only
// database of this version; writes fail until the database accepts them. ctx applies only to opening. No error contains
// the URL's password.
func Open(ctx context.Context, url string, opts Options) (*Store, error) {
	if _, _, err := Migrate(ctx, url); err != nil {
		return nil, err
	}
	return open(ctx, url, opts)
}

// OpenReader opens the log without migrating it. The error has the code StorageUnavailable if the log has another
// version.
func OpenReader(ctx context.Context, url string) (*Store, error) {
	if err := current(ctx, url); err != nil {
		return nil, err
	}
	return open(ctx, url, Options{})
}

func open(ctx context.Context, url string, opts Options) (*Store, error) {
	c, err := parse(url)
	if err != nil {
		return nil, err
	}
	if opts.Logger == nil {
		opts.Logger = slog.New(slog.DiscardHandler)
	}
	if opts.Patience <= 0 {
		opts.Patience = 9 * time.Second
	}
	s := &Store{log: opts.Logger, patience: opts.Patience, connect: c.ConnConfig.Copy(),
		queue: group.New[*write](maxBatch), reserves: group.New[*reservation](maxBatch)}
	s.damage.Report = opts.Damaged
	s.servers = &servers{log: opts.Logger, reset: func() { s.pool.Reset() }}
	s.servers.use(c)
	if s.pool, err = pgxpool.NewWithConfig(ctx, c); err != nil {
		return nil, translate(ctx, "open", err)
	}
	s.closing, s.giveUp = context.WithCancel(context.Background())
	w := &writer{s: s}
	if err = w.reconnect(ctx); err == nil || readOnly(err) {
		err = s.readClock(ctx)
	}
	if err != nil {
		w.drop()
		s.giveUp()
		s.pool.Close()
		return nil, translate(ctx, "open", err)
	}
	s.background.Go(w.serve)
	s.background.Go(s.serveReserves)
	return s, nil
}

// readClock reads the database's clock.
func (s *Store) readClock(ctx context.Context) error {
	now, _, err := value[time.Time](ctx, s, "read the clock", sqlNow)
	if err == nil {
		s.setClock(now)
	}
	return err
}

// Close closes the store after the accepted writes have ended. It may be called twice. Other methods fail from then on.
func (s *Store) Close() error {
	s.queue.Close()
	s.reserves.Close()
	s.closed.Store(true)
	stop := time.AfterFunc(s.patience+time.Second, s.giveUp)
	s.background.Wait()
	stop.Stop()
	s.giveUp()
	s.pool.Close()
	return nil
}

// usable returns an error if ctx has ended or the store is closed.
func (s *Store) usable(ctx context.Context) error {
	if ctx.Err() != nil {
		return translate(ctx, "use the store", context.Cause(ctx))
	}
	if s.closed.Load() {
		return store.ErrClosed()
	}
	return nil
}

// errSlow is the cause when a call exceeds its time.
var errSlow = errors.New("the database does not answer")

// do runs f on a connection of the pool, with a deadline. It runs f again if the connection was lost, or leads to a
// server that rejects writes, so f must be repeatable.
func (s *Store) do(ctx context.Context, doing string, f func(ctx context.Context, c *pgxpool.Conn) error) error {
	if err := s.usable(ctx); err != nil {
		return err
	}
	return s.doWhileClosing(ctx, doing, f)
}

// doWhileClosing is do, but also works while the store closes.
func (s *Store) doWhileClosing(ctx context.Context, doing string,
	f func(ctx context.Context, c *pgxpool.Conn) error) error {
	limited, cancel := context.WithTimeoutCause(ctx, callTime, errSlow)
	defer cancel()
	var err error
	for range 3 {
		again, connected := false, false
		err = s.pool.AcquireFunc(limited, func(c *pgxpool.Conn) error {
			connected = true
			err := f(limited, c)
			gone := c.Conn().IsClosed()
			again = err != nil && limited.Err() == nil && (gone || readOnly(err) && !marked(c.Conn()))
			if err != nil && gone {
				err = lostConn{err}
			}
			return err
		})
		switch {
		case again:
			s.pool.Reset() // the other connections are probably lost as well
			continue
		case !connected && readOnly(err):
			s.servers.noneAcceptsWrites()
			continue
		}
		break
	}
	if err == nil {
		return nil
	}
	if s.closed.Load() {
		return store.ErrClosed()
	}
	return translate(ctx, doing, err)
}

// exec runs a statement, and returns the number of rows that it changed.
func (s *Store) exec(ctx context.Context, doing, sql string, args ...any) (changed int64, err error) {
	if !storable(args) {
		return 0, s.usable(ctx)
	}
	err = s.do(ctx, doing, func(ctx context.Context, c *pgxpool.Conn) error {
		tag, err := c.Exec(ctx, sql, args...)
		changed = tag.RowsAffected()
		return err
	})
	return changed, err
}

// value returns the value of the only column of the only row of a query. found is false if there is no row.
func value[T any](ctx context.Context, s *Store, doing, sql string, args ...any) (v T, found bool, err error) {
	if !storable(args) {
		return v, false, s.usable(ctx)
	}
	err = s.do(ctx, doing, func(ctx context.Context, c *pgxpool.Conn) error {
		return c.QueryRow(ctx, sql, args...).Scan(&v)
	})
	if errors.Is(err, pgx.ErrNoRows) {
		return v, false, nil
	}
	return v, err == nil, err
}

// collect returns the rows of a query.
func collect[T any](ctx context.Context, s *Store, doing string, scan pgx.RowToFunc[T], sql string,
	args ...any) (list []T, err error) {
	if !storable(args) {
		return nil, s.usable(ctx)
	}
	err = s.do(ctx, doing, func(ctx context.Context, c *pgxpool.Conn) error {
		rows, err := c.Query(ctx, sql, args...)
		if err != nil {
			return err
		}
		list, err = pgx.CollectRows(rows, scan)
		return err
	})
	return list, err
}

// storable reports whether Postgres can store all texts in args. Without that no row has them.
func storable(args []any) bool {
	return !slices.ContainsFunc(args, func(arg any) bool {
		text, ok := arg.(string)
		return ok && !validText(text)
	})
}

// validText reports whether Postgres can store all values. A value that it cannot store is not in the database.
func validText(values ...string) bool {
	return !slices.ContainsFunc(values, func(v string) bool {
		return strings.Contains(v, "\x00") || !utf8.ValidString(v)
	})
}

// Ping implements store.Store. It writes, unless something was committed within the last second.
func (s *Store) Ping(ctx context.Context) error {
	if err := s.usable(ctx); err != nil {
		return err
	}
	if age := time.Now().UnixNano() - s.committed.Load(); age >= 0 && age < int64(time.Second) {
		return nil
	}
	_, err := s.exec(ctx, "ping", `UPDATE footnote.ping SET at = clock_timestamp()`)
	return err
}

// fatal reports whether the outcome of a commit that returned err is unknown. After an ordinary error of the server the
// transaction was rolled back, and after an error of this program nothing was sent.
func fatal(err error, c *pgx.Conn) bool {
	e, ok := errors.AsType[*pgconn.PgError](err)
	if !ok {
		return unreachable(err) || c.IsClosed()
	}
	return e.SeverityUnlocalized != "ERROR"
}
