package pgtest

import (
	"os"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"
)

func TestMain(m *testing.M) { os.Exit(Run(m)) }

// TestServer kills and restarts a server and checks that committed data is still there.
func TestServer(t *testing.T) {
	s := New(t)
	url := s.Database(t)
	do := func(sql string) {
		t.Helper()
		conn, err := pgx.Connect(t.Context(), url)
		if err != nil {
			t.Fatal(err)
		}
		defer conn.Close(t.Context())
		if _, err := conn.Exec(t.Context(), sql); err != nil {
			t.Fatal(err)
		}
	}
	do("CREATE TABLE kept (n int)")
	s.Kill(t)
	if _, err := pgx.Connect(t.Context(), url); err == nil {
		t.Fatal("a killed server answers")
	}
	s.Start(t)
	do("INSERT INTO kept VALUES (1)")
	s.Stop(t)
	s.Start(t)
	do("DROP TABLE kept")
	dir := s.dir
	s.Remove()
	if _, err := os.Stat(dir); !os.IsNotExist(err) {
		t.Fatalf("%s is left: %v", dir, err)
	}
}

// TestShared creates two databases on one server.
func TestShared(t *testing.T) {
	start := time.Now()
	a, b := Database(t), Database(t)
	if a == b {
		t.Fatal("one database for two tests")
	}
	t.Logf("two databases after %v", time.Since(start))
}
