package export

import (
	"fmt"
	"html/template"
	"maps"
	"regexp"
	"slices"
	"strconv"
	"strings"
)

// Marks are placeholders in a text for HTML of our own, which replaces them at the end: the first mark, a number,
// the second mark. A model's text must not contain them; one that does is shown without footnotes.
const (
	markOpen  = "\uE000"
	markClose = "\uE001"
)

var markPattern = regexp.MustCompile(markOpen + `(\d+)` + markClose)

// prose converts Markdown to HTML: paragraphs, headings, lists, tables, quotes, code, bold and emphasised words. It
// shows everything else unchanged.
type prose struct {
	held []string // HTML by mark number
}

// hold stores HTML and returns its mark.
func (p *prose) hold(html string) string {
	p.held = append(p.held, html)
	return markOpen + strconv.Itoa(len(p.held)-1) + markClose
}

// render converts a text. marks maps byte offsets to HTML of our own.
func render(s string, marks map[int]string) template.HTML {
	p := &prose{}
	if strings.Contains(s, markOpen) || strings.Contains(s, markClose) {
		s, marks = strings.NewReplacer(markOpen, "", markClose, "").Replace(s), nil
	}
	var b strings.Builder
	from := 0
	for _, at := range slices.Sorted(maps.Keys(marks)) {
		b.WriteString(s[from:at] + p.hold(marks[at]))
		from = at
	}
	b.WriteString(s[from:])
	html := p.blocks(strings.Split(strings.ReplaceAll(b.String(), "\r\n", "\n"), "\n"))
	for range 2 { // a footnote may be inside a held piece
		html = markPattern.ReplaceAllStringFunc(html, func(m string) string {
			i, err := strconv.Atoi(m[len(markOpen) : len(m)-len(markClose)])
			if err != nil || i >= len(p.held) {
				return ""
			}
			return p.held[i]
		})
	}
	return template.HTML(html) //nolint:gosec // each piece of the text is escaped in inline and code
}

var (
	headingLine   = regexp.MustCompile(`^ {0,3}(#{1,6})\s+(.*?)\s*#*\s*$`)
	itemLine      = regexp.MustCompile(`^\s*(?:[-*+]|(\d{1,9})[.)])\s+(.*)$`)
	readingLine   = regexp.MustCompile(`^(?:Source: .{1,200}?\. )?Reading: `)
	ruleLine      = regexp.MustCompile(`^ {0,3}([-*_])(?:\s*[-*_]){2,}\s*$`)
	separatorLine = regexp.MustCompile(`^\s*\|?\s*:?-+:?\s*(\|\s*:?-+:?\s*)*\|?\s*$`)
)

func (p *prose) blocks(lines []string) string {
	var b strings.Builder
	for i := 0; i < len(lines); {
		n, html := p.block(lines[i:])
		b.WriteString(html)
		i += n
	}
	return b.String()
}

// block converts the block that begins with the first line, and returns how many lines it used.
func (p *prose) block(lines []string) (int, string) {
	first := lines[0]
	switch {
	case strings.TrimSpace(first) == "":
		return 1, ""
	case strings.HasPrefix(strings.TrimSpace(first), "```"):
		return p.code(lines)
	case isTable(lines):
		return p.table(lines)
	case ruleLine.MatchString(first):
		return 1, "<hr>"
	case headingLine.MatchString(first):
		return 1, "<h3>" + p.inline(headingLine.FindStringSubmatch(first)[2]) + "</h3>"
	case itemLine.MatchString(first):
		return p.list(lines)
	case strings.HasPrefix(first, ">"):
		n := until(lines, func(l string) bool { return !strings.HasPrefix(l, ">") })
		quoted := make([]string, n)
		for i, l := range lines[:n] {
			quoted[i] = p.inline(strings.TrimSpace(strings.TrimPrefix(l, ">")))
		}
		return n, "<blockquote>" + strings.Join(quoted, "<br>") + "</blockquote>"
	default:
		return p.paragraph(lines)
	}
}

// until returns how many lines come before one that satisfies ends; at least one.
func until(lines []string, ends func(string) bool) int {
	if i := slices.IndexFunc(lines[1:], ends); i >= 0 {
		return i + 1
	}
	return len(lines)
}

func isTable(lines []string) bool {
	return len(lines) > 1 && strings.Contains(lines[0], "|") && strings.Contains(lines[1], "|") &&
		separatorLine.MatchString(lines[1])
}

func (p *prose) paragraph(lines []string) (int, string) {
	n := 1
	for n < len(lines) && strings.TrimSpace(lines[n]) != "" && !itemLine.MatchString(lines[n]) &&
		!headingLine.MatchString(lines[n]) &&
		!isTable(lines[n:]) && !strings.HasPrefix(strings.TrimSpace(lines[n]), "```") {
		n++
	}
	htmlLines := make([]string, n)
	for i, l := range lines[:n] {
		htmlLines[i] = p.inline(l)
	}
	text := strings.TrimSpace(strings.Join(lines[:n], "\n"))
	// A remark about the answer: the reading of the question, or text emphasised as a whole.
	class := ""
	if readingLine.MatchString(text) || len(text) > 1 && strings.HasPrefix(text, "_") && strings.HasSuffix(text, "_") {
		class = ` class="aside"`
	}
	return n, "<p" + class + ">" + strings.Join(htmlLines, "<br>") + "</p>"
}

