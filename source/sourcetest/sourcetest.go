// Package sourcetest tests the contract of a read-only source. Every source must pass Run: hostile statements
// change nothing and are stopped, allowed ones run, limits hold, and a source that lost its engine gets a new one.
package sourcetest

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/footnotehq/footnote"
	"github.com/footnotehq/footnote/source"
)

// Run runs the suite with the files in testdata/statements of the package under test: hostile.sql and allowed.sql (see
// Statement), after those of the same names that every engine gets; resources.sql (statements that must end at their
// limits, of 0.3 seconds) and common.sql. The latter must have the entries "endless" (a statement that does not end by
// itself and can be interrupted), "rows" (one that returns 5,000 rows of one integer, 1 to 5,000, in order) and "echo"
// (one that returns its only argument in one row and column).
//
// Open returns a source over the tables created by Setup, with default limits and at least four concurrent queries. If
// the engine is a server, the source has a method Working() bool, which reports whether the server still works for it;
// Run then checks that a cancelled statement ends there. If it is a child process, PID() int does the same. Snapshot
// describes everything outside the engine that a statement might change: the files with their contents, or the tables.
// Summary.Tables of a statement must have exactly the tables and views that it reads, without the names of common table
// expressions. BehindView names the tables that the engine reports, too, when a statement reads the view revenue.
func Run(t *testing.T, open func(t testing.TB) (src source.Source, snapshot func() string), behindView ...string) {
	s := suite{open: open, behindView: behindView}
	t.Run("Dialect", s.dialect)
	t.Run("Statements", s.statements)
	t.Run("Resources", s.resources)
	t.Run("Limits", s.limits)
	t.Run("Args", s.args)
	t.Run("Tables", s.tables)
	t.Run("Cancel", s.cancel)
	t.Run("Busy", s.busy)
	t.Run("Killed", s.killed)
	t.Run("Schema", s.schema)
	t.Run("Probe", s.probe)
}

type suite struct {
	open       func(t testing.TB) (source.Source, func() string)
	behindView []string
}

// Outcome runs a statement and returns the name of its outcome. For an error that is not a *source.Error, that is
// "error: " and the error's text.
func Outcome(ctx context.Context, src source.Source, sql string,
	limits source.Limits) (outcome string, rows [][]any, err error) {
	r, _, err := source.Collect(ctx, src, source.Query{SQL: sql, Limits: limits})
	if err == nil {
		return Executed, r.Rows, nil
	}
	if e, ok := errors.AsType[*source.Error](err); ok {
		return e.Kind, nil, err
	}
	return "error: " + err.Error(), nil, err
}

// statements runs the hostile and allowed statements in three passes over the same pool: in order, then shuffled
// twice. Each pass must have the same outcomes, and nothing may have changed.
func (s suite) statements(t *testing.T) {
	src, snapshot := s.open(t)
	hostile := Statements(t, "hostile", Refused)
	allowed := Statements(t, "allowed", Executed)
	all := slices.Concat(hostile, allowed)
	before := snapshot()
	for pass := range 3 {
		if pass > 0 {
			rng := rand.New(rand.NewPCG(uint64(pass), 7))
			rng.Shuffle(len(all), func(i, j int) { all[i], all[j] = all[j], all[i] })
		}
		for _, st := range all {
			outcome, rows, err := Outcome(t.Context(), src, st.SQL, source.Limits{Time: 5 * time.Second})
			if !st.Allows(outcome) {
				t.Errorf("pass %d, %s: %s (%v), want %v\n%.300s", pass, st.Name, outcome, err, st.Want, st.SQL)
			}
			if e, ok := errors.AsType[*source.Error](err); ok && len(strings.TrimSpace(e.Reason)) < 8 {
				t.Errorf("pass %d, %s: the reason %q says nothing", pass, st.Name, e.Reason)
			}
			if st.Rows != "" && outcome == Executed && Text(rows) != st.Rows {
				t.Errorf("pass %d, %s: rows %s, want %s", pass, st.Name, Text(rows), st.Rows)
			}
		}
		if after := snapshot(); after != before {
			t.Fatalf("pass %d changed something.\nbefore:\n%s\nafter:\n%s", pass, before, after)
		}
	}
	t.Logf("%d hostile and %d allowed statements, 3 passes", len(hostile), len(allowed))
}

