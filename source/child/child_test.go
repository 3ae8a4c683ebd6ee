//go:build unix

package child

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"math"
	"os"
	"path/filepath"
	"reflect"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/footnotehq/footnote"
	"github.com/footnotehq/footnote/internal/rowfilter"
	"github.com/footnotehq/footnote/source"
)

func TestMain(m *testing.M) {
	Main(map[string]OpenFunc{"fake": openFake})
	os.Exit(m.Run())
}

// fake is an engine that does what its statements tell it to.
type fake struct{ config fakeConfig }

type fakeConfig struct {
	Fail string
	Path string
}

func openFake(_ context.Context, raw json.RawMessage) (Engine, error) {
	f := &fake{}
	if err := json.Unmarshal(raw, &f.config); err != nil {
		return nil, err
	}
	if f.config.Fail != "" {
		return nil, footnote.Errorf(footnote.DatabaseUnavailable, "%s", f.config.Fail)
	}
	return f, nil
}

func (f *fake) Schema(context.Context) (source.Schema, error) {
	return source.Schema{Tables: []source.Table{{Name: "t", Rows: 3}}}, nil
}
func (f *fake) Version(context.Context) (string, error) { return "1", nil }
func (f *fake) Probe(context.Context) error             { return source.ErrWritable }
func (f *fake) Close() error                            { return nil }

func (f *fake) Call(_ context.Context, method string, params json.RawMessage) (any, error) {
	if method == "large" {
		var n int
		err := json.Unmarshal(params, &n)
		return strings.Repeat("x", n), err
	}
	return map[string]any{"method": method, "params": params}, nil
}

var hoard [][]byte

func (f *fake) Query(ctx context.Context, q source.Query, each func([]any) error) (source.Summary, error) {
	sum := source.Summary{Columns: []footnote.Column{{Name: "a"}}}
	verb, arg, _ := strings.Cut(q.SQL, " ")
	switch verb {
	case "echo":
		sum.Columns = make([]footnote.Column, len(q.Args))
		return sum, each(q.Args)
	case "rows":
		var n int
		fmt.Sscan(arg, &n)
		for i := range n {
			if err := each([]any{int64(i)}); err != nil {
				return sum, fmt.Errorf("row: %w", err)
			}
		}
		return sum, nil
	case "long":
		return sum, each([]any{strings.Repeat("x", 10_000)})
	case "sleep": // ends on cancellation
		<-ctx.Done()
		return sum, ctx.Err()
	case "hang": // ignores cancellation
		for {
			time.Sleep(time.Hour)
		}
	case "panic":
		panic("engine bug")
	case "eat":
		for {
			b := make([]byte, 8<<20)
			for i := range b {
				b[i] = 1
			}
			hoard = append(hoard, b)
			time.Sleep(5 * time.Millisecond)
		}
	case "env":
		wd, _ := os.Getwd()
		err := each([]any{strings.Join(os.Environ(), " ") + " " + wd})
		return sum, err
	case "read":
		data, err := os.ReadFile(arg)
		if err != nil {
			return sum, &source.Error{Kind: source.Failed, Reason: err.Error()}
		}
		return sum, each([]any{string(data)})
	case "write":
		if err := os.WriteFile(arg, []byte("x"), 0o600); err != nil {
			return sum, &source.Error{Kind: source.Failed, Reason: err.Error()}
		}
		return sum, nil
	case "socket":
		fd, err := syscall.Socket(syscall.AF_INET, syscall.SOCK_DGRAM, 0)
		if err == nil {
			syscall.Close(fd)
		}
		return sum, each([]any{fmt.Sprint(err)})
	case "print":
		fmt.Println("an engine that prints")
		syscall.Write(1, []byte("to the standard output"))
		return sum, nil
	}
	return sum, source.Refusef("unknown %q", verb)
}

func newFake(t testing.TB, o Options) *Client {
	t.Helper()
	o.Dialect = &source.Dialect{Name: "fake"}
	c := New("fake", fakeConfig{}, o)
	t.Cleanup(func() { c.Close() })
	return c
}

