package cite

import (
	"slices"
	"sort"
	"strings"
	"unicode"
	"unicode/utf8"
)

// What the text names of the results: labels (text and date cells, which stand
// for their rows) and columns. The text is indexed once by its word sequences and
// every cell is looked up in it, so that the work is linear in text and results.

const (
	maxLabelWords = 8
	maxRowsPerHit = 5000    // a label of more rows identifies nothing
	maxCells      = 4 << 20 // cells looked at in one Resolve
	maxDates      = 100     // distinct dates of a text looked for in date columns
)

// mention is a place in the text that names rows.
type mention struct {
	from, to int // tokens
	hits     []hit
	date     bool
}

// hit says which rows of a result a mention names, through which column.
type hit struct {
	table, col int
	rows       []int32
	wide       bool
}

// columnMention is a place in the text that names columns.
type columnMention struct {
	from, to int
	cols     []colRef
	full     bool // the whole name is there
	vague    bool // it is a word like "average" that says how, not what
}

type colRef struct{ table, col int }

type wordKey struct{ from, to int }

// labels finds the mentions of cells of every table.
func (r *resolver) labels() {
	if len(r.tables) == 0 {
		return // nothing can be named
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
				if t.cols[ci].key {
					r.keyLabels(ti, ci, found)
				}
			}
		}
	}
	r.arrange(found)
}

// wordIndex says where each sequence of words of the text stands: a list per
// sequence, through next. The sequences are parts of one string.
type wordIndex struct {
	head map[string]int32 // into at, plus 1
	at   []wordKey
	next []int32
}

func (x *wordIndex) add(key string, k wordKey) {
	x.at = append(x.at, k)
	x.next = append(x.next, x.head[key])
	x.head[key] = int32(len(x.at))
}

// places lists where a sequence stands, in text order.
func (x *wordIndex) places(key string) []wordKey {
	var out []wordKey
	for i := x.head[key]; i > 0; i = x.next[i-1] {
		out = append(out, x.at[i-1])
	}
	slices.Reverse(out)
	return out
}

// indexWords reads the text. Sequences longer than any label are left out.
func (r *resolver) indexWords() *wordIndex {
	p := r.prose
	var all strings.Builder
	starts := make([]int32, len(p.tokens))
	for i, t := range p.tokens {
		starts[i] = int32(all.Len())
		if t.word {
			all.WriteString(t.low)
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
			key := text[starts[i] : int(starts[j])+len(u.low)]
			if len(key) > maxLabelBytes {
				break
			}
			x.addForms(key, p.low(j-1), u.low, words, wordKey{i, j + 1})
		}
	}
	return x
}

// addForms adds a sequence as it stands, as a singular, and as the noun of a verb.
func (x *wordIndex) addForms(key, before, last string, words int, k wordKey) {
	x.add(key, k)
	switch words {
	case 1:
		if noun := nounOf[last]; noun != "" {
			x.add(noun, k)
		}
		if verb, ok := strings.CutSuffix(strings.TrimSuffix(last, "s"), "or"); ok && len(verb) > 3 {
			x.add(verb+"ed", k) // the visitors of a step Visited
		}
	case 2:
		if noun := phrasal(before, last); noun != "" {
			x.add(noun, k)
		}
	}
	if s, ok := strings.CutSuffix(key, "s"); ok && len(last) > 3 {
		x.add(s, k)
		if s, ok = strings.CutSuffix(key, "es"); ok {
			x.add(s, k)
		}
	}
}

// longestLabel is how many words the cells of labels have at most; it stops at
// what is looked for.
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
				if longest = max(longest, wordCount(s)); longest >= maxLabelWords {
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
		if word && !in || c >= 0x80 && (c == 0xe2 || c == 0xc2) { // a dash or a blank of more than one byte
			n++
		}
		in = word
	}
	return n
}

const maxLabelBytes = 120

var particles = set("up out in off back down")

// phrasal leads from "picked up" to a label Pickup.
func phrasal(verb, particle string) string {
	s, ok := strings.CutSuffix(verb, "ed")
	if !ok || len(s) < 3 || !particles[particle] {
		return ""
	}
	if n := len(s); s[n-1] == s[n-2] && s[n-1] == 'p' {
		s = s[:n-1] // dropped off
	}
	return s + particle
}

// labelKey appends the words of a cell in lower case, the form of the index.
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

func (r *resolver) textLabels(ti, ci int, index *wordIndex, found map[wordKey]*mention) {
	t := &r.tables[ti]
	var buf []byte
	byKey := map[string]*rowSet{}
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
	}
	r.shortNames(ti, ci, index, found)
	for key, set := range byKey {
		r.place(index.places(key), set, dim{ti, ci}, found, func(at wordKey) bool { return r.names(at, set.cell) })
	}
}

