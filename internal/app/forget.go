package app

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"time"

	"github.com/footnotehq/footnote"
	"github.com/footnotehq/footnote/config"
	"github.com/footnotehq/footnote/store"
)

// Forgotten counts a person's deleted data.
type Forgotten struct {
	conversations, boards, uploads, trades int
	market                                 bool // a market is configured, so there can be trades
}

func (f Forgotten) String() string {
	words := fmt.Sprintf("%s, drawings on %s, %s", Counted(f.conversations, "conversation"), Counted(f.boards, "chart"),
		Counted(f.uploads, "upload"))
	if f.market {
		words += ", " + Counted(f.trades, "trade")
	}
	return words
}

// Forget deletes a person's data. It stops an active run, and also deletes anything the run or a second device
// adds meanwhile. It continues after something cannot be deleted.
func (a *App) Forget(ctx context.Context, p footnote.Principal) (gone Forgotten, err error) {
	if err := a.usage.Settle(ctx); err != nil { // keep the usage numbers
		return gone, err
	}
	for {
		n, failed := a.forgetConversations(ctx, p)
		boards, failedToo := a.boards.Forget(ctx, p)
		gone.conversations, gone.boards = gone.conversations+n, gone.boards+boards
		if err = errors.Join(failed, failedToo); n+boards == 0 || ctx.Err() != nil {
			break
		}
	}
	var failed, failedToo error
	gone.uploads, failed = a.catalog.Forget(p)
	gone.trades, gone.market, failedToo = forgetTrades(ctx, string(a.cfg.Market.Store), p)
	return gone, errors.Join(err, failed, failedToo)
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
	store, err := OpenMarketStore(ctx, where)
	if err != nil {
		return 0, true, err
	}
	defer func() { err = errors.Join(err, store.Close()) }()
	n, err = store.Forget(ctx, p.Org, p.User)
	return n, true, err
}

// forgetConversations deletes all conversations it can: a workspace may be in another server's folder.
func (a *App) forgetConversations(ctx context.Context, p footnote.Principal) (n int, err error) {
	log := a.deleting()
	var failed error
	for before, left := "", 0; ; {
		heads, next, err := log.List(ctx, footnote.Page{
			Org: p.Org, User: p.User, Kind: store.Conversation, Before: before, Limit: 200,
		})
		if err != nil {
			return n, err
		}
		for _, head := range heads {
			if err := a.stopRun(ctx, head); err != nil {
				return n, err
			}
			switch err := log.Delete(ctx, head.ID); footnote.CodeOf(err) {
			case "":
				n++
			case footnote.NotFound: // its user deletes it at the same time
			default:
				if left++; a.store.Ping(ctx) != nil {
					return n, err // the next ones would fail as well
				}
				failed = fmt.Errorf("%s cannot be deleted, the last of them %s: %w", Counted(left, "conversation"),
					head.ID, err)
			}
		}
		if before = next; next == "" {
			return n, failed
		}
	}
}

// stopWait limits how long a run on another server may take to end after a stop request, and stopPoll is the
// polling interval.
const (
	stopWait = 10 * time.Second
	stopPoll = 50 * time.Millisecond
)

// stopRun asks the server that drives the conversation's run to stop it, and waits a moment for its end, so that its
// usage is recorded. With a data folder there is no other server.
func (a *App) stopRun(ctx context.Context, head store.Stream) error {
	servers := shared(a.store)
	if servers == nil || head.RunState != "running" {
		return nil
	}
	if err := servers.AskStop(ctx, head.ID, head.Run, "user"); err != nil {
		return err
	}
	wait, cancel := context.WithTimeout(ctx, stopWait)
	defer cancel()
	tick := time.NewTicker(stopPoll)
	defer tick.Stop()
	for run := head.Run; head.Run == run && head.RunState == "running"; {
		select {
		case <-tick.C:
		case <-wait.Done():
			return ctx.Err() // no server drives it; the store has all its data
		}
		var err error
		if head, err = a.store.Get(ctx, head.ID); footnote.CodeOf(err) == footnote.NotFound {
			return nil
		} else if err != nil {
			return err
		}
	}
	return a.usage.Settle(ctx)
}

// deleting returns the log that deletes a conversation together with its data outside the log.
func (a *App) deleting() store.Store { return withWorkspaces{cacheForgetter{a.store, a}, a.workspaces} }
