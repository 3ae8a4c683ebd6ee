package app

import (
	"context"
	"errors"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/footnotehq/footnote"
	"github.com/footnotehq/footnote/config"
	"github.com/footnotehq/footnote/internal/module"
	"github.com/footnotehq/footnote/internal/pgtest"
	"github.com/footnotehq/footnote/market"
	"github.com/footnotehq/footnote/market/install"
	"github.com/footnotehq/footnote/market/open"
	"github.com/footnotehq/footnote/model/modeltest"
	"github.com/footnotehq/footnote/store/inspect"
)

// forgetUser deletes the data of a user of acme, as the command does, and returns what was deleted.
func forgetUser(t *testing.T, c config.Config, user string) (string, error) {
	t.Helper()
	a, err := Open(t.Context(), c, Options{Modules: []module.Module{install.Module()}})
	if err != nil {
		t.Fatal(err)
	}
	gone, err := a.Forget(t.Context(), footnote.Principal{Org: "acme", User: user})
	if cerr := a.Close(t.Context()); cerr != nil {
		t.Error(cerr)
	}
	return gone, err
}

// TestForget checks that Forget deletes one user's data and nothing of anybody else's.
func TestForget(t *testing.T) {
	folder := t.TempDir()
	workspaces := filepath.Join(folder, "workspaces")
	people := []footnote.Principal{{Org: "acme", User: "ada"}, {Org: "acme", User: "bob"}}
	var asked string
	t.Run("use", func(t *testing.T) {
		g := newRig(t, folder, func(c *config.Config) { c.Workspace, c.Coder.Allow = workspaces, []string{"Write"} })
		asked = g.ask("How many orders are there?")
		var took taken
		g.call("POST", "/api/conversations", map[string]any{
			"assistant": "coder",
			"text":      "write hello to notes.txt",
		}, 202, &took)
		g.settle(took.Conversation)
		for _, key := range []string{adasKey, bobsKey} {
			r := g.upload("x.db", shopBytes(t))
			r.Header.Set("Authorization", "Bearer "+key)
			if w := g.do(r); w.Code != 201 {
				t.Fatal(w.Code, w.Body)
			}
		}
		g.as(bobsKey, "POST", "/api/conversations", in("text", "How many customers are there?"), 202)
		for _, key := range []string{adasKey, bobsKey} {
			for _, symbol := range []string{"EURUSD", "XAUUSD"} {
				g.as(key, "POST", "/api/drawings", in("drawing", in(
					"type", "horizontal_line", "symbol", symbol, "timeframe", "1h", "price", 1.1)), 200)
			}
		}
	})
	left := func(pattern string) int {
		t.Helper()
		files, err := filepath.Glob(filepath.Join(folder, pattern))
		if err != nil {
			t.Fatal(err)
		}
		return len(files)
	}
	if left("uploads/*/*/*") != 2 || left("workspaces/*") == 0 {
		t.Fatal("the test has left no files")
	}
	forget := func(want string) {
		t.Helper()
		c := config.Default()
		c.Data, c.Upstream, c.Model, c.Workspace = folder, config.Offline, "offline", workspaces
		if got, err := forgetUser(t, c, "ada"); err != nil || got != want {
			t.Fatal(got, err)
		}
	}
	forget("2 conversations, 1 upload, drawings on 2 charts")
	forget("0 conversations, 0 uploads, drawings on 0 charts")
	if left("uploads/*/*/*") != 1 || left("workspaces/*/notes.txt") != 0 {
		t.Errorf("%d uploads and %d files of workspaces are left", left("uploads/*/*/*"),
			left("workspaces/*/notes.txt"))
	}
	g := newRig(t, folder)
	g.call("GET", "/api/conversations/"+asked, nil, 404, nil)
	g.call("GET", "/api/results/"+asked+".r1", nil, 404, nil)
	want := map[string]int{"ada": 0, "bob": 3}
	for _, p := range people {
		heads, _, err := g.app.store.List(t.Context(), footnote.Page{Org: p.Org, User: p.User, Limit: 50})
		if err != nil || len(heads) != want[p.User] {
			t.Errorf("%s has %+v, %v", p.User, heads, err)
		}
	}
	events := 0
	for after := int64(0); ; {
		batch, err := g.app.store.Tail(t.Context(), after, 500)
		if err != nil {
			t.Fatal(err)
		}
		if len(batch) == 0 {
			break
		}
		for _, ev := range batch {
			events++
			if after = ev.Position; ev.Stream == asked {
				t.Errorf("an event of a conversation that was deleted: %+v", ev)
			}
		}
	}
	if events == 0 {
		t.Error("bob's events are gone, too")
	}
}

// TestForgetNewConversation checks that Forget also deletes a conversation that is created while it deletes drawings.
func TestForgetNewConversation(t *testing.T) {
	g := newRig(t, t.TempDir())
	create := func(id string) {
		if err := g.app.store.Create(t.Context(), footnote.Stream{
			ID: id, Kind: "conversation", Org: "acme", User: "ada",
		}); err != nil {
			t.Fatal(err)
		}
	}
	create("first")
	calls := 0
	g.app.modules = []*module.Opened{{
		Forget: func(context.Context, footnote.Principal) ([]module.Deleted, error) {
			calls++
			switch calls {
			case 1:
				return nil, errors.New("the drawings are busy")
			case 2:
				create("second")
				return []module.Deleted{{Count: 1, Before: "drawings on ", Noun: "chart"}}, nil
			}
			return []module.Deleted{{Count: 0, Before: "drawings on ", Noun: "chart"}}, nil
		},
	}}
	got, err := g.app.Forget(t.Context(), footnote.Principal{Org: "acme", User: "ada"})
	if want := "2 conversations, 0 uploads, drawings on 1 chart"; err != nil || got != want {
		t.Errorf("got %q, %v; want %q", got, err, want)
	}
}

