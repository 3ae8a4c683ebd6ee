package chart

import (
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"
	"unicode"

	"golang.org/x/text/width"

	"github.com/footnotehq/footnote"
	"github.com/footnotehq/footnote/internal/currency"
)

// Limits of what a terminal shows.
const (
	maxBars    = 40
	maxLines   = 12
	tableRows  = 10
	plotHeight = 12
	bins       = 12
	minWidth   = 30
	maxWidth   = 500
)

// Terminal draws a chart in characters, at most width columns wide (30 to 500), and ends it with a line break.
// Control characters and those that change the direction of text are shown as code points, so that a cell cannot
// move the cursor. For a chart that does not fit the result, it returns a one-line message.
func Terminal(s Spec, result footnote.Result, columns int) string {
	w := min(max(columns, minWidth), maxWidth)
	marks, err := s.marks(result.Columns, result.Rows)
	if err != nil {
		return fit("No chart: "+err.Error(), w) + "\n"
	}
	var lines []string
	if s.Title != "" {
		lines = append(lines, fit(s.Title, w), "")
	}
	switch s.Type {
	case Table:
		lines = append(lines, table(result, w)...)
	case Line, Area:
		lines = append(lines, s.sparklines(marks, w)...)
	case Scatter:
		lines = append(lines, s.plot(marks, w)...)
	case Histogram:
		lines = append(lines, bars(binned(marks), w, false, figure)...)
	default:
		lines = append(lines, bars(marks, w, s.Type == Pie, s.amount)...)
	}
	for i := range lines {
		lines[i] = strings.TrimRight(lines[i], " ")
	}
	return strings.Join(lines, "\n") + "\n"
}

// bars draws a bar for each mark with its value, and with its percentage if share is set.
func bars(marks []mark, w int, share bool, format func(float64) string) []string {
	more := max(0, len(marks)-maxBars)
	marks = marks[:len(marks)-more]
	labels, values := make([]string, len(marks)), make([]string, len(marks))
	longest, total, room, wide := 0.0, 0.0, 0, 0
	for _, m := range marks {
		longest = max(longest, math.Abs(m.y))
		total += m.y
	}
	for i, m := range marks {
		labels[i] = clean(m.label)
		if m.series != "" {
			labels[i] += " · " + clean(m.series)
		}
		labels[i] = fit(labels[i], w/3)
		values[i] = "–"
		if m.ok {
			values[i] = format(m.y)
		}
		if m.ok && share && total > 0 {
			values[i] += fmt.Sprintf(" (%.1f %%)", 100*m.y/total)
		}
		room, wide = max(room, columnsOf(labels[i])), max(wide, columnsOf(values[i]))
	}
	size := max(1, w-room-wide-2)
	var lines []string
	for i, m := range marks {
		bar := ""
		if m.ok && m.y != 0 {
			bar = block(math.Abs(m.y)/longest*float64(size), m.y < 0) + " "
		}
		lines = append(lines, pad(labels[i], room)+" "+bar+values[i])
	}
	return andMore(lines, more)
}

func andMore(lines []string, n int) []string {
	if n > 0 {
		lines = append(lines, fmt.Sprintf("… and %d more", n))
	}
	return lines
}

// block draws a bar of n characters, to an eighth of one. Bars for negative values are hatched.
func block(n float64, negative bool) string {
	if negative {
		return strings.Repeat("░", max(1, int(math.Round(n))))
	}
	eighths := int(math.Round(n * 8))
	bar := strings.Repeat("█", eighths/8)
	if eighths%8 > 0 {
		bar += string([]rune("▏▎▍▌▋▊▉")[eighths%8-1])
	}
	if bar == "" {
		return "▏" // show at least something
	}
	return bar
}

// extent returns the smallest and the largest value; without values, the first is larger.
func extent(marks []mark) (lo, hi float64) {
	lo, hi = math.Inf(1), math.Inf(-1)
	for _, m := range marks {
		if m.ok {
			lo, hi = min(lo, m.y), max(hi, m.y)
		}
	}
	return lo, hi
}

