package chatv2_test

import (
	"bufio"
	"encoding/json"
	"io"
	"net/http"
	"net/http/httptest"
	"runtime"
	"strings"
	"sync"
	"testing"

	"github.com/footnotehq/footnote"
	"github.com/footnotehq/footnote/agent"
	"github.com/footnotehq/footnote/agent/agenttest"
	"github.com/footnotehq/footnote/model"
	"github.com/footnotehq/footnote/protocol"
	"github.com/footnotehq/footnote/protocol/chatv2"
	"github.com/footnotehq/footnote/protocol/protocoltest"
	"github.com/footnotehq/footnote/store/sqlite/sqlitetest"
	"github.com/footnotehq/footnote/tool"
)

var (
	do      = protocoltest.Do
	request = protocoltest.Request
)

// send sends a request and returns the complete response.
func send(api http.Handler, method, target, body string) *httptest.ResponseRecorder {
	return do(api, request(method, target, body))
}

// newAPI returns a server that speaks only this protocol.
func newAPI(t *testing.T, model *agenttest.Model, tools ...tool.Tool) http.Handler {
	t.Helper()
	return protocoltest.New(t, protocoltest.Options{
		Protocols: []protocol.Protocol{chatv2.New(chatv2.Settings{})}, Model: model, Tools: tools,
	})
}

// agentResponse is this protocol's answer as its clients read it.
type agentResponse struct {
	Text           string
	Parts          []struct{ Type string }
	Events         []struct{ ID, Type string }
	ConversationID string
	Metadata       struct {
		TokensUsed int
		ToolsUsed  []string
		StopReason string
	}
	Error, Code, Category, RequestID string
}

func chatWhole(t *testing.T, api http.Handler, body string) (int, agentResponse) {
	t.Helper()
	w := send(api, "POST", "/api/chat-v2", body)
	var res agentResponse
	if err := json.Unmarshal(w.Body.Bytes(), &res); err != nil {
		t.Fatalf("%d %s: %v", w.Code, w.Body, err)
	}
	return w.Code, res
}

// chatStream posts a message and reads the stream.
func chatStream(t *testing.T, api http.Handler, body string) *httptest.ResponseRecorder {
	t.Helper()
	r := request("POST", "/api/chat-v2", body)
	r.Header.Set("Accept", "text/event-stream")
	return do(api, r)
}

func TestChatV2(t *testing.T) {
	llm := agenttest.Script(
		agenttest.Call("t1", "query", `{"sql":"SELECT 42"}`), agenttest.Say("There are 42."),
		agenttest.Say("And 43 in June."), agenttest.Say("As I said."),
	)
	api := newAPI(t, llm, protocoltest.Counting("query"))
	status, first := chatWhole(t, api, `{"message":"How many?"}`)
	if status != 200 || first.Text != "There are 42." || len(first.Parts) != 3 || len(first.Events) != 4 ||
		first.Metadata.TokensUsed != 30 ||
		strings.Join(first.Metadata.ToolsUsed, " ") != "query" || first.Metadata.StopReason != model.EndTurn {
		t.Fatalf("first answer: %d %+v", status, first)
	}
	status, second := chatWhole(t, api, `{"newMessage":"And in June?","conversationId":"`+first.ConversationID+`"}`)
	if status != 200 || second.Text != "And 43 in June." || second.ConversationID != first.ConversationID ||
		len(second.Events) != 2 {
		t.Errorf("second answer: %d %+v", status, second)
	}
	sent := protocoltest.Sent(llm, 2)
	if !strings.Contains(sent, "tool_use") || !strings.Contains(sent, "tool_result") {
		t.Errorf("the model was sent %s", sent)
	}
	w := chatStream(t, api, `{"message":"Again?","conversationId":"`+first.ConversationID+`"}`)
	if got := w.Body.String(); w.Code != 200 || !strings.Contains(got, `data: {"type":"text","text":"As I said."}`) ||
		!strings.Contains(got, `{"type":"response","response":{"text":"As I said."`) {
		t.Errorf("streamed answer: %d %s", w.Code, got)
	}
	w = send(api, "GET", "/api/conversations/"+first.ConversationID+"/events?view=seed", "")
	var view []struct {
		Type    string
		Content struct {
			Type     string
			ToolUses []any
			Output   string
		}
		Metadata struct {
			Model  string
			Tokens int
		}
	}
	if err := json.Unmarshal(w.Body.Bytes(), &view); err != nil || len(view) != 8 {
		t.Fatalf("view: %d %s", w.Code, w.Body)
	}
	if view[1].Type != "assistant" || view[1].Content.Type != "tool_use" || len(view[1].Content.ToolUses) != 1 ||
		view[1].Metadata.Model != "scripted" || view[1].Metadata.Tokens != 15 ||
		view[2].Type != "tool_result" || view[2].Content.Output != "42" {
		t.Errorf("the view is %s", w.Body)
	}
	if w := send(api, "GET", "/api/conversations/"+first.ConversationID+"/events?view=other", ""); w.Code != 400 {
		t.Errorf("another view: %d", w.Code)
	}
}

