package app

import (
	"encoding/json"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/footnotehq/footnote"
	"github.com/footnotehq/footnote/config"
)

// TestUsageByPerson lets users of two organisations ask. The administrator of one sees what its own people did;
// no one else sees anything.
func TestUsageByPerson(t *testing.T) {
	const cemsKey, dansKey = "key-of-cem-0123456789", "key-of-dan-0123456789"
	g := newRig(t, t.TempDir(), func(c *config.Config) {
		c.APIKeys = []config.Key{
			{Key: adasKey, Org: "acme", User: "ada", Roles: []string{footnote.Admin}},
			{Key: bobsKey, Org: "acme", User: "bob"},
			{
				Key:  cemsKey,
				Org:  "other",
				User: "cem",
			},
			{Key: dansKey, Org: "other", User: "dan", Roles: []string{footnote.Admin}},
		}
	})
	ask := func(key, text string) string {
		var opened taken
		if err := json.Unmarshal([]byte(g.as(key, "POST", "/api/conversations", map[string]any{
			"text": text,
		}, http.StatusAccepted)), &opened); err != nil {
			t.Fatal(err)
		}
		g.settleAs(key, opened.Conversation)
		return opened.Conversation
	}
	ask(adasKey, "How many orders are there?")
	bobs := ask(bobsKey, "revenue by category")
	ask(bobsKey, "revenue by category") // served from the cache
	ask(cemsKey, "How many customers are there?")

	for _, path := range []string{"/api/usage/people", "/api/usage/people?format=csv", "/api/usage/questions"} {
		for _, key := range []string{bobsKey, cemsKey} {
			if text := g.as(key, "GET", path, nil, http.StatusForbidden); strings.Contains(text, "ada") {
				t.Error(text)
			}
		}
		if text := g.as(dansKey, "GET", path, nil, http.StatusOK); !strings.Contains(text, "cem") ||
			strings.Contains(text, "bob") || strings.Contains(text, "revenue") {
			t.Errorf("dan of another organisation sees %s", text)
		}
	}

	var people struct {
		From, To string
		Rows     []struct {
			Day, User               string
			Questions, Runs, Failed int64
			Calls                   int64 `json:"tool_calls"`
			Hits                    int64 `json:"cache_hits"`
		}
	}
	g.call("GET", "/api/usage/people", nil, 200, &people)
	today := time.Now().UTC().Format(time.DateOnly)
	if len(people.Rows) != 2 || people.Rows[0].User != "bob" || people.Rows[0].Questions != 2 ||
		people.Rows[0].Runs != 2 || people.Rows[0].Failed != 0 || people.Rows[0].Hits == 0 ||
		people.Rows[0].Calls <= people.Rows[0].Hits || people.Rows[1].User != "ada" || people.Rows[1].Questions != 1 ||
		people.Rows[1].Day > today || people.To > today {
		t.Errorf("usage of everyone: %+v", people)
	}
	g.call("GET", "/api/usage/people?user=ada", nil, 200, &people)
	if len(people.Rows) != 1 || people.Rows[0].User != "ada" {
		t.Errorf("usage of ada: %+v", people)
	}
	g.call("GET", "/api/usage/people?from=2020-01-01&to=2020-02-01", nil, 200, &people)
	if len(people.Rows) != 0 || people.From != "2020-01-01" {
		t.Errorf("usage in 2020: %+v", people)
	}
	for _, bad := range []string{
		"from=x", "to=2026-02-30", "from=2026-02-02&to=2026-02-01", "from=2020-01-01&to=2026-01-01", "format=xml",
	} {
		g.refused(g.request("GET", "/api/usage/people?"+bad, nil), 400, "invalid_request")
	}
	w := g.do(g.request("GET", "/api/usage/people?format=csv&user=bob", nil))
	if lines := strings.Split(strings.TrimSpace(w.Body.String()),
		"\n"); len(lines) != 2 || !strings.HasPrefix(lines[0], "day,user,questions,runs,") ||
		!strings.Contains(lines[1], ",bob,2,2,0,") ||
		!strings.HasPrefix(w.Header().Get("Content-Disposition"), `attachment; filename="usage-`) {
		t.Errorf("usage as CSV: %v %s", w.Header(), w.Body)
	}

	var asked struct {
		Questions []struct{ Conversation, User, Question, Outcome string }
		Next      string
	}
	g.call("GET", "/api/usage/questions", nil, 200, &asked)
	if len(asked.Questions) != 3 || asked.Questions[0].User != "bob" ||
		asked.Questions[0].Question != "revenue by category" || asked.Questions[0].Outcome != "finished" ||
		asked.Questions[2].Question != "How many orders are there?" || asked.Next != "" {
		t.Errorf("questions: %+v", asked)
	}
	// A deleted conversation loses its text; its usage stays known.
	g.as(bobsKey, "DELETE", "/api/conversations/"+bobs, nil, http.StatusNoContent)
	asked.Questions = nil
	g.call("GET", "/api/usage/questions?user=bob", nil, 200, &asked)
	if len(asked.Questions) != 2 || asked.Questions[1].Question != "" || asked.Questions[1].Conversation != bobs ||
		asked.Questions[0].Question == "" {
		t.Errorf("questions after a deletion: %+v", asked)
	}
}
