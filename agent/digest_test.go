package agent

import "testing"

// TestLastDigest holds that bytes get their own digest, whatever was named before.
func TestLastDigest(t *testing.T) {
	var l lastDigest
	for _, data := range []string{"a", "a", "b", "a", "", "ab"} {
		if got := l.of([]byte(data)); got != DigestOf([]byte(data)) {
			t.Errorf("the digest of %q is %s", data, got)
		}
	}
}
