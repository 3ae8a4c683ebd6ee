//go:build linux

package tooltest_test

import (
	"database/sql"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/footnotehq/footnote/demo/demotest"
	"github.com/footnotehq/footnote/source"
	"github.com/footnotehq/footnote/source/child"
	"github.com/footnotehq/footnote/source/sqlite"
	"github.com/footnotehq/footnote/tool"
	"github.com/footnotehq/footnote/tool/internal/tooltest"
	"github.com/footnotehq/footnote/tool/profile"
	"github.com/footnotehq/footnote/tool/query"
)

func TestMain(m *testing.M) {
	child.Main(map[string]child.OpenFunc{sqlite.Kind: sqlite.OpenEngine})
	os.Exit(m.Run())
}

// TestToolsThroughTheGate checks that the statements written by tools pass the gate of the real source, and return
// the same there as without the gate.
func TestToolsThroughTheGate(t *testing.T) {
	gated, err := sqlite.Open(t.Context(), "shop", demotest.Shop(t), sqlite.Options{})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { gated.Close() })
	open := tooltest.Shop(t)
	for _, table := range open.Tables {
		out := call(t, tools(gated), "describe_table", map[string]any{"table": table.Name})
		if out.IsError || !strings.Contains(out.Content, `"row_count":`) ||
			!strings.Contains(out.Content, `"sample_rows":[[`) {
			t.Errorf("describe_table(%s) = %s", table.Name, out.Content)
		}
		for _, c := range table.Columns {
			in := map[string]any{"table": table.Name, "column": c.Name}
			compare(t, tools(gated), tools(open), "get_column_stats", in)
			compare(t, tools(gated), tools(open), "get_value_distribution", in)
		}
	}
	for _, c := range []struct{ sql, want string }{
		{"SELECT nme FROM customers", "Did you mean customers.name?"},
		{"SELECT * FROM custmers", "Did you mean customers?"},
		{"DELETE FROM customers", "The statement was refused: "},
		{"SELECT 1; SELECT 2", "The statement was refused: "},
	} {
		out := call(t, tools(gated), "run_query", map[string]any{"sql": c.sql})
		if !out.IsError || !strings.Contains(out.Content, c.want) {
			t.Errorf("run_query(%s) = %q, want %q in it", c.sql, out.Content, c.want)
		}
	}
	if out := call(t, tools(gated), "list_tables", map[string]any{}); out.IsError ||
		!strings.Contains(out.Content, `"name":"orders"`) {
		t.Errorf("list_tables = %s", out.Content)
	}
}

// TestHostileNamesThroughTheGate checks that a hostile name in a real catalog is quoted in every layer.
func TestHostileNamesThroughTheGate(t *testing.T) {
	path := filepath.Join(t.TempDir(), "odd.db")
	db, err := sql.Open("sqlite", "file:"+path)
	if err != nil {
		t.Fatal(err)
	}
	name := `a"; DROP TABLE b; -- ` + "`]'"
	quoted := `"` + strings.ReplaceAll(name, `"`, `""`) + `"`
	for _, q := range []string{
		`CREATE TABLE b (x INTEGER)`, `CREATE TABLE ` + quoted + ` (` + quoted + ` REAL)`,
		`INSERT INTO ` + quoted + ` VALUES (1.5), (2.5)`,
	} {
		if _, err := db.Exec(q); err != nil {
			t.Fatal(err)
		}
	}
	if err := db.Close(); err != nil {
		t.Fatal(err)
	}
	src, err := sqlite.Open(t.Context(), "shop", path, sqlite.Options{})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { src.Close() })
	in := map[string]any{"table": name, "column": name}
	for tool, want := range map[string]string{
		"get_column_stats":       `"mean":2,"median":2`,
		"get_value_distribution": `[1.5,1,0.5]`,
	} {
		if out := call(t, tools(src), tool, in); out.IsError || !strings.Contains(out.Content, want) {
			t.Errorf("%s = %s, want %s in it", tool, out.Content, want)
		}
	}
	if out := call(t, tools(src), "describe_table", map[string]any{"table": name}); out.IsError ||
		!strings.Contains(out.Content, `"row_count":2`) {
		t.Errorf("describe_table = %s", out.Content)
	}
}

func tools(src source.Source) []tool.Tool {
	sources := tooltest.Sources{"shop": src}
	return append(query.New(query.Options{Sources: sources}), profile.New(profile.Options{Sources: sources})...)
}

func call(t *testing.T, tools []tool.Tool, name string, in map[string]any) tool.Output {
	t.Helper()
	tool := tooltest.Named(t, tools, name)
	out, err := tool.Call(t.Context(), tooltest.Call(t, tool, in, "shop"))
	if err != nil {
		t.Fatalf("%s(%v) = %v", name, in, err)
	}
	return out
}

func compare(t *testing.T, gated, open []tool.Tool, name string, in map[string]any) {
	t.Helper()
	a, b := call(t, gated, name, in), call(t, open, name, in)
	if a.IsError || plain(a.Content) != plain(b.Content) {
		t.Errorf("%s(%v) gave\n%s\nthrough the gate and\n%s\nwithout it", name, in, a.Content, b.Content)
	}
}

// moment matches a timestamp that passed through an expression, as the ungated source returns it; sources must
// return it with a T.
var moment = regexp.MustCompile(`(\d{4}-\d\d-\d\d) (\d\d:\d\d:\d\d)`)

func plain(content string) string { return moment.ReplaceAllString(content, "${1}T${2}") }
