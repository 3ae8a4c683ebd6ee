package mark_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/footnotehq/footnote/internal/mark"
)

func TestParse(t *testing.T) {
	for text, want := range map[string]string{
		"[^r1.4.revenue]":                       "{r1 [4]   revenue}",
		"[^r12:north.revenue]":                  "{r12 [] north  revenue}",
		"[^r1.4]":                               "{r1 [4]   }",
		`[^r1.0."total ""x"" (€)"]`:             `{r1 [0]   total "x" (€)}`,
		"[^r1.2.trips/r1.1.trips-1]":            "{r1 [2]   trips}|/|{r1 [1]   trips}|-|1",
		"[^r1.0,2.sum(a) / r1.count()]":         "{r1 [0 2]  sum a}|/|{r1 []  count }",
		"[^r1.0.a*100.5]":                       "{r1 [0]   a}|*|100.5",
		`[^r1.0.a/(r2.0.b+r2.mean("b c"))]`:     "{r1 [0]   a}|/|(|{r2 [0]   b}|+|{r2 []  avg b c}|)",
		"[^r1]":                                 "{r1 []   }",
		"[^r1.0.sum]":                           "{r1 [0]   sum}",
		"[^]":                                   "no mark",
		"[^r1.4":                                "no mark",
		"[^r1.4.]":                              "no mark",
		"[^r1:]":                                "no mark",
		"[^r1.99999999999999999999]":            "no mark",
		`[^r1.0."open]`:                         "no mark",
		"[^r1.0.a;DROP]":                        "no mark",
		"[^r1-9a-z]":                            "no mark",
		"[^r1.top(a)]":                          "no mark",
		"[^r1.sum(a]":                           "no mark",
		"[^r1.sum(]":                            "no mark",
		"[^sum(r1.a)]":                          "no mark",
		"[^(r1.0.a)]":                           "no mark",
		"[^r1:" + strings.Repeat("k", 25) + "]": "no mark",
	} {
		got := "no mark"
		if parts, ok := mark.Parse(text); ok {
			var all []string
			for _, p := range parts {
				if p.Ref != nil {
					all = append(all, fmt.Sprint(*p.Ref))
				} else {
					all = append(all, p.Text)
				}
			}
			got = strings.Join(all, "|")
		}
		if got != want {
			t.Errorf("Parse(%q) = %s, want %s", text, got, want)
		}
	}
}

func TestNames(t *testing.T) {
	for name, want := range map[string]string{
		"revenue": "revenue", "Q1_2024": "Q1_2024", "2024": `"2024"`, "a b": `"a b"`, `a"b`: `"a""b"`, "": `""`,
	} {
		if got := mark.Column(name); got != want {
			t.Errorf("Column(%q) = %s, want %s", name, got, want)
		}
	}
	for text, want := range map[string]bool{"north": true, "2026_01": true, "": false, "a b": false, "é": false} {
		if mark.IsKey(text) != want {
			t.Errorf("IsKey(%q) = %v", text, !want)
		}
	}
}

func FuzzParse(f *testing.F) {
	f.Add("[^r1.4.revenue]")
	f.Fuzz(func(t *testing.T, text string) { mark.Parse(text) })
}
