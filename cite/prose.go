package cite

import (
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/footnotehq/footnote/internal/visible"
)

// prose is the answer cut up: tokens, and for each token the clause, the sentence and the block it stands in. Code
// fences have no tokens; inline code has, so that `orders` can name a table, but holds no numerals.
type prose struct {
	text      string
	tokens    []token
	sentences []span // token ranges
	blocks    []block
	comma     bool // numbers are written 1.234,5
}

// token is a word, a run of digits or one mark of punctuation.
type token struct {
	start, end     int
	low            string
	word           bool // letters and digits
	code           bool
	glossed        bool // low is the English for it
	clause         int  // rises through the text
	sentence, blck int
}

type span struct{ from, to int } // token indexes, to exclusive

type blockKind uint8

const (
	paragraph blockKind = iota
	heading
	item
	tableRow
)

// block is a paragraph, a heading, a list item or a row of a table. parent is the block whose subject holds here too:
// the item above, the lead-in, the heading; for a table row, its header row. It is -1 when there is none.
type block struct {
	kind   blockKind
	indent int
	parent int
	span   span
	cells  []int // tableRow: first token of each cell
	header bool  // tableRow
}

// maxText bounds what is analysed of an answer; numerals beyond it are listed as unresolved.
const maxText = 128 << 10

func parse(text string) *prose {
	text = visible.Blank(text) // the 200 of a hidden character is no number
	p := &prose{text: text, tokens: make([]token, 0, len(text)/5+8)}
	fence := ""
	var last block
	open := false // last can be continued by the next line
	for start := 0; start < len(text); {
		end := start + strings.IndexByte(text[start:], '\n')
		if end < start {
			end = len(text)
		}
		line := text[start:end]
		trimmed := strings.TrimLeft(line, " \t>")
		switch {
		case fence != "":
			if strings.HasPrefix(trimmed, fence) {
				fence = ""
			}
			open = false
		case strings.HasPrefix(trimmed, "```"), strings.HasPrefix(trimmed, "~~~"):
			fence = trimmed[:3]
			open = false
		case strings.TrimSpace(line) == "":
			open = false
		case isRule(trimmed):
			p.ruled()
			open = false
		default:
			kind, body := lineKind(trimmed)
			if kind == paragraph && open && last.kind != heading && last.kind != tableRow {
				p.tokenize(end-len(body), end, len(p.blocks)-1)
				break
			}
			last = block{kind: kind, indent: len(line) - len(trimmed), span: span{len(p.tokens), 0}}
			p.blocks = append(p.blocks, last)
			p.tokenize(end-len(body), end, len(p.blocks)-1)
			open = true
		}
		start = end + 1
	}
	p.structure()
	p.comma = p.usesComma()
	p.gloss()
	return p
}

// lineKind classifies a line and strips its marker.
func lineKind(s string) (blockKind, string) {
	if strings.HasPrefix(s, "#") {
		body := strings.TrimLeft(s, "#")
		if len(s)-len(body) <= 6 && strings.HasPrefix(body, " ") {
			return heading, body
		}
		return paragraph, s
	}
	if strings.HasPrefix(s, "|") {
		return tableRow, s
	}
	if boldLine(s) {
		return heading, s
	}
	for _, bullet := range []string{"- ", "* ", "+ ", "• ", "– "} {
		if strings.HasPrefix(s, bullet) {
			return item, s[len(bullet):]
		}
	}
	n := 0
	for n < len(s) && n < 4 && s[n] >= '0' && s[n] <= '9' {
		n++
	}
	if n > 0 && n < 4 && len(s) > n+1 && (s[n] == '.' || s[n] == ')') && s[n+1] == ' ' {
		return item, s[n+2:]
	}
	return paragraph, s
}

// boldLine: a line of a few bold words alone is a heading.
func boldLine(s string) bool {
	s = strings.TrimRight(s, " \t\r:")
	return len(s) > 4 && len(s) < 64 && strings.HasPrefix(s, "**") && strings.TrimRight(s[2:len(s)-2], ":") != "" &&
		strings.HasSuffix(s, "**") && !strings.ContainsAny(s[2:len(s)-2], "*.0123456789")
}

