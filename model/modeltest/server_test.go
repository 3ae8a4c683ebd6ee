package modeltest

import (
	"bytes"
	"encoding/json"
	"io"
	"net/http"
	"strings"
	"testing"
)

const (
	toolsJSON = `[{"name":"run_query","description":"d","input_schema":{"type":"object"}},{"name":"other",` +
		`"input_schema":{"type":"object"}}]`
	userJSON = `{"role":"user","content":"hi"}`
)

// body returns a request to the newest model with these messages and extra fields.
func body(messages string, extra ...string) string {
	return `{"model":"claude-sonnet-5-5","max_tokens":1000,"messages":[` + messages + `]` +
		strings.Join(append([]string{""}, extra...), ",") + `}`
}

func post(t *testing.T, base, body string, header ...string) (int, http.Header, string) {
	t.Helper()
	req, err := http.NewRequest("POST", base+"/v1/messages", strings.NewReader(body))
	if err != nil {
		t.Fatal(err)
	}
	req.Header.Set("Anthropic-Version", versionNow)
	for i := 0; i+1 < len(header); i += 2 {
		req.Header.Set(header[i], header[i+1])
	}
	res, err := http.DefaultClient.Do(req)
	if err != nil {
		t.Fatal(err)
	}
	defer res.Body.Close()
	data, err := io.ReadAll(res.Body)
	if err != nil {
		t.Fatal(err)
	}
	return res.StatusCode, res.Header, string(data)
}

