package main

import (
	"context"
	"fmt"
	"text/tabwriter"
	"time"

	"github.com/footnotehq/footnote/config"
	"github.com/footnotehq/footnote/httpapi/consent"
	"github.com/footnotehq/footnote/store"
)

type consentsCmd struct {
	List   listConsentsCmd  `cmd:"" help:"List the consents."`
	Revoke revokeConsentCmd `cmd:"" help:"Revoke a consent on all servers, at once."`
}

type listConsentsCmd struct {
	Org  string `help:"Only consents of this organisation." placeholder:"ORG"`
	User string `help:"Only consents of this user." placeholder:"USER"`
}

// Run executes the command.
func (cmd *listConsentsCmd) Run(ctx context.Context, c config.Config, std streams) error {
	return withKeys(ctx, c, func(s store.Store) error {
		t := tabwriter.NewWriter(std.out, 0, 4, 2, ' ', 0)
		fmt.Fprintln(t, "ID\tORG\tUSER\tPROGRAM\tCREATED\tSTATE")
		for after, full := "", true; full; {
			page, err := s.ListConsents(ctx, cmd.Org, after, store.MaxKeys)
			if err != nil {
				return err
			}
			for _, k := range page {
				if after = k.ID; cmd.User != "" && k.User != cmd.User {
					continue
				}
				fmt.Fprintf(t, "%s\t%s\t%s\t%s\t%s\t%s\n", k.ID, visible(k.Org), visible(k.User),
					visible(consent.ClientOf(k)), k.Created.UTC().Format(time.DateOnly),
					stateOf(store.Key{Expires: k.Ends, Revoked: k.Revoked}, time.Now()))
			}
			full = len(page) == store.MaxKeys
		}
		return t.Flush()
	})
}

type revokeConsentCmd struct {
	ID string `arg:"" help:"The consent's id."`
}

// Run executes the command.
func (cmd *revokeConsentCmd) Run(ctx context.Context, c config.Config, std streams) error {
	err := withKeys(ctx, c, func(s store.Store) error { return s.RevokeConsent(ctx, cmd.ID) })
	if err == nil {
		fmt.Fprintf(std.out, "consent %s is revoked\n", visible(cmd.ID))
	}
	return err
}
