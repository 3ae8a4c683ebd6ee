package postgres

import (
	"context"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"

	"github.com/footnotehq/footnote"
	"github.com/footnotehq/footnote/store"
)

// oldStop is the age at which a wish to stop is forgotten: longer than any run.
const oldStop = "1 day"

const (
	sqlAskStop = `WITH old AS (DELETE FROM footnote.stops WHERE at < clock_timestamp() - interval '` + oldStop + `' AND run <> $1)
		INSERT INTO footnote.stops (run, stream, asker) VALUES ($1, $2, $3) ON CONFLICT (run) DO NOTHING`
	sqlStopsAsked = `SELECT s.id, s.run, a.asker FROM footnote.stops a JOIN footnote.streams s ON s.id = a.stream AND s.run = a.run
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

// StopsAsked yields the runs under leases of owner that somebody asked to stop.
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
