package main

import (
	"encoding/json"
	"fmt"
	"io"
	"maps"
	"os"
	"slices"
	"strconv"
	"strings"
	"time"
	"unicode"

	"golang.org/x/term"
	"golang.org/x/text/width"

	"github.com/footnotehq/footnote"
	"github.com/footnotehq/footnote/internal/currency"
	"github.com/footnotehq/footnote/internal/doctor"
	"github.com/footnotehq/footnote/model"
	"github.com/footnotehq/footnote/tool/chart"
)

// screen shows a run in a terminal: its queries, its text as it arrives, and at the end a table, a chart and the
// footnotes.
type screen struct {
	out, err io.Writer
	live     bool // standard error is a terminal
	bold     bool // standard output supports bold
	quiet    bool
	seen     map[[2]int]bool // text blocks already shown as they grew
	line     string          // the current line
	shown    int             // bytes of the line already printed
	table    [][]string      // rows of the current Markdown table
	blank    bool            // the last printed line is empty
}

func newScreen(quiet bool, std streams) *screen {
	_, live := terminal(std.err)
	_, bold := terminal(std.out)
	return &screen{
		out: std.out, err: std.err, live: live, bold: bold, quiet: quiet, seen: map[[2]int]bool{}, blank: true,
	}
}

// say processes a piece of Markdown. It prints lines as they arrive, except for tables, whose columns are aligned
// once they are complete.
func (s *screen) say(text string) {
	if s.quiet {
		return
	}
	s.line += safeText(text)
	for {
		line, rest, ok := strings.Cut(s.line, "\n")
		if !ok {
			break
		}
		s.endLine(line)
		s.line, s.shown = rest, 0
	}
	// Print the beginning of a line early if no markup in it waits for its end.
	if len(s.table) == 0 && !strings.ContainsAny(s.line, "*_|") && s.line != "" {
		fmt.Fprint(s.out, s.line[s.shown:])
		s.shown = len(s.line)
	}
}

func (s *screen) endLine(line string) {
	if strings.HasPrefix(strings.TrimSpace(line), "|") && s.shown == 0 {
		s.table = append(s.table, cells(line))
		return
	}
	s.endTable()
	rest := line[s.shown:]
	if line == "" && s.blank {
		return
	}
	fmt.Fprintln(s.out, s.plain(rest))
	s.blank = line == ""
}

// endTable prints the current table.
func (s *screen) endTable() {
	if len(s.table) == 0 {
		return
	}
	rows := s.table
	s.table = nil
	widths := columnWidths(rows, terminalWidth(s.out))
	if len(rows) > 1 && strings.Trim(strings.Join(rows[1], ""), "-: ") == "" {
		rows[1] = rule(widths)
	}
	for n, row := range rows {
		printRow(s.out, row, widths, func(i int) bool { return n > 1 && looksNumeric(row[i]) })
	}
	s.blank = false
}

func cells(line string) []string {
	line = strings.Trim(strings.TrimSpace(line), "|")
	parts := strings.Split(line, "|")
	for i, p := range parts {
		parts[i] = strings.ReplaceAll(strings.TrimSpace(p), "**", "")
	}
	return parts
}

// looksNumeric reports whether a cell is a number, perhaps with a percent sign or a currency: 12.5%, ₹1,200, CHF 3.
func looksNumeric(s string) bool {
	if code, number, spaced := strings.Cut(strings.TrimPrefix(s, "-"), " "); spaced {
		if _, known := currency.Of(code); known {
			s = number
		}
	}
	s = strings.Map(func(r rune) rune {
		if r == ',' || r == '%' || unicode.Is(unicode.Sc, r) {
			return -1
		}
		return r
	}, s)
	_, err := strconv.ParseFloat(s, 64)
	return err == nil
}

// plain removes Markdown markup from a line, or converts it to terminal sequences.
func (s *screen) plain(line string) string {
	on, off := "", ""
	if s.bold {
		on, off = "\x1b[1m", "\x1b[0m"
	}
	if parts := strings.Split(line, "**"); len(parts)%2 == 1 {
		var b strings.Builder
		for i, p := range parts {
			if i%2 == 1 {
				p = on + p + off
			}
			b.WriteString(p)
		}
		line = b.String()
	}
	if len(line) > 2 && strings.HasPrefix(line, "_") && strings.HasSuffix(line, "_") {
		line = line[1 : len(line)-1]
	}
	return line
}

