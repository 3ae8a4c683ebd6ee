package postgres

import (
	"bytes"
	"errors"
	"net/url"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/footnotehq/footnote/internal/pgtest"
)

// pageSize is the size of a page in the files of a server.
const pageSize = 8192

// damage destroys a page of a table's file, as a broken disk would. With long, it is the file of the table's long
// values. The server is stopped for this and started again.
func damage(t *testing.T, s *pgtest.Server, database, table string, long bool, page int64) {
	t.Helper()
	column := "oid"
	if long {
		column = "reltoastrelid"
	}
	file := valueOf(t, database,
		"SELECT pg_relation_filepath("+column+") FROM pg_class WHERE oid = '"+table+"'::regclass")
	s.Stop(t)
	f, err := os.OpenFile(filepath.Join(s.Data(), file), os.O_WRONLY, 0)
	must(t, err)
	_, err = f.WriteAt(bytes.Repeat([]byte{0xff}, pageSize), page*pageSize)
	must(t, errors.Join(err, f.Close()))
	s.Start(t)
}

// follow waits until a standby has replayed everything that its primary has written.
func follow(t *testing.T, standby, primary *pgtest.Server) {
	t.Helper()
	written := valueOf(t, at(t, "postgres://footnote@/postgres", primary), "SELECT pg_current_wal_lsn()::text")
	for deadline := time.Now().Add(time.Minute); ; time.Sleep(10 * time.Millisecond) {
		if valueOf(t, at(t, "postgres://footnote@/postgres", standby),
			"SELECT (pg_last_wal_replay_lsn() >= '"+written+"')::text") == "true" {
			return
		}
		if time.Now().After(deadline) {
			t.Fatal("the standby does not follow")
		}
	}
}

// valueOf returns the single text that a statement returns.
func valueOf(t *testing.T, database, sql string) (value string) {
	t.Helper()
	conn, err := pgx.Connect(t.Context(), database)
	must(t, err)
	defer conn.Close(t.Context())
	must(t, conn.QueryRow(t.Context(), sql).Scan(&value))
	return value
}

// at returns the URL of a database on several servers; a client connects to the one that suits it.
func at(t *testing.T, database string, servers ...*pgtest.Server) string {
	t.Helper()
	u, err := url.Parse(database)
	must(t, err)
	var folders []string
	for _, s := range servers {
		folders = append(folders, s.Folder())
	}
	u.RawQuery = url.Values{"host": {strings.Join(folders, ",")}}.Encode()
	return u.String()
}
