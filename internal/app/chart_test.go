package app

import (
	"bufio"
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"github.com/footnotehq/footnote/config"
	"github.com/footnotehq/footnote/market/markettest"
	"github.com/footnotehq/footnote/model/modeltest"
)

// TestChartAnalystEndToEnd tests the whole program with a scripted model: a message, a call that the server rejects, a
// call that the client draws, and the document after a restart.
func TestChartAnalystEndToEnd(t *testing.T) {
	at := markettest.Begins.Add(3*time.Minute + 20*time.Second).Format(time.RFC3339)
	fake := modeltest.New(modeltest.Options{Key: "test", Replies: []modeltest.Reply{
		modeltest.Use("draw_horizontal_ray", `{"anchor":{"timestamp":"2020-01-01T00:00:00Z","price":1.1}}`),
		modeltest.Use("draw_horizontal_ray",
			`{"anchor":{"timestamp":"`+at+`","price":1.101},"notes":"The low of the minute.","tags":["support"]}`),
		modeltest.Say("Support is drawn."), modeltest.Say("Support"),
	}})
	base, with := fake.Start(t), withMarket(t)
	folder := t.TempDir()
	configure := func(c *config.Config) {
		with(c)
		c.Upstream, c.BaseURL, c.APIKey, c.Model = config.Anthropic, base, "test", "claude-sonnet-5"
	}
	before := ""
	t.Run("drawn", func(t *testing.T) {
		g := newRig(t, folder, configure)
		server := httptest.NewServer(g.api)
		t.Cleanup(server.Close)
		conversation := drawThrough(t, server)
		view := g.do(g.request("GET", "/api/chat/"+conversation, nil))
		if err := readSpec(t, g).check(g.request("GET", "/api/chat/"+conversation, nil), view); err != nil {
			t.Error(err)
		}
		if !strings.Contains(view.Body.String(), "before the first bar of EURUSD") ||
			!strings.Contains(view.Body.String(), `"drawingActions":1`) {
			t.Errorf("view of the conversation: %s", view.Body)
		}
		list := g.do(g.request("GET", "/api/chat", nil))
		if err := readSpec(t, g).check(g.request("GET", "/api/chat", nil), list); err != nil {
			t.Error(err)
		}
		before = g.do(g.request("GET", "/api/drawings?symbol=EURUSD", nil)).Body.String()
		history := g.do(g.request("GET", "/api/drawings/history?symbol=EURUSD", nil)).Body.String()
		if want := fmt.Sprintf(`"time":%d,"price":1.101`,
			markettest.Begins.Add(3*time.Minute).Unix()); !strings.Contains(before, want) ||
			!strings.Contains(history, `"reason":"The low of the minute."`) ||
			!strings.Contains(history, conversation) {
			t.Errorf("drawings and history: %s\n%s", before, history)
		}
	})
	t.Run("again", func(t *testing.T) {
		g := newRig(t, folder, configure)
		if after := g.do(g.request("GET", "/api/drawings?symbol=EURUSD", nil)).Body.String(); after != before {
			t.Errorf("after a restart %s, before %s", after, before)
		}
	})
	asked := fake.Requests()
	first, last := string(asked[0].Body), string(asked[2].Body)
	for _, want := range []string{
		`symbol=\"EURUSD\" timeframe=\"1m\"`, "Current price: bid 1.1", "Recent range: the last 10 bars of 1m",
		"Events of the next 24 hours: not known: the loaded calendar ends at 2026-11-19T12:00:00Z.",
		"Positions of large traders (COT): not known: no report of EURUSD is loaded.",
		"Newest headlines: not known: no news of EUR or USD is loaded.", "Drawings: There are no drawings.",
	} {
		if !strings.Contains(first, want) {
			t.Errorf("%q is not in %s", want, first)
		}
	}
	if string(asked[0].System) != string(asked[2].System) || strings.Contains(string(asked[0].System), "EURUSD") ||
		!strings.Contains(string(asked[0].System), "cache_control") {
		t.Errorf("the prompt is not frozen: %s", asked[0].System)
	}
	if refusals := fake.Refusals(); len(refusals) > 0 || !strings.Contains(last, `drawing_id`) {
		t.Errorf("last request to the model: %v %s", refusals, last)
	}
}

