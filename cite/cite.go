// Package cite finds footnotes for the numbers of an answer in the results behind it. Every number gets the cell that
// it repeats or the formula that computes it from cells, or is listed as unresolved with a reason.
//
// It prefers no footnote to a wrong one. The words around a number decide its row: in "Berlin sold 1,204" it accepts
// only the row of Berlin, and a 1,204 in the row of Hamburg does not resolve the number. It tries formulas only over
// named cells and whole columns, and only if words such as "more than", "share" or "in total" suggest one, or if a
// match by chance is unlikely.
//
// In this package a numeral is a number, ordinal or date as written in a text.
//
// All functions are pure: no I/O, no state, safe for concurrent use, and limited in work for any text.
package cite

import (
	"slices"
	"sort"
	"strings"

	"github.com/footnotehq/footnote"
)

// Table is one result of the conversation.
type Table = footnote.Table

// minConfidence is the lowest confidence of a footnote.
const minConfidence = 0.4

// Resolve finds the evidence for each numeral of text. The results must be ordered oldest first; Resolve prefers newer
// ones. Numerals that only repeat the user's question get the formula "question", and those that repeat a literal of
// the SQL get "sql filter".
//
// Both lists are in text order, and no two entries overlap. Neither contains numbers in code, list markers or parts of
// words. A row may be shorter than the list of columns; missing cells are null.
func Resolve(text string, results []Table, question string) ([]footnote.Cite, []footnote.Unresolved) {
	r := newResolver(text, results, question)
	cites := []footnote.Cite{}
	var open []footnote.Unresolved
	r.direct()
	if len(r.tables) > 0 {
		r.derived()
		r.resolveParallels()
		r.rejectContradictedDates()
		r.rejectSelfComparisons()
	}
	for i := range r.numerals {
		n := &r.numerals[i]
		if c := r.found[i]; c != nil && c.conf >= minConfidence {
			cites = append(cites, r.footnote(n, c))
			continue
		}
		if n.quiet && r.reasons[i] == "" && !(r.namesRow(i) && n.kind == number && n.percent) {
			continue
		}
		open = append(open, footnote.Unresolved{
			Start: n.start, End: n.end, Text: text[n.start:n.end], Reason: r.reason(i),
		})
	}
	open = append(open, r.beyondLimit(text)...)
	return cites, open
}

func (r *resolver) footnote(n *numeral, c *candidate) footnote.Cite {
	out := footnote.Cite{
		Start: n.start, End: n.end, Text: r.prose.text[n.start:n.end],
		Formula: c.formula, Value: c.value, Confidence: c.conf,
	}
	if c.table >= 0 {
		out.Result = r.tables[c.table].id
	}
	if c.formula == "" {
		row := c.row
		out.Row = &row
		out.Column = r.tables[c.table].cols[c.col].name
	}
	return out
}

// beyondLimit lists the numerals of a text that is too long as unresolved, without analysing them.
func (r *resolver) beyondLimit(text string) []footnote.Unresolved {
	var out []footnote.Unresolved
	from := len(r.prose.text)
	if r.tooMany {
		from = r.numerals[len(r.numerals)-1].end
	}
	for i := from; i < len(text) && len(out) < maxNumerals; {
		k := digitRun(text[i:])
		if k == 0 {
			i++
			continue
		}
		out = append(out, footnote.Unresolved{
			Start: i, End: i + k, Text: text[i : i+k], Reason: "the answer is too long to check",
		})
		i += k
	}
	return out
}

// role is the use of a column.
type role uint8

const (
	roleNone role = iota
	roleNumber
	roleText
	roleDate
	roleBool
)

type column struct {
	name     string
	words    []string // of the name
	role     role
	key      bool // whole numbers that identify rows: ids, years
	unique   bool // no two cells are equal
	percent  bool // the name says that the cells are percentages or ratios
	integer  bool
	hundred  bool // fractional cells between 0 and 100, which can be percentages
	scale    int  // power of ten that the name says: 3 for keur
	unit     unit // in the name
	age      int  // time in the name: see columnAge
	base     string
	total    *total
	distinct int
}

// maxNumbered is the maximum number of rows whose row numbers a text can refer to, as in "line 4".
const maxNumbered = 500

// integerID reports whether the numbers of a column are ids, not years or months.
func (c *column) integerID() bool { return hasAny(c.words, idNames) }

type table struct {
	id       string
	sql      string
	rows     [][]any
	cols     []column
	whole    bool // rows holds all rows of the query
	rowCount int
	ordered  bool
}

// resolver holds the state of resolving one answer.
type resolver struct {
	prose    *prose
	tables   []table
	numerals []numeral
	tooMany  bool

	numeralAt     []int // token → numeral, or -1
	dates         []textDate
	mentions      []*mention
	bySentence    [][]*mention
	colBySentence [][]*columnMention
	columnWords   map[string]bool // words of column names
	rootHeads     map[string]bool // first four bytes of the roots of column words
	group         map[*mention][]*mention
	paired        map[int]*mention
	echoes        []echo
	hits          [][]cellHit
	ranges        [][][2]float64 // absolute values that each numeral can mean
	bindings      [][]binding
	columnsOf     []columnBinding

	found    []*candidate
	reasons  []string
	conflict []*candidate // a cell with the value, but in a row that the text does not name
	work     int
}

