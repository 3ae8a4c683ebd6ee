package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"text/tabwriter"

	"github.com/footnotehq/footnote/internal/app"
	"github.com/footnotehq/footnote/internal/doctor"
)

type doctorCmd struct {
	Online bool `help:"Also ask the model's server, the issuer of tokens, and databases on other machines."`
	Log    bool `help:"Also read all conversations and check that nothing in them is missing, duplicated or damaged."`
}

// Help is shown by footnote doctor --help.
func (doctorCmd) Help() string {
	return `Exit code 1 if a check fails, 2 if a setting is wrong.
It opens databases on this machine: files, and servers at a Unix socket, a loopback address or
localhost. Only with --online does it contact databases on other machines, the model's server
and the issuer of tokens. Without it, no other host name is looked up.

  footnote doctor --source shop.db
  footnote doctor --online
  footnote doctor --log`
}

// Run executes the command.
func (cmd doctorCmd) Run(ctx context.Context, s *settings, e env, std streams) error {
	c, err := s.load(e, nil)
	if err != nil {
		printChecks(std.out, []doctor.Check{doctor.Fail("configuration", err.Error())})
		return &exit{exitUsage, errors.New("the configuration is wrong")}
	}
	checks := app.Doctor(ctx, c, app.DoctorOptions{
		Online: cmd.Online, Log: cmd.Log, Modules: modules(),
		Logger: app.NewLogger(std.err, c, "error"), Progress: loading(std.err),
	})
	printChecks(std.out, checks)
	for _, k := range checks {
		if k.Failed() {
			return &exit{exitFailed, errors.New("some checks failed; see the table")}
		}
	}
	return nil
}

func printChecks(w io.Writer, checks []doctor.Check) {
	t := tabwriter.NewWriter(w, 0, 4, 2, ' ', 0)
	fmt.Fprintln(t, "CHECK\tSTATE\tDETAIL")
	for _, k := range checks {
		fmt.Fprintf(t, "%s\t%s\t%s\n", k.What, k.State, visible(k.Detail))
	}
	_ = t.Flush() // standard output is broken, so the error has nowhere to go
}
