package cite

import (
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/footnotehq/footnote/internal/visible"
)

// prose is an answer split into tokens, with the clause, sentence and block of each token. Code fences have no tokens.
// Inline code has tokens, so that `orders` can name a table, but no numerals.
type prose struct {
	text         string
	tokens       []token
	sentences    []span // token ranges
	blocks       []block
	decimalComma bool // numbers are written 1.234,5
}

// token is a word, a run of digits or one mark of punctuation.
type token struct {
	start, end     int
	low            string
	word           bool // letters and digits
	code           bool
	glossed        bool // low is its English translation
	clause         int  // number, counted through the text
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

// block is a paragraph, a heading, a list item or a table row. parent is the block whose subject also applies to this
// one: the list item above, the introduction of the list, the heading, or, for a table row, its header row. It is -1 if
// there is none.
type block struct {
	kind   blockKind
	indent int
	parent int
	span   span
	cells  []int // tableRow: first token of each cell
	header bool  // tableRow
}

// maxText is the number of bytes of an answer that are analysed. Numerals beyond it are listed as unresolved.
const maxText = 128 << 10

// parse splits a text into blocks, sentences, clauses and tokens.
func parse(text string) *prose {
	text = visible.Blank(text) // the 200 in the code of a hidden character is not a number
	p := &prose{text: text, tokens: make([]token, 0, len(text)/5+8)}
	fence := ""
	var last block
	open := false // the next line may continue last
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
	p.decimalComma = p.usesDecimalComma()
	p.gloss()
	return p
}

// lineKind returns the kind of a line, and the line without its marker.
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
	for _, bullet := range []string{"- ", "* ", "+ ", "• ", "– "} {
		if strings.HasPrefix(s, bullet) {
			return item, s[len(bullet):]
		}
	}
	n := digitRun(s)
	if n > 0 && n < 4 && len(s) > n+1 && (s[n] == '.' || s[n] == ')') && s[n+1] == ' ' {
		return item, s[n+2:]
	}
	return paragraph, s
}

// tokenize appends the tokens of a line to a block.
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

// alphanumeric marks the ASCII letters and digits, which make up most words.
var alphanumeric = func() (a [256]bool) {
	for c := range utf8.RuneSelf {
		a[c] = isWord(rune(c))
	}
	return a
}()

func isWord(r rune) bool { return unicode.IsLetter(r) || unicode.IsDigit(r) }

// wordAt reports whether byte i of s is part of a word.
func wordAt(s string, i int) bool {
	return i >= 0 && i < len(s) && (s[i] >= 0x80 || isWord(rune(s[i])))
}

var abbreviations = set("st dr mr mrs vs approx ca no nr e.g i.e g e mio mrd tsd inc corp co ltd bzw z b etc")

// structure sets the ends and parents of blocks, and splits them into sentences and clauses.
func (p *prose) structure() {
	for i := range p.blocks {
		if i+1 < len(p.blocks) {
			p.blocks[i].span.to = p.blocks[i+1].span.from
		} else {
			p.blocks[i].span.to = len(p.tokens)
		}
	}
	p.setParents()
	clause := 0
	for bi := range p.blocks {
		b := &p.blocks[bi]
		if b.kind == tableRow {
			clause = p.splitRow(b, clause)
			continue
		}
		clause = p.splitSentences(b.span, clause)
	}
}

// splitRow makes a table row one sentence and each of its cells a clause. It returns the last clause number.
func (p *prose) splitRow(b *block, clause int) int {
	clause++
	p.sentences = append(p.sentences, b.span)
	for i := b.span.from; i < b.span.to; i++ {
		if p.tokens[i].low == "|" {
			b.cells = append(b.cells, i+1)
			clause++
		}
		p.tokens[i].clause, p.tokens[i].sentence = clause, len(p.sentences)-1
	}
	return clause
}

// splitSentences splits tokens into sentences and clauses. It returns the last clause number.
func (p *prose) splitSentences(s span, clause int) int {
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

// endsSentence reports whether a sentence ends with token i. to is the end of the block.
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
	// a name such as db-01
	named := i+2 < to && p.tokens[i+2].start == next.end && (p.tokens[i+2].low == "-" || p.tokens[i+2].low == "_")
	return next.code || named || !unicode.IsLower(r) || t.low != "."
}

var (
	clauseWords = set("while whereas but although though während aber enquanto mas")
	mayClause   = sieveOf(clauseWords)
)

// endsClause reports whether a clause ends with token i. to is the end of the block.
func (p *prose) endsClause(i, to int) bool {
	t := &p.tokens[i]
	if i+1 < to && mayClause.mayContain(p.tokens[i+1].low) && clauseWords[p.tokens[i+1].low] {
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

// setParents sets the parent of each block.
func (p *prose) setParents() {
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

// usesDecimalComma reports whether 1.234 means 1234 in this text, judged by the numbers that can be read in only one
// way.
func (p *prose) usesDecimalComma() bool {
	score := 0
	for i := range p.tokens {
		t := &p.tokens[i]
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
