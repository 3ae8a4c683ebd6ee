package app

import (
	"strings"
	"testing"

	"github.com/footnotehq/footnote/config"
)

// TestSecretsWithinSecrets checks that no part remains in a log of a key that starts with another key, or of a key
// that a text quotes as JSON.
func TestSecretsWithinSecrets(t *testing.T) {
	scan := redactor(config.Config{
		Redis:   "redis://cache/0?password=of-the-cache",
		APIKeys: []config.Key{{Key: "key-of-ann"}, {Key: "key-of-ann-and-bob"}, {Key: `key&"of-cem`}},
	})
	for _, text := range []string{
		"it is key-of-ann-and-bob, no other", `{"sent":"key&\"of-cem"}`, `{"sent":"key\u0026\"of-cem"}`,
		"dial redis://cache/0?password=of-the-cache: refused",
	} {
		if got := scan(text); strings.Contains(got, "bob") || strings.Contains(got, "of-") ||
			!strings.Contains(got, "***") {
			t.Errorf("%s: %s", text, got)
		}
	}
}