// TestChatV2DuplicateRequests checks that a message posted several times, even concurrently and in both forms, runs
// once, and that each post gets the answer.
func TestChatV2DuplicateRequests(t *testing.T) {
	model := agenttest.Script(agenttest.Say("Once."), agenttest.Say("Twice."))
	api := newAPI(t, model)
	ask := func(body, want string) {
		var wg sync.WaitGroup
		for i := range 6 {
			wg.Go(func() {
				r := request("POST", "/api/chat-v2", body)
				if i%2 == 1 {
					r.Header.Set("Accept", "text/event-stream")
				}
				if w := do(api, r); w.Code != 200 || !strings.Contains(w.Body.String(), `{"text":"`+want+`"`) {
					t.Errorf("%d: %d %s", i, w.Code, w.Body)
				}
			})
		}
		wg.Wait()
	}
	ask(`{"message":"How many?","messageId":"m1"}`, "Once.")
	ask(`{"message":"And now?","conversationId":"mine","messageId":"m2"}`, "Twice.")
	ask(`{"message":"How many?","messageId":"m1"}`, "Once.")
	other := `{"message":"How much?","conversationId":"mine","messageId":"m2"}`
	if w := send(api, "POST", "/api/chat-v2", other); w.Code != 409 {
		t.Errorf("another message with the same id: %d %s", w.Code, w.Body)
	}
	if n := len(model.Requests()); n != 2 {
		t.Errorf("the model was called %d times", n)
	}
}

// TestChatV2OfAnotherProcess checks that a repeated message gets the answer of a run that another process
// drives.
func TestChatV2OfAnotherProcess(t *testing.T) {
	release := make(chan struct{})
	last := agenttest.Say("There are 42.")
	last.Wait = release
	first, second := protocoltest.Replicas(t, protocoltest.Options{
		Protocols: []protocol.Protocol{chatv2.New(chatv2.Settings{})},
		Model:     agenttest.Script(agenttest.Call("t1", "query", `{}`), last),
		Tools:     []tool.Tool{protocoltest.Counting("query")},
	})
	body := `{"message":"How many?","messageId":"m1"}`
	r, err := http.NewRequestWithContext(t.Context(), "POST", protocoltest.Serve(t, first).URL+"/api/chat-v2",
		strings.NewReader(body))
	if err != nil {
		t.Fatal(err)
	}
	r.Header.Set("Content-Type", "application/json")
	r.Header.Set("Accept", "text/event-stream")
	res, err := http.DefaultClient.Do(r)
	if err != nil {
		t.Fatal(err)
	}
	defer res.Body.Close()
	own := bufio.NewReader(res.Body)
	protocoltest.Until(t, own, "tool_result") // stored by now, so the other process has it, too
	var wg sync.WaitGroup
	wg.Go(func() {
		if status, got := chatWhole(t, second, body); status != 200 || got.Text != "There are 42." {
			t.Errorf("the other process: %d %+v", status, got)
		}
	})
	close(release)
	wg.Wait()
	if rest, err := io.ReadAll(own); err != nil || !strings.Contains(string(rest), `"type":"response"`) {
		t.Errorf("rest of the stream: %v %s", err, rest)
	}
}

// TestChatV2BusyPolicies checks each policy for a message that arrives during a run.
func TestChatV2BusyPolicies(t *testing.T) {
	for policy, want := range map[string]struct {
		first, second agentResponse
		status        int
		calls         int
	}{
		agent.Reject:    {agentResponse{Text: "First."}, agentResponse{Code: "conflict"}, 409, 1},
		agent.Enqueue:   {agentResponse{Text: "First."}, agentResponse{Text: "Second."}, 200, 2},
		agent.Interrupt: {agentResponse{}, agentResponse{Text: "Second."}, 200, 2},
	} {
		t.Run(policy, func(t *testing.T) {
			release := make(chan struct{})
			held := agenttest.Say("First.")
			held.Wait = release
			model := agenttest.Script(held, agenttest.Say("Second."))
			api := protocoltest.New(t, protocoltest.Options{
				Protocols: []protocol.Protocol{chatv2.New(chatv2.Settings{OnBusy: policy})}, Model: model,
			})
			var wg sync.WaitGroup
			var first agentResponse
			wg.Go(func() { _, first = chatWhole(t, api, `{"message":"One","conversationId":"c"}`) })
			for len(model.Requests()) == 0 ||
				!strings.Contains(send(api, "GET", "/api/conversations", "").Body.String(),
					`"state":"running"`) {
				runtime.Gosched() // until the first run has begun and asked its model
			}
			once := sync.OnceFunc(func() { close(release) })
			r := request("POST", "/api/chat-v2", "")
			r.ContentLength = -1
			r.Body = io.NopCloser(io.MultiReader(strings.NewReader(`{"message":"Two","conversationId":"c"}`),
				readerFunc(func([]byte) (int, error) {
					if policy == agent.Enqueue {
						once() // lets the first answer finish
					}
					return 0, io.EOF
				})))
			w := do(api, r)
			once()
			wg.Wait()
			var got agentResponse
			if err := json.Unmarshal(w.Body.Bytes(), &got); err != nil {
				t.Fatal(err)
			}
			status := w.Code
			if first.Text != want.first.Text || status != want.status || got.Text != want.second.Text ||
				got.Code != want.second.Code || len(model.Requests()) != want.calls {
				t.Errorf("first %+v; second %d %+v; %d calls", first, status, got, len(model.Requests()))
			}
		})
	}
}

