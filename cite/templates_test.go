package cite_test

import (
	"fmt"
	"math"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/footnotehq/footnote"
	"github.com/footnotehq/footnote/cite"
)

// This file makes answers from questions with fixed templates, and wrong figures for them. The templates were fixed
// before the first measurement.

var (
	askedFor   = regexp.MustCompile(`(?i)^(?:what|how much)(?: (is|was|are|were)|('s)) (.+)$`)
	respective = regexp.MustCompile(`,? respectively$`)
)

// write appends text to the answer.
func (tr *transcript) write(text string) { tr.text += text }

// figure appends a figure to the answer.
func (tr *transcript) figure(text string, gold truth, wrong []plant) {
	at := len(tr.text)
	tr.write(text)
	tr.marks = append(tr.marks, mark{start: at, end: len(tr.text), gold: &gold, wrong: wrong})
}

// statement splits the answer to a question into the words before its figures and those behind them:
//
//	What was X?      X was 12.
//	What were X and Y, respectively?   X and Y were 12 and 13, respectively.
//	How many X?      How many X? The answer is 12.
//	total X          Total X: 12.
func statement(question string) (before, after string) {
	question = strings.TrimSpace(question)
	asked, isQuestion := strings.CutSuffix(question, "?")
	asked = strings.TrimSpace(asked)
	m := askedFor.FindStringSubmatch(asked)
	switch {
	case m != nil:
		verb := m[1]
		if verb == "" {
			verb = "is"
		}
		what := respective.ReplaceAllString(m[3], "")
		return capital(what) + " " + strings.ToLower(verb) + " ", m[3][len(what):] + "."
	case isQuestion:
		return capital(asked) + "? The answer is ", "."
	}
	return capital(question) + ": ", "."
}

func capital(s string) string { return strings.ToUpper(s[:1]) + s[1:] }

// style is how a figure is written.
type style struct {
	before, after string // such as $ and %
	decimals      int
}

// figure writes a number with grouped thousands.
func (s style) figure(x float64) string {
	text := strconv.FormatFloat(math.Abs(x), 'f', s.decimals, 64)
	whole, fraction, _ := strings.Cut(text, ".")
	for i := len(whole) - 3; i > 0; i -= 3 {
		whole = whole[:i] + "," + whole[i:]
	}
	if s.decimals > 0 {
		whole += "." + fraction
	}
	if x < 0 {
		return "-" + s.before + whole + s.after
	}
	return s.before + whole + s.after
}

// amount returns the number in a cell, or NaN if it has none.
func amount(cell any) float64 {
	if _, isText := cell.(string); isText {
		return math.NaN()
	}
	return toFloat(cell)
}

// formula is a figure that is computed from cells.
type formula struct {
	cells [][2]int // row and column
	value func(cells [][2]int) float64
	style style
}

// plants returns the wrong figures for a formula, each with one change: a digit, another row or another column. If all
// cells of the formula are in one row, all move to the next one that gives another figure. Otherwise only the last one
// moves, to a cell that the formula does not use. The same goes for columns.
func (f formula) plants(t cite.Table) []plant {
	text := f.style.figure(f.value(f.cells))
	wrong := []plant{{changeDigit(text), "digit"}}
	for axis, class := range []string{"row", "col"} {
		size := []int{len(t.Result.Rows), len(t.Result.Columns)}[axis]
		moving := f.cells
		if slices.ContainsFunc(f.cells, func(c [2]int) bool { return c[axis] != f.cells[0][axis] }) {
			moving = f.cells[len(f.cells)-1:]
		}
		for step := 1; step < size; step++ {
			cells := slices.Clone(f.cells)
			for i := len(cells) - len(moving); i < len(cells); i++ {
				cells[i][axis] = (cells[i][axis] + step) % size
			}
			if slices.Contains(f.cells, cells[len(cells)-1]) {
				continue
			}
			x := f.value(cells)
			moved := f.style.figure(x)
			if !math.IsNaN(x) && !math.IsInf(x, 0) && strings.Trim(moved, "-") != strings.Trim(text, "-") {
				wrong = append(wrong, plant{moved, class})
				break
			}
		}
	}
	return wrong
}

