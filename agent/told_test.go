package agent

import "testing"

// TestNames holds that one name within another is not taken for it: somebody who was told
// of level-10 knows nothing of level-1.
func TestNames(t *testing.T) {
	for text, want := range map[string]bool{
		"level-1":                    true,
		"- [level-1] line at 1.1":    true,
		`{"id":"level-1"}`:           true,
		"Move level-1, please.":      true,
		"level-10, level-1":          true,
		"":                           false,
		"level-10":                   false,
		"[my-level-1] and level-1_b": false,
		"level 1":                    false,
	} {
		if names(text, "level-1") != want {
			t.Errorf("%q: %v", text, !want)
		}
	}
	if names("anything", "") {
		t.Error("no name is in every text")
	}
}
