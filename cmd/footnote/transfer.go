package main

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"os"

	"github.com/footnotehq/footnote"
	"github.com/footnotehq/footnote/internal/app"
	"github.com/footnotehq/footnote/internal/doctor"
	"github.com/footnotehq/footnote/store"
	"github.com/footnotehq/footnote/store/sqlite"
	"github.com/footnotehq/footnote/store/transfer"
)

type exportCmd struct {
	File string `arg:"" optional:"" help:"File to write; default: standard output."`
	Org  string `help:"Only the conversations of this organisation." placeholder:"ORG"`
}

// Help is shown by footnote export --help.
func (exportCmd) Help() string {
	return `Writes all conversations with their events, results, titles and feedback as lines of JSON, which
footnote import reads: from the data folder, or from the database of --store. A server may run meanwhile.

  footnote export backup.jsonl
  footnote export --store postgres://footnote@db.example/footnote > all.jsonl`
}

// Run executes the command.
func (cmd *exportCmd) Run(ctx context.Context, s *settings, e env, std streams) (err error) {
	c, err := s.load(e, nil)
	if err != nil {
		return err
	}
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

// countWere returns a count with the verb, such as "1 was".
func countWere(n int) string {
	if n == 1 {
		return "1 was"
	}
	return fmt.Sprintf("%d were", n)
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

// Help is shown by footnote import --help.
func (importCmd) Help() string {
	return `Into the data folder, whose server must not run, or into the database of --store. Each conversation is there
whole or not at all, and one that is there already is left as it is: an import that broke off is done again.

  footnote import backup.jsonl --store postgres://footnote@db.example/footnote
  footnote import --format messages --org acme --user ann chats.jsonl

With --format messages, each line of the file is a conversation of the Messages API:
{"id":"…","title":"…","messages":[{"role":"user","content":"…"},…]}; id and title are optional. Bad lines are
reported with their numbers, and the exit code is 1.`
}

// Run executes the command.
func (cmd *importCmd) Run(ctx context.Context, s *settings, e env, std streams) (err error) {
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
		return cmd.messages(ctx, s, e, std, in)
	}
	c, err := s.load(e, nil)
	if err != nil {
		return err
	}
	log, err := app.OpenStore(ctx, c, "", sqlite.Options{}, nil)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, log.Close()) }()
	n, err := transfer.Import(ctx, log.(store.Movable), in, progress(std.err))
	fmt.Fprintf(std.err, "imported %s; %s there already\n", doctor.Counted(n.Streams, "stream"), countWere(n.There))
	return err
}

// messages imports conversations from elsewhere, which continue with one of our assistants.
func (cmd *importCmd) messages(ctx context.Context, s *settings, e env, std streams, in io.Reader) (err error) {
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
	fmt.Fprintf(std.err, "imported %s; %s there already; %s could not be read\n",
		doctor.Counted(n.Streams, "conversation"), countWere(n.There), doctor.Counted(bad, "line"))
	if err == nil && bad > 0 {
		return &exit{code: exitFailed}
	}
	return err
}
