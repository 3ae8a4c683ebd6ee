package audit_test

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"iter"
	"os"
	"path/filepath"
	"reflect"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/footnotehq/footnote"
	"github.com/footnotehq/footnote/audit"
	"github.com/footnotehq/footnote/store"
	"github.com/footnotehq/footnote/store/sqlite"
	"github.com/footnotehq/footnote/store/sqlite/sqlitetest"
)

// sink keeps lines in memory and can refuse them.
type sink struct {
	mu    sync.Mutex // guards below
	buf   bytes.Buffer
	err   error
	tries int
}

func (s *sink) Write(lines []byte) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.tries++
	if s.err != nil {
		return s.err
	}
	s.buf.Write(lines)
	return nil
}

func (s *sink) fail(err error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.err = err
}

func (s *sink) text() string {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.buf.String()
}

// runs lists the ids of the runs a text has lines for. Every line must be JSON.
func runs(t *testing.T, text string) (ids []string) {
	t.Helper()
	for line := range strings.Lines(text) {
		var e audit.Entry
		if err := json.Unmarshal([]byte(line), &e); err != nil {
			t.Errorf("line %q: %v", line, err)
		}
		ids = append(ids, e.RunID)
	}
	return ids
}

// question returns the events of a run as the loop writes them.
func question(text, answer, thought string) []footnote.Body {
	input, _ := json.Marshal(map[string]string{
		"sql":     "select a, n from orders o join \"Line Items\" l on true",
		"thought": thought,
	})
	block, _ := json.Marshal(map[string]any{
		"type": "tool_use", "id": "toolu_1", "name": "run_query", "input": json.RawMessage(input),
	})
	return []footnote.Body{
		footnote.UserMessage{Text: text},
		footnote.RunStarted{Protocol: "openai", RequestID: "req_1"},
		footnote.AssistantMessage{Step: 1, Model: "claude", Blocks: []json.RawMessage{block}, StopReason: "tool_use"},
		footnote.ToolResult{CallID: "toolu_1", Name: "run_query", Content: "…", Millis: 7,
			Result: &footnote.StoredResult{
				ID: "r1", SQL: `select a, n from orders o join "Line Items" l on true`, RowCount: 3,
				Columns: []footnote.Column{{Name: "a"}, {Name: "n", Kind: footnote.KindInteger}}},
			Statements: []footnote.Statement{{SQL: `select a, n from orders o join "Line Items" l on true`,
				Source: "shop", Outcome: footnote.StatementExecuted,
				Tables: []string{"orders", "Line Items"}, Columns: []string{"a", "n"}, RowCount: 3}}},
		footnote.Answered{Text: answer, Unresolved: []footnote.Unresolved{{Text: "7"}}},
		footnote.RunFinished{
			Reason: "end_turn", Steps: 2, Usage: footnote.Usage{Input: 100, CacheRead: 20, Output: 30},
			Cost: footnote.Cost{MicroUSD: 1500}, Millis: 2500,
		},
	}
}

// put appends a run to a new conversation.
func put(t *testing.T, log store.Store, run string, bodies ...footnote.Body) {
	t.Helper()
	_, err := log.CreateAppend(t.Context(), footnote.Stream{
		ID: "conv_" + run, Kind: "conversation", Org: "acme", User: "alice",
	}, footnote.Append{Run: run, Bodies: bodies})
	if err != nil {
		t.Fatal(err)
	}
}

func follow(t *testing.T, opts audit.Options) *audit.Audit {
	t.Helper()
	a, err := audit.New(opts)
	if err != nil {
		t.Fatal(err)
	}
	return a
}

// once lets an audit write all lines and stop, as a process that ends does. It has plenty of time, because the machine
// may be busy.
func once(t *testing.T, opts audit.Options) {
	t.Helper()
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	follow(t, opts).Run(ctx, 5*time.Minute)
}

