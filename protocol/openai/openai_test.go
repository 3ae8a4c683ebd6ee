package openai

import (
	"encoding/json"
	"errors"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/footnotehq/footnote"
	"github.com/footnotehq/footnote/agent"
)

func header(kv ...string) http.Header {
	h := http.Header{}
	for i := 0; i < len(kv); i += 2 {
		h.Set(kv[i], kv[i+1])
	}
	return h
}

func TestDecode(t *testing.T) {
	body := `{"model":"analyst","stream":true,"stream_options":{"include_usage":true},"temperature":"hot","made_up":{"a":[1]},
	"max_tokens":5,"max_completion_tokens":7,"stop":["END",""],"tools":[],"tool_choice":"auto","n":1,
	"messages":[{"role":"system","content":"Be short."},{"role":"developer","content":[{"type":"text","text":"In German."}]},
	{"role":"user","content":"first","name":"x"},{"role":"assistant","content":null,"tool_calls":[{"id":"c"}]},{"role":"tool","content":"42","tool_call_id":"c"},
	{"role":"assistant","content":[{"type":"text","text":"a"},{"type":"refusal","refusal":"b"}]},
	{"role":"user","content":[{"type":"text","text":"one"},{"type":"text","text":"two"}]},{"role":"user","content":"three"}]}`
	r, err := Decode([]byte(body), header("X-Conversation-Id", "thread 7/ø", "X-Footnotes", "True"), 0)
	if err != nil {
		t.Fatal(err)
	}
	want := Request{
		Model: "analyst", Stream: true, IncludeUsage: true, Footnotes: true, MaxTokens: 7, Stop: []string{"END"},
		Conversation: "thread 7/ø", System: "Be short.\n\nIn German.", Text: "one\ntwo\n\nthree",
		History: []footnote.TextTurn{{Role: "user", Text: "first"}, {Role: "assistant", Text: "a\nb"}},
	}
	if got, want := dump(r), dump(want); got != want {
		t.Errorf("Decode gave\n%s\nwant\n%s", got, want)
	}
}

func dump(v any) string {
	b, _ := json.MarshalIndent(v, "", " ")
	return string(b)
}

