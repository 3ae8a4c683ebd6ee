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
	diffs := map[string]Diff{}
	null := json.RawMessage("null")
	for name, v := range a {
		w, there := b[name]
		if !there {
			diffs[name] = Diff{v, null}
		} else if !bytes.Equal(v, w) {
			diffs[name] = Diff{v, w}
		}
	}
	for name, w := range b {
		if _, there := a[name]; !there {
			diffs[name] = Diff{null, w}
		}
	}
	return diffs
}

func fields(d *Drawing) map[string]json.RawMessage {
	if d == nil {
		return nil
	}
	data, err := d.content()
	if err != nil {
		return nil // a checked drawing always encodes
	}
	var m map[string]json.RawMessage
	if json.Unmarshal(data, &m) != nil {
		return nil
	}
	delete(m, "id")
	return m
}
