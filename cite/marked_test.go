package cite

import (
	"fmt"
	"strings"
	"testing"

	"github.com/footnotehq/footnote"
	"github.com/footnotehq/footnote/internal/mark"
)

// TestMarks resolves texts with marks over one result. For each figure it expects a cell or formula, or the reason why
// there is none.
func TestMarks(t *testing.T) {
	results := []Table{{ID: "r1", RowCount: 3, Result: footnote.Result{
		Columns: []footnote.Column{
			{Name: "city", Kind: footnote.KindText}, {Name: "trips", Kind: footnote.KindInteger},
			{Name: "total fare (€)", Kind: footnote.KindDecimal},
		},
		Rows: [][]any{
			{"Berlin", int64(1204), "4816.00"}, {"Hamburg", int64(980), "2940.50"}, {"Bonn", int64(48), "96.00"},
		},
	}}}
	for text, want := range map[string]string{
		"Berlin had 1,204[^r1.0.trips] trips.":      "1,204 = r1.0.trips",
		"Berlin had 1,204[^r1:Berlin.trips] trips.": "1,204 = r1.0.trips",
		"Berlin had **1,204**[^r1.0] trips.":        "1,204 = r1.0.trips",
		"It had 1,204 trips[^r1.0.trips].":          "1,204 = r1.0.trips",
		`It earned €4.8 thousand[^r1.0."total fare (€)"].`: "" +
			"€4.8 thousand = r1.0.total fare (€)",
		"That is 23 %[^r1.0.trips/r1.1.trips-1] more.": "" +
			"23 % = r1[0].trips / r1[1].trips - 1",
		"All in all 2,232[^r1.sum(trips)].":   "2,232 = sum(r1.trips)",
		"Both had 1,028[^r1.1,2.sum(trips)].": "1,028 = sum(r1[1,2].trips)",
		"A trip costs €4.00[^r1.0.\"total fare (€)\"/r1.0.trips].": "" +
			`€4.00 = r1[0]."total fare (€)" / r1[0].trips`,
		"The smallest had 41[^r1.2.trips].": "" +
			"41: the text says 41, but the cell is 48",
		"The smallest had 41[^r1.2].": "" +
			"41: the text says 41, but row 2 of r1 has no such value",
		"That is 25 %[^r1.0.trips/r1.1.trips-1] more.": "" +
			"25 %: the text says 25 %, but the formula gives 0.228571428571",
		"Berlin had 980[^r1.1.trips] trips.": "" +
			"980: the text says 980, but it is in the row of Hamburg, not Berlin",
		"Berlin beat Hamburg, which had 980[^r1.1.trips].":                 "980 = r1.1.trips",
		"In Berlin[^r1.0.city] there were 1,204[^r1.0.trips].":             "1,204 = r1.0.trips",
		"Hamburg had 980[^r7.0.trips] trips.":                              "980 = r1.1.trips (found)",
		"Hamburg had 980[^r1.9.trips] trips.":                              "980 = r1.1.trips (found)",
		"Hamburg had 980[^r1 is broken] trips.":                            "980 = r1.1.trips (found)",
		"Hamburg had 980[^r1.1.trips][^r1.1.trips], Bonn 48[^r1.2.trips].": "980 = r1.1.trips; 48 = r1.2.trips",
	} {
		clean, marks := mark.Cut(text)
		cites, open, _ := ResolveMarked(clean, results, "", marks)
		var got []string
		for _, c := range cites {
			at := c.Formula
			if c.Row != nil {
				at = fmt.Sprintf("%s.%d.%s", c.Result, *c.Row, c.Column)
			}
			if !c.Marked {
				at += " (found)"
			}
			got = append(got, c.Text+" = "+at)
		}
		for _, u := range open {
			got = append(got, u.Text+": "+u.Reason)
		}
		if joined := strings.Join(got, "; "); joined != want {
			t.Errorf("%s\n got %s\nwant %s", text, joined, want)
		}
		if problems := Verify(clean, cites, results); len(problems) > 0 {
			t.Errorf("%s: %v", text, problems)
		}
	}
}

// FuzzResolveMarked checks that no text with marks breaks the resolver, and that all its footnotes hold.
func FuzzResolveMarked(f *testing.F) {
	for _, text := range []string{
		"1,204[^r1.0.trips] and 41[^r1.9]", "5[^r1.0,1.sum(a)]",
		"x[^r1:Berlin.city] 3 %[^r1.0.trips/r1.1.trips-1]", "1[^r1.0.ragged]",
	} {
		f.Add(text)
	}
	results := []Table{{ID: "r1", RowCount: 2, Result: footnote.Result{
		Columns: []footnote.Column{{Name: "city"}, {Name: "trips"}, {Name: "ragged"}},
		Rows:    [][]any{{"Berlin", int64(1204), "x"}, {"Bonn", 48.5}},
	}}}
	f.Fuzz(func(t *testing.T, text string) {
		clean, marks := mark.Cut(text)
		cites, _, _ := ResolveMarked(clean, results, "", marks)
		for _, p := range Verify(clean, cites, results) {
			t.Errorf("%q: %+v", text, p)
		}
	})
}
