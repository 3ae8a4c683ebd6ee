package usage_test

import (
	"context"
	"iter"
	"log/slog"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/footnotehq/footnote"
	"github.com/footnotehq/footnote/ledger/usage"
	"github.com/footnotehq/footnote/store"
	"github.com/footnotehq/footnote/store/sqlite/sqlitetest"
)

var ada = footnote.Principal{Org: "acme", User: "ada"}

func conversation(t *testing.T, s store.Store, id, user, tier string, bodies ...footnote.Body) {
	t.Helper()
	bodies = append([]footnote.Body{footnote.Opened{Assistant: "a", Tier: tier}, footnote.RunStarted{}}, bodies...)
	if _, err := s.CreateAppend(t.Context(), footnote.Stream{
		ID: id, Kind: "conversation", Org: "acme", User: user,
	}, footnote.Append{Run: "run_1", Bodies: bodies}); err != nil {
		t.Fatal(err)
	}
}

func message(in, out, micro int64) footnote.Body {
	return footnote.AssistantMessage{
		Usage: footnote.Usage{Input: in, Output: out},
		Cost:  footnote.Cost{MicroUSD: micro},
	}
}

func open(t *testing.T, s usage.Log, file string) *usage.Totals {
	t.Helper()
	totals, err := usage.Open(s, file)
	if err != nil {
		t.Fatal(err)
	}
	return totals
}

func days(t *testing.T, totals *usage.Totals, p footnote.Principal) []usage.Day {
	t.Helper()
	list, whole, err := totals.User(t.Context(), p)
	if err != nil || !whole {
		t.Fatal(whole, err)
	}
	return list
}

func TestUsageIsAddedUpByUserAndTier(t *testing.T) {
	s := sqlitetest.New(t)
	conversation(t, s, "c1", "ada", "", message(10, 5, 100), footnote.StepFailed{
		Usage: footnote.Usage{Input: 1},
		Cost:  footnote.Cost{MicroUSD: 1},
	},
		footnote.Titled{Title: "x", Usage: footnote.Usage{Output: 2}, Cost: footnote.Cost{MicroUSD: 2, Unpriced: true}},
		// The end of a run repeats the sum of its steps, which must not count twice.
		footnote.RunFinished{Usage: footnote.Usage{Input: 11, Output: 5}, Cost: footnote.Cost{MicroUSD: 101}})
	conversation(t, s, "c2", "ada", "pro", message(100, 50, 1000))
	conversation(t, s, "c3", "bob", "", message(7, 7, 7))
	totals := open(t, s, "")
	list := days(t, totals, ada)
	if len(list) != 2 || list[0].Usage.Input != 11 || list[0].Usage.Output != 7 ||
		list[0].Cost != (footnote.Cost{MicroUSD: 103, Unpriced: true}) ||
		list[1].Tier != "pro" || list[1].Usage.Input != 100 || list[0].Date != time.Now().UTC().Format(time.DateOnly) {
		t.Errorf("usage by tier: %+v", list)
	}
	if again := days(t, totals, ada); again[0] != list[0] {
		t.Errorf("asked again: %+v", again)
	}
	if got := days(t, totals, footnote.Principal{Org: "acme", User: "eve"}); len(got) != 0 {
		t.Errorf("eve: %+v", got)
	}
}

// TestUsageOutlivesItsConversation checks that deleting a conversation, and a restart after that, do not reduce the
// usage.
func TestUsageOutlivesItsConversation(t *testing.T) {
	s, file := sqlitetest.New(t), filepath.Join(t.TempDir(), "usage.json")
	conversation(t, s, "c1", "ada", "pro", message(10, 5, 100))
	totals := open(t, s, file)
	if err := totals.Settle(t.Context()); err != nil {
		t.Fatal(err)
	}
	if err := s.Delete(t.Context(), "c1"); err != nil {
		t.Fatal(err)
	}
	conversation(t, s, "c2", "ada", "pro", message(1, 1, 1))
	for name, totals := range map[string]*usage.Totals{"same": totals, "after a restart": open(t, s, file)} {
		if list := days(t, totals, ada); len(list) != 1 || list[0].Usage.Input != 11 || list[0].Cost.MicroUSD != 101 {
			t.Errorf("%s: %+v", name, list)
		}
	}
	// The tier of conversations from before the restart is known, too.
	if _, err := s.Append(t.Context(), footnote.Append{
		Stream: "c2", After: 3, Run: "run_1", Bodies: []footnote.Body{message(1, 1, 1)},
	}); err != nil {
		t.Fatal(err)
	}
	if list := days(t, open(t, s, file), ada); len(list) != 1 || list[0].Usage.Input != 12 {
		t.Errorf("later: %+v", list)
	}
}

