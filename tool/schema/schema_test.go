package schema_test

import (
	"encoding/json"
	"strings"
	"testing"

	"github.com/footnotehq/footnote/tool"
	"github.com/footnotehq/footnote/tool/schema"
)

type input struct {
	Name    string   `json:"name" jsonschema:"What it is called."`
	Kind    string   `json:"kind,omitempty"`
	Limit   float64  `json:"limit,omitempty"`
	Columns []string `json:"columns,omitempty"`
	Rows    []row    `json:"rows,omitempty"`
	Deep    *row     `json:"deep,omitempty"`
}

type row struct {
	ID   int      `json:"id"`
	Tags []string `json:"tags,omitempty"`
}

func of() json.RawMessage {
	return schema.For[input](schema.Enum("kind", "bar", "line"), schema.Integer("limit", 1, 100),
		schema.OneOrMany("columns"))
}

func validate(s, input json.RawMessage) error {
	compiled, err := schema.Compile(s)
	if err != nil {
		return err
	}
	return compiled.Validate(input)
}

// A schema's bytes are frozen with a conversation and cached by the provider; changing them invalidates both.
func TestForIsDeterministic(t *testing.T) {
	const want = `{"type":"object","properties":{` +
		`"name":{"type":"string","description":"What it is called."},` +
		`"kind":{"type":"string","enum":["bar","line"]},` +
		`"limit":{"type":"integer","minimum":1,"maximum":100},` +
		`"columns":{"type":["string","array"],"items":{"type":"string"}},` +
		`"rows":{"type":"array","items":{"type":"object","properties":{"id":{"type":"integer"},` +
		`"tags":{"type":"array","items":{"type":"string"}}},"required":["id"],"additionalProperties":false}},` +
		`"deep":{"type":"object","properties":{"id":{"type":"integer"},"tags":{"type":"array",` +
		`"items":{"type":"string"}}},"required":["id"],"additionalProperties":false}` +
		`},"required":["name"],"additionalProperties":false}`
	for range 20 {
		if got := string(of()); got != want {
			t.Fatalf("For = %s\nwant  %s", got, want)
		}
	}
}

func TestValidateErrors(t *testing.T) {
	for _, c := range []struct{ input, want string }{
		{`{"name":"a"}`, ""},
		{`{"name":"a","kind":"bar","limit":10.0,"columns":"x","rows":[{"id":1}]}`, ""},
		{`{"name":"a","columns":["x","y"],"kind":null,"limit":null,"rows":null}`, ""},
		{`{}`, `"name" is missing.`},
		{`{"Name":"a"}`, `"name" is missing. "Name" is not a parameter. Did you mean "name"?`},
		{`{"name":"a","colums":["x"]}`, `"colums" is not a parameter. Did you mean "columns"?`},
		{
			`{"name":"a","zebra":1}`,
			`"zebra" is not a parameter. The parameters are: columns, deep, kind, limit, name, rows.`,
		},
		{`{"name":5}`, `"name" must be a string, not the number 5.`},
		{`{"name":null}`, `"name" must be a string, not null.`},
		{`{"name":"a","limit":"10"}`, `"limit" must be a whole number, not a string.`},
		{`{"name":"a","limit":1.5}`, `"limit" must be a whole number, not the number 1.5.`},
		{`{"name":"a","limit":0}`, `"limit" must be at least 1.`},
		{`{"name":"a","limit":1e300}`, `"limit" must be at most 100.`},
		{`{"name":"a","kind":"pie"}`, `"kind" must be one of "bar", "line".`},
		{`{"name":"a","columns":{"x":1}}`, `"columns" must be a string or an array, not an object.`},
		{`{"name":"a","columns":["x",1]}`, `"columns[1]" must be a string, not the number 1.`},
		{
			`{"name":"a","rows":[{"id":1},{"ID":2}]}`,
			`"rows[1].id" is missing. "rows[1].ID" is not a parameter. Did you mean "id"?`,
		},
		{`[]`, `The input must be a JSON object, not an array.`},
		{`"x"`, `The input must be a JSON object, not a string.`},
		{
			`{"name":"a"`,
			`The input cannot be read: the JSON is not valid at byte 11: an object needs a comma or its end here. Send one JSON object.`,
		},
		{``, `The input cannot be read: the JSON is not valid at byte 0: it ends where a value should be. Send one JSON object.`},
		{
			`{"name":"a"} {}`,
			`The input cannot be read: the JSON is not valid at byte 13: something follows the value. Send one JSON object.`,
		},
		{
			`{"name":"a","name":"b"}`,
			`The input cannot be read: the JSON is not valid at byte 22: the key "name" is duplicated in an object. Send one JSON object.`,
		},
		{
			`{"name":"a","rows":[{"id":1,"id":2}]}`,
			`The input cannot be read: the JSON is not valid at byte 34: the key "id" is duplicated in an object. Send one JSON object.`,
		},
		{
			"{\"name\":\"\xff\"}",
			`The input cannot be read: the JSON is not valid at byte 9: the text is not valid UTF-8. Send one JSON object.`,
		},
		{
			`{"name":"a\u0000"}`,
			`The input cannot be read: the JSON is not valid at byte 10: NUL cannot be stored in text. Send one JSON object.`,
		},
		{
			`{"INVALID_JSON":"{"}`,
			`The input was not valid JSON. Send one JSON object, with quotes and line breaks in strings escaped.`,
		},
		{
			strings.Repeat(`[`, 1<<20),
			`The input cannot be read: the JSON is not valid at byte 100: it is nested more than 100 deep. Send one JSON object.`,
		},
		{
			strings.Repeat(`{"a":`, 200) + "1" + strings.Repeat(`}`, 200),
			`The input cannot be read: the JSON is not valid at byte 500: it is nested more than 100 deep. Send one JSON object.`,
		},
	} {
		got := ""
		if err := validate(of(), json.RawMessage(c.input)); err != nil {
			got = err.Error()
		}
		if got != c.want {
			t.Errorf("Validate(%.60s) = %q, want %q", c.input, got, c.want)
		}
	}
}

