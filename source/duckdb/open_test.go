//go:build cgo && !noduckdb

package duckdb

import (
	"bufio"
	"context"
	"database/sql"
	"encoding/csv"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/footnotehq/footnote"
	"github.com/footnotehq/footnote/source"
	"github.com/xuri/excelize/v2"
)

// openFiles opens files with a cache for this test alone.
func openFiles(t testing.TB, path string, o Options) source.Source {
	t.Helper()
	if o.Dir == "" {
		o.Dir = t.TempDir()
	}
	o.Logger = slog.New(slog.NewTextHandler(t.Output(), nil))
	s, err := Open(t.Context(), "files", path, o)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { s.Close() })
	return s
}

func writeFile(t testing.TB, path, text string) string {
	t.Helper()
	if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	return path
}

// query returns the rows of a query as JSON.
func query(t testing.TB, s source.Source, sql string) string {
	t.Helper()
	r, _, err := source.Collect(t.Context(), s, source.Query{SQL: sql})
	if err != nil {
		t.Fatalf("%s: %v", sql, err)
	}
	var b []byte
	for _, row := range r.Rows {
		b = footnote.AppendRow(b, row)
	}
	return string(b)
}

// shape formats a schema, one line per table.
func shape(t testing.TB, s source.Source) string {
	t.Helper()
	schema, err := s.Schema(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	var b strings.Builder
	for _, table := range schema.Tables {
		fmt.Fprintf(&b, "%s(%d):", table.FullName(), table.Rows)
		for _, c := range table.Columns {
			fmt.Fprintf(&b, " %s %s,", c.Name, c.Type)
		}
		b.WriteString("\n")
	}
	return b.String()
}

func TestFolder(t *testing.T) {
	dir := t.TempDir()
	writeFile(t, filepath.Join(dir, "Sales 2024.csv"),
		"day;amount\n31.12.2024;1.234,50\n01.01.2024;-2,25\nSumme;1.232,25\n")
	writeFile(t, filepath.Join(dir, "people.tsv"), "id\tname\n1\tAda\n")
	writeFile(t, filepath.Join(dir, "2024.txt"), "a|b\n1|x\n")
	writeFile(t, filepath.Join(dir, "order.csv"), "a,b\n1,x\n")
	writeFile(t, filepath.Join(dir, "events.ndjson"),
		`{"id":1,"at":"2024-01-02T03:04:05","tags":["a","b"],"who":{"name":"x"}}`+"\n"+
			`{"id":2,"at":null,"tags":[],"who":null}`+"\n")
	writeFile(t, filepath.Join(dir, "events.json"), `[{"id":1},{"id":2,"more":true}]`)
	writeFile(t, filepath.Join(dir, "wrapped.json"), `{"count":2,"data":[{"id":1,"v":1.5},{"id":2,"v":2}]}`)
	writeFile(t, filepath.Join(dir, "readme.md"), "# not data")
	writeFile(t, filepath.Join(dir, "empty.csv"), "")
	writeFile(t, filepath.Join(dir, ".hidden.csv"), "a\n1\n")
	write(t, "", "COPY (SELECT range AS i, range * 1.5 AS x FROM range(1000)) TO "+literal(filepath.Join(dir,
		"numbers[1].parquet")))
	var done atomic.Int64
	s := openFiles(t, dir, Options{Progress: func(string, int64) { done.Add(1) }})
	want := `events(2): id BIGINT, more BOOLEAN,
events_2(2): id BIGINT, at TIMESTAMP, tags VARCHAR[], who STRUCT("name" VARCHAR),
numbers_1(1000): i BIGINT, x DECIMAL(21,1),
people(1): id BIGINT, name VARCHAR,
sales_2024(2): day DATE, amount DECIMAL(18,2),
t_2024(1): a BIGINT, b VARCHAR,
t_order(1): a BIGINT, b VARCHAR,
wrapped(2): id BIGINT, v DOUBLE,
`
	if got := shape(t, s); got != want {
		t.Errorf("schema:\n%s\nwant:\n%s", got, want)
	}
	if got := query(t, s,
		"SELECT sum(amount), min(day), max(day) FROM sales_2024"); got != `["1232.25","2024-01-01","2024-12-31"]` {
		t.Error(got)
	}
	if got := query(t, s,
		"SELECT * FROM events_2 ORDER BY id"); got !=
		`[1,"2024-01-02T03:04:05","[\"a\",\"b\"]","{\"name\":\"x\"}"][2,null,"[]",null]` {
		t.Error(got)
	}
	schema, err := s.Schema(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	sales, _ := schema.Table("sales_2024")
	for _, words := range []string{"; separated", "decimal comma", "DD.MM.YYYY", "1 totals row left out"} {
		if !strings.Contains(sales.Comment, words) {
			t.Errorf("the comment %q does not say %q", sales.Comment, words)
		}
	}
	if done.Load() != 8 {
		t.Errorf("progress was reported %d times, want once for each table", done.Load())
	}
	if err := s.Probe(t.Context()); err != nil {
		t.Errorf("probe: %v", err)
	}
}

// TestEvaluationFiles loads the messy files of the planner's evaluation set and compares every cell with the clean
// tables they represent.
func TestEvaluationFiles(t *testing.T) {
	const data = "../../model/offline/evalset/data"
	s := openFiles(t, data, Options{})
	for table, clean := range map[string]string{
		"store_sales_eu": "store_sales_eu.csv",
		"expense_report": "expense_report.csv",
		"hotel_bookings": "hotel_bookings.csv",
	} {
		f, err := os.Open(filepath.Join(data, "logical", clean))
		if err != nil {
			t.Fatal(err)
		}
		want, err := csv.NewReader(f).ReadAll()
		f.Close()
		if err != nil {
			t.Fatal(err)
		}
		r, sum, err := source.Collect(t.Context(), s, source.Query{SQL: "SELECT * FROM " + table})
		if err != nil || len(r.Rows) != len(want)-1 {
			t.Fatalf("%s has %d rows, want %d; %v", table, len(r.Rows), len(want)-1, err)
		}
		for i, c := range sum.Columns {
			if c.Name != want[0][i] {
				t.Errorf("%s: column %q, want %q", table, c.Name, want[0][i])
			}
		}
		for i, row := range r.Rows {
			for j, cell := range row {
				if got := plainCell(cell); got != want[i+1][j] && got+".0" != want[i+1][j] {
					t.Fatalf("%s row %d %s: %q, want %q", table, i+1, want[0][j], got, want[i+1][j])
				}
			}
		}
	}
}

func plainCell(v any) string {
	if v == nil {
		return ""
	}
	return fmt.Sprint(v)
}

func TestWorkbook(t *testing.T) {
	path := filepath.Join(t.TempDir(), "Report.xlsx")
	f := excelize.NewFile()
	sheet := "Q1 Sales"
	check := func(err error) {
		t.Helper()
		if err != nil {
			t.Fatal(err)
		}
	}
	check(f.SetSheetName("Sheet1", sheet))
	style := func(s *excelize.Style) int {
		id, err := f.NewStyle(s)
		check(err)
		return id
	}
	custom := "dd/mm/yyyy"
	zip := "00000"
	euro := `#,##0.00\ "€"`
	day, stamp, percent, zeros, money := style(&excelize.Style{CustomNumFmt: &custom}),
		style(&excelize.Style{NumFmt: 22}), style(&excelize.Style{NumFmt: 10}),
		style(&excelize.Style{CustomNumFmt: &zip}), style(&excelize.Style{CustomNumFmt: &euro})
	rows := [][]any{
		{"Report of the first quarter"},
		nil,
		{"Day", "At", "Share", "Zip", "Amount", "Name", "Ok", "Float"},
		{
			time.Date(2024, 2, 3, 0, 0, 0, 0, time.UTC), time.Date(2024, 2, 3, 10, 30, 0, 0, time.UTC), 0.125, 501,
			1234.5, "Ada", true, 0.1 + 0.2,
		},
		{
			time.Date(2024, 12, 31, 0, 0, 0, 0, time.UTC), time.Date(2024, 2, 4, 0, 0, 0, 0, time.UTC), 0.5, 90210,
			-7.25, "Björn", false, 1e-5,
		},
		{"Total", nil, nil, nil, 1227.25},
	}
	for i, row := range rows {
		for j, v := range row {
			cell, err := excelize.CoordinatesToCellName(j+1, i+1)
			check(err)
			check(f.SetCellValue(sheet, cell, v))
			if i == 3 || i == 4 {
				if id := [...]int{day, stamp, percent, zeros, money}; j < len(id) {
					check(f.SetCellStyle(sheet, cell, cell, id[j]))
				}
			}
		}
	}
	check(f.SetCellStyle(sheet, "E6", "E6", money))
	_, err := f.NewSheet("Empty")
	check(err)
	_, err = f.NewSheet("Lookup")
	check(err)
	check(f.SetSheetRow("Lookup", "A1", &[]any{"code", "text"}))
	check(f.SetSheetRow("Lookup", "A2", &[]any{1, "one"}))
	check(f.SaveAs(path))
	s := openFiles(t, path, Options{})
	want := "lookup(1): code BIGINT, text VARCHAR,\nq1_sales(2): Day DATE, At TIMESTAMP, Share DOUBLE, Zip VARCHAR, " +
		"Amount DECIMAL(18,2), Name VARCHAR, Ok BOOLEAN, Float DOUBLE,\n"
	if got := shape(t, s); got != want {
		t.Errorf("schema:\n%s\nwant:\n%s", got, want)
	}
	if got := query(t, s,
		"SELECT * FROM q1_sales"); got !=
		`["2024-02-03","2024-02-03T10:30:00",12.5,"00501","1234.50","Ada",true,0.3]["2024-12-31",`+
			`"2024-02-04T00:00:00",50,"90210","-7.25","Björn",false,0.00001]` {
		t.Error(got)
	}
}

// TestReload checks that an unchanged file is loaded once and a changed file is loaded again.
func TestReload(t *testing.T) {
	dir := t.TempDir()
	path := writeFile(t, filepath.Join(t.TempDir(), "a.csv"), "n\n1\n2\n")
	var loads atomic.Int64
	o := Options{Dir: dir, Progress: func(string, int64) { loads.Add(1) }}
	s := openFiles(t, path, o)
	again := openFiles(t, path, o)
	if got := query(t, again, "SELECT sum(n) FROM a"); got != "[3]" || loads.Load() != 1 {
		t.Errorf("the second source gave %s after %d loads", got, loads.Load())
	}
	v1, err := s.Version(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	writeFile(t, path, "n,m\n1,x\n2,y\n39,z\n")
	if got := query(t, s, "SELECT sum(n), count(m) FROM a"); got != "[42,3]" {
		t.Errorf("after the change: %s", got)
	}
	if v2, err := s.Version(t.Context()); err != nil || v1 == v2 {
		t.Errorf("versions %q and %q, %v", v1, v2, err)
	}
	if got := shape(t, s); got != "a(3): n BIGINT, m VARCHAR,\n" {
		t.Errorf("schema after the change: %s", got)
	}
	if got := query(t, again, "SELECT count(*) FROM a"); got != "[3]" || loads.Load() != 2 {
		t.Errorf("the second source gave %s after %d loads", got, loads.Load())
	}
	if err := os.Remove(path); err != nil {
		t.Fatal(err)
	}
	_, _, err = source.Collect(t.Context(), s, source.Query{SQL: "SELECT 1"})
	if footnote.CodeOf(err) != footnote.DatabaseUnavailable {
		t.Errorf("without its file: %v", err)
	}
	left, err := filepath.Glob(filepath.Join(dir, "*", "*"))
	if err != nil || len(left) != 1 {
		t.Errorf("the cache holds %v, %v; want the newest only", left, err)
	}
}

// TestInterruptedLoad ends a load halfway through, in every way it can end.
func TestInterruptedLoad(t *testing.T) {
	path := filepath.Join(t.TempDir(), "big.csv")
	var b strings.Builder
	b.WriteString("id,text\n")
	for i := range 400_000 {
		fmt.Fprintf(&b, "%d,some text %d\n", i, i)
	}
	writeFile(t, path, b.String())
	dir := t.TempDir()
	why := errors.New("the user left")
	ctx, cancel := context.WithCancelCause(t.Context())
	_, err := Open(ctx, "big", path, Options{Dir: dir, Progress: func(_ string, n int64) { cancel(why) }})
	if !errors.Is(err, why) {
		t.Errorf("a cancelled load gave %v", err)
	}
	if left, _ := filepath.Glob(filepath.Join(dir, "*", "*")); len(left) != 0 {
		t.Errorf("a cancelled load left %v", left)
	}
	_, err = Open(t.Context(), "big", path, Options{Dir: dir, LoadTime: 50 * time.Millisecond})
	if footnote.CodeOf(err) != footnote.DatabaseUnavailable {
		t.Errorf("a slow load gave %v", err)
	}
	// The remains of a killed load are never served, and are removed eventually.
	s := openFiles(t, path, Options{Dir: dir})
	if got := query(t, s, "SELECT count(*), max(id) FROM big"); got != "[400000,399999]" {
		t.Error(got)
	}
}

func TestOpenErrors(t *testing.T) {
	dir := t.TempDir()
	in := func(name string) string { return filepath.Join(dir, name) }
	empty := in("emptydir")
	if err := os.Mkdir(empty, 0o700); err != nil {
		t.Fatal(err)
	}
	write(t, in("good.duckdb"), "CREATE TABLE t AS SELECT 1 AS a")
	good, err := os.ReadFile(in("good.duckdb"))
	if err != nil {
		t.Fatal(err)
	}
	bad := append([]byte(nil), good...)
	for i := 4096; i < len(bad); i++ {
		bad[i] ^= 0x5A
	}
	for name, text := range map[string]string{
		"empty.csv": "", "blank.csv": "\n\n\n", "fake.duckdb": "this is not a database, but it is long enough",
		"lite.db":  "SQLite format 3\x00 and so on",
		"notes.md": "# hi", "broken.parquet": "PAR1 nothing else", "broken.json": `[{"a":1},{"b":`,
		"broken.xlsx": "PK\x03\x04 nothing else", "binary.csv": "\x00\x01\x02\x03\x04\x05\x06\x07",
		"gz.csv": "\x1f\x8b\x08\x00", "text.xlsx": "a,b", "short.duckdb": string(good[:3000]),
		"bad.duckdb": string(bad), "hash#.duckdb": string(good), "old.xls": "\xD0\xCF\x11\xE0\xA1\xB1\x1A\xE1",
	} {
		writeFile(t, in(name), text)
	}
	write(t, ":memory:", "SET force_mbedtls_unsafe = 'true'",
		"ATTACH "+literal(in("secret.duckdb"))+" AS s (ENCRYPTION_KEY 'k')", "CREATE TABLE s.t AS SELECT 1")
	for path, words := range map[string]string{
		in("missing.csv"): "is not there", empty: "no files that can be loaded", in("empty.csv"): "empty",
		in("blank.csv"): "only blank lines", in("fake.duckdb"): "not a DuckDB database",
		in("lite.db"): "SQLite", in("notes.md"): "not a kind of file", in("broken.parquet"): "broken.parquet",
		in("broken.json"): "broken.json", in("broken.xlsx"): "not a readable Excel workbook",
		in("binary.csv"): "not text", in("gz.csv"): "gzip", in("text.xlsx"): "not a readable Excel workbook",
		in("short.duckdb"): "", in("bad.duckdb"): "", in("hash#.duckdb"): "Rename",
		in("old.xls"): "not a kind of file", in("secret.duckdb"): "encrypted", "duckdb:///" + empty[1:]: "no files",
	} {
		_, err := Open(t.Context(), "x", path, Options{Dir: t.TempDir()})
		if footnote.CodeOf(err) != footnote.DatabaseUnavailable || !strings.Contains(footnote.MessageOf(err), words) ||
			!strings.HasPrefix(footnote.MessageOf(err), "database x: ") {
			t.Errorf("%s: %v (%s), want %q", filepath.Base(path), err, footnote.CodeOf(err), words)
		}
		if strings.Contains(footnote.MessageOf(err), dir) {
			t.Errorf("%s: the message shows the path: %v", filepath.Base(path), footnote.MessageOf(err))
		}
	}
	for _, address := range []string{"", ":memory:", "duckdb:///x?access_mode=read_write", "duckdb:%zz"} {
		if _, err := Open(t.Context(), "x", address, Options{
			Dir: t.TempDir(),
		}); footnote.CodeOf(err) != footnote.InvalidRequest {
			t.Errorf("%q: %v", address, err)
		}
	}
	if _, err := Open(t.Context(), "x", "duckdb://"+in("good.duckdb"), Options{Dir: t.TempDir()}); err != nil {
		t.Errorf("a good one: %v", err)
	}
}

// holdOpen opens a database for writing in this process, as another program would, and runs statements. The caller
// must call release.
func holdOpen(t testing.TB, path string, statements ...string) (release func()) {
	t.Helper()
	db, err := sql.Open("duckdb", path)
	if err != nil {
		t.Fatal(err)
	}
	for _, s := range append([]string{"SELECT 1"}, statements...) {
		if _, err := db.Exec(s); err != nil {
			t.Fatal(err)
		}
	}
	return func() { db.Close() }
}

// TestLocked opens a database that another process has open for writing.
func TestLocked(t *testing.T) {
	path := filepath.Join(t.TempDir(), "x.duckdb")
	write(t, path, "CREATE TABLE t AS SELECT 1 AS a")
	exe, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	other := exec.CommandContext(t.Context(), exe)
	other.Env = append(os.Environ(), holdMarker+"="+path)
	in, err1 := other.StdinPipe()
	out, err2 := other.StdoutPipe()
	if err := errors.Join(err1, err2, other.Start()); err != nil {
		t.Fatal(err)
	}
	if line, err := bufio.NewReader(out).ReadString('\n'); err != nil {
		t.Fatalf("the other process said %q, %v", line, err)
	}
	_, err = Open(t.Context(), "x", path, Options{Dir: t.TempDir()})
	if footnote.CodeOf(err) != footnote.DatabaseUnavailable || !strings.Contains(footnote.MessageOf(err), "locked") {
		t.Errorf("a locked database gave %v", err)
	}
	in.Close()
	if err := other.Wait(); err != nil {
		t.Fatal(err)
	}
	openFiles(t, path, Options{})
}

// TestUnmergedLog serves a database whose last writer left a write-ahead log.
func TestUnmergedLog(t *testing.T) {
	dir := t.TempDir()
	path := filepath.Join(dir, "x.duckdb")
	write(t, path, "CREATE TABLE t AS SELECT 1 AS a")
	release := holdOpen(t, path, "SET checkpoint_threshold = '1GB'", "INSERT INTO t VALUES (41)")
	copied := filepath.Join(t.TempDir(), "x.duckdb")
	for _, end := range []string{"", ".wal"} {
		data, err := os.ReadFile(path + end)
		if err != nil {
			t.Fatal(err)
		}
		writeFile(t, copied+end, string(data))
	}
	release()
	before := contents(t, filepath.Dir(copied))
	s := openFiles(t, copied, Options{})
	if got := query(t, s, "SELECT sum(a) FROM t"); got != "[42]" {
		t.Errorf("sum %s", got)
	}
	if err := s.Probe(t.Context()); err != nil {
		t.Error(err)
	}
	if after := contents(t, filepath.Dir(copied)); after != before {
		t.Errorf("serving changed the files:\n%s\n%s", before, after)
	}
}

func TestTableName(t *testing.T) {
	for in, want := range map[string]string{
		"Store-Sales EU": "store_sales_eu", "2024": "t_2024", "Umsätze (neu)": "umsätze_neu", "": "t", "___": "t",
		"Select": "t_select", "a..b": "a_b", "Ünï": "ünï", "order": "t_order",
	} {
		if got := tableName(in); got != want {
			t.Errorf("tableName(%q) = %q, want %q", in, got, want)
		}
	}
}

// TestLinksInFolder checks that a link placed in a folder does not make other files readable.
func TestLinksInFolder(t *testing.T) {
	elsewhere := writeFile(t, filepath.Join(t.TempDir(), "salaries.csv"), "name,salary\nAda,1\n")
	dir := t.TempDir()
	if err := os.Symlink(elsewhere, filepath.Join(dir, "staff.csv")); err != nil {
		t.Fatal(err)
	}
	_, err := Open(t.Context(), "files", dir, Options{Dir: t.TempDir()})
	if err == nil || !strings.Contains(err.Error(), "only links to files outside") {
		t.Fatalf("a folder of links to other files: %v", err)
	}
	writeFile(t, filepath.Join(dir, "sales.csv"), "day,total\n2024-01-01,5\n")
	if err := os.Symlink("sales.csv", filepath.Join(dir, "latest.csv")); err != nil {
		t.Fatal(err)
	}
	s := openFiles(t, dir, Options{})
	schema, err := s.Schema(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	if _, ok := schema.Table("staff"); ok || len(schema.Tables) != 2 {
		t.Errorf("tables %+v, want latest and sales", schema.Tables)
	}
}

// TestReplacedByPipe checks that a source reports at once that its file has been replaced by something else.
// Reading a pipe would block forever.
func TestReplacedByPipe(t *testing.T) {
	for _, name := range []string{"sales.csv", "shop.duckdb"} {
		path := filepath.Join(t.TempDir(), name)
		if name == "shop.duckdb" {
			write(t, path, "CREATE TABLE sales AS SELECT 5 AS total")
		} else {
			writeFile(t, path, "day,total\n2024-01-01,5\n")
		}
		s := openFiles(t, path, Options{})
		if got := query(t, s, "SELECT total FROM sales"); got != "[5]" {
			t.Fatalf("%s: %s", name, got)
		}
		if err := os.Remove(path); err != nil {
			t.Fatal(err)
		}
		if err := makePipe(path); err != nil {
			t.Fatal(err)
		}
		begun := time.Now()
		_, _, err := source.Collect(t.Context(), s, source.Query{SQL: "SELECT total FROM sales"})
		if footnote.CodeOf(err) != footnote.DatabaseUnavailable || time.Since(begun) > 5*time.Second {
			t.Errorf("%s became a pipe: %v after %v", name, err, time.Since(begun))
		}
	}
}

// TestSettingsInTables checks that columns of a database that read settings reveal nothing about this machine.
func TestSettingsInTables(t *testing.T) {
	path := filepath.Join(t.TempDir(), "shop.duckdb")
	write(t, path, "CREATE TABLE curious (a INTEGER, dir VARCHAR GENERATED ALWAYS AS "+
		"(current_setting('temp_directory')))", "INSERT INTO curious VALUES (1)")
	s := openFiles(t, path, Options{})
	if got := query(t, s, "SELECT dir FROM curious"); got != `["spill"]` {
		t.Errorf("the directory of temporary files is %s", got)
	}
}
