package e2e

import (
	"bufio"
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/footnotehq/footnote/market/markettest"
	"github.com/footnotehq/footnote/model/modeltest"
)

// TestReplicaDraws checks that a stream continues when the drawing it asked for is reported to another server, and that
// all servers have the drawing, even after a kill.
func TestReplicaDraws(t *testing.T) {
	t.Parallel()
	_, settings := imitate(t, func(r modeltest.Request) modeltest.Reply {
		if len(r.Results()) > 0 || !r.HasTool("draw_horizontal_line") {
			return modeltest.Say("It is drawn.")
		}
		return modeltest.Blocks(modeltest.CallBlock("draw_horizontal_line",
			`{"price":1.098,"notes":"The low of the minutes."}`))
	})
	s := replicas(t, append(settings, "FOOTNOTE_MARKET_STORE="+markettest.Small(t))...)
	ctx, cancel := context.WithTimeout(t.Context(), 2*time.Minute)
	defer cancel()
	res, err := s[0].post(ctx, "/api/chat",
		strings.NewReader(`{"message":"Draw support","symbol":"EURUSD","timeframe":"1m"}`), "", "")
	if err != nil || res.StatusCode != http.StatusOK {
		t.Fatal(res, err)
	}
	defer res.Body.Close()
	id, kinds := res.Header.Get("X-Conversation-Id"), ""
	lines := bufio.NewScanner(res.Body)
	for lines.Scan() {
		data, ok := strings.CutPrefix(lines.Text(), "data: ")
		if !ok {
			continue
		}
		var frame struct{ Type, ID string }
		if err := json.Unmarshal([]byte(data), &frame); err != nil {
			t.Fatal(err)
		}
		if kinds += frame.Type + " "; frame.Type == "client_tool" {
			answer := map[string]any{"conversationId": id, "toolCallId": frame.ID, "result": map[string]any{"ok": true}}
			for range 2 { // the second is a duplicate
				if status, body := s[1].sendJSON(t, "/api/chat/tool-result", answer); status != http.StatusOK {
					t.Fatal(status, body)
				}
			}
		}
	}
	if !strings.HasPrefix(kinds, "client_tool tool_result text ") || !strings.HasSuffix(kinds, "done ") {
		t.Errorf("the stream has %s, %v", kinds, lines.Err())
	}
	s[1].kill()
	var drawn []string
	for _, p := range []*process{s[0], s[2]} {
		_, body := p.get(t, "/api/drawings?symbol=EURUSD", "")
		_, history := p.get(t, "/api/drawings/history?symbol=EURUSD", "")
		if strings.Count(history, `"action"`) != 1 ||
			!strings.Contains(history, fmt.Sprintf(`"conversation":%q`, id)) ||
			!strings.Contains(history, "The low of the minutes.") {
			t.Errorf("history: %s", history)
		}
		drawn = append(drawn, body)
	}
	if drawn[0] != drawn[1] || !strings.Contains(drawn[0], `"price":1.098`) {
		t.Errorf("drawings at both servers: %s\n%s", drawn[0], drawn[1])
	}
}
