package cite

import "testing"

func TestGloss(t *testing.T) {
	for _, c := range []struct{ text, word, want string }{
		{"Die Leuchten wuchsen um 12,6 % auf 1,45 Mio. und sind vorn.", "wuchsen", "grew"},
		{"Die Leuchten wuchsen um 12,6 % auf 1,45 Mio. und sind vorn.", "um", "by"},
		{"Der Umsatz stieg von 3,1 auf 3,4 Mio. und die Kosten nicht.", "von", "from"},
		{"Der Umsatz von 3,4 Mio. und die Kosten der Gruppe.", "von", "of"},
		{"Os pedidos caíram de 4,5 para 3,2 milhões.", "de", "from"},
		{"The Rio de Janeiro branch sold 3.4 million of the total.", "de", "de"},
	} {
		p := parse(c.text)
		found := false
		for i := range p.tokens {
			if p.ownWord(i) == c.word {
				found = true
				if p.low(i) != c.want {
					t.Errorf("%q: %s is translated as %q, want %q", c.text, c.word, p.low(i), c.want)
				}
				break
			}
		}
		if !found {
			t.Errorf("%q has no %q", c.text, c.word)
		}
	}
}