func TestLineHasAllFields(t *testing.T) {
	log, out := sqlitetest.New(t), &sink{}
	put(t, log, "run_1", question("How many?", "42 <b>", "because")...)
	once(t, audit.Options{Log: log, Sinks: map[string]audit.Sink{"x": out}})
	var got map[string]any
	if err := json.Unmarshal([]byte(out.text()), &got); err != nil {
		t.Fatal(err)
	}
	at, err := time.Parse(time.RFC3339Nano, fmt.Sprint(got["timestamp"]))
	if err != nil || time.Since(at) > time.Minute {
		t.Errorf("timestamp = %v", got["timestamp"])
	}
	delete(got, "timestamp")
	want := map[string]any{
		"type": "audit", "session_id": "conv_run_1", "run_id": "run_1", "org": "acme", "user": "alice",
		"door": "openai", "request_id": "req_1", "outcome": "finished",
		"user_question":        "How many?",
		"sql_queries_executed": []any{`select a, n from orders o join "Line Items" l on true`},
		"query_results_summary": []any{map[string]any{
			"table": "orders, Line Items", "row_count": 3.0, "columns": []any{"a", "n"}, "outcome": "executed",
			"source": "shop"}},
		"final_response":      "42 <b>",
		"unresolved_numerals": []any{"7"},
		"metadata": map[string]any{"model": "claude", "prompt_tokens": 120.0, "completion_tokens": 30.0,
			"cost_estimate_usd": 0.0015,
			"duration_seconds":  2.5, "tool_call_count": 1.0},
	}
	if !reflect.DeepEqual(got, want) {
		t.Errorf("got  %v\nwant %v", got, want)
	}
}

func TestRunsThatDidNotFinish(t *testing.T) {
	log, out := sqlitetest.New(t), &sink{}
	put(t, log, "run_f", footnote.UserMessage{
		Text: "q",
	}, footnote.RunStarted{Protocol: "d"}, footnote.RunFailed{Code: footnote.AgentTimeout, Message: "slow"})
	put(t, log, "run_s", footnote.UserMessage{
		Text: "q",
	}, footnote.RunStarted{Protocol: "d"}, footnote.RunStopped{By: "user"})
	put(t, log, "run_p", footnote.UserMessage{
		Text: "q",
	}, footnote.RunStarted{Protocol: "d"}, footnote.RunParked{Calls: []string{"a"}})
	once(t, audit.Options{Log: log, Sinks: map[string]audit.Sink{"x": out}})
	lines := strings.Split(strings.TrimSpace(out.text()), "\n")
	if len(lines) != 2 || !strings.Contains(lines[0], `"outcome":"failed","error":"agent_timeout"`) ||
		!strings.Contains(lines[1], `"outcome":"stopped","error":"user"`) {
		t.Errorf("lines = %s", lines)
	}
	for _, line := range lines {
		if !strings.Contains(line, `"sql_queries_executed":[],"query_results_summary":[]`) {
			t.Errorf("lists that are empty must be lists: %s", line)
		}
	}
}

func TestTextAndModelOfInterruptedRuns(t *testing.T) {
	said := func(text string) footnote.Body {
		block, _ := json.Marshal(map[string]string{"type": "text", "text": text})
		return footnote.AssistantMessage{Model: "served", Blocks: []json.RawMessage{block}, StopReason: "tool_use"}
	}
	opened := footnote.Opened{Assistant: "analyst", Model: "claude"}
	stopped := footnote.RunStopped{By: "user"}
	for _, tc := range []struct {
		name, response, model string
		bodies                []footnote.Body
	}{
		{
			"stopped while it spoke", "There are", "claude", []footnote.Body{
				opened, footnote.UserMessage{Text: "q"}, footnote.StepFailed{Partial: "There are"}, stopped,
			},
		},
		{"stopped before it spoke", "", "claude", []footnote.Body{opened, footnote.UserMessage{Text: "q"}, stopped}},
		{
			"stopped in a tool", "I look.", "served", []footnote.Body{
				opened, footnote.UserMessage{Text: "q"}, said("I look."), stopped,
			},
		},
		{
			"stopped after a tool", "I look.\n\nThere", "served", []footnote.Body{
				opened, footnote.UserMessage{
					Text: "q",
				}, said("I look."), footnote.StepFailed{Partial: "There"}, stopped,
			},
		},
		{
			"killed while it spoke", "I look.", "served", []footnote.Body{
				opened, footnote.UserMessage{Text: "q"}, said("I look."), footnote.RunStopped{By: "interrupted"},
			},
		},
		{
			"tried again", "There\n\n42", "served", []footnote.Body{
				opened, footnote.UserMessage{
					Text: "q",
				}, footnote.StepFailed{
					Partial: "There",
				}, said("42"), footnote.Answered{Text: "42"}, footnote.RunFinished{},
			},
		},
		{
			"answered at a limit", "I look.\n\nAs far as I got: 42", "served", []footnote.Body{
				opened, footnote.UserMessage{
					Text: "q",
				}, said("I look."), footnote.Answered{Text: "As far as I got: 42"}, footnote.RunFinished{},
			},
		},
		{
			"answered with nothing", "x", "served", []footnote.Body{
				opened, footnote.UserMessage{Text: "q"}, said("x"), footnote.Answered{}, footnote.RunFinished{},
			},
		},
	} {
		log, out := sqlitetest.New(t), &sink{}
		put(t, log, "run_1", tc.bodies...)
		once(t, audit.Options{Log: log, Sinks: map[string]audit.Sink{"x": out}})
		var e audit.Entry
		_, finished := tc.bodies[len(tc.bodies)-1].(footnote.RunFinished)
		if err := json.Unmarshal([]byte(out.text()), &e); err != nil || e.Incomplete == finished ||
			e.Response != tc.response || e.Metadata.Model != tc.model {
			t.Errorf("%s: response %q (incomplete: %v), model %q, %v; want %q, %q", tc.name, e.Response, e.Incomplete,
				e.Metadata.Model, err, tc.response, tc.model)
		}
	}
}

