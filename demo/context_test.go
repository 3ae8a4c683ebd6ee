package demo_test

import (
	"path/filepath"
	"testing"

	"github.com/footnotehq/footnote/demo"
	"github.com/footnotehq/footnote/knowledge"
)

// TestContext checks that the shop's context is faultless, and that it is written once.
func TestContext(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "context")
	for range 2 {
		if err := demo.WriteContext(dir); err != nil {
			t.Fatal(err)
		}
	}
	c, err := knowledge.Load(dir)
	if err != nil {
		t.Fatal(err)
	}
	if c.Glossary == "" || len(c.Model.Datasets) != 4 || len(c.Model.Metrics) != 3 {
		t.Errorf("the context is %+v", c)
	}
	if tests := c.Tests(); tests == nil || len(tests.Tests) != 20 {
		t.Errorf("the tests are %+v", tests)
	}
}