// isRule recognises |---|:--:| and ---.
func isRule(s string) bool {
	dashes := 0
	for _, c := range s {
		switch c {
		case '-', '=':
			dashes++
		case '|', ':', ' ', '\t', '\r':
		default:
			return false
		}
	}
	return dashes >= 2
}

// ruled marks the row before a |---| line as the header of its table.
func (p *prose) ruled() {
	if n := len(p.blocks); n > 0 && p.blocks[n-1].kind == tableRow {
		p.blocks[n-1].header = true
	}
}

func (p *prose) tokenize(from, to, blck int) {
	code := false
	for i := from; i < to; {
		r, size := utf8.DecodeRuneInString(p.text[i:to])
		switch {
		case r == '`':
			code = !code
			i += size
		case unicode.IsSpace(r) || r == '*' || r == '_' && !wordAt(p.text, i-1):
			i += size
		case isWord(r):
			j := i + size
			for j < to {
				if alphanumeric[p.text[j]] {
					j++
					continue
				}
				r, size := utf8.DecodeRuneInString(p.text[j:to])
				if !isWord(r) && !unicode.Is(unicode.Mn, r) && !(r == '_' && j+1 < to && wordAt(p.text, j+1)) {
					break
				}
				j += size
			}
			low := strings.ToLower(p.text[i:j])
			if low == "http" || low == "https" || low == "www" {
				if k := strings.IndexAny(p.text[j:to], " )\t>|"); k >= 0 {
					j += k
				} else {
					j = to
				}
				low = ""
			}
			p.tokens = append(p.tokens, token{start: i, end: j, low: low, word: true, code: code, blck: blck})
			i = j
		default:
			p.tokens = append(p.tokens, token{start: i, end: i + size, low: p.text[i : i+size], code: code, blck: blck})
			i += size
		}
	}
}

// alphanumeric are the letters and digits of ASCII, of which most words are.
var alphanumeric = func() (a [256]bool) {
	for c := range utf8.RuneSelf {
		a[c] = isWord(rune(c))
	}
	return a
}()

func isWord(r rune) bool { return unicode.IsLetter(r) || unicode.IsDigit(r) }

func wordAt(s string, i int) bool {
	return i >= 0 && i < len(s) && (s[i] >= 0x80 || isWord(rune(s[i])))
}

var abbreviations = set("st dr mr mrs vs approx ca no nr e.g i.e g e mio mrd tsd inc corp co ltd bzw z b etc")

// structure closes blocks, finds their parents and cuts sentences and clauses.
func (p *prose) structure() {
	for i := range p.blocks {
		if i+1 < len(p.blocks) {
			p.blocks[i].span.to = p.blocks[i+1].span.from
		} else {
			p.blocks[i].span.to = len(p.tokens)
		}
	}
	p.parents()
	clause := 0
	for bi := range p.blocks {
		b := &p.blocks[bi]
		if b.kind == tableRow {
			clause = p.cutRow(b, clause)
			continue
		}
		clause = p.cutProse(b.span, clause)
	}
}

func (p *prose) cutRow(b *block, clause int) int {
	clause++
	p.sentences = append(p.sentences, b.span)
	cell := true
	for i := b.span.from; i < b.span.to; i++ {
		if p.tokens[i].low == "|" {
			cell = true
			b.cells = append(b.cells, i+1)
			clause++
		} else if cell {
			cell = false
		}
		p.tokens[i].clause, p.tokens[i].sentence = clause, len(p.sentences)-1
	}
	return clause
}

func (p *prose) cutProse(s span, clause int) int {
	clause++
	begin := s.from
	for i := s.from; i < s.to; i++ {
		t := &p.tokens[i]
		t.clause, t.sentence = clause, len(p.sentences)
		switch {
		case p.endsSentence(i, s.to):
			p.sentences = append(p.sentences, span{begin, i + 1})
			begin = i + 1
			clause++
		case p.endsClause(i, s.to):
			clause++
		}
	}
	if begin < s.to {
		p.sentences = append(p.sentences, span{begin, s.to})
	}
	return clause
}

