package tidy

import (
	"bytes"
	"fmt"
	"math"
	"slices"
	"strings"
	"unicode/utf8"
)

const headRows = 200 // number of records that decide the separator and the header

// row is a copy of a record.
type row struct {
	cells  [][]byte
	blanks int    // number of blank lines before it
	buf    []byte // the bytes of all cells
}

// fill makes r a copy of a record. It reuses the memory of an earlier copy.
func (r *row) fill(fields [][]byte, blanks int) {
	r.cells, r.blanks, r.buf = r.cells[:0], blanks, r.buf[:0]
	for _, f := range fields {
		r.buf = append(r.buf, f...)
	}
	rest := r.buf
	for _, f := range fields {
		r.cells = append(r.cells, rest[:len(f):len(f)])
		rest = rest[len(f):]
	}
}

// filled returns the number of non-empty cells, and the width up to the last of them.
func (r row) filled() (n, width int) {
	for i, c := range r.cells {
		if len(trim(c)) > 0 {
			n++
			width = i + 1
		}
	}
	return n, width
}

// detectSeparator returns the field separator of a sample of the file that ends with a whole line. It picks the
// candidate for which most lines have the same number of fields and whose fields do not contain the other
// candidates.
func detectSeparator(sample []byte, mac bool) byte {
	var best byte
	bestScore := 0.0
	for _, delim := range []byte{',', ';', '\t', '|'} {
		if score := separatorScore(sample, delim, mac); score > bestScore+1e-9 {
			best, bestScore = delim, score
		}
	}
	return best
}

func separatorScore(sample []byte, delim byte, mac bool) float64 {
	s := newSplitter(bytes.NewReader(sample), delim, mac)
	widths := make(map[int]int)
	records, dirty, fields, first := 0, 0, 0, 0
	for records < headRows {
		rec, err := s.next()
		if err != nil {
			break
		}
		if records++; records == 1 {
			first = len(rec)
		}
		widths[len(rec)]++
		for _, f := range rec {
			fields++
			if bytes.ContainsAny(f, ";\t|") {
				dirty++
			}
		}
	}
	single := widths[1]
	delete(widths, 1)
	width, same := mostFrequent(widths)
	if width == 0 {
		return 0
	}
	agree := float64(same) / float64(records)
	if agree < 0.5 && (first != width || float64(records-single) < 0.7*float64(records)) {
		return 0 // commas in prose
	}
	clean := 1 - float64(dirty)/float64(fields)
	return agree * agree * clean * (1 + 0.1*math.Log(float64(width)))
}

// header describes what was found above the data.
type header struct {
	titles []string // the lines above the header, each shortened
	skip   int      // number of records before the first one of data
	names  []string // nil without a header
	raw    row
	width  int
}

// detectHeader examines the first records.
func detectHeader(rows []row) header {
	h := header{width: usualWidth(rows)}
	first := titles(rows, h.width)
	if !looksLikeHeader(rows[first], rows[first+1:]) {
		if first == 0 || !numericRow(rows[first]) {
			return h // the supposed titles are data
		}
		// There are titles, but no header above the data.
	} else {
		h.raw = rows[first]
		_, width := h.raw.filled()
		h.width = max(h.width, width)
		h.names = make([]string, len(h.raw.cells))
		for i, c := range h.raw.cells {
			h.names[i] = string(c)
		}
		h.skip = 1
	}
	for _, r := range rows[:first] {
		h.titles = append(h.titles, clip(bytes.Join(r.nonEmpty(), []byte(" "))))
	}
	h.skip += first
	return h
}

func (r row) nonEmpty() (cells [][]byte) {
	for _, c := range r.cells {
		if c = trim(c); len(c) > 0 {
			cells = append(cells, c)
		}
	}
	return cells
}

// usualWidth returns the width of most records; in a tie, the larger one.
func usualWidth(rows []row) int {
	count := make(map[int]int)
	for _, r := range rows {
		count[len(r.cells)]++
	}
	width, _ := mostFrequent(count)
	return width
}

// mostFrequent returns the key with the highest count; in a tie, the larger one.
func mostFrequent(counts map[int]int) (key, count int) {
	for k, n := range counts {
		if n > count || n == count && k > key {
			key, count = k, n
		}
	}
	return key, count
}

// titles counts the leading records that are remarks: text in one or two cells above a wider table.
func titles(rows []row, width int) int {
	for i, r := range rows {
		if i == 20 || i+1 == len(rows) {
			return 0
		}
		n, last := r.filled()
		if n > 2 || 2*n > width || (n == 2 && last > 2) || width < 3 && (n > 1 || len(r.cells) >= width) {
			return i
		}
		if first := r.nonEmpty()[0]; typedCell(first) {
			return i
		}
	}
	return 0
}

