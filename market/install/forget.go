package install

import (
	"context"
	"errors"
	"io/fs"
	"os"

	"github.com/footnotehq/footnote"
	"github.com/footnotehq/footnote/config"
	"github.com/footnotehq/footnote/internal/doctor"
	"github.com/footnotehq/footnote/market/board"
	"github.com/footnotehq/footnote/market/open"
)

// forget deletes the drawings and the trade journal of a user. It repeats for drawings that a second device adds
// meanwhile.
func forget(ctx context.Context, boards *board.Boards, where string, p footnote.Principal) ([]string, error) {
	charts := 0
	for {
		n, err := boards.Forget(ctx, p)
		charts += n
		if err != nil || n == 0 || ctx.Err() != nil {
			deleted := []string{"drawings on " + doctor.Counted(charts, "chart")}
			trades, there, terr := forgetTrades(ctx, where, p)
			if there {
				deleted = append(deleted, doctor.Counted(trades, "trade"))
			}
			return deleted, errors.Join(err, terr)
		}
	}
}

// forgetTrades deletes a person's trade journal; there is none without a market.
func forgetTrades(ctx context.Context, where string, p footnote.Principal) (n int, there bool, err error) {
	if where == "" {
		return 0, false, nil
	}
	if !config.PostgresURL(where) {
		if _, err := os.Stat(where); errors.Is(err, fs.ErrNotExist) {
			return 0, false, nil
		}
	}
	store, err := open.Store(ctx, where)
	if err != nil {
		return 0, true, err
	}
	defer func() { err = errors.Join(err, store.Close()) }()
	n, err = store.Forget(ctx, p.Org, p.User)
	return n, true, err
}
