package httpapi

import (
	"strings"
	"testing"
)

// TestUserNamesAreNotFormulas checks that a spreadsheet treats a user's name, which may come from a token, as
// text.
func TestUserNamesAreNotFormulas(t *testing.T) {
	for _, name := range []string{"=1+1", "@sum", " =1+1", "＝1+1", "\n=1+1"} {
		text := string(peopleCSV([]personDay{{Day: "2026-11-21", User: name}}))
		if !strings.Contains(text, "'"+name) {
			t.Errorf("%q: %s", name, text)
		}
	}
	if text := string(peopleCSV([]personDay{{User: "ann@example.org"}})); !strings.Contains(text, ",ann@example.org,") {
		t.Error(text)
	}
}
