package httpapi_test

import (
	"bufio"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"iter"
	"net/http"
	"net/http/httptest"
	"reflect"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/footnotehq/footnote"
	"github.com/footnotehq/footnote/agent"
	"github.com/footnotehq/footnote/agent/agenttest"
	"github.com/footnotehq/footnote/httpapi"
	"github.com/footnotehq/footnote/hub"
	"github.com/footnotehq/footnote/market/board"
	"github.com/footnotehq/footnote/market/chart"
	"github.com/footnotehq/footnote/market/endpoint"
	"github.com/footnotehq/footnote/market/tool/drawing"
	"github.com/footnotehq/footnote/model"
	"github.com/footnotehq/footnote/store"
	"github.com/footnotehq/footnote/store/sqlite/sqlitetest"
)

// namesakesKey is the key of a user with the same name in another organisation.
const namesakesKey = "key-of-a-namesake"

// analyst starts one of several servers with the chart assistant over a shared log.
func analyst(t *testing.T, log store.Store, model model.Model) *httptest.Server {
	t.Helper()
	live := hub.New()
	boards := board.New(board.Options{Log: log, Hub: live})
	tools := append(drawing.New(drawing.Options{Boards: boards}), counting)
	var names []string
	for _, tool := range tools {
		names = append(names, tool.Spec().Name)
	}
	engine, err := agent.New(agent.Options{Log: log, Hub: live, Assistants: []*agent.Assistant{{
		Name: "chart", Model: model, ModelName: "claude-large", Tools: tools,
		Tiers:   []agent.Tier{{Name: "fast", Model: "claude-haiku-9"}},
		Policy:  agent.Policy{Approve: names},
		Setting: &drawing.Surroundings{Parts: drawing.Drawings(boards)},
		Opening: func(context.Context, footnote.Principal, []string) (agent.Opening, error) {
			return agent.Opening{System: json.RawMessage(`[{"type":"text","text":"You draw."}]`)}, nil
		},
	}}})
	if err != nil {
		t.Fatal(err)
	}
	api, err := httpapi.New(httpapi.Options{Engine: engine, Log: log, Hub: live,
		Protocols: append(allProtocols(), endpoint.New(boards, nil)),
		Keys: map[string]footnote.Principal{
			adasKey: {Org: "acme", User: "ada"}, bobsKey: {Org: "acme", User: "bob"},
			namesakesKey: {Org: "globex", User: "ada"},
		}})
	if err != nil {
		t.Fatal(err)
	}
	srv := serve(t, api)
	t.Cleanup(func() {
		now, cancel := context.WithCancel(context.Background())
		cancel()
		engine.Drain(now)
	})
	return srv
}

func call(t *testing.T, srv *httptest.Server, method, path, body, key string) *http.Response {
	t.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
	t.Cleanup(cancel)
	r, err := http.NewRequestWithContext(ctx, method, srv.URL+path, strings.NewReader(body))
	if err != nil {
		t.Fatal(err)
	}
	r.Header.Set("Authorization", "Bearer "+key)
	r.Header.Set("Content-Type", "application/json")
	res, err := http.DefaultClient.Do(r)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { res.Body.Close() })
	return res
}

func whole(t *testing.T, res *http.Response, want int) string {
	t.Helper()
	body, err := io.ReadAll(res.Body)
	if err != nil || res.StatusCode != want {
		t.Fatal(res.StatusCode, string(body), err)
	}
	return string(body)
}