// drawThrough asks through the chart analyst's endpoint, and draws as instructed.
func drawThrough(t *testing.T, server *httptest.Server) (conversation string) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	t.Cleanup(cancel)
	post := func(path, body string) *http.Response {
		t.Helper()
		r, err := http.NewRequestWithContext(ctx, "POST", server.URL+path, strings.NewReader(body))
		if err != nil {
			t.Fatal(err)
		}
		r.Header.Set("Authorization", "Bearer "+adasKey)
		r.Header.Set("Content-Type", "application/json")
		res, err := server.Client().Do(r)
		if err != nil || res.StatusCode != 200 {
			t.Fatal(res, err)
		}
		t.Cleanup(func() { res.Body.Close() })
		return res
	}
	res := post("/api/chat", `{"message":"Draw support","symbol":"EURUSD","timeframe":"1m"}`)
	lines := bufio.NewScanner(res.Body)
	var kinds []string
	for lines.Scan() {
		data, ok := strings.CutPrefix(lines.Text(), "data: ")
		if !ok {
			continue
		}
		var frame struct{ Type, ID, ConversationID string }
		if err := json.Unmarshal([]byte(data), &frame); err != nil {
			t.Fatal(err)
		}
		if n := len(kinds); n == 0 || kinds[n-1] != frame.Type {
			kinds = append(kinds, frame.Type)
		}
		if frame.Type == "client_tool" {
			post("/api/chat/tool-result",
				fmt.Sprintf(`{"conversationId":%q,"toolCallId":%q,"result":{"ok":true}}`, frame.ConversationID,
					frame.ID))
		}
	}
	if got := strings.Join(kinds, " "); got != "tool_result client_tool tool_result text done" {
		t.Errorf("the stream has %s: %v", got, lines.Err())
	}
	return res.Header.Get("X-Conversation-Id")
}

// TestChartWithoutMarket checks that the chat answers while the market is unavailable, reports what is missing, and
// draws nothing that cannot be checked.
func TestChartWithoutMarket(t *testing.T) {
	fake := modeltest.New(modeltest.Options{Key: "test", Replies: []modeltest.Reply{
		modeltest.Use("draw_horizontal_line", `{"price":1.1}`), modeltest.Say("The market is unavailable."),
		modeltest.Say("Away"),
	}})
	base := fake.Start(t)
	g := newRig(t, t.TempDir(), func(c *config.Config) {
		c.Market.Store = config.Secret(t.TempDir()) // a folder is not a database
		c.Upstream, c.BaseURL, c.APIKey, c.Model = config.Anthropic, base, "test", "claude-sonnet-5"
	})
	w := g.do(g.request("POST", "/api/chat", map[string]any{
		"message":   "Draw support",
		"symbol":    "EURUSD",
		"timeframe": "1h",
	}))
	if body := w.Body.String(); w.Code != 200 || !strings.Contains(body, "The market database is down") ||
		!strings.Contains(body, `"type":"done"`) || strings.Contains(body, "client_tool") {
		t.Fatalf("answer without a market: %d %s", w.Code, w.Body)
	}
	if body := string(fake.Requests()[0].Body); !strings.Contains(body, "Current price: not available now (") ||
		!strings.Contains(body, "Drawings: There are no drawings.") {
		t.Errorf("prompt without a market: %s", body)
	}
	var list struct {
		Assistants []struct {
			Name, Reason string
			Available    bool
		}
	}
	g.call("GET", "/api/assistants", nil, 200, &list)
	if n := len(list.Assistants); list.Assistants[n-1].Name != "chart" || !list.Assistants[n-1].Available {
		t.Errorf("assistants: %+v", list)
	}
}