// typedCell reports whether a cell is a number, a date, a time or a truth value.
func typedCell(c []byte) bool {
	_, letter, ok := parseBool(c)
	return ok && !letter || isNumber(c) || isTime(c) // n and y are names, too
}

func isNumber(c []byte) bool { _, ok := parseNumber(c); return ok }

// isTime reports whether a cell is a date or a time of day.
func isTime(c []byte) bool {
	_, isMoment := parseMoment(c)
	_, isClock := parseClock(c)
	return isMoment || isClock
}

// familyOf returns the family of a column that contains only this cell.
func familyOf(c []byte) family {
	k := newCells()
	k.add(c)
	return k.family
}

func numericRow(r row) bool { return slices.ContainsFunc(r.nonEmpty(), typedCell) }

// looksLikeHeader compares a record with those below it, column by column.
func looksLikeHeader(r row, below []row) bool {
	if len(below) == 0 {
		return !numericRow(r)
	}
	// Filter once rather than per column: rows are as wide as the table, so that would take quadratic time.
	data := slices.DeleteFunc(slices.Clone(below[:min(len(below), headRows-20)]), func(b row) bool {
		return sameCells(b.cells, r.cells) || isTotalLabel(b)
	})
	yes, no, repeats, text := 0, 0, 0, 0
	for i, name := range r.cells {
		name = trim(name)
		if len(name) == 0 {
			continue
		}
		k, same := columnOf(data, i, name)
		repeats += same
		switch {
		case k.family == texts && !typedCell(name):
			text++
		case k.family == texts || k.family == unknown:
		case familyOf(name) == k.family && !yearAbove(name, k):
			no++
		default:
			yes++
		}
	}
	switch {
	case yes != no:
		return yes > no
	case yes > 0:
		return !numericRow(r)
	case no == 0 && numericRow(r):
		return false
	}
	return text == 0 || repeats == 0 && short(r)
}

// columnOf reads column i of the rows, and counts the cells that equal its name.
func columnOf(rows []row, i int, name []byte) (k *cells, same int) {
	k = newCells()
	for _, r := range rows {
		if i < len(r.cells) {
			k.add(r.cells[i])
			if bytes.Equal(trim(r.cells[i]), name) {
				same++
			}
		}
	}
	return k, same
}

// yearAbove reports whether a number, such as 2023, may be the header of a column of other numbers.
func yearAbove(name []byte, k *cells) bool {
	n, rest, width := digits(name, 4)
	if width != 4 || len(rest) > 0 || n < 1900 || n > 2100 || k.family != numbers {
		return false
	}
	year, _, w := digits([]byte(k.first), 4)
	return w != 4 || len(k.first) != 4 || year < 1900 || year > 2100
}

func short(r row) bool {
	return !slices.ContainsFunc(r.cells, func(c []byte) bool { return utf8.RuneCount(c) > 80 })
}

// columnNames makes the names unique, ignoring case, and fills in missing ones.
func columnNames(names []string, width int) []string {
	out := make([]string, width)
	taken := make(map[string]bool)
	for i := range out {
		name := ""
		if i < len(names) {
			name = cleanName(names[i])
		}
		out[i] = name
		if name != "" {
			taken[strings.ToLower(name)] = true
		}
	}
	used := make(map[string]bool)
	for i, name := range out {
		if name == "" {
			name = fmt.Sprintf("column_%d", i+1)
		}
		unique := name
		for n := 2; used[strings.ToLower(unique)] || (unique != out[i] && taken[strings.ToLower(unique)]); n++ {
			unique = fmt.Sprintf("%s_%d", name, n)
		}
		used[strings.ToLower(unique)] = true
		out[i] = unique
	}
	return out
}

// cleanName turns a header into one line of visible text.
func cleanName(s string) string {
	s = strings.Map(func(r rune) rune {
		switch {
		case isSpace(r), r == '\u0085', r == '\u2028', r == '\u2029':
			return ' '
		case r == utf8.RuneError || (r >= 0x7F && r < 0xA0), r >= 0x202A && r <= 0x202E, r >= 0x2066 && r <= 0x2069,
			r == '\u200E', r == '\u200F':
			return -1
		}
		return r
	}, s)
	s = strings.Join(strings.Fields(s), " ")
	if r := []rune(s); len(r) > 120 {
		s = strings.TrimSpace(string(r[:120]))
	}
	return s
}
