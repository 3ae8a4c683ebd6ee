package schema

import (
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"math"
	"slices"
	"strings"

	"github.com/google/jsonschema-go/jsonschema"

	"github.com/footnotehq/footnote/internal/reply"
	"github.com/footnotehq/footnote/internal/spelling"
	"github.com/footnotehq/footnote/internal/strictjson"
	"github.com/footnotehq/footnote/tool"
)

// Schema is a compiled JSON Schema.
type Schema struct {
	root     *jsonschema.Schema
	resolved *jsonschema.Resolved
}

// Compile parses a JSON Schema. It refuses external references: a schema may come from a foreign server, and
// nothing is fetched for it.
func Compile(data json.RawMessage) (*Schema, error) {
	var root jsonschema.Schema
	if err := json.Unmarshal(data, &root); err != nil {
		return nil, fmt.Errorf("read the schema: %w", err)
	}
	resolved, err := root.Resolve(nil)
	if err != nil {
		return nil, fmt.Errorf("resolve the schema: %w", err)
	}
	return &Schema{&root, resolved}, nil
}

// Validate returns nil for a valid input, and otherwise an error that tells the model what to change. A null for an
// optional property counts as omitted. Duplicate keys, invalid UTF-8 and trailing data are refused.
func (s *Schema) Validate(input json.RawMessage) error {
	value, err := decode(input)
	if err != nil {
		return err
	}
	dropNulls(s.root, value)
	err = s.resolved.Validate(value)
	if err == nil {
		return nil
	}
	if wrong := explain(s.root, value, ""); len(wrong) > 0 {
		return errors.New(strings.Join(wrong[:min(len(wrong), 5)], " "))
	}
	text, _ := reply.Clip(err.Error(), 500)
	return tool.Refusef("The input does not fit the tool's schema: %s", text)
}

// Validator returns a function that checks a call's input by the tool's name. It resolves names and arguments in
// Aliases first. Validator returns an error for a tool whose schema cannot be parsed.
func Validator(specs []tool.Spec) (func(name string, input []byte) error, error) {
	type entry struct {
		schema *Schema
		rename map[string]string
	}
	byName := map[string]entry{}
	var names []string
	for _, spec := range specs {
		s, err := Compile(spec.InputSchema)
		if err != nil {
			return nil, fmt.Errorf("tool %s: %w", spec.Name, err)
		}
		byName[spec.Name] = entry{schema: s}
		names = append(names, spec.Name)
		for alias, rename := range spec.Aliases {
			byName[alias] = entry{s, rename}
		}
	}
	return func(name string, input []byte) error {
		e, ok := byName[name]
		if !ok {
			return noTool(name, names)
		}
		if len(e.rename) > 0 {
			input = renamed(input, e.rename)
		}
		return e.schema.Validate(input)
	}, nil
}

func noTool(name string, names []string) error {
	shown, _ := reply.Clip(name, 64)
	text := fmt.Sprintf("There is no tool named %q.", shown)
	if near := spelling.Nearest(name, names, 1); len(near) > 0 {
		text += fmt.Sprintf(" Did you mean %q?", near[0])
	} else {
		text += " The tools are: " + strings.Join(names, ", ") + "."
	}
	return errors.New(text)
}

// renamed replaces aliases of arguments by their proper names. It leaves alone an input that is not an object, and
// an argument given under both names: the check that follows refuses those.
func renamed(input json.RawMessage, rename map[string]string) json.RawMessage {
	var object map[string]json.RawMessage
	if json.Unmarshal(input, &object) != nil {
		return input
	}
	for from, to := range rename {
		v, ok := object[from]
		if _, both := object[to]; !ok || both {
			continue
		}
		object[to] = v
		delete(object, from)
	}
	data, err := json.Marshal(object)
	if err != nil {
		return input
	}
	return data
}

// decode decodes one JSON object that all readers of JSON understand in the same way.
func decode(input json.RawMessage) (map[string]any, error) {
	_, err := strictjson.Parse(input)
	var value any
	if err == nil {
		err = json.Unmarshal(input, &value)
	}
	if err != nil {
		return nil, tool.Refusef("The input cannot be read: %v. Send one JSON object.", err)
	}
	object, ok := value.(map[string]any)
	if !ok {
		return nil, tool.Refusef("The input must be a JSON object, not %s.", kindOf(value))
	}
	if _, ok := object[tool.InvalidInput]; ok {
		return nil, tool.Refusef(
			"The input was not valid JSON. Send one JSON object, with quotes and line breaks in strings escaped.")
	}
	return object, nil
}