// maxShortNames is the most rows of a result whose labels can be cut short.
const maxShortNames = 200

// shortNames finds a row by one word of its label that no other label has: "Ben"
// for Ben Carter.
func (r *resolver) shortNames(ti, ci int, index *wordIndex, found map[wordKey]*mention) {
	t := &r.tables[ti]
	if len(t.rows) > maxShortNames || !t.cols[ci].unique {
		return
	}
	sets := map[string]*rowSet{}
	for ri, row := range t.rows {
		s, _ := row[ci].(string)
		words := strings.Fields(s)
		if len(words) < 2 || len(s) > maxLabelBytes {
			continue
		}
		for _, w := range words {
			low := strings.ToLower(w)
			c, _ := utf8.DecodeRuneInString(w)
			if len(w) < 3 || !unicode.IsUpper(c) || index.head[low] == 0 || common(low) || r.columnWords[stem(low)] {
				continue
			}
			if sets[low] == nil {
				sets[low] = &rowSet{cell: w}
			}
			sets[low].add(ri)
		}
	}
	for low, set := range sets {
		if len(set.rows) == 1 {
			r.place(index.places(low), set, dim{ti, ci}, found, func(at wordKey) bool {
				c, _ := utf8.DecodeRuneInString(r.prose.text[r.prose.tokens[at.from].start:])
				return at.to-at.from == 1 && unicode.IsUpper(c) && r.names(at, set.cell)
			})
		}
	}
}

// rowSet is the rows in which one label stands.
type rowSet struct {
	cell string
	rows []int32
	wide bool
}

func (s *rowSet) add(ri int) {
	if len(s.rows) >= maxRowsPerHit {
		s.wide = true
		return
	}
	if n := len(s.rows); n == 0 || s.rows[n-1] != int32(ri) {
		s.rows = append(s.rows, int32(ri))
	}
}

// place records that all these places name the rows. The rows are shared.
func (r *resolver) place(places []wordKey, set *rowSet, d dim, found map[wordKey]*mention, keep func(wordKey) bool) {
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
			m.hits = append(m.hits, hit{table: d.table, col: d.col, rows: set.rows, wide: set.wide})
		} else {
			h.rows = union(h.rows, set.rows)
		}
	}
}

// names rejects words that are in the text for their own sake: "may", "total",
// "all", where the cell writes May, Total, All.
func (r *resolver) names(at wordKey, cell string) bool {
	p := r.prose
	for i := at.from; i < at.to; i++ {
		if k := r.numeralAt[i]; k >= 0 && r.numerals[k].kind == calendar && (r.numerals[k].from < at.from || r.numerals[k].to > at.to) {
			return false // the 2023 of 30.06.2023
		}
	}
	if at.to-at.from > 1 {
		return true
	}
	t := p.tokens[at.from]
	c, _ := utf8.DecodeRuneInString(p.text[t.start:])
	d, _ := utf8.DecodeRuneInString(cell)
	if isDigits(t.low) {
		return len(t.low) > 3 || p.glued(at.from)
	}
	if t.end-t.start > 1 && p.text[t.start:t.end] == cell && strings.ToUpper(cell) == cell {
		return true // IT, US
	}
	if unicode.IsLower(c) && unicode.IsUpper(d) && !t.code {
		return !common(t.low) && !r.columnWords[stem(t.low)]
	}
	return !common(t.low) || t.code || unicode.IsUpper(c) && !(p.firstWord(at.from) && functional(t.low))
}

// functional words begin sentences for reasons of their own.
func functional(w string) bool {
	return stop[w] || linkWords[w] || articles[w] || pronouns[w] || conjunctions[w] || w == "no" || w == "all" || w == "most" || w == "other"
}

func common(w string) bool {
	return len(w) < 2 || stop[w] || linkWords[w] || articles[w] || totalCues[w] || months[w] > 0 || generic[w] || maxCues[w] || minCues[w] || pronouns[w] || conjunctions[w] || upCues[w] || downCues[w] || w == "other" || w == "new" || w == "no" || w == "yes"
}

func (p *prose) firstWord(i int) bool {
	return p.sentences[p.tokens[i].sentence].from == i
}

