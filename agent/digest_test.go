package agent

import (
	"testing"

	"github.com/footnotehq/footnote"
)

// TestLastDigest checks that the cache returns the digest of the given bytes, not the previous one.
func TestLastDigest(t *testing.T) {
	var l lastDigest
	for _, data := range []string{"a", "a", "b", "a", "", "ab"} {
		if got := l.of([]byte(data)); got != footnote.DigestOf([]byte(data)) {
			t.Errorf("the digest of %q is %s", data, got)
		}
	}
}
