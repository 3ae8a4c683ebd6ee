package main

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"os"

	"github.com/footnotehq/footnote"
	"github.com/footnotehq/footnote/config"
	"github.com/footnotehq/footnote/internal/app"
	"github.com/footnotehq/footnote/internal/doctor"
	"github.com/footnotehq/footnote/store"
	"github.com/footnotehq/footnote/store/postgres"
	"github.com/footnotehq/footnote/store/sqlite"
	"github.com/footnotehq/footnote/store/transfer"
)

type exportCmd struct {
	File string `arg:"" optional:"" help:"File to write; default: standard output."`
	Org  string `help:"Only the conversations of this organisation." placeholder:"ORG"`
}

// Run executes the command.
func (cmd *exportCmd) Run(ctx context.Context, c config.Config, std streams) (err error) {
	log, err := app.OpenToRead(ctx, c, "")
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, log.Close()) }()
	out, finish, err := target(cmd.File, std.out)
	if err != nil {
		return err
	}
	n, err := transfer.Export(ctx, log.(store.Movable), out, cmd.Org, progress(std.err)) // stores on disk are Movable
	if err = errors.Join(err, finish(err == nil)); err != nil {
		return err
	}
	fmt.Fprintf(std.err, "exported %s\n", doctor.Counted(n.Streams, "stream"))
	if n.Unreadable > 0 {
		fmt.Fprintf(std.err, "%d events or results cannot be read. Damaged events are exported as they are stored, "+
			"damaged results are left out; footnote doctor --log names them\n", n.Unreadable)
	}
	if n.Missing > 0 {
		fmt.Fprintf(std.err,
			"%d events are missing. The export names them (\"gap\"), and so does footnote doctor --log\n",
			n.Missing)
	}
	if n.Running > 0 {
		fmt.Fprintf(std.err,
			"%d of them were still answering: stop the server first, or they continue in both places\n",
			n.Running)
	}
	return nil
}

// target opens the file of an export under a temporary name. finish renames it if the export succeeded.
func target(path string, stdout io.Writer) (out io.Writer, finish func(ok bool) error, err error) {
	if path == "" || path == "-" {
		return stdout, func(bool) error { return nil }, nil
	}
	part := path + ".part"
	f, err := os.OpenFile(part, os.O_CREATE|os.O_WRONLY|os.O_TRUNC, 0o600)
	if err != nil {
		return nil, nil, err
	}
	return f, func(ok bool) error {
		if !ok {
			return errors.Join(f.Close(), os.Remove(part))
		}
		return errors.Join(f.Sync(), f.Close(), os.Rename(part, path))
	}, nil
}

// progress prints the progress after every hundred streams.
func progress(w io.Writer) transfer.Progress {
	return func(streams int, bytes int64) {
		if streams > 0 && streams%100 == 0 {
			fmt.Fprintf(w, "%d streams, %d MB\n", streams, bytes>>20)
		}
	}
}

type importCmd struct {
	File      string `arg:"" optional:"" help:"File to read; default: standard input."`
	Format    string `enum:"export,messages" default:"export" help:"What the file holds: ${enum}."`
	Org       string `help:"Whose messages they are." placeholder:"ORG" default:"local"`
	User      string `help:"Whose messages they are." placeholder:"USER" default:"local"`
	Assistant string `help:"Assistant that continues the messages; default: the first one." placeholder:"NAME"`
}

// Run executes the command.
func (cmd *importCmd) Run(ctx context.Context, c config.Config, std streams) (err error) {
	in := std.in
	if cmd.File != "" && cmd.File != "-" {
		f, err := os.Open(cmd.File)
		if err != nil {
			return err
		}
		defer f.Close()
		in = f
	}
	in = bufio.NewReaderSize(in, 1<<20)
	if cmd.Format == "messages" {
		return cmd.messages(ctx, c, std, in)
	}
	log, err := app.OpenStore(ctx, c, "", sqlite.Options{}, nil)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, log.Close()) }()
	n, err := transfer.Import(ctx, log.(store.Movable), in, progress(std.err))
	fmt.Fprintf(std.err, "imported %s; %d already existed\n", doctor.Counted(n.Streams, "stream"), n.There)
	return err
}

// messages imports conversations from elsewhere, which continue with one of our assistants.
func (cmd *importCmd) messages(ctx context.Context, c config.Config, std streams, in io.Reader) (err error) {
	a, err := app.Open(ctx, c, options(c, std, "error"))
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, a.Close(ctx)) }()
	frame, err := a.Frame(ctx, cmd.Assistant, footnote.Principal{Org: cmd.Org, User: cmd.User})
	if err != nil {
		return err
	}
	if len(frame.Sources) == 0 {
		fmt.Fprintln(std.err,
			"there are no sources, so the conversations will have none. Name them as for footnote serve")
	}
	bad := 0
	n, err := transfer.Messages(ctx, a.Store().(store.Movable), in, frame, func(line int, why error) {
		bad++
		fmt.Fprintf(std.err, "line %d: %s\n", line, app.OneLine(why))
	})
	fmt.Fprintf(std.err, "imported %s; %d already existed; %s could not be read\n",
		doctor.Counted(n.Streams, "conversation"), n.There, doctor.Counted(bad, "line"))
	if err == nil && bad > 0 {
		return &exit{code: exitFailed}
	}
	return err
}

type forgetCmd struct {
	Org  string `required:"" help:"The organisation." placeholder:"ORG"`
	User string `required:"" help:"User whose data is deleted." placeholder:"USER"`
}

// Run executes the command.
func (cmd *forgetCmd) Run(ctx context.Context, c config.Config, std streams) (err error) {
	a, err := app.Open(ctx, c, options(c, std, "error"))
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

type migrateCmd struct {
	Compact bool `help:"Also rewrite the file in the data folder, so that it returns freed space."`
}

// Run executes the command.
func (cmd migrateCmd) Run(ctx context.Context, c config.Config, std streams) error {
	if c.Store == "" {
		log, err := app.OpenStore(ctx, c, "", sqlite.Options{Compact: cmd.Compact}, nil)
		if err != nil {
			return err
		}
		fmt.Fprintf(std.out, "%s is up to date\n", app.DataFile(c, ""))
		return log.Close()
	}
	from, to, err := postgres.Migrate(ctx, string(c.Store))
	if err != nil {
		return fmt.Errorf("store: %w", err)
	}
	if from == to {
		fmt.Fprintf(std.out, "the database is up to date (schema %d)\n", to)
		return nil
	}
	fmt.Fprintf(std.out, "upgraded the database from schema %d to %d\n", from, to)
	return nil
}
