package cache_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/footnotehq/footnote"
	"github.com/footnotehq/footnote/internal/redistest"
	"github.com/footnotehq/footnote/tool"
	"github.com/footnotehq/footnote/tool/cache"
)

// fake is a tool that counts its calls. Its output names the caller and the input.
type fake struct {
	name   string
	calls  atomic.Int64
	answer func(ctx context.Context, call tool.Call, n int64) (tool.Output, error)
}

func (f *fake) Spec() tool.Spec {
	return tool.Spec{Name: f.name, InputSchema: json.RawMessage(`{"type":"object"}`), ReadOnly: true}
}

func (f *fake) Call(ctx context.Context, call tool.Call) (tool.Output, error) {
	n := f.calls.Add(1)
	if f.answer != nil {
		return f.answer(ctx, call, n)
	}
	return rows(call, fmt.Sprintf("%s/%s: %s #%d", call.Principal.Org, call.Principal.User, call.Input, n)), nil
}

func rows(call tool.Call, text string) tool.Output {
	return tool.Output{
		Content: `{"result":"` + call.ResultID + `","note":"result ` + call.ResultID + ` has them all"}`,
		Rows: &footnote.Result{Columns: []footnote.Column{
			{
				Name: "t",
				Kind: footnote.KindText,
			},
			{Name: "n", Kind: footnote.KindInteger},
			{Name: "f", Kind: footnote.KindNumber},
		},
			Rows: [][]any{{text, int64(1)<<53 + 1, 0.1}, {nil, int64(-1), 2.0}}},
		Source: "shop", SQL: "SELECT t, n, f FROM x",
	}
}

// rig is a cache under test with its dependencies.
type rig struct {
	*cache.Cache
	now      atomic.Int64
	versions sync.Map // of sources, by name
	counted  sync.Map // outcome → *atomic.Int64
}

func (w *rig) CacheLooked(_, outcome string) { w.count(outcome) }
func (w *rig) CacheFailed(what string)       { w.count("failed " + what) }

func (w *rig) count(what string) {
	n, _ := w.counted.LoadOrStore(what, new(atomic.Int64))
	n.(*atomic.Int64).Add(1)
}

func (w *rig) counts(what string) int64 {
	n, ok := w.counted.Load(what)
	if !ok {
		return 0
	}
	return n.(*atomic.Int64).Load()
}

func (w *rig) source(_ context.Context, name string) (cache.Source, error) {
	v, ok := w.versions.Load(name)
	if !ok {
		return cache.Source{}, errors.New("away")
	}
	return cache.Source{Name: name, Address: "sqlite:" + name, Version: v.(string)}, nil
}

func newRig(t testing.TB, b cache.Backend) *rig {
	w := &rig{}
	w.now.Store(time.Date(2026, 11, 21, 12, 0, 0, 0, time.UTC).UnixNano())
	w.versions.Store("shop", "1")
	w.versions.Store("other", "1")
	w.Cache = cache.New(cache.Options{
		Backend: b, Sources: w.source, Scope: cache.RolesAndAttributes, Metrics: w,
		Now: func() time.Time { return time.Unix(0, w.now.Load()) },
	})
	t.Cleanup(func() {
		if err := w.Close(); err != nil {
			t.Error(err)
		}
	})
	return w
}

func memory(t testing.TB) *cache.Memory {
	m, err := cache.NewMemory(8<<20, 1000)
	if err != nil {
		t.Fatal(err)
	}
	return m
}

func inRedis(t testing.TB, s *redistest.Server, o cache.RedisOptions) *cache.Redis {
	if o.Time == 0 {
		o.Time = 30 * time.Second // for a busy machine
	}
	r, err := cache.OpenRedis(s.URL(), o)
	if err != nil {
		t.Fatal(err)
	}
	return r
}

// backends runs a test with both backends.
func backends(t *testing.T, f func(t *testing.T, b cache.Backend)) {
	t.Run("memory", func(t *testing.T) { f(t, memory(t)) })
	t.Run("redis", func(t *testing.T) { f(t, inRedis(t, redistest.New(t), cache.RedisOptions{})) })
}