// TestDrawingThroughChartProtocol runs a whole exchange over HTTP: the stream stays open while the client
// draws, the document contains the drawing with its cause, and the conversation records what was done.
func TestDrawingThroughChartProtocol(t *testing.T) {
	log := sqlitetest.New(t)
	model := agenttest.Script(
		agenttest.Calls(agenttest.CallBlock("a", "query", `{}`),
			agenttest.CallBlock("b", "draw_horizontal_line", `{"price":1.095,"notes":"Two touches."}`)),
		agenttest.Say("Support is at 1.0950."), agenttest.Say("Yes."),
	)
	srv := analyst(t, log, model)
	res := call(t, srv, "POST", "/api/chat",
		`{"message":"Draw `+
			`support","symbol":"EURUSD","timeframe":"1h","conversationId":"mine","model":"haiku",`+
			`"state":{"price":1.1,"drawings":"None."}}`, adasKey)
	if res.StatusCode != 200 {
		t.Fatal(whole(t, res, 200))
	}
	conversation := res.Header.Get("X-Conversation-Id")
	lines := bufio.NewScanner(res.Body)
	var kinds []string
	for lines.Scan() {
		kind, ok := strings.CutPrefix(lines.Text(), "event: ")
		if !ok {
			continue
		}
		if kinds = append(kinds, kind); kind != "client_tool" {
			continue
		}
		lines.Scan()
		var tool struct{ ID, Name, ConversationID string }
		if err := json.Unmarshal([]byte(strings.TrimPrefix(lines.Text(), "data: ")), &tool); err != nil {
			t.Fatal(err)
		}
		answer := fmt.Sprintf(`{"conversationId":%q,"toolCallId":%q,"result":{"ok":true}}`, tool.ConversationID,
			tool.ID)
		whole(t, call(t, srv, "POST", "/api/chat/tool-result", answer, bobsKey), 404)
		if got := whole(t, call(t, srv, "POST", "/api/chat/tool-result", answer, adasKey), 200); got != `{"ok":true}` {
			t.Error(got)
		}
		if got := whole(t, call(t, srv, "POST", "/api/chat/tool-result", answer, adasKey), 200); !strings.Contains(got,
			`"duplicate":true`) {
			t.Error(got)
		}
	}
	if got := strings.Join(kinds, " "); got != "tool_use tool_result client_tool tool_result text done" {
		t.Errorf("the stream has %s", got)
	}
	if sent := history0(model); !strings.Contains(sent, "not checked here") || !strings.Contains(sent, "None.") ||
		!strings.Contains(sent, "There are no drawings.") {
		t.Errorf("the model reads %s", sent)
	}
	var v chart.Conversation
	if err := json.Unmarshal([]byte(whole(t, call(t, srv, "GET", "/api/chat/mine", "", adasKey), 200)),
		&v); err != nil {
		t.Fatal(err)
	}
	last := v.Messages[1]
	if v.ID != conversation || v.Pair != "EURUSD" || v.Timeframe != "1h" || len(last.ToolCalls) != 2 ||
		len(last.DrawingActions) != 1 || last.TokenUsage.Output != 10 || last.Model != "scripted" {
		t.Errorf("view of the conversation: %+v", v)
	}
	var list struct{ Conversations []chart.Summary }
	if err := json.Unmarshal([]byte(whole(t, call(t, srv, "GET", "/api/chat", "", adasKey), 200)),
		&list); err != nil || len(list.Conversations) != 1 || list.Conversations[0].MessageCount != 2 ||
		list.Conversations[0].TotalTokens != 30 {
		t.Errorf("list of conversations: %+v, %v", list, err)
	}
	history := whole(t, call(t, srv, "GET", "/api/drawings/history?symbol=EURUSD", "", adasKey), 200)
	for _, want := range []string{
		`"conversation":"` + conversation + `"`, `"call":"b"`, `"by":"agent"`, `"reason":"Two touches."`,
	} {
		if !strings.Contains(history, want) {
			t.Errorf("%s is not in %s", want, history)
		}
	}
	for _, path := range []string{"/api/chat/mine", "/api/chat/" + conversation} {
		whole(t, call(t, srv, "GET", path, "", bobsKey), 404)
	}
	// Another server over the same log returns the same document.
	other := analyst(t, log, model)
	if a, b := whole(t, call(t, srv, "GET", "/api/drawings?symbol=EURUSD", "", adasKey), 200),
		whole(t, call(t, other, "GET", "/api/drawings?symbol=EURUSD", "", adasKey), 200); a != b ||
		!strings.Contains(a, "1.095") {
		t.Errorf("drawings at both servers: %s\n%s", a, b)
	}
}

