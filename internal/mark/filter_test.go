package mark_test

import (
	"encoding/json"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"github.com/footnotehq/footnote/internal/mark"
)

// texts maps texts to what readers see.
var texts = map[string]string{
	"":                                                  "",
	"Revenue was 1,204[^r1.4.revenue].":                 "Revenue was 1,204.",
	"41[^r1.4] and 3[^r12:north.revenue]":               "41 and 3",
	"12 %[^r1.2.trips/r1.1.trips-1]":                    "12 %",
	`7[^r1.0."a ] ""b"" [c"]!`:                          "7!",
	"unfinished 5[^r1.4.rev":                            "unfinished 5",
	"unfinished 5[^r":                                   "unfinished 5[^r",
	"unfinished [":                                      "unfinished [",
	"a note[^1] and [^note] and [^rate]":                "a note[^1] and [^note] and [^rate]",
	"not a [^letter], [^r], [[^x]] [^]":                 "not a [^letter], [^r], [[^x]] [^]",
	"[^r1.0][^r2.0]":                                    "",
	"[[^r1.0]]":                                         "[]",
	"[^[^r1.0]":                                         "[^",
	"[^r1.[^r1.0]":                                      "[^r1.",
	"open [^r1.0.\"[^r1.0.x]\n7[^r1.0]":                 "open [^r1.0.\"\n7",
	"line[^r1.0\n]":                                     "line[^r1.0\n]",
	`7[^r1.0."Umsatz (€) 😀"]`:                           "7",
	"no ASCII [^r1.ä]":                                  "no ASCII [^r1.ä]",
	"use `[^r1.0]` 41[^r1.0]":                           "use `[^r1.0]` 41",
	"``a ` [^r1.0]`` 41[^r1.0]":                         "``a ` [^r1.0]`` 41",
	"a ` alone\n41[^r1.0]":                              "a ` alone\n41",
	"```sql\n[^r1.0]\n``` 1\n```\n4[^r1]":               "```sql\n[^r1.0]\n``` 1\n```\n4[^r1]",
	"~~~\n[^r1.0]\n~~~\n4[^r1.0]":                       "~~~\n[^r1.0]\n~~~\n4",
	"about ~5[^r1.0]~":                                  "about ~5~",
	"| a | 5[^r1.0.x] |\n| b | 6[^r1] |":                "| a | 5 |\n| b | 6 |",
	"[^r1." + strings.Repeat("x", 58) + "]":             "",
	"[^r1." + strings.Repeat("x", 59) + "]":             "[^r1." + strings.Repeat("x", 59) + "]",
	"[^r1." + strings.Repeat("x", 100) + "] 5[^r1.0.x]": "[^r1." + strings.Repeat("x", 100) + "] 5",
}

func TestCut(t *testing.T) {
	for text, want := range texts {
		got, marks := mark.Cut(text)
		if got != want {
			t.Errorf("Cut(%q) = %q, want %q", text, got, want)
		}
		if back := mark.Restore(got, marks); back != text {
			t.Errorf("Restore(%q, %v) = %q, want %q", got, marks, back, text)
		}
	}
}

// escaped returns the inside of the JSON string of a text.
func escaped(t interface{ Fatal(...any) }, text string) []byte {
	data, err := json.Marshal(text)
	if err != nil {
		t.Fatal(err)
	}
	return data[1 : len(data)-1]
}

// filtered passes the inside of a JSON string through a filter, split at the given offsets, and returns it decoded. The
// offsets are moved back out of escapes.
func filtered(t interface{ Fatal(...any) }, inside []byte, at []int) string {
	starts := map[int]bool{}
	for i := 0; i < len(inside); {
		starts[i] = true
		switch {
		case inside[i] != '\\':
			i++
		case inside[i+1] == 'u':
			i += 6
		default:
			i += 2
		}
	}
	var f mark.Filter
	var out []byte
	from := 0
	for _, to := range append(at, len(inside)) {
		for to < len(inside) && !starts[to] {
			to--
		}
		if to < from {
			continue
		}
		piece := append([]byte(nil), inside[from:to]...)
		out = append(out, f.Add(piece)...)
		from = to
	}
	out = append(out, f.End()...)
	var text string
	if err := json.Unmarshal(append(append([]byte{'"'}, out...), '"'), &text); err != nil {
		t.Fatal(err, string(out))
	}
	return text
}

// TestEverySplit splits every text at every pair of places.
func TestEverySplit(t *testing.T) {
	for text, want := range texts {
		inside := escaped(t, text)
		for i := range len(inside) + 1 {
			for j := i; j <= len(inside); j++ {
				if got := filtered(t, inside, []int{i, j}); got != want {
					t.Fatalf("%q split at %d and %d: %q, want %q", text, i, j, got, want)
				}
			}
		}
	}
}

// TestAnySplit splits made-up texts at made-up places. The filter must show what Cut leaves, and no mark outside code.
func TestAnySplit(t *testing.T) {
	part := rapid.SampledFrom([]string{
		"[^r1.0.x]", "[^r", "1", "[", "^", "]", "`", "```", "\n", " ", "41", "ä", "😀", `"`, `\`, "~~~", "[^n]", ".",
		`[^r1.0."`, "\u0001",
	})
	rapid.Check(t, func(t *rapid.T) {
		text := strings.Join(rapid.SliceOfN(part, 0, 30).Draw(t, "parts"), "")
		inside := escaped(t, text)
		at := rapid.SliceOf(rapid.IntRange(0, len(inside))).Draw(t, "at")
		want, marks := mark.Cut(text)
		if got := filtered(t, inside, at); got != want {
			t.Fatalf("%q: %q, want %q", text, got, want)
		}
		if back := mark.Restore(want, marks); back != text {
			t.Fatalf("%q is restored as %q", text, back)
		}
		if !strings.ContainsAny(text, "`~") && strings.Contains(want, "[^r1.0.x]") && !strings.Contains(text, "[^r[^") {
			t.Fatalf("%q shows a mark: %q", text, want)
		}
	})
}

func TestNoAllocation(t *testing.T) {
	var f mark.Filter
	piece := []byte("Revenue grew by 12 % in `March`,\\n**Berlin** first. ")
	if n := testing.AllocsPerRun(100, func() { f.Add(piece) }); n != 0 {
		t.Errorf("%v allocations", n)
	}
}

func BenchmarkFilter(b *testing.B) {
	for name, piece := range map[string]string{
		"text": " revenue grew by", "marked": " 12 %[^r1.2.trips/r1.1.trips-1] more",
	} {
		b.Run(name, func(b *testing.B) {
			var f mark.Filter
			b.ReportAllocs()
			for b.Loop() {
				f.Add([]byte(piece))
			}
		})
	}
}
