package app

import (
	"bufio"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/footnotehq/footnote/config"
	"github.com/footnotehq/footnote/market/markettest"
	"github.com/footnotehq/footnote/model/modeltest"
)

// withMarket configures a small market.
func withMarket(t *testing.T) func(*config.Config) {
	t.Helper()
	path := markettest.Small(t)
	return func(c *config.Config) { c.Market.Store = config.Secret(path) }
}

// TestStreamOfPrices reads two prices of the replay. It gets none without a key or for an unknown symbol.
func TestStreamOfPrices(t *testing.T) {
	g := newRig(t, t.TempDir(), withMarket(t))
	server := httptest.NewServer(g.api)
	t.Cleanup(server.Close) // runs after the bodies below are closed: it waits for its streams
	get := func(symbol, key string) *http.Response {
		t.Helper()
		r, err := http.NewRequestWithContext(t.Context(), "GET", server.URL+"/api/market/price?symbol="+symbol, nil)
		if err != nil {
			t.Fatal(err)
		}
		r.Header.Set("Authorization", "Bearer "+key)
		answer, err := server.Client().Do(r)
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { answer.Body.Close() })
		return answer
	}
	if a := get("EURUSD", "nobodys"); a.StatusCode != 401 {
		t.Errorf("without a key: %d", a.StatusCode)
	}
	for symbol, want := range map[string]int{"NONE": 404, "no%20symbol": 400} {
		if a := get(symbol, adasKey); a.StatusCode != want {
			t.Errorf("of %s: %d", symbol, a.StatusCode)
		}
	}
	lines, n := bufio.NewScanner(get("EURUSD", adasKey).Body), 0
	for n < 2 && lines.Scan() {
		if line := lines.Text(); line == "" {
			continue
		} else if !strings.HasPrefix(line, `data: {"symbol":"EURUSD","bid":1.1`) ||
			!strings.Contains(line, `"age_seconds":0,"synthetic":false,"replay":true}`) {
			t.Fatalf("a price is %s", line)
		}
		n++
	}
	if n != 2 {
		t.Fatalf("%d prices: %v", n, lines.Err())
	}
}

// TestChartAnalyst checks that the assistant exists with market data, and names what is missing without it.
func TestChartAnalyst(t *testing.T) {
	for available, change := range map[bool]func(*config.Config){true: withMarket(t), false: func(*config.Config) {}} {
		g := newRig(t, t.TempDir(), change)
		body := g.do(g.request("GET", "/api/assistants", nil)).Body.String()
		at := strings.Index(body, `"name":"chart"`)
		if at < 0 {
			t.Fatalf("there is no chart analyst: %s", body)
		}
		if missing := strings.Contains(body[at:], "set FOOTNOTE_MARKET_STORE"); missing == available ||
			strings.Contains(body[at:], `"get_candles"`) != available {
			t.Errorf("with market data %v: %s", available, body[at:])
		}
		if w := g.do(g.request("GET", "/api/market/symbols", nil)); (w.Code == 200) != available ||
			!available && w.Code != 404 {
			t.Errorf("with market data %v: %d %s", available, w.Code, w.Body)
		}
	}
}

// TestMarketNumbersHaveFootnotes asks the chart analyst for candles, with a scripted model. A number of its
// answer links to the stored table; a number that is in no table does not.
func TestMarketNumbersHaveFootnotes(t *testing.T) {
	fake := modeltest.New(modeltest.Options{Key: "test", Replies: []modeltest.Reply{
		modeltest.Use("get_candles", `{"symbol":"EURUSD","timeframe":"5m","limit":2}`),
		modeltest.Say("The last high is 1.111, the target 1.2345."), modeltest.Say("Close"),
	}})
	base, with := fake.Start(t), withMarket(t)
	g := newRig(t, t.TempDir(), func(c *config.Config) {
		with(c)
		c.Upstream, c.BaseURL, c.APIKey, c.Model = config.Anthropic, base, "test", "claude-sonnet-5"
	})
	w := g.do(g.request("POST", "/api/chat", map[string]any{
		"message":   "Where is it?",
		"symbol":    "EURUSD",
		"timeframe": "5m",
	}))
	if w.Code != 200 {
		t.Fatal(w.Code, w.Body)
	}
	id := w.Header().Get("X-Conversation-Id")
	rows := g.do(g.request("GET", "/api/results/"+id+".r1", nil))
	if body := rows.Body.String(); rows.Code != 200 || !strings.Contains(body, `"source":"market"`) ||
		!strings.Contains(body, `-- get_candles {`) ||
		!strings.Contains(body, `["2026-11-19T12:05:00Z",1.105,1.111,1.103,`) {
		t.Errorf("the stored table is %d %s", rows.Code, body)
	}
	log := g.do(g.request("GET", "/api/conversations/"+id+"/events", nil)).Body.String()
	if !strings.Contains(log, `"text":"1.111"`) || !strings.Contains(log, `"result":"r1"`) ||
		!strings.Contains(log, "1.2345") {
		t.Errorf("no footnote in %s", log)
	}
}