// TestNamesakeSeesNothing checks that a user with the same name in another organisation sees neither the
// conversation nor its calls nor its drawings.
func TestNamesakeSeesNothing(t *testing.T) {
	log := sqlitetest.New(t)
	srv := analyst(t, log,
		agenttest.Script(agenttest.Call("a", "draw_horizontal_line", `{"price":1.095}`), agenttest.Say("Hello.")))
	res := call(t, srv, "POST", "/api/chat",
		`{"message":"Draw","symbol":"EURUSD","timeframe":"1h","conversationId":"mine"}`, adasKey)
	lines := bufio.NewScanner(res.Body)
	for lines.Scan() && lines.Text() != "event: client_tool" {
	}
	id := res.Header.Get("X-Conversation-Id")
	for _, conversation := range []string{id, "mine"} {
		whole(t, call(t, srv, "POST", "/api/chat/tool-result",
			fmt.Sprintf(`{"conversationId":%q,"toolCallId":"a","result":{"ok":true}}`, conversation), namesakesKey),
			404)
		whole(t, call(t, srv, "GET", "/api/chat/"+conversation, "", namesakesKey), 404)
	}
	whole(t, call(t, srv, "POST", "/api/chat",
		fmt.Sprintf(`{"message":"Hi","symbol":"EURUSD","timeframe":"1h","conversationId":%q}`, id), namesakesKey), 404)
	// their own
	whole(t, call(t, srv, "POST", "/api/chat",
		`{"message":"Hi","symbol":"EURUSD","timeframe":"1h","conversationId":"mine"}`, namesakesKey), 200)
	whole(t, call(t, srv, "POST", "/api/chat/tool-result",
		fmt.Sprintf(`{"conversationId":%q,"toolCallId":"a","result":{"ok":true}}`, id), adasKey), 200)
	if got := whole(t, call(t, srv, "GET", "/api/drawings?symbol=EURUSD", "", adasKey), 200); !strings.Contains(got,
		"1.095") {
		t.Error(got)
	}
	for _, path := range []string{
		"/api/drawings?symbol=EURUSD", "/api/drawings/history?symbol=EURUSD", "/api/drawings/export?symbol=EURUSD",
		"/api/chat",
	} {
		if got := whole(t, call(t, srv, "GET", path, "", namesakesKey), 200); strings.Contains(got, "1.095") ||
			strings.Contains(got, id) {
			t.Errorf("%s: %s", path, got)
		}
	}
}

// counted counts how often conversation logs and lists are read.
type counted struct {
	store.Store
	reads, lists atomic.Int64
}

func (c *counted) Events(ctx context.Context, id string, after int64) iter.Seq2[footnote.Event, error] {
	c.reads.Add(1)
	return c.Store.Events(ctx, id, after)
}

func (c *counted) List(ctx context.Context, p footnote.Page) ([]footnote.Stream, string, error) {
	c.lists.Add(1)
	return c.Store.List(ctx, p)
}

// TestChartListReadsChangedLogsOnly checks that a list rereads only logs that changed, and that one list request
// skips only a limited number of other conversations.
func TestChartListReadsChangedLogsOnly(t *testing.T) {
	log := &counted{Store: sqlitetest.New(t)}
	srv := analyst(t, log, agenttest.Script(agenttest.Say("Hello."), agenttest.Say("Again.")))
	list := func(query string) (out struct {
		Conversations []chart.Summary
		Next          string
	}) {
		t.Helper()
		if err := json.Unmarshal([]byte(whole(t, call(t, srv, "GET", "/api/chat"+query, "", adasKey), 200)),
			&out); err != nil {
			t.Fatal(err)
		}
		return out
	}
	ask := func() {
		t.Helper()
		whole(t, call(t, srv, "POST", "/api/chat",
			`{"message":"Hi","symbol":"EURUSD","timeframe":"1h","conversationId":"mine"}`, adasKey), 200)
	}
	ask()
	first := list("")
	reads := log.reads.Load()
	if again := list(""); !reflect.DeepEqual(again, first) || len(first.Conversations) != 1 ||
		log.reads.Load() != reads {
		t.Errorf("%+v, %+v, and %d reads", first, again, log.reads.Load()-reads)
	}
	ask()
	if grown := list(""); grown.Conversations[0].MessageCount != 4 {
		t.Errorf("list after another message: %+v", grown)
	}
	for i := range 30 {
		if _, err := log.CreateAppend(t.Context(), footnote.Stream{
			ID: fmt.Sprintf("conv_%d", i), Kind: "conversation", Org: "acme", User: "ada", Assistant: "analyst",
		},
			footnote.Append{
				Stream: fmt.Sprintf("conv_%d", i),
				Bodies: []footnote.Body{footnote.Opened{Assistant: "analyst"}},
			}); err != nil {
			t.Fatal(err)
		}
	}
	lists := log.lists.Load()
	part := list("?limit=1")
	if len(part.Conversations) != 0 || part.Next == "" || log.lists.Load()-lists > 20 {
		t.Errorf("%+v after %d pages", part, log.lists.Load()-lists)
	}
	if rest := list("?limit=1&before=" + part.Next); len(rest.Conversations) != 1 {
		t.Errorf("last page of the list: %+v", rest)
	}
}

