package clickhouse

import (
	"maps"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/footnotehq/footnote/source"
	"github.com/footnotehq/footnote/source/engines"
	"github.com/footnotehq/footnote/source/sourcetest"
)

// startChDB starts ClickHouse's engine and returns the address of its imitated server. FOOTNOTE_CHDB is a folder that
// scripts/chdb.sh made.
func startChDB(t *testing.T) string {
	t.Helper()
	folder := os.Getenv("FOOTNOTE_CHDB")
	if folder == "" {
		t.Skip("needs ClickHouse's engine, which is 550 MB: make clickhouse")
	}
	port := filepath.Join(t.TempDir(), "port")
	cmd := exec.CommandContext(t.Context(), "node", "testdata/chdb.mjs", folder, port)
	cmd.Stderr = os.Stderr
	stdin, err := cmd.StdinPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		stdin.Close()
		_ = cmd.Wait()
	})
	for deadline := time.Now().Add(30 * time.Second); time.Now().Before(deadline); time.Sleep(50 * time.Millisecond) {
		if text, err := os.ReadFile(port); err == nil && len(text) > 0 { // a file tells of no event
			return "127.0.0.1:" + string(text)
		}
	}
	t.Fatal("chdb did not start within 30 s")
	return ""
}

// do runs a statement past the source.
func do(t *testing.T, host, sql string) {
	t.Helper()
	resp, err := http.Post("http://"+host+"/?database=default", "text/plain", strings.NewReader(sql))
	if err != nil {
		t.Fatal(err)
	}
	defer resp.Body.Close()
	if resp.StatusCode != http.StatusOK {
		t.Fatalf("%s: status %d", sql, resp.StatusCode)
	}
}

// openChDB opens a source over tables.
func openChDB(t *testing.T, host string, setup ...string) source.Source {
	t.Helper()
	for _, sql := range setup {
		do(t, host, sql)
	}
	src, err := Engine().Open(t.Context(), "shop", "clickhouse://default@"+host+"/default?tls=false", engines.Options{})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { src.Close() })
	return src
}

// setupOf returns sourcetest.Setup in ClickHouse's SQL.
func setupOf() []string {
	r := strings.NewReplacer("VARCHAR(80) NOT NULL", "String", "VARCHAR(80)", "Nullable(String)",
		"VARCHAR(20)", "Nullable(String)", "VARCHAR(200)", "Nullable(String)", "since DATE", "since Nullable(Date)",
		"TIMESTAMP NOT NULL", "DateTime('UTC')", "DOUBLE PRECISION NOT NULL", "Float64", "INTEGER NOT NULL", "Int32",
		"REFERENCES customers (id)", "", "REFERENCES orders (id)", "", "''", "\\'")
	var list []string
	for _, sql := range sourcetest.Setup {
		list = append(list, r.Replace(sql))
	}
	return list
}

func TestChDB(t *testing.T) {
	host := startChDB(t)
	src := openChDB(t, host, setupOf()...)
	t.Run("Dialect", func(t *testing.T) { sourcetest.RunDialect(t, src) })
	if err := src.Probe(t.Context()); err != nil {
		t.Error(err)
	}
	for _, st := range sourcetest.Statements(t, "allowed", sourcetest.Executed) {
		outcome, rows, err := sourcetest.Outcome(t.Context(), src, st.SQL, source.Limits{Time: 5 * time.Second})
		if !st.Allows(outcome) {
			t.Errorf("%s: %s (%v)\n%.300s", st.Name, outcome, err, st.SQL)
		} else if st.Rows != "" && sourcetest.Text(rows) != st.Rows {
			t.Errorf("%s: rows %s, want %s", st.Name, sourcetest.Text(rows), st.Rows)
		}
	}
	for _, st := range sourcetest.Statements(t, "hostile", sourcetest.Refused) {
		outcome, _, err := sourcetest.Outcome(t.Context(), src, st.SQL, source.Limits{Time: 5 * time.Second})
		if !st.Allows(outcome) {
			t.Errorf("%s: %s (%v)\n%.300s", st.Name, outcome, err, st.SQL)
		}
	}
}

// TestChDBViews checks that tables which show other tables count as views, and that the inner tables of views are left
// out: both would show what is hidden elsewhere.
func TestChDBViews(t *testing.T) {
	src := openChDB(t, startChDB(t), "CREATE TABLE people (name String) ENGINE = MergeTree ORDER BY name",
		"CREATE TABLE everybody (name String) ENGINE = Merge(default, 'people')",
		"CREATE MATERIALIZED VIEW names ENGINE = MergeTree ORDER BY name AS SELECT name FROM people")
	schema, err := src.Schema(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	got := map[string]bool{}
	for _, table := range schema.Tables {
		got[table.Name] = table.View
	}
	if want := map[string]bool{"people": false, "everybody": true, "names": true}; !maps.Equal(got, want) {
		t.Errorf("views are %v, want %v", got, want)
	}
}
