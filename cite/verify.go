package cite

import (
	"fmt"
	"math/big"
	"slices"
	"strconv"
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/footnotehq/footnote"
)

// A Problem is a footnote that does not hold.
type Problem struct {
	Cite   footnote.Cite `json:"cite"`
	Reason string        `json:"reason"`
}

// Verify checks given footnotes again, without looking for better ones. It checks that the offsets are those of a
// numeral, that the cell exists or the formula can be evaluated, and that the value, rounded as in the text, equals the
// numeral. It ignores the words around the numeral, and accepts every formula "question", because it does not have the
// question.
//
// Formulas are cells r1[0].revenue, columns r1.revenue within sum, avg, min, max, count, count(distinct …),
// count(column > 5), sum over rows sum(r1[0,2].revenue), rank(cell), row(r1[0]), top(r1, 3), days(cell, cell), a
// comparison of a cell with a number, and + - * / between them.
func Verify(text string, cites []footnote.Cite, results []Table) []Problem {
	v := &verifier{prose: parse(clip(text)), tables: map[string]*table{}}
	found, _ := scanNumerals(v.prose)
	v.numerals = map[int]*numeral{}
	for i := range found {
		(&resolver{prose: v.prose}).headerUnits(&found[i])
		v.numerals[found[i].start] = &found[i]
	}
	for _, t := range results {
		tab := newTable(t)
		v.tables[t.ID] = &tab
	}
	var out []Problem
	for _, c := range cites {
		if reason := v.check(text, c); reason != "" {
			out = append(out, Problem{c, reason})
		}
	}
	return out
}

// verifier holds the numerals and results that footnotes are checked against.
type verifier struct {
	prose    *prose
	numerals map[int]*numeral
	tables   map[string]*table
}

// check returns why a footnote does not hold, or "" if it does.
func (v *verifier) check(text string, c footnote.Cite) string {
	if c.Start < 0 || c.End > len(text) || c.Start >= c.End || !utf8.RuneStart(text[c.Start]) ||
		text[c.Start:c.End] != c.Text {
		return "the offsets are not those of the text"
	}
	n := v.numerals[c.Start]
	if n == nil || n.end != c.End {
		n = v.parseAlone(c.Text)
	}
	reason := v.checkValue(n, c)
	if reason != "" && c.Marked && v.fitsMark(n, c) {
		return ""
	}
	return reason
}

// checkValue returns why the cell or formula of a footnote does not have the value of its numeral, or "" if it does.
func (v *verifier) checkValue(n *numeral, c footnote.Cite) string {
	switch {
	case c.Formula != "":
		return v.checkFormula(n, c)
	case c.Row == nil || c.Column == "":
		return "neither a cell nor a formula is named"
	}
	t := v.tables[c.Result]
	if t == nil {
		return fmt.Sprintf("there is no result %s", c.Result)
	}
	ci := t.column(c.Column)
	if ci < 0 {
		return fmt.Sprintf("%s has no column %s", c.Result, c.Column)
	}
	if *c.Row < 0 || *c.Row >= len(t.rows) {
		return fmt.Sprintf("%s has no row %d", c.Result, *c.Row)
	}
	return v.checkCell(n, c, t, ci)
}

// parseAlone reads the text of a footnote whose offsets are not those of a numeral in the text.
func (v *verifier) parseAlone(s string) *numeral {
	found, _ := scanNumerals(parse(clip(s)))
	if len(found) != 1 {
		return nil
	}
	return &found[0]
}

// column returns the index of the column with the given name, or -1.
func (t *table) column(name string) int {
	return slices.IndexFunc(t.cols, func(c column) bool { return c.name == name })
}

