package app

import (
	"database/sql"
	"encoding/json"
	"strings"
	"testing"
	"time"

	"github.com/footnotehq/footnote"
	"github.com/footnotehq/footnote/config"
	"github.com/footnotehq/footnote/demo/demotest"
	"github.com/footnotehq/footnote/internal/redistest"
	"github.com/footnotehq/footnote/tool"
	"github.com/footnotehq/footnote/tool/own"
)

// results returns the results of run_query in a conversation.
func (g *rig) results(id string) (all []footnote.ToolResult) {
	g.t.Helper()
	for _, ev := range g.events(id) {
		var r footnote.ToolResult
		if ev.Kind != "tool_result" {
			continue
		}
		if err := json.Unmarshal(ev.Body, &r); err != nil {
			g.t.Fatal(err)
		}
		if r.Name == "run_query" {
			all = append(all, r)
		}
	}
	if len(all) == 0 {
		g.t.Fatal("no query ran")
	}
	return all
}

// TestCachedAnswers repeats one question: answers come from the cache while the data is unchanged and the first
// conversation exists.
func TestCachedAnswers(t *testing.T) {
	t.Run("memory", func(t *testing.T) { testCachedAnswers(t, "", "") })
	t.Run("redis", func(t *testing.T) { testCachedAnswers(t, config.Secret(redistest.New(t).URL()), "") })
	t.Run("redis, encrypted", func(t *testing.T) {
		testCachedAnswers(t, config.Secret(redistest.New(t).URL()), "a secret of this test, which is long")
	})
}

func testCachedAnswers(t *testing.T, redis, secret config.Secret) {
	file := demotest.Shop(t)
	g := newRig(t, t.TempDir(), func(c *config.Config) {
		c.Redis, c.Cache.Secret, c.Sources = redis, secret, map[string]string{"shop": file}
	})
	const question = "How many orders are there?"
	want := func(what string, hit bool) (string, footnote.ToolResult) {
		t.Helper()
		id := g.ask(question)
		r := g.results(id)[0]
		if r.CacheHit != hit || r.CacheHit == r.RanAt.IsZero() || r.Result == nil || r.Result.SQL == "" ||
			r.Result.Source != "shop" {
			t.Fatalf("%s: hit is %v, ran at %v, %+v", what, r.CacheHit, r.RanAt, r.Result)
		}
		return id, r
	}
	first, asked := want("first", false)
	_, again := want("again", true)
	if again.Result.SQL != asked.Result.SQL || again.Result.Chunks[0] != asked.Result.Chunks[0] ||
		again.Content != asked.Content || time.Since(again.RanAt) > time.Hour {
		t.Fatalf("the hit is another result:\n%+v\n%+v", again, asked)
	}
	if text := g.scraped(); !strings.Contains(text, `footnote_cache_lookups_total{outcome="hit",tool="run_query"} 1`) {
		t.Errorf("no hit among the metrics:\n%s", text)
	}
	g.call("DELETE", "/api/conversations/"+first, nil, 204, nil)
	want("after the first was deleted", false)
	want("again", true)
	write(t, file, `DELETE FROM order_items WHERE order_id = (SELECT max(id) FROM orders)`,
		`DELETE FROM orders WHERE id = (SELECT max(id) FROM orders)`)
	_, fresh := want("after another process wrote", false)
	if fresh.Result.Chunks[0] == asked.Result.Chunks[0] {
		t.Fatal("the rows of old data")
	}
}

// write changes a database as another program would.
func write(t *testing.T, file string, statements ...string) {
	t.Helper()
	db, err := sql.Open("sqlite", file)
	if err != nil {
		t.Fatal(err)
	}
	defer db.Close()
	for _, s := range statements {
		if _, err := db.Exec(s); err != nil {
			t.Fatal(err)
		}
	}
}

func (g *rig) scraped() string {
	w := g.do(g.request("GET", "/metrics", nil))
	var lines []string
	for line := range strings.Lines(w.Body.String()) {
		if strings.Contains(line, "footnote_cache") {
			lines = append(lines, line)
		}
	}
	return strings.Join(lines, "")
}

// TestCacheHoldsNoPassword checks the stored keys of entries, which name the source.
func TestCacheHoldsNoPassword(t *testing.T) {
	g := newRig(t, t.TempDir())
	for _, address := range []string{
		"postgres://reader:hunter2@db/shop", "postgres://db/shop?user=reader&password=hunter2",
	} {
		g.app.cfg.Sources["shop"] = address
		s, err := g.app.cacheSource(t.Context(), "shop")
		if err != nil || strings.Contains(s.Address, "hunter2") || !strings.Contains(s.Address, "reader") {
			t.Errorf("source: %+v, %v", s, err)
		}
	}
}

