// Package spelling finds the name that someone probably meant when mistyping it.
package spelling

import (
	"slices"
	"strings"
	"unicode/utf8"
)

// maxCompared limits how much of a name is compared. Longer names are unlikely to be mistyped ones, and the cost of a
// comparison is quadratic.
const maxCompared = 64

// Nearest returns up to n of the names that are near to word, nearest first, ignoring case. A name is near when at
// most a third of the word's letters must change. If there is none, a name that contains the word or is contained
// in it counts, provided that both have at least four letters.
func Nearest(word string, names []string, n int) []string {
	type near struct {
		name     string
		distance int
	}
	w := clip(word)
	if w == "" {
		return nil
	}
	allowed := max(1, utf8.RuneCountInString(w)/3)
	var found, related []near
	for _, name := range names {
		c := clip(name)
		if d := Distance(w, c, maxCompared); d <= allowed {
			found = append(found, near{name, d})
		} else if min(len(w), len(c)) >= 4 && (strings.Contains(c, w) || strings.Contains(w, c)) {
			related = append(related, near{name, d})
		}
	}
	if len(found) == 0 {
		found = related
	}
	slices.SortStableFunc(found, func(a, b near) int { return a.distance - b.distance })
	var out []string
	for _, f := range found[:min(n, len(found))] {
		out = append(out, f.name)
	}
	return out
}

func clip(s string) string {
	s = strings.ToLower(s)
	if len(s) > maxCompared {
		s = strings.ToValidUTF8(s[:maxCompared], "")
	}
	return s
}

// Distance returns the number of letters to add, drop, replace or swap with their neighbour to turn a into b. If it is
// more than limit, the result is some number above limit.
func Distance(a, b string, limit int) int {
	x, y := []rune(a), []rune(b)
	if d := len(x) - len(y); d > limit || -d > limit {
		return limit + 1
	}
	before, above, row := make([]int, len(y)+1), make([]int, len(y)+1), make([]int, len(y)+1)
	for j := range row {
		row[j] = j
	}
	for i := 1; i <= len(x); i++ {
		before, above, row = above, row, before
		row[0] = i
		for j := 1; j <= len(y); j++ {
			cost := 1
			if x[i-1] == y[j-1] {
				cost = 0
			}
			row[j] = min(above[j]+1, row[j-1]+1, above[j-1]+cost)
			if i > 1 && j > 1 && x[i-1] == y[j-2] && x[i-2] == y[j-1] {
				row[j] = min(row[j], before[j-2]+1)
			}
		}
	}
	return row[len(y)]
}
