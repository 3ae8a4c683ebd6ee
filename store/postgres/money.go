package postgres

import (
	"context"
	"errors"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"

	"github.com/footnotehq/footnote"
	"github.com/footnotehq/footnote/store"
	"github.com/footnotehq/footnote/store/internal/group"
)

const (
	// In the order of the fields of a footnote.Reservation.
	reservationColumns = `id, org_id, user_id, stream, run, day, micro_usd, tokens, lost_usd, lost_tokens, expires`

	// Every transaction locks balances in the order of their accounts, with one statement of this kind, so that
	// transactions cannot deadlock.
	sqlChange = `INSERT INTO footnote.accounts AS a (org_id, user_id, stream, day, micro_usd, tokens, reserved_usd,
		reserved_tokens)
		SELECT u.org_id, u.user_id, u.stream, u.day, u.micro_usd, u.tokens, u.reserved_usd, u.reserved_tokens
			FROM unnest($1::text[], $2::text[], $3::text[], $4::text[], $5::bigint[], $6::bigint[], $7::bigint[],
			$8::bigint[])
			WITH ORDINALITY AS u(org_id, user_id, stream, day, micro_usd, tokens, reserved_usd, reserved_tokens, ord)
			ORDER BY u.ord
		ON CONFLICT (org_id, user_id, stream, day) DO UPDATE SET
			micro_usd = a.micro_usd + excluded.micro_usd, tokens = a.tokens + excluded.tokens,
			reserved_usd = a.reserved_usd + excluded.reserved_usd,
			reserved_tokens = a.reserved_tokens + excluded.reserved_tokens
		RETURNING org_id, user_id, stream, day, micro_usd, tokens, reserved_usd, reserved_tokens`

	sqlBalances = `SELECT a.org_id, a.user_id, a.stream, a.day, a.micro_usd, a.tokens, a.reserved_usd, a.reserved_tokens
		FROM unnest($1::text[], $2::text[], $3::text[], $4::text[]) AS u(org_id, user_id, stream, day)
		JOIN footnote.accounts a USING (org_id, user_id, stream, day)`

	sqlTallies = `SELECT org_id, user_id, stream, day, micro_usd, tokens, reserved_usd, reserved_tokens
		FROM footnote.accounts
		WHERE (org_id, user_id, stream, day) > ($1, $2, $3, $4) AND (micro_usd, tokens, reserved_usd,
			reserved_tokens) <> (0, 0, 0, 0)
		ORDER BY org_id, user_id, stream, day LIMIT $5`

	// Moves the spending of a deleted conversation to its user's balance for deleted conversations.
	sqlMoveSpending = `WITH gone AS (DELETE FROM footnote.accounts WHERE org_id = $1 AND user_id = $2 AND stream = $3
		RETURNING micro_usd, tokens)
		INSERT INTO footnote.accounts AS a (org_id, user_id, stream, day, micro_usd, tokens, reserved_usd,
			reserved_tokens)
		SELECT $1, $2, '', $4, micro_usd, tokens, 0, 0 FROM gone
		ON CONFLICT (org_id, user_id, stream, day) DO UPDATE SET micro_usd = a.micro_usd + excluded.micro_usd,
			tokens = a.tokens + excluded.tokens`

	sqlReserve = `INSERT INTO footnote.reservations (` + reservationColumns + `)
		SELECT * FROM unnest($1::text[], $2::text[], $3::text[], $4::text[], $5::text[], $6::text[], $7::bigint[],
			$8::bigint[],
			$9::bigint[], $10::bigint[], $11::timestamptz[])
		ON CONFLICT (id) DO UPDATE SET day = excluded.day, micro_usd = excluded.micro_usd, tokens = excluded.tokens,
			lost_usd = excluded.lost_usd, lost_tokens = excluded.lost_tokens, expires = excluded.expires`

	sqlFound = `SELECT ` + reservationColumns + ` FROM footnote.reservations WHERE id = ANY($1)`

	// Every transaction locks reservations after streams and before accounts.
	sqlToSettle = `SELECT ` + reservationColumns +
		` FROM footnote.reservations WHERE id = ANY($1) ORDER BY id FOR UPDATE`
	sqlSettled = `DELETE FROM footnote.reservations WHERE id = ANY($1)`

	sqlUnreserve = `DELETE FROM footnote.reservations WHERE id = $1 AND (NOT $2 OR expires <= clock_timestamp())
RETURNING ` + reservationColumns

	sqlReserved = `SELECT ` + reservationColumns + ` FROM footnote.reservations WHERE stream = $1 ORDER BY expires, id`
	sqlOverdue  = `SELECT ` + reservationColumns +
		` FROM footnote.reservations WHERE expires <= clock_timestamp() ORDER BY expires, id LIMIT $1`
	sqlRunning = `SELECT count(*) FROM footnote.streams WHERE run_state = 'running' AND org_id = $1 AND ($2 = '' OR ` +
		`user_id = $2)`
)

