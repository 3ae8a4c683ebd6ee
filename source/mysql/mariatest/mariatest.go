// Package mariatest gives tests their own MariaDB, from the programs that are installed on the machine: a new server
// in a temporary folder, which listens only on a Unix socket in that folder. It leaves nothing behind, even if the test
// binary is killed.
package mariatest

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"sync"
	"testing"

	"github.com/go-sql-driver/mysql"

	"github.com/footnotehq/footnote/internal/leash"
)

// account is the system user that the server runs as when the tests run as root.
const account = "mysql"

// Server is a MariaDB server.
type Server struct {
	dir     string // contains the data, the log and the socket
	process *leash.Process

	mu   sync.Mutex // guards below
	made int
}

var shared struct {
	once   sync.Once
	server *Server
	err    error
}

// Run runs the tests of a package and removes the server they shared. A package's TestMain needs nothing else.
func Run(m *testing.M) int {
	code := m.Run()
	Close()
	return code
}

// Close removes the server that the tests of a package shared, if there is one. Run does it, too.
func Close() {
	if shared.server != nil {
		shared.server.remove()
	}
}

// Database is an empty database of a test, with a user who may do everything and one who may read it.
type Database struct {
	Name   string
	Reader string // the user's name, without a password
	server *Server
}

// New gives a test an empty database, on the server shared by the tests of a binary, until the test ends.
func New(tb testing.TB) *Database {
	tb.Helper()
	shared.once.Do(func() { shared.server, shared.err = open() })
	if shared.err != nil {
		tb.Fatal(shared.err)
	}
	s := shared.server
	s.mu.Lock()
	s.made++
	d := &Database{Name: fmt.Sprintf("test%d", s.made), Reader: fmt.Sprintf("reader%d", s.made), server: s}
	s.mu.Unlock()
	admin := d.Admin(tb)
	for _, sql := range []string{
		"CREATE DATABASE " + d.Name, "CREATE USER " + d.Reader + "@localhost",
		"GRANT SELECT, SHOW VIEW ON " + d.Name + ".* TO " + d.Reader + "@localhost", "USE " + d.Name,
	} {
		if _, err := admin.ExecContext(tb.Context(), sql); err != nil {
			tb.Fatalf("%s: %v", sql, err)
		}
	}
	tb.Cleanup(func() { d.drop(tb) })
	return d
}

// drop removes the database and its user.
func (d *Database) drop(tb testing.TB) {
	db := sql.OpenDB(d.server.connector(""))
	defer db.Close()
	ctx, cancel := context.WithTimeout(context.Background(), leash.Patience)
	defer cancel()
	for _, sql := range []string{
		"SET lock_wait_timeout = 5", "DROP DATABASE " + d.Name, "DROP USER " + d.Reader + "@localhost",
	} {
		if _, err := db.ExecContext(ctx, sql); err != nil {
			tb.Logf("%s: %v", sql, err)
		}
	}
}

// Address returns the address of the database for a user without a password.
func (d *Database) Address(user string) string {
	return "mysql://" + user + "@/" + d.Name + "?socket=" + url.QueryEscape(d.server.socket())
}

// Admin returns a single connection of the user who may do everything, until the test ends. It reads "…" as a name.
func (d *Database) Admin(tb testing.TB) *sql.DB {
	tb.Helper()
	db := sql.OpenDB(d.server.connector(""))
	db.SetMaxOpenConns(1)
	tb.Cleanup(func() { db.Close() })
	return db
}

// Do runs statements in the database as the user who may do everything.
func (d *Database) Do(tb testing.TB, statements ...string) {
	tb.Helper()
	db := sql.OpenDB(d.server.connector(d.Name))
	defer db.Close()
	db.SetMaxOpenConns(1)
	for _, sql := range statements {
		if _, err := db.ExecContext(context.Background(), sql); err != nil {
			tb.Fatalf("%s: %v", sql, err)
		}
	}
}

