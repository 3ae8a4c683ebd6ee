package postgres

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"strings"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"

	"github.com/footnotehq/footnote"
	"github.com/footnotehq/footnote/store"
	"github.com/footnotehq/footnote/store/internal/lease"
)

// write is a Create, an Append or both for the writer. The caller's goroutine encodes it.
type write struct {
	create      *store.Stream // nil for an append to an existing stream
	a           store.Append
	kinds, data []string
	change      store.Change
	size        int   // bytes of bodies and blobs
	id          int64 // random; recognises the write when it is repeated
	retry       bool  // an earlier attempt, perhaps of an earlier call, may have been committed

	// Set by the transaction.
	n       int64 // the stream's number in the tables
	time    time.Time
	refused error // why the write was refused
	done    bool  // an earlier attempt was committed
	events  []footnote.Event

	reserved map[string]footnote.Reservation // reservations that the writes of the batch settle
}

func newWrite(st *store.Stream, a store.Append) (*write, error) {
	kinds, data, err := store.EncodeBodies(a.Bodies)
	if err != nil {
		return nil, err
	}
	p := &write{create: st, a: a, kinds: kinds, change: store.ChangeOf(a.Run, a.Bodies), id: a.ID, retry: a.ID != 0}
	if p.id == 0 {
		p.id = rand.Int64()
	}
	for _, b := range data {
		// Postgres rejects invalid UTF-8. JSON decoders replace it by U+FFFD anyway.
		p.data = append(p.data, strings.ToValidUTF8(string(b), "\uFFFD"))
		p.size += len(b)
	}
	for _, b := range a.Blobs {
		p.size += len(b)
	}
	return p, nil
}

// Create implements store.Store.
func (s *Store) Create(ctx context.Context, st store.Stream) error {
	if err := store.CheckStream(st); err != nil {
		return err
	}
	p, err := newWrite(&st, store.Append{Stream: st.ID})
	if err != nil {
		return err
	}
	return enqueue(ctx, s.queue, "create "+st.ID, p)
}

// CreateAppend implements store.Store.
func (s *Store) CreateAppend(ctx context.Context, st store.Stream, a store.Append) ([]footnote.Event, error) {
	a, err := store.FirstAppend(st, a)
	if err != nil {
		return nil, err
	}
	p, err := newWrite(&st, a)
	if err != nil {
		return nil, err
	}
	if err := enqueue(ctx, s.queue, "create "+st.ID, p); err != nil {
		return nil, err
	}
	return p.events, nil
}

// Append implements store.Store. If the connection was lost for longer than Options.Patience, the events may have been
// stored in spite of the error StorageUnavailable. Repeating the same append with its ID finds them.
func (s *Store) Append(ctx context.Context, a store.Append) ([]footnote.Event, error) {
	if err := store.CheckAppend(a); err != nil {
		return nil, err
	}
	p, err := newWrite(nil, a)
	if err != nil {
		return nil, err
	}
	if err := enqueue(ctx, s.queue, "append to "+a.Stream, p); err != nil {
		return nil, err
	}
	return p.events, nil
}