const horizontalLine = `{"symbol":"EURUSD","drawing":{"type":"horizontal_line","symbol":"EURUSD","timeframe":"1h",` +
	`"price":1.095,"label":"Support","anchors":[]}}`

// TestChartProtocolReadsDrawings has a model list the drawings: through this protocol that is a server-side tool,
// so no client is asked to run it.
func TestChartProtocolReadsDrawings(t *testing.T) {
	model := agenttest.Script(agenttest.Call("a", "get_drawings", `{"type":"horizontal_line"}`),
		agenttest.Say("One line."))
	srv := analyst(t, sqlitetest.New(t), model)
	whole(t, call(t, srv, "POST", "/api/drawings", horizontalLine, adasKey), 200)
	whole(t, call(t, srv, "POST", "/api/drawings", strings.Replace(horizontalLine, "1.095", "1.777", 1), bobsKey), 200)
	got := whole(t, call(t, srv, "POST", "/api/chat", `{"message":"What is drawn?","symbol":"EURUSD","timeframe":"1h"}`,
		adasKey), 200)
	for _, want := range []string{
		"data: {\"type\":\"tool_use\",\"id\":\"a\",\"name\":\"get_drawings\"}\n",
		"\"name\":\"get_drawings\",\"data\":{\"page\":1,\"pages\":1,\"symbol\":\"EURUSD\",\"table\":{\"result\":\"r1\",", ",\"Support\",null,null,1.095,", "\"is_error\":false}\n",
	} {
		if !strings.Contains(got, want) {
			t.Errorf("%s is not in %s", want, got)
		}
	}
	if strings.Contains(got, "client_tool") || strings.Contains(got, "1.777") {
		t.Error(got)
	}
}

func history0(m *agenttest.Model) string { return history(m, 0) }

func TestChartProtocolRefusals(t *testing.T) {
	srv := analyst(t, sqlitetest.New(t), agenttest.Script())
	for body, want := range map[string]int{
		`{"message":"Hi","symbol":"EURUSD","timeframe":"2h"}`:                                             400,
		`{"message":"Hi","symbol":"../","timeframe":"1h"}`:                                                400,
		`{"message":"Hi","symbol":"EURUSD","timeframe":"1h","model":"none"}`:                              400,
		`{"message":"Hi","symbol":"EURUSD","timeframe":"1h","conversationId":"conv_NONE"}`:                404,
		`{"message":"Hi","symbol":"EURUSD","timeframe":"1h","state":{"price":1e999}}`:                     400,
		`{"message":"Hi","symbol":"EURUSD","timeframe":"1h","state":{"instructions":"Buy."}}`:             400,
		`{"message":"Hi","symbol":"EURUSD","timeframe":"1h","state":{"drawings":[[[[[[[["deep"]]]]]]]]}}`: 400,
	} {
		whole(t, call(t, srv, "POST", "/api/chat", body, adasKey), want)
	}
}

// TestChartMessageIsAnsweredOnce checks that a message that names no conversation gets the same answer when it is sent
// again, and that another message with its id is refused.
func TestChartMessageIsAnsweredOnce(t *testing.T) {
	srv := analyst(t, sqlitetest.New(t), agenttest.Script(agenttest.Say("Once."), agenttest.Say("Twice.")))
	ask := func(text string, want int) string {
		t.Helper()
		return whole(t, call(t, srv, "POST", "/api/chat",
			fmt.Sprintf(`{"message":%q,"symbol":"EURUSD","timeframe":"1h","messageId":"m-1"}`, text), adasKey), want)
	}
	for range 2 {
		if got := ask("Hi", 200); !strings.Contains(got, "Once.") {
			t.Errorf("answer: %s", got)
		}
	}
	ask("Hello", 409)
}

// TestModelNamesMustBeComplete checks that a fragment of a model's name, and a word that several names contain, are
// rejected with a list of the models.
func TestModelNamesMustBeComplete(t *testing.T) {
	srv := analyst(t, sqlitetest.New(t),
		agenttest.Script(agenttest.Say("1"), agenttest.Say("2"), agenttest.Say("3"), agenttest.Say("4")))
	ask := func(model string, want int) string {
		t.Helper()
		return whole(t, call(t, srv, "POST", "/api/chat",
			fmt.Sprintf(`{"message":"Hi","symbol":"EURUSD","timeframe":"1h","model":%q}`, model), adasKey), want)
	}
	for _, model := range []string{"-", "a", "9", "claude-", "haik", "claude", "gpt-4o", " "} {
		if got := ask(model, 400); !strings.Contains(got, "invalid_request") ||
			!strings.Contains(got, "claude-large, fast") {
			t.Errorf("%q: %s", model, got)
		}
	}
	for _, model := range []string{"fast", "haiku", "large", "claude-haiku-9"} {
		ask(model, 200)
	}
}

