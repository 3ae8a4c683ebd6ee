package postgres

import (
	"context"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"

	"github.com/footnotehq/footnote"
	"github.com/footnotehq/footnote/store"
)

// oldStop is the age at which a wish to stop is forgotten: longer than any run.
const oldStop = "1 day"

const (
	sqlAskStop = `WITH old AS (DELETE FROM footnote.stops WHERE at < clock_timestamp() - interval '` + oldStop +
		`' AND run <> $1)
		INSERT INTO footnote.stops (run, stream, asker) VALUES ($1, $2, $3) ON CONFLICT (run) DO NOTHING`
	sqlStopsAsked = `SELECT s.id, s.run, a.asker FROM footnote.stops a JOIN footnote.streams s ON s.id = a.stream
		AND s.run = a.run
		WHERE s.lease_owner = $1`
)

// AskStop asks the server that drives a run to stop it. To ask twice, or for a run
// that has ended, changes nothing.
func (s *Store) AskStop(ctx context.Context, stream, run, by string) error {
	if !text(stream, run, by) {
		return store.ErrNoStream(stream)
	}
	return s.do(ctx, "ask to stop "+stream, func(ctx context.Context, c *pgxpool.Conn) error {
		_, err := c.Exec(ctx, sqlAskStop, run, stream, by)
		return err
	})
}

// StopsAsked yields the runs under leases of owner that somebody asked to stop; with
// an empty owner, those that nobody has a lease of.
func (s *Store) StopsAsked(ctx context.Context, owner string) (asked []footnote.StopAsked, err error) {
	err = s.do(ctx, "look for stops", func(ctx context.Context, c *pgxpool.Conn) error {
		rows, err := c.Query(ctx, sqlStopsAsked, owner)
		if err != nil {
			return err
		}
		asked, err = pgx.CollectRows(rows, pgx.RowToStructByPos[footnote.StopAsked])
		return err
	})
	return asked, err
}

// reading is the database's clock as it was at a moment of ours.
type reading struct{ theirs, ours time.Time }

// Now is the time by the database's clock, which all servers share: as it was when
// it was last heard, and what has passed since by a clock that nobody sets.
func (s *Store) Now() time.Time {
	r := s.clock.Load()
	return r.theirs.Add(time.Since(r.ours))
}

// heard takes down the database's clock. How long its words took to come is no
// difference of clocks, and so that durations are right, none that small counts.
func (s *Store) heard(theirs time.Time) {
	if s.clock.Load() == nil || s.Now().Sub(theirs).Abs() > time.Second {
		s.clock.Store(&reading{theirs.UTC(), time.Now()})
	}
}
