package drawing

import (
	"bytes"
	"encoding/json"
)

// Diff is the change of one field; null means that it was absent.
type Diff struct {
	From json.RawMessage `json:"from"`
	To   json.RawMessage `json:"to"`
}

// Differences returns the fields in which two drawings differ; nil has no fields. It ignores fields set by the
// document.
func Differences(from, to *Drawing) map[string]Diff {
	a, b := fields(from), fields(to)
	value := func(m map[string]json.RawMessage, name string) json.RawMessage {
		if v, ok := m[name]; ok {
			return v
		}
		return json.RawMessage("null")
	}
	diffs := map[string]Diff{}
	for _, names := range []map[string]json.RawMessage{a, b} {
		for name := range names {
			if d := (Diff{value(a, name), value(b, name)}); !bytes.Equal(d.From, d.To) {
				diffs[name] = d
			}
		}
	}
	return diffs
}

func fields(d *Drawing) map[string]json.RawMessage {
	if d == nil {
		return nil
	}
	var m map[string]json.RawMessage
	_ = json.Unmarshal(d.content(), &m)
	delete(m, "id")
	return m
}
