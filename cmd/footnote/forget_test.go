package main

import (
	"bytes"
	"path/filepath"
	"strings"
	"testing"

	"github.com/footnotehq/footnote"
	"github.com/footnotehq/footnote/config"
	"github.com/footnotehq/footnote/drawing"
)

// TestForget deletes what one user has left, by the command, and nothing of another's.
func TestForget(t *testing.T) {
	folder := t.TempDir()
	workspaces := filepath.Join(folder, "workspaces")
	people := []footnote.Principal{{Org: "acme", User: "ada"}, {Org: "acme", User: "bob"}}
	var asked string
	t.Run("use", func(t *testing.T) {
		g := newRig(t, folder, func(c *config.Config) { c.Workspace, c.Coder.Allow = workspaces, []string{"Write"} })
		asked = g.ask("How many orders are there?")
		var took taken
		g.call("POST", "/api/conversations", map[string]any{"assistant": "coder", "text": "write hello to notes.txt"}, 202, &took)
		g.settle(took.Conversation)
		for _, key := range []string{adasKey, bobsKey} {
			r := g.upload("x.db", shopBytes(t))
			r.Header.Set("Authorization", "Bearer "+key)
			if w := g.do(r); w.Code != 201 {
				t.Fatal(w.Code, w.Body)
			}
		}
		g.as(bobsKey, "POST", "/api/conversations", in("text", "How many customers are there?"), 202)
		for _, p := range people {
			for _, symbol := range []string{"EURUSD", "XAUUSD"} {
				line := drawing.Drawing{Type: drawing.HorizontalLine, Symbol: symbol, Timeframe: "1h", Price: new(1.1)}
				if _, err := g.app.boards.Put(t.Context(), p, line, 0, drawing.Cause{By: drawing.Human, User: p.User}); err != nil {
					t.Fatal(err)
				}
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
		var out, errs bytes.Buffer
		code := run(t.Context(), []string{"forget", "--org", "acme", "--user", "ada", "--data", folder, "--model", "offline", "--set", "workspace=" + workspaces},
			streams{strings.NewReader(""), &out, &errs}, nil)
		if code != exitDone || out.String() != want {
			t.Fatalf("%d %s %s", code, &out, &errs)
		}
	}
	forget("deleted of acme/ada: 2 conversations, drawings on 2 charts, 1 upload\n")
	forget("deleted of acme/ada: 0 conversations, drawings on 0 charts, 0 uploads\n")
	if left("uploads/*/*/*") != 1 || left("workspaces/*/notes.txt") != 0 {
		t.Errorf("%d uploads and %d files of workspaces are left", left("uploads/*/*/*"), left("workspaces/*/notes.txt"))
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