func TestRejectsInvalidRequests(t *testing.T) {
	call := `{"role":"assistant","content":[{"type":"tool_use","id":"toolu_1","name":"run_query","input":{}}]}`
	result := `{"type":"tool_result","tool_use_id":"toolu_1","content":"1"}`
	tools := `"tools":` + toolsJSON
	for _, tc := range []struct{ name, body, want string }{
		{"no model", `{"max_tokens":1,"messages":[` + userJSON + `]}`, "model: Field required"},
		{"no max_tokens", `{"model":"claude-sonnet-5-5","messages":[` + userJSON + `]}`, "max_tokens: Field required"},
		{"no messages", `{"model":"claude-sonnet-5-5","max_tokens":1}`, "messages: Field required"},
		{"empty messages", body(``), "at least one message"},
		{"not JSON", `{"model":`, "not valid JSON"},
		{"not UTF-8", body(`{"role":"user","content":"` + "\xff" + `"}`), "not valid JSON"},
		{"trailing data", body(userJSON) + "{}", "not valid JSON"},
		{"assistant first", body(`{"role":"assistant","content":"x"}`), `first message must use the "user" role`},
		{"unknown role", body(userJSON + `,{"role":"tool","content":"x"}`), "messages.1.role"},
		{"empty content", body(`{"role":"user","content":[]}`), "non-empty content"},
		{"empty string", body(`{"role":"user","content":""}`), "non-empty content"},
		{
			"empty text", body(`{"role":"user","content":[{"type":"text","text":""}]}`),
			"text content blocks must be non-empty",
		},
		{"unknown block", body(`{"role":"user","content":[{"type":"video"}]}`), "Input tag 'video'"},
		{
			"document from the assistant",
			body(userJSON + `,{"role":"assistant","content":[{"type":"document"}]},` + userJSON),
			"Input tag 'document'",
		},
		{
			"citations in a user text", body(`{"role":"user","content":[{"type":"text","text":"x","citations":[{}]}]}`),
			"citations",
		},
		{"prefill", body(userJSON + `,{"role":"assistant","content":"so"}`), "prefill"},
		{
			"orphan call", body(userJSON+","+call+","+userJSON, tools),
			"`tool_use` ids were found without `tool_result` blocks immediately after: toolu_1",
		},
		{"orphan call at the end", body(userJSON+","+call, tools), "`tool_use` ids were found without"},
		{"unknown result", body(`{"role":"user","content":[`+result+`]}`, tools), "unexpected `tool_use_id`"},
		{
			"doubled result", body(userJSON+","+call+`,{"role":"user","content":[`+result+","+result+`]}`, tools),
			"single result",
		},
		{
			"text before result",
			body(userJSON+","+call+`,{"role":"user","content":[{"type":"text","text":"x"},`+result+`]}`, tools),
			"must come first",
		},
		{
			"calls without tools", body(userJSON + "," + call + `,{"role":"user","content":[` + result + `]}`),
			"must define tools",
		},
		{"system first", body(`{"role":"system","content":"x"},` + userJSON), "first message"},
		{
			"system before user", body(userJSON + `,{"role":"system","content":"x"},` + userJSON),
			"must be last or be followed",
		},
		{
			"system between call and result", body(userJSON+","+call+`,{"role":"system","content":"x"}`, tools),
			"must follow a user message",
		},
		{
			"five marks", body(`{"role":"user","content":[`+
				strings.Repeat(`{"type":"text","text":"x","cache_control":{"type":"ephemeral"}},`, 4)+
				`{"type":"text","text":"x"}]}`, `"cache_control":{"type":"ephemeral"}`),
			"A maximum of 4 blocks with cache_control may be provided. Found 5.",
		},
		{
			"1h after 5m", body(
				`{"role":"user","content":[{"type":"text","text":"x","cache_control":{"type":"ephemeral",`+
					`"ttl":"1h"}}]}`, `"system":[{"type":"text","text":"s","cache_control":{"type":"ephemeral"}}]`),
			"must not come after",
		},
		{
			"mark on thinking", body(userJSON +
				`,{"role":"assistant","content":[{"type":"thinking","thinking":"","signature":"x",` +
				`"cache_control":{"type":"ephemeral"}}]},` + userJSON), "thinking.cache_control: Extra inputs",
		},
		{"forced tool", body(userJSON, tools, `"tool_choice":{"type":"any"}`), "forced tool use"},
		{"temperature", body(userJSON, `"temperature":1`), "temperature: Extra inputs are not permitted"},
		{"unknown field", body(userJSON, `"colour":1`), "colour: Extra inputs"},
		{"beta field without beta", body(userJSON, `"thread":{}`), "thread: Extra inputs"},
		{
			"enabled thinking", body(userJSON, `"thinking":{"type":"enabled","budget_tokens":2000}`),
			`"enabled" is not supported`,
		},
		{"unknown thinking", body(userJSON, `"thinking":{"type":"deep"}`), "Input tag 'deep'"},
		{"unknown effort", body(userJSON, `"output_config":{"effort":"heroic"}`), "effort"},
		{
			"tool name", body(userJSON, `"tools":[{"name":"a b","input_schema":{"type":"object"}}]`),
			"should match pattern",
		},
		{
			"tool twice", body(userJSON,
				`"tools":[{"name":"a","input_schema":{"type":"object"}},{"name":"a",`+
					`"input_schema":{"type":"object"}}]`), "must be unique",
		},
		{"tool without schema", body(userJSON, `"tools":[{"name":"a"}]`), "input_schema: Field required"},
		{
			"only deferred tools",
			body(userJSON, `"tools":[{"name":"a","defer_loading":true,"input_schema":{"type":"object"}}]`),
			"defer_loading",
		},
		{
			"too many tokens", `{"model":"claude-sonnet-5-5","max_tokens":200000,"messages":[` + userJSON + `]}`,
			"max_tokens: 200000 > 128000",
		},
		{
			"foreign signature",
			body(userJSON + `,{"role":"assistant","content":[{"type":"thinking","thinking":"","signature":"abcd"}]},` +
				userJSON), "messages.1.content.0: Invalid `signature`",
		},
	} {
		s := New(Options{Replies: []Reply{Say("ok")}})
		status, _, got := post(t, s.Start(t), tc.body)
		if status != 400 || !strings.Contains(unescape(got), tc.want) {
			t.Errorf("%s: %d %s, want 400 with %q", tc.name, status, got, tc.want)
		}
		if len(s.Refusals()) != 1 || s.Metrics().Refusals != 1 {
			t.Errorf("%s: refusals = %v", tc.name, s.Refusals())
		}
	}
}

func unescape(s string) string {
	var e struct{ Error struct{ Message string } }
	json.Unmarshal([]byte(s), &e)
	return e.Error.Message
}

