package cite

import "slices"

// This file matches lists of labels ("A, B and C") with lists of numerals.

// pairing finds lists of labels ("A, B and C"). If a list of as many numerals is near, it assigns the numerals to the
// labels in order.
func (r *resolver) pairing() {
	for s := range r.prose.sentences {
		ms := r.bySentence[s]
		var groups [][]*mention
		for i := 0; i < len(ms); {
			j := i + 1
			for j < len(ms) && sharesColumn(ms[i], ms[j]) && listed(ms[j-1].to, ms[j].from) {
				j++
			}
			if j-i > 1 {
				groups = append(groups, ms[i:j])
				for _, m := range ms[i:j] {
					r.group[m] = ms[i:j]
				}
			}
			i = j
		}
		if len(groups) > 0 {
			r.pairSentence(s, ms, groups)
		}
	}
}

// sharesColumn reports whether two mentions name rows by the same column.
func sharesColumn(a, b *mention) bool {
	return slices.ContainsFunc(a.hits, func(h hit) bool { return b.hit(dim{h.table, h.col}) != nil })
}

// listed reports whether at most three tokens separate two labels, as commas and conjunctions do.
func listed(from, to int) bool { return to > from && to-from <= 3 }

// pairSentence finds the lists of numerals in a sentence and pairs them with its lists of labels.
func (r *resolver) pairSentence(s int, ms []*mention, groups [][]*mention) {
	sp := r.prose.sentences[s]
	for from := sp.from; from < sp.to; from++ {
		if r.numeralAt[from] < 0 {
			continue
		}
		list := []int{from}
		end := r.numerals[r.numeralAt[from]].to
		for end < sp.to && len(list) < 50 {
			next := end
			for next < sp.to && next < end+4 && r.numeralAt[next] < 0 {
				next++
			}
			if next >= sp.to || r.numeralAt[next] < 0 {
				break
			}
			list = append(list, next)
			end = r.numerals[r.numeralAt[next]].to
		}
		if len(list) > 1 {
			r.pairList(list, end, groups)
		}
		from = max(from, end-1)
	}
}

// pairList pairs a list of numerals, which ends at token end, with a list of labels of the same length.
func (r *resolver) pairList(list []int, end int, groups [][]*mention) {
	for _, g := range groups {
		if len(g) != len(list) {
			continue
		}
		first, last := g[0], g[len(g)-1]
		if last.to <= list[0] || first.from >= end {
			for k, tok := range list {
				if r.paired[tok] == nil {
					r.paired[tok] = g[k]
				}
			}
		}
	}
}
