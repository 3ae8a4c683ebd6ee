package aisdk

import (
	"encoding/json"

	"github.com/footnotehq/footnote/internal/strictjson"
)

const doneFrame = "data: [DONE]\n\n"

// writer is a frame under construction. It has only the fields that the protocol allows for the chunk; no
// field is ever null.
type writer []byte

func chunk(dst []byte, kind string) writer {
	dst = append(dst, `data: {"type":"`...)
	dst = append(dst, kind...)
	return append(dst, '"')
}

func (w writer) name(name string) writer {
	w = append(w, `,"`...)
	w = append(w, name...)
	return append(w, `":`...)
}

func (w writer) str(name, value string) writer {
	return strictjson.AppendString(w.name(name), value)
}

// raw adds a field whose value is single-line JSON.
func (w writer) raw(name string, value []byte) writer { return append(w.name(name), value...) }

func (w writer) bool(name string, value bool) writer {
	if value {
		return append(w.name(name), "true"...)
	}
	return append(w.name(name), "false"...)
}

func (w writer) flag(name string) writer { return w.bool(name, true) }

// executed marks calls that the server runs, so that the client neither runs them nor posts again because of
// them.
func (w writer) executed(c *call) writer {
	if c.client {
		return w
	}
	return w.flag("providerExecuted")
}

func (w writer) end() []byte { return append(w, "}\n\n"...) }

func jsonRaw(b []byte) json.RawMessage {
	if len(b) == 0 {
		return json.RawMessage("{}")
	}
	return b
}