// candidate is a possible footnote.
type candidate struct {
	table, row, col int // table is -1 for the question; row, col for cells
	formula         string
	value           string
	conf            float64
	rows            []int32 // rows that the formula uses
	over            []int   // the two columns, if the formula is a ratio within a row
	measure         *column // for an amount: the column whose unit and scale it has
}

func newResolver(text string, results []Table, question string) *resolver {
	r := &resolver{prose: parse(clip(text)), work: maxCells, columnWords: map[string]bool{},
		rootHeads: map[string]bool{},
		group:     map[*mention][]*mention{}, paired: map[int]*mention{}}
	r.numerals, r.tooMany = scanNumerals(r.prose)
	if len(r.numerals) == 0 {
		return r // nothing to resolve
	}
	for _, t := range results {
		r.tables = append(r.tables, newTable(t))
	}
	for i := range r.tables {
		for _, c := range r.tables[i].cols {
			for _, w := range c.words {
				r.columnWords[w] = true
			}
		}
	}
	r.numeralAt = make([]int, len(r.prose.tokens))
	for i := range r.numeralAt {
		r.numeralAt[i] = -1
	}
	for k, n := range r.numerals {
		for i := n.from; i < n.to; i++ {
			r.numeralAt[i] = k
		}
	}
	r.bySentence = make([][]*mention, len(r.prose.sentences))
	r.found = make([]*candidate, len(r.numerals))
	r.reasons = make([]string, len(r.numerals))
	r.conflict = make([]*candidate, len(r.numerals))
	r.collectDates()
	r.labels()
	r.columns()
	r.pairing()
	r.collectEchoes(question)
	for i := range r.numerals {
		r.headerUnits(&r.numerals[i])
	}
	r.findValues()
	for i := range r.numerals {
		n := &r.numerals[i]
		r.bindings = append(r.bindings, r.bind(n))
		r.columnsOf = append(r.columnsOf, r.bindColumn(n))
	}
	return r
}

// spend consumes part of the work limit and reports whether any is left.
func (r *resolver) spend(n int) bool {
	r.work -= n
	return r.work > 0
}

func newTable(t Table) table {
	out := table{id: t.ID, sql: t.SQL, rowCount: t.RowCount, ordered: hasWord(t.SQL, "order")}
	if t.RowCount == 0 {
		out.rowCount = len(t.Result.Rows)
	}
	out.whole = !t.Result.Truncated && out.rowCount == len(t.Result.Rows)
	out.rows = t.Result.Rows
	ragged := false
	for _, row := range out.rows {
		ragged = ragged || len(row) < len(t.Result.Columns)
	}
	if ragged { // pad a copy, because the rows belong to the caller
		out.rows = make([][]any, len(t.Result.Rows))
		for i, row := range t.Result.Rows {
			out.rows[i] = append(append([]any{}, row...), make([]any, max(0, len(t.Result.Columns)-len(row)))...)
		}
	}
	copied := ragged
	for ci, c := range t.Result.Columns {
		col := newColumn(c, ci, out.rows)
		if col.role == roleText {
			if cells, percent, ok := localNumbers(ci, out.rows); ok {
				if !copied {
					copied = true
					out.rows = slices.Clone(out.rows)
					for i, row := range out.rows {
						out.rows[i] = slices.Clone(row)
					}
				}
				for i := range out.rows {
					out.rows[i][ci] = cells[i]
				}
				col = newColumn(footnote.Column{Name: c.Name, Kind: footnote.KindDecimal}, ci, out.rows)
				col.percent = col.percent || percent
			}
		}
		out.cols = append(out.cols, col)
	}
	return out
}

// hasWord reports whether a statement, in lower case, contains a word.
func hasWord(sql, w string) bool {
	sql = clip(sql)
	start := -1
	for i, c := range sql {
		switch {
		case isWord(c) || c == '_':
			if start < 0 {
				start = i
			}
		case start >= 0:
			if strings.EqualFold(sql[start:i], w) {
				return true
			}
			start = -1
		}
	}
	return start >= 0 && strings.EqualFold(sql[start:], w)
}

var idNames = set("id no nr number code zip key sku plz")

var keyNames = set("id year no nr number code zip key jahr ano week month quarter hour sku plz")

