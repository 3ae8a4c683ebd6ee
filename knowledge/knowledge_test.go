package knowledge_test

import (
	"context"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"testing/fstest"
	"time"

	"github.com/footnotehq/footnote/knowledge"
	"github.com/footnotehq/footnote/knowledge/verified"
)

// folder makes a file system of names and contents.
func folder(files ...string) fstest.MapFS {
	fsys := fstest.MapFS{}
	for i := 0; i < len(files); i += 2 {
		fsys[files[i]] = &fstest.MapFile{Data: []byte(files[i+1])}
	}
	return fsys
}

func TestReadsGlossary(t *testing.T) {
	c, err := knowledge.Read(folder("glossary.md", "# Words\r\nRevenue is net.\r\n", ".git/config", "x"))
	if err != nil || c.Glossary != "# Words\nRevenue is net." {
		t.Fatalf("glossary is %q, error %v", c.Glossary, err)
	}
	same, err := knowledge.Read(folder("glossary.md", "# Words\r\nRevenue is net.\r\n"))
	if err != nil || same.Digest != c.Digest {
		t.Errorf("the digest counts hidden files: %s and %s, error %v", same.Digest, c.Digest, err)
	}
	other, err := knowledge.Read(folder("glossary.md", "# Words\r\nRevenue is gross.\r\n"))
	if err != nil || other.Digest == c.Digest {
		t.Errorf("another glossary has the same digest; error %v", err)
	}
	if empty, err := knowledge.Read(folder()); err != nil || empty.Glossary != "" {
		t.Errorf("an empty folder: %+v, %v", empty, err)
	}
}

func TestFaultsNameFileAndLine(t *testing.T) {
	long := strings.Repeat("0123456789\n", 400)
	for _, c := range []struct{ name, file, content, want string }{
		{"long glossary", "glossary.md", long, "glossary.md:373: the glossary has 4400 bytes"},
		{"not UTF-8", "glossary.md", "a\n\xff\n", "glossary.md:2: the line is not UTF-8"},
		{"control character", "glossary.md", "a\x1bb", "glossary.md:1: the line has a control character"},
		{"unknown file", "glosary.md", "x", "glosary.md: a context has no such file"},
		{"empty model", "model.yaml", "\n", "model.yaml: the file is empty"},
		{"no YAML", "model.yaml", "name: x\n  datasets: [", "model.yaml:2: it is not YAML"},
		{"unknown key", "model.yaml", "name: x\ndatsets: []\n", `model.yaml:2: the key "datsets" is not known here`},
		{"key twice", "model.yaml", "name: x\nname: y\n", "model.yaml:2: \"name\" is here a second time"},
		{"alias", "model.yaml", "name: &a x\ndescription: *a\n", "model.yaml:2: references (*a) are not supported"},
		{"no list", "model.yaml", "datasets: orders\n", "model.yaml:1: datasets must be a list"},
		{"no bool", "model.yaml", "datasets:\n- name: t\n  hidden: maybe\n", `model.yaml:3: hidden is "maybe"; it must`},
		{"two documents", "model.yaml", "name: x\n---\nname: y\n", "model.yaml: it has more than one document"},
		{"both roots", "model.yaml", "name: x\nsemantic_model:\n- name: y\n", "model.yaml:1: the file has both"},
		{"dataset twice", "model.yaml", "datasets:\n- name: t\n- name: T\n",
			"model.yaml:3: the dataset \"T\" is here a second time"},
		{"no name", "model.yaml", "datasets:\n- source: t\n", "model.yaml:2: the dataset has no name"},
		{"field twice", "model.yaml", "datasets:\n- name: t\n  fields:\n  - name: a\n  - name: a\n", "model.yaml:5: the field \"a\" is here"},
		{"statement", "model.yaml", "datasets:\n- name: t\n  source: (select 1)\n", "is a statement; make a view"},
		{"hidden expression", "model.yaml", "datasets:\n- name: t\n  fields:\n  - name: a\n    expression: b + 1\n    hidden: true\n",
			"model.yaml:4: the field \"a\" is an expression"},
		{"join to nothing", "model.yaml", "datasets:\n- name: t\nrelationships:\n- {name: j, from: t, to: u, from_columns: [a], to_columns: [b]}\n",
			"model.yaml:4: the relationship \"j\" names the dataset \"u\""},
		{"uneven join", "model.yaml", "datasets:\n- name: t\nrelationships:\n- {name: j, from: t, to: t, from_columns: [a], to_columns: []}\n",
			"model.yaml:4: the relationship \"j\" needs as many"},
		{"metric without expression", "model.yaml", "metrics:\n- name: m\n",
			"model.yaml:2: the metric \"m\" has no expression"},
		{"format", "model.yaml", "metrics:\n- {name: m, expression: SUM(t.a), format: '%d'}\n", "model.yaml:2: the format \"%d\" is not known"},
		{"extension", "model.yaml", "datasets:\n- name: t\n  custom_extensions:\n  - {vendor_name: FOOTNOTE, data: '{\"hiden\": true}'}\n",
			"model.yaml:4: the data of the extension FOOTNOTE must be JSON"},
	} {
		_, err := knowledge.Read(folder(c.file, c.content))
		if _, ok := knowledge.IsFault(err); !ok || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s: error is %v, want %q", c.name, err, c.want)
		}
	}
}