// amount formats a figure of the chart, with the currency that its column names.
func (s Spec) amount(v float64) string {
	if len(s.Y) != 1 {
		return figure(v)
	}
	return strings.ReplaceAll(currency.Sign(figure(v), currency.InName(s.Y[0])), "\u00a0", " ")
}

// binned counts numbers in ranges of equal width.
func binned(marks []mark) []mark {
	lo, hi := extent(marks)
	step := (hi - lo) / bins
	if !(step > 0) || math.IsInf(step, 0) {
		return []mark{{label: figure(lo), y: float64(len(marks)), ok: true}}
	}
	out := make([]mark, bins)
	for i := range out {
		out[i] = mark{label: figure(lo+float64(i)*step) + " – " + figure(lo+float64(i+1)*step), ok: true}
	}
	for _, m := range marks {
		if m.ok {
			out[min(bins-1, int((m.y-lo)/step))].y++
		}
	}
	return out
}

// sparklines draws each series as one line of blocks, with its first and last value and its range.
func (s Spec) sparklines(marks []mark, w int) []string {
	names, series := bySeries(marks)
	more := max(0, len(names)-maxLines)
	names = names[:len(names)-more]
	room := 0
	labels := make([]string, len(names))
	for i, name := range names {
		if name == "" {
			name = s.measure()
		}
		labels[i] = fit(clean(name), w/4)
		room = max(room, columnsOf(labels[i]))
	}
	var lines []string
	for i, name := range names {
		points := series[name]
		lo, hi := extent(points)
		ends := "  no values"
		if lo <= hi {
			ends = fmt.Sprintf("  %s to %s", s.amount(lo), s.amount(hi))
		}
		lines = append(lines, pad(labels[i], room)+" "+spark(points, lo, hi, max(1, w-room-1-columnsOf(ends)))+ends)
	}
	lines = andMore(lines, more)
	first, last := clean(marks[0].label), clean(marks[len(marks)-1].label)
	return append(lines, fit(fmt.Sprintf("%s %s: %s … %s", strings.Repeat(" ", room), clean(s.X), first, last), w))
}

func bySeries(marks []mark) (names []string, series map[string][]mark) {
	series = map[string][]mark{}
	for _, m := range marks {
		if _, ok := series[m.series]; !ok {
			names = append(names, m.series)
		}
		series[m.series] = append(series[m.series], m)
	}
	return names, series
}

// spark draws points in at most n characters, each of which is the mean of its points.
func spark(points []mark, lo, hi float64, n int) string {
	n = min(n, len(points))
	var b strings.Builder
	for i := range n {
		sum, count := 0.0, 0.0
		for _, m := range points[i*len(points)/n : (i+1)*len(points)/n] {
			if m.ok {
				sum, count = sum+m.y, count+1
			}
		}
		switch {
		case count == 0:
			b.WriteRune(' ')
		case !(hi > lo):
			b.WriteRune('▄')
		default:
			level := int(math.Round((sum/count - lo) / (hi - lo) * 7))
			b.WriteRune([]rune("▁▂▃▄▅▆▇█")[min(max(level, 0), 7)])
		}
	}
	return b.String()
}

// plot draws points in Braille, two by four per character.
func (s Spec) plot(marks []mark, w int) []string {
	place := func(m mark, i int) float64 {
		switch {
		case m.at != nil:
			return float64(*m.at)
		case m.scale != nil:
			return *m.scale
		default:
			return float64(i) // names are placed side by side
		}
	}
	y0, y1 := extent(marks)
	x0, x1 := math.Inf(1), math.Inf(-1)
	first, last := marks[0].label, marks[0].label
	for i, m := range marks {
		if !m.ok {
			continue
		}
		if x := place(m, i); x < x0 {
			x0, first = x, m.label
		}
		if x := place(m, i); x > x1 {
			x1, last = x, m.label
		}
	}
	if x0 > x1 {
		return []string{"no values"}
	}
	size := w - 2
	grid := make([][]rune, plotHeight)
	for i := range grid {
		grid[i] = slices.Repeat([]rune{0x2800}, size)
	}
	for i, m := range marks {
		if m.ok {
			cx := int(math.Round(part(place(m, i), x0, x1) * float64(2*size-1)))
			cy := int(math.Round((1 - part(m.y, y0, y1)) * float64(4*plotHeight-1)))
			grid[cy/4][cx/2] |= [4][2]rune{{1, 8}, {2, 16}, {4, 32}, {64, 128}}[cy%4][cx%2]
		}
	}
	lines := []string{fit(clean(strings.Join(s.Y, ", "))+": "+figure(y0)+" to "+figure(y1), w)}
	for _, row := range grid {
		lines = append(lines, "│"+string(row))
	}
	return append(lines, "└"+strings.Repeat("─", size), fit(clean(s.X)+": "+clean(first)+" to "+clean(last), w))
}