// TestNoCache checks that a time to live of 0 disables the cache.
func TestNoCache(t *testing.T) {
	g := newRig(t, t.TempDir(), func(c *config.Config) { c.Cache.TTL = 0 })
	for range 2 {
		if g.results(g.ask("How many orders are there?"))[0].CacheHit {
			t.Fatal("a hit without a cache")
		}
	}
}

// TestCacheServerUnavailable checks that questions are answered while Redis is down.
func TestCacheServerUnavailable(t *testing.T) {
	server := redistest.New(t)
	g := newRig(t, t.TempDir(), func(c *config.Config) { c.Redis = config.Secret(server.URL()) })
	server.Kill(t)
	id := g.ask("How many orders are there?")
	if g.results(id)[0].CacheHit {
		t.Fatal("unexpected cache hit")
	}
	if text := g.scraped(); !strings.Contains(text, `footnote_cache_failures_total{what="get"}`) {
		t.Errorf("no failure among the metrics:\n%s", text)
	}
	g.call("DELETE", "/api/conversations/"+id, nil, 204, nil)
}

// TestOwnTool runs a configured tool through the gate, and from the cache.
func TestOwnTool(t *testing.T) {
	owned := config.OwnTool{
		Name: "orders_above", Description: "How many orders are above a number.", Source: "shop",
		SQL:        "SELECT count(*) AS orders FROM orders WHERE id > $1 AND $2 <> 'x''y' AND id > $1",
		Parameters: []own.Parameter{{Name: "number", Type: "integer"}, {Name: "word", Type: "text"}},
	}
	writes := owned
	writes.Name, writes.SQL, writes.Parameters = "writes", "DELETE FROM orders", nil
	g := newRig(t, t.TempDir(), func(c *config.Config) { c.Tools.Own = []config.OwnTool{owned, writes} })
	call := func(name, input, result string) tool.Output {
		t.Helper()
		for _, one := range g.app.assistant.Tools {
			if one.Spec().Name != name {
				continue
			}
			out, err := one.Call(t.Context(),
				tool.Call{Name: name, Input: json.RawMessage(input), Sources: []string{"shop"}, ResultID: result,
					Principal: footnote.Principal{Org: "acme", User: "ada"}})
			if err != nil {
				t.Fatal(err)
			}
			return out
		}
		t.Fatalf("no tool %s", name)
		return tool.Output{}
	}
	all := call("orders_above", `{"number":0,"word":"a"}`, "r1")
	none := call("orders_above", `{"number":100000000,"word":"' OR 1=1 --"}`, "r2")
	if all.IsError || none.IsError || all.Rows.Rows[0][0] == int64(0) || none.Rows.Rows[0][0] != int64(0) {
		t.Fatalf("rows with and without a match: %+v\n%+v", all, none)
	}
	if hit := call("orders_above", `{"word":"a","thought":"again","number":0}`, "r3"); !hit.CacheHit ||
		hit.SQL != all.SQL || !strings.Contains(hit.Content, `"r3"`) {
		t.Fatalf("want a cache hit: %+v", hit)
	}
	if out := call("writes", `{}`, "r4"); !out.IsError || out.Fault != footnote.FaultRefused {
		t.Fatalf("a statement that writes: %+v", out)
	}
}

// TestInvalidOwnTools checks that invalid names and sources stop the start.
func TestInvalidOwnTools(t *testing.T) {
	g := newRig(t, t.TempDir())
	for name, c := range map[string]struct {
		tool config.OwnTool
		want string
	}{
		"a duplicate name": {
			config.OwnTool{Name: "run_query", Description: "d", Source: "shop", SQL: "SELECT 1"}, "already",
		},
		"an unknown source": {
			config.OwnTool{Name: "mine", Description: "d", Source: "crm", SQL: "SELECT 1"}, "crm",
		},
		"a parameter without a definition": {
			config.OwnTool{Name: "mine", Description: "d", Source: "shop", SQL: "SELECT $1"}, "$1",
		},
	} {
		g.app.cfg.Tools.Own = []config.OwnTool{c.tool}
		if _, err := g.app.ownTools(g.app.assistant.Tools); err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s: %v", name, err)
		}
	}
}