func TestFolderIsBounded(t *testing.T) {
	if _, err := knowledge.Read(folder("model.yaml", "# "+strings.Repeat("x", knowledge.MaxFolder))); err == nil ||
		!strings.Contains(err.Error(), "more than 1048576 bytes") {
		t.Errorf("a large folder: %v", err)
	}
	if _, err := knowledge.Read(folder("a/b/c/d/e/f.md", "x")); err == nil ||
		!strings.Contains(err.Error(), "nested too deeply") {
		t.Errorf("a deep folder: %v", err)
	}
}

const ossie = `
version: "0.2.0.dev0"
semantic_model:
- name: shop
  description: What the shop sells.
  ai_context:
    instructions: Amounts are net.
  datasets:
  - name: orders
    source: shop.public.orders
    primary_key: [id]
    ai_context: One row for each order.
    fields:
    - name: total
      expression: {dialects: [{dialect: SNOWFLAKE, expression: TOTAL}, {dialect: ANSI_SQL, expression: total_net}]}
      dimension: {is_time: false}
      ai_context: {synonyms: [revenue, sales]}
      unit: EUR
      format: "0.00"
    - name: margin
      expression: total - cost
    - name: cost
      custom_extensions:
      - {vendor_name: FOOTNOTE, data: '{"hidden": true}'}
      - {vendor_name: OTHER, data: 'anything'}
  - name: customers
    roles: [sales]
  relationships:
  - {name: placed_by, from: orders, to: customers, from_columns: [customer_id], to_columns: [id]}
  metrics:
  - name: revenue
    expression: SUM(orders.total)
    unit: EUR
`

func TestReadsModel(t *testing.T) {
	c, err := knowledge.Read(folder("model.yaml", ossie))
	if err != nil {
		t.Fatal(err)
	}
	m := c.Model
	orders := m.Datasets[0]
	total, margin, cost := orders.Fields[0], orders.Fields[1], orders.Fields[2]
	switch {
	case m.Name != "shop" || m.Instructions != "Amounts are net.":
	case strings.Join(orders.Path, "|") != "shop|public|orders" || orders.Description != "One row for each order.":
	case total.Column != "total_net" || total.Unit != "EUR" || total.Format != "0.00" || len(total.Synonyms) != 2:
	case margin.Column != "" || margin.Expression != "total - cost":
	case cost.Column != "cost" || !cost.Hidden:
	case m.Joins[0].From != "orders" || m.Joins[0].ToColumns[0] != "id":
	case m.Metrics[0].Expression != "SUM(orders.total)" || m.Metrics[0].Unit != "EUR":
	default:
		return
	}
	t.Errorf("the model is %+v", m)
}

// TestReadsTopLevelModel checks the root of the later drafts.
func TestReadsTopLevelModel(t *testing.T) {
	_, list, _ := strings.Cut(ossie, "- name: shop\n")
	top := "version: x\nname: shop\n" + strings.ReplaceAll(list, "\n  ", "\n")
	top = strings.Replace(top, "  description", "description", 1)
	a, err1 := knowledge.Read(folder("model.yaml", ossie))
	b, err2 := knowledge.Read(folder("model.yaml", top))
	if err1 != nil || err2 != nil {
		t.Fatal(err1, err2)
	}
	if len(b.Model.Datasets) != 2 || a.Model.Metrics[0].Name != b.Model.Metrics[0].Name {
		t.Errorf("the model is %+v", b.Model)
	}
}

