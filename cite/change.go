package cite

// This file finds changes between columns whose names differ only in their time or in which end of a range they hold.

// pairSiblings pairs columns whose names differ only in their time or end: headcount_2023 and headcount_2024,
// min_salary and max_salary.
func (r *resolver) pairSiblings(k int) *candidate {
	ops := r.operations(k)
	for _, row := range r.boundRows(k) {
		tab := &r.tables[row.table]
		for x := range tab.cols[:min(len(tab.cols), maxColumns)] {
			for y := range tab.cols[:min(len(tab.cols), maxColumns)] {
				if tab.compareAge(x, y) >= 0 {
					continue
				}
				for _, op := range ops {
					if c := r.tryPair(k, op, cellRef{
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

// isChangedBy reports whether the number is a change without a sign: "shrank by 7".
func (r *resolver) isChangedBy(n *numeral) bool {
	w, _ := r.wordBefore(n)
	return w == "by"
}
