package offline_test

import (
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/footnotehq/footnote/agent"
	"github.com/footnotehq/footnote/model"
	"github.com/footnotehq/footnote/model/modeltest"
	"github.com/footnotehq/footnote/model/offline"
)

func sortStrings(s []string) { slices.Sort(s) }

// None of these questions has an answer in the shop: the planner runs no SQL, says why, and suggests questions that
// work.
func TestDeclinesQuestionsWithoutAnAnswer(t *testing.T) {
	c := shop(t)
	p := offline.New(offline.Options{Catalog: c})
	for _, q := range []string{
		"hi", "hello there!", "thanks", "", "   ", "?", "help", "drop table orders", "DROP TABLE customers;",
		"delete all cancelled orders",
		"please update the price of the Standing Desk to 1", "insert a new customer", "why are there so many orders?",
		"why did it rain?", "what caused the strike in March 2026",
		"forecast revenue for next month", "how many orders will we have in 2027", "Wie viele Bestellungen gibt es?",
		"Quantos clientes temos em 2026?",
		"¿Cuántos pedidos hay por mes?", "combien de clients avons nous", "注文はいくつありますか", "сколько заказов было в марте",
		"what is the average salary of our employees", "customer satisfaction by country",
		"how many orders per supplier", "revenue by warehouse",
		"purple orders sleep furiously", "asdf qwer zxcv", "tell me a joke", "what's the weather in Berlin tomorrow",
		"which one is better?",
		"best product", "orders shipped or over 500", "customers with more orders than returns", "top", "how many",
		"average", "by", "and by country?",
		"revenue of premium customers", "how many orders were delivered late", "should we raise prices?",
		"number of products per category over 5", "orders since last christmas", "running total of average price",
		strings.Repeat("a", 10_000), strings.Repeat("orders by status ", 600), strings.Repeat("(", 5_000),
		"\x00\x01\xff", "'; DROP TABLE orders; --",
		"orders \u202e by status of nothing", "🤷", "1", "12 34 56", "\"", "how many \"", strings.Repeat("\"x\" ", 300),
	} {
		s := newTalk(t, c, p, "shop").ask(q)
		if s.sql != "" {
			t.Errorf("%.80q was answered with %s", q, s.sql)
		}
		if !strings.Contains(s.text, "You could ask:") {
			t.Errorf("%.80q: no suggestions in %q", q, s.text)
		}
	}
}

// Each suggestion returns rows.
func TestSuggestionsHaveAnswers(t *testing.T) {
	c := shop(t)
	p := offline.New(offline.Options{Catalog: c})
	hints, err := p.Suggest(t.Context(), "shop", 6)
	if err != nil || len(hints) < 3 {
		t.Fatalf("Suggest() = %q, %v, want at least three", hints, err)
	}
	for _, q := range hints {
		if s := newTalk(t, c, p, "shop").ask(q); s.rows == nil || len(s.rows.Rows) == 0 {
			t.Errorf("%q has no answer: %s", q, s.text)
		}
	}
	if _, err := p.Suggest(t.Context(), "nowhere", 3); err == nil {
		t.Error("Suggest() of an unknown source gave no error")
	}
}

// A question about a cause is declined, alone and after another question.
func TestWhyIsDeclined(t *testing.T) {
	c := shop(t)
	for _, turns := range [][]string{
		{"why did sales fall?"}, {"why did revenue fall, by category?"}, {"revenue by month", "and why?"},
	} {
		if s := checkSame(t, c, "shop", "", turns...); !strings.Contains(s.text, "not why") {
			t.Errorf("%q: %s", turns, s.text)
		}
	}
}

func TestAnswersAreDeterministic(t *testing.T) {
	c := shop(t)
	var first string
	for range 5 {
		s := newTalk(t, c, offline.New(offline.Options{Catalog: c}), "shop").ask("top 3 countrys by revnue in 2026")
		if first == "" {
			first = s.text
		}
		if s.text != first || s.sql == "" {
			t.Errorf("text = %q, then %q", first, s.text)
		}
	}
}

func TestSideJobsAndNoTools(t *testing.T) {
	c := shop(t)
	p := offline.New(offline.Options{Catalog: c})
	msgs := []model.Message{
		message("user", map[string]any{
			"type": "text",
			"text": "Give this conversation a title.\n\nHow many orders are there by status?",
		}),
	}
	live := &modeltest.LiveChecker{Errorf: t.Errorf}
	r, err := p.Step(t.Context(), model.Request{Messages: msgs, NoTools: true}, live)
	if err != nil || agent.Text(r.Message.Blocks) != "How many orders are there by status" {
		t.Errorf("title = %q, %v", agent.Text(r.Message.Blocks), err)
	}
	r, err = p.Step(t.Context(), model.Request{
		Sources:  []string{"shop"},
		Messages: msgs[:1],
		NoTools:  true,
	}, live)
	if err != nil || r.Message.StopReason != model.EndTurn {
		t.Errorf("stop reason = %q, %v, want words without a call", r.Message.StopReason, err)
	}
	if _, err = p.Step(t.Context(), model.Request{Sources: []string{"away"}, Messages: msgs}, live); err == nil {
		t.Error("a source that is unavailable gave no error")
	}
}

func TestAnswersAreFast(t *testing.T) {
	c := shop(t)
	p := offline.New(offline.Options{Catalog: c})
	if _, err := p.Suggest(t.Context(), "shop", 1); err != nil {
		t.Fatal(err)
	}
	var times []time.Duration
	for _, g := range gold {
		start := time.Now()
		newTalk(t, c, p, "shop").ask(g.question)
		times = append(times, time.Since(start))
	}
	slices.Sort(times)
	if p95 := times[len(times)*95/100]; p95 > 500*time.Millisecond {
		t.Errorf("p95 of an answer is %v, want below 500 ms", p95)
	}
}

func FuzzQuestion(f *testing.F) {
	for _, g := range gold {
		f.Add(g.question)
	}
	f.Add("not not not without no")
	f.Add("top 3 top 5 by by per each")
	f.Add("between 3 and between 5 and")
	c := shop(f)
	p := offline.New(offline.Options{Catalog: c})
	f.Fuzz(func(t *testing.T, q string) {
		s := newTalk(t, c, p, "shop").ask(q)
		if s.text == "" {
			t.Error("nothing was said")
		}
		for _, fn := range s.cites {
			if fn.Start < 0 || fn.End > len(s.text) || s.text[fn.Start:fn.End] != fn.Text {
				t.Errorf("footnote %+v does not fit the text", fn)
			}
		}
	})
}