func TestDecodeRefuses(t *testing.T) {
	user := `"messages":[{"role":"user","content":"hi"}]`
	for _, tc := range []struct {
		name, body string
		code       footnote.Code
		param      string
	}{
		{"not JSON", `hello`, footnote.InvalidRequest, ""},
		{"not an object", `[]`, footnote.InvalidRequest, ""},
		{"null", `null`, footnote.InvalidRequest, ""},
		{"duplicate key", `{"model":"a","model":"b",` + user + `}`, footnote.InvalidRequest, ""},
		{"trailing data", `{"model":"a",` + user + `}{}`, footnote.InvalidRequest, ""},
		{"case-variant key", `{"MODEL":"a",` + user + `}`, footnote.InvalidRequest, "model"},
		{"no model", `{` + user + `}`, footnote.InvalidRequest, "model"},
		{"model of another type", `{"model":1,` + user + `}`, footnote.InvalidRequest, "model"},
		{"no messages", `{"model":"a"}`, footnote.InvalidRequest, "messages"},
		{"empty messages", `{"model":"a","messages":[]}`, footnote.InvalidRequest, "messages"},
		{"message not an object", `{"model":"a","messages":["hi"]}`, footnote.InvalidRequest, "messages[0]"},
		{
			"foreign role", `{"model":"a","messages":[{"role":"root","content":"hi"}]}`, footnote.InvalidRequest,
			"messages[0].role",
		},
		{"no content", `{"model":"a","messages":[{"role":"user"}]}`, footnote.InvalidRequest, "messages[0].content"},
		{
			"empty text", `{"model":"a","messages":[{"role":"user","content":" \n"}]}`, footnote.InvalidRequest,
			"messages",
		},
		{
			"assistant last", `{"model":"a","messages":[{"role":"user","content":"hi"},{"role":"assistant",` +
				`"content":"so"}]}`, footnote.InvalidRequest, "messages",
		},
		{
			"only system", `{"model":"a","messages":[{"role":"system","content":"hi"}]}`, footnote.InvalidRequest,
			"messages",
		},
		{
			"tool last", `{"model":"a","messages":[{"role":"user","content":"hi"},{"role":"assistant",` +
				`"content":null},{"role":"tool","content":"1"}]}`, footnote.UnsupportedParameter, "messages",
		},
		{
			"sound", `{"model":"a","messages":[{"role":"user","content":[{"type":"text","text":"x"},` +
				`{"type":"input_audio","input_audio":{}}]}]}`, footnote.UnsupportedParameter, "messages[0].content[1]",
		},
		{
			"picture", `{"model":"a","messages":[{"role":"user","content":[{"type":"image_url",` +
				`"image_url":{"url":"data:"}}]}]}`, footnote.UnsupportedParameter, "messages[0].content[0]",
		},
		{
			"file", `{"model":"a","messages":[{"role":"user","content":[{"type":"file","file":{}}]}]}`,
			footnote.UnsupportedParameter, "messages[0].content[0]",
		},
		{
			"unknown part", `{"model":"a","messages":[{"role":"user","content":[{"type":"smell"}]}]}`,
			footnote.InvalidRequest, "messages[0].content[0]",
		},
		{
			"text part without text", `{"model":"a","messages":[{"role":"user","content":[{"type":"text"}]}]}`,
			footnote.InvalidRequest, "messages[0].content[0].text",
		},
		{"tools", `{"model":"a","tools":[{"type":"function"}],` + user + `}`, footnote.UnsupportedParameter, "tools"},
		{
			"functions", `{"model":"a","functions":[{"name":"f"}],` + user + `}`, footnote.UnsupportedParameter,
			"functions",
		},
		{
			"tool_choice required", `{"model":"a","tool_choice":"required",` + user + `}`,
			footnote.UnsupportedParameter, "tool_choice",
		},
		{
			"tool_choice a function", `{"model":"a","tool_choice":{"type":"function"},` + user + `}`,
			footnote.UnsupportedParameter, "tool_choice",
		},
		{
			"a forced tool that is no title",
			`{"model":"a","tools":[` + tool("title", "body") +
				`],"tool_choice":{"type":"function","function":{"name":"f"}},` + user + `}`,
			footnote.UnsupportedParameter, "tools",
		},
		{
			"a title that is not forced",
			`{"model":"a","tools":[` + tool("title") + `],"tool_choice":"auto",` + user + `}`,
			footnote.UnsupportedParameter, "tools",
		},
		{
			"another tool is forced",
			`{"model":"a","tools":[` + tool("title") + `],"tool_choice":{"type":"function","function":{"name":"g"}},` +
				user + `}`, footnote.UnsupportedParameter, "tools",
		},
		{
			"two tools", `{"model":"a","tools":[` + tool("title") + `,` + tool("title") +
				`],"tool_choice":"required",` + user + `}`, footnote.UnsupportedParameter, "tools",
		},
		{
			"a title amid a conversation",
			`{"model":"a","tools":[` + tool("title") +
				`],"tool_choice":"required","messages":[{"role":"user","content":"a"},{"role":"assistant",` +
				`"content":"b"},{"role":"user","content":"c"}]}`, footnote.UnsupportedParameter, "tools",
		},
		{
			"effort", `{"model":"a","reasoning_effort":"extreme",` + user + `}`, footnote.InvalidRequest,
			"reasoning_effort",
		},
		{"two choices", `{"model":"a","n":2,` + user + `}`, footnote.UnsupportedParameter, "n"},
		{"no choices", `{"model":"a","n":0,` + user + `}`, footnote.InvalidRequest, "n"},
		{"stream a word", `{"model":"a","stream":"yes",` + user + `}`, footnote.InvalidRequest, "stream"},
		{
			"stream_options a word", `{"model":"a","stream_options":"x",` + user + `}`, footnote.InvalidRequest,
			"stream_options",
		},
		{"negative tokens", `{"model":"a","max_tokens":-1,` + user + `}`, footnote.InvalidRequest, "max_tokens"},
		{
			"fractional tokens", `{"model":"a","max_completion_tokens":1.5,` + user + `}`, footnote.InvalidRequest,
			"max_completion_tokens",
		},
		{"stop a number", `{"model":"a","stop":1,` + user + `}`, footnote.InvalidRequest, "stop"},
		{
			"too many stops", `{"model":"a","stop":[` + strings.Repeat(`"a",`, 16) + `"b"],` + user + `}`,
			footnote.InvalidRequest, "stop",
		},
		{
			"too long", `{"model":"a","messages":[{"role":"user","content":"` + strings.Repeat("é", 10_001) + `"}]}`,
			footnote.InputTooLong, "messages",
		},
		{
			"too many messages", `{"model":"a","messages":[` + strings.Repeat(`{},`, 10_000) + `{}]}`,
			footnote.InvalidRequest, "messages",
		},
	} {
		t.Run(tc.name, func(t *testing.T) {
			_, err := Decode([]byte(tc.body), nil, 0)
			if footnote.CodeOf(err) != tc.code || paramOf(err) != tc.param {
				t.Errorf("err = %v: code %q, param %q; want %q, %q", err, footnote.CodeOf(err), paramOf(err), tc.code,
					tc.param)
			}
		})
	}
	long := `{"model":"a","messages":[{"role":"user","content":"` + strings.Repeat("é", 10_000) + `"}]}`
	if _, err := Decode([]byte(long), nil, 0); err != nil {
		t.Errorf("10,000 characters: %v", err)
	}
}