// checkCell returns why a cell does not have the value of a footnote, or "" if it does.
func (v *verifier) checkCell(n *numeral, c footnote.Cite, t *table, ci int) string {
	cell := t.rows[*c.Row][ci]
	if s, ok := cell.(string); ok && t.cols[ci].role != roleNumber {
		key := string(labelKey(nil, s))
		if text := string(labelKey(nil, c.Text)); text != "" && strings.Contains(key, text) {
			return ""
		}
		if d, ok := cellDate(cell); ok && n != nil &&
			(!n.date.isZero() && n.date.covers(d) || d.day > 0 && v.prose.ordinalDay(n).day == d.day) {
			return ""
		}
		return fmt.Sprintf("the cell is %q", s)
	}
	val, ok := cellRat(cell)
	if !ok {
		return "the cell is not a number"
	}
	if n != nil && n.wholeHour() >= 0 && val.Cmp(big.NewRat(n.wholeHour(), 1)) == 0 {
		return ""
	}
	if n == nil || len(n.readings) == 0 {
		return fmt.Sprintf("the cell is %s", ratText(val))
	}
	_, float := cell.(float64)
	if _, ok := n.fitsColumn(val, &t.cols[ci], float); !ok {
		n.percent = true // the header of a table may have the sign
		if _, ok := n.fitsColumn(val, &t.cols[ci], float); ok && v.tableCell(n) {
			return ""
		}
		return fmt.Sprintf("the cell is %s", ratText(val))
	}
	if n.sign < 0 && val.Sign() > 0 {
		return fmt.Sprintf("the cell is %s", ratText(val))
	}
	return ""
}

// tableCell reports whether a numeral is in a table.
func (v *verifier) tableCell(n *numeral) bool {
	return n.from < len(v.prose.tokens) && v.prose.blocks[v.prose.tokens[n.from].blck].kind == tableRow
}

// checkFormula returns why a formula does not give the value of a footnote, or "" if it does.
func (v *verifier) checkFormula(n *numeral, c footnote.Cite) string {
	switch {
	case c.Formula == "question":
		return ""
	case c.Formula == "sql filter":
		return v.checkSQL(n, c)
	case strings.HasPrefix(c.Formula, "column "):
		if !strings.Contains(c.Formula, c.Text) {
			return "the column's name does not contain the number"
		}
		return ""
	}
	e := &evaluator{tables: v.tables, in: c.Formula}
	val, err := e.run()
	if err != nil {
		return err.Error()
	}
	if n == nil || len(n.readings) == 0 {
		return fmt.Sprintf("the formula gives %s", ratText(val))
	}
	for _, f := range []*big.Rat{ratOne, ratHundred, pow10(3), pow10(6), pow10(9)} {
		percent := f == ratHundred
		if percent && !n.percent && !n.points && !v.tableCell(n) || !percent && f != ratOne && !n.scaled {
			continue
		}
		if _, ok := n.fits(new(big.Rat).Mul(val, f), true); ok {
			return ""
		}
	}
	for _, f := range v.conversions(n) {
		if _, ok := n.fits(new(big.Rat).Mul(val, f), true); ok {
			return ""
		}
	}
	if e.compared != nil {
		if _, ok := n.fits(e.compared, true); ok {
			return ""
		}
	}
	return fmt.Sprintf("the formula gives %s", ratText(val))
}

// conversions returns the factors that convert the units of the columns to that of the numeral.
func (v *verifier) conversions(n *numeral) []*big.Rat {
	var out []*big.Rat
	if n.subunit() {
		out = append(out, ratHundred)
	}
	for _, t := range v.tables {
		for ci := range t.cols {
			if f := n.rateConversion(t.cols[ci].unit); f != nil {
				out = append(out, f)
			}
			if s := t.cols[ci].scale; s > 0 {
				out = append(out, pow10(s))
			}
		}
	}
	return out
}

// checkSQL looks for the numeral among the literals of the statement.
func (v *verifier) checkSQL(n *numeral, c footnote.Cite) string {
	t := v.tables[c.Result]
	if t == nil {
		return fmt.Sprintf("there is no result %s", c.Result)
	}
	r := &resolver{tables: []table{*t}, prose: v.prose}
	r.collectEchoes("")
	for _, e := range r.echoes {
		if n != nil && (!n.date.isZero() && !e.date.isZero() && n.date.covers(e.date) ||
			e.val != nil && n.fitsExactly(e.val)) {
			return ""
		}
	}
	return "the SQL has no such literal"
}

