package cite

import (
	"slices"
	"sort"
	"strings"
	"unicode"
	"unicode/utf8"
)

// This file finds the labels of the results (text and date cells, which identify rows) in the text. It indexes the word
// sequences of the text once and looks up every cell in the index, so that the work is linear in text and results.

const (
	maxLabelWords = 8
	maxRowsPerHit = 5000    // a label with more rows is ignored
	maxCells      = 4 << 20 // cells examined in one Resolve
	maxDates      = 100     // distinct dates of a text that are searched for in date columns
)

// mention is a place in the text that names rows.
type mention struct {
	from, to int // tokens
	hits     []hit
	date     bool
}

// hit is the set of rows of a result that a mention names by one column.
type hit struct {
	table, col int
	rows       []int32
	tooMany    bool
}

type wordKey struct{ from, to int }

// labels finds the mentions of cells of every table.
func (r *resolver) labels() {
	if len(r.tables) == 0 {
		return
	}
	index := r.indexWords()
	found := map[wordKey]*mention{}
	for ti := range r.tables {
		t := &r.tables[ti]
		for ci := range t.cols {
			switch t.cols[ci].role {
			case roleText:
				r.textLabels(ti, ci, index, found)
				r.dateLabels(ti, ci, found)
			case roleDate:
				r.dateLabels(ti, ci, found)
			case roleNumber:
				if t.cols[ci].key || t.cols[ci].unique {
					r.keyLabels(ti, ci, found)
				}
			}
		}
	}
	r.arrangeMentions(found)
}

// wordIndex maps each sequence of words in the text to its places, which form a linked list through next. The sequences
// are parts of one string.
type wordIndex struct {
	head map[string]int32 // index into at, plus 1
	at   []wordKey
	next []int32
}

func (x *wordIndex) add(key string, k wordKey) {
	x.at = append(x.at, k)
	x.next = append(x.next, x.head[key])
	x.head[key] = int32(len(x.at))
}

// places returns the places of a sequence, in text order.
func (x *wordIndex) places(key string) []wordKey {
	var out []wordKey
	for i := x.head[key]; i > 0; i = x.next[i-1] {
		out = append(out, x.at[i-1])
	}
	slices.Reverse(out)
	return out
}

// indexWords indexes the text. It leaves out sequences that are longer than any label.
func (r *resolver) indexWords() *wordIndex {
	p := r.prose
	var all strings.Builder
	starts := make([]int32, len(p.tokens))
	for i, t := range p.tokens {
		starts[i] = int32(all.Len())
		if t.word {
			all.WriteString(p.ownWord(i))
			all.WriteByte(' ')
		}
	}
	text, longest := all.String(), r.longestLabel()
	x := &wordIndex{head: make(map[string]int32, len(p.tokens)*longest)}
	for i, t := range p.tokens {
		if !t.word || t.low == "" {
			continue
		}
		words := 0
		for j := i; j < len(p.tokens) && words < max(longest, 2) && p.tokens[j].sentence == t.sentence; j++ {
			u := p.tokens[j]
			if u.low == "|" {
				break
			}
			if !u.word {
				continue
			}
			words++
			own := p.ownWord(j)
			key := text[starts[i] : int(starts[j])+len(own)]
			if len(key) > maxLabelBytes {
				break
			}
			x.addForms(key, p.low(j-1), own, words, wordKey{i, j + 1})
		}
	}
	return x
}

// addForms adds a sequence as written, as a singular, and as the noun for a verb.
func (x *wordIndex) addForms(key, before, last string, words int, k wordKey) {
	x.add(key, k)
	if s, ok := strings.CutSuffix(key, "s"); ok && len(last) > 3 {
		x.add(s, k)
		if s, ok = strings.CutSuffix(key, "es"); ok {
			x.add(s, k)
		}
	}
}

// longestLabel returns the number of words of the longest label. It stops counting at the largest number that is
// searched for.
func (r *resolver) longestLabel() int {
	longest := 1
	for ti := range r.tables {
		t := &r.tables[ti]
		for ci, c := range t.cols {
			if c.role != roleText {
				continue
			}
			for _, row := range t.rows {
				s, _ := row[ci].(string)
				count := wordCount(s)
				if longest = max(longest, count); longest >= maxLabelWords {
					return maxLabelWords
				}
			}
		}
	}
	return longest
}

