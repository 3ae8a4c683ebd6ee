package cite

import (
	"slices"
	"sort"
	"strings"
	"unicode"
)

// This file finds where the text names columns: by the words of their names, by related words and synonyms, and by
// acronyms.

// columnMention is a place in the text that names columns.
type columnMention struct {
	from, to int
	cols     []colRef
	full     bool // the text has the whole name
	vague    bool // a word such as "average", which does not say what is measured
}

type colRef struct{ table, col int }

// nameWords returns the stems of the words in a column's name: avg_order_value, avgOrderValue, "Order value".
func nameWords(name string) []string {
	words := splitName(name)
	for i, w := range words {
		words[i] = stem(w)
	}
	return words
}

// splitName returns the words of a column's name in lower case. A year is a separate word (y2021, revenue2024).
func splitName(name string) []string {
	var words []string
	var b strings.Builder
	flush := func() {
		w := b.String()
		b.Reset()
		if n := len(w) - 4; n > 0 && isDigits(w[n:]) && !isDigits(w[n-1:]) && (w[n:n+2] == "19" || w[n:n+2] == "20") {
			if n > 2 {
				words = append(words, w[:n])
			}
			w = w[n:]
		}
		if w != "" {
			words = append(words, w)
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

// hasStop reports whether the name of a column contains a stop word: "goals" is not the full name of goals_for.
func (r *resolver) hasStop(cols []colRef) bool {
	return slices.ContainsFunc(cols, func(c colRef) bool { return hasAny(r.tables[c.table].cols[c.col].words, stop) })
}

// weight returns how much a word contributes to a match with a column name.
func weight(w string) int {
	if generic[w] || isDigits(w) && len(w) != 4 {
		return 1
	}
	return 3
}

// columns finds where the text names columns. It takes the longest run of words that are all in the name of one column,
// and then the columns that these words cover best.
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
					if k := synonyms[w]; k != "" && !slices.Contains(byWord[k], ref) {
						byWord[k] = append(byWord[k], ref)
					}
					if k := root(w); k != "" {
						byWord["~"+k] = append(byWord["~"+k], ref)
						r.rootHeads[k[:4]] = true
					}
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

// columnAt returns the mention of columns that begins at token i, or nil.
func (r *resolver) columnAt(i int, byWord map[string][]colRef, words map[colRef]map[string]bool) *columnMention {
	p := r.prose
	if !p.tokens[i].word {
		return nil
	}
	first := stem(p.tokens[i].low)
	related := byWord[r.rootKey(first)]
	cands := byWord[first]
	if len(cands) == 0 {
		if len(related) > 0 && !isCommonWord(p.tokens[i].low) {
			first, cands = r.rootKey(first), related
		}
	}
	if k := synonyms[first]; len(cands) == 0 && k != "" && len(byWord[k]) > 0 {
		return &columnMention{from: i, to: i + 1, cols: byWord[k], vague: true}
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

// rootKey returns the key of the columns with a word related to w, or "". A root begins like its word, so that most
// words need no search.
func (r *resolver) rootKey(w string) string {
	if len(w) < 4 || !r.rootHeads[w[:4]] {
		return ""
	}
	if k := root(w); k != "" {
		return "~" + k
	}
	return ""
}

// fit keeps the columns whose names the words cover best. It returns nil if the words are too generic.
func (r *resolver) fit(from, to int, seen map[string]bool, cands []colRef,
	words map[colRef]map[string]bool) *columnMention {
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
		m.cols = cands // a part of several names can mean any of them
	}
	if !telling && !m.full {
		if to-from > 1 || !vague[stem(r.prose.low(from))] {
			return nil
		}
		m.vague = true // "the average was 2.4" means some column with average in its name
	}
	return m
}

// nearColumns returns the mentions of columns around a numeral in its sentence.
func (r *resolver) nearColumns(n *numeral) []*columnMention {
	ms := r.colBySentence[r.prose.tokens[n.from].sentence]
	i := sort.Search(len(ms), func(i int) bool { return ms[i].from >= n.from })
	return ms[max(0, i-maxNear):min(len(ms), i+maxNear)]
}
