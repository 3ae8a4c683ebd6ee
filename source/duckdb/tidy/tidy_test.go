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

// TestEvaluationFiles compares the dirty files of the planner's evaluation set
// with the clean tables they stand for.
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
			if g, w := strings.Join(got[i], "|"), strings.Join(want[i], "|"); strings.ReplaceAll(g, ".0|", "|") != strings.ReplaceAll(w, ".0|", "|") {
				t.Fatalf("%s row %d:\n got %s\nwant %s", dirty, i, g, w)
			}
		}
	}
}

// render reads a table back as text, the header first.
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

// TestHostileShapes: files made to be slow to read are read, or refused, in the
// time of others of their size.
func TestHostileShapes(t *testing.T) {
	for name, text := range map[string]string{
		"unclosed quotes":         "a,b\n" + strings.Repeat("\"x,\"y\n", 300_000),
		"unclosed quotes, wide":   "a,b\n" + strings.Repeat(strings.Repeat("\"x,", 20)+"\n", 20_000),
		"one row of quotes":       "a,b\n" + strings.Repeat("\"x,", 100_000),
		"many columns":            strings.Repeat("c,", 9_999) + "c\n" + strings.Repeat("1,", 9_999) + "1\n",
		"many columns, many rows": strings.Repeat(strings.Repeat("c,", 3_999)+"c\n", 100),
	} {
		path := filepath.Join(t.TempDir(), "f.csv")
		if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		ctx, cancel := context.WithTimeout(t.Context(), 30*time.Second)
		begun := time.Now()
		table, err := Plan(ctx, path, Limits{})
		if err == nil {
			err = table.Each(ctx, func([]any) error { return nil })
		}
		t.Logf("%s: %v, %v", name, time.Since(begun), err)
		if ctx.Err() != nil {
			t.Errorf("%s: not read in half a minute", name)
		}
		cancel()
	}
}
