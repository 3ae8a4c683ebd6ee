package install

import (
	"context"
	"errors"

	"github.com/footnotehq/footnote"
	"github.com/footnotehq/footnote/internal/module"
	"github.com/footnotehq/footnote/market/board"
	"github.com/footnotehq/footnote/market/open"
)

// forget deletes the drawings and the trade journal of a user.
func forget(ctx context.Context, boards *board.Boards, where string, p footnote.Principal) ([]module.Deleted, error) {
	charts, err := boards.Forget(ctx, p)
	deleted := []module.Deleted{{Count: charts, Before: "drawings on ", Noun: "chart"}}
	trades, there, terr := forgetTrades(ctx, where, p)
	if there {
		deleted = append(deleted, module.Deleted{Count: trades, Noun: "trade"})
	}
	return deleted, errors.Join(err, terr)
}

// forgetTrades deletes a person's trade journal; there is none without a market.
func forgetTrades(ctx context.Context, where string, p footnote.Principal) (n int, there bool, err error) {
	if where == "" || open.Missing(where) {
		return 0, false, nil
	}
	store, err := open.Store(ctx, where)
	if err != nil {
		return 0, true, err
	}
	defer func() { err = errors.Join(err, store.Close()) }()
	n, err = store.Forget(ctx, p.Org, p.User)
	return n, true, err
}