// evaluator computes a formula by recursive descent. It limits the depth and length of a formula, and reads only the
// given tables.
type evaluator struct {
	tables   map[string]*table
	in       string
	at       int
	depth    int
	compared *big.Rat // the right side of a comparison
}

const (
	maxFormula = 4096
	maxDepth   = 20
)

// run returns the value of the whole formula, or an error if it cannot be read or a comparison is false.
func (e *evaluator) run() (*big.Rat, error) {
	if len(e.in) > maxFormula {
		return nil, fmt.Errorf("the formula is too long")
	}
	v, err := e.sum()
	if err != nil {
		return nil, err
	}
	if op := e.comparison(); op != "" {
		right, err := e.sum()
		if err != nil {
			return nil, err
		}
		if !holds(v.Cmp(right), op) {
			return nil, fmt.Errorf("%s does not hold: the cell is %s", e.in, ratText(v))
		}
		e.compared = right
	}
	if e.skip(); e.at < len(e.in) {
		return nil, fmt.Errorf("the formula cannot be read at %q", e.in[e.at:])
	}
	return v, nil
}

func (e *evaluator) skip() {
	for e.at < len(e.in) && e.in[e.at] == ' ' {
		e.at++
	}
}

// accept reads s, after any spaces, and reports whether it was there.
func (e *evaluator) accept(s string) bool {
	e.skip()
	if strings.HasPrefix(e.in[e.at:], s) {
		e.at += len(s)
		return true
	}
	return false
}

// oneOf reads the first of the operators that is there, and returns it, or "".
func (e *evaluator) oneOf(ops ...string) string {
	if i := slices.IndexFunc(ops, e.accept); i >= 0 {
		return ops[i]
	}
	return ""
}

func (e *evaluator) comparison() string { return e.oneOf(">=", "<=", ">", "<", "=") }

func (e *evaluator) sum() (*big.Rat, error) {
	v, err := e.product()
	for err == nil {
		op := e.oneOf("+", "-")
		if op == "" {
			return v, nil
		}
		var w *big.Rat
		if w, err = e.product(); err != nil {
			break
		}
		if op == "-" {
			w = new(big.Rat).Neg(w)
		}
		v = new(big.Rat).Add(v, w)
	}
	return nil, err
}

func (e *evaluator) product() (*big.Rat, error) {
	v, err := e.factor()
	for err == nil {
		op := e.oneOf("*", "/")
		if op == "" {
			return v, nil
		}
		var w *big.Rat
		if w, err = e.factor(); err != nil {
			break
		}
		if op == "/" {
			if w.Sign() == 0 {
				return nil, fmt.Errorf("the formula divides by zero")
			}
			w = new(big.Rat).Inv(w)
		}
		v = new(big.Rat).Mul(v, w)
	}
	return nil, err
}

func (e *evaluator) factor() (*big.Rat, error) {
	if e.depth++; e.depth > maxDepth*10 {
		return nil, fmt.Errorf("the formula is nested too deeply")
	}
	e.skip()
	if e.accept("(") {
		v, err := e.sum()
		if err == nil && !e.accept(")") {
			err = fmt.Errorf("a bracket is not closed in %s", e.in)
		}
		return v, err
	}
	if e.at < len(e.in) && (e.in[e.at] >= '0' && e.in[e.at] <= '9') {
		return e.number()
	}
	id := e.ident()
	if e.accept("(") {
		return e.call(id)
	}
	c, err := e.path(id)
	if err != nil {
		return nil, err
	}
	if len(c.rows) != 1 || c.col < 0 {
		return nil, fmt.Errorf("%s is not one cell", id)
	}
	v, ok := cellRat(c.table.rows[c.rows[0]][c.col])
	if !ok {
		return nil, fmt.Errorf("a cell of %s is not a number", id)
	}
	return v, nil
}