func TestConversationHeader(t *testing.T) {
	body := []byte(`{"model":"a","messages":[{"role":"user","content":"hi"}]}`)
	for _, tc := range []struct {
		h    http.Header
		want string
	}{
		{header("X-Conversation-Id", "c1"), "c1"},
		{header("X-Conversation-Id", "new"), ""},
		{header("X-Conversation-Id", "{{LIBRECHAT_BODY_CONVERSATIONID}}"), ""},
		{header("X-OpenWebUI-Chat-Id", "w1"), ""},
	} {
		r, err := Decode(body, tc.h, 0)
		if err != nil || r.Conversation != tc.want {
			t.Errorf("%v: %q, %v; want %q", tc.h, r.Conversation, err, tc.want)
		}
	}
	for _, id := range []string{"a\x01b", "\xff", strings.Repeat("x", 129)} {
		_, err := Decode(body, http.Header{"X-Conversation-Id": {id}}, 0)
		if paramOf(err) != "X-Conversation-Id" {
			t.Errorf("id %.20q: %v", id, err)
		}
	}
}

func TestJobs(t *testing.T) {
	encode := func(stream bool, texts ...string) []byte {
		msgs := []map[string]string{}
		for i, text := range texts {
			msgs = append(msgs, map[string]string{"role": []string{"user", "assistant"}[i%2], "content": text})
		}
		b, _ := json.Marshal(map[string]any{"model": "a", "stream": stream, "messages": msgs})
		return b
	}
	title := "### Task:\nGenerate a concise, 3-5 word title with an emoji.\n### Chat History:\n<chat_history>\nUSER: " +
		"hi\n</chat_history>"
	for _, tc := range []struct {
		name string
		body []byte
		want bool
	}{
		{"title", encode(false, title), true},
		{"title on one line", encode(false, strings.Join(strings.Fields(title), " ")), true},
		{"title with other line ends", encode(false, "\n"+strings.ReplaceAll(title, "\n", "\r\n")), true},
		{"title without tags", encode(false, "### Task: Generate a concise, 3-5 word title for this chat."), true},
		{"long title job", encode(false, title+strings.Repeat("x", 20_000)), true},
		{
			"LibreChat", encode(false,
				"Provide a concise, 5-word-or-less title for the conversation, using title case conventions. Only "+
					"return the title itself."), true,
		},
		{
			"LibreChat with language",
			encode(false, "Analyze this conversation and provide:\n1. The detected language of the conversation\n2. "+
				"A concise title in the detected language (5 words or less)"), true,
		},
		{"streamed", encode(true, title), false},
		{"in a conversation", encode(false, "hi", "hello", title), false},
		{"a person's task", encode(false, "### Task:\nSum up May."), false},
		{"a person's analysis", encode(false, "Analyze this conversation and provide: a chart"), false},
		{"a question", encode(false, "How many orders?"), false},
	} {
		r, err := Decode(tc.body, nil, 0)
		if err != nil || r.Job != tc.want {
			t.Errorf("%s: Job = %v, %v; want %v", tc.name, r.Job, err, tc.want)
		}
	}
}

// tool returns a client function named f with string inputs.
func tool(keys ...string) string {
	return `{"type":"function","function":{"name":"f","parameters":` + object(keys...) + `}}`
}

