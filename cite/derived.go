package cite

import (
	"math/big"
	"slices"
	"strings"
)

// Formulas are tried over what the sentence is about only: the cells already found in it, the rows it names, whole
// columns. They need words that ask for them, and have less confidence the further their cells are fetched.

const (
	maxActive  = 12 // rows of a sentence that are paired
	maxColumns = 12 // columns of a row that are paired
)

// cellRef is a cell that a formula can use.
type cellRef struct{ table, row, col int }

// derived resolves what direct left open.
func (r *resolver) derived() {
	for k := range r.numerals {
		n := &r.numerals[k]
		if n.kind != number || n.huge || n.prefix != "" || len(n.readings) == 0 {
			continue
		}
		r.better(k, r.ofBefore(k))
		if c := r.found[k]; c != nil && c.conf >= 0.6 {
			continue
		}
		if n.percent && r.prose.low(n.to) == "of" && ofAllWords[r.prose.low(n.to+1)] {
			r.better(k, r.shareOf(k))
		}
		if c := r.found[k]; c != nil && c.conf >= 0.6 {
			continue
		}
		r.better(k, r.shareBeside(k))
		if c := r.found[k]; c != nil && c.conf >= 0.6 {
			continue
		}
		r.better(k, r.ofBeside(k))
		r.better(k, r.ofCounted(k))
		if c := r.found[k]; c != nil && c.conf >= 0.6 {
			continue
		}
		if c, only := r.ofSum(k); only {
			r.better(k, c)
			continue
		}
		if c, only := r.ofNext(k); only {
			r.better(k, c)
			continue
		}
		if c, only := r.ofWhich(k); only {
			r.better(k, c)
			continue
		}
		if c, only := r.fromToChange(k); only {
			r.better(k, c)
			continue
		}
		for _, try := range []func(int) *candidate{
			r.lone, r.conditional, r.aggregate, r.groupSum, r.again, r.siblings, r.complement, r.pairwise, r.told,
			r.remainder, r.ofWhole, r.shareOf, r.ratioOf, r.ofTotals, r.across, r.daysOf, r.threshold, r.freely,
			r.loose,
		} {
			if r.work <= 0 {
				return
			}
			r.better(k, try(k))
			if r.found[k] != nil && r.found[k].conf >= 0.6 {
				break
			}
		}
	}
}

var ofAllWords = set("them all everyone everybody everything")

// fitsValue checks a computed value.
func (n *numeral) fitsValue(v *big.Rat) (float64, bool) {
	if v == nil {
		return 0, false
	}
	if n.percent || n.points {
		v = new(big.Rat).Mul(v, ratHundred)
	}
	return n.fits(v, true)
}

// numericColumns lists columns to try: those the text binds, else all.
func (r *resolver) numericColumns(k, t int) (cols []int, bound bool) {
	for _, c := range r.columnsOf[k].cols {
		if c.table == t && r.tables[t].cols[c.col].role == roleNumber {
			cols = append(cols, c.col)
		}
	}
	if len(cols) > 0 && r.columnsOf[k].strong {
		return cols, true
	}
	for ci, c := range r.tables[t].cols {
		if c.role == roleNumber && !c.key && len(cols) < maxColumns {
			cols = append(cols, ci)
		}
	}
	return cols, false
}

// strictly: the sentence itself says which rows the numeral is about.
func (r *resolver) strictly(k int) bool {
	for _, b := range r.bindings[k] {
		if b.strength >= inherited {
			return true
		}
	}
	return false
}

// boundAlone: a single row is said in the numeral's own clause.
func (r *resolver) boundAlone(k int) bool {
	n := &r.numerals[k]
	for _, b := range r.bindings[k] {
		if b.strength == said && len(b.by) > 0 && r.prose.tokens[b.by[0].from].clause == r.prose.tokens[n.from].clause {
			return true
		}
		if b.strength == inherited {
			return true
		}
	}
	return false
}

// strictlyBefore: a row is named before the numeral in its clause, so that it is a value of that row and not a number
// of rows.
func (r *resolver) strictlyBefore(k int) bool {
	n := &r.numerals[k]
	for _, b := range r.bindings[k] {
		if b.strength == said && len(b.rows) == 1 && len(b.by) > 0 && b.by[0].to <= n.from &&
			r.prose.tokens[b.by[0].from].clause == r.prose.tokens[n.from].clause {
			return true
		}
	}
	return false
}

func (r *resolver) signed(t, ci int) bool {
	tot := r.totalOf(t, ci)
	return tot.n > 0 && tot.minF < 0 && tot.maxF > 0
}

func (r *resolver) namesColumn(n *numeral, t, ci int) bool {
	for _, m := range r.nearColumns(n) {
		for _, c := range m.cols {
			if c == (colRef{t, ci}) {
				return true
			}
		}
	}
	return false
}

// columnsNear are the numeric columns a sentence names, or all.
func (r *resolver) columnsNear(n *numeral, t int) []int {
	var cols []int
	for _, m := range r.nearColumns(n) {
		for _, c := range m.cols {
			if c.table == t && !slices.Contains(cols, c.col) && r.tables[t].cols[c.col].role == roleNumber {
				cols = append(cols, c.col)
			}
		}
	}
	if len(cols) > 0 {
		return cols
	}
	for ci, c := range r.tables[t].cols {
		if c.role == roleNumber && !c.key && len(cols) < maxColumns {
			cols = append(cols, ci)
		}
	}
	return cols
}

