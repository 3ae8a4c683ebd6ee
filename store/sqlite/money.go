package sqlite

import (
	"context"
	"database/sql"
	"errors"
	"time"

	"github.com/footnotehq/footnote"
	"github.com/footnotehq/footnote/store"
)

const reservationColumns = `id, org, user, stream, run, day, micro_usd, tokens, expires`

func moneyQueries(q *statements) []query {
	return []query{
		{&q.balance, `SELECT micro_usd, tokens, reserved_usd, reserved_tokens FROM accounts WHERE org = ? AND user = ? AND stream = ? AND day = ?`},
		{&q.changeBalance, `INSERT INTO accounts (org, user, stream, day, micro_usd, tokens, reserved_usd, reserved_tokens) VALUES (?, ?, ?, ?, ?, ?, ?, ?)
			ON CONFLICT DO UPDATE SET micro_usd = micro_usd + excluded.micro_usd, tokens = tokens + excluded.tokens,
			reserved_usd = reserved_usd + excluded.reserved_usd, reserved_tokens = reserved_tokens + excluded.reserved_tokens`},
		{&q.deleteBalance, `DELETE FROM accounts WHERE org = ? AND user = ? AND stream = ? AND day = ''`},
		{&q.reservation, `SELECT ` + reservationColumns + ` FROM reservations WHERE id = ?`},
		{&q.reserve, `INSERT INTO reservations (` + reservationColumns + `) VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?)`},
		{&q.unreserve, `DELETE FROM reservations WHERE id = ?`},
	}
}

func moneyReads(q *reads) []query {
	return []query{
		{&q.balance, `SELECT micro_usd, tokens, reserved_usd, reserved_tokens FROM accounts WHERE org = ? AND user = ? AND stream = ? AND day = ?`},
		{&q.reserved, `SELECT ` + reservationColumns + ` FROM reservations WHERE stream = ? ORDER BY expires, id`},
		{&q.overdue, `SELECT ` + reservationColumns + ` FROM reservations WHERE expires <= ? ORDER BY expires, id LIMIT ?`},
		{&q.running, `SELECT count(*) FROM streams INDEXED BY streams_unfinished WHERE run_state <> '' AND run_state = 'running' AND org = ? AND user = coalesce(nullif(?, ''), user)`},
	}
}

func scanReservation(scan func(...any) error) (r footnote.Reservation, err error) {
	var expires int64
	err = scan(&r.ID, &r.Org, &r.User, &r.Stream, &r.Run, &r.Day, &r.Amount.MicroUSD, &r.Amount.Tokens, &expires)
	r.Expires = time.UnixMicro(expires).UTC()
	return r, err
}

// balancesOf reads the balances that a call counts in.
func balancesOf(ctx context.Context, stmt *sql.Stmt, org, user, stream string, now time.Time) (map[footnote.Scope]footnote.Balance, error) {
	out := map[footnote.Scope]footnote.Balance{}
	for scope, a := range store.AccountsOf(org, user, stream, store.DayOf(now)) {
		var b footnote.Balance
		err := stmt.QueryRowContext(ctx, a.Org, a.User, a.Stream, a.Day).Scan(&b.Spent.MicroUSD, &b.Spent.Tokens, &b.Reserved.MicroUSD, &b.Reserved.Tokens)
		if err != nil && !errors.Is(err, sql.ErrNoRows) {
			return nil, err
		}
		out[scope] = b
	}
	return out, nil
}

// change adds to balances.
func (w *writer) change(ctx context.Context, changes store.Changes) error {
	for _, a := range changes.Accounts() {
		b := changes[a]
		if _, err := w.stmts.changeBalance.ExecContext(ctx, a.Org, a.User, a.Stream, a.Day,
			b.Spent.MicroUSD, b.Spent.Tokens, b.Reserved.MicroUSD, b.Reserved.Tokens); err != nil {
			return err
		}
	}
	return nil
}

// free takes a reservation away, if it is there.
func (w *writer) free(ctx context.Context, id string, changes store.Changes) error {
	r, err := scanReservation(w.stmts.reservation.QueryRowContext(ctx, id).Scan)
	if errors.Is(err, sql.ErrNoRows) {
		return nil
	}
	if err != nil {
		return err
	}
	changes.Free(r)
	_, err = w.stmts.unreserve.ExecContext(ctx, id)
	return err
}