// TestUsageFollowsTier checks that usage counts for the tier that a conversation has by then, also after a restart.
func TestUsageFollowsTier(t *testing.T) {
	s, file := sqlitetest.New(t), filepath.Join(t.TempDir(), "usage.json")
	conversation(t, s, "c1", "ada", "low", message(10, 0, 1), footnote.RunFinished{},
		footnote.RunStarted{Choice: &footnote.Choice{Model: "big", Tier: "pro"}, Weight: 5}, message(1, 0, 1))
	if err := open(t, s, file).Settle(t.Context()); err != nil {
		t.Fatal(err)
	}
	if _, err := s.Append(t.Context(), footnote.Append{
		Stream: "c1", After: 6, Run: "run_1", Bodies: []footnote.Body{message(1, 0, 1)},
	}); err != nil {
		t.Fatal(err)
	}
	list := days(t, open(t, s, file), ada)
	if len(list) != 2 || list[0].Tier != "low" || list[0].Usage.Input != 10 || list[1].Tier != "pro" ||
		list[1].Usage.Input != 2 {
		t.Errorf("usage by tier: %+v", list)
	}
	runs, _, err := open(t, s, file).Runs(t.Context(), "acme")
	if err != nil || len(runs) != 2 || runs[0].Weight != 5 || runs[1].Weight != 0 {
		t.Errorf("runs: %+v, %v", runs, err)
	}
}

func TestDamagedFileIsReported(t *testing.T) {
	file := filepath.Join(t.TempDir(), "usage.json")
	if err := os.WriteFile(file, []byte("{"), 0o600); err != nil {
		t.Fatal(err)
	}
	if _, err := usage.Open(sqlitetest.New(t), file); err == nil {
		t.Error("it starts over")
	}
	if err := os.Truncate(file, 256<<20+1); err != nil {
		t.Fatal(err)
	}
	if _, err := usage.Open(sqlitetest.New(t), file); err == nil || !strings.Contains(err.Error(), "larger than") {
		t.Errorf("a file that is too large: %v", err)
	}
}

// TestQueriesWriteNothing checks that a query does not write the file, which may be large.
func TestQueriesWriteNothing(t *testing.T) {
	s, file := sqlitetest.New(t), filepath.Join(t.TempDir(), "usage.json")
	conversation(t, s, "c1", "ada", "", message(10, 5, 100))
	totals := open(t, s, file)
	if list := days(t, totals, ada); len(list) != 1 {
		t.Fatal(list)
	}
	if _, err := os.Stat(file); !os.IsNotExist(err) {
		t.Error("the file was written:", err)
	}
	if err := totals.Settle(t.Context()); err != nil {
		t.Fatal(err)
	}
	if _, err := os.Stat(file); err != nil {
		t.Error("settled usage is missing from the file:", err)
	}
}

func TestLogErrorIsReturned(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	s := sqlitetest.New(t)
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	defer cancel()
	if _, _, err := open(t, s, "").User(ctx, ada); err == nil {
		t.Error("no error")
	}
}

// TestQuestionsByUser counts questions, answers and cache hits by user and day, and lists the runs of an organisation.
func TestQuestionsByUser(t *testing.T) {
	s := sqlitetest.New(t)
	file := filepath.Join(t.TempDir(), "usage.json")
	if _, err := s.CreateAppend(t.Context(), footnote.Stream{
		ID: "c1", Kind: "conversation", Org: "acme", User: "ada",
	}, footnote.Append{Run: "run_1", Bodies: []footnote.Body{
		footnote.Opened{
			Assistant: "a",
		}, footnote.UserMessage{Text: "How many?"}, footnote.RunStarted{}, message(10, 5, 100),
		footnote.ToolResult{
			CallID:   "1",
			By:       "server",
			CacheHit: true,
		}, footnote.ToolResult{CallID: "2", By: "server"}, footnote.ToolResult{CallID: "3", By: "client"},
		footnote.UserMessage{Context: "Please answer now."},
		footnote.RunFailed{
			Code: footnote.AgentTimeout, Usage: footnote.Usage{Input: 10, Output: 5},
			Cost: footnote.Cost{MicroUSD: 100}, Millis: 7,
		},
	}}); err != nil {
		t.Fatal(err)
	}
	conversation(t, s, "c2", "bob", "", message(1, 1, 1))
	totals := open(t, s, file)
	users, _, err := totals.Org(t.Context(), "acme")
	if err != nil || len(users) != 2 || len(users["ada"]) != 1 ||
		users["ada"][0].Counts != (usage.Counts{Questions: 1, Runs: 1, Failed: 1, Calls: 2, Hits: 1}) ||
		users["ada"][0].Usage.Input != 10 {
		t.Errorf("usage by user: %+v, %v", users, err)
	}
	if other, _, err := totals.Org(t.Context(), "acm"); err != nil || len(other) != 0 {
		t.Errorf("another organisation: %v, %v", other, err)
	}
	if err := totals.Settle(t.Context()); err != nil {
		t.Fatal(err)
	}
	runs, _, err := open(t, s, file).Runs(t.Context(), "acme") // as stored in the file
	if err != nil || len(runs) != 2 || runs[0].User != "bob" || runs[0].Outcome != "" || runs[0].Question != 0 ||
		runs[1].Question != 2 || runs[1].Outcome != "failed" ||
		runs[1].Code != footnote.AgentTimeout || runs[1].Usage.Input != 10 || runs[1].Millis != 7 ||
		runs[1].Conversation != "c1" {
		t.Errorf("runs: %+v, %v", runs, err)
	}
}

