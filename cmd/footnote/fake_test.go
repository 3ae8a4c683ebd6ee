package main

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// TestScenariosAreBounded checks that an oversized scenario file is not read to the end.
func TestScenariosAreBounded(t *testing.T) {
	large := filepath.Join(t.TempDir(), "large.json")
	if err := os.WriteFile(large, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	if err := os.Truncate(large, maxScenario+1); err != nil {
		t.Fatal(err)
	}
	_, err := (&fakeCmd{Scenario: large}).options()
	if err == nil || !strings.HasPrefix(err.Error(), "scenario: ") || !strings.Contains(err.Error(), "larger than") {
		t.Error(err)
	}
}
