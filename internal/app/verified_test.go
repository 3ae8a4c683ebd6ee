package app

import (
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/footnotehq/footnote"
	"github.com/footnotehq/footnote/config"
	"github.com/footnotehq/footnote/internal/access"
	"github.com/footnotehq/footnote/internal/doctor"
	"github.com/footnotehq/footnote/internal/pgtest"
	"github.com/footnotehq/footnote/knowledge"
	"github.com/footnotehq/footnote/model/modeltest"
)

const volume = `-- question: Booked volume in {month}
-- paraphrase: How much was booked in {month}?
-- parameter: month month
-- source: shop
-- author: Ann
-- date: 2026-11-02
SELECT round(sum(total), 2) AS booked FROM orders WHERE ordered_at >= $1 AND ordered_at < date($1, '+1 month')
`

// verifiedFolder writes a context with one verified query.
func verifiedFolder(t *testing.T, text string) string {
	t.Helper()
	dir := t.TempDir()
	if err := os.Mkdir(filepath.Join(dir, "verified"), 0o700); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(dir, "verified", "volume.sql"), []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	return dir
}

// questions sends a question through each protocol, and returns the response or, of a conversation, the answer's event.
func (g *rig) questions() map[string]func(q string) string {
	posted := func(target string, body map[string]any, header ...string) string {
		g.t.Helper()
		r := g.request("POST", target, body)
		for _, name := range header {
			r.Header.Set(name, "true")
		}
		w := g.do(r)
		if w.Code != 200 {
			g.t.Errorf("%s: %d %s", target, w.Code, w.Body)
		}
		return w.Body.String()
	}
	return map[string]func(q string) string{
		"openai": func(q string) string {
			return posted("/v1/chat/completions", map[string]any{
				"model": "claude-da/analyst", "messages": []map[string]any{{"role": "user", "content": q}},
			}, "X-Footnotes")
		},
		"analyze": func(q string) string {
			return posted("/api/analyze", map[string]any{"question": q, "assistant": "analyst"})
		},
		"chat-v2": func(q string) string {
			return posted("/api/chat-v2", map[string]any{"message": q, "assistant": "analyst"})
		},
		"aisdk": func(q string) string {
			return posted("/api/ai", map[string]any{"assistant": "analyst", "messages": []map[string]any{
				{"role": "user", "content": q, "id": "m1", "parts": []map[string]any{{"type": "text", "text": q}}},
			}})
		},
		"native": func(q string) string { return string(g.answer(q).raw) },
	}
}

// given is an answer in the log.
type given struct {
	footnote.Answered
	raw     json.RawMessage
	results []footnote.StoredResult
}

// answer asks a question in a new conversation and returns its answer.
func (g *rig) answer(q string) given {
	g.t.Helper()
	var run taken
	g.call("POST", "/api/conversations", map[string]any{"text": q, "assistant": "analyst"}, 202, &run)
	var a given
	for _, ev := range g.settle(run.Conversation) {
		switch ev.Kind {
		case "answered":
			a.raw = ev.Body
			if err := json.Unmarshal(ev.Body, &a.Answered); err != nil {
				g.t.Fatal(err)
			}
		case "tool_result":
			var r footnote.ToolResult
			if err := json.Unmarshal(ev.Body, &r); err != nil {
				g.t.Fatal(err)
			}
			if r.Result != nil {
				a.results = append(a.results, *r.Result)
			}
		}
	}
	return a
}

// obedient is a model that calls the tool of verified queries first, with the question or with what it makes of it.
func obedient(t *testing.T, asks func(question string) string) func(c *config.Config) {
	fake := modeltest.New(modeltest.Options{Key: "test", Rule: func(r modeltest.Request) modeltest.Reply {
		question, _, _ := strings.Cut(r.LastUserText(), "\n")
		switch results := r.Results(); {
		case len(results) > 0 && strings.Contains(results[0].Content, `"rows"`):
			return modeltest.Say("Booked: " + firstCell(t, results[0].Content) + ".")
		case len(results) > 0:
			return modeltest.Say("Nobody has verified that.")
		case !r.HasTool("verified_query"): // a title
			return modeltest.Say("Volume")
		}
		input, err := json.Marshal(map[string]string{"question": asks(question)})
		if err != nil {
			t.Error(err)
		}
		return modeltest.Use("verified_query", string(input))
	}})
	address := fake.Start(t)
	return func(c *config.Config) {
		c.Upstream, c.BaseURL, c.APIKey, c.Model = config.Anthropic, address, "test", "claude-sonnet-5-5"
	}
}