// TestModelOfALaterRun checks that a run that ended before its model answered is described with the model that its
// conversation was opened with.
func TestModelOfALaterRun(t *testing.T) {
	log, out := sqlitetest.New(t), &sink{}
	put(t, log, "run_1", append([]footnote.Body{footnote.Opened{Model: "claude"}}, question("q", "a", "t")...)...)
	head, err := log.Get(t.Context(), "conv_run_1")
	if err != nil {
		t.Fatal(err)
	}
	if _, err := log.Append(t.Context(),
		footnote.Append{Stream: head.ID, Run: "run_2", After: head.Last, Bodies: []footnote.Body{
			footnote.UserMessage{Text: "q"}, footnote.RunFailed{Code: footnote.AgentTimeout}}}); err != nil {
		t.Fatal(err)
	}
	once(t, audit.Options{Log: log, Sinks: map[string]audit.Sink{"x": out}})
	if lines := strings.Split(strings.TrimSpace(out.text()), "\n"); len(lines) != 2 ||
		!strings.Contains(lines[1], `"model":"claude"`) {
		t.Errorf("lines = %s", lines)
	}
}

func TestVerboseListsCalls(t *testing.T) {
	for _, verbose := range []bool{false, true} {
		log, out := sqlitetest.New(t), &sink{}
		put(t, log, "run_1", question("q", "a", "because")...)
		once(t, audit.Options{Log: log, Sinks: map[string]audit.Sink{"x": out}, Verbose: verbose})
		want := `"tool_calls":[{"name":"run_query","thought":"because","millis":7,"input":"{\"sql\":\"select a, n ` +
			`from orders o join \\\"Line Items\\\" l on true\",\"thought\":\"because\"}","output":"…"}]`
		if got := strings.Contains(out.text(), want); got != verbose {
			t.Errorf("verbose %t: %s", verbose, out.text())
		}
	}
}

func TestSearchesAreNotStatements(t *testing.T) {
	block := json.RawMessage(`{"type":"tool_use","id":"a","name":"search_docs","input":{"query":"refund rules"}}`)
	e := audit.Describe([]footnote.Event{
		{Body: footnote.AssistantMessage{Blocks: []json.RawMessage{block}}},
		{Body: footnote.ToolResult{CallID: "a", Name: "search_docs"}},
	}, false)
	if len(e.Queries) != 0 || e.Metadata.ToolCallCount != 1 {
		t.Errorf("queries %q, %d calls", e.Queries, e.Metadata.ToolCallCount)
	}
}

func TestSecretsAreNotWritten(t *testing.T) {
	secrets := []string{"sk-secret", "sk-secret-and-longer", `pa"ss\wo<rd>&é`, "12345", ""}
	inJSON, _ := json.Marshal(map[string]string{"key": secrets[2]})
	twice, _ := json.Marshal(string(inJSON))
	for _, text := range append(secrets, string(inJSON), string(twice)) {
		log, out := sqlitetest.New(t), &sink{}
		bodies := question("q "+text, "a "+text, "t "+text)
		bodies[3] = footnote.ToolResult{CallID: "toolu_1", Name: "run_query",
			Content: strings.Repeat("x", 16<<10-5) + text,
			Result: &footnote.StoredResult{SQL: "select '" + text + "'", RowCount: 12345,
				Columns: []footnote.Column{{Name: text}}}}
		put(t, log, "run_1", bodies...)
		once(t, audit.Options{Log: log, Sinks: map[string]audit.Sink{"x": out}, Verbose: true, Secrets: secrets})
		var e audit.Entry
		if err := json.Unmarshal([]byte(out.text()), &e); err != nil {
			t.Fatalf("%v: %s", err, out.text())
		}
		if text != "" && !strings.Contains(e.Question, "***") {
			t.Errorf("%q: question %q", text, e.Question)
		}
		for _, part := range []string{"sk-secret", "and-longer", "ss\\wo", "wo<rd", "wo\\u003crd"} {
			for _, field := range append(append(e.Queries, e.Results[0].Columns...), e.Question, e.Response,
				e.Calls[0].Thought, e.Calls[0].Input, e.Calls[0].Output) {
				if strings.Contains(field, part) {
					t.Errorf("%q is written: %s", part, field)
				}
			}
		}
		if e.Results[0].RowCount != 12345 {
			t.Errorf("a number was taken for a secret: %d", e.Results[0].RowCount)
		}
	}
}

