package httpapi_test

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"
	"testing/synctest"

	"github.com/footnotehq/footnote"
	"github.com/footnotehq/footnote/agent/agenttest"
	"github.com/footnotehq/footnote/store/sqlite/sqlitetest"
	"github.com/footnotehq/footnote/tool"
)

// TestAnswerListsStatements checks that the app's protocol takes the statements that a page tried, and refuses
// outcomes that a page cannot know.
func TestAnswerListsStatements(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		log := sqlitetest.New(t)
		browser := agenttest.NewTool(tool.Spec{Name: "in_page", Side: tool.Client, ReadOnly: true}, nil)
		call := func(id string) json.RawMessage { return agenttest.CallBlock(id, "in_page", `{"sql":"SELECT 1"}`) }
		model := agenttest.Script(agenttest.Calls(call("a"), call("b")), agenttest.Say("Done."))
		api := newOn(t, log, "scripted", model, nil, browser)
		w := do(api, request("POST", "/api/conversations", `{"text":"go"}`))
		var opened struct{ Conversation string }
		if err := json.Unmarshal(w.Body.Bytes(), &opened); err != nil || w.Code != 202 {
			t.Fatal(w.Code, w.Body)
		}
		synctest.Wait()
		answer := func(body string, status int) {
			t.Helper()
			target := "/api/conversations/" + opened.Conversation + "/turns"
			if w := do(api, request("POST", target, `{"answers":[`+body+`]}`)); w.Code != status {
				t.Errorf("%s: %d %s", body, w.Code, w.Body)
			}
		}
		const failed = `"content":"no","is_error":true`
		answer(`{"call_id":"a",`+failed+`,"statements":[{"sql":"SELECT 1","outcome":"cached"}]}`, 400)
		answer(`{"call_id":"a",`+failed+`,"statements":[{"sql":"SELECT 1","outcome":"refused","tables":["t"]}]}`, 400)
		answer(`{"call_id":"a",`+failed+`,"statements":[{"sql":"SELECT 1","outcome":"refused"}]}`, 202)
		answer(`{"call_id":"b",`+failed+`,"rows":[],"statements":[]}`, 400)
		answer(`{"call_id":"b",`+failed+`,"columns":null,"rows":null,"statements":[]}`, 202)
		var got []string
		for ev := range log.Events(t.Context(), opened.Conversation, 0) {
			if b, ok := ev.Body.(footnote.ToolResult); ok {
				got = append(got, fmt.Sprint(b.CallID, " ", b.Statements[0].Outcome))
			}
		}
		if got := strings.Join(got, ", "); got != "a refused, b not_run" {
			t.Error(got)
		}
	})
}
