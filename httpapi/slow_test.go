package httpapi_test

import (
	"context"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"
	"testing/synctest"

	"github.com/footnotehq/footnote/agent/agenttest"
	"github.com/footnotehq/footnote/tool"
)

// stuck is a connection whose client reads nothing: writes block.
type stuck struct {
	*httptest.ResponseRecorder
	once  sync.Once
	full  chan struct{} // closed when a write blocks
	until chan struct{}
}

func (s *stuck) Write(b []byte) (int, error) {
	s.once.Do(func() { close(s.full) })
	<-s.until
	return s.ResponseRecorder.Write(b)
}

// TestSlowReaderDoesNotSlowRun checks that a run completes while the writes to all its readers are blocked, in
// the app's protocol and in that of pages with their own stream.
func TestSlowReaderDoesNotSlowRun(t *testing.T) {
	for name, open := range map[string]string{
		"events":  `/api/conversations/ID/events?follow=true`,
		"analyze": `/api/analyze`,
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				goOn := make(chan struct{})
				wait := agenttest.NewTool(tool.Spec{
					Name:     "query",
					Side:     tool.Server,
					ReadOnly: true,
				}, func(context.Context, tool.Call) (tool.Output, error) {
					<-goOn
					return tool.Output{Content: "42"}, nil
				})
				api := newReal(t, agenttest.Script(agenttest.Call("t1", "query", `{"sql":"SELECT 42"}`),
					agenttest.Say("There are 42.")), wait)
				w := &stuck{
					ResponseRecorder: httptest.NewRecorder(),
					full:             make(chan struct{}),
					until:            make(chan struct{}),
				}
				var id string
				read := request("POST", open, `{"question":"How many?","request_id":"slow"}`)
				if name == "events" {
					body := do(api, request("POST", "/api/conversations", `{"text":"How many?"}`)).Body.String()
					_, id, _ = strings.Cut(body, `"conversation":"`)
					id, _, _ = strings.Cut(id, `"`)
					read = request("GET", strings.Replace(open, "ID", id, 1), "")
				}
				ctx, leave := context.WithCancel(t.Context())
				gone := start(ctx, api, w, read)
				<-w.full
				if id == "" {
					id = w.Header().Get("X-Conversation-Id")
				}
				close(goOn)
				synctest.Wait()
				log := do(api, request("GET", "/api/conversations/"+id+"/events", "")).Body.String()
				if !strings.Contains(log, `"run_finished"`) || !strings.Contains(log, "There are 42.") {
					t.Errorf("while a reader is stuck the run comes to\n%s", log)
				}
				select {
				case <-gone:
					t.Error("the reader was not stuck")
				default:
				}
				close(w.until)
				leave()
				<-gone
			})
		})
	}
}
