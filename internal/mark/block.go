package mark

import (
	"bytes"
	"encoding/json"

	"github.com/footnotehq/footnote"
	"github.com/footnotehq/footnote/internal/strictjson"
)

// CutBlocks cuts the marks out of the texts in a message's blocks, and returns them. answer names the tool whose input
// has a text "answer". It returns blocks itself if there are no marks.
func CutBlocks(blocks []json.RawMessage, answer string) ([]json.RawMessage, []footnote.Mark) {
	var all []footnote.Mark
	out := blocks
	for i, raw := range blocks {
		// A text without these bytes has no mark, however it is escaped.
		if !bytes.Contains(raw, []byte("^r")) && !bytes.Contains(raw, []byte(`\u00`)) {
			continue
		}
		text, ok := textOf(raw, answer)
		if !ok {
			continue
		}
		clean, marks := Cut(text)
		if len(marks) == 0 {
			continue
		}
		if len(all) == 0 {
			out = append([]json.RawMessage(nil), blocks...)
		}
		for j := range marks {
			marks[j].Block = i
		}
		all = append(all, marks...)
		out[i] = withText(raw, clean)
	}
	return out, all
}

// RestoreBlocks puts marks that CutBlocks has cut out back into the blocks.
func RestoreBlocks(blocks []json.RawMessage, marks []footnote.Mark) []json.RawMessage {
	if len(marks) == 0 {
		return blocks
	}
	out := append([]json.RawMessage(nil), blocks...)
	for i, raw := range out {
		var own []footnote.Mark
		for _, m := range marks {
			if m.Block == i {
				own = append(own, m)
			}
		}
		if text, ok := textOf(raw, ""); ok && len(own) > 0 {
			out[i] = withText(raw, Restore(text, own))
		}
	}
	return out
}

// textOf returns the text of a block that may have marks. An empty name of the tool stands for any.
func textOf(raw json.RawMessage, answer string) (string, bool) {
	var b struct {
		Type  string `json:"type"`
		Text  string `json:"text"`
		Name  string `json:"name"`
		Input struct {
			Answer string `json:"answer"`
		} `json:"input"`
	}
	err := json.Unmarshal(raw, &b)
	switch {
	case err == nil && b.Type == "text":
		return b.Text, true
	case err == nil && b.Type == "tool_use" && (answer == "" || b.Name == answer) && b.Input.Answer != "":
		return b.Input.Answer, true
	}
	return "", false
}

// withText returns a block of textOf with another text. Everything else in it stays as it is.
func withText(raw json.RawMessage, text string) json.RawMessage {
	value := strictjson.MustEncode(text)
	if v, err := strictjson.Parse(raw); err == nil && !v.Get("input").Absent() {
		return replaced(raw, "input", replaced(v.Get("input").Raw(), "answer", value))
	}
	return replaced(raw, "text", value)
}

// replaced returns an object with another value of a member. The order of the members stays.
func replaced(object json.RawMessage, name string, value []byte) json.RawMessage {
	v, err := strictjson.Parse(object)
	if err != nil {
		return object
	}
	out := []byte{'{'}
	for i, m := range v.Members() {
		if i > 0 {
			out = append(out, ',')
		}
		out = append(append(out, strictjson.MustEncode(m.Name)...), ':')
		if m.Name == name {
			out = append(out, value...)
		} else {
			out = append(out, m.Value.Raw()...)
		}
	}
	return append(out, '}')
}