// Text encodes rows as JSON.
func Text(rows [][]any) string {
	b := []byte{'['}
	for i, row := range rows {
		if i > 0 {
			b = append(b, ',')
		}
		b = footnote.AppendRow(b, row)
	}
	return string(append(b, ']'))
}

// resources runs statements that use too much. Each must end within its limit of 0.3 seconds plus the two seconds
// that ending a child takes, and the engine must be idle one second later.
func (s suite) resources(t *testing.T) {
	src, snapshot := s.open(t)
	before := snapshot()
	limits := source.Limits{Time: 300 * time.Millisecond}
	for _, st := range Statements(t, "resources", Refused, Limited, Failed) {
		begun := time.Now()
		outcome, _, err := Outcome(t.Context(), src, st.SQL, limits)
		took := time.Since(begun)
		if !st.Allows(outcome) {
			t.Errorf("%s: %s (%v), want %v", st.Name, outcome, err, st.Want)
		}
		t.Logf("%-36s %-8s %6s  %.120v", st.Name, outcome, took.Round(time.Millisecond), err)
		if took > 4*time.Second {
			t.Errorf("%s: ended after %v", st.Name, took)
		}
		if !idle(src) {
			t.Errorf("%s: the engine still works a second after the end", st.Name)
		}
		if outcome, _, err := Outcome(t.Context(), src, "SELECT 1", source.Limits{}); outcome != Executed {
			t.Errorf("after %s: SELECT 1 %s: %v", st.Name, outcome, err)
		}
	}
	if after := snapshot(); after != before {
		t.Fatalf("something changed.\nbefore:\n%s\nafter:\n%s", before, after)
	}
}

// process is a source whose engine is a child process.
type process interface{ PID() int }

// server is a source whose engine is a server that can be asked whether it is still working for the source.
type server interface{ Working() bool }

// idle waits up to a second until the engine's process has ended or stops using the processor. A source without a
// process of its own counts as idle.
func idle(src source.Source) bool {
	if s, ok := src.(server); ok {
		for deadline := time.Now().Add(time.Second); s.Working(); time.Sleep(20 * time.Millisecond) {
			if time.Now().After(deadline) {
				return false
			}
		}
		return true
	}
	p, ok := src.(process)
	if !ok || runtime.GOOS != "linux" {
		return true
	}
	last, lastPID := ticks(p.PID()), p.PID()
	for deadline := time.Now().Add(time.Second); time.Now().Before(deadline); {
		time.Sleep(100 * time.Millisecond) // there is no event to wait for
		now, pid := ticks(p.PID()), p.PID()
		if pid == 0 || (pid == lastPID && now-last <= 1) {
			return true
		}
		last, lastPID = now, pid
	}
	return false
}

// ticks returns the processor time of a process, in hundredths of a second.
func ticks(pid int) int {
	data, err := os.ReadFile("/proc/" + strconv.Itoa(pid) + "/stat")
	if err != nil {
		return 0
	}
	fields := strings.Fields(string(data[bytes.LastIndexByte(data, ')')+1:]))
	if len(fields) < 13 {
		return 0
	}
	user, _ := strconv.Atoi(fields[11])
	system, _ := strconv.Atoi(fields[12])
	return user + system
}

func (s suite) common(t *testing.T, name string) string {
	t.Helper()
	for _, st := range Statements(t, "common") {
		if st.Name == name {
			return st.SQL
		}
	}
	t.Fatalf("common.sql has no %q", name)
	return ""
}

