// Package pgtest gives tests their own Postgres, from the programs that are installed on the machine: a new
// cluster in a temporary folder, which listens only on a Unix socket in that folder. Tests may kill it. It
// leaves nothing behind, even if the test binary is killed.
package pgtest

import (
	"bytes"
	"context"
	"errors"
	"fmt"
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

// patience is how long a server may take to start or stop.
const patience = 60 * time.Second

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
		shared.server.remove()
	}
	return code
}

// Database gives a test an empty database, on the server shared by the tests of a binary, until the test
// ends. It returns the database's URL.
func Database(tb testing.TB) string {
	tb.Helper()
	shared.once.Do(func() { shared.server, shared.err = start() })
	if shared.err != nil {
		tb.Fatal(shared.err)
	}
	return shared.server.Database(tb)
}

// Reader creates a database and returns the URL of a role that may read it.
func Reader(tb testing.TB, statements ...string) string {
	tb.Helper()
	owner := Database(tb)
	conn, err := pgx.Connect(tb.Context(), owner)
	if err != nil {
		tb.Fatal(err)
	}
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
	if err != nil {
		tb.Fatal(err)
	}
	u.User = url.User("reader")
	return u.String()
}

// New starts a server for one test, which may do anything to it. The settings have the form name=value.
func New(tb testing.TB, settings ...string) *Server {
	tb.Helper()
	s, err := start(settings...)
	if err != nil {
		tb.Fatal(err)
	}
	tb.Cleanup(s.remove)
	return s
}

// Open is New outside a test. The caller must remove the server.
func Open(settings ...string) (*Server, error) { return start(settings...) }

// Remove stops the server and deletes its files.
func (s *Server) Remove() { s.remove() }

// Create creates an empty database and returns its URL.
func (s *Server) Create(ctx context.Context) (string, error) {
	name, err := s.take(ctx)
	return s.url(name), err
}

// Database gives a test an empty database until it ends, and returns its URL.
func (s *Server) Database(tb testing.TB) string {
	tb.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), patience)
	defer cancel()
	name, err := s.take(ctx)
	if err != nil {
		tb.Fatal(err)
	}
	tb.Cleanup(func() { s.giveBack(name) })
	return s.url(name)
}

// take returns the name of a database that no test uses. Creating one takes about a second; emptying one is
// much faster.
func (s *Server) take(ctx context.Context) (string, error) {
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

// giveBack empties the database of a test that has ended. It abandons one that cannot be emptied, for example
// because the test killed the server.
func (s *Server) giveBack(name string) {
	ctx, cancel := context.WithTimeout(context.Background(), patience)
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

// Socket returns the path of the server's socket.
func (s *Server) Socket() string { return filepath.Join(s.dir, ".s.PGSQL.5432") }

func start(settings ...string) (_ *Server, err error) {
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
			s.remove()
		}
	}()
	if err := giveAway(dir); err != nil {
		return nil, err
	}
	initdb := s.command(filepath.Join(programs, "initdb"), "--no-sync", "-A", "trust", "-U", role, "-E", "UTF8",
		"--locale=C", "-D", s.data())
	if out, err := initdb.CombinedOutput(); err != nil {
		return nil, fmt.Errorf("initdb: %w\n%s", err, out)
	}
	return s, s.start()
}

func (s *Server) data() string { return filepath.Join(s.dir, "data") }

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
	asUser(cmd)
	return cmd
}

// initSync is how a killed server syncs its files before it recovers: "fsync" opens each of them.
var initSync = map[bool]string{true: "syncfs", false: "fsync"}[runtime.GOOS == "linux"]

