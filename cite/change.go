package cite

// Changes between columns that differ only in when, or in which end.

// siblings pairs columns that differ only in when or which end: headcount_2023 and headcount_2024, min_salary and
// max_salary.
func (r *resolver) siblings(k int) *candidate {
	ops := r.operations(k)
	for _, row := range r.boundRows(k) {
		tab := &r.tables[row.table]
		for x := range tab.cols[:min(len(tab.cols), maxColumns)] {
			for y := range tab.cols[:min(len(tab.cols), maxColumns)] {
				if !r.before(tab, x, y) {
					continue
				}
				for _, op := range ops {
					if op.name == "ratio" {
						continue
					}
					if c := r.try(k, op, cellRef{
						row.table, row.col, y,
					}, cellRef{row.table, row.col, x}, 0.8); c != nil {
						return c
					}
				}
			}
		}
	}
	return nil
}

// before: x is the earlier or smaller of two columns of one name.
func (r *resolver) before(tab *table, x, y int) bool {
	if x == y || tab.cols[x].role != roleNumber || tab.cols[y].role != roleNumber {
		return false
	}
	if tab.order(x, y) < 0 {
		return true
	}
	xa, xb := columnEnd(tab.cols[x].words)
	ya, yb := columnEnd(tab.cols[y].words)
	return xa == 1 && ya == 2 && xb == yb
}

// columnEnd tells min_salary from max_salary; base is what is left of the name.
func columnEnd(name []string) (end int, base string) {
	for _, w := range name {
		switch {
		case minCues[w]:
			end = 1
		case maxCues[w]:
			end = 2
		default:
			base += w + " "
		}
	}
	return end, base
}

var (
	averagedVerbs = set("averaged averages averaging")
	wholeWords    = set("the all our these those")
	byVerbs       = set(
		"shrank shrunk grew grown fell fallen rose risen dropped declined decreased increased slipped climbed jumped")
	changeNames = set("change diff difference delta growth variance increase decrease gap")
)

// changedBy: "shrank by 7".
func (r *resolver) changedBy(n *numeral) bool {
	w, before := r.wordBefore(n)
	if n.word && before == "by" && partHedges[w] { // "by almost a quarter"
		i := n.from - 1
		for i >= 0 && r.prose.low(i) != "by" {
			i--
		}
		w, before = "by", r.prose.low(i-1)
	}
	return w == "by" && byVerbs[before]
}

func (r *resolver) changeColumn(t, ci int) bool {
	return hasAny(r.tables[t].cols[ci].words, changeNames) || r.signed(t, ci)
}