func (s suite) limits(t *testing.T) {
	src, _ := s.open(t)
	rows := s.common(t, "rows")
	for _, tc := range []struct {
		limits source.Limits
		rows   int
		limit  string
	}{
		{source.Limits{}, 5000, ""},
		{source.Limits{Rows: 5000}, 5000, ""},
		{source.Limits{Rows: 4999}, 4999, "rows"},
		{source.Limits{Rows: 1}, 1, "rows"},
		{source.Limits{Bytes: 8000}, 1000, "bytes"},
		{source.Limits{Rows: 1 << 40}, 5000, ""}, // cut to the source's own limit
	} {
		r, sum, err := source.Collect(t.Context(), src, source.Query{SQL: rows, Limits: tc.limits})
		if err != nil || len(r.Rows) != tc.rows || sum.Rows != tc.rows || sum.Limit != tc.limit ||
			sum.Truncated != (tc.limit != "") || len(sum.Columns) != 1 {
			t.Errorf("limits %+v gave %d rows, %+v, %v; want %d, %q", tc.limits, len(r.Rows), sum, err, tc.rows,
				tc.limit)
			continue
		}
		if last := r.Rows[tc.rows-1][0]; last != int64(tc.rows) || sum.Columns[0].Kind != footnote.KindInteger {
			t.Errorf("limits %+v: last row %v of kind %q", tc.limits, last, sum.Columns[0].Kind)
		}
	}
	begun := time.Now()
	outcome, _, err := Outcome(t.Context(), src, s.common(t, "endless"), source.Limits{Time: 300 * time.Millisecond})
	if took := time.Since(begun); outcome != Limited || took > 3*time.Second {
		t.Errorf("endless: %s (%v) after %v", outcome, err, took)
	}
	own := errors.New("seen enough")
	n := 0
	_, err = src.Query(t.Context(), source.Query{SQL: rows}, func([]any) error {
		if n++; n == 3 {
			return own
		}
		return nil
	})
	if !errors.Is(err, own) || n != 3 {
		t.Errorf("a reader that ended the query after %d rows got %v", n, err)
	}
	if _, sum, err := source.Collect(t.Context(), src, source.Query{
		SQL: "SELECT id, name FROM customers WHERE id < 0",
	}); err != nil || sum.Rows != 0 || len(sum.Columns) != 2 {
		t.Errorf("a query without rows: %+v, %v", sum, err)
	}
}

func (s suite) args(t *testing.T) {
	src, _ := s.open(t)
	echo := s.common(t, "echo")
	for _, arg := range []any{
		nil, int64(7), int64(9007199254740993), int64(-9223372036854775808), 2.5, "", "it's; DROP TABLE customers --",
		"字",
	} {
		r, _, err := source.Collect(t.Context(), src, source.Query{SQL: echo, Args: []any{arg}})
		if err != nil || len(r.Rows) != 1 || r.Rows[0][0] != arg {
			t.Errorf("argument %#v came back as %#v, %v", arg, r.Rows, err)
		}
	}
	for _, args := range [][]any{{}, {int64(1), int64(2)}, {struct{}{}}} {
		_, _, err := source.Collect(t.Context(), src, source.Query{SQL: echo, Args: args})
		if e, ok := errors.AsType[*source.Error](err); !ok || e.Kind != source.Failed {
			t.Errorf("arguments %#v: %v", args, err)
		}
	}
}

func (s suite) cancel(t *testing.T) {
	src, _ := s.open(t)
	why := errors.New("the user left")
	ctx, cancel := context.WithCancelCause(t.Context())
	defer cancel(nil)
	if _, _, err := Outcome(ctx, src, "SELECT 1", source.Limits{}); err != nil {
		t.Fatal(err)
	}
	time.AfterFunc(100*time.Millisecond, func() { cancel(why) })
	begun := time.Now()
	_, err := src.Query(ctx, source.Query{SQL: s.common(t, "endless")}, func([]any) error { return nil })
	if took := time.Since(begun); !errors.Is(err, why) || took > 2500*time.Millisecond {
		t.Errorf("cancelled query: %v after %v", err, took)
	}
	if !idle(src) {
		t.Error("the engine still works a second after the cancel")
	}
	if outcome, _, err := Outcome(t.Context(), src, "SELECT 1", source.Limits{}); outcome != Executed {
		t.Errorf("after a cancel: %s, %v", outcome, err)
	}
}

