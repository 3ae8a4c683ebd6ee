// Package postgres keeps the event log in a Postgres database, which several
// processes may use at once.
//
// One goroutine of each process writes, over one connection. Whatever waits for it
// when it is free goes into one transaction (group commit). A transaction has two
// round trips: the first locks the heads of the streams, from which this process
// decides what is refused; the second writes what is not, and commits. So the
// database compares and sets the last sequence and the lease in one transaction,
// and a writer that lost a race is told exactly why.
//
// Positions come from a sequence, under an advisory lock that each transaction
// takes last and keeps until its commit is visible to others. That makes them
// visible in their order; see docs/decisions/0010.
//
// When the connection breaks before COMMIT was sent, nothing was written. When it
// breaks afterwards nobody knows; then the write is done again with the id that its
// first event or its stream has, and what the first attempt wrote is found by that
// id. So no write is done twice, and none is reported as failed that was done,
// unless the database stays away.
//
// Leases are columns of the stream, and expire by the database's clock.
package postgres

import (
	"context"
	"errors"
	"log/slog"
	"sync"
	"sync/atomic"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"
	"github.com/jackc/pgx/v5/pgxpool"

	"github.com/footnotehq/footnote/store"
	"github.com/footnotehq/footnote/store/internal/group"
)

// Options change how a store works; the zero value is the default.
type Options struct {
	// Logger is told of what the database does to us. Default: nobody.
	Logger *slog.Logger
	// Conns is the most connections for everything but appends, which have one of
	// their own. Default 8, or pool_max_conns of the URL.
	Conns int
	// Patience is how long a write may take in all whose commit was lost sight of.
	// Default 9 s.
	Patience time.Duration
	// Damaged, when set, is told of each event that cannot be read, once.
	Damaged func(stream string, seq int64, reason string)
}

// Store is a store.Store in one database.
type Store struct {
	log      *slog.Logger
	patience time.Duration
	damage   store.Damage
	connect  *pgx.ConnConfig // of the writer
	pool     *pgxpool.Pool
	servers  *servers // that the pool connects to

	queue      *group.Queue[*write]
	holds      *group.Queue[*hold]
	background sync.WaitGroup  // the writer, and what finds out about lost commits
	closing    context.Context // ends when Close has no more patience
	giveUp     context.CancelFunc
	closed     atomic.Bool
	clock      atomic.Pointer[reading]
	committed  atomic.Int64 // when the last good commit was, in ns by this process's clock; 0 after a bad one
}

var _ store.Store = (*Store)(nil)

// Open opens the log in the database at a URL, and brings it to the newest version.
// The error is StorageUnavailable when the database cannot be used, or was written
// by a newer version. A read-only database of this version is opened for reading, and
// written to once it can be. ctx bounds opening only. No error holds the URL's password.
func Open(ctx context.Context, url string, opts Options) (*Store, error) {
	if _, _, err := Migrate(ctx, url); err != nil {
		return nil, err
	}
	return open(ctx, url, opts)
}

// OpenReader opens the log without bringing it to another version: one of another
// version is StorageUnavailable.
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
	if opts.Conns > 0 {
		c.MaxConns = int32(opts.Conns)
	}
	if opts.Patience <= 0 {
		opts.Patience = 9 * time.Second
	}
	s := &Store{log: opts.Logger, patience: opts.Patience, connect: c.ConnConfig.Copy(),
		queue: group.New[*write](maxBatch), holds: group.New[*hold](maxBatch)}
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
	s.background.Go(s.serveHolds)
	return s, nil
}

// readClock reads the database's clock.
func (s *Store) readClock(ctx context.Context) error {
	return s.do(ctx, "read the clock", func(ctx context.Context, c *pgxpool.Conn) error {
		var now time.Time
		if err := c.QueryRow(ctx, sqlNow).Scan(&now); err != nil {
			return err
		}
		s.heard(now)
		return nil
	})
}

// Close ends the store after the writes that were accepted. It may be called twice;
// calls of other methods fail from then on.
func (s *Store) Close() error {
	s.queue.Close()
	s.holds.Close()
	s.closed.Store(true)
	stop := time.AfterFunc(s.patience+time.Second, s.giveUp)
	s.background.Wait()
	stop.Stop()
	s.giveUp()
	s.pool.Close()
	return nil
}

// usable refuses a closed store and a caller who has gone.
func (s *Store) usable(ctx context.Context) error {
	if ctx.Err() != nil {
		return translate(ctx, "use the store", context.Cause(ctx))
	}
	if s.closed.Load() {
		return store.ErrClosed()
	}
	return nil
}

// errSlow is why a call ends that the database does not answer.
var errSlow = errors.New("the database does not answer")

// do runs f on a connection of the pool, with a deadline. f may run again when its
// connection turns out to be lost, or to be one to a server that refuses writes, so it
// must not mind.
func (s *Store) do(ctx context.Context, doing string, f func(ctx context.Context, c *pgxpool.Conn) error) error {
	if err := s.usable(ctx); err != nil {
		return err
	}
	return s.doAnyway(ctx, doing, f)
}

// doAnyway is do, also while the store closes.
func (s *Store) doAnyway(ctx context.Context, doing string, f func(ctx context.Context, c *pgxpool.Conn) error) error {
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
				err = lost{err}
			}
			return err
		})
		switch {
		case again:
			s.pool.Reset() // the others are lost as well
			continue
		case !connected && readOnly(err):
			s.servers.noneTakesWrites()
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

// Ping implements store.Store: it writes, unless something was written within the
// last second.
func (s *Store) Ping(ctx context.Context) error {
	if err := s.usable(ctx); err != nil {
		return err
	}
	if age := time.Now().UnixNano() - s.committed.Load(); age >= 0 && age < int64(time.Second) {
		return nil
	}
	return s.do(ctx, "ping", func(ctx context.Context, c *pgxpool.Conn) error {
		_, err := c.Exec(ctx, `UPDATE footnote.ping SET at = clock_timestamp()`)
		return err
	})
}

// fatal reports whether err leaves open what became of a transaction that was being
// committed. An ordinary error of the server does not: it has undone the transaction. Nor
// does one of our own: nothing was sent.
func fatal(err error, c *pgx.Conn) bool {
	e, ok := errors.AsType[*pgconn.PgError](err)
	if !ok {
		return away(err) || c.IsClosed()
	}
	return e.SeverityUnlocalized != "ERROR"
}
