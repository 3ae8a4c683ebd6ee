package storetest

import (
	"cmp"
	"context"
	"slices"
	"time"

	"github.com/footnotehq/footnote"
	"github.com/footnotehq/footnote/store"
)

// change adds to balances. m.mu must be held.
func (m *Mem) change(changes store.Changes) {
	for a, b := range changes {
		sum := m.balances[a]
		m.balances[a] = footnote.Balance{Spent: sum.Spent.Add(b.Spent), Reserved: sum.Reserved.Add(b.Reserved)}
	}
}

// settleable refuses to settle what somebody else has settled. m.mu must be held.
func (m *Mem) settleable(a store.Append) error {
	for _, s := range a.Settle {
		if _, ok := m.reserved[s.ID]; s.Held && !ok {
			return store.ErrSettled(s.ID)
		}
	}
	return nil
}

// settle counts what an append says was used. m.mu must be held.
func (m *Mem) settle(a store.Append, now time.Time) {
	changes := store.Changes{}
	for _, s := range a.Settle {
		if r, ok := m.reserved[s.ID]; ok {
			if left, stays := changes.Settle(r, s); stays {
				m.reserved[s.ID] = left
			} else {
				delete(m.reserved, s.ID)
			}
		}
		changes.Spend(s, now)
	}
	m.change(changes)
}

// Reserve implements Store.
func (m *Mem) Reserve(ctx context.Context, r footnote.Reserve) (footnote.Reservation, error) {
	if err := store.CheckReserve(r); err != nil {
		return footnote.Reservation{}, err
	}
	unlock, err := m.lock(ctx)
	if err != nil {
		return footnote.Reservation{}, err
	}
	defer unlock()
	now := store.Micros(m.now())
	held, ok := m.reserved[r.ID]
	made, err := store.Grant(r, held, m.of(r.Org, r.User, r.Stream, now), now)
	if err != nil {
		return footnote.Reservation{}, err
	}
	m.reserved[r.ID] = made
	changes := store.Changes{}
	if ok {
		changes.Free(held)
	}
	changes.Reserve(made)
	m.change(changes)
	return made, nil
}

// of gives the balances that a call counts in. m.mu must be held.
func (m *Mem) of(org, user, stream string, now time.Time) map[footnote.Scope]footnote.Balance {
	out := map[footnote.Scope]footnote.Balance{}
	for scope, a := range store.AccountsOf(org, user, stream, store.DayOf(now)) {
		out[scope] = m.balances[a]
	}
	return out
}

// Unreserve implements Store.
func (m *Mem) Unreserve(ctx context.Context, id string) error { return m.unreserve(ctx, id, false) }

// Expire implements Store.
func (m *Mem) Expire(ctx context.Context, id string) error { return m.unreserve(ctx, id, true) }

func (m *Mem) unreserve(ctx context.Context, id string, expired bool) error {
	unlock, err := m.lock(ctx)
	if err != nil {
		return err
	}
	defer unlock()
	if r, ok := m.reserved[id]; ok && !(expired && r.Expires.After(m.now())) {
		delete(m.reserved, id)
		changes := store.Changes{}
		changes.Free(r)
		m.change(changes)
	}
	return nil
}

// Reserved implements Store.
func (m *Mem) Reserved(ctx context.Context, stream string) ([]footnote.Reservation, error) {
	return m.reservations(ctx, func(r footnote.Reservation) bool { return r.Stream == stream })
}

// Overdue implements Store.
func (m *Mem) Overdue(ctx context.Context, limit int) ([]footnote.Reservation, error) {
	now := m.now()
	all, err := m.reservations(ctx, func(r footnote.Reservation) bool { return !r.Expires.After(now) })
	return all[:min(max(limit, 0), len(all))], err
}

func (m *Mem) reservations(ctx context.Context, want func(footnote.Reservation) bool) ([]footnote.Reservation, error) {
	unlock, err := m.rlock(ctx)
	if err != nil {
		return nil, err
	}
	defer unlock()
	var out []footnote.Reservation
	for _, r := range m.reserved {
		if want(r) {
			out = append(out, r)
		}
	}
	slices.SortFunc(out, func(a, b footnote.Reservation) int {
		return cmp.Or(a.Expires.Compare(b.Expires), cmp.Compare(a.ID, b.ID))
	})
	return out, nil
}

// Balances implements Store.
func (m *Mem) Balances(ctx context.Context,
	org, user, stream string) (map[footnote.Scope]footnote.Balance, time.Time, error) {
	unlock, err := m.rlock(ctx)
	if err != nil {
		return nil, time.Time{}, err
	}
	defer unlock()
	now := store.Micros(m.now())
	return m.of(org, user, stream, now), now, nil
}

// Tallies implements Store.
func (m *Mem) Tallies(ctx context.Context, after footnote.Tally, limit int) (out []footnote.Tally, err error) {
	unlock, err := m.rlock(ctx)
	if err != nil {
		return nil, err
	}
	defer unlock()
	from := account(after)
	for a, b := range m.balances {
		if b != (footnote.Balance{}) && a.Compare(from) > 0 {
			out = append(out, footnote.Tally{Org: a.Org, User: a.User, Stream: a.Stream, Day: a.Day, Balance: b})
		}
	}
	slices.SortFunc(out, func(a, b footnote.Tally) int {
		return account(a).Compare(account(b))
	})
	return out[:min(max(limit, 0), len(out))], nil
}

// Running implements Store.
func (m *Mem) Running(ctx context.Context, org, user string) (n int, err error) {
	unlock, err := m.rlock(ctx)
	if err != nil {
		return 0, err
	}
	defer unlock()
	for _, st := range m.byID {
		if st.head.RunState == "running" && st.head.Org == org && (user == "" || st.head.User == user) {
			n++
		}
	}
	return n, nil
}

func account(t footnote.Tally) store.Account {
	return store.Account{Org: t.Org, User: t.User, Stream: t.Stream, Day: t.Day}
}