func object(keys ...string) string {
	properties := map[string]any{}
	for _, k := range keys {
		properties[k] = map[string]string{"type": "string"}
	}
	b, _ := json.Marshal(map[string]any{"type": "object", "properties": properties}) // strings always encode
	return string(b)
}

func TestForms(t *testing.T) {
	prompt := `"messages":[{"role":"user","content":"Analyze this conversation and provide:\n1. The detected ` +
		`language\n2. A concise title in the detected language"}]`
	for _, tc := range []struct {
		body     string
		function string
		keys     int // 0: no form
	}{
		{
			`{"model":"a","tools":[` + tool("title", "language") +
				`],"tool_choice":{"type":"function","function":{"name":"f"}},` + prompt + `}`, "f", 2,
		},
		{
			`{"model":"a","stream":true,"tools":[` + tool("title") +
				`],"tool_choice":"required","messages":[{"role":"system","content":"x"},{"role":"user",` +
				`"content":"words of its own"}]}`, "f", 1,
		},
		{
			`{"model":"a","response_format":{"type":"json_schema","json_schema":{"name":"x","schema":` + object("title",
				"language") + `}},` + prompt + `}`, "", 2,
		},
		{
			`{"model":"a","response_format":{"type":"json_schema","json_schema":{"name":"x","schema":` +
				object("orders") + `}},` + prompt + `}`, "", 0,
		},
	} {
		r, err := Decode([]byte(tc.body), nil, 0)
		if err != nil || !r.Job || (r.Form == nil) != (tc.keys == 0) {
			t.Errorf("%s: %+v, %v", tc.body, r, err)
		} else if r.Form != nil && (r.Form.Function != tc.function || len(r.Form.Keys) != tc.keys) {
			t.Errorf("%s: %+v", tc.body, r.Form)
		}
	}
	r, err := Decode([]byte(`{"model":"a","response_format":{"type":"json_schema","json_schema":{"schema":`+
		object("title")+`}},"messages":[{"role":"user","content":"How many orders?"}]}`), nil, 0)
	if err != nil || r.Job || r.Form != nil {
		t.Errorf("a question with a schema is a question: %+v, %v", r, err)
	}
	form := &Form{Keys: []string{"language", "title"}}
	for answer, want := range map[string]string{
		`{"title":"Orders","language":"Deutsch"}`:         `{"language":"Deutsch","title":"Orders"}`,
		"```json\n{\"title\": \"Orders \\\"A\\\"\"}\n```": `{"language":"English","title":"Orders \"A\""}`,
		"**Orders in May**\nmore":                         `{"language":"English","title":"Orders in May"}`,
		"{broken":                                         `{"language":"English","title":"{broken"}`,
		"":                                                `{"language":"English","title":""}`,
	} {
		if got := string(form.Fill(answer)); got != want {
			t.Errorf("Fill(%q) = %s, want %s", answer, got, want)
		}
	}
}

func TestEffort(t *testing.T) {
	for asked, want := range map[string]string{`"none"`: "off", `"minimal"`: "low", `"high"`: "high", `null`: ""} {
		r, err := Decode([]byte(`{"model":"a","reasoning_effort":`+asked+
			`,"messages":[{"role":"user","content":"hi"}]}`), nil, 0)
		if err != nil || r.Effort != want {
			t.Errorf("%s: %q, %v; want %q", asked, r.Effort, err, want)
		}
	}
}

