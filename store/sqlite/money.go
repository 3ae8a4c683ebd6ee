package sqlite

import (
	"context"
	"database/sql"
	"errors"
	"strings"
	"time"

	"github.com/footnotehq/footnote"
	"github.com/footnotehq/footnote/store"
)

const (
	reservationColumns = `id, org, user, stream, run, day, micro_usd, tokens, lost_usd, lost_tokens, expires`

	sqlBalance = `SELECT micro_usd, tokens, reserved_usd, reserved_tokens FROM accounts
		WHERE org = ? AND user = ? AND stream = ? AND day = ?`
)

func moneyQueries(q *statements) []query {
	return []query{
		{&q.balance, sqlBalance},
		{&q.changeBalance, changeBalances(1)},
		{&q.changeBalances, changeBalances(accountsTogether)},
		{&q.deleteBalance, `DELETE FROM accounts WHERE org = ? AND user = ? AND stream = ? AND day = ?`},
		{&q.reservation, `SELECT ` + reservationColumns + ` FROM reservations WHERE id = ?`},
		{&q.reserve, `INSERT OR REPLACE INTO reservations (` + reservationColumns + `)
			VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)`},
		{&q.unreserve, `DELETE FROM reservations WHERE id = ?`},
	}
}

// accountsTogether is the number of balances that one statement changes: as many as one call is charged to.
const accountsTogether = 6

func changeBalances(n int) string {
	return `INSERT INTO accounts (org, user, stream, day, micro_usd, tokens, reserved_usd, reserved_tokens)
		VALUES ` + strings.Repeat(", (?, ?, ?, ?, ?, ?, ?, ?)", n)[2:] + `
		ON CONFLICT DO UPDATE SET micro_usd = micro_usd + excluded.micro_usd, tokens = tokens + excluded.tokens,
		reserved_usd = reserved_usd + excluded.reserved_usd,
		reserved_tokens = reserved_tokens + excluded.reserved_tokens`
}

func moneyReads(q *reads) []query {
	return []query{
		{&q.balance, sqlBalance},
		{&q.tallies, `SELECT org, user, stream, day, micro_usd, tokens, reserved_usd, reserved_tokens FROM accounts
			WHERE (org, user, stream, day) > (?, ?, ?, ?) AND (micro_usd, tokens, reserved_usd,
				reserved_tokens) <> (0, 0, 0, 0)
			ORDER BY org, user, stream, day LIMIT ?`},
		{&q.reserved, `SELECT ` + reservationColumns + ` FROM reservations WHERE stream = ? ORDER BY expires, id`},
		{&q.overdue, `SELECT ` + reservationColumns + ` FROM reservations
			WHERE expires <= ? ORDER BY expires, id LIMIT ?`},
		{&q.running, `SELECT count(*) FROM streams INDEXED BY streams_unfinished
			WHERE run_state <> '' AND run_state = 'running' AND org = ? AND user = coalesce(nullif(?, ''), user)`},
	}
}

func scanReservation(scan func(...any) error) (r footnote.Reservation, err error) {
	var expires int64
	err = scan(&r.ID, &r.Org, &r.User, &r.Stream, &r.Run, &r.Day, &r.Amount.MicroUSD, &r.Amount.Tokens,
		&r.Lost.MicroUSD, &r.Lost.Tokens, &expires)
	r.Expires = time.UnixMicro(expires).UTC()
	return r, err
}

// balancesOf reads the balances that a call is charged to.
func balancesOf(ctx context.Context, stmt *sql.Stmt, org, user, stream string,
	now time.Time) (map[footnote.Scope]footnote.Balance, error) {
	out := map[footnote.Scope]footnote.Balance{}
	for scope, a := range store.AccountsOf(org, user, stream, store.DayOf(now)) {
		b, err := balanceOf(ctx, stmt, a)
		if err != nil {
			return nil, err
		}
		out[scope] = b
	}
	return out, nil
}