const (
	// READ COMMITTED, so that each statement sees what others committed while the one before it waited for a lock.
	sqlBegin = `BEGIN ISOLATION LEVEL READ COMMITTED`

	// All transactions lock in the order of ids, so that they cannot deadlock.
	sqlLock = `SELECT id, n, last, lease_token, lease_owner, lease_expires FROM footnote.streams WHERE id = ANY($1) ` +
		`ORDER BY id FOR UPDATE`

	sqlNow = `SELECT clock_timestamp()`

	sqlCreate = `INSERT INTO footnote.streams (id, kind, org_id, user_id, client_id, assistant, title,
		last, run, run_state, deadline,
			lease_token, lease_owner, lease_expires, write_id, created_at, updated_at)
		SELECT u.id, u.kind, u.org, u.usr, u.client, u.assistant, u.title, u.last, u.run, u.state, u.deadline,
			u.token, u.owner, now() + u.ttl * interval '1 microsecond', u.write, now(), now()
		FROM unnest($1::text[], $2::text[], $3::text[], $4::text[], $5::text[], $6::text[], $7::text[],
			$8::bigint[], $9::text[], $10::text[], $11::timestamptz[], $12::bigint[], $13::text[], $14::bigint[],
			$15::bigint[])
			AS u(id, kind, org, usr, client, assistant, title, last, run, state, deadline, token, owner, ttl,
			write)
		ON CONFLICT DO NOTHING
		RETURNING id, n, created_at`

	sqlAdvance = `UPDATE footnote.streams s SET
			last = s.last + u.count,
			updated_at = CASE WHEN u.count > 0 THEN u.time ELSE s.updated_at END,
			run = CASE WHEN u.set_run THEN u.run ELSE s.run END,
			run_state = CASE WHEN u.set_run THEN u.state ELSE s.run_state END,
			deadline = CASE WHEN u.set_run THEN u.deadline ELSE s.deadline END,
			title = coalesce(u.title, s.title),
			lease_token = coalesce(u.token, s.lease_token),
			lease_owner = CASE WHEN u.token IS NULL THEN s.lease_owner ELSE u.owner END,
			lease_expires = CASE WHEN u.token IS NULL THEN s.lease_expires
				ELSE u.time + u.ttl * interval '1 microsecond' END
		FROM unnest($1::bigint[], $2::bigint[], $3::timestamptz[], $4::bool[], $5::text[], $6::text[],
			$7::timestamptz[], $8::text[], $9::bigint[], $10::text[], $11::bigint[])
			AS u(n, count, time, set_run, run, state, deadline, title, token, owner, ttl)
		WHERE s.n = u.n`

	sqlBlobs = `INSERT INTO footnote.blobs (stream, digest, data)
		SELECT DISTINCT ON (s, d) s, d, b FROM unnest($1::bigint[], $2::text[], $3::bytea[]) AS new (s, d, b)
		ON CONFLICT (stream, digest) DO UPDATE SET data = excluded.data WHERE blobs.data <> excluded.data`

	// The statement itself takes the lock on positions: after all of it has arrived, together with the COMMIT. So a
	// process that is stopped or cut off does not keep the lock.
	sqlEvents = `INSERT INTO footnote.events (position, stream, seq, write_id, time, run, kind, body)
		SELECT nextval('footnote.positions'), e.stream, e.seq, e.write, e.time, e.run, e.kind, e.body
		FROM (SELECT pg_advisory_xact_lock($8)) AS locked,
			unnest($1::bigint[], $2::bigint[], $3::bigint[], $4::timestamptz[], $5::text[], $6::text[], $7::text[])
			WITH ORDINALITY AS e(stream, seq, write, time, run, kind, body, ord)
		ORDER BY e.ord`

	// A commit that waits for a standby must not time out: it would be acknowledged without being on the standby.
	sqlNoTimeout = `SET LOCAL statement_timeout = 0`

	sqlCreatedBy = `SELECT n, created_at FROM footnote.streams WHERE id = $1 AND write_id = $2`
	sqlWritten   = `SELECT e.time FROM footnote.events e JOIN footnote.streams s ON s.n = e.stream ` +
		`WHERE s.id = $1 AND e.seq = $2 AND e.write_id = $3`
)

// decide is the first half of a transaction: it locks the streams, creates the new ones, and sets refused in the writes
// that cannot be done.
func decide(ctx context.Context, conn *pgx.Conn, writes []*write) error {
	byID := make(map[string]*write, len(writes))
	var ids []string
	for _, p := range writes {
		p.refused, p.done, p.n = nil, false, 0
		byID[p.a.Stream] = p
		if p.create == nil {
			ids = append(ids, p.a.Stream)
		}
	}
	b := &pgx.Batch{}
	b.Queue(sqlBegin)
	var heads []head
	var now time.Time
	if len(ids) > 0 {
		b.Queue(sqlLock, ids).Query(func(rows pgx.Rows) (err error) {
			heads, err = pgx.CollectRows(rows, pgx.RowToStructByPos[head])
			return err
		})
		b.Queue(sqlNow).QueryRow(func(row pgx.Row) error { return row.Scan(&now) })
	}
	if news := newStreams(writes); len(news) > 0 {
		b.Queue(sqlCreate, columns(news)...).Query(func(rows pgx.Rows) error { return readCreated(rows, byID) })
	}
	reserved := map[string]footnote.Reservation{}
	if settle := reservationsOf(writes); len(settle) > 0 {
		b.Queue(sqlToSettle, settle).Query(reservationsInto(reserved))
	}
	if err := conn.SendBatch(ctx, b).Close(); err != nil {
		return err
	}
	for _, h := range heads {
		byID[h.ID].check(h, now.UTC())
	}
	for _, p := range writes {
		if p.n == 0 {
			p.refused = p.missing()
		}
		if err := p.checkHeld(ctx, conn, reserved); err != nil {
			return err
		}
		if p.refused != nil && p.retry {
			if err := p.findEarlier(ctx, conn); err != nil {
				return err
			}
		}
	}
	return nil
}