func ask(t testing.TB, c source.Source, sql string, args ...any) ([][]any, source.Summary, error) {
	t.Helper()
	r, sum, err := source.Collect(t.Context(), c, source.Query{SQL: sql, Args: args})
	return r.Rows, sum, err
}

func wantKind(t testing.TB, err error, kind string) {
	t.Helper()
	e, ok := errors.AsType[*source.Error](err)
	if !ok || e.Kind != kind {
		t.Fatalf("error %v (%T), want kind %q", err, err, kind)
	}
}

func TestCellsAreExact(t *testing.T) {
	c := newFake(t, Options{})
	in := []any{nil, true, false, int64(0), int64(math.MaxInt64), int64(math.MinInt64), int64(1<<53 + 1),
		1.0, -0.1, math.MaxFloat64, math.SmallestNonzeroFloat64, "", "naïve 字 \x00 'q'"}
	rows, _, err := ask(t, c, "echo", in...)
	if err != nil || len(rows) != 1 || !reflect.DeepEqual(rows[0], in) {
		t.Fatalf("echo gave %#v, %v; want %#v", rows, err, in)
	}
	rows, _, err = ask(t, c, "echo", math.NaN(), math.Inf(1), "\xff")
	if want := []any{nil, nil, "\uFFFD"}; err != nil || !reflect.DeepEqual(rows[0], want) {
		t.Fatalf("echo gave %#v, %v; want %#v", rows, err, want)
	}
	_, _, err = ask(t, c, "echo", []byte("x"))
	wantKind(t, err, source.Failed)
}

// Our engines keep no log of their own, so the server's log must record each statement and its principal.
func TestLogNamesPrincipalOfStatement(t *testing.T) {
	var said bytes.Buffer
	c := newFake(t, Options{Logger: slog.New(slog.NewTextHandler(&said, &slog.HandlerOptions{Level: slog.LevelDebug}))})
	ctx := footnote.WithOrigin(t.Context(), footnote.Origin{Run: "run_7", Request: "req_9"})
	if _, _, err := source.Collect(ctx, c, source.Query{SQL: "rows 3"}); err != nil {
		t.Fatal(err)
	}
	if want := "msg=statement engine=fake run=run_7 request=req_9 rows=3"; !strings.Contains(said.String(), want) {
		t.Errorf("the log has %q, want %s", said.String(), want)
	}
}

func TestLimitsOnRowsBytesCells(t *testing.T) {
	c := newFake(t, Options{Limits: source.Limits{Rows: 1000, Bytes: 4000, Cell: 5000}})
	rows, sum, err := ask(t, c, "rows 400")
	if err != nil || len(rows) != 400 || sum.Truncated {
		t.Fatalf("%d rows, %+v, %v", len(rows), sum, err)
	}
	rows, sum, err = ask(t, c, "rows 600")
	if err != nil || len(rows) != 500 || !sum.Truncated || sum.Limit != "bytes" || len(sum.Columns) != 1 {
		t.Fatalf("%d rows, %+v, %v", len(rows), sum, err)
	}
	r, sum, err := source.Collect(t.Context(), c, source.Query{SQL: "rows 100", Limits: source.Limits{Rows: 100}})
	if err != nil || sum.Truncated || sum.Rows != 100 {
		t.Fatalf("exactly the limit: %+v, %v", sum, err)
	}
	r, sum, err = source.Collect(t.Context(), c, source.Query{SQL: "rows 101", Limits: source.Limits{Rows: 100}})
	if err != nil || !sum.Truncated || sum.Limit != "rows" || len(r.Rows) != 100 {
		t.Fatalf("one above the limit: %+v, %v", sum, err)
	}
	_, _, err = ask(t, c, "long")
	wantKind(t, err, source.Limited)
}