// failingLog is a log that fails to return the tier of a conversation.
type failingLog struct {
	usage.Log
	fails bool
}

func (f *failingLog) Events(ctx context.Context, stream string, after int64) iter.Seq2[footnote.Event, error] {
	if f.fails {
		return func(yield func(footnote.Event, error) bool) {
			yield(footnote.Event{}, footnote.Errorf(footnote.StorageUnavailable, "The store is unavailable."))
		}
	}
	return f.Log.Events(ctx, stream, after)
}

// TestRunIsListedOnce checks that an event that failed to be counted, and is read again, is counted once.
func TestRunIsListedOnce(t *testing.T) {
	s, file := sqlitetest.New(t), filepath.Join(t.TempDir(), "usage.json")
	if _, err := s.CreateAppend(t.Context(), footnote.Stream{
		ID: "c1", Kind: "conversation", Org: "acme", User: "ada",
	}, footnote.Append{Run: "run_1", Bodies: []footnote.Body{footnote.Opened{Assistant: "a"}}}); err != nil {
		t.Fatal(err)
	}
	if err := open(t, s, file).Settle(t.Context()); err != nil {
		t.Fatal(err)
	}
	if _, err := s.Append(t.Context(), footnote.Append{
		Stream: "c1", After: 1, Run: "run_1", Bodies: []footnote.Body{footnote.RunStarted{}},
	}); err != nil {
		t.Fatal(err)
	}
	log := &failingLog{s, true}
	totals := open(t, log, file)
	for range 3 {
		if _, _, err := totals.Runs(t.Context(), "acme"); footnote.CodeOf(err) != footnote.StorageUnavailable {
			t.Fatalf("while the store is unavailable: %v", err)
		}
	}
	log.fails = false
	if runs, _, err := totals.Runs(t.Context(), "acme"); err != nil || len(runs) != 1 {
		t.Errorf("runs: %+v, %v", runs, err)
	}
}

// TestAnotherServerDeletes checks that a server that only follows knows the cost of conversations deleted by another
// server, also after a restart.
func TestAnotherServerDeletes(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s, file := sqlitetest.New(t), filepath.Join(t.TempDir(), "usage.json")
		ctx, cancel := context.WithCancel(t.Context())
		totals, done := open(t, s, file), make(chan struct{})
		go func() { defer close(done); totals.Follow(ctx, slog.New(slog.DiscardHandler)) }()
		conversation(t, s, "c1", "ada", "", message(10, 5, 100))
		time.Sleep(time.Minute)
		if err := s.Delete(t.Context(), "c1"); err != nil {
			t.Fatal(err)
		}
		cancel()
		<-done
		for name, totals := range map[string]*usage.Totals{"same": totals, "after a restart": open(t, s, file)} {
			if list := days(t, totals, ada); len(list) != 1 || list[0].Cost.MicroUSD != 100 {
				t.Errorf("%s: %+v", name, list)
			}
		}
	})
}

// slowLog is a log that takes long to return each page.
type slowLog struct {
	usage.Log
	reads int
}

func (l *slowLog) Tail(ctx context.Context, after int64, limit int) ([]footnote.Positioned, error) {
	l.reads++
	time.Sleep(400 * time.Millisecond) // in the bubble's time
	return l.Log.Tail(ctx, after, limit)
}

// TestLongLogDoesNotBlockQueries checks that a query waits only briefly, reports that there is more, and
// that the next query does not read anything twice. Settling before a deletion reads all of it.
func TestLongLogDoesNotBlockQueries(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := sqlitetest.New(t)
		many := make([]footnote.Body, 6_000)
		for i := range many {
			many[i] = message(1, 0, 1)
		}
		conversation(t, s, "c1", "ada", "", many...)
		log := &slowLog{Log: s}
		totals := open(t, log, "")
		begun := time.Now()
		list, whole, err := totals.User(t.Context(), ada)
		if err != nil || whole || len(list) != 1 || list[0].Usage.Input == 0 || list[0].Usage.Input == 6_000 ||
			time.Since(begun) > 2*time.Second {
			t.Fatalf("after %v: %+v, whole %v, %v", time.Since(begun), list, whole, err)
		}
		users, whole, err := totals.Org(t.Context(), "acme")
		if err != nil || whole || users["ada"][0].Usage.Input <= list[0].Usage.Input {
			t.Errorf("asked again: %+v, whole %v, %v", users, whole, err)
		}
		if runs, whole, err := totals.Runs(t.Context(), "acme"); err != nil || len(runs) != 1 || whole {
			t.Errorf("the runs: %+v, whole %v, %v", runs, whole, err)
		}
		if err := totals.Settle(t.Context()); err != nil {
			t.Fatal(err)
		}
		if list := days(t, totals, ada); list[0].Usage.Input != 6_000 {
			t.Errorf("in the end: %+v", list)
		}
		if most := len(many)/500 + 3; log.reads > most {
			t.Errorf("the log was read %d times", log.reads)
		}
	})
}
