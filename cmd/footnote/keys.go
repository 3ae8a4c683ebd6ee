package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"maps"
	"slices"
	"strconv"
	"strings"
	"text/tabwriter"
	"time"

	"github.com/footnotehq/footnote"
	"github.com/footnotehq/footnote/config"
	"github.com/footnotehq/footnote/internal/apikey"
	"github.com/footnotehq/footnote/internal/app"
	"github.com/footnotehq/footnote/store"
)

type keysCmd struct {
	Create createKeyCmd `cmd:"" help:"Create a key and print it, only this once."`
	List   listKeysCmd  `cmd:"" help:"List the keys."`
	Revoke revokeKeyCmd `cmd:"" help:"Revoke a key on all servers, within seconds."`
}

type createKeyCmd struct {
	Org     string            `required:"" help:"Organisation of the key." placeholder:"ORG"`
	User    string            `required:"" help:"User of the key." placeholder:"USER"`
	Role    []string          `help:"A role, such as admin; repeat for several." placeholder:"ROLE" sep:"none"`
	Attr    map[string]string `help:"An attribute, for rules; repeat for several." placeholder:"NAME=VALUE" mapsep:"none"`
	Expires string            `help:"When it expires: a date, or a time from now such as 90d." placeholder:"WHEN"`
}

// Run executes the command.
func (cmd *createKeyCmd) Run(ctx context.Context, c config.Config, std streams) error {
	expires, err := ending(cmd.Expires, time.Now())
	if err != nil {
		return &exit{exitUsage, err}
	}
	key, kept := apikey.New(footnote.Principal{
		Org: cmd.Org, User: cmd.User, Roles: cmd.Role, Attributes: cmd.Attr,
	}, expires)
	err = withKeys(ctx, c, func(keys store.Store) error { return keys.AddKey(ctx, kept) })
	if footnote.CodeOf(err) == footnote.InvalidRequest {
		return &exit{exitUsage, err}
	}
	if err != nil {
		return err
	}
	fmt.Fprintf(std.err, "key %s of %s/%s, which %s; it is not shown again:\n", kept.ID, kept.Org, kept.User,
		lasts(kept.Expires))
	_, err = fmt.Fprintln(std.out, key)
	return err
}

// ending parses when a key expires: a date, or a duration from now.
func ending(text string, now time.Time) (time.Time, error) {
	if text == "" {
		return time.Time{}, nil
	}
	at, err := time.ParseInLocation(time.DateOnly, text, time.UTC)
	if err != nil {
		at, err = time.Parse(time.RFC3339, text)
	}
	if days, ok := strings.CutSuffix(text, "d"); err != nil && ok {
		var n int
		if n, err = strconv.Atoi(days); err == nil {
			at = now.AddDate(0, 0, n)
		}
	}
	if err != nil {
		var d time.Duration
		if d, err = time.ParseDuration(text); err == nil {
			at = now.Add(d)
		}
	}
	if err != nil || !at.After(now) || at.Year() > 9999 {
		return time.Time{}, fmt.Errorf(
			"--expires is %q; it must be in the future: a date such as 2027-12-31, or 90d or 12h", text)
	}
	return at, nil
}

func lasts(expires time.Time) string {
	if expires.IsZero() {
		return "does not expire"
	}
	return "expires " + expires.UTC().Format(time.RFC3339)
}

type listKeysCmd struct {
	Org string `help:"Only keys of this organisation." placeholder:"ORG"`
}

// Run executes the command.
func (cmd *listKeysCmd) Run(ctx context.Context, c config.Config, std streams) error {
	return withKeys(ctx, c, func(keys store.Store) error { return cmd.print(ctx, keys, std.out) })
}

func (cmd *listKeysCmd) print(ctx context.Context, keys store.Keys, w io.Writer) error {
	t := tabwriter.NewWriter(w, 0, 4, 2, ' ', 0)
	fmt.Fprintln(t, "ID\tORG\tUSER\tROLES\tATTRIBUTES\tCREATED\tSTATE")
	for k, err := range app.AllKeys(ctx, keys, cmd.Org) {
		if err != nil {
			return err
		}
		var attributes []string
		for _, name := range slices.Sorted(maps.Keys(k.Attributes)) {
			attributes = append(attributes, name+"="+k.Attributes[name])
		}
		fmt.Fprintln(t, strings.Join([]string{
			k.ID, visible(k.Org), visible(k.User), visible(listed(k.Roles)), visible(listed(attributes)),
			k.Created.UTC().Format(time.DateOnly), stateOf(k, time.Now()),
		}, "\t"))
	}
	return t.Flush()
}

func listed(words []string) string {
	if len(words) == 0 {
		return "-"
	}
	return strings.Join(words, ",")
}

// stateOf describes whether a key is still accepted.
func stateOf(k store.Key, now time.Time) string {
	switch {
	case !k.Revoked.IsZero():
		return "revoked " + k.Revoked.UTC().Format(time.RFC3339)
	case !k.Expires.IsZero() && !k.Expires.After(now):
		return "expired " + k.Expires.UTC().Format(time.RFC3339)
	default:
		return lasts(k.Expires)
	}
}

type revokeKeyCmd struct {
	ID string `arg:"" help:"The key's id, or the key itself."`
}

// Run executes the command.
func (cmd *revokeKeyCmd) Run(ctx context.Context, c config.Config, std streams) error {
	id := apikey.IDOf(strings.TrimSpace(cmd.ID))
	err := withKeys(ctx, c, func(keys store.Store) error { return keys.RevokeKey(ctx, id) })
	if err == nil {
		fmt.Fprintf(std.out, "key %s is revoked\n", visible(id))
	}
	return err
}

// keysTime limits how long a command about keys may take.
const keysTime = time.Minute

// withKeys runs f on the keys of the configured store. Servers may use the store at the same time.
func withKeys(ctx context.Context, c config.Config, f func(store.Store) error) error {
	ctx, cancel := context.WithTimeout(ctx, keysTime)
	defer cancel()
	keys, err := app.OpenKeys(ctx, c)
	if err != nil {
		return err
	}
	return errors.Join(f(keys), keys.Close())
}
