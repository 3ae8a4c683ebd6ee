package cite

import "github.com/footnotehq/footnote"

// Choice is a number with what it can mean.
type Choice struct {
	Start, End int
	Cites      []footnote.Cite
	Features   [][]uint16
}

const Features = int(kinds)*int(facts_) + int(classes)*int(signals)

// Choices returns the candidates of each number under the given weights.
func Choices(text string, results []Table, question string, w *[Features]float32) []Choice {
	r := newResolver(text, results, question)
	var table weightTable
	at := 0
	for k := range table.facts {
		at += copy(table.facts[k][:], w[at:])
	}
	for c := range table.signals {
		at += copy(table.signals[c][:], w[at:])
	}
	r.weights = &table
	r.direct()
	if len(r.tables) == 0 || len(r.numerals) == 0 {
		return nil
	}
	r.score()
	var out []Choice
	for k, cs := range r.choices {
		c := Choice{Start: r.numerals[k].start, End: r.numerals[k].end}
		for _, x := range cs {
			c.Cites = append(c.Cites, r.footnote(&r.numerals[k], x))
			var fs []uint16
			for _, f := range r.choiceFacts[k] {
				fs = append(fs, uint16(int(x.kind)*int(facts_)+int(f)))
			}
			for _, s := range x.signals {
				fs = append(fs, uint16(int(kinds)*int(facts_)+int(classOf[x.kind])*int(signals)+int(s)))
			}
			c.Features = append(c.Features, fs)
		}
		if len(cs) > 0 {
			out = append(out, c)
		}
	}
	return out
}
