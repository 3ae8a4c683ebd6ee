package app

import (
	"encoding/json"
	"fmt"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/footnotehq/footnote"
	"github.com/footnotehq/footnote/config"
	"github.com/footnotehq/footnote/tool"
	"github.com/footnotehq/footnote/tool/search"
)

// searched configures a search over a table of two organisations.
func searched(t *testing.T) func(*config.Config) {
	t.Helper()
	file := filepath.Join(t.TempDir(), "crm.db")
	write(t, file, `CREATE TABLE notes (id INTEGER PRIMARY KEY, org TEXT, title TEXT, body TEXT, year INTEGER)`,
		`INSERT INTO notes VALUES (1, 'acme', 'Anvil', 'The boiler of the anvil shop.', 2024), (2, 'acme', 'Rocket', `+
			`'A boiler for a rocket.', 2025)`,
		`INSERT INTO notes VALUES (3, 'globex', 'Zeppelin', 'A boiler of a zeppelin, for 70123.', 2024)`,
		`CREATE VIRTUAL TABLE notes_fts USING fts5(title, body, content='notes', content_rowid='id')`,
		`INSERT INTO notes_fts(notes_fts) VALUES ('rebuild')`)
	return func(c *config.Config) {
		c.Sources = map[string]string{"crm": file}
		c.APIKeys = twoOrgs
		c.Tools.Search = []search.Table{{
			Source: "crm", Table: "notes", Key: "id", Title: []string{"title"}, Text: []string{"title", "body"},
			FTS: "notes_fts", OrgColumn: "org",
			Filters: []search.Filter{{Column: "year", Type: "integer"}},
		}}
	}
}

// TestSearchOfTwoOrgs lets both orgs ask the same question of one table with one cache: each sees its own rows,
// cached or not.
func TestSearchOfTwoOrgs(t *testing.T) {
	g := newRig(t, t.TempDir(), searched(t))
	for pass, hit := range []bool{false, true} {
		for _, caller := range []struct{ key, count, own, foreign string }{
			{adasKey, "**2**", "rocket", "zeppelin Zeppelin 70123 globex"},
			{bobsKey, "**1**", "zeppelin", "anvil Anvil rocket Rocket acme"},
		} {
			_, all := g.answerAs(caller.key, "search for boiler in notes")
			if strings.Contains(all, `"cache_hit":true`) != hit {
				t.Errorf("pass %d: a hit is %v", pass, !hit)
			}
			if !strings.Contains(all, caller.own) ||
				!strings.Contains(all, "I found "+strings.Trim(caller.count, "*")) {
				t.Errorf("no %s, or not %s rows: %.3000s", caller.own, caller.count, all)
			}
			for word := range strings.FieldsSeq(caller.foreign) {
				if strings.Contains(all, word) {
					t.Errorf("%q of another org: %.3000s", word, all)
				}
			}
		}
	}
	searchedAs(t, g)
}

// search calls search_database for a principal.
func (g *rig) search(source string, p footnote.Principal, input string) tool.Output {
	g.t.Helper()
	tools := g.app.assistant.Tools
	tl := tools[slices.IndexFunc(tools, func(t tool.Tool) bool { return t.Spec().Name == search.Name })]
	out, err := tl.Call(footnote.WithPrincipal(g.t.Context(), p), tool.Call{
		Name: search.Name, Input: json.RawMessage(input), Sources: []string{source}, ResultID: "r7", Principal: p,
	})
	if err != nil || out.IsError {
		g.t.Fatalf("search: %+v, %v", out, err)
	}
	return out
}

