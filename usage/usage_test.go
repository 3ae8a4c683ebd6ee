package usage_test

import (
	"context"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/footnotehq/footnote"
	"github.com/footnotehq/footnote/store"
	"github.com/footnotehq/footnote/usage"
)

var ada = footnote.Principal{Org: "acme", User: "ada"}

func conversation(t *testing.T, s store.Store, id, user, tier string, bodies ...footnote.Body) {
	t.Helper()
	bodies = append([]footnote.Body{footnote.Opened{Assistant: "a", Tier: tier}, footnote.RunStarted{}}, bodies...)
	if _, err := s.CreateAppend(t.Context(), footnote.Stream{ID: id, Kind: "conversation", Org: "acme", User: user}, footnote.Append{Run: "run_1", Bodies: bodies}); err != nil {
		t.Fatal(err)
	}
}

func message(in, out, micro int64) footnote.Body {
	return footnote.AssistantMessage{Usage: footnote.Usage{Input: in, Output: out}, Cost: footnote.Cost{MicroUSD: micro}}
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
	list, err := totals.User(t.Context(), p)
	if err != nil {
		t.Fatal(err)
	}
	return list
}

func TestUsageIsAddedUpByUserAndTier(t *testing.T) {
	s := store.NewMem()
	conversation(t, s, "c1", "ada", "", message(10, 5, 100), footnote.StepFailed{Usage: footnote.Usage{Input: 1}, Cost: footnote.Cost{MicroUSD: 1}},
		footnote.Titled{Title: "x", Usage: footnote.Usage{Output: 2}, Cost: footnote.Cost{MicroUSD: 2, Unpriced: true}},
		// The end of a run repeats the sum of its steps, which is not used again.
		footnote.RunFinished{Usage: footnote.Usage{Input: 11, Output: 5}, Cost: footnote.Cost{MicroUSD: 101}})
	conversation(t, s, "c2", "ada", "pro", message(100, 50, 1000))
	conversation(t, s, "c3", "bob", "", message(7, 7, 7))
	totals := open(t, s, "")
	list := days(t, totals, ada)
	if len(list) != 2 || list[0].Usage.Input != 11 || list[0].Usage.Output != 7 || list[0].Cost != (footnote.Cost{MicroUSD: 103, Unpriced: true}) ||
		list[1].Tier != "pro" || list[1].Usage.Input != 100 || list[0].Date != time.Now().UTC().Format(time.DateOnly) {
		t.Errorf("%+v", list)
	}
	if again := days(t, totals, ada); again[0] != list[0] {
		t.Errorf("asked again: %+v", again)
	}
	if got := days(t, totals, footnote.Principal{Org: "acme", User: "eve"}); len(got) != 0 {
		t.Errorf("eve: %+v", got)
	}
}

// TestUsageOutlivesItsConversation holds that deleting a conversation, and a
// restart after it, give nothing back.
func TestUsageOutlivesItsConversation(t *testing.T) {
	s, file := store.NewMem(), filepath.Join(t.TempDir(), "usage.json")
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
	// The tier is known of conversations that began before the restart, too.
	if _, err := s.Append(t.Context(), footnote.Append{Stream: "c2", After: 3, Run: "run_1", Bodies: []footnote.Body{message(1, 1, 1)}}); err != nil {
		t.Fatal(err)
	}
	if list := days(t, open(t, s, file), ada); len(list) != 1 || list[0].Usage.Input != 12 {
		t.Errorf("later: %+v", list)
	}
}

func TestADamagedFileIsSaid(t *testing.T) {
	file := filepath.Join(t.TempDir(), "usage.json")
	if err := os.WriteFile(file, []byte("{"), 0o600); err != nil {
		t.Fatal(err)
	}
	if _, err := usage.Open(store.NewMem(), file); err == nil {
		t.Error("it begins anew")
	}
	if err := os.Truncate(file, 256<<20+1); err != nil {
		t.Fatal(err)
	}
	if _, err := usage.Open(store.NewMem(), file); err == nil || !strings.Contains(err.Error(), "larger than") {
		t.Errorf("a file that is too large: %v", err)
	}
}

// TestAskingWritesNothing holds that looking at the usage, which comes before each
// model call where there is a limit, does not write the file: it may be large.
func TestAskingWritesNothing(t *testing.T) {
	s, file := store.NewMem(), filepath.Join(t.TempDir(), "usage.json")
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
		t.Error("what is settled is not in the file:", err)
	}
}

func TestAnErrorOfTheLogIsTheError(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	s := store.NewMem()
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	defer cancel()
	if _, err := open(t, s, "").User(ctx, ada); err == nil {
		t.Error("no error")
	}
}