// balanceOf reads a balance, which is zero without a row.
func balanceOf(ctx context.Context, stmt *sql.Stmt, a store.Account) (b footnote.Balance, err error) {
	err = stmt.QueryRowContext(ctx, a.Org, a.User, a.Stream, a.Day).Scan(&b.Spent.MicroUSD, &b.Spent.Tokens,
		&b.Reserved.MicroUSD, &b.Reserved.Tokens)
	if errors.Is(err, sql.ErrNoRows) {
		err = nil
	}
	return b, err
}

// writeChanges writes the changes of balances that the transaction has collected. Collecting them saves statements,
// because the appends of a transaction share most of their accounts. Call it before balances are read, and before the
// commit.
func (w *writer) writeChanges(ctx context.Context) error {
	changes := w.changes.Tallies()
	for len(changes) > 0 {
		stmt, n := w.stmts.changeBalance, 1
		if len(changes) >= accountsTogether {
			stmt, n = w.stmts.changeBalances, accountsTogether
		}
		w.args = w.args[:0]
		for _, t := range changes[:n] {
			w.args = append(w.args, t.Org, t.User, t.Stream, t.Day, t.Spent.MicroUSD, t.Spent.Tokens,
				t.Reserved.MicroUSD, t.Reserved.Tokens)
		}
		if _, err := stmt.ExecContext(ctx, w.args...); err != nil {
			return err
		}
		changes = changes[n:]
	}
	clear(w.changes)
	return nil
}

// moveSpending moves the spending of a deleted conversation to its user's balance for deleted conversations.
func (w *writer) moveSpending(ctx context.Context, org, user, stream string) error {
	if err := w.writeChanges(ctx); err != nil {
		return err
	}
	b, err := balanceOf(ctx, w.stmts.balance, store.Account{Org: org, User: user, Stream: stream})
	if err != nil {
		return err
	}
	w.changes.Delete(org, user, b)
	_, err = w.stmts.deleteBalance.ExecContext(ctx, org, user, stream, "")
	return err
}

// reservation returns the reservation with an id, if it exists.
func (w *writer) reservation(ctx context.Context, id string) (r footnote.Reservation, found bool, err error) {
	r, err = scanReservation(w.stmts.reservation.QueryRowContext(ctx, id).Scan)
	if errors.Is(err, sql.ErrNoRows) {
		return footnote.Reservation{}, false, nil
	}
	return r, err == nil, err
}

// putReservation writes a reservation.
func (w *writer) putReservation(ctx context.Context, r footnote.Reservation) error {
	_, err := w.stmts.reserve.ExecContext(ctx, r.ID, r.Org, r.User, r.Stream, r.Run, r.Day,
		r.Amount.MicroUSD, r.Amount.Tokens, r.Lost.MicroUSD, r.Lost.Tokens, r.Expires.UnixMicro())
	return err
}

// settle takes the amount spent out of a reservation, if it exists, and ends it or keeps the rest.
func (w *writer) settle(ctx context.Context, s footnote.Settle) error {
	r, found, err := w.reservation(ctx, s.ID)
	if err != nil || !found {
		return err
	}
	if left, keep := w.changes.Settle(r, s); keep {
		return w.putReservation(ctx, left)
	}
	_, err = w.stmts.unreserve.ExecContext(ctx, s.ID)
	return err
}

// checkHeld returns an error if the append settles a reservation that must still exist and does not.
func (p *pending) checkHeld(ctx context.Context, w *writer) error {
	for _, s := range p.a.Settle {
		if !s.Held {
			continue
		}
		_, found, err := w.reservation(ctx, s.ID)
		if err != nil {
			return err
		}
		if !found {
			return store.ErrSettled(s.ID)
		}
	}
	return nil
}

// settle applies the settlements of the append.
func (p *pending) settle(ctx context.Context, w *writer) error {
	for _, s := range p.a.Settle {
		if s.ID != "" {
			if err := w.settle(ctx, s); err != nil {
				return err
			}
		}
		w.changes.Spend(s, p.now)
	}
	return nil
}