func (p *prose) code(lines []string) (int, string) {
	n := until(lines, func(l string) bool { return strings.HasPrefix(strings.TrimSpace(l), "```") })
	html := "<pre><code>" + template.HTMLEscapeString(strings.Join(lines[1:n], "\n")) + "</code></pre>"
	return min(n+1, len(lines)), html
}

func (p *prose) list(lines []string) (int, string) {
	ordered := itemLine.FindStringSubmatch(lines[0])[1] != ""
	tag := "ul"
	if ordered {
		tag = "ol"
	}
	var items []string
	n := 0
	for ; n < len(lines); n++ {
		m := itemLine.FindStringSubmatch(lines[n])
		switch {
		case m != nil && (m[1] != "") == ordered:
			items = append(items, p.inline(m[2]))
			continue
		case m == nil && strings.HasPrefix(lines[n], "  ") && strings.TrimSpace(lines[n]) != "":
			items[len(items)-1] += "<br>" + p.inline(strings.TrimSpace(lines[n]))
			continue
		}
		break
	}
	return n, "<" + tag + "><li>" + strings.Join(items, "</li><li>") + "</li></" + tag + ">"
}

var figureCell = regexp.MustCompile(`^[-+(]?[$€£¥]?\s?[\d.,]+\s?(%|[kKMBT])?\)?$`)

// table converts a table. It aligns columns of figures right. It does not fill short rows with empty cells: a text of
// 64 KB can have so many columns and rows that its page would have gigabytes of them.
func (p *prose) table(lines []string) (int, string) {
	n := until(lines, func(l string) bool { return !strings.Contains(l, "|") })
	head := cellsOf(lines[0])
	rows := make([][]string, 0, n)
	for _, l := range lines[2:n] {
		rows = append(rows, cellsOf(l))
	}
	class := make([]string, len(head))
	for i := range head {
		figures := len(rows) > 0 && !slices.ContainsFunc(rows, func(r []string) bool {
			return i >= len(r) ||
				!figureCell.MatchString(strings.ReplaceAll(markPattern.ReplaceAllString(r[i], ""), "*", ""))
		})
		if figures {
			class[i] = ` class="num"`
		}
	}
	var b strings.Builder
	b.WriteString(`<div class="table" tabindex="0" role="region" aria-label="Table"><table><thead><tr>`)
	for i, c := range head {
		fmt.Fprintf(&b, `<th scope="col"%s>%s</th>`, class[i], p.inline(c))
	}
	b.WriteString("</tr></thead><tbody>")
	for _, r := range rows {
		b.WriteString("<tr>")
		for i, c := range r[:min(len(r), len(head))] {
			fmt.Fprintf(&b, "<td%s>%s</td>", class[i], p.inline(c))
		}
		b.WriteString("</tr>")
	}
	b.WriteString("</tbody></table></div>")
	return n, b.String()
}

// cellsOf splits a table line into cells; an escaped bar is part of a cell.
func cellsOf(line string) []string {
	const bar = "\uE002"
	line = strings.TrimSuffix(strings.TrimPrefix(strings.TrimSpace(strings.ReplaceAll(line, `\|`, bar)), "|"), "|")
	cells := strings.Split(line, "|")
	for i, c := range cells {
		cells[i] = strings.ReplaceAll(strings.TrimSpace(c), bar, "|")
	}
	return cells
}

var (
	codeWords = regexp.MustCompile("`([^`]+)`")
	boldWords = regexp.MustCompile(`\*\*([^*\s](?:[^*]*[^*\s])?)\*\*`)
	starWords = regexp.MustCompile(`(^|[\s(])\*([^*\s](?:[^*]*[^*\s])?)\*($|[\s.,;:!?)])`)
	lineWords = regexp.MustCompile(`(^|[\s(])_([^_\s].*?)_($|[\s.,;:!?)])`)
)

// inline escapes a line and converts **words** to bold, *words* and _words_ to emphasis, and `words` to code.
func (p *prose) inline(s string) string {
	s = codeWords.ReplaceAllStringFunc(s, func(c string) string {
		return p.hold("<code>" + template.HTMLEscapeString(c[1:len(c)-1]) + "</code>")
	})
	s = template.HTMLEscapeString(s)
	s = boldWords.ReplaceAllString(s, "<strong>$1</strong>")
	s = starWords.ReplaceAllString(s, "$1<em>$2</em>$3")
	return lineWords.ReplaceAllString(s, "$1<em>$2</em>$3")
}