// searchedAs checks who shares cached results: only principals who see the same rows.
func searchedAs(t *testing.T, g *rig) {
	call := func(p footnote.Principal, input string) tool.Output {
		t.Helper()
		return g.search("crm", p, input)
	}
	ada := footnote.Principal{
		Org: "acme", User: "ada", Roles: []string{"clerk"}, Attributes: map[string]string{"region": "north"},
	}
	const input = `{"query":"rocket or zeppelin","filters":[{"column":"year","from":2024}]}`
	if call(ada, input).CacheHit || !call(ada, input).CacheHit ||
		!call(ada, `{"thought":"again","filters":[{"from":2024,"column":"year"}],"query":"rocket or `+
			`zeppelin"}`).CacheHit {
		t.Error("a call is not answered by the same call")
	}
	for name, change := range map[string]func(*footnote.Principal){
		"another org":       func(p *footnote.Principal) { p.Org = "globex" },
		"another role":      func(p *footnote.Principal) { p.Roles = nil },
		"another attribute": func(p *footnote.Principal) { p.Attributes = map[string]string{"region": "south"} },
	} {
		p := ada
		change(&p)
		if call(p, input).CacheHit {
			t.Errorf("%s: a hit", name)
		}
	}
	if call(ada, `{"query":"rocket or zeppelin","filters":[{"column":"year","from":2025}]}`).CacheHit {
		t.Error("another filter: a hit")
	}
	write(t, g.app.cfg.Sources["crm"], `DELETE FROM notes WHERE id = 2`,
		`INSERT INTO notes_fts(notes_fts) VALUES ('rebuild')`)
	if out := call(ada, input); out.CacheHit || len(out.Rows.Rows) != 0 {
		t.Errorf("after another process wrote: %+v", out)
	}
}

// TestInvalidSearchSettings checks that the error names what does not exist.
func TestInvalidSearchSettings(t *testing.T) {
	good := searched(t)
	for want, change := range map[string]func(*search.Table){
		`tools.search: crm.notes: key is "nr": Table notes has no column named "nr"`: func(c *search.Table) {
			c.Key = "nr"
		},
		`tools.search: the table "notes": source is "erp", which is not configured`: func(c *search.Table) {
			c.Source = "erp"
		},
		`fts is "notes_fts": the rows of notes have no rowid`: nil, // with filters
	} {
		c := config.Default()
		c.Data, c.Upstream, c.Model = t.TempDir(), config.Offline, "offline"
		good(&c)
		if change == nil {
			c.Filters = map[string]map[string]string{"crm": {"notes": "org = {org}", "notes_fts": "all"}}
			change = func(*search.Table) {}
		}
		change(&c.Tools.Search[0])
		a, err := New(t.Context(), c, Options{})
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%v, want %s", err, want)
		}
		if err == nil {
			_ = a.Close(t.Context())
		}
	}
}

// TestSearchOfFilteredRows checks that the source's filters apply, without an org column.
func TestSearchOfFilteredRows(t *testing.T) {
	for _, engine := range []string{"sqlite", "duckdb"} {
		t.Run(engine, func(t *testing.T) {
			if engine == "duckdb" {
				needsDuckDB(t)
			}
			file := salesFile(t, engine)
			g := newRig(t, t.TempDir(), func(c *config.Config) {
				c.Sources, c.Filters = map[string]string{"shop": file}, map[string]map[string]string{"shop": ownSales}
				c.Tools.Search = []search.Table{
					{
						Source: "shop", Table: "sales", Key: "id", Title: []string{"product"},
						Text: []string{"product", "region"}, Limit: 50,
					},
				}
			})
			for org, want := range map[string]string{"acme": "6 anvil", "globex": "3 zeppelin", "other": "0 "} {
				out := g.search("shop", footnote.Principal{Org: org, User: "ada"}, `{"query":"anvil or zeppelin"}`)
				products := map[any]bool{}
				for _, row := range out.Rows.Rows {
					products[row[1]] = true
				}
				got := fmt.Sprint(len(out.Rows.Rows), " ")
				for product := range products {
					got += fmt.Sprint(product)
				}
				if got != want {
					t.Errorf("%s sees %s, want %s", org, got, want)
				}
			}
		})
	}
}