// readBalances reads the rows of sqlChange and sqlBalances.
func readBalances(rows pgx.Rows) (map[store.Account]footnote.Balance, error) {
	out := map[store.Account]footnote.Balance{}
	tallies, err := pgx.CollectRows(rows, scan[footnote.Tally])
	for _, t := range tallies {
		out[store.AccountOf(t)] = t.Balance
	}
	return out, err
}

// reservationsInto returns a function that adds the rows of a query to a map by their ids.
func reservationsInto(byID map[string]footnote.Reservation) func(pgx.Rows) error {
	return func(rows pgx.Rows) error {
		found, err := pgx.CollectRows(rows, scan[footnote.Reservation])
		for _, r := range found {
			byID[r.ID] = r
		}
		return err
	}
}

// reservation is a call of Reserve for the goroutine that reserves.
type reservation struct {
	request footnote.Reserve
	granted footnote.Reservation
	refused error
}

// Reserve implements store.Store. Calls that wait for another one share one transaction.
func (s *Store) Reserve(ctx context.Context, r footnote.Reserve) (footnote.Reservation, error) {
	if err := store.CheckReserve(r); err != nil {
		return footnote.Reservation{}, err
	}
	call := &reservation{request: r}
	if err := enqueue(ctx, s.reserves, "reserve", call); err != nil {
		return footnote.Reservation{}, err
	}
	return call.granted, nil
}

// serveReserves serves the queue of reservations until it is closed and empty.
func (s *Store) serveReserves() {
	together := func() func(*reservation) bool { return group.All }
	for batch := range s.reserves.Batches(maxBatch, together) {
		err := s.doWhileClosing(context.Background(), "reserve", func(ctx context.Context, c *pgxpool.Conn) error {
			return pgx.BeginTxFunc(ctx, c, readCommitted, func(tx pgx.Tx) error { return reserve(ctx, tx, batch) })
		})
		group.Finish(batch, err, func(r *reservation) error { return r.refused })
	}
}

