package openai

import (
	"encoding/json"
	"strings"

	"github.com/footnotehq/footnote"
	"github.com/footnotehq/footnote/internal/strictjson"
	"github.com/footnotehq/footnote/protocol"
)

// Form is the shape in which a chat program wants a title: an object of strings, either as the input of a
// function that must be called, or as the content. LibreChat requests titles this way.
type Form struct {
	Function string   // function to call with the object; empty: the object is the content
	Keys     []string // "title", and possibly "language"
}

// formKeys lists the keys that a form may have. A form with any other key is not for a title, and is rejected
// like any other client tool.
var formKeys = map[string]bool{"title": true, "language": true}

// formOf reads the form of a title job: one function that must be called, or a schema for the content. It
// returns nil if the request asks for something else.
func formOf(doc strictjson.Value) *Form {
	if tools := doc.Get("tools").Items(); len(tools) == 1 && len(doc.Get("functions").Items()) == 0 {
		f := tools[0].Get("function")
		name, ok := f.Get("name").Text()
		if !ok || name == "" || !protocol.PlainID(name, 64) || !forced(doc.Get("tool_choice"), name) {
			return nil
		}
		return newForm(name, f.Get("parameters"))
	}
	format := doc.Get("response_format")
	if kind, _ := format.Get("type").Text(); kind != "json_schema" {
		return nil
	}
	return newForm("", format.Get("json_schema").Get("schema"))
}

// forced reports whether a tool choice allows nothing but a call of this function.
func forced(choice strictjson.Value, name string) bool {
	if word, ok := choice.Text(); ok {
		return word == "required"
	}
	chosen, _ := choice.Get("function").Get("name").Text()
	return chosen == name
}

func newForm(function string, schema strictjson.Value) *Form {
	f := &Form{Function: function}
	titled := false
	for _, m := range schema.Get("properties").Members() {
		if kind, _ := m.Value.Get("type").Text(); !formKeys[m.Name] || kind != "string" {
			return nil
		}
		titled = titled || m.Name == "title"
		f.Keys = append(f.Keys, m.Name)
	}
	if !titled {
		return nil
	}
	return f
}

// Prompt adds instructions to the prompt of a job, so that Fill can read the answer.
func (f *Form) Prompt(prompt string) string {
	return prompt + "\n\nAnswer with one JSON object and nothing else. It has these keys, each with a text: " +
		strings.Join(f.Keys, ", ") + "."
}

// Fill builds the object from a model's answer: a JSON object, or else just a title. The planner's answers
// have no language, because it reads only English.
func (f *Form) Fill(answer string) []byte {
	values := map[string]string{}
	begin, end := strings.Index(answer, "{"), strings.LastIndex(answer, "}")
	if begin < 0 || end < begin || json.Unmarshal([]byte(answer[begin:end+1]), &values) != nil ||
		values["title"] == "" {
		line, _, _ := strings.Cut(strings.TrimSpace(answer), "\n")
		values = map[string]string{"title": strings.Trim(line, " \t\"'*#.")}
	}
	if values["language"] == "" {
		values["language"] = "English"
	}
	o := strictjson.Builder{'{'}
	for _, key := range f.Keys { // known words
		o = o.Text(key, values[key])
	}
	return append(o, '}')
}

// AppendFilled appends the completion of a job with a form: as a call of its function if it has one, and as a
// stream of chunks if the client asked for a stream.
func (f *Form) AppendFilled(dst []byte, o Options, stream bool, answer string, u footnote.Usage) []byte {
	object := string(f.Fill(answer))
	switch {
	case f.Function == "":
		return AppendCompletion(dst, o, object, u)
	case stream:
		return f.appendChunks(dst, o, object, u)
	}
	dst = appendHead(dst, o, "chat.completion")
	dst = append(dst, `"choices":[{"index":0,"message":{"role":"assistant","content":null,"tool_calls":[{`...)
	dst = f.appendCall(dst, o, object)
	dst = append(dst, `}],"refusal":null},"logprobs":null,"finish_reason":"tool_calls"}],"usage":`...)
	return append(appendUsage(dst, u), '}')
}

func (f *Form) appendCall(dst []byte, o Options, object string) []byte {
	call := strictjson.Builder(dst).Text("id", "call_"+strings.TrimPrefix(o.ID, "chatcmpl-")).Text("type", "function")
	call = append(call.Name("function"), '{')
	return append(call.Text("name", f.Function).Text("arguments", object), '}')
}

func (f *Form) appendChunks(dst []byte, o Options, object string, u footnote.Usage) []byte {
	e := NewEncoder(o)
	dst = append(e.delta(dst), `"role":"assistant","content":null,"tool_calls":[{"index":0,`...)
	dst = e.end(append(f.appendCall(dst, o, object), "}]"...), "null")
	e.opened = true
	return e.finish(dst, "tool_calls", u)
}
