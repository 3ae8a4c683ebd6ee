package cite

import (
	"fmt"
	"math/big"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"github.com/footnotehq/footnote"
	"github.com/footnotehq/footnote/internal/mark"
)

// Marks counts the marks of an answer.
type Marks struct {
	Held   int // those that were verified
	Broken int // those that contradict their figure, or name no cell
}

// ResolveMarked does the same as Resolve for a text whose author has marked cells and formulas behind figures. Offsets
// of marks are those in the text, and their blocks do not matter. A mark decides for its figure: if its value is the
// figure's, it is the footnote; if it is another, the figure is unresolved. A mark that names no cell is ignored.
func ResolveMarked(text string, results []Table, question string,
	marks []footnote.Mark) ([]footnote.Cite, []footnote.Unresolved, Marks) {
	cites, open := Resolve(text, results, question)
	if len(marks) == 0 {
		return cites, open, Marks{}
	}
	m := newMarked(text, results)
	for _, one := range marks {
		m.apply(one)
	}
	for k, c := range m.held {
		cites = slices.DeleteFunc(cites, func(o footnote.Cite) bool { return o.Start < c.End && c.Start < o.End })
		open = slices.DeleteFunc(open, func(o footnote.Unresolved) bool { return o.Start < c.End && c.Start < o.End })
		cites = append(cites, c)
		delete(m.broken, k)
	}
	for _, u := range m.broken {
		cites = slices.DeleteFunc(cites, func(o footnote.Cite) bool { return o.Start < u.End && u.Start < o.End })
		open = slices.DeleteFunc(open, func(o footnote.Unresolved) bool { return o.Start < u.End && u.Start < o.End })
		open = append(open, u)
	}
	slices.SortFunc(cites, func(a, b footnote.Cite) int { return a.Start - b.Start })
	slices.SortFunc(open, func(a, b footnote.Unresolved) int { return a.Start - b.Start })
	return cites, open, m.count
}

// marked holds the state of applying marks to the numerals of a text.
type marked struct {
	r      *resolver
	v      *verifier
	index  map[*table]int
	held   map[int]footnote.Cite // by numeral
	broken map[int]footnote.Unresolved
	count  Marks
}

func newMarked(text string, results []Table) *marked {
	m := &marked{
		r: newResolver(text, results, ""), index: map[*table]int{},
		held: map[int]footnote.Cite{}, broken: map[int]footnote.Unresolved{},
	}
	m.v = &verifier{prose: m.r.prose, numerals: map[int]*numeral{}, tables: map[string]*table{}}
	for i := range m.r.numerals {
		m.v.numerals[m.r.numerals[i].start] = &m.r.numerals[i]
	}
	for i := range m.r.tables {
		m.v.tables[m.r.tables[i].id] = &m.r.tables[i]
		m.index[&m.r.tables[i]] = i
	}
	return m
}

func (m *marked) apply(one footnote.Mark) {
	text := m.r.prose.text
	if one.At > len(text) {
		return // beyond what is checked
	}
	parts, ok := mark.Parse(one.Text)
	if !ok {
		m.count.Broken++
		return
	}
	k := m.figureBefore(one.At)
	if k < 0 {
		return // the mark of a name
	}
	n := &m.r.numerals[k]
	c := footnote.Cite{
		Start: n.start, End: n.end, Text: text[n.start:n.end], Marked: true, Confidence: 1,
	}
	reason := m.target(&c, n, parts)
	if m.namesText(c, one.At) {
		return
	}
	if reason == "" {
		reason = m.v.check(text, c)
	}
	if reason == "" {
		reason = m.otherRow(k, c)
	}
	switch {
	case reason == "":
		m.count.Held++
		m.held[k] = c
	case c.Formula == "" && c.Row == nil:
		m.count.Broken++ // it names no cell
	default:
		m.count.Broken++
		m.broken[k] = footnote.Unresolved{
			Start: n.start, End: n.end, Text: c.Text, Reason: fmt.Sprintf("the text says %s, but %s", c.Text, reason),
		}
	}
}

// fitsMark reports whether a numeral can mean the value of a mark. The mark names the cell, so a percentage may stand
// for a cell in percent, and 14.112 for a cell of 14112, without any other hint.
func (v *verifier) fitsMark(n *numeral, c footnote.Cite) bool {
	value, ok := v.value(c)
	if !ok || n == nil {
		return false
	}
	if n.percent {
		amount := *n
		amount.percent = false
		if _, fits := amount.fits(value, true); fits {
			return true
		}
	}
	if !grouped.MatchString(c.Text) {
		return false
	}
	digits, ok := parseRat(strings.NewReplacer(".", "", ",", "").Replace(digitsOf.FindString(c.Text)))
	return ok && digits.Cmp(new(big.Rat).Abs(value)) == 0
}

// value returns the value of the cell or formula of a footnote.
func (v *verifier) value(c footnote.Cite) (*big.Rat, bool) {
	if c.Formula != "" {
		value, err := (&evaluator{tables: v.tables, in: c.Formula}).run()
		return value, err == nil
	}
	t := v.tables[c.Result]
	if t == nil || c.Row == nil || *c.Row < 0 || *c.Row >= len(t.rows) || t.column(c.Column) < 0 {
		return nil, false
	}
	return cellRat(t.rows[*c.Row][t.column(c.Column)])
}

var (
	digitsOf = regexp.MustCompile(`[0-9][0-9.,]*`)
	grouped  = regexp.MustCompile(`^[^0-9]*[0-9]{1,3}([.,][0-9]{3})+[^0-9.,]*$`)
)

