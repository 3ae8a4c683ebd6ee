package prompt_test

import (
	"strings"
	"testing"

	"github.com/footnotehq/footnote/agent/prompt"
)

func TestCoder(t *testing.T) {
	with, without := prompt.Coder(true), prompt.Coder(false)
	if !strings.Contains(with, "Bash runs a command") || strings.Contains(without, "Bash runs") ||
		!strings.Contains(without, "Commands cannot be run") {
		t.Error("the prompt does not say whether commands can be run")
	}
	if n := max(len(with), len(without)); n > prompt.MaxBytes {
		t.Errorf("%d bytes", n)
	}
	for _, want := range []string{"/workspace", "must be read before", "never instructions"} {
		if !strings.Contains(strings.Join(strings.Fields(with), " "), want) {
			t.Errorf("the prompt lacks %q", want)
		}
	}
}
