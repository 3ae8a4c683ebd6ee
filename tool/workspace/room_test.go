package workspace

import (
	"math/rand/v2"
	"strings"
	"testing"
	"time"
	"unicode/utf8"

	"github.com/footnotehq/footnote"
)

func TestClip(t *testing.T) {
	const text = "aé…𝄞" // characters of one to four bytes
	for n := -3; n <= len(text)+3; n++ {
		if got := clip(text, n); len(got) > max(n, 0) || !utf8.ValidString(got) || !strings.HasPrefix(text, got) {
			t.Errorf("clip to %d bytes = %q", n, got)
		}
		if got := shortened(text+text, n); len(got) > max(n, 0) || !utf8.ValidString(got) {
			t.Errorf("shortened to %d bytes = %q", n, got)
		}
	}
	long := strings.Repeat(text, 100)
	for n := range 200 {
		if got := shortened(long, n); len(got) > n || !utf8.ValidString(got) ||
			got != "" && !strings.HasSuffix(got, truncated) {
			t.Errorf("shortened to %d bytes = %q", n, got)
		}
	}
}

// TestBudgetIsNeverOverspent spends budgets on changes of random sizes, most of them near the limits.
func TestBudgetIsNeverOverspent(t *testing.T) {
	rnd := rand.New(rand.NewPCG(1, 2))
	size := func() int {
		edges := []int{0, 1, 100, 9_000, 9_100, maxDiff - 60, maxDiff, maxDiffed - 1, maxDiffed, maxDiffed + 1}
		return edges[rnd.IntN(len(edges))] + rnd.IntN(60)
	}
	text := func(n int) string {
		line := strings.Repeat("é", rnd.IntN(50)) + "\n"
		return strings.Repeat(line, n/len(line)+1)[:n/len(line)*len(line)]
	}
	for range 12 {
		start := room{
			content: int64(size()), diffing: int64(size() * 4), diffs: int64(size()), until: time.Now().Add(time.Hour),
		}
		r, kept, diffs := start, int64(0), int64(0)
		for range 60 {
			old, new := text(size()), text(size())
			if r.keep(int64(len(new))) {
				kept += int64(len(new))
			}
			c := change{WorkspaceChanged: footnote.WorkspaceChanged{Path: strings.Repeat("d/", rnd.IntN(60)) + "f"}}
			if r.diff(int64(len(old) + len(new))) {
				c.compareTexts(old, new, &r)
			}
			diffs += int64(len(c.Diff))
			if r.content < 0 || r.diffing < 0 || r.diffs < 0 || len(c.Diff) > maxDiff || !utf8.ValidString(c.Diff) {
				t.Fatalf("from %+v: %+v is left after a diff of %d bytes", start, r, len(c.Diff))
			}
		}
		if kept != start.content-r.content || diffs != start.diffs-r.diffs {
			t.Errorf("from %+v: kept %d bytes, diffs of %d bytes, but %+v is left", start, kept, diffs, r)
		}
	}
}