// Reserve implements store.Store.
func (s *Store) Reserve(ctx context.Context, r footnote.Reserve) (made footnote.Reservation, err error) {
	if err := store.CheckReserve(r); err != nil {
		return footnote.Reservation{}, err
	}
	err = s.do(ctx, "reserve", &request{exec: func(ctx context.Context, w *writer) (err error) {
		made, err = w.reserve(ctx, r, store.Micros(s.now()))
		return err
	}})
	return made, err
}

func (w *writer) reserve(ctx context.Context, r footnote.Reserve,
	now time.Time) (none footnote.Reservation, err error) {
	held, found, err := w.reservation(ctx, r.ID)
	if err != nil {
		return none, err
	}
	if err := w.writeChanges(ctx); err != nil {
		return none, err
	}
	balances, err := balancesOf(ctx, w.stmts.balance, r.Org, r.User, r.Stream, now)
	if err != nil {
		return none, err
	}
	made, err := store.Grant(r, held, balances, now)
	if err != nil {
		return none, err
	}
	if err := w.putReservation(ctx, made); err != nil {
		return none, err
	}
	if found {
		w.changes.Free(held)
	}
	w.changes.Reserve(made)
	return made, nil
}

// Unreserve implements store.Store.
func (s *Store) Unreserve(ctx context.Context, id string) error { return s.unreserve(ctx, id, false) }

// Expire implements store.Store.
func (s *Store) Expire(ctx context.Context, id string) error { return s.unreserve(ctx, id, true) }

func (s *Store) unreserve(ctx context.Context, id string, expired bool) error {
	return s.do(ctx, "end a reservation", &request{exec: func(ctx context.Context, w *writer) error {
		if r, found, err := w.reservation(ctx, id); err != nil || !found || expired && r.Expires.After(s.now()) {
			return err
		}
		return w.settle(ctx, footnote.Settle{ID: id})
	}})
}

// Reserved implements store.Store.
func (s *Store) Reserved(ctx context.Context, stream string) ([]footnote.Reservation, error) {
	return s.reservations(ctx, s.reads.reserved, stream)
}

// Overdue implements store.Store.
func (s *Store) Overdue(ctx context.Context, limit int) ([]footnote.Reservation, error) {
	return s.reservations(ctx, s.reads.overdue, s.now().UnixMicro(), max(limit, 0))
}

func (s *Store) reservations(ctx context.Context, stmt *sql.Stmt, args ...any) ([]footnote.Reservation, error) {
	rows, err := stmt.QueryContext(ctx, args...)
	return collect(ctx, s, "read reservations", rows, err, scanReservation)
}

// Balances implements store.Store.
func (s *Store) Balances(ctx context.Context,
	org, user, stream string) (map[footnote.Scope]footnote.Balance, time.Time, error) {
	now := store.Micros(s.now())
	balances, err := balancesOf(ctx, s.reads.balance, org, user, stream, now)
	return balances, now, s.failed(ctx, "read balances", err)
}

// Tallies implements store.Store.
func (s *Store) Tallies(ctx context.Context, after footnote.Tally, limit int) ([]footnote.Tally, error) {
	rows, err := s.reads.tallies.QueryContext(ctx, after.Org, after.User, after.Stream, after.Day, max(limit, 0))
	return collect(ctx, s, "read balances", rows, err, func(scan func(...any) error) (t footnote.Tally, err error) {
		err = scan(&t.Org, &t.User, &t.Stream, &t.Day, &t.Spent.MicroUSD, &t.Spent.Tokens, &t.Reserved.MicroUSD,
			&t.Reserved.Tokens)
		return t, err
	})
}

// Running implements store.Store.
func (s *Store) Running(ctx context.Context, org, user string) (n int, err error) {
	err = s.reads.running.QueryRowContext(ctx, org, user).Scan(&n)
	return n, s.failed(ctx, "count runs", err)
}
