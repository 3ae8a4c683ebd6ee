package strictjson

import (
	"bytes"
	"encoding/json"
)

// Encode returns the JSON of a value without HTML escaping, so that texts stay as they are.
func Encode(v any) ([]byte, error) {
	var buf bytes.Buffer
	enc := json.NewEncoder(&buf)
	enc.SetEscapeHTML(false)
	err := enc.Encode(v)
	return bytes.TrimSuffix(buf.Bytes(), []byte("\n")), err
}