func newColumn(c footnote.Column, ci int, rows [][]any) column {
	out := column{name: c.Name, role: roleOf(c.Kind)}
	if out.role == roleNone {
		out.role = guessRole(ci, rows)
	}
	words := nameWords(c.Name)
	out.words, out.unit = words, columnUnit(c.Name)
	out.age, out.base = columnAge(words)
	out.percent = strings.Contains(c.Name, "%")
	soft := false
	for i, w := range words {
		out.percent = out.percent || percentNames[w]
		soft = soft || ratioNames[w]
		out.key = out.key || keyNames[w] && (len(words) == 1 || i == len(words)-1 && idNames[w])
		switch w {
		case "musd", "meur", "mio", "million", "mgbp", "mm":
			out.scale = 6
		case "kusd", "keur", "teur", "tsd", "thousand", "k":
			out.scale = 3
		case "bn", "billion", "mrd":
			out.scale = 9
		}
	}
	switch out.role {
	case roleText, roleDate:
		seen := map[string]bool{}
		for _, row := range rows {
			if s, ok := row[ci].(string); ok && len(seen) < 10000 {
				seen[s] = true
			}
		}
		out.distinct = len(seen)
		out.unique = out.distinct == len(rows)
	case roleNumber:
		out.integer = true
		out.unique = len(rows) <= maxNumbered
		seen := map[float64]bool{}
		for i, row := range rows {
			if i == 1000 {
				break
			}
			f, ok := cellFloat(row[ci])
			if ok && f != float64(int64(f)) {
				out.integer = false
				break
			}
			if out.unique {
				out.unique = ok && !seen[f]
				seen[f] = true
			}
		}
		out.unique = out.unique && out.integer
		out.hundred = !out.integer && out.scale == 0 && out.unit.factor == nil && within100(ci, rows)
		out.percent = out.percent || soft && !out.integer
	}
	return out
}

// within100 reports whether all numbers of a column are between 0 and 100.
func within100(ci int, rows [][]any) bool {
	for _, row := range rows {
		if f, ok := cellFloat(row[ci]); ok && (f < 0 || f > 100) {
			return false
		}
	}
	return true
}

func roleOf(kind string) role {
	switch kind {
	case footnote.KindInteger, footnote.KindNumber, footnote.KindDecimal:
		return roleNumber
	case footnote.KindText:
		return roleText
	case footnote.KindDate, footnote.KindTimestamp, footnote.KindTime:
		return roleDate
	case footnote.KindBoolean:
		return roleBool
	}
	return roleNone
}

// guessRole derives the role of a column of unknown kind from its first cells.
func guessRole(ci int, rows [][]any) role {
	for i, row := range rows {
		if i == 100 {
			break
		}
		switch v := row[ci].(type) {
		case int64, float64:
			return roleNumber
		case bool:
			return roleBool
		case string:
			if _, ok := parseISODay(v); ok {
				return roleDate
			}
			if _, ok := parseRat(v); ok {
				return roleNumber
			}
			return roleText
		}
	}
	return roleText
}

// totalOf returns the sum of a column, computed once.
func (r *resolver) totalOf(t, c int) *total {
	col := &r.tables[t].cols[c]
	if col.total == nil {
		sum := newTotal()
		for _, row := range r.tables[t].rows {
			if !r.spend(4) {
				return newTotal()
			}
			sum.add(row[c])
		}
		col.total = sum
	}
	return col.total
}

// cellHit is a cell whose value matches a numeral.
type cellHit struct{ table, row, col int }

// maxHits is the maximum number of matching cells kept for one numeral.
const maxHits = 200

// findValues finds the cells that match each number, in one pass over all numeric cells. It sorts the intervals of the
// numbers rather than the cells.
func (r *resolver) findValues() {
	type interval struct {
		lo, hi float64
		k      int
	}
	var ivs []interval
	r.hits = make([][]cellHit, len(r.numerals))
	r.ranges = make([][][2]float64, len(r.numerals))
	if len(r.tables) == 0 {
		return
	}
	for k := range r.numerals {
		r.ranges[k] = r.numerals[k].intervals(r.conversions(&r.numerals[k]))
		for _, iv := range r.ranges[k] {
			ivs = append(ivs, interval{iv[0], iv[1], k})
		}
	}
	sort.Slice(ivs, func(i, j int) bool { return ivs[i].lo < ivs[j].lo })
	reach := make([]float64, len(ivs))
	for i, iv := range ivs {
		reach[i] = iv.hi
		if i > 0 {
			reach[i] = max(iv.hi, reach[i-1])
		}
	}
	for t := len(r.tables) - 1; t >= 0; t-- {
		for ci := range r.tables[t].cols {
			if r.tables[t].cols[ci].role != roleNumber {
				continue
			}
			for ri, row := range r.tables[t].rows {
				f, ok := cellFloat(row[ci])
				if !ok {
					continue
				}
				if f < 0 {
					f = -f
				}
				i := sort.Search(len(ivs), func(i int) bool { return ivs[i].lo > f }) - 1
				if !r.spend(1) {
					return
				}
				for ; i >= 0 && reach[i] >= f; i-- {
					if k := ivs[i].k; ivs[i].hi >= f && len(r.hits[k]) < maxHits && r.spend(1) {
						r.addHit(k, cellHit{t, ri, ci})
					}
				}
			}
		}
	}
}

// addHit records a cell that matches numeral k, unless it is the cell recorded last.
func (r *resolver) addHit(k int, h cellHit) {
	hs := r.hits[k]
	if len(hs) > 0 && hs[len(hs)-1] == h {
		return
	}
	if _, ok := r.matchCell(&r.numerals[k], h); ok {
		r.hits[k] = append(hs, h)
	}
}