// TestVerifiedThroughEachProtocol checks that each wording of a verified query gets its rows and the badge, with a
// model and without one, and that a near miss never gets the badge.
func TestVerifiedThroughEachProtocol(t *testing.T) {
	dir := verifiedFolder(t, volume)
	same := func(q string) string { return q }
	for name, change := range map[string]func(*config.Config){
		"planner": func(*config.Config) {},
		"model":   obedient(t, same),
	} {
		g := newRig(t, t.TempDir(), change, func(c *config.Config) { c.Context = dir })
		for protocol, ask := range g.questions() {
			for _, q := range []string{
				"Booked volume in March 2026", "booked volume, in 2026-03?", "HOW MUCH WAS BOOKED IN MÄRZ 2026",
			} {
				got := ask(q)
				for _, want := range []string{
					`"verified":[{"result":"r1","query":"volume","question":"Booked volume in March 2026","by":"Ann"`,
					`"on":"2026-11-02"`,
				} {
					if !strings.Contains(got, want) {
						t.Errorf("%s, %s, %q lacks %s: %s", name, protocol, q, want, got)
					}
				}
			}
			for _, q := range []string{
				"Booked volume in March", "Booked volume in March 2026 by country", "Volume in March 2026",
				"Booked volume in March 2026 without returns", "Booked volume since March 2026",
			} {
				if got := ask(q); strings.Contains(got, `"by":"Ann"`) {
					t.Errorf("%s, %s, %q has the badge: %s", name, protocol, q, got)
				}
			}
		}
	}
}

// stubborn is a model that calls no tool, and repeats the first cell of a result if it has one.
func stubborn(t *testing.T) func(c *config.Config) {
	fake := modeltest.New(modeltest.Options{Key: "test", Rule: func(r modeltest.Request) modeltest.Reply {
		if results := r.Results(); len(results) > 0 {
			return modeltest.Say("Booked: " + firstCell(t, results[0].Content) + ".")
		}
		return modeltest.Say("I would rather not look.")
	}})
	address := fake.Start(t)
	return func(c *config.Config) {
		c.Upstream, c.BaseURL, c.APIKey, c.Model = config.Anthropic, address, "test", "claude-sonnet-5-5"
	}
}

// TestVerifiedWithStubbornModel checks that a wording gets its rows and the badge through each protocol even if the
// model calls no tool, also if the context got its first verified query after the start, and that a near miss does not.
func TestVerifiedWithStubbornModel(t *testing.T) {
	dir := t.TempDir()
	g := newRig(t, t.TempDir(), stubborn(t), func(c *config.Config) { c.Context = dir })
	if a := g.answer("Booked volume in March 2026"); len(a.results) > 0 {
		t.Errorf("without verified queries: %s", a.raw)
	}
	if err := knowledge.AddFiles(dir, map[string][]byte{"verified/volume.sql": []byte(volume)}); err != nil {
		t.Fatal(err)
	}
	g.app.knowledge.Look(t.Context())
	for protocol, ask := range g.questions() {
		got := ask("How much was booked in March 2026?")
		if !strings.Contains(got, `"verified":[{"result":"r1","query":"volume"`) {
			t.Errorf("%s: no badge: %s", protocol, got)
		}
		if got := ask("How much was booked in March 2026 by country?"); strings.Contains(got, `"by":"Ann"`) {
			t.Errorf("%s: a near miss has the badge: %s", protocol, got)
		}
	}
}