// newline ends the current line or table.
func (s *screen) newline() {
	if s.quiet {
		return
	}
	if s.line != "" {
		s.endLine(s.line)
		s.line, s.shown = "", 0
	}
	s.endTable()
}

func (s *screen) delta(d footnote.Delta) {
	switch {
	case d.Op == footnote.StepRetrying:
		s.progress(fmt.Sprintf("the model is unavailable (%s); retrying in %s", d.Code,
			d.Wait.Round(100*time.Millisecond)))
	case d.Kind != model.TextBlock:
	case d.Op == footnote.BlockStarted:
		s.newline()
		s.seen[[2]int{d.Step, d.Index}] = true
	case d.Op == footnote.BlockGrew:
		var text string
		if json.Unmarshal(append(append([]byte{'"'}, d.Escaped...), '"'), &text) == nil {
			s.say(text)
		}
	case d.Op == footnote.BlockEnded:
		s.newline()
	}
}

// progress prints a line on standard error if it is a terminal.
func (s *screen) progress(words string) {
	if s.live && !s.quiet {
		fmt.Fprintln(s.err, "… "+words)
	}
}

func (s *screen) event(ev footnote.Event) {
	// The statement of a verified query is in no call of the model.
	if r, ok := ev.Body.(footnote.ToolResult); ok && !s.quiet && r.Result != nil && r.Result.Verified != nil {
		s.newline()
		s.query(r.Result.SQL, "")
	}
	m, ok := ev.Body.(footnote.AssistantMessage)
	if !ok || s.quiet {
		return
	}
	for i, raw := range m.Blocks {
		var b struct {
			Type, Text, Name string
			Input            struct{ SQL, Thought string }
		}
		if json.Unmarshal(raw, &b) != nil {
			continue
		}
		switch {
		case b.Type == model.TextBlock && !s.seen[[2]int{m.Step, i}]:
			s.newline()
			s.say(b.Text + "\n")
		case b.Type == model.ToolUseBlock && b.Input.SQL != "":
			s.newline()
			s.query(b.Input.SQL, b.Input.Thought)
		}
	}
}

// query prints a statement and why it runs. It skips the planner's reading of the question, which the answer repeats.
func (s *screen) query(sql, thought string) {
	if thought != "" && !strings.HasPrefix(thought, "Reading:") {
		fmt.Fprintln(s.out, "-- "+visible(thought))
	}
	fmt.Fprintf(s.out, "%s\n\n", safeText(wrapSQL(sql, terminalWidth(s.out))))
	s.blank = true
}

// wrapSQL breaks a long statement before its clauses, but never inside quotes or parentheses.
func wrapSQL(sql string, width int) string {
	if len(sql) <= width || strings.Contains(sql, "\n") {
		return sql
	}
	var b strings.Builder
	depth, quote := 0, byte(0)
	for i := 0; i < len(sql); i++ {
		c := sql[i]
		switch {
		case quote != 0:
			if c == quote {
				quote = 0
			}
		case c == '\'' || c == '"' || c == '`':
			quote = c
		case c == '(':
			depth++
		case c == ')':
			depth--
		case c == ' ' && depth == 0 && startsClause(sql[i+1:]):
			c = '\n'
		}
		b.WriteByte(c)
	}
	return b.String()
}

func startsClause(rest string) bool {
	for _, word := range []string{
		"SELECT ", "FROM ", "JOIN ", "LEFT JOIN ", "WHERE ", "GROUP BY ", "HAVING ", "ORDER BY ", "LIMIT ", "UNION ",
	} {
		if len(rest) >= len(word) && strings.EqualFold(rest[:len(word)], word) {
			return true
		}
	}
	return false
}