// head holds the columns of a stream that an append is checked against.
type head struct {
	ID             string
	N, Last, Token int64
	Owner          string
	Expires        *time.Time
}

// check sets refused unless the locked head of the stream allows the append.
func (p *write) check(h head, now time.Time) {
	p.n, p.time = h.N, now
	held := h.Expires != nil && h.Expires.After(now)
	switch {
	case h.Last != p.a.After:
		p.refused = store.ErrMoved(h.ID, p.a.After, h.Last)
	case !lease.Allows(p.a, held, h.Token, h.Owner):
		p.refused = store.ErrHeld(h.ID)
	}
}

// missing returns the error of a write whose stream was not found or could not be created.
func (p *write) missing() error {
	if p.create != nil {
		return store.ErrTaken(p.create.ID)
	}
	return store.ErrNoStream(p.a.Stream)
}

func readCreated(rows pgx.Rows, byID map[string]*write) error {
	for rows.Next() {
		var id string
		var n int64
		var now time.Time
		if err := rows.Scan(&id, &n, &now); err != nil {
			return err
		}
		byID[id].n, byID[id].time = n, now.UTC()
	}
	return rows.Err()
}

// findEarlier accepts a refused write if an earlier attempt has already done it.
func (p *write) findEarlier(ctx context.Context, conn *pgx.Conn) error {
	var err error
	switch {
	case p.create != nil:
		err = conn.QueryRow(ctx, sqlCreatedBy, p.create.ID, p.id).Scan(&p.n, &p.time)
	case len(p.a.Bodies) > 0:
		err = conn.QueryRow(ctx, sqlWritten, p.a.Stream, p.a.After+1, p.id).Scan(&p.time)
	default:
		return nil // the refusal is correct, and blobs of an earlier attempt do no harm
	}
	if errors.Is(err, pgx.ErrNoRows) {
		return nil
	}
	if err == nil {
		p.refused, p.done, p.time = nil, true, p.time.UTC()
		p.number()
	}
	return err
}

// number sets the events with their sequences and time.
func (p *write) number() {
	p.events = make([]footnote.Event, len(p.a.Bodies))
	for i, b := range p.a.Bodies {
		p.events[i] = footnote.Event{
			Stream: p.a.Stream, Seq: p.a.After + int64(i) + 1, Time: p.time, Run: p.a.Run, Body: b,
		}
	}
}

// perform is the second half of a transaction: it does the writes that were not refused, and commits.
func perform(ctx context.Context, conn *pgx.Conn, writes []*write) error {
	var heads []headChange
	var blobs []newBlob
	var events []newEvent
	money := settlement{changes: store.Changes{}, kept: map[string]footnote.Reservation{}}
	todo := false
	for _, p := range writes {
		if p.refused != nil || p.done {
			continue
		}
		todo = true
		p.number()
		if h, ok := p.head(); ok {
			heads = append(heads, h)
		}
		blobs = append(blobs, p.blobs()...)
		events = append(events, p.eventRows()...)
		money.add(p)
	}
	if !todo {
		_, err := conn.Exec(ctx, "ROLLBACK")
		return err
	}
	b := &pgx.Batch{}
	if len(heads) > 0 {
		b.Queue(sqlAdvance, columns(heads)...)
	}
	if len(blobs) > 0 {
		b.Queue(sqlBlobs, columns(blobs)...)
	}
	money.queue(b)
	if len(events) > 0 {
		b.Queue(sqlEvents, insertEvents(events)...)
	}
	b.Queue(sqlNoTimeout)
	b.Queue("COMMIT").Exec(func(tag pgconn.CommandTag) error {
		if tag.String() != "COMMIT" {
			return lostConn{fmt.Errorf("the server answered COMMIT with %q", tag)}
		}
		return nil
	})
	return conn.SendBatch(ctx, b).Close()
}