// TestForgetWhileServerRuns deletes a user's data in a Postgres that a server uses. That includes a
// conversation being answered and the trade journal, but not the conversation whose workspace is in the
// server's folder. The server keeps working for the others, and its accounting is right.
func TestForgetWhileServerRuns(t *testing.T) {
	url, workspaces := pgtest.Database(t), filepath.Join(t.TempDir(), "workspaces")
	asked, once := make(chan struct{}), sync.Once{} // for the slow answer
	fake := modeltest.New(modeltest.Options{Key: "test", Rule: func(r modeltest.Request) modeltest.Reply {
		switch {
		case r.HasTool("Write") && len(r.Results()) == 0:
			return modeltest.Use("Write", `{"file_path":"notes.txt","content":"hello"}`)
		case strings.Contains(r.LastUserText(), "slowly"):
			once.Do(func() { close(asked) })
			return modeltest.Blocks(modeltest.Block{
				Type: "text", Text: "Word. ", Repeat: true, Deltas: 30_000, Gap: 2 * time.Millisecond,
			})
		}
		return modeltest.Say("There you are.")
	}})
	base := fake.Start(t)
	g := newRig(t, t.TempDir(), func(c *config.Config) {
		c.Upstream, c.BaseURL, c.APIKey, c.Model = config.Anthropic, base, "test", "claude-sonnet-5"
		c.Store, c.Workspace, c.Coder.Allow = config.Secret(url), workspaces, []string{"Write"}
	})
	journals, err := open.Store(t.Context(), url)
	if err != nil {
		t.Fatal(err)
	}
	defer journals.Close()
	load, err := journals.Begin(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	day := time.Date(2026, 11, 19, 10, 0, 0, 0, time.UTC)
	list := []market.Trade{
		{ID: "1", Symbol: "EURUSD", Side: "long", Opened: day, Closed: day.Add(time.Hour)},
		{ID: "2", Symbol: "EURUSD", Side: "long", Opened: day},
	}
	if err := errors.Join(load.Trades(t.Context(), "acme", "ada", list), load.Trades(t.Context(), "acme", "bob", list),
		load.Commit(t.Context())); err != nil {
		t.Fatal(err)
	}
	done := g.ask("Answer quickly.")
	var running, wrote taken
	g.call("POST", "/api/conversations", map[string]any{"text": "Answer slowly."}, 202, &running)
	g.as(bobsKey, "POST", "/api/conversations", in("text", "Answer quickly."), 202)
	select {
	case <-asked:
	case <-time.After(time.Minute):
		t.Fatal("the model is never asked")
	}
	g.call("POST", "/api/conversations", map[string]any{"assistant": "coder", "text": "Write."}, 202, &wrote)
	g.settle(wrote.Conversation)
	c := config.Default()
	c.Data, c.Upstream, c.Model, c.Workspace = t.TempDir(), config.Offline, "offline", t.TempDir()
	c.Store, c.Market.Store = config.Secret(url), config.Secret(url)
	got, err := forgetUser(t, c, "ada")
	if got != "2 conversations, 0 uploads, drawings on 0 charts, 2 trades" || err == nil ||
		!strings.Contains(err.Error(), "1 conversation cannot be deleted, the last of them "+wrote.Conversation) {
		t.Fatal(got, err)
	}
	for _, id := range []string{done, running.Conversation} {
		g.call("GET", "/api/conversations/"+id, nil, 404, nil)
	}
	g.call("GET", "/api/conversations/"+wrote.Conversation, nil, 200, nil)
	// The model notices a moment later that its client disconnected; otherwise it would stream for 60 s more.
	for end := time.Now().Add(30 * time.Second); fake.Metrics().Open != 0; time.Sleep(5 * time.Millisecond) {
		if time.Now().After(end) {
			t.Fatalf("the server still runs %d model calls", fake.Metrics().Open)
		}
	}
	for user, want := range map[string]int{"ada": 0, "bob": 1} {
		if trades, err := journals.Trades(t.Context(), market.TradeQuery{Org: "acme", User: user}); err != nil ||
			len(trades) != want {
			t.Errorf("%s has %+v, %v", user, trades, err)
		}
		heads, _, err := g.app.store.List(t.Context(), footnote.Page{
			Org: "acme", User: user, Kind: "conversation", Limit: 50,
		})
		if err != nil || len(heads) != 1 { // the one left is hers
			t.Errorf("%s has %+v, %v", user, heads, err)
		}
	}
	report, err := inspect.Read(t.Context(), g.app.store, multipliers(g.app.cfg), 0)
	if err != nil || len(report.Problems) != 0 || report.Cost.MicroUSD == 0 {
		t.Errorf("store after forgetting: %+v, %v", report, err)
	}
	g.ask("Answer quickly, again.")
}