// TestChartContextInOtherProtocols checks that the app's own conversations and the AI SDK's can name the chart, and
// that other assistants ignore it.
func TestChartContextInOtherProtocols(t *testing.T) {
	log := sqlitetest.New(t)
	model := agenttest.Script(agenttest.Call("a", "draw_horizontal_line", `{"price":1.1}`), agenttest.Say("Drawn."),
		agenttest.Call("b", "draw_horizontal_line", `{"price":1.2}`))
	srv := analyst(t, log, model)
	var taken struct{ Conversation string }
	if err := json.Unmarshal([]byte(whole(t,
		call(t, srv, "POST", "/api/conversations",
			`{"assistant":"chart","text":"Draw","context":{"symbol":"EURUSD","timeframe":"4h"}}`, adasKey), 202)),
		&taken); err != nil {
		t.Fatal(err)
	}
	follow, err := http.NewRequestWithContext(t.Context(), "GET",
		srv.URL+"/api/conversations/"+taken.Conversation+"/events?follow=true", nil)
	if err != nil {
		t.Fatal(err)
	}
	follow.Header.Set("Authorization", "Bearer "+adasKey)
	follow.Header.Set("Accept", "text/event-stream")
	res, err := http.DefaultClient.Do(follow)
	if err != nil {
		t.Fatal(err)
	}
	defer res.Body.Close()
	events := bufio.NewReader(res.Body)
	until(t, events, "run_parked")
	whole(t, call(t, srv, "POST", "/api/conversations/"+taken.Conversation+"/turns",
		`{"answers":[{"call_id":"a","content":"{\"ok\":true}"}]}`, adasKey), 202)
	if got := whole(t, call(t, srv, "GET", "/api/drawings?symbol=EURUSD", "", adasKey), 200); !strings.Contains(got,
		`"timeframe":"4h"`) {
		t.Error(got)
	}
	until(t, events, "run_finished") // the model's next reply is for the other protocol
	ai := whole(t, call(t, srv, "POST", "/api/ai",
		`{"id":"chat-1","assistant":"chart","context":{"symbol":"XAUUSD","timeframe":"1D"},"messages":[{"id":"m1",`+
			`"role":"user","parts":[{"type":"text","text":"Draw"}]}]}`, adasKey), 200)
	if !strings.Contains(ai, `"toolName":"draw_horizontal_line"`) {
		t.Error(ai)
	}
	if sent := history(model, 2); !strings.Contains(sent, "XAUUSD") {
		t.Error(sent)
	}
	whole(t, call(t, srv, "POST", "/api/conversations",
		`{"assistant":"chart","text":"Draw","context":{"symbol":"EURUSD"}}`, adasKey), 400)
}

// TestListOfConversationsAboutAChart checks that the list finds conversations about a chart behind pages of others, and
// those that wait.
func TestListOfConversationsAboutAChart(t *testing.T) {
	log := sqlitetest.New(t)
	srv := analyst(t, log, agenttest.Script(agenttest.Say("Hello."), agenttest.Say("Hello."), agenttest.Say("Hello."),
		agenttest.Say("Hello.")))
	ask := func(symbol, id string) {
		t.Helper()
		whole(t, call(t, srv, "POST", "/api/chat",
			fmt.Sprintf(`{"message":"Hi","symbol":%q,"timeframe":"1h","conversationId":%q}`, symbol, id), adasKey), 200)
	}
	ask("EURUSD", "first")
	ask("GBPUSD", "second")
	ask("GBPUSD", "third")
	for query, want := range map[string]int{
		"symbol=EURUSD&limit=1": 1, "symbol=GBPUSD": 2, "symbol=USDJPY": 0,
		"symbol=EURUSD&state=parked": 0, "state=idle": 3,
	} {
		var got struct{ Conversations []struct{ ID string } }
		body := whole(t, call(t, srv, "GET", "/api/conversations?"+query, "", adasKey), 200)
		if err := json.Unmarshal([]byte(body), &got); err != nil || len(got.Conversations) != want {
			t.Errorf("%s: %s, want %d (%v)", query, body, want, err)
		}
	}
}