func wordCount(s string) int {
	n, in := 0, false
	for i := 0; i < len(s) && i < maxLabelBytes; i++ {
		c := s[i]
		word := c >= 0x80 || c >= 'a' && c <= 'z' || c >= 'A' && c <= 'Z' || c >= '0' && c <= '9'
		if word && !in || c >= 0x80 && (c == 0xe2 || c == 0xc2) { // possibly a dash or space of several bytes
			n++
		}
		in = word
	}
	return n
}

const maxLabelBytes = 120

// labelKey appends the words of a cell in lower case, as the index has them.
func labelKey(dst []byte, s string) []byte {
	in := false
	for _, c := range s {
		if !isWord(c) && !unicode.Is(unicode.Mn, c) {
			in = false
			continue
		}
		if !in && len(dst) > 0 {
			dst = append(dst, ' ')
		}
		in = true
		dst = utf8.AppendRune(dst, unicode.ToLower(c))
	}
	return dst
}

// textLabels finds the mentions of the cells of a text column.
func (r *resolver) textLabels(ti, ci int, index *wordIndex, found map[wordKey]*mention) {
	t := &r.tables[ti]
	var buf []byte
	byKey := map[string]*rowSet{}
	aliases := t.aliasesOf(ci)
	put := func(key []byte, ri int, cell string) {
		if index.head[string(key)] == 0 {
			return
		}
		set := byKey[string(key)]
		if set == nil {
			set = &rowSet{cell: cell}
			byKey[string(key)] = set
		}
		set.add(ri)
	}
	for ri, row := range t.rows {
		if !r.spend(1) {
			return
		}
		s, ok := row[ci].(string)
		if !ok || len(s) == 0 || len(s) > maxLabelBytes {
			continue
		}
		if strings.Contains(s, "_") {
			put([]byte(strings.ToLower(s)), ri, s)
			s = strings.ReplaceAll(s, "_", " ")
		}
		buf = labelKey(buf[:0], s)
		put(buf, ri, s)
		if n := len(buf) - 1; n > 4 && buf[n] == 's' && buf[n-1] != 's' {
			put(buf[:n], ri, s) // "a geriatric patient" for the label Geriatrics
		}
		for _, form := range rangeForms(s) {
			put([]byte(form), ri, s)
		}
		for _, name := range aliases[string(buf)] {
			if name != string(buf) {
				put([]byte(name), ri, strings.ToUpper(name[:1])+name[1:])
			}
		}
	}
	r.shortNames(ti, ci, index, found)
	for key, set := range byKey {
		r.addMentions(index.places(key), set, dim{ti, ci}, found,
			func(at wordKey) bool { return r.canBeLabel(at, set.cell) })
	}
}

// maxShortNames is the maximum number of rows of a result whose labels may be shortened.
const maxShortNames = 200

// shortNames finds rows by one word of their label that no other label contains: "Ben" for Ben Carter.
func (r *resolver) shortNames(ti, ci int, index *wordIndex, found map[wordKey]*mention) {
	t := &r.tables[ti]
	if len(t.rows) > maxShortNames {
		return
	}
	sets := map[string]*rowSet{}
	of := map[string]string{} // the label with the word, or "" if there are several
	for ri, row := range t.rows {
		s, _ := row[ci].(string)
		words := strings.Fields(s)
		if len(words) < 2 || len(s) > maxLabelBytes {
			continue
		}
		for _, w := range words {
			low := strings.ToLower(w)
			c, _ := utf8.DecodeRuneInString(w)
			if len(w) < 3 || !unicode.IsUpper(c) || index.head[low] == 0 || isCommonWord(low) ||
				r.columnWords[stem(low)] {
				continue
			}
			if sets[low] == nil {
				sets[low] = &rowSet{cell: w}
				of[low] = s
			} else if of[low] != s {
				of[low] = ""
			}
			sets[low].add(ri)
		}
	}
	for low, set := range sets {
		if of[low] != "" {
			r.addMentions(index.places(low), set, dim{ti, ci}, found, func(at wordKey) bool {
				c, _ := utf8.DecodeRuneInString(r.prose.text[r.prose.tokens[at.from].start:])
				return at.to-at.from == 1 && unicode.IsUpper(c) && r.canBeLabel(at, set.cell)
			})
		}
	}
}

// rowSet is the set of rows with one label.
type rowSet struct {
	cell    string
	rows    []int32
	tooMany bool
}

func (s *rowSet) add(ri int) {
	if len(s.rows) >= maxRowsPerHit {
		s.tooMany = true
		return
	}
	if n := len(s.rows); n == 0 || s.rows[n-1] != int32(ri) {
		s.rows = append(s.rows, int32(ri))
	}
}