var rule = cache.Rule{TTL: 5 * time.Minute, Config: "c", Remarks: []string{"thought"}}

// ask returns a call by a user of an org.
func ask(input string) tool.Call {
	return tool.Call{ID: "call", Name: "run_query", Input: json.RawMessage(input), ResultID: "r3", Conversation: "c1",
		Principal: footnote.Principal{Org: "acme", User: "ann"}, Sources: []string{"shop"}}
}

func mustCall(t testing.TB, tool tool.Tool, call tool.Call) tool.Output {
	t.Helper()
	out, err := tool.Call(t.Context(), call)
	if err != nil {
		t.Fatal(err)
	}
	return out
}

func TestHit(t *testing.T) {
	backends(t, func(t *testing.T, b cache.Backend) {
		w, f := newRig(t, b), &fake{name: "run_query"}
		tool := w.Tool(f, rule)
		began := time.Unix(0, w.now.Load()).UTC()
		first := mustCall(t, tool, ask(`{"sql":"x","thought":"one"}`))
		if first.CacheHit || first.Content != `{"result":"r3","note":"result r3 has them all"}` {
			t.Fatalf("first: %+v", first)
		}
		w.now.Add(int64(2 * time.Minute))
		again := ask(` {"thought":"two", "sql" : "\u0078"}`)
		again.ResultID, again.Conversation, again.Principal.User = "r17", "c2", "bob"
		hit := mustCall(t, tool, again)
		if !hit.CacheHit || !hit.RanAt.Equal(began) || hit.SQL != first.SQL || hit.Source != "shop" ||
			f.calls.Load() != 1 {
			t.Fatalf("hit: %+v, after %d calls", hit, f.calls.Load())
		}
		if hit.Content != `{"result":"r17","note":"result r17 has them all"}` {
			t.Fatalf("content: %s", hit.Content)
		}
		if got, want := fmt.Sprintf("%#v", *hit.Rows), fmt.Sprintf("%#v", *first.Rows); got != want {
			t.Fatalf("rows\n%s\nwant\n%s", got, want)
		}
		hit.Rows.Rows[0][0] = "changed" // hooks may do this: the rows belong to this call
		if third := mustCall(t, tool, again); third.Rows.Rows[0][0] == "changed" {
			t.Fatal("calls share their rows")
		}
		w.now.Add(int64(3 * time.Minute))
		if late := mustCall(t, tool, again); late.CacheHit {
			t.Fatal("a hit after the time to live")
		}
		if w.counts("hit") != 2 || w.counts("miss") != 2 {
			t.Fatalf("%d hits, %d misses", w.counts("hit"), w.counts("miss"))
		}
	})
}

func TestOff(t *testing.T) {
	f := &fake{name: "run_query"}
	if tl := newRig(t, memory(t)).Tool(f, cache.Rule{}); tl != tool.Tool(f) {
		t.Fatal("a time to live of 0 is not off")
	}
}

