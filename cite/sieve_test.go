package cite

import "testing"

// TestSieves checks that a sieve never excludes a word of its sets.
func TestSieves(t *testing.T) {
	for w := range cardinals {
		if !numberWords.mayContain(w) {
			t.Errorf("numberWords.mayContain(%q) = false, want true", w)
		}
	}
	for _, w := range []string{"zwölf", "third", "doubled", "halves", "märz", "twelfth", "dez"} {
		if !numberWords.mayContain(w) {
			t.Errorf("numberWords.mayContain(%q) = false, want true", w)
		}
	}
	for w := range clauseWords {
		if !mayClause.mayContain(w) {
			t.Errorf("mayClause.mayContain(%q) = false, want true", w)
		}
	}
	for _, w := range []string{"", "a", "revenue", "customers", "already"} {
		if numberWords.mayContain(w) {
			t.Errorf("numberWords.mayContain(%q) = true, want false", w)
		}
	}
}
