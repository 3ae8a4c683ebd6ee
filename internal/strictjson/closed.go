package strictjson

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"reflect"
	"strings"

	"github.com/footnotehq/footnote"
)

// Closed decodes one JSON object into the struct that v points to. It rejects any key that the struct has no
// field for, even if it differs only in case. The error is a footnote.Error with code InvalidRequest that
// says what is wrong.
func Closed(data []byte, v any) error {
	tree, err := Parse(data)
	if err != nil {
		return footnote.Wrapf(footnote.InvalidRequest, err, "The body is not acceptable JSON: %v", err)
	}
	if tree.Kind() != Object {
		return footnote.Invalidf("The body must be a JSON object.")
	}
	known := fieldNames(reflect.TypeOf(v).Elem())
	for _, m := range tree.Members() {
		if !known[m.Name] {
			return footnote.Invalidf("The body has an unknown key %q.", m.Name)
		}
	}
	dec := json.NewDecoder(bytes.NewReader(data))
	dec.DisallowUnknownFields()
	if err := dec.Decode(v); err != nil {
		return &footnote.Error{Code: footnote.InvalidRequest, Message: describe(err), Err: err}
	}
	return nil
}

func describe(err error) string {
	if e, ok := errors.AsType[*json.UnmarshalTypeError](err); ok {
		return fmt.Sprintf("The key %q must not be %s.", e.Field, "a "+e.Value)
	}
	return "The body does not have the expected shape: " + strings.TrimPrefix(err.Error(), "json: ")
}

func fieldNames(t reflect.Type) map[string]bool {
	names := map[string]bool{}
	for i := range t.NumField() {
		name, _, _ := strings.Cut(t.Field(i).Tag.Get("json"), ",")
		names[name] = true
	}
	return names
}