// A foreign schema may use more than explain understands, but the verdict must still be right.
func TestValidateWithForeignSchema(t *testing.T) {
	foreign := json.RawMessage(
		`{"type":"object","properties":{"a":{"anyOf":[{"type":"string","pattern":"^x"},{"type":"integer"}]}},` +
			`"required":["a"]}`)
	for input, ok := range map[string]bool{
		`{"a":"xy"}`: true, `{"a":3}`: true, `{"a":"y"}`: false, `{"a":"x","other":1}`: true,
	} {
		err := validate(foreign, json.RawMessage(input))
		if (err == nil) != ok {
			t.Errorf("Validate(%s) = %v, want ok %v", input, err, ok)
		}
	}
	for _, bad := range []string{`{"$ref":"https://example.com/schema.json"}`, `{"type":7}`, `nonsense`} {
		if _, err := schema.Compile(json.RawMessage(bad)); err == nil {
			t.Errorf("Compile(%s) succeeded", bad)
		}
	}
}

func TestValidator(t *testing.T) {
	check, err := schema.Validator([]tool.Spec{
		{
			Name:        "make",
			InputSchema: of(),
			Aliases:     map[string]map[string]string{"build": {"title": "name"}, "same": nil},
		},
		{Name: "stop", InputSchema: json.RawMessage(`{"type":"object"}`)},
	})
	if err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct{ name, input, want string }{
		{"make", `{"name":"a"}`, ""},
		{"same", `{"name":"a"}`, ""},
		{"build", `{"title":"a"}`, ""},
		{"build", `{"title":"a","name":"b"}`, `"title" is not a parameter.`},
		{"build", `[`, "the JSON is not valid"},
		{"stop", `{"anything":1}`, ""},
		{"mkae", `{}`, `There is no tool named "mkae". Did you mean "make"?`},
		{"zebra", `{}`, `The tools are: make, stop.`},
	} {
		err := check(c.name, []byte(c.input))
		if (c.want == "") != (err == nil) || (err != nil && !strings.Contains(err.Error(), c.want)) {
			t.Errorf("%s(%s) = %v, want %q", c.name, c.input, err, c.want)
		}
	}
	if _, err := schema.Validator([]tool.Spec{{Name: "bad", InputSchema: json.RawMessage(`{`)}}); err == nil ||
		!strings.Contains(err.Error(), "tool bad") {
		t.Errorf("Validator with a broken schema = %v, want an error that names the tool", err)
	}
}

func TestForPanicsOnUnknownProperty(t *testing.T) {
	defer func() {
		if recover() == nil {
			t.Error("For accepted an option for a property that is not there")
		}
	}()
	schema.For[input](schema.Enum("zebra", "a"))
}

func FuzzValidate(f *testing.F) {
	for _, s := range []string{
		`{"name":"a"}`, `{"name":"a","name":"b"}`, `{"rows":[{"id":1e400}]}`, "{\"\xff\":1}", `[[[]]]`,
	} {
		f.Add([]byte(s))
	}
	s, err := schema.Compile(of())
	if err != nil {
		f.Fatal(err)
	}
	f.Fuzz(func(t *testing.T, data []byte) {
		if s.Validate(data) != nil {
			return
		}
		var in struct { // the tool can decode every input that passes
			Name    string  `json:"name"`
			Kind    string  `json:"kind"`
			Limit   float64 `json:"limit"`
			Columns any     `json:"columns"`
		}
		if err := json.Unmarshal(data, &in); err != nil {
			t.Errorf("%q passed, but: %v", data, err)
		}
	})
}