// TestKeys lists calls that must not share a result with each other, and calls that have no key.
func TestKeys(t *testing.T) {
	type step struct {
		name string
		call func() tool.Call
	}
	with := func(name, input string, change func(c *tool.Call)) step {
		return step{name, func() tool.Call {
			c := ask(input)
			if change != nil {
				change(&c)
			}
			return c
		}}
	}
	as := func(p footnote.Principal) func(*tool.Call) { return func(c *tool.Call) { c.Principal = p } }
	steps := []step{
		with("plain", `{"sql":"x"}`, nil),
		with("another value", `{"sql":"y"}`, nil),
		with("another name", `{"sq":"lx"}`, nil),
		with("nested", `{"sql":"x","p":{"a":1}}`, nil),
		with("nested, another value", `{"sql":"x","p":{"a":2}}`, nil),
		with("nested, another name", `{"sql":"x","p":{"b":1}}`, nil),
		with("a list", `{"sql":"x","p":[1,2]}`, nil),
		with("a list in another order", `{"sql":"x","p":[2,1]}`, nil),
		with("a list as text", `{"sql":"x","p":"[1,2]"}`, nil),
		with("1", `{"n":1}`, nil),
		with("1.0", `{"n":1.0}`, nil),
		with("text 1", `{"n":"1"}`, nil),
		with("true", `{"n":true}`, nil),
		with("null", `{"n":null}`, nil),
		with("nothing", `{}`, nil),
		with("beyond float64", `{"n":9007199254740993}`, nil),
		with("beyond float64, one less", `{"n":9007199254740992}`, nil),
		with("composed", `{"sql":"é"}`, nil),
		with("decomposed", `{"sql":"e\u0301"}`, nil),
		with("remark below", `{"p":{"thought":"a"}}`, nil),
		with("remark below, other", `{"p":{"thought":"b"}}`, nil),
		with("members that look like others", `{"a":"1\",\"b\":\"2"}`, nil),
		with("the others", `{"a":"1","b":"2"}`, nil),
		with("another org", `{"sql":"x"}`, as(footnote.Principal{Org: "globex", User: "ann"})),
		with("org with a role in its name", `{"sql":"x"}`, as(footnote.Principal{Org: "acme\x05admin"})),
		with("a role", `{"sql":"x"}`, as(footnote.Principal{Org: "acme", Roles: []string{"admin"}})),
		with("two roles", `{"sql":"x"}`, as(footnote.Principal{Org: "acme", Roles: []string{"ad", "min"}})),
		with("an attribute", `{"sql":"x"}`,
			as(footnote.Principal{Org: "acme", Attributes: map[string]string{"region": "eu"}})),
		with("another region", `{"sql":"x"}`,
			as(footnote.Principal{Org: "acme", Attributes: map[string]string{"region": "us"}})),
		with("shifted attribute", `{"sql":"x"}`,
			as(footnote.Principal{Org: "acme", Attributes: map[string]string{"regione": "u"}})),
		with("attribute that looks like a role", `{"sql":"x"}`,
			as(footnote.Principal{Org: "acme", Attributes: map[string]string{"admin": ""}})),
		with("invalid UTF-8", `{"sql":"x"}`, as(footnote.Principal{Org: "acme\xff"})),
		with("other invalid UTF-8", `{"sql":"x"}`, as(footnote.Principal{Org: "acme\xfe"})),
		with("another source", `{"sql":"x"}`, func(c *tool.Call) { c.Sources = []string{"other"} }),
		with("two sources", `{"sql":"x"}`, func(c *tool.Call) { c.Sources = []string{"shop", "other"} }),
		with("two sources, the other first", `{"sql":"x"}`, func(c *tool.Call) {
			c.Sources = []string{"other", "shop"}
		}),
		with("one of two named", `{"sql":"x","source":"other"}`, func(c *tool.Call) {
			c.Sources = []string{"shop", "other"}
		}),
	}
	backends(t, func(t *testing.T, b cache.Backend) {
		w, f := newRig(t, b), &fake{name: "run_query"}
		tools := map[string]tool.Tool{"": w.Tool(f, rule)}
		for round, want := range []bool{false, true} {
			for _, s := range steps {
				if out := mustCall(t, tools[""], s.call()); out.CacheHit != want {
					t.Errorf("%s, round %d: hit is %v", s.name, round+1, out.CacheHit)
				}
			}
		}
		// The tool and its configuration are part of the key, too.
		other := rule
		other.Config = "d"
		if mustCall(t, w.Tool(f, other), ask(`{"sql":"x"}`)).CacheHit {
			t.Error("another configuration shares results")
		}
		if mustCall(t, w.Tool(&fake{name: "stats"}, rule), ask(`{"sql":"x"}`)).CacheHit {
			t.Error("another tool shares results")
		}
	})
}