func TestFullSinkCatchesUp(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		log, full, other := sqlitetest.New(t), &sink{}, &sink{}
		full.fail(errors.New("no space left on device"))
		a := follow(t, audit.Options{Log: log, Sinks: map[string]audit.Sink{"full": full, "other": other}})
		ctx, cancel := context.WithCancel(t.Context())
		done := make(chan struct{})
		go func() { defer close(done); a.Run(ctx, time.Second) }()
		var want []string
		for i := range 3 {
			run := fmt.Sprintf("run_%d", i)
			want = append(want, run)
			put(t, log, run, question("q", "a", "t")...)
			a.Wake()
			time.Sleep(time.Second)
			synctest.Wait()
		}
		if got := runs(t, other.text()); !reflect.DeepEqual(got, want) {
			t.Errorf("a full sink holds up the other: %v", got)
		}
		if full.text() != "" || a.Lag() == 0 {
			t.Errorf("%q, lag %d", full.text(), a.Lag())
		}
		full.fail(nil)
		time.Sleep(2 * time.Second)
		synctest.Wait()
		if got := runs(t, full.text()); !reflect.DeepEqual(got, want) || a.Lag() != 0 {
			t.Errorf("caught up with %v, lag %d; want %v", got, a.Lag(), want)
		}
		cancel()
		<-done
	})
}

func TestRunsThatEndAtShutdownAreWritten(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		log, out := sqlitetest.New(t), &sink{}
		a := follow(t, audit.Options{Log: log, Sinks: map[string]audit.Sink{"x": out}, Poll: time.Hour})
		ctx, cancel := context.WithCancel(t.Context())
		done := make(chan struct{})
		go func() { defer close(done); a.Run(ctx, time.Second) }()
		synctest.Wait()
		put(t, log, "run_1", question("q", "a", "t")...)
		cancel()
		<-done
		if got := runs(t, out.text()); len(got) != 1 {
			t.Errorf("runs = %v", got)
		}
	})
}

type hanging chan struct{}

func (h hanging) Write([]byte) error { <-h; return nil }

func TestHangingSinkDoesNotDelayShutdown(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		log, stuck := sqlitetest.New(t), make(hanging)
		put(t, log, "run_1", question("q", "a", "t")...)
		a := follow(t, audit.Options{Log: log, Sinks: map[string]audit.Sink{"pipe": stuck}})
		ctx, cancel := context.WithCancel(t.Context())
		done := make(chan struct{})
		go func() { defer close(done); a.Run(ctx, 2*time.Second) }()
		synctest.Wait()
		begun := time.Now()
		cancel()
		<-done
		if took := time.Since(begun); took > 5*time.Second {
			t.Errorf("the end took %s", took)
		}
		close(stuck)
	})
}

// TestNoRunIsMissedAcrossRestarts checks that every run is written at least once across restarts and failures.
func TestNoRunIsMissedAcrossRestarts(t *testing.T) {
	dir := t.TempDir()
	path := filepath.Join(dir, "audit", "audit.jsonl")
	want := map[string]bool{}
	for restart := range 4 {
		log, err := sqlite.Open(t.Context(), filepath.Join(dir, "footnote.db"), sqlite.Options{})
		if err != nil {
			t.Fatal(err)
		}
		for i := range 5 {
			run := fmt.Sprintf("run_%d_%d", restart, i)
			want[run] = true
			put(t, log, run, question("q", "a", "t")...)
		}
		target := audit.File{Path: path}
		if restart == 1 {
			target.Path = filepath.Join(path, "not a folder") // this process cannot write
		}
		if restart == 2 { // and this one's last line was cut
			f, err := os.OpenFile(path, os.O_APPEND|os.O_WRONLY, 0)
			if err != nil {
				t.Fatal(err)
			}
			if _, err := f.WriteString(`{"type":"audit","ru`); err != nil {
				t.Fatal(err)
			}
			_ = f.Close()
		}
		once(t, audit.Options{Log: log, Sinks: map[string]audit.Sink{"file": target}})
		if err := log.Close(); err != nil {
			t.Fatal(err)
		}
	}
	data, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	text := strings.Replace(string(data), `{"type":"audit","ru`+"\n", "", 1) // the cut line stands alone
	for _, run := range runs(t, text) {
		if !want[run] {
			t.Errorf("%s is written twice or was never there", run)
		}
		delete(want, run)
	}
	if len(want) > 0 {
		t.Errorf("not written: %v", want)
	}
	if info, err := os.Stat(path); err != nil || info.Mode().Perm() != 0o600 {
		t.Errorf("the file's mode is %v, %v", info.Mode(), err)
	}
}