// busy runs more queries than the source runs concurrently, some of them endless.
func (s suite) busy(t *testing.T) {
	src, _ := s.open(t)
	endless, rows := s.common(t, "endless"), s.common(t, "rows")
	var wg sync.WaitGroup
	for i := range 12 {
		wg.Go(func() {
			if i%4 == 0 {
				if outcome, _, err := Outcome(t.Context(), src, endless, source.Limits{
					Time: 300 * time.Millisecond,
				}); outcome != Limited {
					t.Errorf("endless: %s, %v", outcome, err)
				}
				return
			}
			r, _, err := source.Collect(t.Context(), src, source.Query{SQL: rows})
			if err != nil || len(r.Rows) != 5000 {
				t.Errorf("rows: %d, %v", len(r.Rows), err)
			}
		})
	}
	wg.Wait()
}

// killed kills the engine's process in the middle of a query.
func (s suite) killed(t *testing.T) {
	src, _ := s.open(t)
	p, ok := src.(process)
	if !ok {
		return // the engine is not ours to kill
	}
	if _, _, err := Outcome(t.Context(), src, "SELECT 1", source.Limits{}); err != nil {
		t.Fatal(err)
	}
	time.AfterFunc(200*time.Millisecond, func() {
		if proc, err := os.FindProcess(p.PID()); err == nil {
			proc.Kill()
		}
	})
	outcome, _, err := Outcome(t.Context(), src, s.common(t, "endless"), source.Limits{Time: 20 * time.Second})
	if outcome != Failed {
		t.Errorf("killed in mid-query: %s, %v", outcome, err)
	}
	if outcome, _, err := Outcome(t.Context(), src, "SELECT 1", source.Limits{}); outcome != Executed {
		t.Errorf("after the kill: %s, %v", outcome, err)
	}
}

func (s suite) schema(t *testing.T) {
	src, _ := s.open(t)
	schema, err := src.Schema(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	for name, want := range map[string]string{
		"customers":   "id:integer name:text! city:text update:text since:date",
		"orders":      "id:integer customer_id:integer! placed:timestamp! total:number! note:text",
		"order lines": "order_id:integer! line:integer! product:text! quantity:integer!",
	} {
		table, ok := schema.Table(name)
		if !ok {
			t.Errorf("no table %q in %+v", name, schema)
			continue
		}
		var got []string
		for _, c := range table.Columns {
			mark := "!"
			if c.Nullable || (len(table.PrimaryKey) == 1 && table.PrimaryKey[0] == c.Name) {
				mark = "" // engines differ in whether a primary key is nullable
			}
			got = append(got, fmt.Sprintf("%s:%s%s", c.Name, c.Kind, mark))
		}
		if text := strings.Join(got, " "); text != want {
			t.Errorf("%s has columns %q, want %q", name, text, want)
		}
		if table.View {
			t.Errorf("%s is said to be a view", name)
		}
	}
	s.keys(t, schema)
	v1, err1 := src.Version(t.Context())
	v2, err2 := src.Version(t.Context())
	if err1 != nil || err2 != nil || v1 != v2 || schema.Version != v1 {
		t.Errorf("versions %q and %q, of the schema %q; %v, %v", v1, v2, schema.Version, err1, err2)
	}
}

// keys checks the view, and the keys of a table.
func (s suite) keys(t *testing.T, schema source.Schema) {
	view, ok := schema.Table("revenue")
	if !ok || !view.View || len(view.Columns) != 3 {
		t.Errorf("view revenue: %+v", view)
	}
	lines, _ := schema.Table("order lines")
	if strings.Join(lines.PrimaryKey, ",") != "order_id,line" {
		t.Errorf("primary key of order lines: %v", lines.PrimaryKey)
	}
	if len(lines.ForeignKeys) != 1 || lines.ForeignKeys[0].RefTable != "orders" ||
		strings.Join(lines.ForeignKeys[0].RefColumns, ",") != "id" {
		t.Errorf("foreign keys of order lines: %+v", lines.ForeignKeys)
	}
	if customers, _ := schema.Table("CUSTOMERS"); customers.Rows != 4 && customers.Rows != -1 {
		t.Errorf("customers has %d rows", customers.Rows)
	}
}

func (s suite) probe(t *testing.T) {
	src, snapshot := s.open(t)
	before := snapshot()
	if err := src.Probe(t.Context()); err != nil {
		t.Errorf("probe: %v", err)
	}
	if after := snapshot(); after != before {
		t.Errorf("the probe changed something.\nbefore:\n%s\nafter:\n%s", before, after)
	}
}
