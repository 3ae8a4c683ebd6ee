package postgres

import (
	"context"
	"time"
)

const (
	// Also deletes expired sessions.
	sqlAddSession = `WITH old AS (DELETE FROM footnote.sessions WHERE id IN
			(SELECT id FROM footnote.sessions WHERE ends_at <= clock_timestamp() LIMIT 1000 FOR UPDATE SKIP LOCKED))
		INSERT INTO footnote.sessions (id, sealed, ends_at) VALUES ($1, $2, clock_timestamp() + $3::interval)
			ON CONFLICT (id) DO NOTHING`
	sqlSession    = `SELECT sealed FROM footnote.sessions WHERE id = $1 AND ends_at > clock_timestamp()`
	sqlEndSession = `DELETE FROM footnote.sessions WHERE id = $1`
)

// AddSession stores the session of a page for a time, by the database's clock.
func (s *Store) AddSession(ctx context.Context, id, sealed []byte, lifetime time.Duration) error {
	_, err := s.exec(ctx, "begin a session", sqlAddSession, id, sealed, lifetime)
	return err
}

// Session returns the value that AddSession stored, or nil if there is none or it has expired.
func (s *Store) Session(ctx context.Context, id []byte) (sealed []byte, err error) {
	sealed, _, err = value[[]byte](ctx, s, "look for a session", sqlSession, id)
	return sealed, err
}

// EndSession deletes a session, if it exists.
func (s *Store) EndSession(ctx context.Context, id []byte) error {
	_, err := s.exec(ctx, "end a session", sqlEndSession, id)
	return err
}
