package tidy

import (
	"bytes"
	"context"
	"fmt"
	"math"
	"regexp"
	"slices"
	"strings"
)

// tailRows limits the rows at the end that may turn out not to be data.
const tailRows = 6

// tail holds back the last rows of a file.
type tail struct {
	rows   []held
	remark string // the first remark left out
	total  string // what is unusual about the totals row, or why a row that looks like one was kept
}

type held struct {
	row
	number int64
}

// push holds a row back. Once the tail is full, push returns the oldest row, which is valid until the next push.
func (t *tail) push(number int64, fields [][]byte, blanks int) (old row, ok bool) {
	var slot held
	if len(t.rows) > tailRows { // reuse the slot of the row that was returned last
		slot = t.rows[0]
		copy(t.rows, t.rows[1:])
		t.rows = t.rows[:len(t.rows)-1]
	}
	slot.number = number
	slot.fill(fields, blanks)
	t.rows = append(t.rows, slot)
	if len(t.rows) > tailRows {
		return t.rows[0].row, true
	}
	return row{}, false
}

// last returns the rows still held back.
func (t *tail) last() []held {
	if len(t.rows) > tailRows {
		return t.rows[1:]
	}
	return t.rows
}

var totalLabel = regexp.MustCompile(
	`(?i)^(grand |sub|overall ` +
		`)?(total|totals|sum|summe|gesamt|gesamtsumme|gesamtergebnis|insgesamt|zwischensumme|total général|total ` +
		`general|totale|totaal|somme|suma)( (general|général|gesamt|amount|sum|all|overall|eur|usd))?\s*[:.]?$`)

var subtotalLabel = regexp.MustCompile(
	`(?i)^((sub-?total|zwischensumme|teilsumme|sous-total|subtotaal)\b|.{1,60}\s(sub-?total|zwischensumme)\s*:?$)`)

// isSubtotal reports whether a row is labelled as a subtotal, wherever in a file it is: its first text is such a
// label, and a number follows.
func isSubtotal(cells [][]byte) bool {
	labelled := false
	for _, cell := range cells {
		cell = trim(cell)
		if len(cell) == 0 {
			continue
		}
		if !labelled {
			if len(cell) > 100 || !subtotalWord(cell) || !subtotalLabel.Match(cell) {
				return false
			}
			labelled = true
			continue
		}
		if isNumber(cell) {
			return true
		}
	}
	return false
}

// subtotalWord is a fast check: most rows contain no word for a sum.
func subtotalWord(cell []byte) bool {
	low := string(bytes.ToLower(cell))
	return strings.Contains(low, "total") || strings.Contains(low, "summe") || strings.Contains(low, "totaal")
}

// isTotalLabel reports whether the first text of a row is the label of a total.
func isTotalLabel(r row) bool {
	cells := r.nonEmpty()
	return len(cells) >= 2 && totalLabel.Match(cells[0])
}

// isBare reports whether a row contains only numbers and its first cell is empty: some programs write totals
// without a label.
func isBare(r row) bool {
	cells := r.nonEmpty()
	if len(r.cells) < 2 || len(trim(r.cells[0])) > 0 {
		return false
	}
	return !slices.ContainsFunc(cells, func(cell []byte) bool { return !isNumber(cell) })
}

// isRemarkRow reports whether a row at the end is a remark: a single text in the first cell, preceded by a blank
// line or beginning with a word typical of remarks.
func isRemarkRow(r row, width int, afterTotal bool) bool {
	n, last := r.filled()
	if n != 1 || last != 1 || width < 2 || typedCell(r.nonEmpty()[0]) {
		return false
	}
	return r.blanks > 0 && width > 2 || afterTotal || remarkWord.Match(r.nonEmpty()[0])
}

var remarkWord = regexp.MustCompile(
	`(?i)^(source|quelle|note|notes|remark|hinweis|anmerkung|generated|erstellt|exported|created|printed|report|page ` +
		`\d|\*|©|end of (report|file)|\d+ rows)\b?.*[ :]`)

// settle classifies the rows held back and records those that are data.
func (t *Table) settle(ctx context.Context, s *survey, limits Limits) error {
	rows := s.tail.last()
	total := -1 // the last row that is labelled as a total or looks like one, if only remarks follow it
	for i := len(rows) - 1; i > 0; i-- {
		if isTotalLabel(rows[i].row) || isBare(rows[i].row) {
			total = i
			break
		}
		if !isRemarkRow(rows[i].row, t.head.width, true) {
			break
		}
	}
	data := rows
	if total > 0 {
		found, err := t.compareTotal(ctx, s, rows[:total], rows[total].row, limits)
		if err != nil {
			return err
		}
		label := clip(rows[total].nonEmpty()[0])
		switch {
		case found.isTotal():
			t.omit[rows[total].number] = isTotal
			for _, r := range rows[total+1:] {
				t.skipRow(s, r)
			}
			data = rows[:total]
			if found.different > 0 || found.same == 0 {
				s.tail.total = fmt.Sprintf(
					"the row %q is called a total, though not all of its numbers are the sums of their columns", label)
			}
		case !found.bare:
			s.tail.total = fmt.Sprintf("the row %q is called a total, but its numbers are not the sums of the "+
				"columns: it was kept as data", label)
		}
	}
	if len(data) == len(rows) {
		for len(data) > 1 && isRemarkRow(data[len(data)-1].row, t.head.width, false) {
			t.skipRow(s, data[len(data)-1])
			data = data[:len(data)-1]
		}
	}
	return observeAll(s, data, t.head.width, limits)
}