// reserve grants or refuses reservations, one after the other. It may run twice: it finds earlier reservations by their
// ids. Like an append it locks existing reservations before the accounts. Then it reads them again, because others may
// have been created before the accounts were locked.
func reserve(ctx context.Context, tx pgx.Tx, batch []*group.Request[*reservation]) error {
	var now time.Time
	ids := make([]string, len(batch))
	for i, h := range batch {
		ids[i] = h.Item.request.ID
	}
	touched := store.Changes{}
	existing := map[string]footnote.Reservation{}
	b := &pgx.Batch{}
	b.Queue(sqlNow).QueryRow(func(row pgx.Row) error { return row.Scan(&now) })
	b.Queue(sqlToSettle, ids).Query(reservationsInto(existing))
	if err := tx.SendBatch(ctx, b).Close(); err != nil {
		return err
	}
	now = store.Micros(now)
	for _, r := range existing {
		r.Amount = footnote.Amount{}
		touched.Reserve(r)
	}
	for _, h := range batch {
		r := h.Item.request
		touched.Reserve(footnote.Reservation{Org: r.Org, User: r.User, Stream: r.Stream, Day: store.DayOf(now)})
	}
	clear(existing)
	var balances map[store.Account]footnote.Balance
	b = &pgx.Batch{}
	b.Queue(sqlChange, columns(touched.Tallies())...).Query(func(rows pgx.Rows) (err error) {
		balances, err = readBalances(rows)
		return err
	})
	b.Queue(sqlFound, ids).Query(reservationsInto(existing))
	if err := tx.SendBatch(ctx, b).Close(); err != nil {
		return err
	}
	return grant(ctx, tx, batch, balances, existing, now)
}

// grant writes the reservations that the locked balances allow.
func grant(ctx context.Context, tx pgx.Tx, batch []*group.Request[*reservation],
	balances map[store.Account]footnote.Balance, existing map[string]footnote.Reservation, now time.Time) error {
	changes := store.Changes{}
	granted := map[string]footnote.Reservation{}
	for _, q := range batch {
		call := q.Item
		r := call.request
		of := map[footnote.Scope]footnote.Balance{}
		for scope, a := range store.AccountsOf(r.Org, r.User, r.Stream, store.DayOf(now)) {
			of[scope] = footnote.Balance{
				Spent:    balances[a].Spent,
				Reserved: balances[a].Reserved.Add(changes[a].Reserved),
			}
		}
		held, found := existing[r.ID]
		if call.granted, call.refused = store.Grant(r, held, of, now); call.refused != nil {
			continue
		}
		if found {
			changes.Free(held)
		}
		existing[call.granted.ID], granted[call.granted.ID] = call.granted, call.granted
		changes.Reserve(call.granted)
	}
	if len(granted) == 0 {
		return nil
	}
	b := &pgx.Batch{}
	b.Queue(sqlChange, columns(changes.Tallies())...)
	b.Queue(sqlReserve, columns(sorted(granted))...)
	return tx.SendBatch(ctx, b).Close()
}

// sorted returns reservations in the order in which all transactions lock them.
func sorted(all map[string]footnote.Reservation) []footnote.Reservation {
	return slices.SortedFunc(maps.Values(all), func(a, b footnote.Reservation) int {
		return strings.Compare(a.ID, b.ID)
	})
}

// Unreserve implements store.Store.
func (s *Store) Unreserve(ctx context.Context, id string) error { return s.unreserve(ctx, id, false) }

// Expire implements store.Store.
func (s *Store) Expire(ctx context.Context, id string) error { return s.unreserve(ctx, id, true) }

func (s *Store) unreserve(ctx context.Context, id string, expired bool) error {
	if !validText(id) {
		return nil
	}
	return s.do(ctx, "end a reservation", func(ctx context.Context, c *pgxpool.Conn) error {
		return pgx.BeginTxFunc(ctx, c, readCommitted, func(tx pgx.Tx) error {
			rows, err := tx.Query(ctx, sqlUnreserve, id, expired)
			if err != nil {
				return err
			}
			r, err := pgx.CollectExactlyOneRow(rows, scan[footnote.Reservation])
			if errors.Is(err, pgx.ErrNoRows) {
				return nil
			}
			if err != nil {
				return err
			}
			changes := store.Changes{}
			changes.Free(r)
			_, err = tx.Exec(ctx, sqlChange, columns(changes.Tallies())...)
			return err
		})
	})
}

// Reserved implements store.Store.
func (s *Store) Reserved(ctx context.Context, stream string) ([]footnote.Reservation, error) {
	return collect(ctx, s, "read reservations", scan[footnote.Reservation], sqlReserved, stream)
}

