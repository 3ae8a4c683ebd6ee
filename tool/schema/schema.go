// Package schema makes the JSON Schemas of tool inputs from Go types, and checks
// inputs against them in words that a model can act on.
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

// Enum allows a property these values only.
func Enum(property string, values ...string) Option {
	return Option{property, func(s *jsonschema.Schema) {
		for _, v := range values {
			s.Enum = append(s.Enum, v)
		}
	}}
}

// Integer makes a property a whole number within bounds. The Go field should be a
// float64: JSON Schema counts 10.0 as an integer, Go's decoder does not.
func Integer(property string, least, most int) Option {
	return Option{property, func(s *jsonschema.Schema) {
		s.Type, s.Types = "integer", nil
		s.Minimum, s.Maximum = new(float64(least)), new(float64(most))
	}}
}

// Length makes a property a text of least to most characters.
func Length(property string, least, most int) Option {
	return Option{property, func(s *jsonschema.Schema) { s.MinLength, s.MaxLength = new(least), new(most) }}
}

// Items bounds a property that is a list of texts: at most so many, each of at most
// so many characters.
func Items(property string, most, length int) Option {
	return Option{property, func(s *jsonschema.Schema) {
		s.MaxItems = new(most)
		s.Items = &jsonschema.Schema{Type: "string", MaxLength: new(length)}
	}}
}

// OneOrMany makes a property that is a list of strings accept a single string as
// well. The Go field's type must do so, too.
func OneOrMany(property string) Option {
	return Option{property, func(s *jsonschema.Schema) {
		s.Type, s.Types = "", []string{"string", "array"}
		s.Items = &jsonschema.Schema{Type: "string"}
	}}
}

// For returns the JSON Schema of a struct's JSON form. Fields without omitempty
// are required, other fields are refused, and the jsonschema tag describes a
// field. The bytes depend on nothing but T and the options. It panics when T
// has no schema or an option names no property of it.
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

// withoutNull removes the null that is inferred for every slice and pointer: an
// optional field is left out, and null would only be one more thing to say.
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