func (e *evaluator) number() (*big.Rat, error) {
	e.skip()
	start := e.at
	for e.at < len(e.in) &&
		(e.in[e.at] >= '0' && e.in[e.at] <= '9' || e.in[e.at] == '.' || e.at == start && e.in[e.at] == '-') {
		e.at++
	}
	v, ok := parseRat(e.in[start:e.at])
	if !ok {
		return nil, fmt.Errorf("the formula cannot be read at %q", e.in[start:])
	}
	return v, nil
}

func (e *evaluator) ident() string {
	e.skip()
	start := e.at
	for e.at < len(e.in) {
		r, size := utf8.DecodeRuneInString(e.in[e.at:])
		if r != '_' && !unicode.IsLetter(r) && !unicode.IsDigit(r) {
			break
		}
		e.at += size
	}
	return e.in[start:e.at]
}

// path is a reference to a part of a result: r1, r1.col, r1[0], r1[0,2].col.
type path struct {
	table *table
	rows  []int // nil for all rows
	col   int   // -1 for no column
}

func (e *evaluator) path(id string) (path, error) {
	p := path{table: e.tables[id], col: -1}
	if p.table == nil {
		return p, fmt.Errorf("there is no result %q", id)
	}
	if e.accept("[") {
		for {
			v, err := e.number()
			if err != nil {
				return p, err
			}
			if !v.IsInt() || !v.Num().IsInt64() || v.Num().Int64() < 0 || v.Num().Int64() >= int64(len(p.table.rows)) {
				return p, fmt.Errorf("%s has no row %s", id, ratText(v))
			}
			p.rows = append(p.rows, int(v.Num().Int64()))
			if e.accept("]") {
				break
			}
			if !e.accept(",") {
				return p, fmt.Errorf("a bracket is not closed in %s", e.in)
			}
		}
	}
	if !e.accept(".") {
		return p, nil
	}
	name := ""
	if e.at < len(e.in) && e.in[e.at] == '"' {
		q, err := strconv.QuotedPrefix(e.in[e.at:])
		if err != nil {
			return p, fmt.Errorf("a name is not closed in %s", e.in)
		}
		e.at += len(q)
		name, _ = strconv.Unquote(q) // QuotedPrefix has checked it
	} else {
		name = e.ident()
	}
	if p.col = p.table.column(name); p.col < 0 {
		return p, fmt.Errorf("%s has no column %s", id, name)
	}
	return p, nil
}

func (e *evaluator) call(name string) (*big.Rat, error) {
	distinct := name == "count" && e.accept("distinct ")
	p, err := e.path(e.ident())
	if err != nil {
		return nil, err
	}
	var v *big.Rat
	switch name {
	case "count":
		v, err = e.evalCount(p, distinct)
	case "sum", "avg", "min", "max":
		v, err = reduce(name, p)
	case "rank":
		v, err = e.evalRank(p)
	case "row":
		if len(p.rows) != 1 {
			return nil, fmt.Errorf("row needs one row")
		}
		v = big.NewRat(int64(p.rows[0]+1), 1)
	case "top":
		if !e.accept(",") {
			return nil, fmt.Errorf("top needs a number")
		}
		if v, err = e.number(); err == nil && v.Cmp(big.NewRat(int64(len(p.table.rows)), 1)) > 0 {
			err = fmt.Errorf("the result has only %d rows", len(p.table.rows))
		}
	case "days":
		v, err = e.evalDays(p)
	default:
		err = fmt.Errorf("there is no function %q", name)
	}
	if err == nil && !e.accept(")") {
		err = fmt.Errorf("a bracket is not closed in %s", e.in)
	}
	return v, err
}

// cells returns the rows of a path.
func (p path) cells() [][]any {
	if p.rows == nil {
		return p.table.rows
	}
	var out [][]any
	for _, i := range p.rows {
		out = append(out, p.table.rows[i])
	}
	return out
}