func TestManyBatches(t *testing.T) {
	c := newFake(t, Options{Limits: source.Limits{Rows: 1 << 20, Bytes: 1 << 30}})
	n := 0
	sum, err := c.Query(t.Context(), source.Query{SQL: "rows 300000"}, func(row []any) error {
		if row[0] != int64(n) {
			return fmt.Errorf("row %d is %v", n, row)
		}
		n++
		return nil
	})
	if err != nil || n != 300_000 || sum.Rows != n {
		t.Fatalf("%d rows, %+v, %v", n, sum, err)
	}
	// A reader's error ends the query quickly and is returned unchanged.
	enough := errors.New("seen enough")
	if _, err := c.Query(t.Context(), source.Query{
		SQL: "rows 1000000",
	}, func([]any) error { return enough }); err != enough {
		t.Fatalf("error %v, want the reader's own", err)
	}
}

func TestSlowReaderDoesNotBlockOthers(t *testing.T) {
	c := newFake(t, Options{Limits: source.Limits{Rows: 1 << 20, Bytes: 1 << 30}})
	blocked, release := make(chan struct{}), make(chan struct{})
	done := make(chan error)
	go func() {
		first := true
		_, err := c.Query(t.Context(), source.Query{SQL: "rows 1000000"}, func([]any) error {
			if first {
				first = false
				close(blocked)
				<-release
			}
			return nil
		})
		done <- err
	}()
	<-blocked
	for range 20 {
		if _, _, err := ask(t, c, "rows 10"); err != nil {
			t.Fatal(err)
		}
	}
	close(release)
	if err := <-done; err != nil {
		t.Fatal(err)
	}
}

func TestDeadline(t *testing.T) {
	limits := source.Limits{Time: 100 * time.Millisecond}
	patient := newFake(t, Options{Limits: limits, Grace: time.Minute}) // large enough for a busy machine
	if _, err := patient.Status(t.Context()); err != nil {             // do not count the time it takes to start
		t.Fatal(err)
	}
	_, _, err := ask(t, patient, "sleep")
	wantKind(t, err, source.Limited)
	if patient.PID() == 0 {
		t.Fatal("the child was killed although the query met its deadline")
	}
	c := newFake(t, Options{Limits: limits, Grace: 200 * time.Millisecond})
	if _, err := c.Status(t.Context()); err != nil {
		t.Fatal(err)
	}
	pid := c.PID()
	begun := time.Now()
	_, _, err = ask(t, c, "hang")
	wantKind(t, err, source.Limited)
	if took := time.Since(begun); took > 2*time.Second {
		t.Fatalf("a hanging query was ended after %v", took)
	}
	if _, err := c.Status(t.Context()); err != nil {
		t.Fatalf("after a killed child: %v", err)
	}
	if c.PID() == pid {
		t.Fatal("the hanging child was not killed")
	}
}

func TestCancelReachesTheEngine(t *testing.T) {
	for _, verb := range []string{"sleep", "hang"} {
		c := newFake(t, Options{Grace: 200 * time.Millisecond})
		why := errors.New("the user left")
		ctx, cancel := context.WithCancelCause(t.Context())
		time.AfterFunc(50*time.Millisecond, func() { cancel(why) })
		begun := time.Now()
		_, err := c.Query(ctx, source.Query{SQL: verb}, nil)
		if !errors.Is(err, why) || time.Since(begun) > 2*time.Second {
			t.Fatalf("%s: %v after %v", verb, err, time.Since(begun))
		}
		if _, _, err := ask(t, c, "rows 1"); err != nil {
			t.Fatalf("%s: next query: %v", verb, err)
		}
	}
}

func TestQueriesOfKilledChildRunAgain(t *testing.T) {
	c := newFake(t, Options{Limits: source.Limits{Time: 20 * time.Second}, Grace: 50 * time.Millisecond})
	ask(t, c, "rows 1")
	victim := make(chan error)
	go func() {
		_, err := c.Query(t.Context(), source.Query{SQL: "sleep", Limits: source.Limits{Time: time.Second}}, nil)
		victim <- err
	}()
	_, err := c.Query(t.Context(), source.Query{SQL: "hang", Limits: source.Limits{Time: 100 * time.Millisecond}}, nil)
	wantKind(t, err, source.Limited)
	wantKind(t, <-victim, source.Limited) // it runs until its own deadline, in a new child
}

