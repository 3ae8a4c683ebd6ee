package app

import (
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/footnotehq/footnote"
	"github.com/footnotehq/footnote/config"
	"github.com/footnotehq/footnote/internal/doctor"
	"github.com/footnotehq/footnote/knowledge"
)

// contextFolder writes the files of a context, given as names and contents.
func contextFolder(t *testing.T, files ...string) string {
	t.Helper()
	dir := t.TempDir()
	for i := 0; i < len(files); i += 2 {
		if err := os.WriteFile(filepath.Join(dir, files[i]), []byte(files[i+1]), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	return dir
}

// TestContextIsFrozenWithTheConversation checks that the prompt begins with the glossary, that the log has the digest,
// and that a change reaches new conversations only.
func TestContextIsFrozenWithTheConversation(t *testing.T) {
	dir := contextFolder(t, "glossary.md", "A client is a customer.")
	g := newRig(t, t.TempDir(), func(c *config.Config) { c.Context = dir })
	first := g.app.knowledge.Current()
	o, err := g.app.opening(t.Context(), footnote.Principal{Org: "local", User: "local"}, nil)
	if err != nil {
		t.Fatal(err)
	}
	if !strings.Contains(string(o.System), `[{"type":"text","text":"# Glossary`) ||
		!strings.Contains(string(o.System), "A client is a customer.") || o.Context != first.Digest {
		t.Errorf("the prompt is %s, of the context %s", o.System, o.Context)
	}
}

// TestFaultyContextStopsTheStart checks that the error names the file and the line.
func TestFaultyContextStopsTheStart(t *testing.T) {
	dir := contextFolder(t, "model.yaml", "name: x\ntables: []\n")
	c := config.Default()
	c.Data, c.Context, c.Upstream, c.Model = t.TempDir(), dir, config.Offline, config.Offline
	_, err := Open(t.Context(), c, Options{})
	if _, ok := knowledge.IsFault(err); !ok || !strings.Contains(err.Error(), `model.yaml:2: the key "tables"`) {
		t.Errorf("error is %v", err)
	}
}

const salesModel = `
name: sales
datasets:
- name: sales
  source: shop.sales
  fields:
  - name: region
    hidden: true
  - name: amount
    roles: [finance]
- name: salaries
  roles: [finance]
`

// TestHiddenColumns checks that the model's hidden columns and those for roles are hidden from queries, the schema,
// samples and the prompt, and that a change of the model applies to them at once.
func TestHiddenColumns(t *testing.T) {
	for _, engine := range []string{"sqlite", "duckdb"} {
		t.Run(engine, func(t *testing.T) {
			if engine == "duckdb" {
				needsDuckDB(t)
			}
			dir := contextFolder(t, "model.yaml", salesModel)
			keys := slices.Clone(twoOrgs)
			keys[0].Roles = []string{"finance"}
			g := newRig(t, t.TempDir(), func(c *config.Config) {
				c.Sources = map[string]string{"shop": salesFile(t, engine)}
				c.APIKeys, c.Context = keys, dir
			})
			ask := func(key, sql string, status int) string {
				t.Helper()
				return g.as(key, "POST", "/api/sources/shop/query", in("sql", sql), status)
			}
			for key, may := range map[string]bool{string(keys[0].Key): true, string(keys[1].Key): false} {
				status := map[bool]int{true: http.StatusOK, false: http.StatusBadRequest}[may]
				schema := g.as(key, "GET", "/api/sources/shop/schema", nil, http.StatusOK)
				all := ask(key, "SELECT * FROM sales", http.StatusOK)
				for text, want := range map[string]bool{"region": false, "product": true, "amount": may} {
					if strings.Contains(schema, text) != want || strings.Contains(all, text) != want {
						t.Errorf("finance %v: %s: the schema is %s, the rows %s", may, text, schema, all)
					}
				}
				ask(key, "SELECT region FROM sales", http.StatusBadRequest)
				ask(key, "SELECT amount FROM sales", status)
				ask(key, "SELECT * FROM salaries", status)
				p := footnote.Principal{Org: "x", User: "y"}
				if may {
					p.Roles = keys[0].Roles
				}
				o, err := g.app.opening(t.Context(), p, nil)
				if err != nil || strings.Contains(string(o.System), "region") ||
					strings.Contains(string(o.System), "salaries") != may {
					t.Errorf("finance %v: the prompt is %s, error %v", may, o.System, err)
				}
			}
			if err := os.WriteFile(filepath.Join(dir, "model.yaml"), []byte("name: sales\n"), 0o600); err != nil {
				t.Fatal(err)
			}
			for end := time.Now().Add(time.Minute); g.app.words().Model.Datasets != nil; {
				if time.Sleep(50 * time.Millisecond); time.Now().After(end) {
					t.Fatal("the change was not noticed")
				}
			}
			ask(string(keys[1].Key), "SELECT region FROM sales", http.StatusOK)
		})
	}
}

// TestMisspelledHiddenColumnStopsTheStart checks that a column that is to be hidden exists.
func TestMisspelledHiddenColumnStopsTheStart(t *testing.T) {
	c := config.Default()
	c.Data, c.Upstream, c.Model = t.TempDir(), config.Offline, config.Offline
	c.Sources = map[string]string{"shop": salesFile(t, "sqlite")}
	c.Context = contextFolder(t, "model.yaml", "datasets:\n- name: sales\n  fields:\n  - {name: regoin, hidden: true}\n")
	_, err := Open(t.Context(), c, Options{})
	if err == nil || !strings.Contains(err.Error(), `model.yaml:4: the table sales has no column "regoin"`) {
		t.Errorf("error is %v", err)
	}
}

// TestPlannerKnowsTheCompanysWords checks that a synonym and a unit of the model reach an answer of the planner.
func TestPlannerKnowsTheCompanysWords(t *testing.T) {
	g := newRig(t, t.TempDir(), func(c *config.Config) {
		c.Sources = map[string]string{"shop": salesFile(t, "sqlite")}
		c.Context = contextFolder(t, "model.yaml", "datasets:\n- name: sales\n  fields:\n"+
			"  - {name: amount, synonyms: [zaster], unit: GBP}\n")
	})
	answer := g.as(adasKey, "POST", "/v1/chat/completions", map[string]any{
		"model":    "analyst",
		"messages": []map[string]string{{"role": "user", "content": "total zaster by product"}},
	}, http.StatusOK)
	if !strings.Contains(answer, "£") || !strings.Contains(answer, "anvil") {
		t.Errorf("the answer is %s", answer)
	}
}

// TestDemoContext checks that the demo's context fits its shop, and that units and formats reach the columns of a
// result.
func TestDemoContext(t *testing.T) {
	data := t.TempDir()
	shop, err := DemoShop(t.Context(), data)
	if err != nil {
		t.Fatal(err)
	}
	folder, err := DemoContext(data)
	if err != nil {
		t.Fatal(err)
	}
	g := newRig(t, data, func(c *config.Config) { c.Sources, c.Context = shop, folder })
	remarks, err := fits(t.Context(), g.app.words(), []string{"shop"}, g.app.sources)
	if err != nil || len(remarks) > 0 {
		t.Errorf("remarks %v, error %v", remarks, err)
	}
	sql := in("sql", "SELECT max(total) AS x, sum(total) FROM orders")
	rows := g.as(adasKey, "POST", "/api/sources/shop/query", sql, http.StatusOK)
	if !strings.Contains(rows, `"unit":"EUR","format":"#,##0.00"`) {
		t.Errorf("the result is %s", rows)
	}
}

// TestFaultyChangeIsReported checks that a faulty change leaves the last good version in use, and that administrators,
// the metric and footnote doctor say what is wrong with which line.
func TestFaultyChangeIsReported(t *testing.T) {
	dir := contextFolder(t, "glossary.md", "A client is a customer.")
	keys := slices.Clone(twoOrgs)
	keys[0].Roles = []string{footnote.Admin}
	var c config.Config
	g := newRig(t, t.TempDir(), func(o *config.Config) {
		o.APIKeys, o.Context = keys, dir
		c = *o
	})
	file := filepath.Join(dir, "model.yaml")
	if err := os.WriteFile(file, []byte("name: x\ntables: []\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	const want = `model.yaml:2: the key`
	session := ""
	for end := time.Now().Add(time.Minute); !strings.Contains(session, want); {
		session = g.as(string(keys[0].Key), "GET", "/api/session", nil, http.StatusOK)
		if time.Sleep(50 * time.Millisecond); time.Now().After(end) {
			t.Fatalf("the session of an administrator is %s", session)
		}
	}
	other := g.as(string(keys[1].Key), "GET", "/api/session", nil, http.StatusOK)
	if strings.Contains(other, "notices") {
		t.Errorf("the session of somebody else is %s", other)
	}
	if g.app.words().Glossary != "A client is a customer." {
		t.Errorf("the glossary in use is %q", g.app.words().Glossary)
	}
	scrape := httptest.NewRecorder()
	g.app.metrics.Handler().ServeHTTP(scrape, httptest.NewRequest(http.MethodGet, "/metrics", nil))
	if !strings.Contains(scrape.Body.String(), "\nfootnote_context_faulty 1\n") {
		t.Error("the metric footnote_context_faulty is not 1")
	}
	c.Sources, c.Data = nil, t.TempDir()
	report := Doctor(t.Context(), c, DoctorOptions{})
	found := slices.ContainsFunc(report.Checks, func(f doctor.Check) bool {
		return f.What == "context" && strings.Contains(f.Detail, want)
	})
	if !found {
		t.Errorf("footnote doctor finds %+v", report.Checks)
	}
}

// TestEveryAssistantReadsTheGlossary checks that the prompt of each assistant begins with the glossary in use, and that
// those without sources read nothing else of the context.
func TestEveryAssistantReadsTheGlossary(t *testing.T) {
	dir := contextFolder(t, "glossary.md", "A client is a customer.", "model.yaml",
		"name: shop\nmetrics: [{name: turnover, expression: SUM(orders.total)}]\n")
	workspaces := t.TempDir()
	g := newRig(t, t.TempDir(), withMarket(t), func(c *config.Config) { c.Context, c.Workspace = dir, workspaces })
	prompts := func(word string) {
		t.Helper()
		names := 0
		for _, as := range g.app.assistants {
			frame, err := g.app.Frame(t.Context(), as.Name, footnote.Principal{Org: "acme", User: "ada"})
			if err != nil {
				t.Fatal(as.Name, err)
			}
			text := string(frame.System)
			if !strings.Contains(text, "<glossary>\\n"+word) || frame.Context != g.app.words().Digest {
				t.Errorf("%s: %.300s", as.Name, text)
			}
			if got := strings.Contains(text, "turnover"); got != (as.Name == "analyst") {
				t.Errorf("%s has the metric: %v", as.Name, got)
			}
			names++
		}
		if names != 4 {
			t.Errorf("%d assistants", names)
		}
	}
	prompts("A client is a customer.")
	if err := os.WriteFile(filepath.Join(dir, "glossary.md"), []byte("A guest is a customer."), 0o600); err != nil {
		t.Fatal(err)
	}
	g.app.knowledge.Look(t.Context())
	prompts("A guest is a customer.")
}
