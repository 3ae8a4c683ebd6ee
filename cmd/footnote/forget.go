package main

import (
	"context"
	"errors"
	"fmt"

	"github.com/footnotehq/footnote"
	"github.com/footnotehq/footnote/store"
	"github.com/footnotehq/footnote/store/sqlite"
)

type forgetCmd struct {
	Org  string `required:"" help:"The organisation." placeholder:"ORG"`
	User string `required:"" help:"The user of it whose data are deleted." placeholder:"USER"`
}

// Help is shown by footnote forget --help.
func (forgetCmd) Help() string {
	return `Deletes what a user has left here, for good: conversations with their events, results and workspaces, drawings
with their history, uploads. End the user's keys first, or more may come. It is done in the data folder, whose
server must not run, or in the database of --store, where servers may; uploads and workspaces are those of this
machine. What was used stays known, in numbers; the audit is a file of yours.

  footnote forget --org acme --user ada`
}

// Run executes the command.
func (cmd *forgetCmd) Run(ctx context.Context, s *settings, e env, std streams) (err error) {
	c, err := s.load(e, nil)
	if err != nil {
		return err
	}
	a, err := newApp(ctx, c, "", sqlite.Options{}, logger(std.err, c, "error"), nil, nil)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, a.close(ctx)) }()
	gone, err := a.forgetPerson(ctx, footnote.Principal{Org: cmd.Org, User: cmd.User})
	fmt.Fprintf(std.out, "deleted of %s/%s: %s, drawings on %s, %s\n", cmd.Org, cmd.User,
		counted(gone.conversations, "conversation"), counted(gone.boards, "chart"), counted(gone.uploads, "upload"))
	return err
}

// forgotten is how much of somebody was deleted.
type forgotten struct{ conversations, boards, uploads int }

// forgetPerson deletes what a person has left. A run that goes on is stopped; should it, or
// a second device, add something meanwhile, that goes, too.
func (a *app) forgetPerson(ctx context.Context, p footnote.Principal) (gone forgotten, err error) {
	if err := a.usage.Settle(ctx); err != nil { // what it cost stays known
		return gone, err
	}
	for {
		n, err := a.forgetConversations(ctx, p)
		gone.conversations += n
		if err != nil {
			return gone, err
		}
		boards, err := a.boards.Forget(ctx, p)
		gone.boards += boards
		if err != nil {
			return gone, err
		}
		if n+boards == 0 {
			break
		}
	}
	gone.uploads, err = a.catalog.Forget(p)
	return gone, err
}

func (a *app) forgetConversations(ctx context.Context, p footnote.Principal) (n int, err error) {
	log := a.deleting()
	for before := ""; ; {
		heads, next, err := log.List(ctx, footnote.Page{Org: p.Org, User: p.User, Kind: store.Conversation, Before: before, Limit: 200})
		if err != nil {
			return n, err
		}
		for _, head := range heads {
			if head.RunState != "" {
				if err := a.engine.Stop(ctx, head.ID, "user"); err != nil {
					return n, err
				}
			}
			switch err := log.Delete(ctx, head.ID); footnote.CodeOf(err) {
			case "":
				n++
			case footnote.NotFound: // its user deletes it, too
			default:
				return n, fmt.Errorf("delete the conversation %s: %w", head.ID, err)
			}
		}
		if before = next; next == "" {
			return n, nil
		}
	}
}

// deleting is the log, in which a conversation that is deleted takes with it what belongs
// to it elsewhere.
func (a *app) deleting() store.Store { return withWorkspaces{forgetful{a.store, a}, a.workspaces} }