func TestDeadChildIsAnError(t *testing.T) {
	c := newFake(t, Options{Limits: source.Limits{Rows: 1 << 30, Bytes: 1 << 40}})
	_, _, err := ask(t, c, "panic")
	wantKind(t, err, source.Failed)
	if _, _, err := ask(t, c, "rows 1"); err != nil {
		t.Fatal(err)
	}
	begun, once := make(chan struct{}), sync.Once{}
	go func() {
		<-begun
		syscall.Kill(c.PID(), syscall.SIGKILL)
	}()
	sum, err := c.Query(t.Context(), source.Query{SQL: "rows 100000000"}, func([]any) error {
		once.Do(func() { close(begun) })
		return nil
	})
	wantKind(t, err, source.Failed)
	if sum.Rows == 0 {
		t.Fatal("no rows before the kill")
	}
	if _, _, err := ask(t, c, "rows 1"); err != nil {
		t.Fatal(err)
	}
}

func TestMemoryLimit(t *testing.T) {
	c := newFake(t, Options{Limits: source.Limits{Memory: 64 << 20, Time: 20 * time.Second}})
	_, _, err := ask(t, c, "eat")
	wantKind(t, err, source.Limited)
	if !strings.Contains(err.Error(), "64 MB") {
		t.Fatalf("error %q does not say how much", err)
	}
}

