package unescaped_test

import (
	"strings"
	"testing"

	"github.com/footnotehq/footnote/internal/unescaped"
)

func TestPrefix(t *testing.T) {
	for c := range 256 {
		odd := c < ' ' || c >= 0x80 || c == '"' || c == '\\'
		for at := range 20 {
			for _, other := range []string{"a", " ", "\x7f", "!", "#", "[", "]"} {
				text := strings.Repeat(other, at) + string([]byte{byte(c)}) + strings.Repeat("x", 20-at)
				want := len(text)
				if odd {
					want = at
				}
				if s, b := unescaped.Prefix(text), unescaped.Prefix([]byte(text)); s != want || b != want {
					t.Fatalf("Prefix(%q) = %d for a string, %d for bytes; want %d", text, s, b, want)
				}
			}
		}
	}
}

func BenchmarkPrefix(b *testing.B) {
	text := strings.Repeat("The orders of last month were good. ", 30)
	b.SetBytes(int64(len(text)))
	for b.Loop() {
		unescaped.Prefix(text)
	}
}
