package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"text/tabwriter"

	"github.com/footnotehq/footnote/config"
	"github.com/footnotehq/footnote/internal/app"
	"github.com/footnotehq/footnote/internal/doctor"
)

type doctorCmd struct {
	Online bool `help:"Also ask the model's server, the issuer of tokens, and databases on other machines."`
	Log    bool `help:"Also read all conversations and check that nothing in them is missing, duplicated or damaged."`
}

// Run executes the command.
func (cmd doctorCmd) Run(ctx context.Context, load func() (config.Config, error), std streams) error {
	c, err := load()
	if err != nil {
		var r doctor.Report
		r.Fail("configuration", err.Error())
		printChecks(std.out, r.Checks)
		return &exit{exitUsage, errors.New("the configuration is wrong")}
	}
	o := options(c, std, "error")
	o.Progress = loading(std.err)
	r := app.Doctor(ctx, c, app.DoctorOptions{Options: o, Online: cmd.Online, Log: cmd.Log})
	printChecks(std.out, r.Checks)
	if r.Failed() {
		return &exit{exitFailed, errors.New("some checks failed; see the table")}
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