func TestConfinement(t *testing.T) {
	t.Setenv("FOOTNOTE_TEST_SECRET", "sesame")
	dir := t.TempDir()
	inside, outside, out := filepath.Join(dir, "data"), filepath.Join(t.TempDir(), "other"), t.TempDir()
	for _, p := range []string{inside, outside} {
		if err := os.WriteFile(p, []byte("contents"), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	c := newFake(t, Options{Read: []string{inside}, Write: []string{out}})
	rows, _, err := ask(t, c, "env")
	if err != nil || strings.Contains(rows[0][0].(string), "sesame") || strings.Contains(rows[0][0].(string), "PATH=") {
		t.Fatalf("environment of the child: %v, %v", rows, err)
	}
	st, err := c.Status(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	t.Log(st.Confinement)
	if _, _, err := ask(t, c, "print"); err != nil {
		t.Fatalf("printing to standard output: %v", err)
	}
	if st.Confinement.Seccomp {
		if rows, _, err := ask(t, c, "socket"); err != nil || !strings.Contains(rows[0][0].(string), "not permitted") {
			t.Fatalf("socket: %v, %v", rows, err)
		}
	}
	if st.Confinement.Landlock == 0 {
		t.Log("this kernel has no Landlock: the file checks below do not apply")
		return
	}
	if _, _, err := ask(t, c, "read "+inside); err != nil {
		t.Fatalf("its own file: %v", err)
	}
	if _, _, err := ask(t, c, "write "+filepath.Join(out, "x")); err != nil {
		t.Fatalf("its output directory: %v", err)
	}
	if _, _, err := ask(t, c, "write temporary"); err != nil {
		t.Fatalf("its own directory: %v", err)
	}
	for _, sql := range []string{
		"read " + outside, "read /etc/passwd", "read /proc/1/environ", "write " + inside, "write " + outside,
		"write " + dir + "/new",
	} {
		_, _, err := ask(t, c, sql)
		wantKind(t, err, source.Failed)
	}
}

func TestOpenErrorsAreClassified(t *testing.T) {
	c := New("fake", fakeConfig{Fail: "no such luck"}, Options{})
	defer c.Close()
	_, _, err := ask(t, c, "rows 1")
	if footnote.CodeOf(err) != footnote.DatabaseUnavailable || footnote.MessageOf(err) != "no such luck" {
		t.Fatalf("error %v", err)
	}
	d := New("missing", nil, Options{})
	defer d.Close()
	if _, _, err = ask(t, d, "rows 1"); err == nil {
		t.Fatal("an engine that does not exist was opened")
	}
}

func TestSchemaProbeAndCall(t *testing.T) {
	c := newFake(t, Options{})
	s, err := c.Schema(t.Context())
	if err != nil || len(s.Tables) != 1 || s.Version != "1" {
		t.Fatalf("schema %+v, %v", s, err)
	}
	if err := c.Probe(t.Context()); !errors.Is(err, source.ErrWritable) {
		t.Fatalf("probe: %v", err)
	}
	var got struct{ Method, Params string }
	if err := c.Call(t.Context(), "load", "p", &got); err != nil || got.Method != "load" || got.Params != "p" {
		t.Fatalf("call gave %+v, %v", got, err)
	}
}

func TestFilesAreWatched(t *testing.T) {
	file := filepath.Join(t.TempDir(), "db")
	put := func(text string) {
		if err := os.WriteFile(file+".new", []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		if err := os.Rename(file+".new", file); err != nil {
			t.Fatal(err)
		}
	}
	put("1")
	c := newFake(t, Options{
		Read: []string{file}, Stamp: func() (string, error) { return FileStamp(file) },
	})
	ask(t, c, "rows 1")
	first := c.PID()
	put("2")
	if _, _, err := ask(t, c, "read "+file); err != nil {
		t.Fatalf("after a replacement: %v", err)
	}
	if c.PID() == first {
		t.Fatal("a replaced file kept its child")
	}
	os.Remove(file)
	if _, _, err := ask(t, c, "rows 1"); footnote.CodeOf(err) != footnote.DatabaseUnavailable {
		t.Fatalf("after removal: %v", err)
	}
	put("3")
	if _, _, err := ask(t, c, "rows 1"); err != nil {
		t.Fatalf("after its return: %v", err)
	}
}

func TestIdleChildrenEnd(t *testing.T) {
	c := newFake(t, Options{Idle: 50 * time.Millisecond})
	ask(t, c, "rows 1")
	c.mu.Lock()
	p := c.cur
	c.mu.Unlock()
	select {
	case <-p.gone:
	case <-time.After(5 * time.Second):
		t.Fatal("an idle child stayed")
	}
	if _, err := os.Stat(p.temp); !os.IsNotExist(err) {
		t.Fatalf("its directory stayed: %v", err)
	}
	if _, _, err := ask(t, c, "rows 1"); err != nil {
		t.Fatal(err)
	}
}

func TestPoolEvictsAndWaits(t *testing.T) {
	pool := NewPool(2)
	o := Options{Pool: pool, Limits: source.Limits{Time: 10 * time.Second}}
	a, b, c := newFake(t, o), newFake(t, o), newFake(t, o)
	ask(t, a, "rows 1")
	ask(t, b, "rows 1")
	if _, _, err := ask(t, c, "rows 1"); err != nil || pool.Len() != 2 || a.PID() != 0 || b.PID() == 0 {
		t.Fatalf("the idlest was not the one to go: %v, %d children, pids %d %d", err, pool.Len(), a.PID(), b.PID())
	}
	// Both places are busy: a third query waits for a place until its own deadline.
	ctx, cancel := context.WithCancel(t.Context())
	done := make(chan struct{}, 2)
	for _, s := range []*Client{b, c} {
		go func() {
			s.Query(ctx, source.Query{SQL: "sleep"}, nil)
			done <- struct{}{}
		}()
	}
	for b.busyForTest() == 0 || c.busyForTest() == 0 {
		time.Sleep(time.Millisecond)
	}
	_, err := a.Query(t.Context(), source.Query{SQL: "rows 1", Limits: source.Limits{Time: 50 * time.Millisecond}}, nil)
	wantKind(t, err, source.Limited)
	time.AfterFunc(20*time.Millisecond, cancel)
	if _, _, err := ask(t, a, "rows 1"); err != nil {
		t.Fatalf("after a place became free: %v", err)
	}
	<-done
	<-done
}

func (c *Client) busyForTest() int {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.cur.mu.Lock()
	defer c.cur.mu.Unlock()
	return len(c.cur.calls)
}

func TestConcurrencyIsBounded(t *testing.T) {
	c := newFake(t, Options{Concurrency: 1, Limits: source.Limits{Time: 10 * time.Second}})
	ctx, cancel := context.WithCancel(t.Context())
	done := make(chan struct{})
	ask(t, c, "rows 1")
	go func() {
		c.Query(ctx, source.Query{SQL: "sleep"}, nil)
		close(done)
	}()
	for c.busyForTest() == 0 {
		time.Sleep(time.Millisecond)
	}
	_, err := c.Query(t.Context(), source.Query{SQL: "rows 1", Limits: source.Limits{Time: 30 * time.Millisecond}}, nil)
	wantKind(t, err, source.Limited)
	cancel()
	<-done
}

func TestClosedSource(t *testing.T) {
	c := newFake(t, Options{})
	ask(t, c, "rows 1")
	if err := c.Close(); err != nil {
		t.Fatal(err)
	}
	if err := c.Close(); err != nil {
		t.Fatal(err)
	}
	if _, _, err := ask(t, c, "rows 1"); err == nil {
		t.Fatal("a closed source answered")
	}
}

func FuzzFrames(f *testing.F) {
	row, _ := appendRow(nil, []any{nil, true, int64(-5), 2.5, "text"})
	f.Add(row)
	q, _ := encodeQuery(source.Query{
		SQL:    "SELECT 1",
		Args:   []any{"a"},
		Limits: source.DefaultLimits(),
	}, rowfilter.Conditions{"orders": "org = 'acme'"}, source.Hidden{{Table: "staff", Columns: []string{"salary"}}})
	f.Add(q)
	f.Fuzz(func(t *testing.T, b []byte) {
		if row, rest, err := takeRow(b); err == nil {
			again, err := appendRow(nil, row)
			if err != nil {
				t.Fatal(err)
			}
			back, _, err := takeRow(again)
			if err != nil || !reflect.DeepEqual(back, row) || len(rest) > len(b) {
				t.Fatalf("%#v came back as %#v, %v", row, back, err)
			}
		}
		decodeQuery(b)
	})
}

func BenchmarkOneRow(b *testing.B) {
	c := newFake(b, Options{})
	ask(b, c, "rows 1")
	for b.Loop() {
		if _, _, err := ask(b, c, "rows 1"); err != nil {
			b.Fatal(err)
		}
	}
}

func BenchmarkRows(b *testing.B) {
	c := newFake(b, Options{Limits: source.Limits{Rows: 1 << 30, Bytes: 1 << 40}})
	ask(b, c, "rows 1")
	for b.Loop() {
		if _, err := c.Query(b.Context(), source.Query{
			SQL: "rows 100000",
		}, func([]any) error { return nil }); err != nil {
			b.Fatal(err)
		}
	}
}

func TestFramesAreBounded(t *testing.T) {
	for _, head := range []string{"\xff\xff\xff\xff", "\x02\x00\x00\x00", "\x00\x00\x00\x00", "\x00\x00\x00\x04"} {
		r := bufio.NewReader(strings.NewReader(head + "R\x00\x00\x00\x01" + strings.Repeat("x", 100)))
		if f, err := readFrame(r); !errors.Is(err, errFrame) {
			t.Errorf("a frame of length %x gave %d bytes, %v", head, len(f.payload), err)
		}
	}
	for _, payload := range []string{
		"", "\x01", "\x01\x09", "\x01\x05\xff\xff\xff\xff\x0f", "\xff\xff\x7f", "\x01\x04\x00", "\x02\x00",
	} {
		if row, _, err := takeRow([]byte(payload)); err == nil {
			t.Errorf("row %q was read as %v", payload, row)
		}
	}
}