type readerFunc func([]byte) (int, error)

func (f readerFunc) Read(b []byte) (int, error) { return f(b) }

// TestChatV2Errors checks that an error has the status and the code of its cause, and never looks like an
// answer.
func TestChatV2Errors(t *testing.T) {
	away := agenttest.Reply{Err: footnote.Errorf(footnote.ModelUnavailable, "The model is not available.")}
	broken := agenttest.Say("Half an ans")
	broken.Err = away.Err
	api := newAPI(t, agenttest.Script(away, away, broken), protocoltest.Counting("query"))
	status, got := chatWhole(t, api, `{"message":"How many?"}`)
	if status != 503 || got.Code != "model_unavailable" || got.Category != "sdk_communication" || got.Error == "" ||
		got.Text != "" || got.RequestID == "" {
		t.Errorf("want an error without an answer: %d %+v", status, got)
	}
	if w := chatStream(t, api, `{"message":"How many?"}`); w.Code != 503 ||
		!strings.Contains(w.Body.String(), `"code":"model_unavailable"`) {
		t.Errorf("before the first word: %d %s", w.Code, w.Body)
	}
	w := chatStream(t, api, `{"message":"How many?"}`)
	// Timing decides whether the first word has been sent already.
	if got := w.Body.String(); w.Code != 200 && w.Code != 503 || strings.Contains(got, `"type":"response"`) ||
		!strings.Contains(got, `"code":"model_unavailable"`) {
		t.Errorf("after the first word: %d %s", w.Code, got)
	}
	long := strings.Repeat("x", 10_001)
	for body, want := range map[string]int{
		`{"message":""}`:                                        400,
		`{"message":"` + long + `"}`:                            400,
		`{"message":"a","text":"b"}`:                            400,
		`{"message":"a","conversationId":"conv_x"}`:             404,
		`{"message":"a","assistant":"nobody"}`:                  404,
		`{"message":"a","orgId":"another"}`:                     403,
		`{"message":"a","conversationId":"` + long[:129] + `"}`: 400,
	} {
		if status, got := chatWhole(t, api, body); status != want || got.Code == "" || got.Error == "" {
			t.Errorf("%.60s: %d %+v, want %d", body, status, got, want)
		}
	}
}

// TestChatV2TornHistory checks that the log left by a crash is repaired: the model reads a result for every
// call, and the assistant's text as well as the user's.
func TestChatV2TornHistory(t *testing.T) {
	log := sqlitetest.New(t)
	call := agenttest.CallBlock("t1", "query", `{"sql":"SELECT 1"}`)
	if _, err := log.CreateAppend(t.Context(), footnote.Stream{
		ID: "conv_torn", Kind: "conversation", Org: "local", User: "local", Assistant: "analyst",
	}, footnote.Append{
		Run: "run_torn",
		Blobs: map[footnote.Digest][]byte{
			footnote.DigestOf([]byte(`[]`)): []byte(`[]`),
		},
		Bodies: []footnote.Body{
			footnote.Opened{
				Assistant: "analyst", Model: "scripted", System: footnote.DigestOf([]byte(`[]`)),
				Tools: footnote.DigestOf([]byte(`[]`)),
			},
			footnote.UserMessage{Text: "How many?"}, footnote.RunStarted{Protocol: "chat-v2"},
			footnote.AssistantMessage{
				Step: 1, Model: "scripted", StopReason: model.ToolUse, Blocks: []json.RawMessage{call},
			},
			footnote.RunFailed{Code: footnote.Internal, Message: "torn"}, // its result was never written
		},
	}); err != nil {
		t.Fatal(err)
	}
	model := agenttest.Script(agenttest.Say("As far as I know."), agenttest.Say("As I said."))
	api := protocoltest.New(t, protocoltest.Options{
		Protocols: []protocol.Protocol{chatv2.New(chatv2.Settings{})}, Model: model, Log: log,
	})
	if status, got := chatWhole(t, api, `{"message":"So?","conversationId":"conv_torn"}`); status != 200 ||
		got.Text != "As far as I know." {
		t.Fatalf("answer: %d %+v", status, got)
	}
	if sent := protocoltest.Sent(model, 0); !strings.Contains(sent, "How many?") || !strings.Contains(sent, `"tool_use"`) ||
		!strings.Contains(sent, `"tool_result"`) || !strings.Contains(sent, `"is_error":true`) {
		t.Errorf("the model was sent %s", sent)
	}
}