// result prints the rows behind an answer, unless the answer itself contains a table.
func (s *screen) result(a *answerJSON, res footnote.Result) {
	if s.quiet {
		return
	}
	s.newline()
	wide := terminalWidth(s.out)
	if !hasTable(a.Answer) {
		fmt.Fprintln(s.out)
		printTable(s.out, res, wide)
	}
	if string(a.Chart) != "null" {
		if spec, err := chart.Parse(a.Chart); err == nil {
			fmt.Fprintf(s.out, "\n%s\n", strings.TrimRight(chart.Terminal(spec, res, min(wide, 100)), "\n"))
		}
	}
	s.footnotes(a)
}

func hasTable(text string) bool {
	return strings.HasPrefix(text, "|") || strings.Contains(text, "\n|")
}

// footnotes lists the sources of the numbers in an answer, without duplicates. It only counts the numbers in a table.
func (s *screen) footnotes(a *answerJSON) {
	fmt.Fprintln(s.out)
	listed := map[string]bool{}
	n, inTable := 0, map[string]int{}
	for _, c := range a.Footnotes {
		where := evidence(c)
		if where == "question" {
			where = "from the question"
		}
		if c.Row != nil && inTableLine(a.Answer, c.Start) {
			inTable[c.Result]++
			continue
		}
		if listed[c.Text+where] {
			continue
		}
		listed[c.Text+where] = true
		n++
		fmt.Fprintf(s.out, "[%d] %s = %s", n, safeText(c.Text), safeText(where))
		if v := shortNumber(c.Value); v != "" && v != c.Text {
			fmt.Fprintf(s.out, " (%s)", safeText(v))
		}
		fmt.Fprintln(s.out)
	}
	for _, id := range slices.Sorted(maps.Keys(inTable)) {
		fmt.Fprintf(s.out, "    and %s of the table, each a cell of %s\n", doctor.Counted(inTable[id], "number"), id)
	}
	for _, u := range a.Unresolved {
		fmt.Fprintf(s.out, "[?] %s has no footnote: %s\n", safeText(u.Text), safeText(u.Reason))
	}
	for _, v := range a.Verified {
		fmt.Fprintf(s.out, "[✓] %s: %s\n", safeText(v.Question), safeText(v.String()))
	}
	fmt.Fprintf(s.out, "%s · footnote verify %s\n", a.Usage.Model, a.Conversation)
}

// evidence returns the formula of a footnote, or else its cell.
func evidence(c footnote.Cite) string {
	if c.Formula == "" && c.Row != nil {
		return fmt.Sprintf("%s[%d].%s", c.Result, *c.Row, c.Column)
	}
	return c.Formula
}

// inTableLine reports whether an offset in a text is on a table line.
func inTableLine(text string, at int) bool {
	if at > len(text) {
		return false
	}
	begin := strings.LastIndexByte(text[:at], '\n') + 1
	return strings.HasPrefix(text[begin:], "|")
}

// shownRows is the maximum number of table rows that the terminal shows.
const shownRows = 20

// terminal reports whether a stream is a terminal.
func terminal(w any) (fd int, ok bool) {
	f, isFile := w.(*os.File)
	if !isFile {
		return 0, false
	}
	return int(f.Fd()), term.IsTerminal(int(f.Fd()))
}

// terminalWidth returns the number of columns to fill: the terminal's width, or 100.
func terminalWidth(w io.Writer) int {
	fd, ok := terminal(w)
	if !ok {
		return 100
	}
	columns, _, err := term.GetSize(fd)
	if err != nil || columns < 20 {
		return 100
	}
	return columns
}

// loading returns a function that shows the progress of loading files on a terminal.
func loading(w io.Writer) func(source, table string, rows int64) {
	if _, ok := terminal(w); !ok {
		return nil
	}
	return func(source, table string, rows int64) {
		fmt.Fprintf(w, "\r\x1b[Kloading %s: %s, %d rows", source, table, rows)
	}
}

