package main

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
	"github.com/footnotehq/footnote/store/sqlite"
)

type forgetCmd struct {
	Org  string `required:"" help:"The organisation." placeholder:"ORG"`
	User string `required:"" help:"User whose data is deleted." placeholder:"USER"`
}

// Help is shown by footnote forget --help.
func (forgetCmd) Help() string {
	return `Permanently deletes a user's conversations with their events, results and workspaces, drawings with
their history, uploads, and the trade journal in market.store. Revoke the user's keys first, or new
data may arrive. Stop a server that uses the data folder; with --store, servers may run. Uploads and
workspaces are deleted on this machine only. Usage in numbers and revoked keys stay, as do the audit
and backups, which are your files.

  footnote forget --org acme --user ada`
}

// Run executes the command.
func (cmd *forgetCmd) Run(ctx context.Context, s *settings, e env, std streams) (err error) {
	c, err := s.load(e, nil)
	if err != nil {
		return err
	}
	a, err := openApp(ctx, c, "", sqlite.Options{}, logger(std.err, c, "error"), nil)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, a.close(ctx)) }()
	gone, err := a.forgetPerson(ctx, footnote.Principal{Org: cmd.Org, User: cmd.User})
	fmt.Fprintf(std.out,
		"deleted of %s/%s: %s\nnot deleted: usage in numbers; keys, which you revoke with footnote keys "+
			"revoke; the audit; backups\n", cmd.Org, cmd.User, gone)
	return err
}

// forgotten counts a person's deleted data.
type forgotten struct {
	conversations, boards, uploads, trades int
	market                                 bool // a market is configured, so there can be trades
}

func (f forgotten) String() string {
	words := fmt.Sprintf("%s, drawings on %s, %s", counted(f.conversations, "conversation"), counted(f.boards, "chart"),
		counted(f.uploads, "upload"))
	if f.market {
		words += ", " + counted(f.trades, "trade")
	}
	return words
}

// forgetPerson deletes a person's data. It stops an active run, and also deletes anything the run or a second device
// adds meanwhile. It continues after something cannot be deleted.
func (a *app) forgetPerson(ctx context.Context, p footnote.Principal) (gone forgotten, err error) {
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
	store, err := openMarketStore(ctx, where)
	if err != nil {
		return 0, true, err
	}
	defer func() { err = errors.Join(err, store.Close()) }()
	n, err = store.Forget(ctx, p.Org, p.User)
	return n, true, err
}

// forgetConversations deletes all conversations it can: a workspace may be in another server's folder.
func (a *app) forgetConversations(ctx context.Context, p footnote.Principal) (n int, err error) {
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
				failed = fmt.Errorf("%s cannot be deleted, the last of them %s: %w", counted(left, "conversation"),
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
func (a *app) stopRun(ctx context.Context, head store.Stream) error {
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
func (a *app) deleting() store.Store { return withWorkspaces{cacheForgetter{a.store, a}, a.workspaces} }
