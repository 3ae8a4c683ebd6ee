// Package pgtest gives tests their own Postgres, from the programs that are installed on the machine: a new
// cluster in a temporary folder, which listens only on a Unix socket in that folder. Tests may kill it. It
// leaves nothing behind, even if the test binary is killed.
package pgtest

import (
	"context"
	"errors"
	"fmt"
	"io"
	"math"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/footnotehq/footnote/internal/leash"
)

// role is the superuser of each cluster.
const role = "footnote"

// Server is a Postgres server. Database is safe for concurrent use.
type Server struct {
	dir      string // contains the cluster, in data, and the socket
	programs string
	settings []string
	process  *leash.Process // nil while it is not running

	mu   sync.Mutex // guards below
	made int
	free []string // empty, unused databases
}

var shared struct {
	once   sync.Once
	server *Server
	err    error
}

// Run runs the tests of a package and removes the server they shared. A package's TestMain needs nothing
// else.
func Run(m *testing.M) int {
	code := m.Run()
	if shared.server != nil {
		shared.server.Remove()
	}
	return code
}

// Database gives a test an empty database, on the server shared by the tests of a binary, until the test
// ends. It returns the database's URL.
func Database(tb testing.TB) string {
	tb.Helper()
	shared.once.Do(func() { shared.server, shared.err = Open() })
	must(tb, shared.err)
	return shared.server.Database(tb)
}

// Reader creates a database and returns the URL of a role that may read it.
func Reader(tb testing.TB, statements ...string) string {
	tb.Helper()
	owner := Database(tb)
	conn, err := pgx.Connect(tb.Context(), owner)
	must(tb, err)
	defer conn.Close(context.Background())
	for _, sql := range append(append([]string{
		`DO $$ BEGIN CREATE ROLE reader LOGIN NOSUPERUSER NOINHERIT; EXCEPTION WHEN duplicate_object THEN END $$`,
	}, statements...),
		`GRANT USAGE ON SCHEMA public TO reader`, `GRANT SELECT ON ALL TABLES IN SCHEMA public TO reader`) {
		if _, err := conn.Exec(tb.Context(), sql); err != nil {
			tb.Fatalf("%s: %v", sql, err)
		}
	}
	u, err := url.Parse(owner)
	must(tb, err)
	u.User = url.User("reader")
	return u.String()
}

// New starts a server for one test, which may do anything to it. The settings have the form name=value.
func New(tb testing.TB, settings ...string) *Server {
	tb.Helper()
	s, err := Open(settings...)
	must(tb, err)
	tb.Cleanup(s.Remove)
	return s
}

// Create creates an empty database and returns its URL.
func (s *Server) Create(ctx context.Context) (string, error) {
	name, err := s.acquire(ctx)
	return s.url(name), err
}

// Database gives a test an empty database until it ends, and returns its URL.
func (s *Server) Database(tb testing.TB) string {
	tb.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), leash.Patience)
	defer cancel()
	name, err := s.acquire(ctx)
	must(tb, err)
	tb.Cleanup(func() { s.release(name) })
	return s.url(name)
}

// acquire returns the name of a database that no test uses. Creating one takes about a second; emptying one is
// much faster.
func (s *Server) acquire(ctx context.Context) (string, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if n := len(s.free); n > 0 {
		name := s.free[n-1]
		s.free = s.free[:n-1]
		return name, nil
	}
	s.made++
	name := fmt.Sprintf("test%d", s.made)
	return name, s.exec(ctx, "postgres", "CREATE DATABASE "+name)
}

// empty restores a database to its initial state.
const empty = `DO $$
DECLARE name text;
BEGIN
	FOR name IN SELECT nspname FROM pg_namespace WHERE nspname !~ '^pg_' AND nspname <> 'information_schema' LOOP
		EXECUTE format('DROP SCHEMA %I CASCADE', name);
	END LOOP;
	CREATE SCHEMA public;
END $$`

