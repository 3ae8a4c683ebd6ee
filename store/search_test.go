package store

import "testing"

// An excerpt has the words of an answer: no markup, and not what the planner says about itself.
func TestExcerptIsPlainText(t *testing.T) {
	text := "Revenue was highest in 2026-10 with **16,682.20** of `total_revenue`.\n\n" +
		"| month | revenue |\n| --- | --- |\n| 2026-10 | 16,682.20 |\n\n_Reading: revenue by month_\n\n" +
		"_Offline planner: no AI model is connected._"
	for query, want := range map[string]string{
		"16,682":   "…highest in 2026-10 with 16,682.20 of total_revenue. · month · revenue · 2026-10 · 16,682.20…",
		"reading":  "…2026-10 · 16,682.20 · Reading: revenue by month",
		"ai model": "",
	} {
		got, found := excerptOf(text, query)
		if got != want || found != (want != "") {
			t.Errorf("%q: %q, want %q", query, got, want)
		}
	}
}