func (p *prose) endsSentence(i, to int) bool {
	t := &p.tokens[i]
	if t.low != "." && t.low != "!" && t.low != "?" || i+1 >= to {
		return false
	}
	next := p.tokens[i+1]
	if next.start == t.end {
		return false // 1.5, e.g.
	}
	if t.low == "." && i > 0 && p.tokens[i-1].end == t.start {
		if prev := p.tokens[i-1].low; abbreviations[prev] ||
			len(prev) == 1 && prev[0] > '9' && (i < 2 || p.tokens[i-2].low != "°") {
			return false
		}
	}
	r, _ := utf8.DecodeRuneInString(p.text[next.start:])
	// db-01
	named := i+2 < to && p.tokens[i+2].start == next.end && (p.tokens[i+2].low == "-" || p.tokens[i+2].low == "_")
	return next.code || named || !unicode.IsLower(r) || t.low != "."
}

var (
	clauseWords = set("while whereas but although though während aber enquanto mas")
	mayClause   = sieveOf(clauseWords)
)

func (p *prose) endsClause(i, to int) bool {
	t := &p.tokens[i]
	if i+1 < to && mayClause.mayHold(p.tokens[i+1].low) && clauseWords[p.tokens[i+1].low] {
		return true
	}
	switch t.low {
	case ",":
		return i+1 < to && p.tokens[i+1].start > t.end // not within a number
	case ";", "—":
		return true
	case "–", "-":
		return i+1 < to && i > 0 && p.tokens[i+1].start > t.end && p.tokens[i-1].end < t.start
	}
	return false
}

func (p *prose) parents() {
	var stack []int // open list items, outermost first
	head, lead, tableHead := -1, -1, -1
	for i := range p.blocks {
		b := &p.blocks[i]
		if b.kind != item {
			stack = stack[:0]
		}
		if b.kind != tableRow {
			tableHead = -1
		}
		switch b.kind {
		case heading:
			b.parent, head, lead = -1, i, -1
		case paragraph:
			b.parent, lead = head, i
		case tableRow:
			if tableHead < 0 {
				tableHead = i
				b.header = true
			}
			b.parent = tableHead
		case item:
			for len(stack) > 0 && p.blocks[stack[len(stack)-1]].indent >= b.indent {
				stack = stack[:len(stack)-1]
			}
			switch {
			case len(stack) > 0:
				b.parent = stack[len(stack)-1]
			case lead >= 0 && p.endsWithColon(lead):
				b.parent = lead
			default:
				b.parent = head
			}
			stack = append(stack, i)
		}
		if b.parent == i {
			b.parent = -1
		}
	}
}

func (p *prose) endsWithColon(b int) bool {
	s := p.blocks[b].span
	return s.to > s.from && p.tokens[s.to-1].low == ":"
}

var mayStyle = sieveOf(commaStyle, dotStyle)

// usesComma decides whether 1.234 means a thousand and more: by the language's small words, or by numbers that can be
// read in one way only.
func (p *prose) usesComma() bool {
	score := 0
	for i := range p.tokens {
		t := &p.tokens[i]
		if mayStyle.mayHold(t.low) {
			switch {
			case commaStyle[t.low]:
				score++
			case dotStyle[t.low]:
				score--
			}
		}
		if i+2 < len(p.tokens) && t.word && isDigits(t.low) && p.tokens[i+1].start == t.end &&
			p.tokens[i+2].start == p.tokens[i+1].end {
			frac := p.tokens[i+2].low
			if isDigits(frac) && len(frac) != 3 && len(frac) < 9 {
				switch p.tokens[i+1].low {
				case ",":
					score += 2
				case ".":
					score -= 2
				}
			}
		}
	}
	return score > 0
}

func isDigits(s string) bool {
	for i := 0; i < len(s); i++ {
		if s[i] < '0' || s[i] > '9' {
			return false
		}
	}
	return len(s) > 0
}
