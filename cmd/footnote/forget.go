package main

import (
	"context"
	"errors"
	"fmt"

	"github.com/footnotehq/footnote"
	"github.com/footnotehq/footnote/internal/app"
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
	a, err := app.Open(ctx, c, app.Options{
		Version: version, Modules: modules(), Logger: app.NewLogger(std.err, c, "error"),
	})
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, a.Close(ctx)) }()
	gone, err := a.Forget(ctx, footnote.Principal{Org: cmd.Org, User: cmd.User})
	fmt.Fprintf(std.out,
		"deleted of %s/%s: %s\nnot deleted: usage in numbers; keys, which you revoke with footnote keys "+
			"revoke; the audit; backups\n", cmd.Org, cmd.User, gone)
	return err
}