// changeDigit adds 3 to the middle digit of a figure.
func changeDigit(text string) string {
	var digits []int
	for i := range len(text) {
		if text[i] >= '0' && text[i] <= '9' {
			digits = append(digits, i)
		}
	}
	at := digits[len(digits)/2]
	digit := (text[at]-'0'+3)%10 + '0'
	if len(digits)/2 == 0 && digit == '0' {
		digit = '5'
	}
	return text[:at] + string(digit) + text[at+1:]
}

var reference = regexp.MustCompile(`r1(?:\[([\d,]+)\])?\.("(?:[^"\\]|\\.)*"|[\pL_][\pL_\d]*)`)

// isFormulaOver reports whether a footnote is a formula over the cells of a truth and has its value, whatever its sign
// and whether or not it is in percent.
func (tr *transcript) isFormulaOver(want truth, c footnote.Cite) bool {
	v, _ := strconv.ParseFloat(c.Value, 64)
	v, x := math.Abs(v), math.Abs(want.value)
	near := func(a, b float64) bool { return math.Abs(a-b) <= 1e-6*max(1, b) }
	if c.Row != nil || !near(v, x) && !near(v*100, x) {
		return false
	}
	res := tr.results[0].Result
	used := map[[2]int]bool{}
	for _, m := range reference.FindAllStringSubmatch(c.Formula, -1) {
		name := m[2]
		if unquoted, err := strconv.Unquote(name); err == nil {
			name = unquoted
		}
		col := slices.IndexFunc(res.Columns, func(x footnote.Column) bool { return x.Name == name })
		for row := range res.Rows {
			listed := m[1] == "" || slices.Contains(strings.Split(m[1], ","), fmt.Sprint(row))
			if listed && res.Rows[row][col] != nil {
				used[[2]int{row, col}] = true
			}
		}
	}
	for _, cell := range want.cells {
		if !used[cell] {
			return false
		}
		delete(used, cell)
	}
	return len(used) == 0
}

// checkScore fails if a score is worse than the limits, in percent.
func checkScore(t *testing.T, s score, minRight, maxFlagged, minNoticed float64) {
	t.Helper()
	planted, noticed := s.planted()
	if s.numerals == 0 || percent(s.verdicts[right], s.numerals) < minRight ||
		percent(s.verdicts[flagged], s.numerals) > maxFlagged || percent(noticed, planted) < minNoticed {
		t.Errorf("want at least %v %% right, at most %v %% flagged, and at least %v %% of the wrong ones flagged",
			minRight, maxFlagged, minNoticed)
	}
}

// scoreTable lists the scores of several groups of answers, and their total. Its last column only counts the wrong
// figures that replace one with the right footnote: where everything is flagged, so are the wrong ones.
func scoreTable(groups []string, answers map[string][]*transcript) (string, score) {
	var b strings.Builder
	total := score{plants: map[string][2]int{}}
	line := func(name string, s score) {
		fmt.Fprintf(&b, "%-20s %7d", name, s.numerals)
		for _, v := range []verdict{right, otherwise, flagged, silent} {
			fmt.Fprintf(&b, " %7.1f %%", percent(s.verdicts[v], s.numerals))
		}
		for _, class := range []string{"digit", "row", "col"} {
			n := s.plants[class]
			fmt.Fprintf(&b, " %13s", fmt.Sprintf("%d of %d", n[1], n[0]))
		}
		planted, caught := s.planted()
		fmt.Fprintf(&b, " %7.1f %% %13s\n", percent(caught, planted),
			fmt.Sprintf("%d of %d", s.ofRight[1], s.ofRight[0]))
	}
	fmt.Fprintf(&b, "%-20s %7s %9s %9s %9s %9s | flagged: %5s %13s %13s %9s %13s\n", "", "figures", "right", "another",
		"flagged", "not seen", "digit", "row", "column", "together", "where right")
	for _, g := range groups {
		s := scoreAll(answers[g], nil)
		line(g, s)
		total.add(s)
	}
	line("together", total)
	return b.String(), total
}
