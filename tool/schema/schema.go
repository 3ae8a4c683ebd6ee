// Package schema generates the JSON Schemas of tool inputs from Go types, and checks inputs against them with
// messages that a model can act on.
package schema

import (
	"encoding/json"
	"fmt"
	"slices"

	"github.com/google/jsonschema-go/jsonschema"
)

// Option refines one property of a schema.
type Option struct {
	property string
	apply    func(*jsonschema.Schema)
}

// Enum restricts a property to these values.
func Enum(property string, values ...string) Option {
	return Option{property, func(s *jsonschema.Schema) {
		for _, v := range values {
			s.Enum = append(s.Enum, v)
		}
	}}
}

// Integer restricts a property to integers between minimum and maximum. The Go field should be a float64: JSON Schema
// accepts 10.0 as an integer, but Go's decoder does not.
func Integer(property string, minimum, maximum int) Option {
	return Option{property, func(s *jsonschema.Schema) {
		s.Type, s.Types = "integer", nil
		s.Minimum, s.Maximum = new(float64(minimum)), new(float64(maximum))
	}}
}

// Length restricts a property to texts of minimum to maximum characters.
func Length(property string, minimum, maximum int) Option {
	return Option{property, func(s *jsonschema.Schema) { s.MinLength, s.MaxLength = new(minimum), new(maximum) }}
}

// Items restricts a property that is a list of texts to at most maxItems items, each of at most length
// characters.
func Items(property string, maxItems, length int) Option {
	return Option{property, func(s *jsonschema.Schema) {
		s.MaxItems = new(maxItems)
		s.Items = &jsonschema.Schema{Type: "string", MaxLength: new(length)}
	}}
}

// OneOrMany lets a property that is a list of strings also accept a single string. The Go field's type must do so,
// too.
func OneOrMany(property string) Option {
	return Option{property, func(s *jsonschema.Schema) {
		s.Type, s.Types = "", []string{"string", "array"}
		s.Items = &jsonschema.Schema{Type: "string"}
	}}
}

// For returns the JSON Schema of a struct's JSON form. Fields without omitempty are required, unknown fields are
// refused, and the jsonschema tag describes a field. The bytes depend only on T and the options. For panics when T
// has no schema or an option names a property that T does not have.
func For[T any](options ...Option) json.RawMessage {
	s, err := jsonschema.For[T](nil)
	if err != nil {
		panic(fmt.Sprintf("schema: %v", err))
	}
	for _, p := range s.Properties {
		withoutNull(p)
	}
	for _, o := range options {
		p := s.Properties[o.property]
		if p == nil {
			panic(fmt.Sprintf("schema: %T has no property %q", *new(T), o.property))
		}
		o.apply(p)
	}
	data, err := json.Marshal(s)
	if err != nil {
		panic(fmt.Sprintf("schema: %v", err))
	}
	return data
}

// withoutNull removes the null that is inferred for every slice and pointer. Optional fields are omitted instead,
// and null would only make the schema longer.
func withoutNull(s *jsonschema.Schema) {
	if rest := slices.DeleteFunc(slices.Clone(s.Types), func(t string) bool { return t == "null" }); len(s.Types) > 0 {
		s.Types = rest
		if len(rest) == 1 {
			s.Type, s.Types = rest[0], nil
		}
	}
	for _, p := range s.Properties {
		withoutNull(p)
	}
	if s.Items != nil {
		withoutNull(s.Items)
	}
}