// TestVerifiedFact checks what the log says about a verified result: the text that ran is that of the query, with its
// values bound.
func TestVerifiedFact(t *testing.T) {
	g := newRig(t, t.TempDir(), func(c *config.Config) { c.Context = verifiedFolder(t, volume) })
	a := g.answer("Booked volume in March 2026")
	sql := strings.TrimSpace(volume[strings.Index(volume, "SELECT"):])
	if len(a.results) != 1 || a.results[0].Verified == nil || len(a.Verified) != 1 ||
		a.results[0].SQL != sql+"\n-- $1 month: \"2026-03-01\"" ||
		a.results[0].Verified.Digest != footnote.DigestOf([]byte(sql)) ||
		*a.results[0].Verified != a.Verified[0].Verified {
		t.Errorf("%+v", a)
	}
	if !strings.HasPrefix(a.Text, "Booked volume in March 2026: **") || len(a.Unresolved) > 0 {
		t.Errorf("%s %+v", a.Text, a.Unresolved)
	}
}

// TestRewordedNearMiss checks that a model cannot lend the badge to another question by rewording it.
func TestRewordedNearMiss(t *testing.T) {
	reword := func(string) string { return "Booked volume in March 2026" }
	g := newRig(t, t.TempDir(), obedient(t, reword), func(c *config.Config) { c.Context = verifiedFolder(t, volume) })
	a := g.answer("Booked volume in March 2026 without returns")
	if len(a.results) != 1 || a.results[0].Verified != nil || len(a.Verified) > 0 {
		t.Errorf("%+v", a)
	}
	if a = g.answer("How much was booked in March 2026?"); len(a.Verified) != 1 {
		t.Errorf("another wording: %+v", a)
	}
}

// TestVerifiedObeysAccess checks that roles, expiry and the access rules of tools decide at each question.
func TestVerifiedObeysAccess(t *testing.T) {
	all := []string{"*"}
	for name, change := range map[string]func(c *config.Config){
		"another role": func(c *config.Config) {
			c.Context = verifiedFolder(t, "-- roles: board\n"+volume)
		},
		"expired": func(c *config.Config) {
			c.Context = verifiedFolder(t, strings.Replace(volume, "-- date: 2026-11-02",
				"-- date: 2024-11-02\n-- expires: 2025-11-02", 1))
		},
		"another source": func(c *config.Config) {
			c.Context = verifiedFolder(t, strings.Replace(volume, "source: shop", "source: crm", 1))
		},
		"no tool": func(c *config.Config) {
			c.Context = verifiedFolder(t, volume)
			c.Access = []access.Rule{{
				Sources: all, Assistants: all, Tiers: all, Models: all, Tools: []string{"run_query"},
			}}
		},
	} {
		g := newRig(t, t.TempDir(), change)
		if a := g.answer("Booked volume in March 2026"); len(a.Verified) > 0 {
			t.Errorf("%s: %+v", name, a)
		}
	}
	g := newRig(t, t.TempDir(), func(c *config.Config) {
		c.Context = verifiedFolder(t, "-- roles: board\n"+volume)
		c.APIKeys[0].Roles = []string{"board"}
	})
	if a := g.answer("Booked volume in March 2026"); len(a.Verified) != 1 {
		t.Errorf("with the role: %+v", a)
	}
}

// firstCell returns the first cell of a result as the model reads it.
func firstCell(t *testing.T, content string) string {
	var table struct{ Rows [][]json.RawMessage }
	if err := json.Unmarshal([]byte(content), &table); err != nil || len(table.Rows) == 0 {
		t.Errorf("no rows: %s", content)
		return ""
	}
	return string(table.Rows[0][0])
}

// TestVerifiedSuggestions checks that a verified question without slots is suggested first, to those who may use it.
func TestVerifiedSuggestions(t *testing.T) {
	text := strings.NewReplacer("Booked volume in {month}", "Booked volume so far", "-- parameter: month month\n",
		"-- roles: board\n", "-- paraphrase: How much was booked in {month}?\n", "",
		" WHERE ordered_at >= $1 AND ordered_at < date($1, '+1 month')", "").Replace(volume)
	g := newRig(t, t.TempDir(), func(c *config.Config) {
		c.Context = verifiedFolder(t, text)
		c.APIKeys[0].Roles = []string{"board"}
	})
	for key, want := range map[string]bool{adasKey: true, bobsKey: false} {
		for _, target := range []string{"/api/suggestions", "/api/suggestions?source=shop"} {
			got := g.as(key, "GET", target, nil, 200)
			if strings.HasPrefix(got, `{"suggestions":[{"text":"Booked volume so far"}`) != want ||
				strings.Count(got, `"text"`) < 4 || strings.Contains(got, "Booked") != want {
				t.Errorf("%s: %s", target, got)
			}
		}
	}
}

