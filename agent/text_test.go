package agent

import (
	"encoding/json"
	"testing"
)

// FuzzPlainText compares plainText with encoding/json.
func FuzzPlainText(f *testing.F) {
	for _, inner := range []string{
		``, `In all, 846.`, `a\nb \"c\" \\ \/ \t\b\f\r`, `\u00e9`, `é – 12 %`, `a","citations":[],"x":"b`, `\`, `\\\`,
		`\x`, "a\x01b", "a\xffb", `\ud83d\ude00`,
	} {
		f.Add(inner)
	}
	f.Fuzz(func(t *testing.T, inner string) {
		raw := json.RawMessage(`{"type":"text","text":"` + inner + `"}`)
		got, ok := plainText(raw)
		if !ok {
			return
		}
		var want struct{ Text string }
		if err := json.Unmarshal(raw, &want); err != nil || want.Text != got {
			t.Errorf("%q gives %q, want %q, %v", raw, got, want.Text, err)
		}
	})
}

func TestPlainTextOfLongBlock(t *testing.T) {
	if text, ok := plainText(json.RawMessage(`{"type":"text","text":"a\nb é"}`)); !ok || text != "a\nb é" {
		t.Errorf("plainText: %q, %v", text, ok)
	}
}
