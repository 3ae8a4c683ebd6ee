package cite_test

import (
	"fmt"
	"testing"

	"github.com/footnotehq/footnote"
	"github.com/footnotehq/footnote/cite"
)

func salesTable() cite.Table {
	return cite.Table{ID: "r1", SQL: "SELECT channel, orders, revenue FROM sales", RowCount: 4, Result: footnote.Result{
		Columns: []footnote.Column{
			{
				Name: "channel",
				Kind: footnote.KindText,
			},
			{Name: "orders", Kind: footnote.KindInteger},
			{Name: "revenue", Kind: footnote.KindNumber},
		},
		Rows: [][]any{
			{"Web", int64(8204), 612838.80},
			{"App", int64(9911), 581775.70},
			{"Store", int64(4120), 370388.00},
			{"Phone", int64(610), 79910.00},
		},
	}}
}

func formulas(t *testing.T, text string, table cite.Table) map[string]string {
	t.Helper()
	cites, _ := cite.Resolve(text, []cite.Table{table}, "")
	out := map[string]string{}
	for _, c := range cites {
		out[c.Text] = c.Formula
	}
	if problems := cite.Verify(text, cites, []cite.Table{table}); len(problems) > 0 {
		t.Errorf("Verify(%q) = %v, want no problem", text, problems)
	}
	return out
}

func TestParallelFiguresHaveOneFormula(t *testing.T) {
	const list = "Per order:\n\n- Web: €74.70\n- App: €58.70\n- Store: €89.90\n- Phone: €131"
	got := formulas(t, list, salesTable())
	for text, want := range map[string]string{
		"€58.70": "r1[1].revenue / r1[1].orders",
		"€131":   "r1[3].revenue / r1[3].orders",
	} {
		if got[text] != want {
			t.Errorf("formula of %s = %q, want %q", text, got[text], want)
		}
	}
}

// A figure from another row does not fit the formula with its own row, and two figures are too few for a common
// formula.
func TestParallelFiguresNeedFittingRows(t *testing.T) {
	got := formulas(t, "Per order:\n\n- Web: €74.70\n- App: €89.90\n- Store: €89.90\n- Phone: €131", salesTable())
	if got["€74.70"] == "" || len(got) != 3 {
		t.Errorf("formulas = %v, want three, without one for the App", got)
	}
	got = formulas(t, "Some figures:\n\n- Web: 74.70\n- App: 58.70", salesTable())
	if len(got) != 0 {
		t.Errorf("formulas of two figures = %v, want none", got)
	}
}

func TestRateIsConvertedToUnitOfText(t *testing.T) {
	table := cite.Table{ID: "r1", SQL: "SELECT plant, downtime_min, incidents, cost_eur FROM plants", RowCount: 2,
		Result: footnote.Result{
			Columns: []footnote.Column{
				{
					Name: "plant",
					Kind: footnote.KindText,
				},
				{Name: "downtime_min", Kind: footnote.KindInteger},
				{Name: "incidents", Kind: footnote.KindInteger},
				{Name: "cost_eur", Kind: footnote.KindNumber},
			},
			Rows: [][]any{{"Gdansk", int64(4980), int64(41), 20.5}, {"Porto", int64(3312), int64(58), 19.1}},
		}}
	got := formulas(t, "Gdansk had 83 hours of downtime over 41 incidents, i.e. about 2 hours each, or 50 cents per "+
		"incident.", table)
	for text, want := range map[string]string{
		"50": "r1[0].cost_eur / r1[0].incidents * 100",
	} {
		if got[text] != want {
			t.Errorf("formula of %s = %q, want %q", text, got[text], want)
		}
	}
}

// TestHalvesAndRangesOfMonths checks that the half of a year and a range of months mean their rows.
func TestHalvesAndRangesOfMonths(t *testing.T) {
	table := cite.Table{ID: "r1", SQL: "SELECT month, revenue FROM sales ORDER BY month", RowCount: 6,
		Result: footnote.Result{Columns: []footnote.Column{
			{Name: "month", Kind: footnote.KindText}, {Name: "revenue", Kind: footnote.KindInteger},
		}}}
	for i, revenue := range []int64{1310, 1475, 1522, 1608, 1733, 1890} {
		table.Result.Rows = append(table.Result.Rows, []any{fmt.Sprintf("2026-%02d", i+1), revenue})
	}
	for text, want := range map[string]string{
		"Revenue in the first half was 4,307 in total.":           "sum(r1[0,1,2].revenue)",
		"Revenue in the second half was 5,231 in total.":          "sum(r1[3,4,5].revenue)",
		"Revenue from February to April 2026 was 4,605 in total.": "sum(r1[1,2,3].revenue)",
		"Revenue in the first half was 5,231 in total.":           "",
	} {
		got := ""
		for figure, formula := range formulas(t, text, table) {
			if len(figure) == 5 {
				got = formula
			}
		}
		if got != want {
			t.Errorf("%q: %q, want %q", text, got, want)
		}
	}
}