// TestNoKey uses inputs that JSON readers interpret differently, and calls whose source is unavailable.
func TestNoKey(t *testing.T) {
	w, f := newRig(t, memory(t)), &fake{name: "run_query"}
	tl := w.Tool(f, rule)
	away := ask(`{"sql":"x"}`)
	away.Sources = []string{"shop", "gone"}
	calls := []tool.Call{away}
	for _, input := range []string{
		`{"sql":"x","sql":"y"}`, `{"sql":"x","SQL":"y"}`, `{"k":1,"\u212a":2}`, `{"p":{"a":1,"A":2}}`,
		"{\"sql\":\"\xff\"}", `{"sql":"\ud800"}`,
		`[1]`, `{"sql":"x"} {}`, `{"n":01}`, `{"sql":"` + strings.Repeat("x", 70_000) + `"}`,
		`{"p":` + strings.Repeat("[", 5000) + strings.Repeat("]", 5000) + `}`,
	} {
		calls = append(calls, ask(input))
	}
	for range 2 {
		for _, c := range calls {
			if out := mustCall(t, tl, c); out.CacheHit {
				t.Errorf("%.60s is cached", c.Input)
			}
		}
	}
	if got := w.counts("skipped"); got != int64(2*len(calls)) {
		t.Fatalf("%d skipped of %d", got, 2*len(calls))
	}
}

// TestWholePrincipal checks that without a scope, users never share results.
func TestWholePrincipal(t *testing.T) {
	c := cache.New(cache.Options{Backend: memory(t), Sources: newRig(t, memory(t)).source})
	defer c.Close()
	tool := c.Tool(&fake{name: "run_query"}, rule)
	mustCall(t, tool, ask(`{}`))
	bob := ask(`{}`)
	bob.Principal.User = "bob"
	if mustCall(t, tool, bob).CacheHit {
		t.Fatal("bob was served from ann's cache entry")
	}
	if !mustCall(t, tool, ask(`{}`)).CacheHit {
		t.Fatal("ann's call missed the cache")
	}
}

// TestNotCached returns outputs that must not answer other calls.
func TestNotCached(t *testing.T) {
	good := func(change func(*tool.Output)) func(context.Context, tool.Call, int64) (tool.Output, error) {
		return func(_ context.Context, call tool.Call, _ int64) (tool.Output, error) {
			out := rows(call, "x")
			change(&out)
			return out, nil
		}
	}
	for name, answer := range map[string]func(context.Context, tool.Call, int64) (tool.Output, error){
		"failed":    good(func(o *tool.Output) { o.IsError = true }),
		"fault":     good(func(o *tool.Output) { o.Fault = footnote.FaultLimited }),
		"no rows":   good(func(o *tool.Output) { o.Rows = nil }),
		"chart":     good(func(o *tool.Output) { o.Chart = json.RawMessage(`{}`) }),
		"the clock": good(func(o *tool.Output) { o.SQL = "SELECT count(*) FROM x WHERE d > date('NOW', '-1 day')" }),
		"chance":    good(func(o *tool.Output) { o.SQL = "SELECT x FROM t ORDER BY RANDOM() LIMIT 1" }),
		"too large": good(func(o *tool.Output) { o.Rows.Rows[0][0] = strings.Repeat("x", 9<<20) }),
		"error": func(context.Context, tool.Call, int64) (tool.Output, error) {
			return tool.Output{}, footnote.Errorf(footnote.DatabaseUnavailable, "away")
		},
	} {
		t.Run(name, func(t *testing.T) {
			w, f := newRig(t, memory(t)), &fake{name: "run_query", answer: answer}
			tool := w.Tool(f, rule)
			for range 2 {
				if out, _ := tool.Call(t.Context(), ask(`{}`)); out.CacheHit || strings.Contains(out.Content, `"rA`) {
					t.Fatalf("want no hit and no stored result: %+v", out)
				}
			}
			if f.calls.Load() != 2 {
				t.Fatalf("%d calls", f.calls.Load())
			}
		})
	}
}

// TestStale changes the data between calls, and during one.
func TestStale(t *testing.T) {
	backends(t, func(t *testing.T, b cache.Backend) {
		w, f := newRig(t, b), &fake{name: "run_query"}
		tl := w.Tool(f, rule)
		mustCall(t, tl, ask(`{}`))
		w.versions.Store("shop", "2")
		if mustCall(t, tl, ask(`{}`)).CacheHit {
			t.Fatal("rows of old data")
		}
		f.answer = func(_ context.Context, call tool.Call, n int64) (tool.Output, error) {
			w.versions.Store("shop", fmt.Sprint("during ", n))
			return rows(call, "x"), nil
		}
		mustCall(t, tl, ask(`{"n":1}`))
		w.versions.Store("shop", "2") // the version from before the change
		if mustCall(t, tl, ask(`{"n":1}`)).CacheHit {
			t.Fatal("rows of data that changed while they were read")
		}
	})
}