// release empties the database of a test that has ended. It abandons one that cannot be emptied, for example
// because the test killed the server.
func (s *Server) release(name string) {
	ctx, cancel := context.WithTimeout(context.Background(), leash.Patience)
	defer cancel()
	if s.process == nil || s.exec(ctx, name, "SET lock_timeout = '2s'; "+empty) != nil {
		return
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.free = append(s.free, name)
}

func (s *Server) exec(ctx context.Context, database, sql string) error {
	conn, err := pgx.Connect(ctx, s.url(database))
	if err != nil {
		return err
	}
	_, err = conn.PgConn().Exec(ctx, sql).ReadAll()
	return errors.Join(err, conn.Close(ctx))
}

func (s *Server) url(database string) string {
	return "postgres://" + role + "@/" + database + "?host=" + url.QueryEscape(s.dir)
}

// Folder returns the folder of the server's socket.
func (s *Server) Folder() string { return s.dir }

// Open is New outside a test. The caller must remove the server.
func Open(settings ...string) (_ *Server, err error) {
	programs, err := find()
	if err != nil {
		return nil, err
	}
	dir, err := os.MkdirTemp("", "footnote-pg-")
	if err != nil {
		return nil, err
	}
	s := &Server{dir: dir, programs: programs, settings: settings}
	defer func() {
		if err != nil {
			s.Remove()
		}
	}()
	if err := leash.GiveAway(dir, "postgres"); err != nil {
		return nil, err
	}
	initdb := s.command(filepath.Join(programs, "initdb"), "--no-sync", "-A", "trust", "-U", role, "-E", "UTF8",
		"--locale=C", "-D", s.Data())
	if out, err := initdb.CombinedOutput(); err != nil {
		return nil, fmt.Errorf("initdb: %w\n%s", err, out)
	}
	return s, s.start()
}

// Data returns the folder of the cluster.
func (s *Server) Data() string { return filepath.Join(s.dir, "data") }

// find returns the program folder of the newest Postgres on the machine.
func find() (string, error) {
	folders, _ := filepath.Glob("/usr/lib/postgresql/*/bin")
	slices.SortFunc(folders, func(a, b string) int { return version(b) - version(a) })
	more, _ := filepath.Glob("/opt/homebrew/opt/postgresql*/bin")
	folders = append(append(folders, more...), "/usr/local/pgsql/bin")
	if path, err := exec.LookPath("initdb"); err == nil {
		folders = append(folders, filepath.Dir(path))
	}
	for _, folder := range folders {
		_, err1 := os.Stat(filepath.Join(folder, "initdb"))
		_, err2 := os.Stat(filepath.Join(folder, "postgres"))
		if err1 == nil && err2 == nil {
			return folder, nil
		}
	}
	return "", errors.New(
		"these tests need the programs initdb and postgres. Run scripts/setup.sh test, or install your system's " +
			"package postgresql")
}

func version(folder string) int {
	n, _ := strconv.Atoi(filepath.Base(filepath.Dir(folder)))
	return n
}

// command returns a command that runs as a user that Postgres accepts, without environment variables that
// could name another server.
func (s *Server) command(name string, args ...string) *exec.Cmd {
	cmd := exec.Command(name, args...)
	cmd.Dir = s.dir
	cmd.Env = []string{"PATH=" + os.Getenv("PATH"), "LC_ALL=C", "TZ=UTC"}
	leash.AsUser(cmd, "postgres")
	return cmd
}

// initSync is how a killed server syncs its files before it recovers: "fsync" opens each of them.
var initSync = map[bool]string{true: "syncfs", false: "fsync"}[runtime.GOOS == "linux"]

func (s *Server) start() error {
	args := []string{"-D", s.Data(), "-k", s.dir,
		"-c", "listen_addresses=", "-c", "port=5432", "-c", "shared_buffers=32MB", "-c", "max_connections=200",
		"-c", "fsync=on", "-c", "recovery_init_sync_method=" + initSync}
	for _, setting := range s.settings {
		args = append(args, "-c", setting)
	}
	process, err := leash.Start(s.command(filepath.Join(s.programs, "postgres"), args...), "QUIT")
	if err != nil {
		return err
	}
	s.process = process
	return process.Ready(func(ctx context.Context) error {
		conn, err := pgx.Connect(ctx, s.url("postgres"))
		if err != nil {
			return err
		}
		return conn.Close(ctx)
	})
}

// Log returns the server's log from an offset in bytes on.
func (s *Server) Log(from int64) []byte {
	f, err := os.Open(filepath.Join(s.dir, "log"))
	if err != nil {
		return nil // a missing log counts as empty
	}
	defer f.Close()
	out, _ := io.ReadAll(io.NewSectionReader(f, from, math.MaxInt64-from))
	return out
}

// Start restarts a server that was killed or stopped.
func (s *Server) Start(tb testing.TB) {
	tb.Helper()
	end := time.Now().Add(leash.Patience)
	err := s.start()
	for err != nil && strings.Contains(err.Error(), "pre-existing shared memory") && time.Now().Before(end) {
		time.Sleep(20 * time.Millisecond) // the system is still cleaning up the killed processes
		err = s.start()
	}
	must(tb, err)
}

// Program runs one of Postgres's programs to its end, as the test's own user, whose files it reads.
func (s *Server) Program(tb testing.TB, name string, args ...string) {
	tb.Helper()
	cmd := s.command(filepath.Join(s.programs, name), args...)
	cmd.SysProcAttr = nil
	if out, err := cmd.CombinedOutput(); err != nil {
		tb.Fatalf("%s: %v\n%s", name, err, out)
	}
}

// Stop stops the server as an operator would: all connections are notified and closed.
func (s *Server) Stop(tb testing.TB) { tb.Helper(); s.end(tb, s.process.Signal(leash.Interrupt)) }

// Kill ends all processes of the server with SIGKILL, at once.
func (s *Server) Kill(tb testing.TB) { tb.Helper(); s.end(tb, s.process.SignalTree(leash.Kill)) }

// Crash runs pg_ctl stop -m immediate: the server ends without notifying its clients, and recovers when it
// starts again.
func (s *Server) Crash(tb testing.TB) { tb.Helper(); s.end(tb, s.process.Signal(leash.Quit)) }

// Freeze stops all processes of the server: it accepts connections and does not answer. Thaw undoes it and
// must be called before the test ends.
func (s *Server) Freeze(tb testing.TB) { tb.Helper(); must(tb, s.process.SignalTree(leash.Stop)) }

// Thaw undoes Freeze.
func (s *Server) Thaw(tb testing.TB) { tb.Helper(); must(tb, s.process.SignalTree(leash.Continue)) }

// end waits for the end of the server after a signal, which could not be sent if err is set.
func (s *Server) end(tb testing.TB, err error) {
	tb.Helper()
	must(tb, err)
	must(tb, s.process.Wait())
	s.process = nil
}

func must(tb testing.TB, err error) {
	tb.Helper()
	if err != nil {
		tb.Fatal(err)
	}
}

// ReadOnly makes the server reject writes, or accept them again.
func (s *Server) ReadOnly(tb testing.TB, on bool) {
	tb.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), leash.Patience)
	defer cancel()
	want := map[bool]string{true: "on", false: "off"}[on]
	err := s.exec(ctx, "postgres", "ALTER SYSTEM SET default_transaction_read_only = "+want)
	if err == nil {
		err = s.exec(ctx, "postgres", "SELECT pg_reload_conf()")
	}
	for got := ""; err == nil && got != want; {
		var conn *pgx.Conn
		if conn, err = pgx.Connect(ctx, s.url("postgres")); err == nil {
			err = conn.QueryRow(ctx, "SHOW default_transaction_read_only").Scan(&got)
			err = errors.Join(err, conn.Close(ctx))
		}
	}
	must(tb, err)
}

// Standby starts a hot standby of the server for one test.
func (s *Server) Standby(tb testing.TB) *Server {
	tb.Helper()
	dir, err := os.MkdirTemp("", "footnote-pg-")
	must(tb, err)
	standby := &Server{dir: dir, programs: s.programs, settings: s.settings}
	tb.Cleanup(standby.Remove)
	must(tb, leash.GiveAway(dir, "postgres"))
	copied := s.command(filepath.Join(s.programs, "pg_basebackup"), "-h", s.dir, "-U", role, "-D", standby.Data(),
		"-R", "-c", "fast", "--no-sync")
	if out, err := copied.CombinedOutput(); err != nil {
		tb.Fatalf("pg_basebackup: %v\n%s", err, out)
	}
	must(tb, standby.start())
	return standby
}

// Remove stops the server and deletes its files.
func (s *Server) Remove() {
	if s.process != nil {
		s.process.Close()
		_ = s.process.Wait()
	}
	_ = os.RemoveAll(s.dir)
}