// maxGap limits the bytes between a figure and its mark: a unit, or signs of Markdown.
const maxGap = 32

// figureBefore returns the numeral that a mark at an offset is about, or -1.
func (m *marked) figureBefore(at int) int {
	k, _ := slices.BinarySearchFunc(m.r.numerals, at, func(n numeral, at int) int { return n.start - at })
	if k--; k < 0 {
		return -1
	}
	gap := m.r.prose.text[min(at, m.r.numerals[k].end):at] // "5[^r1.0.n] times" is one numeral
	if len(gap) > maxGap || strings.ContainsAny(gap, "\n|;:0123456789") ||
		strings.Count(strings.TrimSpace(gap), " ") > 1 {
		return -1
	}
	return k
}

// namesText reports whether a mark names a cell of text that ends where the mark is: it is about a name.
func (m *marked) namesText(c footnote.Cite, at int) bool {
	t := m.v.tables[c.Result]
	if t == nil || c.Row == nil || c.Column == "" {
		return false
	}
	cell, ok := t.rows[*c.Row][t.column(c.Column)].(string)
	return ok && cell != c.Text && strings.HasSuffix(strings.TrimRight(m.r.prose.text[:at], "*_\"'”’) "), cell)
}

// target fills in the cell or formula that a mark names. It returns a reason if there is none.
func (m *marked) target(c *footnote.Cite, n *numeral, parts []mark.Part) string {
	var formula []string
	for _, p := range parts {
		if p.Ref == nil {
			formula = append(formula, p.Text)
			continue
		}
		t := m.v.tables[p.Ref.Result]
		if t == nil {
			return fmt.Sprintf("there is no result %s", p.Ref.Result)
		}
		rows, reason := markedRows(t, p.Ref)
		if reason != "" {
			return reason
		}
		if len(parts) == 1 && p.Ref.Function == "" && len(rows) == 1 {
			return m.cell(c, n, t, rows[0], p.Ref.Column)
		}
		if p.Ref.Column != "" && t.column(p.Ref.Column) < 0 {
			return fmt.Sprintf("%s has no column %s", t.id, p.Ref.Column)
		}
		formula = append(formula, written(p.Ref, rows))
	}
	text := strings.Join(formula, " ")
	v, err := (&evaluator{tables: m.v.tables, in: text}).run()
	if err != nil {
		return err.Error()
	}
	c.Formula, c.Value = text, ratText(v)
	return ""
}

// markedRows returns the rows that a reference names; nil for all.
func markedRows(t *table, ref *mark.Ref) (rows []int, reason string) {
	if ref.Key != "" {
		key := keyColumn(t)
		if key < 0 {
			return nil, fmt.Sprintf("the rows of %s have no names", t.id)
		}
		i := slices.IndexFunc(t.rows, func(row []any) bool { return row[key] == ref.Key })
		if i < 0 {
			return nil, fmt.Sprintf("%s has no row %s", t.id, ref.Key)
		}
		return []int{i}, ""
	}
	for _, row := range ref.Rows {
		if row >= len(t.rows) {
			return nil, fmt.Sprintf("%s has no row %d", t.id, row)
		}
	}
	return ref.Rows, ""
}

func keyColumn(t *table) int { return mark.KeyColumn(len(t.cols), t.rows) }

// cell makes a cell the target. Without a name, it is the column that fits the numeral.
func (m *marked) cell(c *footnote.Cite, n *numeral, t *table, row int, column string) string {
	c.Result, c.Row, c.Column = t.id, &row, column
	if column == "" {
		for ci, col := range t.cols {
			if m.v.checkCell(n, *c, t, ci) == "" {
				c.Column = col.name
				break
			}
		}
		if c.Column == "" {
			return fmt.Sprintf("row %d of %s has no such value", row, t.id)
		}
	}
	ci := t.column(c.Column)
	if ci < 0 {
		c.Row = nil
		return fmt.Sprintf("%s has no column %s", t.id, column)
	}
	c.Value = m.r.cell(m.index[t], row, ci, 1).value
	return ""
}

// written returns a reference as it is in formulas.
func written(ref *mark.Ref, rows []int) string {
	var b strings.Builder
	if ref.Function != "" {
		b.WriteString(ref.Function + "(")
	}
	b.WriteString(ref.Result)
	for i, row := range rows {
		b.WriteString([]string{"[", ","}[min(i, 1)] + strconv.Itoa(row))
	}
	if len(rows) > 0 {
		b.WriteByte(']')
	}
	if ref.Column != "" {
		b.WriteString("." + quoteName(ref.Column))
	}
	if ref.Function != "" {
		b.WriteByte(')')
	}
	return b.String()
}

// otherRow returns a reason if the sentence names the row of another cell for the numeral, and not that of c.
func (m *marked) otherRow(k int, c footnote.Cite) string {
	if c.Row == nil {
		return ""
	}
	for _, b := range m.r.bindings[k] {
		t := &m.r.tables[b.table]
		if t.id != c.Result || b.strength != inSentence || len(b.rows) == 0 || slices.Contains(b.rows, int32(*c.Row)) {
			continue
		}
		if slices.ContainsFunc(m.r.labelsNear(&m.r.numerals[k]), func(l *mention) bool {
			return slices.ContainsFunc(l.hits, func(h hit) bool {
				return h.table == b.table && slices.Contains(h.rows, int32(*c.Row))
			})
		}) {
			continue // the sentence names both
		}
		return fmt.Sprintf("it is in the row of %s, not %s", m.r.rowName(b.table, *c.Row),
			m.r.rowName(b.table, int(b.rows[0])))
	}
	return ""
}
