package cite

// Lists: "A, B and C" and the numerals that belong to them in order.

// rowRange is the rows from one label to another: "between Monday and Thursday".
func rowRange(a, b *hit, rows []int32) []int32 {
	if a == nil || b == nil {
		return rows
	}
	var out []int32
	for i := a.rows[0]; i <= b.rows[0] && len(out) < maxHits; i++ {
		out = append(out, i)
	}
	if out == nil {
		return rows
	}
	return out
}

// pairing finds lists of labels ("A, B and C") and, where as many numerals stand in a list near them, which belongs to
// which.
func (r *resolver) pairing() {
	for s := range r.prose.sentences {
		ms := r.bySentence[s]
		var groups [][]*mention
		for i := 0; i < len(ms); {
			j := i + 1
			for j < len(ms) && sharesColumn(ms[i], ms[j]) && r.listed(ms[j-1].to, ms[j].from) {
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

func sharesColumn(a, b *mention) bool {
	for i := range a.hits {
		if b.hit(dim{a.hits[i].table, a.hits[i].col}) != nil {
			return true
		}
	}
	return false
}

// listed reports whether only commas and conjunctions stand between.
func (r *resolver) listed(from, to int) bool {
	if to <= from || to-from > 3 {
		return false
	}
	for i := from; i < to; i++ {
		t := r.prose.tokens[i]
		if !conjunctions[t.low] && t.low != "," && !articles[t.low] {
			return false
		}
	}
	return true
}

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
			if next >= sp.to || r.numeralAt[next] < 0 || !r.listedNumbers(end, next) {
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

// listedNumbers allows signs of currency between the members of a list.
func (r *resolver) listedNumbers(from, to int) bool {
	comma := false
	for i := from; i < to; i++ {
		t := r.prose.tokens[i]
		if conjunctions[t.low] || t.low == "," {
			comma = true
		} else if t.word || t.low == "(" || t.low == ")" || t.low == ";" {
			return false
		}
	}
	return comma
}

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