// TestSingleFlight checks that calls waiting for a running one share its rows.
func TestSingleFlight(t *testing.T) {
	w := newRig(t, memory(t))
	running, release := make(chan struct{}), make(chan struct{})
	f := &fake{name: "run_query", answer: func(_ context.Context, call tool.Call, _ int64) (tool.Output, error) {
		close(running) // a second call would panic here
		<-release
		return rows(call, "x"), nil
	}}
	tl := w.Tool(f, rule)
	const callers = 20
	var wg sync.WaitGroup
	wg.Go(func() { mustCall(t, tl, ask(`{}`)) })
	<-running
	outs := make([]tool.Output, callers)
	for i := range callers {
		wg.Go(func() {
			c := ask(`{}`)
			c.ResultID = fmt.Sprintf("r%d", i+100)
			outs[i] = mustCall(t, tl, c)
		})
	}
	gone, cancel := context.WithCancelCause(t.Context())
	cancel(errors.New("the user left"))
	if _, err := tl.Call(gone, ask(`{}`)); err == nil || err.Error() != "the user left" {
		t.Fatalf("a caller that left got %v", err)
	}
	close(release)
	wg.Wait()
	for i, out := range outs {
		if !out.CacheHit || !strings.Contains(out.Content, fmt.Sprintf(`"r%d"`, i+100)) {
			t.Errorf("caller %d: %+v", i, out)
		}
	}
	if f.calls.Load() != 1 || w.counts("shared")+w.counts("hit") != callers {
		t.Fatalf("%d calls, %d shared, %d hits", f.calls.Load(), w.counts("shared"), w.counts("hit"))
	}
}

// TestFailedLeader checks that callers waiting for a failed call make their own.
func TestFailedLeader(t *testing.T) {
	for name, broken := range map[string]func() (tool.Output, error){
		"error": func() (tool.Output, error) { return tool.Output{}, errors.New("canceled") },
		"panic": func() (tool.Output, error) { panic("bug") },
	} {
		t.Run(name, func(t *testing.T) {
			w := newRig(t, memory(t))
			running, release := make(chan struct{}), make(chan struct{})
			f := &fake{name: "run_query",
				answer: func(_ context.Context, call tool.Call, n int64) (tool.Output, error) {
					if n > 1 {
						return rows(call, "x"), nil
					}
					close(running)
					<-release
					return broken()
				}}
			tool := w.Tool(f, rule)
			var wg sync.WaitGroup
			wg.Go(func() {
				defer func() { _ = recover() }()
				_, _ = tool.Call(t.Context(), ask(`{}`))
			})
			<-running
			wg.Go(func() {
				if out, err := tool.Call(t.Context(), ask(`{}`)); err != nil || out.Rows == nil {
					t.Errorf("call after a failed leader: %+v, %v", out, err)
				}
			})
			close(release)
			wg.Wait()
			mustCall(t, tool, ask(`{}`))
		})
	}
}

// TestForget checks that a conversation's entries are deleted with it.
func TestForget(t *testing.T) {
	backends(t, func(t *testing.T, b cache.Backend) {
		w, f := newRig(t, b), &fake{name: "run_query"}
		tool := w.Tool(f, rule)
		other := ask(`{"n":2}`)
		other.Conversation = "c2"
		for range 2 {
			mustCall(t, tool, ask(`{"n":0}`))
			mustCall(t, tool, ask(`{"n":1}`))
			mustCall(t, tool, other)
		}
		if err := w.Forget(t.Context(), "c1"); err != nil {
			t.Fatal(err)
		}
		if mustCall(t, tool, ask(`{"n":0}`)).CacheHit || mustCall(t, tool, ask(`{"n":1}`)).CacheHit {
			t.Fatal("the rows of a deleted conversation are there")
		}
		if !mustCall(t, tool, other).CacheHit {
			t.Fatal("another conversation's entry was deleted too")
		}
	})
}