// printTable prints rows as a table for people: numbers right-aligned, long cells truncated, at most shownRows rows.
func printTable(w io.Writer, res footnote.Result, maxWidth int) {
	if len(res.Columns) == 0 {
		return
	}
	rows := res.Rows[:min(len(res.Rows), shownRows)]
	cells := make([][]string, len(rows)+1)
	for _, c := range res.Columns {
		cells[0] = append(cells[0], visible(c.Name))
	}
	for i, row := range rows {
		for _, cell := range row {
			cells[i+1] = append(cells[i+1], visible(cellText(cell)))
		}
	}
	widths := columnWidths(cells, maxWidth)
	for n, line := range slices.Insert(cells, 1, rule(widths)) {
		printRow(w, line, widths, func(i int) bool { return n > 0 && numeric(res, i) })
	}
	if more := len(res.Rows) - len(rows); more > 0 {
		fmt.Fprintf(w, "… %d more rows\n", more)
	}
}

// printRow prints the cells of a row in columns of the given widths. right reports whether a column is right-aligned.
func printRow(w io.Writer, cells []string, widths []int, right func(i int) bool) {
	var b strings.Builder
	for i, cell := range cells {
		b.WriteString(pad(cell, widths[i], right(i)) + "  ")
	}
	fmt.Fprintln(w, strings.TrimRight(b.String(), " "))
}

func cellText(cell any) string {
	switch v := cell.(type) {
	case nil:
		return "·"
	case float64:
		return floatText(v)
	}
	return fmt.Sprint(cell)
}

// floatText formats a number with the 15 digits that a sum of decimals keeps, without the rounding noise after them.
func floatText(v float64) string {
	rounded, err := strconv.ParseFloat(strconv.FormatFloat(v, 'g', 15, 64), 64)
	if err != nil {
		rounded = v
	}
	return strconv.FormatFloat(rounded, 'f', -1, 64)
}

// shortNumber applies floatText to a number in text form; it returns other text unchanged.
func shortNumber(s string) string {
	if len(s) < 17 {
		return s
	}
	v, err := strconv.ParseFloat(s, 64)
	if err != nil || !strings.Contains(s, ".") {
		return s
	}
	return floatText(v)
}

// visible turns a cell into one line of printable text: rows come from outside, and a terminal executes the control
// sequences it receives.
func visible(s string) string {
	return strings.Map(func(r rune) rune {
		switch {
		case r == '\n' || r == '\t' || r == '\r' || r == '\u00a0':
			return ' '
		case !unicode.IsPrint(r):
			return '\uFFFD'
		}
		return r
	}, s)
}

// safeText does the same for prose, but keeps line breaks and tabs.
func safeText(s string) string {
	return strings.Map(func(r rune) rune {
		if r == '\u00a0' {
			return ' '
		}
		if r != '\n' && r != '\t' && !unicode.IsPrint(r) {
			return -1
		}
		return r
	}, s)
}

// columnWidths returns the widths of the columns, as many as the longest row has.
func columnWidths(cells [][]string, maxWidth int) []int {
	var widths []int
	for _, line := range cells {
		for i, c := range line {
			if i == len(widths) {
				widths = append(widths, 0)
			}
			widths[i] = max(widths[i], cellWidth(c))
		}
	}
	limit := max(12, maxWidth/max(1, len(widths))*2)
	for i := range widths {
		widths[i] = min(widths[i], limit)
	}
	return widths
}

func cellWidth(s string) int {
	n := 0
	for _, r := range s {
		switch width.LookupRune(r).Kind() {
		case width.EastAsianWide, width.EastAsianFullwidth:
			n += 2
		default:
			if !unicode.Is(unicode.Mn, r) {
				n++
			}
		}
	}
	return n
}

func pad(s string, n int, right bool) string {
	if cellWidth(s) > n {
		runes := []rune(s)
		for cellWidth(string(runes)) > n-1 && len(runes) > 0 {
			runes = runes[:len(runes)-1]
		}
		s = string(runes) + "…"
	}
	fill := strings.Repeat(" ", max(0, n-cellWidth(s)))
	if right {
		return fill + s
	}
	return s + fill
}

// rule returns the cells of the line below the names of columns.
func rule(widths []int) []string {
	cells := make([]string, len(widths))
	for i, n := range widths {
		cells[i] = strings.Repeat("─", n)
	}
	return cells
}

func numeric(res footnote.Result, i int) bool {
	if i >= len(res.Columns) {
		return false
	}
	switch res.Columns[i].Kind {
	case footnote.KindInteger, footnote.KindNumber, footnote.KindDecimal:
		return true
	}
	return false
}