func dropNulls(s *jsonschema.Schema, object map[string]any) {
	for name, v := range object {
		if v == nil && s.Properties[name] != nil && !slices.Contains(s.Required, name) {
			delete(object, name)
		}
	}
}

// explain lists the faults of a value as sentences. It covers the simple part of JSON Schema that tools use: types,
// required and unknown properties, enums, bounds, items. It returns nothing if the fault is in another part.
func explain(s *jsonschema.Schema, v any, path string) []string {
	if s == nil {
		return nil
	}
	if wrong := typeFault(s, v, path); wrong != "" {
		return []string{wrong}
	}
	var wrong []string
	switch v := v.(type) {
	case map[string]any:
		wrong = objectFaults(s, v, path)
	case []any:
		for i, item := range v {
			wrong = append(wrong, explain(s.Items, item, fmt.Sprintf("%s[%d]", path, i))...)
		}
	case float64:
		if s.Minimum != nil && v < *s.Minimum {
			wrong = append(wrong, fmt.Sprintf("%s must be at least %v.", named(path), *s.Minimum))
		}
		if s.Maximum != nil && v > *s.Maximum {
			wrong = append(wrong, fmt.Sprintf("%s must be at most %v.", named(path), *s.Maximum))
		}
	}
	if len(s.Enum) > 0 && !slices.ContainsFunc(s.Enum, func(e any) bool { return fmt.Sprint(e) == fmt.Sprint(v) }) {
		wrong = append(wrong, fmt.Sprintf("%s must be one of %s.", named(path), listed(s.Enum)))
	}
	return wrong
}

func objectFaults(s *jsonschema.Schema, object map[string]any, path string) []string {
	var wrong, missing []string
	known := slices.Sorted(maps.Keys(s.Properties))
	for _, name := range s.Required {
		if _, ok := object[name]; !ok {
			missing = append(missing, name)
			wrong = append(wrong, fmt.Sprintf("%s is missing.", named(join(path, name))))
		}
	}
	for _, name := range slices.Sorted(maps.Keys(object)) {
		if p, ok := s.Properties[name]; ok {
			wrong = append(wrong, explain(p, object[name], join(path, name))...)
			continue
		}
		if !closed(s) {
			continue
		}
		shown, _ := reply.Clip(join(path, name), 64)
		text := fmt.Sprintf("%q is not a parameter.", shown)
		if near := spelling.Nearest(name, append(missing, known...), 1); len(near) > 0 {
			text += fmt.Sprintf(" Did you mean %q?", near[0])
		} else {
			text += " The parameters are: " + strings.Join(known, ", ") + "."
		}
		wrong = append(wrong, text)
	}
	return wrong
}

// closed reports whether s refuses properties it does not name. That is written as additionalProperties: false and
// parsed as {"not": {}}.
func closed(s *jsonschema.Schema) bool {
	return s.AdditionalProperties != nil && s.AdditionalProperties.Not != nil
}

func typeFault(s *jsonschema.Schema, v any, path string) string {
	types := s.Types
	if s.Type != "" {
		types = []string{s.Type}
	}
	if len(types) == 0 || slices.ContainsFunc(types, func(t string) bool { return isType(t, v) }) {
		return ""
	}
	return fmt.Sprintf("%s must be %s, not %s.", named(path), strings.Join(withArticle(types), " or "), kindOf(v))
}

func isType(t string, v any) bool {
	switch v := v.(type) {
	case float64:
		return t == "number" || (t == "integer" && v == math.Trunc(v))
	case string:
		return t == "string"
	case bool:
		return t == "boolean"
	case []any:
		return t == "array"
	case map[string]any:
		return t == "object"
	default:
		return t == "null"
	}
}

func withArticle(types []string) (words []string) {
	for _, t := range types {
		word, special := map[string]string{
			"integer": "a whole number", "array": "an array", "object": "an object", "null": "null",
		}[t]
		if !special {
			word = "a " + t
		}
		words = append(words, word)
	}
	return words
}

func kindOf(v any) string {
	switch v := v.(type) {
	case float64:
		return fmt.Sprintf("the number %v", v)
	case string:
		return "a string"
	case bool:
		return "a boolean"
	case []any:
		return "an array"
	case map[string]any:
		return "an object"
	default:
		return "null"
	}
}

func named(path string) string {
	if path == "" {
		return "The input"
	}
	return fmt.Sprintf("%q", path)
}

func join(path, name string) string {
	if path == "" {
		return name
	}
	return path + "." + name
}

func listed(values []any) string {
	out := make([]string, len(values))
	for i, v := range values {
		out[i] = fmt.Sprintf("%q", fmt.Sprint(v))
	}
	return strings.Join(out, ", ")
}
