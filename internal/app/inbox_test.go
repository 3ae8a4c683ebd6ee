package app

import (
	"net/http"
	"strings"
	"testing"

	"github.com/footnotehq/footnote"
	"github.com/footnotehq/footnote/config"
)

// TestInbox checks that an administrator sees a bad rating of their organisation with question, answer, statement and
// words, that no one else does, and that it ends with its conversation.
func TestInbox(t *testing.T) {
	const dansKey = "key-of-dan-0123456789"
	g := newRig(t, t.TempDir(), func(c *config.Config) {
		c.APIKeys = []config.Key{
			{Key: adasKey, Org: "acme", User: "ada", Roles: []string{footnote.Admin}},
			{Key: bobsKey, Org: "acme", User: "bob"},
			{Key: dansKey, Org: "other", User: "dan", Roles: []string{footnote.Admin}},
		}
	})
	id := g.ask("How many orders are there?")
	rate := func(good bool, words string) {
		t.Helper()
		for _, ev := range g.events(id) {
			if ev.Kind == "answered" {
				g.call("POST", "/api/feedback", map[string]any{
					"conversation": id, "seq": ev.Seq, "good": good, "words": words,
				}, 204, nil)
			}
		}
	}
	var got struct {
		Items []struct {
			Conversation, User, Question, Answer, Words string
			Down                                        bool `json:"rated_bad"`
			Results                                     []struct{ ID, Source, SQL string }
		}
	}
	if g.call("GET", "/api/inbox", nil, 200, &got); len(got.Items) != 0 {
		t.Errorf("without a rating: %+v", got)
	}
	rate(false, "Without the cancelled ones, please.")
	g.call("GET", "/api/inbox", nil, 200, &got)
	if len(got.Items) != 1 {
		t.Fatalf("items: %+v", got)
	}
	if i := got.Items[0]; i.Conversation != id || i.User != "ada" || i.Question != "How many orders are there?" ||
		i.Answer == "" || !i.Down || i.Words != "Without the cancelled ones, please." || len(i.Results) != 1 ||
		i.Results[0].Source != "shop" || !strings.Contains(strings.ToLower(i.Results[0].SQL), "from") {
		t.Errorf("item: %+v", i)
	}
	if text := g.as(bobsKey, "GET", "/api/inbox", nil, http.StatusForbidden); strings.Contains(text, id) {
		t.Error(text)
	}
	if text := g.as(dansKey, "GET", "/api/inbox", nil, http.StatusOK); strings.Contains(text, id) {
		t.Errorf("another organisation sees %s", text)
	}
	g.refused(g.request("GET", "/api/inbox?before=0", nil), 400, "invalid_request")
	rate(true, "")
	got.Items = nil
	if g.call("GET", "/api/inbox", nil, 200, &got); len(got.Items) != 0 {
		t.Errorf("after a good rating: %+v", got)
	}
	rate(false, "")
	g.call("DELETE", "/api/conversations/"+id, nil, 204, nil)
	if g.call("GET", "/api/inbox", nil, 200, &got); len(got.Items) != 0 {
		t.Errorf("after the conversation was deleted: %+v", got)
	}
}
