package offline_test

import (
	"context"
	"database/sql"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/footnotehq/footnote/agent"
	"github.com/footnotehq/footnote/model/offline"
	"github.com/footnotehq/footnote/tool/ask"
)

// uploaded is a source with one table.
func uploaded(t testing.TB, c catalog, name string, statements ...string) {
	t.Helper()
	path := filepath.Join(t.TempDir(), name+".db")
	db, err := sql.Open("sqlite", "file:"+path)
	if err != nil {
		t.Fatal(err)
	}
	for _, q := range statements {
		if _, err := db.Exec(q); err != nil {
			t.Fatal(err)
		}
	}
	if err := db.Close(); err != nil {
		t.Fatal(err)
	}
	c[name] = open(t, name, path)
}

// beside is the demo shop with files that were uploaded beside it.
func beside(t testing.TB) catalog {
	c := shop(t)
	uploaded(t, c, "sales", `CREATE TABLE sales (region TEXT, product TEXT, units INTEGER, revenue REAL)`,
		`INSERT INTO sales VALUES ('North', 'Lamp', 4, 80), ('South', 'Lamp', 1, 20), ('South', 'Desk', 2, 300)`)
	uploaded(t, c, "sales_2024", `CREATE TABLE sales_2024 (region TEXT, product TEXT, units INTEGER, rebate REAL)`,
		`INSERT INTO sales_2024 VALUES ('East', 'Lamp', 9, 5)`)
	uploaded(t, c, "visits", `CREATE TABLE visits (page TEXT, visitors INTEGER)`, `INSERT INTO visits VALUES ('home', 5), ('about', 2)`)
	return c
}

// TestOneOfSeveralSources holds that a question goes to the source that explains all of it,
// that the user is asked where there are two, and that the answer says which it was.
func TestOneOfSeveralSources(t *testing.T) {
	c := beside(t)
	p := offline.New(offline.Options{Catalog: c})
	all := []string{"shop", "sales", "sales_2024", "visits"}
	for _, g := range []struct {
		question string
		source   string // that answers; empty: the user is asked
		options  string
	}{
		{"visitors by page", "visits", ""},
		{"total rebate by region", "sales_2024", ""},
		{"how many customers are there", "shop", ""},
		{"total revenue by region", "sales", ""},
		{"total units by region", "", "sales sales_2024"},
		{"total units by product", "", "shop sales sales_2024"},
		{"in sales, total units by product", "sales", ""},
		{"total units by product in sales", "sales", ""},
		{"total units by product in sales.csv", "sales", ""},
		{"total units by product from the file sales_2024", "sales_2024", ""},
		{"total units by product in Sales 2024", "sales_2024", ""},
		{"sales: total units by product", "sales", ""},
		{"SELECT count(*) FROM visits", "visits", ""},
		{"SELECT 1 + 1", "", "shop sales sales_2024 visits"},
	} {
		for _, order := range [][]string{all, {"visits", "sales_2024", "sales", "shop"}} {
			s := newTalk(t, c, p, order...).ask(g.question)
			if g.source != "" {
				if s.sql == "" || strings.Contains(s.text, "number of sales") || !strings.Contains(s.text, "Source: ") || !strings.Contains(strings.ReplaceAll(s.text, "`", ""), "Source: "+g.source+". ") {
					t.Errorf("%s: want it from %s: %s\n%s", g.question, g.source, s.sql, s.text)
				}
				continue
			}
			if s.sql != "" || !strings.Contains(s.text, "More than one source can answer this. Which one do you mean?") {
				t.Errorf("%s: want to be asked: %s\n%s", g.question, s.sql, s.text)
			}
			for _, name := range all {
				listed := strings.Contains(strings.ReplaceAll(s.text, "`", ""), "\n- "+name+": ")
				if want := slices.Contains(strings.Fields(g.options), name); listed != want {
					t.Errorf("%s: %s is offered: %v, want %v\n%s", g.question, name, listed, want, s.text)
				}
			}
		}
	}
}

