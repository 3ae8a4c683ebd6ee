package app

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"log/slog"
	"os"
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

// openStore opens the conversations, and begins to open the sources, which are there once wait has returned nil. Most
// of a start waits for the sources, so they open beside the store, unless its file is new: only a file that exists can
// be compared with the addresses of the sources.
func (a *App) openStore(ctx context.Context, folder string, how sqlite.Options,
	progress func(source, table string, rows int64)) (wait func() error, err error) {
	file := DataFile(a.cfg, folder)
	_, missing := os.Stat(file)
	if missing == nil {
		if wait, err = a.beginSources(ctx, file, progress); err != nil {
			return nil, err
		}
	}
	if a.store, err = OpenStore(ctx, a.cfg, folder, how, a.log); err != nil {
		return nil, err
	}
	a.onClose(a.store.Close)
	if missing == nil {
		return wait, nil
	}
	return a.beginSources(ctx, file, progress)
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
func checkStore(ctx context.Context, c config.Config, r *doctor.Report) {
	if c.Store == "" {
		checkFile(ctx, DataFile(c, ""), r)
		return
	}
	if r.Skips(ctx, "store", string(c.Store), "") {
		return
	}
	state, err := postgres.Inspect(ctx, string(c.Store))
	if err != nil {
		r.Fail("store", OneLine(err))
		return
	}
	r.OK("store", state.Server)
	if state.Have < state.Want {
		r.Warn("store", fmt.Sprintf("schema %d of %d: footnote migrate or the next server start upgrades it",
			state.Have, state.Want))
	} else {
		r.OK("store", fmt.Sprintf("schema %d", state.Have))
	}
	for _, words := range state.Warnings {
		r.Warn("store", words)
	}
}

// checkFile reports whether a data file can be opened, and whether it returns disk space after deletions. A new file
// will.
func checkFile(ctx context.Context, path string, r *doctor.Report) {
	state, err := sqlite.Inspect(ctx, path)
	switch {
	case footnote.CodeOf(err) == footnote.NotFound:
		r.OK("store", "in "+path+", which does not exist yet")
	case err != nil:
		r.Fail("store", "in "+path+": "+OneLine(err))
	case state.Have < state.Want:
		r.Warn("store", fmt.Sprintf("in %s, schema %d of %d: footnote migrate or the next server start upgrades it",
			path, state.Have, state.Want))
	case !state.Compacts:
		r.Warn("store", "in "+path+
			", which keeps the space of what was deleted: stop the server and run footnote migrate --compact")
	default:
		r.OK("store", "in "+path)
	}
}

// checkLog reads all conversations. It is safe while a server runs.
func checkLog(ctx context.Context, c config.Config, r *doctor.Report) {
	before := len(r.Checks)
	for _, folder := range []string{"", TerminalFolder} {
		what := "log"
		if folder != "" {
			what = "log of ask"
		}
		inFile := c.Store == "" || folder != ""
		if !inFile && r.Skips(ctx, what, string(c.Store), "") {
			continue
		}
		log, err := OpenToRead(ctx, c, folder)
		switch {
		case err != nil && inFile && footnote.CodeOf(err) == footnote.NotFound: // terminal never used
		case err != nil:
			r.Fail(what, OneLine(err))
		default:
			readLog(ctx, c, what, log, r)
		}
	}
	if len(r.Checks) == before {
		r.OK("log", "no conversations yet")
	}
}

// readLog checks one store and closes it.
func readLog(ctx context.Context, c config.Config, what string, log store.Store, r *doctor.Report) {
	defer log.Close()
	report, err := inspect.Read(ctx, log, multipliers(c), c.Results.Keep)
	for _, p := range report.Problems {
		r.Fail(what, p.String())
	}
	if report.More > 0 {
		r.Fail(what, doctor.Counted(report.More, "more problem"))
	}
	if err != nil {
		r.Fail(what, OneLine(err))
		return
	}
	r.OK(what, fmt.Sprintf("%s in %s, %s (%d unfinished), %s, %.2f USD", doctor.Counted(report.Events, "event"),
		doctor.Counted(report.Streams, "stream"), doctor.Counted(report.Runs, "run"), report.Unfinished,
		doctor.Counted(report.Calls, "call"), report.Cost.USD()))
	r.OK(what, doctor.Counted(report.Balances, "balance")+" compared with the usage in the log")
}