// addMentions records that each of the places for which keep is true names the rows of set, by column d. The mentions
// share the slice of rows.
func (r *resolver) addMentions(places []wordKey, set *rowSet, d dim, found map[wordKey]*mention,
	keep func(wordKey) bool) {
	for _, at := range places {
		if !r.spend(1) {
			return
		}
		if !keep(at) {
			continue
		}
		m := found[at]
		if m == nil {
			m = &mention{from: at.from, to: at.to}
			found[at] = m
		}
		if h := m.hit(d); h == nil {
			m.hits = append(m.hits, hit{table: d.table, col: d.col, rows: set.rows, tooMany: set.tooMany})
		} else {
			h.rows = union(h.rows, set.rows)
		}
	}
}

// canBeLabel reports whether the words at a place can be a label, and not just ordinary words such as "may", "total" or
// "all" for the cells May, Total and All.
func (r *resolver) canBeLabel(at wordKey, cell string) bool {
	p := r.prose
	for i := at.from; i < at.to; i++ {
		if k := r.numeralAt[i]; k >= 0 && r.numerals[k].kind == calendar &&
			(r.numerals[k].from < at.from || r.numerals[k].to > at.to) {
			return false // the 2023 in 30.06.2023
		}
		if k := r.numeralAt[i]; k >= 0 && r.numerals[k].kind == number && !r.numerals[k].percent &&
			(r.numerals[k].from < at.from || r.numerals[k].to > at.to) {
			return false // the 2022 in 2022,0
		}
	}
	if at.to-at.from > 1 {
		return true
	}
	t := p.tokens[at.from]
	c, _ := utf8.DecodeRuneInString(p.text[t.start:])
	d, _ := utf8.DecodeRuneInString(cell)
	if isDigits(t.low) {
		return len(t.low) > 3 || p.hasPrefix(at.from)
	}
	if t.end-t.start > 1 && p.text[t.start:t.end] == cell && strings.ToUpper(cell) == cell {
		return true // IT, US
	}
	if unicode.IsLower(c) && unicode.IsUpper(d) && !t.code {
		return !isCommonWord(t.low) && !r.columnWords[stem(t.low)] && synonyms[t.low] == ""
	}
	return !isCommonWord(t.low) || t.code || unicode.IsUpper(c) && !(p.firstWord(at.from) && isFunctionWord(t.low))
}

// isFunctionWord reports whether a word often begins a sentence, so that its capital letter does not show that it is a
// label.
func isFunctionWord(w string) bool {
	return stop[w] || linkWords[w] || articles[w] || pronouns[w] || conjunctions[w] || w == "no" || w == "all" ||
		w == "most" || w == "other"
}

// isCommonWord reports whether a word is too common in prose to be a label.
func isCommonWord(w string) bool {
	return len(w) < 2 || stop[w] || linkWords[w] || articles[w] || totalCues[w] || months[w] > 0 || generic[w] ||
		maxCues[w] || minCues[w] || pronouns[w] || conjunctions[w] || upCues[w] || downCues[w] || w == "other" ||
		w == "new" || w == "no" || w == "yes"
}

func (p *prose) firstWord(i int) bool {
	return p.sentences[p.tokens[i].sentence].from == i
}

// arrangeMentions sorts the mentions by place and drops those inside longer ones.
func (r *resolver) arrangeMentions(found map[wordKey]*mention) {
	best := make([]*mention, len(r.prose.tokens))
	for _, m := range found {
		for i := m.from; i < m.to; i++ {
			b := best[i]
			if b == nil || m.to-m.from > b.to-b.from || m.to-m.from == b.to-b.from && m.from < b.from {
				best[i] = m
			}
		}
	}
	for i, m := range best {
		if m == nil || i != m.from {
			continue
		}
		whole := true
		for j := m.from; j < m.to; j++ {
			whole = whole && best[j] == m
		}
		if whole {
			r.mentions = append(r.mentions, m)
			r.bySentence[r.prose.tokens[i].sentence] = append(r.bySentence[r.prose.tokens[i].sentence], m)
		}
	}
}

// maxNear is the maximum number of mentions considered on either side of a numeral.
const maxNear = 24

// labelsNear returns the labels around a numeral in its sentence, in text order.
func (r *resolver) labelsNear(n *numeral) []*mention {
	ms := r.bySentence[r.prose.tokens[n.from].sentence]
	i := sort.Search(len(ms), func(i int) bool { return ms[i].from >= n.from })
	return ms[max(0, i-maxNear):min(len(ms), i+maxNear)]
}
