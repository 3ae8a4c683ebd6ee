// Package udiff compares two texts line by line and writes the difference in the unified format.
package udiff

import (
	"fmt"
	"strings"
)

// Hunk is a range of changed lines with some unchanged lines around them. Starts count from 1; for a side
// without lines, the start is the line before it.
type Hunk struct {
	OldStart int      `json:"old_start"`
	OldLines int      `json:"old_lines"`
	NewStart int      `json:"new_start"`
	NewLines int      `json:"new_lines"`
	Lines    []string `json:"lines"` // each starts with " ", "-", "+" or "\"
}

// around is the number of unchanged lines around a change.
const around = 3

// maxEdits is how many lines may differ. Beyond it, everything between the first and the last difference
// counts as replaced, because the time to find a smaller diff grows with its square.
const maxEdits = 1000

// edit is one line: kept (' '), removed ('-') or added ('+').
type edit struct {
	kind byte
	text string
}

// Hunks compares two texts.
func Hunks(old, new string) []Hunk {
	if old == new {
		return nil
	}
	return group(script(lines(old), lines(new)))
}

// Counts returns how many lines were added and removed.
func Counts(hunks []Hunk) (added, removed int) {
	for _, h := range hunks {
		for _, l := range h.Lines {
			switch l[0] {
			case '+':
				added++
			case '-':
				removed++
			}
		}
	}
	return added, removed
}

// Unified returns the diff of the file at path as text. Created and deleted files are compared with
// /dev/null.
func Unified(path string, created, deleted bool, hunks []Hunk) string {
	if len(hunks) == 0 {
		return ""
	}
	from, to := "a/"+path, "b/"+path
	if created {
		from = "/dev/null"
	}
	if deleted {
		to = "/dev/null"
	}
	var b strings.Builder
	fmt.Fprintf(&b, "--- %s\n+++ %s\n", from, to)
	for _, h := range hunks {
		fmt.Fprintf(&b, "@@ -%s +%s @@\n", span(h.OldStart, h.OldLines), span(h.NewStart, h.NewLines))
		for _, l := range h.Lines {
			b.WriteString(l)
			b.WriteByte('\n')
		}
	}
	return b.String()
}

func span(start, n int) string {
	if n == 1 {
		return fmt.Sprint(start)
	}
	return fmt.Sprintf("%d,%d", start, n)
}

// lines splits a text after its line breaks.
func lines(s string) []string {
	all := strings.SplitAfter(s, "\n")
	if all[len(all)-1] == "" {
		all = all[:len(all)-1]
	}
	return all
}

// script lists the lines of both texts in order.
func script(a, b []string) []edit {
	var head, tail []edit
	for len(a) > 0 && len(b) > 0 && a[0] == b[0] {
		head = append(head, edit{' ', a[0]})
		a, b = a[1:], b[1:]
	}
	for len(a) > 0 && len(b) > 0 && a[len(a)-1] == b[len(b)-1] {
		tail = append(tail, edit{' ', a[len(a)-1]})
		a, b = a[:len(a)-1], b[:len(b)-1]
	}
	for i, j := 0, len(tail)-1; i < j; i, j = i+1, j-1 {
		tail[i], tail[j] = tail[j], tail[i]
	}
	return append(append(head, middle(a, b)...), tail...)
}

// middle returns the shortest script by Myers' algorithm (1986), or replaces all of a with all of b if the
// script would be longer than maxEdits.
func middle(a, b []string) []edit {
	n, m := len(a), len(b)
	if n == 0 || m == 0 {
		return replaced(a, b)
	}
	most := min(n+m, maxEdits)
	v := make([]int, 2*most+2) // furthest x on each diagonal, at index k+most
	var trace [][]int
	for d := 0; d <= most; d++ {
		trace = append(trace, append([]int(nil), v[most-d:most+d+1]...))
		for k := -d; k <= d; k += 2 {
			x := 0
			switch {
			case d == 0:
			case k == -d || k != d && v[most+k-1] < v[most+k+1]:
				x = v[most+k+1]
			default:
				x = v[most+k-1] + 1
			}
			for x < n && x-k < m && a[x] == b[x-k] {
				x++
			}
			v[most+k] = x
			if x >= n && x-k >= m {
				return walkBack(a, b, trace)
			}
		}
	}
	return replaced(a, b)
}

func replaced(a, b []string) []edit {
	edits := make([]edit, 0, len(a)+len(b))
	for _, l := range a {
		edits = append(edits, edit{'-', l})
	}
	for _, l := range b {
		edits = append(edits, edit{'+', l})
	}
	return edits
}

// walkBack traces the path back from the end; trace[d] has the diagonals -d to d as they were before step d.
func walkBack(a, b []string, trace [][]int) []edit {
	var back []edit
	x, y := len(a), len(b)
	for d := len(trace) - 1; d > 0; d-- {
		v := func(k int) int { return trace[d][k+d] }
		k := x - y
		from := k - 1
		if k == -d || k != d && v(k-1) < v(k+1) {
			from = k + 1
		}
		px := v(from)
		py := px - from
		for x > px && y > py && a[x-1] == b[y-1] {
			x, y = x-1, y-1
			back = append(back, edit{' ', a[x]})
		}
		if x == px {
			y--
			back = append(back, edit{'+', b[y]})
		} else {
			x--
			back = append(back, edit{'-', a[x]})
		}
	}
	for x > 0 {
		x--
		back = append(back, edit{' ', a[x]})
	}
	for i, j := 0, len(back)-1; i < j; i, j = i+1, j-1 {
		back[i], back[j] = back[j], back[i]
	}
	return back
}

// group splits a script into hunks.
func group(edits []edit) []Hunk {
	var hunks []Hunk
	var h *Hunk
	oldLine, newLine, last := 1, 1, -1 // last: position of the newest change
	for i, e := range edits {
		if e.kind != ' ' {
			if h == nil || i-last > 2*around {
				from := max(i-around, last+1)
				if h != nil {
					from = max(i-around, last+1+around)
				}
				hunks = append(hunks, Hunk{OldStart: oldLine - (i - from), NewStart: newLine - (i - from)})
				h = &hunks[len(hunks)-1]
				for _, c := range edits[from:i] {
					h.add(c)
				}
			} else {
				for _, c := range edits[min(last+1+around, i):i] {
					h.add(c)
				}
			}
			h.add(e)
			last = i
		} else if h != nil && i-last <= around {
			h.add(e)
		}
		if e.kind != '+' {
			oldLine++
		}
		if e.kind != '-' {
			newLine++
		}
	}
	for i := range hunks {
		if hunks[i].OldLines == 0 {
			hunks[i].OldStart--
		}
		if hunks[i].NewLines == 0 {
			hunks[i].NewStart--
		}
	}
	return hunks
}

func (h *Hunk) add(e edit) {
	text, ended := strings.CutSuffix(e.text, "\n")
	h.Lines = append(h.Lines, string(e.kind)+text)
	if !ended {
		h.Lines = append(h.Lines, `\ No newline at end of file`)
	}
	if e.kind != '+' {
		h.OldLines++
	}
	if e.kind != '-' {
		h.NewLines++
	}
}
