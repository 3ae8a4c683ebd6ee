package tidy

import (
	"context"
	"encoding/csv"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"
)

const evalset = "../../../model/offline/evalset/data"

// TestEvaluationFiles compares the messy files of the planner's evaluation set with the clean tables they
// represent.
func TestEvaluationFiles(t *testing.T) {
	for dirty, clean := range map[string]string{
		"Store-Sales EU.csv": "store_sales_eu.csv",
		"Expense-Report.csv": "expense_report.csv",
		"hotel_bookings.csv": "hotel_bookings.csv",
	} {
		table, err := Plan(t.Context(), filepath.Join(evalset, dirty), Limits{})
		if err != nil {
			t.Fatal(err)
		}
		t.Log(dirty, table.Comment())
		for _, c := range table.Columns {
			t.Log("   ", c.Name, c.Type, c.Scale, c.Comment)
		}
		f, err := os.Open(filepath.Join(evalset, "logical", clean))
		if err != nil {
			t.Fatal(err)
		}
		want, err := csv.NewReader(f).ReadAll()
		f.Close()
		if err != nil {
			t.Fatal(err)
		}
		got := render(t, table)
		if len(got) != len(want) {
			t.Fatalf("%s has %d rows, want %d", dirty, len(got), len(want))
		}
		for i := range want {
			if g, w := strings.Join(got[i], "|"),
				strings.Join(want[i], "|"); strings.ReplaceAll(g, ".0|", "|") != strings.ReplaceAll(w, ".0|", "|") {
				t.Fatalf("%s row %d:\n got %s\nwant %s", dirty, i, g, w)
			}
		}
	}
}

// render returns a table as text, header first.
func render(t testing.TB, table *Table) [][]string {
	t.Helper()
	var out [][]string
	var names []string
	for _, c := range table.Columns {
		names = append(names, c.Name)
	}
	out = append(out, names)
	err := table.Each(context.Background(), func(values []any) error {
		row := make([]string, len(values))
		for i, v := range values {
			row[i] = cellText(table.Columns[i], v)
		}
		out = append(out, row)
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	return out
}

// TestHostileShapes checks that files designed to be slow to read are read, or refused, in time at most linear in
// their size.
func TestHostileShapes(t *testing.T) {
	for name, text := range map[string]func(n int) string{
		"unclosed quotes": func(n int) string { return "a,b\n" + strings.Repeat("\"x,\"y\n", n) },
		"unclosed quotes, wide": func(n int) string {
			return "a,b\n" + strings.Repeat(strings.Repeat("\"x,", 20)+"\n", n/15)
		},
		"one row of quotes": func(n int) string { return "a,b\n" + strings.Repeat("\"x,", n/3) },
		"many columns": func(n int) string {
			return strings.Repeat("c,", n/30) + "c\n" + strings.Repeat("1,", n/30) + "1\n"
		},
		"many columns, many rows": func(n int) string {
			return strings.Repeat(strings.Repeat("c,", 3_999)+"c\n", n/3_000)
		},
	} {
		read := func(n int) time.Duration {
			path := filepath.Join(t.TempDir(), "f.csv")
			if err := os.WriteFile(path, []byte(text(n)), 0o600); err != nil {
				t.Fatal(err)
			}
			begun := time.Now()
			table, err := Plan(t.Context(), path, Limits{})
			if err == nil {
				err = table.Each(t.Context(), func([]any) error { return nil })
			}
			t.Logf("%s, %d: %v, %v", name, n, time.Since(begun), err)
			return time.Since(begun)
		}
		part, whole := read(37_500), read(300_000)
		if whole > 2*time.Second && whole > 24*part {
			t.Errorf("%s: %v, an eighth of it %v", name, whole, part)
		}
	}
}