func (t *Table) skipRow(s *survey, r held) {
	t.omit[r.number] = isRemark
	s.tail.remark = clip(r.nonEmpty()[0])
}

func observeAll(s *survey, rows []held, width int, limits Limits) error {
	for _, r := range rows {
		if err := s.observe(r.cells, width, limits); err != nil {
			return err
		}
	}
	return nil
}

// compared is the result of comparing a supposed totals row with the column sums.
type compared struct {
	same       int  // how many of its numbers are the sums of their columns
	different  int  // how many are neither sums nor means
	labelApart bool // its label is in a column of numbers or dates
	bare       bool // it has no label
}

// isTotal reports whether the row is a total. With a label, one matching sum is enough: others may be rounded, or
// leave out values that the file marks as missing.
func (c compared) isTotal() bool {
	if c.bare {
		return c.same > 0 && c.different == 0
	}
	return c.same > 0 || c.labelApart
}

// compareTotal compares the numbers of a row with the sums of the columns above it, or with their means where a sum
// is meaningless. It reads the file again, because the sums depend on types that the last rows may change.
func (t *Table) compareTotal(ctx context.Context, s *survey, above []held, total row, limits Limits) (compared, error) {
	trial := &survey{}
	for _, c := range s.columns {
		k := *c
		trial.columns = append(trial.columns, &k)
	}
	if err := observeAll(trial, above, t.head.width, limits); err != nil {
		return compared{}, err
	}
	preferred := prefer(trial.columns, t.format.delim)
	columns := make([]Column, len(trial.columns))
	for i := range columns {
		columns[i] = Column{cells: trial.columns[i]}
		columns[i].decide(preferred)
	}
	first := above[len(above)-1].number + 1
	sums := make([]columnSum, len(columns))
	err := t.records(ctx, func(number int64, fields [][]byte, _ int) error {
		if number < int64(t.head.skip) || number >= first || t.omit[number] != 0 {
			return nil
		}
		for i := range columns[:min(len(columns), len(fields))] {
			sums[i].add(&columns[i], fields[i])
		}
		return nil
	})
	if err != nil {
		return compared{}, err
	}
	found := agree(columns, sums, total)
	if found.bare && columns[0].cells.count < 3 {
		found.same = 0 // the first column is often empty, or there are too few rows for a matching sum to mean anything
	}
	return found, nil
}

// columnSum adds up the numbers of a column.
type columnSum struct {
	sum float64
	n   int64
}

func (s *columnSum) add(c *Column, cell []byte) {
	n, ok := parseNumber(trim(cell))
	if !ok || n.modes&c.mode == 0 {
		return
	}
	if v, err := n.float(c.mode); err == nil {
		s.sum += v
		s.n++
	}
}

// agree compares a row labelled as a total with the sums, cell by cell. It ignores cells that are not numbers,
// except the label.
func agree(columns []Column, sums []columnSum, total row) compared {
	found := compared{bare: isBare(total)}
	labelled := found.bare
	for i, cell := range total.cells[:min(len(total.cells), len(columns))] {
		cell = trim(cell)
		if classifyEmpty(cell) != filled {
			continue
		}
		c := &columns[i]
		if !labelled { // this is the label
			labelled = true
			found.labelApart = c.Type != Text && c.Type != Boolean && c.cells.count > 1
			continue
		}
		n, ok := parseNumber(cell)
		if !ok {
			continue
		}
		switch {
		case !c.adds() || sums[i].n == 0 || n.modes&c.mode == 0:
			found.different++
		case sums[i].isSum(n, c):
			found.same++
		case !sums[i].isMean(n, c):
			found.different++
		}
	}
	return found
}

// adds reports whether the column contains numbers.
func (c *Column) adds() bool {
	return c.Type == Integer || c.Type == Huge || c.Type == Decimal || c.Type == Double
}

// isSum reports whether a number equals the sum to the precision in which it is written.
func (s *columnSum) isSum(n number, c *Column) bool {
	v, err := n.float(c.mode)
	if err != nil {
		return false
	}
	decimals := n.frac[modeIndex(c.mode)]
	slack := 1e-9 * max(math.Abs(v), 1) // for rounding errors of floating point
	if c.Type == Double || decimals < c.Scale {
		slack += halfUnit(decimals)
	}
	return math.Abs(s.sum-v) <= slack
}

func (s *columnSum) isMean(n number, c *Column) bool {
	v, err := n.float(c.mode)
	return err == nil && math.Abs(s.sum/float64(s.n)-v) <= halfUnit(n.frac[modeIndex(c.mode)])
}

// halfUnit returns half a unit of the last decimal written, plus a small margin.
func halfUnit(decimals int) float64 { return 0.5000001 * math.Pow10(-decimals) }
