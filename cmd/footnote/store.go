package main

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"log/slog"
	"path/filepath"
	"syscall"
	"time"

	"github.com/footnotehq/footnote"
	"github.com/footnotehq/footnote/agent"
	"github.com/footnotehq/footnote/config"
	"github.com/footnotehq/footnote/hub"
	"github.com/footnotehq/footnote/hub/relay"
	"github.com/footnotehq/footnote/hub/relay/redis"
	"github.com/footnotehq/footnote/store"
	"github.com/footnotehq/footnote/store/inspect"
	"github.com/footnotehq/footnote/store/postgres"
	"github.com/footnotehq/footnote/store/sqlite"
)

// dataFile returns the path of the conversations in a folder of the data folder.
func dataFile(c config.Config, folder string) string {
	return filepath.Join(c.Data, folder, "footnote.db")
}

// openStore opens the conversations: in the configured database, or in a file. The terminal passes a folder, and its
// conversations are always in a file: nobody else uses them, and their sources are on this machine.
func openStore(ctx context.Context, c config.Config, folder string, how sqlite.Options,
	log *slog.Logger) (store.Store, error) {
	if c.Store != "" && folder == "" {
		s, err := postgres.Open(ctx, string(c.Store), postgres.Options{Logger: log, Damaged: how.Damaged})
		if err != nil {
			return nil, fmt.Errorf("store: %w", err)
		}
		return s, nil
	}
	s, err := sqlite.Open(ctx, dataFile(c, folder), how)
	if errors.Is(err, fs.ErrPermission) || errors.Is(err, syscall.EROFS) {
		return nil, folderError(c.Data, err)
	}
	if err != nil {
		return nil, fmt.Errorf("data folder %s: %w", c.Data, err)
	}
	return s, nil
}

// shared returns the part of a store that several servers use together, or nil if only one can use it.
func shared(s store.Store) agent.Shared {
	if p, ok := s.(*postgres.Store); ok {
		return p
	}
	return nil
}

// clock returns the clock that all servers of a store share; nil means the machine's own.
func clock(s store.Store) func() time.Time {
	if p, ok := s.(*postgres.Store); ok {
		return p.Now
	}
	return nil
}

// openRelay connects local readers with runs on other servers, if other servers can exist.
func (a *app) openRelay() error {
	if shared(a.store) == nil {
		return nil
	}
	opts := relay.Options{
		Log: a.store, Hub: a.hub, Logger: a.log,
		Drives: func(conversation string) bool { return a.engine.Drives(conversation) },
	}
	if a.cfg.Redis != "" {
		pipe, err := redis.Open(string(a.cfg.Redis))
		if err != nil {
			return fmt.Errorf("redis: %w", err)
		}
		a.onClose(pipe.Close)
		opts.Pipe = pipe
	}
	a.relay = relay.New(opts)
	a.onClose(func() error { a.relay.Close(); return nil })
	return nil
}

// watch returns the function that follows runs of other servers, or nil if there can be none.
func (a *app) watch() func(conversation string, last int64) (leave func()) {
	if a.relay == nil {
		return nil
	}
	return a.relay.Watch
}

// publish returns the function that sends local progress to other servers, or nil if none can receive it.
func (a *app) publish() func(ctx context.Context, run string, attempt int, rd *hub.Reader) {
	if a.relay == nil || a.cfg.Redis == "" {
		return nil
	}
	return a.relay.Send
}

// openToRead opens the conversations for reading. Another process may be writing them.
func openToRead(ctx context.Context, c config.Config, folder string) (store.Store, error) {
	if c.Store != "" && folder == "" {
		return postgres.OpenReader(ctx, string(c.Store))
	}
	return sqlite.OpenReader(ctx, dataFile(c, folder))
}

type migrateCmd struct {
	Compact bool `help:"Also rewrite the file in the data folder, so that it shrinks now and returns freed space from then on."`
}

// Help is shown by footnote migrate --help.
func (migrateCmd) Help() string {
	return `footnote serve does the same when it starts. In Postgres many processes may try at once;
one that is killed leaves the conversations as they were before its last step.
With --compact the disk needs as much free space as the file has.

  footnote migrate --compact
  footnote migrate --store postgres://footnote@db.example/footnote`
}