// Freeze stops the server: it accepts connections and does not answer. Thaw undoes it and must be called before the
// test ends.
func (d *Database) Freeze(tb testing.TB) {
	tb.Helper()
	if err := d.server.process.Signal(leash.Stop); err != nil {
		tb.Fatal(err)
	}
}

// Thaw undoes Freeze.
func (d *Database) Thaw(tb testing.TB) {
	tb.Helper()
	if err := d.server.process.Signal(leash.Continue); err != nil {
		tb.Fatal(err)
	}
}

// Folder returns the folder of the server.
func (d *Database) Folder() string { return d.server.dir }

func (s *Server) socket() string { return filepath.Join(s.dir, "s") }

// connector returns how the user who may do everything connects.
func (s *Server) connector(database string) *connector {
	c := mysql.NewConfig()
	c.User, c.Net, c.Addr, c.DBName = "root", "unix", s.socket(), database
	c.Params = map[string]string{"sql_mode": "'ANSI_QUOTES'", "time_zone": "'+00:00'"}
	return &connector{c}
}

func open() (_ *Server, err error) {
	install, server := find("mariadb-install-db", "mysql_install_db"), find("mariadbd", "mysqld")
	if install == "" || server == "" {
		return nil, errors.New("these tests need the programs mariadbd and mariadb-install-db. Run scripts/setup.sh " +
			"test, or install your system's package mariadb-server")
	}
	dir, err := os.MkdirTemp("", "footnote-maria-")
	if err != nil {
		return nil, err
	}
	s := &Server{dir: dir}
	defer func() {
		if err != nil {
			s.remove()
		}
	}()
	if err := leash.GiveAway(dir, account); err != nil {
		return nil, err
	}
	data := filepath.Join(dir, "data")
	made := s.command(install, "--no-defaults", "--datadir="+data, "--skip-test-db", "--skip-name-resolve",
		"--auth-root-authentication-method=normal", "--innodb-log-file-size=8M", "--innodb-buffer-pool-size=16M")
	if out, err := made.CombinedOutput(); err != nil {
		return nil, fmt.Errorf("%s: %w\n%s", install, err, out)
	}
	s.process, err = leash.Start(s.command(server, "--no-defaults", "--datadir="+data, "--socket="+s.socket(),
		"--skip-networking", "--pid-file="+filepath.Join(dir, "pid"), "--innodb-buffer-pool-size=64M",
		"--innodb-log-file-size=8M", "--innodb-flush-log-at-trx-commit=0", "--innodb-flush-method=nosync",
		"--debug-no-sync", "--skip-name-resolve",
		"--character-set-server=utf8mb4"), "KILL") // a server that computes ignores other signals
	if err != nil {
		return nil, err
	}
	return s, s.process.Ready(func(ctx context.Context) error {
		db := sql.OpenDB(s.connector(""))
		defer db.Close()
		return db.PingContext(ctx)
	})
}

// find returns the path of the first program that is installed.
func find(names ...string) string {
	for _, name := range names {
		if path, err := exec.LookPath(name); err == nil {
			return path
		}
		for _, folder := range []string{"/usr/sbin", "/usr/local/sbin", "/opt/homebrew/bin"} {
			if path := filepath.Join(folder, name); isFile(path) {
				return path
			}
		}
	}
	return ""
}

func isFile(path string) bool {
	info, err := os.Stat(path)
	return err == nil && info.Mode().IsRegular()
}

// command returns a command that runs as a user that MariaDB accepts.
func (s *Server) command(name string, args ...string) *exec.Cmd {
	cmd := exec.Command(name, args...)
	cmd.Dir = s.dir
	cmd.Env = []string{"PATH=" + os.Getenv("PATH") + ":/usr/sbin", "LC_ALL=C", "TZ=UTC", "HOME=" + s.dir}
	leash.AsUser(cmd, account)
	return cmd
}

// remove stops the server and deletes its files.
func (s *Server) remove() {
	if s.process != nil {
		s.process.Close()
		_ = s.process.Wait()
	}
	_ = os.RemoveAll(s.dir)
}
