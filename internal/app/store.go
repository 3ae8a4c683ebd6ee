package app

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
	"github.com/footnotehq/footnote/internal/doctor"
	"github.com/footnotehq/footnote/store"
	"github.com/footnotehq/footnote/store/inspect"
	"github.com/footnotehq/footnote/store/postgres"
	"github.com/footnotehq/footnote/store/sqlite"
)

// TerminalFolder is the folder, within the data folder, for the terminal's conversations: a server may be using the
// others.
const TerminalFolder = "terminal"

// DataFile returns the path of the conversations in a folder of the data folder.
func DataFile(c config.Config, folder string) string {
	return filepath.Join(c.Data, folder, "footnote.db")
}

// OpenStore opens the conversations: in the configured database, or in a file. The terminal passes a folder, and its
// conversations are always in a file: no other program uses them, and their sources are on this machine.
func OpenStore(ctx context.Context, c config.Config, folder string, how sqlite.Options,
	log *slog.Logger) (store.Store, error) {
	if c.Store != "" && folder == "" {
		s, err := postgres.Open(ctx, string(c.Store), postgres.Options{Logger: log, Damaged: how.Damaged})
		if err != nil {
			return nil, fmt.Errorf("store: %w", err)
		}
		return s, nil
	}
	s, err := sqlite.Open(ctx, DataFile(c, folder), how)
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
func (a *App) openRelay() error {
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
func (a *App) watch() func(conversation string, last int64) (leave func()) {
	if a.relay == nil {
		return nil
	}
	return a.relay.Watch
}

// publish returns the function that sends local progress to other servers, or nil if none can receive it.
func (a *App) publish() func(ctx context.Context, run string, attempt int, rd *hub.Reader) {
	if a.relay == nil || a.cfg.Redis == "" {
		return nil
	}
	return a.relay.Send
}

// OpenToRead opens the conversations for reading. Another process may be writing them.
func OpenToRead(ctx context.Context, c config.Config, folder string) (store.Store, error) {
	if c.Store != "" && folder == "" {
		return postgres.OpenReader(ctx, string(c.Store))
	}
	return sqlite.OpenReader(ctx, DataFile(c, folder))
}

// checkStore inspects the database for conversations without changing it.
func checkStore(ctx context.Context, c config.Config, scope doctor.Scope) []doctor.Check {
	if c.Store == "" {
		return []doctor.Check{checkFile(ctx, DataFile(c, ""))}
	}
	if skip, ok := scope.Unchecked(ctx, "store", string(c.Store)); ok {
		return []doctor.Check{skip}
	}
	ctx, cancel := context.WithTimeout(ctx, 15*time.Second)
	defer cancel()
	state, err := postgres.Inspect(ctx, string(c.Store))
	if err != nil {
		return []doctor.Check{doctor.Fail("store", OneLine(err))}
	}
	checks := []doctor.Check{doctor.OK("store", state.Server)}
	switch {
	case state.Have < state.Want:
		checks = append(checks, doctor.Warn("store", fmt.Sprintf(
			"schema %d of %d: footnote migrate or the next server start upgrades it", state.Have,
			state.Want)))
	default:
		checks = append(checks, doctor.OK("store", fmt.Sprintf("schema %d", state.Have)))
	}
	for _, words := range state.Warnings {
		checks = append(checks, doctor.Warn("store", words))
	}
	return checks
}

// checkFile reports whether a data file can be opened, and whether it returns disk space after deletions. A new file
// will.
func checkFile(ctx context.Context, path string) doctor.Check {
	ctx, cancel := context.WithTimeout(ctx, 15*time.Second)
	defer cancel()
	state, err := sqlite.Inspect(ctx, path)
	switch {
	case footnote.CodeOf(err) == footnote.NotFound:
		return doctor.OK("store", "in "+path+", which does not exist yet")
	case err != nil:
		return doctor.Fail("store", "in "+path+": "+OneLine(err))
	case state.Have < state.Want:
		return doctor.Warn("store", fmt.Sprintf(
			"in %s, schema %d of %d: footnote migrate or the next server start upgrades it", path,
			state.Have, state.Want))
	case !state.Compacts:
		return doctor.Warn("store", "in "+path+
			", which keeps the space of what was deleted: stop the server and run footnote migrate --compact")
	}
	return doctor.OK("store", "in "+path)
}

// checkLog reads all conversations. It is safe while a server runs.
func checkLog(ctx context.Context, c config.Config, scope doctor.Scope) []doctor.Check {
	var checks []doctor.Check
	for _, where := range [][2]string{{"log", ""}, {"log of ask", TerminalFolder}} {
		what, folder := where[0], where[1]
		if skip, ok := scope.Unchecked(ctx, what, string(c.Store)); ok && folder == "" {
			checks = append(checks, skip)
			continue
		}
		log, err := OpenToRead(ctx, c, folder)
		inFile := c.Store == "" || folder != ""
		switch {
		case err != nil && inFile && footnote.CodeOf(err) == footnote.NotFound: // terminal never used
		case err != nil:
			checks = append(checks, doctor.Fail(what, OneLine(err)))
		default:
			checks = append(checks, readLog(ctx, c, what, log)...)
		}
	}
	if len(checks) == 0 {
		return []doctor.Check{doctor.OK("log", "no conversations yet")}
	}
	return checks
}

// readLog checks one store and closes it.
func readLog(ctx context.Context, c config.Config, what string, log store.Store) []doctor.Check {
	defer log.Close()
	report, err := inspect.Read(ctx, log, multipliers(c))
	var checks []doctor.Check
	for _, p := range report.Problems {
		checks = append(checks, doctor.Fail(what, p.String()))
	}
	if report.More > 0 {
		checks = append(checks, doctor.Fail(what, doctor.Counted(report.More, "more problem")))
	}
	if err != nil {
		return append(checks, doctor.Fail(what, OneLine(err)))
	}
	return append(checks, doctor.OK(what, fmt.Sprintf("%s in %s, %s (%d unfinished), %s, %.2f USD",
		doctor.Counted(report.Events, "event"), doctor.Counted(report.Streams, "stream"),
		doctor.Counted(report.Runs, "run"),
		report.Unfinished, doctor.Counted(report.Calls, "call"), report.Cost.USD())),
		doctor.OK(what, doctor.Counted(report.Balances, "balance")+" compared with what it says was used"))
}