// TestWatch checks that a faulty change leaves the last good version in use, and that a repair is noticed.
func TestWatch(t *testing.T) {
	dir := t.TempDir()
	write := func(text string) {
		t.Helper()
		if err := os.WriteFile(filepath.Join(dir, "glossary.md"), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	type change struct {
		glossary string
		fault    error
	}
	changes := make(chan change, 10)
	write("one")
	w, err := knowledge.Watch(t.Context(), dir, knowledge.WatchOptions{
		Every:   time.Millisecond,
		Changed: func(c *knowledge.Context, fault error) { changes <- change{c.Glossary, fault} },
	})
	if err != nil {
		t.Fatal(err)
	}
	defer w.Close()
	next := func() change {
		t.Helper()
		ctx, cancel := context.WithTimeout(t.Context(), 20*time.Second)
		defer cancel()
		select {
		case c := <-changes:
			return c
		case <-ctx.Done():
			t.Fatal("no change was noticed")
			return change{}
		}
	}
	write("two")
	for c := next(); c.glossary != "two"; c = next() { // it may see the file empty, before it is written
	}
	write("thr\xffee")
	c := next()
	for c.fault == nil {
		c = next()
	}
	if w.Current().Glossary == "thr\xffee" || !strings.Contains(c.fault.Error(), "glossary.md:1:") || w.Fault() == nil {
		t.Errorf("the faulty glossary is %q in use, fault %v", w.Current().Glossary, c.fault)
	}
	write("three")
	for c = next(); c.glossary != "three"; c = next() {
	}
	if w.Fault() != nil || w.Current().Glossary != "three" {
		t.Errorf("the repaired glossary is %q in use, fault %v", w.Current().Glossary, w.Fault())
	}
}

// TestModelDoesNotVanish checks that nothing is shown because the file that hides it is removed.
func TestModelDoesNotVanish(t *testing.T) {
	dir := t.TempDir()
	file := filepath.Join(dir, knowledge.ModelFile)
	write := func(text string) {
		t.Helper()
		if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	const hiding = "name: shop\ndatasets: [{name: staff, source: staff, fields: [{name: salary, hidden: true}]}]\n"
	write(hiding)
	w, err := knowledge.Watch(t.Context(), dir, knowledge.WatchOptions{Every: time.Hour})
	if err != nil {
		t.Fatal(err)
	}
	defer w.Close()
	if err := os.Remove(file); err != nil {
		t.Fatal(err)
	}
	w.Look(t.Context())
	if !w.Current().Hides("shop", []string{"shop"}) || w.Fault() == nil {
		t.Errorf("without its file, salary is shown; fault %v", w.Fault())
	}
	write(strings.Replace(hiding, "hidden: true", "unit: EUR", 1))
	w.Look(t.Context())
	if w.Current().Hides("shop", []string{"shop"}) || w.Fault() != nil {
		t.Errorf("a model that hides nothing any more is not used; fault %v", w.Fault())
	}
}

// TestVerifiedQueriesNeedWhatTheyRead checks that a verified query does not exist for whoever cannot run it.
func TestVerifiedQueriesNeedWhatTheyRead(t *testing.T) {
	c, err := knowledge.Read(folder("model.yaml", described,
		"verified/profit.sql", head("profit")+"SELECT sum(margin) AS profit FROM sales.orders\n",
		"verified/notes.sql", head("notes")+"SELECT note FROM sales.orders\n",
		"verified/names.sql", head("names")+"SELECT name FROM customers\n",
		"verified/elsewhere.sql", head("elsewhere")+"SELECT note FROM invoices\n"))
	if err != nil {
		t.Fatal(err)
	}
	for roles, want := range map[string]string{
		"": "elsewhere", "finance": "elsewhere profit", "sales": "elsewhere names",
	} {
		caller := verified.Caller{Roles: strings.Fields(roles), Sources: []string{"shop"}, Now: time.Now()}
		if got := strings.Join(c.Verified.Questions(caller, 9), " "); got != want {
			t.Errorf("with the roles %q, the queries %q exist; want %q", roles, got, want)
		}
	}
}

// head returns the header of a verified query.
func head(question string) string {
	return "-- question: " + question + "\n-- source: shop\n-- author: Ann\n-- date: 2026-11-02\n"
}

func TestFaultyFolderStopsTheStart(t *testing.T) {
	missing := filepath.Join(t.TempDir(), "missing")
	if _, err := knowledge.Watch(t.Context(), missing, knowledge.WatchOptions{}); err == nil ||
		!strings.Contains(err.Error(), "open the context folder") {
		t.Errorf("a missing folder: %v", err)
	}
}