// TestDoctorNamesUnusedQueries checks that doctor names queries that have expired or have no source.
func TestDoctorNamesUnusedQueries(t *testing.T) {
	for want, text := range map[string]string{
		"ok verified queries: 1": volume,
		"warn verified queries: verified/volume.sql expired on 2020-01-02;": strings.Replace(volume, "2026-11-02",
			"2020-01-01\n-- expires: 2020-01-02", 1),
		"warn verified queries: verified/volume.sql is for the source crm,": strings.Replace(volume, "shop", "crm", 1),
	} {
		c := config.Default()
		c.Sources, c.Context = map[string]string{"shop": "shop.db"}, verifiedFolder(t, text)
		var r doctor.Report
		checkVerified(t.Context(), c, &r)
		var all []string
		for _, check := range r.Checks {
			all = append(all, check.State+" "+check.What+": "+check.Detail)
		}
		if !strings.Contains(strings.Join(all, "\n"), want) {
			t.Errorf("%q, want %q", all, want)
		}
	}
}

// TestVerifiedOnEngines binds a value of each type in Postgres and in files that DuckDB reads.
func TestVerifiedOnEngines(t *testing.T) {
	needsDuckDB(t)
	query := func(sql string) string {
		return strings.Join([]string{
			`-- question: {status} orders in {month}, since {day}, above {amount} and up to number {n} of year {year}, of {who}`,
			"-- parameter: status one of open, shipped", "-- parameter: month month", "-- parameter: day date",
			"-- parameter: amount number", "-- parameter: n int", "-- parameter: year year", "-- parameter: who text",
			"-- source: shop", "-- author: Ann", "-- date: 2026-11-02", sql,
		}, "\n")
	}
	const question = `shipped orders in February 2024, since 2 February 2024, above 5.5 and up to number 50 of year 2024, ` +
		`of "Customer 3"`
	pg := pgtest.Reader(t, orders...)
	csv := filepath.Join(t.TempDir(), "orders.csv")
	rows := "id,who,status,total,ordered_at\n7,Customer 3,shipped,10.5,2024-02-05 12:00:00\n" +
		"8,Customer 2,shipped,10.5,2024-02-06 12:00:00\n9,Customer 3,open,10.5,2024-02-07 12:00:00\n"
	if err := os.WriteFile(csv, []byte(rows), 0o600); err != nil {
		t.Fatal(err)
	}
	for name, c := range map[string]struct{ address, sql string }{
		"Postgres": {pg, `SELECT count(*) AS n FROM orders o JOIN customers c ON c.id = o.customer_id
WHERE o.status = $1 AND o.ordered_at >= $2 AND o.ordered_at < $2::date + interval '1 month' AND o.ordered_at >= $3
  AND o.total > $4 AND o.id <= $5 AND extract(year FROM o.ordered_at) = $6 AND c.name = $7`},
		"files": {csv, `SELECT count(*) AS n FROM orders
WHERE status = $1 AND ordered_at >= $2 AND ordered_at < $2::date + interval 1 month AND ordered_at >= $3
  AND total > $4 AND id <= $5 AND extract(year FROM ordered_at) = $6 AND who = $7`},
	} {
		g := newRig(t, t.TempDir(), func(cfg *config.Config) {
			cfg.Context, cfg.Sources = verifiedFolder(t, query(c.sql)), map[string]string{"shop": c.address}
		})
		a := g.answer(question)
		if len(a.Verified) != 1 || len(a.results) != 1 || a.results[0].RowCount != 1 ||
			!strings.Contains(a.Text, ": **1**.") {
			t.Errorf("%s: %+v", name, a)
		}
	}
}