// dateLabels finds the dates and months of the text among the cells of a column.
func (r *resolver) dateLabels(ti, ci int, found map[wordKey]*mention) {
	if len(r.dates) == 0 {
		return
	}
	sets := make([]rowSet, len(r.dates))
	text := r.tables[ti].cols[ci].role == roleText
	for ri, row := range r.tables[ti].rows {
		s, ok := row[ci].(string)
		if !ok || s == "" {
			continue
		}
		if !r.spend(1 + len(r.dates)/4) {
			return
		}
		if text && (s[0] < '0' || s[0] > '9') && len(s) > 9 {
			continue
		}
		d, ok := cellDate(s)
		if !ok {
			continue
		}
		for i := range r.dates {
			if r.dates[i].date.covers(d) {
				sets[i].add(ri)
			}
		}
	}
	for i := range sets {
		if len(sets[i].rows) > 0 {
			r.place(r.dates[i].places, &sets[i], dim{ti, ci}, found, func(wordKey) bool { return true })
			for _, at := range r.dates[i].places {
				if m := found[at]; m != nil {
					m.date = true
				}
			}
		}
	}
}

// textDate is a date the text says, and where.
type textDate struct {
	date   date
	places []wordKey
}

// collectDates gathers the dates of the text: calendar numerals, years, and
// months that stand alone.
func (r *resolver) collectDates() {
	at := map[date]int{}
	put := func(d date, k wordKey) {
		i, ok := at[d]
		if !ok {
			if len(r.dates) == maxDates {
				return
			}
			i = len(r.dates)
			at[d] = i
			r.dates = append(r.dates, textDate{date: d})
		}
		r.dates[i].places = append(r.dates[i].places, k)
	}
	covered := map[int]bool{}
	for _, n := range r.numerals {
		if n.kind == calendar && (n.date.month > 0 || n.date.year > 0) || n.year && !n.currency {
			put(n.date, wordKey{n.from, n.to})
			for i := n.from; i < n.to; i++ {
				covered[i] = true
			}
		}
	}
	for i, t := range r.prose.tokens {
		m := months[t.low]
		if m == 0 || covered[i] {
			continue
		}
		if c, _ := utf8.DecodeRuneInString(r.prose.text[t.start:]); unicode.IsUpper(c) {
			put(date{month: m, hour: -1, minute: -1}, wordKey{i, i + 1})
		}
	}
}

// keyLabels finds whole numbers of the text in columns of identifiers and years.
func (r *resolver) keyLabels(ti, ci int, found map[wordKey]*mention) {
	places := map[int64][]wordKey{}
	for _, n := range r.numerals {
		if n.kind != number || len(n.readings) == 0 || n.scaled || n.percent || n.currency || n.word || n.to-n.from > 2 {
			continue
		}
		if v := n.readings[0].val; v.IsInt() && v.Num().IsInt64() && v.Num().Int64() >= 1000 {
			places[v.Num().Int64()] = append(places[v.Num().Int64()], wordKey{n.from, n.to})
		}
	}
	if len(places) == 0 {
		return
	}
	sets := map[int64]*rowSet{}
	for ri, row := range r.tables[ti].rows {
		if !r.spend(1) {
			return
		}
		if v, ok := row[ci].(int64); ok && len(places[v]) > 0 {
			if sets[v] == nil {
				sets[v] = &rowSet{}
			}
			sets[v].add(ri)
		}
	}
	for v, set := range sets {
		r.place(places[v], set, dim{ti, ci}, found, func(wordKey) bool { return true })
	}
}