// TestWhatNoSourceExplains holds that a decline says where was looked.
func TestWhatNoSourceExplains(t *testing.T) {
	c := beside(t)
	p := offline.New(offline.Options{Catalog: c})
	s := newTalk(t, c, p, "shop", "sales", "visits", "gone").ask("average temperature by planet")
	for _, want := range []string{"I looked at shop, sales, visits.", "I could not look into gone, which cannot be reached now."} {
		if s.sql != "" || !strings.Contains(s.text, want) {
			t.Errorf("it does not say %q: %s", want, s.text)
		}
	}
	s = newTalk(t, c, p, "shop", "gone").ask("how many customers are there")
	if s.sql == "" || !strings.Contains(s.text, "Source: shop. ") || !strings.Contains(s.text, "I could not look into gone") {
		t.Errorf("one source is away: %s", s.text)
	}
	s = newTalk(t, c, p, "shop", "visits").ask("how many customers are there in visits")
	if s.sql != "" || !strings.Contains(s.text, "visits") {
		t.Errorf("the source that is named cannot answer: %s\n%s", s.sql, s.text)
	}
}

// TestTheSourceThatWasChosen holds that the reply to the question back is understood, and
// that what follows stays there until it names another.
func TestTheSourceThatWasChosen(t *testing.T) {
	c := beside(t)
	p := offline.New(offline.Options{Catalog: c})
	for _, reply := range []string{"sales", "sales.csv", "in sales please", "Use the file sales"} {
		k := newTalk(t, c, p, "shop", "sales", "sales_2024")
		if s := k.ask("total units by product"); s.sql != "" {
			t.Fatalf("not asked back: %s", s.text)
		}
		for _, g := range []struct{ question, source, sql string }{
			{reply, "sales", `"units"`},
			{"by region", "sales", `"region"`},
			{"and in sales_2024?", "sales_2024", `"region"`},
			{"total units by product", "sales_2024", `"product"`},
			{"how many customers are there", "shop", `"customers"`},
		} {
			s := k.ask(g.question)
			if !strings.Contains(s.sql, g.sql) || !strings.Contains(strings.ReplaceAll(s.text, "`", ""), "Source: "+g.source+". ") {
				t.Errorf("%s, %s: want it from %s: %s\n%s", reply, g.question, g.source, s.sql, s.text)
			}
		}
	}
	k := newTalk(t, c, p, "shop", "sales", "visits")
	k.ask("total units by product")
	if s := k.ask("visitors by page"); !strings.Contains(s.text, "Source: visits. ") {
		t.Errorf("another question instead of a choice: %s", s.text)
	}
}

// answering is ask_user with a person who answers.
type answering struct {
	agent.Tool
	says string
}

func (a answering) Call(context.Context, agent.Call) (agent.Output, error) {
	return agent.Output{Content: a.says}, nil
}

// TestTheQuestionBackIsAskedWithATool holds that ask_user is called where it is offered,
// with the sources to choose from, and that its answer counts.
func TestTheQuestionBackIsAskedWithATool(t *testing.T) {
	c := beside(t)
	k := newTalk(t, c, offline.New(offline.Options{Catalog: c}), "shop", "sales", "sales_2024")
	k.tools = append(k.tools, ask.New())
	// The tool's own Call says that nobody was asked, as in a door without a page.
	if s := k.ask("total units by region"); s.sql != "" || !strings.Contains(s.text, "Which one do you mean?") || s.steps != 2 {
		t.Errorf("nobody answers: %d steps, %s", s.steps, s.text)
	}
	k = newTalk(t, c, offline.New(offline.Options{Catalog: c}), "shop", "sales", "sales_2024")
	k.tools = append(k.tools, answering{ask.New(), "sales_2024"})
	s := k.ask("total units by region")
	if !strings.Contains(s.sql, `"sales_2024"`) || !strings.Contains(s.text, "Source: `sales_2024`. ") {
		t.Errorf("it was answered: %s\n%s", s.sql, s.text)
	}
	if s := k.ask("by product"); !strings.Contains(s.sql, `"sales_2024"`) {
		t.Errorf("a question that follows: %s\n%s", s.sql, s.text)
	}
}
