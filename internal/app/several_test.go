package app

import (
	"database/sql"
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/footnotehq/footnote/config"
	"github.com/footnotehq/footnote/demo/demotest"
	"github.com/footnotehq/footnote/httpapi"
	"github.com/footnotehq/footnote/internal/access"
)

// salesBytes returns a SQLite file with one table, as an upload.
func salesBytes(t *testing.T) []byte {
	t.Helper()
	path := filepath.Join(t.TempDir(), "sales.db")
	db, err := sql.Open("sqlite", "file:"+path)
	if err != nil {
		t.Fatal(err)
	}
	for _, q := range []string{
		`CREATE TABLE sales (region TEXT, product TEXT, units INTEGER, revenue REAL)`,
		`INSERT INTO sales VALUES ('North', 'Lamp', 4, 80), ('South', 'Lamp', 1, 20), ('South', 'Desk', 2, 300)`,
	} {
		if _, err := db.Exec(q); err != nil {
			t.Fatal(err)
		}
	}
	if err := db.Close(); err != nil {
		t.Fatal(err)
	}
	data, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	return data
}

// TestSeveralSourcesThroughEachProtocol checks that a question without named sources goes to the one that explains it,
// including uploads; that two matching sources lead to a question back; and that a source the user may not use is not
// mentioned.
func TestSeveralSourcesThroughEachProtocol(t *testing.T) {
	all := []string{"*"}
	g := newRig(t, t.TempDir(), func(c *config.Config) {
		c.Sources["payroll"] = demotest.Shop(t)
		c.Access = []access.Rule{
			{
				Orgs: []string{"acme"}, Users: []string{"ada"}, Sources: []string{"shop"}, Assistants: all, Tools: all,
				Tiers: all, Models: all,
			},
		}
	})
	var up httpapi.SourceInfo
	if w := g.do(g.upload("sales.db", salesBytes(t))); w.Code != 201 || json.Unmarshal(w.Body.Bytes(), &up) != nil {
		t.Fatalf("upload: %d %s", w.Code, w.Body)
	}
	message := func(role, text string) []map[string]any {
		return []map[string]any{
			{"role": role, "content": text, "id": "m1", "parts": []map[string]any{{"type": "text", "text": text}}},
		}
	}
	posted := func(target string, body map[string]any) string {
		t.Helper()
		w := g.do(g.request("POST", target, body))
		if w.Code != 200 {
			t.Errorf("%s: %d %s", target, w.Code, w.Body)
		}
		return w.Body.String()
	}
	for protocol, ask := range map[string]func(q string) string{
		"openai": func(q string) string {
			return posted("/v1/chat/completions", map[string]any{
				"model":    "claude-da/analyst",
				"messages": []map[string]any{{"role": "user", "content": q}},
			})
		},
		"analyze": func(q string) string {
			return posted("/api/analyze", map[string]any{"question": q, "assistant": "analyst"})
		},
		"chat-v2": func(q string) string {
			return posted("/api/chat-v2", map[string]any{"message": q, "assistant": "analyst"})
		},
		"aisdk": func(q string) string {
			return posted("/api/ai", map[string]any{"messages": message("user", q), "assistant": "analyst"})
		},
		"native": func(q string) string {
			var run taken
			g.call("POST", "/api/conversations", map[string]any{"text": q, "assistant": "analyst"}, 202, &run)
			text := ""
			for _, ev := range g.settle(run.Conversation) {
				if ev.Kind == "answered" {
					text = string(ev.Body)
				}
			}
			return text
		},
	} {
		for question, want := range map[string]string{
			"total revenue by region":           "Source: ",
			"total units by product in sales":   "Source: ",
			"total units by product":            "More than one source can answer this. Which one do you mean?",
			"average temperature by planet":     "I looked at shop, " + up.Name + ".",
			"how many orders are there in 2024": "Source: shop. ",
		} {
			got := ask(question)
			if !strings.Contains(got, want) || !strings.Contains(got, up.Name) && want == "Source: " ||
				strings.Contains(got, "payroll") {
				t.Errorf("%s, %s: want %q: %s", protocol, question, want, got)
			}
		}
	}
	g.refused(g.request("POST", "/api/generate-sql", map[string]any{"question": "how many orders are there"}), 400,
		"invalid_request")
	var hints struct{ Suggestions []struct{ Text string } }
	if g.call("GET", "/api/suggestions", nil, 200, &hints); len(hints.Suggestions) < 3 {
		t.Errorf("suggestions about all sources: %+v", hints)
	}
}