// reduce computes sum, avg, min or max over the cells of a column.
func reduce(name string, p path) (*big.Rat, error) {
	if p.col < 0 {
		return nil, fmt.Errorf("%s needs a column", name)
	}
	if p.rows == nil && !p.table.whole {
		return nil, fmt.Errorf("the result is not complete, so %s cannot be known", name)
	}
	t := newTotal()
	for _, row := range p.cells() {
		t.add(row[p.col])
	}
	if t.n == 0 {
		return nil, fmt.Errorf("the column has no numbers")
	}
	switch name {
	case "sum":
		return t.sum(), nil
	case "avg":
		return t.avg(), nil
	case "min":
		return t.min, nil
	}
	return t.max, nil
}

// evalCount computes count(r1), count(distinct r1.col) or count(r1.col op value).
func (e *evaluator) evalCount(p path, distinct bool) (*big.Rat, error) {
	if !p.table.whole {
		return nil, fmt.Errorf("the result is not complete, so its rows cannot be counted")
	}
	if p.col < 0 {
		return big.NewRat(int64(p.table.rowCount), 1), nil
	}
	if distinct {
		return big.NewRat(int64(p.table.cols[p.col].distinct), 1), nil
	}
	op := e.comparison()
	if op == "" {
		return nil, fmt.Errorf("count needs a condition")
	}
	var keep func(row []any) bool
	switch {
	case e.accept("true"):
		keep = func(row []any) bool { b, ok := row[p.col].(bool); return ok && b }
	case strings.HasPrefix(strings.TrimLeft(e.in[e.at:], " "), `"`):
		e.skip()
		q, err := strconv.QuotedPrefix(e.in[e.at:])
		if err != nil {
			return nil, fmt.Errorf("a text is not closed in %s", e.in)
		}
		e.at += len(q)
		want, _ := strconv.Unquote(q) // QuotedPrefix has checked it
		keep = func(row []any) bool { s, ok := row[p.col].(string); return ok && s == want }
	case e.atName():
		q, err := e.path(e.ident())
		if err != nil {
			return nil, err
		}
		if q.table != p.table || q.col < 0 || q.rows != nil {
			return nil, fmt.Errorf("count compares two columns of one result")
		}
		keep = func(row []any) bool {
			x, ok1 := cellRat(row[p.col])
			y, ok2 := cellRat(row[q.col])
			return ok1 && ok2 && holds(x.Cmp(y), op)
		}
	default:
		limit, err := e.number()
		if err != nil {
			return nil, err
		}
		e.compared = limit
		keep = func(row []any) bool { x, ok := cellRat(row[p.col]); return ok && holds(x.Cmp(limit), op) }
	}
	n := 0
	for _, row := range p.table.rows {
		if keep(row) {
			n++
		}
	}
	return big.NewRat(int64(n), 1), nil
}

// atName reports whether a name follows.
func (e *evaluator) atName() bool {
	e.skip()
	c, _ := utf8.DecodeRuneInString(e.in[e.at:])
	return unicode.IsLetter(c)
}

// evalRank returns the 1-based rank of a cell in its column, the largest first unless the formula says "ascending".
func (e *evaluator) evalRank(p path) (*big.Rat, error) {
	if len(p.rows) != 1 || p.col < 0 {
		return nil, fmt.Errorf("rank needs one cell")
	}
	descending := !e.accept(", ascending")
	r := &resolver{tables: []table{*p.table}, work: maxCells}
	return big.NewRat(int64(r.rankBy(0, p.rows[0], p.col, descending)), 1), nil
}

// evalDays returns the days from the date cell p to the date cell that follows.
func (e *evaluator) evalDays(p path) (*big.Rat, error) {
	if !e.accept(",") {
		return nil, fmt.Errorf("days needs two dates")
	}
	q, err := e.path(e.ident())
	if err != nil {
		return nil, err
	}
	var at [2]int64
	for i, c := range []path{p, q} {
		if len(c.rows) != 1 || c.col < 0 {
			return nil, fmt.Errorf("days needs two dates")
		}
		d, ok := cellDate(c.table.rows[c.rows[0]][c.col])
		t, whole := d.time()
		if !ok || !whole {
			return nil, fmt.Errorf("days needs two dates")
		}
		at[i] = t.Unix() / 86400
	}
	return big.NewRat(at[1]-at[0], 1), nil
}