// settleable refuses to settle what somebody else has settled.
func (p *pending) settleable(ctx context.Context, w *writer) error {
	for _, s := range p.a.Settle {
		if !s.Held {
			continue
		}
		_, err := scanReservation(w.stmts.reservation.QueryRowContext(ctx, s.ID).Scan)
		if errors.Is(err, sql.ErrNoRows) {
			return store.ErrSettled(s.ID)
		}
		if err != nil {
			return err
		}
	}
	return nil
}

// settle counts what the append says was used.
func (p *pending) settle(ctx context.Context, w *writer) error {
	if len(p.a.Settle) == 0 {
		return nil
	}
	changes := store.Changes{}
	for _, s := range p.a.Settle {
		if s.ID != "" {
			if err := w.free(ctx, s.ID, changes); err != nil {
				return err
			}
		}
		changes.Spend(s, p.now)
	}
	return w.change(ctx, changes)
}

// Reserve implements store.Store.
func (s *Store) Reserve(ctx context.Context, r footnote.Reserve) (made footnote.Reservation, err error) {
	if err := store.CheckReserve(r); err != nil {
		return footnote.Reservation{}, err
	}
	err = s.do(ctx, "reserve", &request{exec: func(ctx context.Context, w *writer) error {
		made, err = w.reserve(ctx, r, store.Micros(s.now()))
		return err
	}})
	if err != nil {
		return footnote.Reservation{}, err
	}
	return made, nil
}

func (w *writer) reserve(ctx context.Context, r footnote.Reserve, now time.Time) (footnote.Reservation, error) {
	made, err := scanReservation(w.stmts.reservation.QueryRowContext(ctx, r.ID).Scan)
	if !errors.Is(err, sql.ErrNoRows) {
		return made, err
	}
	balances, err := balancesOf(ctx, w.stmts.balance, r.Org, r.User, r.Stream, now)
	if err != nil {
		return made, err
	}
	amount, err := store.Grant(r, balances)
	if err != nil {
		return made, err
	}
	made = store.Granted(r, amount, now)
	if _, err := w.stmts.reserve.ExecContext(ctx, made.ID, made.Org, made.User, made.Stream, made.Run, made.Day,
		made.Amount.MicroUSD, made.Amount.Tokens, made.Expires.UnixMicro()); err != nil {
		return made, err
	}
	changes := store.Changes{}
	changes.Reserve(made)
	return made, w.change(ctx, changes)
}

// Unreserve implements store.Store.
func (s *Store) Unreserve(ctx context.Context, id string) error {
	return s.do(ctx, "give back a reservation", &request{exec: func(ctx context.Context, w *writer) error {
		changes := store.Changes{}
		if err := w.free(ctx, id, changes); err != nil {
			return err
		}
		return w.change(ctx, changes)
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

func (s *Store) reservations(ctx context.Context, stmt *sql.Stmt, args ...any) (out []footnote.Reservation, err error) {
	if err := s.usable(ctx); err != nil {
		return nil, err
	}
	rows, err := stmt.QueryContext(ctx, args...)
	if err != nil {
		return nil, translate(ctx, "read reservations", err)
	}
	defer rows.Close()
	for rows.Next() {
		r, err := scanReservation(rows.Scan)
		if err != nil {
			return nil, translate(ctx, "read reservations", err)
		}
		out = append(out, r)
	}
	return out, translate(ctx, "read reservations", rows.Err())
}

// Balances implements store.Store.
func (s *Store) Balances(ctx context.Context, org, user, stream string) (map[footnote.Scope]footnote.Balance, time.Time, error) {
	if err := s.usable(ctx); err != nil {
		return nil, time.Time{}, err
	}
	now := store.Micros(s.now())
	balances, err := balancesOf(ctx, s.reads.balance, org, user, stream, now)
	return balances, now, translate(ctx, "read balances", err)
}

// Running implements store.Store.
func (s *Store) Running(ctx context.Context, org, user string) (n int, err error) {
	if err := s.usable(ctx); err != nil {
		return 0, err
	}
	err = s.reads.running.QueryRowContext(ctx, org, user).Scan(&n)
	return n, translate(ctx, "count runs", err)
}
