package cite

import "testing"

// TestSieves holds that no word of a set is taken for one that is in none.
func TestSieves(t *testing.T) {
	for w := range cardinals {
		if !numberWords.mayHold(w) {
			t.Errorf("%q can begin a numeral", w)
		}
	}
	for _, w := range []string{"zwölf", "third", "doubled", "halves", "märz", "twelfth", "dez"} {
		if !numberWords.mayHold(w) {
			t.Errorf("%q can begin a numeral", w)
		}
	}
	for w := range clauseWords {
		if !mayClause.mayHold(w) {
			t.Errorf("%q begins a clause", w)
		}
	}
	for _, set := range []map[string]bool{commaStyle, dotStyle} {
		for w := range set {
			if !mayStyle.mayHold(w) {
				t.Errorf("%q tells how numbers are written", w)
			}
		}
	}
	for _, w := range []string{"", "a", "revenue", "customers", "already"} {
		if numberWords.mayHold(w) {
			t.Errorf("%q cannot begin a numeral", w)
		}
	}
}