// Run executes the command.
func (cmd migrateCmd) Run(ctx context.Context, s *settings, e env, std streams) error {
	c, err := s.load(e, nil)
	if err != nil {
		return err
	}
	if c.Store == "" {
		log, err := openStore(ctx, c, "", sqlite.Options{Compact: cmd.Compact}, nil)
		if err != nil {
			return err
		}
		fmt.Fprintf(std.out, "%s is up to date\n", dataFile(c, ""))
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

// checkStore inspects the database for conversations without changing it.
func checkStore(ctx context.Context, c config.Config, online bool) []check {
	if c.Store == "" {
		return []check{checkFile(ctx, dataFile(c, ""))}
	}
	if skip, ok := unchecked(ctx, "store", string(c.Store), online); ok {
		return []check{skip}
	}
	ctx, cancel := context.WithTimeout(ctx, 15*time.Second)
	defer cancel()
	state, err := postgres.Inspect(ctx, string(c.Store))
	if err != nil {
		return []check{{"store", stateFail, oneLine(err)}}
	}
	checks := []check{{"store", stateOK, state.Server}}
	switch {
	case state.Have < state.Want:
		checks = append(checks, check{
			"store", stateWarn, fmt.Sprintf(
				"schema %d of %d: footnote migrate or the next server start upgrades it", state.Have,
				state.Want),
		})
	default:
		checks = append(checks, check{"store", stateOK, fmt.Sprintf("schema %d", state.Have)})
	}
	for _, words := range state.Warnings {
		checks = append(checks, check{"store", stateWarn, words})
	}
	return checks
}

// checkFile reports whether a data file can be opened, and whether it returns disk space after deletions. A new file
// will.
func checkFile(ctx context.Context, path string) check {
	ctx, cancel := context.WithTimeout(ctx, 15*time.Second)
	defer cancel()
	state, err := sqlite.Inspect(ctx, path)
	switch {
	case footnote.CodeOf(err) == footnote.NotFound:
		return check{"store", stateOK, "in " + path + ", which does not exist yet"}
	case err != nil:
		return check{"store", stateFail, "in " + path + ": " + oneLine(err)}
	case state.Have < state.Want:
		return check{
			"store", stateWarn, fmt.Sprintf(
				"in %s, schema %d of %d: footnote migrate or the next server start upgrades it", path,
				state.Have, state.Want),
		}
	case !state.Compacts:
		return check{
			"store", stateWarn, "in " + path +
				", which keeps the space of what was deleted: stop the server and run footnote migrate --compact",
		}
	}
	return check{"store", stateOK, "in " + path}
}

// checkLog reads all conversations. It is safe while a server runs.
func checkLog(ctx context.Context, c config.Config, online bool) []check {
	var checks []check
	for _, where := range [][2]string{{"log", ""}, {"log of ask", askFolder}} {
		what, folder := where[0], where[1]
		if skip, ok := unchecked(ctx, what, string(c.Store), online); ok && folder == "" {
			checks = append(checks, skip)
			continue
		}
		log, err := openToRead(ctx, c, folder)
		inFile := c.Store == "" || folder != ""
		switch {
		case err != nil && inFile && footnote.CodeOf(err) == footnote.NotFound: // terminal never used
		case err != nil:
			checks = append(checks, check{what, stateFail, oneLine(err)})
		default:
			checks = append(checks, readLog(ctx, c, what, log)...)
		}
	}
	if len(checks) == 0 {
		return []check{{"log", stateOK, "no conversations yet"}}
	}
	return checks
}

// readLog checks one store and closes it.
func readLog(ctx context.Context, c config.Config, what string, log store.Store) []check {
	defer log.Close()
	report, err := inspect.Read(ctx, log, multipliers(c))
	var checks []check
	for _, p := range report.Problems {
		checks = append(checks, check{what, stateFail, p.String()})
	}
	if report.More > 0 {
		checks = append(checks, check{what, stateFail, counted(report.More, "more problem")})
	}
	if err != nil {
		return append(checks, check{what, stateFail, oneLine(err)})
	}
	return append(checks, check{what, stateOK, fmt.Sprintf("%s in %s, %s of which %d go on, %s, %.2f USD",
		counted(report.Events, "event"), counted(report.Streams, "stream"), counted(report.Runs, "run"),
		report.Unfinished, counted(report.Calls, "call"), report.Cost.USD())},
		check{what, stateOK, counted(report.Balances, "balance") + " compared with what it says was used"})
}