func part(v, lo, hi float64) float64 {
	if !(hi > lo) {
		return 0.5
	}
	return min(max(v/2-lo/2, 0)/(hi/2-lo/2), 1) // halved, because hi - lo may overflow
}

// table formats the first rows in columns.
func table(r footnote.Result, w int) []string {
	rows := r.Rows[:min(len(r.Rows), tableRows)]
	lines := make([]string, len(rows)+1)
	left := w
	for c, column := range r.Columns {
		cells := []string{clean(column.Name)}
		for _, row := range rows {
			cells = append(cells, clean(text(row[c])))
		}
		room := 1
		for _, cell := range cells {
			room = max(room, columnsOf(cell))
		}
		if room = min(room, max(8, w/max(1, len(r.Columns)))); room > left {
			lines[0] += "…"
			break
		}
		left -= room + 2
		for i, cell := range cells {
			cell = fit(cell, room)
			if _, ok := number(r.Rows[max(0, i-1)][c]); ok {
				cell = strings.Repeat(" ", room-columnsOf(cell)) + cell
			}
			lines[i] += pad(cell, room) + "  "
		}
		if left <= 0 {
			break
		}
	}
	return andMore(lines, len(r.Rows)-len(rows))
}

// figure formats a number for people, with grouped thousands and few decimals.
func figure(v float64) string {
	if a := math.Abs(v); a >= 1e15 || (a > 0 && a < 1e-4) {
		return strconv.FormatFloat(v, 'g', 4, 64)
	}
	decimals := 2
	if a := math.Abs(v); a < 1 && a > 0 {
		decimals = 4
	}
	s := strconv.FormatFloat(v, 'f', decimals, 64)
	s = strings.TrimSuffix(strings.TrimRight(s, "0"), ".")
	whole, fraction, _ := strings.Cut(strings.TrimPrefix(s, "-"), ".")
	for i := len(whole) - 3; i > 0; i -= 3 {
		whole = whole[:i] + "," + whole[i:]
	}
	if fraction != "" {
		whole += "." + fraction
	}
	if strings.HasPrefix(s, "-") {
		return "-" + whole
	}
	return whole
}

// clean makes control characters and direction marks visible.
func clean(s string) string {
	var b strings.Builder
	for _, r := range s {
		if unicode.IsControl(r) || unicode.In(r, unicode.Cf, unicode.Zl, unicode.Zp) {
			fmt.Fprintf(&b, "<U+%04X>", r)
			continue
		}
		b.WriteRune(r)
	}
	return b.String()
}

func columnsOf(s string) (n int) {
	for _, r := range s {
		n += runeColumns(r)
	}
	return n
}

func runeColumns(r rune) int {
	if unicode.In(r, unicode.Mn, unicode.Me) {
		return 0
	}
	switch width.LookupRune(r).Kind() {
	case width.EastAsianWide, width.EastAsianFullwidth:
		return 2
	default:
		return 1
	}
}

// fit cuts a cleaned text to n columns.
func fit(s string, n int) string {
	s = clean(s)
	if columnsOf(s) <= n {
		return s
	}
	var b strings.Builder
	left := n - 1
	for _, r := range s {
		if left -= runeColumns(r); left < 0 {
			break
		}
		b.WriteRune(r)
	}
	return b.String() + "…"
}

func pad(s string, n int) string { return s + strings.Repeat(" ", max(0, n-columnsOf(s))) }