// Overdue implements store.Store.
func (s *Store) Overdue(ctx context.Context, limit int) ([]footnote.Reservation, error) {
	return collect(ctx, s, "read reservations", scan[footnote.Reservation], sqlOverdue, max(limit, 0))
}

// Balances implements store.Store.
func (s *Store) Balances(ctx context.Context,
	org, user, stream string) (map[footnote.Scope]footnote.Balance, time.Time, error) {
	out := map[footnote.Scope]footnote.Balance{}
	var now time.Time
	err := s.do(ctx, "read balances", func(ctx context.Context, c *pgxpool.Conn) error {
		if err := c.QueryRow(ctx, sqlNow).Scan(&now); err != nil {
			return err
		}
		accounts := store.AccountsOf(org, user, stream, store.DayOf(now))
		wanted := store.Changes{}
		for _, a := range accounts {
			wanted[a] = footnote.Balance{}
		}
		rows, err := c.Query(ctx, sqlBalances, columns(wanted.Tallies())[:4]...)
		if err != nil {
			return err
		}
		found, err := readBalances(rows)
		for scope, a := range accounts {
			out[scope] = found[a]
		}
		return err
	})
	return out, store.Micros(now), err
}

// Tallies implements store.Store.
func (s *Store) Tallies(ctx context.Context, after footnote.Tally, limit int) ([]footnote.Tally, error) {
	return collect(ctx, s, "read balances", scan[footnote.Tally], sqlTallies, after.Org, after.User, after.Stream,
		after.Day, max(limit, 0))
}

// Running implements store.Store.
func (s *Store) Running(ctx context.Context, org, user string) (n int, err error) {
	n, _, err = value[int](ctx, s, "count runs", sqlRunning, org, user)
	return n, err
}

// reservationsOf returns the ids of the reservations that writes settle.
func reservationsOf(writes []*write) (ids []string) {
	for _, p := range writes {
		for _, s := range p.a.Settle {
			if s.ID != "" {
				ids = append(ids, s.ID)
			}
		}
	}
	return ids
}

// checkHeld sets refused if the write settles a reservation that must still exist and does not. found are the existing
// reservations by id.
func (p *write) checkHeld(ctx context.Context, conn *pgx.Conn, found map[string]footnote.Reservation) error {
	p.reserved = found
	for _, s := range p.a.Settle {
		if _, ok := found[s.ID]; ok || !s.Held || p.refused != nil {
			continue
		}
		p.refused = store.ErrSettled(s.ID)
		if p.create == nil {
			return nil
		}
		_, err := conn.Exec(ctx, "DELETE FROM footnote.streams WHERE n = $1", p.n) // this transaction created it
		return err
	}
	return nil
}

// settlement collects the changes by the settlements of a batch.
type settlement struct {
	changes store.Changes
	ids     []string                        // reservations that end
	kept    map[string]footnote.Reservation // the others, with the amounts left
}

func (st *settlement) add(p *write) {
	for _, s := range p.a.Settle {
		if r, ok := p.reserved[s.ID]; ok {
			// The whole batch shares the map, so that the next settlement finds the amount left.
			if left, keep := st.changes.Settle(r, s); keep {
				p.reserved[s.ID], st.kept[s.ID] = left, left
			} else {
				delete(p.reserved, s.ID)
				delete(st.kept, s.ID)
				st.ids = append(st.ids, s.ID)
			}
		}
		st.changes.Spend(s, p.time)
	}
}

// queue adds the statements to a batch.
func (st *settlement) queue(b *pgx.Batch) {
	if len(st.ids) > 0 {
		b.Queue(sqlSettled, st.ids)
	}
	if len(st.kept) > 0 {
		b.Queue(sqlReserve, columns(sorted(st.kept))...)
	}
	if len(st.changes) > 0 {
		b.Queue(sqlChange, columns(st.changes.Tallies())...)
	}
}
