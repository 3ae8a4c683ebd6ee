// Package sqlite keeps the event log in one SQLite file.
//
// One goroutine writes, over one connection. It writes all waiting requests in one transaction, so that many
// conversations share one fsync (group commit). A write is acknowledged after the commit: the file is in WAL mode with
// synchronous=FULL, in which SQLite syncs the WAL before COMMIT returns.
//
// Reads use separate connections, which see the last commit and do not wait for the writer.
//
// A lock file ensures that only one process uses the data file. Leases of runs are therefore kept in memory: they end
// with the process, and the next one can take over its runs at once.
package sqlite

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"net/url"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"sync/atomic"
	"time"

	"github.com/footnotehq/footnote"
	"github.com/footnotehq/footnote/store"
	"github.com/footnotehq/footnote/store/internal/group"
	"github.com/footnotehq/footnote/store/internal/lease"
)

// Options configures a store. The zero value is the default.
type Options struct {
	// Now is the clock. Default time.Now.
	Now func() time.Time
	// Wait is how long Open waits while another process uses the file. Default 0.
	Wait time.Duration
	// Compact rewrites the file, so that it is as small as possible and returns free space to the file system from then
	// on.
	Compact bool
	// Waiting, if set, is called once if Open has to wait.
	Waiting func()
	// Empty, if set, is called if the file exists and is empty.
	Empty func()
	// Damaged, if set, is called once for each event that cannot be read.
	Damaged func(stream string, seq int64, reason string)
}

// Store implements store.Store on one file.
type Store struct {
	now    func() time.Time
	path   string
	inode  os.FileInfo // of the data file when it was opened
	lock   *os.File
	leases lease.Table
	recent recent
	damage store.Damage

	write  *sql.DB // one connection, the writer's
	read   *sql.DB
	reads  reads
	writer *writer

	readOnly bool // opened by OpenReader

	closed    atomic.Bool
	queue     *group.Queue[*request]
	stopped   chan struct{} // closed when the writer has ended
	committed atomic.Int64  // time of the last commit in ns; 0 if it failed
}

var _ store.Store = (*Store)(nil)

// Open opens the data file at path and migrates it to the newest version. It creates the file and its folder if they do
// not exist. The error has the code StorageUnavailable if another process uses the file, or if the file cannot be
// written, is damaged, or was written by a newer version. ctx applies only to opening.
func Open(ctx context.Context, path string, opts Options) (_ *Store, err error) {
	if opts.Now == nil {
		opts.Now = time.Now
	}
	if path, err = filepath.Abs(path); err != nil {
		return nil, err
	}
	s := &Store{now: opts.Now, path: path, queue: group.New[*request](maxBatch), stopped: make(chan struct{})}
	s.damage.Report = opts.Damaged
	defer func() {
		if err != nil {
			err = translate(ctx, "open "+path, err)
			_ = s.closeFiles()
		}
	}()
	if err := s.openFile(ctx, opts); err != nil {
		return nil, err
	}
	if s.write, err = sql.Open("sqlite", dsn(path, writePragmas)); err != nil {
		return nil, err
	}
	s.write.SetMaxOpenConns(1)
	if s.writer, err = newWriter(ctx, s, opts.Compact); err != nil {
		return nil, err
	}
	if s.read, err = sql.Open("sqlite", dsn(path, readPragmas)); err != nil {
		return nil, err
	}
	readers := max(4, runtime.GOMAXPROCS(0))
	s.read.SetMaxOpenConns(readers)
	s.read.SetMaxIdleConns(readers)
	if err := prepare(ctx, s.read, readQueries(&s.reads)); err != nil {
		return nil, err
	}
	go func() {
		defer close(s.stopped)
		s.writer.serve()
	}()
	return s, nil
}

// openFile creates the folder and the file, readable by this user only, and takes the lock. It must return before
// SQLite opens the file, because closing any other descriptor of the file would release SQLite's own locks.
func (s *Store) openFile(ctx context.Context, opts Options) error {
	dir := filepath.Dir(s.path)
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return err
	}
	var err error
	if s.lock, err = waitFile(ctx, s.path+".lock", opts); err != nil {
		return err
	}
	if info, err := os.Stat(s.path); err == nil && info.Size() == 0 && opts.Empty != nil {
		opts.Empty()
	}
	f, err := os.OpenFile(s.path, os.O_RDWR|os.O_CREATE, 0o600)
	if err != nil {
		return err
	}
	defer f.Close()
	if s.inode, err = f.Stat(); err != nil {
		return err
	}
	if s.inode.Mode().Perm()&0o077 != 0 {
		if err := f.Chmod(0o600); err != nil {
			return err
		}
	}
	return errors.Join(syncDir(dir), syncDir(filepath.Dir(dir)))
}

var (
	// secure_delete overwrites deleted rows. auto_vacuum has an effect only before the first write to a new file.
	writePragmas = []string{"busy_timeout(5000)", "auto_vacuum(2)", "journal_mode(WAL)", "synchronous(FULL)",
		"secure_delete(ON)",
		"journal_size_limit(67108864)", "cache_size(-32000)", "temp_store(MEMORY)"}
	readPragmas = []string{"busy_timeout(5000)", "query_only(ON)", "cache_size(-8000)", "temp_store(MEMORY)"}
)

func dsn(path string, pragmas []string) string {
	path = filepath.ToSlash(path)
	if !strings.HasPrefix(path, "/") {
		path = "/" + path // a drive letter
	}
	u := url.URL{Scheme: "file", Path: path, OmitHost: false}
	u.RawQuery = url.Values{"_pragma": pragmas, "_txlock": {"immediate"}, "_dqs": {"0"}, "_error_rc": {"1"}}.Encode()
	return u.String()
}

// checkDurable returns an error unless SQLite could switch to durable settings on this file system.
func checkDurable(ctx context.Context, conn *sql.Conn) error {
	var mode string
	var sync int
	if err := conn.QueryRowContext(ctx,
		`SELECT journal_mode, synchronous FROM pragma_journal_mode, pragma_synchronous`).Scan(&mode,
		&sync); err != nil {
		return err
	}
	if mode != "wal" || sync != 2 {
		return &footnote.Error{
			Code:    footnote.StorageUnavailable,
			Message: "The file system of the data folder cannot keep a write-ahead log. Use a local disk.",
			Err:     fmt.Errorf("journal_mode is %s and synchronous is %d", mode, sync),
		}
	}
	return nil
}

// Close closes the store after the accepted writes have ended. It may be called twice. Other methods fail from then on.
func (s *Store) Close() error {
	closed := s.closed.Swap(true)
	s.queue.Close()
	<-s.stopped
	if closed {
		return nil
	}
	return s.closeFiles()
}

// closeFiles closes the writer last, because that moves the WAL into the file.
func (s *Store) closeFiles() error {
	var errs []error
	if s.read != nil {
		errs = append(errs, s.read.Close())
	}
	if s.writer != nil {
		errs = append(errs, s.writer.close())
	}
	if s.write != nil {
		errs = append(errs, s.write.Close())
	}
	if s.lock != nil {
		errs = append(errs, s.lock.Close())
	}
	return errors.Join(errs...)
}