func TestJobAnswer(t *testing.T) {
	history := "\n### Chat History:\n<chat_history>\nUSER: how many \"orders\"\nin \"tags\"?\nASSISTANT: " +
		"846.\n</chat_history>"
	long := strings.Repeat("very ", 30) + "long"
	for _, tc := range []struct {
		name, prompt, want string
	}{
		{
			"title", "### Task:\nGenerate a concise title.\n### Output:\nJSON format: { \"title\": \"your title\" }" +
				history, `{"title":"how many \"orders\""}`,
		},
		{
			"title on one line",
			`### Task: Generate a title: {"title": "x"} <chat_history> USER: how many orders ASSISTANT: 846 ` +
				`</chat_history>`, `{"title":"how many orders"}`,
		},
		{"plain title", "### Task:\nGenerate a title." + history, `how many "orders"`},
		{
			"long title", "### Task:\nGenerate a title.<chat_history>USER: " + long + "</chat_history>",
			strings.TrimSpace(strings.Repeat("very ", 12)) + "…",
		},
		{"tags", "### Task:\nGenerate tags: { \"tags\": [\"a\"] }" + history, `{"tags":[]}`},
		{"follow-ups", "### Task:\nSuggest: { \"follow_ups\": [\"a\"] }" + history, `{"follow_ups":[]}`},
		{"queries", "### Task:\nSearch: { \"queries\": [\"a\"] }" + history, `{"queries":[]}`},
		{"completion", "### Task:\nYou are an autocompletion system. { \"text\": \"x\" }" + history, `{"text":""}`},
		{
			"LibreChat", "Provide a concise, 5-word-or-less title for the conversation.\n\nConversation:\nUser: hi " +
				"there\nAI: Hello.", "hi there",
		},
		{
			"nothing was said", "### Task:\nGenerate: { \"title\": \"x\" }<chat_history>\n</chat_history>",
			`{"title":""}`,
		},
		{
			"another job", "Your task is to reflect the speaker's likely facial expression with an emoji. Message: hi",
			"",
		},
	} {
		got, ok := JobAnswer(tc.prompt)
		if ok != (tc.want != "") || ok && got != tc.want {
			t.Errorf("%s: %q, %t; want %q", tc.name, got, ok, tc.want)
		}
	}
}

func FuzzDecode(f *testing.F) {
	f.Add([]byte(`{"model":"a","stream":true,"stop":["x"],"messages":[{"role":"user","content":[{"type":"text",` +
		`"text":"hi"}]}]}`))
	f.Add([]byte(`{"model":"a","messages":[{"role":"system","content":""},{"role":"assistant"},{"role":"user",` +
		`"content":"x"}],"tools":null}`))
	f.Fuzz(func(t *testing.T, body []byte) {
		r, err := Decode(body, nil, 0)
		if err != nil {
			if c := footnote.CodeOf(err); c == footnote.Internal {
				t.Fatalf("input must never be an internal error: %v", err)
			}
			return
		}
		if r.Model == "" || strings.TrimSpace(r.Text) == "" {
			t.Fatalf("accepted %q as %+v", body, r)
		}
	})
}

func TestErrorEnvelope(t *testing.T) {
	for _, tc := range []struct {
		err  error
		code string
		want string
	}{
		{refuse(footnote.InputTooLong, "messages", "Too \"long\"."), "",
			`{"error":{"message":"Too ` +
				`\"long\".","type":"invalid_request_error","param":"messages","code":"input_too_long"}}`},
		{footnote.Errorf(footnote.Unauthorized, "No."), "",
			`{"error":{"message":"No.","type":"invalid_request_error","param":null,"code":"invalid_api_key"}}`},
		{footnote.Errorf(footnote.NotFound, "No."), UnknownURL,
			`{"error":{"message":"No.","type":"invalid_request_error","param":null,"code":"unknown_url"}}`},
		{footnote.Errorf(footnote.RateLimited, "Slow."), "",
			`{"error":{"message":"Slow.","type":"rate_limit_error","param":null,"code":"rate_limited"}}`},
		{errors.New("sql: secret"), "",
			`{"error":{"message":"Something went wrong on the server. The operator's log has the ` +
				`details.","type":"server_error","param":null,"code":"internal_error"}}`},
	} {
		if got := string(AppendError(nil, tc.err, tc.code)); got != tc.want {
			t.Errorf("AppendError(%v) = %s, want %s", tc.err, got, tc.want)
		}
	}
}

func TestModels(t *testing.T) {
	at := time.Unix(1_700_000_000, 0)
	list := func(assistants ...agent.AssistantInfo) string { return string(appendJSON(nil, ModelsOf(assistants))) }
	got := list(agent.AssistantInfo{Name: "analyst", Created: at})
	if want := `{"object":"list","data":[{"id":"analyst","object":"model","created":1700000000,` +
		`"owned_by":"footnote"}]}`; got != want {
		t.Errorf("the listing is %s, want %s", got, want)
	}
	if got := list(); got != `{"object":"list","data":[]}` {
		t.Errorf("empty listing = %s", got)
	}
	got = list(agent.AssistantInfo{Name: "analyst", Aliases: []string{"claude-da/analyst"}, Created: at})
	if !json.Valid([]byte(got)) || !strings.Contains(got, `"id":"analyst"`) ||
		!strings.Contains(got, `"id":"claude-da/analyst"`) {
		t.Errorf("an alias is listed as %s", got)
	}
}
