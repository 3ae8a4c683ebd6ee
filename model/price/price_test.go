package price

import (
	"strings"
	"testing"

	"github.com/footnotehq/footnote"
)

func load(t *testing.T, override string) *Table {
	t.Helper()
	table, err := Load([]byte(override))
	if err != nil {
		t.Fatal(err)
	}
	return table
}

func TestCost(t *testing.T) {
	table := load(t, "")
	for _, tc := range []struct {
		name, model string
		usage       footnote.Usage
		want        int64
		unpriced    bool
	}{
		{"nothing", "claude-opus-5-5", footnote.Usage{}, 0, false},
		{
			"a million of each", "claude-opus-5-5", footnote.Usage{
				Input: 1e6, Output: 1e6, CacheWrite5m: 1e6, CacheWrite1h: 1e6, CacheRead: 1e6,
			}, 37_200_000, false,
		},
		{"one token rounds up", "claude-haiku-5-5", footnote.Usage{CacheRead: 1}, 1, false},
		{"three parts round once", "claude-haiku-5-5", footnote.Usage{Input: 1, CacheRead: 1, Output: 1}, 1, false},
		{"lower band", "claude-haiku-5-5", footnote.Usage{Input: 60_000, CacheRead: 40_000}, 6_400, false},
		{
			"upper band by the whole prompt", "claude-haiku-5-5", footnote.Usage{
				Input:     60_000,
				CacheRead: 40_001,
			}, 32_001, false,
		},
		{"dated id", "claude-haiku-4-5-20251001", footnote.Usage{Output: 10}, 50, false},
		{"unknown is the dearest", "mystery-1", footnote.Usage{Input: 1e6, Output: 1e6}, 60_000_000, true},
		{"searches", "claude-sonnet-5-5", footnote.Usage{Searches: 3}, 30_000, false},
		{"hostile counts", "claude-opus-5", footnote.Usage{Input: -5, Output: 1 << 62}, 25_000_000_000, false},
	} {
		if got := table.Cost(tc.model, tc.usage); got.MicroUSD != tc.want || got.Unpriced != tc.unpriced {
			t.Errorf("%s: Cost = %+v, want %d unpriced %v", tc.name, got, tc.want, tc.unpriced)
		}
	}
}

func TestMaxOutputFor(t *testing.T) {
	table := load(t, "")
	for _, tc := range []struct {
		model         string
		budget, input int64
		want          int64
	}{
		{"claude-sonnet-5-5", 10_000, 0, 1000},
		{"claude-sonnet-5-5", 10_000, 2000, 500},
		{"claude-sonnet-5-5", 10_000, 4000, 0},
		{"claude-sonnet-5-5", 1 << 60, 0, 128_000},
		{"mystery", 50, 0, 1},
	} {
		if got := table.MaxOutputFor(tc.model, tc.budget, footnote.Usage{CacheWrite5m: tc.input}); got != tc.want {
			t.Errorf("MaxOutputFor(%s, %d, %d) = %d, want %d", tc.model, tc.budget, tc.input, got, tc.want)
		}
	}
}

// TestMaxOutputForStaysWithinBudget checks that the allowed output never costs more than the budget.
func TestMaxOutputForStaysWithinBudget(t *testing.T) {
	table := load(t, "")
	for _, model := range table.Names() {
		for budget := int64(1); budget < 40_000_000; budget = budget*3 + 7 {
			n := table.MaxOutputFor(model, budget, footnote.Usage{
				CacheWrite5m: 25_000,
				CacheWrite1h: 20_000,
				Input:        5_000,
			})
			if n == 0 {
				continue
			}
			if c := table.Cost(model, footnote.Usage{
				CacheWrite5m: 25_000, CacheWrite1h: 20_000, Input: 5_000, Output: n,
			}); c.MicroUSD > budget {
				t.Errorf("%s: %d tokens cost %d, budget %d", model, n, c.MicroUSD, budget)
			}
		}
	}
}

func TestOverride(t *testing.T) {
	table := load(t, `
date: 2027-01-01
models:
  local-7b: {context: 32768, max_output: 8192, bands: [{input: 0, output: 0, write_5m: 0, write_1h: 0, read: 0}]}
  claude-opus-5-5: {bands: [{input: 1, output: 2, write_5m: 3, write_1h: 4, read: 0.000001}]}
`)
	if got := table.Cost("local-7b", footnote.Usage{Input: 1e6}); got != (footnote.Cost{}) {
		t.Errorf("an explicit price of zero gives %+v", got)
	}
	m, _ := table.Model("claude-opus-5-5")
	if m.MaxOutput != 128_000 || !m.PrefixCheck || m.Bands[0].Read != 1 {
		t.Errorf("overlaid model = %+v", m)
	}
	for _, bad := range []string{
		"colour: red", "models: {x: {price: 3}}", "models: {x: {context: 5}}",
		"models: {x: {bands: [{input: -1}]}}", "models: {x: {bands: [{input: 0.1234567}]}}",
		"models: {x: {bands: [{input: 1},{input: 2}]}}", "models: [",
	} {
		if _, err := Load([]byte(bad)); err == nil {
			t.Errorf("Load(%q) gave no error", bad)
		}
	}
}

func TestEveryModelIsComplete(t *testing.T) {
	table := load(t, "")
	for _, id := range table.Names() {
		m, _ := table.Model(id)
		if m.Context == 0 || m.MaxOutput == 0 || len(m.Thinking.Types) == 0 || !strings.HasPrefix(id, "claude-") {
			t.Errorf("%s is incomplete: %+v", id, m)
		}
		for _, b := range m.Bands {
			if b.Input <= b.Read || b.Write5m <= b.Input || b.Write1h <= b.Write5m || b.Output <= b.Input {
				t.Errorf("%s: implausible prices %+v", id, b)
			}
		}
	}
}