func (s *Server) start() error {
	args := []string{"-D", s.data(), "-k", s.dir,
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
	return s.ready()
}

// ready waits until the server accepts connections.
func (s *Server) ready() error {
	ctx, cancel := context.WithTimeout(context.Background(), patience)
	defer cancel()
	for {
		conn, err := pgx.Connect(ctx, s.url("postgres"))
		if err == nil {
			return conn.Close(ctx)
		}
		select {
		case <-time.After(20 * time.Millisecond):
		case <-s.process.Ended:
			return fmt.Errorf("postgres ended at once\n%s", s.log())
		case <-ctx.Done():
			return fmt.Errorf("postgres does not answer: %w\n%s", err, s.log())
		}
	}
}

func (s *Server) log() []byte {
	out := s.Log()
	return out[max(0, len(out)-4000):]
}

// Log returns the server's log.
func (s *Server) Log() []byte {
	out, _ := os.ReadFile(filepath.Join(s.dir, "log")) // a missing log counts as empty
	return out
}

// Start restarts a server that was killed or stopped.
func (s *Server) Start(tb testing.TB) {
	tb.Helper()
	end := time.Now().Add(patience)
	err := s.start()
	for err != nil && strings.Contains(err.Error(), "pre-existing shared memory") && time.Now().Before(end) {
		time.Sleep(20 * time.Millisecond) // the system is still cleaning up the killed processes
		err = s.start()
	}
	if err != nil {
		tb.Fatal(err)
	}
}

// Program runs one of Postgres's programs to its end, and writes its output to a file if output is set.
func (s *Server) Program(tb testing.TB, output, name string, args ...string) {
	tb.Helper()
	cmd := s.command(filepath.Join(s.programs, name), args...)
	cmd.SysProcAttr = nil // as the test's own user, whose files it reads
	var errs strings.Builder
	cmd.Stderr = &errs
	if output != "" {
		f, err := os.Create(output)
		if err != nil {
			tb.Fatal(err)
		}
		defer f.Close()
		cmd.Stdout = f
	}
	if err := cmd.Run(); err != nil {
		tb.Fatalf("%s: %v\n%s", name, err, errs.String())
	}
}

// Stop stops the server as an operator would: all connections are notified and closed.
func (s *Server) Stop(tb testing.TB) {
	tb.Helper()
	pid, err := s.postmaster()
	if err != nil {
		tb.Fatal(err)
	}
	if err := interrupt(pid); err != nil {
		tb.Fatal(err)
	}
	s.wait(tb)
}

// Damage destroys a page of a table's file, as a broken disk would. With long, it is the file of the table's long
// values. The server is stopped for this and started again.
func (s *Server) Damage(tb testing.TB, database, table string, long bool, page int64) {
	tb.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), patience)
	defer cancel()
	column := "oid"
	if long {
		column = "reltoastrelid"
	}
	var file string
	conn, err := pgx.Connect(ctx, database)
	if err == nil {
		query := "SELECT pg_relation_filepath(" + column + ") FROM pg_class WHERE oid = $1::regclass"
		err = conn.QueryRow(ctx, query, table).Scan(&file)
		err = errors.Join(err, conn.Close(ctx))
	}
	if err != nil {
		tb.Fatal(err)
	}
	s.Stop(tb)
	f, err := os.OpenFile(filepath.Join(s.data(), file), os.O_WRONLY, 0)
	if err == nil {
		_, err = f.WriteAt(bytes.Repeat([]byte{0xff}, pageSize), page*pageSize)
		err = errors.Join(err, f.Close())
	}
	if err != nil {
		tb.Fatal(err)
	}
	s.Start(tb)
}

// pageSize is the size of a page in the files of a server.
const pageSize = 8192

// ReadOnly makes the server reject writes, or accept them again.
func (s *Server) ReadOnly(tb testing.TB, on bool) {
	tb.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), patience)
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
	if err != nil {
		tb.Fatal(err)
	}
}

// Standby starts a hot standby of the server for one test.
func (s *Server) Standby(tb testing.TB) *Server {
	tb.Helper()
	dir, err := os.MkdirTemp("", "footnote-pg-")
	if err != nil {
		tb.Fatal(err)
	}
	standby := &Server{dir: dir, programs: s.programs, settings: s.settings}
	tb.Cleanup(standby.remove)
	if err := giveAway(dir); err != nil {
		tb.Fatal(err)
	}
	copied := s.command(filepath.Join(s.programs, "pg_basebackup"), "-h", s.dir, "-U", role, "-D", standby.data(),
		"-R", "-c", "fast", "--no-sync")
	if out, err := copied.CombinedOutput(); err != nil {
		tb.Fatalf("pg_basebackup: %v\n%s", err, out)
	}
	if err := standby.start(); err != nil {
		tb.Fatal(err)
	}
	return standby
}