// deleting is a store whose conversation is deleted while the audit reads it.
type deleting struct{ store.Store }

func (d deleting) Tail(ctx context.Context, after int64, limit int) ([]store.Positioned, error) {
	batch, err := d.Store.Tail(ctx, after, limit)
	if len(batch) > 1 {
		return batch[len(batch)-1:], err // only its end, so that the rest must be read
	}
	return batch, err
}

func TestDeletedConversationIsSkipped(t *testing.T) {
	log, out := sqlitetest.New(t), &sink{}
	put(t, log, "run_gone", question("q", "a", "t")...)
	batch, err := log.Tail(t.Context(), 0, 100)
	if err != nil {
		t.Fatal(err)
	}
	put(t, log, "run_2", question("q", "a", "t")...)
	if err := log.Delete(t.Context(), "conv_run_gone"); err != nil {
		t.Fatal(err)
	}
	once(t, audit.Options{Log: gone{deleting{log}, batch[len(batch)-1]}, Sinks: map[string]audit.Sink{"x": out}})
	if got := runs(t, out.text()); !reflect.DeepEqual(got, []string{"run_2"}) {
		t.Errorf("runs = %v, want run_2", got)
	}
}

// gone still returns the end of a run whose conversation has been deleted.
type gone struct {
	deleting
	end store.Positioned
}

func (g gone) Tail(ctx context.Context, after int64, limit int) ([]store.Positioned, error) {
	if after < g.end.Position {
		return []store.Positioned{g.end}, nil
	}
	return g.deleting.Tail(ctx, after, limit)
}

// reads counts how often a stream is read.
type reads struct {
	store.Store
	mu sync.Mutex // guards below
	n  int
}

func (r *reads) Events(ctx context.Context, stream string, after int64) iter.Seq2[footnote.Event, error] {
	r.mu.Lock()
	r.n++
	r.mu.Unlock()
	return r.Store.Events(ctx, stream, after)
}

// TestRunIsReadOnce checks that the audit writes a long run from the events it has in memory. It reads a parked run
// again, because it keeps none of its events.
func TestRunIsReadOnce(t *testing.T) {
	for _, c := range []struct {
		name string
		park bool
		want int
	}{{"it goes on", false, 0}, {"it is parked", true, 1}} {
		t.Run(c.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				log, out := &reads{Store: sqlitetest.New(t)}, &sink{}
				a := follow(t, audit.Options{Log: log, Sinks: map[string]audit.Sink{"x": out}})
				ctx, cancel := context.WithCancel(t.Context())
				done := make(chan struct{})
				go func() { a.Run(ctx, time.Second); close(done) }()
				bodies := question("How many?", "42", "")
				put(t, log, "run_1", bodies[:3]...)
				last := int64(3)
				if c.park {
					if _, err := log.Append(ctx, footnote.Append{
						Stream: "conv_run_1", After: last, Run: "run_1",
						Bodies: []footnote.Body{footnote.RunParked{}, footnote.RunResumed{}},
					}); err != nil {
						t.Fatal(err)
					}
					last += 2
				}
				time.Sleep(3 * time.Second) // fake: it is followed meanwhile
				if _, err := log.Append(ctx, footnote.Append{
					Stream: "conv_run_1", After: last, Run: "run_1", Bodies: bodies[3:],
				}); err != nil {
					t.Fatal(err)
				}
				time.Sleep(3 * time.Second)
				cancel()
				<-done
				var e audit.Entry
				if err := json.Unmarshal([]byte(out.text()), &e); err != nil || e.Question != "How many?" ||
					e.Metadata.ToolCallCount != 1 || len(e.Queries) != 1 {
					t.Errorf("%v: %s", err, out.text())
				}
				if log.n != c.want {
					t.Errorf("the stream was read %d times, want %d", log.n, c.want)
				}
			})
		})
	}
}