func TestAcceptsValidRequests(t *testing.T) {
	tools := `"tools":` + toolsJSON
	call := `{"role":"assistant","content":[{"type":"text","text":"look"},{"type":"tool_use","id":"toolu_1",` +
		`"name":"run_query","input":{}},{"type":"tool_use","id":"toolu_2","name":"other","input":{}}]}`
	results := `{"role":"user","content":[{"type":"tool_result","tool_use_id":"toolu_2","content":[{"type":"text",` +
		`"text":"2"}]},{"type":"tool_result","tool_use_id":"toolu_1"},{"type":"text","text":"and now"}]}`
	for name, request := range map[string]string{
		"plain":         body(userJSON),
		"neighbours":    body(userJSON + "," + userJSON),
		"calls":         body(userJSON+","+call+","+results, tools),
		"system at end": body(userJSON + `,{"role":"system","content":"read-only now"}`),
		"system mid": body(userJSON + `,{"role":"system","content":"x"},{"role":"assistant","content":"y"},` +
			userJSON),
		"marks": body(userJSON, tools,
			`"system":[{"type":"text","text":"s","cache_control":{"type":"ephemeral","ttl":"1h"}}]`,
			`"cache_control":{"type":"ephemeral"}`),
		"thinking, effort": body(userJSON, `"thinking":{"type":"adaptive","display":"summarized"}`,
			`"output_config":{"effort":"low"}`, `"metadata":{"user_id":"u"}`),
		"no tools, please": body(userJSON, tools, `"tool_choice":{"type":"none"}`),
	} {
		s := New(Options{Replies: []Reply{Say("fine")}})
		if status, _, got := post(t, s.Start(t), request); status != 200 || !strings.Contains(got, `"text":"fine"`) {
			t.Errorf("%s: %d %s", name, status, got)
		}
	}
}

func TestHeaders(t *testing.T) {
	s := New(Options{Key: "k1", Rule: func(Request) Reply { return Say("x") }})
	base := s.Start(t)
	for _, tc := range []struct {
		header []string
		want   int
	}{
		{nil, 401},
		{[]string{"X-Api-Key", "k2"}, 401},
		{[]string{"X-Api-Key", "k1"}, 200},
		{[]string{"Authorization", "Bearer k1"}, 200},
		{[]string{"X-Api-Key", "k1", "Anthropic-Version", ""}, 400},
		{[]string{"X-Api-Key", "k1", "Anthropic-Version", "2020-01-01"}, 400},
	} {
		if status, _, got := post(t, base, body(userJSON), tc.header...); status != tc.want {
			t.Errorf("%v: %d %s, want %d", tc.header, status, got, tc.want)
		}
	}
	small := New(Options{Limit: 100, Replies: []Reply{Say("x")}})
	if status, _, got := post(t, small.Start(t),
		body(`{"role":"user","content":"`+strings.Repeat("x", 200)+`"}`)); status != 413 {
		t.Errorf("large body: %d %s", status, got)
	}
	if status, _, _ := post(t, New(Options{}).Start(t),
		strings.Replace(body(userJSON), "sonnet-5-5", "nope", 1)); status != 404 {
		t.Errorf("unknown model: %d", status)
	}
}

// TestThinkingIsBoundToItsPrefix checks that a conversation of several turns keeps its thinking valid only
// while nothing before it changes.
func TestThinkingIsBoundToItsPrefix(t *testing.T) {
	s := New(Options{Rule: func(r Request) Reply { return Blocks(ThinkBlock("hm"), TextBlock("ok")) }})
	base := s.Start(t)
	system, tools := `"system":[{"type":"text","text":"be brief"}]`, `"tools":`+toolsJSON
	turn := func(messages string) string {
		status, _, got := post(t, base, body(messages, system, tools))
		var m struct{ Content json.RawMessage }
		if err := json.Unmarshal([]byte(got), &m); err != nil || status != 200 {
			t.Fatalf("message: %d %s", status, got)
		}
		return messages + `,{"role":"assistant","content":` + string(m.Content) + `},` + userJSON
	}
	history := turn(turn(userJSON))
	for _, tc := range []struct{ name, body, want string }{
		{"same", body(history, system, tools), ""},
		{
			"marks and key order",
			body(history, `"system":[{"cache_control":{"type":"ephemeral"},"text":"be brief","type":"text"}]`, tools),
			"",
		},
		{
			"deferred tool added",
			body(history, system,
				`"tools":`+strings.TrimSuffix(toolsJSON, "]")+
					`,{"name":"late","defer_loading":true,"input_schema":{"type":"object"}}]`), "",
		},
		{"first thinking removed", body(strings.Replace(history, firstThinking(history), "", 1), system, tools), ""},
		{
			"system", body(history, `"system":[{"type":"text","text":"be brief."}]`, tools),
			"The `system` prompt differs",
		},
		{"tool edited", body(history, system, strings.Replace(tools, `"d"`, `"e"`, 1)), "The set of `tools` differs"},
		{"earlier message", body(strings.Replace(history, "hi", "ho", 1), system, tools), "An earlier message differs"},
		{"message inserted", body(userJSON+","+history, system, tools), "An earlier message differs"},
	} {
		status, _, got := post(t, base, tc.body)
		if tc.want == "" && status != 200 || tc.want != "" && (status != 400 || !strings.Contains(got, tc.want)) {
			t.Errorf("%s: %d %s, want %q", tc.name, status, got, tc.want)
		}
	}
	summarized := `"thinking":{"type":"adaptive","display":"summarized"}`
	_, _, got := post(t, base, body(userJSON, summarized))
	var m struct{ Content json.RawMessage }
	json.Unmarshal([]byte(got), &m)
	edited := bytes.Replace(m.Content, []byte(`"hm"`), []byte(`"hmm"`), 1)
	if status, _, got := post(t, base,
		body(userJSON+`,{"role":"assistant","content":`+string(edited)+`},`+userJSON, summarized)); status != 400 {
		t.Errorf("edited thinking: %d %s", status, got)
	}
}

