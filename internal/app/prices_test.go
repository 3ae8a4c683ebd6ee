package app

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/footnotehq/footnote/config"
)

// TestPricesAreBounded checks that an oversized price file is not read to the end.
func TestPricesAreBounded(t *testing.T) {
	large := filepath.Join(t.TempDir(), "large.json")
	if err := os.WriteFile(large, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	if err := os.Truncate(large, maxPrices+1); err != nil {
		t.Fatal(err)
	}
	err := (&App{cfg: config.Config{Upstream: "anthropic", Prices: large}}).connect()
	if err == nil || !strings.HasPrefix(err.Error(), "prices: ") || !strings.Contains(err.Error(), "larger than") {
		t.Error(err)
	}
}