// operation is what the words around a numeral ask two cells to be put through.
type operation struct {
	name string
	eval func(a, b *big.Rat) *big.Rat
	text string // with two %s
}

var (
	growthOp = operation{"growth", func(a, b *big.Rat) *big.Rat {
		if b.Sign() == 0 {
			return nil
		}
		q := new(big.Rat).Quo(a, b)
		return q.Sub(q, ratOne)
	}, "%s / %s - 1"}
	ratioOp = operation{"ratio", func(a, b *big.Rat) *big.Rat {
		if b.Sign() == 0 {
			return nil
		}
		return new(big.Rat).Quo(a, b)
	}, "%s / %s"}
	diffOp = operation{"diff", func(a, b *big.Rat) *big.Rat { return new(big.Rat).Sub(a, b) }, "%s - %s"}
)

// operations says which apply to a numeral, given its form and the words near it.
func (r *resolver) operations(k int) []operation {
	n := &r.numerals[k]
	changed := n.sign > 0 || n.sign < 0 && (n.percent || n.points || r.says(n, diffCues)) || r.leaves(n)
	if n.percent || n.points || n.times {
		changed = changed || r.says(n, diffCues)
	} else {
		changed = changed || r.differs(n)
	}
	if n.percent && r.besideDifference(k) {
		return []operation{growthOp} // "180 more (15 %)"
	}
	switch {
	case n.points:
		return []operation{diffOp}
	case n.percent:
		if changed && r.prose.low(n.to) != "of" {
			if r.isChange(n) {
				return []operation{growthOp}
			}
			return []operation{growthOp, ratioOp}
		}
		return []operation{ratioOp}
	case n.times:
		return []operation{ratioOp}
	case changed:
		return []operation{diffOp}
	}
	return nil
}

// differs: a word of difference speaks of this number and no other: before it in its clause, or right after it.
func (r *resolver) differs(n *numeral) bool {
	p := r.prose
	for i := n.from - 1; i >= max(0, n.from-window) && p.tokens[i].clause == p.tokens[n.from].clause &&
		r.numeralAt[i] < 0 && p.low(i) != "than"; i-- {
		if diffCues[p.low(i)] && !r.named(i) && !(p.low(i) == "by" && r.passive(i)) {
			return true
		}
	}
	if w := p.low(n.from - 1); diffCues[w] && !(w == "by" && r.passive(n.from-1)) {
		return true
	}
	from := n.to
	if p.low(from) == "(" {
		from = r.behindWhole(n)
	}
	for i := from; i < from+6 && i < len(p.tokens) && !conjunctions[p.low(i)] &&
		(p.tokens[i].word || p.low(i) == "€" || p.low(i) == "$") && r.numeralAt[i] < 0; i++ {
		if diffCues[p.low(i)] && !r.named(i) {
			return true
		}
	}
	return false
}

// besideDifference: "180 hours more (15 %)", "190 MWh or 5.5 % less".
func (r *resolver) besideDifference(k int) bool {
	w := r.prose.low(r.numerals[k].from - 1)
	return k > 0 && r.found[k-1] != nil && strings.Contains(r.found[k-1].formula, " - ") &&
		!strings.HasPrefix(r.found[k-1].formula, "1") && (w == "(" || w == "or" || w == ",")
}

// passive: the "by" of "named by 74 people" says who, not how much.
func (r *resolver) passive(i int) bool {
	w := r.prose.low(i - 1)
	return strings.HasSuffix(w, "ed") && !diffCues[w] && !changeVerbs[w]
}

// leaves: "leaves 70 GB free", "12 seats remaining".
func (r *resolver) leaves(n *numeral) bool {
	if leftCues[r.prose.low(n.from-1)] {
		return true
	}
	for i := n.to; i < n.to+3 && i < len(r.prose.tokens) && r.prose.tokens[i].word; i++ {
		if leftCues[r.prose.low(i)] {
			return true
		}
	}
	return false
}

func (r *resolver) refOf(c cellRef) string {
	return r.ref(c.table, c.row, r.tables[c.table].cols[c.col].name)
}

func rowsOf(x, y cellRef) []int32 {
	if x.row == y.row {
		return []int32{int32(x.row)}
	}
	return []int32{int32(min(x.row, y.row)), int32(max(x.row, y.row))}
}

// numbersOf are the numeric columns of a table that has few of them.
func (r *resolver) numbersOf(t int) []int {
	var out []int
	for ci, c := range r.tables[t].cols {
		if c.role == roleNumber && !c.key {
			out = append(out, ci)
		}
	}
	if len(out) > 4 {
		return nil
	}
	return out
}

// amounts are the numeric columns of a table that are no keys, within bounds.
func (r *resolver) amounts(t int) []int {
	var out []int
	for ci, c := range r.tables[t].cols {
		if c.role == roleNumber && !c.key && len(out) < maxColumns {
			out = append(out, ci)
		}
	}
	return out
}

// boundRows are the rows a numeral is bound to, and the only rows of results that have just one.
func (r *resolver) boundRows(k int) []dim {
	var out []dim
	for _, b := range r.bindings[k] {
		if len(b.rows) == 1 {
			out = append(out, dim{b.table, int(b.rows[0])})
		}
	}
	for t := len(r.tables) - 1; t >= 0; t-- {
		if len(r.tables[t].rows) == 1 && !r.ofOther(&r.numerals[k], t) {
			out = append(out, dim{t, 0})
		}
	}
	return out
}