func firstThinking(history string) string {
	i := strings.Index(history, `{"type":"thinking"`)
	return history[i : i+strings.Index(history[i:], "},")+2]
}

func TestAcceptsPausedTurn(t *testing.T) {
	s := New(Options{Replies: []Reply{{Text: "so far", StopReason: "pause_turn"}, Say("done")}})
	base := s.Start(t)
	post(t, base, body(userJSON))
	if status, _, got := post(t, base,
		body(userJSON+`,{"role":"assistant","content":[{"type":"text","text":"so far"}]}`)); status != 200 {
		t.Errorf("paused turn: %d %s", status, got)
	}
	if status, _, _ := post(t, base, body(userJSON)); status != 500 || len(s.Refusals()) != 1 {
		t.Errorf("past the end of the scenario: %d, %v", status, s.Refusals())
	}
}

func TestStreamOfAllBlocks(t *testing.T) {
	s := New(Options{Replies: []Reply{{Odd: true, Pings: 2, Blocks: []Block{
		ThinkBlock("let me see"), {Type: "redacted_thinking"},
		{Type: "text", Text: "a b c", Citation: `{"type":"x"}`},
		{Type: "tool_use", Name: "run_query", Input: `{"sql":"select 1"}`, EmptyFirst: true, Deltas: 3},
		{Type: "tool_use", Name: "other"},
	}}}})
	status, header, got := post(t, s.Start(t), body(userJSON, `"stream":true`, `"tools":`+toolsJSON))
	if status != 200 || header.Get("Request-Id") != "req_00000001" {
		t.Errorf("stream: %d %v", status, header)
	}
	for _, want := range []string{
		"event: message_start\n", "event: brand_new\n", "event: ping\n", `"type":"signature_delta"`,
		`"type":"redacted_thinking"`,
		`"partial_json":""`, `"citations_delta"`, `"id":"toolu_00000001_2"`, `"stop_reason":"tool_use"`,
		"event: message_stop\n", futureBlock,
	} {
		if !strings.Contains(got, want) {
			t.Errorf("stream lacks %s:\n%s", want, got)
		}
	}
	if strings.Contains(got, "let me see") {
		t.Error("hidden thinking was shown")
	}
}

func TestModelsAndTokens(t *testing.T) {
	base := New(Options{}).Start(t)
	for path, want := range map[string]int{
		"/v1/models": 200, "/v1/models/claude-opus-5-5": 200, "/v1/models/nope": 404, "/v2": 404,
	} {
		req, _ := http.NewRequest("GET", base+path, nil)
		req.Header.Set("Anthropic-Version", versionNow)
		res, err := http.DefaultClient.Do(req)
		if err != nil {
			t.Fatal(err)
		}
		var v any
		err = json.NewDecoder(res.Body).Decode(&v)
		res.Body.Close()
		if res.StatusCode != want || err != nil {
			t.Errorf("%s: %d %v", path, res.StatusCode, err)
		}
	}
}
