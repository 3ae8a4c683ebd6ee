package postgres

import (
	"context"
	"time"

	"github.com/footnotehq/footnote"
	"github.com/footnotehq/footnote/store"
)

// oldStop is the age at which a stop request is deleted: longer than any run.
const oldStop = "1 day"

const (
	sqlAskStop = `WITH old AS (DELETE FROM footnote.stops WHERE at < clock_timestamp() - interval '` + oldStop +
		`' AND run <> $1)
		INSERT INTO footnote.stops (run, stream, asker) VALUES ($1, $2, $3) ON CONFLICT (run) DO NOTHING`
	sqlStopsAsked = `SELECT s.id, s.run, a.asker FROM footnote.stops a JOIN footnote.streams s ON s.id = a.stream
		AND s.run = a.run
		WHERE s.lease_owner = $1`
)

// AskStop asks the server that drives a run to stop it. A second request, or one for a run that has ended, changes
// nothing.
func (s *Store) AskStop(ctx context.Context, stream, run, by string) error {
	if !validText(stream, run, by) {
		return store.ErrNoStream(stream)
	}
	_, err := s.exec(ctx, "ask to stop "+stream, sqlAskStop, run, stream, by)
	return err
}

// StopsAsked returns the stop requests for runs whose lease owner holds; with an empty owner, those for runs without a
// lease.
func (s *Store) StopsAsked(ctx context.Context, owner string) ([]footnote.StopAsked, error) {
	return collect(ctx, s, "look for stops", scan[footnote.StopAsked], sqlStopsAsked, owner)
}

// clockReading is a reading of the database's clock, and the local time when it arrived.
type clockReading struct{ database, local time.Time }

// Now returns the time by the database's clock, which all servers share: the last reading plus the monotonic time that
// has passed since.
func (s *Store) Now() time.Time {
	r := s.clock.Load()
	return r.database.Add(time.Since(r.local))
}

// setClock sets the clock to a reading. It ignores differences up to a second, because they may come from the network,
// and small jumps would distort durations.
func (s *Store) setClock(now time.Time) {
	if s.clock.Load() == nil || s.Now().Sub(now).Abs() > time.Second {
		s.clock.Store(&clockReading{now.UTC(), time.Now()})
	}
}
