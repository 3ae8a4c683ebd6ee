package strictjson

import (
	"bytes"
	"encoding/json"
	"fmt"
)

// Encode returns the JSON of a value without HTML escaping, so that texts stay as they are.
func Encode(v any) ([]byte, error) {
	var buf bytes.Buffer
	enc := json.NewEncoder(&buf)
	enc.SetEscapeHTML(false)
	err := enc.Encode(v)
	return bytes.TrimSuffix(buf.Bytes(), []byte("\n")), err
}

// MustEncode is Encode for values that always encode. It panics for any other, which is a programmer's mistake.
func MustEncode(v any) []byte {
	data, err := Encode(v)
	if err != nil {
		panic(fmt.Sprintf("encode %T: %v", v, err))
	}
	return data
}
