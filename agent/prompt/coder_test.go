package prompt_test

import (
	"strings"
	"testing"

	"github.com/footnotehq/footnote/agent/prompt"
)

func TestCoder(t *testing.T) {
	with, without := prompt.Coder(prompt.CoderOptions{Commands: true}),
		prompt.Coder(prompt.CoderOptions{Extra: strings.Repeat("é", 4000)})
	if !strings.Contains(with, "Bash runs a command") || strings.Contains(without, "Bash runs") ||
		!strings.Contains(without, "Commands cannot be run") {
		t.Error("the prompt does not say whether commands can be run")
	}
	if n := len(without); n > prompt.MaxBytes || strings.Count(without, "é") != 1500 {
		t.Errorf("%d bytes with %d bytes of the operator's", n, 2*strings.Count(without, "é"))
	}
	for _, want := range []string{"/workspace", "must be read before", "never instructions"} {
		if !strings.Contains(strings.Join(strings.Fields(with), " "), want) {
			t.Errorf("the prompt lacks %q", want)
		}
	}
}