// Follow waits until a standby has replayed everything that its primary has written.
func (s *Server) Follow(tb testing.TB, primary *Server) {
	tb.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), patience)
	defer cancel()
	written, err := primary.value(ctx, "SELECT pg_current_wal_lsn()")
	for followed := ""; err == nil && followed != "t"; time.Sleep(10 * time.Millisecond) {
		followed, err = s.value(ctx, "SELECT pg_last_wal_replay_lsn() >= '"+written+"'")
	}
	if err != nil {
		tb.Fatalf("the standby does not follow: %v", err)
	}
}

// value returns the single value that a statement returns, as text.
func (s *Server) value(ctx context.Context, sql string) (string, error) {
	conn, err := pgx.Connect(ctx, s.url("postgres"))
	if err != nil {
		return "", err
	}
	results, err := conn.PgConn().Exec(ctx, sql).ReadAll()
	if err = errors.Join(err, conn.Close(ctx)); err != nil {
		return "", err
	}
	return string(results[0].Rows[0][0]), nil
}

// Promote makes a standby an independent server that accepts writes.
func (s *Server) Promote(tb testing.TB) {
	tb.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), patience)
	defer cancel()
	if err := s.exec(ctx, "postgres", "SELECT pg_promote()"); err != nil {
		tb.Fatal(err)
	}
}

// At returns the URL of a database on several servers; a client connects to the one that suits it.
func At(tb testing.TB, database string, servers ...*Server) string {
	tb.Helper()
	u, err := url.Parse(database)
	if err != nil {
		tb.Fatal(err)
	}
	var dirs []string
	for _, s := range servers {
		dirs = append(dirs, s.dir)
	}
	u.RawQuery = url.Values{"host": {strings.Join(dirs, ",")}}.Encode()
	return u.String()
}

// Kill ends all processes of the server with SIGKILL, at once.
func (s *Server) Kill(tb testing.TB) {
	tb.Helper()
	pid, err := s.postmaster()
	if err != nil {
		tb.Fatal(err)
	}
	if err := killTree(pid); err != nil {
		tb.Fatal(err)
	}
	s.wait(tb)
}

// Crash runs pg_ctl stop -m immediate: the server ends without notifying its clients, and recovers when it
// starts again.
func (s *Server) Crash(tb testing.TB) {
	tb.Helper()
	pid, err := s.postmaster()
	if err == nil {
		err = quit(pid)
	}
	if err != nil {
		tb.Fatal(err)
	}
	s.wait(tb)
}

// Freeze stops all processes of the server: it accepts connections and does not answer. Thaw undoes it and
// must be called before the test ends.
func (s *Server) Freeze(tb testing.TB) { tb.Helper(); s.pause(tb, true) }

// Thaw undoes Freeze.
func (s *Server) Thaw(tb testing.TB) { tb.Helper(); s.pause(tb, false) }

func (s *Server) pause(tb testing.TB, still bool) {
	tb.Helper()
	pid, err := s.postmaster()
	if err == nil {
		err = pauseTree(pid, still)
	}
	if err != nil {
		tb.Fatal(err)
	}
}

func (s *Server) wait(tb testing.TB) {
	tb.Helper()
	select {
	case <-s.process.Ended:
	case <-time.After(patience):
		tb.Fatalf("postgres does not end\n%s", s.log())
	}
	s.process.Close()
	s.process = nil
}

// postmaster returns the process id of the server's first process.
func (s *Server) postmaster() (int, error) {
	text, err := os.ReadFile(filepath.Join(s.data(), "postmaster.pid"))
	if err != nil {
		return 0, err
	}
	first, _, _ := strings.Cut(string(text), "\n")
	return strconv.Atoi(strings.TrimSpace(first))
}

func (s *Server) remove() {
	if s.process != nil {
		s.process.Close()
		select {
		case <-s.process.Ended:
		case <-time.After(patience):
		}
	}
	_ = os.RemoveAll(s.dir)
}
