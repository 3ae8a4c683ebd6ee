package wordlist

import (
	"maps"
	"slices"
	"testing"
)

func TestLists(t *testing.T) {
	const text = "# places\nleft top: a: side\n\n  under: below\n"
	if got := Lines(text); !slices.Equal(got, []string{"left top: a: side", "under: below"}) {
		t.Errorf("lines: %q", got)
	}
	if got := Map(text); !maps.Equal(got, map[string]string{"left": "a: side", "top": "a: side", "under": "below"}) {
		t.Errorf("map: %v", got)
	}
	if got := Set("a b\n# c\nd"); !maps.Equal(got, map[string]bool{"a": true, "b": true, "d": true}) {
		t.Errorf("set: %v", got)
	}
}
