package e2e

import (
	"bufio"
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"strings"
	"testing"
)

// atChart asks at the chart of EURUSD and makes all requested drawings. It returns the conversation, the
// drawings and the answer.
func (p *process) atChart(t *testing.T, conversation, message string) (id string, drawn []string, text string) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), patience)
	defer cancel()
	data, err := json.Marshal(map[string]string{
		"conversationId": conversation, "message": message, "symbol": "EURUSD", "timeframe": "1h",
	})
	if err != nil {
		t.Fatal(err)
	}
	r, err := http.NewRequestWithContext(ctx, http.MethodPost, p.url+"/api/chat", strings.NewReader(string(data)))
	if err != nil {
		t.Fatal(err)
	}
	r.Header.Set("Content-Type", "application/json")
	res, err := http.DefaultClient.Do(r)
	if err != nil {
		t.Fatal(err)
	}
	defer res.Body.Close()
	id = res.Header.Get("X-Conversation-Id")
	lines, done := bufio.NewScanner(res.Body), false
	for lines.Scan() {
		data, ok := strings.CutPrefix(lines.Text(), "data: ")
		if !ok {
			continue
		}
		var f struct{ Type, ID, Name, Delta, ConversationID string }
		if err := json.Unmarshal([]byte(data), &f); err != nil {
			t.Fatalf("%s: %v", data, err)
		}
		switch f.Type {
		case "text":
			text += f.Delta
		case "client_tool":
			drawn = append(drawn, f.Name)
			status, got := p.sendJSON(t, "/api/chat/tool-result", map[string]any{
				"conversationId": f.ConversationID,
				"toolCallId":     f.ID,
				"result":         map[string]bool{"ok": true},
			})
			if status != http.StatusOK {
				t.Errorf("%s: %d %s", f.Name, status, got)
			}
		case "error":
			t.Errorf("%s: %s", message, data)
		}
		done = done || f.Type == "done"
	}
	if !done {
		t.Fatalf("%s: status %d, the answer has no end: %v", message, res.StatusCode, lines.Err())
	}
	return id, drawn, text
}

// openNumerals returns the numbers in the newest answer that have no source, and how many have one.
func (p *process) openNumerals(t *testing.T, id string) (open []string, cited int) {
	t.Helper()
	for _, e := range p.log(t, id, "") {
		if e.Kind != "answered" {
			continue
		}
		var b struct {
			Unresolved []struct{ Text string }
			Footnotes  []struct{ Text string }
		}
		if err := json.Unmarshal(e.Body, &b); err != nil {
			t.Fatal(err)
		}
		open, cited = nil, len(b.Footnotes)
		for _, u := range b.Unresolved {
			open = append(open, u.Text)
		}
	}
	return open, cited
}

// TestChartDemo talks to the chart demo without a model: the page's suggestions work, and each drawing says
// why it is there and why it moved.
func TestChartDemo(t *testing.T) {
	t.Parallel()
	p := launch(t, []string{"FOOTNOTE_LISTEN=127.0.0.1:0", "FOOTNOTE_DATA=" + t.TempDir()}, "demo")
	eventually(t, "the market is there", func() bool {
		status, body := p.get(t, "/api/market/symbols", "")
		return status == http.StatusOK && strings.Contains(body, "EURUSD")
	})
	id := ""
	for _, q := range []struct{ said, drawn, says string }{
		{"Draw support and resistance", "draw_horizontal_line draw_horizontal_line", "I drew support"},
		{"Draw support and resistance", "", "Support is marked already"},
		{"Draw the trendline of the last swing", "draw_trendline", "I drew the trendline"},
		{"Draw a fib from the last high to the last low", "draw_fibonacci", "I drew the retracement"},
		{"Draw a fib from the last low to the last high", "draw_fibonacci", "I drew the retracement"},
		{"Move support down to the last swing low", "update_drawing", "I moved the support"},
		{"List my drawings", "", "There are 5 drawings on the chart of EURUSD:"},
		{"What's coming up today?", "", "Times are UTC"},
		{"How did I do last month?", "", "`2026-10-01` to `2026-10-31`"},
		{"price", "", "EURUSD: bid"}, {"COT", "", "Speculators in EURUSD"}, {"headlines", "", "newest headlines"},
		{"Should I buy?", "", "I did nothing"},
	} {
		conversation, drawn, text := p.atChart(t, id, q.said)
		if id = conversation; strings.Join(drawn, " ") != q.drawn || !strings.Contains(text, q.says) {
			t.Errorf("%s: drew %v: %s", q.said, drawn, text)
		}
		if open, cited := p.openNumerals(t, id); len(open) > 0 || q.drawn != "" && cited == 0 {
			t.Errorf("%s: %q have no source, %d have one: %s", q.said, open, cited, text)
		}
	}
	p.checkTrail(t, id)
}

// checkTrail checks that the document contains the drawings, each with its reason, and the move together with
// the previous state.
func (p *process) checkTrail(t *testing.T, id string) {
	t.Helper()
	var doc struct {
		Drawings []struct{ ID, Type, Label, Notes string }
	}
	var trail struct {
		Changes []struct {
			Drawing, Action, By, Reason, Conversation string
			Changes                                   map[string]struct{ From, To any }
		}
	}
	for path, to := range map[string]any{
		"/api/drawings?symbol=EURUSD":         &doc,
		"/api/drawings/history?symbol=EURUSD": &trail,
	} {
		status, body := p.get(t, path, "")
		if err := json.Unmarshal([]byte(body), to); err != nil || status != http.StatusOK {
			t.Fatalf("%s: %d %s", path, status, body)
		}
	}
	var types []string
	for _, d := range doc.Drawings {
		types = append(types, d.Type)
		if d.Notes == "" {
			t.Errorf("the drawing %+v does not say why", d)
		}
	}
	if got := fmt.Sprint(types); got != "[horizontal_line horizontal_line trendline fibonacci fibonacci]" {
		t.Errorf("the chart has %s", got)
	}
	moved := 0
	for _, c := range trail.Changes {
		if c.Reason == "" || c.By != "agent" || c.Conversation != id {
			t.Errorf("a change is %+v", c)
		}
		if c.Action == "update" {
			moved++
			from, ok := c.Changes["price"].From.(float64)
			to, also := c.Changes["price"].To.(float64)
			if !ok || !also || to >= from || !strings.Contains(c.Reason, "last swing low") ||
				!strings.Contains(c.Reason, fmt.Sprintf("%.5f", to)) {
				t.Errorf("the move is %+v", c)
			}
		}
	}
	if moved != 1 || len(trail.Changes) != 6 {
		t.Errorf("%d moves among %d changes", moved, len(trail.Changes))
	}
}
