package verified

import (
	"cmp"
	"math"
	"slices"

	"golang.org/x/text/unicode/norm"
)

// MaxNearest is the most queries that Nearest returns.
const MaxNearest = 5

// rarity returns the weight of each word of the queries: a word that few of them have says more.
func rarity(queries []*Query) map[string]float64 {
	count := map[string]int{}
	for _, q := range queries {
		seen := map[string]bool{}
		for _, w := range q.wordings {
			for _, p := range w.parts {
				if p.slot < 0 && !seen[p.word] {
					seen[p.word] = true
					count[p.word]++
				}
			}
		}
	}
	weights := make(map[string]float64, len(count))
	for word, n := range count {
		weights[word] = math.Log(1 + float64(len(queries))/float64(n))
	}
	return weights
}

// Nearest returns the queries that share the most words with a question, the best first, among those that exist for
// the caller. Words that few queries have count more. A query that shares less than a third of its best wording is
// left out.
func (s *Set) Nearest(c Caller, question string) []*Query {
	if s == nil {
		return nil
	}
	asked := map[string]bool{}
	for _, t := range tokenize(norm.NFC.String(question[:min(len(question), maxQuestion)])) {
		asked[t.text] = true
	}
	type scored struct {
		query *Query
		score float64
	}
	var all []scored
	for _, q := range s.queries {
		if !c.open(q) {
			continue
		}
		best := 0.0
		for _, w := range q.wordings {
			best = max(best, s.likeness(w, asked))
		}
		if best >= 1.0/3 {
			all = append(all, scored{q, best})
		}
	}
	slices.SortStableFunc(all, func(a, b scored) int { return cmp.Compare(b.score, a.score) })
	var near []*Query
	for _, one := range all[:min(len(all), MaxNearest)] {
		near = append(near, one.query)
	}
	return near
}

// likeness returns the share of a wording, by weight, that a question has too.
func (s *Set) likeness(w wording, asked map[string]bool) float64 {
	shared, all := 0.0, 0.0
	for _, p := range w.parts {
		if p.slot >= 0 {
			continue
		}
		all += s.rarity[p.word]
		if asked[p.word] {
			shared += s.rarity[p.word]
		}
	}
	if all == 0 {
		return 0
	}
	return shared / all
}
