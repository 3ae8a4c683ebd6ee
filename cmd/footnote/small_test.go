package main

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/footnotehq/footnote/config"
)

// TestSmallFilesAreBounded checks that oversized price and scenario files are not read to the end.
func TestSmallFilesAreBounded(t *testing.T) {
	large := filepath.Join(t.TempDir(), "large.json")
	if err := os.WriteFile(large, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	if err := os.Truncate(large, maxSmallFile+1); err != nil {
		t.Fatal(err)
	}
	_, scenario := (&fakeCmd{Scenario: large}).options()
	for name, err := range map[string]error{
		"prices":   (&app{cfg: config.Config{Upstream: "anthropic", Prices: large}}).connect(),
		"scenario": scenario,
	} {
		if err == nil || !strings.HasPrefix(err.Error(), name+": ") || !strings.Contains(err.Error(), "larger than") {
			t.Errorf("%s: %v", name, err)
		}
	}
}