// arrange sorts the mentions by place and drops those inside longer ones.
func (r *resolver) arrange(found map[wordKey]*mention) {
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

// nameWords splits a column's name: avg_order_value, avgOrderValue, "Order value".
func nameWords(name string) []string {
	var words []string
	var b strings.Builder
	flush := func() {
		if b.Len() > 0 {
			words = append(words, stem(b.String()))
			b.Reset()
		}
	}
	var prev rune
	for _, c := range name {
		switch {
		case !isWord(c):
			flush()
		case unicode.IsUpper(c) && unicode.IsLower(prev):
			flush()
			b.WriteRune(unicode.ToLower(c))
		default:
			b.WriteRune(unicode.ToLower(c))
		}
		prev = c
	}
	flush()
	return words
}

// verbStems leads from "closed" to a column close.
func verbStems(w string) []string {
	for _, ending := range []string{"ed", "ing"} {
		if s, ok := strings.CutSuffix(w, ending); ok && len(s) > 2 {
			return []string{s, s + "e", s + "ing"}
		}
	}
	return nil
}

// hasStop: goals_for is not named by "goals".
func (r *resolver) hasStop(cols []colRef) bool {
	for _, c := range cols {
		for _, w := range r.tables[c.table].cols[c.col].words {
			if stop[w] {
				return true
			}
		}
	}
	return false
}

func weight(w string) int {
	if generic[w] || isDigits(w) && len(w) != 4 {
		return 1
	}
	return 3
}

// columns finds where the text names columns. The longest run of words that are
// all in one column's name wins, and of the columns it fits those it fits best.
func (r *resolver) columns() {
	byWord := map[string][]colRef{}
	words := map[colRef]map[string]bool{}
	for ti := range r.tables {
		for ci := range r.tables[ti].cols {
			ref := colRef{ti, ci}
			words[ref] = map[string]bool{}
			for _, w := range r.tables[ti].cols[ci].words {
				if !stop[w] && !words[ref][w] {
					words[ref][w] = true
					byWord[w] = append(byWord[w], ref)
				}
			}
		}
	}
	p := r.prose
	r.colBySentence = make([][]*columnMention, len(p.sentences))
	if len(byWord) == 0 {
		return
	}
	for i := 0; i < len(p.tokens); {
		m := r.columnAt(i, byWord, words)
		if m == nil {
			i++
			continue
		}
		s := p.tokens[i].sentence
		r.colBySentence[s] = append(r.colBySentence[s], m)
		i = m.to
	}
}

func (r *resolver) columnAt(i int, byWord map[string][]colRef, words map[colRef]map[string]bool) *columnMention {
	p := r.prose
	if !p.tokens[i].word {
		return nil
	}
	if m := r.acronymAt(i, byWord); m != nil {
		return m
	}
	first := stem(p.tokens[i].low)
	cands := byWord[first]
	for _, verb := range verbStems(p.tokens[i].low) {
		if len(cands) == 0 {
			first = verb
			cands = byWord[verb]
		}
	}
	if len(cands) == 0 {
		return nil
	}
	seen := map[string]bool{first: true}
	to := i + 1
	for j := i + 1; j < len(p.tokens) && j < i+9 && p.tokens[j].clause == p.tokens[i].clause; j++ {
		t := p.tokens[j]
		if stop[t.low] || t.low == "-" || t.low == "'" || t.low == "’" || t.low == "s" {
			continue
		}
		w := stem(t.low)
		if !t.word {
			break
		}
		var next []colRef
		for _, c := range cands {
			if words[c][w] {
				next = append(next, c)
			}
		}
		if len(next) == 0 || seen[w] {
			break
		}
		cands, to = next, j+1
		seen[w] = true
	}
	return r.fit(i, to, seen, cands, words)
}

// fit keeps the columns whose names the words cover best.
func (r *resolver) fit(from, to int, seen map[string]bool, cands []colRef, words map[colRef]map[string]bool) *columnMention {
	m := &columnMention{from: from, to: to}
	got, telling := 0, false
	for w := range seen {
		got += weight(w)
		telling = telling || weight(w) > 1
	}
	best := 0
	for _, c := range cands {
		all := 0
		for w := range words[c] {
			all += weight(w)
		}
		score := got * 1000 / max(all, 1)
		if score > best {
			best, m.cols = score, nil
		}
		if score == best {
			m.cols = append(m.cols, c)
		}
	}
	m.full = best >= 1000 && !r.hasStop(m.cols)
	if !m.full {
		m.cols = cands // a part of several names: any of them
	}
	if !telling && !m.full {
		if to-from > 1 || !vague[stem(r.prose.low(from))] {
			return nil
		}
		m.vague = true // "the average was 2.4": of some column that says so
	}
	return m
}

// maxNear is how many mentions on either side of a numeral are considered.
const maxNear = 24

// near gives the labels around a numeral in its sentence, in text order.
func (r *resolver) near(n *numeral) []*mention {
	ms := r.bySentence[r.prose.tokens[n.from].sentence]
	i := sort.Search(len(ms), func(i int) bool { return ms[i].from >= n.from })
	return ms[max(0, i-maxNear):min(len(ms), i+maxNear)]
}

// nearColumns gives the column names around a numeral in its sentence.
func (r *resolver) nearColumns(n *numeral) []*columnMention {
	ms := r.colBySentence[r.prose.tokens[n.from].sentence]
	i := sort.Search(len(ms), func(i int) bool { return ms[i].from >= n.from })
	return ms[max(0, i-maxNear):min(len(ms), i+maxNear)]
}

// acronymAt reads "monthly active users" as the column mau.
func (r *resolver) acronymAt(i int, byWord map[string][]colRef) *columnMention {
	p := r.prose
	var letters [5]byte
	n := 0
	for j := i; j < len(p.tokens) && n < len(letters); j++ {
		t := p.tokens[j]
		if !t.word || t.low == "" || t.low[0] < 'a' || t.low[0] > 'z' || t.clause != p.tokens[i].clause {
			return nil
		}
		letters[n] = t.low[0]
		if n++; n < 3 {
			continue
		}
		for _, c := range byWord[string(letters[:n])] {
			if strings.EqualFold(r.tables[c.table].cols[c.col].name, string(letters[:n])) {
				return &columnMention{from: i, to: j + 1, cols: []colRef{c}, full: true}
			}
		}
	}
	return nil
}
